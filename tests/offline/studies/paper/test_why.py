"""Reasons for "differs" are printed when their check passes, and only then."""

from __future__ import annotations

import pytest

from fawkes.offline.runs.work import Row
from fawkes.offline.studies.paper import runs
from fawkes.offline.studies.paper.experiments.removing import BUSY_APPS, busy
from fawkes.offline.studies.paper.page import UNKNOWN, why
from fawkes.offline.studies.paper.rows import PaperRows
from fawkes.offline.studies.paper.runs import PaperRun
from fawkes.offline.studies.paper.sets import reason_runs
from tests.offline.studies.paper.ideal import ideal_rows, seconds

IDEAL = ideal_rows()


def drained(row: Row, c2_s: float, c3_s: float) -> Row:
    """The row with other times of c-2 and c-3."""
    changed = {"c-2": {**row["clusters"]["c-2"], "drain_s": c2_s}, "c-3": {**row["clusters"]["c-3"], "drain_s": c3_s}}
    return {**row, "clusters": {**row["clusters"], **changed}}


def with_equal_data(c3_s: float) -> dict[PaperRun, Row]:
    """WKLD-B under TD with TC, c-2 in 800 s and c-3 in 1000 s; with equal data c-3 in so many."""
    found = dict(IDEAL)
    for number in range(3):
        run = runs.replay("WKLD-B", "TD", "TC", number=number)
        found[run] = drained(IDEAL[run], 800, 1000)
        found[runs.in_model(run, "equal-data")] = drained(IDEAL[run], 800, c3_s)
    return found


@pytest.mark.parametrize(("c3_s", "is_a_reason"), [(850, True), (1000, False)])
def test_a_reason_is_printed_when_things_are_otherwise_without_the_cause(c3_s: float, is_a_reason: bool) -> None:
    text = why("7.2-WC-TC", PaperRows(with_equal_data(c3_s)))
    assert ("loads more data" in text) == is_a_reason
    assert ("6 % apart" in text) == is_a_reason
    assert (text == UNKNOWN) != is_a_reason


def test_a_reason_whose_runs_were_not_made_is_not_printed() -> None:
    assert why("7.2-WC-TC", PaperRows(IDEAL)) == UNKNOWN


def test_a_statement_without_a_reason_says_so() -> None:
    assert why("7.3-moves-D", PaperRows(IDEAL)) == UNKNOWN


@pytest.mark.parametrize(("at_half", "is_a_reason"), [(1.0, True), (0.4, False)])
def test_lost_capacity_is_a_reason_for_its_own_curve_alone(at_half: float, is_a_reason: bool) -> None:
    rows = dict(IDEAL)
    for app in BUSY_APPS:
        for count in range(9):
            rows[busy(app, count)] = seconds(100 * (20 / (20 - count)) ** at_half)
        if not is_a_reason:
            rows[busy(app, 8)] = seconds(400)
    assert (why("6.4-busy-linear", PaperRows(rows)) != UNKNOWN) == is_a_reason


def test_the_runs_of_reasons_are_of_changed_models() -> None:
    assert all(run.model for run in reason_runs())
