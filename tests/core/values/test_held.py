"""Nodes that are held with their data: lost while they left, proven elsewhere later, given up, refused at the wipe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fawkes.core.values.effects import Goal, Host
from fawkes.core.values.events import Condition
from fawkes.core.values.model import NodeId, NodeLife, Role
from fawkes.core.values.proof import Proof
from fawkes.core.values.sight import Compute, Sight, Stored
from tests.support.desk import Desk, growing, grown
from tests.support.leaving import (
    MISSING_S,
    NODE,
    NOT_KNOWN,
    A,
    died_while_leaving,
    draining,
    evacuating,
    never_wiped,
    tell_sight,
    whole,
    wipes,
)
from tests.support.pools import settings

# A node that died while it left.


def test_a_node_that_dies_while_it_leaves_is_held_with_its_data() -> None:
    desk = died_while_leaving()
    state = desk.node(NODE)
    assert (state.owner, state.leaving, state.role) == ("a", True, Role.TRANSIENT_CORE)
    assert "/x" in state.alert
    assert desk.state.clusters[A].alert == f"{NODE}: {state.alert}"
    assert desk.state.held(A).counted == 5
    hosts = [e for e in desk.effects(Host) if e.node == NODE]
    assert (hosts[-1].role, hosts[-1].leaving) == (Role.TRANSIENT_CORE, True)
    document = [e for e in desk.world.effects if e.key == "membership:a"][-1]
    assert document.members[NodeId(NODE)].goal is Goal.EVACUATING  # type: ignore[union-attr]


def test_a_held_node_is_never_wiped_however_often_timers_go_off() -> None:
    desk = died_while_leaving()

    def act() -> None:
        for _ in range(20):
            desk.wait(1000)
            desk.look(NODE, Compute.ABSENT, Stored.ABSENT, missing=("/x",), missing_files=1)
            desk.see(NODE, Condition.FAILED, "no answer")
        desk.see(NODE, Condition.CLEAN)  # nobody asked for that

    never_wiped(desk, act)
    assert desk.node(NODE).life is NodeLife.LOST


@pytest.mark.parametrize("how", ["by its daemons", "by the NameNode"])
def test_a_held_node_that_is_back_goes_on_evacuating(how: str) -> None:
    desk = died_while_leaving()
    if how == "by its daemons":
        desk.see(NODE, Condition.SERVING)
    else:
        desk.look(NODE, Compute.LOST, Stored.LEAVING, at_risk=("/x",), at_risk_files=1)
    assert desk.said("leaves-again")
    state = desk.node(NODE)
    assert (state.life, state.leaving, state.alert) == (NodeLife.EVACUATING, False, "")
    assert desk.members()[0].members[NodeId(NODE)].goal is Goal.EVACUATING
    assert desk.state.clusters[A].alert == "", "what it was red for has passed"
    desk.now_s += 1
    desk.look(NODE, Compute.LOST, Stored.LEFT)
    assert desk.node(NODE).life is NodeLife.CLEANING


def test_a_report_of_the_time_when_it_was_lost_proves_nothing_once_it_is_back() -> None:
    desk = died_while_leaving()
    asked_us = desk.now_us
    desk.now_s += 1
    desk.see(NODE, Condition.SERVING)
    tell_sight(desk, Sight(asked_us=asked_us, compute=Compute.LOST, stored=Stored.LEFT, blocks=whole(asked_us)))
    assert desk.codes() == ["late-answer"]


def test_a_held_node_is_wiped_when_its_blocks_are_proven_elsewhere_later() -> None:
    desk = died_while_leaving()
    desk.look(NODE, Compute.ABSENT, Stored.ABSENT)
    assert desk.node(NODE).life is NodeLife.CLEANING
    assert not desk.node(NODE).leaving
    (host,) = wipes(desk)
    assert host.proof is not None
    assert desk.state.clusters[A].alert == "", "what it was red for has passed"
    desk.see(NODE, Condition.CLEAN)
    assert desk.node(NODE).life is NodeLife.OUT


def test_of_two_held_nodes_the_mr_cluster_names_one_until_both_are_settled() -> None:
    desk = died_while_leaving()
    desk.drain("node04")
    desk.look("node04", Compute.LEFT, Stored.IN_SERVICE, why=NOT_KNOWN)
    desk.now_s += 1
    missing: dict[str, Any] = {"missing": ("/x", "/y"), "missing_files": 2}
    desk.look("node04", Compute.LOST, Stored.DEAD, **missing)
    desk.wait(MISSING_S)
    assert desk.state.clusters[A].alert.startswith("node04: ")
    desk.drain("node04", discard=True)
    assert desk.state.clusters[A].alert == f"{NODE}: {desk.node(NODE).alert}"
    desk.see(NODE, Condition.SERVING)
    assert desk.state.clusters[A].alert == ""


def test_what_it_holds_is_said_again_when_that_has_changed() -> None:
    desk = died_while_leaving()
    desk.look(NODE, Compute.LOST, Stored.DEAD, missing=("/x", "/y"), missing_files=2)
    assert len(desk.said("held-blocks")) == 1
    assert "/y" in desk.state.clusters[A].alert
    desk.look(NODE, Compute.LOST, Stored.DEAD, missing=("/x", "/y"), missing_files=2)
    assert desk.said("held-blocks") == []


def test_files_missing_in_its_first_report_after_it_was_back_were_not_missing_before() -> None:
    """It was lost before any report: when it is back, its own blocks are reported only after it is heard from."""
    desk = evacuating()
    desk.look(NODE, Compute.LOST, Stored.DEAD, why=NOT_KNOWN)
    desk.wait(MISSING_S)
    assert (desk.node(NODE).life, desk.node(NODE).missing_before) == (NodeLife.LOST, None)
    desk.see(NODE, Condition.SERVING)
    desk.now_s += 1
    desk.look(NODE, Compute.LOST, Stored.LEAVING, missing=("/x",), missing_files=1)
    desk.now_s += 1

    def dies() -> None:
        desk.look(NODE, Compute.LOST, Stored.DEAD, missing=("/x",), missing_files=1)
        desk.wait(MISSING_S)

    never_wiped(desk, dies)
    assert desk.node(NODE).life is NodeLife.LOST


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
    """Facts about a lost node with a lost disk do not hold for the node that is back, with its data."""
    desk = grown(count=3)
    desk.look("node02", Compute.LOST, Stored.DEAD)
    desk.drain("node02", discard=True)
    desk.see("node02", Condition.SERVING)
    assert not desk.node("node02").discard
    desk.undrain("node02")
    desk.now_s += 1
    desk.look("node02", Compute.LOST, Stored.DEAD)
    desk.drain("node02")
    assert wipes(desk, "node02") == []
    assert not desk.node("node02").discard


def test_an_undrain_takes_back_that_data_is_given_up() -> None:
    desk = grown(count=3)
    desk.look("node02", Compute.LOST, Stored.DEAD)
    desk.drain("node02", discard=True)
    desk.undrain("node02")
    assert not desk.node("node02").discard


# The proof right before a wipe.


def cleaning() -> Desk:
    desk = evacuating()
    desk.look(NODE, Compute.LEFT, Stored.LEFT)
    assert desk.node(NODE).life is NodeLife.CLEANING
    desk.now_s += 1
    return desk


def tried_within_us(desk: Desk) -> int:
    return desk.state.pending[f"host:{NODE}"].deadline_us - desk.now_us


def test_a_node_whose_proof_failed_right_before_the_wipe_goes_on_evacuating() -> None:
    desk = cleaning()
    desk.see(NODE, Condition.HELD, "/x has too few replicas on other nodes")
    state = desk.node(NODE)
    assert (state.life, state.alert) == (NodeLife.EVACUATING, "/x has too few replicas on other nodes")
    assert desk.said("held-blocks")[0]["before_wipe"]
    assert desk.members()[0].members[NodeId(NODE)].goal is Goal.EVACUATING
    (host,) = desk.hosts()
    assert (host.role, host.leaving) == (Role.TRANSIENT_CORE, True)
    desk.see(NODE, Condition.FAILED, "no answer")
    assert tried_within_us(desk) <= settings().retry_max_us
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
    (wipe,) = [e for e in desk.effects(Host) if e.node == NODE and e.role is None]
    desk.see(NODE, Condition.FAILED, "no answer")
    assert (desk.node(NODE).life, desk.node(NODE).owner) == (NodeLife.LOST, None)
    desk.wait(60)
    again = [e for e in desk.effects(Host) if e.node == NODE and e.role is None][1:]
    assert again
    assert set(again) == {wipe}
    desk.see(NODE, Condition.HELD, "/x is nowhere else")
    assert (desk.node(NODE).life, desk.node(NODE).alert) == (NodeLife.LOST, "/x is nowhere else")
    assert tried_within_us(desk) <= settings().retry_max_us
    desk.drain(NODE, discard=True)
    (host,) = wipes(desk)
    assert host.proof is None
    desk.see(NODE, Condition.CLEAN)
    assert desk.node(NODE).life is NodeLife.OUT


def test_a_node_that_waits_for_a_proof_needs_none_once_its_mr_cluster_has_saved_its_outputs() -> None:
    desk = cleaning()
    desk.see(NODE, Condition.FAILED, "no answer")
    desk.release(A, discard=True, force=True)
    (host,) = wipes(desk)
    assert host.proof is None


@pytest.mark.parametrize("role", [Role.CORE, Role.TRANSIENT_CORE, Role.TRANSIENT])
def test_a_wipe_that_needs_no_proof_is_not_held(role: Role) -> None:
    """An answer about an earlier wipe, or of a world that errs: the outputs are saved, nobody needs the blocks."""
    desk = grown(Role.TRANSIENT if role is Role.TRANSIENT else Role.TRANSIENT_CORE)
    desk.release(A, discard=True, force=True)
    node = "node02" if role is Role.CORE else NODE
    desk.see(node, Condition.HELD, "no")
    assert desk.codes() == ["late-answer"]
    assert desk.node(node).life is NodeLife.CLEANING


# Operators and quarantines.


def failed_twice(desk: Desk) -> None:
    for _ in range(2):
        desk.see(NODE, Condition.FAILED, "no Java")


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


@pytest.mark.slow
def test_a_drain_during_a_quarantine_does_not_end_with_it() -> None:
    desk = growing(Role.TRANSIENT)
    failed_twice(desk)
    desk.see(NODE, Condition.CLEAN)
    assert desk.node(NODE).life is NodeLife.OUT
    desk.drain(NODE, reason="fan")
    desk.wait(100_000)
    assert (desk.node(NODE).life, desk.node(NODE).keep_out) == (NodeLife.OUT, "fan")


def test_facts_about_a_node_that_joins_or_is_wiped_change_nothing() -> None:
    for desk in (growing(), cleaning()):
        before = desk.node(NODE)
        desk.look(NODE, Compute.LOST, Stored.DEAD)
        assert desk.codes() == []
        assert desk.node(NODE) == before


def test_a_lost_node_serves_when_both_masters_count_on_it_again() -> None:
    desk = grown()
    desk.look(NODE, Compute.LOST, Stored.DEAD)
    for compute, stored in (
        (Compute.RUNNING, Stored.DEAD),
        (Compute.RUNNING, Stored.NOT_KNOWN),
        (Compute.RUNNING, Stored.LEAVING),
        (Compute.NOT_KNOWN, Stored.IN_SERVICE),
        (Compute.ABSENT, Stored.IN_SERVICE),
        (Compute.LOST, Stored.IN_SERVICE),
    ):
        desk.look(NODE, compute, stored)
        assert desk.node(NODE).life is NodeLife.LOST, (compute, stored)
    desk.look(NODE, Compute.RUNNING, Stored.IN_SERVICE)
    assert (desk.node(NODE).life, desk.node(NODE).alert) == (NodeLife.SERVING, "")
    assert "host:node03" not in desk.state.pending


def test_a_lost_node_that_serves_is_not_taken_back_for_what_was_seen_before() -> None:
    desk = grown()
    asked_us = desk.now_us
    desk.now_s += 1
    desk.look(NODE, Compute.LOST, Stored.DEAD)
    desk.now_s += 1
    desk.see(NODE, Condition.SERVING)
    tell_sight(desk, Sight(asked_us=asked_us, compute=Compute.LOST, stored=Stored.DEAD))
    assert desk.codes() == ["late-answer"]
    assert desk.node(NODE).life is NodeLife.SERVING


def test_a_node_of_an_mr_cluster_that_was_deployed_is_judged_from_then_on() -> None:
    desk = Desk(3)
    desk.request("a", 2)
    desk.done("cluster:a")
    desk.look("node02", Compute.LOST, Stored.DEAD)
    assert desk.node("node02").life is NodeLife.LOST


# The word of another version.


def started_again(desk: Desk, version: str | None) -> Desk:
    """The pool under a controller of this version, whose ledger one of that version wrote; None: of this one, too."""
    rules = desk.state.rules
    assert rules is not None
    desk.state.rules = replace(rules, version=version or rules.version)
    return Desk(state=desk.state, how=rules.settings)


@pytest.mark.parametrize(("version", "kept"), [("0.2.0", None), (None, ("/x",))])
def test_what_another_version_took_for_missing_before_is_not_known(
    version: str | None, kept: tuple[str, ...] | None
) -> None:
    """It may have believed a report in which the node had not listed its own blocks."""
    desk = evacuating()
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, missing=("/x",), missing_files=1, at_risk=("/y",), at_risk_files=1)
    assert desk.node(NODE).missing_before == ("/x",)
    assert started_again(desk, version).node(NODE).missing_before == kept


@pytest.mark.parametrize(("version", "kept"), [("0.2.0", None), (None, ("/x",))])
def test_a_wipe_that_another_version_began_is_proven_without_its_word(
    version: str | None, kept: tuple[str, ...] | None
) -> None:
    desk = evacuating()
    desk.look(NODE, Compute.LEFT, Stored.LEFT, missing=("/x",), missing_files=1)
    assert desk.node(NODE).life is NodeLife.CLEANING
    again = started_again(desk, version)
    (host,) = wipes(again)
    assert host.proof == Proof(kept)
    assert again.state.pending[host.key].effect == host
