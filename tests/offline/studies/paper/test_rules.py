"""Verdicts from rows that are written by hand: rules that can fail, runs that were not made, runs that failed."""

from __future__ import annotations

import pytest

from fawkes.offline.runs.work import Row
from fawkes.offline.studies.paper import runs
from fawkes.offline.studies.paper.experiments.half import HALF
from fawkes.offline.studies.paper.experiments.points import StepCurve, curves
from fawkes.offline.studies.paper.page import ruled, swept
from fawkes.offline.studies.paper.rows import PaperRows, makespan_s, mean_slowdown
from fawkes.offline.studies.paper.runs import PaperRun
from fawkes.offline.studies.paper.sets import EXPERIMENTS
from fawkes.offline.studies.shared.verdicts import DIFFERS, NOT_SHOWN, REPRODUCED, NotRunError, line_fit
from tests.offline.studies.paper.ideal import ideal_rows, seconds

IDEAL = ideal_rows()


def test_the_mean_slowdown_is_of_all_jobs_as_in_compare() -> None:
    """Half of the jobs are c-2's, so it counts twice; the mean over the MR-clusters would be 2.07."""
    rows = PaperRows(IDEAL)
    assert rows.middle(mean_slowdown, "WKLD-D", "TD") == pytest.approx((1.2 + 3.0 + 3.0 + 2.0) / 4)


def half_rows(sort_by_tr: float) -> dict[PaperRun, Row]:
    """6.1 with a slowdown of Sort on half TR; all else as published."""
    made = {run: IDEAL[run] for run in HALF.runs}
    return made | {runs.application("ST", 10, "TR", 10): seconds(100 * (1 + sort_by_tr))}


@pytest.mark.parametrize(("slower", "expected"), [(0.40, REPRODUCED), (0.44, REPRODUCED), (0.30, DIFFERS)])
def test_sort_is_judged_within_five_points(slower: float, expected: str) -> None:
    found = {one.name: one for one in ruled(PaperRows(half_rows(slower)))}
    assert found["6.1-sort-TR"].verdict == expected
    assert found["6.1-sort-TC"].verdict == REPRODUCED


def test_what_was_not_run_is_not_shown() -> None:
    found = {one.name: one for one in ruled(PaperRows({}))}
    assert found["6.1-half"].verdict == NOT_SHOWN
    assert found["6.1-half"].ours == "not run: application ST 10 TR 10 1"


def test_each_experiment_judges_its_own_statements() -> None:
    for experiment in EXPERIMENTS:
        judged = [name for name, _, _ in experiment.rules(PaperRows(IDEAL))]
        assert judged == [statement.name for statement in experiment.statements]


def test_no_experiment_is_judged_without_its_runs() -> None:
    shown = [one.name for one in ruled(PaperRows({})) if one.verdict != NOT_SHOWN]
    assert shown == ["5.3-ratio-D", "5.3-ratio-E"]


def test_what_failed_is_not_shown_and_says_why() -> None:
    rows = half_rows(0.4) | {runs.application("ST", 20): {"error": "it never ends"}}
    found = {one.name: one for one in ruled(PaperRows(rows))}
    assert found["6.1-half"].verdict == NOT_SHOWN
    assert "it never ends" in found["6.1-half"].ours


def test_the_sweep_tells_which_constant_turns_a_verdict() -> None:
    changed = {PaperRun(run.kind, run.values, "remote_read", 2.0): row for run, row in half_rows(0.6).items()}
    found = {row["verdict"]: row for row in swept(half_rows(0.4) | changed)}
    turned = found["6.1-sort-TR"]
    assert (turned["constant"], turned["factor"], turned["before"], turned["after"]) == (
        "remote_read", "2", REPRODUCED, DIFFERS,
    )  # fmt: skip
    assert found["6.1-sort-TC"]["after"] == REPRODUCED


def test_a_line_explains_all_of_a_line_and_less_of_a_step() -> None:
    assert line_fit([(0, 1), (1, 2), (2, 3)]) == pytest.approx(1)
    assert line_fit([(0, 0), (1, 0), (2, 0), (3, 9)]) < 0.7


@pytest.mark.parametrize(
    ("first", "second", "is_ahead"),
    [((97, 97, 97), (100, 100, 100), True), ((99, 99, 99), (100, 100, 100), False), ((90, 101, 90), (100,) * 3, False)],
)
def test_a_policy_is_ahead_when_each_replay_agrees_and_the_medians_are_no_tie(
    first: tuple[float, ...], second: tuple[float, ...], is_ahead: bool
) -> None:
    rows = {
        runs.replay("WKLD-B", policy, number=number): {"makespan_s": makespan}
        for policy, each in (("TD", first), ("EQ", second))
        for number, makespan in enumerate(each)
    }
    assert PaperRows(rows).ahead(makespan_s, "WKLD-B", ("TD", "TC"), ("EQ", "TC")) == is_ahead


def test_nodes_over_time_add_up_over_roles() -> None:
    nodes = {"c-1": {"core": [(0.0, 0), (5.0, 10)], "transient": [(0.0, 0), (9.0, 40), (20.0, 7)]}}
    assert curves({"course": {"nodes": nodes}}) == {"c-1": StepCurve((0.0, 5.0, 9.0, 20.0), (0, 10, 50, 17))}
    curve = curves({"course": {"nodes": nodes}})["c-1"]
    assert (curve.at(4), curve.at(5), curve.at(30), curve.most()) == (0, 10, 17, 50)
    assert curve.first(lambda nodes: nodes < 50, after=10) == 20
    assert curve.first(lambda nodes: nodes > 50) is None


def test_rows_of_a_changed_constant_are_not_those_of_the_model() -> None:
    with pytest.raises(NotRunError, match="cores x 2"):
        PaperRows(half_rows(0.4), "cores", 2.0).seconds(runs.plain("ST"))
