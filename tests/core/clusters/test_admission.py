"""The global queue (paper 4.2.1): FIFO, shrink to admit, never below minimums, infeasible requests, dormant ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.core.state.state import NO_TICK, evolve
from fawkes.core.values.effects import Deploy
from fawkes.core.values.events import Condition
from fawkes.core.values.lifecycle import WITH_MASTERS
from fawkes.core.values.model import ClusterId, ClusterLife, Node, NodeId, NodeLife, Role
from tests.support.desk import Desk
from tests.support.pools import nodes, settings


def life(desk: Desk, name: str) -> ClusterLife:
    return desk.state.clusters[ClusterId(name)].life


def grown(desk: Desk, **sizes: int) -> Desk:
    """The same with MR-clusters that a tick has made as large as this."""
    for name in sizes:
        desk.up(name)
    desk.balance(**sizes)
    assert desk.sizes() == sizes
    return desk


def leaving(desk: Desk) -> dict[str, int]:
    """How many nodes each MR-cluster is giving."""
    return {
        c: sum(desk.state.nodes[n].life is NodeLife.DRAINING for n in desk.state.nodes_of(c))
        for c in desk.state.clusters
    }


def test_a_mr_cluster_gets_its_minimum_from_idle_nodes_at_once() -> None:
    desk = Desk(10)
    desk.now_s = 5
    decision = desk.request("a", 3)
    (deploy,) = (effect for effect in decision.effects if isinstance(effect, Deploy))
    assert sorted(deploy.members) == ["node01", "node02", "node03"]
    assert {member.role for member in deploy.members.values()} == {Role.CORE}
    assert deploy.master == "node01"
    assert life(desk, "a") is ClusterLife.DEPLOYING
    assert desk.said("admitted")[0]["wait_us"] == 0


def test_the_head_of_the_queue_blocks_those_behind_it() -> None:
    desk = Desk(10)
    desk.up("a", 6)
    desk.request("b", 5)
    assert desk.said("waits-infeasible") == [{"cluster": "b", "minimum": 5, "promised": 6, "usable": 10}]
    desk.request("c", 2)
    assert life(desk, "c") is ClusterLife.WAITING
    desk.release("b")
    assert life(desk, "c") is ClusterLife.DEPLOYING


def test_when_one_leaves_the_head_is_tried_again() -> None:
    desk = Desk(10)
    desk.up("a", 6)
    desk.request("b", 5)
    desk.release("a", discard=True)
    desk.clean_all()
    assert life(desk, "b") is ClusterLife.DEPLOYING
    assert ClusterId("a") not in desk.state.clusters


def test_a_minimum_above_the_pool_is_refused_with_numbers() -> None:
    desk = Desk(pool=(*nodes(3), Node(id=NodeId("weak"), may_core=False)))
    desk.request("a", 4)
    assert desk.refusal() == "minimum-above-pool"
    assert desk.said("minimum-above-pool") == [{"cluster": "a", "minimum": 4, "able": 3}]
    assert not desk.state.clusters


@pytest.mark.parametrize(
    ("minimum", "facts", "code"),
    [(0, {}, "no-minimum"), (3, {"max_nodes": 2}, "maximum-below-minimum"), (2, {}, "cluster-exists")],
)
def test_requests_that_make_no_sense_are_refused(minimum: int, facts: dict[str, int], code: str) -> None:
    desk = Desk.running("x")
    desk.request("x" if code == "cluster-exists" else "y", minimum, **facts)
    assert desk.refusal() == code


def test_shrink_to_admit_takes_from_each_by_weight() -> None:
    desk = grown(Desk(20), a=12, b=8)
    desk.request("c", 5)
    # 15 nodes are left for a and b: by their weights 9 and 6.
    assert leaving(desk) == {"a": 3, "b": 2, "c": 0}
    assert life(desk, "c") is ClusterLife.ADMITTED
    desk.clean_all()
    assert life(desk, "c") is ClusterLife.DEPLOYING
    assert desk.sizes() == {"a": 9, "b": 6, "c": 5}


def test_shrink_to_admit_never_goes_below_minimums() -> None:
    desk = grown(Desk(10), a=8, b=2)
    desk.request("c", 6)
    assert leaving(desk) == {"a": 6, "b": 0, "c": 0}
    desk.clean_all()
    assert desk.sizes() == {"a": 2, "b": 2, "c": 6}


def test_the_neediest_gives_no_more_than_its_surplus() -> None:
    desk = grown(Desk(20), a=17, b=3)
    desk.request("c", 10)
    # Taken in proportion to the weights, b would give least; above its minimum it has 1.
    assert leaving(desk) == {"a": 9, "b": 1, "c": 0}


def test_an_admission_waits_for_no_threshold_and_no_damping() -> None:
    long_us = 10**12
    damped = {"tau": 10**9, "confirmations": 99, "settle_after_grow_us": long_us, "settle_after_shrink_us": long_us}
    desk = Desk.running("a", max_moves_fraction=0.01, **damped)
    # By hand, since no tick ever moves with such damping.
    evolve(desk.state, 0, [replace(NO_TICK, targets={ClusterId("a"): 10}, weights={ClusterId("a"): 1.0})])
    desk.pause("x")
    desk.resume()
    desk.settle("a")
    assert desk.sizes() == {"a": 10}
    desk.request("b", 4)
    assert leaving(desk) == {"a": 4, "b": 0}


def test_freed_nodes_are_kept_for_the_head_of_the_queue() -> None:
    desk = grown(Desk(10), a=8, b=2)
    desk.request("c", 3)
    first, second, third = sorted(n for n, s in desk.state.nodes.items() if s.life is NodeLife.DRAINING)
    for node in (first, second):
        desk.see(node, Condition.DRAINED)
        desk.see(node, Condition.CLEAN)
        assert desk.node(node).life is NodeLife.FREE
        assert "grow" not in desk.codes()
    desk.see(third, Condition.DRAINED)
    desk.see(third, Condition.CLEAN)
    assert life(desk, "c") is ClusterLife.DEPLOYING


def test_nodes_that_cannot_be_core_are_no_help_to_an_admission() -> None:
    pool = (*nodes(6), *(Node(id=NodeId(f"weak{i}"), site="delft", may_core=False) for i in range(4)))
    desk = grown(Desk(pool=pool), a=10)
    desk.request("b", 3)
    given = sorted(n for n, s in desk.state.nodes.items() if s.life is NodeLife.DRAINING)
    assert given == ["node03", "node04", "node05"]
    desk.clean_all()
    assert life(desk, "b") is ClusterLife.DEPLOYING
    desk.request("c", 2)
    assert desk.said("waits-infeasible") == [{"cluster": "c", "minimum": 2, "promised": 5, "usable": 6}]


def test_weak_nodes_are_handed_out_while_core_nodes_are_reserved() -> None:
    pool = (*nodes(4), *(Node(id=NodeId(f"weak{i}"), site="leiden", may_core=False) for i in range(4)))
    desk = grown(Desk(pool=pool), a=8)
    desk.request("b", 2)
    for node in ("node03", "weak0"):
        desk.see(node, Condition.LOST, "no power")
    desk.see("weak0", Condition.CLEAN)
    desk.settle("a")
    # weak0 goes back to a; node03 waits for b, with node04, which is leaving.
    desk.see("node03", Condition.CLEAN)
    assert desk.node("weak0").owner == "a"
    assert desk.node("node03").life is NodeLife.FREE


def test_a_node_that_goes_out_of_service_is_not_on_its_way_to_an_admission() -> None:
    desk = grown(Desk(10), a=8, b=2)
    for node in ("node05", "node06"):
        desk.drain(node)
    desk.request("c", 2)
    assert leaving(desk) == {"a": 4, "b": 0, "c": 0}


def test_those_that_cannot_be_read_do_not_shrink_for_others() -> None:
    desk = grown(Desk(10, how=settings(stale_us=5 * SECOND_US)), a=8, b=2)
    desk.now_s += 6
    desk.sample(a={"error": "no answer"}, b={"tasks_waiting": 1})
    assert desk.state.clusters[ClusterId("a")].unreadable_us is not None
    desk.request("c", 2)
    assert leaving(desk) == {"a": 0, "b": 0, "c": 0}
    assert desk.said("waits-for-nodes") == [{"cluster": "c", "lacking": 2, "paused": ""}]
    desk.sample(a={"tasks_waiting": 1})
    assert leaving(desk) == {"a": 2, "b": 0, "c": 0}


def test_a_pause_keeps_everybody_where_he_is_until_it_ends() -> None:
    desk = grown(Desk(10), a=8, b=2)
    desk.pause()
    desk.request("c", 2)
    assert leaving(desk) == {"a": 0, "b": 0, "c": 0}
    assert desk.said("waits-for-nodes") == [{"cluster": "c", "lacking": 2, "paused": "maintenance"}]
    desk.resume()
    assert leaving(desk) == {"a": 2, "b": 0, "c": 0}


def test_what_leaves_for_an_admission_is_not_taken_back_for_a_donor() -> None:
    how = settings(transient_leave_us=3600 * SECOND_US)
    desk = grown(Desk(10, how=how), a=8, b=2)
    desk.request("c", 2)
    left = [n for n, s in desk.state.nodes.items() if s.life is NodeLife.DRAINING]
    for _ in range(3):
        desk.tick(a=1000, b=1)
        assert [n for n, s in desk.state.nodes.items() if s.life is NodeLife.DRAINING] == left


def test_a_dormant_mr_cluster_asks_for_nodes_with_its_first_job() -> None:
    desk = Desk(10)
    desk.request("a", 2, deploy_on_first_job=True)
    assert life(desk, "a") is ClusterLife.DORMANT
    assert desk.state.counts.free == 10
    desk.now_s = 15
    desk.submit("a", 1)
    assert life(desk, "a") is ClusterLife.DEPLOYING
    assert desk.state.clusters[ClusterId("a")].wait_us == 0


def test_a_dormant_mr_cluster_takes_its_place_in_the_queue_when_it_wakes() -> None:
    desk = Desk(10)
    desk.request("early", 4, deploy_on_first_job=True)
    desk.up("a", 8)
    desk.request("b", 4)
    desk.submit("early", 1)
    assert list(desk.state.queue) == ["b", "early"]
    desk.release("a", discard=True)
    order = []
    for node in sorted(desk.state.nodes_of(ClusterId("a"))):
        desk.see(node, Condition.CLEAN)
        order += [facts["cluster"] for facts in desk.said("admitted")]
    assert order == ["b", "early"]


def test_an_admitted_one_waits_again_when_nodes_are_lost() -> None:
    desk = grown(Desk(6), a=6)
    desk.request("b", 4)
    assert life(desk, "b") is ClusterLife.ADMITTED
    desk.see("node03", Condition.LOST, "no power")
    desk.see("node03", Condition.FAILED, "did not answer")
    assert life(desk, "b") is ClusterLife.WAITING
    assert "4 nodes" in desk.state.clusters[ClusterId("b")].alert


def test_room_is_made_at_once_for_all_that_fit_together() -> None:
    """Each used to wait until the one before it was deployed: the last of five for five times as long."""
    desk = grown(Desk(20, how=settings(transient_leave_us=3600 * SECOND_US)), a=20)
    for name in "bcdef":
        desk.request(name, 2)
    assert {name: life(desk, name) for name in "bcdef"} == dict.fromkeys("bcdef", ClusterLife.ADMITTED)
    assert leaving(desk) == {"a": 10} | dict.fromkeys("bcdef", 0)
    assert [desk.state.clusters[ClusterId(name)].alert for name in "bcdef"] == [""] * 5
    assert desk.state.promised == 12
    desk.clean_all()
    assert desk.sizes() == {"a": 10} | dict.fromkeys("bcdef", 2)


def test_each_node_that_leaves_says_whom_it_leaves_for() -> None:
    desk = grown(Desk(12), a=8, b=4)
    desk.pause()
    desk.request("c", 3)
    desk.request("d", 4)
    assert desk.said("waits-for-nodes") == [{"cluster": "d", "lacking": 4, "paused": "maintenance"}]
    assert leaving(desk) == {"a": 0, "b": 0, "c": 0, "d": 0}
    desk.resume()
    # Of 5 nodes that are left, a and b would have 3 and 2 by their weights of 2 and 1.
    assert Counter((facts["newcomer"], facts["cluster"]) for facts in desk.said("shrink-to-admit")) == {
        ("c", "a"): 3,
        ("d", "a"): 2,
        ("d", "b"): 2,
    }


def test_free_nodes_are_kept_for_all_that_are_admitted() -> None:
    desk = grown(Desk(10), a=10)
    desk.request("b", 2)
    desk.request("c", 3)
    desk.request("d", 4)
    assert life(desk, "d") is ClusterLife.WAITING
    assert desk.said("waits-infeasible") == [{"cluster": "d", "minimum": 4, "promised": 7, "usable": 10}]
    served = []
    for node in [n for n, s in desk.state.nodes.items() if s.life is NodeLife.DRAINING]:
        for condition in (Condition.DRAINED, Condition.CLEAN):
            desk.see(node, condition)
            assert "grow" not in desk.codes()
            served += [facts["cluster"] for facts in desk.said("admitted")]
    assert served == ["b", "c"]
    assert desk.sizes() == {"a": 5, "b": 2, "c": 3, "d": 0}


def test_the_small_one_behind_does_not_get_the_nodes_of_the_one_before_it() -> None:
    desk = grown(Desk(10), a=10)
    desk.request("b", 5)
    desk.request("c", 1)
    left = [n for n, s in desk.state.nodes.items() if s.life is NodeLife.DRAINING]
    for node in left[:5]:
        assert life(desk, "c") is ClusterLife.ADMITTED
        desk.see(node, Condition.DRAINED)
        desk.see(node, Condition.CLEAN)
    assert life(desk, "b") is ClusterLife.DEPLOYING
    assert life(desk, "c") is ClusterLife.ADMITTED


def test_of_several_admitted_ones_the_last_wait_again_when_nodes_are_lost() -> None:
    desk = grown(Desk(7), a=7)
    for name in "bcd":
        desk.request(name, 1 if name == "d" else 2)
    assert {life(desk, name) for name in "bcd"} == {ClusterLife.ADMITTED}
    desk.see("node03", Condition.LOST, "no power")
    desk.see("node03", Condition.FAILED, "did not answer")
    # d would still fit, but c is before it: 2 + 2 + 2 are promised, of 6.
    assert [life(desk, name) for name in "bcd"] == [ClusterLife.ADMITTED, ClusterLife.ADMITTED, ClusterLife.WAITING]
    desk.see("node04", Condition.LOST, "no power")
    desk.see("node04", Condition.FAILED, "did not answer")
    assert [life(desk, name) for name in "bcd"] == [ClusterLife.ADMITTED, ClusterLife.WAITING, ClusterLife.WAITING]
    assert desk.state.clusters[ClusterId("c")].alert == "needs 2 nodes; 4 of 5 nodes are promised to other MR-clusters"
    assert desk.state.clusters[ClusterId("d")].alert == ""
    assert desk.state.promised == 4


def test_an_admitted_one_that_is_given_back_makes_place_for_the_next() -> None:
    desk = grown(Desk(8), a=8)
    desk.request("b", 3)
    desk.request("c", 4)
    assert life(desk, "c") is ClusterLife.WAITING
    desk.release("b")
    assert life(desk, "c") is ClusterLife.ADMITTED
    assert leaving(desk) == {"a": 4, "c": 0}


@pytest.mark.slow
@given(
    minimums=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    fates=st.lists(st.sampled_from(("lost", "back", "clean", "release", "request")), max_size=30),
    pick=st.randoms(use_true_random=False),
)
def test_the_queue_is_served_in_order_and_promises_no_more_than_there_is(
    minimums: list[int], fates: list[str], pick: Random
) -> None:
    desk = grown(Desk(12), z=12)
    names = iter(f"c{n:02d}" for n in range(99))
    for minimum in minimums:
        desk.request(next(names), minimum)
        lawful(desk)
    for fate in fates:
        befall(desk, fate, next(names), pick)
        lawful(desk)
    desk.clean_all()
    lawful(desk)


def befall(desk: Desk, fate: str, name: str, pick: Random) -> None:
    """Something happens to a node, or to the queue."""
    lives = {
        "lost": (NodeLife.SERVING, NodeLife.DRAINING),
        "back": (NodeLife.LOST,),
        "clean": (NodeLife.DRAINING, NodeLife.CLEANING),
    }
    able = [n for n, s in sorted(desk.state.nodes.items()) if s.life in lives.get(fate, ()) and s.role is not Role.CORE]
    queue = list(desk.state.queue)
    if fate == "request":
        desk.request(name, pick.randint(1, 5))
    elif fate == "release" and queue:
        desk.release(pick.choice(queue))
    elif able:
        node = pick.choice(able)
        if desk.node(node).life is NodeLife.DRAINING and fate == "clean":
            desk.see(node, Condition.DRAINED)
        desk.see(node, Condition.LOST if fate == "lost" else Condition.CLEAN, "no power" if fate == "lost" else "")


def lawful(desk: Desk) -> None:
    """Checks that the first in the queue are admitted whose minimums fit beside those with nodes, and nobody else."""
    queue = [desk.state.clusters[c] for c in desk.state.queue]
    usable = desk.state.counts.usable_core
    promised = sum(c.spec.min_nodes for c in desk.state.clusters.values() if c.life in WITH_MASTERS)
    fitting = []
    for state in queue:
        promised += state.spec.min_nodes
        if promised > usable:
            break
        fitting.append(state.id)
    assert [c.id for c in queue if c.life is ClusterLife.ADMITTED] == fitting
    wanted = sum(c.spec.min_nodes for c in queue if c.life is ClusterLife.ADMITTED)
    if fitting:
        # The first does not wait for nodes that are there.
        assert desk.state.counts.free_core < queue[0].spec.min_nodes
        # No more nodes leave than are wanted, and as many as can.
        coming = desk.state.counts.free_core + desk.state.counts.coming_core
        spare = sum(desk.state.held(c.id).spare_core for c in desk.state.clusters.values() if c.active)
        assert coming >= min(wanted, coming + spare)


def test_core_nodes_are_taken_at_the_roomiest_site() -> None:
    pool = (*nodes(3, "delft"), *(Node(id=NodeId(f"far{i}"), site="leiden") for i in range(4)))
    desk = Desk(pool=pool)
    desk.request("a", 3)
    assert sorted(desk.state.nodes_of(ClusterId("a"))) == ["far0", "far1", "far2"]
    desk.request("b", 4)
    assert sorted(desk.state.nodes_of(ClusterId("b"))) == ["far3", "node01", "node02", "node03"]
