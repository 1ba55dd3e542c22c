"""The way from what is known of a job to what it asks of the machine: bytes and processor time of each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from operator import attrgetter

from fawkes.base.units import SECOND_US
from fawkes.core.values.model import ClusterId, Facts, JobId, JobSpec
from fawkes.sim.hadoop.profile import Profile
from fawkes.workload.making.classes import COMPUTE, DISK, STAGES, Stage
from fawkes.workload.model import TraceJob

MB = 10**6

_FIGURES = tuple(field.name for field in fields(Profile))
_figures = attrgetter(*_FIGURES)

#: what one reduce fetches when a trace does not know how many there are: Pig's default
REDUCER_BYTES = 10**9

#: seconds of one core for each MB that a map reads, by the kind of the application. Assumed: a Wordcount reads
#: 5 MB/s on a core of the paper's machines, a Sort is bound by its disks (HiBench's own paper: 56 % against 2 % of the
#: time in maps). The unknown is in between.
CPU_S_PER_MB: Mapping[str, float] = {COMPUTE: 0.2, DISK: 0.01, "": 0.05}
#: the same for each MB that a reduce fetches
REDUCE_CPU_S_PER_MB: Mapping[str, float] = {COMPUTE: 0.05, DISK: 0.01, "": 0.02}


def profile_of_job(job: TraceJob, stages: Mapping[str, Stage] = STAGES) -> Profile:
    """The tasks of a job: as long as the trace says, or as their bytes take; a rigid job is a gang of equal tasks.

    ``stages`` are the applications of which more is known than their bytes.
    """
    if job.processors is not None:
        return Profile(maps=job.processors, map_us=job.run_us or 0, gang=1)
    maps, reduces = max(1, job.maps or 1), job.reduces
    if reduces is None:
        reduces = -(-(job.shuffle_bytes or 0) // REDUCER_BYTES)
    if job.map_us is not None:
        noted = (job.output_bytes or 0) // (reduces or maps)
        return Profile(maps=maps, map_us=job.map_us, reduces=reduces, reduce_us=job.reduce_us or 0, noted_bytes=noted)
    map_cpu, reduce_cpu = _cpu_s_per_mb(stages.get(job.application))
    read, shuffled, written = job.input_bytes or 0, job.shuffle_bytes or 0, job.output_bytes or 0
    return Profile(
        maps=maps,
        reduces=reduces,
        map_read_bytes=read // maps,
        map_cpu_us=round(read / maps / MB * map_cpu * SECOND_US),
        map_output_bytes=shuffled // maps if reduces else 0,
        reduce_cpu_us=round(shuffled / reduces / MB * reduce_cpu * SECOND_US) if reduces else 0,
        output_bytes=written // (reduces or maps),
    )


def guesses(jobs: Sequence[TraceJob]) -> list[str]:
    """Guesses of `profile_of_job` where a trace does not know, each with the number of jobs; empty for none."""
    plain = [job for job in jobs if job.processors is None]
    guesses = (
        (sum(job.maps is None for job in plain), "no number of maps: each gets one map"),
        (
            sum(job.map_us is None for job in plain),
            "no times of maps: the bytes of the job give the times of its tasks",
        ),
        (sum(job.reduces is None for job in plain), "no number of reduces: each gets one for 1 GB of shuffled data"),
        (
            sum(bool(job.reduces) and job.map_us is not None and job.reduce_us is None for job in plain),
            "times of maps and none of reduces: their reduces take 0 s",
        ),
    )
    return [f"{count:,} of {len(jobs):,} jobs have {what}" for count, what in guesses if count]


def _cpu_s_per_mb(stage: Stage | None) -> tuple[float, float]:
    """Seconds of processor time per MB, of maps and of reduces."""
    kind = stage.kind if stage is not None and stage.kind in CPU_S_PER_MB else ""
    map_cpu = stage.map_cpu if stage is not None else None
    reduce_cpu = stage.reduce_cpu if stage is not None else None
    return (
        CPU_S_PER_MB[kind] if map_cpu is None else map_cpu,
        REDUCE_CPU_S_PER_MB[kind] if reduce_cpu is None else reduce_cpu,
    )


def job_spec_of(
    job: TraceJob, cluster: str, reference_us: int | None = None, stages: Mapping[str, Stage] = STAGES
) -> JobSpec:
    """The job as it is submitted to a simulated MR-cluster."""
    profile = profile_of_job(job, stages)
    return JobSpec(
        id=JobId(job.id),
        cluster=ClusterId(cluster),
        tasks=profile.maps + profile.reduces,
        tasks_estimated=False,
        input_bytes=job.input_bytes,
        reference_us=reference_us,
        details=details_of(profile),
        deadline_us=job.deadline_us,
    )


def details_of(profile: Profile) -> Facts:
    """The details of a job by which the simulator knows its profile."""
    return {"profile": dict(zip(_FIGURES, _figures(profile), strict=True))}
