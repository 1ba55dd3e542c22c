"""Messages in Hadoop's protobuf encoding, as far as Fawkes needs them: numbers and texts by the number of their field.

Pure. ValueError for bytes that are cut short, and for fields of another kind.
"""

from __future__ import annotations

from collections.abc import Iterator

_NUMBER, _TEXT = 0, 2
_KIND_BITS = 3


def varint(number: int) -> bytes:
    """The encoding of a number from 0 on."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """A field with a number from 0 on."""
    return varint(field << _KIND_BITS | _NUMBER) + varint(value)


def text(field: int, value: bytes) -> bytes:
    """A field with text, or with a message."""
    return varint(field << _KIND_BITS | _TEXT) + varint(len(value)) + value


def zigzag(value: int) -> int:
    """The number from 0 on that stands for a number which may be below zero."""
    return value << 1 if value >= 0 else (-value << 1) - 1


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at a place, and the place behind it; ValueError when it is cut short."""
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
    raise ValueError("it is cut short")


def message(data: bytes, at: int = 0) -> bytes:
    """The message whose length stands at a place; ValueError when it is cut short."""
    size, at = read_varint(data, at)
    return _piece(data, at, size)


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The number and the value of each field of a message, in their order; ValueError for other kinds of fields."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & ((1 << _KIND_BITS) - 1)
        if kind == _NUMBER:
            value, at = read_varint(data, at)
            yield key >> _KIND_BITS, value
        elif kind == _TEXT:
            size, at = read_varint(data, at)
            piece, at = _piece(data, at, size), at + size
            yield key >> _KIND_BITS, piece
        else:
            raise ValueError(f"it has a field of an unknown kind ({kind})")


def _piece(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise ValueError("it is cut short")
    return data[at : at + size]
