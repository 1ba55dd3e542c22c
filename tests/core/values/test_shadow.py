"""A shadow run looks, decides, says what it would have done, and changes nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fawkes.core.values.decision import AddSample, PutNode, PutPending, PutRules, PutTick, PutWake
from fawkes.core.values.effects import Reply, WakeAt
from fawkes.core.values.events import (
    CancelAsked,
    Condition,
    DrainAsked,
    Event,
    PauseAsked,
    Progress,
    ReleaseAsked,
    Requested,
    ResumeAsked,
    Submitted,
    UndrainAsked,
)
from fawkes.core.values.model import ClusterId, JobId, NodeId, NodeLife
from tests.support.desk import Desk
from tests.support.pools import nodes, request, settings, submit

A = ClusterId("a")


def before() -> Desk:
    """A site with two MR-clusters, a job that runs, and one that waits to be told of its members."""
    desk = Desk.running("a", "b")
    desk.submit("a", 1)
    desk.job("a-1", Progress.RUNNING)
    desk.see("node02", Condition.LOST, "no answer")
    return desk


def shadow() -> Desk:
    return Desk(10, shadow=True, state=before().state)


def photograph(desk: Desk) -> tuple[object, ...]:
    state = desk.state
    pending = {key: each for key, each in state.pending.items() if key != "tick"}
    return dict(state.nodes), dict(state.clusters), dict(state.jobs), pending, state.paused


def test_only_what_was_seen_is_kept() -> None:
    desk = shadow()
    seen = photograph(desk)
    for _ in range(5):
        facts = desk.tick(a=1000, b=1)
        assert facts["verdict"] == "unbalanced"
        assert desk.said("grow"), "what it would have done"
        kept = {type(change) for change in desk.last.changes}
        assert kept <= {AddSample, PutTick, PutPending, PutRules, PutWake}
        assert {type(effect) for effect in desk.last.effects} <= {WakeAt}
    assert photograph(desk) == seen
    assert desk.state.last_tick.tick == 5
    assert len(desk.state.window(A, 0).samples) >= 1


def test_nothing_is_started_again_at_its_start() -> None:
    desk = shadow()
    assert {type(effect) for effect in desk.world.effects} <= {WakeAt}


@pytest.mark.parametrize(
    "event",
    [
        request("z", 0),
        submit("a", 7, 0),
        ReleaseAsked(at_us=0, cluster=A, discard=True, force=True),
        CancelAsked(at_us=0, job=JobId("a-1")),
        PauseAsked(at_us=0, reason="x"),
        ResumeAsked(at_us=0),
        DrainAsked(at_us=0, node=NodeId("node09"), reason="x"),
        UndrainAsked(at_us=0, node=NodeId("node09")),
    ],
    ids=lambda event: type(event).__name__,
)
def test_whoever_asks_for_something_is_told(event: Event) -> None:
    desk = shadow()
    seen = photograph(desk)
    assert isinstance(
        event,
        (Requested, Submitted, ReleaseAsked, CancelAsked, PauseAsked, ResumeAsked, DrainAsked, UndrainAsked),
    )
    desk.tell(replace(event, ask="q"))
    (reply,) = desk.latest(Reply)
    assert reply.refused is not None
    assert (reply.to, reply.refused.code) == ("q", "shadow")
    assert photograph(desk) == seen


def test_what_is_seen_of_nodes_and_jobs_is_left_to_the_next_controller() -> None:
    desk = shadow()
    seen = photograph(desk)
    desk.see("node02", Condition.SERVING)
    desk.job("a-1", Progress.SUCCEEDED)
    assert photograph(desk) == seen
    again = Desk(10, state=desk.state)
    assert again.starts() == [("a-1", 1)]
    again.see("node02", Condition.SERVING)
    assert again.node("node02").life is NodeLife.SERVING


def test_deadlines_of_the_real_controller_are_not_worked_off() -> None:
    desk = shadow()
    for _ in range(40):
        desk.wake()
        assert "asked-again" not in desk.codes()


def test_a_shadow_of_a_new_site_knows_its_nodes() -> None:
    desk = Desk(4, shadow=True)
    assert len(desk.state.nodes) == 4
    assert {type(change) for change in desk.last.changes} <= {PutNode, PutPending, PutRules, PutWake}
    desk = Desk(pool=nodes(6), shadow=True, how=settings(), state=before().state)
    assert len(desk.state.nodes) == 10
