"""Applications in the JobHistory server of an MR-cluster: documents as they are, bounded in time and size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from fawkes.core.values.model import Plain
from fawkes.live.wire.masters import MasterAddresses, YarnApplication
from fawkes.live.wire.rest import Deadline, UnreadableError, get_json, listed

#: so many tasks of an application are told: all those of a large one would be hundreds of megabytes. Of the first of
#: these the attempt is asked for, each by itself: it has the node and the end of the shuffle
_TASKS, _ATTEMPTS = 20_000, 2_000
_NOT_FOUND = 404
_OF_APPLICATION = ("id", "name", "kind", "state", "final_status", "started_us", "finished_us")
_OF_TASK = ("id", "type", "state", "startTime", "finishTime", "successfulAttempt")
_OF_ATTEMPT = ("id", "state", "startTime", "finishTime", "shuffleFinishTime", "mergeFinishTime")


def histories(
    masters: MasterAddresses, applications: Iterable[YarnApplication], deadline: Deadline
) -> Iterator[dict[str, Plain]]:
    """A document for each application: ``application`` as the ResourceManager has it, ``job``, ``counters``, ``tasks``.

    ``job`` is None where there is none, and ``why`` says why. ``tasks_left_out`` counts tasks beyond the limits.
    """
    for application in applications:
        known = {name: value for name, value in asdict(application).items() if name in _OF_APPLICATION}
        try:
            yield {"application": known, "why": "", **_job(masters, application.id, deadline)}
        except UnreadableError as error:
            yield {"application": known, "job": None, "why": str(error), "counters": [], "tasks": []}


def job_of(
    masters: MasterAddresses, application: str, deadline: Deadline
) -> tuple[str, Mapping[str, Any], list[Mapping[str, Any]]]:
    """The address of an MR-job in the history, its description and its groups of counters; else UnreadableError."""
    if not masters.history:
        raise UnreadableError(application, "the MR-cluster has no JobHistory server")
    url = f"{masters.history}/ws/v1/history/mapreduce/jobs/{application.replace('application', 'job', 1)}"
    document = get_json(url, deadline, key=masters.key)
    job = document.get("job") if isinstance(document, Mapping) else None
    if not isinstance(job, Mapping):
        raise UnreadableError(url, "the answer has no 'job'")
    counters = get_json(f"{url}/counters", deadline, key=masters.key)
    return url, job, listed(counters, "jobCounters", "counterGroup", f"{url}/counters")


def _job(masters: MasterAddresses, application: str, deadline: Deadline) -> dict[str, Plain]:
    url, job, groups = job_of(masters, application, deadline)
    rows = listed(get_json(f"{url}/tasks", deadline, key=masters.key), "tasks", "task", f"{url}/tasks")
    tasks = [_picked(row, _OF_TASK) for row in rows[:_TASKS]]
    for number, task in enumerate(tasks):
        of, attempt = str(task.get("id") or ""), str(task.get("successfulAttempt") or "")
        if number >= _ATTEMPTS or deadline.left() <= 0 or not of or not attempt:
            continue
        document = _attempt(f"{url}/tasks/{of}/attempts/{attempt}", masters, deadline)
        if document is not None:
            task["attempt"] = document
    return {"job": dict(job), "counters": groups, "tasks": tasks, "tasks_left_out": len(rows) - len(tasks)}


def _attempt(url: str, masters: MasterAddresses, deadline: Deadline) -> dict[str, Any] | None:
    """The attempt with its node by the name in the pool; None when it cannot be had: the task alone is told then."""
    try:
        document = get_json(url, deadline, key=masters.key)
    except UnreadableError:
        return None
    row = document.get("taskAttempt") if isinstance(document, Mapping) else None
    if not isinstance(row, Mapping):
        return None
    return {**_picked(row, _OF_ATTEMPT), "node": masters.name(str(row.get("nodeHttpAddress") or ""))}


def _picked(row: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: row[name] for name in names if name in row}


def answer(masters: MasterAddresses, deadline: Deadline) -> None:
    """Return when the JobHistory server answers; UnreadableError when it does not."""
    get_json(f"{masters.history}/ws/v1/history/info", deadline, key=masters.key)


def succeeded(masters: MasterAddresses, application: str, deadline: Deadline) -> bool:
    """True if the history of an application says that it succeeded; one without a history did not.

    UnreadableError when the JobHistory server does not answer.
    """
    url = _job_url(masters, application)
    document = _ended(masters, url, deadline)
    if document is None:
        return False
    job = document.get("job") if isinstance(document, Mapping) else None
    if not isinstance(job, Mapping):
        raise UnreadableError(url, "the answer has no 'job'")
    return job.get("state") == "SUCCEEDED"


def configured(masters: MasterAddresses, application: str, key: str, deadline: Deadline) -> str:
    """The value of a key in the configuration of a job that has ended; empty when it has none, or no history.

    UnreadableError when the JobHistory server does not answer.
    """
    url = f"{_job_url(masters, application)}/conf"
    document = _ended(masters, url, deadline)
    if document is None:
        return ""
    values = (row.get("value") for row in listed(document, "conf", "property", url) if row.get("name") == key)
    return str(next(values, ""))


def _job_url(masters: MasterAddresses, application: str) -> str:
    return f"{masters.history}/ws/v1/history/mapreduce/jobs/{application.replace('application', 'job', 1)}"


def _ended(masters: MasterAddresses, url: str, deadline: Deadline) -> Any:
    """The document of the history at a place; None where the application has no history."""
    try:
        document = get_json(url, deadline, key=masters.key)
    except UnreadableError as error:
        if error.status == _NOT_FOUND:
            return None
        raise
    if document is None:
        raise UnreadableError(url, "the answer is null")
    return document
