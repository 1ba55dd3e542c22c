"""Avro's binary encoding, as far as Hadoop's job histories need it: values one after another, without a container.

Specification: https://avro.apache.org/docs/1.11.1/specification/ (binary encoding).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Decode = Callable[["Cursor"], Any]


class Cursor:
    """Bytes and how far they have been decoded; IndexError and struct.error when they end too early."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        """The next bytes."""
        end = self.at + count
        if count < 0 or end > len(self.data):
            raise IndexError("the bytes end within a value")
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def number(self) -> int:
        """A variable-length zigzag number."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
            shift += 7
            if shift >= 64:
                raise ValueError("a number has more than 64 bits")


def values(schema: Any, data: bytes) -> Iterator[Any]:
    """Each value to the end of the bytes: records are dicts, a union is its value.

    ValueError for a schema that is none; IndexError, UnicodeDecodeError and struct.error for bytes that do not fit it.
    """
    decode = _decoder(schema, {}, "")
    cursor = Cursor(data)
    while cursor.at < len(data):
        before = cursor.at
        yield decode(cursor)
        if cursor.at == before:
            raise ValueError("the schema describes values without bytes")


def _decoder(schema: Any, named: dict[str, Decode], space: str) -> Decode:
    if isinstance(schema, list):
        return _union([_decoder(branch, named, space) for branch in schema])
    if isinstance(schema, str):
        return _PLAIN[schema] if schema in _PLAIN else _known(schema, named, space)
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind in _NAMED:
        return _named(schema, named, space)
    if kind == "array":
        return _array(_decoder(schema["items"], named, space))
    if kind == "map":
        return _map(_decoder(schema["values"], named, space))
    if isinstance(kind, str):
        return _decoder(kind, named, space)
    raise ValueError(f"{schema!r} is not an Avro schema")


def _known(name: str, named: Mapping[str, Decode], space: str) -> Decode:
    for full in (name, f"{space}.{name}"):
        if full in named:
            return named[full]
    raise ValueError(f"the schema names {name!r}, which it does not define")


def _named(schema: Mapping[str, Any], named: dict[str, Decode], space: str) -> Decode:
    space = schema.get("namespace", space)
    name = schema["name"]
    full = name if "." in name else f"{space}.{name}"

    def later(cursor: Cursor) -> Any:
        return named[full](cursor)

    # A record may hold itself: its own name is looked up only when a value is decoded.
    named[full] = later
    named[full] = _NAMED[schema["type"]](schema, named, full.rpartition(".")[0])
    return named[full]


def _record(schema: Mapping[str, Any], named: dict[str, Decode], space: str) -> Decode:
    fields = [(field["name"], _decoder(field["type"], named, space)) for field in schema["fields"]]
    return lambda cursor: {name: decode(cursor) for name, decode in fields}


def _enum(schema: Mapping[str, Any], named: dict[str, Decode], space: str) -> Decode:
    symbols: Sequence[str] = schema["symbols"]
    return lambda cursor: symbols[_index(cursor, len(symbols))]


def _fixed(schema: Mapping[str, Any], named: dict[str, Decode], space: str) -> Decode:
    size: int = schema["size"]
    return lambda cursor: cursor.take(size)


def _union(branches: Sequence[Decode]) -> Decode:
    return lambda cursor: branches[_index(cursor, len(branches))](cursor)


def _index(cursor: Cursor, count: int) -> int:
    at = cursor.number()
    if not 0 <= at < count:
        raise IndexError(f"{at} is none of {count}")
    return at


def _array(decode: Decode) -> Decode:
    return lambda cursor: [decode(cursor) for _ in _blocks(cursor)]


def _map(decode: Decode) -> Decode:
    return lambda cursor: {_text(cursor): decode(cursor) for _ in _blocks(cursor)}


def _blocks(cursor: Cursor) -> Iterator[None]:
    """Yield once for each item of an array or a map; a negative count is followed by the bytes of its block."""
    while count := cursor.number():
        if count < 0:
            count = -count
            cursor.number()
        for _ in range(count):
            before = cursor.at
            yield
            if cursor.at == before:
                raise ValueError("a list has values without bytes")


def _text(cursor: Cursor) -> str:
    return cursor.take(cursor.number()).decode()


def _packed(form: str) -> Decode:
    unpacked = struct.Struct(form)
    return lambda cursor: unpacked.unpack(cursor.take(unpacked.size))[0]


_PLAIN: Mapping[str, Decode] = {
    "null": lambda cursor: None,
    "boolean": lambda cursor: cursor.take(1) == b"\x01",
    "int": Cursor.number,
    "long": Cursor.number,
    "float": _packed("<f"),
    "double": _packed("<d"),
    "bytes": lambda cursor: cursor.take(cursor.number()),
    "string": _text,
}
_NAMED: Mapping[str, Callable[[Mapping[str, Any], dict[str, Decode], str], Decode]] = {
    "record": _record,
    "enum": _enum,
    "fixed": _fixed,
}
