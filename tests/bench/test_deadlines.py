"""The tables of the deadlines' show; the show itself needs a lab."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.deadline_jobs import Row, most_at_once, tables
from bench.deadlines import MIX

_SPANS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)).map(lambda span: (span[0], span[0] + span[1])))


@pytest.mark.parametrize(
    ("spans", "most"),
    [
        ([], 0),
        ([(0, 5)], 1),
        ([(0, 5), (5, 9)], 1),
        ([(0, 5), (4, 9)], 2),
        ([(0, 9), (1, 2), (3, 4)], 2),
        ([(3, 3)], 0),
    ],
)
def test_spans_that_touch_do_not_overlap(spans: list[tuple[int, int]], most: int) -> None:
    assert most_at_once(spans) == most


@given(_SPANS)
def test_at_no_moment_are_there_more(spans: list[tuple[int, int]]) -> None:
    counts = [sum(begin <= at < end for begin, end in spans) for at in range(31)]
    assert most_at_once(spans) == max(counts)


def row(policy: str, outcome: str, work_s: float | None, at_once: int | None = 2, granted: int = 2) -> Row:
    return Row(policy, "left", f"{outcome}-1", outcome, granted, at_once, work_s)


def test_the_table_counts_outcomes_and_what_was_wasted() -> None:
    rows = [
        row("fifo", "met", 40, granted=0),
        row("fifo", "missed", 50.4),
        row("justice", "dropped", None, None, 0),
        row("justice", "killed", None, None),
        row("justice", "missed", 7),
    ]
    lines = tables(rows).splitlines()
    assert lines[2:4] == ["| fifo | 1 | 1 | 0 | 0 | 50 |", "| justice | 0 | 1 | 1 | 1 | 7+ |"]
    assert "| fifo | left | met-1 | met | all | 2 | 40 |" in lines
    assert "| justice | left | killed-1 | killed | 2 | not known | not known |" in lines


def test_the_mix_has_each_kind_of_deadline() -> None:
    assert {plan.name.partition("-")[0] for plan in MIX} == {"known", "tight", "hopeless", "loose"}
    assert [plan.at_s for plan in MIX] == sorted(plan.at_s for plan in MIX)
