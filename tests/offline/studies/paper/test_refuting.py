"""Each statement can be refuted: its rule holds on rows as the paper has them, and not where an effect is missing."""

from __future__ import annotations

import pytest

from fawkes.offline.runs.work import Row
from fawkes.offline.studies.paper import runs
from fawkes.offline.studies.paper.experiments.growing import grow
from fawkes.offline.studies.paper.judging.models import MODELS
from fawkes.offline.studies.paper.page import judge, ruled
from fawkes.offline.studies.paper.rows import PaperRows
from fawkes.offline.studies.paper.runs import PaperRun
from fawkes.offline.studies.paper.sets import STATEMENTS, range_runs, refuting_runs, used_models
from fawkes.offline.studies.shared.verdicts import CANNOT_FAIL, DIFFERS, HOLDS, REPRODUCED, RuleVerdict
from tests.offline.studies.paper.ideal import ideal_rows, seconds

IDEAL = ideal_rows()
PAIRS = [(name, model) for name, against in STATEMENTS.items() for model in against.models]
STANDING_IN = [(name, model) for name, model in PAIRS if MODELS[model].instead is not None]
RUN = [model for model in used_models() if MODELS[model].instead is None]
#: some seconds each
SHORT = ("no-link", "free-moves", "no-loading")
#: a quarter of a minute each; the rows that were published of them are judged in test_published.py
LONG = ("serial", "no-disks", "slow-link")


def by_name(rows: PaperRows) -> dict[str, RuleVerdict]:
    return {one.name: one for one in ruled(rows)}


def test_every_statement_says_what_would_refute_it() -> None:
    assert sorted(by_name(PaperRows(IDEAL))) == sorted(STATEMENTS)
    assert len(STATEMENTS) == 45


def test_every_rule_holds_on_rows_as_the_paper_has_them() -> None:
    assert [one for one in ruled(PaperRows(IDEAL)) if one.verdict != REPRODUCED] == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "model"), STANDING_IN)
def test_a_rule_fails_where_policies_or_roles_lack_the_effect(name: str, model: str) -> None:
    assert by_name(PaperRows(IDEAL, model=model))[name].verdict == DIFFERS


def holding(model: str) -> list[str]:
    """Statements of which this model is a refuting one, and whose rules do not say so."""
    found = by_name(PaperRows({run: runs.execute(run) for run in refuting_runs() if run.model == model}, model=model))
    names = [name for name, against in STATEMENTS.items() if model in against.models]
    assert set(names) <= set(found), [one.ours for one in found.values()]
    return [f"{name}: {found[name].ours}" for name in names if found[name].verdict != DIFFERS]


@pytest.mark.nightly
@pytest.mark.parametrize("model", SHORT)
def test_rules_fail_in_a_model_that_lacks_the_effect(model: str) -> None:
    assert holding(model) == []


def test_slow_disks_do_not_refute_that_nodes_leave_in_constant_time() -> None:
    """One stream gets no more than one disk, so a slow disk makes the first node as slow as the tenth: 6.4-flat."""
    assert [text.split(":")[0] for text in holding("slow-disks")] == ["6.4-flat"]


@pytest.mark.nightly
@pytest.mark.parametrize("model", [model for model in RUN if model not in (*SHORT, *LONG, "slow-disks")])
def test_rules_fail_in_a_large_model_that_lacks_the_effect(model: str) -> None:
    assert holding(model) == []


@pytest.mark.drill
@pytest.mark.parametrize("model", LONG)
def test_rules_fail_in_the_largest_models_that_lack_the_effect(model: str) -> None:
    assert holding(model) == []


@pytest.mark.slow
def test_a_rule_that_holds_on_its_refuting_model_cannot_fail() -> None:
    free = {runs.in_model(run, "no-link"): row for run, row in IDEAL.items()}
    found = {one.name: one for one in judge(IDEAL | free)}
    assert found["6.2-ST"].verdict == CANNOT_FAIL
    assert "no-link: the rule holds there too" in found["6.2-ST"].refuted_by


@pytest.mark.slow
def test_a_rule_whose_refuting_models_were_not_run_only_holds() -> None:
    found = {one.name: one for one in judge(IDEAL)}
    assert found["6.2-ST"].verdict == HOLDS
    assert "no-link: not run" in found["6.2-ST"].refuted_by
    assert found["7.2-WC-TC"].verdict == REPRODUCED


def in_wkld_d(row: Row, slowdown: float) -> Row:
    """The row with another mean slowdown of c-2."""
    return {**row, "clusters": {**row["clusters"], "c-2": {**row["clusters"]["c-2"], "slowdown": slowdown}}}


@pytest.mark.slow
@pytest.mark.parametrize(("at", "expected"), [(3.0, REPRODUCED), (1.0, "depends on the span of the arrivals")])
def test_a_rule_is_judged_over_the_range_of_what_the_paper_does_not_say(at: float, expected: str) -> None:
    rows = dict(IDEAL)
    for run in range_runs():
        plain = IDEAL[runs.with_factor(run, "", 1.0)]
        turned = run.factor == 1.5 and ("policy", "TD") in run.values and ("workload", "WKLD-D") in run.values
        rows[run] = in_wkld_d(plain, at) if turned else plain
    found = {one.name: one for one in judge(rows)}
    assert found["7.3-gain-None"].verdict == expected
    where = "holds with x 0.75 and 1 alone, turns between x 1 and 1.5"
    assert (where in found["7.3-gain-None"].ours) == (expected != REPRODUCED)
    assert found["7.3-E-makespan"].verdict == found["7.1-C"].verdict == REPRODUCED


def test_jobs_that_are_nine_tenths_serial_grow_in_a_line_but_do_not_gain() -> None:
    def amdahl(run: PaperRun) -> Row:
        values = dict(run.values)
        return seconds(100 * (0.9 + 0.1 / (1 + int(values["others"]) / 20)))

    rows = IDEAL | {run: amdahl(run) for run in grow() if ("core", 20) in run.values}
    found = by_name(PaperRows(rows))["6.3-TC"]
    assert "R2 0.988" in found.ours
    assert found.verdict == DIFFERS


@pytest.mark.slow
def test_what_follows_from_construction_is_never_reproduced() -> None:
    verdicts = {one.name: one.verdict for one in judge(IDEAL)}
    assert {verdicts[name] for name, against in STATEMENTS.items() if not against.models} == {CANNOT_FAIL}


def test_all_models_that_refute_are_named() -> None:
    assert set(used_models()) <= set(MODELS)
    assert all(isinstance(run, PaperRun) for run in refuting_runs())
