"""Eyes on the members of each MR-cluster: how its masters see them. What that means is decided in `core.watching`.

A fact is told when it has changed; what masters do not say is told as not known, once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import Goal, Member
from fawkes.core.values.events import MastersSeen, NodeSeen
from fawkes.core.values.model import ClusterId, NodeId, Role
from fawkes.core.values.proof import with_counts
from fawkes.core.values.settings import Settings
from fawkes.core.values.sight import HEARD, NAMENODE, RESOURCE_MANAGER, UNHEARD, Blocks, Compute, Sight, Stored
from fawkes.live.base import limits
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.eyes import blocks
from fawkes.live.eyes.measure import SPARK, TASKS
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import MOST_CLUSTERS, Clusters, LiveCluster
from fawkes.live.wire import masters
from fawkes.live.wire.masters import ComputeNode, MasterAddresses, Storage, StorageNode
from fawkes.live.wire.rest import Deadline, OwnFaultError, UnreadableError, count

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

    It was news at ``news_us`` and told last at ``told_us``, the times of the events. ``version`` is that of the list of
    members: with each new one something may have been decided about who leaves.
    """

    member: Member
    version: int
    sight: Sight | None = None
    news_us: int = 0
    told_us: int = 0
    report: Blocks | None = None


@dataclass(frozen=True, slots=True)
class _Masters:
    """The answers of masters: which one does not, none if empty, and which do not run by the word of their node.

    ``unasked``: why they could not be asked.
    """

    silent: str = ""
    gone: tuple[str, ...] = ()
    unasked: str = ""


class _SilentError(Exception):
    """One of the masters does not answer: which, and why."""

    def __init__(self, which: str, why: UnreadableError) -> None:
        super().__init__(str(why))
        self.which = which


@dataclass(slots=True)
class _Eye:
    """The looks at one MR-cluster. ``masters`` was told of these last; no report is due before ``report_us``.

    ``answers`` are those of nodes with a late heartbeat, which are asked which of their daemons do not run. ``listed``
    are DataNodes that have listed their blocks to the NameNode that ``began`` then, since a look in which they were not
    heard from, at ``unheard_us``.
    """

    reported: dict[NodeId, _LastReport] = field(default_factory=dict)
    masters: _Masters | None = None
    answers: dict[NodeId, Future[tuple[str, ...] | None]] = field(default_factory=dict)
    listed: set[NodeId] = field(default_factory=set)
    unheard_us: dict[NodeId, int] = field(default_factory=dict)
    began: int | None = None
    report_us: int = 0
    round: int = 0
    look: Future[None] | None = None


class Watch:
    """Looks at all MR-clusters side by side; one look at a time for each.

    Replicas count on DataNodes that were heard from within ``heard_us``; how a drain gets on is told every
    ``sample_every_us``. A missing node is told of again after ``missing_us`` (one that drains: ``doubt_us``), then
    after twice as long, and so on. A reload can change the ``settings``. ``gone`` asks a node which daemons of an
    MR-cluster do not run on it; None: unknown.
    """

    def __init__(
        self, clusters: Clusters, setup: Setup, mailbox: Mailbox, gone: Gone, settings: Callable[[], Settings]
    ) -> None:
        self._clusters = clusters
        self._setup = setup
        self._mailbox = mailbox
        self._gone = gone
        self._settings = settings
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
            silent = eye.masters is not None and (eye.masters.silent or eye.masters.unasked)
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
        except OwnFaultError as error:
            eye.reported.clear()
            self._tell_masters(cluster.id, eye, _Masters(unasked=str(error)), str(error))
            return
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
                repeated=True,
            )
            for node, member in cluster.members.items()
        }
        self._keep(cluster, eye)
        with_data = [node for node, member in cluster.members.items() if member.role is not Role.TRANSIENT]
        self._note_listed(with_data, addresses, eye, storing, asked_us)
        leaving = {n: sights.pop(n) for n in with_data if cluster.members[n].goal is not Goal.SERVING}
        # A report takes its time: nobody else's news waits for it.
        self._tell_of(cluster, eye, sights)
        self._look_at_blocks(cluster, eye, leaving, storing, asked_us)
        self._tell_of(cluster, eye, leaving)

    def _tell_of(self, cluster: LiveCluster, eye: _Eye, sights: Mapping[NodeId, Sight]) -> None:
        now = self._clusters.get(cluster.id)
        for node, sight in sights.items():
            # Where the masters were told something else while they answered, this is no answer to what is wanted now.
            if now is not None and now.members.get(node) == cluster.members[node]:
                self._tell(cluster.id, node, eye.reported[node], sight)

    def _note_listed(
        self, members: Sequence[NodeId], addresses: MasterAddresses, eye: _Eye, storing: Storage, asked_us: int
    ) -> None:
        """Note which DataNodes have listed their blocks to this very NameNode: before that they are missing to it.

        It tells the whole minutes since then; of one that never did, those since its own machine was started.
        """
        heard = {node for node in members if node in storing.nodes and storing.nodes[node].stored in HEARD}
        if eye.began != storing.began:
            eye.began = storing.began
            eye.listed.clear()
        eye.listed &= heard
        eye.unheard_us |= dict.fromkeys(set(members) - heard, asked_us)
        if heard <= eye.listed or storing.began is None:
            return
        try:
            java = masters.namenode_bean(addresses, "Runtime", Deadline.after(limits.MASTERS_S), of="java.lang:type=")
        except UnreadableError:
            return
        began_us = self._mailbox.clock.now_us() - (count(java.get("Uptime")) or 0) * 1000
        for node in heard - eye.listed:
            minutes, since_us = storing.nodes[node].reported_min, max(began_us, eye.unheard_us.get(node, began_us))
            if minutes is not None and asked_us - (minutes + 1) * 60 * SECOND_US >= since_us:
                eye.listed.add(node)

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
        self, cluster: LiveCluster, eye: _Eye, leaving: dict[NodeId, Sight], storing: Storage, asked_us: int
    ) -> None:
        """Add the blocks of those that leave with data: a report at first and when HDFS has let them go.

        There is another one at first where a node had not listed its blocks before.
        """
        wanted = [n for n in leaving if leaving[n].stored in (Stored.LEFT, *UNHEARD)]
        missed = [n for n in leaving if n not in wanted and not _has_report(eye.reported[n], n in eye.listed)]
        wanted += [n for n in missed if leaving[n].stored in HEARD]
        if wanted and asked_us >= eye.report_us:
            reports = self._report(self._setup.masters(cluster), storing, wanted, asked_us)
            ended_us = self._mailbox.clock.now_us()
            eye.report_us = ended_us + (limits.REPORT_PART - 1) * (ended_us - asked_us)
            for node in wanted:
                eye.reported[node].report = report = replace(reports[node], has_own=node in eye.listed)
                leaving[node] = replace(leaving[node], blocks=report)
        for node, sight in leaving.items():
            if sight.blocks is None:
                last = eye.reported[node].report
                # Why there was no report stays so until one is asked for again.
                counts = replace(blocks.counts(storing, node), why=last.why if last is not None else "")
                leaving[node] = replace(sight, blocks=counts)

    def _report(
        self, addresses: MasterAddresses, hdfs: Storage, nodes: list[NodeId], asked_us: int
    ) -> Mapping[NodeId, Blocks]:
        sound = blocks.sound(hdfs, self._settings().heard_us)
        return blocks.report(addresses, hdfs, nodes, sound, asked_us, Deadline.after(limits.REPORT_S))

    def _tell_masters(self, cluster: ClusterId, eye: _Eye, now: _Masters, error: str = "") -> None:
        if eye.masters == now:
            return
        eye.masters = now
        if error:
            _log.info("%s cannot be watched: %s", cluster, error)
        self._mailbox.tell(
            lambda at: MastersSeen(
                at_us=at, cluster=cluster, error=error, silent=now.silent, gone=now.gone, unasked=bool(now.unasked)
            )
        )

    def _tell(self, cluster: ClusterId, node: NodeId, last: _LastReport, sight: Sight) -> None:
        waits = _has_report(last) and sight.blocks is not None and not sight.blocks.asked_us
        same = last.sight is not None and (sight.stored is Stored.LEFT or sight.stored is last.sight.stored)
        if waits and same and sight.stored in (Stored.LEFT, *UNHEARD):
            # The next report is not due yet: nothing is known that was not known before.
            return
        news = last.sight is None or _essence(sight) != _essence(last.sight)
        if not news and not self._again(last, sight):
            progressed = last.sight and sight.stored is Stored.LEAVING and _figures(sight) != _figures(last.sight)
            if not progressed or sight.asked_us - last.told_us < self._settings().sample_every_us:
                return

        def tells(at_us: int) -> NodeSeen:
            last.sight, last.told_us, last.news_us = sight, at_us, at_us if news else last.news_us
            generation = last.member.generation
            return NodeSeen(at_us=at_us, cluster=cluster, node=node, generation=generation, sight=sight)

        self._mailbox.tell(tells)

    def _again(self, last: _LastReport, sight: Sight) -> bool:
        """True if it is time to tell once more that a node is missing: it is lost only by a sight of then."""
        goal = last.member.goal
        if goal is Goal.EVACUATING or (sight.compute is not Compute.ABSENT and sight.stored not in UNHEARD):
            return False
        settings = self._settings()
        wait_us = settings.doubt_us if goal is Goal.DRAINING else settings.missing_us
        return sight.asked_us - last.told_us >= max(wait_us, last.told_us - last.news_us)


def _ask(addresses: MasterAddresses) -> tuple[Storage, Mapping[str, ComputeNode]]:
    """The members as the NameNode and the ResourceManager see them; _SilentError for the first that does not say.

    OwnFaultError when the question did not get to one.
    """
    try:
        storing = masters.storage(addresses, Deadline.after(limits.MASTERS_S))
    except OwnFaultError:
        raise
    except UnreadableError as error:
        raise _SilentError(NAMENODE, error) from error
    try:
        return storing, masters.resource_manager_nodes(addresses, Deadline.after(limits.MASTERS_S))
    except OwnFaultError:
        raise
    except UnreadableError as error:
        raise _SilentError(RESOURCE_MANAGER, error) from error


def is_late(node: StorageNode | None) -> bool:
    """True if a DataNode that was not called dead yet has missed heartbeats, or if that is not known."""
    return node is not None and node.alive and (node.silent_s is None or node.silent_s >= limits.UNHEARD_S)


def _has_report(last: _LastReport, listed: bool = False) -> bool:
    """True if there is a report on a node: one that has its own blocks, as soon as it has listed them."""
    return last.report is not None and last.report.known and last.report.has_own >= listed


def _essence(sight: Sight) -> object:
    """The part of a sight that is news at once; the rest is how a drain gets on."""
    report = None if sight.blocks is None else with_counts(replace(sight.blocks, asked_us=0), Blocks())
    return sight.compute, sight.stored, sight.gone, report


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
