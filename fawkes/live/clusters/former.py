"""Former DataNodes: what a NameNode still takes for the data of a node that was wiped and joins again.

HDFS takes a DataNode for alive for half a minute and more after its end. Where a node leaves an MR-cluster with data,
is wiped and joins the same one again within that time, its NameNode would, with the new list of members, put the former
DataNode back into service (`DatanodeAdminManager.stopDecommission`), count the replicas that were wiped, and delete the
real ones as too many. So a member that joins with data stays on the list of those that leave until the NameNode has
heard from the DataNode that runs on it now: the fresh one has taken the place of the former by then. What counts as
heard is decided in `core.proof`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from fawkes.core.values.effects import Goal, Member
from fawkes.core.values.model import ClusterId, NodeId, Role
from fawkes.core.values.proof import may_be_former
from fawkes.core.values.sight import Stored
from fawkes.live.wire.masters import StorageNode

#: a node for as long as it belongs to an MR-cluster without a wipe: its name and generation
_Tenancy = tuple[NodeId, int]


class FormerNodes:
    """The members that the active NameNode of each MR-cluster must not take back yet; safe to use from any thread.

    A second NameNode gets the same lists. It deletes nothing, and once it is active it deletes nothing of which it has
    not got a fresh report from each DataNode.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: dict[ClusterId, dict[_Tenancy, float]] = {}
        self._sure: dict[ClusterId, set[_Tenancy]] = {}
        self._held: dict[ClusterId, frozenset[NodeId]] = {}

    def trust(self, cluster: ClusterId, tenancies: Iterable[tuple[NodeId, int]]) -> None:
        """Take what a NameNode has of these nodes and generations for theirs: it has only begun, or they served."""
        with self._lock:
            self._sure.setdefault(cluster, set()).update(tenancies)

    def note(self, cluster: ClusterId, members: Mapping[NodeId, Member], now_s: float) -> bool:
        """These should be members from now on; whether any of them is not known to have come with its own data."""
        tenancies = {(node, member.generation) for node, member in members.items()}
        with self._lock:
            self._sure[cluster] = self._sure.get(cluster, set()) & tenancies
            before = self._since.get(cluster, {})
            unsure = {(n, m.generation) for n, m in _storing(members).items()} - self._sure[cluster]
            self._since[cluster] = {tenancy: before.get(tenancy, now_s) for tenancy in unsure}
            if not unsure:
                self._held.pop(cluster, None)
            return bool(unsure)

    def look(
        self, cluster: ClusterId, members: Mapping[NodeId, Member], seen: Mapping[str, StorageNode], asked_s: float
    ) -> None:
        """Learn from what the active NameNode showed when it was asked after `note`."""
        with self._lock:
            held = {
                (node, members[node].generation)
                for (node, generation), since_s in self._since.get(cluster, {}).items()
                if node in members and _may_be_former(seen.get(node), asked_s, since_s)
            }
            self._sure.setdefault(cluster, set()).update(set(self._since.get(cluster, {})) - held)
            self._held[cluster] = frozenset(node for node, _ in held)

    def held(self, cluster: ClusterId) -> frozenset[NodeId]:
        """The members that HDFS must not take back yet."""
        with self._lock:
            return self._held.get(cluster, frozenset())

    def waiting(self) -> list[ClusterId]:
        """The MR-clusters with such members."""
        with self._lock:
            return sorted(cluster for cluster, nodes in self._held.items() if nodes)

    def forget(self, cluster: ClusterId) -> None:
        """It has gone."""
        with self._lock:
            for known in (self._since, self._sure, self._held):
                known.pop(cluster, None)


def _may_be_former(seen: StorageNode | None, asked_s: float, since_s: float) -> bool:
    stored, silent_s = (Stored.ABSENT, None) if seen is None else (seen.stored, seen.silent_s)
    return may_be_former(stored, silent_s, asked_s, since_s)


def _storing(members: Mapping[NodeId, Member]) -> dict[NodeId, Member]:
    return {n: m for n, m in members.items() if m.goal is not Goal.EVACUATING and m.role is not Role.TRANSIENT}
