"""Counts of nodes and ranks of MR-clusters, so that no step walks them all.

The state keeps these sums and orders; a draft works on copies.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from fawkes.core.values.lifecycle import COUNTED, LEAVING, MOVING
from fawkes.core.values.model import ClusterId, ClusterState, Node, NodeId, NodeLife, NodeState, Role


def counted(state: NodeState) -> bool:
    """True if a node counts for its MR-cluster when moves in flight count as done: one lost while it left does not."""
    return state.life in COUNTED and not state.leaving


def can_be_given(state: NodeState) -> bool:
    """True for a free node that answers, as far as anybody knows, and that nobody holds."""
    return state.life is NodeLife.FREE and not state.alert and state.hold is None


#: free nodes are kept by site and by whether they may be core nodes
Place = tuple[str, bool]


def place(node: Node) -> Place:
    """Among which free nodes a node is found."""
    return node.site, node.may_core


@dataclass(slots=True)
class Counts:
    """Sums over the whole pool.

    ``free`` nodes can be handed out.
    ``usable`` nodes are in service (``usable_core`` of them may be core nodes), ``capacity_milli`` is their capacity C.
    ``coming_core`` nodes may be core nodes and will be free: they leave an MR-cluster and nobody keeps them out.
    ``moving`` nodes join, leave or are wiped, and nothing holds them up. ``going_core`` are core nodes that are kept
    out and have not begun to leave. ``kept_free`` are free nodes that an operator holds.
    """

    usable: int = 0
    usable_core: int = 0
    capacity_milli: int = 0
    free: int = 0
    free_core: int = 0
    coming_core: int = 0
    lost: int = 0
    moving: int = 0
    going_core: int = 0
    kept_free: int = 0

    def copy(self) -> Counts:
        """The same numbers, to be changed by somebody else."""
        return Counts(
            self.usable,
            self.usable_core,
            self.capacity_milli,
            self.free,
            self.free_core,
            self.coming_core,
            self.lost,
            self.moving,
            self.going_core,
            self.kept_free,
        )

    def add(self, state: NodeState, sign: int) -> None:
        """Count a node in (+1) or out (-1)."""
        life, core = state.life, state.node.may_core
        lost = life is NodeLife.LOST
        if life is not NodeLife.OUT and not (lost and state.owner is None):
            self.usable += sign
            self.usable_core += sign * core
            self.capacity_milli += sign * state.node.capacity_milli
        if can_be_given(state):
            self.free += sign
            self.free_core += sign * core
        elif lost:
            self.lost += sign
        elif life is NodeLife.FREE and state.hold is not None:
            self.kept_free += sign
        if life in LEAVING and core and not state.kept_out:
            self.coming_core += sign
        if life in MOVING and not state.alert:
            self.moving += sign
        if _goes_as_core(state):
            self.going_core += sign


@dataclass(slots=True)
class Held:
    """Sums over the nodes that one MR-cluster holds.

    ``nodes`` are all, ``counted`` those that count when moves in flight count as done, ``parting`` those that leave it
    and come to nobody soon: they go out of service, or were lost while they left. ``spare_core`` are those that it
    could give to an admission: no core nodes, but they may be.
    ``core`` are core nodes among ``counted``, ``going_core`` its share of the `Counts` of that name. ``kept`` are the
    others among ``counted`` that an operator holds.
    """

    nodes: int = 0
    counted: int = 0
    parting: int = 0
    spare_core: int = 0
    core: int = 0
    going_core: int = 0
    kept: int = 0

    def copy(self) -> Held:
        """The same numbers, to be changed by somebody else."""
        return Held(self.nodes, self.counted, self.parting, self.spare_core, self.core, self.going_core, self.kept)

    def least(self, minimum: int) -> int:
        """The fewest nodes that balancing may leave of an MR-cluster with this minimum."""
        return max(minimum, self.core + self.kept) if self.kept else minimum

    def add(self, state: NodeState, sign: int) -> None:
        """Count a node in (+1) or out (-1)."""
        self.nodes += sign
        self.counted += sign * counted(state)
        if state.leaving:
            self.parting += sign
        elif state.life in LEAVING:
            self.parting += sign * state.kept_out
        elif state.role is not Role.CORE and state.life is not NodeLife.LOST and state.hold is None:
            self.spare_core += sign * state.node.may_core
        if state.role is Role.CORE and counted(state):
            self.core += sign
            self.going_core += sign * state.kept_out
        elif state.hold is not None:
            self.kept += sign * counted(state)


def _goes_as_core(state: NodeState) -> bool:
    return state.role is Role.CORE and counted(state) and state.kept_out


def lack(state: ClusterState | None, held: Held, target: int | None) -> float | None:
    """The neediness of an MR-cluster: the smaller, the more of its target it lacks. None when it does not grow."""
    if target is None or target <= held.counted or state is None or not state.balanced:
        return None
    return -(target - held.counted) / target


def surplus(state: ClusterState | None, held: Held) -> float | None:
    """The surplus of an MR-cluster: the smaller, the more is above its minimum. None when it gives no core node."""
    if state is None or held.spare_core <= 0 or not state.balanced:
        return None
    return float(state.spec.min_nodes - held.counted)


def short_of_core(state: ClusterState | None, held: Held, master: NodeState | None) -> bool:
    """True if fewer core nodes stay than the minimum of a running MR-cluster; the node of the masters always stays."""
    if state is None or not state.active or not held.going_core:
        return False
    stays = master is not None and master.owner == state.id and _goes_as_core(master)
    return held.core - held.going_core + stays < state.spec.min_nodes


T = TypeVar("T", NodeId, tuple[float, ClusterId])


def _in_order(heap: list[T]) -> Iterator[T]:
    """The entries of a heap from the smallest on, which it keeps; the first k of them cost k log k."""
    ahead = [(heap[0], 0)] if heap else []
    while ahead:
        entry, at = heapq.heappop(ahead)
        for below in (2 * at + 1, 2 * at + 2):
            if below < len(heap):
                heapq.heappush(ahead, (heap[below], below))
        yield entry


class Ranked:
    """MR-clusters in the order of a number, the smallest first, ties by id, without sorting them all."""

    def __init__(self) -> None:
        self._keys: dict[ClusterId, float] = {}
        self._heap: list[tuple[float, ClusterId]] = []

    def put(self, cluster: ClusterId, key: float | None) -> None:
        """An MR-cluster has this number from now on; None takes it out."""
        if key is None:
            self._keys.pop(cluster, None)
        elif self._keys.get(cluster) != key:
            self._keys[cluster] = key
            heapq.heappush(self._heap, (key, cluster))
        while self._heap and not self._holds(self._heap[0]):
            heapq.heappop(self._heap)
        if len(self._heap) > 2 * len(self._keys) + 64:
            self._heap = sorted((key, cluster) for cluster, key in self._keys.items())

    def _holds(self, entry: tuple[float, ClusterId]) -> bool:
        return self._keys.get(entry[1]) == entry[0]

    def __iter__(self) -> Iterator[tuple[float, ClusterId]]:
        """The numbers and ids in their order; the first k of them cost k log k."""
        last = None
        for entry in _in_order(self._heap):
            if entry != last and self._holds(entry):
                last = entry
                yield entry


@dataclass(slots=True)
class FreeIds:
    """The free nodes of one place, to be read in the order of their ids without sorting them all."""

    ids: set[NodeId] = field(default_factory=set)
    _heap: list[NodeId] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, node: NodeId) -> None:
        """A node is free."""
        self.ids.add(node)
        heapq.heappush(self._heap, node)
        if len(self._heap) > 2 * len(self.ids) + 64:
            self._heap = sorted(self.ids)

    def discard(self, node: NodeId) -> None:
        """A node is no longer free; the heap forgets it when it comes up."""
        self.ids.discard(node)
        while self._heap and self._heap[0] not in self.ids:
            heapq.heappop(self._heap)

    def __iter__(self) -> Iterator[NodeId]:
        """The ids in their order; the first k of them cost k log k."""
        last = None
        for node in _in_order(self._heap):
            if node != last and node in self.ids:
                last = node
                yield node
