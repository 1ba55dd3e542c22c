"""From readings to samples: what is kept, which MR-clusters cannot be read, which are idle."""

from __future__ import annotations

from dataclasses import replace
from math import fsum
from typing import NamedTuple

from fawkes.core import jobs
from fawkes.core.clusters import tag_of
from fawkes.core.decision import AddSample
from fawkes.core.draft import Draft
from fawkes.core.events import Sampled
from fawkes.core.model import ClusterState, JobLife, JobState, Reading, Sample


def sampled(draft: Draft, event: Sampled) -> None:
    """Keep the samples; freeze what cannot be read; notice idleness; release jobs."""
    for reading in event.readings:
        cluster = draft.cluster(reading.cluster)
        if cluster is None or not cluster.active:
            continue
        if reading.error:
            _unreadable(draft, cluster, reading)
        else:
            _readable(draft, cluster, reading)


def _unreadable(draft: Draft, cluster: ClusterState, reading: Reading) -> None:
    latest = draft.view.latest(cluster.id)
    seen_us = latest.sample.at_us if latest else (cluster.active_us or draft.at_us)
    if cluster.unreadable_us is None and draft.at_us - seen_us >= draft.settings.stale_us:
        draft.put_cluster(replace(cluster, unreadable_us=draft.at_us, alert=reading.error))
        draft.say("unreadable", cluster=cluster.id, error=reading.error)


def _readable(draft: Draft, cluster: ClusterState, reading: Reading) -> None:
    mine = draft.jobs_of(cluster.id)
    idle_us = _idle_us(draft, cluster, reading, bool(mine))
    sample = _sample(draft, reading, mine)
    ready = reading.tasks_waiting if reading.tasks_ready is None else reading.tasks_ready
    waiting = 1 if ready is None else ready
    keep_from_us = draft.at_us - draft.settings.period_us
    draft.change(AddSample(cluster.id, sample, keep_from_us, waiting, reading.node_bytes, reading.node_masters))
    if cluster.unreadable_us is not None:
        draft.say("readable", cluster=cluster.id)
        draft.put_cluster(replace(cluster, unreadable_us=None, alert="", idle_us=idle_us))
    elif idle_us != cluster.idle_us:
        draft.put_cluster(replace(cluster, idle_us=idle_us))
    if mine and not draft.rules.shadow:
        jobs.release(draft, cluster.id, (sample.at_us, waiting))


def _idle_us(draft: Draft, cluster: ClusterState, reading: Reading, has_jobs: bool) -> int | None:
    """Since when it does nothing, as far as was seen; what ended since the reading before was not nothing."""
    if has_jobs or reading.jobs_running or reading.jobs_waiting:
        return None
    latest = draft.view.latest(cluster.id)
    before = latest.sample if latest else None
    ended = before is not None and (
        _differ(before.jobs_done, reading.jobs_done) or _differ(before.tasks_done, reading.tasks_done)
    )
    return draft.at_us if ended or cluster.idle_us is None else cluster.idle_us


def _differ(before: int | None, now: int | None) -> bool:
    return before is not None and now is not None and before != now


def _sample(draft: Draft, reading: Reading, mine: list[JobState]) -> Sample:
    """What YARN knows and what still waits in Fawkes's own queue, together (facts, section 4)."""
    ours = _demand(draft.at_us, mine, set(reading.waiting_tags)) if mine else _IDLE
    return Sample(
        at_us=draft.at_us,
        jobs_waiting=_plus(reading.jobs_waiting, ours.jobs),
        jobs_running=reading.jobs_running,
        tasks_waiting=_plus(reading.tasks_waiting, ours.tasks),
        tasks_running=reading.tasks_running,
        bytes_waiting=ours.waiting_bytes,
        slots_used=reading.slots_used,
        slots_total=reading.slots_total,
        output_bytes=reading.output_bytes,
        storage_bytes=reading.storage_bytes,
        jobs_done=reading.jobs_done,
        tasks_done=reading.tasks_done,
        job_slowdown=ours.slowdown,
        without_reference=ours.without_reference,
    )


class _Demand(NamedTuple):
    """What Fawkes's own jobs add: queued jobs and their tasks, input of all that wait, mean slowdown so far."""

    jobs: int
    tasks: int
    waiting_bytes: int | None
    slowdown: float | None
    without_reference: int


_IDLE = _Demand(0, 0, 0, 0.0, 0)


def _demand(at_us: int, mine: list[JobState], in_yarn: set[str]) -> _Demand:
    jobs = tasks = waiting = known = sized = 0
    ratios = []
    for job in mine:
        spec = job.spec
        queued = job.life is JobLife.QUEUED
        waits = queued or (bool(in_yarn) and tag_of(job.id, job.attempt) in in_yarn)
        if queued:
            jobs += 1
            tasks += spec.tasks
        if waits:
            waiting += 1
            if spec.input_bytes is not None:
                known += 1
                sized += spec.input_bytes
        if spec.reference_us:
            since_us = job.submitted_us if waits or job.started_us is None else job.started_us
            ratios.append((at_us - since_us) / spec.reference_us)
    return _Demand(
        jobs,
        tasks,
        sized if known or not waiting else None,
        fsum(ratios) / len(ratios) if ratios else None,
        len(mine) - len(ratios),
    )


def _plus(reading: int | None, ours: int) -> int | None:
    return None if reading is None else reading + ours
