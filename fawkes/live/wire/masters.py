"""Answers of the masters of an MR-cluster about its nodes and applications.

ResourceManager and NameNode are asked over HTTP; each function asks once and returns plain values, or raises
UnreadableError. Nodes are named by their id in the pool; one that the pool does not know keeps the name that the
master uses, so that a comparison with the member list shows it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fawkes.core.values.model import ClusterId, NodeId
from fawkes.core.values.sight import Stored
from fawkes.live.wire.rest import Deadline, Key, UnreadableError, count, get_json, listed

RUNNING = "RUNNING"
DECOMMISSIONING = "DECOMMISSIONING"
DECOMMISSIONED = "DECOMMISSIONED"

IN_SERVICE = "In Service"
LEAVING = "Decommission In Progress"
LEFT = "Decommissioned"
DEAD = "Dead"
_STORED = {IN_SERVICE: Stored.IN_SERVICE, LEAVING: Stored.LEAVING, LEFT: Stored.LEFT, DEAD: Stored.DEAD}

ENDED_STATES = ("FINISHED", "FAILED", "KILLED")
LIVE_STATES = ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING")

#: what makes an answer about an application long and is not read in lists
_LONG_FIELDS = "resourceRequests,timeouts,appNodeLabelExpression,amNodeLabelExpression,resourceInfo"
#: a NodeManager that came back on another port leaves its former self in the list: the live one counts
_PREFERENCE = (RUNNING, "UNHEALTHY", DECOMMISSIONING, "NEW", "REBOOTED", "LOST", "SHUTDOWN", DECOMMISSIONED)
_NOT_FOUND = 404
_INFO = "/ws/v1/cluster/info"


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterAddresses:
    """The place where an MR-cluster's masters answer, such as ``http://10.98.1.1:8088``.

    ``history`` is empty without a JobHistory server. ``user`` is HDFS's superuser. ``nodes`` has every name and
    address under which a node may appear in the answers. ``key`` opens their web servers (`live.doors`).
    """

    resource_manager: str
    namenode: str
    user: str
    history: str = ""
    nodes: Mapping[str, NodeId] = field(default_factory=dict)
    key: Key = field(default="", repr=False)

    def node(self, host: str) -> NodeId | None:
        """The node behind ``host`` or ``host:port``; a full name is also looked up by its first part."""
        name = host.rsplit(":", 1)[0].lower()
        known = self.nodes.get(name)
        if known is None and not name.replace(".", "").isdigit():
            known = self.nodes.get(name.split(".", 1)[0])
        return known

    def name(self, host: str) -> str:
        """The id of the node behind ``host`` or ``host:port``, else the host itself."""
        return self.node(host) or host.rsplit(":", 1)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An MR-cluster to read.

    A slot is a container of the size of a map task: ``task_mb`` and ``task_vcores``; 0 vcores where the scheduler
    counts memory alone, as YARN's default resource calculator does. The container of an ApplicationMaster has
    ``master_mb`` and may take more than one slot.
    """

    cluster: ClusterId
    masters: MasterAddresses
    task_mb: int
    task_vcores: int = 1
    master_mb: int = 0

    @property
    def master_slots(self) -> int:
        """The slots that the container of an ApplicationMaster takes; at least 1."""
        return max(1, -(-self.master_mb // max(1, self.task_mb)))


@dataclass(frozen=True, slots=True)
class ComputeNode:
    """A NodeManager as the ResourceManager sees it; ``state`` is YARN's own word, ``containers`` None if not known."""

    host: str
    state: str
    containers: int | None
    memory_mb: int
    vcores: int
    health: str


@dataclass(frozen=True, slots=True)
class StorageNode:
    """A DataNode as the NameNode sees it; ``state`` is HDFS's own word, or ``Dead``.

    ``address`` is how blocks name it, ``silent_s`` since how many seconds it has not been heard from,
    ``reported_min`` since how many minutes it has not listed its blocks. ``too_few``, ``only_here`` and
    ``in_open_files`` are about a node that is leaving: blocks whose replicas are too few, that are on leaving nodes
    only, and that belong to open files. What the NameNode does not say is None.
    """

    address: str
    state: str
    used_bytes: int | None = None
    free_bytes: int | None = None
    blocks: int | None = None
    web: str = ""
    silent_s: int | None = None
    too_few: int | None = None
    only_here: int | None = None
    in_open_files: int | None = None
    reported_min: int | None = None

    @property
    def alive(self) -> bool:
        """True if the NameNode hears from it."""
        return self.state != DEAD

    @property
    def stored(self) -> Stored:
        """The same in the words of the core."""
        return _STORED.get(self.state, Stored.OTHER)


@dataclass(frozen=True, slots=True)
class Storage:
    """HDFS as a whole: bytes as they lie on disk, replicas included; ``safe_mode`` is empty when it is off.

    What the NameNode does not say is None: neither "no block is missing" nor "not in safe mode". ``began`` is when it
    was started, by its own clock: one that has begun anew has another.
    """

    nodes: Mapping[str, StorageNode]
    used_bytes: int | None
    total_bytes: int | None
    missing_blocks: int | None
    safe_mode: str | None
    began: int | None = None

    def in_service(self) -> tuple[str, ...]:
        """The nodes that take and keep blocks, sorted."""
        return tuple(sorted(name for name, node in self.nodes.items() if node.state == IN_SERVICE))


@dataclass(frozen=True, slots=True)
class Volumes:
    """The volumes of one storage type (DISK, ARCHIVE) on all nodes in service, in bytes."""

    total_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class YarnApplication:
    """An application as the ResourceManager knows it.

    ``kind`` is MAPREDUCE, SPARK ...; ``finished_us`` is None while it has not ended; ``containers`` counts its own
    ApplicationMaster, ``pending`` is known only to `application`. ``progress`` is what the ApplicationMaster told last,
    of 100; it takes orders at ``master_rpc``, host and port.
    """

    id: str
    name: str = ""
    kind: str = ""
    user: str = ""
    state: str = ""
    final_status: str = ""
    tags: tuple[str, ...] = ()
    started_us: int = 0
    finished_us: int | None = None
    diagnostics: str = ""
    master: str = ""
    containers: int = 0
    pending: int = 0
    progress: float | None = None
    master_rpc: str = ""

    @property
    def ended(self) -> bool:
        """True if nothing of it will run any more."""
        return self.state in ENDED_STATES

    @property
    def succeeded(self) -> bool:
        """True if it ended well."""
        return self.ended and self.final_status == "SUCCEEDED"


def resource_manager_nodes(masters: MasterAddresses, deadline: Deadline) -> dict[str, ComputeNode]:
    """Every NodeManager that the ResourceManager has heard of; the live one where a host has several."""
    url = f"{masters.resource_manager}/ws/v1/cluster/nodes"
    by_name: dict[str, ComputeNode] = {}
    for row in listed(get_json(url, deadline, key=masters.key), "nodes", "node", url):
        node = _compute_node(row)
        name = masters.name(node.host)
        if name not in by_name or _rank(node.state) < _rank(by_name[name].state):
            by_name[name] = node
    return by_name


def _compute_node(row: Mapping[str, Any]) -> ComputeNode:
    used, free = count(row.get("usedMemoryMB")) or 0, count(row.get("availMemoryMB")) or 0
    used_vcores = count(row.get("usedVirtualCores")) or 0
    return ComputeNode(
        host=str(row.get("nodeHostName", "")),
        state=str(row.get("state", "")),
        containers=count(row.get("numContainers")),
        memory_mb=used + free,
        vcores=used_vcores + (count(row.get("availableVirtualCores")) or 0),
        health=str(row.get("healthReport") or ""),
    )


def _rank(state: str) -> int:
    return _PREFERENCE.index(state) if state in _PREFERENCE else len(_PREFERENCE)


def storage(masters: MasterAddresses, deadline: Deadline) -> Storage:
    """HDFS and each of its DataNodes, dead ones included."""
    bean = namenode_bean(masters, "NameNodeInfo", deadline)
    leaving = embedded(bean, "DecomNodes")
    nodes = {
        masters.name(host): _storage_node(host, row, leaving.get(host, {}))
        for host, row in embedded(bean, "LiveNodes").items()
    }
    for host, row in embedded(bean, "DeadNodes").items():
        nodes.setdefault(masters.name(host), StorageNode(str(row.get("xferaddr", host)), DEAD))
    return Storage(
        nodes=nodes,
        used_bytes=count(bean.get("Used")),
        total_bytes=count(bean.get("Total")),
        missing_blocks=count(bean.get("NumberOfMissingBlocks")),
        safe_mode=safe_mode if isinstance(safe_mode := bean.get("Safemode"), str) else None,
        began=count(bean.get("NNStartedTimeInMillis")),
    )


def _storage_node(host: str, row: Mapping[str, Any], leaving: Mapping[str, Any]) -> StorageNode:
    return StorageNode(
        address=str(row.get("xferaddr", host)),
        state=str(row.get("adminState", "")),
        used_bytes=count(row.get("usedSpace")),
        free_bytes=count(row.get("remaining")),
        blocks=count(row.get("numBlocks")),
        # Its own name with the port of its web server: what WebHDFS redirects to.
        web=f"{host.rsplit(':', 1)[0]}:{_web_port(row)}",
        silent_s=count(row.get("lastContact")),
        too_few=count(leaving.get("underReplicatedBlocks")),
        only_here=count(leaving.get("decommissionOnlyReplicas")),
        in_open_files=count(leaving.get("underReplicateInOpenFiles")),
        reported_min=count(row.get("lastBlockReport")),
    )


def _web_port(row: Mapping[str, Any]) -> str:
    """The port of HTTP; with HTTPS alone it is 0."""
    ports = [str(row.get(name, "")).rsplit(":", 1)[-1] for name in ("infoAddr", "infoSecureAddr")]
    return ports[1] if ports[0] == "0" else ports[0]


def volumes(masters: MasterAddresses, deadline: Deadline) -> dict[str, Volumes]:
    """The volumes of HDFS for each storage type; UnreadableError when a figure is missing."""
    bean = namenode_bean(masters, "BlockStats", deadline)
    rows = bean.get("StorageTypeStats")
    by_name = {}
    for row in rows if isinstance(rows, list) else ():
        value = row.get("value") if isinstance(row, Mapping) else None
        figures = value if isinstance(value, Mapping) else {}
        total, free = count(figures.get("capacityTotal")), count(figures.get("capacityRemaining"))
        if total is None or free is None:
            raise UnreadableError(masters.namenode, "the NameNode does not report the size of its volumes")
        by_name[str(row["key"]) if "key" in row else ""] = Volumes(total, free)
    return by_name


_HDFS = "Hadoop:service=NameNode,name="


def namenode_bean(masters: MasterAddresses, name: str, deadline: Deadline, of: str = _HDFS) -> Mapping[str, Any]:
    """The NameNode's word about itself, or about its process (``of`` Java), under this name of its JMX."""
    beans = _beans(masters, name, deadline, of)
    if not beans:
        raise UnreadableError(f"{masters.namenode}/jmx", f"the NameNode has no {name} yet: it is still starting")
    return beans[0]


def _beans(masters: MasterAddresses, name: str, deadline: Deadline, of: str = _HDFS) -> list[Mapping[str, Any]]:
    url = f"{masters.namenode}/jmx"
    document = get_json(url, deadline, {"qry": f"{of}{name}"}, key=masters.key)
    return listed({"jmx": document}, "jmx", "beans", url)


def summed(masters: MasterAddresses, name: str, counters: Sequence[str], deadline: Deadline) -> int | None:
    """The sum of counters of a bean of the NameNode; None when it does not report all of them."""
    beans = _beans(masters, name, deadline)
    figures = [count(beans[0].get(counter)) for counter in counters] if beans else [None]
    known = [figure for figure in figures if figure is not None]
    return sum(known) if len(known) == len(figures) else None


def embedded(bean: Mapping[str, Any], key: str) -> dict[str, dict[str, Any]]:
    """An attribute that is itself JSON in a string; one that is not there is no empty list."""
    try:
        rows = json.loads(bean[key])
    except (KeyError, TypeError, ValueError, RecursionError):
        rows = None
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        raise UnreadableError(str(bean.get("name", "")), f"{key} is not a list of nodes")
    return rows


def applications(
    masters: MasterAddresses,
    deadline: Deadline,
    *,
    tag: str = "",
    states: Iterable[str] = (),
    finished_since_us: int | None = None,
) -> tuple[YarnApplication, ...]:
    """The applications that the ResourceManager knows, oldest first.

    Only those with the ``tag`` (YARN keeps tags in small letters), in one of ``states``, and ended at or after
    ``finished_since_us``, where given. By its tag a job is found again whose client never told its id.
    """
    url = f"{masters.resource_manager}/ws/v1/cluster/apps"
    params = {"deSelects": _LONG_FIELDS}
    if tag:
        params["applicationTags"] = tag.lower()
    if states:
        params["states"] = ",".join(states)
    if finished_since_us is not None:
        params["finishedTimeBegin"] = str(max(1, finished_since_us // 1000))
    rows = listed(get_json(url, deadline, params, key=masters.key), "apps", "app", url)
    return tuple(sorted(map(_application, rows), key=lambda app: (app.started_us, app.id)))


def all_applications(masters: MasterAddresses, deadline: Deadline, *, tag: str) -> tuple[YarnApplication, ...]:
    """Every application with the tag, from a ResourceManager that has recovered what it knew; oldest first.

    UnreadableError while it has not: its web server answers before its recovery has begun, and lists nothing then. It
    must be active before and after the list, and the same process both times.
    """
    before = _active_since(masters, deadline)
    apps = applications(masters, deadline, tag=tag)
    if _active_since(masters, deadline) != before:
        raise UnreadableError(masters.resource_manager, "the ResourceManager was restarted in between")
    return apps


def _resource_manager(masters: MasterAddresses, deadline: Deadline) -> Mapping[str, Any]:
    document = get_json(f"{masters.resource_manager}{_INFO}", deadline, key=masters.key)
    info = document.get("clusterInfo") if isinstance(document, Mapping) else None
    return info if isinstance(info, Mapping) else {}


def _active_since(masters: MasterAddresses, deadline: Deadline) -> int:
    info = _resource_manager(masters, deadline)
    state, role, since = info.get("state"), info.get("haState"), count(info.get("startedOn"))
    # A ResourceManager becomes ACTIVE only when all applications of its state store are known again.
    if state != "STARTED" or role != "ACTIVE" or since is None:
        url = f"{masters.resource_manager}{_INFO}"
        raise UnreadableError(url, f"the ResourceManager has not finished its recovery ({state}, {role})")
    return since


def ha_state(masters: MasterAddresses, deadline: Deadline) -> str:
    """The state of the ResourceManager in YARN's own word: ACTIVE, STANDBY, INITIALIZING."""
    return str(_resource_manager(masters, deadline).get("haState", ""))


def answer(masters: MasterAddresses, deadline: Deadline) -> None:
    """Return when NameNode and ResourceManager answer as active ones; UnreadableError says which does not."""
    _active_since(masters, deadline)
    storage(masters, deadline)


def application(masters: MasterAddresses, name: str, deadline: Deadline) -> YarnApplication | None:
    """One application with its pending containers; None when the ResourceManager does not know it."""
    url = f"{masters.resource_manager}/ws/v1/cluster/apps/{name}"
    try:
        document = get_json(url, deadline, key=masters.key)
    except UnreadableError as error:
        if error.status == _NOT_FOUND:
            return None
        raise
    rows = listed({"apps": document}, "apps", "app", url)
    return _application(rows[0]) if rows else None


def _application(row: Mapping[str, Any]) -> YarnApplication:
    finished_ms = count(row.get("finishedTime"))
    return YarnApplication(
        id=str(row.get("id", "")),
        name=str(row.get("name", "")),
        kind=str(row.get("applicationType", "")),
        user=str(row.get("user", "")),
        state=str(row.get("state", "")),
        final_status=str(row.get("finalStatus", "")),
        tags=tuple(tag for tag in str(row.get("applicationTags") or "").split(",") if tag),
        started_us=(count(row.get("startedTime")) or 0) * 1000,
        finished_us=finished_ms * 1000 if finished_ms else None,
        diagnostics=str(row.get("diagnostics") or ""),
        master=str(row.get("amHostHttpAddress") or ""),
        containers=count(row.get("runningContainers")) or 0,
        pending=_pending(row.get("resourceRequests")),
        progress=percent(row.get("progress")),
        master_rpc=str(row.get("amRPCAddress") or ""),
    )


def percent(value: object) -> float | None:
    """A share of 100 as Hadoop writes it, to three places; None when there is none."""
    return round(value, 3) if isinstance(value, int | float) and value == value else None


def _pending(requests: object) -> int:
    """Containers asked for and not given: the rows for any host ("*") count each of them once."""
    if not isinstance(requests, list):
        return 0
    return sum(count(row.get("numContainers")) or 0 for row in requests if row.get("resourceName") == "*")


def why_no_jobs(
    masters: MasterAddresses, computing: Collection[str], storing: Collection[str], deadline: Deadline
) -> str:
    """The reason why an MR-cluster would not take its first job, or could not run it on all of these nodes; else "".

    The ResourceManager must be active and all of ``computing`` run their NodeManagers; the NameNode must be out of safe
    mode and all of ``storing`` in service. Masters that do not answer are a reason, not an error.
    """
    try:
        info = _resource_manager(masters, deadline)
        if info.get("state") != "STARTED" or info.get("haState") != "ACTIVE":
            return f"the ResourceManager is {info.get('state')}, {info.get('haState')}"
        hdfs = storage(masters, deadline)
        if hdfs.safe_mode != "":
            return f"HDFS is in safe mode: {hdfs.safe_mode or 'not known'}"
        if away := sorted(set(storing) - set(hdfs.in_service())):
            return f"no DataNode in service on {', '.join(away)}"
        running = {name for name, node in resource_manager_nodes(masters, deadline).items() if node.state == RUNNING}
    except UnreadableError as error:
        return str(error)
    away = sorted(set(computing) - running)
    return f"no NodeManager runs on {', '.join(away)}" if away else ""
