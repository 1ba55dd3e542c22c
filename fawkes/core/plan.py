"""Moves from targets: who gives which nodes, who gets which, in which order (paper sections 3.2, 4.2)."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from fawkes.core.draft import Draft
from fawkes.core.lifecycle import COUNTED
from fawkes.core.model import ClusterId, ClusterLife, ClusterState, NodeLife, NodeState, Role
from fawkes.core.moves import hand_over, shrink, undrain


@dataclass(slots=True)
class Allowance:
    """How many more nodes may begin to leave by this decision; None is no bound."""

    left: int | None = None
    used: int = 0

    def grant(self, wanted: int) -> int:
        """As many of ``wanted`` as are still allowed."""
        given = wanted if self.left is None else min(wanted, self.left)
        if self.left is not None:
            self.left -= given
        self.used += given
        return given


def counted(draft: Draft, cluster: ClusterId) -> int:
    """The nodes of a MR-cluster when moves in flight count as done."""
    return sum(1 for state in draft.nodes_of(cluster) if state.life in COUNTED)


def leaving_order(draft: Draft, cluster: ClusterState) -> list[NodeState]:
    """The nodes that a MR-cluster could give, best first.

    Those that have not begun to serve; then, where ApplicationMasters are spared, nodes without one; then least data
    first (3.2); then nodes away from the site of the masters; then by id. Core nodes never leave while it lives.
    """
    latest = draft.view.latest(cluster.id)
    data = latest.node_bytes if latest else {}
    masters = latest.node_masters if latest and draft.settings.spare_masters else {}
    near = home(draft, cluster.id)

    def order(state: NodeState) -> tuple[bool, int, int, bool, str]:
        node = state.node
        away = draft.settings.prefer_site and node.site != near
        return (
            state.life is NodeLife.SERVING,
            masters.get(node.id, 0),
            data.get(node.id, 0) if state.role is Role.TRANSIENT_CORE else 0,
            not away,
            node.id,
        )

    candidates = [
        state
        for state in draft.nodes_of(cluster.id)
        if state.role is not Role.CORE and state.life in (NodeLife.JOINING, NodeLife.SERVING)
    ]
    return sorted(candidates, key=order)


class FreeNodes:
    """The free nodes in the order in which a MR-cluster gets them: at the site of its masters, then by site and id.

    For transient nodes those that may not be core come first, so that core-capable ones stay for admissions.
    """

    def __init__(self, draft: Draft, *, core: bool = False) -> None:
        self._sites: dict[str, deque[NodeState]] = {}
        nodes = [state for state in draft.free() if state.node.may_core or not core]
        for state in sorted(nodes, key=lambda s: (not core and s.node.may_core, s.node.id)):
            self._sites.setdefault(state.node.site, deque()).append(state)
        self._count = len(nodes)

    def __len__(self) -> int:
        return self._count

    def roomiest(self) -> str:
        """The site with the most free nodes; ties go to the smaller name."""
        return min(self._sites, key=lambda site: (-len(self._sites[site]), site), default="")

    def take(self, home: str) -> NodeState:
        """The next node, from ``home`` if it has one; call it only while there are any."""
        site = home if self._sites.get(home) else min(s for s, nodes in self._sites.items() if nodes)
        self._count -= 1
        return self._sites[site].popleft()


def give(draft: Draft, cluster: ClusterState, count: int, code: str, **facts: object) -> list[NodeState]:
    """``count`` nodes of a MR-cluster begin to leave; fewer when it has no more to give. The nodes that leave."""
    latest = draft.view.latest(cluster.id)
    chosen = leaving_order(draft, cluster)[:count]
    for state in chosen:
        data = latest.node_bytes.get(state.node.id, 0) if latest else 0
        why = draft.say(code, node=state.node.id, cluster=cluster.id, role=state.role, data_bytes=data, **facts)
        shrink(draft, state, why)
    if len(chosen) < count:
        draft.say("nothing-to-give", cluster=cluster.id, wanted=count, given=len(chosen))
    return chosen


def take_back(draft: Draft, cluster: ClusterState, count: int, **facts: object) -> int:
    """Undrain up to ``count`` of the nodes that are leaving this MR-cluster; how many."""
    leaving = [
        state
        for state in draft.nodes_of(cluster.id)
        if state.life in (NodeLife.DRAINING, NodeLife.EVACUATING) and not state.keep_out
    ]
    leaving.sort(key=lambda s: (s.life is NodeLife.EVACUATING, -s.since_us, s.node.id))
    for state in leaving[:count]:
        why = draft.say("undrain", node=state.node.id, cluster=cluster.id, role=state.role, **facts)
        undrain(draft, state, why)
    return min(count, len(leaving))


def rebalance(draft: Draft, targets: Mapping[ClusterId, int], order: list[ClusterId], allowance: Allowance) -> None:
    """Undrain those below their targets, then shrink those above, the most favoured first, within the allowance.

    Growing from free nodes is `hand_out`, which also serves the nodes that come free later.
    """
    have = {c: counted(draft, c) for c in targets}
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
        granted = allowance.grant(surplus)
        if granted < surplus:
            draft.say("budget", cluster=c, wanted=surplus, granted=granted)
        give(draft, state, granted, "shrink", target=targets[c], held=have[c], tick=draft.tick.tick)


def hand_out(draft: Draft, reserved: int) -> None:
    """Give free nodes to the MR-clusters that are below their targets, the one that lacks most first.

    ``reserved`` nodes are left for an admission. Ties go to the smaller id.
    """
    if draft.view.paused or not draft.tick.targets:
        return
    free = FreeNodes(draft)
    queue = [
        (-missing / draft.tick.targets[c], c, missing)
        for c, missing in ((c, _missing(draft, c)) for c in draft.tick.targets)
        if missing > 0 and len(free) > reserved
    ]
    heapq.heapify(queue)
    while queue and len(free) > reserved:
        _, c, missing = heapq.heappop(queue)
        grow(draft, c, free.take(home(draft, c)), missing)
        if missing > 1:
            heapq.heappush(queue, (-(missing - 1) / draft.tick.targets[c], c, missing - 1))


def grow(draft: Draft, cluster: ClusterId, state: NodeState, missing: int) -> None:
    """A free node joins a MR-cluster that lacks ``missing`` nodes, by the growth type of the MR-cluster or the site."""
    spec = draft.view.clusters[cluster].spec
    role = spec.growth or draft.settings.growth
    target = draft.tick.targets[cluster]
    why = draft.say(
        "grow",
        node=state.node.id,
        cluster=cluster,
        role=role,
        target=target,
        held=target - missing,
        tick=draft.tick.tick,
    )
    hand_over(draft, state, cluster, role, why)


def _missing(draft: Draft, cluster: ClusterId) -> int:
    state = draft.cluster(cluster)
    if state is None or state.life is not ClusterLife.RUNNING or state.unreadable_us is not None:
        return 0
    return draft.tick.targets[cluster] - counted(draft, cluster)


def home(draft: Draft, cluster: ClusterId) -> str:
    """The site of the masters of a MR-cluster; empty before it has any."""
    state = draft.cluster(cluster)
    return draft.node(state.master).node.site if state is not None and state.master is not None else ""
