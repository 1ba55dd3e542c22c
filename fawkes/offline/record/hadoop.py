"""Hadoop's history of the applications of an attempt of a job: its documents as they come, and their meaning.

A document has the JobHistory server's own names (``/ws/v1/history/mapreduce/jobs``), so that nothing that it said is
lost; these values are what the rest of Fawkes reads in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

MAP, REDUCE = "MAP", "REDUCE"
_SUCCEEDED = "SUCCEEDED"


@dataclass(frozen=True, slots=True)
class TaskRun:
    """The successful attempt of a task; times are microseconds of the epoch.

    ``node`` is empty when only the task was asked for; ``fetched_us`` is the end of a reduce's shuffle, None of a map.
    """

    kind: str
    start_us: int
    finish_us: int
    node: str = ""
    fetched_us: int | None = None

    @property
    def took_us(self) -> int:
        """The time that it took."""
        return self.finish_us - self.start_us


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedApplication:
    """A MapReduce application that succeeded. ``tasks`` are in the order of their starts; counters are by name.

    ``submit_us`` to ``finish_us`` are of the JobHistory server, ``began_us`` and ``ended_us`` of the ResourceManager.
    """

    id: str
    submit_us: int
    start_us: int
    finish_us: int
    began_us: int
    ended_us: int
    maps: int
    reduces: int
    tasks: tuple[TaskRun, ...]
    counters: Mapping[str, tuple[int, int]]

    def counter(self, name: str, *, of_maps: bool) -> int:
        """The sum of a counter over the maps, or over the reduces; 0 when Hadoop did not count it."""
        return self.counters.get(name, (0, 0))[0 if of_maps else 1]

    def runs(self, kind: str) -> list[TaskRun]:
        """The maps, or the reduces."""
        return [task for task in self.tasks if task.kind == kind]


def applications_in(document: Mapping[str, Any]) -> tuple[RecordedApplication, ...]:
    """The applications of a document that are MapReduce jobs and succeeded, in the order of their starts.

    KeyError, TypeError or ValueError when it is of another form.
    """
    applications = [_application(row) for row in document["applications"] if row.get("job")]
    known = (application for application in applications if application is not None)
    return tuple(sorted(known, key=lambda application: application.began_us))


def _application(said: Mapping[str, Any]) -> RecordedApplication | None:
    job, application = said["job"], said["application"]
    if job["state"] != _SUCCEEDED:
        return None
    return RecordedApplication(
        id=str(application["id"]),
        submit_us=_us(job["submitTime"]),
        start_us=_us(job["startTime"]),
        finish_us=_us(job["finishTime"]),
        began_us=int(application.get("started_us") or 0) or _us(job["submitTime"]),
        ended_us=int(application.get("finished_us") or 0) or _us(job["finishTime"]),
        maps=int(job["mapsTotal"]),
        reduces=int(job["reducesTotal"]),
        tasks=tuple(sorted(_tasks(said["tasks"]), key=lambda task: (task.start_us, task.finish_us))),
        counters=dict(_counters(said["counters"])),
    )


def _tasks(rows: Sequence[Mapping[str, Any]]) -> Iterator[TaskRun]:
    for row in rows:
        if row["state"] != _SUCCEEDED:
            continue
        attempt = cast(Mapping[str, Any], row.get("attempt") or row)
        shuffled = int(attempt.get("shuffleFinishTime") or 0)
        yield TaskRun(
            kind=str(row["type"]),
            start_us=_us(attempt["startTime"]),
            finish_us=_us(attempt["finishTime"]),
            node=str(attempt.get("node") or ""),
            fetched_us=_us(shuffled) if shuffled else None,
        )


def _counters(groups: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, tuple[int, int]]]:
    for group in groups:
        # Hadoop writes a group of one counter without the list.
        rows = group["counter"]
        for counter in [rows] if isinstance(rows, Mapping) else rows:
            yield str(counter["name"]), (int(counter["mapCounterValue"]), int(counter["reduceCounterValue"]))


def _us(milliseconds: Any) -> int:
    return int(milliseconds) * 1000
