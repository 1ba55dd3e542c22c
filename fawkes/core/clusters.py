"""The life of a MR-cluster after its admission, from deploying to gone, and its readings."""

from __future__ import annotations

from dataclasses import replace
from math import fsum

from fawkes.core import jobs
from fawkes.core.admission import admit
from fawkes.core.decision import AddSample, PutPending
from fawkes.core.draft import Draft
from fawkes.core.effects import Load, Save
from fawkes.core.events import Done, Failed, Sampled
from fawkes.core.lifecycle import WITH_MASTERS
from fawkes.core.model import (
    ClusterId,
    ClusterLife,
    ClusterState,
    JobId,
    JobLife,
    JobState,
    NodeLife,
    Reading,
    Reason,
    Sample,
)
from fawkes.core.moves import clean
from fawkes.core.plan import hand_out


def nodes_changed(draft: Draft) -> None:
    """After anything that may have freed nodes: empty MR-clusters are gone, the queue and the needy are served."""
    for cluster in draft.clusters():
        if cluster.life is ClusterLife.RETIRING and not draft.nodes_of(cluster.id):
            draft.put_cluster(replace(cluster, life=ClusterLife.GONE))
            draft.say("gone", cluster=cluster.id, failed=cluster.failed)
    hand_out(draft, admit(draft))


def answered(draft: Draft, event: Done | Failed) -> None:
    """An effect of a MR-cluster ended; answers about older versions are history."""
    pending = draft.pending(event.effect)
    kind, _, name = event.effect.partition(":")
    cluster = draft.cluster(ClusterId(name))
    if pending is None or pending.version != event.version or cluster is None:
        draft.say("late-answer", effect=event.effect, version=event.version)
    elif isinstance(event, Failed):
        _not_reached(draft, cluster, pending, event)
    elif kind == "membership":
        draft.settle(event.effect)
    else:
        draft.settle(event.effect)
        _stage_done(draft, cluster, event)


def _stage_done(draft: Draft, cluster: ClusterState, event: Done) -> None:
    took_us = draft.at_us - cluster.since_us
    match cluster.life:
        case ClusterLife.DEPLOYING:
            draft.say("deployed", cluster=cluster.id, took_us=took_us, **event.facts)
            for node in draft.nodes_of(cluster.id):
                if node.life is NodeLife.JOINING:
                    draft.put_node(replace(node, life=NodeLife.SERVING, since_us=draft.at_us))
            cluster = replace(cluster, life=ClusterLife.LOADING, deploy_us=took_us, alert="")
            draft.put_cluster(cluster)
            draft.touch(cluster.id)
            effect = Load(cluster.id, cluster.version)
            draft.act(effect, within_us=draft.settings.transfer_us, version=cluster.version)
        case ClusterLife.LOADING:
            draft.say("loaded", cluster=cluster.id, took_us=took_us, **event.facts)
            cluster = replace(
                cluster,
                life=ClusterLife.RUNNING,
                load_us=took_us,
                active_us=draft.at_us,
                idle_us=None if draft.jobs_of(cluster.id) else draft.at_us,
                alert="",
            )
            draft.put_cluster(cluster)
            jobs.release(draft, cluster.id)
        case ClusterLife.SAVING:
            draft.say("saved", cluster=cluster.id, took_us=took_us, **event.facts)
            retire(draft, replace(cluster, save_us=took_us, alert=""))


def _not_reached(draft: Draft, cluster: ClusterState, pending: PutPending, event: Failed) -> None:
    """Try again while that may help; without its data a MR-cluster is of no use, without its save it stays."""
    stage = cluster.life if pending.key.startswith("cluster:") else "membership"
    draft.say("not-reached", cluster=cluster.id, stage=stage, error=event.error, tries=pending.tries, **event.facts)
    draft.put_cluster(replace(cluster, alert=event.error))
    hopeless = event.final or pending.tries >= draft.settings.deploy_attempts
    if stage in (ClusterLife.DEPLOYING, ClusterLife.LOADING) and hopeless:
        _give_up(draft, cluster, event.error)
        return
    wait_us = draft.settings.membership_us * 2 ** min(pending.tries, 5)
    draft.expect(pending.key, wait_us, effect=pending.effect, version=pending.version, tries=pending.tries)


def _give_up(draft: Draft, cluster: ClusterState, error: str) -> None:
    draft.settle(f"cluster:{cluster.id}")
    for job in draft.jobs_of(cluster.id):
        jobs.cancel(draft, job, f"{cluster.id} could not be brought up: {error}")
    draft.say("gave-up", cluster=cluster.id, error=error)
    retire(draft, replace(cluster, failed=error))


def cluster_over_time(draft: Draft, pending: PutPending) -> None:
    """A deadline of a MR-cluster has passed: what should be is said again."""
    cluster = draft.cluster(ClusterId(pending.key.partition(":")[2]))
    if cluster is None or cluster.life not in WITH_MASTERS or pending.effect is None:
        draft.settle(pending.key)
        return
    draft.say("asked-again", effect=pending.key, tries=pending.tries + 1)
    within_us = {
        ClusterLife.DEPLOYING: draft.settings.deploy_us,
        ClusterLife.LOADING: draft.settings.transfer_us,
        ClusterLife.SAVING: draft.settings.transfer_us,
    }.get(cluster.life, draft.settings.membership_us)
    if pending.key.startswith("membership:"):
        within_us = draft.settings.membership_us * 2 ** min(pending.tries, 5)
    draft.act(pending.effect, within_us=within_us, version=pending.version, tries=pending.tries + 1)


def save(draft: Draft, cluster: ClusterState) -> None:
    """Save the outputs of a MR-cluster; it keeps its nodes until that was verified (3.1)."""
    cluster = replace(cluster, life=ClusterLife.SAVING)
    draft.put_cluster(cluster)
    if cluster.discard:
        draft.say("discarded", cluster=cluster.id)
        retire(draft, cluster)
        return
    effect = Save(cluster.id, cluster.version)
    draft.act(effect, within_us=draft.settings.transfer_us, version=cluster.version)


def retire(draft: Draft, cluster: ClusterState) -> None:
    """Stop and wipe all nodes of a MR-cluster; it is gone when all were seen clean."""
    draft.put_cluster(replace(cluster, life=ClusterLife.RETIRING))
    draft.settle(f"cluster:{cluster.id}")
    draft.settle(f"membership:{cluster.id}")
    why = Reason("retire", {"cluster": cluster.id})
    for node in draft.nodes_of(cluster.id):
        if node.life is not NodeLife.CLEANING:
            clean(draft, node, why)


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
            jobs.release(draft, cluster.id)


def _unreadable(draft: Draft, cluster: ClusterState, reading: Reading) -> None:
    latest = draft.view.latest(cluster.id)
    seen_us = latest.at_us if latest else (cluster.active_us or draft.at_us)
    if cluster.unreadable_us is None and draft.at_us - seen_us >= draft.settings.stale_us:
        draft.put_cluster(replace(cluster, unreadable_us=draft.at_us, alert=reading.error))
        draft.say("unreadable", cluster=cluster.id, error=reading.error)


def _readable(draft: Draft, cluster: ClusterState, reading: Reading) -> None:
    mine = draft.jobs_of(cluster.id)
    sample = _sample(draft, reading, mine)
    keep_from_us = draft.at_us - draft.settings.period_us
    draft.change(
        AddSample(
            cluster.id, sample, keep_from_us, reading.tasks_waiting or 0, reading.node_bytes, reading.node_masters
        )
    )
    busy = bool(mine) or bool(reading.jobs_running) or bool(reading.jobs_waiting)
    idle_us = None if busy else (cluster.idle_us if cluster.idle_us is not None else draft.at_us)
    if cluster.unreadable_us is not None:
        draft.say("readable", cluster=cluster.id)
        cluster = replace(cluster, unreadable_us=None, alert="")
        draft.put_cluster(replace(cluster, idle_us=idle_us))
    elif idle_us != cluster.idle_us:
        draft.put_cluster(replace(cluster, idle_us=idle_us))


def _sample(draft: Draft, reading: Reading, mine: list[JobState]) -> Sample:
    """What YARN knows and what still waits in Fawkes's own queue, together (facts, section 4)."""
    queued = [job for job in mine if job.life is JobLife.QUEUED]
    in_yarn = set(reading.waiting_tags)
    begun = [job for job in mine if job.life is not JobLife.QUEUED]
    waiting = queued + [job for job in begun if tag_of(job.id, job.attempt) in in_yarn]
    known_bytes = [job.spec.input_bytes for job in waiting if job.spec.input_bytes is not None]
    ratios = [
        (draft.at_us - (job.submitted_us if job in waiting or job.started_us is None else job.started_us))
        / job.spec.reference_us
        for job in mine
        if job.spec.reference_us
    ]
    return Sample(
        at_us=draft.at_us,
        jobs_waiting=_plus(reading.jobs_waiting, len(queued)),
        jobs_running=reading.jobs_running,
        tasks_waiting=_plus(reading.tasks_waiting, sum(job.spec.tasks for job in queued)),
        tasks_running=reading.tasks_running,
        bytes_waiting=sum(known_bytes) if len(known_bytes) == len(waiting) or known_bytes else None,
        slots_used=reading.slots_used,
        slots_total=reading.slots_total,
        output_bytes=reading.output_bytes,
        storage_bytes=reading.storage_bytes,
        jobs_done=reading.jobs_done,
        tasks_done=reading.tasks_done,
        job_slowdown=fsum(ratios) / len(ratios) if ratios else (0.0 if not mine else None),
        without_reference=sum(1 for job in mine if not job.spec.reference_us),
    )


def tag_of(job: JobId, attempt: int) -> str:
    """The application tag by which YARN knows an attempt of a job; YARN keeps tags in small letters."""
    return f"fawkes-{job}-{attempt}".lower()


def _plus(reading: int | None, ours: int) -> int | None:
    return None if reading is None else reading + ours
