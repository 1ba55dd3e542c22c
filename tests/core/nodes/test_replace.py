"""A core node that goes out of service while its MR-cluster runs: another takes over first, and nothing is missing."""

from __future__ import annotations

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import Goal, Host
from fawkes.core.values.events import Condition
from fawkes.core.values.model import ClusterId, Node, NodeId, NodeLife, Role
from fawkes.core.values.settings import Settings
from fawkes.core.values.sight import Compute, Stored
from tests.support.desk import Desk, grown
from tests.support.pools import nodes, settings

A = ClusterId("a")
LEAVING = (Condition.DRAINED, Condition.EVACUATED, Condition.CLEAN)


def calm(**changes: object) -> Settings:
    """No tick comes in between."""
    return settings(period_us=10_000 * SECOND_US, **changes)


def running(count: int = 4, minimum: int = 2, **how: object) -> Desk:
    """`a` runs on node01 (the masters) and those that follow."""
    desk = Desk(count, how=calm(**how))
    desk.up("a", minimum)
    return desk


def drain(desk: Desk, *names: str) -> Desk:
    """The same when an operator wants these nodes out of service."""
    for node in names:
        desk.drain(node, reason="new fans")
        assert desk.refusal() == ""
    return desk


def undrain(desk: Desk, node: str) -> None:
    desk.undrain(node)
    assert desk.refusal() == ""


def leave(desk: Desk, node: str) -> None:
    for condition in LEAVING:
        desk.see(node, condition)


def core(desk: Desk) -> dict[str, str]:
    """The lives of the core nodes of `a`."""
    return {n: life for n, life in desk.lives("a").items() if desk.node(n).role is Role.CORE}


def test_another_takes_over_serves_and_only_then_the_node_leaves() -> None:
    desk = drain(running(), "node02")
    assert desk.said("takes-over") == [
        {"node": "node03", "cluster": "a", "role": Role.CORE, "instead_of": ["node02"]},
    ]
    assert [(e.node, e.role) for e in desk.latest(Host)] == [("node03", Role.CORE)]
    assert desk.node("node02").alert == "leaves once 2 other core nodes of a are in service"
    assert core(desk) == {"node01": "serving", "node02": "serving", "node03": "joining"}
    desk.see("node03", Condition.SERVING)
    assert desk.said("core-leaves") == [{"node": "node02", "cluster": "a", "role": Role.CORE, "why": "new fans"}]
    assert desk.node("node02").alert == ""
    for condition, life in zip(LEAVING, ("evacuating", "cleaning", "out"), strict=True):
        desk.see("node02", condition)
        assert desk.node("node02").life.value == life
    assert core(desk) == {"node01": "serving", "node03": "serving"}
    assert desk.state.counts.going_core == 0
    undrain(desk, "node02")
    assert (desk.node("node02").life, core(desk)) == (NodeLife.FREE, {"node01": "serving", "node03": "serving"})


def test_blocks_that_are_not_safe_hold_it() -> None:
    desk = drain(running(), "node02")
    desk.see("node03", Condition.SERVING)
    desk.see("node02", Condition.DRAINED)
    desk.see("node02", Condition.HELD, "one replica only")
    assert (desk.node("node02").life, desk.node("node02").alert) == (NodeLife.EVACUATING, "one replica only")


def test_all_core_nodes_but_that_of_the_masters_go_one_for_one() -> None:
    desk = drain(running(5, minimum=3), "node02", "node03")
    assert core(desk) == {n: "serving" if n < "node04" else "joining" for n in desk.lives("a")}
    desk.see("node05", Condition.SERVING)
    # Four serve, three are the minimum: one of the two may leave.
    assert [n for n, life in core(desk).items() if life == "draining"] == ["node02"]
    desk.see("node04", Condition.SERVING)
    assert [n for n, life in core(desk).items() if life == "draining"] == ["node02", "node03"]


def test_an_undrain_in_time_keeps_it_and_lets_the_other_go() -> None:
    desk = drain(running(), "node02")
    undrain(desk, "node02")
    assert (desk.node("node02").life, desk.node("node02").alert) == (NodeLife.SERVING, "")
    assert desk.said("core-leaves") == [{"node": "node03", "cluster": "a", "role": Role.CORE, "why": ""}]
    leave(desk, "node03")
    assert (core(desk), desk.node("node03").life) == ({"node01": "serving", "node02": "serving"}, NodeLife.FREE)


def test_an_undrain_too_late_brings_it_back_into_the_pool() -> None:
    desk = drain(running(), "node02")
    desk.see("node03", Condition.SERVING)
    undrain(desk, "node02")
    leave(desk, "node02")
    assert (core(desk), desk.node("node02").life) == ({"node01": "serving", "node03": "serving"}, NodeLife.FREE)


def test_a_tick_does_not_take_back_a_core_node_that_leaves() -> None:
    desk = Desk.running("a", count=4, period_us=100 * SECOND_US, growth=Role.TRANSIENT_CORE)
    drain(desk, "node02")
    desk.see("node03", Condition.SERVING)
    undrain(desk, "node02")
    desk.tick(a=10)
    # The grace of its tasks is over by then.
    assert (desk.node("node02").life, desk.node("node04").life) == (NodeLife.EVACUATING, NodeLife.JOINING)


def test_without_a_free_node_its_own_transient_node_becomes_one_first() -> None:
    desk = running(3, growth=Role.TRANSIENT)
    desk.balance(a=10)
    assert desk.node("node03").role is Role.TRANSIENT
    drain(desk, "node02")
    (why,) = desk.said("shrink-to-replace")
    assert (why["node"], why["cluster"], why["receiver"], why["instead_of"]) == ("node03", "a", "a", ["node02"])
    assert (
        desk.node("node02").alert
        == "leaves once a has another core node, but no node that may be a core node is free yet"
    )
    desk.see("node03", Condition.DRAINED)
    desk.see("node03", Condition.CLEAN)
    assert (desk.node("node03").life, desk.node("node03").role) == (NodeLife.JOINING, Role.CORE)
    desk.see("node03", Condition.SERVING)
    leave(desk, "node02")
    assert desk.node("node02").life is NodeLife.OUT


def test_then_another_mr_cluster_gives_one_that_it_has_above_its_minimum() -> None:
    desk = Desk(6, how=calm(growth=Role.TRANSIENT))
    desk.up("a")
    desk.up("b")
    desk.tick(b=10)
    desk.settle("b")
    assert desk.sizes() == {"a": 2, "b": 4}
    drain(desk, "node02")
    (why,) = desk.said("shrink-to-replace")
    assert (why["cluster"], why["receiver"]) == ("b", "a")


def test_where_nobody_can_give_one_it_waits_and_says_so_until_one_is_free() -> None:
    desk = Desk(4, how=calm())
    desk.up("a")
    desk.up("b")
    desk.pause("benchmark")
    drain(desk, "node02")
    (said,) = desk.said("core-waits")
    assert said["alert"] == desk.node("node02").alert
    assert core(desk) == {"node01": "serving", "node02": "serving"}
    desk.sample(a={"tasks_waiting": 0})
    assert desk.codes() == [], "said once, not at each event"
    desk.release("b", discard=True)
    desk.see("node03", Condition.CLEAN)
    assert core(desk)["node03"] == "joining"


@pytest.mark.parametrize("unfit", ["may not be core", "kept out"])
def test_only_a_node_that_may_be_a_core_node_takes_over(unfit: str) -> None:
    pool = [*nodes(2), Node(id=NodeId("node03"), site="delft", may_core=unfit != "may not be core")]
    desk = Desk(pool=tuple(pool), how=calm())
    desk.up("a")
    if unfit == "kept out":
        drain(desk, "node03")
    drain(desk, "node02")
    assert core(desk) == {"node01": "serving", "node02": "serving"}
    assert desk.node("node02").alert.endswith("no node that may be a core node is free yet")


def test_one_that_does_not_come_up_is_kept_out_and_the_next_takes_over() -> None:
    desk = drain(running(5), "node02")
    for _ in range(2):
        desk.see("node03", Condition.FAILED, "no Java")
    assert desk.node("node03").life is NodeLife.DRAINING
    assert core(desk)["node04"] == "joining"
    desk.see("node04", Condition.SERVING)
    assert core(desk)["node02"] == "draining"


def test_a_lost_core_node_is_replaced_and_its_masters_keep_counting_on_its_data() -> None:
    desk = running()
    desk.see("node02", Condition.LOST, "no answer")
    drain(desk, "node02")
    assert core(desk) == {"node01": "serving", "node02": "lost", "node03": "joining"}
    desk.see("node03", Condition.SERVING)
    assert core(desk) == {"node01": "serving", "node02": "lost", "node03": "serving"}
    desk.see("node02", Condition.SERVING)
    assert core(desk)["node02"] == "evacuating"


def test_the_data_of_a_core_node_that_was_lost_while_it_left_is_given_up_at_once() -> None:
    """Another has taken over already."""
    desk = drain(running(), "node02")
    desk.see("node03", Condition.SERVING)
    desk.see("node02", Condition.DRAINED)
    desk.look("node02", Compute.LOST, Stored.DEAD, missing=("/x",), missing_files=1)
    desk.wait(settings().missing_us / SECOND_US)
    assert (desk.node("node02").life, desk.node("node02").leaving) == (NodeLife.LOST, True)
    desk.drain("node02", discard=True)
    assert [(host.node, host.role, host.proof) for host in desk.latest(Host)] == [("node02", None, None)]


def test_a_lost_node_with_data_that_is_to_leave_is_told_so_at_once_and_once() -> None:
    """Its masters take no new blocks to it, and it does not serve again when it is back."""
    desk = grown(Role.TRANSIENT_CORE, count=3)
    desk.see("node03", Condition.LOST)
    desk.drain("node03")
    assert [(host.node, host.role, host.leaving) for host in desk.latest(Host)] == [
        ("node03", Role.TRANSIENT_CORE, True)
    ]
    assert [document.members[NodeId("node03")].goal for document in desk.members()] == [Goal.EVACUATING]
    assert (desk.node("node03").life, desk.node("node03").why.code) == (NodeLife.LOST, "leaves-while-lost")
    desk.drain("node03")
    assert desk.latest(Host) == []


def test_one_that_is_drained_while_its_mr_cluster_comes_up_leaves_once_that_runs() -> None:
    desk = Desk(4, how=calm())
    desk.request("a")
    drain(desk, "node02")
    assert desk.lives("a") == {"node01": "joining", "node02": "joining"}
    desk.done("cluster:a")
    assert desk.lives("a") == {"node01": "serving", "node02": "serving"}
    desk.done("cluster:a")
    assert core(desk)["node03"] == "joining"


def test_one_that_is_no_longer_in_the_inventory_is_replaced_and_the_masters_stay() -> None:
    before = running()
    kept = tuple(node for node in nodes(4) if node.id not in ("node01", "node02"))
    desk = Desk(pool=kept, how=calm(), state=before.state)
    assert core(desk) == {"node01": "serving", "node02": "serving", "node03": "joining"}
    desk.see("node03", Condition.SERVING)
    (why,) = desk.said("core-leaves")
    assert (why["node"], why["why"]) == ("node02", "no longer in the inventory")
    leave(desk, "node02")
    assert core(desk) == {"node01": "serving", "node03": "serving"}


def test_the_reason_of_an_operator_is_said_also_of_one_that_is_no_longer_in_the_inventory() -> None:
    before = drain(running(), "node02")
    desk = Desk(pool=tuple(node for node in nodes(4) if node.id != "node02"), how=calm(), state=before.state)
    desk.see("node03", Condition.SERVING)
    assert [why["why"] for why in desk.said("core-leaves")] == ["new fans"]


def test_the_replacement_comes_before_those_who_wait_for_admission() -> None:
    desk = drain(running(4), "node02", "node04")
    desk.request("b")
    assert core(desk)["node03"] == "joining"
    desk.see("node03", Condition.SERVING)
    leave(desk, "node02")
    assert desk.state.clusters[ClusterId("b")].life.value == "waiting"
