"""When a run counts as reproduced, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from fawkes.core.values.model import JobLife
from fawkes.offline.outcomes.beside import Beside, JobEnds, JobRow
from fawkes.offline.record.verdict import ModelBounds, ModelVerdict
from fawkes.offline.scenarios.demands import KnownDemands

USUAL = ModelBounds()


def verdict(
    errors: Mapping[str, float],
    known: Mapping[str, KnownDemands] = {},
    makespan_s: float = 100,
    bounds: ModelBounds = USUAL,
    fates: Sequence[JobEnds] = (),
) -> ModelVerdict:
    rows = tuple(JobRow(cluster="a", job=job, recorded_s=10, simulated_s=10 * (1 + by)) for job, by in errors.items())
    both = Beside(
        turns=(),
        jobs=rows,
        fates=tuple(fates),
        likeness=0.5,
        job_error=None,
        recorded_makespan_s=100,
        simulated_makespan_s=makespan_s,
    )
    sources = {**{job: known.get(job, KnownDemands.SPEC) for job in errors}, **known}
    return ModelVerdict(both=both, policy="TD", known=sources, left_out=0, bounds=bounds)


@pytest.mark.parametrize(
    ("errors", "makespan_s", "reproduced"),
    [
        ([0.1, -0.2, 0.9], 100, True),  # the median of 0.1, 0.2, 0.9
        ([0.1, -0.3, 0.9], 100, False),
        ([0.25], 125, True),
        ([0.25], 126, False),
        ([0.0], 74, False),
        ([], 100, False),
    ],
)
def test_both_errors_must_be_within_their_bounds(errors: Sequence[float], makespan_s: float, reproduced: bool) -> None:
    result = verdict({f"j{n}": error for n, error in enumerate(errors)}, makespan_s=makespan_s)
    assert result.reproduced is reproduced
    assert result.line().startswith("Reproduced" if reproduced else "NOT reproduced")
    assert result.plain()["reproduced"] is reproduced


def test_jobs_known_by_their_time_alone_are_not_judged() -> None:
    mixed = verdict(
        {"own": 0.4, "timed": 0.0, "timed2": 0.0}, {"timed": KnownDemands.LEDGER, "timed2": KnownDemands.LEDGER}
    )
    assert mixed.job_error == pytest.approx(0.4)
    assert (len(mixed.judged), mixed.reproduced) == (1, False)
    assert "by their own description (1), by their run time alone (2)" in mixed.line()


def test_nothing_is_reproduced_where_every_job_is_known_by_its_time_alone() -> None:
    """Its tasks were made from that time: that they take it again says nothing about the model."""
    alone = verdict({"timed": 0.0}, {"timed": KnownDemands.LEDGER})
    assert (alone.job_error, alone.job_error_90, alone.reproduced) == (None, None, False)
    assert alone.line().startswith("Whether the model reproduces this run cannot be told")
    assert "every job is known by its run time alone, from which its tasks were made" in alone.line()
    assert "NOT reproduced" not in alone.line()


@pytest.mark.parametrize(
    ("simulated", "kind", "reproduced"),
    [
        (JobLife.KILLED, KnownDemands.SPEC, False),
        (JobLife.FAILED, KnownDemands.LEDGER, False),
        (JobLife.SUCCEEDED, KnownDemands.SPEC, True),
        (None, KnownDemands.SPEC, False),
    ],
)
def test_jobs_that_ended_otherwise_are_judged(simulated: JobLife | None, kind: KnownDemands, reproduced: bool) -> None:
    """Six of nine jobs die in the model, or are not there at all: that the others take their time proves nothing."""
    lost = [f"b{n}" for n in range(6)]
    fates = [JobEnds("a", job, JobLife.SUCCEEDED, simulated) for job in lost if simulated is not None]
    result = verdict(dict.fromkeys(("a0", "a1", "a2"), 0.0), dict.fromkeys(lost, kind), fates=fates)
    assert result.reproduced is reproduced
    assert ("6 of 9 jobs ended otherwise" in result.line()) is not reproduced
    plain = json.loads(json.dumps(result.plain(), allow_nan=False))
    assert plain["ended_otherwise"] == ([] if reproduced else lost)
    assert plain["job_error"] == (0.0 if reproduced else None)


def test_few_jobs_that_ended_otherwise_are_within_the_bounds_and_said() -> None:
    fates = [JobEnds("a", "b0", JobLife.SUCCEEDED, JobLife.KILLED), JobEnds("a", "b1", JobLife.KILLED, JobLife.KILLED)]
    known = dict.fromkeys(("b0", "b1"), KnownDemands.SPEC)
    result = verdict({f"j{n}": 0.1 for n in range(19)}, known, fates=fates)
    assert result.reproduced
    assert result.job_error == pytest.approx(0.1)
    assert "20 jobs, median error 10% (90 % of them within 10%); 1 of 21 jobs ended otherwise" in result.line()


def test_bounds_are_the_users() -> None:
    result = verdict({"a": 0.4}, bounds=ModelBounds(job=0.5, makespan=0.1))
    assert result.reproduced
    assert "50% for job times and 10% for the makespan" in result.line()
