"""Loads and costs of moves, from the ledger, for `core.worth`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from math import exp, fsum
from typing import cast

from fawkes.base.units import SECOND_US
from fawkes.base.values import replace
from fawkes.core.fairness.worth import Prices, QueuedWork, Sites, Weighed, weigh
from fawkes.core.state.draft import Draft
from fawkes.core.values.model import ClusterId, ClusterLife, NodeLife, Plain, Role, Sample
from fawkes.core.values.window import Window

#: the mean time of a task where none has ended yet: it reads a block and computes on it (assumed)
_TASK_S = 30.0
#: after so many periods what was measured counts for a third
_MEMORY_PERIODS = 6.0
#: what is expected of an MR-cluster is in part what all of them have now: any may get the next jobs
_MEAN = 0.5
#: a job of so many seconds counts once, a shorter one more often
_USUAL_JOB_S = 100.0
#: what a task reads from the other site when no replica is near: a block (Hadoop's default)
_TASK_BYTES = 134_217_728
#: what the disks of a node give to many readers at once (assumed: 200 MB/s, of which seeks take half)
_DISK_BYTES_S = 100_000_000
#: when so many times more tasks end than the disks could feed, these tasks read less
_READS_LESS = 1.5
#: seconds of each stage of a move before the ledger has one (measured on a lab; HDFS looks every 30 s for empty nodes)
_STAGE_S = {NodeLife.JOINING: 10.0, NodeLife.DRAINING: 1.0, NodeLife.EVACUATING: 60.0, NodeLife.CLEANING: 2.0}
#: of one core until a node's daemons run (fitted: `workloads/models/lab-of-two-cores.toml`)
_JOIN_CPU_S = 18.0
#: what is remembered and averaged: all but what each tick finds anew
_FIGURES = tuple(each.name for each in fields(QueuedWork) if each.name not in ("feeds", "still_s", "beside_s"))


def loads_of(
    draft: Draft, windows: Mapping[ClusterId, Window], past: Mapping[ClusterId, Plain]
) -> dict[ClusterId, QueuedWork]:
    """The load of now of each MR-cluster whose readings tell it; ``past`` is what the last tick left behind."""
    loads = {c: _load(draft, window, _remembered(past, c)) for c, window in windows.items()}
    return {c: load for c, load in loads.items() if load is not None}


def kept(loads: Mapping[ClusterId, QueuedWork], past: Mapping[ClusterId, Plain]) -> dict[ClusterId, Plain]:
    """The memory of loads for the next ticks."""
    lasting = {c: _lasting(load, _remembered(past, c)) for c, load in loads.items()}
    return {c: {name: getattr(load, name) for name in _FIGURES} for c, load in lasting.items()}


def weigh_moves(
    draft: Draft,
    loads: Mapping[ClusterId, QueuedWork],
    past: Mapping[ClusterId, Plain],
    have: Mapping[ClusterId, int],
    wanted: Mapping[ClusterId, int],
    pinned: Collection[ClusterId],
    *,
    home: bool = False,
) -> Weighed:
    """The moves that pay, of those that a policy wants; with ``home`` also those back to equal parts.

    ``pinned`` MR-clusters get what is wanted, and those whose load is not known keep what they have.
    """
    known = [c for c in wanted if c in loads and c not in pinned]
    mean = {name: fsum(getattr(loads[c], name) for c in known) / max(1, len(known)) for name in _FIGURES}
    promised = sum(c.spec.min_nodes for c in draft.queue() if c.life is ClusterLife.ADMITTED)
    weighing = weigh(
        {c: have[c] for c in known},
        {c: wanted[c] for c in known},
        {c: max(have[c], _most(draft, c)) for c in known},
        loads,
        {c: _expected(loads[c], _remembered(past, c), mean) for c in known},
        max(0, draft.counts.free - promised),
        _prices(draft),
        _sites(draft, {c: loads[c] for c in known}),
        {c: _least(draft, c) for c in known} if home else None,
    )
    rest = {c: wanted[c] if c in pinned else have[c] for c in wanted}
    return replace(weighing, targets={**rest, **weighing.targets})


def _most(draft: Draft, cluster: ClusterId) -> int:
    state = draft.cluster(cluster)
    return draft.counts.usable if state is None or state.spec.max_nodes is None else state.spec.max_nodes


def _least(draft: Draft, cluster: ClusterId) -> int:
    state = draft.cluster(cluster)
    return 0 if state is None else state.spec.min_nodes


def _sites(draft: Draft, loads: Mapping[ClusterId, QueuedWork]) -> Sites:
    """The place where the nodes are, if there is a link; each MR-cluster gets an equal part of it."""
    link = draft.settings.site_link_bytes_s
    if not link:
        return Sites()
    masters = {c: state.master for c in loads if (state := draft.cluster(c)) is not None and state.master is not None}
    home = {c: draft.node(master).node.site for c, master in masters.items()}
    free = Counter[str]()
    for (site, _), ids in draft.view.free_at.items():
        free[site] += len(ids)
    return Sites(
        home=home,
        near={c: sum(node.node.site == site for node in draft.nodes_of(c)) for c, site in home.items()},
        free=free,
        fed={c: round(link * loads[c].task_s / (loads[c].slots * _TASK_BYTES * len(loads))) for c in home},
    )


def _load(draft: Draft, window: Window, past: QueuedWork | None) -> QueuedWork | None:
    """The load by the latest reading; None when it leaves something open."""
    waiting, running = window.last("jobs_waiting"), window.last("jobs_running")
    tasks, busy, slots = window.last("tasks_waiting"), window.last("tasks_running"), window.last("slots_total")
    serving = sum(node.life is NodeLife.SERVING for node in draft.nodes_of(window.cluster))
    if waiting is None or running is None or tasks is None or busy is None or not slots or not serving:
        return None
    task_s = _task_s(window, draft.settings.period_us / SECOND_US, busy, past)
    return QueuedWork(
        jobs=(waiting + running) * _shortness(draft, window.cluster, task_s, slots / serving),
        tasks=tasks + busy,
        running=busy,
        task_s=task_s,
        slots=slots / serving,
        feeds=_feeds(draft, window),
        still_s=_waits_s(draft, window, _nothing_runs),
        beside_s=_waits_s(draft, window, _has_room),
    )


def _feeds(draft: Draft, window: Window) -> float:
    """Tasks that the disks of the core nodes, which have the input, can feed in a second; 0 if more have ended."""
    core = sum(n.role is Role.CORE and n.life is NodeLife.SERVING for n in draft.nodes_of(window.cluster))
    feeds = core * _DISK_BYTES_S / _TASK_BYTES
    done = (window.growth("tasks_done") or 0) / (draft.settings.period_us / SECOND_US)
    return feeds if done <= _READS_LESS * feeds else 0.0


def _waits_s(draft: Draft, window: Window, beside: Callable[[Sample], bool]) -> float:
    """A period (s) if in all of it tasks waited, ``beside`` held, and none ended, as with those of a rigid job; else 0.

    Without it, moves are weighed as if the tasks ran on the nodes that are there, and were done before a node came.
    Reduces that wait for maps do not count: no node helps them.
    """
    latest = draft.view.latest(window.cluster)
    if latest is None or not latest.waiting_in_yarn or window.before is None or not window.samples:
        return 0.0
    all_wait = all(sample.tasks_waiting and beside(sample) for sample in window.samples)
    return draft.settings.period_us / SECOND_US if all_wait and window.growth("tasks_done") == 0 else 0.0


def _nothing_runs(sample: Sample) -> bool:
    return sample.tasks_running == 0


def _has_room(sample: Sample) -> bool:
    """True if slots are known to be free."""
    used, slots = sample.slots_used, sample.slots_total
    return used is not None and slots is not None and used < slots


def _shortness(draft: Draft, cluster: ClusterId, task_s: float, slots: float) -> float:
    """The weight of a job, a mean: by its tasks alone on the minimum, as the reference time of a slowdown."""
    state, jobs = draft.cluster(cluster), draft.jobs_of(cluster)
    if state is None or not jobs:
        return 1.0
    speed = state.spec.min_nodes * slots
    return fsum(_USUAL_JOB_S / max(task_s, job.spec.tasks * task_s / speed) for job in jobs) / len(jobs)


def _task_s(window: Window, period_s: float, running: float, past: QueuedWork | None) -> float:
    """Little's law: the slots in use, over the tasks that end in a second; tasks of which none ends are longer."""
    done, used = window.growth("tasks_done"), window.mean("slots_used")
    if done and used:
        return used * period_s / done
    known = _TASK_S if past is None else past.task_s
    return max(known, period_s) if running and done == 0 else known


def _lasting(now: QueuedWork, past: QueuedWork | None) -> QueuedWork:
    """A mean over the ticks so far, in which each counts less than the one after it."""
    if past is None:
        return now
    keep = exp(-1 / _MEMORY_PERIODS)
    blend = {name: keep * getattr(past, name) + (1 - keep) * getattr(now, name) for name in _FIGURES}
    task_s = blend["task_s"] if now.tasks else past.task_s
    return replace(now, **{**blend, "task_s": task_s, "slots": now.slots})


def _expected(now: QueuedWork, past: QueuedWork | None, mean: Mapping[str, float]) -> QueuedWork:
    """The load of now or that of the past, whichever is more, and in part the mean of all MR-clusters."""
    lasting = _lasting(now, past)
    more = max(now, lasting, key=lambda load: load.jobs * load.tasks * load.task_s)
    mixed = {name: (1 - _MEAN) * getattr(more, name) + _MEAN * mean[name] for name in _FIGURES}
    return replace(now, **mixed)


def _prices(draft: Draft) -> Prices:
    """Prices from the moves of this ledger; before the first from what is usual."""
    settings = draft.settings
    stages = {life: draft.view.took_s(life) or usual for life, usual in _STAGE_S.items()}
    stores = settings.growth is not Role.TRANSIENT
    leave_us = settings.transient_core_leave_us if stores else settings.transient_leave_us
    leave_s = stages[NodeLife.DRAINING] + (stages[NodeLife.EVACUATING] if stores else 0.0) + stages[NodeLife.CLEANING]
    return Prices(
        join_s=stages[NodeLife.JOINING],
        move_s=leave_s + stages[NodeLife.JOINING],
        kills=leave_us == 0,
        shared_cores=settings.shared_cores,
        join_cpu_s=_JOIN_CPU_S,
    )


def _remembered(past: Mapping[ClusterId, Plain], cluster: ClusterId) -> QueuedWork | None:
    memory = past.get(cluster)
    return None if memory is None else QueuedWork(**cast("Mapping[str, float]", memory))
