"""The invariants notice what they are there for: each sound thing is spoilt once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from fawkes.core.deciding.invariants import broken, unsound
from fawkes.core.state.state import NO_TICK, State
from fawkes.core.values.decision import Change, Decision, PutCluster, PutJob, PutNode, PutTick
from fawkes.core.values.effects import Effect, Goal, Host, Member, Membership
from fawkes.core.values.model import ClusterId, ClusterLife, JobId, JobLife, JobSpec, JobState, NodeId, NodeLife, Role
from tests.support.desk import Desk

A, B = ClusterId("a"), ClusterId("b")
N1, N3, N9 = NodeId("node01"), NodeId("node03"), NodeId("node09")


def desk() -> Desk:
    running = Desk.running("a", "b")
    running.submit("a", 1)
    return running


def lie(state: State, node: NodeId, **facts: object) -> None:
    state.nodes[node] = replace(state.nodes[node], **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda s: lie(s, N1, owner=B), "the index of its nodes is wrong"),
        (lambda s: lie(s, N1, owner="z"), "belongs to z, which does not exist"),
        (lambda s: lie(s, N1, role=None), "node01 is serving as None"),
        (lambda s: lie(s, N1, life=NodeLife.FREE), "node01 is free as core and belongs to a"),
        (lambda s: lie(s, N9, life=NodeLife.DRAINING), "node09 is draining and belongs to nobody"),
        (lambda s: lie(s, N9, keep_out="disk"), "node09 is free although it is kept out"),
        (lambda s: lie(s, N1, role=Role.TRANSIENT), "a has 1 core nodes, its minimum is 2"),
        (lambda s: setattr(s.counts, "free", 3), "the counts are"),
        (lambda s: setattr(s, "promised", 3), "the sum of promises is wrong"),
        (lambda s: s.queue.update({A: None}), "the queue is wrong"),
        (lambda s: s.free_at[("delft", True)].discard(N9), "the index of free nodes is wrong"),
        (
            lambda s: s.clusters.update({A: replace(s.clusters[A], master=N9)}),
            "its master node09 does not belong to it",
        ),
        (lambda s: setattr(s, "last_tick", replace(NO_TICK, weights={A: 0.5})), "the weights sum to 0.5"),
        (lambda s: setattr(s, "now_us", 10**15), "has passed"),
        (lambda s: s.clusters.pop(A), "a-1 belongs to a, which is gone"),
    ],
)
def test_a_broken_state_is_named(spoil: Callable[[State], object], what: str) -> None:
    state = desk().state
    assert broken(state) == []
    spoil(state)
    assert any(what in wrong for wrong in broken(state)), broken(state)


def put(state: State, node: NodeId, **facts: object) -> Change:
    return PutNode(replace(state.nodes[node], **facts))  # type: ignore[arg-type]


def document(node: NodeId) -> Effect:
    return Membership(A, 9, {node: Member(Goal.SERVING, Role.CORE, 1)})


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda s: (put(s, N9, life=NodeLife.SERVING),), "node09 cannot go from free to serving"),
        (lambda s: (put(s, N1, owner=B),), "node01 would go from a to b without being wiped"),
        (lambda s: (put(s, N1, life=NodeLife.DRAINING),), "node01 is a core node of a and would leave it"),
        (lambda s: (put(s, N9, life=NodeLife.JOINING, owner=A),), "without a new generation"),
        (lambda s: (PutCluster(replace(s.clusters[A], life=ClusterLife.GONE)),), "a cannot go from running to gone"),
        (
            lambda s: (
                PutCluster(replace(s.clusters[A], life=ClusterLife.SAVING)),
                PutCluster(replace(s.clusters[A], life=ClusterLife.GONE)),
            ),
            "a cannot go from saving to gone",
        ),
        (
            lambda s: (
                (PutJob(replace(s.jobs[JobId("a-1")], life=JobLife.QUEUED, attempt=2)),) * 1
                + (PutJob(replace(s.jobs[JobId("a-1")], life=JobLife.SUCCEEDED)),)
            ),
            "a-1 cannot go from queued to succeeded",
        ),
        (lambda s: (PutTick(1, 1, {}, {A: 0.7}, 0, 0, (), {}, False),), "the weights sum to 0.7"),
    ],
)
def test_an_unsound_change_is_named(make: Callable[[State], tuple[Change, ...]], what: str) -> None:
    state = desk().state
    faults = unsound(state, Decision(make(state)))
    assert any(what in wrong for wrong in faults), faults


@pytest.mark.parametrize(
    ("effect", "what"),
    [
        (document(N3), "a would count node03 of b as a member"),
        (document(N1), "membership:a has no deadline"),
        (Host(N3, A, Role.TRANSIENT, 1), "node03 belongs to b, a wants it as transient"),
    ],
)
def test_an_unsound_goal_is_named(effect: Effect, what: str) -> None:
    faults = unsound(desk().state, Decision(effects=(effect,)))
    assert any(what in wrong for wrong in faults), faults


def test_a_job_that_was_never_heard_of_may_begin_anywhere() -> None:
    state = desk().state
    job = JobState(spec=JobSpec(id=JobId("new"), cluster=A))
    assert unsound(state, Decision((PutJob(job),))) == []
