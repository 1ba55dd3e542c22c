"""The demands of each recorded job on the machine, by the best that is known of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fawkes.base.units import SECOND_US
from fawkes.core.values.model import Facts, JobSpec, JobState
from fawkes.offline.record.hadoop import RecordedApplication
from fawkes.offline.scenarios.demands import JobDemand, KnownDemands
from fawkes.sim.hadoop.constants import DAS4
from fawkes.sim.hadoop.profile import Profile, profile_of

#: what a job takes besides its tasks, taken off its run time when nothing else is known of it
_AROUND_US = DAS4.job_begin_us + DAS4.job_end_us
#: what Hadoop counts of its processor time is that of Java: the processes that its tasks start are missing
_STREAMING = "streaming"
#: no time is left for tasks that are shorter than Hadoop notices
_SHORTEST_US = SECOND_US


def says_times(details: Facts) -> bool:
    """True if a job's own description says what its tasks take."""
    array = details.get("array")
    timed = isinstance(array, Mapping) and bool(array.get("task_us"))
    return timed or bool(details.get("sleep") or details.get("profile"))


def demand_of(job: JobState, applications: Sequence[RecordedApplication], slots: float | None) -> JobDemand:
    """The demand of a job that succeeded.

    ``applications`` are those of its last attempt as Hadoop's history has them, ``slots`` what its MR-cluster had. Of a
    streaming job the history tells too little: it is known by its run time.
    """
    spec = job.spec
    if says_times(spec.details):
        known, profile = _by_spec(profile_of(spec), applications)
    elif any(application.maps for application in applications) and spec.details.get("kind") != _STREAMING:
        known, profile = KnownDemands.HISTORY, _by_history(applications)
    else:
        known, profile = KnownDemands.LEDGER, _by_time(job, slots)
    return JobDemand(
        profile=profile,
        known=known,
        told_tasks=None if spec.tasks_estimated else spec.tasks,
        told_bytes=spec.input_bytes,
        reference_us=spec.reference_us,
        **_saving(spec),
    )


def _saving(spec: JobSpec) -> dict[str, Any]:
    """The priority of a job, and how its tasks are saved, with the memory of each."""
    array = spec.details.get("array")
    if not spec.saves or not isinstance(array, Mapping):
        return {"priority": spec.priority}
    memory = array.get("memory_mb")
    known = memory if isinstance(memory, int) else None
    return {"priority": spec.priority, "checkpoint": str(array.get("checkpoint", "own")), "memory_mb": known}


def _by_spec(profile: Profile, applications: Sequence[RecordedApplication]) -> tuple[KnownDemands, Profile]:
    """The source and the profile of a job by its own words; Hadoop alone knows the processor time for its bytes."""
    if not applications or not (profile.map_read_bytes or profile.map_output_bytes or profile.output_bytes):
        return KnownDemands.SPEC, profile
    measured = _by_history(applications)
    return KnownDemands.HISTORY, replace(profile, map_cpu_us=measured.map_cpu_us, reduce_cpu_us=measured.reduce_cpu_us)


def _by_history(applications: Sequence[RecordedApplication]) -> Profile:
    """Means over the tasks of all applications: bytes and CPU from the counters, no times."""
    maps, reduces = sum(app.maps for app in applications), sum(app.reduces for app in applications)

    def each(name: str, *, of_maps: bool) -> int:
        total = sum(app.counter(name, of_maps=of_maps) for app in applications)
        return round(total / max(1, maps if of_maps else reduces))

    written = sum(app.counter("HDFS_BYTES_WRITTEN", of_maps=not app.reduces) for app in applications)
    return Profile(
        maps=maps,
        reduces=reduces,
        map_cpu_us=1000 * each("CPU_MILLISECONDS", of_maps=True),
        map_read_bytes=each("HDFS_BYTES_READ", of_maps=True),
        map_output_bytes=each("MAP_OUTPUT_MATERIALIZED_BYTES", of_maps=True) if reduces else 0,
        reduce_cpu_us=1000 * each("CPU_MILLISECONDS", of_maps=False) if reduces else 0,
        output_bytes=round(written / (reduces or maps)),
    )


def _by_time(job: JobState, slots: float | None) -> Profile:
    """Equal tasks that fill the run time on the slots that there were."""
    tasks = 1 if job.spec.tasks_estimated else job.spec.tasks
    waves = math.ceil(tasks / slots) if slots and slots >= 1 else 1
    work_us = max(_SHORTEST_US, (job.run_us or 0) - _AROUND_US)
    return Profile(maps=tasks, map_us=max(_SHORTEST_US, work_us // waves))
