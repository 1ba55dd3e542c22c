"""Hadoop's own histories: the ``.jhist`` file that each MapReduce job leaves, in either of its forms.

The first line says ``Avro-Json`` or ``Avro-Binary`` (Hadoop 3 writes the second unless
``mapreduce.jobhistory.jhist.format`` says otherwise), the second one has the schema, events follow: as JSON, one a
line, or as Avro's bytes. A folder of them, such as that of a JobHistory server, is a workload as well.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fawkes.base.errors import ConfigError, cut
from fawkes.base.units import show_time
from fawkes.workload.model import Trace, TraceJob
from fawkes.workload.reading.avro import values
from fawkes.workload.reading.traces import Collected, lines
from fawkes.workload.tasks import MS_US, TaskSpan, known, map_us, reduce_us, total

FILES = "org.apache.hadoop.mapreduce.FileSystemCounter"
"""The group with the bytes that were read from and written to each file system."""
JSON, BINARY = b"Avro-Json", b"Avro-Binary"
SUFFIXES = ("*.jhist", "*.jhist.gz")
SUCCEEDED = "SUCCEEDED"
FAILED = "that did not succeed"
_FORM = "The history of a job begins with Avro-Json or Avro-Binary; the file of a running job is not a complete history"
_FETCH_AGAIN = "Fetch the file again; the file of a running job ends like this, too"

Plain = Mapping[str, Any]


def read(path: Path) -> Trace:
    """The job of a history, or those of all histories in a folder and below it; times count from the earliest one.

    Bytes are those that the counters of tasks that succeeded have: of any file system but the local one. Dropped and
    counted by the file: in a folder, histories that cannot be read, and further ones of the same job. Mended: jobs that
    did not succeed, which are kept with what they ran. ConfigError when a file that is asked for cannot be read, or a
    folder has no job.
    """
    there = files(path)
    collected = Collected(path, names=[str(file.relative_to(path)) for file in there] if path.is_dir() else [])
    jobs: list[_FileJob] = []
    for number, file in enumerate(there, 1):
        try:
            story = _story(file)
            job = story.job(file)
        except ConfigError:
            if not path.is_dir():
                raise
            collected.drop("that cannot be read", number)
            continue
        jobs.append(_FileJob(job, number, story.state))
    # Files stand in the order of their names, which is not that of the jobs.
    for history in sorted(_once(jobs, collected), key=lambda history: history.job.submit_us):
        if history.state != SUCCEEDED:
            collected.mend(FAILED, history.number)
        collected.add(history.job, history.number)
    start_us = collected.from_first()
    return collected.trace(form=_FORM, header={"start": show_time(start_us)} if collected.jobs else {})


def files(path: Path) -> list[Path]:
    """The histories in a folder and below it, by their names; a file is the only one."""
    return sorted(file for suffix in SUFFIXES for file in path.rglob(suffix)) if path.is_dir() else [path]


@dataclass(frozen=True, slots=True)
class _FileJob:
    """A job as one file tells it: the number of the file, and how the job ended ("" if it had not)."""

    job: TraceJob
    number: int
    state: str

    @property
    def worth(self) -> tuple[bool, bool, int, int]:
        """More is better: a job that succeeded, one that ended, one with more that is known, the earlier file."""
        known_values = sum(time is not None for time in (self.job.map_us, self.job.reduce_us, self.job.run_us))
        return self.state == SUCCEEDED, bool(self.state), known_values, -self.number


def _once(jobs: Sequence[_FileJob], collected: Collected) -> list[_FileJob]:
    """Each job once.

    A server has a job in two folders for a moment, and each ApplicationMaster of a job leaves a file.
    """
    best: dict[tuple[str, int], _FileJob] = {}
    for history in jobs:
        key = (history.job.id, history.job.submit_us)
        other = best.get(key)
        if other is not None:
            worse = min(history, other, key=lambda row: row.worth)
            collected.drop("that another file tells as well", worse.number)
        best[key] = history if other is None else max(history, other, key=lambda row: row.worth)
    return list(best.values())


@dataclass(slots=True)
class _Attempts:
    """The tasks of one kind, as far as known: when attempts began, and of tasks that succeeded time and counters."""

    tasks: set[str] = field(default_factory=set)
    begun_ms: dict[str, int | None] = field(default_factory=dict)
    spans: dict[str, TaskSpan] = field(default_factory=dict)
    counters: dict[str, Plain] = field(default_factory=dict)

    def count(self, name: str, group: str = "") -> int | None:
        """The sum of a counter over the tasks: one whose name is ``name``, or in a group ends with it."""
        return total(_counter(counters, name, group) for counters in self.counters.values())


@dataclass(slots=True)
class _Story:
    """A job as its events tell it."""

    submitted: Plain | None = None
    launch_ms: int | None = None
    end_ms: int | None = None
    state: str = ""
    totals: tuple[int | None, int | None] = (None, None)
    maps: _Attempts = field(default_factory=_Attempts)
    reduces: _Attempts = field(default_factory=_Attempts)

    def hear(self, kind: str, event: Plain) -> None:
        """One more event."""
        if kind == "JOB_SUBMITTED":
            self.submitted = event
        elif kind in ("JOB_INITED", "JOB_INFO_CHANGED"):
            self.launch_ms = known(event.get("launchTime"))
            if kind == "JOB_INITED":
                self.totals = (known(event.get("totalMaps")), known(event.get("totalReduces")))
        elif kind in ("JOB_FINISHED", "JOB_FAILED", "JOB_KILLED", "JOB_ERROR"):
            self.end_ms = known(event.get("finishTime"))
            self.state = str(event.get("jobStatus") or SUCCEEDED)
        elif event.get("taskType") in ("MAP", "REDUCE"):
            self._hear_task(kind, event)

    def _hear_task(self, kind: str, event: Plain) -> None:
        mine = self.maps if event["taskType"] == "MAP" else self.reduces
        task = str(event.get("taskid"))
        mine.tasks.add(task)
        if kind.endswith("_ATTEMPT_STARTED"):
            mine.begun_ms[str(event.get("attemptId"))] = known(event.get("startTime"))
        elif kind in ("MAP_ATTEMPT_FINISHED", "REDUCE_ATTEMPT_FINISHED"):
            mine.spans[task] = TaskSpan.of(mine.begun_ms.get(str(event.get("attemptId"))), event.get("finishTime"))
            mine.counters[task] = _plain(event.get("counters")) or {}

    def job(self, file: Path) -> TraceJob:
        """The job; ConfigError when the history has no beginning."""
        said = self.submitted or {}
        submit_ms, name = known(said.get("submitTime")), said.get("jobid")
        if submit_ms is None or not name:
            raise ConfigError("does not say which job was submitted when", file=str(file), hint=_FORM)
        maps, reduces = (
            count if count is not None else len(mine.tasks)
            for count, mine in zip(self.totals, (self.maps, self.reduces), strict=True)
        )
        begin_ms = submit_ms if self.launch_ms is None else self.launch_ms
        map_spans = list(self.maps.spans.values())
        last = self.reduces if reduces else self.maps
        return TraceJob(
            id=str(name),
            submit_us=submit_ms * MS_US,
            application=str(said.get("jobName") or ""),
            input_bytes=self.maps.count("_BYTES_READ", FILES),
            shuffle_bytes=self.reduces.count("REDUCE_SHUFFLE_BYTES") if reduces else 0,
            output_bytes=last.count("_BYTES_WRITTEN", FILES),
            maps=maps,
            reduces=reduces,
            map_us=map_us(map_spans),
            reduce_us=reduce_us(list(self.reduces.spans.values()), map_spans),
            run_us=None if self.end_ms is None or self.end_ms < begin_ms else (self.end_ms - begin_ms) * MS_US,
            user=str(said.get("userName") or ""),
        )


def is_counter(counter: str, name: str, *, of_files: bool) -> bool:
    """True if a counter is meant: of files those of all file systems but the local one (``HDFS_BYTES_READ``)."""
    return counter.endswith(name) and not counter.startswith("FILE_") if of_files else counter == name


def objects_of(outer: object, key: str) -> list[Plain]:
    """The objects under a key; a single one may stand without a list."""
    value = outer.get(key) if isinstance(outer, dict) else None
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]


def _counter(counters: Plain, name: str, group: str) -> int | None:
    return total(
        known(counter.get("value"))
        for group_row in objects_of(counters, "groups")
        if group in ("", group_row.get("name"))
        for counter in objects_of(group_row, "counts")
        if is_counter(str(counter.get("name")), name, of_files=bool(group))
    )


def _story(file: Path) -> _Story:
    story = _Story()
    for kind, event in _events(file):
        story.hear(kind, event)
    return story


def _events(file: Path) -> Iterator[tuple[str, Plain]]:
    there = lines(file)
    first = next(there, (1, b""))[1].strip()
    if first not in (JSON, BINARY):
        raise ConfigError("does not begin like the history of a job", file=str(file), key="line 1", hint=_FORM)
    schema = next(there, (2, b""))[1]
    if first == JSON:
        for number, line in there:
            if line.strip():
                yield _event_of_json(file, number, line)
        return
    yield from _events_of_bytes(file, schema, b"".join(line for _, line in there))


def _event_of_json(file: Path, number: int, line: bytes) -> tuple[str, Plain]:
    try:
        said = json.loads(line)
        event = _plain(said["event"])
        return str(said["type"]), {**event}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        what = f"is not an event ({type(error).__name__}: {cut(str(error))})"
        raise ConfigError(what, file=str(file), key=f"line {number}", hint=_FETCH_AGAIN) from None


def _plain(value: Any) -> Any:
    """A value without the name of its branch, which Avro's JSON puts around the values of a union."""
    return next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value


def _events_of_bytes(file: Path, schema: bytes, data: bytes) -> Iterator[tuple[str, Plain]]:
    heard = 0
    try:
        for said in values(json.loads(schema), data):
            yield said["type"], {**said["event"]}
            heard += 1
    except (ValueError, KeyError, TypeError, IndexError, RecursionError, struct.error) as error:
        what = f"the event behind the first {heard} cannot be decoded ({cut(str(error))})"
        raise ConfigError(what, file=str(file), key="line 3", hint=_FETCH_AGAIN) from None
