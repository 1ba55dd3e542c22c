"""HDFS's checksum of a file, computed here."""

from __future__ import annotations

import hashlib
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.live.wire.crc import ChecksumKind, HdfsDigest, kind_of, md5_of
from tests.live.fake_hdfs import Entry, checksum, crc

BLOCK = 4096


def digest(data: bytes, kind: ChecksumKind, piece: int = 1 << 20) -> str:
    made = HdfsDigest(kind)
    for start in range(0, len(data), piece):
        made.update(data[start : start + piece])
    return made.hexdigest()


def said(data: bytes, block: int, crc_kind: str = "CRC32C") -> dict[str, object]:
    """The checksum that HDFS would give, by the slow way."""
    entry = Entry(folder=False)
    entry.blocks = [(data[n : n + block], "") for n in range(0, len(data), block)]
    return checksum(entry, crc_kind)


def test_the_slow_way_is_right() -> None:
    """The check values of both polynomials."""
    assert (crc(b"123456789", "CRC32C"), crc(b"123456789", "CRC32")) == (0xE3069283, 0xCBF43926)


@pytest.mark.parametrize("crc_kind", ["CRC32C", "CRC32"])
@pytest.mark.parametrize("size", [0, 1, 7, 511, 512, 513, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 5 * BLOCK + 77])
def test_it_is_what_hdfs_says(size: int, crc_kind: str) -> None:
    data = random.Random(size).randbytes(size)
    answer = said(data, BLOCK, crc_kind)
    assert digest(data, ChecksumKind(BLOCK, crc=crc_kind)) == md5_of(answer)
    kind = kind_of(answer)
    assert (kind is None) is (size == 0)
    if kind is not None:
        assert digest(data, kind) == md5_of(answer)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(data=st.binary(max_size=3 * BLOCK), piece=st.integers(1, 2 * BLOCK))
def test_how_the_bytes_are_cut_does_not_matter(data: bytes, piece: int) -> None:
    assert digest(data, ChecksumKind(BLOCK), piece) == digest(data, ChecksumKind(BLOCK))


@pytest.mark.slow
def test_more_than_is_held_at_once() -> None:
    """Blocks larger than a piece of work, in pieces that do not fit into each other."""
    data = random.Random(1).randbytes((5 << 20) + 1234)
    whole = digest(data, ChecksumKind(None), 1 << 30)
    assert digest(data, ChecksumKind(None), 999_999) == whole
    assert digest(data, ChecksumKind(3 << 19), 999_999) == digest(data, ChecksumKind(3 << 19), 1 << 30) != whole


def test_any_changed_bit_shows() -> None:
    data = random.Random(2).randbytes(2 * BLOCK + 100)
    for place in (0, 511, 512, BLOCK, len(data) - 1):
        changed = bytearray(data)
        changed[place] ^= 1
        assert digest(bytes(changed), ChecksumKind(BLOCK)) != digest(data, ChecksumKind(BLOCK))


def test_chunks_of_any_size() -> None:
    data = random.Random(3).randbytes(1234)
    crcs = b"".join(crc(data[n : n + 100], "CRC32C").to_bytes(4, "big") for n in range(0, len(data), 100))
    blocks = hashlib.md5(crcs, usedforsecurity=False).digest().ljust(32, b"\0")
    assert digest(data, ChecksumKind(None, 100), 333) == hashlib.md5(blocks, usedforsecurity=False).hexdigest()


def test_nothing_has_the_checksum_of_an_empty_buffer() -> None:
    assert digest(b"", ChecksumKind(None)) == "70bc8f4b72a86921468bf8e8441dce51"


@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [
        ("MD5-of-16384MD5-of-512CRC32C", ChecksumKind(8 << 20)),
        ("MD5-of-0MD5-of-512CRC32C", ChecksumKind(None)),
        ("MD5-of-0MD5-of-4096CRC32", ChecksumKind(None, 4096, "CRC32")),
        ("MD5-of-0MD5-of-0CRC32", None),
        ("MD5-of-0MD5-of-100CRC32C", ChecksumKind(None, 100)),
        ("COMPOSITE-CRC32C", None),
        ("", None),
    ],
)
def test_how_a_checksum_was_made(algorithm: str, kind: ChecksumKind | None) -> None:
    assert kind_of({"algorithm": algorithm}) == kind
