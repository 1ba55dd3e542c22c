"""Causes for which a job waits when nothing of it moves: the table, and since when."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.core.values.model import ClusterId, JobId, JobLife, JobState, Reading
from fawkes.core.values.sight import AppLife, AppSeen, Launcher, Stray, StreamSeen, Work
from fawkes.core.values.tags import tag_of
from fawkes.core.watching.standing import For, follow, waits_for
from fawkes.report.tables.explain_job import job_in_words
from tests.support.desk import Desk

A = ClusterId("a")
JOB = JobId("a-1")
TAG = tag_of(JOB, 1)
APP = "application_17_0001"
STRAY = Stray("attempt_17_0001_m_000001_0", "node03")
WORKS = Work(tag=TAG, application=APP, master=True, waiting=2, running=3, done=4, progress=61.5)
QUIET_S = 60


@pytest.mark.parametrize(
    ("changes", "strays", "what", "numbers"),
    [
        ({"application": "", "master": False}, (), For.CLIENT, {}),
        ({"master": False}, (), For.MASTER, {"held": 7, "slots": 8}),
        ({}, (STRAY.attempt,), For.STRAYS, {"tasks": 1, "nodes": ["node03"]}),
        ({}, ("attempt_17_0009_m_000001_0",), For.TASKS, {"tasks": 3}),
        ({"progress": None, "running": None}, (), For.ANSWER, {}),
        ({}, (), For.TASKS, {"tasks": 3}),
        ({"running": 0}, (), For.ROOM, {"tasks": 2, "held": 7, "slots": 8}),
        ({"running": 0, "waiting": 0}, (), For.END, {}),
    ],
)
def test_what_a_job_waits_for(
    changes: dict[str, Any], strays: tuple[str, ...], what: For, numbers: dict[str, object]
) -> None:
    reading = Reading(cluster=A, slots_used=7, slots_total=8, strays=(STRAY,))
    assert waits_for(replace(WORKS, **changes), reading, strays) == (what, numbers)


@pytest.mark.parametrize(
    ("changes", "moved"),
    [
        ({}, False),
        ({"done": 5}, True),
        ({"running": 2}, True),
        ({"waiting": 1}, True),
        ({"progress": 61.6}, True),
        ({"master": False}, True),
        ({"application": "application_17_0002"}, True),
        ({"progress": None, "running": None, "waiting": None, "done": None}, False),
    ],
)
def test_what_moves_and_what_is_only_not_known(changes: dict[str, Any], moved: bool) -> None:
    (row,) = follow((replace(WORKS, since_us=10),), (replace(WORKS, **changes),), (TAG,), 50)
    assert row.since_us == (50 if moved else 10)


@given(st.lists(st.none() | st.integers(0, 3), min_size=1, max_size=8))
def test_nothing_has_moved_since_the_time_that_is_told(done: list[int | None]) -> None:
    rows: tuple[Work, ...] = ()
    for at_us, count in enumerate(done):
        rows = follow(rows, (replace(WORKS, done=count),), (TAG,), at_us)
    known = [count for count in done[rows[0].since_us :] if count is not None]
    assert len(set(known)) <= 1 or None in done


def test_tasks_of_a_long_batch_that_end_are_a_move() -> None:
    before, now = (replace(WORKS, stream=StreamSeen(wanted=1, executors=1, tasks=tasks)) for tasks in (7, 8))
    assert [follow((before,), (row,), (TAG,), 50)[0].since_us for row in (before, now)] == [0, 50]


def test_only_attempts_that_run_have_a_row_and_yarn_need_not_know_them() -> None:
    other = replace(WORKS, tag="fawkes-gone-1")
    assert follow((other,), (other,), (TAG,), 7) == (Work(tag=TAG, since_us=7),)


def desk() -> Desk:
    """MR-cluster a with a job that runs; a job may stand for 60 s. Ticks do not come."""
    found = Desk.running("a", count=4, quiet_us=QUIET_S * SECOND_US, period_us=10**12)
    found.submit("a", 1, retries=1)
    found.attempt(JOB, launcher=Launcher.RUNNING, applications=(AppSeen(id=APP, life=AppLife.LIVE),))
    return found


def read(desk: Desk, *work: Work, after_s: float = 20, **reading: object) -> JobState:
    desk.now_s += after_s
    desk.sample(a={"work": work, "slots_used": 7, "slots_total": 8, **reading})
    return desk.state.jobs[JOB]


def test_a_job_that_stands_says_what_it_waits_for_once_and_when_it_goes_on() -> None:
    at = desk()
    assert [read(at, WORKS).waits for _ in range(3)] == [None] * 3
    job = read(at, WORKS)
    since_us = at.now_us - QUIET_S * SECOND_US
    assert at.said("job-stands") == [
        {"job": JOB, "cluster": "a", "waits_for": "tasks", "since_us": since_us, "tasks": 3}
    ]
    assert "3 of its tasks run and report no progress" in job_in_words(job)[-1]
    read(at, WORKS)
    assert at.codes() == []
    read(at, replace(WORKS, running=0))
    assert at.codes() == ["job-goes-on"]
    assert at.state.jobs[JOB].waits is None
    read(at, replace(WORKS, running=0), after_s=QUIET_S)
    assert at.said("job-stands")[0]["waits_for"] == "room"
    read(at, replace(WORKS, running=0), strays=(STRAY,))
    assert at.said("job-stands")[0]["waits_for"] == "strays"


def test_a_job_whose_tasks_report_no_progress_stands_only_while_none_runs() -> None:
    at, works = desk(), replace(WORKS, opaque=True)
    assert [read(at, works).waits for _ in range(6)] == [None] * 6
    read(at, replace(works, running=0))
    assert read(at, replace(works, running=0), after_s=QUIET_S).waits is not None


def test_readings_that_do_not_say_how_far_jobs_are_change_nothing() -> None:
    at = desk()
    read(at, WORKS)
    at.now_s += 1000
    at.sample(a={"slots_used": 1})
    assert (at.codes(), at.state.jobs[JOB].waits) == ([], None)


def test_a_job_whose_client_is_silent_says_so_before_it_has_an_application() -> None:
    at = Desk.running("a", count=4, quiet_us=QUIET_S * SECOND_US, period_us=10**12)
    at.submit("a", 1)
    read(at)
    assert read(at, after_s=QUIET_S).life is JobLife.STARTING
    assert at.said("job-stands")[0]["waits_for"] == "client"


def test_what_keeps_a_job_from_beginning_stays_said_while_nothing_moves() -> None:
    at = Desk.running("a", count=4, quiet_us=QUIET_S * SECOND_US, period_us=10**12)
    at.submit("a", 1)
    at.attempt(JOB, launcher=Launcher.NOT_KNOWN, error="too long")
    for _ in range(9):
        at.wait(QUIET_S)
        read(at, after_s=0)
        assert at.codes() == []
    assert "too long" in job_in_words(at.state.jobs[JOB])[-1]


def test_a_job_that_begins_again_or_ends_waits_for_nothing() -> None:
    at = desk()
    read(at, WORKS)
    assert read(at, WORKS, after_s=QUIET_S).waits is not None
    at.attempt(JOB, launcher=Launcher.FINISHED, exit=1, applications=(AppSeen(id=APP, life=AppLife.FAILED),))
    assert (at.state.jobs[JOB].attempt, at.state.jobs[JOB].waits) == (2, None)
