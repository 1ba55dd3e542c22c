"""An engine starts, again, with another inventory, after a crash: everything under way is said once more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fawkes.base.errors import BrokenError
from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import Deploy, Host, Load, Membership, StartJob, WakeAt
from fawkes.core.values.events import Condition, Started, Woke
from fawkes.core.values.model import ClusterId, ClusterLife, NodeLife
from fawkes.engine import Engine, rebuild
from fawkes.engine.ports import Entry
from fawkes.policy import compile_policy
from fawkes.store.memory import MemoryStore
from tests.support.desk import Desk, Silence
from tests.support.pools import nodes, settings, started


def again(desk: Desk, after_s: float = 0, count: int = 10, **changes: object) -> Desk:
    """The next engine on the same ledger."""
    state = rebuild(desk.store.entries())
    state.now_us += int(after_s * SECOND_US)
    return Desk(count, how=settings(**changes), state=state)


def test_nothing_is_decided_before_the_first_start() -> None:
    engine = Engine(Silence(), MemoryStore(), compile_policy)
    with pytest.raises(BrokenError, match="Woke before the engine was started"):
        engine.step(Woke(at_us=1))


def test_what_is_under_way_is_started_again() -> None:
    desk = Desk.running("a")
    desk.request("b")
    desk.tick(a=100)
    desk.submit("a", 1)
    before = dict(desk.state.pending)
    new = again(desk)
    kinds = {type(effect) for effect in new.world.effects}
    assert {Deploy, Host, Membership, StartJob, WakeAt} <= kinds
    keys = [effect.key for effect in new.world.effects]
    assert len(keys) == len(set(keys)), "each goal once"
    assert set(before) == set(new.state.pending)


def test_loads_are_started_again_with_their_version() -> None:
    desk = Desk(10)
    desk.request("a")
    desk.done("cluster:a")
    new = again(desk)
    (load,) = new.effects(Load)
    assert load.version == desk.state.pending["cluster:a"].version
    new.done("cluster:a")
    assert new.state.clusters[ClusterId("a")].life is ClusterLife.RUNNING


def test_the_timer_is_set_again_though_the_ledger_says_that_it_is_set() -> None:
    desk = Desk(10, how=settings(membership_us=5 * SECOND_US))
    desk.request("a")
    desk.done("cluster:a")
    wake_us = desk.state.wake_us
    assert wake_us == desk.state.pending["membership:a"].deadline_us
    # The membership is told anew within the same five seconds: the next deadline is what it was.
    new = again(desk, membership_us=5 * SECOND_US)
    assert new.state.wake_us == wake_us
    assert [effect.at_us for effect in new.effects(WakeAt)] == [wake_us]


def test_a_timer_that_went_off_early_is_set_again() -> None:
    desk = Desk(10)
    wake_us = desk.state.wake_us
    desk.now_s = 1
    desk.tell(Woke(at_us=desk.now_us))
    assert [effect.at_us for effect in desk.latest(WakeAt)] == [wake_us]


def test_deadlines_that_passed_meanwhile_get_a_little_time() -> None:
    desk = Desk(10)
    desk.request("a")
    desk.submit("a", 1)
    new = again(desk, after_s=10_000)
    assert all(pending.deadline_us > new.state.now_us for pending in new.state.pending.values())
    new.done("cluster:a")
    assert new.state.clusters[ClusterId("a")].life is ClusterLife.LOADING


def test_a_later_clock_of_the_ledger_is_not_turned_back() -> None:
    desk = Desk(10)
    desk.now_s = 15
    desk.request("a")
    state = rebuild(desk.store.entries())
    engine = Engine(Silence(), MemoryStore(), compile_policy, state)
    engine.step(started(10, at_s=15, epoch=2))
    assert state.now_us == 15 * SECOND_US


def test_nodes_that_are_new_in_the_inventory_serve_at_once() -> None:
    desk = Desk(4)
    desk.up("a", 2)
    desk.request("b", 3)
    new = again(desk, count=6)
    assert new.state.clusters[ClusterId("b")].life is ClusterLife.DEPLOYING


def test_nodes_that_are_no_longer_in_the_inventory_leave_and_come_back_with_it() -> None:
    desk = Desk.running("a", count=6)
    desk.balance(a=10)
    new = again(desk, count=4)
    assert {n: new.node(n).life for n in ("node04", "node05", "node06")} == {
        "node04": NodeLife.SERVING,
        "node05": NodeLife.DRAINING,
        "node06": NodeLife.DRAINING,
    }
    for node in ("node05", "node06"):
        new.see(node, Condition.DRAINED)
        new.see(node, Condition.CLEAN)
        assert new.node(node).life is NodeLife.OUT
    new.undrain("node05")
    assert new.refusal() == "not-in-inventory"
    third = Desk(6, state=new.state)
    assert {third.node(n).life for n in ("node05", "node06")} == {NodeLife.JOINING}
    assert third.state.counts.usable == 6


def test_a_node_that_an_operator_took_out_stays_out_when_the_inventory_names_it_again() -> None:
    desk = Desk(6)
    desk.drain("node06")
    without = again(desk, count=5)
    with_it = Desk(6, state=without.state)
    assert with_it.node("node06").life is NodeLife.OUT
    assert with_it.node("node06").keep_out == "disk"
    with_it.undrain("node06")
    assert with_it.node("node06").life is NodeLife.FREE


def test_a_quarantine_does_not_bring_back_what_the_inventory_does_not_name() -> None:
    desk = Desk.running("a", count=6, quarantine_us=50 * SECOND_US)
    desk.tick(a=10)
    for _ in range(2):
        desk.see("node06", Condition.FAILED, "no Java")
    desk.see("node06", Condition.CLEAN)
    desk.settle("a")
    new = again(desk, count=5)
    for _ in range(10):
        new.wake()
    assert new.node("node06").life is NodeLife.OUT
    third = Desk(6, state=new.state)
    assert third.node("node06").life is NodeLife.JOINING


def test_generations_of_a_start_are_those_of_no_other_ledger() -> None:
    """A ledger that is lost, or what a backup does not know, counted from the time of another start."""
    desk = Desk(6)
    desk.tell(started(6, desk.now_s, first_generation=1700))
    desk.up("a", 2)
    assert {desk.node(node).generation for node in desk.lives("a")} == {1700}
    desk.tell(started(6, desk.now_s, first_generation=1699))
    desk.release("a")
    desk.done("cluster:a")
    for node in ("node01", "node02"):
        desk.see(node, Condition.CLEAN)
    desk.up("b", 6)
    assert [desk.node(node).generation for node in sorted(desk.lives("b"))] == [1701, 1701, *[1699] * 4]


def test_a_free_node_that_somebody_seems_to_hold_goes_to_nobody() -> None:
    desk = Desk(3)
    error = "its lease says that lost holds it"
    desk.see("node03", Condition.FAILED, error, held=True)
    assert "free-held" in desk.codes()
    assert desk.node("node03").alert == error
    desk.request("a", 3)
    assert desk.node("node03").life is NodeLife.FREE, "a waits for it"
    desk.see("node03", Condition.CLEAN)
    assert (desk.node("node03").alert, desk.node("node03").owner) == ("", "a")


def test_core_nodes_leave_with_their_mr_cluster_only() -> None:
    desk = Desk(4)
    desk.up("a", 3)
    new = again(desk, count=2)
    assert new.lives("a") == dict.fromkeys(("node01", "node02", "node03"), "serving")
    assert new.node("node04").life is NodeLife.OUT
    assert new.node("node03").unlisted


def test_facts_of_the_inventory_are_taken_over() -> None:
    desk = Desk(4)
    changed = tuple(replace(node, capacity_milli=500) for node in nodes(4))
    new = Desk(pool=changed, state=rebuild(desk.store.entries()))
    assert new.state.counts.capacity_milli == 2000


def test_a_pause_survives_a_restart() -> None:
    desk = Desk.running("a", count=4)
    desk.pause("x")
    new = again(desk, count=4)
    assert new.state.paused == "x"


def test_the_state_after_the_stored_decisions_is_the_state() -> None:
    desk = Desk.running("a", "b")
    desk.tick(a=100, b=10)
    desk.see("node10", Condition.LOST, "x")
    state = rebuild(desk.store.entries())
    for name in ("nodes", "clusters", "jobs", "pending", "counts", "queue", "promised", "last_tick", "wake_us"):
        assert getattr(state, name) == getattr(desk.state, name), name
    assert isinstance(next(iter(desk.store.entries())), Entry)
    assert isinstance(next(iter(desk.store.entries())).event, Started)
