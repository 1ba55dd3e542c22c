"""Hadoop's configuration files for one node of one MR-cluster, from plain values.

What each setting is there for stands beside it where leaving it out goes wrong. Administrators override any key for an
MR-cluster and for a role (`overrides`), but not those by which Fawkes decides who belongs to an MR-cluster.
"""

from __future__ import annotations

import re
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fawkes.base.errors import UserError
from fawkes.config.jobs.arrays import MOST_PRIORITY
from fawkes.core.values.model import Role
from fawkes.live.hadoop import hadoop_ha
from fawkes.live.hadoop.hadoop_ha import HA_KEYS, Trio
from fawkes.live.hadoop.hadoop_queues import ROOT, monitor, scheduler
from fawkes.live.hadoop.ports import Ports
from fawkes.live.kerberos import hadoop_kerberos
from fawkes.live.kerberos.hadoop_kerberos import Secured
from fawkes.playbook import Folders
from fawkes.playbook.dist.release import QUICK_FLAGS

Sites = Mapping[str, Mapping[str, str]]

SITES = ("core-site", "hdfs-site", "yarn-site", "mapred-site", "capacity-scheduler", "hadoop-policy")
"""The files that are XML, without their ending: these can be overridden."""

MEMBERSHIP_KEYS = frozenset(
    {
        "dfs.hosts",
        "dfs.hosts.exclude",
        "dfs.namenode.hosts.provider.classname",
        "yarn.resourcemanager.nodes.include-path",
        "yarn.resourcemanager.nodes.exclude-path",
    }
)
"""Keys that nobody overrides: with another list of members, anybody could join."""

DOOR_KEYS = frozenset(
    {
        "dfs.datanode.httpserver.filter.handlers",
        "hadoop.http.filter.initializers",
        "yarn.app.mapreduce.am.admin-command-opts",
    }
)
"""Keys that nobody overrides: without them, anybody could read and write."""

DOORS_JAR = "fawkes-doors.jar"
"""The file of the configuration folder with the door keepers of the daemons."""

DOORS_KEY = "doors.key"
"""The file of the configuration folder with the MR-cluster's key."""

_DOORS_ENTRY = f"$HADOOP_CONF_DIR/{DOORS_JAR}"

DOOR_FLAGS = (
    "-Djava.nio.channels.spi.SelectorProvider=fawkes.doors.Provider",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
)
"""Flags of a JVM that takes connections only from the addresses on the MR-cluster's list."""

WEB_DOOR, DATA_DOOR = "fawkes.doors.WebDoor", "fawkes.doors.DataDoor"
"""The classes that ask the callers of web servers: those of DataNodes, and all others."""

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MIB = 1 << 20
_SCHEDULER = "yarn.resourcemanager.scheduler.class"


@dataclass(frozen=True, kw_only=True)
class TaskSizes:
    """Memory of containers, in MiB. ``step`` is the smallest container, and what others are multiples of."""

    master_mb: int
    map_mb: int
    reduce_mb: int
    step_mb: int

    @staticmethod
    def for_nodes(memory_mb: int) -> TaskSizes:
        """Sizes for NodeManagers that offer ``memory_mb``: small ones below 4 GiB, so that several tasks fit."""
        if memory_mb < 4096:
            return TaskSizes(master_mb=384, map_mb=256, reduce_mb=256, step_mb=128)
        return TaskSizes(master_mb=1024, map_mb=1024, reduce_mb=1024, step_mb=256)


@dataclass(frozen=True, kw_only=True)
class NodeConf:
    """All that the files of one node depend on.

    ``master`` and ``address`` are data addresses; ``memory_mb`` and ``vcores`` what this node's NodeManager offers,
    ``max_memory_mb`` and ``max_vcores`` the largest of the MR-cluster (0: as this node). ``task_class_path`` has the
    release's entries relative to its folder, ``hadoop_home`` that folder here. ``allowed`` are the addresses whose RPC
    the masters take, with commas between them, None all. ``quick`` is for labs: heartbeats and checks each second.
    ``kerberos`` is None for an MR-cluster without.
    ``own_queues``: this release makes a queue when the first job asks for it, and can run the jobs of one in turn.
    ``trio`` has the nodes of the journal, None without one. ``state_in_hdfs``: the ResourceManager's state lies there.
    """

    folders: Folders
    role: Role
    master: str
    address: str
    user: str
    core_count: int
    replication: int
    block_size_bytes: int
    memory_mb: int
    vcores: int
    java_home: str
    hadoop_home: str
    task_class_path: Sequence[str]
    max_memory_mb: int = 0
    max_vcores: int = 0
    disk_reserved_bytes: int = 0
    sizes: TaskSizes | None = None
    allowed: str | None = None
    ports: Ports = field(default_factory=Ports)
    quick: bool = False
    overrides: Sequence[Sites] = ()
    own_queues: bool = False
    kerberos: Secured | None = None
    trio: Trio | None = None
    state_in_hdfs: bool = False

    @property
    def default_fs(self) -> str:
        """The URL of its HDFS."""
        return f"hdfs://{self.master}:{self.ports.namenode}" if self.trio is None else self.trio.url

    @property
    def granted_queues(self) -> bool:
        """True if jobs can have queues of their own: not where the administrator divides YARN by queues himself."""
        keys = {key for override in self.overrides for values in override.values() for key in values}
        return self.own_queues and _SCHEDULER not in keys and not any(key.startswith(ROOT) for key in keys)

    @property
    def task_sizes(self) -> TaskSizes:
        """The sizes given, or those that fit the nodes."""
        return self.sizes or TaskSizes.for_nodes(self.max_memory_mb or self.memory_mb)


def files(conf: NodeConf) -> dict[str, str]:
    """The texts of all files by name; the same for the same values. UserError names a key that must not be set."""
    sites = settings(conf)
    texts = {f"{site}.xml": to_xml(values) for site, values in sites.items()}
    if conf.kerberos is not None:
        tls = hadoop_kerberos.tls_settings(conf.folders.conf)
        texts |= {f"{site}.xml": to_xml(values) for site, values in tls.items()}
    return {**texts, "log4j.properties": _LOG4J, "hadoop-env.sh": _shell_settings(conf)}


def settings(conf: NodeConf) -> dict[str, dict[str, str]]:
    """The settings by file and key, overrides in place: later ones win."""
    sites = {
        "core-site": _core(conf),
        "hdfs-site": _hdfs(conf) | _hdfs_pace(conf),
        "yarn-site": _yarn_addresses(conf) | _yarn(conf) | _yarn_pace(conf) | monitor(granted=conf.granted_queues),
        "mapred-site": _mapred(conf) | _mapred_pace(conf),
        "capacity-scheduler": scheduler(conf.user, conf.core_count, granted=conf.granted_queues),
        "hadoop-policy": _policy(conf),
    }
    kerberos = _kerberos(conf)
    for override in conf.overrides:
        for site, values in override.items():
            _check(site, values, kerberos.get(site, {}))
            sites[site] |= values
    for site, values in kerberos.items():
        sites[site] |= values
    # An ApplicationMaster that does not find its door keeper does not start.
    first = _first_entries(conf)
    for site, key in (("mapred-site", "mapreduce.application.classpath"), ("yarn-site", "yarn.application.classpath")):
        entries = sites[site][key].split(",")
        sites[site][key] = ",".join([*(entry for entry in first if entry not in entries), *entries])
    return sites


def to_xml(values: Mapping[str, str]) -> str:
    """One of Hadoop's XML files, keys sorted; UserError for a value that XML cannot hold."""
    root = ET.Element("configuration")
    for key, value in sorted(values.items()):
        if _NOT_IN_XML.search(key + value):
            raise UserError(f"{value!r} has a character that XML cannot hold", where=key)
        row = ET.SubElement(root, "property")
        ET.SubElement(row, "name").text = key
        ET.SubElement(row, "value").text = value
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _check(site: str, values: Mapping[str, str], kerberos: Mapping[str, str]) -> None:
    if site not in SITES:
        raise UserError(
            f"there is no configuration file {site!r}", where="overrides", hint=f"Known: {', '.join(SITES)}"
        )
    owned = sorted((MEMBERSHIP_KEYS | DOOR_KEYS | HA_KEYS | set(kerberos)) & set(values))
    if owned:
        hint = "Fawkes itself decides who belongs to an MR-cluster, and where its masters are"
        raise UserError(f"{owned[0]} cannot be overridden", where=site, hint=hint)


def _kerberos(conf: NodeConf) -> Sites:
    """The settings for Kerberos; the web servers of HDFS have HTTPS then, on the ports that they have without it."""
    if conf.kerberos is None:
        return {}
    folder, ports = conf.folders.conf, conf.ports
    sites = hadoop_kerberos.settings(
        conf.kerberos, folder, conf.user, web_door=WEB_DOOR, key_file=DOORS_KEY, am_flags=DOOR_FLAGS
    )
    sites["hdfs-site"] |= {"dfs.datanode.https.address": f"{conf.address}:{ports.datanode_web}"}
    if conf.trio is None:
        sites["hdfs-site"]["dfs.namenode.https-address"] = f"{conf.master}:{ports.namenode_web}"
    else:
        sites["hdfs-site"] |= hadoop_ha.https(conf.trio, ports, conf.address)
    return sites


def _core(conf: NodeConf) -> dict[str, str]:
    return {
        "fs.defaultFS": conf.default_fs,
        "hadoop.tmp.dir": str(conf.folders.tmp),
        # Alone: with it and no static user, YARN's web pages take no orders from anybody.
        "hadoop.http.filter.initializers": WEB_DOOR,
        "hadoop.security.authorization": "true",
        "io.file.buffer.size": "65536",
        **({} if conf.trio is None else hadoop_ha.core(conf.trio, quick=conf.quick)),
    }


def _hdfs(conf: NodeConf) -> dict[str, str]:
    folders, ports = conf.folders, conf.ports
    # Storage policies need types: what is COLD lies on ARCHIVE volumes, and only core nodes have those.
    volumes = [f"[DISK]file://{folders.dn}"]
    if conf.role is Role.CORE:
        volumes.append(f"[ARCHIVE]file://{folders.dn_input}")
    return {
        "dfs.namenode.name.dir": f"file://{folders.nn}",
        "dfs.datanode.data.dir": ",".join(volumes),
        "dfs.datanode.du.reserved": str(conf.disk_reserved_bytes),
        "dfs.replication": str(conf.replication),
        "dfs.blocksize": str(conf.block_size_bytes),
        "dfs.namenode.fs-limits.min-block-size": str(min(conf.block_size_bytes, _MIB)),
        "dfs.hosts": str(folders.members / Folders.DFS_INCLUDE),
        "dfs.hosts.exclude": str(folders.members / Folders.DFS_EXCLUDE),
        **_namenodes(conf),
        "dfs.datanode.address": f"{conf.address}:{ports.datanode}",
        "dfs.datanode.ipc.address": f"{conf.address}:{ports.datanode_ipc}",
        "dfs.datanode.http.address": f"{conf.address}:{ports.datanode_web}",
        "dfs.datanode.httpserver.filter.handlers": DATA_DOOR,
        # Known by address: WebHDFS sends readers to it, who need not resolve the pool's names then.
        "dfs.datanode.hostname": conf.address,
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.block.access.token.enable": "true",
        "dfs.namenode.avoid.read.stale.datanode": "true",
        "dfs.namenode.avoid.write.stale.datanode": "true",
        # A DataNode with twice the mean load gets no block otherwise. Beside many idle transient-core nodes that is
        # every core node, and what may lie on core nodes alone (staging, histories) could not be written at all.
        "dfs.namenode.redundancy.considerLoad": "false",
        # With few DataNodes left, a writer that lost one goes on with the others.
        "dfs.client.block.write.replace-datanode-on-failure.best-effort": "true",
    }


def _namenodes(conf: NodeConf) -> dict[str, str]:
    ports = conf.ports
    if conf.trio is not None:
        return hadoop_ha.hdfs(conf.trio, ports, conf.folders, conf.address, quick=conf.quick)
    return {
        "dfs.namenode.rpc-address": f"{conf.master}:{ports.namenode}",
        "dfs.namenode.http-address": f"{conf.master}:{ports.namenode_web}",
    }


def _hdfs_pace(conf: NodeConf) -> dict[str, str]:
    """Dead after a minute instead of ten (2 rechecks and 10 heartbeats); drains that are not throttled to days."""
    return {
        "dfs.heartbeat.interval": "1" if conf.quick else "3",
        "dfs.namenode.heartbeat.recheck-interval": "10000" if conf.quick else "15000",
        # No write begins on a node that has just lost its power: four heartbeats, and long before it counts as dead.
        "dfs.namenode.stale.datanode.interval": "4000" if conf.quick else "12000",
        "dfs.namenode.decommission.interval": "1" if conf.quick else "5",
        "dfs.namenode.redundancy.interval.seconds": "1" if conf.quick else "3",
        "dfs.namenode.replication.max-streams": "20",
        "dfs.namenode.replication.max-streams-hard-limit": "40",
        "dfs.namenode.replication.work.multiplier.per.iteration": "10",
        # A copy that was given to a node that died is given to another one after this, not after five minutes.
        "dfs.namenode.reconstruction.pending.timeout-sec": "20" if conf.quick else "120",
        "dfs.namenode.safemode.extension": "0",
        # A NameNode refuses an image (of `live.keeping`) that has fewer new transactions than this in 45 minutes. It
        # also begins a new segment of edits after half of them.
        "dfs.namenode.checkpoint.txns": "100000",
    }


def _yarn_addresses(conf: NodeConf) -> dict[str, str]:
    ports, master = conf.ports, conf.master
    return {
        **_resource_managers(conf),
        "yarn.nodemanager.hostname": conf.address,
        # A fixed port: a NodeManager that comes back is the one it was, not a second one.
        "yarn.nodemanager.address": f"{conf.address}:{ports.nodemanager}",
        "yarn.nodemanager.localizer.address": f"{conf.address}:{ports.localizer}",
        "yarn.nodemanager.webapp.address": f"{conf.address}:{ports.nodemanager_web}",
        "yarn.log.server.url": f"http://{master}:{ports.history_web}/jobhistory/logs",
    }


def _resource_managers(conf: NodeConf) -> dict[str, str]:
    ports, master = conf.ports, conf.master
    if conf.trio is not None:
        return hadoop_ha.yarn(conf.trio, ports, conf.address, quick=conf.quick)
    return {
        "yarn.resourcemanager.hostname": master,
        "yarn.resourcemanager.address": f"{master}:{ports.resourcemanager}",
        "yarn.resourcemanager.scheduler.address": f"{master}:{ports.scheduler}",
        "yarn.resourcemanager.resource-tracker.address": f"{master}:{ports.tracker}",
        "yarn.resourcemanager.admin.address": f"{master}:{ports.admin}",
        "yarn.resourcemanager.webapp.address": f"{master}:{ports.resourcemanager_web}",
    }


def _state_store(conf: NodeConf) -> dict[str, str]:
    if conf.state_in_hdfs:
        return hadoop_ha.state_store(conf.default_fs)
    return {"yarn.resourcemanager.fs.state-store.uri": f"file://{conf.folders.rm_state}"}


def _yarn(conf: NodeConf) -> dict[str, str]:
    folders, sizes = conf.folders, conf.task_sizes
    return {
        "yarn.resourcemanager.nodes.include-path": str(folders.members / Folders.YARN_INCLUDE),
        "yarn.resourcemanager.nodes.exclude-path": str(folders.members / Folders.YARN_EXCLUDE),
        "yarn.resourcemanager.recovery.enabled": "true",
        "yarn.resourcemanager.store.class": (
            "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore"
        ),
        **_state_store(conf),
        "yarn.nodemanager.local-dirs": str(folders.nm_local),
        "yarn.nodemanager.log-dirs": str(folders.nm_logs),
        # By default in /tmp, under the user's name: the next MR-cluster would find what this one has left there.
        "yarn.node-attribute.fs-store.root-dir": f"file://{folders.tmp}/node-attribute",
        "yarn.node-labels.fs-store.root-dir": f"file://{folders.tmp}/node-labels",
        "yarn.nodemanager.resource.memory-mb": str(conf.memory_mb),
        "yarn.nodemanager.resource.cpu-vcores": str(conf.vcores),
        # By default anybody may refresh the members or kill an application.
        "yarn.acl.enable": "true",
        "yarn.admin.acl": conf.user,
        "yarn.webapp.enable-rest-app-submissions": "false",
        "yarn.resourcemanager.webapp.ui-actions.enabled": "false",
        "yarn.scheduler.minimum-allocation-mb": str(sizes.step_mb),
        "yarn.scheduler.maximum-allocation-mb": str(conf.max_memory_mb or conf.memory_mb),
        "yarn.scheduler.maximum-allocation-vcores": str(conf.max_vcores or conf.vcores),
        # By default 0: no application could have a higher priority than another one.
        "yarn.cluster.max-application-priority": str(MOST_PRIORITY),
        "yarn.nodemanager.pmem-check-enabled": "false",
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
        "yarn.nodemanager.aux-services": "mapreduce_shuffle",
        "yarn.nodemanager.aux-services.mapreduce_shuffle.class": "org.apache.hadoop.mapred.ShuffleHandler",
        # The marks let a wipe find containers whose NodeManager was killed.
        "yarn.nodemanager.env-whitelist": (
            "JAVA_HOME,HADOOP_COMMON_HOME,HADOOP_HDFS_HOME,HADOOP_CONF_DIR,CLASSPATH_PREPEND_DISTCACHE,"
            "HADOOP_YARN_HOME,HADOOP_HOME,HADOOP_MAPRED_HOME,SPARK_HOME,PATH,LANG,TZ,"
            "FAWKES_POOL,FAWKES_CLUSTER,FAWKES_GENERATION"
        ),
        "yarn.application.classpath": _class_path(conf),
        "yarn.log-aggregation-enable": "true",
        "yarn.log-aggregation.retain-seconds": str(7 * 24 * 3600),
        "yarn.nodemanager.remote-app-log-dir": "/logs",
    }


def _yarn_pace(conf: NodeConf) -> dict[str, str]:
    quick = conf.quick
    return {
        "yarn.nm.liveness-monitor.expiry-interval-ms": "30000" if quick else "60000",
        # One that died with the host of the masters is missed by this alone: ten minutes otherwise. One that has only
        # just started must report in this time as well: on a busy lab with two cores that took more than 40 s.
        "yarn.am.liveness-monitor.expiry-interval-ms": "60000",
        # So long an ApplicationMaster tries to stop what it has on a lost node, and only then its job ends, or the task
        # begins again: 3 minutes otherwise.
        "yarn.client.nodemanager-connect.max-wait-ms": "20000",
        "yarn.client.nodemanager-connect.retry-interval-ms": "2000",
        "yarn.resourcemanager.decommissioning-nodes-watcher.poll-interval-secs": "1" if quick else "5",
        "yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs": "3600",
        # A worker that starts before its ResourceManager would wait 30 s for the next try.
        "yarn.resourcemanager.connect.retry-interval.ms": "500" if quick else "2000",
        # With recovery on, even a fresh ResourceManager gives out nothing until this time has passed.
        "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": "500" if quick else "5000",
        "yarn.nodemanager.resource-monitor.interval-ms": "3000",
    }


def _mapred(conf: NodeConf) -> dict[str, str]:
    ports, sizes = conf.ports, conf.task_sizes
    home = "HADOOP_MAPRED_HOME=$HADOOP_COMMON_HOME"
    return {
        "mapreduce.framework.name": "yarn",
        "mapreduce.application.classpath": _class_path(conf),
        "yarn.app.mapreduce.am.env": home,
        "mapreduce.map.env": home,
        "mapreduce.reduce.env": home,
        "yarn.app.mapreduce.am.resource.mb": str(sizes.master_mb),
        "yarn.app.mapreduce.am.command-opts": _java_opts(sizes.master_mb, conf.quick),
        "yarn.app.mapreduce.am.admin-command-opts": " ".join(DOOR_FLAGS),
        "mapreduce.cluster.acls.enabled": "true",
        "mapreduce.cluster.administrators": conf.user,
        "mapreduce.map.memory.mb": str(sizes.map_mb),
        "mapreduce.map.java.opts": _java_opts(sizes.map_mb, conf.quick),
        "mapreduce.reduce.memory.mb": str(sizes.reduce_mb),
        "mapreduce.reduce.java.opts": _java_opts(sizes.reduce_mb, conf.quick),
        "mapreduce.task.io.sort.mb": str(max(16, min(100, sizes.map_mb // 4))),
        # Ten copies, the default, would keep DataNodes from ever leaving an MR-cluster of fewer.
        "mapreduce.client.submit.file.replication": str(max(1, conf.core_count)),
        "mapreduce.shuffle.port": str(ports.shuffle),
        "mapreduce.jobhistory.address": f"{conf.master}:{ports.history}",
        "mapreduce.jobhistory.admin.address": f"{conf.master}:{ports.history_admin}",
        "mapreduce.jobhistory.webapp.address": f"{conf.master}:{ports.history_web}",
        "mapreduce.jobhistory.intermediate-done-dir": "/history/new",
        "mapreduce.jobhistory.done-dir": "/history/done",
        "yarn.app.mapreduce.am.staging-dir": "/staging",
        # A client asks for the history of a job that has just ended three times in 0.3 s; if it is an "Unknown Job" for
        # so long, the client of a job that succeeded ends as if it had failed.
        "mapreduce.jobhistory.always-scan-user-dir": "true",
        "mapreduce.client.max-retries": "30",
    }


def _mapred_pace(conf: NodeConf) -> dict[str, str]:
    # Histories are moved as rarely as Hadoop does by default: one that is asked for while it is being moved is an
    # "Unknown Job", and the client of a job that succeeded ends as if it had failed.
    if not conf.quick:
        return {}
    return {
        "mapreduce.client.completion.pollinterval": "1000",
        "mapreduce.client.progressmonitor.pollinterval": "1000",
        "mapreduce.task.exit.timeout": "5000",
    }


_MASTER_PROTOCOLS = (
    "client.protocol",
    "datanode.protocol",
    "namenode.protocol",
    "ha.service.protocol",
    "resourcetracker.protocol",
    "applicationclient.protocol",
    "applicationmaster.protocol",
    "resourcemanager-administration.protocol",
)


def _policy(conf: NodeConf) -> dict[str, str]:
    """The hosts that may speak to the masters. No worker learns of new members here: their doors alone are closed."""
    open_to_all = {f"security.{protocol}.acl": "*" for protocol in _MASTER_PROTOCOLS}
    if conf.allowed is None:
        return open_to_all
    return open_to_all | {f"security.{protocol}.hosts": conf.allowed for protocol in _MASTER_PROTOCOLS}


def _first_entries(conf: NodeConf) -> list[str]:
    """The entries of the configuration folder that stand before the release on the class path of containers."""
    return [_DOORS_ENTRY, *([] if conf.kerberos is None else [hadoop_kerberos.SECURE_IO_ENTRY])]


def _class_path(conf: NodeConf) -> str:
    """Resolved on the node where a container starts: the release may lie elsewhere there."""
    return ",".join(
        [
            "$HADOOP_CONF_DIR",
            *_first_entries(conf),
            *(f"$HADOOP_COMMON_HOME/{entry}" for entry in conf.task_class_path),
        ]
    )


def _shell_settings(conf: NodeConf) -> str:
    """The settings that Hadoop's own commands read on the node: logins there often have no JAVA_HOME."""
    homes = {"JAVA_HOME": conf.java_home, "HADOOP_HOME": conf.hadoop_home}
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in homes.items())


def _java_opts(memory_mb: int, quick: bool) -> str:
    """A heap that leaves room for the JVM itself. No garbage collector: a job that names its own would not start."""
    heap = f"-Xmx{max(memory_mb - 128, memory_mb * 3 // 4)}m"
    return " ".join((heap, *QUICK_FLAGS)) if quick else heap


_LOG4J = """\
hadoop.root.logger=INFO,console
hadoop.log.dir=.
hadoop.log.file=hadoop.log
log4j.rootLogger=${hadoop.root.logger}
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
log4j.appender.RFA=org.apache.log4j.RollingFileAppender
log4j.appender.RFA.File=${hadoop.log.dir}/${hadoop.log.file}
log4j.appender.RFA.MaxFileSize=64MB
log4j.appender.RFA.MaxBackupIndex=3
log4j.appender.RFA.layout=org.apache.log4j.PatternLayout
log4j.appender.RFA.layout.ConversionPattern=%d{ISO8601} %p %c: %m%n
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
"""
