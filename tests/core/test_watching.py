"""What it means how masters see a node: facts in, judgement out. Who is lost, drained, safe, held, back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fawkes.core.effects import Goal, Host
from fawkes.core.events import Condition, Done, NodeSeen, ReleaseAsked, UndrainAsked
from fawkes.core.keys import Key
from fawkes.core.model import ClusterId, NodeId, NodeLife, Role
from fawkes.core.proof import Proof
from fawkes.core.sight import Blocks, Compute, Sight, Stored
from fawkes.units import SECOND_US
from tests.support.desk import Desk, grown

A = ClusterId("a")
NODE = "node03"
MISSING_S, SILENT_S, DOUBT_S, HELD_S = 20, 30, 20, 15
NOT_KNOWN = "the NameNode gave no report"


def undrain(desk: Desk, node: str = NODE) -> None:
    desk.tell(UndrainAsked(at_us=desk.now_us, node=NodeId(node), by="ann", ask="u"))


def draining(role: Role = Role.TRANSIENT_CORE) -> Desk:
    """node03 begins to leave for an operator."""
    desk = grown(role, transient_leave_us=10**12, transient_core_leave_us=10**12)
    desk.drain(NODE)
    desk.done("membership:a")
    assert desk.node(NODE).life is NodeLife.DRAINING
    return desk


def evacuating() -> Desk:
    """Nothing computes on node03 any more; its blocks are next."""
    desk = draining()
    desk.now_s += 1
    desk.look(NODE, Compute.LEFT, Stored.IN_SERVICE, why=NOT_KNOWN)
    desk.done("membership:a")
    assert desk.node(NODE).life is NodeLife.EVACUATING
    desk.now_s += 1
    return desk


def died_while_leaving(**blocks: Any) -> Desk:
    """node03 is dead although its blocks are not safe elsewhere."""
    desk = evacuating()
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, at_risk=("/x",), at_risk_files=1)
    desk.now_s += 1
    risk = blocks or {"missing": ("/x",), "missing_files": 1}
    desk.look(NODE, Compute.LOST, Stored.DEAD, **risk)
    assert desk.node(NODE).life is NodeLife.EVACUATING
    desk.wait(MISSING_S)
    assert desk.node(NODE).life is NodeLife.LOST
    desk.now_s += 1
    return desk


def wipes(desk: Desk, node: str = NODE) -> list[Host]:
    """The wipes of a node that the latest decision asks for."""
    return [effect for effect in desk.hosts() if effect.node == node and effect.role is None]


def never_wiped(desk: Desk, act: Callable[[], object]) -> None:
    """Whatever happens by an act, no wipe of the node begins."""
    before = len(desk.world.effects)
    act()
    effects = [e for e in desk.world.effects[before:] if isinstance(e, Host) and e.node == NODE]
    assert [e for e in effects if e.role is None] == []


# A node that serves.


@pytest.mark.parametrize(
    ("compute", "stored"),
    [(Compute.ABSENT, Stored.IN_SERVICE), (Compute.RUNNING, Stored.DEAD), (Compute.RUNNING, Stored.ABSENT)],
)
def test_a_serving_node_that_is_missing_is_lost_only_after_a_while(compute: Compute, stored: Stored) -> None:
    desk = grown()
    desk.look(NODE, compute, stored)
    desk.wait(MISSING_S - 1)
    assert desk.node(NODE).life is NodeLife.SERVING
    desk.wait(1)
    assert desk.node(NODE).life is NodeLife.LOST
    assert desk.node(NODE).owner == "a"
    assert not desk.node(NODE).leaving


@pytest.mark.parametrize("compute", [Compute.LOST, Compute.LEFT])
def test_a_serving_node_whose_node_manager_is_gone_is_lost_at_once(compute: Compute) -> None:
    desk = grown()
    desk.look(NODE, compute, Stored.IN_SERVICE)
    assert desk.node(NODE).life is NodeLife.LOST
    assert desk.said("node-lost")[0]["error"] == f"its NodeManager is {compute}"


def test_a_lost_node_without_data_is_wiped_before_anybody_gets_it() -> None:
    desk = grown(Role.TRANSIENT)
    desk.look(NODE, Compute.LOST, Stored.ABSENT)
    assert (desk.node(NODE).life, desk.node(NODE).owner) == (NodeLife.LOST, None)
    (host,) = wipes(desk)
    assert host.proof is None


def test_of_a_node_without_data_only_the_node_manager_counts() -> None:
    desk = grown(Role.TRANSIENT)
    desk.look(NODE, Compute.RUNNING, Stored.DEAD)
    desk.wait(10 * MISSING_S)
    assert desk.node(NODE).life is NodeLife.SERVING


@pytest.mark.parametrize(
    "seen",
    [
        (Compute.NOT_KNOWN, Stored.NOT_KNOWN),
        (Compute.NOT_KNOWN, Stored.IN_SERVICE),
        (Compute.RUNNING, Stored.NOT_KNOWN),
        (Compute.RUNNING, Stored.OTHER),
        (Compute.OTHER, Stored.NOT_KNOWN),
    ],
)
def test_what_is_not_known_begins_no_doubt_and_ends_none(seen: tuple[Compute, Stored]) -> None:
    desk = grown()
    desk.look(NODE, *seen)
    assert Key.DOUBT.of(NODE) not in desk.state.pending
    desk.look(NODE, Compute.ABSENT, Stored.IN_SERVICE)
    deadline_us = desk.state.pending[Key.DOUBT.of(NODE)].deadline_us
    desk.now_s += 5
    desk.look(NODE, *seen)
    assert desk.state.pending[Key.DOUBT.of(NODE)].deadline_us == deadline_us
    desk.look(NODE, Compute.RUNNING, Stored.IN_SERVICE)
    assert Key.DOUBT.of(NODE) not in desk.state.pending


def test_a_node_of_which_nothing_is_known_at_the_end_of_a_doubt_is_not_lost() -> None:
    desk = grown()
    desk.look(NODE, Compute.ABSENT, Stored.IN_SERVICE)
    desk.now_s += 5
    desk.look(NODE, Compute.NOT_KNOWN, Stored.NOT_KNOWN)
    desk.wait(10 * MISSING_S)
    assert desk.node(NODE).life is NodeLife.SERVING


def test_each_fact_about_a_missing_node_leaves_its_deadline_alone() -> None:
    desk = grown()
    for _ in range(MISSING_S):
        desk.look(NODE, Compute.ABSENT, Stored.IN_SERVICE)
        assert desk.node(NODE).life is NodeLife.SERVING
        desk.wait(1)
    assert desk.node(NODE).life is NodeLife.LOST


def test_a_doubt_of_an_earlier_life_does_not_shorten_the_next() -> None:
    """It was about to be held, is needed again, serves, and its ResourceManager begins anew."""
    desk = Desk(6, how=grown().state.rules.settings)  # type: ignore[union-attr]
    desk.up("a")
    desk.tick(a=10)
    desk.settle("a")
    desk.look(NODE, Compute.ABSENT, Stored.IN_SERVICE)
    desk.wait(MISSING_S - 2)
    desk.drain(NODE)
    desk.now_s += 0.5
    desk.look(NODE, Compute.RUNNING, Stored.IN_SERVICE)
    desk.wait(3)
    assert desk.said("told-again") == []
    assert desk.node(NODE).life is NodeLife.DRAINING


# Masters that are silent.


def test_silent_masters_lose_their_node_and_say_why() -> None:
    desk = grown()
    desk.masters("a", "connection refused")
    desk.wait(SILENT_S - 1)
    assert desk.node("node01").life is NodeLife.SERVING
    desk.wait(1)
    assert desk.node("node01").life is NodeLife.LOST
    assert desk.lives("a")["node02"] == "serving"
    assert desk.state.clusters[A].alert.startswith("its masters do not answer")
    assert [(e.node, e.role) for e in desk.world.effects if isinstance(e, Host)][-1] == ("node01", Role.CORE)
    desk.masters("a")
    assert desk.state.clusters[A].alert == ""


def test_masters_that_answer_in_time_are_not_lost() -> None:
    desk = grown()
    for _ in range(5):
        desk.masters("a", "connection refused")
        desk.wait(SILENT_S - 1)
        desk.masters("a")
        desk.wait(1)
    assert set(desk.lives("a").values()) == {"serving"}
    assert Key.SILENT.of("a") not in desk.state.pending


def test_masters_that_stay_silent_have_one_deadline() -> None:
    desk = grown()
    desk.masters("a", "connection refused")
    desk.wait(SILENT_S - 1)
    desk.masters("a", "connection reset")
    desk.wait(1)
    assert desk.node("node01").life is NodeLife.LOST


def test_silence_ends_the_doubts_about_all_members() -> None:
    desk = grown()
    for node in ("node02", NODE):
        desk.look(node, Compute.ABSENT, Stored.IN_SERVICE)
    desk.masters("a", "connection refused")
    assert [key for key in desk.state.pending if key.startswith(Key.DOUBT)] == []
    desk.wait(MISSING_S)
    assert set(desk.lives("a").values()) == {"serving"}


def test_masters_of_an_mr_cluster_that_retires_are_nobody_s_concern() -> None:
    desk = grown()
    desk.tell(ReleaseAsked(at_us=desk.now_us, cluster=A, discard=True, force=True))
    desk.masters("a", "connection refused")
    assert Key.SILENT.of("a") not in desk.state.pending
    desk.masters("nobody", "connection refused")
    assert desk.codes() == []


# A node that drains.


@pytest.mark.parametrize("compute", [Compute.LEFT, Compute.LOST])
@pytest.mark.parametrize(
    ("role", "life"), [(Role.TRANSIENT, NodeLife.CLEANING), (Role.TRANSIENT_CORE, NodeLife.EVACUATING)]
)
def test_a_node_whose_node_manager_is_gone_is_drained(compute: Compute, role: Role, life: NodeLife) -> None:
    desk = draining(role)
    desk.look(NODE, compute, Stored.IN_SERVICE)
    assert desk.node(NODE).life is life
    assert desk.said("drained")[0]["role"] == role


def test_a_drain_that_the_resource_manager_forgot_is_told_again_and_again() -> None:
    desk = draining()
    for _ in range(3):
        desk.look(NODE, Compute.RUNNING, Stored.IN_SERVICE)
        desk.wait(DOUBT_S - 1)
        assert not desk.said("told-again")
        desk.wait(1)
        assert desk.said("told-again")[0]["what"] == "is not draining"
        (document,) = desk.members()
        assert document.afresh
        assert document.members[NodeId(NODE)].goal is Goal.DRAINING
        desk.done("membership:a")
    assert desk.node(NODE).life is NodeLife.DRAINING


def test_a_drain_that_was_heard_in_the_end_is_not_told_again() -> None:
    desk = draining()
    desk.look(NODE, Compute.RUNNING, Stored.IN_SERVICE)
    desk.now_s += 5
    desk.look(NODE, Compute.DRAINING, Stored.IN_SERVICE)
    assert "told-again" not in desk.wait(10 * DOUBT_S)


def test_a_node_that_the_resource_manager_does_not_know_has_nothing_that_runs() -> None:
    desk = draining()
    desk.look(NODE, Compute.ABSENT, Stored.IN_SERVICE)
    desk.wait(DOUBT_S - 1)
    assert desk.node(NODE).life is NodeLife.DRAINING
    desk.wait(1)
    assert desk.node(NODE).life is NodeLife.EVACUATING


@pytest.mark.parametrize("compute", [Compute.NOT_KNOWN, Compute.OTHER])
def test_a_drain_of_which_nothing_is_known_goes_on(compute: Compute) -> None:
    desk = draining()
    desk.look(NODE, compute, Stored.DEAD)
    desk.wait(100 * DOUBT_S)
    assert desk.node(NODE).life is NodeLife.DRAINING


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


def tell_sight(desk: Desk, sight: Sight, *, cluster: str = "a", generation: int | None = None) -> None:
    known = desk.node(NODE).generation if generation is None else generation
    desk.tell(NodeSeen(at_us=desk.now_us, cluster=ClusterId(cluster), node=NodeId(NODE), generation=known, sight=sight))


def whole(asked_us: int) -> Blocks:
    return Blocks(asked_us=asked_us, known=True)


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


def cleaning() -> Desk:
    desk = evacuating()
    desk.look(NODE, Compute.LEFT, Stored.LEFT)
    assert desk.node(NODE).life is NodeLife.CLEANING
    desk.now_s += 1
    return desk


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


def failed_twice(desk: Desk) -> None:
    for _ in range(2):
        desk.see(NODE, Condition.FAILED, "no Java")


def joining(role: Role = Role.TRANSIENT_CORE) -> Desk:
    """node03 joins for the first time."""
    desk = Desk(6, how=grown(role).state.rules.settings)  # type: ignore[union-attr]
    desk.up("a")
    desk.tick(a=10)
    assert desk.node(NODE).life is NodeLife.JOINING
    return desk


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


def test_facts_about_a_node_that_joins_or_is_wiped_change_nothing() -> None:
    for desk in (joining(), cleaning()):
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
    desk.tell(Done(at_us=desk.now_us, effect="cluster:a", version=desk.state.pending["cluster:a"].version))
    desk.look("node02", Compute.LOST, Stored.DEAD)
    assert desk.node("node02").life is NodeLife.LOST
