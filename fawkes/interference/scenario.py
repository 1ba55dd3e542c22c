"""Scenario files of the study: a cloud, the demands of frameworks, and who comes when. From TOML to checked values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from fawkes.catalog import Kind, bundled_dir
from fawkes.config.fields import DurationUs, Name, PositiveDurationUs, Seed, Tasks, TaskTimeUs, between
from fawkes.config.loader import Faults, Strict, check, did_you_mean, read_toml
from fawkes.errors import ConfigError, UserError
from fawkes.interference.values import Bundle, Cloud, Framework, Job, Keeps, Mode, Offers, Remedy, Stage, Study
from fawkes.units import SECOND_US

Cpus = Annotated[float, between(0, 1_000, "no slave has more CPUs")]
Megabytes = Annotated[int, between(0, 10**8, "no slave has more memory")]
Slaves = Annotated[int, between(1, 1_000, "each offer looks at every slave")]
Slots = Annotated[int, between(1, 1_000, "no slave runs more tasks at once")]

MOST_TASKS = 20_000
"""Of all jobs of a scenario: each task is an event, and each event looks at all executors."""


class BundleTable(Strict):
    """CPUs and memory."""

    cpu: Cpus = Field(default=0.0, description="CPUs, such as 0.5")
    memory_mb: Megabytes = Field(default=0, description="megabytes of memory")


class CloudTable(Strict):
    """``[cloud]``: equal slaves under one manager."""

    slaves: Slaves = Field(description="how many slaves")
    cpu: Cpus = Field(description="CPUs of a slave")
    memory_mb: Megabytes = Field(description="megabytes of a slave")
    offers: Offers = Field(
        default=Offers.SLAVE,
        strict=False,
        description="slave: shares are compared before each offer; batch: once for all",
    )
    seed: Seed | None = Field(default=None, description="draws the order of slaves in each round; else their order")


class FrameworkTable(Strict):
    """``[framework.NAME]``: what a framework demands, as in Table 3.1."""

    mode: Mode = Field(strict=False, description="coarse or fine")
    keeps: Keeps = Field(default=Keeps.JOB, strict=False, description="until when executors stay: job or queue")
    executor: BundleTable = Field(description="what an executor takes of its slave")
    task: BundleTable = Field(description="what each task, slot or worker takes besides")
    floor: BundleTable = Field(default=BundleTable(), description="the least offer that it looks at")
    tasks_per_slave: Slots = Field(default=1_000, description="the most tasks at once on one slave")
    greedy: bool = Field(default=False, description="whether it takes all of an offer while it has a job")
    start_us: DurationUs = Field(default=0, alias="start", description="how long an executor takes to start")
    start_step_us: DurationUs = Field(
        default=0, alias="start_step", description="more time for each executor that the framework has already"
    )
    start_task_us: DurationUs = Field(
        default=0, alias="start_task", description="more time for each task of the job, for larger inputs"
    )


class StageTable(Strict):
    """``stages`` of a job: tasks of one length."""

    tasks: Tasks = Field(description="how many tasks")
    task_time_us: TaskTimeUs = Field(alias="task_time", description="how long each takes")


class JobTable(Strict):
    """``[[job]]``: a job of a framework; the first one registers the framework."""

    framework: Name = Field(description="the framework that runs it")
    at_us: DurationUs = Field(default=0, alias="at", description="when it comes, from the start of the run")
    tasks: Tasks | None = Field(default=None, description="how many tasks")
    task_time_us: TaskTimeUs | None = Field(default=None, alias="task_time", description="how long each takes")
    stages: list[StageTable] = Field(default=[], description="stages one after another, instead of tasks and task_time")
    deadline_us: PositiveDurationUs | None = Field(
        default=None, alias="deadline", description="until when it should end, from its coming; for M2"
    )


class IsolatedTable(Strict):
    """``[isolated]``: the same load on MR-clusters of their own, under Fawkes."""

    slots: Slots = Field(default=3, description="tasks at once on a node")
    min_nodes: Slots = Field(default=1, description="the minimum of each MR-cluster")
    policy: str = Field(default="TD", description="the weighting policy")


class InterferenceTable(Strict):
    """All keys of a scenario of the study."""

    title: str = Field(default="", description="what it shows")
    base: str | None = Field(
        default=None, alias="from", description="a file beside this one with [cloud], [framework.NAME] and [isolated]"
    )
    cloud: CloudTable = Field(description="the slaves: [cloud]")
    framework: dict[Name, FrameworkTable] = Field(min_length=1, description="the frameworks: [framework.NAME]")
    job: list[JobTable] = Field(min_length=1, description="who comes when: [[job]]")
    isolated: IsolatedTable = Field(default=IsolatedTable(), description="the MR-clusters of the comparison")
    admission: str = Field(default="oracle", description="the admission policy of M2: a name or the path of a file")
    patience_us: DurationUs = Field(
        default=10 * SECOND_US, alias="patience", description="how long M1 lets a share be violated"
    )
    limit_us: PositiveDurationUs = Field(
        default=24 * 3600 * SECOND_US, alias="limit", description="how long a run may take, in simulated time"
    )


@dataclass(frozen=True, slots=True)
class Scenario:
    """A checked scenario: the study without a remedy, and what belongs to single managers."""

    title: str
    study: Study
    isolated: IsolatedTable
    admission: str
    file: Path


def bundled() -> tuple[str, ...]:
    """The names of the scenarios that come with Fawkes."""
    files = sorted(_folder().glob("*.toml"))
    return tuple(path.stem for path in files if "from" in read_toml(path))


def _folder() -> Path:
    return bundled_dir(Kind.WORKLOAD) / Kind.WORKLOAD.value / "interference"


def path_of(name: str) -> Path:
    """The file of a scenario: a path, or the name of one that comes with Fawkes. UserError when there is none."""
    if "/" in name or name.endswith(".toml"):
        return Path(name).expanduser()
    if name in bundled():
        return _folder() / f"{name}.toml"
    hint = f"{did_you_mean(name, bundled())} Or give the path of a .toml file"
    raise UserError(f"there is no scenario {name!r}", hint=hint)


def load_scenario(path: Path, seed: int | None = None) -> Scenario:
    """The scenario in a file; ``seed`` wins over the file's.

    ConfigError names file, key, value and what would be right.
    """
    said = read_toml(path, hint=f"Known: {', '.join(bundled())}")
    base = said.get("from")
    if isinstance(base, str):
        said = _based(said, path, base)
    table = check(InterferenceTable, said, file=str(path))
    faults = Faults(path)
    study = _study(table, path.stem, seed)
    for name in dict.fromkeys(job.framework for job in table.job if job.framework not in table.framework):
        hint = did_you_mean(name, table.framework, kind="there are")
        faults.add(f"there is no framework {name!r}", "job.framework", hint)
    for number, job in enumerate(table.job, 1):
        if bool(job.stages) == (job.tasks is not None or job.task_time_us is not None):
            faults.add("needs stages, or tasks and task_time", f"job[#{number}]", "Give one of them")
        elif not job.stages and (job.tasks is None or job.task_time_us is None):
            missing = "tasks" if job.tasks is None else "task_time"
            faults.add("is missing", f"job[#{number}].{missing}", "Give tasks and task_time together")
    _refuse_too_large(study, faults)
    tasks = sum(stage.tasks for job in study.jobs for stage in job.stages)
    if tasks > MOST_TASKS:
        faults.add(f"{tasks:,} tasks are too many", "job", f"Give at most {MOST_TASKS:,} in all")
    faults.refuse()
    return Scenario(table.title or path.stem, study, table.isolated, table.admission, path)


def load_cloud(name: str) -> tuple[Cloud, tuple[Framework, ...]]:
    """The cloud and the frameworks of a file that comes with Fawkes: ``dev`` or ``prod`` of Table 3.1."""
    path = _folder() / f"{name}.toml"
    said = {**read_toml(path), "job": [{"framework": "hadoop", "tasks": 1, "task_time": "1s"}]}
    study = _study(check(InterferenceTable, said, file=str(path)), name, None)
    return study.cloud, study.frameworks


def _based(said: dict[str, Any], path: Path, base: str) -> dict[str, Any]:
    """The tables of a scenario over those of the file that it names; keys of its own win."""
    if Path(base).name != base:
        hint = "Put it beside this file and give its name"
        raise ConfigError(f"{base!r} is not beside this file", file=str(path), key="from", hint=hint)
    below = read_toml(path.parent / base, hint=f"from of {path} names it")
    merged = {**below, **said}
    for key in ("cloud", "framework", "isolated"):
        if isinstance(below.get(key), dict) and isinstance(said.get(key), dict):
            merged[key] = {**below[key], **said[key]}
    if "from" in below:
        raise ConfigError("refers to another file, and is referred to", file=str(path.parent / base), key="from")
    return merged


def _refuse_too_large(study: Study, faults: Faults) -> None:
    """An executor that fits on no slave would wait for ever."""
    cloud = study.cloud.slave
    for one in study.frameworks:
        needs = one.on_slave(1)
        if one.fits(cloud) and one.floor.within(cloud):
            continue
        part = "floor" if one.fits(cloud) else "executor"
        needed = one.floor if one.fits(cloud) else needs
        what = "the least offer" if one.fits(cloud) else "an executor with one task"
        faults.add(
            f"{what} needs {_shown(needed)}, and a slave has {_shown(cloud)}",
            f"framework.{one.name}.{part}",
            "Make it smaller, or give [cloud] larger slaves",
        )


def _shown(bundle: Bundle) -> str:
    return f"{bundle.cpu_milli / 1000:g} CPUs and {bundle.memory_mb} MB"


def _bundle(table: BundleTable | CloudTable) -> Bundle:
    return Bundle(round(table.cpu * 1000), table.memory_mb)


def _study(table: InterferenceTable, name: str, seed: int | None) -> Study:
    cloud = table.cloud
    return Study(
        name=name,
        cloud=Cloud(
            slaves=cloud.slaves,
            slave=_bundle(cloud),
            offers=cloud.offers,
            seed=cloud.seed if seed is None else seed,
        ),
        frameworks=tuple(_framework(key, one) for key, one in table.framework.items()),
        jobs=tuple(_job(number, one) for number, one in enumerate(table.job, 1)),
        remedy=Remedy.NONE,
        patience_us=table.patience_us,
        limit_us=table.limit_us,
    )


def _framework(name: str, table: FrameworkTable) -> Framework:
    return Framework(
        name=name,
        mode=table.mode,
        keeps=table.keeps,
        executor=_bundle(table.executor),
        task=_bundle(table.task),
        floor=_bundle(table.floor),
        most=table.tasks_per_slave,
        greedy=table.greedy,
        start_us=table.start_us,
        start_step_us=table.start_step_us,
        start_task_us=table.start_task_us,
    )


def _job(number: int, table: JobTable) -> Job:
    stages = tuple(Stage(one.tasks, one.task_time_us) for one in table.stages)
    return Job(
        name=f"{table.framework}-{number}",
        framework=table.framework,
        at_us=table.at_us,
        stages=stages or (Stage(table.tasks or 1, table.task_time_us or 1),),
        deadline_us=table.deadline_us,
    )
