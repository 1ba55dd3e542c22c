"""The state as deciding sees it: to be read, never changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from typing import Protocol

from fawkes.core.state.counts import Counts, FreeIds, Held, Place
from fawkes.core.values.backlog import Backlog
from fawkes.core.values.decision import AddSample, PutPending, PutRules, PutTick
from fawkes.core.values.model import (
    Closing,
    ClusterId,
    ClusterState,
    JobId,
    JobState,
    NodeId,
    NodeLife,
    NodeState,
    Plain,
)
from fawkes.core.values.window import Window


class View(Protocol):
    """The state of one pool, with its indexes."""

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
        """The effects and deadlines under way, by key."""
        ...

    @property
    def counts(self) -> Counts:
        """How many nodes of the pool are what."""
        ...

    @property
    def free_at(self) -> Mapping[Place, FreeIds]:
        """The nodes that can be handed out, by place."""
        ...

    @property
    def queue(self) -> Collection[ClusterId]:
        """The MR-clusters that wait for nodes, first come first."""
        ...

    @property
    def promised(self) -> int:
        """The sum of the minimums that are promised."""
        ...

    @property
    def grown_us(self) -> int:
        """When a transient or transient-core node last began to serve; long ago when none ever did."""
        ...

    @property
    def shrunk_us(self) -> int:
        """When a node was last seen clean; long ago when none ever was."""
        ...

    @property
    def last_tick(self) -> PutTick:
        """The memory of the last tick."""
        ...

    @property
    def paused(self) -> str:
        """Why voluntary moves are stopped; empty when they are not."""
        ...

    @property
    def closing(self) -> Closing | None:
        """The user who wants the whole pool to be given back, and how far that is; None when nobody does."""
        ...

    @property
    def learned(self) -> Mapping[str, Plain]:
        """The admission policy's memory of each MR-cluster's jobs; that of all together has an empty name."""
        ...

    @property
    def wake_us(self) -> int | None:
        """When the timer is set to go off."""
        ...

    @property
    def needy(self) -> Iterable[tuple[float, ClusterId]]:
        """The MR-clusters that may grow to their targets, by `counts.lack`: who lacks most comes first."""
        ...

    @property
    def donors(self) -> Iterable[tuple[float, ClusterId]]:
        """The MR-clusters that could give nodes that may be core nodes, by `counts.surplus`: most comes first."""
        ...

    @property
    def short(self) -> Collection[ClusterId]:
        """The running MR-clusters of which fewer core nodes stay than their minimum."""
        ...

    def nodes_of(self, cluster: ClusterId) -> Set[NodeId]:
        """The nodes that an MR-cluster holds physically."""
        ...

    def held(self, cluster: ClusterId) -> Held:
        """How many nodes of an MR-cluster are what."""
        ...

    def mean_held_milli(self, cluster: ClusterId, at_us: int) -> float:
        """The mean capacity held since the last tick, in thousandths (numerator of mean c_i, eq. 2)."""
        ...

    def jobs_of(self, cluster: ClusterId) -> Mapping[JobId, JobState]:
        """The jobs of an MR-cluster that have not ended, in the order of their submission."""
        ...

    def backlog(self, cluster: ClusterId) -> Backlog:
        """The same jobs, with the head of their queue; to be read, never changed."""
        ...

    def had_job(self, cluster: ClusterId, job: JobId) -> bool:
        """True if an MR-cluster was ever given a job of this id; large and small letters are one, as in YARN's tags."""
        ...

    def first_version(self, cluster: ClusterId) -> int:
        """The version with which a new MR-cluster of this name begins: above those of all its predecessors."""
        ...

    def window(self, cluster: ClusterId, since_us: int, base_us: int | None = None) -> Window:
        """The samples after ``since_us``, and the last one before them that is after ``base_us`` (None: any)."""
        ...

    def latest(self, cluster: ClusterId) -> AddSample | None:
        """The latest reading; None before the first."""
        ...

    def took_s(self, life: NodeLife) -> float | None:
        """How long nodes are in a stage of a move, a mean in which late ones count more; None before the first.

        Measured only while moves must pay.
        """
        ...

    def due(self, at_us: int) -> list[PutPending]:
        """Everything pending with a deadline not after ``at_us``, earliest first."""
        ...

    def earliest_us(self, without: Set[str]) -> int | None:
        """The earliest deadline of what is pending, less the keys in ``without``."""
        ...
