"""What it means how masters see a node: facts in, judgement out. Who is lost, drained, safe, held, back."""

from __future__ import annotations

import pytest

from fawkes.core.effects import Goal, Host
from fawkes.core.events import Condition, Done, ReleaseAsked
from fawkes.core.keys import Key
from fawkes.core.model import NodeId, NodeLife, Role
from fawkes.core.sight import Compute, Sight, Stored
from tests.support.desk import Desk, grown
from tests.support.leaving import DOUBT_S, MISSING_S, NODE, SILENT_S, A, cleaning, draining, joining, tell_sight, wipes

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


# A lost node that is back, and nodes of which masters have nothing to say.


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
