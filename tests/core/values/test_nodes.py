"""The life of a node: joins that fail, losses, drains by operators, quarantine, data that must not be lost."""

from __future__ import annotations

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import Goal, Host
from fawkes.core.values.events import Condition, DrainAsked, UndrainAsked
from fawkes.core.values.lifecycle import CLUSTER_EDGES, JOB_EDGES, NODE_EDGES
from fawkes.core.values.model import ClusterId, ClusterLife, JobLife, Node, NodeId, NodeLife, Role
from fawkes.core.values.settings import Settings
from tests.support.desk import Desk
from tests.support.pools import nodes, settings

A = ClusterId("a")
QUARANTINE_S = 100


def grown(role: Role = Role.TRANSIENT, **changes: object) -> Desk:
    """c-a on 2 core nodes, and 4 more that join it."""
    desk = Desk(6, how=how(growth=role, **changes))
    desk.up("a")
    desk.tick(a=10)
    assert desk.sizes() == {"a": 6}
    return desk


def how(**changes: object) -> Settings:
    return settings(quarantine_us=QUARANTINE_S * SECOND_US, period_us=10_000 * SECOND_US, **changes)


def hosts(desk: Desk) -> list[tuple[str, Role | None]]:
    return [(effect.node, effect.role) for effect in desk.latest(Host)]


def test_every_life_has_its_edges() -> None:
    assert set(NODE_EDGES) == set(NodeLife)
    assert set(CLUSTER_EDGES) == set(ClusterLife)
    assert set(JOB_EDGES) == set(JobLife)


@pytest.mark.parametrize("role", [Role.TRANSIENT, Role.TRANSIENT_CORE])
def test_a_node_that_does_not_come_up_gets_a_second_chance(role: Role) -> None:
    desk = grown(role)
    desk.see("node03", Condition.FAILED, "no Java")
    assert desk.codes() == ["join-failed"]
    assert hosts(desk) == [("node03", role)]
    desk.see("node03", Condition.SERVING)
    assert desk.node("node03").failures == 0


def test_a_transient_node_that_fails_twice_is_wiped_and_kept_out_for_a_while() -> None:
    desk = grown()
    for _ in range(2):
        desk.see("node03", Condition.FAILED, "no Java")
    assert desk.node("node03").life is NodeLife.CLEANING
    desk.see("node03", Condition.CLEAN)
    assert desk.node("node03").life is NodeLife.OUT
    assert desk.state.counts.usable == 5
    began_s = desk.now_s
    while desk.node("node03").life is NodeLife.OUT:
        desk.wake()
    assert desk.now_s == began_s + QUARANTINE_S
    # It is in service again, and joins where it was missing.
    assert desk.node("node03").life is NodeLife.JOINING


def test_each_quarantine_in_a_row_is_twice_as_long() -> None:
    desk = grown()
    waits = []
    desk.see("node03", Condition.FAILED, "no Java")
    for _ in range(4):
        began_s = desk.now_s
        desk.see("node03", Condition.FAILED, "no Java")
        desk.see("node03", Condition.CLEAN)
        while desk.node("node03").life is NodeLife.OUT:
            desk.wake()
        waits.append(desk.now_s - began_s)
    assert waits == [QUARANTINE_S, 2 * QUARANTINE_S, 4 * QUARANTINE_S, 8 * QUARANTINE_S]
    desk.see("node03", Condition.SERVING)
    assert desk.node("node03").failures == 0


def test_an_operator_ends_a_quarantine_and_its_count() -> None:
    desk = grown()
    for _ in range(2):
        desk.see("node03", Condition.FAILED, "no Java")
    desk.see("node03", Condition.CLEAN)
    desk.undrain("node03")
    assert desk.node("node03").life is NodeLife.JOINING
    assert desk.node("node03").failures == 0
    assert "back:node03" not in desk.state.pending


def test_a_transient_core_node_that_fails_to_rejoin_is_not_wiped_before_its_blocks_are_safe() -> None:
    """It served, was about to leave, is needed again, and its NodeManager does not come up: its DataNode has blocks."""
    desk = Desk.running("a", "b", count=6, growth=Role.TRANSIENT_CORE, transient_core_leave_us=60 * SECOND_US)
    desk.tick(a=1000, b=1)
    desk.settle("a")
    desk.tick(a=1, b=1000)
    desk.settle("b")
    left = sorted(n for n, s in desk.state.nodes.items() if s.life is NodeLife.DRAINING)
    assert left
    desk.tick(a=1000, b=1)
    assert desk.node(left[0]).life is NodeLife.JOINING
    for _ in range(2):
        desk.see(left[0], Condition.FAILED, "no NodeManager")
    assert desk.said("quarantine")
    assert desk.node(left[0]).life is NodeLife.DRAINING
    assert (left[0], None) not in hosts(desk)
    desk.see(left[0], Condition.DRAINED)
    assert desk.node(left[0]).life is NodeLife.EVACUATING
    desk.see(left[0], Condition.HELD, "1 block is only here")
    assert desk.node(left[0]).life is NodeLife.EVACUATING
    desk.see(left[0], Condition.EVACUATED)
    desk.see(left[0], Condition.CLEAN)
    assert desk.node(left[0]).life is NodeLife.OUT


@pytest.mark.parametrize("stores", [True, False])
def test_a_node_that_refuses_us_is_wiped_at_once_only_if_it_never_served(stores: bool) -> None:
    desk = Desk.running("a", "b", count=6, growth=Role.TRANSIENT_CORE, transient_core_leave_us=60 * SECOND_US)
    desk.tick(a=1000, b=1)
    joining = [n for n, s in desk.state.nodes.items() if s.life is NodeLife.JOINING]
    if stores:
        desk.settle("a")
        desk.tick(a=1, b=1000)
        left = [n for n, s in desk.state.nodes.items() if s.life is NodeLife.DRAINING]
        desk.tick(a=1000, b=1)
        joining = [n for n in left if desk.node(n).life is NodeLife.JOINING]
    desk.see(joining[0], Condition.FAILED, "a foreign lease", refused=True)
    assert desk.codes()[0] == "node-refused"
    assert desk.node(joining[0]).life is (NodeLife.DRAINING if stores else NodeLife.CLEANING)
    assert ((joining[0], None) in hosts(desk)) is not stores


def test_a_held_node_does_not_stop_the_balancing_of_all_others() -> None:
    desk = Desk.running(
        "a", "b", count=8, growth=Role.TRANSIENT_CORE, settle_after_shrink_us=5 * SECOND_US, evacuate_us=10**12
    )
    desk.tick(a=1000, b=1)
    desk.settle("a")
    desk.tick(a=500, b=500)
    (first, second) = sorted(n for n, s in desk.state.nodes.items() if s.life is NodeLife.DRAINING)
    for node in (first, second):
        desk.see(node, Condition.DRAINED)
    desk.see(second, Condition.EVACUATED)
    desk.see(second, Condition.CLEAN)
    desk.settle("b")
    assert desk.tick(a=1, b=1000)["verdict"] == "settling"
    desk.see(first, Condition.HELD, "open for write")
    assert desk.tick(a=1, b=1000)["verdict"] == "unbalanced"


@pytest.mark.parametrize(("role", "owner", "wanted"), [(Role.TRANSIENT, None, None), (Role.TRANSIENT_CORE, "a", "tc")])
def test_a_lost_node_with_data_must_come_back_and_one_without_is_wiped(
    role: Role, owner: str | None, wanted: str | None
) -> None:
    desk = grown(role)
    desk.settle("a")
    desk.see("node03", Condition.LOST, "no answer")
    lost = desk.node("node03")
    assert (lost.life, lost.owner) == (NodeLife.LOST, owner)
    assert hosts(desk) == [("node03", Role.TRANSIENT_CORE if wanted else None)]
    assert desk.state.counts.usable == (6 if wanted else 5)
    if wanted:
        desk.see("node03", Condition.CLEAN)  # nobody asked for that
        assert desk.node("node03").life is NodeLife.LOST
        desk.see("node03", Condition.SERVING)
        assert desk.node("node03").life is NodeLife.SERVING
    else:
        desk.see("node03", Condition.CLEAN)
        assert desk.node("node03").life is NodeLife.JOINING  # free, and missing


def test_a_lost_core_node_keeps_its_place() -> None:
    desk = grown()
    desk.settle("a")
    desk.see("node02", Condition.LOST, "no answer")
    assert desk.node("node02").owner == "a"
    desk.done("membership:a")
    for _ in range(3):
        desk.wake()
        assert hosts(desk) == [("node02", Role.CORE)]
        assert desk.codes() == ["asked-again"]
    desk.see("node02", Condition.SERVING)
    assert desk.node("node02").life is NodeLife.SERVING
    assert "host:node02" not in desk.state.pending


def test_what_nobody_hears_of_is_asked_for_ever_more_rarely_also_where_a_first_try_is_brief() -> None:
    desk = grown(clean_us=SECOND_US)
    desk.settle("a")
    desk.drain("node03")
    desk.see("node03", Condition.DRAINED)
    waits = []
    for _ in range(6):
        began_s = desk.now_s
        desk.wait_for("host:node03")
        waits.append(desk.now_s - began_s)
    assert waits == [1, 4, 8, 16, 30, 30]


def test_a_node_that_an_operator_took_out_leaves_also_when_it_was_lost_in_between() -> None:
    desk = grown(Role.TRANSIENT_CORE)
    desk.settle("a")
    desk.see("node03", Condition.LOST, "no answer")
    desk.drain("node03", reason="fan")
    assert desk.node("node03").life is NodeLife.LOST
    desk.see("node03", Condition.SERVING)
    assert desk.node("node03").life is NodeLife.EVACUATING
    for condition in (Condition.EVACUATED, Condition.CLEAN):
        desk.see("node03", condition)
    assert desk.node("node03").life is NodeLife.OUT


def test_a_drain_goes_through_all_steps_and_an_undrain_brings_it_back() -> None:
    desk = grown()
    desk.settle("a")
    desk.drain("node03")
    assert desk.refusal() == ""
    (document,) = desk.members()
    assert document.members[NodeId("node03")].goal is Goal.DRAINING
    desk.see("node03", Condition.DRAINED)
    desk.see("node03", Condition.CLEAN)
    assert desk.node("node03").life is NodeLife.OUT
    assert desk.sizes() == {"a": 5}
    desk.undrain("node03", ask="q2")
    assert desk.node("node03").life is NodeLife.JOINING


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (DrainAsked(at_us=0, node=NodeId("node99"), reason="x", ask="q"), "no-such-node"),
        (DrainAsked(at_us=0, node=NodeId("node01"), reason="x", ask="q"), "master-node"),
        (UndrainAsked(at_us=0, node=NodeId("node03"), ask="q"), "not-drained"),
    ],
)
def test_what_an_operator_may_not_do(event: DrainAsked | UndrainAsked, code: str) -> None:
    desk = Desk(4)
    desk.up("a", 1)
    desk.tell(event)
    assert desk.refusal() == code


def test_answers_about_an_earlier_hand_over_are_history() -> None:
    desk = grown()
    desk.settle("a")
    before = desk.node("node03")
    for condition in Condition:
        desk.see("node03", condition, "late", generation=before.generation - 1)
        assert desk.codes() == ["late-answer"]
    assert desk.node("node03") == before


def test_tasks_never_hold_a_node_for_ever_and_blocks_always_do() -> None:
    slow = settings(growth=Role.TRANSIENT_CORE, transient_core_leave_us=5 * SECOND_US, evacuate_us=60 * SECOND_US)
    desk = Desk(6, how=slow)
    desk.up("a")
    desk.up("b")
    desk.tick(a=1000, b=1)
    desk.settle("a")
    desk.tick(a=1, b=1000)
    (node, *_) = sorted(n for n, s in desk.state.nodes.items() if s.life is NodeLife.DRAINING)
    said = set()
    while desk.node(node).life is NodeLife.DRAINING:
        desk.wake()
        said |= set(desk.codes())
    assert "drain-overdue" in said
    assert desk.node(node).life is NodeLife.EVACUATING
    for _ in range(20):
        desk.wake()
        said |= set(desk.codes())
    assert "held-blocks" in said
    assert desk.node(node).life is NodeLife.EVACUATING
    assert desk.node(node).alert


def test_a_node_that_cannot_be_wiped_is_not_trusted_until_it_was() -> None:
    desk = grown()
    desk.settle("a")
    desk.drain("node03")
    desk.see("node03", Condition.DRAINED)
    desk.now_s += 5
    desk.see("node03", Condition.FAILED, "a process does not end")
    lost = desk.node("node03")
    assert (lost.life, lost.owner, lost.since_us) == (NodeLife.LOST, None, desk.now_us)
    wipes = 0
    for _ in range(3):
        desk.wake()
        wipes += hosts(desk) == [("node03", None)]
    assert wipes
    desk.see("node03", Condition.CLEAN)
    assert desk.node("node03").life is NodeLife.OUT


def test_least_data_leaves_first_and_those_with_application_masters_last() -> None:
    desk = Desk.running("a", "b", count=8, growth=Role.TRANSIENT_CORE, spare_masters=True)
    desk.tick(a=1000, b=1)
    desk.settle("a")
    held = sorted(n for n in desk.state.nodes_of(A) if desk.state.nodes[n].role is Role.TRANSIENT_CORE)
    assert len(held) == 4
    at_us = desk.state.pending["tick"].deadline_us
    desk.now_s = at_us / SECOND_US - 2
    data = dict(zip(held, (50, 10, 40, 30), strict=True))
    desk.sample(a={"tasks_waiting": 1, "node_bytes": data, "node_masters": {held[1]: 1}}, b={"tasks_waiting": 2000})
    desk.wake()
    left = [facts["node"] for facts in desk.said("shrink")]
    assert left == [held[3], held[2], held[0], held[1]]


def test_nodes_away_from_the_masters_leave_first_and_nodes_at_home_join_first() -> None:
    pool = (*nodes(4, "delft"), *(Node(id=NodeId(f"far{i}"), site="leiden") for i in range(4)))
    desk = Desk(pool=pool)
    desk.up("a", 3)
    home = desk.node(str(desk.state.clusters[A].master)).node.site
    desk.tick(a=10)
    joined = [desk.node(str(facts["node"])).node.site for facts in desk.said("grow")]
    assert joined == sorted(joined, key=lambda site: site != home)
    desk.settle("a")
    desk.request("b", 3)
    left = [desk.node(str(facts["node"])).node.site for facts in desk.said("shrink-to-admit")]
    assert home not in left


def test_without_a_preference_for_sites_nodes_join_by_site_and_id() -> None:
    pool = (*nodes(4, "z"), *(Node(id=NodeId(f"far{i}"), site="a") for i in range(2)))
    desk = Desk(pool=pool, how=settings(prefer_site=False))
    desk.up("a", 3)
    desk.tick(a=10)
    assert [facts["node"] for facts in desk.said("grow")] == ["node02", "node03", "node04"]


def test_what_the_user_of_an_mr_cluster_left_is_told_and_the_node_is_clean() -> None:
    desk = grown()
    for _ in range(2):
        desk.see("node03", Condition.FAILED, "no Java")
    desk.see("node03", Condition.CLEAN, leftovers=2, names=["/tmp/a", "/dev/shm/b"], removed=True)
    assert desk.codes()[:2] == ["left-behind", "out-of-service"]
    assert desk.last.reasons[0].facts == {
        "node": "node03",
        "cluster": "a",
        "leftovers": 2,
        "names": ["/tmp/a", "/dev/shm/b"],
        "removed": True,
    }


def test_software_that_was_repaired_serves_and_is_told() -> None:
    desk = grown()
    desk.see("node03", Condition.SERVING, repaired=["lib/a.jar"])
    assert "software-repaired" in desk.codes()


def test_a_free_node_that_does_not_answer_is_given_to_nobody_before_it_does() -> None:
    """Also one that was never seen, such as a name in the inventory that does not exist: others wait for it by name."""
    desk = Desk(3)
    desk.see("node03", Condition.FAILED, "port 22 does not answer")
    assert (desk.node("node03").life, desk.node("node03").alert) == (
        NodeLife.FREE,
        "cannot be reached: port 22 does not answer",
    )
    assert (desk.state.counts.free, desk.state.counts.usable) == (2, 3)
    desk.request("a", 3)
    cluster = desk.state.clusters[ClusterId("a")]
    assert (cluster.life, cluster.alert) == (ClusterLife.ADMITTED, "waits for 1 more nodes")
    desk.see("node03", Condition.CLEAN)
    assert desk.state.clusters[ClusterId("a")].life is ClusterLife.DEPLOYING
    assert desk.node("node03").alert == ""


def test_a_free_node_that_does_not_answer_can_be_taken_out_of_service() -> None:
    desk = Desk(3)
    desk.see("node03", Condition.FAILED, "port 22 does not answer")
    desk.drain("node03")
    assert (desk.node("node03").life, desk.node("node03").alert) == (NodeLife.OUT, "")
