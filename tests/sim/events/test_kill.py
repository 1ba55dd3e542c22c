"""Kill at every step: after entry k a new engine takes over, in the same world or in what a dead controller left.

Interrupted work is the normal case: the end must be as good as the end of the run that was never interrupted.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from fawkes import engine
from fawkes.base.errors import HeldUpError
from fawkes.base.units import SECOND_US
from fawkes.core.values.decision import Decision, PutJob
from fawkes.core.values.events import CancelAsked, DrainAsked, Event, ReleaseAsked, Started, UndrainAsked
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import ClusterId, JobId, JobLife, JobState, NodeId, Role
from fawkes.policy import compile_policy
from fawkes.sim.events.steps import Delays
from fawkes.sim.world import SimWorld
from fawkes.store.memory import MemoryStore
from tests.support.pools import Checked, request, settings, started, submit
from tests.support.scripts import Mishaps

UNTIL_S = 700
#: every how many steps; 1 takes minutes
EVERY = int(os.environ.get("FAWKES_KILL_EVERY", "6"))
AWAY_S = 25
#: a transient-core node has all stages of a transient one, and data
ROLES = [pytest.param(Role.TRANSIENT, marks=pytest.mark.nightly), Role.TRANSIENT_CORE]


def story(role: Role) -> list[Event]:
    """Deploys, loads, jobs with a retry, growth, shrinking for an admission and a share, a drain, a release."""
    leave = {"transient_leave_us": 5 * SECOND_US, "transient_core_leave_us": 5 * SECOND_US}
    how = settings(growth=role, transfer_us=30 * SECOND_US, **leave)
    events: list[Event] = [started(7, how=how)]
    events += [request("a", 1), request("b", 9), request("c", 50, 1)]
    events += [submit("a", n, 2, tasks=12, task_s=4, retries=2) for n in range(4)]
    events += [submit("b", n, 10, tasks=6, task_s=8, retries=1) for n in range(3)]
    events += [submit("c", n, 60, tasks=10, task_s=5) for n in range(2)]
    events.append(DrainAsked(at_us=70 * SECOND_US, node=NodeId("node07"), reason="disk"))
    events.append(CancelAsked(at_us=75 * SECOND_US, job=JobId("a-3")))
    events.append(UndrainAsked(at_us=90 * SECOND_US, node=NodeId("node07")))
    events += [ReleaseAsked(at_us=at_s * SECOND_US, cluster=ClusterId("a")) for at_s in (300, 330, 360)]
    return events


def world(role: Role) -> SimWorld:
    faults: dict[str, list[str | None]] = {
        "job": [None, "it broke"],
        "join": [None, "no Java"],
        "evacuate": [None, "open for write"],
        "load": [""],
    }
    new = SimWorld(
        UNTIL_S * SECOND_US, delays=Delays(sample_us=4 * SECOND_US, detect_us=5 * SECOND_US), faults=Mishaps(faults)
    )
    new.script(story(role))
    new.lose(NodeId("node05"), 45 * SECOND_US, 46 * SECOND_US)
    return new


class Mortal(Checked):
    """An engine that dies before or after it has told the world what it decided."""

    def __init__(self, world: SimWorld, store: MemoryStore) -> None:
        self.photographs: list[tuple[SimWorld, SimWorld]] = []
        self.watched = world
        super().__init__(_Camera(world, self.photographs), store)  # type: ignore[arg-type]

    def step(self, event: Event) -> Decision:
        """One turn, without the checks of the simulated nodes, that are done by whoever takes over."""
        return engine.Engine.step(self, event)


class _Camera:
    """A world of which a copy is kept at each step, before the effects start and after."""

    def __init__(self, world: SimWorld, photographs: list[tuple[SimWorld, SimWorld]]) -> None:
        self._world = world
        self._photographs = photographs

    def next_event(self) -> Event | None:
        return self._world.next_event()

    def wait_for_room(self, error: HeldUpError) -> bool:
        return self._world.wait_for_room(error)

    def start(self, effects: tuple[object, ...]) -> None:
        before = copy.deepcopy(self._world)
        self._world.start(effects)  # type: ignore[arg-type]
        self._photographs.append((before, copy.deepcopy(self._world)))

    def close(self) -> None:
        pass


@cache
def recorded(role: Role) -> Mortal:
    run = Mortal(world(role), MemoryStore())
    run.run()
    return run


def take_over(store: MemoryStore, steps: int, world: SimWorld) -> Checked:
    """A new engine with the first ``steps`` entries of the ledger, in the world as it was found."""
    entries = list(store.entries())[:steps]
    ledger = MemoryStore()
    for entry in entries:
        ledger.append(entry.event, entry.decision)
    new = Checked(world, ledger, engine.rebuild(entries))
    first = entries[0].event
    assert isinstance(first, Started)
    now_us = max(world.now_us, new.state.now_us)
    new.step(replace(first, at_us=now_us, epoch=2, controller="controller-2"))
    new.run()
    return new


def last_states(run: Checked) -> dict[JobId, JobState]:
    """Each job as it was seen last."""
    return {
        change.state.id: change.state
        for entry in run.store.entries()
        for change in entry.decision.changes
        if isinstance(change, PutJob)
    }


def outcome(run: Checked) -> dict[JobId, JobLife]:
    """The end of each job; the one that somebody takes back may have been quicker."""
    lives = {name: job.life for name, job in last_states(run).items()}
    assert lives.pop(JobId("a-3")) in (JobLife.CANCELLED, JobLife.SUCCEEDED)
    return lives


def check(run: Checked, expected: dict[JobId, JobLife]) -> None:
    """No node is lost, nothing is under way, every job ended as it should and ran once for each attempt."""
    assert outcome(run) == expected
    assert not run.state.jobs
    assert run.state.counts.lost == run.state.counts.moving == 0
    assert set(run.state.clusters) == {"b", "c"}
    assert {state.life.value for state in run.state.clusters.values()} == {"running"}
    assert set(run.world.starts.values()) == {1}


def steps_of(role: Role) -> Iterator[int]:
    """Every step of the lively part, and a few of the quiet rest."""
    entries = list(recorded(role).store.entries())
    lively = [entry.seq for entry in entries if entry.decision.effects]
    yield from (seq for seq in lively if seq > 1)
    yield from (entry.seq for entry in entries[5::40])


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
def test_the_uninterrupted_run(role: Role) -> None:
    run = recorded(role)
    expected = outcome(run)
    assert len(expected) == 8
    assert set(expected.values()) == {JobLife.SUCCEEDED}
    codes = {reason.code for entry in run.store.entries() for reason in entry.decision.reasons}
    wanted = {"retry", "shrink", "shrink-to-admit", "node-lost", "join-failed", "out-of-service", "asked-again", "gone"}
    assert wanted <= codes
    assert ("evacuated" in codes) is (role is Role.TRANSIENT_CORE)


@pytest.mark.slow
def test_a_ledger_of_two_engines_decides_the_same_again() -> None:
    run = recorded(Role.TRANSIENT)
    half = len(run.photographs) // 2
    both = take_over(run.store, half, copy.deepcopy(run.photographs[half - 1][0]))
    assert list(engine.replay(both.store.entries(), compile_policy)) == []


@pytest.mark.slow
@pytest.mark.parametrize("told", [False, True], ids=["before-the-effects", "after-the-effects"])
@pytest.mark.parametrize("role", ROLES)
def test_a_new_engine_in_the_same_world(role: Role, told: bool) -> None:
    run = recorded(role)
    expected = outcome(run)
    for seq in list(steps_of(role))[told::EVERY]:
        check(take_over(run.store, seq, copy.deepcopy(run.photographs[seq - 1][told])), expected)


@pytest.mark.slow
@pytest.mark.parametrize("told", [False, True], ids=["before-the-effects", "after-the-effects"])
@pytest.mark.parametrize("role", ROLES)
def test_a_new_engine_in_what_a_dead_controller_left(role: Role, told: bool) -> None:
    run = recorded(role)
    expected = outcome(run)
    for seq in list(steps_of(role))[2 + told :: EVERY]:
        left = copy.deepcopy(run.photographs[seq - 1][told]).orphaned(AWAY_S * SECOND_US)
        check(take_over(run.store, seq, left), expected)


def called_off(at_s: int) -> Mortal:
    """An MR-cluster with a job that waits is given back; another waits for its nodes."""
    new = SimWorld(300 * SECOND_US)
    story: list[Event] = [started(3), request("a", 1, 2), submit("a", 1, 2), request("b", 3, 3)]
    story.append(ReleaseAsked(at_us=at_s * SECOND_US, cluster=ClusterId("a"), force=True))
    new.script(story)
    run = Mortal(new, MemoryStore())
    run.run()
    return run


@pytest.mark.slow
@pytest.mark.parametrize("at_s", [5, 15], ids=["deploying", "loading"])
@pytest.mark.parametrize("left", [False, True], ids=["the-same-world", "what-was-left"])
def test_a_controller_that_dies_while_one_is_called_off(at_s: int, left: bool) -> None:
    run = called_off(at_s)
    assert outcome_of(run) == (JobLife.CANCELLED, {"b": "running"})
    entries = list(run.store.entries())
    for seq in (entry.seq for entry in entries[3:] if entry.decision.effects):
        for after_acts in (False, True):
            left_world = copy.deepcopy(run.photographs[seq - 1][after_acts])
            again = take_over(run.store, seq, left_world.orphaned(AWAY_S * SECOND_US) if left else left_world)
            assert outcome_of(again) == (JobLife.CANCELLED, {"b": "running"})
            assert again.state.counts.moving == again.state.counts.lost == 0


def outcome_of(run: Checked) -> tuple[JobLife, dict[str, str]]:
    """How the job ended, and how the MR-clusters stand that are there."""
    (job,) = last_states(run).values()
    assert job.life in ENDED_JOBS
    return job.life, {name: state.life.value for name, state in run.state.clusters.items()}
