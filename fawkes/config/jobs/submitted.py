"""Jobs as requests to the controller give them: checked as those of files are, by the same keys and bounds."""

from __future__ import annotations

from typing import Any

from fawkes.base.errors import ConfigError
from fawkes.config.clusters.details import JobDetails
from fawkes.config.files.fields import MOST_TASKS
from fawkes.config.files.loader import Faults, check, did_you_mean, written
from fawkes.config.jobs.checks import check_details, check_kind, files_of
from fawkes.config.jobs.jars import RELEASE_JARS
from fawkes.config.jobs.jobs import JobTable
from fawkes.core.quota.profile import profile_of
from fawkes.core.values.model import Facts, JobSpec

_MOST = (1 << 63) - 1
#: no time of a job is longer, and such times can be added to one of day
_MOST_US = 10**17
_BOUNDS = {
    "retries": 1_000,
    "input_bytes": _MOST,
    "priority": _MOST,
    **dict.fromkeys(("time_limit_us", "deadline_us", "reference_us", "work_us"), _MOST_US),
}


def refuse_unsound(spec: JobSpec, file: str) -> None:
    """ConfigError for what no job file could say, mostly by its key there; ``file`` is for the errors.

    No file is read: whoever asks may not be allowed to read it.
    """
    details, faults = JobDetails.of(spec.details), Faults(file)
    known = JobDetails.__dataclass_fields__
    for key in sorted(spec.details.keys() - known):
        faults.add("is unknown", f"spec.details.{key}", did_you_mean(key, known))
    # Maps and reduces of a job that only sleeps or plays a load: each may be so many.
    tasks = MOST_TASKS * (2 if details.sleep or _plays(details) else 1)
    for key, most in {**_BOUNDS, "tasks": tasks}.items():
        if abs(getattr(spec, key) or 0) > most:
            faults.add("is too large", f"spec.{key}", f"It may be at most {most:,}")
    if details.kind == "sleep":
        what = "'sleep' is a kind of files alone"
        faults.add(what, "kind", "`fawkes submit CLUSTER FILE --dry-run -o json` shows such a file as a request")
    faults.refuse()
    table = check(JobTable, _said(spec, details), file=file)
    check_kind(table.kind, written(table), faults)
    if details.release_jar and details.release_jar not in RELEASE_JARS:
        faults.add(f"{details.release_jar!r} is not one of Hadoop's", "jar", f"Give one of {', '.join(RELEASE_JARS)}")
    for key, path in files_of(details):
        if not path.startswith("/"):
            faults.add(f"{path!r} is no absolute path", key, "Begin it with '/'")
    if details.profile and not _plays(details):
        _check_profile(spec, details.profile, faults)
    if spec.stream is not None and spec.stream.least > spec.stream.most:
        faults.add(f"{spec.stream.least} is more than most_executors ({spec.stream.most})", "executors")
    check_details(details, faults)
    faults.refuse()


def _plays(details: JobDetails) -> bool:
    """True for a script that plays a load: its profile is the simulator's."""
    return details.kind == "script" and details.profile is not None


def _check_profile(spec: JobSpec, profile: Facts, faults: Faults) -> None:
    try:
        profile_of(profile, faults.file)
    except ConfigError as error:
        faults.add(error.what, f"profile.{error.key}", error.hint)
    if spec.deadline_us is None:
        faults.add("means nothing without a deadline", "profile", "Give `deadline`: quotas end an application on it")


def _said(spec: JobSpec, details: JobDetails) -> dict[str, Any]:
    """The job as keys of a file; what is empty is not there."""
    sleep, array, stream = details.sleep, details.array, spec.stream
    said: dict[str, Any] = {
        **{key: getattr(details, key) for key in ("title", "mapper", "combiner", "reducer", "output", "command")},
        **{key: getattr(details, key) for key in ("pig", "python")},
        "input": list(details.inputs),
        "files": list(details.files),
        "properties": {**details.properties, **details.secrets},
        "tasks": 0 if spec.tasks_estimated or sleep or _plays(details) else spec.tasks,
    }
    if sleep is None or details.kind != "class":
        said |= {"jar": details.jar or details.release_jar, "class": details.main_class, "args": list(details.args)}
    if sleep is not None:
        said |= {"maps": sleep.maps, "map_time": _ms(sleep.map_us), "reduce_time": _ms(sleep.reduce_us)}
    if array is not None:
        said |= {"memory": f"{array.memory_mb}MiB", "cpus": array.cpus, "priority": array.priority}
        said |= {"task_attempts": array.attempts, "checkpoint": array.checkpoint}
        said |= {"task_time": _ms(array.task_us) if array.task_us else ""}
    if stream is not None:
        said |= {"executors": stream.least, "most_executors": stream.most, "batch": _ms(stream.batch_us)}
        said |= {"guarantee": stream.guarantee, "priority": spec.priority}
    if details.profile is not None and not _plays(details):
        said |= {"profile": "given", "profile_size": details.profile_size}
    more = {} if sleep is None else {"reduces": sleep.reduces}
    kind = "sleep" if sleep is not None and details.kind == "class" else details.kind
    return {"kind": kind, **{key: value for key, value in said.items() if value}, **more}


def _ms(us: int) -> str:
    return f"{us // 1000}.{us % 1000:03d}ms"
