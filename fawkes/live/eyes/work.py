"""Time for which the tasks of an attempt ran, by the counters that Hadoop's JobHistory server keeps of each MR-job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fawkes.core.values.effects import CountWork
from fawkes.core.values.tags import tag_of
from fawkes.live.eyes.history import job_of
from fawkes.live.eyes.measure import MAPREDUCE
from fawkes.live.wire.masters import MasterAddresses, YarnApplication, all_applications
from fawkes.live.wire.rest import Deadline, UnreadableError, count, listed

#: by kind of task: how a job's description counts the tasks, and the counter that has their milliseconds
_KINDS = (("mapsTotal", "MILLIS_MAPS"), ("reducesTotal", "MILLIS_REDUCES"))
_JOB_COUNTERS = "org.apache.hadoop.mapreduce.JobCounter"
#: no MR-job works for so long: 30,000 years
_MOST_MS = 10**15


def work_us(masters: MasterAddresses, effect: CountWork, deadline: Deadline) -> int:
    """The time of all tasks of an attempt in microseconds, over all of its MR-jobs: more than 0.

    Task attempts that failed or were killed count as well; Hadoop counts a map twice that is killed after its success
    and before its process has ended. UnreadableError while any part of it is not known.
    """
    applications = all_applications(masters, deadline, tag=tag_of(effect.job, effect.attempt))
    if not any(application.id == effect.application for application in applications):
        where = effect.application or effect.job
        raise UnreadableError(where, "the ResourceManager does not know the job's first application (any more)")
    total = sum(_of_application(masters, application, deadline) for application in applications)
    if not total:
        raise UnreadableError(effect.application, "none of its tasks has taken any time")
    return total * 1000


def _of_application(masters: MasterAddresses, application: YarnApplication, deadline: Deadline) -> int:
    if application.kind != MAPREDUCE:
        raise UnreadableError(application.id, f"{application.kind or 'an unknown kind'} has no counters of MapReduce")
    if not application.ended:
        raise UnreadableError(application.id, "it has not ended")
    url, job, groups = job_of(masters, application.id, deadline)
    return sum(_of_kind(job, groups, tasks, counter, url) for tasks, counter in _KINDS)


def _of_kind(job: Mapping[str, Any], groups: Sequence[Mapping[str, Any]], tasks: str, counter: str, where: str) -> int:
    """Milliseconds. Hadoop keeps no counter of tasks that a job does not have."""
    has = count(job.get(tasks))
    if has is None:
        raise UnreadableError(where, f"{tasks} is not a count: {str(job.get(tasks))[:40]!r}")
    if has == 0:
        return 0
    values = [
        row.get("totalCounterValue")
        for group in groups
        if group.get("counterGroupName") == _JOB_COUNTERS
        for row in listed({"counterGroup": group}, "counterGroup", "counter", where)
        if row.get("name") == counter
    ]
    spent_ms = count(values[0]) if len(values) == 1 else None
    if spent_ms is None or spent_ms > _MOST_MS:
        said = str(values[0])[:40] if values else "missing"
        raise UnreadableError(f"{where}/counters", f"{counter} is not a number of milliseconds: {said}")
    return spent_ms
