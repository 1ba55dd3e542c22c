"""What a move of masters by a copy and a takeover by the second NameNode share.

The old masters are stopped, members are configured, and new masters are waited for until they serve.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from fawkes.base.errors import FawkesError, HostError
from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import Goal, Membership, MoveMasters
from fawkes.core.values.model import NodeId, Role
from fawkes.core.values.proof import BlockSeen, reports
from fawkes.core.values.sight import Blocks
from fawkes.live.base import limits
from fawkes.live.eyes import history
from fawkes.live.eyes.blocks import blocks_below
from fawkes.live.hadoop.doors import LIST
from fawkes.live.hadoop.orders import give
from fawkes.live.masters.succession import Means
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.playbooks import hadoop, lease, node
from fawkes.live.nodes.playbooks import moving as book
from fawkes.live.wire import masters
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.rest import Deadline, UnreadableError
from fawkes.playbook import Facts as NodeFacts
from fawkes.playbook import Lease, Script

_log = logging.getLogger(__name__)
#: how many looks at the masters between two looks at the daemons themselves
_LOOKS_PER_STATUS = 12
#: an address that no DataNode has: the report is not about one that leaves
_NOBODY = "-"
_MASTERS = ("namenode", "resourcemanager", "historyserver")


class Handover:
    """One try to bring masters to another node; ``before`` has the old masters, ``after`` the new ones."""

    def __init__(
        self, means: Means, effect: MoveMasters, before: LiveCluster, after: LiveCluster, current: Callable[[], bool]
    ) -> None:
        self._means = means
        self._ground, self._setup = means.ground, means.setup
        self._effect = effect
        self._current = current
        self._before, self._after = before, after
        self._old, self._to = effect.old, effect.to
        self._members_s = effect.rejoin_us / SECOND_US
        self._reached: list[NodeId] = []
        self._began = time.monotonic()
        self._waits_for = ""
        #: the order by which HDFS leaves safe mode
        self._thaw = "hdfs-thaw"

    def _stop_old(self) -> None:
        """Stop the old masters for good where their node answers; it then is one of the members that were reached."""
        if self._take(self._old):
            right = self._means.lease(self._before, self._old)
            self._ground.run(self._old, book.stop(right), "stopping the masters", within_s=limits.STEP_S)

    def _take(self, at: NodeId) -> bool:
        """True if a node answers; its disk may be empty, and then the lease went with it."""
        means = self._means
        right = means.lease(self._before, at)
        try:
            self._ground.run(at, lease.take(right), "taking the node", within_s=limits.LOOK_S)
        except FawkesError as error:
            if means.standing(self._before, at).state != "silent":
                raise
            _log.info("%s: %s", at, error)
            return False
        self._ground.run(at, self._prepare(right), "making folders")
        if at not in self._reached:
            self._reached.append(at)
        return True

    def _prepare(self, right: Lease) -> Script:
        details = self._before.details
        return node.prepare(right, details.run_as, details.leftovers)

    def _tell(self, cluster: LiveCluster, master: NodeId, nodes: list[NodeId]) -> None:
        """Give nodes the configuration of an MR-cluster; the masters' node must take it, others drop out."""
        reached = replace(cluster, members={n: m for n, m in cluster.members.items() if n in nodes})
        doors = self._setup.doors_list(reached)
        scripts = {}
        for at in nodes:
            files = {**self._setup.files(cluster, at, cluster.members[at].role), LIST: doors}
            scripts[at] = hadoop.configure(self._means.lease(cluster, at), files)
        for at, outcome in self._ground.run_on(scripts, "configuring").items():
            if isinstance(outcome, FawkesError):
                if at in (master, self._old):
                    raise outcome
                _log.warning("%s: it is left behind: %s", at, outcome)
                self._reached.remove(at)
        right = self._means.lease(cluster, master)
        self._ground.run(master, self._prepare(right), "making folders")
        document = self._means.membership.members(Membership(cluster.id, self._effect.version, cluster.members))
        self._ground.run(master, hadoop.refresh(right, document), "writing the members")

    def _drop(self, outcomes: Mapping[NodeId, NodeFacts | FawkesError], *, but: NodeId) -> None:
        """Members on which a step failed are not waited for; an error on the masters' node is raised."""
        for at, outcome in outcomes.items():
            if isinstance(outcome, FawkesError):
                if at == but:
                    raise outcome
                _log.warning("%s: it is left behind: %s", at, outcome)
                self._reached.remove(at)

    def _wait(self) -> bool:
        """True if the new masters serve, with all members that were reached; False when a newer goal came."""
        addresses, late = self._setup.masters(self._after), Deadline.after(self._members_s or math.inf)
        looks = 0
        while self._current() and not self._stopping:
            try:
                self._urge(addresses)
                seen = masters.storage(addresses, Deadline.after(limits.ANSWER_S))
                self._open_hdfs(seen, late)
                if self._members_back(addresses, seen, late) and self._serves(addresses, seen):
                    return True
            except UnreadableError as error:
                self._waits(str(error))
            looks += 1
            if looks % _LOOKS_PER_STATUS == 0:
                self._masters_live()
            self._means.stopping.wait(limits.LOOK_EVERY_S)
        return False

    def _open_hdfs(self, seen: masters.Storage, late: Deadline) -> None:
        """Safe mode lasts as long as blocks are missing. Once all DataNodes that were reached have reported, it ends.

        Nobody else is waited for before: daemons of YARN write to HDFS when they start, and some wait until they can.
        """
        if not seen.safe_mode:
            return
        since_min = 1 + (time.monotonic() - self._began) // 60
        if late.left() <= 0 or all(self._stores(seen.nodes.get(n), since_min) for n in self._storing()):
            self._order(self._thaw)

    def _urge(self, addresses: MasterAddresses) -> None:
        """Before each look: for masters that wait to be told that they may begin. UnreadableError if not known."""

    def _waits(self, why: str) -> None:
        """Log what the move waits for, when that is news."""
        if why != self._waits_for:
            self._waits_for = why
            _log.info("%s: its masters on %s do not serve yet: %s", self._after.id, self._to, why)

    @property
    def _stopping(self) -> bool:
        return self._means.stopping.is_set()

    def _storing(self) -> list[NodeId]:
        return [n for n in self._reached if self._after.members[n].role is not Role.TRANSIENT]

    def _computing(self) -> list[NodeId]:
        return [n for n in self._reached if self._after.members[n].goal is Goal.SERVING]

    def _members_back(self, addresses: MasterAddresses, seen: masters.Storage, late: Deadline) -> bool:
        """True if all DataNodes and NodeManagers that were reached are back; some time later those that came count."""
        computing = masters.resource_manager_nodes(addresses, Deadline.after(limits.ANSWER_S))
        since_min = 1 + (time.monotonic() - self._began) // 60
        away = {n for n in self._storing() if not self._stores(seen.nodes.get(n), since_min)}
        idle = {n for n in self._computing() if n not in computing or computing[n].state != masters.RUNNING}
        away |= idle
        if not away:
            return True
        self._waits(f"{', '.join(sorted(away))} did not come back yet")
        self._bring_back(idle)
        if late.left() > 0 or self._to in away:
            return False
        for at in sorted(away):
            _log.warning("%s: it has not come back to %s, which goes on without it", at, self._after.id)
            self._reached.remove(at)
        return True

    def _bring_back(self, idle: Collection[NodeId]) -> None:
        """NodeManagers are still away: for who can do something about it."""

    def _stores(self, node: masters.StorageNode | None, since_min: float) -> bool:
        """True if a DataNode is there and has listed its blocks; where that is not told, that it is there must do."""
        return node is not None and node.alive and (node.reported_min is None or node.reported_min <= since_min)

    def _serves(self, addresses: MasterAddresses, seen: masters.Storage) -> bool:
        """True if HDFS takes writes and YARN knows its applications."""
        masters.all_applications(addresses, Deadline.after(limits.ANSWER_S), tag="")
        history.answer(addresses, Deadline.after(limits.ANSWER_S))
        return seen.safe_mode == ""

    def _order(self, which: str) -> None:
        cluster = self._after
        right = self._means.lease(cluster, self._to)

        def by_client() -> None:
            commands = {which: self._setup.refresh_argv(cluster, which)}
            self._ground.run(
                self._to, hadoop.order(right, commands, self._setup.environment(cluster, self._to)), "giving an order"
            )

        give(self._ground, cluster, self._setup.order(cluster, which), by_client)

    def _masters_live(self) -> None:
        """HostError for a master that has ended: waiting for it would be in vain."""
        script = hadoop.status(self._ground.folders(self._to, self._after.id), list(_MASTERS))
        facts = self._ground.run(self._to, script, "checking the masters")
        for daemon, state in facts.under("daemon").items():
            if state == "dead":
                raise HostError(f"{daemon} ended: {facts.get(f'why.{daemon}', 'see its log')}", host=self._to)

    def _files(self, addresses: MasterAddresses) -> tuple[Blocks, list[str]]:
        """A report on every block, and the files that are open. Missing blocks are looked for until no more turn up."""
        previous: int | None = None
        while True:
            opened: dict[str, None] = {}
            blocks = _noting_open(blocks_below(addresses, "/", Deadline.after(limits.REPORT_S)), opened)
            found = reports(blocks, [_NOBODY], set(), 1)[_NOBODY]
            if not found.missing_files or found.missing_files == previous:
                return found, list(opened)
            previous = found.missing_files
            self._means.stopping.wait(limits.REPORTS_EVERY_S)


def careful(daemon: hadoop.Daemon) -> hadoop.Daemon:
    """The same, but a NameNode that lacks an unknown part of its last edits deletes no replica for some time."""
    delay = f"-Ddfs.namenode.startup.delay.block.deletion.sec={limits.NO_DELETION_S}"
    return replace(daemon, argv=[*daemon.argv, delay]) if daemon.name == "namenode" else daemon


def _noting_open(blocks: Iterable[BlockSeen], opened: dict[str, None]) -> Iterator[BlockSeen]:
    for block in blocks:
        if block.is_open:
            opened[block.file] = None
        yield block
