"""Where the operations of an edit log end, and which files make a namespace."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.live.edits.edit_log import (
    HEADER_BYTES,
    DivergedError,
    Operations,
    Segment,
    Want,
    needed,
    newest_image,
    operations,
    origin,
    segments,
    wanted,
)
from tests.live.namenode_files import operation, version

CONTENTS = st.lists(st.binary(max_size=60), max_size=6)
REAL = Path(__file__).parents[1] / "data" / "edits-inprogress-3.5.0"


def log(contents: list[bytes], before: int = 0) -> bytes:
    return b"".join(operation(before + number, content) for number, content in enumerate(contents, 1))


def image(transaction: int) -> list[str]:
    return [f"fsimage_{transaction:019d}", f"fsimage_{transaction:019d}.md5"]


def closed(first: int, last: int) -> str:
    return f"edits_{first:019d}-{last:019d}"


def open_(first: int) -> str:
    return f"edits_inprogress_{first:019d}"


def test_a_segment_that_hadoop_wrote_is_read_to_its_last_operation() -> None:
    data = REAL.read_bytes()
    found = operations(data[HEADER_BYTES:], 202)
    assert found == Operations(len(data) - HEADER_BYTES - 512, 223, torn=False)


@pytest.mark.slow
@given(CONTENTS, st.integers(0, 1 << 40), st.integers(0, 300))
def test_padding_ends_the_log(contents: list[bytes], before: int, padding: int) -> None:
    data = log(contents, before)
    assert operations(data + b"\xff" * padding, before) == Operations(len(data), before + len(contents), torn=False)


@given(CONTENTS.filter(bool), st.data())
def test_what_is_cut_anywhere_ends_with_a_whole_operation(contents: list[bytes], data: st.DataObject) -> None:
    whole = log(contents)
    cut = data.draw(st.integers(0, len(whole)))
    found = operations(whole[:cut], 0)
    ends = [len(log(contents[:count])) for count in range(len(contents) + 1)]
    assert found.size == max(end for end in ends if end <= cut)
    assert found.last == ends.index(found.size)
    assert found.torn == (found.size < cut)


@given(CONTENTS.filter(bool), st.data())
def test_a_changed_byte_is_never_part_of_an_operation(contents: list[bytes], data: st.DataObject) -> None:
    whole = bytearray(log(contents))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    assert operations(bytes(whole), 0).size <= at


def test_an_operation_out_of_turn_does_not_count() -> None:
    assert operations(operation(7), 5) == Operations(0, 5, torn=True)


def test_files_that_follow_each_other_are_a_namespace() -> None:
    names = [*image(0), *image(10), closed(1, 10), closed(11, 15), open_(16)]
    assert newest_image(names) == 10
    assert needed(names) == [Segment(11, 15), Segment(16, None)]
    assert needed(image(3)) == []


@pytest.mark.parametrize(
    "names",
    [
        [],
        [closed(1, 4)],
        ["fsimage_0000000000000000000", closed(1, 4)],
        [*image(10), closed(12, 15)],
        [*image(0), closed(1, 4), open_(6)],
        [*image(0), open_(1), open_(5)],
    ],
)
def test_files_with_something_missing_are_none(names: list[str]) -> None:
    assert needed(names) is None


def test_a_closed_segment_counts_before_the_open_one_of_the_same_begin() -> None:
    assert segments([open_(1), closed(1, 3)]) == segments([closed(1, 3), open_(1)]) == [Segment(1, 3)]


def test_what_a_copy_lacks_is_wanted_in_order() -> None:
    masters = dict.fromkeys([*image(0), *image(4)], 9) | {closed(1, 4): 70, closed(5, 9): 90, open_(10): 4096}
    assert wanted({}, masters) == [Want(Segment(5, 9), 0), Want(Segment(10, None), 0)]
    older = dict.fromkeys(image(0), 9) | {closed(1, 4): 70, open_(5): 30}
    assert wanted(older, masters) == [Want(Segment(5, 9), 30), Want(Segment(10, None), 0)]


@pytest.mark.parametrize(
    "copy",
    [
        {open_(5): 91},
        {closed(5, 8): 90},
        {closed(5, 9): 91},
        {open_(11): 20},
        {closed(5, 9): 90, open_(11): 20},
        {closed(10, 11): 30},
    ],
)
def test_a_copy_of_something_else_is_not_continued(copy: dict[str, int]) -> None:
    masters = dict.fromkeys(image(4), 9) | {closed(5, 9): 90, open_(10): 4096}
    with pytest.raises(DivergedError):
        wanted(dict.fromkeys(image(4), 9) | copy, masters)


def test_a_namespace_is_told_by_its_version() -> None:
    assert origin(version()) != origin(version(namespace=2))
    assert origin(version()) == origin(version().replace("02:01:37", "03:00:00"))
    assert origin(version()[:60]) is None
    assert origin("clusterID=a\nnamesp") is None
