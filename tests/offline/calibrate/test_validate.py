"""How well constants predict a run: by themselves alone, and what is said of it."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from fawkes.config.workloads.model import ModelTable
from fawkes.offline.calibrate.validate import JobError, Validation, validated
from fawkes.offline.record.scenario import INCLUDED, Platform
from tests.offline.record.support import CONSTANTS, recorded, run


@pytest.mark.slow
def test_the_true_constants_predict_a_run_that_is_steady(tmp_path: Path) -> None:
    record = recorded(run(constants=replace(CONSTANTS, spread=0.0)), tmp_path, platform=Platform())
    true = ModelTable.model_validate({"spread": 0, "deploy": "12s", **INCLUDED})
    validation = validated([record], true, lambda name: None)
    assert [row.error for row in validation.jobs] == pytest.approx([0] * 9, abs=1e-6)
    assert {row.kind for row in validation.jobs} == {"sleeping"}
    assert [summary.kind for summary in validation.summaries()] == ["sleeping", "all jobs", "makespan"]
    assert validation.reached
    # What the ledger of the record itself tells of the deployment is not used.
    wrong = validated(
        [record], ModelTable.model_validate({"spread": 0, "deploy": "90s", **INCLUDED}), lambda name: None
    )
    assert wrong.makespans[0][2] > validation.makespans[0][2] + 60


def error(job: str, kind: str, share: float) -> JobError:
    return JobError(record="r", job=job, kind=kind, recorded_s=10, simulated_s=10 * (1 + share), error=share)


def test_kinds_are_told_apart_and_jobs_by_run_time_are_not_judged() -> None:
    rows = (
        error("s1", "sleeping", -0.02),
        error("s2", "sleeping", 0.04),
        error("c1", "computing", 0.5),
        error("t1", "by run time", 0.9),
    )
    validation = Validation(rows, (("r", 100.0, 110.0),))
    said = validation.summaries()
    assert [(row.kind, row.n) for row in said] == [("sleeping", 2), ("computing", 1), ("all jobs", 3), ("makespan", 1)]
    assert [summary.median for summary in said] == pytest.approx([0.03, 0.5, 0.04, 0.1])
    assert not validation.reached
    assert Validation(rows[:2], ()).reached
    assert not Validation((), ()).reached
    dead = replace(error("t2", "by run time", inf), recorded_s=None)
    lost = Validation((rows[0], dead), ())
    assert (lost.otherwise, lost.reached) == (1, False)
    assert json.loads(json.dumps(lost.plain(), allow_nan=False))["jobs"][1]["error"] is None
    assert validation.plain()["goal"] == {"median": 0.05, "q90": 0.15, "reached": False}
