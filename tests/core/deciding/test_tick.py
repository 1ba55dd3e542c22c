"""Ticks: each verdict, damping, budgets, targets, reconfigurations, and what the facts of a tick say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.events import Condition
from fawkes.core.values.model import ClusterId, Node, NodeId, NodeLife, Role
from fawkes.core.values.settings import Discrimination
from tests.support.desk import Desk
from tests.support.pools import nodes, policy, settings

A, B = ClusterId("a"), ClusterId("b")


def rows(facts: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    return facts["clusters"]  # type: ignore[no-any-return]


def test_a_tick_tells_all_its_figures() -> None:
    desk = Desk.running("a", "b", tau=10 / 9)
    facts: Mapping[str, Any] = desk.tick(a=30, b=10)
    assert (facts["tick"], facts["verdict"], facts["policy"], facts["usable"]) == (1, "unbalanced", "TD", 10)
    assert rows(facts)["a"] == {
        "y": 30.0,
        "weight": 0.75,
        "share": pytest.approx(0.2),
        "discrimination": pytest.approx((0.2 - 0.75) * 20),
        "held": 2,
        "target": 8,
        "min": 2,
        "pinned": False,
        "unreadable": False,
    }
    assert facts["raw"] == pytest.approx(((0.2 - 0.75) ** 2 + (0.2 - 0.25) ** 2) * 400 / 2)
    assert facts["share_error_allowed"] == pytest.approx(0.0527, abs=1e-3)
    assert facts["share_error"] == pytest.approx((facts["raw"] ** 0.5) / 20)
    assert desk.sizes() == {"a": 8, "b": 2}
    assert desk.state.last_tick.weights == {A: 0.75, B: 0.25}
    assert desk.state.last_tick.reconfigurations == 1


def test_shares_are_the_means_since_the_tick_before() -> None:
    desk = Desk.running("a", "b")
    desk.balance(a=500, b=500)
    assert desk.sizes() == {"a": 5, "b": 5}
    facts = desk.tick(a=500, b=500)
    assert (rows(facts)["a"]["share"], rows(facts)["b"]["share"]) == (0.5, 0.5)
    owner = desk.node("node10").owner
    desk.now_s += 5
    desk.see("node10", Condition.LOST, "off")
    desk.now_s += 5
    desk.see("node10", Condition.CLEAN)
    assert desk.node("node10").owner == owner
    facts = desk.tick(a=500, b=500)
    # 5 nodes of 10, but 4 for a quarter of the period.
    assert rows(facts)[str(owner)]["share"] == pytest.approx(0.475)


def test_shares_count_capacity_and_not_nodes() -> None:
    pool = (
        *nodes(4),
        *(Node(id=NodeId(f"half{i}"), site="delft", capacity_milli=500, may_core=False) for i in range(4)),
    )
    desk = Desk(pool=pool)
    desk.up("a")
    desk.up("b")
    facts = desk.tick(a=1, b=1)
    assert rows(facts)["a"]["share"] == pytest.approx(2 / 6)
    desk.settle_all()
    facts = desk.tick(a=1, b=1)
    assert rows(facts)["a"]["share"] == pytest.approx(0.5)


@pytest.mark.parametrize("measure", list(Discrimination))
def test_below_the_threshold_nothing_moves(measure: Discrimination) -> None:
    desk = Desk.running("a", "b", discrimination=measure, tau=400.0)
    assert desk.tick(a=11, b=9)["verdict"] == "balanced"
    assert desk.sizes() == {"a": 2, "b": 2}


def test_no_demand_at_all_keeps_the_shares() -> None:
    desk = Desk.running("a", "b")
    desk.balance(a=900, b=100)
    before = desk.sizes()
    for _ in range(2):
        assert desk.tick(a=0, b=0)["verdict"] == "no-weights"
        assert desk.sizes() == before
    assert desk.state.last_tick.weights == {}


def test_the_static_baseline_keeps_everybody_at_his_minimum_for_ever() -> None:
    desk = Desk(10, policy=policy("none"))
    desk.up("a")
    desk.up("b")
    for _ in range(3):
        assert desk.tick(a=900, b=1)["verdict"] == "as-balanced-as-possible"
        assert desk.sizes() == {"a": 2, "b": 2}
    assert desk.state.counts.free == 6


@pytest.mark.parametrize("damped", [False, True], ids=["paper", "with a threshold and confirmations"])
def test_a_change_to_the_static_baseline_gives_back_what_is_above_the_minimums(damped: bool) -> None:
    how = settings(confirmations=2, tau=10**9, discrimination=Discrimination.REDUCIBLE) if damped else settings()
    grown = Desk.running("a")
    grown.balance(a=10)
    assert grown.sizes() == {"a": 10}
    desk = Desk(10, policy=policy("none"), how=how, state=grown.state)
    desk.done("membership:a")
    for _ in range(1 + damped):
        desk.tick(a=900)
    assert desk.sizes() == {"a": 2}


def test_the_equal_baseline_divides_by_the_number_of_mr_clusters() -> None:
    desk = Desk(10, policy=policy("eq"))
    desk.up("a", 1)
    desk.up("b", 1)
    desk.up("c", 1)
    desk.tick(a=1000, b=0, c=0)
    assert desk.sizes() == {"a": 4, "b": 3, "c": 3}


def test_moves_need_as_many_confirmations_as_are_asked_for() -> None:
    desk = Desk.running("a", "b", confirmations=3)
    assert [desk.tick(a=30, b=10)["verdict"] for _ in range(3)] == ["confirming", "confirming", "unbalanced"]
    desk.settle_all()
    assert desk.tick(a=30, b=10)["verdict"] in ("balanced", "as-balanced-as-possible")


def test_a_peak_that_goes_away_is_not_confirmed() -> None:
    desk = Desk.running("a", "b", confirmations=2, tau=400.0 / 9)
    verdicts = [desk.tick(a=tasks, b=10)["verdict"] for tasks in (60, 10, 60, 10)]
    assert verdicts == ["confirming", "balanced", "confirming", "balanced"]


def test_moves_settle_before_the_next_ones_begin() -> None:
    desk = Desk.running("a", "b", settle_after_grow_us=30 * SECOND_US, settle_after_shrink_us=50 * SECOND_US)
    desk.tick(a=30, b=10)
    assert desk.tick(a=10, b=30)["verdict"] == "settling"  # still joining
    desk.settle_all()
    joined_s = desk.now_s
    while desk.tick(a=10, b=30)["verdict"] == "settling":
        pass
    assert 30 <= desk.now_s - joined_s < 60
    desk.clean_all()
    desk.settle_all()
    left_s = desk.now_s
    while desk.tick(a=30, b=10)["verdict"] == "settling":
        pass
    assert 50 <= desk.now_s - left_s < 80


def test_a_budget_bounds_what_begins_to_leave_within_its_window() -> None:
    desk = Desk.running("a", "b", count=20, max_moves_fraction=0.25, max_moves_window_us=50 * SECOND_US)
    desk.balance(a=1000, b=1)
    assert desk.sizes() == {"a": 18, "b": 2}
    given = []
    for _ in range(6):
        before = desk.sizes()["a"]
        desk.tick(a=1, b=1000)
        given.append(before - desk.sizes()["a"])
        desk.clean_all()
        desk.settle_all()
    # A quarter of the 16 movable nodes within 50 s: in the ticks at 0, 20 and 40 s four together.
    assert given == [4, 0, 0, 4, 0, 0]
    assert desk.said("budget") == [{"cluster": "a", "wanted": 8, "granted": 0}]


def test_a_budget_is_spent_by_what_leaves_and_not_by_what_should() -> None:
    desk = Desk.running(
        "a", "b", count=20, growth=Role.TRANSIENT_CORE, max_moves_fraction=0.5, max_moves_window_us=10**12
    )
    desk.balance(a=1000, b=1)
    for number in range(5, 14):
        desk.see(f"node{number:02d}", Condition.LOST, "it has data, and has to come back")
    desk.tick(a=1, b=1000)
    # Half of the 16 movable nodes may leave, and 7 of them can.
    assert len(desk.said("shrink")) == 7
    assert len(desk.state.last_tick.moved_us) == 7


def test_a_small_budget_is_at_least_one_node() -> None:
    desk = Desk.running("a", "b", count=8, max_moves_fraction=0.01, max_moves_window_us=10 * SECOND_US)
    desk.balance(a=1000, b=1)
    desk.tick(a=1, b=1000)
    assert desk.sizes()["a"] == 5


def test_what_is_leaving_comes_back_before_anybody_else_shrinks() -> None:
    desk = Desk.running("a", "b", transient_leave_us=3600 * SECOND_US)
    desk.balance(a=1000, b=1)
    desk.tick(a=1, b=1000)
    left = {n for n, s in desk.state.nodes.items() if s.life is NodeLife.DRAINING}
    assert len(left) == 6
    desk.tick(a=1000, b=1)
    assert {str(facts["node"]) for facts in desk.said("undrain")} == left
    assert not desk.said("shrink")
    assert desk.sizes() == {"a": 8, "b": 2}


def test_moves_in_flight_are_not_ordered_twice() -> None:
    desk = Desk.running("a", "b", transient_leave_us=3600 * SECOND_US)
    desk.balance(a=1000, b=1)
    desk.tick(a=500, b=500)
    assert len(desk.said("shrink")) == 3
    for _ in range(3):
        facts = desk.tick(a=500, b=500)
        assert not desk.said("shrink")
        assert facts["verdict"] == "as-balanced-as-possible"
        # The discrimination is that of the nodes that are physically held.
        assert facts["raw"] > settings().tau  # type: ignore[operator]
        assert facts["reducible"] == 0
    assert desk.state.last_tick.reconfigurations == 2


def test_a_pause_is_a_verdict() -> None:
    desk = Desk.running("a", "b")
    desk.pause()
    facts = desk.tick(a=30, b=10)
    assert (facts["verdict"], facts["paused"]) == ("paused", "maintenance")
    assert desk.sizes() == {"a": 2, "b": 2}


def test_too_many_lost_nodes_stop_all_voluntary_moves() -> None:
    desk = Desk.running("a", "b")
    desk.balance(a=100, b=100)
    for number in (5, 6, 7, 8, 9):
        desk.see(f"node{number:02d}", Condition.LOST, "no answer")
    assert desk.tick(a=1000, b=1)["verdict"] == "halted"


def test_maximums_are_bounds() -> None:
    desk = Desk(10)
    desk.up("a", 2, max_nodes=4)
    desk.up("b", 2)
    desk.tick(a=1000, b=1)
    assert desk.sizes() == {"a": 4, "b": 6}


@pytest.mark.parametrize("own", [None, Role.TRANSIENT_CORE])
def test_growth_is_of_the_kind_that_the_mr_cluster_or_the_site_says(own: Role | None) -> None:
    desk = Desk(6)
    desk.up("a", growth=own)
    desk.tick(a=10)
    assert {facts["role"] for facts in desk.said("grow")} == {own or Role.TRANSIENT}


def test_nodes_on_their_way_out_of_service_are_not_divided() -> None:
    desk = Desk.running("a", "b", transient_leave_us=3600 * SECOND_US)
    desk.balance(a=500, b=500)
    for name in ("node05", "node06"):
        desk.drain(name)
    facts = desk.tick(a=500, b=500)
    assert sum(row["target"] for row in rows(facts).values()) == 8


def test_the_one_that_lacks_most_gets_the_first_free_node() -> None:
    desk = Desk(10)
    for name in "abc":
        desk.up(name, 1)
    desk.tick(a=10, b=20, c=70)
    # Targets 1, 2 and 7: c lacks 6/7, 5/7, 4/7, then b its half, then c 3/7.
    order = [facts["cluster"] for facts in desk.said("grow")]
    assert order == ["c", "c", "c", "b", "c", "c", "c"]
    assert desk.sizes() == {"a": 1, "b": 2, "c": 7}


def test_a_free_node_serves_the_targets_of_the_last_tick() -> None:
    desk = Desk.running("a", "b")
    desk.balance(a=30, b=10)
    desk.see("node10", Condition.LOST, "off")
    assert desk.sizes() == {"a": 7, "b": 2}
    desk.see("node10", Condition.CLEAN)
    assert desk.sizes() == {"a": 8, "b": 2}


def test_those_of_which_nothing_is_known_keep_what_they_hold() -> None:
    desk = Desk(12)
    for name in "abc":
        desk.up(name)
    desk.balance(a=100, b=100, c=100)
    desk.tick(a=100, b=0)
    desk.clean_all()
    assert desk.sizes() == {"a": 6, "b": 2, "c": 4}
