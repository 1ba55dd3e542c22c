"""Readings of MR-clusters: what their masters say at one moment, as the core wants to know it.

An ApplicationMaster that does not answer is ordinary (its job has just ended, or has just begun): then the
ResourceManager's own figures for that application count. Only a lost ResourceManager or NameNode makes an MR-cluster
unreadable. What each field counts is told in docs/decisions/measuring-and-data.md.
"""

from __future__ import annotations

import queue
import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

from fawkes.core.values.model import ClusterId, NodeId, Reading
from fawkes.core.values.sight import Stray, StreamSeen, Work
from fawkes.live.base import limits
from fawkes.live.eyes.strays import strays_of
from fawkes.live.eyes.streams import STREAM, stream_seen
from fawkes.live.wire.masters import (
    ENDED_STATES,
    LIVE_STATES,
    RUNNING,
    ComputeNode,
    MasterAddresses,
    Target,
    YarnApplication,
    application,
    applications,
    percent,
    resource_manager_nodes,
    storage,
    summed,
    volumes,
)
from fawkes.live.wire.rest import Deadline, UnreadableError, close_session, count, get_json, listed
from fawkes.live.wire.webhdfs import read_mark

#: applications with a tag that begins so are Fawkes's own
OWN_TAGS = "fawkes"

MAPREDUCE = "MAPREDUCE"
SPARK = "SPARK"
TASKS = "FAWKES"
"""Jobs of tasks: their ApplicationMaster is Fawkes's own."""
_OF_STAGE = ("stageId", "numTasks", "numActiveTasks", "numCompletedIndices")
_COUNT = re.compile(r"tasks-(\d{1,9})")
_CONTAINER_MB = re.compile(r"(?:executor|container)-(\d{1,9})")
_STAGES = "status=active&status=pending&status=complete"

#: What users and their jobs do, by the NameNode's own counters. Looking (listings, states of files) is left out: the
#: JobHistory server does that all the time, and so do we. Each of these stood still on a real MR-cluster without users.
USE = (
    "CreateFileOps",
    "FilesCreated",
    "FilesAppended",
    "FilesTruncated",
    "FilesRenamed",
    "DeleteFileOps",
    "AddBlockOps",
    "GetBlockLocations",
)
#: blocks with fewer replicas than wanted: those that nobody copies yet, and those that are being copied
THIN = ("LowRedundancyBlocks", "PendingReconstructionBlocks")
#: All ApplicationMasters together leave the rest of the round to the ResourceManager's own figures.
_MASTERS_PART = 0.6
#: The ResourceManager lists an ended application a little after the time that it gives for its end.
_LATE_US = 60_000_000


def is_ours(application: YarnApplication) -> bool:
    """True if Fawkes submitted it, for a user or to copy data; users may give jobs to YARN themselves."""
    return any(tag.startswith(OWN_TAGS) for tag in application.tags)


@dataclass(frozen=True, slots=True)
class Tasks:
    """Tasks of one application at one moment; ``ready`` are those of the waiting ones that lack nothing but room.

    ``progress`` is what `core.sight.Work` says; None where its ApplicationMaster does not answer. ``inside``: they run
    in the ApplicationMaster's own container. ``stream`` is what a stream tells of itself. ``unsplit``: not known yet.
    """

    waiting: int = 0
    running: int = 0
    done: int = 0
    ready: int = 0
    progress: float | None = None
    inside: bool = False
    stream: StreamSeen | None = None
    unsplit: bool = False

    @property
    def started(self) -> bool:
        """True if the application has got as far as its first task."""
        return self.running > 0 or self.done > 0


@dataclass(slots=True)
class ReaderMemory:
    """The memory of a reader between the readings of one MR-cluster, so that nothing old is asked for twice.

    ``tasks`` are the most tasks done that each live application has shown, ``counted`` the applications whose end
    has been counted; both are as long as what is live or has just ended. Each ApplicationMaster, and the JobHistory
    server, may take ``master_s``.
    """

    jobs_done: int = 0
    tasks_done: int = 0
    tasks: dict[str, int] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    mark_bytes: int | None = None
    master_s: float = limits.APPLICATION_MASTER_S


def read_cluster(target: Target, memory: ReaderMemory, deadline: Deadline) -> Reading:
    """One reading before the deadline; with ``error`` when ResourceManager or NameNode did not answer."""
    try:
        return _read(target, memory, deadline)
    except UnreadableError as error:
        return Reading(cluster=target.cluster, error=str(error))


def _read(target: Target, memory: ReaderMemory, deadline: Deadline) -> Reading:
    masters = target.masters
    live = [app for app in applications(masters, deadline, states=LIVE_STATES) if app.id not in memory.counted]
    nodes = resource_manager_nodes(masters, deadline)
    hdfs = storage(masters, deadline)
    disk = volumes(masters, deadline).get("DISK")
    if memory.mark_bytes is None:
        memory.mark_bytes = read_mark(masters, deadline)
    ops = summed(masters, "NameNodeActivity", USE, deadline)
    thin = summed(masters, "FSNamesystemState", THIN, deadline)
    tasks = _tasks(masters, live, memory, deadline)
    _count_ended(masters, memory, deadline)
    # Whoever ended while the masters were asked does not run as well.
    live = [app for app in live if app.id not in memory.counted]
    tasks = {app.id: tasks[app.id] for app in live if app.id in tasks}
    in_slots = [_in_slots(app, tasks[app.id], target.task_mb) for app in live if app.id in tasks]
    memory.tasks = {name: done for name, done in memory.tasks.items() if name in tasks}
    waiting = [app for app in live if app.id in tasks and not tasks[app.id].started]
    used, total = slots(nodes.values(), target.task_mb, target.task_vcores)
    strays, silent = _strays(masters, live, tasks, deadline)
    return Reading(
        cluster=target.cluster,
        jobs_waiting=len(waiting),
        jobs_running=len(tasks) - len(waiting),
        tasks_waiting=sum(counted.waiting for counted in in_slots),
        tasks_running=sum(counted.running for counted in in_slots),
        tasks_ready=sum(counted.ready for counted in in_slots),
        waiting_tags=_own_tags(waiting),
        unsplit=_own_tags(app for app in waiting if tasks[app.id].unsplit),
        slots_used=used,
        slots_total=total,
        master_slots=target.master_slots,
        output_bytes=_output(hdfs.used_bytes, memory.mark_bytes),
        storage_bytes=disk.total_bytes if disk else hdfs.total_bytes,
        jobs_done=memory.jobs_done,
        tasks_done=memory.tasks_done + sum(memory.tasks.values()),
        missing_blocks=hdfs.missing_blocks,
        thin_blocks=thin,
        hdfs_ops=ops,
        jobs_foreign=sum(app.id in tasks and not is_ours(app) for app in live),
        node_bytes={
            NodeId(name): node.used_bytes
            for name, node in hdfs.nodes.items()
            if node.alive and node.used_bytes is not None
        },
        node_masters=_masters_on(masters, live),
        masters=sum(app.state == RUNNING and bool(app.master) for app in live),
        work=_work(live, tasks, nodes.values(), target.task_mb),
        strays=strays,
        silent=silent,
    )


def tasks_ready(target: Target, deadline: Deadline) -> int:
    """The tasks of an MR-cluster that lack nothing but room, as in a reading; UnreadableError while nobody tells."""
    live = applications(target.masters, deadline, states=LIVE_STATES)
    tasks = _tasks(target.masters, live, ReaderMemory(), deadline)
    return sum(_in_slots(app, tasks[app.id], target.task_mb).ready for app in live if app.id in tasks)


def slots(nodes: Iterable[ComputeNode], task_mb: int, task_vcores: int) -> tuple[int, int]:
    """Used and configured slots of the NodeManagers that run; a node that drains offers none.

    A node holds ``min(memory // task_mb, vcores // task_vcores)`` map tasks, and never fewer than the containers that
    are on it: those of ApplicationMasters and reduce tasks may be of other sizes.
    """
    used = total = 0
    for node in nodes:
        if node.state == RUNNING:
            room = node.memory_mb // max(1, task_mb)
            if task_vcores:
                room = min(room, node.vcores // task_vcores)
            used += node.containers or 0
            total += max(room, node.containers or 0)
    return used, total


def _own_tags(apps: Iterable[YarnApplication]) -> tuple[str, ...]:
    return tuple(sorted(tag for app in apps for tag in app.tags if tag.startswith(OWN_TAGS)))


def _output(used_bytes: int | None, mark_bytes: int | None) -> int | None:
    return None if used_bytes is None or mark_bytes is None else max(0, used_bytes - mark_bytes)


def _masters_on(masters: MasterAddresses, live: Iterable[YarnApplication]) -> dict[NodeId, int]:
    nodes = (masters.node(app.master) for app in live if app.master)
    return dict(Counter(node for node in nodes if node is not None))


# --- the tasks of live applications


def _tasks(
    masters: MasterAddresses, live: Sequence[YarnApplication], memory: ReaderMemory, deadline: Deadline
) -> dict[str, Tasks]:
    """The tasks of each application that has not ended by now; one without an ApplicationMaster counts as one.

    Those whose ApplicationMaster said nothing last time are asked last.
    """
    patience = deadline.within(deadline.left() * _MASTERS_PART)
    known: dict[str, Tasks] = {}
    silent: set[str] = set()
    for app in sorted(live, key=lambda app: app.id in memory.silent):
        if app.state != RUNNING:
            known[app.id] = Tasks(waiting=1, ready=1, unsplit=True)
            continue
        ask = _MASTERS.get(app.kind)
        answer = ask(masters, app, patience.within(memory.master_s)) if ask else None
        if answer is None and ask:
            silent.add(app.id)
        tasks = answer or _ask_resource_manager(masters, app, memory, deadline)
        if tasks is not None:
            known[app.id] = tasks
            memory.tasks[app.id] = max(tasks.done, memory.tasks.get(app.id, 0))
    memory.silent = silent
    return known


def _ask_master(masters: MasterAddresses, app: YarnApplication, deadline: Deadline) -> Tasks | None:
    """The tasks of a MapReduce job by its ApplicationMaster, through the ResourceManager; None without an answer."""
    url = f"{masters.resource_manager}/proxy/{app.id}/ws/v1/mapreduce/jobs"
    try:
        jobs = listed(get_json(url, deadline, key=masters.key), "jobs", "job", url)
    except UnreadableError:
        return None
    return mapreduce_tasks(jobs[0]) if jobs else None


def _ask_driver(masters: MasterAddresses, app: YarnApplication, deadline: Deadline) -> Tasks | None:
    """The tasks of a Spark application by its driver, through the ResourceManager; None without an answer."""
    if STREAM in app.tags and (stream := stream_seen(masters, app.id, deadline)) is not None:
        # None of its executors holds up the next job, and none is ever done: a stream never ends. YARN counts those
        # that only start as well, and the ApplicationMaster.
        given = app.containers - 1 if app.containers else None
        held = max(stream.executors, given or 0)
        return Tasks(max(0, stream.wanted - held), held, progress=0.0, stream=replace(stream, given=given))
    url = f"{masters.resource_manager}/proxy/{app.id}/api/v1/applications/{app.id}/stages"
    try:
        stages = get_json(f"{url}?{_STAGES}", deadline, key=masters.key)
    except UnreadableError:
        return None
    tasks = spark_tasks(stages)
    if tasks is None or not stages or not tasks.ready or _asks_for_room(masters, app, deadline):
        return tasks
    return replace(tasks, ready=0)


def _in_slots(app: YarnApplication, tasks: Tasks, task_mb: int) -> Tasks:
    """The tasks of an application in slots: executors of streams, and tasks of jobs of tasks, count by their memory."""
    each = _slots_of(app, task_mb) if app.state == RUNNING else 0.0
    if not each:
        return tasks
    waiting, running, ready = (ceil(count * each) for count in (tasks.waiting, tasks.running, tasks.ready))
    return replace(tasks, waiting=waiting, running=running, ready=ready)


def _slots_of(app: YarnApplication, task_mb: int) -> float:
    """The slots that each of its containers takes; 0 where it does not say it."""
    return _tagged(app, _CONTAINER_MB) / max(1, task_mb) if app.kind in (SPARK, TASKS) else 0.0


def _asks_for_room(masters: MasterAddresses, app: YarnApplication, deadline: Deadline) -> bool:
    """False if an application asks YARN for no more containers; True where that is not known.

    Then its tasks wait for the executors that it has. The next job would otherwise wait for a whole stage under CPU
    quotas, although it has room.
    """
    try:
        now = application(masters, app.id, deadline)
    except UnreadableError:
        return True
    return now is None or now.pending > 0


def spark_tasks(stages: Any) -> Tasks | None:
    """Tasks of a Spark application by the list of its stages; None when a figure is missing.

    A stage that is pending waits for others, which have smaller numbers. One that has a smaller number than all that
    are active is skipped in the end: its output is there from earlier on. Of jobs that the program has not begun nobody
    knows; before its first stage it counts as one task.
    """
    if not isinstance(stages, list) or not all(isinstance(stage, Mapping) for stage in stages):
        return None
    rows: list[tuple[str, list[int]]] = []
    for stage in stages:
        figures = [figure for name in _OF_STAGE if (figure := count(stage.get(name))) is not None]
        if len(figures) != len(_OF_STAGE):
            return None
        rows.append((str(stage.get("status")), figures))
    waits, runs, done = Counter[str](), 0, 0
    first = min((figures[0] for status, figures in rows if status == "ACTIVE"), default=0)
    for status, (number, tasks, active, completed) in rows:
        waits[status] += max(0, tasks - active - completed) if number >= first else 0
        runs, done = runs + active, done + completed
    if not stages:
        return Tasks(waiting=1, ready=1, progress=0.0)
    waiting = waits["ACTIVE"] + waits["PENDING"]
    return Tasks(waiting, runs, done, waits["ACTIVE"], progress=100.0 * done / max(1, waiting + runs + done))


def _by_containers(masters: MasterAddresses, app: YarnApplication, deadline: Deadline) -> Tasks | None:
    """The tasks of a job of tasks by the list of applications; None when their number is not known.

    The progress is the part of them that is done, and each container but one is a task.
    """
    total = _tagged(app, _COUNT) if app.kind == TASKS else 0
    if not total or app.progress is None:
        return None
    done = min(total, round(app.progress * total / 100))
    running = min(total - done, max(0, app.containers - 1))
    waiting = total - done - running
    return Tasks(waiting, running, done, waiting, app.progress)


def _tagged(app: YarnApplication, form: re.Pattern[str]) -> int:
    """The number in a tag of an application; 0 for one without such a tag."""
    return next((int(match[1]) for tag in app.tags if (match := form.fullmatch(tag))), 0)


def mapreduce_tasks(job: Mapping[str, Any]) -> Tasks | None:
    """Tasks of a MapReduce job that was described by its ApplicationMaster; None when a figure is missing.

    What has neither started nor ended waits. The pending counts of the description leave out tasks that the
    ApplicationMaster has not scheduled yet; a job that is not split yet counts as one task.
    """
    names = [f"{kind}{what}" for kind in ("maps", "reduces") for what in ("Total", "Completed", "Running")]
    figures = [figure for name in names if (figure := count(job.get(name))) is not None]
    if len(figures) != len(names):
        return None
    maps, maps_done, maps_running, reduces, reduces_done, reduces_running = figures
    progress = sum(percent(job.get(f"{kind}Progress")) or 0.0 for kind in ("map", "reduce"))
    if maps + reduces == 0:
        return Tasks(waiting=1, ready=1, progress=progress, unsplit=True)
    maps_waiting = max(0, maps - maps_done - maps_running)
    reduces_waiting = max(0, reduces - reduces_done - reduces_running)
    # While maps run, reduces wait for these; a next job that had to wait for the reduces would leave their room empty.
    ready = maps_waiting or (0 if maps_running else reduces_waiting)
    return Tasks(
        waiting=maps_waiting + reduces_waiting,
        running=maps_running + reduces_running,
        done=maps_done + reduces_done,
        ready=ready,
        progress=progress,
        inside=job.get("uberized") is True,
    )


def _ask_resource_manager(
    masters: MasterAddresses, app: YarnApplication, memory: ReaderMemory, deadline: Deadline
) -> Tasks | None:
    """Containers asked for and containers held, for tasks; None when the application has ended in between."""
    now = application(masters, app.id, deadline)
    if now is None or now.ended:
        return None
    running = max(0, now.containers - 1)
    done = memory.tasks.get(app.id, 0)
    waiting = now.pending if running or done else max(1, now.pending)
    progress = None if app.kind in _MASTERS else now.progress
    if app.kind == SPARK:
        # Its driver asks for no more containers than it may have: what else waits only it knows.
        waiting = max(1, waiting)
    return Tasks(waiting, running, done, waiting, progress)


_MASTERS: Mapping[str, Callable[[MasterAddresses, YarnApplication, Deadline], Tasks | None]] = {
    MAPREDUCE: _ask_master,
    SPARK: _ask_driver,
    TASKS: _by_containers,
}
"""Those that know the tasks of an application, by its kind."""


def _work(
    live: Iterable[YarnApplication], tasks: Mapping[str, Tasks], nodes: Collection[ComputeNode], task_mb: int
) -> tuple[Work, ...]:
    """The progress of Fawkes's own attempts, by tag: what a command runs has several applications with one."""
    works: dict[str, Work] = {}
    for app in live:
        for tag in _own_tags([app]) if app.id in tasks else ():
            now = _work_of(app, tag, tasks[app.id], nodes, task_mb)
            works[tag] = _together(works[tag], now) if tag in works else now
    return tuple(works[tag] for tag in sorted(works))


def _work_of(app: YarnApplication, tag: str, tasks: Tasks, nodes: Iterable[ComputeNode], task_mb: int) -> Work:
    master = bool(app.master)
    if master and tasks.progress is None:
        return Work(tag=tag, application=app.id, master=True)
    stream, size_mb = tasks.stream, _tagged(app, _CONTAINER_MB)
    if stream is not None and size_mb:
        stream = replace(stream, room=sum(node.memory_mb // size_mb for node in nodes if node.state == RUNNING))
    return Work(
        tag=tag,
        application=app.id,
        master=master,
        waiting=tasks.waiting,
        running=tasks.running,
        done=tasks.done,
        progress=tasks.progress or 0.0,
        stream=stream,
        opaque=app.kind == TASKS,
        size=_slots_of(app, task_mb) or 1.0,
    )


def _together(first: Work, second: Work) -> Work:
    """The work of two applications with the same tag; it is known by the first."""

    def both(name: str) -> Any:
        mine, other = getattr(first, name), getattr(second, name)
        return None if mine is None or other is None else mine + other

    counts = {name: both(name) for name in ("waiting", "running", "done", "progress")}
    return replace(first, master=first.master or second.master, **counts)


def _strays(
    masters: MasterAddresses, live: Iterable[YarnApplication], tasks: Mapping[str, Tasks], deadline: Deadline
) -> tuple[tuple[Stray, ...], tuple[str, ...]]:
    """The stray tasks of all MapReduce applications, and the applications of which that is not known.

    Only where more tasks run than there are containers for them: to look at each task would take too long.
    """
    strays: list[Stray] = []
    silent = []
    for app in live:
        now = tasks.get(app.id)
        if now is None or app.kind != MAPREDUCE or app.state != RUNNING or now.inside:
            continue
        try:
            if now.progress is None:
                silent.append(app.id)
            elif now.running > max(0, app.containers - 1):
                strays += strays_of(masters, app.id, deadline)
        except UnreadableError:
            silent.append(app.id)
    return tuple(strays), tuple(silent)


# --- applications that have ended


def _count_ended(masters: MasterAddresses, memory: ReaderMemory, deadline: Deadline) -> None:
    """Count each application that has ended since the last reading, once: jobs that succeeded, tasks of all."""
    last_us = max(memory.counted.values(), default=0)
    since_us = max(0, last_us - _LATE_US)
    listing = applications(masters, deadline, states=ENDED_STATES, finished_since_us=since_us)
    fresh = [app for app in listing if app.id not in memory.counted and (app.finished_us or 0) >= since_us]
    if not fresh:
        return
    history = _history(masters, min(app.started_us for app in fresh), deadline.within(memory.master_s))
    for app in fresh:
        seen = memory.tasks.pop(app.id, 0)
        memory.jobs_done += app.succeeded
        seen = max(seen, _tagged(app, _COUNT) if app.kind == TASKS else 0) if app.succeeded else seen
        memory.tasks_done += max(seen, history.get(app.id.replace("application", "job", 1), 0))
        memory.counted[app.id] = app.finished_us or 0
    newest_us = max(memory.counted.values())
    memory.counted = {name: at for name, at in memory.counted.items() if at >= newest_us - 2 * _LATE_US}


def _history(masters: MasterAddresses, started_us: int, deadline: Deadline) -> dict[str, int]:
    """Tasks done by each MapReduce job that began at or after ``started_us``, by the JobHistory server.

    Nothing when there is none or it does not answer: then the ApplicationMasters' last words count.
    """
    if not masters.history:
        return {}
    url = f"{masters.history}/ws/v1/history/mapreduce/jobs"
    # The ApplicationMaster dates its start by the clock of its own host.
    params = {"startedTimeBegin": str(max(1, (started_us - _LATE_US) // 1000))}
    try:
        rows = listed(get_json(url, deadline, params, key=masters.key), "jobs", "job", url)
    except UnreadableError:
        return {}
    tasks = {}
    for row in rows:
        maps, reduces = count(row.get("mapsCompleted")), count(row.get("reducesCompleted"))
        if maps is not None and reduces is not None:
            tasks[str(row.get("id"))] = maps + reduces
    return tasks


# --- all MR-clusters at once


class Sampler:
    """Reads all MR-clusters at once, each in a thread of its own, and gives up those that are late.

    A thread that was given up is not joined by a second one: until it ends, its MR-cluster cannot be read.
    """

    def __init__(self, deadline_s: float) -> None:
        self._deadline_s = deadline_s
        self._readers: dict[ClusterId, _Reader] = {}

    def sample(self, targets: Sequence[Target]) -> tuple[Reading, ...]:
        """One reading for each target, in their order, within the deadline; one at a time."""
        self._forget({target.cluster for target in targets})
        deadline = Deadline.after(self._deadline_s)
        answers: queue.SimpleQueue[Reading] = queue.SimpleQueue()
        readings: dict[ClusterId, Reading] = {}
        for target in targets:
            reader = self._reader(target)
            if reader.busy.is_set():
                readings[target.cluster] = Reading(
                    cluster=target.cluster, error="the previous reading is still under way"
                )
            else:
                reader.read(target, deadline, answers)
        while len(readings) < len(targets):
            try:
                reading = answers.get(timeout=max(0.0, deadline.left()))
            except queue.Empty:
                break
            readings[reading.cluster] = reading
        late = f"no answer within {self._deadline_s:g} s"
        return tuple(readings.get(t.cluster) or Reading(cluster=t.cluster, error=late) for t in targets)

    def close(self) -> None:
        """End the threads that wait; those that were given up end by themselves."""
        self._forget(set())

    def _reader(self, target: Target) -> _Reader:
        reader = self._readers.get(target.cluster)
        if reader is None or reader.masters != target.masters.resource_manager:
            if reader is not None:
                reader.end()
            reader = self._readers[target.cluster] = _Reader(target)
        return reader

    def _forget(self, keep: set[ClusterId]) -> None:
        for cluster in [cluster for cluster in self._readers if cluster not in keep]:
            self._readers.pop(cluster).end()


_Order = tuple[Target, Deadline, "queue.SimpleQueue[Reading]"]


class _Reader:
    """The thread that reads one MR-cluster, with its memory; it keeps its connections from reading to reading."""

    def __init__(self, target: Target) -> None:
        self.masters = target.masters.resource_manager
        self.busy = threading.Event()
        self._orders: queue.SimpleQueue[_Order | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, name=f"read-{target.cluster}", daemon=True).start()

    def read(self, target: Target, deadline: Deadline, answers: queue.SimpleQueue[Reading]) -> None:
        """Begin a reading; it is put into ``answers``."""
        self.busy.set()
        self._orders.put((target, deadline, answers))

    def end(self) -> None:
        """End the thread once it has nothing to do."""
        self._orders.put(None)

    def _work(self) -> None:
        memory = ReaderMemory()
        while (order := self._orders.get()) is not None:
            target, deadline, answers = order
            try:
                reading = read_cluster(target, memory, deadline)
            except Exception as error:
                reading = Reading(cluster=target.cluster, error=f"the answers cannot be understood: {error!r}")
            self.busy.clear()
            answers.put(reading)
        close_session()
