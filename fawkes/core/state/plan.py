"""Moves from targets: who gives which nodes, who gets which, in which order (paper sections 3.2, 4.2)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from fawkes.core.state.counts import lack, surplus
from fawkes.core.state.draft import Draft
from fawkes.core.state.free import FreeNodes
from fawkes.core.state.moves import hand_over, shrink, undrain
from fawkes.core.values.model import ClusterId, ClusterLife, ClusterState, NodeLife, NodeState, Role

#: why a node leaves so that an MR-cluster can be admitted
TO_ADMIT = "shrink-to-admit"
#: why a node that was leaving stays
UNDRAIN = "undrain"


@dataclass(slots=True)
class Allowance:
    """The number of nodes that may still begin to leave by this decision; None is no bound."""

    left: int | None = None
    used: int = 0

    def of(self, wanted: int) -> int:
        """The part of ``wanted`` that is still allowed."""
        return wanted if self.left is None else min(wanted, self.left)

    def spend(self, given: int) -> None:
        """Note so many nodes that begin to leave."""
        self.used += given
        if self.left is not None:
            self.left -= given


def leaving_order(draft: Draft, cluster: ClusterState) -> list[NodeState]:
    """The nodes that an MR-cluster could give, best first.

    Those that have not begun to serve; then, where ApplicationMasters are spared, nodes without one; then least data
    first (3.2); then nodes away from the site of the masters; then by id. Core nodes are not for others, and neither
    are nodes that an operator holds.
    """
    latest = draft.view.latest(cluster.id)
    data = latest.node_bytes if latest else {}
    masters = latest.node_masters if latest and draft.settings.spare_masters else {}
    near = home(draft, cluster.id)

    def order(state: NodeState) -> tuple[bool, int, int, bool, str]:
        node = state.node
        return (
            state.life is NodeLife.SERVING or state.why.code == UNDRAIN,
            masters.get(node.id, 0),
            data.get(node.id, 0) if state.role is Role.TRANSIENT_CORE else 0,
            node.site == near,
            node.id,
        )

    candidates = [
        state
        for state in draft.nodes_of(cluster.id)
        if state.role is not Role.CORE and state.life in (NodeLife.JOINING, NodeLife.SERVING) and state.hold is None
    ]
    return sorted(candidates, key=order)


def give(draft: Draft, cluster: ClusterState, count: int, code: str, *, core: bool = False, **facts: object) -> int:
    """``count`` nodes of an MR-cluster begin to leave; fewer when it has no more to give. How many leave.

    ``core``: only nodes that may be core nodes help.
    """
    chosen = [state for state in leaving_order(draft, cluster) if state.node.may_core or not core][:count]
    let_go(draft, cluster, chosen, code, **facts)
    if len(chosen) < count:
        draft.say("nothing-to-give", cluster=cluster.id, wanted=count, given=len(chosen))
    return len(chosen)


def let_go(draft: Draft, cluster: ClusterState, chosen: Iterable[NodeState], code: str, **facts: object) -> None:
    """These nodes of an MR-cluster begin to leave."""
    latest = draft.view.latest(cluster.id)
    for state in chosen:
        data = latest.node_bytes.get(state.node.id, 0) if latest else 0
        why = draft.say(code, node=state.node.id, cluster=cluster.id, role=state.role, data_bytes=data, **facts)
        shrink(draft, state, why)


def take_back(draft: Draft, cluster: ClusterState, count: int, **facts: object) -> int:
    """Undrain up to ``count`` of the nodes that are leaving this MR-cluster; how many."""
    chosen = staying_order(draft, cluster)[:count]
    for state in chosen:
        why = draft.say(UNDRAIN, node=state.node.id, cluster=cluster.id, role=state.role, **facts)
        undrain(draft, state, why)
    return len(chosen)


def staying_order(draft: Draft, cluster: ClusterState) -> list[NodeState]:
    """The nodes that are leaving an MR-cluster and could stay after all, best first.

    Nodes that leave for an admission are not taken back while somebody waits for it: each time they were, others would
    have to begin to leave. Core nodes that leave have been replaced. What a held node has begun, it ends.
    """
    admitting = any(state.life is ClusterLife.ADMITTED for state in draft.queue())
    leaving = [
        state
        for state in draft.nodes_of(cluster.id)
        if state.life in (NodeLife.DRAINING, NodeLife.EVACUATING)
        and state.role is not Role.CORE
        and not state.kept_out
        and state.hold is None
        and not (admitting and state.why.code == TO_ADMIT)
    ]
    return sorted(leaving, key=lambda s: (s.life is NodeLife.EVACUATING, -s.since_us, s.node.id))


def rebalance(draft: Draft, targets: Mapping[ClusterId, int], order: list[ClusterId], allowance: Allowance) -> None:
    """Undrain those below their targets, then shrink those above, the most favoured first, within the allowance.

    Growing from free nodes is `hand_out`, which also serves the nodes that come free later.
    """
    have = {c: draft.held(c).counted for c in targets}
    for c in reversed(order):
        state = draft.cluster(c)
        missing = targets[c] - have[c]
        if state is not None and missing > 0:
            have[c] += take_back(draft, state, missing, target=targets[c], held=have[c])
    for c in order:
        state = draft.cluster(c)
        surplus = have[c] - targets[c]
        if state is None or surplus <= 0:
            continue
        granted = allowance.of(surplus)
        if granted < surplus:
            draft.say("budget", cluster=c, wanted=surplus, granted=granted)
        allowance.spend(give(draft, state, granted, "shrink", target=targets[c], held=have[c], tick=draft.tick.tick))


class Lack(NamedTuple):
    """An MR-cluster below its target: how needy it is (`counts.lack`), which, how many nodes it lacks, its target."""

    need: float
    cluster: ClusterId
    missing: int
    target: int


def lacks(targets: Mapping[ClusterId, int], have: Mapping[ClusterId, int]) -> list[Lack]:
    """Those that have less than their targets, the one that lacks most first; ties go to the smaller id."""
    missing = {c: target - have[c] for c, target in targets.items() if target > have[c]}
    return sorted(Lack(-count / targets[c], c, count, targets[c]) for c, count in missing.items())


def in_need(ahead: Iterable[Lack]) -> Iterator[ClusterId]:
    """The MR-cluster that lacks most of its target, with each node that it gets; ``ahead`` begins with the neediest."""
    again: list[Lack] = []
    for first in chain(ahead, (None,)):
        while again and (first is None or again[0] < first):
            yield from _serve(heapq.heappop(again), again)
        if first is not None:
            yield from _serve(first, again)


def _serve(lack: Lack, again: list[Lack]) -> Iterator[ClusterId]:
    yield lack.cluster
    if lack.missing > 1:
        missing = lack.missing - 1
        heapq.heappush(again, Lack(-missing / lack.target, lack.cluster, missing, lack.target))


def hand_out(draft: Draft, reserved: int) -> None:
    """Give free nodes to the MR-clusters that are below their targets, the one that lacks most first.

    ``reserved`` nodes that may be core nodes are left for an admission.
    """
    if draft.paused or not draft.tick.targets or not draft.counts.free:
        return
    free: FreeNodes | None = None
    for c in in_need(_needy(draft)):
        free = FreeNodes(draft, reserved=reserved) if free is None else free
        if not len(free):
            return
        grow(draft, c, free.take(home(draft, c)), draft.held(c).counted)


def _needy(draft: Draft) -> Iterator[Lack]:
    """Those that may grow and are below their targets, the neediest first."""
    targets = draft.tick.targets

    def need(cluster: ClusterId) -> float | None:
        return lack(draft.cluster(cluster), draft.held(cluster), targets.get(cluster))

    # Targets that are new by this very decision rank everybody anew.
    same = targets is draft.view.last_tick.targets
    stored, changed = (draft.view.needy, draft.changed_clusters()) if same else ((), targets.keys())
    for key, c in _ranked(stored, changed, need):
        yield Lack(key, c, targets[c] - draft.held(c).counted, targets[c])


def donors(draft: Draft) -> Iterator[ClusterId]:
    """Those that could give a node that may be a core node, the one with most above its minimum first."""

    def rich(cluster: ClusterId) -> float | None:
        return surplus(draft.cluster(cluster), draft.held(cluster))

    for _, c in _ranked(draft.view.donors, draft.changed_clusters(), rich):
        yield c


def _ranked(
    stored: Iterable[tuple[float, ClusterId]], changed: Set[ClusterId], key: Callable[[ClusterId], float | None]
) -> Iterator[tuple[float, ClusterId]]:
    """A stored order, with those that this decision has changed at their places of now."""
    moved = frozenset(changed)
    fresh = sorted((rank, c) for c in moved if (rank := key(c)) is not None)
    return heapq.merge((entry for entry in stored if entry[1] not in moved), fresh)


def grow(draft: Draft, cluster: ClusterId, state: NodeState, held: int, **facts: object) -> None:
    """A free node joins an MR-cluster that has ``held``, by the growth type of the MR-cluster or the site.

    ``facts`` say why instead of the latest tick.
    """
    role = draft.view.clusters[cluster].spec.growth or draft.settings.growth
    tick = draft.tick
    because = facts or {"target": tick.targets[cluster], "tick": tick.tick}
    why = draft.say("grow", node=state.node.id, cluster=cluster, role=role, held=held, **because)
    hand_over(draft, state, cluster, role, why)


def home(draft: Draft, cluster: ClusterId) -> str:
    """The site of the masters of an MR-cluster; empty where sites do not matter, and before it has any."""
    state = draft.cluster(cluster)
    if not draft.settings.prefer_site or state is None or state.master is None:
        return ""
    return draft.node(state.master).node.site
