"""The state of the ledger and `evolve`, the one place that changes it.

The engine owns the one State. Deciding reads it as a `View`. The indexes are kept here, so that a step costs what it
touches: no function below walks the whole pool.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Protocol

from fawkes.core.decision import (
    AddSample,
    Change,
    DropPending,
    PutCluster,
    PutJob,
    PutNode,
    PutPause,
    PutPending,
    PutRules,
    PutTick,
    PutWake,
)
from fawkes.core.lifecycle import ENDED_JOBS
from fawkes.core.model import (
    ClusterId,
    ClusterLife,
    ClusterState,
    JobId,
    JobState,
    NodeId,
    NodeLife,
    NodeState,
    Role,
)
from fawkes.core.window import Window

MOVING = frozenset({NodeLife.JOINING, NodeLife.DRAINING, NodeLife.EVACUATING, NodeLife.CLEANING})

NO_TICK = PutTick(
    tick=0,
    at_us=0,
    targets={},
    weights={},
    over=0,
    reconfigurations=0,
    moved_us=(),
    memory={},
    measured=False,
)


@dataclass(slots=True)
class Holding:
    """What one MR-cluster holds: its nodes, their capacity, and the integral of it since ``since_us`` (eq. 2)."""

    nodes: set[NodeId]
    capacity_milli: int = 0
    area: int = 0
    since_us: int = 0
    at_us: int = 0

    def advance(self, at_us: int) -> None:
        """Integrate the capacity held up to ``at_us`` (thousandths times microseconds, exact)."""
        if at_us > self.at_us:
            self.area += self.capacity_milli * (at_us - self.at_us)
            self.at_us = at_us


@dataclass(slots=True)
class Latest:
    """The latest reading of a MR-cluster, as far as node choice and job release need it."""

    at_us: int
    waiting_in_yarn: int
    node_bytes: Mapping[NodeId, int]
    node_masters: Mapping[NodeId, int]


class View(Protocol):
    """The state as deciding sees it: to be read, never changed."""

    @property
    def now_us(self) -> int:
        """The time of the last event."""
        ...

    @property
    def rules(self) -> PutRules | None:
        """Settings and identity of the running engine; None before the first `Started`."""
        ...

    @property
    def nodes(self) -> Mapping[NodeId, NodeState]:
        """All nodes of the pool."""
        ...

    @property
    def clusters(self) -> Mapping[ClusterId, ClusterState]:
        """All MR-clusters that are not gone, in the order of their requests."""
        ...

    @property
    def jobs(self) -> Mapping[JobId, JobState]:
        """All jobs that have not ended."""
        ...

    @property
    def pending(self) -> Mapping[str, PutPending]:
        """What is under way, by key."""
        ...

    @property
    def free(self) -> Set[NodeId]:
        """Nodes that can be handed out."""
        ...

    @property
    def capacity_milli(self) -> int:
        """C: the capacity of the nodes in service, in thousandths."""
        ...

    @property
    def usable_nodes(self) -> int:
        """How many nodes are in service."""
        ...

    @property
    def lost(self) -> int:
        """How many nodes are lost."""
        ...

    @property
    def moving(self) -> int:
        """How many nodes are joining, leaving or being wiped."""
        ...

    @property
    def grown_us(self) -> int:
        """When a transient or transient-core node last began to serve."""
        ...

    @property
    def shrunk_us(self) -> int:
        """When a node was last seen clean."""
        ...

    @property
    def last_tick(self) -> PutTick:
        """What the last tick left behind."""
        ...

    @property
    def paused(self) -> str:
        """Why voluntary moves are stopped; empty when they are not."""
        ...

    @property
    def wake_us(self) -> int | None:
        """When the timer is set to go off."""
        ...

    def nodes_of(self, cluster: ClusterId) -> Set[NodeId]:
        """The nodes that a MR-cluster holds physically."""
        ...

    def mean_held_milli(self, cluster: ClusterId, at_us: int) -> float:
        """The mean capacity held since the last tick, in thousandths (numerator of mean c_i, eq. 2)."""
        ...

    def jobs_of(self, cluster: ClusterId) -> Mapping[JobId, JobState]:
        """The jobs of a MR-cluster that have not ended, in the order of their submission."""
        ...

    def window(self, cluster: ClusterId, since_us: int) -> Window:
        """The samples after ``since_us``."""
        ...

    def latest(self, cluster: ClusterId) -> Latest | None:
        """The latest reading; None before the first."""
        ...

    def due(self, at_us: int) -> list[PutPending]:
        """What is pending with a deadline not after ``at_us``, earliest first."""
        ...

    def earliest_us(self, without: Set[str]) -> int | None:
        """The earliest deadline of what is pending, less the keys in ``without``."""
        ...


class State:
    """The state of one pool. Only `evolve` changes it."""

    def __init__(self) -> None:
        self.now_us = 0
        self.rules: PutRules | None = None
        self.nodes: dict[NodeId, NodeState] = {}
        self.clusters: dict[ClusterId, ClusterState] = {}
        self.jobs: dict[JobId, JobState] = {}
        self.pending: dict[str, PutPending] = {}
        self.free: set[NodeId] = set()
        self.capacity_milli = 0
        self.usable_nodes = 0
        self.lost = 0
        self.moving = 0
        self.grown_us = 0
        self.shrunk_us = 0
        self.last_tick = NO_TICK
        self.paused = ""
        self.wake_us: int | None = None
        self._holdings: dict[ClusterId, Holding] = {}
        self._jobs_of: dict[ClusterId, dict[JobId, JobState]] = {}
        self._windows: dict[ClusterId, deque[AddSample]] = {}
        self._latest: dict[ClusterId, Latest] = {}
        self._deadlines: list[tuple[int, str]] = []

    def nodes_of(self, cluster: ClusterId) -> Set[NodeId]:
        """The nodes that a MR-cluster holds physically."""
        holding = self._holdings.get(cluster)
        return holding.nodes if holding else frozenset()

    def mean_held_milli(self, cluster: ClusterId, at_us: int) -> float:
        """The mean capacity held since the last tick, in thousandths."""
        holding = self._holdings.get(cluster)
        if holding is None:
            return 0.0
        span = at_us - holding.since_us
        if span <= 0:
            return float(holding.capacity_milli)
        return (holding.area + holding.capacity_milli * (at_us - holding.at_us)) / span

    def jobs_of(self, cluster: ClusterId) -> Mapping[JobId, JobState]:
        """The jobs of a MR-cluster that have not ended, in the order of their submission."""
        return self._jobs_of.get(cluster, {})

    def window(self, cluster: ClusterId, since_us: int) -> Window:
        """The samples after ``since_us``."""
        kept = self._windows.get(cluster, ())
        return Window(cluster, tuple(entry.sample for entry in kept if entry.sample.at_us > since_us))

    def latest(self, cluster: ClusterId) -> Latest | None:
        """The latest reading; None before the first."""
        return self._latest.get(cluster)

    def due(self, at_us: int) -> list[PutPending]:
        """What is pending with a deadline not after ``at_us``, earliest first."""
        found: dict[str, PutPending] = {}
        rest = []
        while self._deadlines and self._deadlines[0][0] <= at_us:
            deadline, key = heapq.heappop(self._deadlines)
            pending = self.pending.get(key)
            if pending is not None and pending.deadline_us == deadline:
                found[key] = pending
                rest.append((deadline, key))
        for entry in rest:
            heapq.heappush(self._deadlines, entry)
        return list(found.values())

    def earliest_us(self, without: Set[str]) -> int | None:
        """The earliest deadline of what is pending, less the keys in ``without``."""
        skipped = []
        earliest = None
        while self._deadlines:
            deadline, key = self._deadlines[0]
            pending = self.pending.get(key)
            if pending is None or pending.deadline_us != deadline:
                heapq.heappop(self._deadlines)
            elif key in without:
                skipped.append(heapq.heappop(self._deadlines))
            else:
                earliest = deadline
                break
        for entry in skipped:
            heapq.heappush(self._deadlines, entry)
        return earliest

    def holding(self, cluster: ClusterId) -> Holding:
        """The holding of a MR-cluster, made when there is none."""
        holding = self._holdings.get(cluster)
        if holding is None:
            holding = self._holdings[cluster] = Holding(set(), since_us=self.now_us, at_us=self.now_us)
        return holding

    def put_node(self, new: NodeState) -> None:
        """Replace a node and move it between the indexes."""
        old = self.nodes.get(new.node.id)
        if old is not None:
            self._count(old, -1)
            if old.life is NodeLife.JOINING and new.life is NodeLife.SERVING and new.role is not Role.CORE:
                self.grown_us = self.now_us
            if old.life is NodeLife.CLEANING and new.life is NodeLife.FREE:
                self.shrunk_us = self.now_us
        self.nodes[new.node.id] = new
        self._count(new, +1)

    def _count(self, state: NodeState, sign: int) -> None:
        node = state.node
        if state.life is not NodeLife.OUT and (state.life is not NodeLife.LOST or state.owner is not None):
            self.capacity_milli += sign * node.capacity_milli
            self.usable_nodes += sign
        self.lost += sign * (state.life is NodeLife.LOST)
        self.moving += sign * (state.life in MOVING)
        if state.life is NodeLife.FREE:
            (self.free.add if sign > 0 else self.free.discard)(node.id)
        if state.owner is not None:
            holding = self.holding(state.owner)
            holding.advance(self.now_us)
            holding.capacity_milli += sign * node.capacity_milli
            (holding.nodes.add if sign > 0 else holding.nodes.discard)(node.id)

    def put_cluster(self, new: ClusterState) -> None:
        """Replace a MR-cluster; one that is gone leaves with all that was kept for it."""
        old = self.clusters.get(new.id)
        if new.life is ClusterLife.GONE:
            self.clusters.pop(new.id, None)
            for kept in (self._holdings, self._jobs_of, self._windows, self._latest):
                kept.pop(new.id, None)
            return
        self.clusters[new.id] = new
        if new.active and not (old and old.active):
            holding = self.holding(new.id)
            holding.area, holding.since_us, holding.at_us = 0, self.now_us, self.now_us

    def put_job(self, new: JobState) -> None:
        """Replace a job; one that has ended leaves."""
        mine = self._jobs_of.setdefault(new.cluster, {})
        if new.life in ENDED_JOBS:
            self.jobs.pop(new.id, None)
            mine.pop(new.id, None)
        else:
            self.jobs[new.id] = mine[new.id] = new

    def put_pending(self, new: PutPending) -> None:
        """Note a deadline; the heap forgets the older one of the key when it comes up."""
        self.pending[new.key] = new
        heapq.heappush(self._deadlines, (new.deadline_us, new.key))

    def drop_pending(self, change: DropPending) -> None:
        """Forget what was pending under this key."""
        self.pending.pop(change.key, None)

    def add_sample(self, change: AddSample) -> None:
        """Add a sample and drop those that are too old."""
        kept = self._windows.setdefault(change.cluster, deque())
        kept.append(change)
        while kept and kept[0].sample.at_us < change.keep_from_us:
            kept.popleft()
        self._latest[change.cluster] = Latest(
            change.sample.at_us, change.waiting_in_yarn, change.node_bytes, change.node_masters
        )

    def put_tick(self, change: PutTick) -> None:
        """Remember a tick; a measured one begins a new interval of eq. 2."""
        self.last_tick = change
        if change.measured:
            for holding in self._holdings.values():
                holding.area, holding.since_us, holding.at_us = 0, self.now_us, self.now_us

    def apply(self, change: Change) -> None:
        """Apply one change."""
        match change:
            case PutNode():
                self.put_node(change.state)
            case PutCluster():
                self.put_cluster(change.state)
            case PutJob():
                self.put_job(change.state)
            case PutPending():
                self.put_pending(change)
            case DropPending():
                self.drop_pending(change)
            case AddSample():
                self.add_sample(change)
            case _:
                self.apply_rest(change)

    def apply_rest(self, change: PutTick | PutPause | PutRules | PutWake) -> None:
        """Apply a change of which there is one in the whole state."""
        match change:
            case PutTick():
                self.put_tick(change)
            case PutPause():
                self.paused = change.reason
            case PutRules():
                self.rules = change
            case PutWake():
                self.wake_us = change.at_us

    def samples_kept(self) -> Iterable[AddSample]:
        """Every sample that a window still holds, for a snapshot."""
        for kept in self._windows.values():
            yield from kept


def evolve(state: State, at_us: int, changes: Iterable[Change]) -> None:
    """Apply the changes of one decision, in order; ``at_us`` is the time of its event."""
    state.now_us = max(state.now_us, at_us)
    for change in changes:
        state.apply(change)
