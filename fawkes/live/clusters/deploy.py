"""Bringing an MR-cluster up: masters on its first node, storage and computing on all, everything started at once.

One with a journal has the JournalNodes up before the NameNode is formatted, and its masters are made active. Its second
NameNode comes up beside, and holds nothing up.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial

from fawkes.base.errors import FawkesError, HostError
from fawkes.config.jobs.spark import HISTORY
from fawkes.core.values.effects import Deploy, Membership
from fawkes.core.values.model import ClusterId, Facts, NodeId, Plain, Role
from fawkes.live.base import limits
from fawkes.live.base.hooks import BeforeJoin, no_hook
from fawkes.live.base.waits import Waits
from fawkes.live.clusters.leading import Leading
from fawkes.live.clusters.membership import MembershipKeeper
from fawkes.live.data.loading import ARCHIVE
from fawkes.live.hadoop.hadoop_ha import nameservice
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import hadoop, lease, node, standby
from fawkes.live.wire import masters
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.rest import Deadline, UnreadableError
from fawkes.playbook import Facts as Said
from fawkes.playbook import Lease, Script

_log = logging.getLogger(__name__)
#: the NameNode waits for its format, Spark's history server for a folder in HDFS (`Stages.load`)
_LATER = ("namenode", HISTORY)


class Deployer:
    """Reaches `Deploy` goals; run again, it finishes what was left half done."""

    def __init__(
        self,
        ground: Ground,
        clusters: Clusters,
        setup: Setup,
        membership: MembershipKeeper,
        stopping: threading.Event,
        waits: Waits,
        before_join: BeforeJoin = no_hook,
    ) -> None:
        self._ground = ground
        self._clusters = clusters
        self._setup = setup
        self._membership = membership
        self._stopping = stopping
        self._waits = waits
        self._before_join = before_join
        self._leading = Leading(ground, clusters, setup)
        #: of each MR-cluster the version of its latest deployment that began anew
        self._anew: dict[ClusterId, int] = {}

    def deploy(self, effect: Deploy, current: Callable[[], bool]) -> Facts | None:
        """The version on each node, once the first job would be accepted; None when a newer goal came."""
        cluster = self._clusters.deploying(effect)
        repaired: dict[NodeId, tuple[str, ...]] = {}
        places: dict[NodeId, Plain] = {}
        generations = {n: member.generation for n, member in effect.members.items()}
        steps: Mapping[str, Callable[[], object]] = {
            "hooks/before-join": lambda: self._before_join(effect.cluster, generations, Role.CORE),
            "checking the release": lambda: self._setup.check(cluster, list(effect.members)),
            # Before anything else is written there: a disk may be away.
            "taking the nodes": lambda: places.update(self._take(cluster)),
            "comparing the release": lambda: repaired.update(self._setup.make_sound(cluster, generations)),
            "making folders": lambda: self._on_all(cluster, "making folders", self._prepare(cluster)),
            "stopping an earlier try": lambda: self._begin_anew(cluster, effect),
            "leaving an earlier journal": lambda: self._leave_journal(cluster),
            "configuring": lambda: self._on_all(cluster, "configuring", self._configure(cluster)),
            "writing the members": lambda: self._write_members(cluster, effect),
            "formatting the NameNode and starting daemons": lambda: self._start(cluster),
        }
        for doing, step in steps.items():
            if not current():
                return None
            self._waits.note(effect.key, effect.version, f"{doing} has not ended")
            step()
        note = partial(self._waits.note, effect.key, effect.version)
        if not self._wait(cluster, current, note):
            return None
        self._clusters.mark(effect.cluster, ready=True)
        facts: Facts = {
            "hadoop": self._setup.release(cluster, effect.master).version,
            "nodes": sorted(effect.members),
            **({"places": places} if places else {}),
        }
        return {**facts, "repaired": {n: list(names) for n, names in sorted(repaired.items())}} if repaired else facts

    def _prepare(self, cluster: LiveCluster) -> Callable[[NodeId], Script]:
        details = cluster.details
        return lambda at: node.prepare(self._lease(cluster, at), details.run_as, details.leftovers)

    def _take(self, cluster: LiveCluster) -> dict[NodeId, Plain]:
        took = self._on_all(cluster, "taking the node", lambda n: lease.take(self._lease(cluster, n)))
        return {node: said["place"] for node, said in took.items() if "place" in said}

    def _lease(self, cluster: LiveCluster, at: NodeId) -> Lease:
        return self._ground.lease(at, cluster.id, cluster.members[at].generation)

    def _on_all(self, cluster: LiveCluster, doing: str, script: Callable[[NodeId], Script]) -> dict[NodeId, Said]:
        scripts = {n: script(n) for n in sorted(cluster.members)}
        return self._ground.all_well(self._ground.run_on(scripts, doing))

    def _configure(self, cluster: LiveCluster) -> Callable[[NodeId], Script]:
        def script(at: NodeId) -> Script:
            files = self._setup.files(cluster, at, cluster.members[at].role)
            return hadoop.configure(self._lease(cluster, at), files)

        return script

    def _write_members(self, cluster: LiveCluster, effect: Deploy) -> None:
        """The lists are there before the masters read them for the first time."""
        document = Membership(effect.cluster, effect.version, effect.members)
        members = self._membership.members(document)
        scripts = {n: hadoop.refresh(self._lease(cluster, n), members) for n in cluster.namenodes}
        self._ground.all_well(self._ground.run_on(scripts, "writing the members"))
        self._membership.started_with(cluster, self._membership.documents(cluster, members))

    def _start(self, cluster: LiveCluster) -> None:
        """All daemons at once, but those that must wait."""
        problems: list[FawkesError] = []
        self._make_way(cluster)

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
                    [d for d in self._setup.daemons(cluster, n, cluster.members[n].role) if d.name not in _LATER],
                )
                for n in sorted(cluster.members)
            }
            self._ground.all_well(self._ground.run_on(others, "starting daemons"))
        finally:
            masters_thread.join()
        if problems:
            raise problems[0]

    def _begin_anew(self, cluster: LiveCluster, effect: Deploy) -> None:
        """Stop what an earlier try started for other members: masters read their list once, and have other doors."""
        if not effect.anew or self._anew.get(effect.cluster) == effect.version:
            return
        scripts = {n: standby.stop(self._lease(cluster, n), hadoop.DAEMONS) for n in cluster.members}
        self._ground.all_well(self._ground.run_on(scripts, "stopping an earlier try", within_s=limits.STEP_S))
        self._anew[effect.cluster] = effect.version

    def _leave_journal(self, cluster: LiveCluster) -> None:
        """Stop what an earlier try started for another journal: daemons read only once which nodes that has.

        One of the nodes was replaced. Nobody has written anything yet, so the NameNode begins anew.
        """
        if cluster.standby is None or cluster.ready:
            return
        looks = {n: standby.own_edits(self._ground.folders(n, cluster.id)) for n in cluster.members}
        seen = self._ground.all_well(self._ground.run_on(looks, "looking for an earlier journal"))
        wanted = self._setup.settings(cluster)["hdfs-site"]["dfs.namenode.shared.edits.dir"]
        others = [n for n, facts in seen.items() if facts.get("edits", wanted) != wanted]
        scripts = {n: standby.stop(self._lease(cluster, n), hadoop.DAEMONS) for n in others}
        self._ground.all_well(self._ground.run_on(scripts, "leaving an earlier journal"))
        former = {n: standby.set_aside(self._lease(cluster, n)) for n in others if n in cluster.namenodes}
        self._ground.all_well(self._ground.run_on(former, "setting a NameNode's folder aside"))

    def _make_way(self, cluster: LiveCluster) -> None:
        """Sets aside what a first format that was cut short has left on the journal: it would refuse another one."""
        if cluster.standby is None or cluster.ready:
            return
        script = standby.look(self._ground.folders(cluster.master, cluster.id), nameservice(cluster.id))
        if "nn" in self._ground.run(cluster.master, script, "looking for the NameNode's data"):
            return
        scripts = {n: standby.begin_afresh(self._lease(cluster, n)) for n in cluster.journal}
        self._ground.all_well(self._ground.run_on(scripts, "making way for the journal"))

    def _format(self, cluster: LiveCluster) -> None:
        argv, env = self._setup.format_argv(cluster), self._setup.environment(cluster, cluster.master)
        right = self._lease(cluster, cluster.master)
        script = hadoop.format_namenode(right, argv, env, cluster_id=f"{right.pool}-{cluster.id}")
        self._ground.run(cluster.master, script, "formatting the NameNode")

    def _run(self, cluster: LiveCluster, at: NodeId, names: list[str]) -> None:
        daemons = [d for d in self._setup.daemons(cluster, at, cluster.members[at].role) if d.name in names]
        self._ground.run(at, hadoop.start(self._lease(cluster, at), daemons), f"starting {', '.join(names)}")

    def _wait(self, cluster: LiveCluster, current: Callable[[], bool], note: Callable[[str], None]) -> bool:
        addresses = self._setup.masters(cluster)
        everywhere = list(cluster.members)
        looks = 0
        second = cluster.second is not None
        while current():
            leads = self._leading.lead(cluster)
            if leads and second:
                second = False
                threading.Thread(target=self._begin_second, args=(cluster,), name="second", daemon=True).start()
            why = "its masters are not active yet"
            if leads:
                deadline = Deadline.after(limits.ANSWER_S)
                why = masters.why_no_jobs(addresses, everywhere, everywhere, deadline)
            if not why and _takes_data(addresses):
                return True
            note(why or "no DataNode has told of its volumes yet")
            looks += 1
            if looks % limits.LOOKS_PER_DAEMON == 0:
                self._daemons_live(cluster)
            self._stopping.wait(limits.LOOK_EVERY_S)
        return False

    def _begin_second(self, cluster: LiveCluster) -> None:
        """Bring the second NameNode up; where that fails, what is seen of it later says so."""
        at = cluster.second
        if at is None:
            return
        try:
            argv, env = self._setup.bootstrap_argv(cluster, at), self._setup.environment(cluster, at)
            script = hadoop.bootstrap_namenode(self._lease(cluster, at), argv, env)
            self._ground.run(at, script, "bringing the image to the second NameNode", within_s=limits.IMAGE_S)
            self._run(cluster, at, ["namenode"])
        except FawkesError as error:
            _log.warning("%s: its second NameNode is not up yet: %s", cluster.id, error)

    def _daemons_live(self, cluster: LiveCluster) -> None:
        """HostError for a daemon that has ended: waiting for it would be in vain."""
        scripts = {
            n: hadoop.status(
                self._ground.folders(n, cluster.id),
                [
                    d.name
                    for d in self._setup.daemons(cluster, n, cluster.members[n].role)
                    if n != cluster.second or d.name != "namenode"
                ],
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
        return ARCHIVE in masters.volumes(addresses, Deadline.after(limits.ANSWER_S))
    except UnreadableError:
        return False
