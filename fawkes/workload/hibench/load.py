"""HiBench's programs with their sizes: from a profile, from bytes, from a checkout or from an own short TOML.

``workload_of`` gives the MR-jobs for the simulator, ``programs`` the jobs for a live MR-cluster. Each ratio has its
source in `fawkes.workload.making.classes`, or here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from fawkes.base.errors import UserError
from fawkes.config.files.fields import SizeBytes
from fawkes.config.files.loader import Faults, Strict, did_you_mean
from fawkes.config.files.loader import load as load_file
from fawkes.workload.hibench.conf import Conf, Profile, shipped_profile
from fawkes.workload.making.classes import APPLICATIONS, DISK, HIBENCH, KnownClasses, Stage, jobs_of, label_of
from fawkes.workload.model import Trace, TraceJob

WORKLOADS: Mapping[str, str] = {
    "wordcount": "micro/wordcount",
    "sort": "micro/sort",
    "terasort": "micro/terasort",
    "pagerank": "websearch/pagerank",
    "kmeans": "ml/kmeans",
}
"""The programs by the name that they have here, and HiBench's names."""

TERASORT_RECORD_BYTES = 100
#: of one line that data.py makes: 464,678 bytes for 20,000 pages, 2,783,717 for 20,000 samples of 20 dimensions
#: (HiBench's own samples take 20.6 bytes for each coordinate: 66 GB for 160 million samples)
PAGE_BYTES = 23
COORDINATE_BYTES = 7

#: hibench.default.shuffle.parallelism as HiBench ships it
REDUCES = 8

_ONE = KnownClasses(1, HIBENCH)
#: HiBench's paper measured 139 GB of shuffle for 1 TB, compressed; not compressed it is the input
_TERASORT = Stage("", DISK, _ONE, _ONE, _ONE)
_CODES: Mapping[str, str] = {"wordcount": "WC", "sort": "ST", "pagerank": "PR", "kmeans": "KM"}

Name = Literal["wordcount", "sort", "terasort", "pagerank", "kmeans"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program and its size. ``count`` is of records, pages or samples, 0 where only bytes matter.

    ``size_bytes`` is what its input has, for pages and samples nearly so (the lines differ in length).
    """

    name: str
    size_bytes: int
    count: int = 0
    iterations: int = 1
    dimensions: int = 20
    clusters: int = 5
    k: int = 10
    seed: int = 1
    files: int = 4
    reduces: int = REDUCES


def of_profile(name: str, profile: str) -> Program:
    """A program in one of HiBench's own profiles; UserError with the known names when there is none."""
    return of_parameters(name, shipped_profile(_workload(name), profile))


def of_checkout(name: str, conf: Conf) -> Program:
    """A program as a checkout has it: its profile, reduces and files."""
    program = of_parameters(name, conf.parameters())
    return replace(
        program,
        reduces=conf.number("hibench.default.shuffle.parallelism"),
        files=conf.number("hibench.default.map.parallelism"),
    )


def of_parameters(name: str, parameters: Profile) -> Program:
    """A program with the parameters of a profile; UserError names one that is missing or no whole number."""

    def number(key: str) -> int:
        text = parameters.get(key, "")
        if not text.isdecimal():
            raise UserError(f"{key} is {text!r}, not a whole number", where=_workload(name))
        return int(text)

    if name == "terasort":
        return _counted(name, number("datasize"))
    if name == "pagerank":
        return replace(_counted(name, number("pages")), iterations=number("num_iterations"))
    if name == "kmeans":
        shape = {"dimensions": number("dimensions"), "clusters": number("num_of_clusters"), "k": number("k")}
        return replace(_counted(name, number("num_of_samples"), **shape), iterations=number("max_iteration"))
    return Program(name=name, size_bytes=number("datasize"))


def of_size(name: str, size_bytes: int, *, iterations: int | None = None, dimensions: int = 20) -> Program:
    """A program of so many bytes of input, as the paper gives sizes; UserError when that is nothing."""
    _workload(name)
    unit = _unit_bytes(name, dimensions)
    if size_bytes < unit:
        raise UserError(f"{size_bytes} bytes are too little input for {name}", hint=f"It needs {unit} bytes or more")
    default = 1 if name not in _CODES else round(APPLICATIONS[_CODES[name]].iterations.value)
    return Program(
        name=name,
        size_bytes=size_bytes,
        count=0 if name in ("wordcount", "sort") else size_bytes // unit,
        iterations=default if iterations is None else iterations,
        dimensions=dimensions,
    )


def _counted(name: str, count: int, *, dimensions: int = 20, clusters: int = 5, k: int = 10) -> Program:
    return Program(
        name=name,
        size_bytes=count * _unit_bytes(name, dimensions),
        count=count,
        dimensions=dimensions,
        clusters=clusters,
        k=k,
    )


def _unit_bytes(name: str, dimensions: int) -> int:
    known = {"terasort": TERASORT_RECORD_BYTES, "pagerank": PAGE_BYTES, "kmeans": COORDINATE_BYTES * dimensions}
    return known.get(name, 1)


def _workload(name: str) -> str:
    if name not in WORKLOADS:
        raise UserError(f"there is no program {name!r}", hint=did_you_mean(name, WORKLOADS))
    return WORKLOADS[name]


Positive = Annotated[int, Field(ge=1)]


class ProgramTable(Strict):
    """``[[program]]`` of an own file."""

    name: Name
    profile: str | None = Field(default=None, description="one of HiBench's, or size")
    size: SizeBytes | None = Field(default=None, description="bytes of input, as the paper's sizes match no profile")
    iterations: Positive | None = None
    dimensions: Positive = 20
    k: Positive | None = None
    seed: Annotated[int, Field(ge=0)] = 1
    files: Positive = 4
    reduces: Positive = REDUCES


class ProgramsFile(Strict):
    """An own file of programs."""

    program: list[ProgramTable] = Field(min_length=1)


def load_programs(path: Path) -> tuple[Program, ...]:
    """The programs of an own TOML file; ConfigError names file, key and value of what is wrong."""
    faults = Faults(path)
    programs = []
    for number, table in enumerate(load_file(ProgramsFile, path).program, 1):
        if (table.profile is None) == (table.size is None):
            faults.add("give either profile or size", f"program[#{number}]", 'size = "1GB", or profile = "small"')
            continue
        try:
            programs.append(_of_table(table))
        except UserError as error:
            key = "profile" if table.profile else "size"
            faults.add(error.what, f"program[#{number}].{key}", error.hint)
    faults.refuse()
    return tuple(programs)


def _of_table(table: ProgramTable) -> Program:
    if table.profile is not None:
        program = of_profile(table.name, table.profile)
    else:
        program = of_size(table.name, table.size or 0, dimensions=table.dimensions)
    return replace(
        program,
        iterations=table.iterations or program.iterations,
        k=table.k or program.k,
        seed=table.seed,
        files=table.files,
        reduces=table.reduces,
    )


def workload_of(
    chosen: Sequence[Program],
    *,
    order: Literal["sequential", "together"] = "sequential",
    think_us: int = 0,
    cluster: str = "",
) -> Trace:
    """The MR-jobs of the programs: those of one program one after another, the programs so as well or ``together``.

    Maps are by blocks of 128 MiB; shuffle and output are parts of each job's input. ``cluster`` is the MR-cluster that
    runs them.
    """
    jobs: list[TraceJob] = []
    names: dict[str, int] = {}
    for program in chosen:
        names[program.name] = names.get(program.name, 0) + 1
        number = f"-{names[program.name]}" if names[program.name] > 1 else ""
        behind = (jobs[-1].id,) if jobs and order == "sequential" else ()
        jobs += _chain(program, f"{program.name}{number}", behind, think_us)
    return Trace(source="HiBench", jobs=tuple(replace(job, cluster=cluster) for job in jobs))


def _chain(program: Program, name: str, after: tuple[str, ...], think_us: int) -> list[TraceJob]:
    first, *others = jobs_of(name, _stages(program), program.size_bytes, lambda _: program.reduces, after=after)
    return [replace(first, think_us=think_us) if after else first, *others]


def _stages(program: Program) -> list[tuple[str, Stage]]:
    """The MR-jobs one after another, each with what the simulator calls its application."""
    if program.name == "terasort":
        return [("TS", _TERASORT)]
    app = APPLICATIONS[_CODES[program.name]]
    stages = app.stages[: app.looped] * program.iterations + app.stages[app.looped :]
    return [(label_of(app, stage), stage) for stage in stages]
