"""Membership documents: written on the master, one refresh at a time for each MR-cluster, the latest version wins."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from fawkes.base.errors import FawkesError
from fawkes.base.units import SECOND_US
from fawkes.core.state.state import State
from fawkes.core.values.adopted import KeptCluster
from fawkes.core.values.effects import Goal, Membership
from fawkes.core.values.model import ClusterId, Facts, NodeLife, Role
from fawkes.live.base import limits
from fawkes.live.clusters.former import FormerNodes
from fawkes.live.hadoop.doors import LIST
from fawkes.live.hadoop.orders import give, tell
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import hadoop
from fawkes.live.nodes.playbooks import job as book
from fawkes.live.wire import masters
from fawkes.live.wire.rest import Deadline
from fawkes.playbook import Exit, Folders, Lease
from fawkes.store.record import text_of

_log = logging.getLogger(__name__)


class MembershipKeeper:
    """Reaches `Membership` goals; remembers what each master was told last, to spare refreshes that change nothing."""

    def __init__(self, ground: Ground, clusters: Clusters, setup: Setup, *, workers_s: float) -> None:
        """A worker that does not answer within ``workers_s`` gets its list at the next try."""
        self._ground = ground
        self._clusters = clusters
        self._setup = setup
        self._workers_s = workers_s
        self._lock = threading.Lock()
        #: whose turn it is to tell masters: what an older look allows must not be told after that of a newer one
        self._turns: defaultdict[ClusterId, threading.Lock] = defaultdict(threading.Lock)
        self._former = FormerNodes()
        self._sent: dict[ClusterId, dict[str, str]] = {}
        self._kept: dict[ClusterId, str] = {}
        #: second NameNodes that were not told of the newest list
        self._behind: set[ClusterId] = set()

    def adopt(self, view: State) -> None:
        """Take over what the ledger says, after a restart: who serves, or has served since its last wipe."""
        served = (NodeLife.SERVING, NodeLife.DRAINING, NodeLife.EVACUATING, NodeLife.LOST)
        for cluster in view.clusters:
            nodes = (view.nodes[name] for name in view.nodes_of(cluster))
            self._former.trust(cluster, ((n.node.id, n.generation) for n in nodes if n.life in served))

    def apply(self, effect: Membership) -> Facts | None:
        """Make the masters know the document; None when the MR-cluster is not there any more.

        FawkesError while its masters are being moved: the new ones get the members as they are then.
        """
        self._need_standing(effect.cluster)
        if self._clusters.changed(effect) is None:
            return None
        self.keep(effect.cluster)
        if effect.afresh:
            self.forget(effect.cluster)
        return {"refreshed": self._tell(effect.cluster)}

    def _need_standing(self, name: ClusterId) -> None:
        """FawkesError while its masters are being moved."""
        if (to := self._clusters.moving(name)) is not None:
            raise FawkesError(f"its NameNodes move or start again ({to})", where=name)

    def _tell(self, name: ClusterId) -> list[str]:
        """Tell the masters what is news to them, one after the other: the names of that."""
        with self._turn(name):
            # Who had the turn before may have told more than was known when this one was asked for.
            cluster, sent = self._clusters.get(name), list[str]()
            while cluster is not None:
                self._need_standing(name)
                effect = _document(cluster)
                self._look_for_former(cluster, effect)
                sent += self._tell_in_turn(cluster, effect)
                cluster = self._outdated(cluster)
            return list(dict.fromkeys(sent))

    def _outdated(self, written: LiveCluster) -> LiveCluster | None:
        """The MR-cluster as it is now if its nodes take other connections than were just written; else None.

        Nodes that join write their list without a turn. Without this look one that was made before,
        and written after theirs, would stay: masters would turn the node away for ever.
        """
        now = self._clusters.get(written.id)
        return None if now is None or self._setup.doors_list(now) == self._setup.doors_list(written) else now

    def _look_for_former(self, cluster: LiveCluster, effect: Membership) -> None:
        """Ask the NameNode about members that have just joined with data; UnreadableError when it does not answer."""
        now_s = time.monotonic()
        if self._former.note(cluster.id, effect.members, now_s):
            seen = masters.storage(self._setup.masters(cluster), Deadline.after(limits.MASTERS_S)).nodes
            self._former.look(cluster.id, effect.members, seen, now_s)

    def _tell_in_turn(self, cluster: LiveCluster, effect: Membership) -> list[str]:
        members = self.members(effect)
        documents = self.documents(cluster, members)
        with self._lock:
            known = self._sent.get(effect.cluster, {})
        names = [name for name, listed in _READERS.items() if any(known.get(f) != documents[f] for f in listed)]
        if not names:
            return names
        # Side by side: a worker that does not answer holds up neither the masters nor the other workers. The second
        # NameNode must know of a new DataNode before that asks it: one that it turned away never asks it again.
        self._begin_second(cluster, members)
        with ThreadPoolExecutor(1, thread_name_prefix="doors") as thread:
            workers = thread.submit(self._tell_workers, cluster) if "doors" in names else None
            self._refresh(cluster, members, names)
            with self._lock:
                self._sent[effect.cluster] = {name: text for name, text in documents.items() if name != LIST}
            if workers is not None:
                workers.result()
        with self._lock:
            self._sent[effect.cluster] = documents
        return names

    def equip(self) -> None:
        """Give all members the configuration of this version: an older one may have deployed them without doors.

        Their daemons keep what they have until they are restarted; jobs find the door keeper from now on. What fails
        is logged, for the next change of members tries again.
        """
        for cluster in self._clusters.all():
            with self._turn(cluster.id):
                now = self._clusters.get(cluster.id)
                while now is not None and now.ready and self._clusters.moving(now.id) is None:
                    self._equip(now)
                    now = self._outdated(now)

    def _equip(self, cluster: LiveCluster) -> None:
        try:
            scripts = {
                node: hadoop.configure(
                    self._ground.lease(node, cluster.id, member.generation),
                    self._setup.files(cluster, node, member.role),
                )
                for node, member in cluster.members.items()
            }
        except FawkesError as error:
            _log.warning("%s: its nodes keep their configuration: %s", cluster.id, error)
            return
        for node, outcome in self._ground.run_on(scripts, "configuring", within_s=self._workers_s).items():
            if isinstance(outcome, FawkesError):
                _log.warning("%s keeps its configuration: %s", node, outcome)

    def _turn(self, cluster: ClusterId) -> threading.Lock:
        """Held by whoever tells an MR-cluster's nodes who is a member, from the moment on at which he looks."""
        with self._lock:
            return self._turns[cluster]

    def keep(self, name: ClusterId) -> None:
        """Leave a copy of the MR-cluster on the node of its masters, if it is news: `fawkes adopt` reads it."""
        cluster = self._clusters.get(name)
        if cluster is None or cluster.master not in cluster.members:
            return
        text = kept_cluster(cluster)
        with self._lock:
            if self._kept.get(name) == text:
                return
        right = self._ground.lease(cluster.master, cluster.id, cluster.members[cluster.master].generation)
        self._ground.run(cluster.master, book.keep(right, text), "keeping a copy of the MR-cluster")
        with self._lock:
            self._kept[name] = text

    def documents(self, cluster: LiveCluster, members: hadoop.Members) -> dict[str, str]:
        """Everything that the daemons are told about the members: lists, and whose connections they take."""
        policy = self._setup.policy(cluster)
        return {**hadoop.members_files(members), POLICY: policy, LIST: self._setup.doors_list(cluster)}

    def forget(self, cluster: ClusterId) -> None:
        """Notes that the masters may know something else: the next document is sent in full."""
        with self._lock:
            self._sent.pop(cluster, None)

    def started_with(self, cluster: LiveCluster, files: dict[str, str]) -> None:
        """The first masters of an MR-cluster are started with these lists."""
        self._former.trust(cluster.id, ((node, member.generation) for node, member in cluster.members.items()))
        with self._lock:
            self._sent[cluster.id] = files

    def members(self, effect: Membership) -> hadoop.Members:
        """The document as addresses; HDFS takes nobody back whose former data it may count (`former.py`)."""
        held = self._former.held(effect.cluster)
        by = effect.members.items()
        address = {node: self._ground.nodes[node].data_address for node, _ in by}
        return hadoop.Members(
            version=effect.version,
            data=sorted(address[n] for n, m in by if m.role is not Role.TRANSIENT),
            leaving_data=sorted(address[n] for n, m in by if m.goal is Goal.EVACUATING or n in held),
            compute=sorted(address[n] for n, m in by if m.goal is not Goal.EVACUATING),
            leaving={address[n]: m.leave_us // SECOND_US for n, m in by if m.goal is Goal.DRAINING},
        )

    def _refresh(self, cluster: LiveCluster, members: hadoop.Members, names: list[str]) -> None:
        """The masters open their doors before they read who is a member."""
        master = cluster.members[cluster.master]
        right = self._ground.lease(cluster.master, cluster.id, master.generation)
        if "policy" in names or "doors" in names:
            files = self._setup.files(cluster, cluster.master, Role.CORE)
            self._ground.run(cluster.master, hadoop.configure(right, files), "writing whose connections are taken")
        self._ground.run(cluster.master, hadoop.refresh(right, members), "writing the members")
        for name in sorted(names, key=list(_READERS).index):
            for which in _ORDERS[name]:
                self._order(cluster, right, members, which)

    def open_doors(self, name: ClusterId) -> None:
        """Give all members the list of those whose connections they take, if it is news.

        What fails is logged: `catch_up` tries again.
        """
        try:
            self._tell(name)
        except FawkesError as error:
            _log.info("%s: not all of its nodes have the newest list of addresses: %s", name, error)

    def catch_up(self) -> None:
        """Tell whoever did not get the newest list when it changed, second NameNodes too; to be called now and then.

        Side by side: masters that hang hold up no other MR-cluster's lists.
        """
        clusters = self._clusters.all()
        with self._lock:
            self._behind &= {each.id for each in clusters if each.second is not None}
        with ThreadPoolExecutor(max(1, len(clusters)), thread_name_prefix="lists") as threads:
            list(threads.map(self._catch_up, clusters))

    def _catch_up(self, cluster: LiveCluster) -> None:
        if self._clusters.moving(cluster.id) is not None:
            return
        with self._lock:
            known, behind = self._sent.get(cluster.id, {}).get(LIST), cluster.id in self._behind
        if behind:
            self._tell_second(cluster, self.members(_document(cluster)))
        if cluster.ready and known != self._setup.doors_list(cluster):
            self.open_doors(cluster.id)

    def take_back(self) -> None:
        """Put members into service that HDFS was not to take back yet; to be called every few moments."""
        for name in self._former.waiting():
            cluster = self._clusters.get(name)
            if cluster is None:
                self._former.forget(name)
            elif self._clusters.moving(name) is None:
                try:
                    self._tell(name)
                except FawkesError as error:
                    _log.info("%s: members that joined are not in service yet: %s", name, error)

    def _begin_second(self, cluster: LiveCluster, members: hadoop.Members) -> None:
        """Tell the second NameNode, and wait for it no longer than one that answers needs."""
        with self._lock:
            late = cluster.id in self._behind
        if cluster.second is not None:
            thread = threading.Thread(target=self._tell_second, args=(cluster, members), name="second", daemon=True)
            thread.start()
            thread.join(0 if late else limits.SECOND_LIST_S)

    def _tell_second(self, cluster: LiveCluster, members: hadoop.Members) -> None:
        """The second NameNode reads the same; one that does not answer holds nobody up and is told later."""
        at = cluster.second
        if at is None or at not in cluster.members:
            return
        right = self._ground.lease(at, cluster.id, cluster.members[at].generation)
        scripts = {
            "writing whose connections are taken": hadoop.configure(right, self._setup.files(cluster, at, Role.CORE)),
            "writing the members": hadoop.refresh(right, members),
        }
        try:
            for doing, script in scripts.items():
                outcome = self._ground.run_on({at: script}, doing, within_s=self._workers_s)[at]
                if isinstance(outcome, FawkesError):
                    raise outcome
            for which in ("hdfs-policy", "hdfs"):
                tell(self._ground, cluster, at, self._setup.order(replace(cluster, master=at), which))
        except FawkesError as error:
            _log.info("%s: its second NameNode on %s was not told of its members: %s", cluster.id, at, error)
            with self._lock:
                self._behind.add(cluster.id)
        else:
            with self._lock:
                (self._behind.add if self._outdated(cluster) else self._behind.discard)(cluster.id)

    def _tell_workers(self, cluster: LiveCluster) -> None:
        """Give the list of addresses to the workers; FawkesError for the first that did not get it."""
        text = self._setup.doors_list(cluster)
        scripts = {
            node: hadoop.write_doors(self._ground.lease(node, cluster.id, member.generation), text)
            for node, member in cluster.members.items()
            if node not in cluster.namenodes
        }
        doing = "writing whose connections are taken"
        # A node that joins gets the list with its configuration, and one that leaves needs none.
        fine = (Exit.NOT_TAKEN, Exit.HELD, Exit.CLOSED)
        for node, outcome in self._ground.run_on(scripts, doing, within_s=self._workers_s, fine=fine).items():
            if isinstance(outcome, FawkesError):
                raise FawkesError(f"it did not get the new list of addresses ({outcome.what})", where=node)

    def _order(self, cluster: LiveCluster, right: Lease, members: hadoop.Members, which: str) -> None:
        def by_client() -> None:
            commands = {which: self._setup.refresh_argv(cluster, which)}
            script = hadoop.refresh(right, members, commands, self._setup.environment(cluster, cluster.master))
            self._ground.run(cluster.master, script, "refreshing the members")

        give(self._ground, cluster, self._setup.order(cluster, which), by_client)


def _document(cluster: LiveCluster) -> Membership:
    """The list of members as it is now."""
    return Membership(cluster.id, cluster.version, cluster.members)


def kept_cluster(cluster: LiveCluster) -> str:
    """The copy of an MR-cluster that stays on the node of its masters."""
    kept = KeptCluster(
        spec=cluster.spec,
        master=cluster.master,
        version=cluster.version,
        loaded=cluster.working,
        members=cluster.members,
        standby=cluster.standby,
    )
    return text_of(kept)


POLICY = "hadoop-policy.xml"
#: what each kind of refresh makes a daemon read; whose connections are taken comes before who is a member
_READERS = {
    "doors": (LIST,),
    "policy": (POLICY,),
    "hdfs": (Folders.DFS_INCLUDE, Folders.DFS_EXCLUDE),
    "yarn": (Folders.YARN_INCLUDE, Folders.YARN_EXCLUDE),
}
_ORDERS = {"doors": (), "policy": ("hdfs-policy", "yarn-policy"), "hdfs": ("hdfs",), "yarn": ("yarn",)}
