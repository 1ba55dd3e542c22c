"""Scenario files of the study: a cloud, the demands of frameworks, and who comes when. From TOML to checked values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fawkes.base.catalog import Kind, bundled_dir
from fawkes.base.errors import ConfigError, UserError
from fawkes.config.files.loader import Faults, check, did_you_mean, read_toml
from fawkes.config.workloads.interference import (
    BundleTable,
    CloudTable,
    FrameworkJobTable,
    FrameworkTable,
    InterferenceTable,
    IsolatedTable,
)
from fawkes.offline.studies.interference.values import (
    Bundle,
    Cloud,
    Framework,
    FrameworkJob,
    FrameworkStage,
    InterferenceStudy,
    Keeps,
    Mode,
    Offers,
    Remedy,
)

MOST_TASKS = 20_000
"""The most tasks of all jobs of a scenario: each task is an event, and each event looks at all executors."""


@dataclass(frozen=True, slots=True)
class InterferenceScenario:
    """A checked scenario: the study without a remedy, and what belongs to single managers."""

    title: str
    study: InterferenceStudy
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


def load_scenario(path: Path, seed: int | None = None) -> InterferenceScenario:
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
        if job.at_us >= table.limit_us:
            faults.add("comes after the end of the run", f"job[#{number}].at", "Make `limit` longer")
    _refuse_too_large(study, faults)
    tasks = sum(stage.tasks for job in study.jobs for stage in job.stages)
    if tasks > MOST_TASKS:
        faults.add(f"{tasks:,} tasks are too many", "job", f"Give at most {MOST_TASKS:,} in all")
    faults.refuse()
    return InterferenceScenario(table.title or path.stem, study, table.isolated, table.admission, path)


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


def _refuse_too_large(study: InterferenceStudy, faults: Faults) -> None:
    """An executor that fits on no slave would wait for ever."""
    cloud = study.cloud.slave
    for framework in study.frameworks:
        needs = framework.on_slave(1)
        if framework.fits(cloud) and framework.floor.within(cloud):
            continue
        part = "floor" if framework.fits(cloud) else "executor"
        needed = framework.floor if framework.fits(cloud) else needs
        what = "the least offer" if framework.fits(cloud) else "an executor with one task"
        faults.add(
            f"{what} needs {_shown(needed)}, and a slave has {_shown(cloud)}",
            f"framework.{framework.name}.{part}",
            "Make it smaller, or give [cloud] larger slaves",
        )


def _shown(bundle: Bundle) -> str:
    return f"{bundle.cpu_milli / 1000:g} CPUs and {bundle.memory_mb} MB"


def _bundle(table: BundleTable | CloudTable) -> Bundle:
    return Bundle(round(table.cpu * 1000), table.memory_mb)


def _study(table: InterferenceTable, name: str, seed: int | None) -> InterferenceStudy:
    cloud = table.cloud
    return InterferenceStudy(
        name=name,
        cloud=Cloud(
            slaves=cloud.slaves,
            slave=_bundle(cloud),
            offers=Offers(cloud.offers),
            seed=cloud.seed if seed is None else seed,
        ),
        frameworks=tuple(_framework(key, row) for key, row in table.framework.items()),
        jobs=tuple(_job(number, row) for number, row in enumerate(table.job, 1)),
        remedy=Remedy.NONE,
        patience_us=table.patience_us,
        limit_us=table.limit_us,
    )


def _framework(name: str, table: FrameworkTable) -> Framework:
    return Framework(
        name=name,
        mode=Mode(table.mode),
        keeps=Keeps(table.keeps),
        executor=_bundle(table.executor),
        task=_bundle(table.task),
        floor=_bundle(table.floor),
        most=table.tasks_per_slave,
        greedy=table.greedy,
        start_us=table.start_us,
        start_step_us=table.start_step_us,
        start_task_us=table.start_task_us,
    )


def _job(number: int, table: FrameworkJobTable) -> FrameworkJob:
    stages = tuple(FrameworkStage(stage.tasks, stage.task_time_us) for stage in table.stages)
    return FrameworkJob(
        name=f"{table.framework}-{number}",
        framework=table.framework,
        at_us=table.at_us,
        stages=stages or (FrameworkStage(table.tasks or 1, table.task_time_us or 1),),
        deadline_us=table.deadline_us,
    )
