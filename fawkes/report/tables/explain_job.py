"""The outcome of a job, step by step: why it was let in, waited, was dropped or killed, and by which numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fawkes.base.errors import UserError
from fawkes.base.units import show_bytes, show_duration, show_time
from fawkes.core.jobs import service
from fawkes.core.preemption.account import went_of
from fawkes.core.values.decision import AddSample, PutJob
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import Facts, JobLife, JobState, Reason
from fawkes.core.values.tags import tag_of
from fawkes.report import history
from fawkes.report.tables.explain import Explanation, Line, lines_of
from fawkes.report.tables.explain_quota import Courses, quota_lines
from fawkes.report.tables.waste_rows import account_of_job, waste_in_words
from fawkes.report.words.facts import how_it_stands
from fawkes.report.words.sentences import sentence, why_ended
from fawkes.store.base import JOB, SAMPLE, Reader

#: why a job waits now, asked of its admission policy once more; None without a policy, and for a job that does not wait
WaitsNow = Callable[[JobState], Reason | None]


def explain_job(store: Reader, name: str, waits_now: WaitsNow = lambda job: None, courses: Courses = ()) -> Explanation:
    """The standing of a job, its deadline, every step that names it, and the newest numbers of a job that waits.

    ``courses`` are those of the job under quotas, oldest first. UserError when no step names it.
    """
    state: JobState | None = None
    lines: list[Line] = []
    for entry in history.steps(store, store.mentions(JOB, name)):
        for change in entry.decision.changes:
            if isinstance(change, PutJob) and change.state.id == name:
                state = change.state
        mine = [reason for reason in entry.decision.reasons if _names(reason, name)]
        lines += lines_of(mine, entry.event.at_us, entry.seq)
    if state is None and not lines:
        raise UserError(f"there is no job {name!r}", hint="`fawkes jobs` lists them all")
    if state is not None and state.life is JobLife.QUEUED:
        lines += _newest(store, lines, _held(store, state) or waits_now(state))
    if preempted := preempted_lines(lines):
        words = waste_in_words(account_of_job(store, name))
        lines += [*preempted, *([Line(words)] if words else [])]
    about: list[str] = []
    if state is not None:
        about = [*job_in_words(state), *_stream_in_words(store, state), *_masters_away(store, state)]
    return Explanation(f"Job {name}", (*map(Line, about), *lines, *quota_lines(courses)))


def preempted_lines(lines: Sequence[Line]) -> list[Line]:
    """The account of tasks that had to go, in a line: what was saved, in which time, and what was lost.

    Seconds of work that nobody knows, and tasks of which nobody knows how they went, are counted apart.
    """
    went = [line.facts for line in lines if line.code == "task-went"]
    if not went:
        return []
    saved = [facts for facts in went if went_of(facts).how == "saved"]
    lost = [facts for facts in went if went_of(facts).how == "killed"]
    stayed, unknown = (sum(went_of(facts).how == how for facts in went) for how in ("runs", "unknown"))
    parts = [_saved_in_words(saved)] if saved else []
    parts += [_lost_in_words(lost)] if lost else []
    parts += [f"{stayed} did not go and went on"] if stayed else []
    parts += [f"of {unknown} nobody knows how they went"] if unknown else []
    return [Line(f"Tasks that had to go: {len(went)}. " + "; ".join(parts or ["All were done before"]))]


def _saved_in_words(saved: Sequence[Facts]) -> str:
    sizes = (size for facts in saved if isinstance(size := facts["size_bytes"], int))
    took_us = sum(went_of(facts).dumping_us for facts in saved)
    return f"{len(saved)} saved {show_bytes(sum(sizes))} in {show_duration(took_us)} in all"


def _lost_in_words(lost: Sequence[Facts]) -> str:
    known = [lost_us for facts in lost if (lost_us := went_of(facts).lost_us) is not None]
    text = f"{len(lost)} ended without that, and lost {show_duration(sum(known))} of work"
    return text + (f" and what {len(lost) - len(known)} had done" if len(known) < len(lost) else "")


def _held(store: Reader, job: JobState) -> Reason | None:
    """The reason why no job of its MR-cluster begins now; None when jobs may."""
    cluster = next((state for state in history.clusters(store) if state.id == job.cluster), None)
    why = "" if cluster is None or not cluster.active else service.holds(cluster)
    return Reason("job-held", {"job": job.id, "cluster": job.cluster, "error": why}) if why else None


def _newest(store: Reader, lines: Sequence[Line], reason: Reason | None) -> list[Line]:
    """The reason why a job waits at the last step, unless the line before says the same."""
    if reason is None or (lines and (lines[-1].code, lines[-1].facts) == (reason.code, reason.facts)):
        return []
    return lines_of([reason], history.last_us(store), store.last_seq())


def _names(reason: Reason, name: str) -> bool:
    jobs = reason.facts.get("jobs")
    return reason.facts.get("job") == name or (isinstance(jobs, list | tuple) and name in jobs)


def job_in_words(state: JobState) -> list[str]:
    """The standing of a job, its deadline, and the CPUs that it was granted, in sentences."""
    why = f": {why}" if (why := why_ended(state)) not in ("", state.life) else ""
    attempt = f" (attempt {state.attempt})" if state.attempt > 1 else ""
    lines = [f"job {state.id} of {state.cluster} {how_it_stands(state.life)}{attempt}{why}"]
    lines += [_deadline_in_words(state)] if state.due_us is not None else []
    if state.granted:
        lines.append(f"It was granted {state.granted} of {state.granted_of} CPUs")
    return lines + ([] if state.waits is None else [sentence(state.waits)])


def _stream_in_words(store: Reader, state: JobState) -> list[str]:
    """The executors of a stream that runs, and its latest batch; at most one sentence."""
    if state.spec.stream is None or state.life is not JobLife.RUNNING:
        return []
    tag = tag_of(state.id, state.attempt)
    works = (row.change.work for row in store.latest(SAMPLE) if isinstance(row.change, AddSample))
    seen = next((row.stream for work in works for row in work if row.tag == tag), None)
    if seen is None:
        return []
    text = f"It has {seen.executors} of {seen.wanted} executors"
    if seen.latency_us is None:
        return [f"{text}, and no batch has ended yet"]
    text += f". {seen.arrive:.3g} records come in a second; batch {seen.batch} took {show_duration(seen.took_us)}"
    return [f"{text}, with a latency of {show_duration(seen.latency_us)}"]


def _masters_away(store: Reader, state: JobState) -> list[str]:
    """The reason why nothing is known of a job that YARN has, if its masters do not answer; at most one sentence."""
    cluster = next((known for known in history.clusters(store) if known.id == state.cluster), None)
    if cluster is None or state.life is JobLife.QUEUED or state.life in ENDED_JOBS:
        return []
    if cluster.moving is not None and cluster.moving.begun:
        return [f"The masters of {cluster.id} go to {cluster.moving.to}: how far the job is will be known after that"]
    if cluster.unreadable_us is None:
        return []
    since = show_time(cluster.unreadable_us)
    return [f"The masters of {cluster.id} have not answered since {since}: how far the job is, is not known"]


def _deadline_in_words(state: JobState) -> str:
    due_us = state.due_us or 0
    text = f"Its deadline is {show_time(due_us)}, {show_duration(due_us - state.submitted_us)} after its submission"
    if state.life not in ENDED_JOBS or state.life in (JobLife.DROPPED, JobLife.CANCELLED):
        return text
    if state.life is not JobLife.SUCCEEDED:
        return f"{text}; the job did not meet it"
    if state.finished_us is None:
        return f"{text}; when the job ended, and so whether it met it, is not known"
    away = show_duration(abs(due_us - state.finished_us))
    return f"{text}; the job met it {away} early" if state.met else f"{text}; the job missed it by {away}"


def left_us(state: JobState, now_us: int) -> int | None:
    """The time until the deadline of a job that has not ended, below 0 once it has passed; None without one."""
    if state.due_us is None or state.life in ENDED_JOBS:
        return None
    return state.due_us - now_us
