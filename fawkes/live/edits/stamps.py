"""Block numbers that a kept copy has not seen yet, skipped by further operations of its edit log and in its image.

A copy lacks the last seconds of the NameNode that it is of. That NameNode gave numbers to blocks then, and DataNodes
have replicas under them. The next NameNode would give the same numbers again, and a replica of a lost file could pass
for one of a new file. So the counters of the copy take a leap, which is more than anybody gave out in the meantime.
A NameNode that can be no standby takes the counter of generation stamps from its image alone (seen on Hadoop 3.5.0).

Pure. The image is Hadoop's protobuf format (fsimage.proto: FileSummary, NameSystemSection).
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from mmap import mmap

from fawkes.live.wire.protobuf import fields, message, number, text, varint

LEAP = 1 << 24
"""So many blocks nobody makes while a copy is too old for a failover. Each later move of the masters leaps farther."""
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
_ANY_ZLIB, _GZIP = 47, 31


@dataclass(frozen=True, slots=True)
class Stamps:
    """The last generation stamp and the last block that were given out; ``layout`` is the version of the files."""

    generation: int
    block: int
    layout: int = 0


@dataclass(frozen=True, slots=True)
class _Image:
    """The parts of an image: where its sections end, their summary, and the section with the counters."""

    end: int
    summary: bytes
    layout: int
    codec: str
    counters: bytes


def stamps_of(image: bytes | mmap) -> Stamps:
    """The counters in an image; ValueError for what is none, or is compressed in a way that is not known."""
    parts = _parts(image)
    counters = dict(_fields(parts.counters))
    generation, block = counters.get(3), counters.get(5)
    if not isinstance(generation, int) or not isinstance(block, int):
        raise ValueError("the image does not say which blocks were given out")
    return Stamps(generation, block, parts.layout)


def with_generation(image: bytes | mmap, generation: int) -> tuple[int, bytes]:
    """The end of an image's sections, and what stands behind it in the same image with another generation stamp.

    The section with the counters is written once more, and the summary names that one. ValueError as `stamps_of`.
    """
    parts = _parts(image)
    counters = b"".join(_field(key, generation if key == 3 else value) for key, value in _fields(parts.counters))
    section = varint(len(counters)) + counters
    if parts.codec:
        packed = zlib.compressobj(wbits=_GZIP if parts.codec.endswith("GzipCodec") else zlib.MAX_WBITS)
        section = packed.compress(section) + packed.flush()
    here = text(4, text(1, _NAMES) + number(2, len(section)) + number(3, parts.end))
    summary = b"".join(
        here if key == 4 and isinstance(value, bytes) and dict(fields(value)).get(1) == _NAMES else _field(key, value)
        for key, value in _fields(parts.summary)
    )
    summary = varint(len(summary)) + summary
    return parts.end, section + summary + struct.pack(">i", len(summary))


def _field(key: int, value: int | bytes) -> bytes:
    return number(key, value) if isinstance(value, int) else text(key, value)


def _parts(image: bytes | mmap) -> _Image:
    with memoryview(image) as data:
        if len(data) < len(_MAGIC) + 4 or bytes(data[: len(_MAGIC)]) != _MAGIC:
            raise ValueError("it is not an image of a NameNode")
        (length,) = struct.unpack(">i", data[-4:])
        if not 0 < length <= len(data) - len(_MAGIC) - 4:
            raise ValueError("the image is cut short")
        end = len(data) - 4 - length
        summary = bytes(data[end:-4])
        layout, codec, section = _summary(summary)
        names = bytes(data[section])
    if codec and codec not in _ZLIB:
        raise ValueError(f"the image is compressed by {codec}")
    return _Image(end, summary, layout, codec, zlib.decompress(names, _ANY_ZLIB) if codec else names)


def _summary(data: bytes) -> tuple[int, str, slice]:
    """The version of the layout, how the sections are compressed, and where the one with the counters is."""
    layout, codec, section = 0, "", None
    for key, value in _fields(data):
        if key == 2 and isinstance(value, int):
            # It is negative: as a varint it has its 32 or 64 bits.
            layout = value - (1 << 32) if value < 1 << 32 else value - (1 << 64)
        elif key == 3 and isinstance(value, bytes):
            codec = value.decode()
        elif key == 4 and isinstance(value, bytes):
            section_of = dict(fields(value))
            length, offset = section_of.get(2), section_of.get(3)
            if section_of.get(1) == _NAMES and isinstance(length, int) and isinstance(offset, int):
                section = slice(offset, offset + length)
    if section is None:
        raise ValueError("the image has no section with the counters")
    return layout, codec, section


def _fields(data: bytes) -> list[tuple[int, int | bytes]]:
    """The fields of a message after its length."""
    try:
        return list(fields(message(data)))
    except ValueError as error:
        raise ValueError(f"a part of the image cannot be read: {error}") from error


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


def leap_of(version: int) -> int:
    """The number of ids that the move of this version skips.

    A copy may be used again after the masters that had begun with it were given up: these have given out numbers too.
    """
    return LEAP * max(1, version)


def leap(stamps: Stamps, last: int, version: int) -> bytes:
    """The operations after transaction ``last`` by which the counters skip numbers, for the move of this version."""
    skipped = leap_of(version)
    return _operation(_GENERATION, last + 1, stamps.generation + skipped) + _operation(
        _BLOCK, last + 2, stamps.block + skipped
    )


def _operation(kind: int, transaction: int, value: int) -> bytes:
    frame = _FRAME.pack(kind, _FRAME.size - 1, transaction, value)
    return frame + _SUM.pack(zlib.crc32(frame))
