"""The meaning of a node's sight: missing and lost, drained, safe to stop. Facts in, judgement out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import Goal, Host
from fawkes.core.values.events import Condition, NodeSeen, in_one
from fawkes.core.values.keys import Key
from fawkes.core.values.model import NodeId, NodeLife, Role
from fawkes.core.values.proof import Proof
from fawkes.core.values.sight import Compute, Sight, Stored
from fawkes.store.record import text_of
from tests.support.desk import Desk, grown
from tests.support.leaving import (
    DOUBT_S,
    HELD_S,
    MISSING_S,
    NODE,
    NOT_KNOWN,
    SILENT_S,
    A,
    draining,
    evacuating,
    never_wiped,
    tell_sight,
    whole,
    wipes,
)

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


def test_news_of_several_nodes_that_come_together_keep_their_own_times() -> None:
    """Else a look at the masters between two of them would count as older than the node's life, and be dropped."""
    desk = grown(Role.TRANSIENT)
    times = {NodeId(NODE): desk.now_us + 1, NodeId("node04"): desk.now_us + 4}
    gone = Sight(asked_us=desk.now_us, compute=Compute.LOST, stored=Stored.ABSENT)
    desk.tell(
        in_one([NodeSeen(at_us=at, cluster=A, node=n, generation=1, sight=gone) for n, at in times.items()]),
    )
    assert {n: (desk.node(n).life, desk.node(n).since_us) for n in times} == {
        n: (NodeLife.LOST, at) for n, at in times.items()
    }


@pytest.mark.parametrize("begun", [grown, draining])
def test_nobody_is_given_up_by_news_of_before_the_time_was_over(begun: Callable[[Role], Desk]) -> None:
    """It was away for a moment. That it is back is told late, because the world waits for a report on another node."""
    desk = begun(Role.TRANSIENT)
    life = desk.node(NODE).life
    desk.look(NODE, Compute.ABSENT, repeated=True)
    began_s = desk.now_s
    desk.wait(MISSING_S)
    desk.wait(100)
    assert desk.node(NODE).life is life
    desk.look(NODE, Compute.ABSENT, repeated=True, late_s=desk.now_s - began_s - MISSING_S + 1)
    assert desk.node(NODE).life is life
    desk.look(NODE, Compute.RUNNING if begun is grown else Compute.DRAINING, repeated=True, late_s=30)
    desk.wait(100)
    assert desk.node(NODE).life is life
    assert Key.DOUBT.of(NODE) not in desk.state.pending


@pytest.mark.parametrize("begun", [grown, draining])
def test_one_that_is_still_missing_when_the_time_is_over_is_given_up_as_soon_as_that_is_told(
    begun: Callable[[Role], Desk],
) -> None:
    desk = begun(Role.TRANSIENT)
    life = desk.node(NODE).life
    desk.look(NODE, Compute.ABSENT, repeated=True)
    desk.wait(MISSING_S)
    assert desk.node(NODE).life is life
    desk.wait(1)
    desk.look(NODE, Compute.ABSENT, repeated=True)
    assert desk.node(NODE).life in (NodeLife.LOST, NodeLife.CLEANING)
    assert wipes(desk)


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
    desk = grown()
    desk.look(NODE, Compute.ABSENT, Stored.IN_SERVICE)
    desk.wait(MISSING_S - 2)
    desk.drain(NODE)
    desk.now_s += 0.5
    desk.look(NODE, Compute.RUNNING, Stored.IN_SERVICE)
    desk.wait(3)
    assert desk.said("told-again") == []
    assert desk.node(NODE).life is NodeLife.DRAINING


def test_a_node_that_says_that_its_daemons_have_ended_is_lost_at_once() -> None:
    """The masters go on to count it until they miss enough heartbeats; then it is back when they run."""
    desk = grown()
    desk.look(NODE, Compute.RUNNING, Stored.IN_SERVICE, gone=("datanode", "nodemanager"))
    state = desk.node(NODE)
    assert (state.life, state.alert) == (NodeLife.LOST, "its DataNode and its NodeManager are not running")
    assert [effect.node for effect in desk.latest(Host)] == [NODE]
    desk.now_s += 1
    desk.look(NODE, Compute.RUNNING, Stored.IN_SERVICE, gone=("nodemanager",))
    assert desk.node(NODE).life is NodeLife.LOST
    desk.now_s += 1
    desk.look(NODE, Compute.RUNNING, Stored.IN_SERVICE)
    assert desk.node(NODE).life is NodeLife.SERVING


def test_a_node_that_restarts_again_and_again_fills_no_ledger() -> None:
    """Every ten seconds for ten minutes: less than a sixth of 2 MB."""
    desk = grown()
    first = len(list(desk.store.entries()))
    for _ in range(60):
        desk.look(NODE, Compute.RUNNING, Stored.IN_SERVICE, gone=("datanode", "nodemanager"))
        assert desk.node(NODE).life is NodeLife.LOST
        desk.wait(5)
        desk.see(NODE, Condition.SERVING)
        desk.look(NODE, Compute.RUNNING, Stored.IN_SERVICE)
        assert desk.node(NODE).life is NodeLife.SERVING
        desk.settle("a")
        desk.wait(5)
    stored = sum(len(text_of(entry)) for entry in list(desk.store.entries())[first:])
    assert stored < 2_000_000 / 6


@pytest.mark.parametrize(
    "seen",
    [
        (Compute.DRAINING, Stored.IN_SERVICE),
        (Compute.IDLE, Stored.IN_SERVICE),
        (Compute.RUNNING, Stored.LEAVING),
        (Compute.RUNNING, Stored.LEFT),
    ],
)
def test_masters_that_take_a_serving_node_for_one_that_leaves_are_told_again(seen: tuple[Compute, Stored]) -> None:
    desk = grown()
    desk.look(NODE, *seen)
    assert "told-again" not in desk.wait(DOUBT_S - 1)
    assert "told-again" in desk.wait(1)
    assert desk.node(NODE).life is NodeLife.SERVING


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
    assert [(e.node, e.role) for e in desk.effects(Host)][-1] == ("node01", Role.CORE)
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


def test_nobody_is_doubted_while_the_masters_are_silent() -> None:
    """The last word of a master arrives after it was found that the masters do not answer."""
    desk = grown(silent_us=1000 * SECOND_US)
    desk.masters("a", "connection refused")
    desk.look(NODE, Compute.ABSENT, Stored.IN_SERVICE)
    desk.wait(10 * MISSING_S)
    assert desk.node(NODE).life is NodeLife.SERVING


@pytest.mark.parametrize("seen", ["before", "meanwhile"])
def test_a_node_that_was_missing_before_a_silence_is_doubted_anew_after_it(seen: str) -> None:
    """Nothing has changed about it, so that nothing is told of it again."""
    desk = grown()
    if seen == "before":
        desk.look(NODE, Compute.ABSENT, Stored.IN_SERVICE)
        desk.now_s += MISSING_S - 1
    desk.masters("a", "connection refused")
    if seen == "meanwhile":
        desk.look(NODE, Compute.ABSENT, Stored.IN_SERVICE)
    desk.wait(SILENT_S - 1)
    desk.masters("a")
    desk.wait(MISSING_S - 1)
    assert set(desk.lives("a").values()) == {"serving"}
    desk.wait(1)
    assert desk.node(NODE).life is NodeLife.LOST


def test_a_drain_that_was_forgotten_in_a_silence_is_told_again_after_it() -> None:
    desk = draining()
    desk.look(NODE, Compute.RUNNING, Stored.IN_SERVICE)
    desk.masters("a", "connection refused")
    desk.now_s += 5
    desk.masters("a")
    assert "told-again" in desk.wait(DOUBT_S)


def test_masters_of_an_mr_cluster_that_retires_are_nobody_s_concern() -> None:
    desk = grown()
    desk.release(A, discard=True, force=True)
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


@pytest.mark.parametrize(
    ("role", "life"), [(Role.TRANSIENT, NodeLife.CLEANING), (Role.TRANSIENT_CORE, NodeLife.EVACUATING)]
)
def test_a_node_on_which_nothing_is_left_does_not_wait_for_its_time(role: Role, life: NodeLife) -> None:
    desk = draining(role)
    desk.now_s += 1
    desk.look(NODE, Compute.DRAINING, Stored.IN_SERVICE)
    assert desk.node(NODE).life is NodeLife.DRAINING
    desk.look(NODE, Compute.IDLE, Stored.IN_SERVICE, why=NOT_KNOWN)
    assert desk.node(NODE).life is life


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


@pytest.mark.slow
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


def test_a_report_without_its_own_blocks_does_not_say_what_was_missing_before() -> None:
    """The NameNode has begun anew, and the node has not listed its blocks yet; then it dies."""
    desk = draining()
    desk.now_s += 1
    lost: dict[str, Any] = {"missing": ("/x",), "missing_files": 1}
    desk.look(NODE, Compute.DRAINING, Stored.LEAVING, has_own=False, **lost)
    assert desk.node(NODE).missing_before is None
    desk.now_s += 1
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, why=NOT_KNOWN)
    desk.now_s += 1

    def dies() -> None:
        desk.look(NODE, Compute.LOST, Stored.DEAD, **lost)
        desk.wait(MISSING_S)

    never_wiped(desk, dies)
    assert "not known whether they were missing before" in desk.node(NODE).alert


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
    assert desk.node(NODE).alert == "of its 9 blocks 3 have too few replicas on other nodes, 2 have none in service"
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
    assert desk.node(NODE).alert == "this drain cannot end: the replication is 1, but only 0 DataNodes stay"
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, **figures)
    assert desk.node(NODE).alert.startswith("this drain cannot end")
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, **{**figures, "staying": 2})
    assert desk.node(NODE).alert.startswith("of its 9 blocks")
