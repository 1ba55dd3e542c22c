"""Kill at every step under an admission policy: no job is let in twice for an attempt, and none teaches it twice."""

from __future__ import annotations

import copy
import os
from collections import Counter
from functools import cache

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.decision import PutLearned
from fawkes.core.values.events import Event, ReleaseAsked
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import ClusterId, JobLife, Role
from fawkes.engine import replay
from fawkes.policy import compile_policy
from fawkes.policy.admission import compile_admission
from fawkes.sim.events.steps import Delays
from fawkes.sim.world import SimWorld
from fawkes.store.memory import MemoryStore
from tests.sim.events.test_kill import AWAY_S, Mortal, last_states, take_over
from tests.support.pools import Checked, admission, request, settings, started, submit
from tests.support.scripts import Mishaps

#: every how many steps; 1 takes a minute
EVERY = int(os.environ.get("FAWKES_KILL_EVERY", "3"))


def story() -> list[Event]:
    """Jobs that teach, that wait, that are dropped, that are killed past their deadline, that try again."""
    deadlines_s = (120, 120, 60, 40, 90, 3, 200, 45, 150, 4, 5, 6)
    jobs = [
        submit(
            "a",
            number,
            2 + 9 * number,
            tasks=8 + 4 * (number % 2),
            task_s=6,
            retries=1,
            deadline_us=seconds * SECOND_US,
        )
        for number, seconds in enumerate(deadlines_s)
    ]
    jobs.append(submit("a", len(jobs), 50, tasks=6, task_s=5))
    how = settings(admission="JUSTICE", growth=Role.TRANSIENT)
    first = started(4, how=how, admission=admission("justice"))
    return [first, request("a", 1), *jobs, ReleaseAsked(at_us=560 * SECOND_US, cluster=ClusterId("a"))]


def world() -> SimWorld:
    faults: dict[str, list[str | None]] = {"job": [None, None, None, "it broke"]}
    new = SimWorld(700 * SECOND_US, delays=Delays(sample_us=4 * SECOND_US), faults=Mishaps(faults))
    new.script(story())
    return new


@cache
def recorded() -> Mortal:
    run = Mortal(world(), MemoryStore())
    run.run()
    return run


def world_of(run: Checked) -> SimWorld:
    return run.watched if isinstance(run, Mortal) else run.world


def check(run: Checked) -> None:
    """All jobs ended, each attempt was let in and run once at most, and each job that can teach taught once."""
    jobs = last_states(run)
    assert len(jobs) == 13
    assert {job.life for job in jobs.values()} <= ENDED_JOBS
    assert set(world_of(run).starts.values()) == {1}
    let_in = Counter(facts["job"] for _, facts in run.reasons("job-admitted"))
    assert all(let_in[name] <= job.attempt for name, job in jobs.items())
    lessons = sum(isinstance(change, PutLearned) for entry in run.store.entries() for change in entry.decision.changes)
    taught = [job for job in jobs.values() if job.life in (JobLife.SUCCEEDED, JobLife.KILLED)]
    assert lessons == sum(job.granted > 0 and job.spec.deadline_us is not None for job in taught)


@pytest.mark.slow
def test_the_uninterrupted_run_has_all_of_it() -> None:
    run = recorded()
    check(run)
    codes = {reason.code for entry in run.store.entries() for reason in entry.decision.reasons}
    assert {"job-admitted", "job-waits", "job-dropped", "job-killed", "retry", "job-succeeded"} <= codes
    assert list(replay(run.store.entries(), compile_policy, compile_admission)) == []


@pytest.mark.slow
@pytest.mark.parametrize("told", [False, True], ids=["before-the-effects", "after-the-effects"])
@pytest.mark.parametrize(
    "left",
    [pytest.param(False, marks=pytest.mark.nightly), True],
    ids=["the-same-world", "what-a-dead-controller-left"],
)
def test_a_controller_killed_at_any_step_lets_in_and_learns_once(left: bool, told: bool) -> None:
    run = recorded()
    lively = [entry.seq for entry in run.store.entries() if entry.decision.effects and entry.seq > 1]
    for seq in lively[left + told :: EVERY]:
        left_world = copy.deepcopy(run.photographs[seq - 1][told])
        check(take_over(run.store, seq, left_world.orphaned(AWAY_S * SECOND_US) if left else left_world))
