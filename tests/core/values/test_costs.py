"""The cost of a node event does not grow with the MR-clusters of the pool: counted, not timed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.state.counts import Ranked
from fawkes.core.values.events import Condition
from fawkes.core.values.model import ClusterId, ClusterLife, Node, NodeId, NodeLife
from tests.support.desk import Desk
from tests.support.pools import nodes, settings

FEW, MANY = 6, 60


class Counted(dict[Any, Any]):
    """A dict that counts what is read of it: each look-up, and each entry that somebody walks over."""

    reads: Counter[str] = Counter()

    def __init__(self, name: str, of: dict[Any, Any]) -> None:
        super().__init__(of)
        self.name = name

    def __getitem__(self, key: Any) -> Any:
        self.reads[self.name] += 1
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.reads[self.name] += 1
        return super().__contains__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        self.reads[self.name] += 1
        return super().get(key, default)

    def __iter__(self) -> Iterator[Any]:
        for key in super().__iter__():
            self.reads[self.name] += 1
            yield key

    def keys(self) -> Any:
        self.reads[self.name] += len(self)
        return super().keys()

    def items(self) -> Any:
        self.reads[self.name] += len(self)
        return super().items()

    def values(self) -> Any:
        self.reads[self.name] += len(self)
        return super().values()


def read(desk: Desk, event: Callable[[Desk], object]) -> dict[str, int]:
    """The reads in one turn of the engine: MR-clusters, their nodes, their targets, and the queue."""
    state = desk.state
    state.clusters = Counted("clusters", state.clusters)
    state.queue = Counted("queue", state.queue)
    state._holdings = Counted("holdings", state._holdings)
    state.last_tick = replace(state.last_tick, targets=Counted("targets", dict(state.last_tick.targets)))
    Counted.reads = Counter()
    desk.checks = False
    event(desk)
    desk.checks = True
    return dict(Counted.reads)


def crowded(count: int, free: int = 3, **how: object) -> Desk:
    """So many MR-clusters of three nodes each, two of them core nodes, and nodes that nobody wants."""
    desk = Desk(3 * count + free, how=settings(tau=0.0, **how))
    names = [f"c{n:03d}" for n in range(count)]
    for name in names:
        desk.up(name, 2, max_nodes=3)
    desk.balance(**dict.fromkeys(names, 100))
    assert desk.state.counts.free == free
    assert set(desk.sizes().values()) == {3}
    return desk


def transient(desk: Desk, name: str = "c003") -> NodeId:
    """The node that an MR-cluster has beside its core nodes."""
    (node,) = (n for n in desk.state.nodes_of(ClusterId(name)) if desk.node(n).role != "core")
    return node


def core(desk: Desk, name: str = "c003") -> NodeId:
    """The core node of an MR-cluster that does not have its masters."""
    master = desk.state.clusters[ClusterId(name)].master
    (node,) = (n for n in desk.state.nodes_of(ClusterId(name)) if n != master and desk.node(n).role == "core")
    return node


def joins(desk: Desk) -> None:
    """A node dies while others are free: one of them takes its place."""
    desk.see(transient(desk), Condition.LOST, "no power")
    assert "grow" in desk.codes()


def waits_for_room(count: int) -> Desk:
    """All nodes are held, nobody has one to give, and somebody is admitted and waits for room."""
    desk = Desk(pool=nodes(2 * count + 1))
    for n in range(count):
        desk.up(f"c{n:03d}", 2)
    desk.drain(f"node{2 * count + 1}")
    desk.release("c000", discard=True)
    desk.request("new", 2)
    assert desk.state.clusters[ClusterId("new")].life is ClusterLife.ADMITTED
    return desk


def nothing_to_take_over(count: int) -> Desk:
    """A core node is to leave, and there is none that could take over from it."""
    desk = Desk(2 * count)
    for n in range(count):
        desk.up(f"c{n:03d}", 2)
    desk.drain(core(desk))
    assert "leaves once c003 has another core node" in desk.node(core(desk)).alert
    return desk


def unreadable_donors(count: int) -> Desk:
    """Somebody is admitted, and those who could give to him cannot be read."""
    desk = crowded(count, free=0, stale_us=SECOND_US)
    desk.now_s += 5
    desk.sample(**{c: {"error": "no answer"} for c in desk.state.clusters})
    desk.request("new", 1)
    assert desk.said("waits-for-nodes")
    return desk


def lost(desk: Desk) -> None:
    desk.see(core(desk, "c004"), Condition.LOST, "no power")


def lost_and_wiped(desk: Desk) -> None:
    node = transient(desk)
    desk.see(node, Condition.LOST, "no power")
    desk.see(node, Condition.CLEAN)


def queued(count: int) -> Desk:
    """Everything is promised, and many wait."""
    desk = Desk(4)
    desk.up("a", 3)
    for n in range(count):
        desk.request(f"c{n:03d}", 2)
    return desk


def paused(count: int) -> Desk:
    desk = crowded(count)
    desk.pause()
    return desk


EVENTS: dict[str, tuple[Callable[[int], Desk], Callable[[Desk], object]]] = {
    "a node takes the place of a lost one": (crowded, joins),
    "nodes are free and nobody needs them": (crowded, lost),
    "a lost node is wiped and joins again": (lambda n: crowded(n, free=0), lost_and_wiped),
    "somebody waits for room that nobody can make": (waits_for_room, lost),
    "somebody waits and nobody can be read": (unreadable_donors, lost),
    "a core node has nobody who takes over": (nothing_to_take_over, lost),
    "a core node is drained and a free one takes over": (crowded, lambda desk: desk.drain(core(desk))),
    "somebody waits in a long queue": (queued, lambda desk: desk.see("node02", Condition.LOST, "no power")),
    "nodes are free and moves are stopped": (paused, lost),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EVENTS)
def test_a_node_event_reads_as_much_with_few_mr_clusters_as_with_many(name: str) -> None:
    make, event = EVENTS[name]
    assert read(make(FEW), event) == read(make(MANY), event)


@pytest.mark.slow
def test_who_gives_to_a_core_node_that_leaves_is_found_without_a_walk() -> None:
    """All nodes are held, and the MR-cluster with most above its minimum gives one."""

    def drained(count: int) -> dict[str, int]:
        desk = crowded(count, free=0)
        desk.see(transient(desk), Condition.LOST, "no power")
        leaves = core(desk)
        reads = read(desk, lambda desk: desk.drain(leaves))
        assert [(f["cluster"], f["receiver"]) for f in desk.said("shrink-to-replace")] == [("c000", "c003")]
        return reads

    assert drained(FEW) == drained(MANY)


def test_ranked_gives_the_smallest_first_and_forgets() -> None:
    ranked = Ranked()
    a, b, c = (ClusterId(name) for name in "abc")
    for cluster, key in ((c, 1.0), (a, 1.0), (b, 0.5), (b, 2.0), (b, 0.5), (c, None), (c, None)):
        ranked.put(cluster, key)
    assert list(ranked) == [(0.5, b), (1.0, a)]
    for n in range(500):
        ranked.put(a, float(n % 7))
    assert list(ranked) == [(0.5, b), (499 % 7, a)]
    assert len(ranked._heap) < 80


def test_a_gone_mr_cluster_is_in_no_rank() -> None:
    desk = crowded(3)
    desk.release("c001", discard=True)
    desk.clean_all()
    assert {c for _, c in desk.state.donors} == {"c000", "c002"}
    assert list(desk.state.needy) == []


def test_a_pool_of_nodes_that_may_not_be_core_has_no_donors() -> None:
    pool = (*nodes(2), Node(id=NodeId("weak"), may_core=False))
    desk = Desk(pool=pool)
    desk.up("a")
    desk.tick(a=10)
    assert desk.node("weak").life is NodeLife.JOINING
    assert list(desk.state.donors) == []
