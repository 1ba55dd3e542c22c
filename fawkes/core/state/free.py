"""The free node that is handed out next."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge

from fawkes.core.state.counts import Place, can_be_given, place
from fawkes.core.state.draft import Draft
from fawkes.core.values.model import NodeId, NodeState


class FreeNodes:
    """The free nodes in the order in which an MR-cluster gets them: at the site of its masters, then by site and id.

    With ``core`` only nodes that may be core nodes. Without, those that may not come first within a site, and
    ``reserved`` nodes that may are left for an admission. Reads no more of the pool than is taken.
    """

    def __init__(self, draft: Draft, *, core: bool = False, reserved: int = 0) -> None:
        self._draft = draft
        self._core = core
        counts = draft.counts
        self._core_left = max(0, counts.free_core - reserved)
        self._other_left = 0 if core else counts.free - counts.free_core
        self._freed: dict[Place, list[NodeId]] = {}
        self._left = {there: len(ids) for there, ids in draft.view.free_at.items()}
        for node, state in draft.changed_nodes().items():
            here, old = place(state.node), draft.view.nodes.get(node)
            if old is not None and can_be_given(old):
                self._left[place(old.node)] -= 1
            if can_be_given(state):
                self._left[here] = self._left.get(here, 0) + 1
                self._freed.setdefault(here, []).append(node)
        self._ids: dict[Place, Iterator[NodeId]] = {}

    def __len__(self) -> int:
        return self._core_left + self._other_left

    def roomiest(self) -> str:
        """The site with the most free nodes that may be core nodes; ties go to the smaller name."""
        sites = {site: left for (site, core), left in self._left.items() if core and left}
        return min(sites, key=lambda site: (-sites[site], site), default="")

    def take(self, home: str) -> NodeState:
        """The next node, from ``home`` if it has one; call it only while there are any."""
        there = min((p for p in self._left if self._has(p)), key=lambda p: (p[0] != home, p[0], p[1]))
        if there[1]:
            self._core_left -= 1
        else:
            self._other_left -= 1
        self._left[there] -= 1
        if there not in self._ids:
            self._ids[there] = self._in_order(there)
        return self._draft.node(next(self._ids[there]))

    def _has(self, there: Place) -> bool:
        return self._left[there] > 0 and (self._core_left if there[1] else self._other_left) > 0

    def _in_order(self, there: Place) -> Iterator[NodeId]:
        changed = self._draft.changed_nodes()
        freed = sorted(self._freed.get(there, ()))
        stored = (node for node in self._draft.view.free_at.get(there, ()) if node not in changed)
        return merge(stored, freed)
