"""Twins of the two production traces, TR1 and TR2: the same statistics, because the traces themselves are not public.

What the twins do not have: bursts, a daily cycle, repeated jobs, and likeness of jobs that come one after another. The
dissertation gives no numbers for these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fawkes.base.errors import UserError
from fawkes.offline.studies.flat.jobs import FlatJobs, Floats, Ints

HOUR_S = 3600.0
DAY_S = 86_400.0
#: the part of a class's work that is kept: a few jobs of a lognormal law would have most of it
_CAP = 0.9995


@dataclass(frozen=True, slots=True)
class Class:
    """Jobs with ``least`` to ``most`` tasks: their part of all jobs, their part of all work, and its spread.

    ``sigma`` is that of a lognormal law of the work, or of the work of a task where it is ``per_task``.
    """

    name: str
    least: int
    most: int
    part: float
    share: float
    sigma: float
    per_task: bool


@dataclass(frozen=True, slots=True)
class Recipe:
    """The recipe of a twin: jobs, CPU hours of all together, CPUs at the peak, days."""

    name: str
    jobs: int
    work_h: float
    peak: int
    classes: tuple[Class, ...]
    days: float = 90.0


def _classes(peak: int, parts: tuple[float, ...], shares: tuple[float, ...]) -> tuple[Class, ...]:
    sizes = (("A", 1, 1), ("B", 2, 9), ("C", 10, 99), ("D", 100, 1000), ("E", 1001, peak))
    sigmas = (2.61, 2.87, 2.0, 1.5, 1.0)
    return tuple(
        Class(name, least, most, part, share, sigma, name not in "AB")
        for (name, least, most), part, share, sigma in zip(sizes, parts, shares, sigmas, strict=True)
    )


TWINS: Mapping[str, Recipe] = {
    "TR1": Recipe(
        "TR1", 159_194, 8_585_673, 9_345,
        _classes(9_345, (0.58, 0.12, 0.10, 0.07, 0.13), (0.001, 0.006, 0.003, 0.010, 0.980)),
    ),
    "TR2": Recipe(
        "TR2", 1_140_064, 13_301_659, 24_721,
        _classes(24_721, (0.62, 0.18, 0.10, 0.07, 0.03), (0.003, 0.006, 0.008, 0.043, 0.940)),
    ),
}  # fmt: skip


def twin(name: str, seed: int, *, jobs: int | None = None) -> FlatJobs:
    """The twin of a trace; the same name, seed and number of jobs give the same jobs.

    With fewer ``jobs`` the span shrinks with them, so that the load stays. UserError for another name.
    """
    recipe = TWINS.get(name.upper())
    if recipe is None:
        raise UserError(f"there is no trace {name!r}", hint=f"Known: {', '.join(TWINS)}; or give the path of a table")
    return made(recipe, seed, jobs=jobs)


def made(recipe: Recipe, seed: int, *, jobs: int | None = None) -> FlatJobs:
    """The jobs of a recipe, as `twin` has them."""
    count = recipe.jobs if jobs is None else jobs
    scale = count / recipe.jobs
    chance = np.random.default_rng([seed, list(TWINS).index(recipe.name)])
    submit = np.sort(chance.random(count) * recipe.days * DAY_S * scale)
    kinds = chance.choice(len(recipe.classes), count, p=[each.part for each in recipe.classes])
    tasks, work = np.ones(count, np.int64), np.zeros(count)
    for at, each in enumerate(recipe.classes):
        mine = np.flatnonzero(kinds == at)
        if len(mine):
            tasks[mine], work[mine] = _class_jobs(each, len(mine), each.share * recipe.work_h * HOUR_S * scale, chance)
    return FlatJobs(recipe.name, submit - submit[0], tasks, work, peak=recipe.peak)


def _class_jobs(of: Class, count: int, work_s: float, chance: np.random.Generator) -> tuple[Ints, Floats]:
    """Tasks are log-uniform within the class; work has a lognormal law, is capped, and has the class's sum."""
    low, high = np.log(of.least), np.log(of.most + 1)
    tasks = np.clip(np.exp(low + chance.random(count) * (high - low)).astype(np.int64), of.least, of.most)
    work = chance.lognormal(0.0, of.sigma, count)
    if of.per_task:
        work = work * tasks
    work = np.minimum(work, np.quantile(work, _CAP))
    return tasks, work * (work_s / work.sum())


#: what Tables 4.1 and 5.1 and the text say of the traces, in the order of `statistics`; None: not reported
REPORTED: Mapping[str, tuple[float | None, ...]] = {
    "TR1": (9345, 159194, 8585673, 58, 0.1, 70, 80, 13, 98, 80, 60, 40, 60, 70),
    "TR2": (24721, 1140064, 13301659, 62, 0.3, 80, None, 3, 94, 80, 60, None, None, None),
}


def statistics(jobs: FlatJobs) -> dict[str, float]:
    """The figures that the tables report of a trace: counts, hours, and parts in percent."""
    tasks, work = jobs.tasks, jobs.work_s

    def part(which: NDArray[np.bool_]) -> float:
        return 100.0 * float(which.mean()) if which.size else 0.0

    small = (tasks >= 2) & (tasks <= 10)
    return {
        "peak_cpus": float(jobs.peak),
        "jobs": float(len(jobs)),
        "work_h": float(work.sum()) / HOUR_S,
        "one_task_percent": part(tasks == 1),
        "one_task_work_percent": 100.0 * float(work[tasks == 1].sum() / work.sum()),
        "below_10_tasks_percent": part(tasks < 10),
        "below_100_tasks_percent": part(tasks < 100),
        "above_1000_tasks_percent": part(tasks > 1000),
        "above_1000_tasks_work_percent": 100.0 * float(work[tasks > 1000].sum() / work.sum()),
        "one_task_below_100_s_percent": part(work[tasks == 1] < 100),
        "few_tasks_below_100_s_percent": part(work[small] < 100),
        "below_100_s_percent": part(work < 100),
        "below_500_s_percent": part(work < 500),
        "below_1000_s_percent": part(work < 1000),
    }
