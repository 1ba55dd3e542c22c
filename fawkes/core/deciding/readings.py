"""The way from readings to samples: what is kept, which MR-clusters cannot be read, which are idle."""

from __future__ import annotations

from collections.abc import Container
from math import fsum
from typing import NamedTuple

from fawkes.base.values import replace
from fawkes.core.clusters import strays
from fawkes.core.jobs import deadlines, jobs, streaming
from fawkes.core.preemption import claiming
from fawkes.core.state import alerts
from fawkes.core.state.draft import Draft
from fawkes.core.values.backlog import Waiting
from fawkes.core.values.decision import AddSample
from fawkes.core.values.events import Sampled
from fawkes.core.values.model import ClusterAlert, ClusterId, ClusterState, JobId, JobState, Reading, Sample
from fawkes.core.values.tags import tag_of
from fawkes.core.watching import standing, stuck


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
        cluster = alerts.raised(cluster, ClusterAlert.UNREADABLE, reading.error)
        draft.put_cluster(replace(cluster, unreadable_us=draft.at_us))
        draft.say("unreadable", cluster=cluster.id, error=reading.error)


def _readable(draft: Draft, cluster: ClusterState, reading: Reading) -> None:
    busy, waiting_here = draft.busy_of(cluster.id), draft.waiting_of(cluster.id)
    has_jobs = bool(busy or waiting_here.jobs)
    idle_us = _idle_us(draft, cluster, reading, has_jobs)
    admitted = deadlines.look(draft, cluster, reading.slots_total, reading.master_slots)
    cluster = draft.cluster(cluster.id) or cluster
    sample = _sample(draft, reading, _demand(draft, reading, busy, waiting_here), admitted)
    ready = reading.tasks_waiting if reading.tasks_ready is None else reading.tasks_ready
    waiting = 1 if ready is None else ready
    keep_from_us = draft.at_us - draft.settings.period_us
    latest = draft.view.latest(cluster.id)
    mine = standing.tags(busy)
    before = latest.work if latest else ()
    work = before if reading.work is None else standing.follow(before, reading.work, mine, draft.at_us)
    stray = strays.look(draft, cluster, reading)
    bytes_on, masters_on = reading.node_bytes, reading.node_masters
    draft.change(AddSample(cluster.id, sample, keep_from_us, waiting, bytes_on, masters_on, work, stray))
    if reading.work is not None and not draft.rules.shadow:
        standing.judge(draft, mine, work, reading, stray)
        streaming.read(draft, cluster, work, reading.tasks_ready)
        claiming.read(draft, cluster, work, reading.slots_total, reading.master_slots)
    if cluster.unreadable_us is not None:
        draft.say("readable", cluster=cluster.id)
    still_us = _still_us(draft, cluster, sample)
    new = _with_alert(cluster, reading, idle_us, still=still_us is not None)
    if (new.unreadable_us, new.idle_us, new.still_us) != (None, idle_us, still_us):
        new = replace(new, unreadable_us=None, idle_us=idle_us, still_us=still_us)
    new = _stuck(draft, new, sample)
    if alerts.about(cluster, ClusterAlert.STUCK) and still_us is None:
        draft.say("runs-again", cluster=cluster.id)
    if new is not cluster and new != cluster:
        draft.put_cluster(new)
    if has_jobs and not draft.rules.shadow:
        jobs.read(draft, cluster.id, (sample.at_us, waiting), admitted)


def _still_us(draft: Draft, cluster: ClusterState, sample: Sample) -> int | None:
    """The time since which tasks have waited beside held slots while none ran; None until that has lasted.

    It is noted once it has lasted for as long as samples are kept, or for as long as it may last. A sample that lacks a
    number changes nothing.
    """
    now = stuck.standing_of(sample)
    still = stuck.stands_still(now)
    if not still:
        return cluster.still_us if still is None else None
    known = draft.view.window(cluster.id, draft.at_us - draft.settings.period_us)
    earlier = (*((known.before,) if known.before else ()), *known.samples)
    counted = next((before for before in reversed(earlier) if before.tasks_done is not None), None)
    if counted is not None and not stuck.stands_still(now, stuck.standing_of(counted)):
        return None
    if cluster.still_us is not None:
        return cluster.still_us
    since_us = stuck.still_since_us((*earlier, sample))
    lasting_us = min(draft.settings.stuck_us, draft.settings.period_us)
    return since_us if since_us is not None and draft.at_us - since_us >= lasting_us else None


def _stuck(draft: Draft, cluster: ClusterState, sample: Sample) -> ClusterState:
    """The MR-cluster with an alert when its tasks have stood still for too long."""
    since_us = cluster.still_us
    known = alerts.about(cluster, ClusterAlert.STUCK)
    if since_us is None or known or draft.at_us - since_us < draft.settings.stuck_us:
        return cluster
    standing = stuck.standing_of(sample)
    facts = {"tasks": standing.waiting, "held": standing.held, "slots": sample.slots_total, "masters": sample.masters}
    draft.say("stuck", cluster=cluster.id, since_us=since_us, **{k: v for k, v in facts.items() if v is not None})
    holders = "" if sample.masters is None else f" ({sample.masters} by ApplicationMasters)"
    detail = f"{standing.waiting} waiting, {standing.held} slots held{holders}. Cancel a job or add nodes"
    return alerts.raised(cluster, ClusterAlert.STUCK, detail)


def _with_alert(cluster: ClusterState, reading: Reading, idle_us: int | None, *, still: bool) -> ClusterState:
    """An MR-cluster that can be read, with what is wrong with it; what somebody else said about it stays."""
    passed = {
        ClusterAlert.UNREADABLE: True,
        ClusterAlert.MISSING: reading.missing_blocks == 0,
        ClusterAlert.THIN: reading.thin_blocks == 0,
        ClusterAlert.IDLE: idle_us != cluster.idle_us,
        ClusterAlert.STUCK: not still,
    }
    cluster = alerts.ended(cluster, *(kind for kind, ended in passed.items() if ended))
    if reading.missing_blocks:
        detail = f"{reading.missing_blocks}. `hdfs fsck /` names the files"
        return alerts.raised(cluster, ClusterAlert.MISSING, detail)
    return cluster


def _idle_us(draft: Draft, cluster: ClusterState, reading: Reading, has_jobs: bool) -> int | None:
    """The start of its idle time, as far as was seen; what ended or used HDFS since the reading before counts.

    An MR-cluster of which it is not known whether jobs wait or run is not idle.
    """
    if has_jobs or reading.jobs_running != 0 or reading.jobs_waiting != 0:
        return None
    latest = draft.view.latest(cluster.id)
    before = latest.sample if latest else None
    used = before is not None and (
        _differ(before.jobs_done, reading.jobs_done)
        or _differ(before.tasks_done, reading.tasks_done)
        or _differ(before.hdfs_ops, reading.hdfs_ops)
    )
    return draft.at_us if used or cluster.idle_us is None else cluster.idle_us


def _differ(before: int | None, now: int | None) -> bool:
    return before is not None and now is not None and before != now


def _sample(draft: Draft, reading: Reading, ours: _Demand, admitted: deadlines.Pass | None) -> Sample:
    """A sample of what YARN knows and what still waits in Fawkes's own queue, together (facts, section 4)."""
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
        hdfs_ops=reading.hdfs_ops,
        job_slowdown=ours.slowdown,
        without_reference=ours.without_reference,
        masters=reading.masters,
        master_slots=reading.master_slots,
        cpus_wanted=None if admitted is None else admitted.wanted,
        nodes_planned=reading.nodes_planned,
    )


class _Demand(NamedTuple):
    """The demand that Fawkes knows of: queued jobs and their tasks, input of all that wait, mean slowdown so far.

    The input is None while a job waits in YARN that is not Fawkes's own: nobody knows what it will read.
    """

    jobs: int
    tasks: int
    waiting_bytes: int | None
    slowdown: float | None
    without_reference: int


def _demand(draft: Draft, reading: Reading, busy: list[JobState], queued: Waiting) -> _Demand:
    jobs_by_tag = {tag_of(job.id, job.attempt): job for job in busy} if reading.waiting_tags else {}
    own = [tag for tag in reading.waiting_tags if tag in jobs_by_tag]
    pending = [job for tag, job in jobs_by_tag.items() if tag in own]
    ratios = _slowdowns(draft, reading.cluster, {job.id for job in pending})
    quiet = not busy and not queued.jobs and reading.jobs_waiting == 0 and reading.jobs_running == 0
    in_yarn = (reading.jobs_waiting or 0) + (reading.jobs_running or 0)
    return _Demand(
        queued.jobs,
        queued.tasks + sum(_unsplit(job, reading) for job in pending),
        _waiting_bytes(pending, queued) if reading.jobs_waiting == len(own) else None,
        fsum(ratios) / len(ratios) if ratios else (0.0 if quiet else None),
        queued.jobs + len(busy) - len(ratios) + max(0, in_yarn - len(busy)),
    )


def _unsplit(job: JobState, reading: Reading) -> int:
    """The tasks of a job beyond the one that YARN counts before it has split it, as far as they are known.

    Without them its demand would fall as soon as YARN has it, and nodes would leave it. Of a job with several
    applications only the first one counts: what it tells is the tasks of all of them.
    """
    tag = tag_of(job.id, job.attempt)
    later = any(work.tag == tag and work.application != job.application for work in reading.work or ())
    if tag not in reading.unsplit or job.own or (job.application and later):
        return 0
    return max(0, job.spec.tasks - 1)


def _waiting_bytes(pending: list[JobState], queued: Waiting) -> int | None:
    """The input of Fawkes's own waiting jobs as far as their sizes are known; None when no size is."""
    known = [job.spec.input_bytes for job in pending if job.spec.input_bytes is not None]
    sized = bool(queued.sized or known) or not (queued.jobs or pending)
    return queued.input_bytes + sum(known) if sized else None


def _slowdowns(draft: Draft, cluster: ClusterId, pending: Container[JobId]) -> list[float]:
    """Elapsed over reference time of each job that has one: since its start, or its submission while it waits."""
    slowdowns = []
    for job in draft.referenced_of(cluster):
        if job.spec.reference_us:
            since_us = job.submitted_us if job.id in pending or job.started_us is None else job.started_us
            slowdowns.append((draft.at_us - since_us) / job.spec.reference_us)
    return slowdowns


def _plus(reading: int | None, ours: int) -> int | None:
    return None if reading is None else reading + ours
