"""Workloads that are made, not read: each maker by its name, with the keys that it takes.

Another maker is a function that returns a Trace, and one entry here.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fawkes.base.errors import UserError, cut
from fawkes.base.units import duration_us, size_bytes
from fawkes.config.files.loader import did_you_mean
from fawkes.workload.model import Trace

MOST_MADE = 1_000_000
"""Jobs of one made workload."""


@dataclass(frozen=True, slots=True)
class MakerKey:
    """A key that a user may set: the parameter that it goes to, how its text is read, and what it means."""

    parameter: str
    read: Callable[[str], Any]
    help: str


@dataclass(frozen=True, slots=True)
class Maker:
    """A maker: its name, what it makes, where its function is (``module:function``), and its keys.

    A function that has a parameter ``seed`` gets it.
    """

    name: str
    title: str
    where: str
    keys: Mapping[str, MakerKey] = field(default_factory=dict)

    def make(self, said: Mapping[str, str], seed: int) -> Trace:
        """The workload; UserError when a key is unknown, missing, or has a value that cannot be."""
        module, _, name = self.where.partition(":")
        function: Callable[..., Trace] = getattr(importlib.import_module(module), name)
        parameters = inspect.signature(function).parameters
        values = {self._key(key).parameter: self._value(key, text) for key, text in said.items()}
        for key, entry in self.keys.items():
            if parameters[entry.parameter].default is inspect.Parameter.empty and entry.parameter not in values:
                raise UserError(f"{key} is missing: {entry.help}", where=self.name, hint=f"Give --set {key}=...")
        if "seed" in parameters:
            values["seed"] = seed
        return replace(function(**values), format=f"made: {self.name}")

    def _key(self, key: str) -> MakerKey:
        if key not in self.keys:
            raise UserError(f"there is no key {key!r}", where=self.name, hint=did_you_mean(key, self.keys))
        return self.keys[key]

    def _value(self, key: str, text: str) -> Any:
        try:
            return self.keys[key].read(text)
        except ValueError as error:
            raise UserError(f"{key} = {cut(text)!r}: {error}", where=self.name, hint=self.keys[key].help) from None


def words(text: str) -> tuple[str, ...]:
    """Words with commas between them."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def counts(text: str) -> tuple[tuple[str, int], ...]:
    """``small:30,20GB:4``."""
    sizes = []
    for word in words(text):
        size, colon, count = word.rpartition(":")
        if not colon:
            raise ValueError("write sizes with numbers of jobs, such as small:30,20GB:4")
        sizes.append((size, how_many(count)))
    return tuple(sizes)


def how_many(text: str) -> int:
    """A number of jobs."""
    if not text.isdecimal() or len(text) > 7 or not 1 <= int(text) <= MOST_MADE:
        raise ValueError(f"write a whole number from 1 to {MOST_MADE:,}")
    return int(text)


def span(text: str) -> int:
    """A duration greater than 0, in microseconds."""
    us = duration_us(text)
    if not us:
        raise ValueError("must be greater than 0")
    return us


def rate(text: str) -> float:
    """Jobs a minute."""
    value = float(text)
    if not 1e-6 <= value <= 1e6:
        raise ValueError("write a number from 0.000001 to 1,000,000")
    return value


def one_of(*names: str) -> Callable[[str], str]:
    """Reads one of these words."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"it must be one of {', '.join(names)}")
        return text

    return read


def programs(text: str) -> tuple[Any, ...]:
    """Programs of HiBench, each with one of its profiles or a size: ``wordcount:small,sort:1GB``."""
    # By name: HiBench's programs are built on this package.
    hibench = importlib.import_module("fawkes.workload.hibench.load")
    programs = []
    for word in words(text):
        name, colon, size = word.partition(":")
        if not colon:
            raise ValueError("write programs with a profile or a size, such as wordcount:small,sort:1GB")
        if size[:1].isdecimal():
            programs.append(hibench.of_size(name, size_bytes(size)))
        else:
            programs.append(hibench.of_profile(name, size))
    if not programs:
        raise ValueError("name at least one program")
    return tuple(programs)


def of_paper(workload: str = "WKLD-D", *, seed: int = 1) -> Trace:
    """A whole workload of the paper, each job with its MR-cluster; times count from the start of the workload."""
    from fawkes.workload.making import classes

    loads = classes.workload(workload.upper(), seed)
    jobs = [replace(job, cluster=load.cluster) for load in loads for job in load.jobs]
    return Trace(source=workload.upper(), jobs=tuple(sorted(jobs, key=lambda job: job.submit_us)))


def of_mix(
    apps: tuple[str, ...] = ("WC",),
    jobs: tuple[tuple[str, int], ...] = (("small", 30),),
    *,
    arrivals: str = "average",
    over_us: int | None = None,
    cluster: str = "c-1",
    seed: int = 1,
) -> Trace:
    """Jobs of the paper's applications, as a scenario's ``[[load]]`` with ``apps`` makes them."""
    from fawkes.workload.making import classes

    choice = classes.DEFAULTS if over_us is None else replace(classes.DEFAULTS, span_us=over_us)
    for app in apps:
        if app not in classes.APPLICATIONS:
            hint = did_you_mean(app, classes.APPLICATIONS)
            raise UserError(f"there is no application {app!r}", where="apps", hint=hint)
    made = classes.generate(cluster, classes.Mix(apps, jobs), arrivals, seed, label="make", choice=choice)
    named = (replace(job, cluster=cluster) for job in made)
    return Trace(source=f"{','.join(apps)} {arrivals}", jobs=tuple(sorted(named, key=lambda job: job.submit_us)))


def of_trace(file: Path, jobs: int | None = None, *, per_minute: float | None = None, seed: int = 1) -> Trace:
    """Jobs drawn out of the trace in a file."""
    from fawkes.workload.formats.formats import read_workload
    from fawkes.workload.making.facebook import like

    return like(read_workload(file), jobs, per_minute=per_minute, seed=seed)


_HERE = "fawkes.workload.making.makers"
_JOBS = MakerKey("jobs", how_many, "how many jobs")
_RATE = MakerKey("per_minute", rate, "jobs per minute")
_THINK = MakerKey("think_us", duration_us, "time from one job to the next, such as 10s")
_CLUSTER = MakerKey("cluster", str, "the MR-cluster that runs them")
MAKERS: Mapping[str, Maker] = {
    maker.name: maker
    for maker in (
        Maker(
            "paper",
            "a workload of the paper with its three MR-clusters",
            f"{_HERE}:of_paper",
            {"workload": MakerKey("workload", str, "WKLD-A to WKLD-E")},
        ),
        Maker(
            "mix",
            "jobs of the paper's applications",
            f"{_HERE}:of_mix",
            {
                "apps": MakerKey("apps", words, "codes of applications, such as WC,ST"),
                "jobs": MakerKey("jobs", counts, "how many of each size, such as small:30,20GB:4"),
                "arrivals": MakerKey("arrivals", str, "average, batch, bursty or sequential"),
                "over": MakerKey("over_us", span, "span of their arrivals, such as 2h"),
                "cluster": _CLUSTER,
            },
        ),
        Maker(
            "hibench",
            "programs of HiBench as MR-jobs",
            "fawkes.workload.hibench.load:workload_of",
            {
                "programs": MakerKey("chosen", programs, "with profiles or sizes, such as wordcount:small,sort:1GB"),
                "order": MakerKey("order", one_of("sequential", "together"), "sequential or together"),
                "think": _THINK,
                "cluster": _CLUSTER,
            },
        ),
        Maker(
            "btworld",
            "the workflow of BTWorld",
            "fawkes.workload.btworld.load:workload_of",
            {
                "size": MakerKey("size_bytes", size_bytes, "amount of raw data, such as 100GB"),
                "queries": MakerKey("queries", words, "only these queries, such as ToT,AH"),
                "order": MakerKey("order", one_of("sequential", "dependencies"), "sequential or dependencies"),
                "think": _THINK,
                "cluster": _CLUSTER,
            },
        ),
        Maker(
            "facebook",
            "jobs like those of Facebook in 2009 (SWIM)",
            "fawkes.workload.making.facebook:like_facebook",
            {"jobs": _JOBS, "per_minute": _RATE},
        ),
        Maker(
            "like",
            "jobs drawn out of a trace",
            f"{_HERE}:of_trace",
            {"file": MakerKey("file", Path, "the trace"), "jobs": _JOBS, "per_minute": _RATE},
        ),
    )
}


def maker(name: str) -> Maker:
    """The maker of that name; UserError when there is none."""
    if name not in MAKERS:
        raise UserError(f"there is no maker {name!r}", hint=did_you_mean(name, MAKERS))
    return MAKERS[name]
