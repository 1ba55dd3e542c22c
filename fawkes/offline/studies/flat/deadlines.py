"""Deadlines of the study: D = x T, where T is a job's shortest runtime and x is drawn as one of seven types says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches

import numpy as np

from fawkes.base.errors import ConfigError, UserError
from fawkes.offline.studies.flat.jobs import RUNTIME, FlatJobs, Floats

Draw = Callable[[np.random.Generator, int], Floats]


def _fixed(x: float) -> Draw:
    return lambda chance, count: np.full(count, x)


def _either(first: float, second: float, part: float) -> Draw:
    """``first`` for so large a part of the jobs, ``second`` for the rest."""
    return lambda chance, count: np.where(chance.random(count) < part, first, second)


def _between(low: float, high: float) -> Draw:
    return lambda chance, count: chance.uniform(low, high, count)


TYPES: Mapping[str, Draw] = {
    "Fixed1x": _fixed(1.0),
    "Fixed2x": _fixed(2.0),
    "Jockey1x2x": _either(1.0, 2.0, 0.5),
    "Jockey2x4x": _either(2.0, 4.0, 0.5),
    "90loose": _either(2.0, 1.0, 0.9),
    "Aria1x3x": _between(1.0, 3.0),
    "Aria2x4x": _between(2.0, 4.0),
}
VARIABLE = ("Jockey1x2x", "Jockey2x4x", "90loose", "Aria1x3x", "Aria2x4x")

#: what T is: work over the CPUs that the simulated pool or the trace's own cluster could give, or the trace's runtime
CAPACITY, PEAK, TRACE = "capacity", "peak", "trace"


def type_named(name: str) -> str:
    """The deadline type of this name, in its own capitals; UserError lists the types when there is none."""
    known = {each.casefold(): each for each in TYPES}
    if name.casefold() in known:
        return known[name.casefold()]
    near = get_close_matches(name.casefold(), known, n=1, cutoff=0.5)
    advice = f"Did you mean {known[near[0]]}? " if near else ""
    raise UserError(f"there is no deadline type {name!r}", where="--types", hint=f"{advice}Known: {', '.join(TYPES)}")


def factors(kind: str, count: int, seed: int) -> Floats:
    """x of each job; the same type, number and seed give the same factors."""
    return TYPES[kind](np.random.default_rng([seed, 7, list(TYPES).index(kind)]), count)


def shortest_s(jobs: FlatJobs, capacity: int, basis: str = CAPACITY) -> Floats:
    """T of each job in seconds.

    ConfigError for the basis ``trace`` without runtimes; UserError for ``peak`` without the trace's peak.
    """
    if basis == TRACE:
        if jobs.runtime_s is None:
            raise ConfigError(
                "has no column runtime_s, which the basis trace needs",
                file=jobs.name,
                key=RUNTIME,
                hint="Give --basis capacity, or a table with runtime_s",
            )
        return jobs.runtime_s
    if basis == PEAK and not jobs.peak:
        raise UserError(
            f"the peak of {jobs.name} is not known", where="--basis", hint="Give --peak CPUS, or --basis capacity"
        )
    return jobs.work_s / np.minimum(jobs.tasks, jobs.peak if basis == PEAK else capacity)


def with_deadlines(jobs: FlatJobs, kind: str, capacity: int, seed: int, basis: str = CAPACITY) -> FlatJobs:
    """The jobs with deadlines of a type, in seconds from their submission. Errors are those of `shortest_s`."""
    deadlines = factors(kind, len(jobs), seed) * shortest_s(jobs, capacity, basis)
    return replace(jobs, deadline_s=deadlines)
