"""A node with data leaves: what proves that its blocks are elsewhere, and what holds it when it dies meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from fawkes.core.effects import Goal, Host
from fawkes.core.events import Condition, NodeSeen
from fawkes.core.model import NodeId, NodeLife, Role
from fawkes.core.proof import Proof
from fawkes.core.sight import Compute, Sight, Stored
from fawkes.units import SECOND_US
from tests.support.desk import Desk, grown
from tests.support.leaving import (
    DOUBT_S,
    HELD_S,
    MISSING_S,
    NODE,
    NOT_KNOWN,
    A,
    died_while_leaving,
    evacuating,
    never_wiped,
    tell_sight,
    whole,
    wipes,
)

# A node that evacuates.


def test_a_node_is_wiped_when_a_whole_report_shows_its_blocks_elsewhere() -> None:
    desk = evacuating()
    desk.look(NODE, Compute.LEFT, Stored.LEFT, listed=7)
    assert desk.node(NODE).life is NodeLife.CLEANING
    assert desk.said("evacuated")[0]["listed"] == 7
    (host,) = wipes(desk)
    assert host.proof == Proof(())


@pytest.mark.parametrize("stored", [Stored.DEAD, Stored.ABSENT])
def test_a_node_that_died_is_wiped_when_its_blocks_are_elsewhere(stored: Stored) -> None:
    desk = evacuating()
    desk.look(NODE, Compute.LOST, stored)
    assert desk.node(NODE).life is NodeLife.CLEANING
    (host,) = wipes(desk)
    assert host.proof == Proof(None)


UNPROVEN: dict[str, tuple[Stored, dict[str, Any]]] = {
    "the report says why it is none": (Stored.LEFT, {"why": NOT_KNOWN}),
    "files are at risk": (Stored.LEFT, {"at_risk": ("/x",), "at_risk_files": 1}),
    "more files are at risk than are named": (Stored.LEFT, {"at_risk": (), "at_risk_files": 1}),
    "it still leaves": (Stored.LEAVING, {}),
    "the NameNode counts on it": (Stored.IN_SERVICE, {}),
    "nobody knows its state": (Stored.NOT_KNOWN, {}),
    "it is in no state that we know": (Stored.OTHER, {}),
    "it is dead and took a file along": (Stored.DEAD, {"missing": ("/x",), "missing_files": 1}),
    "it is forgotten and a file is missing": (Stored.ABSENT, {"missing": ("/x",), "missing_files": 1}),
}


@pytest.mark.parametrize("case", sorted(UNPROVEN))
def test_what_does_not_prove_that_the_blocks_are_elsewhere(case: str) -> None:
    desk = evacuating()
    stored, blocks = UNPROVEN[case]

    def act() -> None:
        desk.look(NODE, Compute.LEFT, stored, **blocks)
        desk.wait(100 * MISSING_S)

    never_wiped(desk, act)
    assert desk.node(NODE).life in (NodeLife.EVACUATING, NodeLife.LOST)


def test_a_report_that_was_asked_for_before_the_evacuation_began_proves_nothing() -> None:
    desk = evacuating()
    began_us = desk.node(NODE).since_us
    sight = Sight(asked_us=desk.now_us, compute=Compute.LEFT, stored=Stored.LEFT, blocks=whole(began_us - 1))
    tell_sight(desk, sight)
    assert desk.node(NODE).life is NodeLife.EVACUATING
    tell_sight(desk, Sight(asked_us=desk.now_us, compute=Compute.LEFT, stored=Stored.LEFT, blocks=whole(began_us)))
    assert desk.node(NODE).life is NodeLife.CLEANING


def test_a_node_without_any_report_is_not_wiped() -> None:
    desk = evacuating()
    tell_sight(desk, Sight(asked_us=desk.now_us, compute=Compute.LEFT, stored=Stored.LEFT))
    desk.wait(HELD_S)
    assert desk.node(NODE).life is NodeLife.EVACUATING
    assert "not known" in desk.node(NODE).alert


@pytest.mark.parametrize("stale", ["asked", "generation", "owner"])
def test_stale_facts_are_history(stale: str) -> None:
    desk = evacuating()
    state = desk.node(NODE)
    asked_us = state.since_us - 1 if stale == "asked" else desk.now_us
    sight = Sight(asked_us=asked_us, compute=Compute.LEFT, stored=Stored.LEFT, blocks=whole(desk.now_us))
    generation = state.generation - (stale == "generation")
    tell_sight(desk, sight, cluster="b" if stale == "owner" else "a", generation=generation)
    assert desk.codes() == ["late-answer"]
    assert desk.node(NODE) == state


def test_facts_about_nobody_are_history() -> None:
    desk = grown()
    desk.tell(
        NodeSeen(at_us=desk.now_us, cluster=A, node=NodeId("node99"), generation=1, sight=Sight(asked_us=desk.now_us))
    )
    assert desk.codes() == ["late-answer"]


def test_facts_of_an_evacuation_that_was_called_off_do_not_count_in_the_next() -> None:
    """Undrained and drained again: an answer about the first time says nothing about blocks written in between."""
    desk = Desk(6, how=grown(transient_core_leave_us=10**12).state.rules.settings)  # type: ignore[union-attr]
    desk.up("a")
    desk.up("b")
    desk.tick(a=1000, b=1)
    desk.settle("a")
    desk.tick(a=1, b=1000)
    desk.settle("b")
    left = sorted(n for n, s in desk.state.nodes.items() if s.life is NodeLife.DRAINING)[0]
    desk.now_s += 1
    desk.look(left, Compute.LEFT, Stored.IN_SERVICE, why=NOT_KNOWN)
    assert desk.node(left).life is NodeLife.EVACUATING
    asked_us = desk.now_us + SECOND_US
    desk.tick(a=1000, b=1)
    desk.settle("a")
    assert desk.node(left).life is NodeLife.SERVING
    desk.tick(a=1, b=1000)
    assert desk.node(left).life is NodeLife.DRAINING
    state = desk.node(left)
    sight = Sight(asked_us=asked_us, compute=Compute.LEFT, stored=Stored.LEFT, blocks=whole(asked_us))
    desk.tell(NodeSeen(at_us=desk.now_us, cluster=A, node=NodeId(left), generation=state.generation, sight=sight))
    assert desk.codes() == ["late-answer"]
    assert desk.node(left) == state


def test_what_was_missing_before_holds_nobody() -> None:
    desk = evacuating()
    lost: dict[str, Any] = {"missing": ("/old",), "missing_files": 1}
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, at_risk=("/x",), at_risk_files=1, **lost)
    assert desk.node(NODE).missing_before == ("/old",)
    desk.now_s += 1
    desk.look(NODE, Compute.LEFT, Stored.LEFT, **lost)
    assert desk.node(NODE).life is NodeLife.CLEANING
    assert desk.said("evacuated")[0]["missing_before"] == 1
    (host,) = wipes(desk)
    assert host.proof == Proof(("/old",))


def test_what_is_missing_now_and_was_not_before_holds_it() -> None:
    desk = evacuating()
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, missing=("/old",), missing_files=1)
    desk.look(NODE, Compute.LEFT, Stored.LEFT, missing=("/new", "/old"), missing_files=2)
    assert desk.node(NODE).life is NodeLife.EVACUATING
    desk.wait(HELD_S)
    assert "/new" in desk.node(NODE).alert
    assert "/old" not in desk.node(NODE).alert


def test_one_more_missing_block_of_a_file_that_missed_one_before_holds_it() -> None:
    desk = evacuating()
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, missing=("/old",), missing_files=1)
    desk.look(NODE, Compute.LEFT, Stored.LEFT, missing=("/old (2 blocks)",), missing_files=1)
    desk.wait(HELD_S)
    assert desk.node(NODE).life is NodeLife.EVACUATING
    assert desk.node(NODE).alert == "no live node has all blocks of /old (2 blocks)"
    assert desk.node(NODE).missing_before == ("/old",)
    desk.look(NODE, Compute.LEFT, Stored.LEFT, missing=("/old",), missing_files=1)
    assert desk.node(NODE).life is NodeLife.CLEANING


def test_of_a_file_with_many_missing_blocks_the_fewest_were_missing_before() -> None:
    """A NameNode that has just begun anew counts more of them than are missing."""
    desk = evacuating()
    for blocks in ("5", "2", "3"):
        missing = (f"/old ({blocks} blocks)",)
        desk.look(NODE, Compute.LEFT, Stored.LEAVING, missing=missing, missing_files=1)
    assert desk.node(NODE).missing_before == ("/old (2 blocks)",)


def test_a_dead_node_waits_for_silent_nodes_with_the_only_replicas_left() -> None:
    """They may have died with it: which blocks were on it, no report says any more."""
    desk = evacuating()

    def dies() -> None:
        desk.look(NODE, Compute.LOST, Stored.DEAD, unheard=("/x",), unheard_files=1)
        desk.wait(MISSING_S)

    never_wiped(desk, dies)
    assert desk.node(NODE).life is NodeLife.LOST
    assert desk.node(NODE).alert.endswith("no sound node has /x")
    desk.look(NODE, Compute.LOST, Stored.DEAD)
    assert desk.node(NODE).life is NodeLife.CLEANING


def test_what_was_there_once_while_it_left_was_not_missing_before() -> None:
    """A NameNode that has just begun anew calls files missing of which this very node has the only replicas."""
    desk = evacuating()
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, missing=("/old", "/x"), missing_files=2)
    desk.now_s += 1
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, at_risk=("/x",), at_risk_files=1, missing=("/old",), missing_files=1)
    desk.now_s += 1

    def dies() -> None:
        desk.look(NODE, Compute.LOST, Stored.DEAD, missing=("/old", "/x"), missing_files=2)
        desk.wait(MISSING_S)

    never_wiped(desk, dies)
    assert desk.node(NODE).life is NodeLife.LOST
    assert "/x" in desk.node(NODE).alert


def test_an_evacuation_that_the_name_node_forgot_is_told_again() -> None:
    desk = evacuating()
    desk.look(NODE, Compute.LEFT, Stored.IN_SERVICE)
    desk.wait(DOUBT_S)
    assert desk.said("told-again")[0]["what"] == "is not evacuating"
    (document,) = desk.members()
    assert document.afresh
    assert document.members[NodeId(NODE)].goal is Goal.EVACUATING


def test_a_node_whose_blocks_are_not_safe_is_said_to_be_held_after_a_while_and_when_the_reason_changes() -> None:
    desk = evacuating()
    figures: dict[str, Any] = {"listed": 9, "too_few": 3, "only_here": 2, "at_risk": ("/x",), "at_risk_files": 1}
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, **figures)
    desk.wait(HELD_S - 1)
    assert desk.node(NODE).alert == ""
    desk.wait(1)
    assert desk.node(NODE).alert == "of its 9 blocks 3 have too few replicas elsewhere, 2 have none in service"
    assert desk.state.clusters[A].alert == "", "its MR-cluster has lost nothing"
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, **figures)
    assert desk.said("held-blocks") == []
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, **{**figures, "too_few": 1, "only_here": 1})
    assert len(desk.said("held-blocks")) == 1
    desk.look(NODE, Compute.LEFT, Stored.LEFT)
    assert (desk.node(NODE).life, desk.node(NODE).alert) == (NodeLife.CLEANING, "")


def test_a_drain_that_can_never_end_says_so_until_that_has_changed() -> None:
    desk = evacuating()
    figures: dict[str, Any] = {"listed": 9, "too_few": 3, "only_here": 2, "staying": 0}
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, **figures)
    desk.wait(HELD_S)
    assert desk.node(NODE).alert == "this drain cannot end: 0 DataNodes stay for 1 replicas of each block"
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, **figures)
    assert desk.node(NODE).alert.startswith("this drain cannot end")
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, **{**figures, "staying": 2})
    assert desk.node(NODE).alert.startswith("of its 9 blocks")


# A node that died while it left.


def test_a_node_that_dies_while_it_leaves_is_held_with_its_data() -> None:
    desk = died_while_leaving()
    state = desk.node(NODE)
    assert (state.owner, state.leaving, state.role) == ("a", True, Role.TRANSIENT_CORE)
    assert "/x" in state.alert
    assert desk.state.clusters[A].alert == f"{NODE}: {state.alert}"
    assert desk.state.held(A).counted == 5
    hosts = [e for e in desk.world.effects if isinstance(e, Host) and e.node == NODE]
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
