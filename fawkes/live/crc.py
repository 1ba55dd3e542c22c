"""HDFS's own checksum of a file, computed from its bytes on this side.

HDFS keeps a CRC of every chunk (512 bytes) beside each block. Its checksum of a file is an MD5 over the MD5s of the
CRCs of its blocks. Whoever computes the same from what he has read or written knows that the DataNodes hold these
bytes, without a second transfer. Python has no CRC-32C, so the chunks of a piece are computed side by side in numpy.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = {"CRC32C": 0x82F63B78, "CRC32": 0xEDB88320}
_ALGORITHM = re.compile(r"MD5-of-(\d+)MD5-of-(\d+)(CRC32C?)")
#: the hexadecimal digits of the MD5 in what WebHDFS returns: after 4 bytes of chunk size and 8 of chunks in a block
_MD5 = slice(24, 56)
#: The table look-up takes 8 bytes a step.
_STEP = 8
_PIECE = 4 << 20
#: HDFS digests its whole buffer of block MD5s, not only what is in it; the buffer begins so large and doubles.
_BUFFER = 32


@dataclass(frozen=True, slots=True)
class Kind:
    """How a checksum is made up: ``block_bytes`` is None for a file of a single block."""

    block_bytes: int | None
    chunk_bytes: int = 512
    crc: str = "CRC32C"


def kind_of(checksum: Mapping[str, object]) -> Kind | None:
    """How HDFS made this checksum (the FileChecksum of WebHDFS); None when it cannot be computed here."""
    match = _ALGORITHM.fullmatch(str(checksum.get("algorithm", "")))
    if match is None:
        return None
    in_block, chunk = int(match[1]), int(match[2])
    if chunk == 0 or chunk % _STEP:
        return None
    return Kind(in_block * chunk or None, chunk, match[3])


def md5_of(checksum: Mapping[str, object]) -> str:
    """The digest in a FileChecksum of WebHDFS, in hexadecimal digits."""
    return str(checksum.get("bytes", ""))[_MD5]


class HdfsDigest:
    """Takes the bytes of a file, piece by piece; `hexdigest` is what HDFS would say of them."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._tables = _tables(_POLYNOMIAL[kind.crc])
        self._piece = _PIECE - _PIECE % kind.chunk_bytes
        self._held = bytearray()
        self._left = kind.block_bytes
        self._block = hashlib.md5(usedforsecurity=False)
        self._begun = False
        self._blocks = bytearray()

    def update(self, data: bytes) -> None:
        """The next bytes of the file."""
        rest = memoryview(data)
        while len(rest):
            room = len(rest) if self._left is None else min(len(rest), self._left)
            self._held += rest[:room]
            rest = rest[room:]
            self._begun = True
            if self._left is not None:
                self._left -= room
            if self._left == 0:
                self._end_block()
            elif len(self._held) >= self._piece:
                self._digest(len(self._held) // self._piece * self._piece)

    def hexdigest(self) -> str:
        """The checksum of all bytes so far; nothing can be added afterwards."""
        if self._begun:
            self._end_block()
        size = _BUFFER
        while size < len(self._blocks):
            size *= 2
        return hashlib.md5(self._blocks.ljust(size, b"\0"), usedforsecurity=False).hexdigest()

    def _end_block(self) -> None:
        self._digest(len(self._held))
        self._blocks += self._block.digest()
        self._block = hashlib.md5(usedforsecurity=False)
        self._begun = False
        self._left = self._kind.block_bytes

    def _digest(self, size: int) -> None:
        """Add the CRCs of the first ``size`` bytes that are held; only a block's last chunk may be short."""
        whole = size - size % self._kind.chunk_bytes
        if whole:
            crcs = _crc_of_chunks(bytes(self._held[:whole]), self._kind.chunk_bytes, self._tables)
            self._block.update(crcs.astype(">u4").tobytes())
        if whole < size:
            self._block.update(_crc(self._held[whole:size], self._tables[-1]).to_bytes(4, "big"))
        del self._held[:size]


@functools.cache
def _tables(polynomial: int) -> tuple[NDArray[np.uint32], ...]:
    """Four tables that advance a CRC over the 1st .. 4th pair of 8 bytes, then the classic one for a single byte."""
    one = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        one = np.where(one & 1, (one >> 1) ^ np.uint32(polynomial), one >> 1).astype(np.uint32)
    after = [one]
    for _ in range(_STEP - 1):
        after.append((after[-1] >> 8) ^ one[after[-1] & 0xFF])
    pair = np.arange(65536, dtype=np.uint32)
    pairs = (after[k][pair & 0xFF] ^ after[k - 1][pair >> 8] for k in (7, 5, 3, 1))
    return (*pairs, one)


def _crc_of_chunks(data: bytes, chunk: int, tables: tuple[NDArray[np.uint32], ...]) -> NDArray[np.uint32]:
    """The CRC of each chunk of ``data``, whose length is a multiple of ``chunk``."""
    first, second, third, fourth, _ = tables
    # One row for each pair of bytes of a chunk: all chunks of the piece take a step together.
    pairs = np.frombuffer(data, dtype="<u2").reshape(-1, chunk // 2).T.copy()
    crc = np.full(pairs.shape[1], 0xFFFFFFFF, dtype="<u4")
    for row in range(0, chunk // 2, 4):
        halves = crc.view("<u2").reshape(-1, 2)
        crc = first.take(pairs[row] ^ halves[:, 0])
        crc ^= second.take(pairs[row + 1] ^ halves[:, 1])
        crc ^= third.take(pairs[row + 2])
        crc ^= fourth.take(pairs[row + 3])
    return crc ^ np.uint32(0xFFFFFFFF)


def _crc(data: bytes | bytearray, table: NDArray[np.uint32]) -> int:
    """The CRC of a chunk of any length."""
    entries = table.tolist()
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ entries[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
