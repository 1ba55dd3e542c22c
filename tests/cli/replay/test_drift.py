from __future__ import annotations

import pytest

from fawkes.base.units import SECOND_US
from fawkes.cli.replay.drift import drift_rows, summary
from fawkes.core.values.model import ClusterId, JobId, JobLife, JobSpec, JobState
from fawkes.workload.playing.play import Posted


def state(name: str, *, started_s: float | None, life: JobLife = JobLife.SUCCEEDED) -> JobState:
    started = None if started_s is None else round(started_s * SECOND_US)
    return JobState(
        spec=JobSpec(id=JobId(name), cluster=ClusterId("c"), reference_us=5 * SECOND_US),
        life=life,
        submitted_us=1000 * SECOND_US,
        started_us=started,
        finished_us=None if started is None else started + 10 * SECOND_US,
    )


POSTED = (
    Posted("request", "c", 0, 1, 1),
    Posted("submit", "soon", 0, SECOND_US // 10, 1),
    Posted("submit", "late", 10 * SECOND_US, 13 * SECOND_US, 2),
    Posted("submit", "never", 20 * SECOND_US, 20 * SECOND_US, 1),
)
JOBS = {
    "soon": state("soon", started_s=1004.0),
    "late": state("late", started_s=1002.0),
    "never": state("never", started_s=None, life=JobLife.CANCELLED),
}


def test_each_job_has_how_late_it_came_and_was_begun() -> None:
    soon, late, never = drift_rows(POSTED, JOBS)
    assert (soon.job, soon.due_s, soon.late_s, soon.start_drift_s, soon.run_s) == ("soon", 0.0, 0.1, 4.1, 10.0)
    assert soon.slowdown == pytest.approx(14 / 5)
    assert (late.late_s, late.start_drift_s) == (3.0, 5.0)
    assert (never.start_drift_s, never.run_s, never.state) == (None, None, "cancelled")


def test_the_summary_counts_those_that_never_began() -> None:
    total = summary(drift_rows(POSTED, JOBS))
    assert (total["jobs"], total["succeeded"]) == (3, 2)
    assert total["launched_within_1s"] == pytest.approx(2 / 3)
    assert total["late_most_s"] == 3.0
    assert total["start_drift_median_s"] == pytest.approx(4.55)


def test_nothing_is_made_up_of_no_jobs() -> None:
    assert summary(()) == {
        "jobs": 0,
        "succeeded": 0,
        "launched_within_1s": None,
        "late_median_s": None,
        "late_p95_s": None,
        "late_most_s": None,
        "start_drift_median_s": None,
        "start_drift_p95_s": None,
        "start_drift_most_s": None,
    }
