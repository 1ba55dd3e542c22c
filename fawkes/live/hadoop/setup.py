"""The setup of one MR-cluster on its nodes: release, Java, configuration, daemons, commands, addresses."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from fawkes.base.errors import UserError
from fawkes.config.clusters.details import JobDetails
from fawkes.config.jobs import spark
from fawkes.config.jobs.kept import granted_args, granted_properties
from fawkes.config.jobs.tags import ENVIRONMENT, tagged_args, tagged_properties
from fawkes.core.values.effects import StartJob
from fawkes.core.values.model import ClusterId, NodeId, Role
from fawkes.core.values.tags import tag_of
from fawkes.live.hadoop import hadoop_conf, hadoop_ha, hadoop_queues
from fawkes.live.hadoop.doors import KEY, LIST, Doors, doors_list, policy_hosts
from fawkes.live.hadoop.orders import AddressedOrder
from fawkes.live.hadoop.ports import Ports
from fawkes.live.hadoop.releases import Releases, needs_of_details
from fawkes.live.kerberos import hadoop_kerberos
from fawkes.live.kerberos.kerberos import Kerberos, Login
from fawkes.live.kerberos.same_time import check_clocks
from fawkes.live.kerberos.secrets import Secrets
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import hadoop, restoring
from fawkes.live.nodes.playbooks import job as book
from fawkes.live.nodes.upload import Command, streaming_words, uploaded, with_secrets
from fawkes.live.wire.hadoop_rpc import (
    ENTER_SAFE_MODE,
    FORCE_EXIT_SAFE_MODE,
    LEAVE_SAFE_MODE,
    REFRESH_HDFS,
    REFRESH_HDFS_POLICY,
    REFRESH_YARN,
    REFRESH_YARN_POLICY,
    Order,
    SaslSession,
    kill_application,
    kill_attempt,
    list_open_files,
    recover_lease,
)
from fawkes.live.wire.masters import MasterAddresses, Target
from fawkes.live.wire.rest import Key
from fawkes.playbook.dist.cache import cached, cached_pig, cached_spark
from fawkes.playbook.dist.compile.java import find_java
from fawkes.playbook.dist.pig import DEFAULT_PIG, PIG_PINS, PigRelease
from fawkes.playbook.dist.pins import pin
from fawkes.playbook.dist.release import LIGHT_FLAGS, Release
from fawkes.playbook.dist.remote import RemoteShell, release_on
from fawkes.playbook.dist.spark import DEFAULT_SPARK, SPARK_PINS, SparkPin, SparkRelease
from fawkes.playbook.dist.spread import spread

MB = 1 << 20
_log = logging.getLogger(__name__)
#: below this memory for tasks a node is small: daemons get little heap and start quickly rather than run fast
_SMALL_NODE_BYTES = 8 << 30
_HEAPS_MB = {
    "namenode": 1024, "journalnode": 256, "datanode": 512, "resourcemanager": 1024, "nodemanager": 512,
    "historyserver": 512, spark.HISTORY: 512,
}  # fmt: skip
_SMALL_HEAPS_MB = {
    "namenode": 256, "journalnode": 128, "datanode": 128, "resourcemanager": 256, "nodemanager": 160,
    "historyserver": 192, spark.HISTORY: 192,
}  # fmt: skip
_CLIENT_HEAP_MB = 256
_PIG_HEAP_MB = 512
_MASTER_DAEMONS = ("namenode", "resourcemanager", "historyserver")
_OF_MASTERS = ("journalnode", *_MASTER_DAEMONS, spark.HISTORY)
_DAEMONS = {
    Role.CORE: ("datanode", "nodemanager"),
    Role.TRANSIENT_CORE: ("datanode", "nodemanager"),
    Role.TRANSIENT: ("nodemanager",),
}
_REFRESH = {
    "hdfs": ("dfsadmin", ("-refreshNodes",), REFRESH_HDFS),
    "yarn": ("rmadmin", ("-refreshNodes", "-g", "-server"), REFRESH_YARN),
    "hdfs-policy": ("dfsadmin", ("-refreshServiceAcl",), REFRESH_HDFS_POLICY),
    "yarn-policy": ("rmadmin", ("-refreshServiceAcl",), REFRESH_YARN_POLICY),
    "hdfs-freeze": ("dfsadmin", ("-safemode", "enter"), ENTER_SAFE_MODE),
    "hdfs-thaw": ("dfsadmin", ("-safemode", "leave"), LEAVE_SAFE_MODE),
    "hdfs-open": ("dfsadmin", ("-safemode", "forceExit"), FORCE_EXIT_SAFE_MODE),
}

SPARK = SPARK_PINS[DEFAULT_SPARK]


def addresses_of(ground: Ground, master: NodeId, key: Key, run_as: str) -> MasterAddresses:
    """The addresses of masters on a node, for their MR-cluster's key; ``run_as`` is its own user, or ""."""
    node = ground.nodes[master]
    at = node.data_address
    ports = Ports()
    return MasterAddresses(
        resource_manager=f"http://{at}:{ports.resourcemanager_web}",
        namenode=f"{'http' if isinstance(key, str) else 'https'}://{at}:{ports.namenode_web}",
        history=f"http://{at}:{ports.history_web}",
        user=run_as or node.user,
        nodes=ground.names,
        key=key,
    )


class Setup:
    """Answers for an MR-cluster and a node; what was found out about releases and Java is remembered."""

    def __init__(
        self,
        ground: Ground,
        shell: RemoteShell,
        releases: Releases,
        doors: Doors,
        secrets: Secrets | None = None,
        kerberos: Kerberos | None = None,
    ) -> None:
        self._secrets = secrets or Secrets()
        self._ground = ground
        self._doors = doors
        self._kerberos = kerberos or Kerberos()
        self._shell = shell
        self._cache = releases
        self._lock = threading.Lock()
        self._releases: dict[tuple[NodeId, str], Release] = {}
        self._javas: dict[tuple[NodeId, str], str] = {}
        self._sparks: dict[NodeId, SparkRelease] = {}
        self._pigs: dict[tuple[ClusterId, NodeId], PigRelease] = {}
        self._sound: set[tuple[NodeId, ClusterId, int]] = set()

    def check(self, cluster: LiveCluster, nodes: Sequence[NodeId]) -> None:
        """FawkesError, before anything is changed there, when nodes cannot serve with the Kerberos that is wanted."""
        if self._kerberos.secured(cluster.id, cluster.details) is not None:
            self._kerberos.check_again(cluster.id, cluster.details)
            check_clocks(self._ground, nodes)

    def make_sound(self, cluster: LiveCluster, nodes: Mapping[NodeId, int]) -> dict[NodeId, tuple[str, ...]]:
        """Bring the release to nodes, by generation, and make it what it was: before a new owner's first daemon starts.

        Each file is read and compared with its pinned sum, once for each generation; a copy in which one is wrong is
        replaced. The names of the wrong files by node. A site's own ``release_dir`` has no sums. Raises as `spread`,
        and waits in the same way for all else that the MR-cluster needs of the cache.
        """
        for piece in needs_of_details(cluster.details):
            self._cache.wait_for(piece)
        with self._lock:
            todo = [n for n, generation in nodes.items() if (n, cluster.id, generation) not in self._sound]
        wrong = self.spread(cluster, todo, verify=True) if todo else {}
        with self._lock:
            self._sound |= {(n, cluster.id, nodes[n]) for n in todo}
        return wrong

    def spread(
        self, cluster: LiveCluster, nodes: Sequence[NodeId], *, verify: bool = False
    ) -> dict[NodeId, tuple[str, ...]]:
        """Bring the release to the nodes that miss it; PartialError names those where that failed.

        A release that the cache has lost is waited for; MissingReleaseError when it cannot be fetched. With ``verify``
        the names of files that were wrong, by node.
        """
        details, wrong = cluster.details, dict[NodeId, tuple[str, ...]]()
        own = () if details.release_dir else (pin(details.hadoop_version),)
        places = {str(node): self._ground.nodes[node].software_dir for node in nodes}
        for wanted in (*own, *([SPARK] if spark.KIND in details.software else [])):
            self._cache.wait_for(wanted)
            release = cached_spark(wanted) if isinstance(wanted, SparkPin) else cached(wanted)
            brought = spread(release, places, self._shell, verify=verify)
            brought.check()
            with self._lock:
                for node in nodes:
                    self._remember(node, release.at(brought.roots[node]))
            for host, names in brought.wrong.items():
                _log.warning("%s: %s was changed there and has been replaced: %s", host, release.name, ", ".join(names))
                wrong[NodeId(host)] = (*wrong.get(NodeId(host), ()), *names)
        return wrong

    def _remember(self, node: NodeId, release: Release | SparkRelease) -> None:
        if isinstance(release, SparkRelease):
            self._sparks[node] = release
        else:
            self._releases[node, release.version] = release

    def release(self, cluster: LiveCluster, node: NodeId) -> Release:
        """The release as it lies on a node; it is brought there when it is missing.

        MissingReleaseError, at once, while the cache does not have it.
        """
        details = cluster.details
        place = details.release_dir or details.hadoop_version
        if (node, place) not in self._releases:
            if details.release_dir:
                known = release_on(self._shell, node, details.release_dir)
                with self._lock:
                    self._releases[node, place] = known
            else:
                self._cache.need(pin(details.hadoop_version))
                self.spread(cluster, [node])
        with self._lock:
            return self._releases[node, place]

    def spark(self, cluster: LiveCluster, node: NodeId) -> SparkRelease:
        """Spark as it lies on a node, brought there when it is missing. Raises as `release`."""
        if node not in self._sparks:
            self._cache.need(SPARK)
            self.spread(cluster, [node])
        with self._lock:
            return self._sparks[node]

    def pig(self, cluster: LiveCluster) -> PigRelease:
        """Pig as it lies on the master, brought there when it is missing; UserError when the cache has none."""
        with self._lock:
            known = self._pigs.get((cluster.id, cluster.master))
        if known is None:
            release = cached_pig(PIG_PINS[DEFAULT_PIG])
            place = {str(cluster.master): self._ground.nodes[cluster.master].software_dir}
            brought = spread(release, place, self._shell, verify=True)
            brought.check()
            known = release.at(brought.roots[cluster.master])
            with self._lock:
                self._pigs[cluster.id, cluster.master] = known
        return known

    def java_home(self, cluster: LiveCluster, node: NodeId) -> str:
        """The Java of a node that fits the release; HostError says which would."""
        release = self.release(cluster, node)
        with self._lock:
            known = self._javas.get((node, release.version))
        if known is None:
            given = self._ground.nodes[node].java_home
            known = find_java(self._shell, node, release, java_home=given).home
            with self._lock:
                self._javas[node, release.version] = known
        return known

    def masters(self, cluster: LiveCluster) -> MasterAddresses:
        """The place where the masters answer."""
        key = self._login(cluster) or self._doors.keys.of(cluster.id)
        return addresses_of(self._ground, cluster.master, key, cluster.details.run_as)

    def session(self, cluster: LiveCluster) -> SaslSession | None:
        """The beginning of a conversation over RPC with one of its daemons; None without Kerberos. TicketError."""
        login = self._login(cluster)
        return None if login is None else login.session()

    def _login(self, cluster: LiveCluster) -> Login | None:
        return self._kerberos.login(cluster.id, cluster.details, self._doors.keys.of(cluster.id))

    def journal_url(self, cluster: LiveCluster, node: NodeId) -> str:
        """The place where the web server of a JournalNode answers."""
        scheme = "http" if self._login(cluster) is None else "https"
        return f"{scheme}://{self._ground.nodes[node].data_address}:{Ports().journal_web}"

    def default_fs(self, cluster: LiveCluster) -> str:
        """The URL of its HDFS."""
        trio = self._trio(cluster)
        return self._address_url(cluster) if trio is None else trio.url

    def _address_url(self, cluster: LiveCluster) -> str:
        return f"hdfs://{self.address(cluster)}:{Ports().namenode}"

    def target(self, cluster: LiveCluster) -> Target:
        """The target of the sampler; a slot is a container of a map task."""
        mapred = self.settings(cluster)["mapred-site"]
        return Target(
            cluster=cluster.id,
            masters=self.masters(cluster),
            task_mb=int(mapred["mapreduce.map.memory.mb"]),
            task_vcores=0,
            master_mb=int(mapred["yarn.app.mapreduce.am.resource.mb"]),
        )

    def files(self, cluster: LiveCluster, node: NodeId, role: Role) -> dict[str, str | bytes]:
        """The configuration folder of a node, by file name: Hadoop's own files, and what its doors need."""
        return {
            **hadoop_conf.files(self._conf(cluster, node, role)),
            LIST: self.doors_list(cluster),
            KEY: f"{self._doors.keys.of(cluster.id)}\n",
            hadoop_conf.DOORS_JAR: self._doors.jar(),
            **self._kerberos.files(cluster.id, cluster.details),
        }

    def doors_list(self, cluster: LiveCluster) -> str:
        """The text of the list of those whose connections its daemons take."""
        inside = (node for node in cluster.members if node not in cluster.shut_out)
        return doors_list(self._ground.addresses(inside), cluster.details.clients)

    def policy(self, cluster: LiveCluster) -> str:
        """The text of ``hadoop-policy.xml`` of its masters: whose RPC they take. The second NameNode has the same."""
        return hadoop_conf.to_xml(self.settings(cluster)["hadoop-policy"])

    def settings(self, cluster: LiveCluster) -> dict[str, dict[str, str]]:
        """The settings of the master, by file and key."""
        return hadoop_conf.settings(self._conf(cluster, cluster.master, Role.CORE))

    def daemons(self, cluster: LiveCluster, node: NodeId, role: Role) -> list[hadoop.Daemon]:
        """The daemons of a node."""
        names = [*masters_on(cluster, node), *_DAEMONS[role]]
        folders = self._ground.folders(node, cluster.id)
        env = self.environment(cluster, node)
        web = ",".join(map(str, Ports().web))
        home = self._ground.nodes[node].data_address
        own = {spark.HISTORY: spark.history_flags(self.default_fs(cluster))}
        guarded = [*hadoop_conf.DOOR_FLAGS, f"-Dfawkes.doors.web={web}", f"-Dfawkes.doors.home={home}"]
        return [
            hadoop.Daemon(
                name,
                _with_class_path(
                    self._argv(
                        cluster, node, name, extra=[*guarded, *own.get(name, ()), *hadoop.log_flags(folders, name)]
                    ),
                    after=str(folders.conf / hadoop_conf.DOORS_JAR),
                ),
                env,
                follows="" if name in _OF_MASTERS else self.follows(cluster),
            )
            for name in names
        ]

    def follows(self, cluster: LiveCluster) -> str:
        """The address of the masters that its workers follow; with a journal its name, for masters move within it."""
        if cluster.standby is not None:
            return self.default_fs(cluster)
        return self.address(cluster)

    def address(self, cluster: LiveCluster) -> str:
        """The data address of its masters."""
        return self._ground.nodes[cluster.master].data_address

    def environment(self, cluster: LiveCluster, node: NodeId) -> dict[str, str]:
        """The environment of daemons and commands."""
        conf = str(self._ground.folders(node, cluster.id).conf)
        own = self.release(cluster, node).environment(self.java_home(cluster, node), conf)
        if spark.KIND in cluster.details.software:
            own["SPARK_HOME"] = self.spark(cluster, node).root
        return own | self._ticket(cluster, conf)

    def _ticket(self, cluster: LiveCluster, conf: str) -> dict[str, str]:
        """The environment in which commands on a node log in; empty without Kerberos."""
        secured = self._kerberos.secured(cluster.id, cluster.details)
        return {} if secured is None else hadoop_kerberos.environment(secured, conf)

    def _realm(self, cluster: LiveCluster, node: NodeId) -> tuple[str, ...]:
        """The flags of JVMs on a node that find the realm."""
        if self._kerberos.secured(cluster.id, cluster.details) is None:
            return ()
        return hadoop_kerberos.java_flags(str(self._ground.folders(node, cluster.id).conf))

    def format_argv(self, cluster: LiveCluster) -> list[str]:
        """The command that formats the NameNode's folder, and its journal, whose daemons may still be starting."""
        argv = self._argv(cluster, cluster.master, "namenode-format")
        return argv if cluster.standby is None else _waiting(argv, "-format")

    def share_argv(self, cluster: LiveCluster) -> list[str]:
        """The command that begins a journal with what the NameNode has; its daemons may still be starting."""
        flags = [f"-Xmx{self._heap_mb(cluster, cluster.master, 'namenode')}m"]
        argv = self._argv(cluster, cluster.master, "namenode-share", extra=flags)
        return _waiting(argv, "-initializeSharedEdits")

    def bootstrap_argv(self, cluster: LiveCluster, node: NodeId) -> list[str]:
        """The command that gives a second NameNode's empty folder the image of the first one."""
        flags = [f"-Xmx{self._heap_mb(cluster, node, 'namenode')}m"]
        return self._argv(cluster, node, "namenode-bootstrap", extra=flags)

    def offline_argv(self, cluster: LiveCluster, node: NodeId, program: str) -> list[str]:
        """A command on any node that reads or merges a copy of the NameNode's data: ``namenode`` or ``oiv``.

        It has a configuration of its own, in which there is no journal.
        """
        conf = restoring.conf(self._ground.folders(node, cluster.id))
        return self._argv(cluster, node, program, extra=[f"-Xmx{self._heap_mb(cluster, node, 'namenode')}m"], conf=conf)

    def checkpoint_argv(self, cluster: LiveCluster, node: NodeId) -> list[str]:
        """The command on a core node that makes a new image of the NameNode's image and edits, and gives it to it."""
        flags = hadoop.log_flags(self._ground.folders(node, cluster.id), "checkpoint")
        return self._argv(cluster, node, "checkpoint", extra=flags)

    def refresh_argv(self, cluster: LiveCluster, which: str) -> list[str]:
        """The command by which a master reads its members (hdfs, yarn) or whose RPC it takes (...-policy).

        ``hdfs-freeze``: HDFS takes no more writes; ``hdfs-thaw``: it takes them again; ``hdfs-open``: it does,
        although DataNodes have blocks that it does not know.
        """
        program, words, _ = _REFRESH[which]
        # By name all NameNodes would be told, and those that do not run would be an error.
        here = ["-fs", self._address_url(cluster)] if program == "dfsadmin" and cluster.standby is not None else []
        return [*self._argv(cluster, cluster.master, program), *here, *words]

    def order(self, cluster: LiveCluster, which: str) -> AddressedOrder:
        """The same as an order over RPC: address, port, order."""
        ports = Ports()
        port = ports.namenode if which.startswith("hdfs") else ports.admin
        return self._addressed(cluster, port, _REFRESH[which][2])

    def kill_order(self, cluster: LiveCluster, application: str) -> AddressedOrder:
        """The order that ends an application."""
        return self._addressed(cluster, Ports().resourcemanager, kill_application(application))

    def close_order(self, cluster: LiveCluster, path: str) -> AddressedOrder:
        """The order that closes a file whose writer is gone."""
        return self._addressed(cluster, Ports().namenode, recover_lease(path))

    def open_files_order(self, cluster: LiveCluster, folder: str, after: int) -> AddressedOrder:
        """The order that lists files that are open for writing, from the one after ``after`` on."""
        return self._addressed(cluster, Ports().namenode, list_open_files(folder, after))

    def _addressed(self, cluster: LiveCluster, port: int, order: Order) -> AddressedOrder:
        login = self._login(cluster)
        at = self.address(cluster)
        return AddressedOrder(at, port, order, None if login is None else login.session)

    def kill_argv(self, cluster: LiveCluster, application: str) -> list[str]:
        """The command on the master that does the same."""
        return [*self._argv(cluster, cluster.master, "application"), "-kill", application]

    def end_order(self, cluster: LiveCluster, attempt: str, at: str) -> AddressedOrder | None:
        """The order to the ApplicationMaster at ``at`` (host and port) that ends an attempt of a task.

        None where it takes tokens alone, or is not known.
        """
        host, _, port = at.rpartition(":")
        if not host or not port.isdigit() or self._login(cluster) is not None:
            return None
        return AddressedOrder(host, int(port), kill_attempt(attempt))

    def end_argv(self, cluster: LiveCluster, attempt: str) -> list[str]:
        """The command on the master that does the same."""
        return [*self._argv(cluster, cluster.master, "job"), "-kill-task", attempt]

    def surroundings(self, cluster: LiveCluster, effect: StartJob) -> tuple[dict[str, str], tuple[str, ...]]:
        """The environment of an attempt's command, and the flags of its JVM."""
        node = cluster.master
        release, java = self.release(cluster, node), self.java_home(cluster, node)
        folders = self._ground.folders(node, cluster.id)
        conf_dir = str(book.job_folder(folders, effect.job, effect.attempt) / "conf")
        env = release.environment(java, conf_dir) | self._ticket(cluster, str(folders.conf))
        # A wipe removes that folder; what lies in /tmp could be anybody's.
        env["TMPDIR"] = str(folders.tmp)
        env["PATH"] = f"{release.bin_dir}:{java}/bin:/usr/local/bin:/usr/bin:/bin"
        env[ENVIRONMENT] = tag_of(effect.job, effect.attempt)
        return env, (*LIGHT_FLAGS, f"-Djava.io.tmpdir={folders.tmp}", *self._realm(cluster, node))

    def job_command(self, cluster: LiveCluster, effect: StartJob, details: JobDetails) -> Command:
        """The command that the launcher of an attempt runs on the master."""
        node, (env, flags) = cluster.master, self.surroundings(cluster, effect)
        release, java, conf_dir = self.release(cluster, node), env["JAVA_HOME"], env["HADOOP_CONF_DIR"]
        tag, files = env[ENVIRONMENT], self.files_folder(cluster, effect)
        jar = uploaded(files, details.jar) if details.jar else release.own_jar(details.release_jar)
        args = tagged_args(details.args, tag)
        if effect.granted:
            args = granted_args(args, effect.granted, self._queue(cluster, details, tag))
        base = release.daemon_argv("jar", java_home=java, conf_dir=conf_dir, heap_mb=_CLIENT_HEAP_MB, extra=flags)
        match details.kind:
            case "jar":
                argv = [*base, jar, *([details.main_class] if details.main_class else []), *args]
            case "class" | "tasks":
                argv = [*_with_class_path(base, after=jar)[:-1], details.main_class, *args]
            case "streaming":
                argv = [*base, release.streaming_jar, *streaming_words(details, files, args)]
            case "pig":
                words, pig = [*args, "-f", uploaded(files, details.pig)], self.pig(cluster)
                argv = pig.argv(release, java_home=java, conf_dir=conf_dir, heap_mb=_PIG_HEAP_MB, extra=flags) + words
            case "script":
                argv = ["/bin/sh", "-c", details.command, "sh", *args]
            case kind:
                raise UserError(f"there is no kind of job {kind!r}", where=effect.job, hint="Submit it as another kind")
        own = tagged_properties(with_secrets(details.properties, self.secrets(details)), tag)
        if effect.granted:
            own = granted_properties(own, effect.granted, self._queue(cluster, details, tag))
        conf = hadoop_conf.files(self._conf(cluster, node, Role.CORE, {"mapred-site": own}))
        return Command(argv, env, conf)

    def files_folder(self, cluster: LiveCluster, effect: StartJob) -> PurePosixPath:
        """The folder on the master with the files of an attempt."""
        return book.files_folder(self._ground.folders(cluster.master, cluster.id), effect.job, effect.attempt)

    def secrets(self, details: JobDetails) -> dict[str, str]:
        """The values of a job's secret properties; UserError names one that is not there."""
        return dict(self._secrets.values(details.secrets))

    def pool(self) -> dict[NodeId, tuple[int, int]]:
        """The memory, in MiB, and the cores that each node of the pool has for containers."""
        return {name: (node.memory_bytes // MB, node.cores) for name, node in self._ground.nodes.items()}

    def _queue(self, cluster: LiveCluster, details: JobDetails, name: str) -> str:
        """The queue in which the MR-jobs of a granted job run one at a time; empty for a job that has one alone."""
        if details.one_application:
            return ""
        queue = hadoop_queues.granted_queue(self.settings(cluster), name)
        if not queue:
            raise UserError(
                "its grant of CPUs cannot be kept: it may run several MR-jobs at once, and there is no queue here that "
                "runs them in turn",
                where=cluster.id,
                hint="Use Hadoop 3.4 or later, and no capacity scheduler's queues of your own in [hadoop]",
            )
        return queue

    def client(self, cluster: LiveCluster) -> dict[str, str]:
        """The configuration with which commands on other machines reach the MR-cluster."""
        return hadoop_conf.files(self._conf(cluster, cluster.master, Role.CORE))

    def _conf(
        self, cluster: LiveCluster, node: NodeId, role: Role, own: hadoop_conf.Sites | None = None
    ) -> hadoop_conf.NodeConf:
        """The values on which the files of a node depend; ``own`` are settings of one job."""
        facts, details = self._ground.nodes[node], cluster.details
        release = self.release(cluster, node)
        biggest = max(self._ground.nodes.values(), key=lambda n: n.memory_bytes)
        return hadoop_conf.NodeConf(
            folders=self._ground.folders(node, cluster.id),
            role=role,
            master=self._ground.nodes[cluster.master].data_address,
            address=facts.data_address,
            user=cluster.user_on(facts),
            core_count=len(cluster.core),
            replication=cluster.spec.replication,
            block_size_bytes=details.block_size_bytes,
            memory_mb=facts.memory_bytes // MB,
            vcores=facts.cores,
            java_home=self.java_home(cluster, node),
            hadoop_home=release.root,
            task_class_path=release.task_class_path,
            max_memory_mb=biggest.memory_bytes // MB,
            max_vcores=max(n.cores for n in self._ground.nodes.values()),
            allowed=self._allowed(cluster) if node in (cluster.master, cluster.second) else None,
            trio=self._trio(cluster),
            state_in_hdfs=cluster.state_in_hdfs,
            quick=self._small(cluster.master),
            own_queues=release.makes_queues,
            kerberos=self._kerberos.secured(cluster.id, cluster.details),
            overrides=(
                *([details.overrides(role)] if details.hadoop or details.roles else []),
                *([own] if own else []),
            ),
        )

    def _trio(self, cluster: LiveCluster) -> hadoop_ha.Trio | None:
        if cluster.standby is None:
            return None
        addresses = {str(node): self._ground.nodes[node].data_address for node in cluster.journal}
        return hadoop_ha.Trio(name=hadoop_ha.nameservice(cluster.id), addresses=addresses)

    def _allowed(self, cluster: LiveCluster) -> str:
        """The hosts whose RPC the masters take. The controller comes through the master's own host."""
        return policy_hosts(self._ground.addresses(cluster.members), cluster.details.clients)

    def _argv(
        self,
        cluster: LiveCluster,
        node: NodeId,
        program: str,
        extra: Sequence[str] = (),
        conf: PurePosixPath | None = None,
    ) -> list[str]:
        light = LIGHT_FLAGS if program not in _HEAPS_MB or self._small(node) else ()
        own, realm = self._ground.folders(node, cluster.id).conf, self._realm(cluster, node)
        software = self.spark(cluster, node) if program == spark.HISTORY else self.release(cluster, node)
        argv = software.daemon_argv(
            program,
            java_home=self.java_home(cluster, node),
            conf_dir=str(conf or own),
            heap_mb=self._heap_mb(cluster, node, program),
            extra=(*light, *realm, *extra),
        )
        return _with_class_path(argv, before=str(own / hadoop_kerberos.SECURE_IO_JAR)) if realm else argv

    def _small(self, node: NodeId) -> bool:
        return self._ground.nodes[node].memory_bytes < _SMALL_NODE_BYTES

    def _heap_mb(self, cluster: LiveCluster, node: NodeId, program: str) -> int:
        # A checkpoint has the whole namespace in memory, as the NameNode has.
        program = "namenode" if program == "checkpoint" else program
        given = cluster.details.heap_bytes.get(program)
        if given:
            return given // MB
        heaps = _SMALL_HEAPS_MB if self._small(node) else _HEAPS_MB
        return heaps.get(program, _CLIENT_HEAP_MB)


def masters_on(cluster: LiveCluster, node: NodeId) -> tuple[str, ...]:
    """The daemons that a node has beside those of its role, because masters or a part of the journal are there."""
    journal = ("journalnode",) if node in cluster.journal else ()
    if node == cluster.master:
        own = (spark.HISTORY,) if spark.KIND in cluster.details.software else ()
        return (*journal, *_MASTER_DAEMONS, *own)
    return (*journal, "namenode") if node == cluster.second else journal


def _waiting(argv: Sequence[str], option: str) -> list[str]:
    """The same, but waiting for JournalNodes that are starting."""
    at = list(argv).index(option)
    flags = ["-Dipc.client.connect.max.retries=300", "-Dipc.client.connect.retry.interval=100"]
    return [*argv[:at], *flags, *argv[at:]]


def _with_class_path(argv: Sequence[str], *, before: str = "", after: str = "") -> list[str]:
    """The same with a jar before all others on the class path, and one after them; empty: none."""
    at = list(argv).index("-cp") + 1
    return [*argv[:at], ":".join(filter(None, (before, argv[at], after))), *argv[at + 1 :]]
