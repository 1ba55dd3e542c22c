"""The MR-clusters that the live world works for: what was requested, where the masters are, who are members."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from fawkes.config.clusters.details import ClusterDetails
from fawkes.config.nodes.inventory import InventoryNode
from fawkes.core.state.members import copy_on
from fawkes.core.state.members import members as members_of
from fawkes.core.state.state import State
from fawkes.core.values.effects import Deploy, Goal, Member, Membership
from fawkes.core.values.lifecycle import WITH_MASTERS
from fawkes.core.values.model import ClusterId, ClusterLife, ClusterSpec, NodeId, NodeLife, Promise, Role, Standby

#: threads of those who look at all MR-clusters: more than a pool ever has MR-clusters, so that none waits for another
#: one's masters; there are only as many as hang
MOST_CLUSTERS = 1000


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """One MR-cluster as the world sees it. ``ready``: its masters accept jobs; ``working``: its data is loaded.

    ``version`` is that of its members; 0: as they were when it was deployed or taken over. ``copy_on`` is the core node
    with the second copy of the masters' data; None: there is none. ``shut_out`` are members that nobody takes
    connections from: former masters may still run there. ``standby`` has the nodes of the journal and of the second
    NameNode; None without a journal.
    """

    spec: ClusterSpec
    details: ClusterDetails
    master: NodeId
    members: Mapping[NodeId, Member]
    ready: bool = False
    working: bool = False
    version: int = 0
    copy_on: NodeId | None = None
    shut_out: frozenset[NodeId] = frozenset()
    standby: Standby | None = None

    @property
    def id(self) -> ClusterId:
        """The id of the MR-cluster."""
        return self.spec.id

    def user_on(self, node: InventoryNode) -> str:
        """The Unix user of its daemons and jobs on a node; for its HDFS and YARN that is the administrator."""
        return self.details.run_as or node.user

    @property
    def core(self) -> list[NodeId]:
        """Its core nodes, by name."""
        return sorted(node for node, member in self.members.items() if member.role is Role.CORE)

    @property
    def journal(self) -> tuple[NodeId, ...]:
        """The nodes of its journal, by name; empty without one."""
        return () if self.standby is None else self.standby.journal

    @property
    def second(self) -> NodeId | None:
        """The node of its second NameNode; None while there is none."""
        return None if self.standby is None else self.standby.node

    @property
    def namenodes(self) -> tuple[NodeId, ...]:
        """The nodes of its NameNodes, the masters' first."""
        return (self.master,) if self.second is None else (self.master, self.second)

    @property
    def state_in_hdfs(self) -> bool:
        """True if its ResourceManager keeps its state in HDFS: also after the journal was given up."""
        return self.spec.masters is Promise.STANDBY

    def serving(self) -> dict[NodeId, Member]:
        """The members that should serve."""
        return {node: member for node, member in self.members.items() if member.goal is Goal.SERVING}


class Clusters:
    """All MR-clusters; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[ClusterId, LiveCluster] = {}
        self._moving: dict[ClusterId, NodeId] = {}
        self._leads: dict[ClusterId, threading.Lock] = {}

    def adopt(self, view: State) -> None:
        """Take over what the ledger says, after a restart."""
        for state in view.clusters.values():
            if state.life not in WITH_MASTERS or state.master is None or view.rules is None:
                continue
            nodes = [view.nodes[n] for n in sorted(view.nodes_of(state.id))]
            members = members_of(nodes, view.rules.settings)
            details = ClusterDetails.of(state.spec.details)
            deployed = state.life is not ClusterLife.DEPLOYING
            working = state.life is ClusterLife.RUNNING
            second = copy_on(nodes, state.master)
            # Where they go is known, and not that they are there: only the move itself finds out.
            moving = state.moving if state.moving is not None and state.moving.begun else None
            master = state.master if moving is None else moving.old
            lost = {n.node.id for n in nodes if n.life is NodeLife.LOST}
            # One that is back was brought up as a plain member, or will be.
            shut_out = frozenset(node for node in state.shut_out if node in lost)
            taken = LiveCluster(state.spec, details, master, members, deployed, working)
            self._put(replace(taken, copy_on=second, standby=state.standby, shut_out=shut_out))
            if moving is not None:
                self.begin_move(state.id, state.master)

    def deploying(self, effect: Deploy) -> LiveCluster:
        """An MR-cluster begins; one that works goes on to work when it is asked for again."""
        details = ClusterDetails.of(effect.spec.details)
        known = self.get(effect.cluster)
        others = (n for n, m in effect.members.items() if m.role is Role.CORE and n != effect.master)
        second = min(others, default=None)
        begun = LiveCluster(effect.spec, details, effect.master, effect.members, copy_on=second, standby=effect.standby)
        if known is not None and known.master == effect.master:
            begun = replace(begun, ready=known.ready, working=known.working)
        return self._put(begun)

    def changed(self, effect: Membership) -> LiveCluster | None:
        """Its members change, and where its masters and their copies are; None when it is not known (any more)."""
        at = {} if effect.master is None else {"master": effect.master}
        return self._update(
            effect.cluster,
            members=effect.members,
            version=effect.version,
            copy_on=effect.copy_on,
            standby=effect.standby,
            **at,
        )

    def arm(self, cluster: ClusterId, standby: Standby | None) -> LiveCluster | None:
        """Its journal and its second NameNode are these from now on; None: it has no journal any more."""
        return self._update(cluster, standby=standby)

    def begin_move(self, cluster: ClusterId, to: NodeId) -> None:
        """The masters move to a node: nobody else brings masters up or takes them down until `end_move`.

        Waits for whoever makes them active at this moment: see `leading`.
        """
        with self._lead(cluster), self._lock:
            self._moving[cluster] = to

    @contextmanager
    def leading(self, cluster: ClusterId, node: NodeId) -> Iterator[bool]:
        """Holds the place of masters: True if they belong on a node, and while that is so they are made active there.

        No move of them begins meanwhile: a NameNode that is made active shuts another one out of the journal.
        """
        with self._lead(cluster):
            known = self.get(cluster)
            yield known is not None and known.master == node and self.moving(cluster) is None

    def _lead(self, cluster: ClusterId) -> threading.Lock:
        with self._lock:
            return self._leads.setdefault(cluster, threading.Lock())

    def end_move(self, cluster: ClusterId, master: NodeId, shut_out: Iterable[NodeId] = ()) -> None:
        """The masters are on this node now, or again; nobody takes connections from those that are ``shut_out``."""
        known = self.get(cluster)
        if known is not None:
            self._update(cluster, master=master, shut_out=known.shut_out | frozenset(shut_out))
        with self._lock:
            self._moving.pop(cluster, None)

    def let_in(self, cluster: ClusterId, node: NodeId) -> bool:
        """No former master runs on a node any more; whether it was shut out until now."""
        known = self.get(cluster)
        if known is None or node not in known.shut_out:
            return False
        self._update(cluster, shut_out=known.shut_out - {node})
        return True

    def moving(self, cluster: ClusterId) -> NodeId | None:
        """The node to which the masters move at this moment; None: they do not."""
        with self._lock:
            return self._moving.get(cluster)

    def mark(self, cluster: ClusterId, **flags: bool) -> LiveCluster | None:
        """It is ``ready`` or ``working`` from now on."""
        return self._update(cluster, **flags)

    def get(self, cluster: ClusterId) -> LiveCluster | None:
        """An MR-cluster; None when it is not known (any more)."""
        with self._lock:
            return self._known.get(cluster)

    def all(self) -> list[LiveCluster]:
        """All of them, by id."""
        with self._lock:
            return [self._known[c] for c in sorted(self._known)]

    def remove(self, cluster: ClusterId) -> None:
        """It retires: nobody asks its masters any more."""
        with self._lock:
            self._known.pop(cluster, None)
            self._moving.pop(cluster, None)

    def _put(self, cluster: LiveCluster) -> LiveCluster:
        with self._lock:
            self._known[cluster.id] = cluster
        return cluster

    def _update(self, cluster: ClusterId, **changes: object) -> LiveCluster | None:
        with self._lock:
            known = self._known.get(cluster)
            if known is None:
                return None
            self._known[cluster] = replace(known, **changes)  # type: ignore[arg-type]
            return self._known[cluster]
