"""Workloads of the chapter: jobs with their arrivals, priorities and tasks, drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random

from fawkes.offline.studies.preemption import fixed
from fawkes.offline.studies.preemption.cases import MODELS, PreemptionCase
from fawkes.offline.studies.preemption.fixed import Levels


@dataclass(frozen=True, slots=True)
class StudyJob:
    """A job: its priority, when it arrives, and its tasks with their seconds and GB of memory."""

    level: int
    at_s: float
    tasks: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class PreemptionWorkload:
    """Jobs by arrival, and the nodes that they share."""

    jobs: tuple[StudyJob, ...]
    nodes: int
    slots: int


def workload_of(case: PreemptionCase) -> PreemptionWorkload:
    """The workload of a case."""
    return _KINDS[case.workload](case)


def _rig(case: PreemptionCase) -> PreemptionWorkload:
    """Two jobs of one task on one slot; the important one comes when the other is half done."""
    task = ((fixed.RIG_S, fixed.RIG_GB),)
    jobs = (StudyJob(Levels.LOW, 0.0, task), StudyJob(Levels.HIGH, MODELS[case.model].arrival_s, task))
    return PreemptionWorkload(jobs, 1, 1)


def _yarn(case: PreemptionCase) -> PreemptionWorkload:
    """Sixteen important jobs about as large as the cluster, and 24 low ones that fill up to 7,000 tasks."""
    every_s = fixed.YARN_HIGH_EVERY_S * MODELS[case.model].every
    random = Random(f"yarn {case.seed}")  # noqa: S311 - a seed
    jobs = []
    for place in range(fixed.YARN_HIGH_JOBS):
        count = round(fixed.YARN_HIGH_TASKS * _around(random, 1.0, fixed.YARN_HIGH_SPREAD))
        tasks = tuple((_around(random, fixed.YARN_HIGH_S, fixed.LENGTHS), fixed.YARN_GB) for _ in range(count))
        jobs.append(StudyJob(Levels.HIGH, (place + 1) * every_s, tasks))
    left = fixed.YARN_TASKS - sum(len(job.tasks) for job in jobs)
    sizes = [random.paretovariate(fixed.YARN_LOW_SHAPE) for _ in range(fixed.YARN_LOW_JOBS)]
    at_s = 0.0
    for count in _whole(sizes, left):
        tasks = tuple((_around(random, fixed.YARN_LOW_S, fixed.LENGTHS), fixed.YARN_GB) for _ in range(count))
        jobs.append(StudyJob(Levels.LOW, at_s, tasks))
        at_s += random.expovariate(1 / fixed.YARN_LOW_EVERY_S)
    return PreemptionWorkload(tuple(sorted(jobs, key=lambda job: job.at_s)), fixed.YARN_NODES, fixed.YARN_SLOTS)


def _day(case: PreemptionCase, gigabytes: float, wave_s: float) -> PreemptionWorkload:
    """A day of low jobs by a Poisson process, waves of medium ones, and a high one with each sixth wave."""
    slots = fixed.GOOGLE_NODES * fixed.GOOGLE_SLOTS
    random = Random(f"day {case.seed}")  # noqa: S311 - a seed

    def tasks(count: int, mean_s: float) -> tuple[tuple[float, float], ...]:
        return tuple(
            (_around(random, mean_s, fixed.LENGTHS), _around(random, gigabytes, fixed.GOOGLE_MEMORY))
            for _ in range(count)
        )

    jobs = []
    rate = fixed.GOOGLE_LOAD * slots / (fixed.GOOGLE_LOW_S * fixed.GOOGLE_LOW_TASKS)
    at_s = random.expovariate(rate)
    while at_s < fixed.GOOGLE_DAY_S:
        jobs.append(StudyJob(Levels.LOW, at_s, tasks(fixed.GOOGLE_LOW_TASKS, fixed.GOOGLE_LOW_S)))
        at_s += random.expovariate(rate)
    wave_s *= MODELS[case.model].every
    for wave in range(1, int(fixed.GOOGLE_DAY_S / wave_s)):
        count = round(slots * fixed.GOOGLE_WAVE * _around(random, 1.0, fixed.GOOGLE_WAVE_SPREAD))
        jobs.append(StudyJob(Levels.MEDIUM, wave * wave_s, tasks(count, fixed.GOOGLE_MEDIUM_S)))
        if wave % fixed.GOOGLE_HIGH_EACH == 0:
            jobs.append(
                StudyJob(Levels.HIGH, wave * wave_s, tasks(round(slots * fixed.GOOGLE_HIGH), fixed.GOOGLE_HIGH_S))
            )
    return PreemptionWorkload(tuple(sorted(jobs, key=lambda job: job.at_s)), fixed.GOOGLE_NODES, fixed.GOOGLE_SLOTS)


def _livelock(_case: PreemptionCase) -> PreemptionWorkload:
    """A long task on one slot, and short important ones that come before a dump of it would pay."""
    low = StudyJob(Levels.LOW, 0.0, ((fixed.LIVELOCK_S, fixed.LIVELOCK_GB),))
    task = ((fixed.LIVELOCK_HIGH_S, fixed.LIVELOCK_GB),)
    waves = range(fixed.LIVELOCK_WAVES)
    high = (StudyJob(Levels.HIGH, fixed.LIVELOCK_FIRST_S + wave * fixed.LIVELOCK_EVERY_S, task) for wave in waves)
    return PreemptionWorkload((low, *high), 1, 1)


def _around(random: Random, mean: float, spread: float) -> float:
    return mean * random.uniform(1 - spread, 1 + spread)


def _whole(sizes: list[float], total: int) -> Iterator[int]:
    """Whole numbers of at least 1 in these proportions, with that sum; the last takes the rest of the rounding."""
    left, weight = total, sum(sizes)
    for place, size in enumerate(sizes):
        after = len(sizes) - place - 1
        count = max(1, min(left - after, round(left * size / weight))) if after else left
        yield count
        left -= count
        weight -= size


_KINDS: Mapping[str, Callable[[PreemptionCase], PreemptionWorkload]] = {
    "rig": _rig,
    "yarn": _yarn,
    "google": partial(_day, gigabytes=fixed.GOOGLE_GB, wave_s=fixed.GOOGLE_WAVE_S),
    "trap": partial(_day, gigabytes=fixed.TRAP_GB, wave_s=fixed.TRAP_WAVE_S),
    "livelock": _livelock,
}
