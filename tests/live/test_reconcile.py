"""The latest goal of a key wins; a key is never worked on twice at once."""

from __future__ import annotations

import threading

from fawkes.core.effects import Effect, Host, WakeAt
from fawkes.core.model import ClusterId, NodeId
from fawkes.live.reconcile import Reconciler

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
