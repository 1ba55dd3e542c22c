"""Bringing an MR-cluster up: masters on its first node, storage and computing on all, everything started at once."""

from __future__ import annotations

import threading
from collections.abc import Callable

from fawkes.core.effects import Deploy, Membership
from fawkes.core.model import Facts, NodeId
from fawkes.errors import FawkesError, HostError
from fawkes.live import masters
from fawkes.live.clusters import Clusters, LiveCluster
from fawkes.live.ground import Ground
from fawkes.live.loading import ARCHIVE
from fawkes.live.masters import MasterAddresses
from fawkes.live.membership import MembershipKeeper
from fawkes.live.playbooks import hadoop, lease, node
from fawkes.live.rest import Deadline, UnreadableError
from fawkes.live.setup import Setup
from fawkes.playbook import Lease, Script

_LOOK_EVERY_S = 0.25
_ANSWER_S = 5.0
#: how many looks at the masters between two looks at the daemons themselves
_LOOKS_PER_STATUS = 12


class Deployer:
    """Reaches `Deploy` goals; run again, it finishes what was left half done."""

    def __init__(
        self,
        ground: Ground,
        clusters: Clusters,
        setup: Setup,
        membership: MembershipKeeper,
        stopping: threading.Event,
    ) -> None:
        self._ground = ground
        self._clusters = clusters
        self._setup = setup
        self._membership = membership
        self._stopping = stopping

    def deploy(self, effect: Deploy, current: Callable[[], bool]) -> Facts | None:
        """Which version runs on which nodes, once the first job would be accepted; None when a newer goal came."""
        cluster = self._clusters.deploying(effect)
        repaired: dict[NodeId, tuple[str, ...]] = {}
        generations = {n: member.generation for n, member in effect.members.items()}
        steps: tuple[Callable[[], None], ...] = (
            lambda: repaired.update(self._setup.make_sound(cluster, generations)),
            lambda: self._on_all(cluster, "taking the node", lambda n: lease.take(self._lease(cluster, n))),
            lambda: self._on_all(cluster, "making folders", self._prepare(cluster)),
            lambda: self._on_all(cluster, "configuring", self._configure(cluster)),
            lambda: self._write_members(cluster, effect),
            lambda: self._start(cluster),
        )
        for step in steps:
            if not current():
                return None
            step()
        if not self._wait(cluster, current):
            return None
        self._clusters.mark(effect.cluster, ready=True)
        facts: Facts = {
            "hadoop": self._setup.release(cluster, effect.master).version,
            "nodes": sorted(effect.members),
        }
        return {**facts, "repaired": {n: list(names) for n, names in sorted(repaired.items())}} if repaired else facts

    def _prepare(self, cluster: LiveCluster) -> Callable[[NodeId], Script]:
        details = cluster.details
        return lambda at: node.prepare(self._lease(cluster, at), details.run_as, details.leftovers)

    def _lease(self, cluster: LiveCluster, at: NodeId) -> Lease:
        return self._ground.lease(at, cluster.id, cluster.members[at].generation)

    def _on_all(self, cluster: LiveCluster, doing: str, script: Callable[[NodeId], Script]) -> None:
        scripts = {n: script(n) for n in sorted(cluster.members)}
        self._ground.all_well(self._ground.run_on(scripts, doing))

    def _configure(self, cluster: LiveCluster) -> Callable[[NodeId], Script]:
        def script(at: NodeId) -> Script:
            files = self._setup.files(cluster, at, cluster.members[at].role)
            return hadoop.configure(self._lease(cluster, at), files)

        return script

    def _write_members(self, cluster: LiveCluster, effect: Deploy) -> None:
        """The lists are there before the masters read them for the first time."""
        document = Membership(effect.cluster, effect.version, effect.members)
        members = self._membership.members(document)
        script = hadoop.refresh(self._lease(cluster, effect.master), members)
        self._ground.run(effect.master, script, "writing the members")
        self._membership.told(effect.cluster, self._membership.documents(cluster, members))

    def _start(self, cluster: LiveCluster) -> None:
        """All daemons at once; the NameNode's is the only one that must wait, for its first format."""
        problems: list[FawkesError] = []

        def format_and_start() -> None:
            try:
                self._format(cluster)
                self._run(cluster, cluster.master, ["namenode"])
            except FawkesError as error:
                problems.append(error)

        masters_thread = threading.Thread(target=format_and_start, name=f"format-{cluster.id}")
        masters_thread.start()
        try:
            others = {
                n: hadoop.start(
                    self._lease(cluster, n),
                    [d for d in self._setup.daemons(cluster, n, cluster.members[n].role) if d.name != "namenode"],
                )
                for n in sorted(cluster.members)
            }
            self._ground.all_well(self._ground.run_on(others, "starting daemons"))
        finally:
            masters_thread.join()
        if problems:
            raise problems[0]

    def _format(self, cluster: LiveCluster) -> None:
        argv, env = self._setup.format_argv(cluster), self._setup.environment(cluster, cluster.master)
        right = self._lease(cluster, cluster.master)
        script = hadoop.format_namenode(right, argv, env, cluster_id=f"{right.pool}-{cluster.id}")
        self._ground.run(cluster.master, script, "formatting the NameNode")

    def _run(self, cluster: LiveCluster, at: NodeId, names: list[str]) -> None:
        daemons = [d for d in self._setup.daemons(cluster, at, cluster.members[at].role) if d.name in names]
        self._ground.run(at, hadoop.start(self._lease(cluster, at), daemons), f"starting {', '.join(names)}")

    def _wait(self, cluster: LiveCluster, current: Callable[[], bool]) -> bool:
        addresses = self._setup.masters(cluster)
        everywhere = list(cluster.members)
        looks = 0
        while current():
            ready = masters.accepting_jobs(addresses, everywhere, everywhere, Deadline.after(_ANSWER_S)).ready
            if ready and _takes_data(addresses):
                return True
            looks += 1
            if looks % _LOOKS_PER_STATUS == 0:
                self._daemons_live(cluster)
            self._stopping.wait(_LOOK_EVERY_S)
        return False

    def _daemons_live(self, cluster: LiveCluster) -> None:
        """HostError for a daemon that has ended: waiting for it would be in vain."""
        scripts = {
            n: hadoop.status(
                self._ground.folders(n, cluster.id),
                [d.name for d in self._setup.daemons(cluster, n, cluster.members[n].role)],
            )
            for n in cluster.members
        }
        for at, facts in self._ground.all_well(self._ground.run_on(scripts, "checking the daemons")).items():
            for daemon, state in facts.under("daemon").items():
                if state == "dead":
                    raise HostError(f"{daemon} ended: {facts.get(f'why.{daemon}', 'see its log')}", host=at)


def _takes_data(addresses: MasterAddresses) -> bool:
    """A DataNode is in service a moment before it has told of its volumes: until then nothing can be loaded."""
    try:
        return ARCHIVE in masters.volumes(addresses, Deadline.after(_ANSWER_S))
    except UnreadableError:
        return False
