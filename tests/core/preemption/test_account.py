"""The account of slot time: wasted, useful and not known add up to what was used, whatever the ledger says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.core.preemption.account import Account, Accounts
from fawkes.core.values.events import AttemptSeen, Done, Event, Sampled, Woke
from fawkes.core.values.model import ClusterId, JobId, Reading, Reason
from fawkes.core.values.sight import AppLife, AppSeen, Attempt, Resumes, Work
from fawkes.report.tables.explain import Line
from fawkes.report.tables.explain_job import preempted_lines

A = ClusterId("a")


def reading(at_s: float, running: int | None, resumes: Resumes | None = None, job: str = "a-1") -> Event:
    work = () if running is None else (Work(tag=f"fawkes-{job}-1", running=running, resumes=resumes),)
    return Sampled(at_us=round(at_s * SECOND_US), readings=(Reading(cluster=A, work=work),))


def went(
    how: str, run_s: float | None = 30, took_s: float | None = 2, index: int = 1, job: str = "a-1", **more: object
) -> Reason:
    times = {"run_us": run_s, "took_us": took_s}
    us = {name: None if value is None else round(value * SECOND_US) for name, value in times.items()}
    return Reason("task-went", {"cluster": "a", "job": job, "index": index, "how": how, **us, **more})


def seen(at_s: float, run_s: float, restore_s: float | None, index: int = 1) -> Event:
    row: dict[str, Any] = {"node": "n", "container": "c", "job": "a-1", "index": index, "run_us": round(run_s * 10**6)}
    row |= {} if restore_s is None else {"restore_us": round(restore_s * 10**6)}
    return Done(at_us=round(at_s * SECOND_US), effect="tasks:n", version=1, facts={"tasks": [row]})


def account(*steps: Event | tuple[float, Reason]) -> Account:
    accounts = Accounts()
    for step in steps:
        if isinstance(step, tuple):
            accounts.follow(Woke(at_us=round(step[0] * SECOND_US)), [step[1]])
        else:
            accounts.follow(step, ())
    return accounts.of_job("a-1")


def test_between_two_readings_their_mean_was_used() -> None:
    told = account(reading(0, None), reading(10, 4), reading(20, 4), reading(30, None))
    assert (told.used_s, told.useful_s) == (80.0, 80.0)


def test_killed_work_and_dumps_are_no_useful_time() -> None:
    told = account(reading(0, 4), reading(30, 4), (31, went("killed")), (31, went("saved", took_s=5)), reading(60, 4))
    assert (told.waste.killed_s, told.waste.dumping_s) == (32.0, 5.0)
    assert (told.useful_s, told.used_s) == (203.0, 240.0)
    assert (told.killed, told.saved, told.unseen) == (1, 1, 1)


@pytest.mark.parametrize(
    "reason", [went("gone"), went("unknown", took_s=None), went("killed", run_s=None), went("saving"), went("runs")]
)
def test_tasks_of_which_nobody_heard_are_not_known_and_neither_useful_nor_wasted(reason: Reason) -> None:
    told = account(reading(0, 4), (5, reason), reading(30, 4))
    assert told.unknown == 1
    assert told.waste.wasted_s == 0.0
    assert told.unknown_s + told.waste.useful_s == 120.0


@pytest.mark.parametrize("reason", [went("ended"), went("runs", leaves=False)])
def test_tasks_that_were_done_before_or_stay_waste_nothing(reason: Reason) -> None:
    assert not account(reading(0, 4), (5, reason), reading(30, 4)).preempted


@pytest.mark.parametrize(
    ("reason", "killed_s", "dumping_s"),
    [
        (went("killed", ordered="kill"), 32.0, 0.0),
        (went("killed", ordered="save"), 30.0, 2.0),
        (went("runs", took_s=None, leaves=True), 30.0, 0.0),
    ],
)
def test_the_time_of_a_save_that_failed_is_no_killed_work(reason: Reason, killed_s: float, dumping_s: float) -> None:
    told = account((5, reason))
    assert (told.waste.killed_s, told.waste.dumping_s, told.killed) == (killed_s, dumping_s, 1)
    (line,) = preempted_lines([Line("", code=reason.code, facts=reason.facts)])
    assert line.text == f"Tasks that had to go: 1. 1 ended without that, and lost {killed_s:g}s of work"


def test_without_readings_nobody_knows_what_was_useful() -> None:
    assert account((5, went("killed"))).useful_s is None


def test_a_node_tells_when_a_saved_task_ran_again() -> None:
    told = account((10, went("saved")), seen(100, 50, 5))
    assert (told.waiting_s, told.waste.restoring_s, told.unseen) == (35.0, 5.0, 0)


@pytest.mark.parametrize("row", [seen(100, 50, None), seen(100, 95, 5), seen(100, 50, 5, index=2)])
def test_a_row_without_a_resume_of_that_task_tells_nothing(row: Event) -> None:
    told = account((10, went("saved")), row)
    assert (told.waiting_s, told.waste.restoring_s, told.unseen) == (0.0, 0.0, 1)


def test_the_last_word_of_an_applicationmaster_counts_more_than_what_was_seen_of_its_tasks() -> None:
    last = Resumes(2, 7 * SECOND_US, 3 * SECOND_US)
    app = AppSeen(id="application_1_1", life=AppLife.SUCCEEDED, resumes=last)
    end = AttemptSeen(at_us=200 * SECOND_US, job=JobId("a-1"), attempt=1, seen=Attempt(applications=(app,)))
    told = account((10, went("saved")), (11, went("saved", index=2)), seen(100, 50, 5), end)
    assert (told.waiting_s, told.waste.restoring_s, told.unseen) == (7.0, 3.0, 0)


def test_the_model_tells_of_its_resumes_by_readings() -> None:
    resumes = Resumes(1, 7 * SECOND_US, 3 * SECOND_US, 11 * SECOND_US)
    told = account((1, went("saved")), reading(0, 4), reading(30, 4, resumes), reading(40, 4, resumes))
    assert (told.waiting_s, told.waste.restoring_s, told.waste.killed_s, told.unseen) == (7.0, 3.0, 11.0, 0)


SECONDS = st.floats(0, 1e5)
STEPS = st.lists(
    st.one_of(
        st.builds(
            lambda how, run, took, index, job: (how, run, took, index, job),
            st.sampled_from(["saved", "killed", "runs", "gone", "unknown", "ended"]),
            st.none() | SECONDS,
            st.none() | SECONDS,
            st.integers(0, 3),
            st.sampled_from(["a-1", "a-2"]),
        ),
        st.builds(
            lambda running, resumes, job: (running, Resumes(*resumes), job),
            st.none() | st.integers(0, 40),
            st.tuples(*[st.integers(0, 10**9)] * 4),
            st.sampled_from(["a-1", "a-2"]),
        ),
    )
)


@given(STEPS)
def test_the_parts_add_up_to_what_was_used(steps: list[Any]) -> None:
    accounts = Accounts()
    for number, step in enumerate(steps):
        if len(step) == 5:
            accounts.follow(Woke(at_us=number * SECOND_US), [went(*step)])
        else:
            accounts.follow(reading(number, step[0], step[1], step[2]), ())
    jobs = [accounts.of_job(name) for name in ("a-1", "a-2")]
    for told in (*jobs, *accounts.clusters().values()):
        parts = told.waste.wasted_s + told.waste.useful_s + told.unknown_s
        assert parts == pytest.approx(told.used_s, abs=1e-6)
        assert min(told.waste.killed_s, told.waste.useful_s, told.waiting_s, told.unknown_s, told.unseen) >= 0
    assert accounts.clusters() is accounts.clusters()
    if accounts.clusters():
        before = accounts.clusters()[A]
        assert before.used_s == pytest.approx(sum(told.used_s for told in jobs), abs=1e-6)
        for name in ("a-1", "a-2"):
            accounts.end(name)
        accounts.follow(Sampled(at_us=len(steps) * SECOND_US, readings=()), ())
        assert accounts.clusters()[A].used_s == pytest.approx(before.used_s, abs=1e-6)
        assert accounts.clusters()[A].unseen == before.unseen
        accounts.forget(A)
        assert not accounts.clusters()


def test_a_job_that_has_ended_is_summed_once_its_last_tasks_were_seen() -> None:
    accounts = Accounts()
    accounts.follow(Woke(at_us=0), [went("killed")])
    accounts.follow(reading(10, 4), ())
    accounts.end("a-1")
    accounts.follow(reading(20, 4), ())
    assert accounts.of_job("a-1").used_s == 40.0
    accounts.follow(reading(30, None), ())
    assert accounts.of_job("a-1") == Account()
    assert (accounts.clusters()[A].waste.killed_s, accounts.clusters()[A].used_s) == (32.0, 60.0)


def test_a_task_that_was_never_saved_does_not_run_again() -> None:
    assert account((0, went("killed")), seen(10, 5, 0)).unseen == 0
