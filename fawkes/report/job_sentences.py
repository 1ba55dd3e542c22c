"""Sentences about jobs; those about admission show the numbers that it decided by."""

from __future__ import annotations

from collections.abc import Mapping

from fawkes.core.model import Facts
from fawkes.report.facts import Template, by

#: what an admission policy is asked about, and not the numbers by which it answers
_PLAIN = frozenset(
    {"job", "cluster", "s", "cpus", "asked", "free", "total", "most", "error", "share", "bootstrap", "max_running_jobs"}
)


def _job_ended(text: str) -> Template:
    def ended(facts: Facts) -> str:
        why = ": {error}" if facts.get("error") else ""
        return text + why + ("; its log is {log}" if facts.get("log") else "")

    return ended


def _numbers(facts: Facts) -> str:
    """How an admission policy came to what a job needs; it names its numbers itself."""
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
        return "Job {job} is dropped: {error}"
    most = " and {most} could work for it" if "most" in facts else ""
    return "Job {job} is dropped: {error}. It would need {asked} CPUs" + _numbers(facts) + most


JOBS: Mapping[str, Template] = {
    "job-queued": "Job {job} waits in the queue of {cluster}",
    "job-released": "Job {job} is submitted to YARN on {cluster} (attempt {attempt})",
    "job-succeeded": "Job {job} succeeded",
    "job-failed": _job_ended("Job {job} failed"),
    "job-cancelled": _job_ended("Job {job} is cancelled"),
    "job-killed": _job_ended("Job {job} is killed"),
    "job-admitted": _admitted,
    "job-waits": _waits,
    "job-dropped": _dropped,
    "deadline": "The deadline of job {job}, {deadline_us} after its submission, has passed, and it is stopped",
    "work-not-known": "Nothing is learned from job {job}: the time of its tasks is not known ({error})",
    "admission-failed": "The admission policy {policy} gave no usable answer for {cluster} ({failed}): no job is let "
    "in",
    "retry": "Job {job} failed ({error}); attempt {attempt} follows",
    "cancel-asked": by("Job {job} was cancelled"),
    "time-limit": "Job {job} has exceeded its time limit of {limit_us} and is stopped",
}
