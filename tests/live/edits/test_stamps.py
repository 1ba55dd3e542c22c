from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.errors import FawkesError
from fawkes.live.edits import edit_log, stamps
from fawkes.live.edits.stamps import LEAP, Stamps
from fawkes.live.masters.move import skipping
from fawkes.live.wire.protobuf import number, text, varint
from tests.live.namenode_files import operation

DATA = Path(__file__).parents[1] / "data"
IMAGE = (DATA / "fsimage-3.5.0").read_bytes()
#: a segment that begins with transaction 1
EDITS = (DATA / "edits-blocks-3.5.0").read_bytes()
HEADER = edit_log.HEADER_BYTES
GENERATION, BLOCK = 31, 32
numbers = st.integers(0, (1 << 62) - 9 * LEAP - 1)


def gives_out(transaction: int, kind: int, number: int) -> bytes:
    return operation(transaction, number.to_bytes(8, "big"), kind)


def test_the_counters_of_a_real_image_and_its_edits() -> None:
    first = stamps.stamps_of(IMAGE)
    assert first == Stamps(1000, 1 << 30, -67)
    later = stamps.after(first, EDITS[HEADER:])
    # A block has a number and a stamp of its own: both counters go on together.
    assert later.generation - first.generation == later.block - first.block > 0


@given(st.lists(st.tuples(st.sampled_from([GENERATION, BLOCK, 9]), numbers), max_size=8), st.integers(0, 9))
def test_no_number_that_was_given_out_is_given_out_again(given_out: list[tuple[int, int]], version: int) -> None:
    log = b"".join(gives_out(n, kind, number) for n, (kind, number) in enumerate(given_out, 1))
    now = stamps.after(Stamps(0, 0), log)
    used = [number for kind, number in given_out if kind != 9]
    assert max(now.generation, now.block) == max(used, default=0)
    added = stamps.leap(now, len(given_out), version)
    ended = edit_log.operations(log + added, 0)
    assert (ended.size, ended.last, ended.torn) == (len(log + added), len(given_out) + 2, False)
    after, skipped = stamps.after(Stamps(0, 0), log + added), stamps.leap_of(version)
    assert (after.generation, after.block) == (now.generation + skipped, now.block + skipped)
    # Masters that begin with the same copy later give out other numbers than those that were given up.
    assert skipped >= LEAP
    assert stamps.leap_of(version + 2) >= skipped + LEAP


def test_block_groups_below_zero_do_not_count() -> None:
    log = operation(1, (-(1 << 63) + 16).to_bytes(8, "big", signed=True), BLOCK)
    assert stamps.after(Stamps(7, 9), log) == Stamps(7, 9)


@given(st.binary(max_size=600))
def test_bytes_that_are_no_image(data: bytes) -> None:
    with pytest.raises(ValueError, match="image"):
        stamps.stamps_of(data)


@pytest.mark.parametrize("size", [0, 8, 100, len(IMAGE) - 1])
def test_an_image_that_is_cut_short(size: int) -> None:
    with pytest.raises(ValueError, match="image"):
        stamps.stamps_of(IMAGE[:size])


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    (tmp_path / "fsimage_0000000000000000000").write_bytes(IMAGE)
    (tmp_path / "fsimage_0000000000000000000.md5").write_text("")
    return tmp_path


def test_the_operations_go_to_the_segment_that_is_open(copy: Path) -> None:
    size, last = HEADER + (found := edit_log.operations(EDITS[HEADER:], 0)).size, found.last
    (copy / edit_log.open_name(1)).write_bytes(EDITS[:size])
    tail, _, stamp = skipping(copy, last, 1)
    added = tail.data
    assert (tail.name, tail.size, tail.at) == (edit_log.open_name(1), size, size)
    assert stamp == stamps.after(stamps.stamps_of(IMAGE), EDITS[HEADER:]).generation
    assert edit_log.operations(EDITS[HEADER:size] + added, 0).last == last + 2


def test_a_segment_is_begun_where_none_is_open(copy: Path) -> None:
    size, last = HEADER + (found := edit_log.operations(EDITS[HEADER:], 0)).size, found.last
    (copy / edit_log.Segment(1, last).name).write_bytes(EDITS[:size])
    tail, _, _ = skipping(copy, last, 1)
    added = tail.data
    assert (tail.name, tail.size, tail.at) == (edit_log.open_name(last + 1), 0, 0)
    assert added[:HEADER] == EDITS[:HEADER]
    assert edit_log.operations(added[HEADER:], last).last == last + 2


def test_the_image_has_the_counter_that_a_namenode_does_not_take_from_edits(copy: Path) -> None:
    (copy / edit_log.open_name(1)).write_bytes(EDITS)
    _, tail, stamp = skipping(copy, edit_log.operations(EDITS[HEADER:], 0).last, 1)
    assert (tail.name, tail.size) == ("fsimage_0000000000000000000", len(IMAGE))
    other = IMAGE[: tail.at] + tail.data
    first = stamps.stamps_of(IMAGE)
    assert stamps.stamps_of(other) == Stamps(stamp + LEAP, first.block, first.layout)
    assert stamp > first.generation


@pytest.mark.parametrize("codec", ["DefaultCodec", "GzipCodec"])
def test_the_counter_of_a_compressed_image(codec: str) -> None:
    wbits = 31 if codec == "GzipCodec" else 15
    packed = zlib.compressobj(wbits=wbits)
    names = message(number(1, 5) + number(3, 1007) + number(5, 1 << 30))
    names = packed.compress(names) + packed.flush()
    section = text(1, b"NS_INFO") + number(2, len(names)) + number(3, 8)
    summary = message(
        number(2, (1 << 32) - 67) + text(3, f"org.apache.hadoop.io.compress.{codec}".encode()) + text(4, section)
    )
    image = b"HDFSIMG1" + names + summary + len(summary).to_bytes(4, "big")
    assert stamps.stamps_of(image) == Stamps(1007, 1 << 30, -67)
    end, rest = stamps.with_generation(image, 9000)
    assert stamps.stamps_of(image[:end] + rest) == Stamps(9000, 1 << 30, -67)


def message(content: bytes) -> bytes:
    return varint(len(content)) + content


def test_a_copy_that_cannot_be_read(copy: Path) -> None:
    (copy / "fsimage_0000000000000000000").write_bytes(b"HDFSIMG1 and something else")
    with pytest.raises(FawkesError, match="cannot be read: "):
        skipping(copy, 0, 1)
    (copy / "fsimage_0000000000000000000.md5").unlink()
    with pytest.raises(FawkesError, match="has no image"):
        skipping(copy, 0, 1)
