"""Text from nodes is shown as text: no character of it reaches the terminal as a command."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.visible import visible
from fawkes.cli.show.show import csv_value


@given(st.text() | st.text(alphabet="\x1b\x07\x9b\r\x0b\x0c\x85\u2028\u2029\u202e\u2066\x00\x7f\n\tab[2J"))
def test_nothing_that_steers_is_left(text: str) -> None:
    shown = visible(text)
    left = {each for each in shown if unicodedata.category(each) in ("Cc", "Zl", "Zp", "Cs")}
    assert left <= {"\n", "\t"}
    assert not {unicodedata.bidirectional(each) for each in shown} & {
        "RLO",
        "LRO",
        "RLE",
        "LRE",
        "RLI",
        "LRI",
        "FSI",
        "PDF",
    }
    assert shown.count("\n") == text.count("\n") == len(shown.split("\n")) - 1
    assert len(shown.splitlines()) <= text.count("\n") + 1


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S"]) | st.just(" ")))
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_an_escape_is_shown_as_one() -> None:
    assert visible("\x1b[2Jgone\r\u202e\x9b") == "\\x1b[2Jgone\\x0d\\u202e\\x9b"


def test_csv_and_tables_are_no_way_around() -> None:
    assert csv_value("a\x1b[31mb") == "a\\x1b[31mb"
    assert csv_value(["\x1b"]) == '["\\u001b"]'
