"""Block numbers that a kept copy has not seen yet, skipped by two further operations of its edit log.

A copy lacks the last seconds of the NameNode that it is of. That NameNode gave numbers to blocks then, and DataNodes
have replicas under them. The next NameNode would give the same numbers again, and a replica of a lost file could pass
for one of a new file. So the counters of the copy take a leap, which is more than anybody gave out in the meantime.

Pure. The image is Hadoop's protobuf format (fsimage.proto: FileSummary, NameSystemSection).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from mmap import mmap

LEAP = 1 << 24
"""So many blocks nobody makes while a copy is too old for a failover."""
HEADER = struct.Struct(">ii")
"""What stands before the first operation: the version of the layout, and its flags (none)."""

_GENERATION, _BLOCK = 31, 32
_FRAME = struct.Struct(">BIqq")
_HEAD = struct.Struct(">BIq")
_SUM = struct.Struct(">I")
_PADDING = 0xFF
_MAGIC = b"HDFSIMG1"
_NAMES = b"NS_INFO"
_ZLIB = ("org.apache.hadoop.io.compress.DefaultCodec", "org.apache.hadoop.io.compress.GzipCodec")
_ANY_ZLIB = 47


@dataclass(frozen=True, slots=True)
class Stamps:
    """The last generation stamp and the last block that were given out; ``layout`` is the version of the files."""

    generation: int
    block: int
    layout: int = 0


def stamps_of(image: bytes | mmap) -> Stamps:
    """The counters in an image; ValueError for what is none, or is compressed in a way that is not known."""
    with memoryview(image) as data:
        if len(data) < len(_MAGIC) + 4 or bytes(data[: len(_MAGIC)]) != _MAGIC:
            raise ValueError("it is not an image of a NameNode")
        (length,) = struct.unpack(">i", data[-4:])
        if not 0 < length <= len(data) - len(_MAGIC) - 4:
            raise ValueError("the image is cut short")
        layout, codec, section = _summary(bytes(data[-4 - length : -4]))
        names = bytes(data[section])
    if codec and codec not in _ZLIB:
        raise ValueError(f"the image is compressed by {codec}")
    found = dict(_fields(_message(zlib.decompress(names, _ANY_ZLIB) if codec else names)))
    generation, block = found.get(3), found.get(5)
    if not isinstance(generation, int) or not isinstance(block, int):
        raise ValueError("the image does not say which blocks were given out")
    return Stamps(generation, block, layout)


def _summary(data: bytes) -> tuple[int, str, slice]:
    """The version of the layout, how the sections are compressed, and where the one with the counters is."""
    layout, codec, section = 0, "", None
    for key, value in _fields(_message(data)):
        if key == 2 and isinstance(value, int):
            # It is negative: as a varint it has its 32 or 64 bits.
            layout = value - (1 << 32) if value < 1 << 32 else value - (1 << 64)
        elif key == 3 and isinstance(value, bytes):
            codec = value.decode()
        elif key == 4 and isinstance(value, bytes):
            fields = dict(_fields(value))
            length, offset = fields.get(2), fields.get(3)
            if fields.get(1) == _NAMES and isinstance(length, int) and isinstance(offset, int):
                section = slice(offset, offset + length)
    if section is None:
        raise ValueError("the image has no section with the counters")
    return layout, codec, section


def _message(data: bytes) -> bytes:
    """A message after its length."""
    size, at = _varint(data, 0)
    return data[at : at + size]


def after(stamps: Stamps, operations: bytes) -> Stamps:
    """The counters after whole operations (without the header of their file)."""
    generation, block, at = stamps.generation, stamps.block, 0
    while at + _HEAD.size <= len(operations) and operations[at] != _PADDING:
        kind, length, _ = _HEAD.unpack_from(operations, at)
        if kind in (_GENERATION, _BLOCK):
            *_, value = _FRAME.unpack_from(operations, at)
            # Block groups of erasure-coded files have numbers below zero.
            generation = max(generation, value) if kind == _GENERATION else generation
            block = max(block, value) if kind == _BLOCK else block
        at += 1 + length + _SUM.size
    return Stamps(generation, block, stamps.layout)


def leap(stamps: Stamps, last: int) -> bytes:
    """The operations after transaction ``last`` by which the counters skip `LEAP` numbers."""
    return _operation(_GENERATION, last + 1, stamps.generation + LEAP) + _operation(
        _BLOCK, last + 2, stamps.block + LEAP
    )


def _operation(kind: int, transaction: int, value: int) -> bytes:
    frame = _FRAME.pack(kind, _FRAME.size - 1, transaction, value)
    return frame + _SUM.pack(zlib.crc32(frame))


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        value: int | bytes
        if key & 7 == 0:
            value, at = _varint(data, at)
        elif key & 7 == 2:
            size, at = _varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            raise ValueError("the image has a field of an unknown kind")
        yield key >> 3, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
    raise ValueError("the image is cut short")
