"""Holds and moves by hand: what balancing leaves alone, what an operator may move, and what is foreseen."""

from __future__ import annotations

from typing import Any

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.clusters.picture import picture, restored
from fawkes.core.deciding.pool import foresee
from fawkes.core.state.state import State
from fawkes.core.values.events import Condition, GrowAsked, HoldAsked, ShrinkAsked, UnholdAsked
from fawkes.core.values.model import ClusterId, NodeId, NodeLife
from fawkes.policy import compile_policy
from fawkes.report.words.sentences import sentence
from tests.support.desk import Desk
from tests.support.pools import policy, settings, started

A, B = ClusterId("a"), ClusterId("b")


def hold(desk: Desk, subject: str, for_s: float = 0) -> None:
    until_us = desk.now_us + round(for_s * SECOND_US) if for_s else 0
    desk.tell(HoldAsked(at_us=desk.now_us, subject=subject, reason="a visit", until_us=until_us, by="ann", ask="h"))


def unhold(desk: Desk, subject: str) -> str:
    desk.tell(UnholdAsked(at_us=desk.now_us, subject=subject, by="ann", ask="u"))
    return desk.refusal()


def grow(desk: Desk, cluster: str, count: int = 1, node: str = "", for_s: float = 0) -> str:
    return _by_hand(desk, GrowAsked, cluster, count, node, for_s)


def shrink(desk: Desk, cluster: str, count: int = 1, node: str = "", for_s: float = 0) -> str:
    return _by_hand(desk, ShrinkAsked, cluster, count, node, for_s)


def _by_hand(desk: Desk, kind: Any, cluster: str, count: int, node: str, for_s: float) -> str:
    until_us = desk.now_us + round(for_s * SECOND_US) if for_s else 0
    name = NodeId(node) if node else None
    desk.tell(kind(at_us=desk.now_us, cluster=ClusterId(cluster), count=count, node=name, until_us=until_us, ask="m"))
    return desk.refusal()


def reply(desk: Desk) -> Any:
    return desk.reply().facts


def test_a_held_cluster_neither_gets_nor_gives_nodes_and_the_others_are_balanced() -> None:
    desk = Desk.running("a", "b")
    desk.balance(a=30, b=10)
    assert desk.sizes() == {"a": 8, "b": 2}
    hold(desk, "a")
    facts: Any = desk.tick(a=1, b=1000)
    assert desk.sizes() == {"a": 8, "b": 2}
    assert (facts["clusters"]["a"]["kept"], facts["clusters"]["a"]["target"]) == ("a visit", None)
    assert unhold(desk, "a") == ""
    # Nothing moves by a target of before the hold; the next tick decides.
    assert desk.sizes() == {"a": 8, "b": 2}
    desk.tick(a=1, b=1000)
    desk.clean_all()
    assert desk.sizes() == {"a": 2, "b": 8}


def test_a_held_cluster_does_not_grow_by_the_target_that_it_had() -> None:
    desk = Desk.running("a", "b")
    desk.tick(a=30, b=10)
    hold(desk, "a")
    for node in sorted(desk.state.nodes_of(A)):
        if desk.node(node).life is NodeLife.JOINING:
            desk.see(node, Condition.FAILED, "no java")
            desk.see(node, Condition.FAILED, "no java")
            break
    before = desk.sizes()["a"]
    desk.clean_all()
    desk.wait(5)
    assert desk.sizes()["a"] == before
    assert A not in desk.state.last_tick.targets


def test_a_held_cluster_gives_nothing_to_an_admission_and_is_not_retired() -> None:
    desk = Desk.running("a", count=6, idle_us=40 * SECOND_US)
    desk.balance(a=30)
    assert desk.sizes() == {"a": 6}
    hold(desk, "a")
    desk.request("b", 2)
    assert desk.sizes()["a"] == 6
    assert desk.state.clusters[B].alert == "waits for 2 more nodes"
    idle = {"jobs_waiting": 0, "jobs_running": 0, "tasks_waiting": 0, "tasks_running": 0, "jobs_foreign": 0}
    for _ in range(4):
        desk.sample(a=idle)
        desk.wait(20)
    assert desk.state.clusters[A].life == "running"
    unhold(desk, "a")
    assert desk.sizes()["a"] == 4


def test_a_held_node_stays_where_it_is() -> None:
    desk = Desk.running("a", "b")
    desk.balance(a=30, b=10)
    mine = [n for n in sorted(desk.state.nodes_of(A)) if desk.node(n).role == "transient"]
    for node in mine[:4]:
        hold(desk, node)
    facts: Any = desk.tick(a=10, b=30)
    # Two core nodes and the four that are held: two of eight may go.
    assert facts["clusters"]["a"]["target"] == 6
    desk.clean_all()
    assert desk.sizes() == {"a": 6, "b": 4}
    assert set(mine[:4]) <= set(desk.state.nodes_of(A))


def test_a_held_node_that_leaves_goes_on_leaving() -> None:
    desk = Desk.running("a", "b")
    grow(desk, "a", 3)
    desk.settle_all()
    shrink(desk, "a", node="node07")
    hold(desk, "node07")
    assert grow(desk, "a", node="node07") == "node-held"
    desk.tick(a=1000, b=1)
    assert desk.node("node07").life is NodeLife.DRAINING
    desk.clean_all()
    assert desk.node("node07").life is NodeLife.FREE


def test_a_held_free_node_is_given_to_nobody() -> None:
    desk = Desk.running("a", "b", count=5)
    hold(desk, "node05")
    facts: Any = desk.tick(a=30, b=10)
    assert sum(row["target"] for row in facts["clusters"].values()) == 4
    assert desk.node("node05").life is NodeLife.FREE
    desk.request("c", 1)
    assert desk.node("node05").life is NodeLife.FREE
    unhold(desk, "node05")
    assert desk.node("node05").owner == "c"


def test_a_drain_and_a_loss_go_on_in_spite_of_a_hold() -> None:
    desk = Desk.running("a", "b")
    hold(desk, "a")
    core = next(n for n in sorted(desk.state.nodes_of(A)) if n != desk.state.clusters[A].master)
    desk.drain(core)
    assert "takes-over" in desk.codes()


@pytest.mark.parametrize("restart", [False, True])
def test_a_hold_ends_by_itself_also_through_a_restart(restart: bool) -> None:
    desk = Desk.running("a", "b")
    hold(desk, "a", for_s=50)
    hold(desk, "node09", for_s=50)
    if restart:
        state = restored(picture(desk.state))
        assert state.clusters[A].hold == desk.state.clusters[A].hold
        desk = Desk(how=settings(), state=state)
    assert "hold-ended" not in desk.wait(49)
    assert "hold-ended" in desk.wait(2)
    assert desk.state.clusters[A].hold is None
    assert desk.node("node09").hold is None


def test_a_hold_that_was_over_while_no_controller_ran_is_over_at_the_start() -> None:
    desk = Desk.running("a", "b", away_us=10 * SECOND_US)
    hold(desk, "a", for_s=50)
    desk.now_s += 100
    desk.tell(started(at_s=desk.now_s, how=settings(away_us=10 * SECOND_US)))
    assert "hold-ended" in desk.codes()


def test_a_hold_is_refused_where_it_means_nothing() -> None:
    desk = Desk.running("a", "b")
    hold(desk, "nobody")
    assert desk.refusal() == "no-such-subject"
    assert unhold(desk, "a") == "not-held"
    desk.wait(1)
    desk.tell(HoldAsked(at_us=desk.now_us, subject="a", reason="r", until_us=1, ask="h"))
    assert desk.refusal() == "hold-over"


def test_a_grow_by_hand_joins_nodes_and_holds_the_cluster() -> None:
    desk = Desk.running("a", "b")
    assert grow(desk, "a", 3, for_s=100) == ""
    assert reply(desk) == {"cluster": "a", "nodes": ["node05", "node06", "node07"], "until_us": desk.now_us + 10**8}
    assert {n: r for n in ("node05", "node07") if (r := desk.node(n).owner)} == {"node05": "a", "node07": "a"}
    assert all("as an operator asked" in sentence(r) for r in desk.last.reasons if r.code == "grow")
    desk.settle_all()
    desk.tick(a=1, b=1000)
    assert desk.sizes()["a"] == 5


def test_without_a_hold_balancing_may_undo_it() -> None:
    desk = Desk.running("a", "b")
    grow(desk, "a", 3)
    desk.settle_all()
    desk.tick(a=1, b=1000)
    assert desk.sizes()["a"] == 2


def test_a_grow_names_a_node_or_takes_back_what_leaves() -> None:
    desk = Desk.running("a", "b")
    assert grow(desk, "a", node="node10") == ""
    assert desk.node("node10").owner == "a"
    desk.settle("a")
    shrink(desk, "a", node="node10")
    assert desk.node("node10").life is NodeLife.DRAINING
    assert grow(desk, "a", 1) == ""
    assert desk.node("node10").life is NodeLife.JOINING


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("x", 1, ""), "no-such-cluster"),
        (("a", 1, "nobody"), "no-such-node"),
        (("a", 7, ""), "too-few-free"),
        (("a", 1, "node03"), "not-to-be-had"),
        (("b", 4, ""), "above-maximum"),
        (("a", 1, "node09"), "node-held"),
    ],
)
def test_a_grow_that_cannot_be_moves_nothing(words: tuple[str, int, str], code: str) -> None:
    desk = Desk.running("a")
    desk.up("b", max_nodes=5)
    hold(desk, "node09")
    before = desk.sizes()
    assert grow(desk, *words) == code
    assert desk.sizes() == before


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("a", 5, ""), "below-minimum"),
        (("a", 3, ""), "too-few-to-give"),
        (("a", 1, "node01"), "is-core-node"),
        (("a", 1, "node03"), "not-its-own"),
        (("a", 1, "node05"), "node-held"),
        (("c", 1, ""), "not-active"),
    ],
)
def test_a_shrink_that_cannot_be_moves_nothing(words: tuple[str, int, str], code: str) -> None:
    desk = Desk.running("a", "b")
    grow(desk, "a", 4)
    desk.settle("a")
    desk.request("c", 2)
    for node in ("node05", "node06"):
        hold(desk, node)
    before = desk.sizes()
    assert shrink(desk, *words) == code
    assert desk.sizes() == before


def test_nodes_that_leave_by_hand_leave_as_all_do_and_count_in_the_budget() -> None:
    desk = Desk.running("a", "b", max_moves_fraction=0.5, max_moves_window_us=10**9)
    grow(desk, "a", 3)
    desk.settle_all()
    assert shrink(desk, "a", 2, for_s=100) == ""
    assert len(desk.state.last_tick.moved_us) == 2
    gone = reply(desk)["nodes"]
    assert all(desk.node(n).life is NodeLife.DRAINING for n in gone)
    desk.clean_all()
    assert all(desk.node(n).life is NodeLife.FREE for n in gone)
    assert desk.sizes()["a"] == 3


def test_no_move_by_hand_while_too_many_nodes_are_lost() -> None:
    desk = Desk.running("a", count=12, halt_lost_fraction=0.1)
    desk.balance(a=10)
    for node in [n for n in sorted(desk.state.nodes_of(A)) if desk.node(n).role == "transient"][:4]:
        desk.see(node, Condition.LOST)
    assert grow(desk, "a") == "halted"


def plan(desk: Desk) -> Any:
    return foresee(desk.state, compile_policy(policy(), settings()))


def test_the_next_tick_is_foreseen_as_it_comes() -> None:
    desk = Desk.running("a", "b")
    desk.now_s = desk.state.pending["tick"].deadline_us / SECOND_US - 1
    desk.sample(a={"tasks_waiting": 30, "jobs_running": 1}, b={"tasks_waiting": 10, "jobs_running": 1})
    entries, nodes = len(list(desk.store.entries())), dict(desk.state.nodes)
    foreseen = plan(desk)
    assert (len(list(desk.store.entries())), desk.state.nodes) == (entries, nodes)
    desk.wake()
    assert foreseen.due_us == desk.now_us
    assert foreseen.decision.reasons == desk.last.reasons
    assert [r.code for r in foreseen.decision.reasons].count("grow") == 6


def test_readings_of_the_whole_period_count_for_a_tick_that_is_far_away() -> None:
    desk = Desk.running("a", "b")
    desk.balance(a=20, b=20)
    desk.now_s += 2
    reasons = plan(desk).decision.reasons
    (tick,) = (r.facts for r in reasons if r.code == "tick")
    assert tick["clusters"]["a"]["y"] == 20.0


def test_a_plan_before_the_first_start_is_refused() -> None:
    with pytest.raises(ValueError, match="Started"):
        foresee(State(), compile_policy(policy(), settings()))
