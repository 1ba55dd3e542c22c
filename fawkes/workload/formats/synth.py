"""SYNTH files of YARN's Scheduler Load Simulator: distributions, out of which jobs are drawn (hadoop-sls, synthetic).

A workload is chosen by its weight, one of its classes of jobs by its weight, and a time out of its distribution of
times. Numbers and times of tasks are constants, lognormal (by mean and deviation), normal, or one of a list. The jobs
are not those that Hadoop would draw: its generator of random numbers is another one.

As in Hadoop, ``reservation`` is the chance that a job has a deadline, which is ``deadline_factor`` times ``duration``
(seconds) after its submission; in the old form ``chance_of_reservation``, ``deadline_factor_avg`` and ``dur_avg``.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fawkes.base.errors import ConfigError, cut
from fawkes.base.units import MOST_BYTES, SECOND_US
from fawkes.workload.model import Trace, TraceJob
from fawkes.workload.reading.objects import objects
from fawkes.workload.reading.traces import Collected
from fawkes.workload.seeds import rng

_FORM = "A SYNTH file has num_jobs, and workloads with job_classes and time_distribution"
_MOST_JOBS, _MOST_TASKS = 1_000_000, 1_000_000
_MOST_DRAWN = 10_000_000

Plain = Mapping[str, Any]


def read(path: Path, *, seed: int | None = None) -> Trace:
    """The jobs that a SYNTH file asks for, plain or gzip; the same for the same seed, which is else the file's own.

    ConfigError names the key that is missing or wrong.
    """
    line, said = next(objects(path), (1, {}))
    keys = _Keys(path, line)
    count = keys.whole(said, "num_jobs")
    if count > _MOST_JOBS:
        raise keys.wrong("num_jobs", f"is more than {_MOST_JOBS:,}")
    workloads = keys.list_of(said, "workloads")
    seed = keys.seed(said) if seed is None else seed
    collected = Collected(path)
    jobs = sorted(
        (_job(keys, workloads, seed, number) for number in range(1, count + 1)), key=lambda job: job.submit_us
    )
    for job in jobs:
        collected.add(job, line)
    header = {"seed": str(seed)}
    for key in ("description", "num_nodes"):
        if key in said:
            header[key] = str(said[key])
    return collected.trace(form=_FORM, header=header)


class _Keys:
    """Takes keys out of tables of the file, and says which one is wrong."""

    def __init__(self, path: Path, line: int) -> None:
        self.path, self.line = path, line
        self.tasks = 0

    def wrong(self, key: str, what: str) -> ConfigError:
        """An error about a key."""
        return ConfigError(f"{key} {what}", file=str(self.path), key=f"line {self.line}", hint=_FORM)

    def number(self, table: Plain, key: str, otherwise: float | None = None) -> float:
        """A number that is not negative."""
        value = table.get(key, otherwise)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_BYTES:
            raise self.wrong(key, "is missing" if value is None else f"is {cut(repr(value))}")
        return value

    def seed(self, table: Plain) -> int:
        """The file's own seed, which may be negative; 0 without one."""
        value = table.get("rand_seed", 0)
        if not isinstance(value, int):
            raise self.wrong("rand_seed", f"is {value!r}")
        return value

    def drawn(self, values: Any, weights: Any, chance: random.Random) -> float:
        """One of a list, by weights of which there are as many, or evenly."""
        try:
            sample = float(chance.choices(values, weights)[0])
        except (TypeError, ValueError, IndexError):
            sample = math.nan
        if not 0 <= sample < math.inf:
            raise self.wrong("discrete", f"{values!r} with weights {weights!r} gives no number")
        return sample

    def count(self, value: float, key: str) -> int:
        """The number of tasks that a number means."""
        if value > _MOST_TASKS:
            raise self.wrong(key, f"makes a job of more than {_MOST_TASKS:,} tasks")
        self.tasks += round(value)
        if self.tasks > _MOST_DRAWN:
            raise self.wrong("num_jobs", f"makes more than {_MOST_DRAWN:,} tasks, which are drawn one by one")
        return round(value)

    def whole(self, table: Plain, key: str) -> int:
        """A whole number that is not negative."""
        return int(self.number(table, key))

    def list_of(self, table: Plain, key: str) -> Sequence[Plain]:
        """Tables, one at least."""
        value = table.get(key)
        if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
            raise self.wrong(key, "is not a list of tables" if value else "is missing")
        return value

    def chosen(self, tables: Sequence[Plain], key: str, weight: str, chance: random.Random) -> int:
        """The choice among the tables, by their weights."""
        weights = [self.number(table, weight, 1.0) for table in tables]
        if not sum(weights):
            raise self.wrong(key, "have no weight")
        return chance.choices(range(len(tables)), weights)[0]


def _job(keys: _Keys, workloads: Sequence[Plain], seed: int, number: int) -> TraceJob:
    chance = rng(seed, "SYNTH", str(number))
    workload = workloads[keys.chosen(workloads, "workloads", "workload_weight", chance)]
    classes = keys.list_of(workload, "job_classes")
    kind = classes[keys.chosen(classes, "job_classes", "class_weight", chance)]
    submit_us = _time_us(keys, workload, chance)
    maps, reduces = (_tasks(keys, kind, name, chance) for name in ("map", "reduce"))
    return TraceJob(
        id=f"job_{number}",
        submit_us=submit_us,
        application=str(kind.get("class_name", "")),
        maps=max(1, len(maps)),
        reduces=len(reduces),
        map_us=_mean_us(maps),
        reduce_us=_mean_us(reduces),
        user=str(kind.get("user_name", "")),
        deadline_us=_deadline_us(keys, kind, rng(seed, "SYNTH deadline", str(number))),
    )


def _deadline_us(keys: _Keys, kind: Plain, chance: random.Random) -> int | None:
    """The deadline of a job; None when it has none. It has chances of its own: the rest of a file's jobs stays."""
    new = "tasks" in kind
    needed = ("reservation", "deadline_factor") if new else ("chance_of_reservation", "deadline_factor_avg", "dur_avg")
    if not all(kind.get(key) for key in needed):
        return None
    likely = _drawn(keys, kind[needed[0]], needed[0], chance)
    if chance.random() >= likely:
        return None
    if new:
        factor = _drawn(keys, kind["deadline_factor"], "deadline_factor", chance)
        duration_s = _drawn(keys, kind.get("duration"), "duration", chance)
    else:
        factor, duration_s = (_spread(keys, kind, key, chance) for key in ("deadline_factor", "dur"))
    deadline_us = math.ceil(factor * round(duration_s) * 1000) * 1000
    if deadline_us <= 0:
        raise keys.wrong("deadline_factor", f"{factor:g} of a duration of {duration_s:g} s gives a deadline of 0 s")
    return deadline_us


def _time_us(keys: _Keys, workload: Plain, chance: random.Random) -> int:
    times = keys.list_of(workload, "time_distribution")
    at = keys.chosen(times, "time_distribution", "weight", chance)
    start, end = (keys.whole(times[row], "time") for row in (at, min(at + 1, len(times) - 1)))
    return (start + (chance.randrange(end - start) if end > start else 0)) * SECOND_US


def _tasks(keys: _Keys, kind: Plain, name: str, chance: random.Random) -> list[float]:
    """The seconds of each task of a kind; both the present form (``tasks``) and the old one are understood."""
    if "tasks" in kind:
        times: list[float] = []
        for task in keys.list_of(kind, "tasks"):
            if task.get("type") == name:
                count = keys.count(_drawn(keys, task.get("count"), "count", chance), "count")
                times += (_drawn(keys, task.get("time"), "time", chance) for _ in range(count))
        return times
    letter = name[0]
    count = keys.count(_spread(keys, kind, f"{letter}tasks", chance), f"{letter}tasks_avg")
    return [_spread(keys, kind, f"{letter}time", chance) for _ in range(count)]


def _spread(keys: _Keys, kind: Plain, key: str, chance: random.Random) -> float:
    mean = keys.number(kind, f"{key}_avg", 0.0)
    return _lognormal(keys, f"{key}_stddev", mean, keys.number(kind, f"{key}_stddev", 0.0), chance)


def _drawn(keys: _Keys, sample: object, key: str, chance: random.Random) -> float:
    """A value of a sample: ``{val}``, ``{val, std, dist}`` or ``{discrete, weights}``; a number is itself."""
    if not isinstance(sample, dict):
        return keys.number({key: sample}, key)
    if "discrete" in sample:
        return keys.drawn(sample["discrete"], sample.get("weights"), chance)
    mean, deviation = keys.number(sample, "val"), keys.number(sample, "std", 0.0)
    kind = str(sample.get("dist", "LOGNORM")).upper()
    if kind not in ("LOGNORM", "NORM"):
        raise keys.wrong(key, f"has the unknown dist {cut(repr(sample['dist']))}: LOGNORM and NORM are known")
    if kind == "NORM":
        return max(0.0, chance.gauss(mean, deviation))
    return _lognormal(keys, key, mean, deviation, chance)


def _lognormal(keys: _Keys, key: str, mean: float, deviation: float, chance: random.Random) -> float:
    if not mean or not deviation:
        return mean
    try:
        variance = math.log1p((deviation / mean) ** 2)
        return chance.lognormvariate(math.log(mean) - variance / 2, math.sqrt(variance))
    except OverflowError:
        raise keys.wrong(key, f"spreads too far, by {deviation:g} around {mean:g}") from None


def _mean_us(times_s: Sequence[float]) -> int | None:
    return round(sum(times_s) / len(times_s) * SECOND_US) if times_s else None
