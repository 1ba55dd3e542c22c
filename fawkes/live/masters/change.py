"""Steps on nodes that each change of masters or of their journal takes: configure, start daemons, wait for these."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count

from fawkes.base.errors import FawkesError, HostError
from fawkes.core.values.effects import Membership
from fawkes.core.values.model import NodeId, Role
from fawkes.live.base import limits
from fawkes.live.hadoop import ha
from fawkes.live.hadoop.ports import Ports
from fawkes.live.masters.succession import Means
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.playbooks import hadoop, node
from fawkes.live.wire.hadoop_rpc import REFRESH_NAMENODES, RpcError, call
from fawkes.live.wire.rest import Deadline
from fawkes.playbook import Facts as NodeFacts
from fawkes.playbook import Lease, Script

_log = logging.getLogger(__name__)
_NO_DELETION = f"-Ddfs.namenode.startup.delay.block.deletion.sec={limits.NO_DELETION_S}"


class Change:
    """One try to bring masters, or their journal, to where they should be; ``cluster`` is as it is to be."""

    def __init__(self, means: Means, cluster: LiveCluster, current: Callable[[], bool]) -> None:
        self._means = means
        self._ground, self._setup, self._pair = means.ground, means.setup, means.pair
        self._cluster = cluster
        self._current = current
        #: the nodes that go along: one on which a step fails is left behind
        self._reached: list[NodeId] = []
        #: a NameNode that lacks an unknown part of its last edits deletes no replica for some time
        self._careful = False

    def _right(self, at: NodeId) -> Lease:
        return self._means.lease(self._cluster, at)

    def _run(self, at: NodeId, script: Script, doing: str, within_s: float | None = None) -> NodeFacts:
        return self._ground.run(at, script, doing, within_s=within_s)

    def _run_on_all(self, scripts: Mapping[NodeId, Script], doing: str) -> None:
        """Run a step on nodes that all must have it; the error of one is raised."""
        self._ground.all_well(self._ground.run_on(scripts, doing, within_s=limits.STEP_S))

    def _run_on_each(
        self,
        scripts: Mapping[NodeId, Script],
        doing: str,
        needed: Collection[NodeId],
        within_s: float | None = limits.STEP_S,
    ) -> None:
        """Run a step on nodes. One on which it fails is left behind; the error of a ``needed`` one is raised."""
        for at, outcome in self._ground.run_on(scripts, doing, within_s=within_s).items():
            if isinstance(outcome, FawkesError):
                if at in needed:
                    raise outcome
                _log.warning("%s: it is left behind: %s", at, outcome)
                self._reached.remove(at)

    def _need_login(self, at: NodeId) -> None:
        """TicketError while the KDC gives no ticket: what was stopped could not start again, here or on ``at``."""
        self._setup.check(self._cluster, [at])

    # -- folders, configuration, daemons

    def _make_folders(self, at: NodeId) -> None:
        """Make the folders of a node whose disk may be empty."""
        details = self._cluster.details
        self._run(at, node.prepare(self._right(at), details.run_as, details.leftovers), "making folders")

    def _write_members(self, at: NodeId, version: int, fine: Collection[int] = ()) -> None:
        """A NameNode does not start without the lists of members, and turns DataNodes away that are not on them."""
        lists = self._means.membership.members(Membership(self._cluster.id, version, self._cluster.members))
        self._ground.run(at, hadoop.refresh(self._right(at), lists), "writing the members", fine=fine)

    def _lead_datanode(self, at: NodeId) -> bool:
        """True if a DataNode has read as it runs which NameNodes it has."""
        node, deadline = self._ground.nodes[at], Deadline.after(limits.ORDER_S)
        user, way, port = self._cluster.user_on(node), self._ground.through(at), Ports().datanode_ipc
        try:
            session = self._setup.session(self._cluster)
            call(node.data_address, port, REFRESH_NAMENODES, user, deadline, way, session)
        except FawkesError as error:
            _log.warning("%s: its DataNode does not know its NameNode yet: %s", at, error)
            return False
        return True

    def _starts(
        self, nodes: Iterable[NodeId], names: Collection[str], cluster: LiveCluster | None = None
    ) -> dict[NodeId, Script]:
        """The starts on each node of those of its daemons that have these names."""
        cluster, scripts = cluster or self._cluster, {}
        for at in nodes:
            daemons = [d for d in self._setup.daemons(cluster, at, cluster.members[at].role) if d.name in names]
            scripts[at] = hadoop.start(self._right(at), [self._cared_for(daemon) for daemon in daemons])
        return scripts

    def _cared_for(self, daemon: hadoop.Daemon) -> hadoop.Daemon:
        if daemon.name != "namenode" or not self._careful:
            return daemon
        return replace(daemon, argv=[*daemon.argv, _NO_DELETION])

    def _storing(self, nodes: Iterable[NodeId]) -> list[NodeId]:
        return [n for n in nodes if self._cluster.members[n].role is not Role.TRANSIENT]

    def _swap_namenodes(self, first: NodeId, second: NodeId) -> RpcError | None:
        """None once the NameNode on ``second`` has taken the journal over; else why not, and ``first`` has it again.

        RpcError when it is not known that either of them has it.
        """
        try:
            self._pair.become_standby(self._cluster, first)
            self._pair.become_active(self._cluster, second)
        except RpcError as error:
            # Where only the answer was lost, what the second one may have written must not be shut out. Else the first
            # one takes the journal over again; should the order arrive late at the second, that one loses it.
            if self._pair.state(self._cluster, second) != ha.ACTIVE:
                self._pair.become_active(self._cluster, first)
                return error
        return None

    # -- waiting

    def _going_on(self) -> bool:
        return self._current() and not self._means.stopping.is_set()

    def _looks(self, within_s: float = math.inf) -> Iterator[int]:
        """Numbers of looks, some time apart, until this time or the try is over."""
        late = Deadline.after(within_s)
        for look in count(1):
            if not self._going_on() or late.left() < 0:
                return
            yield look
            self._means.stopping.wait(limits.LOOK_EVERY_S)

    def _until(self, nodes: Collection[NodeId], daemon: str, done: Callable[[], bool], within_s: float = 0) -> bool:
        """True once daemons that were started are there; False when overtaken.

        HostError for one that has ended, or that has not come in time where a time is given.
        """
        for look in self._looks(within_s or math.inf):
            if done():
                return True
            self._check_alive(look, nodes, [daemon])
        if self._going_on():
            raise HostError(f"its {daemon} did not come within {within_s:g} s", host=min(nodes))
        return False

    def _check_alive(
        self, look: int, nodes: Iterable[NodeId], daemons: Collection[str], fine: Collection[str] = ("running",)
    ) -> None:
        """Look at processes now and then: HostError for a daemon that has ended, for a wait would be in vain."""
        if look % limits.LOOKS_PER_DAEMON:
            return
        for at in nodes:
            script = hadoop.status(self._ground.folders(at, self._cluster.id), list(daemons))
            facts = self._run(at, script, f"checking the {' and '.join(daemons)}")
            for daemon in daemons:
                if facts.get(f"daemon.{daemon}") not in fine:
                    raise HostError(f"{daemon} ended: {facts.get(f'why.{daemon}', 'see its log')}", host=at)
