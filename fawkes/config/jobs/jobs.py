"""Job files: MR-jobs as they are submitted, checked before anything is sent."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainValidator

from fawkes.base.errors import UserError
from fawkes.base.paths import is_name
from fawkes.base.reading import MIB, is_file
from fawkes.base.units import show_duration
from fawkes.config.clusters.details import ENV_SECRET, FILE_SECRET, SITE_SECRET, JobDetails, SleepTasks, TaskArray
from fawkes.config.files.fields import (
    Attempts,
    Cores,
    DeadlineUs,
    Line,
    MaybeTasks,
    Name,
    Part,
    Positive,
    PositiveDurationUs,
    RemoteFolder,
    Retries,
    SizeBytes,
    Tasks,
    TaskTimeUs,
    Text,
    between,
)
from fawkes.config.files.loader import Faults, Strict, check, read_toml, written, wrong
from fawkes.config.jobs import arrays, profiles, streams
from fawkes.config.jobs.checks import check_details, check_kind, refuse_tags
from fawkes.config.jobs.jars import RELEASE_JARS, starts_itself
from fawkes.config.jobs.kept import unkept_reason
from fawkes.config.jobs.tags import TAGS, file_sets_tags
from fawkes.core.values.model import ClusterId, JobId, JobSpec, StreamSpec

_IN_TURN = (
    "Leave it out: jobs begin in the order of the file. `fawkes replay` submits those of a workload at their times"
)
SLEEP_CLASS = "org.apache.hadoop.mapreduce.SleepJob"

_SECRETS = {
    ENV_SECRET: re.compile(r"[A-Za-z_][A-Za-z0-9_]*"),
    FILE_SECRET: re.compile(r"[^\0]+"),
    SITE_SECRET: re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*"),
}


def _words(value: object) -> list[str]:
    if not isinstance(value, list):
        raise wrong(f"{value!r} is no list of arguments", 'Write each argument by itself: ["-m", "4"]')
    for word in value:
        if isinstance(word, bool) or not isinstance(word, str | int):
            hint = "Put it in quotes as the program shall read it"
            if isinstance(word, Mapping):
                hint = "Others see the arguments of a program: give a secret in [job.properties]"
            raise wrong(f"{word!r} is no argument", hint)
        if "\0" in str(word):
            raise wrong("an argument has a NUL character in it", "No program can be given one")
    return [str(word) for word in value]


def _list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _properties(value: object) -> dict[str, str | dict[str, str]]:
    if not isinstance(value, Mapping):
        raise wrong(f"{value!r} is no table", "Write [job.properties] and quoted keys below it")
    texts: dict[str, str | dict[str, str]] = {}
    for key, entry in value.items():
        if isinstance(entry, Mapping) and len(entry) == 1 and next(iter(entry)) in _SECRETS:
            texts[key] = _reference(key, dict(entry))
            continue
        if not isinstance(entry, str | int | float):
            raise wrong(
                f"{key} = {entry!r} is no value for Hadoop", 'Put keys with dots in quotes: "mapreduce.map.memory.mb"'
            )
        texts[key] = str(entry).lower() if isinstance(entry, bool) else str(entry)
    return texts


def _reference(key: str, said: dict[str, object]) -> dict[str, str]:
    """The place where a secret is."""
    ((kind, name),) = said.items()
    if not isinstance(name, str) or not _SECRETS[kind].fullmatch(name):
        hint = 'Write { env = "NAME" }, { file = "path" } or { secret = "name" }'
        raise wrong(f"{key} = {{ {kind} = {name!r} }} names no secret", hint)
    if key == TAGS:
        raise wrong(f"{key} is a secret", "Fawkes adds a tag of its own to it: write its value")
    return {kind: name}


class JobTable(Strict):
    """All keys of a job."""

    id: Name | None = Field(
        default=None,
        description="its name, used once for good; without it that of the file, with an ending that is new each time",
    )
    title: Line = Field(default="", description="a line for people")
    kind: Literal["jar", "class", "streaming", "script", "pig", "spark", "stream", "tasks", "sleep"] = Field(
        description="what the job is"
    )
    jar: Text | None = Field(
        default=None, description="a jar beside this file, or examples, streaming, jobclient-tests"
    )
    main_class: Text | None = Field(default=None, alias="class", description="the class with main()")
    args: Annotated[list[str], PlainValidator(_words)] = Field(
        default=[], description='the arguments of the program; "$@" in the command (script)'
    )
    mapper: Text | None = Field(default=None, description="the mapper's command (streaming)")
    combiner: Text | None = Field(default=None, description="the combiner's command (streaming)")
    reducer: Text | None = Field(default=None, description="the reducer's command (streaming)")
    input: Annotated[list[RemoteFolder], BeforeValidator(_list)] = Field(
        default=[], description="folders in HDFS that the job reads; data demand counts their bytes"
    )
    output: RemoteFolder | None = Field(
        default=None, description="the folder in HDFS that the job writes (streaming, tasks)"
    )
    command: Text | None = Field(
        default=None, description="a command for /bin/sh: on the master (script), or of each task (tasks)"
    )
    pig: Text | None = Field(
        default=None, description="a file of Pig Latin beside this file; args are Pig's own, such as -param (pig)"
    )
    python: Text | None = Field(default=None, description="a Python file beside this file (spark, stream)")
    memory_bytes: SizeBytes | None = Field(default=None, alias="memory", description="of each task (tasks)")
    cpus: Cores | None = Field(default=None, description="CPUs of each task, if they matter (tasks)")
    priority: Annotated[int, between(0, arrays.MOST_PRIORITY, "YARN has these here")] = Field(
        default=0, description="higher ones leave the queue first, and YARN gives them free room first (tasks)"
    )
    checkpoint: Annotated[str, BeforeValidator(arrays.checkpoint)] = Field(
        default="none", description="how tasks are saved when they must leave (tasks)"
    )
    task_attempts: Attempts = Field(default=3, description="failures of a task that fail the job (tasks)")
    task_time_us: TaskTimeUs | None = Field(
        default=None, alias="task_time", description="of each task, if known: for the simulator (tasks)"
    )
    executors: Tasks | None = Field(default=None, description="of a stream, at least (stream)")
    most_executors: Tasks | None = Field(default=None, description="of a stream, at most (stream)")
    batch_us: PositiveDurationUs | None = Field(
        default=None, alias="batch", description="the time in which each batch is to be done (stream)"
    )
    guarantee: Part = Field(
        default=1.0,
        description="the part of the MR-cluster that it may claim; more is lent while nobody waits (stream)",
    )
    monitor: streams.Monitor = Field(default=streams.Monitor(), description="when its monitor acts (stream)")
    maps: Tasks | None = Field(default=None, description="map tasks (sleep)")
    map_time_us: TaskTimeUs | None = Field(default=None, alias="map_time", description="of each map (sleep)")
    reduces: MaybeTasks | None = Field(default=None, description="reduce tasks, 1 if not given (sleep)")
    reduce_time_us: TaskTimeUs | None = Field(
        default=None, alias="reduce_time", description="of each reduce task, 1 s if not given (sleep)"
    )
    files: list[str] = Field(default=[], description="files beside this file that go along")
    properties: Annotated[dict[str, str | dict[str, str]], PlainValidator(_properties)] = Field(
        default={}, description='Hadoop\'s keys for this job, as -D gives them; a secret is named: { env = "NAME" }'
    )
    retries: Retries = Field(default=0, description="how often it is tried again after a failure")
    time_limit_us: PositiveDurationUs | None = Field(default=None, alias="time_limit", description="when it is stopped")
    deadline_us: DeadlineUs | None = Field(
        default=None, alias="deadline", description="by when it must have ended, counted from its submission"
    )
    reference_time_us: PositiveDurationUs | None = Field(
        default=None, alias="reference_time", description="its time on a static MR-cluster of minimum size"
    )
    profile: Text | None = Field(
        default=None, description="its profile, NAME or NAME:3: quotas give it the cores to end on its deadline (spark)"
    )
    profile_size: Positive | None = Field(
        default=None, description="its data as a multiple of the profile's, 1 if not given (spark)"
    )
    tasks: Tasks | None = Field(
        default=None, description="its number of tasks, if known; how many copies of the command run (tasks)"
    )
    input_size: SizeBytes | None = Field(default=None, description="its bytes of input, if known")


class JobsFile(Strict):
    """A file of several jobs."""

    job: list[JobTable] = Field(min_length=1, description="the jobs, in the order of their submission")


def load_jobs(path: Path, cluster: str, profiles_dir: Path | None = None) -> tuple[JobSpec, ...]:
    """The jobs in a file: one at the top, or several ``[[job]]``; ConfigError names all that is wrong.

    ``profiles_dir`` is the site's folder of profiles; None: there is no site, and jobs with a profile are refused.
    """
    said = read_toml(path, hint="Name a job file, or give the job by options")
    if "job" not in said:
        of_file: dict[str, Any] = {"cluster": cluster, "file": str(path), "folder": path.parent}
        return (job_of(said, **of_file, default_id=path.stem, profiles_dir=profiles_dir),)
    faults = Faults(path)
    for number, row in enumerate(said["job"] if isinstance(said["job"], list) else [], 1):
        if isinstance(row, Mapping):
            _refuse_arrival(row, faults, f"job[{row.get('id', f'#{number}')}].")
    faults.refuse()
    tables = check(JobsFile, said, file=str(path)).job
    jobs: list[JobSpec] = []
    taken: set[str] = set()
    for index, table in enumerate(tables):
        key = f"job[{table.id or f'#{index + 1}'}]"
        job = job_spec(table, cluster=cluster, file=str(path), folder=path.parent, key=key, profiles_dir=profiles_dir)
        if job.id in taken:
            faults.add(f"two jobs have the id {job.id!r}", f"{key}.id", "Give each its own")
        taken.add(job.id)
        jobs.append(job)
    faults.refuse()
    return tuple(jobs)


def job_of(
    said: Mapping[str, Any],
    *,
    cluster: str,
    file: str,
    folder: Path,
    default_id: str = "",
    profiles_dir: Path | None = None,
) -> JobSpec:
    """The job that a table says, such as one made from the command line (``file`` is for the errors)."""
    faults = Faults(file)
    _refuse_arrival(said, faults)
    faults.refuse()
    table = check(JobTable, {"id": default_id, **said} if default_id else said, file=file)
    return job_spec(table, cluster=cluster, file=file, folder=folder, profiles_dir=profiles_dir)


def _refuse_arrival(said: Mapping[str, Any], faults: Faults, place: str = "") -> None:
    """Only `fawkes replay` and `fawkes simulate` submit jobs at times of their own."""
    for key in ("after", "delay", "every", "count"):
        if key in said:
            faults.add("means something in a workload alone", f"{place}{key}", _IN_TURN)


def job_spec(
    table: JobTable,
    *,
    cluster: str,
    file: str,
    folder: Path,
    key: str = "",
    suffix: str = "",
    profiles_dir: Path | None = None,
) -> JobSpec:
    """The job of a checked table (``key`` is its place in ``file``); local paths are relative to ``folder``.

    ``suffix`` goes behind the id; ``{id}`` in arguments, output and command becomes the whole id. ConfigError for
    whatever is wrong, a jar or file that does not exist included.
    """
    faults = Faults(file, key)
    name = f"{table.id or ''}{suffix}"
    if table.id is None:
        faults.add("is missing", "id", "Give the job a name")
    elif not is_name(name):
        faults.add(f"{name!r} is too long", "id", "Leave room for the numbers of its repetitions")
    check_kind(table.kind, written(table), faults)
    details = _profiled(table, _details(table, folder, faults), profiles_dir, faults)
    details = replace(
        details,
        args=tuple(arg.replace("{id}", name) for arg in details.args),
        output=details.output.replace("{id}", name),
        command=details.command.replace("{id}", name),
    )
    _check_class(table, folder, faults)
    _check_files(details, faults)
    check_details(details, faults)
    _check_deadline(table, details, faults)
    stream = _stream(table, faults)
    faults.refuse()
    sleep = details.sleep
    count = table.tasks or (sleep.maps + sleep.reduces if sleep else None)
    return JobSpec(
        id=JobId(name),
        cluster=ClusterId(cluster),
        retries=table.retries,
        time_limit_us=table.time_limit_us,
        reference_us=table.reference_time_us,
        tasks=count or 1,
        tasks_estimated=count is None,
        input_bytes=0 if sleep else table.input_size,
        details=details.plain(),
        deadline_us=table.deadline_us,
        unkept=unkept_reason(details),
        priority=streams.PRIORITY if stream is not None and "priority" not in written(table) else table.priority,
        saves=details.array is not None and details.array.checkpoint != arrays.NO_CHECKPOINT,
        stream=stream,
    )


def without_tasks(spec: JobSpec) -> str:
    """A warning on a job with a deadline whose number of tasks is not known; empty for all others."""
    if spec.deadline_us is None or not spec.tasks_estimated:
        return ""
    return (
        f"the number of tasks of {spec.id} is not known: it counts as 1 task, and no policy learns from it. "
        "Give `tasks` (--tasks)"
    )


def _check_deadline(table: JobTable, details: JobDetails, faults: Faults) -> None:
    """Tasks of a job that sleeps have known times: no number of CPUs makes it shorter than one map and one reduce."""
    sleep, array = details.sleep, details.array
    if sleep is not None:
        least_us = sleep.map_us + (sleep.reduce_us if sleep.reduces else 0)
        shortest = "one map and one reduce take" if sleep.reduces else "one map takes"
    else:
        least_us, shortest = (array.task_us if array else 0), "one task takes"
    if table.deadline_us is not None and table.deadline_us < least_us:
        faults.add(
            f"no number of CPUs could meet {show_duration(table.deadline_us)}: {shortest} {show_duration(least_us)}",
            "deadline",
            f"Give at least {show_duration(least_us)}",
        )


def _check_files(details: JobDetails, faults: Faults) -> None:
    """The texts that go along must not set tags, as the command must not."""
    for key, name in (*((("pig", details.pig),) if details.pig else ()), *(("files", name) for name in details.files)):
        refuse_tags(key, name, file_sets_tags(Path(name)), faults)


def _check_class(table: JobTable, folder: Path, faults: Faults) -> None:
    """`hadoop jar` runs the class that a jar names itself: any other would only be the first argument of that."""
    own = "" if table.kind != "jar" or not table.main_class else starts_itself(table.jar or "", folder)
    if own:
        faults.add(
            f"{table.main_class} would not run: the jar starts {own}, and takes the class as an argument",
            "class",
            f'Use kind = "class" to run {table.main_class} with the jar on its class path, or leave class out',
        )


def _stream(table: JobTable, faults: Faults) -> StreamSpec | None:
    """The limits of a stream; None for all other jobs."""
    if table.kind != streams.KIND:
        return None
    if table.deadline_us is not None:
        faults.add("means nothing for a stream, which has no end", "deadline", "Leave it out")
    least, most, batch_us = table.executors, table.most_executors, table.batch_us
    if least is None or most is None or batch_us is None:
        return None
    if least > most:
        faults.add(f"{least} is more than most_executors ({most})", "executors", "Give at most as many")
    thresholds = streams.thresholds(table.monitor, least, faults)
    if thresholds is None:
        return None
    return StreamSpec(least=least, most=most, batch_us=batch_us, guarantee=table.guarantee, thresholds=thresholds)


def _profiled(table: JobTable, details: JobDetails, profiles_dir: Path | None, faults: Faults) -> JobDetails:
    """The details with the whole profile: quotas need no file of it, whatever becomes of that."""
    if table.profile is None:
        if table.profile_size is not None:
            faults.add("means nothing without a profile", "profile_size", "Give `profile` as well, or leave it out")
        return details
    if table.deadline_us is None:
        faults.add("means nothing without a deadline", "profile", "Give `deadline`: quotas end an application on it")
    if profiles_dir is None:
        faults.add("only a site has profiles", "profile", "Submit the job by itself with `fawkes submit`")
        return details
    try:
        profile = profiles.load(profiles_dir, table.profile)
    except UserError as error:
        faults.add(f"{error.where}: {error.what}" if error.where else error.what, "profile", error.hint)
        return details
    return replace(details, profile=profile.plain(), profile_size=table.profile_size or 1.0)


def _details(table: JobTable, folder: Path, faults: Faults) -> JobDetails:
    common: dict[str, Any] = {
        "title": table.title,
        "files": tuple(_local(name, folder, "files", faults) for name in table.files),
        "properties": {key: value for key, value in table.properties.items() if isinstance(value, str)},
        "secrets": {key: _beside(value, folder) for key, value in table.properties.items() if isinstance(value, dict)},
    }
    if table.kind == "sleep":
        return _sleep(table, common)
    from_release = table.jar in RELEASE_JARS
    jar = "" if table.jar is None or from_release else _local(table.jar, folder, "jar", faults)
    return JobDetails(
        **common,
        python="" if table.python is None else _local(table.python, folder, "python", faults),
        kind=table.kind,
        jar=jar,
        release_jar=(table.jar or "") if from_release else "",
        main_class=table.main_class or "",
        args=tuple(table.args),
        mapper=table.mapper or "",
        combiner=table.combiner or "",
        reducer=table.reducer or "",
        inputs=tuple(table.input),
        output=table.output or "",
        command=table.command or "",
        array=_array(table) if table.kind == arrays.KIND else None,
        pig="" if table.pig is None else _local(table.pig, folder, "pig", faults),
    )


def _beside(reference: dict[str, str], folder: Path) -> dict[str, str]:
    """A file is relative to that of the job, and read by the controller when the job begins."""
    if FILE_SECRET not in reference:
        return reference
    return {FILE_SECRET: os.path.realpath(folder / os.path.expanduser(reference[FILE_SECRET]))}


def _array(table: JobTable) -> TaskArray:
    return TaskArray(
        # YARN counts in MiB.
        memory_mb=-(-(table.memory_bytes or 1) // MIB),
        cpus=table.cpus or 0,
        priority=table.priority,
        attempts=table.task_attempts,
        task_us=table.task_time_us or 0,
        checkpoint=table.checkpoint,
    )


def _sleep(table: JobTable, common: Mapping[str, Any]) -> JobDetails:
    tasks = SleepTasks(
        maps=table.maps or 1,
        map_us=table.map_time_us or 0,
        reduces=1 if table.reduces is None else table.reduces,
        reduce_us=table.reduce_time_us or 1_000_000,
    )
    args = ("-m", tasks.maps, "-r", tasks.reduces, "-mt", tasks.map_us // 1000, "-rt", tasks.reduce_us // 1000)
    return JobDetails(
        **common,
        kind="class",
        release_jar="jobclient-tests",
        main_class=SLEEP_CLASS,
        args=tuple(str(arg) for arg in args),
        sleep=tasks,
    )


def _local(name: str, folder: Path, key: str, faults: Faults) -> str:
    """The absolute path, its last name as it is written: what a link leads to arrives under the name of the link."""
    written_as = folder / os.path.expanduser(name)
    path = Path(os.path.realpath(written_as.parent), written_as.name)
    if not is_file(path):
        also = f", or one of {', '.join(RELEASE_JARS)}" if key == "jar" else ""
        faults.add(f"there is no file {str(path)!r}", key, f"Name a file of this machine{also}")
    return str(path)
