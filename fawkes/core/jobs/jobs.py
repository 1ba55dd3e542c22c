"""The queue of jobs of one MR-cluster, first in, first out within a priority: release, cancel, retry, result."""

from __future__ import annotations

from fawkes.base.values import replace
from fawkes.core.jobs import attempts, deadlines, leftovers, service, times
from fawkes.core.state import alerts, backoff
from fawkes.core.state.draft import Draft
from fawkes.core.values.effects import AwaitRoom, CancelJob, StartJob
from fawkes.core.values.events import AttemptSeen, CancelAsked, Done, Failed, JobObserved, Progress, Submitted
from fawkes.core.values.keys import Key, split
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import (
    ClusterAlert,
    ClusterId,
    ClusterLife,
    ClusterState,
    Facts,
    JobId,
    JobLife,
    JobState,
    Reason,
)
from fawkes.core.values.sight import Attempt, ClientCause, Launcher

_ENDS = {
    Progress.SUCCEEDED: JobLife.SUCCEEDED,
    Progress.FAILED: JobLife.FAILED,
    Progress.REFUSED: JobLife.FAILED,
    Progress.CANCELLED: JobLife.CANCELLED,
}
#: a running job has no deadline of its own; its effect is started again after a restart, to be watched
_FOR_EVER_US = 10 * 365 * 86_400 * 1_000_000
#: how a job ends that was stopped for this; any other stop is a cancellation
_STOPPED = {
    "over-limit": JobLife.FAILED,
    "over-deadline": JobLife.KILLED,
    # A ledger of an earlier version says it in ``why``.
    "its time limit has passed": JobLife.FAILED,
    "its deadline has passed": JobLife.KILLED,
}


def submitted(draft: Draft, event: Submitted) -> None:
    """A job is queued; the first one of a dormant MR-cluster asks for its nodes.

    The id of a job that has ended stays taken: YARN would take the new one for the old.
    """
    spec = event.spec
    cluster = draft.cluster(spec.cluster)
    if cluster is None:
        draft.reply(event.ask, Reason("no-such-cluster", {"cluster": spec.cluster}))
        return
    if cluster.life in (ClusterLife.SAVING, ClusterLife.RETIRING):
        draft.reply(event.ask, Reason("takes-no-jobs", {"cluster": spec.cluster, "life": cluster.life}))
        return
    if spec.id in draft.view.jobs or draft.view.had_job(spec.cluster, spec.id):
        draft.reply(event.ask, Reason("job-exists", {"job": spec.id}))
        return
    if draft.admission is not None and spec.unkept and not draft.settings.admit_unkept:
        draft.reply(event.ask, Reason("no-promise", {"job": spec.id, "error": spec.unkept}))
        return
    order = draft.view.backlog(spec.cluster).last_order + 1
    job = JobState(spec=spec, submitted_us=event.at_us, order=order)
    draft.put_job(job)
    draft.say("job-queued", job=spec.id, cluster=spec.cluster, by=event.by)
    _watch_deadline(draft, job)
    if cluster.life is ClusterLife.DORMANT:
        draft.put_cluster(replace(cluster, life=ClusterLife.WAITING, requested_us=event.at_us))
    elif cluster.idle_us is not None:
        draft.put_cluster(replace(alerts.ended(cluster, ClusterAlert.IDLE), idle_us=None))
    draft.reply(event.ask, job=spec.id)
    release(draft, spec.cluster, asks=spec.id)


def _watch_deadline(draft: Draft, job: JobState) -> None:
    if draft.admission is not None and job.due_us is not None:
        draft.expect(Key.DEADLINE.of(job.id), max(0, job.due_us - draft.at_us))


def watch_deadlines(draft: Draft) -> None:
    """An engine takes over, perhaps with an admission policy where there was none.

    Deadlines count from the submission, also while no controller ran: those that are pending may have been put off.
    """
    for name in draft.view.jobs:
        job = draft.job(name)
        pending = draft.pending(Key.DEADLINE.of(name))
        if job is not None and (pending is None or pending.deadline_us != job.due_us):
            _watch_deadline(draft, job)


def release(draft: Draft, cluster: ClusterId, asks: JobId | None = None) -> None:
    """Hand jobs to YARN that may begin now; the job that ``asks`` is told why it waits."""
    state = draft.cluster(cluster)
    if state is None or not state.active or state.moving is not None:
        return
    if why := service.held(draft, state):
        if asks is not None:
            draft.say("job-held", job=asks, cluster=cluster, error=why)
        return
    latest = draft.view.latest(cluster)
    if draft.admission is None:
        _next_in_line(draft, state, None if latest is None else (latest.sample.at_us, latest.waiting_in_yarn))
        return
    slots, master = (None, 0) if latest is None else (latest.sample.slots_total, latest.sample.master_slots)
    let_in(draft, state, deadlines.look(draft, state, slots, master), asks)


def read(draft: Draft, cluster: ClusterId, seen: tuple[int, int], admitted: deadlines.Pass | None) -> None:
    """A reading that this decision adds: its time, how many tasks wait by it, and what admission says with it."""
    state = draft.cluster(cluster)
    if state is None or not state.active or state.moving is not None or service.held(draft, state):
        return
    if draft.admission is None:
        _next_in_line(draft, state, seen)
    else:
        let_in(draft, state, admitted, None)


def let_in(draft: Draft, cluster: ClusterState, admitted: deadlines.Pass | None, asks: JobId | None) -> None:
    """Carry out what an admission policy says: drop, or begin while there is room for tasks and ApplicationMaster."""
    verdicts = () if admitted is None else admitted.verdicts
    room, running = 0 if admitted is None else admitted.room, len(draft.busy_of(cluster.id))
    for verdict in verdicts:
        if not (verdict.cpus or verdict.drop or verdict.job == asks):
            continue
        job = draft.job(JobId(verdict.job))
        if admitted is None or job is None or job.life is not JobLife.QUEUED:
            continue
        numbers = deadlines.numbers(verdict, admitted.free, admitted.total)
        if verdict.drop:
            _dropped(draft, job, numbers)
        elif verdict.cpus and verdict.cpus + admitted.master <= room and running < cluster.spec.max_running_jobs:
            room, running = room - verdict.cpus - admitted.master, running + 1
            # As the ledger gives them back: a policy learns from them, and would learn otherwise after a restart.
            why = {name: float(number) for name, number in verdict.why.items()}
            granted = replace(job, granted=verdict.cpus, granted_of=admitted.total, granted_why=why)
            draft.say("job-admitted", job=job.id, cluster=job.cluster, cpus=verdict.cpus, **numbers)
            _start(draft, granted)
        elif job.id == asks:
            draft.reasons.append(deadlines.waits(job, cluster, running, numbers))
    asking = None if asks is None or admitted is not None else draft.job(asks)
    if asking is not None:
        draft.reasons.append(deadlines.waits(asking, cluster, running, {}))


def _dropped(draft: Draft, job: JobState, numbers: Facts) -> None:
    """A job that waits is not let in any more."""
    _settle(draft, job)
    now_us = draft.at_us
    stop = Reason("over-deadline" if job.due_us is not None and job.due_us <= now_us else "hopeless")
    draft.put_job(replace(job, life=JobLife.DROPPED, started_us=now_us, finished_us=now_us, stop=stop))
    draft.say("job-dropped", job=job.id, cluster=job.cluster, stop=stop.code, **numbers)


def _next_in_line(draft: Draft, state: ClusterState, seen: tuple[int, int] | None) -> None:
    """Hand the head of the queue to YARN when nothing of an earlier job is pending and few enough jobs run.

    Whether something is pending is known from a reading that is younger than the latest start: ``seen`` is its time,
    and how many tasks wait by it.
    """
    cluster = state.id
    running = draft.busy_of(cluster)
    if len(running) >= state.spec.max_running_jobs:
        return
    if any(j.life in (JobLife.STARTING, JobLife.CANCELLING) for j in running):
        return
    head = draft.head_of(cluster)
    if head is None:
        return
    if running and head.spec.priority > max(j.spec.priority for j in running):
        # YARN gives it the next room that there is; behind tasks that wait it would never be first.
        _start(draft, head)
        return
    if running and (seen is None or seen[0] <= max(j.started_us or 0 for j in running) or seen[1] > 0):
        _await_room(draft, head)
        return
    _start(draft, head)


def _await_room(draft: Draft, head: JobState) -> None:
    """Ask the world for room where nothing else holds up the next job: a small one could end before the next reading.

    The goal is given once for each job, and anew after a period; readings count as well.
    """
    every_us, earlier = draft.settings.release_us, draft.pending(Key.ROOM.of(head.cluster))
    if every_us and (earlier is None or earlier.version != head.order):
        effect = AwaitRoom(head.cluster, head.order, every_us)
        draft.act(effect, within_us=draft.settings.period_us, version=head.order)


def room_seen(draft: Draft, cluster: ClusterState, event: Done | Failed) -> None:
    """There is room, or nobody can tell: then the next reading says it."""
    draft.settle(event.effect)
    if isinstance(event, Done):
        read(draft, cluster.id, (event.at_us, 0), None)


def no_room_yet(draft: Draft, key: str) -> None:
    """It has lasted: the goal is given anew for as long as a job waits for nothing else."""
    draft.settle(key)
    release(draft, ClusterId(split(key)[1]))


def _start(draft: Draft, job: JobState) -> None:
    draft.settle(Key.ROOM.of(job.cluster))
    draft.put_job(replace(job, life=JobLife.STARTING, started_us=None))
    draft.say("job-released", job=job.id, cluster=job.cluster, attempt=job.attempt)
    effect = StartJob(job.id, job.cluster, job.attempt, job.spec, job.granted)
    draft.act(effect, within_us=draft.settings.start_job_us, version=job.attempt)


def attempt_seen(draft: Draft, event: AttemptSeen) -> None:
    """The standing of an attempt: judged, and acted on when that says anything."""
    job = draft.view.jobs.get(event.job)
    if job is None or job.attempt != event.attempt or job.life is JobLife.QUEUED:
        draft.say("late-answer", job=event.job, attempt=event.attempt, seen=event.seen.launcher)
        return
    if between(draft, job):
        return
    seen = event.seen
    if seen.own and not job.own:
        job = replace(job, own=True)
        draft.put_job(job)
    cancelling = job.life is JobLife.CANCELLING
    silent = _is_silent(draft, job, seen)
    verdict = attempts.judge(seen, began=_began(job), cancelling=cancelling, lasted=False, silent=silent)
    if cancelling and attempts.live(seen) and seen.launcher is not Launcher.RUNNING:
        # Its client was ended before the ResourceManager knew of this application.
        effect = CancelJob(job.id, job.cluster, job.attempt)
        draft.act(effect, within_us=draft.settings.start_job_us, version=job.attempt)
    elif verdict is not None:
        judged(draft, job, _with_times(job, seen, verdict))
    else:
        _undecided(draft, job, seen)


def between(draft: Draft, job: JobState) -> bool:
    """True if its masters are being moved: until that is done nobody can say how an attempt stands."""
    cluster = draft.cluster(job.cluster)
    return cluster is not None and cluster.moving is not None and cluster.moving.begun


def _is_silent(draft: Draft, job: JobState, seen: Attempt) -> bool:
    """True if a KDC or masters that a client needs do not answer; the ResourceManager, which was asked, may do so."""
    cluster = draft.cluster(job.cluster)
    return seen.cause is ClientCause.NO_LOGIN or (cluster is not None and cluster.silent_us is not None)


def displaced(draft: Draft, job: JobState, error: str = "") -> None:
    """An attempt has ended with its masters, or could not log in (``error``): its job begins again, and that is no
    retry.
    """
    _settle(draft, job)
    again = replace(job, life=JobLife.QUEUED, attempt=job.attempt + 1, displaced=job.displaced + 1)
    again = replace(again, started_us=None, seen=None, application="", granted=0, granted_of=0, granted_why={})
    again = replace(again, waits=None)
    draft.put_job(again)
    if error:
        draft.say("no-login", job=job.id, cluster=job.cluster, attempt=again.attempt, error=error)
        service.no_login(draft, job.cluster, error)
    else:
        draft.say("displaced", job=job.id, cluster=job.cluster, attempt=again.attempt)
    _watch_deadline(draft, again)


def _began(job: JobState) -> bool:
    """True if something of the attempt was seen before."""
    known = job.seen is not None and job.seen.launcher in (Launcher.RUNNING, Launcher.LOST)
    return known or job.life is not JobLife.STARTING


def _undecided(draft: Draft, job: JobState, seen: Attempt) -> None:
    """Facts that say nothing yet: they may when they last; what could not be worked on is tried again soon."""
    quiet, before = Key.QUIET.of(job.id), None if job.seen is None else job.seen.launcher
    if seen.launcher is Launcher.NOT_KNOWN:
        draft.settle(quiet)
    else:
        draft.put_job(replace(job, seen=seen))
    if seen.launcher in (Launcher.RUNNING, Launcher.LOST) and (draft.pending(quiet) is None or seen.launcher != before):
        draft.expect(quiet, draft.settings.quiet_us)
    if seen.error and job.life in (JobLife.STARTING, JobLife.CANCELLING):
        _not_begun(draft, draft.job(job.id) or job, seen.error)
        draft.try_again(Key.JOB.of(job.id))


def _not_begun(draft: Draft, job: JobState, error: str) -> None:
    """Say once for each error what keeps an attempt from beginning: jobs behind it may wait for that, too."""
    why = Reason("job-not-begun", {"job": job.id, "cluster": job.cluster, "error": error})
    if job.life is JobLife.STARTING and job.waits != why:
        draft.put_job(replace(job, waits=why))
        draft.say(why.code, **why.facts)


def _lasted(draft: Draft, job: JobState) -> None:
    """Act on an attempt that stood still when that was not enough to judge it has lasted."""
    if job.seen is None:
        return
    cancelling = job.life is JobLife.CANCELLING
    silent = _is_silent(draft, job, job.seen)
    verdict = attempts.judge(job.seen, began=True, cancelling=cancelling, lasted=True, silent=silent)
    if verdict is not None:
        judged(draft, job, _with_times(job, job.seen, verdict))


def _with_times(job: JobState, seen: Attempt, verdict: attempts.AttemptVerdict) -> attempts.AttemptVerdict:
    """The verdict with what YARN says of the attempt."""
    first, last = (seen.applications[0], seen.applications[-1]) if seen.applications else (None, None)
    ended = verdict.progress is not Progress.RUNNING
    good = verdict.progress in (Progress.SUCCEEDED, Progress.RUNNING)
    return replace(
        verdict,
        application=first.id if first else "",
        started_us=(first.started_us if first else None) or seen.began_us,
        finished_us=((last.finished_us if last else None) or seen.ended_us) if ended else None,
        log="" if good else f"fawkes logs {job.cluster} --job {job.id}",
    )


def observed(draft: Draft, event: JobObserved) -> None:
    """The outcome of an attempt in a ledger of an earlier version; answers about older attempts are history."""
    job = draft.job(event.job)
    if job is None or job.attempt != event.attempt or job.life is JobLife.QUEUED:
        draft.say("late-answer", job=event.job, attempt=event.attempt, progress=event.progress)
        return
    said = (event.application, event.started_us, event.finished_us, event.log)
    judged(draft, job, attempts.AttemptVerdict(event.progress, event.error, *said))


def judged(draft: Draft, job: JobState, verdict: attempts.AttemptVerdict) -> None:
    """Act on the outcome of the job's attempt."""
    if verdict.progress is Progress.RUNNING:
        service.logs_in(draft, job.cluster, verdict.application)
        if job.life is JobLife.STARTING:
            _runs(draft, job, verdict)
            if draft.settings.release_us:
                release(draft, job.cluster)
        else:
            _runs_on(draft, job, verdict)
        return
    if verdict.progress is Progress.DISPLACED and job.life is JobLife.CANCELLING:
        verdict = replace(verdict, progress=Progress.CANCELLED)
    if verdict.progress is Progress.DISPLACED:
        displaced(draft, job, verdict.error)
        release(draft, job.cluster)
        return
    _settle(draft, job)
    if verdict.application or verdict.log:
        job = replace(job, application=verdict.application or job.application, log=verdict.log or job.log)
    retry = verdict.progress is Progress.FAILED and job.life is not JobLife.CANCELLING
    if retry and job.attempt - job.displaced <= job.spec.retries:
        again = replace(job, life=JobLife.QUEUED, attempt=job.attempt + 1, started_us=None, seen=None)
        again = replace(again, granted=0, granted_of=0, granted_why={}, waits=None)
        draft.put_job(again)
        draft.say("retry", job=job.id, cluster=job.cluster, attempt=job.attempt + 1, error=verdict.error)
        _watch_deadline(draft, again)
    else:
        _end(draft, job, verdict)
    release(draft, job.cluster)


def _settle(draft: Draft, job: JobState) -> None:
    for key in (Key.JOB, Key.LIMIT, Key.QUIET, Key.DEADLINE):
        draft.settle(key.of(job.id))


def _runs(draft: Draft, job: JobState, verdict: attempts.AttemptVerdict) -> None:
    started_us = times.began_us(draft, job, verdict.started_us)
    job = replace(job, life=JobLife.RUNNING, started_us=started_us, application=verdict.application, seen=None)
    if job.waits is not None and job.waits.code == "job-not-begun":
        job = replace(job, waits=None)
    draft.put_job(job)
    effect = StartJob(job.id, job.cluster, job.attempt, job.spec, job.granted)
    draft.settle(Key.QUIET.of(job.id))
    draft.expect(Key.JOB.of(job.id), _FOR_EVER_US, effect=effect, version=job.attempt)
    if job.spec.time_limit_us is not None:
        draft.expect(Key.LIMIT.of(job.id), max(0, started_us + job.spec.time_limit_us - draft.at_us))


def _runs_on(draft: Draft, job: JobState, verdict: attempts.AttemptVerdict) -> None:
    """A job that runs is seen to run: one that was taken for lost is not, and its application may be news."""
    known = replace(job, seen=None, application=job.application or verdict.application)
    if known != job:
        draft.put_job(known)
        draft.settle(Key.QUIET.of(job.id))


def _end(draft: Draft, job: JobState, verdict: attempts.AttemptVerdict) -> None:
    life = _ENDS[verdict.progress]
    if life is JobLife.CANCELLED:
        life = _STOPPED.get(job.why if job.stop is None else job.stop.code, life)
    good = life is JobLife.SUCCEEDED
    why, stop = "" if good or job.stop else job.why or verdict.error, None if good else job.stop
    job = replace(times.ended(draft, job, verdict), life=life, why=why, stop=stop, waits=None)
    draft.put_job(job)
    code = {
        JobLife.SUCCEEDED: "job-succeeded",
        JobLife.FAILED: "job-failed",
        JobLife.KILLED: "job-killed",
    }.get(life, "job-cancelled")
    _say_end(draft, code, job)
    deadlines.ended(draft, job)
    leftovers.ended(draft, job)


def cancel_asked(draft: Draft, event: CancelAsked) -> None:
    """A waiting job is cancelled at once, a running one is asked to stop."""
    job = draft.view.jobs.get(event.job)
    if job is None:
        draft.reply(event.ask, Reason("no-such-job", {"job": event.job}))
        return
    cancel(draft, job)
    draft.say("cancel-asked", job=job.id, by=event.by)
    draft.reply(event.ask, job=job.id)
    release(draft, job.cluster)


def cancel(draft: Draft, job: JobState, stop: Reason | None = None) -> None:
    """Stop a job (None: somebody takes it back); one that waits ends at once."""
    if job.life is JobLife.QUEUED:
        draft.settle(Key.DEADLINE.of(job.id))
        _cancelled(draft, replace(job, stop=stop))
        if job.attempt > 1:
            leftovers.ended(draft, job)
    elif job.life is not JobLife.CANCELLING:
        draft.settle(Key.LIMIT.of(job.id))
        draft.settle(Key.QUIET.of(job.id))
        draft.put_job(replace(job, life=JobLife.CANCELLING, stop=stop))
        effect = CancelJob(job.id, job.cluster, job.attempt)
        draft.act(effect, within_us=draft.settings.start_job_us, version=job.attempt)


def end_with_cluster(draft: Draft, job: JobState) -> None:
    """The nodes that a job ran on, or was to run on, are wiped: nobody will ever say what became of it."""
    _settle(draft, job)
    _cancelled(draft, job if job.stop or job.why else replace(job, stop=Reason("cluster-ended")))


def _cancelled(draft: Draft, job: JobState) -> None:
    started_us = draft.at_us if job.started_us is None else job.started_us
    why = job.why or ("cancelled" if job.stop is None else "")
    ended = replace(job, life=JobLife.CANCELLED, started_us=started_us, finished_us=draft.at_us, why=why, waits=None)
    draft.put_job(ended)
    _say_end(draft, "job-cancelled", job)


def _say_end(draft: Draft, code: str, job: JobState) -> None:
    why = {"error": job.why} if job.stop is None else {"stop": job.stop.code, **job.stop.facts}
    draft.say(code, **{"job": job.id, "cluster": job.cluster, "attempt": job.attempt, "log": job.log} | why)


def _deadline_passes(draft: Draft, job: JobState) -> None:
    """The admission policy may end a job now; any other runs, or waits, on."""
    if job.life is not JobLife.CANCELLING and deadlines.is_late(draft, job):
        if job.life is JobLife.QUEUED:
            _dropped(draft, job, {})
        else:
            draft.say("deadline", job=job.id, cluster=job.cluster, deadline_us=job.spec.deadline_us)
            cancel(draft, job, Reason("over-deadline"))
    release(draft, job.cluster)


def over_time(draft: Draft, key: str) -> None:
    """A deadline of a job has passed: its time limit, or an answer about its start or its cancellation."""
    kind, name = split(key)
    job = draft.view.jobs.get(JobId(name))
    pending = draft.pending(key)
    if job is None or pending is None or job.life in ENDED_JOBS:
        draft.settle(key)
    elif kind in (Key.QUIET, Key.JOB) and between(draft, job):
        wait_us = draft.settings.start_job_us
        draft.expect(key, wait_us, effect=pending.effect, version=pending.version, tries=pending.tries)
    elif kind is Key.QUIET:
        draft.settle(key)
        _lasted(draft, job)
    elif kind is Key.LIMIT:
        draft.say("time-limit", job=job.id, cluster=job.cluster, limit_us=job.spec.time_limit_us)
        cancel(draft, job, Reason("over-limit"))
    elif kind is Key.DEADLINE:
        draft.settle(key)
        _deadline_passes(draft, job)
    elif pending.effect is not None:
        draft.say_again(key, pending.tries + 1)
        within_us = max(draft.settings.start_job_us, backoff.wait_us(draft.settings, pending.tries + 1))
        draft.act(pending.effect, within_us=within_us, version=pending.version, tries=pending.tries + 1)
