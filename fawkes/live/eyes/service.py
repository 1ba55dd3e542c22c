"""Eyes on what users of each MR-cluster need: writes to its HDFS, and applications on its YARN.

Masters are asked with few and short questions; only what looks wrong is looked at closely. What the answers mean is
decided in `core.service`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from fawkes.base.errors import FawkesError
from fawkes.core.values.events import ServiceSeen
from fawkes.core.values.model import ClusterId
from fawkes.core.values.sight import SafeMode, Service
from fawkes.live.base import limits
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import MOST_CLUSTERS, Clusters, LiveCluster
from fawkes.live.wire import masters
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.rest import Deadline, UnreadableError, count, get_json

_log = logging.getLogger(__name__)
#: how the words of a NameNode begin that say why it is in safe mode
_WORDS = {
    "Resources are low": SafeMode.LOW,
    "It was turned on manually": SafeMode.ASKED,
    "The reported blocks": SafeMode.STARTING,
}
_ON = "Safe mode is ON. "
_LONGEST = 200
#: DataNodes are asked for one by one when so few blocks fit on each of them, on the whole
_FEW_BLOCKS = 4
_RUNNING = "RUNNING"
#: what a DataNode keeps free beyond a block on each volume, by its own default
_MARGIN = "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space"
_MARGIN_BYTES = 2**30


def room_bytes(block_bytes: int, site: Mapping[str, str]) -> int:
    """The room that a DataNode must have on a volume to take a block, by its settings."""
    margin = site.get(_MARGIN, "")
    return block_bytes + (int(margin) if margin.isdecimal() else _MARGIN_BYTES)


def read(addresses: MasterAddresses, room_bytes: int, deadline: Deadline) -> Service:
    """The offers of HDFS and YARN: writes and applications; what a master does not say is not known.

    A DataNode takes a block only where it has ``room_bytes``.
    """
    seen = Service()
    with suppress(UnreadableError):
        seen = _hdfs(addresses, room_bytes, deadline)
    with suppress(UnreadableError):
        seen = _yarn(addresses, seen, deadline)
    return seen


def _hdfs(addresses: MasterAddresses, room_bytes: int, deadline: Deadline) -> Service:
    state = masters.namenode_bean(addresses, "FSNamesystemState", deadline)
    live = count(state.get("NumLiveDataNodes"))
    away = [count(state.get(f"Num{kind}DataNodes")) or 0 for kind in ("DecomLive", "Decommissioning")]
    storing = None if live is None else max(0, live - sum(away))
    free = count(state.get("CapacityRemaining"))
    seen = Service(safe_mode=SafeMode.OFF, storing=storing)
    if state.get("FSState") != "Operational":
        seen = _safe_mode(addresses, seen, deadline)
    if storing and free is not None and free < _FEW_BLOCKS * room_bytes * storing:
        seen = replace(seen, full=_full(addresses, room_bytes, deadline))
    return seen


def _safe_mode(addresses: MasterAddresses, seen: Service, deadline: Deadline) -> Service:
    info = masters.namenode_bean(addresses, "NameNodeInfo", deadline)
    words = info.get("Safemode")
    if not isinstance(words, str):
        return replace(seen, safe_mode=SafeMode.NOT_KNOWN)
    if not words:
        return seen
    words = words.removeprefix(_ON).strip()
    kind = next((kind for begin, kind in _WORDS.items() if words.startswith(begin)), SafeMode.OTHER)
    folders = masters.embedded(info, "NameDirStatuses")
    folder = next(iter([*folders.get("failed", {}), *folders.get("active", {})]), "")
    return replace(seen, safe_mode=kind, said=words[:_LONGEST], folder=folder)


def _full(addresses: MasterAddresses, room_bytes: int, deadline: Deadline) -> int | None:
    """The number of DataNodes in service that have no room for another block on the volumes that users write to.

    A DataNode reports what is free on all of its volumes together; what of that users can write to is told for all
    DataNodes together.
    """
    nodes = [node for node in masters.storage(addresses, deadline).nodes.values() if node.state == masters.IN_SERVICE]
    volumes = masters.volumes(addresses, deadline)
    everywhere = sum(each.free_bytes for each in volumes.values())
    part = volumes["DISK"].free_bytes / everywhere if "DISK" in volumes and everywhere else 0.0
    if any(node.free_bytes is None for node in nodes):
        return None
    return sum((node.free_bytes or 0) * part < room_bytes for node in nodes)


def _yarn(addresses: MasterAddresses, seen: Service, deadline: Deadline) -> Service:
    seen = replace(seen, manager=masters.ha_state(addresses, deadline))
    if seen.manager != "ACTIVE":
        return seen
    root = f"{addresses.resource_manager}/ws/v1/cluster"
    figures = _section(get_json(f"{root}/metrics", deadline, key=addresses.key), "clusterMetrics")
    computing = count(figures.get("activeNodes"))
    # A NodeManager that offers no memory runs nothing.
    seen = replace(seen, computing=0 if count(figures.get("totalMB")) == 0 else computing)
    if seen.computing == 0 and count(figures.get("unhealthyNodes")):
        nodes = masters.resource_manager_nodes(addresses, deadline)
        sick = {name: node.health for name, node in nodes.items() if node.state == "UNHEALTHY"}
        health = next((text for text in sick.values() if text), "")
        seen = replace(seen, unhealthy=tuple(sorted(sick)), health=health[:_LONGEST])
    scheduler = _section(get_json(f"{root}/scheduler", deadline, key=addresses.key), "scheduler")
    states = dict(_leaves(_section(scheduler, "schedulerInfo")))
    if not states or None in states.values():
        # Other schedulers have queues without a state.
        return seen
    stopped = tuple(sorted(path for path, state in states.items() if state != _RUNNING))
    return replace(seen, queues=len(states) - len(stopped), stopped=stopped)


def _section(document: Any, name: str) -> Mapping[str, Any]:
    section = document.get(name) if isinstance(document, Mapping) else None
    return section if isinstance(section, Mapping) else {}


def _leaves(queue: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Path and state of each queue below one that takes applications itself."""
    below = _section(queue, "queues").get("queue")
    for child in below if isinstance(below, list) else ():
        if not isinstance(child, Mapping):
            continue
        if _section(child, "queues").get("queue"):
            yield from _leaves(child)
        else:
            state = child.get("state")
            yield str(child.get("queuePath") or child.get("queueName")), state if isinstance(state, str) else None


def _essence(seen: Service) -> object:
    """The part of an answer that is news: how many nodes there are is none, unless there are none."""
    full = seen.full is not None and seen.full == seen.storing
    words = "manually" in seen.said, seen.folder
    nodes = [None if number is None else number > 0 for number in (seen.storing, seen.computing, seen.queues)]
    return seen.safe_mode, *words, full, seen.manager, *nodes, seen.unhealthy, seen.stopped


@dataclass(slots=True)
class _Eye:
    """The looks at one MR-cluster, and the essence of what was told last; no more is told before ``next_us``."""

    lock: threading.Lock
    ready: bool = False
    reported: object = None
    next_us: int = 0
    look: Future[None] | None = None


class ServiceWatch:
    """Looks at all MR-clusters side by side, also at those that are being deployed.

    A change is told when it is seen, but no two of an MR-cluster within ``limits.SERVICE_TOLD_US``: a NameNode that
    goes in and out of safe mode each second must not fill the ledger.
    """

    def __init__(self, clusters: Clusters, setup: Setup, mailbox: Mailbox) -> None:
        self._clusters = clusters
        self._setup = setup
        self._mailbox = mailbox
        self._threads = ThreadPoolExecutor(max_workers=MOST_CLUSTERS, thread_name_prefix="service")
        self._lock = threading.Lock()
        self._eyes: dict[ClusterId, _Eye] = {}

    def round(self) -> None:
        """Begin a look at each MR-cluster whose last look has ended."""
        known = self._clusters.all()
        with self._lock:
            for gone in set(self._eyes) - {cluster.id for cluster in known}:
                del self._eyes[gone]
        for cluster in known:
            eye = self._eye(cluster.id)
            if eye.look is None or eye.look.done():
                eye.look = self._threads.submit(self._look, cluster, eye)

    def close(self) -> None:
        """Begin no more looks."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def look_now(self, name: ClusterId) -> None:
        """Look at an MR-cluster, and tell what is seen before anything that the caller tells."""
        cluster = self._clusters.get(name)
        if cluster is not None:
            self._look(cluster, self._eye(name), at_once=True)

    def _eye(self, name: ClusterId) -> _Eye:
        with self._lock:
            return self._eyes.setdefault(name, _Eye(threading.Lock()))

    def _look(self, cluster: LiveCluster, eye: _Eye, *, at_once: bool = False) -> None:
        try:
            room = room_bytes(cluster.details.block_size_bytes, self._setup.settings(cluster)["hdfs-site"])
            seen = read(self._setup.masters(cluster), room, Deadline.after(limits.MASTERS_S))
            if cluster.ready != eye.ready:
                # What was told of daemons that came up is forgotten by the core.
                eye.ready, eye.reported, at_once = cluster.ready, None, True
            self._tell(cluster.id, eye, seen, at_once=at_once)
        except FawkesError as error:
            # Without a ticket nothing can be asked: nothing is known then.
            _log.debug("%s cannot be asked what it offers: %s", cluster.id, error)
        except Exception:
            _log.exception("a defect while looking at what %s offers", cluster.id)

    def _tell(self, cluster: ClusterId, eye: _Eye, seen: Service, *, at_once: bool) -> None:
        """Tell what has changed; masters that say nothing at all are told by `Watch`."""
        with eye.lock:
            now_us = self._mailbox.clock.now_us()
            if seen == Service() or _essence(seen) == eye.reported or (now_us < eye.next_us and not at_once):
                return
            # A NameNode that says nothing yet is about to: what it says first must not wait.
            quiet_us = limits.SERVICE_TOLD_US if seen.safe_mode else 0
            eye.reported, eye.next_us = _essence(seen), now_us + quiet_us
            self._mailbox.tell(lambda at: ServiceSeen(at_us=at, cluster=cluster, service=seen))
