"""The latest goal of a key wins; a key is never worked on twice at once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.values.effects import CancelJob, Deploy, Effect, Host, Load, Membership, Retire, Save, StartJob, WakeAt
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec, NodeId, Role
from fawkes.live.controller.reconcile import Reconciler, _Shares
from tests.support.waiting import wait_for

LIMIT_S = 20.0


def goal(node: str, generation: int) -> Host:
    return Host(NodeId(node), ClusterId("c-1"), None, generation)


class Worker:
    """Works on goals only while `allowed`, and tells of each."""

    def __init__(self) -> None:
        self.allowed = threading.Event()
        self.begun = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)
        self.done: list[Effect] = []
        self.at_once = 0
        self.most_at_once = 0
        self._lock = threading.Lock()

    def act(self, effect: Effect) -> None:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        self.begun.release()
        assert self.allowed.wait(LIMIT_S)
        with self._lock:
            self.at_once -= 1
            self.done.append(effect)
        self.ended.release()


def test_goals_that_are_overtaken_are_skipped_and_the_latest_is_reached() -> None:
    worker = Worker()
    goals = Reconciler(worker.act, threads=4)
    for generation in range(1, 6):
        goals.want(goal("n1", generation))
        if generation == 1:
            assert worker.begun.acquire(timeout=LIMIT_S)
    assert not goals.is_current(goal("n1", 1))
    worker.allowed.set()
    assert worker.ended.acquire(timeout=LIMIT_S)
    assert worker.ended.acquire(timeout=LIMIT_S)
    assert worker.done == [goal("n1", 1), goal("n1", 5)]
    assert worker.most_at_once == 1
    goals.close()


def test_keys_are_worked_on_side_by_side() -> None:
    worker = Worker()
    goals = Reconciler(worker.act, threads=4)
    for node in ("n1", "n2", "n3"):
        goals.want(goal(node, 1))
    for _ in range(3):
        assert worker.begun.acquire(timeout=LIMIT_S)
    assert worker.most_at_once == 3
    worker.allowed.set()
    goals.close()


def test_the_same_goal_again_is_reached_again() -> None:
    worker = Worker()
    worker.allowed.set()
    goals = Reconciler(worker.act, threads=1)
    same = goal("n1", 1)
    for _ in range(2):
        goals.want(same)
        assert worker.ended.acquire(timeout=LIMIT_S)
    assert worker.done == [same, same]
    goals.close()


def test_a_goal_whose_work_has_ended_is_forgotten_and_a_newer_one_is_not() -> None:
    """A controller that has started 100,000 jobs remembers none of them."""
    worker = Worker()
    goals = Reconciler(worker.act, threads=2)
    jobs = [StartJob(JobId(f"j-{number}"), B, 1, SPEC) for number in range(20)]
    begun = jobs[0]
    goals.want(begun)
    assert worker.begun.acquire(timeout=LIMIT_S)
    for job in jobs[1:]:
        goals.want(job)
    # While it is worked on: the same is no second goal, and what overtakes it is kept.
    goals.want(begun)
    assert goals.is_current(begun)
    cancel = CancelJob(begun.job, B, 1)
    goals.want(cancel)
    assert not goals.is_current(begun)
    assert goals.is_current(cancel)
    worker.allowed.set()
    for _ in range(len(jobs) + 1):
        assert worker.ended.acquire(timeout=LIMIT_S)
    wait_for(lambda: not goals._busy, "hands that are free")
    assert Counter(effect.key for effect in worker.done) == Counter([*(job.key for job in jobs), cancel.key])
    assert worker.done.index(begun) < worker.done.index(cancel)
    assert (goals._goals, goals._queued, goals._busy) == ({}, {}, set())
    goals.close()


def test_a_job_that_is_told_again_while_it_is_begun_is_begun_once() -> None:
    """A start that takes longer than the ledger waits for is told again; its one try goes on, and stays wanted."""
    worker = Worker()
    goals = Reconciler(worker.act, threads=4)
    start = StartJob(JobId("j"), B, 1, SPEC)
    for _ in range(3):
        goals.want(start)
    assert worker.begun.acquire(timeout=LIMIT_S)
    goals.want(start)
    assert goals.is_current(start)
    worker.allowed.set()
    assert worker.ended.acquire(timeout=LIMIT_S)
    wait_for(lambda: not goals._busy, "hands that are free")
    assert worker.done == [start]
    assert not goals.is_current(start)
    goals.close()


def test_a_defect_in_one_goal_does_not_stop_the_next() -> None:
    seen = threading.Semaphore(0)

    def act(effect: Effect) -> None:
        seen.release()
        raise ValueError("a defect")

    goals = Reconciler(act, threads=1)
    goals.want(goal("n1", 1))
    assert seen.acquire(timeout=LIMIT_S)
    goals.want(goal("n1", 2))
    assert seen.acquire(timeout=LIMIT_S)
    goals.close()


def test_after_the_end_nothing_is_current_and_nothing_is_begun() -> None:
    worker = Worker()
    goals = Reconciler(worker.act, threads=1)
    first = goal("n1", 1)
    goals.want(first)
    assert worker.begun.acquire(timeout=LIMIT_S)
    assert goals.is_current(first)
    goals.close()
    goals.want(WakeAt(1))
    assert not goals.is_current(first)
    worker.allowed.set()
    assert worker.ended.acquire(timeout=LIMIT_S)
    assert worker.done == [first]


def join(node: str, cluster: str = "a") -> Host:
    return Host(NodeId(node), ClusterId(cluster), Role.TRANSIENT, 1)


class Hanging:
    """Joins hang until the end of the test; everything else is done, and told of."""

    def __init__(self, threads: int) -> None:
        self.over = threading.Event()
        self.heard = threading.Condition()
        self.hanging: list[Host] = []
        self.done: list[Effect] = []
        self.goals = Reconciler(self.act, threads)

    def act(self, effect: Effect) -> None:
        hangs = isinstance(effect, Host) and effect.role is not None
        with self.heard:
            (self.hanging if hangs else self.done).append(effect)  # type: ignore[arg-type]
            self.heard.notify_all()
        if hangs:
            self.over.wait(LIMIT_S)

    def sees(self, wanted: Callable[[], bool]) -> bool:
        with self.heard:
            return self.heard.wait_for(wanted, LIMIT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.goals.close()


A, B = ClusterId("a"), ClusterId("b")
SPEC = JobSpec(id=JobId("j"), cluster=B)
CLUSTER = ClusterSpec(id=B, min_nodes=1, replication=1)
NOT_JOINS: list[Effect] = [
    CancelJob(JobId("j"), B, 1),
    Membership(B, 1, {}),
    Retire(B, 1),
    Host(NodeId("n1"), B, None, 1),
    StartJob(JobId("j"), B, 1, SPEC),
    Deploy(B, 1, CLUSTER, {}, NodeId("n1")),
    Load(B, 1),
    Save(B, 1),
]


@pytest.mark.parametrize("effect", NOT_JOINS, ids=lambda effect: type(effect).__name__)
@pytest.mark.parametrize("cluster", ["a", "b"])
def test_hanging_joins_hold_up_nothing_else_of_any_mr_cluster(effect: Effect, cluster: str) -> None:
    effect = replace(effect, cluster=ClusterId(cluster))  # type: ignore[arg-type]
    with Hanging(threads=4) as world:
        for number in range(64):
            world.goals.want(join(f"x{number}"))
        assert world.sees(lambda: len(world.hanging) == 4)
        world.goals.want(effect)
        assert world.sees(lambda: effect in world.done)


def test_hanging_joins_of_some_leave_hands_for_the_joins_of_others() -> None:
    names = [f"c{number:02d}" for number in range(40)]
    with Hanging(threads=4) as world:
        for name in names:
            for number in range(64):
                world.goals.want(join(f"{name}-{number}", name))
            assert world.sees(lambda name=name: any(effect.cluster == name for effect in world.hanging))  # type: ignore[misc]
        # Four hands and half of the rest, ...; then one for each.
        assert len(world.hanging) <= 2 * 4 + len(names)


def test_a_wipe_does_not_wait_where_the_join_did_that_it_replaces() -> None:
    with Hanging(threads=2) as world:
        for number in range(64):
            world.goals.want(join(f"x{number}"))
        waiting = next(f"x{n}" for n in range(63, 0, -1) if join(f"x{n}") not in world.hanging)
        wipe = Host(NodeId(waiting), A, None, 2)
        world.goals.want(wipe)
        assert world.sees(lambda: wipe in world.done)


def test_a_newer_goal_of_another_kind_follows_the_one_that_is_worked_on() -> None:
    with Hanging(threads=2) as world:
        world.goals.want(join("n1"))
        assert world.sees(lambda: bool(world.hanging))
        wipe = Host(NodeId("n1"), A, None, 2)
        world.goals.want(wipe)
        assert world.done == []
        world.over.set()
        assert world.sees(lambda: wipe in world.done)


@pytest.mark.slow
@given(
    shared=st.integers(0, 6),
    steps=st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from(("add", "add", "begin", "end"))), max_size=80),
)
def test_each_has_a_hand_of_its_own_and_none_has_all(shared: int, steps: list[tuple[str, str]]) -> None:
    shares, busy, waiting = _Shares(shared), Counter[str](), Counter[str]()
    for number, (cluster, step) in enumerate(steps):
        if step == "add":
            shares.add(cluster, str(number))
            waiting[cluster] += 1
        elif step == "end" and busy[cluster]:
            shares.end(cluster)
            busy[cluster] -= 1
        elif step == "begin":
            begun = shares.begin()
            starved = [name for name in waiting if waiting[name] and not busy[name]]
            assert begun is not None or not starved
            if begun is not None:
                assert not starved or begun[0] in starved
                busy[begun[0]] += 1
                waiting[begun[0]] -= 1
        assert busy.total() <= shared + 5
        assert all(count <= max(1, (shared + 1) // 2) for count in busy.values())
