"""Spark's settings: those by which an application fits into an MR-cluster, and what a job may not change of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fawkes.core.values.model import StreamSpec

_LISTENERS, _LISTENER = "spark.sql.streaming.streamingQueryListeners", "fawkes.streams.Batches"
KIND = "spark"
STREAM = "stream"
"""The kind of an application that streams, and the tag by which its driver is known to tell of its batches."""
EVENTS = "/history/spark"
"""The folder in HDFS where applications log their events."""
HISTORY = "sparkhistory"
"""The daemon on the masters' node that shows these events."""
HISTORY_PORT = 18080

_DYNAMIC = "spark.dynamicAllocation"
MOST = f"{_DYNAMIC}.maxExecutors"
_COUNTS = ("spark.executor.instances", f"{_DYNAMIC}.minExecutors", f"{_DYNAMIC}.initialExecutors")
_CORES = "spark.executor.cores"
_MEMORY = ("spark.executor.memory", "spark.executor.memoryOverhead")
TAGS, QUEUE = "spark.yarn.tags", "spark.yarn.queue"
_FLAGS = re.compile(r"SelectorProvider|fawkes\.doors|-javaagent|-Xbootclasspath|@")

_DOORS = "without it others could reach the application"
_PLACE = "Fawkes decides where the application runs, and with which files"
_KERBEROS = "Fawkes decides who the application is"
_TAG = "Fawkes finds the application by its tag"
_HISTORY = "the history server finds the application by these"
_ONCE = "each attempt starts the driver once; give `retries` for more"
_OWNED: Mapping[str, str] = {
    "spark.authenticate": _DOORS,
    "spark.network.crypto.": _DOORS,
    "spark.acls.": _DOORS,
    "spark.admin.acls": _DOORS,
    "spark.modify.acls": _DOORS,
    "spark.ssl.": _DOORS,
    "spark.ui.": _DOORS,
    "spark.driver.bindAddress": _DOORS,
    "spark.driver.host": _DOORS,
    "spark.driver.defaultJavaOptions": _DOORS,
    "spark.executor.defaultJavaOptions": _DOORS,
    "spark.plugins": _DOORS,
    "spark.fawkes.": "Fawkes tells its part in the driver by these",
    "spark.yarn.priority": "`priority` gives the order of jobs",
    "spark.master": _PLACE,
    "spark.submit.": _PLACE,
    QUEUE: "the MR-cluster's own queue decides the order of jobs",
    TAGS: _TAG,
    "spark.yarn.submit.": "a job lasts as long as its application: the client has to wait for it",
    "spark.yarn.maxAppAttempts": _ONCE,
    "spark.yarn.am.attemptFailuresValidityInterval": _ONCE,
    "spark.yarn.unmanagedAM.": _ONCE,
    "spark.yarn.config.": _PLACE,
    "spark.yarn.jars": _PLACE,
    "spark.yarn.archive": _PLACE,
    "spark.yarn.stagingDir": _PLACE,
    "spark.yarn.populateHadoopClasspath": _PLACE,
    "spark.yarn.principal": _KERBEROS,
    "spark.yarn.keytab": _KERBEROS,
    "spark.kerberos.": _KERBEROS,
    "spark.eventLog.": _HISTORY,
    "spark.yarn.historyServer.": _HISTORY,
    "spark.hadoop.yarn.": _PLACE,
    "spark.hadoop.fs.defaultFS": _PLACE,
    "spark.hadoop.dfs.": _PLACE,
    "spark.hadoop.hadoop.": _KERBEROS,
    "spark.hadoop.ipc.": _PLACE,
    "spark.hadoop.mapreduce.job.tags": _TAG,
}
"""Keys, and beginnings of keys (with a dot at the end), that a job may not give -> why."""

_ENVIRONMENT = ("spark.executorEnv.", "spark.yarn.appMasterEnv.")
_OWN_VARIABLES = re.compile(r"HADOOP_.*|YARN_.*|SPARK_.*|FAWKES_.*|NM_.*|CLASSPATH|PATH|JAVA_.*|JDK_JAVA_OPTIONS|LD_.*")
_MEMORY_UNITS = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_POWERS = {"k": -1, "": 0, "m": 0, "g": 1, "t": 2}
_LEAST_OVERHEAD_MB = 384


@dataclass(frozen=True, kw_only=True)
class SparkPlace:
    """An MR-cluster as Spark sees it: ``home`` is its folder on the master, ``default_fs`` the URL of HDFS.

    ``history`` is where its history server answers, host and port. ``small`` nodes get small containers; ``node_mb``
    has the memory for containers of each node of the pool, the largest that one may have is ``most_mb``.
    ``core_count`` is how many copies of the files of an application are kept, ``flags`` are those of each JVM in a
    container.
    """

    home: str
    default_fs: str
    history: str
    core_count: int
    small: bool
    quick: bool
    node_mb: Sequence[int]
    most_mb: int
    flags: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """Nodes of an MR-cluster for an application whose cores quotas give: one executor on each.

    ``held`` are there now, ``most`` may be there later; each has at least ``cores``. The memory of a container is a
    multiple of ``step_mb``.
    """

    held: int
    most: int
    cores: int
    step_mb: int


def owned_keys(properties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each key that a job may not give, and why; also what is no key of Spark."""
    for key, value in properties.items():
        if not key.startswith("spark."):
            yield key, f"Spark does not read it: write spark.hadoop.{key} if it is one of Hadoop's"
        elif why := _owned(key):
            yield key, why
        elif key.endswith("JavaOptions") and _FLAGS.search(value):
            yield key, _DOORS


def _owned(key: str) -> str:
    for own, why in _OWNED.items():
        if key == own or (own.endswith(".") and key.startswith(own)):
            return why
    variable = next((key[len(start) :] for start in _ENVIRONMENT if key.startswith(start)), "")
    return _DOORS if _OWN_VARIABLES.fullmatch(variable) else ""


def given_by_quotas(properties: Mapping[str, str]) -> list[str]:
    """The keys that a job with a profile may not give: they say how many executors there are, and how large."""
    return sorted(key for key in properties if key.startswith(f"{_DYNAMIC}.") or key in (_CORES, *_COUNTS))


def given_by_monitor(properties: Mapping[str, str]) -> list[str]:
    """The keys that a stream may not give: its monitor says how many executors there are."""
    return sorted(key for key in properties if key.startswith(f"{_DYNAMIC}.") or key in _COUNTS)


def unkept(properties: Mapping[str, str]) -> str:
    """The reason why no grant of CPUs can be kept for an application; empty when it can."""
    if properties.get(_CORES, "1") != "1":
        return f"its executors have {properties[_CORES]} cores each ({_CORES})"
    if properties.get(f"{_DYNAMIC}.enabled", "true").lower() != "true":
        return f"it has a fixed number of executors ({_DYNAMIC}.enabled)"
    return ""


def settings(place: SparkPlace) -> dict[str, str]:
    """The settings of every application of an MR-cluster."""
    memory, overhead = ("512m", "256m") if place.small else ("1g", "384m")
    flags = " ".join(place.flags)
    events = f"{place.default_fs}{EVENTS}"
    decommission = ("spark.decommission", "spark.storage.decommission", "spark.storage.decommission.shuffleBlocks")
    return {
        "spark.master": "yarn",
        # The same folder may lie elsewhere on another node.
        "spark.yarn.jars": f"local:{place.home}/jars/*",
        "spark.yarn.config.gatewayPath": place.home,
        "spark.yarn.config.replacementPath": "{{SPARK_HOME}}",
        "spark.yarn.stagingDir": f"{place.default_fs}/staging",
        "spark.yarn.submit.file.replication": str(max(1, place.core_count)),
        "spark.yarn.populateHadoopClasspath": "false",
        # YARN's second attempt would run the whole program again, beside what the first one has written.
        "spark.yarn.maxAppAttempts": "1",
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "true",
        "spark.executor.defaultJavaOptions": flags,
        "spark.yarn.am.extraJavaOptions": flags,
        "spark.driver.memory": memory,
        "spark.driver.memoryOverhead": overhead,
        "spark.yarn.am.memoryOverhead": overhead,
        "spark.executor.memory": memory,
        "spark.executor.memoryOverhead": overhead,
        _CORES: "1",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events,
        # Spark 4 packs events with zstd, which nothing here reads: `fawkes profile` could not.
        "spark.eventLog.compress": "false",
        "spark.history.fs.logDirectory": events,
        "spark.yarn.historyServer.address": place.history,
        # Nodes come and go: executors follow the tasks, and leave a node that drains with what they have.
        f"{_DYNAMIC}.enabled": "true",
        f"{_DYNAMIC}.shuffleTracking.enabled": "true",
        f"{_DYNAMIC}.executorIdleTimeout": "20s" if place.quick else "60s",
        "spark.yarn.executor.decommission.enabled": "true",
        **{f"{key}.enabled": "true" for key in decommission},
        "spark.storage.decommission.rddBlocks.enabled": "true",
        # Each node that is lost costs the stages that read from it one attempt; after four in a row all would fail.
        "spark.stage.maxConsecutiveAttempts": "20",
        **({"spark.yarn.report.interval": "1s"} if place.quick else {}),
    }


def of_stream(own: Mapping[str, str], stream: StreamSpec, folder: str, priority: int) -> dict[str, str]:
    """The settings of a stream: a fixed number of executors, which the part of Fawkes in its driver changes.

    A note on ``folder`` in HDFS says how many there are to be.
    """
    listeners = own.get(_LISTENERS, "")
    return {
        f"{_DYNAMIC}.enabled": "false",
        "spark.executor.instances": str(stream.least),
        MOST: str(stream.most),
        "spark.plugins": "fawkes.streams.Stream",
        _LISTENERS: f"{listeners},{_LISTENER}" if listeners else _LISTENER,
        "spark.fawkes.folder": folder,
        "spark.yarn.priority": str(priority),
    }


def history_flags(default_fs: str) -> list[str]:
    """The flags of the history server's JVM. It waits for a NameNode that starts, and keeps a week of events."""
    values = {
        "spark.history.fs.logDirectory": f"{default_fs}{EVENTS}",
        "spark.history.fs.cleaner.enabled": "true",
        "spark.history.ui.port": str(HISTORY_PORT),
        # Another port, if this one is in use, would be one that nobody looks at.
        "spark.port.maxRetries": "0",
        # A NameNode that is started beside it refuses connections at first, and by default that is the end.
        "spark.hadoop.dfs.client.retry.policy.enabled": "true",
        "spark.hadoop.dfs.client.retry.policy.spec": "1000,300",
    }
    return [f"-D{key}={value}" for key, value in values.items()]


def of_job(
    place: SparkPlace,
    own: Mapping[str, str],
    secrets: Mapping[str, str],
    *,
    tag: str,
    granted: int,
    nodes: Nodes | None = None,
) -> dict[str, str]:
    """The settings of one attempt: those of the MR-cluster, the job's own, and what Fawkes decides.

    ``secrets`` are never shown. With a grant at most ``granted`` tasks run at once. ``nodes`` are given for an
    application under quotas, which takes no grant.
    """
    flags = " ".join(place.flags)
    values = {**settings(place), **own, **secrets, TAGS: tag, "spark.submit.deployMode": "cluster"}
    values["spark.driver.defaultJavaOptions"] = flags
    values.setdefault(MOST, str(max(1, room(place, values))))
    if nodes is not None:
        values |= _one_each(place, values, nodes, fits=not {**own, **secrets}.keys() & set(_MEMORY))
    elif granted:
        values = {key: value for key, value in values.items() if key not in _COUNTS} | {MOST: str(granted)}
    if secrets:
        names = "|".join(re.escape(key) for key in secrets)
        values["spark.redaction.regex"] = f"(?i)secret|password|token|access[.]?key|{names}"
    return values


def _one_each(place: SparkPlace, values: Mapping[str, str], nodes: Nodes, *, fits: bool) -> dict[str, str]:
    """One executor on each node, with all its cores; with ``fits`` of memory that no node has for a second one.

    YARN has no other means against a second one. It has what the smallest node leaves beside the driver, or just more
    than half of the largest: then no node has both it and the driver. Of executors of the job's own size two may fit on
    a node. Then there are no more than nodes at the start, or those for nodes that may join would take the memory that
    other applications have on these.
    """
    step = nodes.step_mb
    counts = {_CORES: nodes.cores, **dict.fromkeys(_COUNTS, nodes.held), MOST: max(nodes.held, nodes.most)}
    if not fits:
        own = -(-container_mb(values, "executor") // step) * step
        most = nodes.held if 2 * own <= max(place.node_mb) else counts[MOST]
        return {key: str(value) for key, value in {**counts, MOST: most}.items()}
    driver = -(-container_mb(values, "driver") // step) * step
    beside = (min(place.node_mb) - driver) // step * step
    container = max(beside, max(place.node_mb) // 2 // step * step + step)
    # Half as much as the heap for Python's workers, which are not in it.
    memory = zip(_MEMORY, (container - container // 3, container // 3), strict=True)
    return {**{key: str(value) for key, value in counts.items()}, **{key: f"{size}m" for key, size in memory}}


def too_much(place: SparkPlace, values: Mapping[str, str], *, under_quotas: bool = False) -> tuple[str, str]:
    """The key that asks for more than the pool has, and why; both empty when none does.

    Under quotas Fawkes says how many executors there are: a node may have one beside the driver.
    """
    for part in ("driver", "executor"):
        wanted = container_mb(values, part)
        if wanted > place.most_mb:
            what = f"a container of {wanted} MiB (with its overhead), and the largest node offers {place.most_mb} MiB"
            return f"spark.{part}.memory", what
    most = room(place, values)
    for key in () if under_quotas else _COUNTS:
        if values.get(key, "0").isdigit() and int(values.get(key, "0")) > most:
            return key, f"{values[key]} executors, and the whole pool has room for {most} beside the driver"
    return "", ""


def room(place: SparkPlace, values: Mapping[str, str]) -> int:
    """The executors that all nodes of the pool have room for, beside the driver."""
    each, driver = container_mb(values, "executor"), container_mb(values, "driver")
    together = sum(node // each for node in place.node_mb)
    return max(0, together - -(-driver // each))


def container_mb(values: Mapping[str, str], part: str) -> int:
    """The memory of the container of ``driver`` or ``executor``, in MiB."""
    heap = megabytes(values[f"spark.{part}.memory"])
    own = values.get(f"spark.{part}.memoryOverhead", "")
    return max(1, heap + (megabytes(own) if own else max(_LEAST_OVERHEAD_MB, heap // 10)))


def megabytes(text: str) -> int:
    """A size as Spark writes it (512m, 1g, 2048), in MiB; 0 for what is no size: Spark itself refuses it."""
    match = _MEMORY_UNITS.fullmatch(text.strip())
    if match is None:
        return 0
    return int(int(match[1]) * 1024.0 ** _POWERS[match[2].lower()])


def to_text(values: Mapping[str, str]) -> str:
    """The text of ``spark-defaults.conf``."""
    return "".join(f"{_escaped(key)} {_escaped(value)}\n" for key, value in sorted(values.items()))


def _escaped(text: str) -> str:
    """The text in the form that Java's Properties read."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
