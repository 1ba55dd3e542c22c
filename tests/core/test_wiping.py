"""Before a node with data is wiped: data that is given up, the proof right before, operators and quarantines."""

from __future__ import annotations

import pytest

from fawkes.core.effects import Goal, Host
from fawkes.core.events import Condition, ReleaseAsked
from fawkes.core.model import NodeId, NodeLife, Role
from fawkes.core.sight import Compute, Sight, Stored
from tests.support.desk import Desk, grown
from tests.support.leaving import (
    NODE,
    A,
    cleaning,
    died_while_leaving,
    draining,
    evacuating,
    failed_twice,
    joining,
    tell_sight,
    undrain,
    whole,
    wipes,
)

# Data that is given up.


@pytest.mark.parametrize("state", ["evacuating", "held", "lost"])
def test_an_administrator_gives_up_what_a_node_is_held_for(state: str) -> None:
    if state == "evacuating":
        desk = evacuating()
    elif state == "held":
        desk = died_while_leaving()
    else:
        desk = grown()
        desk.look(NODE, Compute.LOST, Stored.DEAD)
    desk.drain(NODE, discard=True, reason="its disk is gone")
    assert desk.refusal() == ""
    assert {"discard-asked", "data-given-up"} <= set(desk.codes())
    (host,) = wipes(desk)
    assert host.proof is None
    assert desk.state.clusters[A].alert == ""
    desk.see(NODE, Condition.CLEAN)
    state_now = desk.node(NODE)
    assert (state_now.life, state_now.keep_out, state_now.discard) == (NodeLife.OUT, "its disk is gone", False)


@pytest.mark.parametrize("life", ["serving", "draining", "cleaning", "free", "joining"])
def test_nothing_is_given_up_of_a_node_that_is_not_held(life: str) -> None:
    desk = grown() if life != "free" else Desk(6)
    match life:
        case "draining":
            desk = draining()
        case "cleaning":
            desk = evacuating()
            desk.look(NODE, Compute.LEFT, Stored.LEFT)
        case "joining":
            desk = Desk(6)
            desk.request("a", 3)
    before = desk.node(NODE)
    assert before.life == life
    desk.drain(NODE, discard=True)
    assert desk.refusal() == "nothing-held"
    assert desk.node(NODE) == before
    assert desk.hosts() == []


def test_the_data_of_a_lost_core_node_is_given_up_only_after_another_took_over() -> None:
    desk = grown(count=3)
    desk.look("node02", Compute.LOST, Stored.DEAD)
    desk.drain("node02", discard=True)
    assert desk.refusal() == ""
    assert desk.node("node02").life is NodeLife.LOST
    assert wipes(desk, "node02") == []
    # node03 leaves so that it can take over.
    for look in ((Compute.LEFT, Stored.IN_SERVICE), (Compute.LEFT, Stored.LEFT)):
        desk.now_s += 1
        desk.look(NODE, *look)
    desk.see(NODE, Condition.CLEAN)
    assert (desk.node(NODE).role, desk.node(NODE).life) == (Role.CORE, NodeLife.JOINING)
    assert wipes(desk, "node02") == []
    desk.see(NODE, Condition.SERVING)
    assert desk.node("node02").life is NodeLife.CLEANING
    (host,) = wipes(desk, "node02")
    assert host.proof is None


def test_data_of_a_node_that_came_back_is_not_given_up() -> None:
    """What was said of a lost node with a lost disk does not hold for the node that is back, with its data."""
    desk = grown(count=3)
    desk.look("node02", Compute.LOST, Stored.DEAD)
    desk.drain("node02", discard=True)
    desk.see("node02", Condition.SERVING)
    assert not desk.node("node02").discard
    undrain(desk, "node02")
    desk.now_s += 1
    desk.look("node02", Compute.LOST, Stored.DEAD)
    desk.drain("node02")
    assert wipes(desk, "node02") == []
    assert not desk.node("node02").discard


def test_an_undrain_takes_back_that_data_is_given_up() -> None:
    desk = grown(count=3)
    desk.look("node02", Compute.LOST, Stored.DEAD)
    desk.drain("node02", discard=True)
    undrain(desk, "node02")
    assert not desk.node("node02").discard


# The proof right before a wipe.


def test_a_node_whose_proof_failed_right_before_the_wipe_goes_on_evacuating() -> None:
    desk = cleaning()
    desk.see(NODE, Condition.HELD, "/x has too few replicas elsewhere")
    state = desk.node(NODE)
    assert (state.life, state.alert) == (NodeLife.EVACUATING, "/x has too few replicas elsewhere")
    assert desk.said("held-blocks")[0]["before_wipe"]
    assert desk.members()[0].members[NodeId(NODE)].goal is Goal.EVACUATING
    (host,) = desk.hosts()
    assert (host.role, host.leaving) == (Role.TRANSIENT_CORE, True)
    desk.see(NODE, Condition.SERVING)
    assert desk.node(NODE).life is NodeLife.EVACUATING
    desk.now_s += 1
    desk.look(NODE, Compute.LEFT, Stored.LEFT)
    assert desk.node(NODE).life is NodeLife.CLEANING


def test_a_report_from_before_the_wipe_was_refused_proves_nothing() -> None:
    desk = cleaning()
    asked_us = desk.now_us
    desk.now_s += 1
    desk.see(NODE, Condition.HELD, "no")
    tell_sight(desk, Sight(asked_us=asked_us, compute=Compute.LEFT, stored=Stored.LEFT, blocks=whole(asked_us)))
    assert desk.codes() == ["late-answer"]


def test_a_node_that_could_not_be_wiped_is_wiped_later_only_with_the_same_proof() -> None:
    desk = cleaning()
    (asked,) = [e for e in desk.world.effects if isinstance(e, Host) and e.node == NODE and e.role is None]
    desk.see(NODE, Condition.FAILED, "no answer")
    assert (desk.node(NODE).life, desk.node(NODE).owner) == (NodeLife.LOST, None)
    desk.wait(60)
    again = [e for e in desk.world.effects if isinstance(e, Host) and e.node == NODE and e.role is None][1:]
    assert again
    assert set(again) == {asked}
    desk.see(NODE, Condition.HELD, "/x is nowhere else")
    assert (desk.node(NODE).life, desk.node(NODE).alert) == (NodeLife.LOST, "/x is nowhere else")
    desk.drain(NODE, discard=True)
    (host,) = wipes(desk)
    assert host.proof is None
    desk.see(NODE, Condition.CLEAN)
    assert desk.node(NODE).life is NodeLife.OUT


def test_a_node_that_waits_for_a_proof_needs_none_once_its_mr_cluster_has_saved_its_outputs() -> None:
    desk = cleaning()
    desk.see(NODE, Condition.FAILED, "no answer")
    desk.tell(ReleaseAsked(at_us=desk.now_us, cluster=A, discard=True, force=True))
    (host,) = wipes(desk)
    assert host.proof is None


@pytest.mark.parametrize("role", [Role.CORE, Role.TRANSIENT_CORE, Role.TRANSIENT])
def test_a_wipe_that_needs_no_proof_is_not_held(role: Role) -> None:
    """An answer about an earlier wipe, or of a world that errs: the outputs are saved, nobody needs the blocks."""
    desk = grown(Role.TRANSIENT if role is Role.TRANSIENT else Role.TRANSIENT_CORE)
    desk.tell(ReleaseAsked(at_us=desk.now_us, cluster=A, discard=True, force=True))
    node = "node02" if role is Role.CORE else NODE
    desk.see(node, Condition.HELD, "no")
    assert desk.codes() == ["late-answer"]
    assert desk.node(node).life is NodeLife.CLEANING


# Operators and quarantines.


def test_an_operator_s_drain_is_not_overwritten_by_a_quarantine_and_does_not_end_with_it() -> None:
    """A core node that comes up does not leave before another took over; meanwhile it does not come up."""
    desk = grown(Role.TRANSIENT, count=3)
    desk.look("node02", Compute.LOST, Stored.DEAD)
    desk.drain("node02", reason="fan")
    desk.look(NODE, Compute.LEFT)
    desk.see(NODE, Condition.CLEAN)
    # It takes over from node02, is drained as well, and does not come up.
    assert (desk.node(NODE).life, desk.node(NODE).role) == (NodeLife.JOINING, Role.CORE)
    desk.drain(NODE, reason="disk")
    assert desk.node(NODE).life is NodeLife.JOINING
    failed_twice(desk)
    assert desk.said("quarantine")
    assert (desk.node(NODE).keep_out, desk.node(NODE).back_us) == ("disk", None)
    for look in ((Compute.LEFT, Stored.IN_SERVICE), (Compute.LEFT, Stored.LEFT)):
        desk.now_s += 1
        desk.look(NODE, *look)
    desk.see(NODE, Condition.CLEAN)
    desk.wait(100_000)
    assert (desk.node(NODE).life, desk.node(NODE).keep_out) == (NodeLife.OUT, "disk")


def test_a_drain_during_a_quarantine_does_not_end_with_it() -> None:
    desk = joining(Role.TRANSIENT)
    failed_twice(desk)
    desk.see(NODE, Condition.CLEAN)
    assert desk.node(NODE).life is NodeLife.OUT
    desk.drain(NODE, reason="fan")
    desk.wait(100_000)
    assert (desk.node(NODE).life, desk.node(NODE).keep_out) == (NodeLife.OUT, "fan")
