"""One list of steps for masters that go to another node, or start again where they are, planned or not.

The old masters are stopped, their data is handed over, members are led to the new ones, and these are waited for until
they serve. Each step may be repeated after a crash of the controller. Up to the point of no return it all goes back,
after it all goes on. `DataHandover`, `Takeover` and `JournalBegin` have the steps that differ.
"""

from __future__ import annotations

import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from fawkes.base.errors import FawkesError, NodeAwayError
from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import Goal, MoveMasters
from fawkes.core.values.model import Facts, NodeId
from fawkes.core.values.proof import NAMED, BlockSeen, reports
from fawkes.core.values.sight import Blocks
from fawkes.live.base import limits
from fawkes.live.data.left_open import LeftOpen
from fawkes.live.eyes import history
from fawkes.live.eyes.blocks import blocks_below
from fawkes.live.hadoop.doors import LIST
from fawkes.live.hadoop.orders import AddressedOrder, give
from fawkes.live.masters.change import Change
from fawkes.live.masters.succession import Means, StayError
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.playbooks import hadoop, lease
from fawkes.live.nodes.playbooks import moving as book
from fawkes.live.wire import masters
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.rest import Deadline, NoTicketError, UnreadableError

_log = logging.getLogger(__name__)
#: an address that no DataNode has: the report is not about one that leaves
_NOBODY = "-"
_MASTERS = ("namenode", "resourcemanager", "historyserver")


class Handover(Change, ABC):
    """One try; ``before`` has the old masters, ``cluster`` the new ones."""

    def __init__(
        self, means: Means, effect: MoveMasters, before: LiveCluster, cluster: LiveCluster, current: Callable[[], bool]
    ) -> None:
        super().__init__(means, cluster, current)
        self._effect = effect
        self._before = before
        self._old, self._to = effect.old, effect.to
        self._members_s = effect.rejoin_us / SECOND_US
        self._began = time.monotonic()
        self._waits_for = ""
        self._next_starts = Deadline.after(0)
        #: configurations that were built before anything was stopped, of the old masters (True) or the new, by node
        self._built: dict[tuple[bool, NodeId], Mapping[str, str | bytes]] = {}

    # -- the steps

    def do(self) -> Facts | None:
        """The facts of a move that has come to its end; None when a newer goal came."""
        others = [n for n in self._before.members if n != self._old]
        self._reached = self._means.reached(self._before, others)
        return self._walk()

    def _walk(self) -> Facts | None:
        """All steps, from the first one or from where an earlier try was cut off."""
        clusters, name = self._means.clusters, self._before.id
        try:
            if self._begun():
                self._go_on()
            else:
                self._may_begin()
                if not self._current():
                    clusters.end_move(name, self._old)
                    return None
                self._hand_over()
        except StayError:
            clusters.end_move(name, self._old)
            raise
        self._lead()
        if not self._wait():
            return None
        facts = self._settle()
        self._means.membership.forget(name)
        clusters.arm(name, self._cluster.standby)
        clusters.end_move(name, self._to, {self._old} - set(self._reached))
        return facts

    @abstractmethod
    def _begun(self) -> bool:
        """True if an earlier try has come to the point of no return."""

    def _go_on(self) -> None:
        """Repeat what goes before the point of no return and may be undone by now."""

    def _may_begin(self) -> None:
        """StayError when the masters stay where they are, another error when they cannot be handed over now."""

    @abstractmethod
    def _hand_over(self) -> None:
        """Bring what the old masters know to the new ones, up to the point of no return; StayError if it went back."""

    def _lead(self) -> None:
        """Start the new masters and their members, where the handover has not done that."""

    @abstractmethod
    def _settle(self) -> Facts:
        """See to what goes on and what cannot, and look at every file; the facts for the core."""

    # -- nodes

    def _stop_old(self) -> None:
        """Stop the old masters for good where their node answers; it then is one of the members that were reached."""
        if self._take(self._old):
            self._run(self._old, book.stop(self._right(self._old)), "stopping the masters", limits.STEP_S)

    def _take(self, at: NodeId) -> bool:
        """True if a node answers; its disk may be empty, and then the lease went with it.

        One whose disk is away, with no masters at work, is left alone as one that does not answer.
        """
        try:
            self._run(at, lease.take(self._right(at)), "taking the node", limits.LOOK_S)
        except FawkesError as error:
            left = ("silent", "stopped") if isinstance(error, NodeAwayError) else ("silent",)
            if self._means.standing(self._before, at).state not in left:
                raise
            _log.info("%s: %s", at, error)
            return False
        self._make_folders(at)
        if at not in self._reached:
            self._reached.append(at)
        return True

    def _build(self, nodes: Iterable[NodeId]) -> None:
        """Build what `_tell` gives to nodes, both ways, while the masters still work: keytab or KDC may be away."""
        self._need_login(self._to)
        for at in nodes:
            for cluster in (self._before, self._cluster):
                files = self._setup.files(cluster, at, cluster.members[at].role)
                self._built[cluster is self._before, at] = files

    def _tell(self, cluster: LiveCluster) -> None:
        """Give the nodes that were reached a configuration; the masters' node must take it, others drop out.

        A node that was not reached is on no list of addresses.
        """
        reached = replace(cluster, members={n: m for n, m in cluster.members.items() if n in self._reached})
        doors = self._setup.doors_list(reached)
        scripts = {}
        for at in self._reached:
            built = self._built.get((cluster is self._before, at))
            files = built or self._setup.files(cluster, at, cluster.members[at].role)
            scripts[at] = hadoop.configure(self._right(at), {**files, LIST: doors})
        self._run_on_each(scripts, "configuring", (cluster.master, self._old), None)
        self._make_folders(cluster.master)
        self._write_members(cluster.master, self._effect.version)

    def _start(self, nodes: Iterable[NodeId], names: Collection[str], doing: str) -> None:
        """Start daemons; a node on which that fails is left behind, unless it is the one of the masters."""
        self._run_on_each(self._starts(nodes, names), doing, [self._to])

    def _computing(self) -> list[NodeId]:
        return [n for n in self._reached if self._cluster.members[n].goal is Goal.SERVING]

    # -- waiting until they serve

    def _wait(self) -> bool:
        """True if the new masters serve, with all members that were reached; False when a newer goal came."""
        addresses, late = self._setup.masters(self._cluster), Deadline.after(self._members_s or math.inf)
        for look in self._looks():
            try:
                self._urge(addresses)
                seen = masters.storage(addresses, Deadline.after(limits.ANSWER_S))
                self._open_hdfs(seen, late)
                if self._members_back(addresses, seen, late) and self._serves(addresses, seen):
                    return True
            except NoTicketError:
                # This try cannot know when they serve: the next one goes on from here.
                raise
            except UnreadableError as error:
                self._waits(str(error))
            self._check_alive(look, [self._to], _MASTERS, ("running", "absent"))
        return False

    def _urge(self, addresses: MasterAddresses) -> None:
        """Help masters, before each look, that wait to be told that they may begin. UnreadableError if not known."""

    def _waits(self, why: str) -> None:
        """Log what the move waits for, when that is news."""
        if why != self._waits_for:
            self._waits_for = why
            _log.info("%s: its masters on %s do not serve yet: %s", self._cluster.id, self._to, why)

    def _open_hdfs(self, seen: masters.Storage, late: Deadline) -> None:
        """Safe mode lasts as long as blocks are missing. Once all DataNodes that were reached have reported, it ends.

        Nobody else is waited for before: daemons of YARN write to HDFS when they start, and some wait until they can.
        """
        if seen.safe_mode and (late.left() <= 0 or not self._not_stored(seen)):
            # DataNodes have blocks of the moments that a copy lacks.
            self._order("hdfs-open" if self._careful else "hdfs-thaw")

    def _not_stored(self, seen: masters.Storage) -> set[NodeId]:
        """The nodes whose DataNode is not there, or has not listed its blocks yet."""
        since_min = 1 + (time.monotonic() - self._began) // 60
        return {n for n in self._storing(self._reached) if not self._stores(seen.nodes.get(n), since_min)}

    def _stores(self, node: masters.StorageNode | None, since_min: float) -> bool:
        """True if a DataNode is there and has listed its blocks; where that is not told, that it is there must do."""
        return node is not None and node.alive and (node.reported_min is None or node.reported_min <= since_min)

    def _members_back(self, addresses: MasterAddresses, seen: masters.Storage, late: Deadline) -> bool:
        """True if all DataNodes and NodeManagers that were reached are back; some time later those that came count."""
        computing = masters.resource_manager_nodes(addresses, Deadline.after(limits.ANSWER_S))
        idle = {n for n in self._computing() if n not in computing or computing[n].state != masters.RUNNING}
        silent = self._not_stored(seen)
        away = silent | idle
        if not away:
            return True
        self._waits(f"{', '.join(sorted(away))} did not come back yet")
        self._bring_back(silent, idle)
        if late.left() > 0 or self._to in away:
            return False
        for at in sorted(away):
            _log.warning("%s: it has not come back to %s, which goes on without it", at, self._cluster.id)
            self._reached.remove(at)
        return True

    def _bring_back(self, silent: Collection[NodeId], idle: Collection[NodeId]) -> None:
        """Start workers again that have ended, now and then; one that runs by the word of its node is left alone."""
        if self._next_starts.left() > 0:
            return
        self._next_starts = Deadline.after(limits.WORKERS_EVERY_S)
        away: dict[NodeId, list[str]] = {}
        for name, nodes in (("datanode", silent), ("nodemanager", idle)):
            for at in nodes:
                away.setdefault(at, []).append(name)
        starts = {at: self._starts([at], away[at])[at] for at in self._reached if at in away}
        outcomes = self._ground.run_on(starts, "starting workers that have ended", within_s=limits.LOOK_S)
        for at, outcome in outcomes.items():
            if isinstance(outcome, FawkesError):
                _log.info("%s: %s", at, outcome)

    def _serves(self, addresses: MasterAddresses, seen: masters.Storage) -> bool:
        """True if HDFS takes writes and YARN knows its applications."""
        masters.all_applications(addresses, Deadline.after(limits.ANSWER_S), tag="")
        history.answer(addresses, Deadline.after(limits.ANSWER_S))
        return seen.safe_mode == ""

    def _order(self, which: str) -> None:
        """Give the new masters one of the orders of `Setup`."""
        cluster = self._cluster
        self._give(which, self._setup.order(cluster, which), lambda: self._setup.refresh_argv(cluster, which))

    def _give(self, name: str, order: AddressedOrder, command: Callable[[], list[str]]) -> None:
        """Give an order over RPC, or by the command of a client where that cannot be."""
        cluster, at = self._cluster, self._to

        def by_client() -> None:
            environment = self._setup.environment(cluster, at)
            self._run(at, hadoop.order(self._right(at), {name: command()}, environment), "giving an order")

        give(self._ground, cluster, order, by_client)

    # -- what came of it

    def _files(self, addresses: MasterAddresses, ended: Iterable[str]) -> Facts:
        """The files with missing blocks, and those that are open; what ``ended`` applications had open is closed.

        Missing blocks are looked for until no more turn up.
        """
        previous: int | None = None
        while True:
            opened: dict[str, None] = {}
            blocks = _noting_open(blocks_below(addresses, "/", Deadline.after(limits.REPORT_S)), opened)
            seen: Blocks = reports(blocks, [_NOBODY], set(), 1)[_NOBODY]
            if not seen.missing_files or seen.missing_files == previous:
                break
            previous = seen.missing_files
            self._means.stopping.wait(limits.REPORTS_EVERY_S)
        closed = LeftOpen(self._ground, self._setup, self._cluster).close_ended(list(ended))
        return {
            "missing": list(seen.missing),
            "missing_files": seen.missing_files,
            "open": [path for path in opened if path not in closed][:NAMED],
        }


def _noting_open(blocks: Iterable[BlockSeen], opened: dict[str, None]) -> Iterator[BlockSeen]:
    for block in blocks:
        if block.is_open:
            opened[block.file] = None
        yield block
