"""Files that hold other files, or tables of bytes: recognised by their first bytes, unpacked here or named."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from typing import BinaryIO, Protocol

HEAD_BYTES = 512
"""So many bytes tell what a file is: a tar archive says so at byte 257."""

_PIECE_BYTES = 1 << 16
PARQUET = b"PAR1"
_TAR_AT = 257


class Packed(Protocol):
    """A stream that unpacks what it reads."""

    def read1(self, size: int, /) -> bytes:
        """Read at most ``size`` bytes; none at the end."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes: ...


class _Streams:
    """The streams of a file, one after another, with zeros between them.

    Python's own files take a later stream that is damaged for the end, and what follows would be lost without a word.
    """

    def __init__(self, raw: BinaryIO, new: Callable[[], _Decompressor]) -> None:
        self._raw, self._new, self._stream = raw, new, new()

    def read1(self, size: int, /) -> bytes:
        while True:
            packed = b""
            if self._stream.eof:
                packed = self._stream.unused_data.lstrip(b"\0")
                while not packed:
                    if not (more := self._raw.read(_PIECE_BYTES)):
                        return b""
                    packed = more.lstrip(b"\0")
                self._stream = self._new()
            elif self._stream.needs_input and not (packed := self._raw.read(_PIECE_BYTES)):
                raise EOFError
            if piece := self._stream.decompress(packed, size):
                return piece


UNPACKED: tuple[tuple[bytes, str, Callable[[BinaryIO], Packed]], ...] = (
    (b"\x1f\x8b", "gzip", lambda raw: gzip.GzipFile(fileobj=raw)),
    (b"BZh", "bzip2", lambda raw: _Streams(raw, bz2.BZ2Decompressor)),
    (b"\xfd7zXZ\x00", "xz", lambda raw: _Streams(raw, lzma.LZMADecompressor)),
)
"""Containers that readers unpack on their way: first bytes, name, and the stream."""

_BZIP2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")
_NAMED = (
    (b"PK\x03\x04", "a zip archive", "Unpack it: unzip FILE"),
    (b"PK\x05\x06", "an empty zip archive", "Fetch the file again"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "Unpack it: unzstd FILE"),
    (b"\x04\x22\x4d\x18", "compressed by lz4", "Unpack it: unlz4 FILE"),
    (b"\x1f\x9d", "compressed by compress", "Unpack it: uncompress FILE"),
    (b"\xff\x06\x00\x00sNaPpY", "compressed by snappy", "Unpack it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "Unpack it: 7z x FILE"),
    (b"Rar!\x1a\x07", "a rar archive", "Unpack it: unrar x FILE"),
    (PARQUET, "a Parquet file", "Give the file itself, not packed"),
    (b"ARROW1\x00", "an Arrow file", "Write its jobs as a table (see the page about workloads)"),
    (b"ORC\x08", "an ORC file", "Write its jobs as a table (see the page about workloads)"),
    (b"Obj\x01", "an Avro file", "Write its jobs as a table (see the page about workloads)"),
    (b"SEQ\x06", "a sequence file of Hadoop", "Write its jobs as a table: hadoop fs -text FILE shows what it holds"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "Write its jobs as a table (see the page about workloads)"),
    (b"\x93NUMPY", "an array of numpy", "Write its jobs as a table (see the page about workloads)"),
    (b"SQLite format 3\x00", "an SQLite database", "Write its jobs as a table (see the page about workloads)"),
    (b"%PDF-", "a PDF file", "Is it the right file?"),
    (b"\x7fELF", "a program", "Is it the right file?"),
    *((bytes((0x80, version)), "a pickle of Python", _hint) for version in range(2, 6)
      for _hint in ("Fawkes opens no pickle, because it can run code: write its jobs as a table",)),
)  # fmt: skip


def packing(head: bytes) -> tuple[str, Callable[[BinaryIO], Packed]] | None:
    """The way to unpack a file that begins with these bytes on the way; None for others."""
    for magic, name, stream in UNPACKED:
        if head.startswith(magic) and (magic != b"BZh" or head[4:10] in _BZIP2_BLOCKS):
            return name, stream
    return None


def named(head: bytes) -> tuple[str, str] | None:
    """A container that is not unpacked: what it is, and what to do about it; None for all else."""
    if head[_TAR_AT : _TAR_AT + 5] == b"ustar":
        return "a tar archive", "Unpack it: tar xf FILE"
    return next(((what, hint) for magic, what, hint in _NAMED if head.startswith(magic)), None)
