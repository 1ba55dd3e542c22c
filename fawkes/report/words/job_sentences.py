"""Sentences about jobs; those about admission show the numbers that it decided by."""

from __future__ import annotations

from collections.abc import Mapping

from fawkes.core.preemption.values import Why
from fawkes.core.values.model import Facts
from fawkes.core.watching.standing import For
from fawkes.report.words.facts import Template, by

#: what an admission policy is asked about, and not the numbers by which it answers
_PLAIN = frozenset(
    {"job", "cluster", "s", "cpus", "asked", "free", "total", "most", "error", "stop", "share", "bootstrap"}
    | {"max_running_jobs"}
)


#: why Fawkes ended a job, or let it end
_STOPS: Mapping[str, str] = {
    "over-limit": "its time limit has passed",
    "over-deadline": "its deadline has passed",
    "hopeless": "its deadline cannot be met",
    "cluster-released": "its MR-cluster is being released",
    "cluster-ended": "its MR-cluster has ended",
    "not-deployed": "{cluster} could not be deployed: {error}",
    "job-not-declared": "its declaration was not found when the pool was adopted; only YARN knows if it still runs",
}


def _end(facts: Facts) -> str:
    """The reason why a job ended; in ledgers of earlier versions ``error`` has the words."""
    return _STOPS.get(str(facts.get("stop")), "{error}")


def _job_ended(text: str) -> Template:
    def ended(facts: Facts) -> str:
        why = f": {_end(facts)}" if facts.get("error") or "stop" in facts else ""
        return text + why + ("; its log is {log}" if facts.get("log") else "")

    return ended


def _numbers(facts: Facts) -> str:
    """The way in which an admission policy came to what a job needs; it names its numbers itself."""
    if "bootstrap" in facts:
        return ", because too few jobs have ended to learn from ({bootstrap})"
    named = sorted(name for name in facts if name not in _PLAIN)
    shown = ", ".join(f"{name.replace('_', ' ')} {{{name}}}" for name in named)
    return f" ({shown})" if shown else ""


def _admitted(facts: Facts) -> str:
    return "Job {job} is let in with {cpus} CPUs: it asks for {asked} of {total}" + _numbers(facts)


def _waits(facts: Facts) -> str:
    if "asked" not in facts:
        return "Job {job} waits until {cluster} has told its capacity"
    asks = "Job {job} waits: it asks for {asked} CPUs of {total}" + _numbers(facts)
    if "max_running_jobs" in facts:
        return asks + ", and {cluster} runs {max_running_jobs} jobs, as many as max_running_jobs allows"
    free = facts.get("free")
    if isinstance(free, int) and free < 0:
        return asks + f", and jobs hold {-free} more than {{cluster}} has now"
    return asks + ", and {free} are free"


def _dropped(facts: Facts) -> str:
    if not facts.get("asked"):
        return f"Job {{job}} is dropped: {_end(facts)}"
    most = " and {most} could work for it" if "most" in facts else ""
    return f"Job {{job}} is dropped: {_end(facts)}. It would need {{asked}} CPUs" + _numbers(facts) + most


#: what a job waits for, by `core.standing.For`
_FOR: Mapping[str, str] = {
    For.CLIENT: "YARN has no application of it yet; its client, or its command, runs",
    For.MASTER: "its application waits for the container of its ApplicationMaster ({held} of {slots} slots are held)",
    For.ANSWER: "its ApplicationMaster does not answer; the ResourceManager starts another one if that lasts",
    For.STRAYS: "{tasks} of its tasks ran on {nodes} in containers that are gone; Fawkes ends them, and they begin "
    "again",
    For.TASKS: "{tasks} of its tasks run and report no progress; Hadoop ends tasks of MapReduce that do so for longer "
    "than mapreduce.task.timeout",
    For.ROOM: "{tasks} of its tasks wait for room, and none runs ({held} of {slots} slots are held)",
    For.END: "all of its tasks have ended; its ApplicationMaster commits its output",
}


def _stands(facts: Facts) -> str:
    """The thing that a job waits for; numbers that are not known are left out."""
    why = _FOR.get(str(facts.get("waits_for")), "it waits for {waits_for}")
    if "held" not in facts or "slots" not in facts:
        why = why.partition(" ({held}")[0]
    return "Nothing of job {job} has moved since {since_us}: " + why


def _stray(facts: Facts) -> str:
    count = "1 task" if facts.get("tasks") == 1 else "{tasks} tasks"
    whose = " of {jobs}" if facts.get("jobs") else ""
    return (
        count + whose + " on {nodes}: {cluster}'s ResourceManager has not known their containers for {lasted_us}, so "
        "they are ended and begin again"
    )


#: the reason of a task's answer, by `core.preemption.values.Why`
_CAUSES: Mapping[str, str] = {
    Why.POLICY: "as the preemption policy says",
    Why.COSTS: "because saving it would cost at least as much as it has done",
    Why.LATE: "because it could not be saved in time",
    Why.UNKNOWN: "because nobody knows how long saving it takes",
    Why.STORE: "because there is no room for what it would save",
    Why.CANNOT: "because it cannot be saved",
    Why.CAP: "because it was ended as often as allowed",
    Why.SPARED: "because others go",
}
#: how a task went that had to go
_WENT: Mapping[str, str] = {
    "saved": "has saved {size_bytes} in {took_us} and goes on elsewhere",
    "killed": "has ended without saving anything: it goes on from what it had saved before, or begins again",
    "ended": "was done before it had to go",
    "runs": "still runs although its time is over",
}


def _must_go(facts: Facts) -> str:
    what = {"wait": "is waited for", "kill": "is ended"}.get(str(facts["action"]), "is told to save itself")
    ran = ", which has run for {run_us}," if facts.get("run_us") is not None else ""
    why = "{node} leaves" if "claimant" not in facts else "job {claimant} is more important"
    return f"Task {{index}} of job {{job}}{ran} {what} {_CAUSES.get(str(facts['cause']), '')}: {why}"


def _went(facts: Facts) -> str:
    how = _WENT.get(str(facts["how"]), "has left nothing that says how it went: without a result it runs again")
    if "leaves" in facts:
        how += ": YARN ends it" if facts["leaves"] else ", and goes on: {node} stays"
    return "Task {index} of job {job} on {node} " + how + (" ({error})" if facts.get("error") else "")


def _steered(why: str) -> Template:
    def steered(facts: Facts) -> str:
        more = "executor" if facts.get("executors") == 1 else "executors"
        return "Stream {job} gets {executors} " + more + " instead of {before}: " + why

    return steered


JOBS: Mapping[str, Template] = {
    **_STOPS,
    "stream-steered": _steered("{error}"),
    "stream-gives-back": _steered(
        "tasks of other jobs wait ({waiting}), and its guarantee is {entitled} of the {needs} that it needs"
    ),
    "stream-takes-back": _steered("nobody else waits for room now"),
    "task-must-go": _must_go,
    "task-went": _went,
    "job-queued": "Job {job} waits in the queue of {cluster}",
    "job-held": "Job {job} waits, because its attempts would fail now. {cluster}: {error}",
    "job-released": "Job {job} is started on {cluster} (attempt {attempt})",
    "job-not-begun": "Job {job} is not seen to begin and is tried again: {error}. Jobs behind it may wait for that; to "
    "go on without it: `fawkes cancel {job}`",
    "job-succeeded": "Job {job} succeeded",
    "job-failed": _job_ended("Job {job} failed"),
    "job-cancelled": _job_ended("Job {job} is cancelled"),
    "job-killed": _job_ended("Job {job} is killed"),
    "job-admitted": _admitted,
    "job-waits": _waits,
    "job-dropped": _dropped,
    "job-stands": _stands,
    "job-goes-on": "Job {job} goes on",
    "stray-tasks": _stray,
    "strays-stay": "Tasks of {cluster} that have lost their containers could not be ended ({error}); they are tried "
    "again",
    "deadline": "The deadline of job {job}, {deadline_us} after its submission, has passed, and it is stopped",
    "work-not-known": "Nothing is learned from job {job}: the time of its tasks is not known ({error})",
    "admission-failed": "The admission policy {policy} gave no usable answer for {cluster} ({failed}): no job is let "
    "in",
    "preemption-failed": "The preemption policy {policy} gave no usable answer for {cluster} ({failed}): its tasks are "
    "waited for",
    "retry": "Job {job} failed ({error}); attempt {attempt} follows",
    "cancel-asked": by("Job {job} was cancelled"),
    "time-limit": "Job {job} has exceeded its time limit of {limit_us} and is stopped",
}
