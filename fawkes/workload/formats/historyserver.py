"""The jobs that a JobHistory server knows, by its REST interface (/ws/v1/history/mapreduce)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fawkes.base.units import show_time
from fawkes.live.wire.rest import listed
from fawkes.workload.formats.history import FAILED, FILES, is_counter, objects_of
from fawkes.workload.model import Trace, TraceJob
from fawkes.workload.reading.traces import Collected
from fawkes.workload.tasks import MS_US, TaskSpan, known, map_us, reduce_us, total

NAME = "historyserver"
Fetch = Callable[[str], Any]
"""The JSON document at an address."""

_JOBS = "/ws/v1/history/mapreduce/jobs"
_FORM = "The server only has jobs that have ended"
_DONE = "SUCCEEDED"

Plain = Mapping[str, Any]


def read(server: str, fetch: Fetch, *, started_from_ms: int | None = None) -> Trace:
    """The jobs of ``http://HOST:PORT``, or those that began at a time or later; times count from the earliest one.

    The server is asked for the list, and for counters and tasks of each job. Bytes and times are those of
    ``fawkes.workload.formats.history``, but a task that was tried again counts from its first attempt. Jobs without a
    submit time are dropped, those that did not succeed are counted as mended.

    What ``fetch`` raises goes through; UnreadableError when an answer has another shape; ConfigError without any job.
    """
    address = server.rstrip("/") + _JOBS
    url = address if started_from_ms is None else f"{address}?startedTimeBegin={started_from_ms}"
    known_jobs = listed(fetch(url), "jobs", "job", url)
    collected = Collected(Path(server), names=[str(said.get("id")) for said in known_jobs])
    made: list[tuple[TraceJob, int]] = []
    for number, said in enumerate(known_jobs, 1):
        submit_ms, name = known(said.get("submitTime")), said.get("id")
        if submit_ms is None or not name:
            collected.drop("without an id or a submit time", number)
            continue
        if said.get("state") != _DONE:
            collected.mend(FAILED, number)
        made.append((_job(said, submit_ms, f"{address}/{name}", fetch), number))
    for job, number in sorted(made, key=lambda row: row[0].submit_us):
        collected.add(job, number)
    start_us = collected.from_first()
    return collected.trace(form=_FORM, header={"start": show_time(start_us)} if collected.jobs else {})


def _job(said: Plain, submit_ms: int, address: str, fetch: Fetch) -> TraceJob:
    counters = _Counters(fetch(f"{address}/counters"), address)
    tasks = listed(fetch(f"{address}/tasks"), "tasks", "task", address)
    maps, reduces = (
        # A server forgets how many tasks a job had that failed: it counts none.
        known(said.get(key)) or sum(task.get("type") == kind for task in tasks)
        for key, kind in (("mapsTotal", "MAP"), ("reducesTotal", "REDUCE"))
    )
    map_spans, reduce_spans = (
        [
            TaskSpan.of(task.get("startTime"), task.get("finishTime"))
            for task in tasks
            if task.get("type") == kind and task.get("state") == _DONE
        ]
        for kind in ("MAP", "REDUCE")
    )
    launch_ms, end_ms = known(said.get("startTime")), known(said.get("finishTime"))
    begin_ms = launch_ms or submit_ms
    return TraceJob(
        id=str(said["id"]),
        submit_us=submit_ms * MS_US,
        application=str(said.get("name") or ""),
        input_bytes=counters.total("_BYTES_READ", "map", FILES),
        shuffle_bytes=counters.total("REDUCE_SHUFFLE_BYTES", "reduce") if reduces else 0,
        output_bytes=counters.total("_BYTES_WRITTEN", "reduce" if reduces else "map", FILES),
        maps=maps,
        reduces=reduces,
        map_us=map_us(map_spans),
        reduce_us=reduce_us(reduce_spans, map_spans),
        run_us=None if end_ms is None or end_ms < begin_ms else (end_ms - begin_ms) * MS_US,
        user=str(said.get("user") or ""),
    )


class _Counters:
    """The counters of a job, apart for its maps and its reduces."""

    def __init__(self, document: Any, where: str) -> None:
        self._groups = listed(document, "jobCounters", "counterGroup", where)

    def total(self, name: str, kind: str, group: str = "") -> int | None:
        """The sum over tasks of a kind, ``map`` or ``reduce``; None when there is no such counter."""
        return total(
            known(counter.get(f"{kind}CounterValue"))
            for group_row in self._groups
            if group in ("", group_row.get("counterGroupName"))
            for counter in objects_of(group_row, "counter")
            if is_counter(str(counter.get("name")), name, of_files=bool(group))
        )
