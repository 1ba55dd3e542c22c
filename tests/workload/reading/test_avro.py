from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.workload.reading.avro import values

SCHEMA = {
    "type": "record",
    "name": "Node",
    "namespace": "a.b",
    "fields": [
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["ONE", "TWO"]}},
        {"name": "number", "type": "long"},
        {"name": "share", "type": "double"},
        {"name": "on", "type": {"type": "boolean"}},
        {"name": "texts", "type": {"type": "array", "items": "string"}},
        {"name": "sizes", "type": {"type": "map", "values": "int"}},
        {"name": "next", "type": ["null", "Node"]},
    ],
}

NODES: st.SearchStrategy[dict[str, Any]] = st.deferred(
    lambda: st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["ONE", "TWO"]),
            "number": st.integers(-(2**63), 2**63 - 1),
            "share": st.floats(allow_nan=False),
            "on": st.booleans(),
            "texts": st.lists(st.text(max_size=5), max_size=3),
            "sizes": st.dictionaries(st.text(max_size=3), st.integers(-(2**31), 2**31 - 1), max_size=3),
            "next": st.none() | NODES,
        }
    )
)


def number(value: int) -> bytes:
    rest = value * 2 if value >= 0 else -value * 2 - 1
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


def text(value: str) -> bytes:
    return number(len(value.encode())) + value.encode()


def encoded(node: dict[str, Any]) -> bytes:
    out = number(["ONE", "TWO"].index(node["kind"])) + number(node["number"]) + struct.pack("<d", node["share"])
    out += bytes([node["on"]])
    if node["texts"]:
        items = b"".join(map(text, node["texts"]))
        out += number(-len(node["texts"])) + number(len(items)) + items
    out += number(0)
    if node["sizes"]:
        out += number(len(node["sizes"])) + b"".join(text(key) + number(size) for key, size in node["sizes"].items())
    out += number(0)
    return out + (number(0) if node["next"] is None else number(1) + encoded(node["next"]))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(NODES, max_size=3))
def test_what_was_encoded_is_decoded(nodes: list[dict[str, Any]]) -> None:
    assert list(values(SCHEMA, b"".join(encoded(node) for node in nodes))) == nodes


@pytest.mark.parametrize(
    ("schema", "data", "value"),
    [
        ("float", struct.pack("<f", 0.5), 0.5),
        ("bytes", b"\x04ab", b"ab"),
        ({"type": "fixed", "name": "Sum", "size": 2}, b"ab", b"ab"),
        (["null", {"type": "long"}], b"\x02\x7f", -64),
    ],
)
def test_other_types(schema: Any, data: bytes, value: object) -> None:
    assert list(values(schema, data)) == [value]


@pytest.mark.parametrize(
    ("schema", "data", "error"),
    [
        ("string", b"\x08ab", IndexError),
        ("string", b"\x01", IndexError),
        ("long", b"\x80", IndexError),
        ("string", b"\x02\xff", UnicodeDecodeError),
        (["null"], b"\x02", IndexError),
        ("Nobody", b"\x00", ValueError),
        (7, b"\x00", ValueError),
    ],
)
def test_bytes_that_do_not_fit_are_refused(schema: Any, data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        list(values(schema, data))
