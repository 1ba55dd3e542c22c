"""Eyes on the members of each MR-cluster: how its masters see them. What that means is decided in `core.watching`.

A fact is told when it has changed; what masters do not say is told as not known, once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from fawkes.core.values.effects import Goal, Member
from fawkes.core.values.events import MastersSeen, NodeSeen
from fawkes.core.values.model import ClusterId, NodeId, Role
from fawkes.core.values.sight import HEARD, NAMENODE, RESOURCE_MANAGER, UNHEARD, Blocks, Compute, Sight, Stored
from fawkes.live.base import limits
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.eyes import blocks
from fawkes.live.eyes.measure import SPARK, TASKS
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import MOST_CLUSTERS, Clusters, LiveCluster
from fawkes.live.wire import masters
from fawkes.live.wire.masters import ComputeNode, MasterAddresses, Storage, StorageNode
from fawkes.live.wire.rest import Deadline, UnreadableError

_log = logging.getLogger(__name__)
Gone = Callable[[LiveCluster, NodeId, Sequence[str]], tuple[str, ...] | None]
_WORKERS = ("datanode", "nodemanager")
_SERVICES = "yarn.nodemanager.aux-services"

_COMPUTE = {
    masters.RUNNING: Compute.RUNNING,
    masters.DECOMMISSIONING: Compute.DRAINING,
    masters.DECOMMISSIONED: Compute.LEFT,
    "LOST": Compute.LOST,
    "SHUTDOWN": Compute.LOST,
}


@dataclass(slots=True)
class _LastReport:
    """The latest report of a member with this goal, and its time; ``report`` is the last answer about its blocks.

    ``version`` is that of the list of members: with each new one something may have been decided about who leaves.
    """

    member: Member
    version: int
    sight: Sight | None = None
    at_us: int = 0
    report: Blocks | None = None


@dataclass(frozen=True, slots=True)
class _Masters:
    """The answers of masters: which one does not, none if empty, and which do not run by the word of their node."""

    silent: str = ""
    gone: tuple[str, ...] = ()


class _SilentError(Exception):
    """One of the masters does not answer: which, and why."""

    def __init__(self, which: str, why: UnreadableError) -> None:
        super().__init__(str(why))
        self.which = which


@dataclass(slots=True)
class _Eye:
    """The looks at one MR-cluster. ``masters`` was told of these last; no report is due before ``report_us``.

    ``answers`` are those of nodes with a late heartbeat, which are asked which of their daemons do not run.
    """

    reported: dict[NodeId, _LastReport] = field(default_factory=dict)
    masters: _Masters | None = None
    answers: dict[NodeId, Future[tuple[str, ...] | None]] = field(default_factory=dict)
    report_us: int = 0
    round: int = 0
    look: Future[None] | None = None


class Watch:
    """Looks at all MR-clusters side by side; one look at a time for each.

    Replicas count on DataNodes that were heard from within ``heard_us``; how a drain gets on is told every
    ``progress_us``. ``gone`` asks a node which daemons of an MR-cluster do not run on it; None: it does not answer.
    """

    def __init__(
        self, clusters: Clusters, setup: Setup, mailbox: Mailbox, gone: Gone, *, heard_us: int, progress_us: int
    ) -> None:
        self._clusters = clusters
        self._setup = setup
        self._mailbox = mailbox
        self._gone = gone
        self._heard_us = heard_us
        self._progress_us = progress_us
        self._threads = ThreadPoolExecutor(max_workers=MOST_CLUSTERS, thread_name_prefix="watch")
        self._askers = ThreadPoolExecutor(max_workers=MOST_CLUSTERS, thread_name_prefix="ask")
        self._lock = threading.Lock()
        self._eyes: dict[ClusterId, _Eye] = {}

    def round(self) -> None:
        """Begin a look wherever the last one has ended and somebody leaves, or it is time."""
        known = [cluster for cluster in self._clusters.all() if cluster.ready]
        with self._lock:
            for gone in set(self._eyes) - {cluster.id for cluster in known}:
                del self._eyes[gone]
        for cluster in known:
            eye = self._eyes.setdefault(cluster.id, _Eye())
            eye.round += 1
            leaving = any(member.goal is not Goal.SERVING for member in cluster.members.values())
            silent = eye.masters is not None and eye.masters.silent
            if not leaving and not silent and eye.round % limits.QUIET_ROUNDS:
                continue
            if eye.look is None or eye.look.done():
                eye.look = self._threads.submit(self._look, cluster, eye)

    def close(self) -> None:
        """Begin no more looks."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._askers.shutdown(wait=False, cancel_futures=True)

    def see(self, cluster: LiveCluster, node: NodeId) -> Sight:
        """The view that masters have of a node now, with a report on its blocks, for whoever is about to wipe it."""
        addresses, asked_us = self._setup.masters(cluster), self._mailbox.clock.now_us()
        try:
            hdfs = masters.storage(addresses, Deadline.after(limits.MASTERS_S))
        except UnreadableError as error:
            return Sight(asked_us=asked_us, blocks=Blocks(asked_us=asked_us, why=str(error)))
        reports = self._report(addresses, hdfs, [node], asked_us)
        return Sight(asked_us=asked_us, stored=_stored(addresses, hdfs, node), blocks=reports[node])

    def _look(self, cluster: LiveCluster, eye: _Eye) -> None:
        try:
            self._look_at(cluster, eye)
        except Exception:
            _log.exception("a defect while looking at %s", cluster.id)

    def _look_at(self, cluster: LiveCluster, eye: _Eye) -> None:
        addresses, asked_us = self._setup.masters(cluster), self._mailbox.clock.now_us()
        try:
            storing, computing = _ask(addresses)
        except _SilentError as error:
            # What was told is in doubt: it is told anew when they answer.
            eye.reported.clear()
            if eye.masters is None or eye.masters.silent != error.which:
                self._tell_masters(cluster.id, eye, _Masters(error.which), str(error))
            gone = self._gone(cluster, cluster.master, (NAMENODE, RESOURCE_MANAGER)) or ()
            self._tell_masters(cluster.id, eye, _Masters(error.which, gone), str(error))
            return
        self._tell_masters(cluster.id, eye, _Masters())
        gone_on = self._daemons_gone(cluster, eye, storing)
        idle = _idle(cluster, addresses, computing)
        sights = {
            node: Sight(
                asked_us=asked_us,
                compute=Compute.IDLE if node in idle else _compute(computing.get(node)),
                stored=_stored(addresses, storing, node) if member.role is not Role.TRANSIENT else Stored.NOT_KNOWN,
                gone=gone_on.get(node, ()),
            )
            for node, member in cluster.members.items()
        }
        self._keep(cluster, eye)
        self._look_at_blocks(cluster, eye, sights, storing, asked_us)
        now = self._clusters.get(cluster.id)
        for node, member in cluster.members.items():
            # Where the masters were told something else while they answered, this is no answer to what is wanted now.
            if now is not None and now.members.get(node) == member:
                self._tell(cluster.id, node, eye.reported[node], sights[node])

    def _daemons_gone(self, cluster: LiveCluster, eye: _Eye, storing: Storage) -> Mapping[NodeId, tuple[str, ...]]:
        """The daemons that do not run on members with a late heartbeat, as these said since the last look.

        A daemon that was started again counts once its heartbeat is there.
        """
        late = {node for node in cluster.members if is_late(storing.nodes.get(node))}
        gone: dict[NodeId, tuple[str, ...]] = {}
        for node in late:
            answer, last = eye.answers.get(node), eye.reported.get(node)
            before = last.sight.gone if last is not None and last.sight is not None else ()
            gone[node] = (answer.result() if answer is not None and answer.done() else None) or before
            if answer is None or answer.done():
                eye.answers[node] = self._askers.submit(self._gone, cluster, node, _WORKERS)
        for node in set(eye.answers) - late:
            del eye.answers[node]
        return gone

    def _keep(self, cluster: LiveCluster, eye: _Eye) -> None:
        """A member with another goal is told of from the beginning, one that leaves with each new list."""
        for node, member in cluster.members.items():
            known = eye.reported.get(node)
            if known is None or known.member != member:
                eye.reported[node] = _LastReport(member, cluster.version)
            elif known.version != cluster.version and member.goal is not Goal.SERVING:
                # A wipe that was not proven, or a lost node that is back: what was told before that is forgotten.
                known.sight, known.version = None, cluster.version
        for gone in set(eye.reported) - set(cluster.members):
            del eye.reported[gone]

    def _look_at_blocks(
        self, cluster: LiveCluster, eye: _Eye, sights: dict[NodeId, Sight], storing: Storage, asked_us: int
    ) -> None:
        """Add the blocks of those that leave with data: a report at first and when HDFS has let them go."""
        leaving = [n for n, m in cluster.members.items() if m.goal is not Goal.SERVING and m.role is not Role.TRANSIENT]
        wanted = [n for n in leaving if sights[n].stored in (Stored.LEFT, *UNHEARD)]
        wanted += [
            n for n in leaving if n not in wanted and not _has_report(eye.reported[n]) and sights[n].stored in HEARD
        ]
        if wanted and asked_us >= eye.report_us:
            reports = self._report(self._setup.masters(cluster), storing, wanted, asked_us)
            ended_us = self._mailbox.clock.now_us()
            eye.report_us = ended_us + (limits.REPORT_PART - 1) * (ended_us - asked_us)
            for node in wanted:
                eye.reported[node].report = reports[node]
                sights[node] = replace(sights[node], blocks=reports[node])
        for node in leaving:
            if sights[node].blocks is None:
                last = eye.reported[node].report
                # Why there was no report stays so until one is asked for again.
                counts = replace(blocks.counts(storing, node), why=last.why if last is not None else "")
                sights[node] = replace(sights[node], blocks=counts)

    def _report(
        self, addresses: MasterAddresses, hdfs: Storage, nodes: list[NodeId], asked_us: int
    ) -> Mapping[NodeId, Blocks]:
        sound = blocks.sound(hdfs, self._heard_us)
        return blocks.report(addresses, hdfs, nodes, sound, asked_us, Deadline.after(limits.REPORT_S))

    def _tell_masters(self, cluster: ClusterId, eye: _Eye, now: _Masters, error: str = "") -> None:
        if eye.masters == now:
            return
        eye.masters = now
        if error:
            _log.info("%s cannot be watched: %s", cluster, error)
        self._mailbox.tell(
            lambda at: MastersSeen(at_us=at, cluster=cluster, error=error, silent=now.silent, gone=now.gone)
        )

    def _tell(self, cluster: ClusterId, node: NodeId, last: _LastReport, sight: Sight) -> None:
        waits = _has_report(last) and sight.blocks is not None and not sight.blocks.asked_us
        same = last.sight is not None and (sight.stored is Stored.LEFT or sight.stored is last.sight.stored)
        if waits and same and sight.stored in (Stored.LEFT, *UNHEARD):
            # The next report is not due yet: nothing is known that was not known before.
            return
        if last.sight is not None and _essence(sight) == _essence(last.sight):
            progressed = sight.stored is Stored.LEAVING and _figures(sight) != _figures(last.sight)
            if not progressed or sight.asked_us - last.at_us < self._progress_us:
                return
        last.sight, last.at_us = sight, sight.asked_us
        self._mailbox.tell(
            lambda at: NodeSeen(at_us=at, cluster=cluster, node=node, generation=last.member.generation, sight=sight)
        )


def _ask(addresses: MasterAddresses) -> tuple[Storage, Mapping[str, ComputeNode]]:
    """The members as the NameNode and the ResourceManager see them; _SilentError for the first that does not say."""
    try:
        storing = masters.storage(addresses, Deadline.after(limits.MASTERS_S))
    except UnreadableError as error:
        raise _SilentError(NAMENODE, error) from error
    try:
        return storing, masters.resource_manager_nodes(addresses, Deadline.after(limits.MASTERS_S))
    except UnreadableError as error:
        raise _SilentError(RESOURCE_MANAGER, error) from error


def is_late(node: StorageNode | None) -> bool:
    """True if a DataNode that was not called dead yet has missed heartbeats, or if that is not known."""
    return node is not None and node.alive and (node.silent_s is None or node.silent_s >= limits.UNHEARD_S)


def _has_report(last: _LastReport) -> bool:
    return last.report is not None and last.report.known


def _essence(sight: Sight) -> object:
    """The part of a sight that is news at once; the rest is how a drain gets on."""
    seen = sight.blocks
    files = None if seen is None else (seen.known, seen.why, seen.at_risk, seen.missing)
    return sight.compute, sight.stored, sight.gone, files


def _figures(sight: Sight) -> Blocks | None:
    """The number of blocks that are left to copy; when somebody asked is none of it."""
    return None if sight.blocks is None else replace(sight.blocks, asked_us=0)


def _compute(node: ComputeNode | None) -> Compute:
    return Compute.ABSENT if node is None else _COMPUTE.get(node.state, Compute.OTHER)


def _idle(cluster: LiveCluster, addresses: MasterAddresses, computing: Mapping[str, ComputeNode]) -> frozenset[NodeId]:
    """The nodes that drain without a container while all applications are Spark's, asked after the nodes were seen.

    YARN waits for the end of every application that ran there, for its NodeManager may serve the map outputs of one.
    Executors take along what they have. A NodeManager with services of a site's own may serve theirs.
    """
    empty = frozenset(
        node
        for node, member in cluster.members.items()
        if (seen := computing.get(node)) is not None
        and (seen.state, seen.containers) == (masters.DECOMMISSIONING, 0)
        and _SERVICES not in cluster.details.overrides(member.role).get("yarn-site", {})
    )
    try:
        apps = masters.all_applications(addresses, Deadline.after(limits.MASTERS_S), tag="") if empty else ()
    except UnreadableError:
        return frozenset()
    return empty if all(app.ended or app.kind in (SPARK, TASKS) for app in apps) else frozenset()


def _stored(masters: MasterAddresses, hdfs: Storage, node: NodeId) -> Stored:
    row = hdfs.nodes.get(node)
    stored = Stored.ABSENT if row is None else row.stored
    pool = set(masters.nodes.values())
    if stored in UNHEARD and any(seen.alive and name not in pool for name, seen in hdfs.nodes.items()):
        # It may be the one that goes by a name that nobody knows: by that its blocks would not be found in a report.
        return Stored.NOT_KNOWN
    return stored
