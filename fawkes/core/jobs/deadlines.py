"""Admission of queued jobs by an admission policy, and what the policy learns from finished jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from fawkes.base.units import SECOND_US
from fawkes.core.fairness.weights import in_words, plain_copy
from fawkes.core.state import alerts, backoff
from fawkes.core.state.admitting import Admission, Done, Job, Queue, Verdict, Why, checked, is_to_end, max_cpus
from fawkes.core.state.draft import Draft
from fawkes.core.state.state import State
from fawkes.core.values.decision import PutLearned
from fawkes.core.values.effects import CountWork
from fawkes.core.values.events import Done as Counted
from fawkes.core.values.events import Failed
from fawkes.core.values.model import ClusterAlert, ClusterId, ClusterState, Facts, JobLife, JobState, Reason

#: after so many questions without an answer nothing is learned from a job
_MOST_TRIES = 5


@dataclass(frozen=True, slots=True)
class Pass:
    """One look at a queue. ``total`` is the capacity in CPUs, ``wanted`` what jobs hold and need to be in time.

    ``room`` is what is there for grants and for the ApplicationMasters of jobs that begin, ``master`` CPUs each.
    """

    verdicts: tuple[Verdict, ...]
    total: int
    free: int
    room: int
    master: int
    wanted: int | None


def look(draft: Draft, cluster: ClusterState, slots: int | None, master: int) -> Pass | None:
    """The verdict of the admission policy on the queue with so many slots, ``master`` for each ApplicationMaster.

    None while the slots are not known, and when its answer cannot be used, which the MR-cluster's alert then says.
    """
    if draft.admission is None or slots is None:
        return None
    queue, held, busy = _queue(draft, cluster, slots, master)
    try:
        verdicts = tuple(checked(queue, draft.admission.admit(queue, _memory(draft, cluster.id))))
    except Exception as error:
        _failed(draft, cluster, error)
        return None
    if alerts.about(cluster, ClusterAlert.ADMISSION):
        draft.put_cluster(alerts.ended(cluster, ClusterAlert.ADMISSION))
    cpus = sum(verdict.asked for verdict in verdicts if not verdict.drop)
    room = slots - held - master * busy
    return Pass(verdicts, queue.total, queue.free, room, master, held + cpus)


def _queue(draft: Draft, cluster: ClusterState, slots: int, master: int) -> tuple[Queue, int, int]:
    """The queue as a policy sees it, the CPUs that jobs hold, and how many jobs were handed to YARN."""
    jobs = draft.jobs_of(cluster.id)
    busy = [job for job in jobs if job.life is not JobLife.QUEUED]
    total = max(0, slots - master * (len(busy) + 1))
    held = sum(_held(job, total) for job in busy)
    free = total - held if len(busy) < cluster.spec.max_running_jobs else 0
    return Queue(tuple(_seen(draft, job, total) for job in jobs), total, free=free, fixed=True), held, len(busy)


#: facts of the reasons about admission, which a number of a policy would replace
_OURS = frozenset({"job", "cluster", "cpus", "stop", "asked", "free", "total", "error", "max_running_jobs"})


def numbers(verdict: Verdict, free: int, total: int) -> Facts:
    """The numbers behind a verdict, for its reason: CPUs asked, free and in all, and those that the policy names.

    One with a name that Fawkes uses itself has "policy_" before it.
    """
    own = {f"policy_{name}" if name in _OURS else name: number for name, number in verdict.why.items()}
    return {"asked": verdict.asked, "free": free, "total": total, **own}


def waits(job: JobState, cluster: ClusterState, busy: int, why: Facts) -> Reason:
    """The reason for a job that waits while ``busy`` others run; ``why`` are its numbers, empty without known slots."""
    full = bool(why) and busy >= cluster.spec.max_running_jobs
    limit = {"max_running_jobs": cluster.spec.max_running_jobs} if full else {}
    return Reason("job-waits", {"job": job.id, "cluster": job.cluster, **why, **limit})


def waits_now(view: State, job: JobState, admission: Admission) -> Reason | None:
    """The reason why a job waits at the time of the last event: the policy is asked once more, and nothing is decided.

    None for a job that does not wait, or whose MR-cluster cannot begin it yet.
    """
    if view.rules is None or job.life is not JobLife.QUEUED:
        return None
    draft = Draft(view, view.now_us, view.rules, admission)
    cluster = draft.cluster(job.cluster)
    if cluster is None or not cluster.active:
        return None
    latest = view.latest(cluster.id)
    slots = None if latest is None else latest.sample.slots_total
    if latest is None or slots is None:
        return waits(job, cluster, 0, {})
    queue, _, busy = _queue(draft, cluster, slots, latest.sample.master_slots)
    try:
        verdicts = checked(queue, admission.admit(queue, _memory(draft, cluster.id)))
    except Exception as error:
        facts = {"cluster": cluster.id, "policy": draft.settings.admission, "failed": in_words(error)}
        return Reason("admission-failed", facts)
    verdict = next((verdict for verdict in verdicts if verdict.job == job.id), None)
    return None if verdict is None else waits(job, cluster, busy, numbers(verdict, queue.free, queue.total))


def _held(job: JobState, total: int) -> int:
    """The CPUs that a job holds in YARN: its grant, or all it can use if it began before there was a policy."""
    return job.granted or max_cpus(job.spec.tasks, total)


def _seen(draft: Draft, job: JobState, total: int) -> Job:
    spec = job.spec
    # Nobody knows how many CPUs could work for it: it may take whatever the others leave.
    all_there_is = spec.tasks_estimated and spec.deadline_us is None
    return Job(
        id=job.id,
        tasks=max(spec.tasks, total) if all_there_is else spec.tasks,
        deadline_s=None if spec.deadline_us is None else spec.deadline_us / SECOND_US,
        waited_s=(draft.at_us - job.submitted_us) / SECOND_US,
        granted=0 if job.life is JobLife.QUEUED else _held(job, total),
        work_s=None if spec.work_us is None else spec.work_us / SECOND_US,
    )


def is_late(draft: Draft, job: JobState) -> bool:
    """True if the policy ends a job whose deadline passes now. One that fails ends nothing."""
    cluster = draft.cluster(job.cluster)
    if draft.admission is None or cluster is None:
        return False
    try:
        seen = _seen(draft, job, job.granted_of)
        return is_to_end(draft.admission.late(seen, _memory(draft, job.cluster)))
    except Exception as error:
        _failed(draft, cluster, error)
        return False


def _failed(draft: Draft, cluster: ClusterState, error: Exception) -> None:
    """The policy's fault is told once, and is an alert of its MR-cluster."""
    what = in_words(error)
    failing = alerts.raised(cluster, ClusterAlert.ADMISSION, what)
    if failing != cluster:
        draft.say("admission-failed", cluster=cluster.id, policy=draft.settings.admission, failed=what)
        draft.put_cluster(failing)


def _place(draft: Draft, cluster: ClusterId) -> str:
    return "" if draft.settings.learn_from_pool else cluster


def _memory(draft: Draft, cluster: ClusterId) -> object:
    """A copy: a policy that changed its memory in place would change what is stored of earlier steps."""
    return plain_copy(draft.learned(_place(draft, cluster)))


def forget(draft: Draft) -> None:
    """Drop what the admission policy has remembered of all MR-clusters."""
    for name, memory in draft.view.learned.items():
        if memory is not None:
            draft.change(PutLearned(name, None))


def ended(draft: Draft, job: JobState) -> None:
    """A job that was let in has ended: the policy learns from it, at once or when its work was counted.

    Only from jobs with a deadline whose number of tasks is known, and that succeeded at a known time or were killed for
    their deadline.
    """
    spec = job.spec
    if draft.admission is None or not job.granted or spec.deadline_us is None or spec.tasks_estimated:
        return
    facts: dict[str, object] = {
        "tasks": spec.tasks,
        "deadline_us": spec.deadline_us,
        "granted": job.granted,
        "total": job.granted_of,
        "met": bool(job.met),
        "killed": job.life is JobLife.KILLED,
        "why": dict(job.granted_why),
    }
    if job.life is JobLife.KILLED:
        _learn(draft, draft.admission, job.cluster, facts, None)
    elif job.life is JobLife.SUCCEEDED and job.met is not None:
        effect = CountWork(job.id, job.cluster, job.attempt, job.application, facts)
        draft.act(effect, within_us=draft.settings.start_job_us, version=job.attempt)


def work_counted(draft: Draft, event: Counted | Failed) -> None:
    """The outcome of the question how long the tasks of a job ran. An answer is learned from once."""
    pending = draft.pending(event.effect)
    effect = None if pending is None else pending.effect
    if pending is None or pending.version != event.version or not isinstance(effect, CountWork):
        draft.say("late-answer", effect=event.effect, version=event.version)
        return
    work_us = event.facts.get("work_us")
    if isinstance(event, Counted) and isinstance(work_us, int):
        draft.settle(event.effect)
        known = draft.settings.learn_from_pool or draft.cluster(effect.cluster) is not None
        if draft.admission is not None and known:
            _learn(draft, draft.admission, effect.cluster, effect.done, work_us)
    elif pending.tries >= _MOST_TRIES or (isinstance(event, Failed) and event.final):
        _give_up(draft, event.effect, effect, event.error if isinstance(event, Failed) else "no number")
    else:
        wait_us = backoff.wait_us(draft.settings, pending.tries)
        draft.expect(event.effect, wait_us, effect=effect, version=pending.version, tries=pending.tries)


def work_not_counted(draft: Draft, key: str) -> None:
    """No answer came in time, or it is time to ask once more."""
    pending = draft.pending(key)
    effect = None if pending is None else pending.effect
    if pending is None or not isinstance(effect, CountWork) or draft.cluster(effect.cluster) is None:
        draft.settle(key)
    elif pending.tries >= _MOST_TRIES:
        _give_up(draft, key, effect, "no answer")
    else:
        within_us = draft.settings.start_job_us
        draft.act(effect, within_us=within_us, version=pending.version, tries=pending.tries + 1)


def _give_up(draft: Draft, key: str, effect: CountWork, error: str) -> None:
    draft.settle(key)
    draft.say("work-not-known", job=effect.job, cluster=effect.cluster, error=error)


def _learn(draft: Draft, by: Admission, cluster: ClusterId, facts: Facts, work_us: int | None) -> None:
    done = Done(
        tasks=cast(int, facts["tasks"]),
        deadline_s=cast(int, facts["deadline_us"]) / SECOND_US,
        work_s=None if work_us is None else work_us / SECOND_US,
        granted=cast(int, facts["granted"]),
        total=cast(int, facts["total"]),
        met=cast(bool, facts["met"]),
        killed=cast(bool, facts["killed"]),
        why=cast(Why, facts["why"]),
    )
    try:
        memory = plain_copy(by.learn(done, _memory(draft, cluster)))
    except Exception as error:
        state = draft.cluster(cluster)
        if state is not None:
            _failed(draft, state, error)
        return
    draft.change(PutLearned(_place(draft, cluster), memory))
