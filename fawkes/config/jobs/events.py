"""Profiles out of Spark's event logs: a line of JSON for each event, as the driver of an application wrote them.

A task counts once, by its last success, however often it or its stage ran. Stages that Spark skipped are not there: a
child of such a stage is the child of the earlier stage that made the same data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import fsum
from typing import Any, BinaryIO

from fawkes.base.errors import ConfigError
from fawkes.core.quota.profile import ApplicationProfile, ProfiledStage, nominal_rate, profile_of, stage_id

MOST_LINE_BYTES = 1 << 26
"""The longest line that is read: the events of a job list all its stages."""

_EVENT, _SPARK = b'{"Event":"', b"SparkListener"
#: the events that a profile is made of
_USED = ("ApplicationStart", "JobStart", "StageSubmitted", "TaskEnd", "StageCompleted", "ApplicationEnd")
_STARTS = tuple(_EVENT + _SPARK + name.encode() for name in _USED)
_ZSTD = b"\x28\xb5\x2f\xfd"
_AGAIN = "Copy the whole log of an application that has ended, or run it with `fawkes profile run`"
_LEAST_S = 0.001
#: no number of records or milliseconds is so large
_TOO_MUCH = 1 << 60


def needed(line: bytes) -> bool:
    """True if a line of an event log has something for a profile, or is not an event at all."""
    return line.startswith(_STARTS) or not line.startswith(_EVENT)


def lines_of(source: BinaryIO) -> Iterator[bytes]:
    """The lines of an open file; one that is too long comes in pieces, which are not events."""
    return iter(lambda: source.readline(MOST_LINE_BYTES), b"")


def profile_of_log(
    lines: Iterable[bytes], name: str, file: str, ran_us: tuple[int, int] | None = None
) -> ApplicationProfile:
    """The profile of an application that has ended, as version 1; ``lines`` are those of its event log.

    ``ran_us`` is when it began and ended by YARN, which is earlier than its first event and later than its last one.
    ConfigError names the file, the line and the next command for what is no event log, damaged, cut off or without
    stages.
    """
    log = _Log()
    for number, line in enumerate(lines, start=1):
        if needed(line) and line.strip():
            _take(log, line, file, number)
    if not log.ended:
        raise ConfigError("the log ends before its application does", file=file, hint=_AGAIN)
    if ran_us is not None:
        log.widen(*(each // 1000 for each in ran_us))
    stages = log.profiled()
    if not stages:
        raise ConfigError("no stage of this application has ended", file=file, hint="Profile a run that succeeds")
    return profile_of(ApplicationProfile(name, 1, stages, log.end_s).plain(), file)


def _take(log: _Log, line: bytes, file: str, number: int) -> None:
    key = f"line {number}"
    if line.startswith(_ZSTD):
        raise ConfigError("is compressed (zstd)", file=file, hint="Unpack it with `zstd -d` first")
    try:
        event = json.loads(line)
        log.take(event["Event"], event)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        if line.lstrip()[:1] == b"<":
            what = "is a page (HTML or XML), not an event log of Spark"
        elif isinstance(error, KeyError):
            what = f"the event has no {error}"
        else:
            what = "is not an event of Spark" if line.endswith(b"\n") else "is cut off, or not an event of Spark"
        raise ConfigError(what, file=file, key=key, hint=_AGAIN) from None


@dataclass(slots=True)
class _Task:
    read: int
    written: int
    run_ms: int


@dataclass(slots=True)
class _Seen:
    """A stage in a log. ``same_as`` are its name and RDDs: Spark numbers the same stage anew in each job."""

    name: str
    parents: tuple[int, ...]
    same_as: tuple[object, ...]
    submitted_ms: int
    completed_ms: int | None = None
    tasks: dict[int, _Task] = field(default_factory=dict)

    @property
    def read(self) -> int:
        return sum(task.read for task in self.tasks.values())

    @property
    def written(self) -> int:
        return sum(task.written for task in self.tasks.values())


class _Log:
    """The stages of an application, as far as its log was read."""

    def __init__(self) -> None:
        self.ended = False
        self._began_ms: int | None = None
        self._ended_ms: int | None = None
        self._seen: dict[int, _Seen] = {}
        self._known: dict[int, tuple[object, ...]] = {}

    def take(self, kind: str, event: Mapping[str, Any]) -> None:
        """Learn from an event; KeyError, TypeError or ValueError for one that lacks something."""
        match kind.removeprefix("SparkListener"):
            case "ApplicationStart":
                self._began_ms = _whole(event, "Timestamp")
            case "JobStart":
                self._known |= {_whole(info, "Stage ID"): _same_as(info) for info in event["Stage Infos"]}
            case "StageSubmitted":
                info = event["Stage Info"]
                parents = tuple(int(parent) for parent in info["Parent IDs"])
                seen = _Seen(str(info["Stage Name"]), parents, _same_as(info), _whole(info, "Submission Time"))
                self._seen.setdefault(_whole(info, "Stage ID"), seen)
            case "TaskEnd" if event["Task End Reason"]["Reason"] == "Success":
                # The index is that of an attempt of the stage: a second one counts its tasks from 0 again.
                partition = event["Task Info"].get("Partition ID", event["Task Info"]["Index"])
                self._seen[_whole(event, "Stage ID")].tasks[partition] = _task(event["Task Metrics"])
            case "StageCompleted" if "Failure Reason" not in event["Stage Info"]:
                info = event["Stage Info"]
                self._seen[_whole(info, "Stage ID")].completed_ms = _whole(info, "Completion Time")
            case "ApplicationEnd":
                self.ended = True
                self._ended_ms = _whole(event, "Timestamp")

    def widen(self, began_ms: int, ended_ms: int) -> None:
        """Count what YARN saw before the first event and after the last one, too.

        Its clock may be that of another machine. So both together are what it saw longer than the driver, whatever the
        clocks say.
        """
        if self._began_ms is None or self._ended_ms is None:
            return
        more_ms = max(0, ended_ms - began_ms - (self._ended_ms - self._began_ms))
        self._began_ms -= min(more_ms, max(0, self._began_ms - began_ms))
        self._ended_ms += min(more_ms, max(0, ended_ms - self._ended_ms))

    @property
    def end_s(self) -> float | None:
        """The time from the end of the last stage to that of the application; None without any."""
        return _seconds(
            max((self._seen[each].completed_ms or 0 for each in self._order()), default=None), self._ended_ms
        )

    def _order(self) -> list[int]:
        ended = [number for number, seen in self._seen.items() if seen.completed_ms is not None and seen.tasks]
        return sorted(ended, key=lambda number: (self._seen[number].submitted_ms, number))

    def profiled(self) -> tuple[ProfiledStage, ...]:
        """The stages that have ended, by their submission."""
        order, busy_ms = self._order(), self._began_ms
        first: dict[tuple[object, ...], int] = {}
        stages: dict[int, ProfiledStage] = {}
        for number in order:
            seen = self._seen[number]
            same = (first.get(self._known.get(parent, ())) for parent in seen.parents if parent not in stages)
            parents = sorted(
                {parent for parent in seen.parents if parent in stages} | {n for n in same if n is not None}
            )
            idle_s = _seconds(busy_ms, seen.submitted_ms)
            stages[number] = self._stage(number, [stages[parent] for parent in parents], idle_s)
            busy_ms = max(busy_ms or 0, seen.completed_ms or 0)
            first.setdefault(seen.same_as, number)
        return tuple(stages.values())

    def _stage(self, number: int, parents: list[ProfiledStage], idle_s: float | None) -> ProfiledStage:
        seen = self._seen[number]
        run_s = sum(task.run_ms for task in seen.tasks.values()) / 1000
        before = (fsum(each.records_written for each in parents), fsum(each.records_read for each in parents))
        took_s = ((seen.completed_ms or 0) - seen.submitted_ms) / 1000
        return ProfiledStage(
            id=stage_id(number, seen.name),
            duration_s=max(_LEAST_S, took_s),
            tasks=len(seen.tasks),
            records_read=seen.read,
            records_written=seen.written,
            rate=nominal_rate(len(seen.tasks), run_s, (*before, seen.read, seen.written)),
            parents=tuple(each.id for each in parents),
            idle_s=idle_s,
        )


def _seconds(since_ms: int | None, until_ms: int | None) -> float | None:
    """The time between two events, 0 where they overlap; None where one of them is not known."""
    return None if since_ms is None or until_ms is None else max(0, until_ms - since_ms) / 1000


def _same_as(info: Mapping[str, Any]) -> tuple[object, ...]:
    return (str(info["Stage Name"]), *sorted(_whole(rdd, "RDD ID") for rdd in info["RDD Info"]))


def _task(metrics: Mapping[str, Any]) -> _Task:
    read, written = metrics["Shuffle Read Metrics"], metrics["Shuffle Write Metrics"]
    return _Task(
        _whole(metrics["Input Metrics"], "Records Read") + _whole(read, "Total Records Read"),
        _whole(metrics["Output Metrics"], "Records Written") + _whole(written, "Shuffle Records Written"),
        _whole(metrics, "Executor Run Time"),
    )


def _whole(table: Mapping[str, Any], key: str) -> int:
    value = table[key]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _TOO_MUCH:
        raise ValueError(key)
    return value
