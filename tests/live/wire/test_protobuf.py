"""Protobuf messages: what is written is read again, and nothing that is cut short is believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.live.wire.protobuf import fields, message, number, read_varint, text, varint, zigzag

NUMBERS = st.integers(0, 2**64 - 1)
VALUES = st.lists(st.tuples(st.integers(1, 500), NUMBERS | st.binary(max_size=300)), max_size=6)


def encoded(values: list[tuple[int, int | bytes]]) -> bytes:
    return b"".join(text(key, value) if isinstance(value, bytes) else number(key, value) for key, value in values)


@pytest.mark.slow
@given(VALUES)
def test_fields_come_back_in_their_order(values: list[tuple[int, int | bytes]]) -> None:
    assert list(fields(encoded(values))) == values


@pytest.mark.slow
@given(VALUES.filter(bool), st.data())
def test_a_message_that_is_cut_short_is_never_read_to_its_end(
    values: list[tuple[int, int | bytes]], data: st.DataObject
) -> None:
    body = encoded(values)
    whole = varint(len(body)) + body
    with pytest.raises(ValueError, match="cut short"):
        message(whole[: data.draw(st.integers(0, len(whole) - 1))])
    assert message(b"xy" + whole + b"z", 2) == body


@given(NUMBERS)
def test_a_number_ends_where_its_encoding_ends(value: int) -> None:
    assert read_varint(varint(value) + b"\x07", 0) == (value, len(varint(value)))


@pytest.mark.parametrize(("value", "coded"), [(0, 0), (-1, 1), (1, 2), (-3, 5), (2**31 - 1, 2**32 - 2)])
def test_numbers_below_zero_are_coded_between_the_others(value: int, coded: int) -> None:
    assert zigzag(value) == coded


@pytest.mark.parametrize("kind", [1, 3, 4, 5, 6, 7])
def test_fields_of_other_kinds_are_an_error(kind: int) -> None:
    with pytest.raises(ValueError, match=f"unknown kind \\({kind}\\)"):
        list(fields(varint(1 << 3 | kind) + bytes(8)))
