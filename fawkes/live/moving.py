"""The masters of an MR-cluster on another node: looked at, stopped, brought back from their copy, members led to them.

Whether and where to is decided in `core.masters`. Each step may be repeated after a crash of the controller. The point
of no return is the mark in the NameNode's folder of the new node, written right before its NameNode starts: before it
everything goes back, after it everything goes on.
"""

from __future__ import annotations

import logging
import mmap
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from fawkes.core.effects import LookAtMasters, Membership, MoveMasters
from fawkes.core.model import ClusterId, Facts, NodeId, Plain, Role
from fawkes.core.proof import NAMED, BlockSeen, reports
from fawkes.errors import FawkesError, HostError
from fawkes.live import edit_log, history, masters, stamps
from fawkes.live.blocks import blocks_below
from fawkes.live.clusters import Clusters, LiveCluster
from fawkes.live.doors import LIST
from fawkes.live.ground import Ground
from fawkes.live.hadoop_conf import Ports
from fawkes.live.hadoop_rpc import REFRESH_NAMENODES, call
from fawkes.live.kept_copy import KeptCopy
from fawkes.live.masters import Application, MasterAddresses
from fawkes.live.measure import is_ours
from fawkes.live.membership import MembershipKeeper
from fawkes.live.orders import give
from fawkes.live.playbooks import hadoop, lease, node
from fawkes.live.playbooks import moving as book
from fawkes.live.rest import Deadline, UnreadableError
from fawkes.live.setup import Setup
from fawkes.live.survey import at_work
from fawkes.playbook import Facts as NodeFacts
from fawkes.playbook import Lease

_log = logging.getLogger(__name__)
#: a node that does not answer within this time (s) is silent
_LOOK_S = 10.0
_ANSWER_S = 5.0
#: steps on a node that stop daemons and wait for their end
_STOP_S = 60.0
_RPC_S = 10.0
_FSCK_S = 60.0
_LOOK_EVERY_S = 0.25
#: how many looks at the masters between two looks at the daemons themselves
_LOOKS_PER_STATUS = 12
#: a member that is not back at work within this time (s) does not hold up the others
_MEMBERS_S = 90.0
#: a NameNode that lacks an unknown part of its last edits deletes no replica for so long (s)
_NO_DELETION_S = 600
_MASTERS = ("namenode", "resourcemanager", "historyserver")
#: applications that have succeeded and are told: those of running jobs are among the newest
_TOLD = 500


class Copies(Protocol):
    """Keeps the copies; `live.keeping.Keeper` is the real one."""

    def newest(self, cluster: ClusterId) -> KeptCopy | None:
        """The controller's copy; None: there is none."""
        ...

    def second(self, cluster: ClusterId, node: NodeId) -> int | None:
        """Up to when (us) the second copy on a node has everything; None: there is none. HostError."""
        ...

    def fetch(self, cluster: ClusterId, node: NodeId) -> KeptCopy:
        """The second copy on a node becomes the controller's; FawkesError when it cannot."""
        ...

    def top_up(self, cluster: ClusterId, old: NodeId) -> KeptCopy:
        """The controller's copy with all that stopped masters have; FawkesError when they cannot be read."""
        ...

    def place(self, copy: KeptCopy, node: NodeId, lease: Lease) -> None:
        """Put a copy where masters of a node read it; what was there is set aside. FawkesError says why not."""
        ...

    def held(self, cluster: ClusterId) -> AbstractContextManager[None]:
        """Nothing is copied meanwhile."""
        ...


class MastersLiveError(FawkesError):
    """The masters that were to be replaced answer after all: nothing was done."""


@dataclass(frozen=True, slots=True)
class _Standing:
    """How masters stand on their node: ``state`` as in `LookAtMasters`, ``image`` None where it is not known."""

    state: str
    image: bool | None


@dataclass(frozen=True, slots=True)
class _Brought:
    """What the new masters were given: the last transaction, and up to when it has everything (None: nothing lacks)."""

    txid: int
    copied_us: int | None


class MastersMover:
    """Reaches `LookAtMasters` and `MoveMasters` goals."""

    def __init__(
        self,
        ground: Ground,
        clusters: Clusters,
        setup: Setup,
        membership: MembershipKeeper,
        copies: Copies,
        stopping: threading.Event,
    ) -> None:
        self._ground = ground
        self._clusters = clusters
        self._setup = setup
        self._membership = membership
        self._copies = copies
        self._stopping = stopping

    def reach(self, effect: LookAtMasters | MoveMasters, current: Callable[[], bool]) -> Facts | None:
        """The facts by which the goal ends, all of them fresh; None when a newer goal came.

        MastersLiveError when masters that were given up answer after all. Any other FawkesError: the goal may be tried
        again.
        """
        cluster = self._cluster(effect.cluster)
        if effect.to not in cluster.members:
            raise HostError(f"it is not a member of {cluster.id}", host=effect.to)
        if isinstance(effect, LookAtMasters):
            return self._look(cluster, effect)
        self._clusters.begin_move(cluster.id, effect.to)
        with self._copies.held(cluster.id):
            return _Deed(self, effect, replace(cluster, master=effect.old), current).do()

    def _look(self, cluster: LiveCluster, effect: LookAtMasters) -> Facts:
        """How the masters, their image, their copy and the members are at this moment; changes nothing."""
        self._setup.java_home(cluster, effect.to)
        reached = self._reached(cluster, [n for n in cluster.members if n not in (effect.old, effect.to)])
        if not self._reached(cluster, [effect.to]) and effect.to != effect.old:
            raise HostError(f"it does not answer, so it cannot run the masters of {cluster.id}", host=effect.to)
        standing = self._standing(cluster, effect.old)
        copied_us, transaction, at = self._copied(cluster, reached)
        return {
            "old": standing.state,
            "image": standing.image,
            "copied_us": copied_us,
            "txid": transaction,
            "copy_at": at,
            "reached": sorted({*reached, effect.to} - {effect.old}),
            "applications": _applications(self._setup.masters(cluster)) if standing.state == "answers" else None,
        }

    def _copied(self, cluster: LiveCluster, reached: Iterable[NodeId]) -> tuple[int | None, int | None, str | None]:
        """Up to when the newest copy has everything, its last transaction, and who has it.

        A second copy counts only where the controller has none: it is never newer.
        """
        copy = self._copies.newest(cluster.id)
        if copy is not None:
            return copy.copied_us, copy.transaction, "controller"
        for at in sorted(reached):
            if cluster.members[at].role is Role.CORE:
                try:
                    copied_us = self._copies.second(cluster.id, at)
                except FawkesError as error:
                    _log.info("%s: its copy is not known: %s", at, error)
                    continue
                if copied_us is not None:
                    return copied_us, None, at
        return None, None, None

    def _cluster(self, name: ClusterId) -> LiveCluster:
        cluster = self._clusters.get(name)
        if cluster is None:
            raise FawkesError("it is not running, so it has no masters", where=name)
        return cluster

    def _lease(self, cluster: LiveCluster, at: NodeId) -> Lease:
        return self._ground.lease(at, cluster.id, cluster.members[at].generation)

    def _reached(self, cluster: LiveCluster, nodes: Iterable[NodeId]) -> list[NodeId]:
        """The nodes that answer and take orders of this controller for the MR-cluster."""
        scripts = {n: lease.claim(self._lease(cluster, n)) for n in sorted(nodes)}
        outcomes = self._ground.run_on(scripts, "asking the node", within_s=_LOOK_S)
        return [n for n, outcome in outcomes.items() if not isinstance(outcome, FawkesError)]

    def _standing(self, cluster: LiveCluster, at: NodeId) -> _Standing:
        try:
            masters.answer(self._setup.masters(replace(cluster, master=at)), Deadline.after(_ANSWER_S))
            state = "answers"
        except UnreadableError:
            state = ""
        try:
            facts = self._ground.run(
                at, book.look(self._lease(cluster, at)), "looking at the masters", within_s=_STOP_S
            )
        except FawkesError as error:
            _log.info("%s: %s", at, error)
            return _Standing(state or "silent", None)
        alive = {"namenode", "resourcemanager"} & set(facts.under("process"))
        image = {"yes": True, "no": False}.get(facts.get("image", ""))
        return _Standing(state or ("runs" if alive else "stopped"), image)


class _Deed:
    """One try to move masters."""

    def __init__(
        self, mover: MastersMover, effect: MoveMasters, before: LiveCluster, current: Callable[[], bool]
    ) -> None:
        self._mover = mover
        self._ground, self._setup = mover._ground, mover._setup
        self._effect = effect
        self._current = current
        self._before = before
        self._old, self._to = effect.old, effect.to
        #: with the new masters; the members are those that were reached
        self._after = replace(before, master=effect.to)
        self._reached: list[NodeId] = []

    def do(self) -> Facts | None:
        """One try, from the beginning or from where an earlier one was cut off."""
        mover, name = self._mover, self._before.id
        self._reached = mover._reached(self._before, [n for n in self._before.members if n != self._old])
        if self._to == self._old:
            self._stop_old()
        if self._to not in self._reached:
            raise HostError(f"it does not answer, so it cannot run the masters of {name}", host=self._to)
        brought = self._begun()
        if brought is None:
            try:
                brought = self._bring()
            except MastersLiveError:
                mover._clusters.end_move(name, self._old)
                raise
        else:
            self._stop_old()
            self._lead()
        if brought is None:
            return None
        self._start(brought)
        if not self._wait():
            return None
        facts = self._settle(brought)
        mover._clusters.end_move(name, self._to, {self._old} - set(self._reached))
        return facts

    # -- before the point of no return

    def _begun(self) -> _Brought | None:
        """What an earlier try brought to the new node; None when it did not come to its point of no return.

        HostError when it did so on another node.
        """
        scripts = {n: book.look(self._mover._lease(self._before, n)) for n in self._reached}
        found = self._ground.run_on(scripts, "looking at the masters", within_s=_STOP_S)
        for at, facts in sorted(found.items()):
            if isinstance(facts, FawkesError) or facts.get("moved.from") != self._old or at == self._to:
                continue
            if "namenode" in facts.under("process"):
                raise HostError(
                    f"the masters of {self._before.id} run there since an earlier try to move them",
                    host=at,
                    hint=f"Go on with it: `fawkes move-masters {self._before.id} --to {at}`",
                )
        facts = found[self._to]
        if isinstance(facts, FawkesError):
            raise facts
        if facts.get("moved.from") != self._old or facts.get("image") != "yes":
            return None
        return _Brought(facts.number("moved.txid") or 0, facts.number("moved.copied_us"))

    def _bring(self) -> _Brought | None:
        """Stop the old masters, put their data on the new node, tell the members. None: a newer goal came."""
        effect, mover = self._effect, self._mover
        standing = mover._standing(self._before, self._old)
        if standing.state == "answers" and not effect.planned:
            raise MastersLiveError("its masters answer, so they stay where they are", where=self._before.id)
        if effect.planned and (standing.state == "silent" or standing.image is not True):
            why = "does not answer" if standing.state == "silent" else "has no readable image of the NameNode"
            raise HostError(f"it {why}, so the masters cannot be moved without loss", host=self._old)
        if not self._current():
            return None
        try:
            copy, whole = self._take(standing)
            if not self._current():
                raise FawkesError("a newer goal came", where=self._before.id)
            mover._copies.place(copy, self._to, mover._lease(self._before, self._to))
            self._lead()
        except FawkesError as error:
            if effect.planned:
                self._go_back(error)
            raise
        brought = _Brought(copy.transaction, None if whole else copy.copied_us)
        self._mark(brought, copy)
        return brought

    def _take(self, standing: _Standing) -> tuple[KeptCopy, bool]:
        """The copy that the new masters get, and whether it has everything; the old ones are stopped if they can be."""
        copies, name = self._mover._copies, self._before.id
        if standing.state != "silent":
            self._stop_old()
            if standing.image is True:
                return copies.top_up(name, self._old), True
        copy = copies.newest(name)
        if copy is None:
            _, _, at = self._mover._copied(self._before, self._reached)
            if at is None:
                raise FawkesError("there is no copy of the data of its masters", where=name)
            copy = copies.fetch(name, NodeId(at))
        return copy, False

    def _stop_old(self) -> None:
        """Stop the old masters for good where their node answers; it then is one of the members that were reached."""
        mover, old = self._mover, self._old
        right = mover._lease(self._before, old)
        try:
            # Its disk may be empty: then the lease went with it.
            self._ground.run(old, lease.take(right), "taking the node", within_s=_LOOK_S)
        except FawkesError as error:
            if mover._standing(self._before, old).state != "silent":
                raise
            _log.info("%s: %s", old, error)
            return
        self._ground.run(old, book.stop(right), "stopping the masters", within_s=_STOP_S)
        self._ground.run(old, node.prepare(right), "making folders")
        if old not in self._reached:
            self._reached.append(old)

    def _go_back(self, why: FawkesError) -> None:
        """Start the masters on their old node again: nothing was begun elsewhere."""
        _log.warning("%s: its masters stay on %s: %s", self._before.id, self._old, why)
        before, old = self._before, self._old
        self._ground.run(self._to, book.stop(self._mover._lease(before, self._to)), "stopping masters")
        self._tell(before, old, [n for n in self._reached if n in before.members])
        daemons = self._setup.daemons(before, old, Role.CORE)
        self._ground.run(old, hadoop.start(self._mover._lease(before, old), daemons), "starting the masters again")

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
            scripts[at] = hadoop.configure(self._mover._lease(cluster, at), files)
        for at, outcome in self._ground.run_on(scripts, "configuring").items():
            if isinstance(outcome, FawkesError):
                if at in (master, self._old):
                    raise outcome
                _log.warning("%s: it is left behind: %s", at, outcome)
                self._reached.remove(at)
        right = self._mover._lease(cluster, master)
        self._ground.run(master, node.prepare(right), "making folders")
        document = self._mover._membership.members(Membership(cluster.id, cluster.version, cluster.members))
        self._ground.run(master, hadoop.refresh(right, document), "writing the members")

    def _mark(self, brought: _Brought, copy: KeptCopy) -> None:
        """The point of no return. What may lack its last edits gets numbers for blocks that nobody has used."""
        facts: dict[str, str | int] = {"from": self._old, "version": self._effect.version, "txid": brought.txid}
        right = self._mover._lease(self._before, self._to)
        if brought.copied_us is None:
            script = book.arrived(right, facts)
        else:
            name, size, edits = skipping(copy.files, copy.transaction)
            script = book.arrived(right, {**facts, "copied_us": brought.copied_us}, edits, name=name, size=size)
        self._ground.run(self._to, script, "noting where the masters came from")

    # -- from the point of no return on

    def _start(self, brought: _Brought) -> None:
        """Masters on the new node, NodeManagers on all; DataNodes are led to the NameNode once it answers."""
        cluster, to, stop = self._after, self._to, self._mover._lease
        careful = [f"-Ddfs.namenode.startup.delay.block.deletion.sec={_NO_DELETION_S}"]
        daemons = {
            at: [
                replace(d, argv=[*d.argv, *careful]) if d.name == "namenode" and brought.copied_us is not None else d
                for d in self._setup.daemons(cluster, at, cluster.members[at].role)
                if d.name != "datanode"
            ]
            for at in self._reached
        }
        scripts = {at: hadoop.start(stop(cluster, at), which) for at, which in daemons.items()}
        self._drop(self._ground.run_on(scripts, "starting daemons", within_s=_STOP_S), but=to)

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
        addresses, led, late = self._setup.masters(self._after), False, Deadline.after(_MEMBERS_S)
        looks = 0
        while self._current() and not self._stopping:
            try:
                seen = masters.storage(addresses, Deadline.after(_ANSWER_S))
                if not led:
                    self._lead_datanodes()
                    led = True
                if self._members_back(addresses, seen, late) and self._serves(addresses, seen):
                    return True
            except UnreadableError as error:
                _log.debug("%s: %s", self._after.id, error)
            looks += 1
            if looks % _LOOKS_PER_STATUS == 0:
                self._masters_live()
            self._mover._stopping.wait(_LOOK_EVERY_S)
        return False

    @property
    def _stopping(self) -> bool:
        return self._mover._stopping.is_set()

    def _lead_datanodes(self) -> None:
        """DataNodes go over to the new NameNode as they run; one that does not is started again."""
        storing = self._storing()
        address = self._ground.nodes[self._to].data_address
        scripts = {}
        for at in storing:
            right = self._mover._lease(self._after, at)
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
        self._drop(self._ground.run_on(scripts, "starting DataNodes", within_s=_STOP_S), but=self._to)

    def _storing(self) -> list[NodeId]:
        return [n for n in self._reached if self._after.members[n].role is not Role.TRANSIENT]

    def _members_back(self, addresses: MasterAddresses, seen: masters.Storage, late: Deadline) -> bool:
        """Whether all DataNodes and NodeManagers that were reached are back; some time later those that came count."""
        computing = masters.resource_manager_nodes(addresses, Deadline.after(_ANSWER_S))
        away = {n for n in self._storing() if not (found := seen.nodes.get(n)) or not found.alive or not found.reported}
        away |= {n for n in self._reached if n not in computing or computing[n].state != masters.RUNNING}
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
        masters.all_applications(addresses, Deadline.after(_ANSWER_S), tag="")
        if seen.safe_mode:
            self._order("hdfs-thaw")
            return False
        return seen.safe_mode == ""

    def _order(self, which: str) -> None:
        cluster = self._after
        right = self._mover._lease(cluster, self._to)

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
        opened: dict[str, None] = {}
        found = reports(_noting_open(blocks_below(addresses, "/", Deadline.after(_FSCK_S)), opened), ["-"], set(), 1)[
            "-"
        ]
        if self._old in self._reached and self._old != self._to:
            self._ground.run(
                self._old,
                book.retire(self._mover._lease(self._after, self._old)),
                "setting data aside",
                within_s=_STOP_S,
            )
        self._mover._membership.forget(self._after.id)
        return {
            "txid": brought.txid,
            "copied_us": brought.copied_us,
            "reached": sorted(self._reached),
            "missing": list(found.missing),
            "missing_files": found.missing_files,
            "open": list(opened)[:NAMED],
            "finished": finished,
            "ended": ended,
        }

    def _end_applications(self, addresses: MasterAddresses) -> tuple[list[Plain], list[Plain]]:
        """Ids of applications that have succeeded, and rows of those that could not go on.

        No ApplicationMaster has survived. One whose history says that it succeeded is finished, whatever the
        ResourceManager recovered; a second attempt of it would run its work again.
        """
        known = masters.all_applications(addresses, Deadline.after(_ANSWER_S), tag="")
        finished = [one.id for one in known if one.succeeded and is_ours(one)][-_TOLD:]
        ended: list[Plain] = []
        for one in (one for one in known if not one.ended):
            if history.succeeded(addresses, one.id, Deadline.after(_ANSWER_S)):
                finished.append(one.id)
            else:
                ended.append({"id": one.id, "name": one.name, "user": one.user})
            self._kill(one)
        return list(finished), ended

    def _kill(self, one: Application) -> None:
        cluster, to = self._after, self._to
        right = self._mover._lease(cluster, to)

        def by_client() -> None:
            commands = {"kill": self._setup.kill_argv(cluster, one.id)}
            self._ground.run(to, hadoop.order(right, commands, self._setup.environment(cluster, to)), "ending it")

        give(self._ground, cluster, self._setup.kill_order(cluster, one.id), by_client)


def skipping(folder: Path, last: int) -> tuple[str, int, bytes]:
    """The segment of edits to append to, its size, and the operations by which block numbers skip what was lost.

    ``folder`` has the files of a NameNode up to transaction ``last``. FawkesError when they cannot be read.
    """
    names = [path.name for path in folder.iterdir()]
    image, segments = edit_log.newest_image(names), edit_log.needed(names)
    try:
        if image is None or segments is None:
            raise ValueError("the copy has no image")
        with (
            (folder / edit_log.image_name(image)).open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            now = stamps.stamps_of(data)
        for segment in segments:
            now = stamps.after(now, (folder / segment.name).read_bytes()[stamps.HEADER.size :])
    except (OSError, ValueError) as error:
        raise FawkesError(f"the copy of the NameNode's data cannot be read: {error}", where=str(folder)) from error
    edits = stamps.leap(now, last)
    if segments and segments[-1].last is None:
        name = segments[-1].name
        return name, (folder / name).stat().st_size, edits
    return edit_log.open_name(last + 1), 0, stamps.HEADER.pack(now.layout, 0) + edits


def _noting_open(blocks: Iterable[BlockSeen], opened: dict[str, None]) -> Iterator[BlockSeen]:
    for block in blocks:
        if block.is_open:
            opened[block.file] = None
        yield block


def _applications(addresses: MasterAddresses) -> list[dict[str, Plain]] | None:
    try:
        return at_work(addresses)
    except UnreadableError:
        return None
