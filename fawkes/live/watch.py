"""Eyes on the members of each MR-cluster: who has drained, whose blocks are safe, who stopped answering."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from fawkes.core.effects import Effect, Goal, Member
from fawkes.core.events import Condition, NodeObserved
from fawkes.core.model import ClusterId, Facts, NodeId, Role
from fawkes.live import masters
from fawkes.live.clusters import Clusters, LiveCluster
from fawkes.live.masters import ComputeNode, Storage
from fawkes.live.membership import MembershipKeeper
from fawkes.live.post import Mailbox
from fawkes.live.reconcile import Reconciler
from fawkes.live.rest import Deadline, UnreadableError
from fawkes.live.safety import safe_to_stop
from fawkes.live.setup import Setup
from fawkes.units import SECOND_US

_log = logging.getLogger(__name__)
_ANSWER_S = 5.0
#: the report on every block of a large HDFS takes long; meanwhile the node is held
_FSCK_S = 60.0
#: a MR-cluster in which nobody leaves is looked at once in so many rounds
_QUIET_ROUNDS = 10
#: so long a master may show another picture than it was told before it is told again
_DOUBT_US = 20 * SECOND_US
#: so long a node may be missing from the picture of a master, which may have begun anew, before it is lost
_MISSING_US = 20 * SECOND_US
#: so long masters may be silent before the first node counts as lost: then their daemons are started again
_SILENT_US = 30 * SECOND_US
#: NodeManagers in these states do nothing for their MR-cluster any more
_GONE = frozenset({masters.DECOMMISSIONED, "LOST", "SHUTDOWN"})
_HELD_AFTER_US = 15 * SECOND_US
_SILENT = "says nothing"
_MISSING = "is missing"

Told = tuple[NodeId, int, Condition, str]


@dataclass(slots=True)
class _Seen:
    """What was told about a MR-cluster, and since when the masters have shown a picture of their own.

    ``served`` and ``lost`` have the generation in which a node was seen to serve, or told to be lost.
    """

    told: set[Told] = field(default_factory=set)
    since: dict[tuple[NodeId, str], int] = field(default_factory=dict)
    served: dict[NodeId, int] = field(default_factory=dict)
    lost: dict[NodeId, int] = field(default_factory=dict)
    round: int = 0
    look: Future[None] | None = None


class Watch:
    """Looks at all MR-clusters side by side; one look at a time for each."""

    def __init__(
        self,
        clusters: Clusters,
        setup: Setup,
        membership: MembershipKeeper,
        goals: Reconciler,
        mailbox: Mailbox,
    ) -> None:
        self._clusters = clusters
        self._setup = setup
        self._membership = membership
        self._goals = goals
        self._mailbox = mailbox
        self._threads = ThreadPoolExecutor(max_workers=16, thread_name_prefix="watch")
        self._lock = threading.Lock()
        self._seen: dict[ClusterId, _Seen] = {}

    def round(self) -> None:
        """Begin a look wherever the last one has ended and somebody leaves, or it is time."""
        known = [cluster for cluster in self._clusters.all() if cluster.ready]
        with self._lock:
            for gone in set(self._seen) - {cluster.id for cluster in known}:
                del self._seen[gone]
        for cluster in known:
            seen = self._seen.setdefault(cluster.id, _Seen(served=dict(cluster.served)))
            seen.round += 1
            _stays(cluster, seen)
            leaving = any(member.goal is not Goal.SERVING for member in cluster.members.values())
            if not leaving and seen.round % _QUIET_ROUNDS:
                continue
            if seen.look is None or seen.look.done():
                seen.look = self._threads.submit(self._look, cluster, seen)

    def close(self) -> None:
        """Begin no more looks."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _look(self, cluster: LiveCluster, seen: _Seen) -> None:
        try:
            self._look_at(cluster, seen)
        except Exception:
            _log.exception("a defect while looking at %s", cluster.id)

    def _look_at(self, cluster: LiveCluster, seen: _Seen) -> None:
        addresses = self._setup.masters(cluster)
        try:
            computing = masters.resource_manager_nodes(addresses, Deadline.after(_ANSWER_S))
            storing = masters.storage(addresses, Deadline.after(_ANSWER_S))
        except UnreadableError as error:
            _log.info("%s cannot be watched: %s", cluster.id, error)
            self._silent(cluster, seen, error)
            return
        seen.since.pop((cluster.master, _SILENT), None)
        now = self._clusters.get(cluster.id)
        for node, member in cluster.members.items():
            if now is None or now.members.get(node) != member:
                # The masters were told something else while they answered: this is no answer to what is wanted now.
                continue
            if member.goal is not Goal.SERVING:
                # One that stays after all must be seen to serve again before it can be lost.
                seen.served.pop(node, None)
            if member.goal is Goal.DRAINING:
                self._draining(cluster, seen, node, member, computing.get(node))
            elif member.goal is Goal.EVACUATING:
                self._evacuating(cluster, seen, node, member, storing)
            else:
                self._serving(cluster, seen, node, member, computing.get(node), storing)

    def _silent(self, cluster: LiveCluster, seen: _Seen, error: UnreadableError) -> None:
        """Masters that say nothing for a while: their node is lost until its daemons have been brought up again."""
        member = cluster.members.get(cluster.master)
        if member is not None and self._lasts(seen, cluster.master, _SILENT) > _SILENT_US:
            self._lose(seen, cluster.master, member, f"its masters do not answer: {error}")

    def _draining(
        self, cluster: LiveCluster, seen: _Seen, node: NodeId, member: Member, compute: ComputeNode | None
    ) -> None:
        if compute is None or compute.state in _GONE:
            self._tell(seen, node, member, Condition.DRAINED)
        elif compute.state != masters.DECOMMISSIONING:
            self._doubt(cluster, seen, node, "is not draining")

    def _evacuating(self, cluster: LiveCluster, seen: _Seen, node: NodeId, member: Member, storing: Storage) -> None:
        found = storing.nodes.get(node)
        if found is not None and found.state == masters.IN_SERVICE:
            self._doubt(cluster, seen, node, "is not evacuating")
            return
        # All of HDFS is looked at: job files and logs of users lie beside the output folders.
        safety = safe_to_stop(
            self._setup.masters(cluster),
            node,
            Deadline.after(_FSCK_S),
            replication=cluster.spec.replication,
        )
        if safety.safe:
            self._tell(seen, node, member, Condition.EVACUATED, facts=safety.facts)
        elif self._lasts(seen, node, "held") > _HELD_AFTER_US:
            self._tell(seen, node, member, Condition.HELD, error=safety.why, facts=safety.facts)

    def _serving(
        self,
        cluster: LiveCluster,
        seen: _Seen,
        node: NodeId,
        member: Member,
        compute: ComputeNode | None,
        storing: Storage,
    ) -> None:
        """A node is lost only after it was seen to serve: one that is still coming up has its own deadline."""
        stores = member.role is not Role.TRANSIENT
        found = storing.nodes.get(node)
        missing = [] if compute is not None else ["its NodeManager is unknown to the ResourceManager"]
        missing += ["its DataNode is dead"] if stores and (found is None or not found.alive) else []
        if compute is not None and compute.state in _GONE:
            self._lose(seen, node, member, ", ".join([f"its NodeManager is {compute.state}", *missing]))
        elif missing:
            if self._lasts(seen, node, _MISSING) > _MISSING_US:
                self._lose(seen, node, member, ", ".join(missing))
        else:
            self._alive(seen, node, member)

    def _alive(self, seen: _Seen, node: NodeId, member: Member) -> None:
        """A lost node that is seen again by its masters serves again, whoever brought it back."""
        came_back = seen.lost.get(node) == member.generation
        self._forget(seen, node)
        seen.served[node] = member.generation
        if came_back:
            self._tell(seen, node, member, Condition.SERVING)

    def _lose(self, seen: _Seen, node: NodeId, member: Member, why: str) -> None:
        if seen.served.get(node) == member.generation:
            seen.served.pop(node)
            seen.lost[node] = member.generation
            self._tell(seen, node, member, Condition.LOST, error=why)

    def _tell(
        self,
        seen: _Seen,
        node: NodeId,
        member: Member,
        condition: Condition,
        *,
        error: str = "",
        facts: Facts | None = None,
    ) -> None:
        told: Told = (node, member.generation, condition, error)
        if told in seen.told:
            return
        seen.told.add(told)
        self._mailbox.tell(
            lambda at: NodeObserved(
                at_us=at,
                node=node,
                generation=member.generation,
                condition=condition,
                error=error,
                facts=facts or {},
            )
        )

    def _doubt(self, cluster: LiveCluster, seen: _Seen, node: NodeId, why: str) -> None:
        """A master that shows something else than it was told for a while is told again (it may have restarted)."""
        if self._lasts(seen, node, why) < _DOUBT_US:
            return
        goal: Effect | None = self._goals.goal(f"membership:{cluster.id}")
        if goal is not None:
            _log.warning("%s: %s %s: the members are told again", cluster.id, node, why)
            seen.since.pop((node, why), None)
            self._membership.forget(cluster.id)
            self._goals.want(goal)

    def _lasts(self, seen: _Seen, node: NodeId, what: str) -> int:
        now_us = self._mailbox.clock.now_us()
        return now_us - seen.since.setdefault((node, what), now_us)

    def _forget(self, seen: _Seen, node: NodeId) -> None:
        """A node that serves again may leave again, and that is to be told again."""
        seen.lost.pop(node, None)
        seen.told = {told for told in seen.told if told[0] != node}
        seen.since = {key: since for key, since in seen.since.items() if key[0] != node}


def _stays(cluster: LiveCluster, seen: _Seen) -> None:
    """What was told about the leaving of a node that stays after all is to be told again when it leaves again."""
    serving = {node for node, member in cluster.members.items() if member.goal is Goal.SERVING}
    seen.told = {told for told in seen.told if told[2] is Condition.LOST or told[0] not in serving}
