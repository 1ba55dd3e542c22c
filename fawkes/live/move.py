"""One move of masters: the old ones are stopped, their data is brought to the new node, the members follow.

Each step may be repeated after a crash of the controller. The point of no return is the mark in the NameNode's folder
of the new node, written right before its NameNode starts: before it all goes back, after it all goes on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from fawkes.core.effects import Goal, Membership, MoveMasters
from fawkes.core.model import Facts, NodeId, Plain, Role
from fawkes.core.proof import NAMED, BlockSeen, reports
from fawkes.core.sight import Blocks
from fawkes.errors import FawkesError, HostError
from fawkes.live import half_done, history, masters
from fawkes.live.blocks import blocks_below
from fawkes.live.clusters import LiveCluster
from fawkes.live.doors import LIST
from fawkes.live.hadoop_conf import Ports
from fawkes.live.hadoop_rpc import REFRESH_NAMENODES, call
from fawkes.live.kept_copy import KeptCopy
from fawkes.live.masters import Application, MasterAddresses
from fawkes.live.measure import is_ours
from fawkes.live.orders import give
from fawkes.live.playbooks import hadoop, lease, node
from fawkes.live.playbooks import moving as book
from fawkes.live.rest import Deadline, UnreadableError
from fawkes.live.skipping import skipping
from fawkes.live.succession import ANSWER_S, LOOK_S, STEP_S, Means, Standing, StayError
from fawkes.live.webhdfs import Hdfs
from fawkes.playbook import Facts as NodeFacts
from fawkes.playbook import Lease, Script

_log = logging.getLogger(__name__)
_RPC_S = 10.0
_FSCK_S = 60.0
_LOOK_EVERY_S = 0.25
#: how many looks at the masters between two looks at the daemons themselves
_LOOKS_PER_STATUS = 12
#: a member that is not back at work within this time (s) does not hold up the others
_MEMBERS_S = 90.0
#: a NameNode that lacks an unknown part of its last edits deletes no replica for so long (s)
_NO_DELETION_S = 600
#: between two looks for missing blocks (s): a DataNode lists its blocks a moment after it has come
_REPORTS_S = 4.0
#: an address that no DataNode has: the report is not about one that leaves
_NOBODY = "-"
_MAPREDUCE = "MAPREDUCE"
_MASTERS = ("namenode", "resourcemanager", "historyserver")
#: applications that have succeeded and are told: those of running jobs are among the newest
_TOLD = 500


@dataclass(frozen=True, slots=True)
class _Brought:
    """What the new masters were given: the last transaction, and up to when it has everything (None: nothing lacks)."""

    txid: int
    copied_us: int | None


class Move:
    """One try to move masters."""

    def __init__(self, means: Means, effect: MoveMasters, before: LiveCluster, current: Callable[[], bool]) -> None:
        self._means = means
        self._ground, self._setup = means.ground, means.setup
        self._effect = effect
        self._current = current
        self._before = before
        self._old, self._to = effect.old, effect.to
        #: with the new masters; the members are those that were reached
        self._after = replace(before, master=effect.to)
        self._reached: list[NodeId] = []
        self._began = time.monotonic()

    def do(self) -> Facts | None:
        """One try, from the beginning or from where an earlier one was cut off."""
        means, name = self._means, self._before.id
        self._reached = means.reached(self._before, [n for n in self._before.members if n != self._old])
        if self._to == self._old:
            self._take_old()
        if self._to not in self._reached:
            if self._effect.planned and means.standing(self._before, self._old).state == "answers":
                # They were never stopped, so nothing was begun elsewhere.
                means.clusters.end_move(name, self._old)
                raise StayError(f"{self._to} does not answer, so its masters stay on {self._old}", where=name)
            raise HostError(f"it does not answer, so it cannot run the masters of {name}", host=self._to)
        brought = self._begun()
        if brought is None:
            try:
                brought = self._bring()
            except StayError:
                means.clusters.end_move(name, self._old)
                raise
        else:
            if self._old != self._to:
                self._stop_old()
            self._lead()
        if brought is None:
            means.clusters.end_move(name, self._old)
            return None
        # Before the new NameNode takes files: an old one that nobody can stop keeps no DataNode that was reached.
        self._lead_datanodes()
        self._start(brought)
        if not self._wait():
            return None
        facts = self._settle(brought)
        means.clusters.end_move(name, self._to, {self._old} - set(self._reached))
        return facts

    # -- before the point of no return

    def _begun(self) -> _Brought | None:
        """What an earlier try brought to the new node; None when it did not come to its point of no return."""
        script = book.look(self._means.lease(self._before, self._to))
        facts = self._ground.run(self._to, script, "looking at the masters", within_s=STEP_S)
        here = (facts.get("moved.from"), facts.number("moved.version")) == (self._old, self._effect.version)
        if not here or facts.get("image") != "yes":
            return None
        return _Brought(facts.number("moved.txid") or 0, facts.number("moved.copied_us"))

    def _bring(self) -> _Brought | None:
        """Stop the old masters, put their data on the new node, tell the members. None: a newer goal came."""
        effect, means = self._effect, self._means
        standing = means.standing(self._before, self._old)
        if standing.state == "answers" and not effect.planned:
            raise StayError("its masters answer, so they stay where they are", where=self._before.id)
        if effect.planned and (standing.state == "silent" or standing.image is not True):
            why = "does not answer" if standing.state == "silent" else "has no readable image of the NameNode"
            raise StayError(f"it {why}, so its masters cannot be moved without loss", where=self._old)
        if not self._current():
            return None
        try:
            copy, whole = self._take(standing)
            if not self._current():
                raise FawkesError("a newer goal came", where=self._before.id)
            means.copies.place(copy, self._to, means.lease(self._before, self._to))
            self._lead()
        except FawkesError as error:
            if effect.planned:
                self._go_back(error)
                raise StayError(f"its masters stay on {self._old}: {error.what}", where=self._before.id) from error
            raise
        brought = _Brought(copy.transaction, None if whole else copy.copied_us)
        self._mark(brought, copy)
        return brought

    def _take(self, standing: Standing) -> tuple[KeptCopy, bool]:
        """The copy that the new masters get, and whether it has everything; the old ones are stopped if they can be."""
        copies, name = self._means.copies, self._before.id
        if standing.state != "silent":
            self._stop_old()
            if standing.image is True:
                return copies.top_up(name, self._old), True
        copy = copies.newest(name)
        if copy is None:
            _, _, at = self._means.copied(self._before, self._reached)
            if at is None:
                raise FawkesError("there is no copy of the data of its masters", where=name)
            copy = copies.fetch(name, NodeId(at))
        return copy, False

    def _stop_old(self) -> None:
        """Stop the old masters for good where their node answers; it then is one of the members that were reached."""
        if self._take_old():
            right = self._means.lease(self._before, self._old)
            self._ground.run(self._old, book.stop(right), "stopping the masters", within_s=STEP_S)

    def _take_old(self) -> bool:
        """Whether the old node answers; its disk may be empty, and then the lease went with it."""
        means, old = self._means, self._old
        right = means.lease(self._before, old)
        try:
            self._ground.run(old, lease.take(right), "taking the node", within_s=LOOK_S)
        except FawkesError as error:
            if means.standing(self._before, old).state != "silent":
                raise
            _log.info("%s: %s", old, error)
            return False
        self._ground.run(old, self._prepare(right), "making folders")
        if old not in self._reached:
            self._reached.append(old)
        return True

    def _prepare(self, right: Lease) -> Script:
        details = self._before.details
        return node.prepare(right, details.run_as, details.leftovers)

    def _go_back(self, why: FawkesError) -> None:
        """Start the masters on their old node again: nothing was begun elsewhere."""
        _log.warning("%s: its masters stay on %s: %s", self._before.id, self._old, why)
        before, old = self._before, self._old
        self._tell(before, old, [n for n in self._reached if n in before.members])
        daemons = self._setup.daemons(before, old, Role.CORE)
        self._ground.run(old, hadoop.start(self._means.lease(before, old), daemons), "starting the masters again")

    def _lead(self) -> None:
        """Write the configuration of the members that were reached: they work for the new masters when started again.

        The old masters are shut out: a node that was not reached is on no list of addresses.
        """
        self._tell(self._after, self._to, self._reached)

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

    def _mark(self, brought: _Brought, copy: KeptCopy) -> None:
        """The point of no return. What may lack its last edits gets numbers for blocks that nobody has used."""
        facts: dict[str, str | int] = {"from": self._old, "version": self._effect.version, "txid": brought.txid}
        right = self._means.lease(self._before, self._to)
        if brought.copied_us is None:
            script = book.arrived(right, facts)
        else:
            name, size, edits = skipping(copy.files, copy.transaction)
            script = book.arrived(right, {**facts, "copied_us": brought.copied_us}, edits, name=name, size=size)
        self._ground.run(self._to, script, "noting where the masters came from")

    # -- from the point of no return on

    def _start(self, brought: _Brought) -> None:
        """Masters on the new node, NodeManagers on all."""
        cluster, to = self._after, self._to
        careful = [f"-Ddfs.namenode.startup.delay.block.deletion.sec={_NO_DELETION_S}"]
        daemons = {
            at: [
                replace(d, argv=[*d.argv, *careful]) if d.name == "namenode" and brought.copied_us is not None else d
                for d in self._setup.daemons(cluster, at, cluster.members[at].role)
                if d.name != "datanode"
            ]
            for at in [*self._computing(), to]
        }
        scripts = {at: hadoop.start(self._means.lease(cluster, at), which) for at, which in daemons.items()}
        self._drop(self._ground.run_on(scripts, "starting daemons", within_s=STEP_S), but=to)

    def _drop(self, outcomes: Mapping[NodeId, NodeFacts | FawkesError], *, but: NodeId) -> None:
        """Members on which a step failed are not waited for; an error on the masters' node is raised."""
        for at, outcome in outcomes.items():
            if isinstance(outcome, FawkesError):
                if at == but:
                    raise outcome
                _log.warning("%s: it is left behind: %s", at, outcome)
                self._reached.remove(at)

    def _wait(self) -> bool:
        """Whether the new masters serve, with all members that were reached; False when a newer goal came."""
        addresses, late = self._setup.masters(self._after), Deadline.after(_MEMBERS_S)
        looks = 0
        while self._current() and not self._stopping:
            try:
                seen = masters.storage(addresses, Deadline.after(ANSWER_S))
                if self._members_back(addresses, seen, late) and self._serves(addresses, seen):
                    return True
            except UnreadableError as error:
                _log.debug("%s: %s", self._after.id, error)
            looks += 1
            if looks % _LOOKS_PER_STATUS == 0:
                self._masters_live()
            self._means.stopping.wait(_LOOK_EVERY_S)
        return False

    @property
    def _stopping(self) -> bool:
        return self._means.stopping.is_set()

    def _lead_datanodes(self) -> None:
        """DataNodes leave the old NameNode for the new one as they run; one that does not is started again."""
        storing = self._storing()
        address = self._ground.nodes[self._to].data_address
        scripts = {}
        for at in storing:
            right = self._means.lease(self._after, at)
            daemons = self._setup.daemons(self._after, at, self._after.members[at].role)
            start = hadoop.start(right, [d for d in daemons if d.name == "datanode"])
            try:
                at_address = self._ground.nodes[at].data_address
                deadline = Deadline.after(_RPC_S)
                user = self._ground.nodes[at].user
                call(at_address, Ports().datanode_ipc, REFRESH_NAMENODES, user, deadline, self._ground.through(at))
                self._ground.run(at, book.following(right, ["datanode"], address), "noting its masters")
            except FawkesError as error:
                _log.info("%s: its DataNode is started again: %s", at, error)
            scripts[at] = start
        self._drop(self._ground.run_on(scripts, "starting DataNodes", within_s=STEP_S), but=self._to)

    def _storing(self) -> list[NodeId]:
        return [n for n in self._reached if self._after.members[n].role is not Role.TRANSIENT]

    def _computing(self) -> list[NodeId]:
        return [n for n in self._reached if self._after.members[n].goal is Goal.SERVING]

    def _members_back(self, addresses: MasterAddresses, seen: masters.Storage, late: Deadline) -> bool:
        """Whether all DataNodes and NodeManagers that were reached are back; some time later those that came count."""
        computing = masters.resource_manager_nodes(addresses, Deadline.after(ANSWER_S))
        since_min = 1 + (time.monotonic() - self._began) // 60
        away = {n for n in self._storing() if not _has_reported(seen.nodes.get(n), since_min)}
        away |= {n for n in self._computing() if n not in computing or computing[n].state != masters.RUNNING}
        if not away:
            return True
        if late.left() > 0 or self._to in away:
            return False
        for at in sorted(away):
            _log.warning("%s: it has not come back to %s, which goes on without it", at, self._after.id)
            self._reached.remove(at)
        return True

    def _serves(self, addresses: MasterAddresses, seen: masters.Storage) -> bool:
        """Whether HDFS takes writes and YARN knows its applications.

        Safe mode lasts as long as blocks are missing. All DataNodes that can be reached have reported: it ends.
        """
        masters.all_applications(addresses, Deadline.after(ANSWER_S), tag="")
        history.answer(addresses, Deadline.after(ANSWER_S))
        if seen.safe_mode:
            self._order("hdfs-thaw")
            return False
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

    def _settle(self, brought: _Brought) -> Facts:
        """End what cannot go on, look at every file, and make the old node a plain member."""
        addresses = self._setup.masters(self._after)
        finished, ended = self._end_applications(addresses)
        found, opened = self._files(addresses)
        if self._old in self._reached and self._old != self._to:
            self._ground.run(
                self._old,
                book.retire(self._means.lease(self._after, self._old)),
                "setting data aside",
                within_s=STEP_S,
            )
        self._means.membership.forget(self._after.id)
        return {
            "txid": brought.txid,
            "copied_us": brought.copied_us,
            "reached": sorted(self._reached),
            "missing": list(found.missing),
            "missing_files": found.missing_files,
            "open": opened[:NAMED],
            "finished": finished,
            "ended": ended,
        }

    def _files(self, addresses: MasterAddresses) -> tuple[Blocks, list[str]]:
        """A report on every block, and the files that are open. Missing blocks are looked for until no more turn up."""
        previous: int | None = None
        while True:
            opened: dict[str, None] = {}
            blocks = _noting_open(blocks_below(addresses, "/", Deadline.after(_FSCK_S)), opened)
            found = reports(blocks, [_NOBODY], set(), 1)[_NOBODY]
            if not found.missing_files or found.missing_files == previous:
                return found, list(opened)
            previous = found.missing_files
            self._means.stopping.wait(_REPORTS_S)

    def _end_applications(self, addresses: MasterAddresses) -> tuple[list[Plain], list[Plain]]:
        """Ids of applications that have succeeded, and rows of those that could not go on.

        No ApplicationMaster has survived. One whose history says that it succeeded, or whose output is committed, is
        finished, whatever the ResourceManager recovered; a second attempt of it would run its work again. The output
        of others is set aside, for it would be in the way of the job that begins again.
        """
        known = masters.all_applications(addresses, Deadline.after(ANSWER_S), tag="")
        newest = [one for one in known if is_ours(one)][-_TOLD:]
        finished = [one.id for one in newest if one.succeeded or self._has_finished(addresses, one)]
        ended: list[Plain] = []
        for one in (one for one in known if not one.ended):
            if one.id not in finished:
                ended.append({"id": one.id, "name": one.name, "user": one.user})
                self._set_aside(addresses, one)
            self._kill(one)
        return list(finished), ended

    def _set_aside(self, addresses: MasterAddresses, one: Application) -> None:
        """Set the output of a job aside that begins again; where that fails the job will say what is in its way."""
        if not is_ours(one) or one.kind != _MAPREDUCE:
            return
        try:
            hdfs = Hdfs.of(addresses, patience_s=_RPC_S)
            if aside := half_done.set_aside(hdfs, half_done.staging(one, self._setup.settings(self._after))):
                _log.info("%s: the unfinished output of %s is in %s", self._after.id, one.id, aside)
        except FawkesError as error:
            _log.warning("%s: the unfinished output of %s is still there: %s", self._after.id, one.id, error)

    def _has_finished(self, addresses: MasterAddresses, one: Application) -> bool:
        """Whether an application succeeded that was cut off, or was ended by an earlier try."""
        if one.kind != _MAPREDUCE or (one.ended and one.state != "KILLED"):
            return False
        if history.succeeded(addresses, one.id, Deadline.after(ANSWER_S)):
            return True
        return half_done.committed(Hdfs.of(addresses), half_done.staging(one, self._setup.settings(self._after)))

    def _kill(self, one: Application) -> None:
        cluster, to = self._after, self._to
        right = self._means.lease(cluster, to)

        def by_client() -> None:
            commands = {"kill": self._setup.kill_argv(cluster, one.id)}
            self._ground.run(to, hadoop.order(right, commands, self._setup.environment(cluster, to)), "ending it")

        give(self._ground, cluster, self._setup.kill_order(cluster, one.id), by_client)


def _has_reported(node: masters.StorageNode | None, since_min: float) -> bool:
    """Whether a DataNode is there and has listed its blocks; where that is not told, that it is there must do."""
    return node is not None and node.alive and (node.reported_min is None or node.reported_min <= since_min)


def _noting_open(blocks: Iterable[BlockSeen], opened: dict[str, None]) -> Iterator[BlockSeen]:
    for block in blocks:
        if block.is_open:
            opened[block.file] = None
        yield block
