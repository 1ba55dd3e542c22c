"""HDFS's own checksum of a file, computed from its bytes on this side.

HDFS keeps a CRC of every chunk (512 bytes) beside each block. Its checksum of a file is an MD5 over the MD5s of the
CRCs of its blocks. Computing the same checksum from the bytes that were read or written proves that the DataNodes hold
these bytes, without a second transfer. Python's zlib has CRC-32; CRC-32C comes from a small C library.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import google_crc32c

_CRC: Mapping[str, Callable[[bytes], int]] = {"CRC32C": google_crc32c.value, "CRC32": zlib.crc32}
_ALGORITHM = re.compile(r"MD5-of-(\d+)MD5-of-(\d+)(CRC32C?)")
#: the hexadecimal digits of the MD5 in what WebHDFS returns: after 4 bytes of chunk size and 8 of chunks in a block
_MD5 = slice(24, 56)
_PIECE = 4 << 20
#: HDFS digests its whole buffer of block MD5s, not only what is in it; the buffer begins so large and doubles.
_BUFFER = 32


@dataclass(frozen=True, slots=True)
class ChecksumKind:
    """The make of a checksum: ``block_bytes`` is None for a file of a single block."""

    block_bytes: int | None
    chunk_bytes: int = 512
    crc: str = "CRC32C"


def kind_of(checksum: Mapping[str, object]) -> ChecksumKind | None:
    """The way in which HDFS made this checksum (the FileChecksum of WebHDFS); None when it cannot be computed here."""
    match = _ALGORITHM.fullmatch(str(checksum.get("algorithm", "")))
    if match is None:
        return None
    in_block, chunk = int(match[1]), int(match[2])
    if chunk == 0:
        return None
    return ChecksumKind(in_block * chunk or None, chunk, match[3])


def md5_of(checksum: Mapping[str, object]) -> str:
    """The digest in a FileChecksum of WebHDFS, in hexadecimal digits."""
    return str(checksum.get("bytes", ""))[_MD5]


class HdfsDigest:
    """Takes the bytes of a file, piece by piece; `hexdigest` is what HDFS would say of them."""

    def __init__(self, kind: ChecksumKind) -> None:
        self._kind = kind
        self._crc = _CRC[kind.crc]
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
        data, chunk = bytes(self._held[:size]), self._kind.chunk_bytes
        crcs = [self._crc(data[start : start + chunk]) for start in range(0, size, chunk)]
        self._block.update(struct.pack(f">{len(crcs)}I", *crcs))
        del self._held[:size]
