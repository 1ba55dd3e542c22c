"""Writing workloads for other programs: what each format can hold, and what it loses of a workload."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from fawkes.base.errors import UserError
from fawkes.base.units import SECOND_US
from fawkes.config.files.loader import did_you_mean
from fawkes.workload.formats import table
from fawkes.workload.formats.swim import maps_of
from fawkes.workload.model import Trace, TraceJob, out_of_range
from fawkes.workload.reading.files import whole
from fawkes.workload.tasks import MS_US

_HOSTS = 100
"""How many hosts tasks are spread over where a format wants a name for each; SLS makes a node of each name."""


Lost = Callable[[Trace], int]
"""The number of jobs that lose something."""


@dataclass(frozen=True, slots=True)
class TraceWriter:
    """A format that can be written: fields that every job must have, and what is lost, with the jobs that lose it.

    ``lines`` gives the file, line by line.
    """

    name: str
    needs: tuple[str, ...]
    loses: Mapping[str, Lost]
    lines: Callable[[Trace], Iterable[str]]


def write(trace: Trace, path: Path, form: str) -> tuple[str, ...]:
    """Writes a workload, whole or not at all, packed when the name ends in ``.gz``; what is lost, a sentence for each.

    UserError when there is no such format, it needs what some job does not have, or no reader would take a job's
    numbers.
    """
    for job in trace.jobs:
        if reason := out_of_range(job):
            what = f"job {job.id!r} would be one {reason}"
            raise UserError(what, where=trace.source, hint="Make sizes or times smaller")
    if form == table.NAME:
        table.write(trace, path)
        return ()
    if form not in WRITERS:
        raise UserError(f"cannot write {form!r}", where="format", hint=did_you_mean(form, NAMES))
    writer = WRITERS[form]
    for name in writer.needs:
        without = [job for job in trace.jobs if getattr(job, name) is None]
        if without:
            raise UserError(
                f"{len(without)} of {len(trace.jobs)} jobs have no {name}, which {form} needs (first: {without[0].id})",
                where=trace.source,
                hint=f"Formats that need less: {table.NAME}" + ("" if form == "swim" else ", swim"),
            )
    with whole(path) as out:
        for line in writer.lines(trace):
            out.write(f"{line}\n".encode())
    return tuple(_lost(trace, writer))


def _lost(trace: Trace, writer: TraceWriter) -> Iterator[str]:
    for name, lost in writer.loses.items():
        if count := lost(trace):
            yield f"{name} of {count} {'job' if count == 1 else 'jobs'}"


def _swim(trace: Trace) -> Iterator[str]:
    """The sampled form when it holds all that is known, else that of a job history."""
    sampled = all(_is_sampled(job) for job in trace.jobs)
    before_us = 0
    for job in trace.jobs:
        sizes = (job.input_bytes, job.shuffle_bytes, job.output_bytes)
        if sampled:
            yield _tabbed(job.id, _s(job.submit_us), _s(job.submit_us - before_us), *sizes)
            before_us = job.submit_us
            continue
        mine, theirs = _all(job.map_us, job.maps), _all(job.reduce_us, job.reduces)
        both = _s((mine or 0) + (theirs or 0))
        times = (_s(job.submit_us), _s(job.run_us), _s(mine), _s(theirs), both)
        yield _tabbed(job.id, job.application, *sizes, *times, job.maps, job.reduces)


def _is_sampled(job: TraceJob) -> bool:
    if None in (job.input_bytes, job.shuffle_bytes, job.output_bytes) or job.application or job.run_us is not None:
        return False
    as_read = (maps_of(job.input_bytes or 0), None if job.shuffle_bytes else 0)
    return (job.maps, job.reduces) == as_read and job.map_us is None and job.reduce_us is None


def _all(each_us: int | None, tasks: int | None) -> int | None:
    return None if each_us is None or tasks is None else each_us * tasks


def _tabbed(*values: object) -> str:
    return "\t".join("" if value is None else " ".join(str(value).split()) for value in values)


def _s(us: int | None) -> str | None:
    return None if us is None else table.seconds_text(us)


def _line(text: object) -> str:
    """A text in one line: what stood on a second one would be read as a job."""
    return " ".join(str(text).split())


def _swf(trace: Trace) -> Iterator[str]:
    """Jobs get numbers in their order, unless all ids are numbers; users and applications likewise."""
    jobs, users, applications = (
        _numbers(names)
        for names in (
            [job.id for job in trace.jobs],
            [job.user for job in trace.jobs],
            [job.application for job in trace.jobs],
        )
    )
    yield "; Version: 2.2"
    for key, value in trace.header.items():
        if key not in ("Version", "MaxJobs", "MaxRecords"):
            yield from (f"; {_line(key)}: {_line(line)}" for line in value.split("\n"))
    yield f"; MaxJobs: {len(trace.jobs)}"
    for what, numbers in (("user", users), ("executable", applications)):
        yield from (
            f"; Note: {what} {number} is {_line(name)}" for name, number in numbers.items() if name != str(number)
        )
    for job, preceding in _preceding(trace):
        columns: list[object] = [-1] * 18
        columns[0], columns[1] = jobs[job.id], _whole_s(job.submit_us)
        columns[3], columns[4], columns[7] = _whole_s(job.run_us), job.processors, job.processors
        columns[8] = -1 if job.requested_us is None else _whole_s(job.requested_us)
        columns[10] = 1
        columns[11], columns[13] = users.get(job.user, -1), applications.get(job.application, -1)
        if preceding:
            columns[16], columns[17] = jobs[preceding], _whole_s(job.think_us)
        yield " ".join(map(str, columns))


def _preceding(trace: Trace) -> Iterator[tuple[TraceJob, str]]:
    """Each job with the last of those it is after that stand on earlier lines; SWF has room for one ("": none)."""
    before: set[str] = set()
    for job in trace.jobs:
        yield job, next((other for other in reversed(job.after) if other in before), "")
        before.add(job.id)


def _numbers(names: Sequence[str]) -> dict[str, int]:
    """A number for each name that is not empty: itself when all are numbers, else in the order of appearance.

    Names with a zero before a number are none: ``01`` and ``1`` would be one.
    """
    known = list(dict.fromkeys(name for name in names if name))
    if all(name.isdecimal() and name.isascii() and (name == "0" or name[0] != "0") for name in known):
        return {name: int(name) for name in known}
    return {name: number for number, name in enumerate(known, 1)}


def _whole_s(us: int | None) -> int:
    """Whole seconds; a job that ran ran for one at least, because one without run time is dropped by readers."""
    return max(1 if us else 0, round((us or 0) / SECOND_US))


def _rumen(trace: Trace) -> Iterator[str]:
    for job in trace.jobs:
        yield json.dumps(_logged(job), indent=1, ensure_ascii=False)


def _logged(job: TraceJob) -> Mapping[str, Any]:
    """A LoggedJob with equal tasks: maps begin when the job does, reduces when the maps have ended."""
    maps, reduces = job.maps or 0, job.reduces or 0
    times = _Times.of(job)
    begin_ms = times.begin_ms
    map_bytes = {"hdfsBytesRead": _shares(job.input_bytes, maps)}
    reduce_bytes = {"reduceShuffleBytes": _shares(job.shuffle_bytes, reduces)}
    if job.reduces is None:
        map_bytes["mapOutputBytes"] = _shares(job.shuffle_bytes, maps)
    (reduce_bytes if reduces else map_bytes)["hdfsBytesWritten"] = _shares(job.output_bytes, reduces or maps)
    return {
        "jobID": job.id,
        "user": job.user or None,
        "jobName": job.application or None,
        "queue": job.cluster or "default",
        "submitTime": begin_ms,
        "launchTime": begin_ms,
        "finishTime": -1 if job.run_us is None else times.end_ms,
        "totalMaps": maps,
        "totalReduces": -1 if job.reduces is None else reduces,
        "outcome": "SUCCESS",
        "jobtype": "JAVA",
        "priority": "NORMAL",
        "mapTasks": [_task(job, "MAP", at, begin_ms, times.maps_ms, map_bytes) for at in range(maps)],
        "reduceTasks": [
            _task(job, "REDUCE", at, times.maps_end_ms, times.reduces_ms, reduce_bytes) for at in range(reduces)
        ],
        "otherTasks": [],
    }


def _task(
    job: TraceJob, kind: str, at: int, begin_ms: int, times_ms: Sequence[int], sizes: Mapping[str, Sequence[int]]
) -> Mapping[str, Any]:
    name = f"{job.id.removeprefix('job_')}_{kind[0].lower()}_{at:06d}"
    times = {"startTime": -1, "finishTime": -1}
    if times_ms:
        times = {"startTime": begin_ms, "finishTime": begin_ms + times_ms[at]}
    host = _host(at)
    attempt = {
        "attemptID": f"attempt_{name}_0",
        "result": "SUCCESS",
        "hostName": host,
        "location": {"layers": host.strip("/").split("/")},
        **times,
        **{key: shares[at] for key, shares in sizes.items() if shares},
    }
    return {"taskID": f"task_{name}", "taskType": kind, "taskStatus": "SUCCESS", **times, "attempts": [attempt]}


@dataclass(frozen=True, slots=True)
class _Times:
    """The time when a job and its tasks run, in milliseconds; together the tasks take as long as in the workload."""

    begin_ms: int
    maps_ms: Sequence[int]
    reduces_ms: Sequence[int]
    run_ms: int | None

    @classmethod
    def of(cls, job: TraceJob) -> _Times:
        maps = _shares(_all_ms(job.map_us, job.maps), job.maps or 0)
        reduces = _shares(_all_ms(job.reduce_us, job.reduces), job.reduces or 0)
        return cls(_ms(job.submit_us), maps, reduces, None if job.run_us is None else _ms(job.run_us))

    @property
    def maps_end_ms(self) -> int:
        return self.begin_ms + max(self.maps_ms, default=0)

    @property
    def end_ms(self) -> int:
        if self.run_ms is not None:
            return self.begin_ms + self.run_ms
        return self.maps_end_ms + max(self.reduces_ms, default=0)


def _all_ms(each_us: int | None, tasks: int | None) -> int | None:
    together_us = _all(each_us, tasks)
    return None if together_us is None else _ms(together_us)


def _shares(size: int | None, tasks: int) -> Sequence[int]:
    """The share of each task in something, together all of it; nothing when it is unknown."""
    if size is None or not tasks:
        return ()
    each, rest = divmod(size, tasks)
    return [each + (at < rest) for at in range(tasks)]


def _sls(trace: Trace) -> Iterator[str]:
    for job in trace.jobs:
        times = _Times.of(job)
        tasks = [_container("map", at, times.begin_ms, time_ms) for at, time_ms in enumerate(times.maps_ms)]
        reduces_ms = times.reduces_ms or [0] * (job.reduces or 0)
        tasks += [_container("reduce", at, times.maps_end_ms, time_ms) for at, time_ms in enumerate(reduces_ms)]
        said = {
            "am.type": "mapreduce",
            "job.start.ms": times.begin_ms,
            "job.end.ms": times.end_ms,
            "job.queue.name": job.cluster or "default",
            "job.id": job.id,
            "job.user": job.user or "default",
            "job.tasks": tasks,
        }
        yield json.dumps(said, indent=1, ensure_ascii=False)


def _container(kind: str, at: int, begin_ms: int, time_ms: int) -> dict[str, Any]:
    return {
        "container.host": _host(at),
        "container.start.ms": begin_ms,
        "container.end.ms": begin_ms + time_ms,
        "container.priority": 10 if kind == "reduce" else 20,
        "container.type": kind,
    }


def _host(at: int) -> str:
    return f"/default-rack/node{at % _HOSTS + 1}"


def _ms(us: int) -> int:
    return round(us / MS_US)


def _jobs_with(loses: Callable[[TraceJob], object]) -> Lost:
    return lambda trace: sum(bool(loses(job)) for job in trace.jobs)


def _fields(*names: str) -> dict[str, Lost]:
    """Fields that are lost where a job has them."""
    return {name: _jobs_with(attrgetter(name)) for name in names}


def _parts(unit_us: int, *names: str) -> Lost:
    return _jobs_with(lambda job: any((getattr(job, name) or 0) % unit_us for name in names))


_BYTES = ("input_bytes", "shuffle_bytes", "output_bytes")
_RIGID = ("processors", "requested_us")
_LINKS = ("after", "think_us")
_DEADLINE = "deadline_us"
_NOT_ALONE: Mapping[str, Lost] = {
    "map_us": _jobs_with(lambda job: job.map_us and not job.maps),
    "reduce_us": _jobs_with(lambda job: job.reduce_us and not job.reduces),
}
"""Times of tasks, which are lost without the number of tasks."""
_PARTS_OF_MS: Mapping[str, Lost] = {"fractions of milliseconds": _parts(MS_US, "submit_us", "run_us")}
WRITERS: Mapping[str, TraceWriter] = {
    writer.name: writer
    for writer in (
        TraceWriter(
            "swim",
            (),
            {
                **_fields("cluster", "user", *_RIGID, *_LINKS, _DEADLINE),
                **_NOT_ALONE,
                "id": _jobs_with(lambda job: _tabbed(job.id) != job.id),
            },
            _swim,
        ),
        TraceWriter(
            "swf",
            ("processors", "run_us"),
            {
                **_fields("cluster", *_BYTES, "maps", "reduces", "map_us", "reduce_us", _DEADLINE),
                "id": lambda trace: sum(
                    str(number) != name for name, number in _numbers([job.id for job in trace.jobs]).items()
                ),
                "after": lambda trace: sum(bool({*job.after} - {other}) for job, other in _preceding(trace)),
                "think_us": lambda trace: sum(bool(job.think_us and not other) for job, other in _preceding(trace)),
                "fractions of seconds": _parts(SECOND_US, "submit_us", "run_us", "requested_us", "think_us"),
            },
            _swf,
        ),
        TraceWriter(
            "rumen",
            ("maps",),
            {
                **_fields(*_RIGID, *_LINKS, _DEADLINE),
                **_NOT_ALONE,
                "input_bytes": _jobs_with(lambda job: job.input_bytes and not job.maps),
                "shuffle_bytes": _jobs_with(
                    lambda job: job.shuffle_bytes and not (job.maps if job.reduces is None else job.reduces)
                ),
                "output_bytes": _jobs_with(lambda job: job.output_bytes and not job.tasks),
                **_PARTS_OF_MS,
            },
            _rumen,
        ),
        TraceWriter(
            "sls",
            ("maps", "map_us"),
            {
                **_fields("application", *_BYTES, *_RIGID, *_LINKS, _DEADLINE),
                **_NOT_ALONE,
                "unknown reduces": _jobs_with(lambda job: job.reduces is None),
                "unknown reduce_us": _jobs_with(lambda job: job.reduces and job.reduce_us is None),
                "unknown run_us": _jobs_with(lambda job: job.run_us is None),
                "tasks (there are none)": _jobs_with(lambda job: not job.tasks),
                **_PARTS_OF_MS,
            },
            _sls,
        ),
    )
}
NAMES = (table.NAME, *WRITERS)
