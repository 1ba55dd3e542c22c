"""Values that are written as TOML are read back as the same."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.units import MOST_DURATION_US, duration_us, size_bytes
from fawkes.offline.record import toml

TEXT = st.text(st.characters(codec="utf-8"))
PLAIN = st.recursive(
    TEXT | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@given(st.dictionaries(TEXT, PLAIN, max_size=4))
def test_a_table_is_read_back(said: dict[str, Any]) -> None:
    assert tomllib.loads("\n".join(toml.table(said))) == said


@given(st.integers(0, MOST_DURATION_US))
def test_durations_and_sizes_are_read_back_to_the_last_unit(count: int) -> None:
    assert duration_us(toml.duration(count)) == count
    assert size_bytes(toml.size(count)) == count


def test_none_is_left_out_and_notes_stay_comments() -> None:
    text = "\n".join(toml.table({"a": 1, "b": None, "c": "x"}, notes={"a": "from\na ledger"}))
    assert text == 'a = 1  # from a ledger\nc = "x"'
    assert tomllib.loads("\n".join(toml.rows("node", [{"id": "n1"}, {}]))) == {"node": [{"id": "n1"}, {}]}
