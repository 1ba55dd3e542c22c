"""The REST of a Spark application's driver, through the ResourceManager: its stages and its executors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fawkes.core.quota.profile import stage_id
from fawkes.core.quota.sight import ExecutorSeen, StageSeen
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.rest import Deadline, UnreadableError, count, get_json

#: of a stage whose attempt runs; one that is pending waits for others
_ACTIVE = "ACTIVE"
_DRIVER = "driver"
_CONTAINER = re.compile(r"container_[A-Za-z0-9_]+")
_WRITES = ("outputRecords", "shuffleWriteRecords")


@dataclass(frozen=True, slots=True)
class DriverSaid:
    """The answer of a driver; ``stages`` are the active ones, and all of them when other ones became active."""

    stages: tuple[StageSeen, ...]
    executors: tuple[ExecutorSeen, ...]


class DriverReader:
    """Reads the driver of one application, and asks for long lists only when something has changed."""

    def __init__(self, application: str) -> None:
        self.application = application
        self._active: set[tuple[str, int]] | None = None
        self._executors: tuple[ExecutorSeen, ...] = ()
        self._looks = 0

    def look(self, masters: MasterAddresses, deadline: Deadline) -> DriverSaid:
        """The answer of the driver now; UnreadableError without a usable answer.

        Executors are asked for with every fourth look, and while there is none.
        """
        stages = self._stages(masters, deadline, "?status=active")
        active = {(each.id, each.attempt) for each in stages if each.active}
        if self._active is None or active != self._active:
            stages = self._stages(masters, deadline, "")
        if not self._executors or self._looks % 4 == 0:
            self._executors = self._read_executors(masters, deadline)
        self._active = active
        self._looks += 1
        return DriverSaid(stages, self._executors)

    def _stages(self, masters: MasterAddresses, deadline: Deadline, query: str) -> tuple[StageSeen, ...]:
        url = self._url(masters, f"stages{query}")
        rows = _objects(get_json(url, deadline, key=masters.key), url)
        begun = [row for row in rows if row.get("status") not in ("PENDING", "SKIPPED")]
        return tuple(sorted((_stage(row, url) for row in begun), key=_number))

    def _read_executors(self, masters: MasterAddresses, deadline: Deadline) -> tuple[ExecutorSeen, ...]:
        url = self._url(masters, "executors")
        rows = _objects(get_json(url, deadline, key=masters.key), url)
        return tuple(_executors(rows, masters))

    def _url(self, masters: MasterAddresses, what: str) -> str:
        name = self.application
        return f"{masters.resource_manager}/proxy/{name}/api/v1/applications/{name}/{what}"


def _objects(document: Any, url: str) -> list[Mapping[str, Any]]:
    if not isinstance(document, list) or not all(isinstance(row, Mapping) for row in document):
        raise UnreadableError(url, "the answer is not a list of objects")
    return document


def _number(stage: StageSeen) -> tuple[int, int]:
    return int(stage.id.partition(" ")[0]), stage.attempt


def _stage(row: Mapping[str, Any], url: str) -> StageSeen:
    number, attempt = count(row.get("stageId")), count(row.get("attemptId"))
    tasks, done = count(row.get("numTasks")), count(row.get("numCompletedIndices"))
    if number is None or attempt is None or tasks is None or done is None:
        raise UnreadableError(url, "a stage has no number, no tasks or no progress")
    active = row.get("status") == _ACTIVE
    return StageSeen(
        id=stage_id(number, str(row.get("name", ""))),
        attempt=attempt,
        tasks=max(1, tasks),
        done=done,
        written=float(sum(count(row.get(name)) or 0 for name in _WRITES)),
        active=active,
        run_s=0.0 if active else (count(row.get("executorRunTime")) or 0) / 1000,
    )


def _executors(rows: list[Mapping[str, Any]], masters: MasterAddresses) -> Iterator[ExecutorSeen]:
    """Executors that live, by container; one whose container or node is not known cannot be given anything."""
    for row in sorted(rows, key=lambda row: str(row.get("id"))):
        container, slots = _container(row), count(row.get("totalCores"))
        node = masters.node(str(row.get("hostPort", "")))
        if row.get("id") != _DRIVER and row.get("isActive") is True and container and slots and node is not None:
            yield ExecutorSeen(container=container, node=node, slots=slots)


def _container(row: Mapping[str, Any]) -> str:
    attributes, logs = row.get("attributes"), row.get("executorLogs")
    known = str(attributes.get("CONTAINER_ID", "")) if isinstance(attributes, Mapping) else ""
    if not known and isinstance(logs, Mapping):
        known = " ".join(map(str, logs.values()))
    match = _CONTAINER.search(known)
    return "" if match is None else match.group()
