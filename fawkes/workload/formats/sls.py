"""The native format of YARN's Scheduler Load Simulator (hadoop-tools/hadoop-sls): jobs and times of their containers.

One JSON object for each job, one after another; times are milliseconds from the start of the trace. ``job.count`` and
``count`` repeat a job or a container. An object with ``num.nodes`` describes the nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fawkes.workload.model import MOST_TASKS, MOST_TIME_US, Trace, TraceJob
from fawkes.workload.reading.objects import objects
from fawkes.workload.reading.traces import Collected, NoJobError
from fawkes.workload.tasks import MS_US, TaskSpan, known, map_us

_FORM = "An object has job.start.ms and job.tasks, as in the SLS's own input"
_REDUCE = "reduce"
_MOST_COPIES = 1_000_000

Plain = Mapping[str, Any]


def read(path: Path) -> Trace:
    """The jobs of an SLS trace, plain or gzip; it knows times of tasks and no bytes.

    Containers that are no reduces count as maps. Dropped and counted by the line on which they begin: objects without
    tasks, jobs with a wrong time or number. Mended: containers that end before they start (their time is left out),
    jobs whose id was there, whose time goes back. ConfigError when the file cannot be read, or holds no job.
    """
    collected = Collected(path)
    header: dict[str, str] = {}
    queues = Counter[str]()
    for line, said in objects(path):
        if "num.nodes" in said:
            header |= {key: str(said[key]) for key in ("num.nodes", "num.racks") if key in said}
            continue
        try:
            copies = list(_jobs(said, len(collected.jobs) + 1))
        except NoJobError as error:
            collected.drop(str(error), line)
            continue
        if any(not span.is_sound for spans in _containers(said) for span in spans):
            collected.mend("with a task that ends before it starts", line)
        if queue := said.get("job.queue.name"):
            queues[str(queue)] += len(copies)
        for job in copies:
            collected.add(job, line)
    if queues:
        header["queues"] = ", ".join(f"{name} {count}" for name, count in sorted(queues.items()))
    return collected.trace(form=_FORM, header=header)


def _jobs(said: Plain, number: int) -> Iterator[TraceJob]:
    """The job of an object, as often as it says."""
    start_ms = _whole(said, "job.start.ms", 0)
    maps, reduces = _containers(said)
    if not maps and not reduces:
        raise NoJobError("without tasks")
    end_ms = known(said.get("job.end.ms"))
    job = TraceJob(
        id=str(said.get("job.id") or f"job_{number}"),
        submit_us=start_ms * MS_US,
        maps=len(maps),
        reduces=len(reduces),
        map_us=map_us(maps),
        # The life of a container: SLS asks for reduces when the maps have ended, whatever their start says.
        reduce_us=map_us(reduces),
        run_us=None if end_ms is None or end_ms < start_ms else (end_ms - start_ms) * MS_US,
        user=str(said.get("job.user") or ""),
    )
    count = _copies(said, "job.count")
    yield job
    for copy in range(2, count + 1):
        yield replace(job, id=f"{job.id}-{copy}")


def _containers(said: Plain) -> tuple[list[TaskSpan], list[TaskSpan]]:
    """Maps and reduces."""
    maps: list[TaskSpan] = []
    reduces: list[TaskSpan] = []
    tasks = said.get("job.tasks")
    for task in tasks if isinstance(tasks, list) else ():
        if not isinstance(task, dict):
            raise NoJobError("with a task that is not an object")
        kind = reduces if task.get("container.type") == _REDUCE else maps
        copies = _copies(task, "container.count" if "container.count" in task else "count")
        if len(kind) + copies > MOST_TASKS:
            raise NoJobError(f"with more than {MOST_TASKS:,} tasks")
        kind += [_span(task)] * copies
    return maps, reduces


def _span(task: Plain) -> TaskSpan:
    start_ms = _whole(task, "container.start.ms", 0)
    if "container.duration.ms" in task or "duration.ms" in task:
        key = "container.duration.ms" if "container.duration.ms" in task else "duration.ms"
        return TaskSpan(start_ms, start_ms + _whole(task, key, 0))
    return TaskSpan(start_ms, _whole(task, "container.end.ms", -1))


def _copies(said: Plain, key: str) -> int:
    count = _whole(said, key, 1)
    if not 1 <= count <= _MOST_COPIES:
        raise NoJobError(f"with a count that is not from 1 to {_MOST_COPIES}")
    return count


def _whole(said: Plain, key: str, otherwise: int) -> int:
    """A number, which SLS takes as text too."""
    value = said.get(key, otherwise)
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise NoJobError("with a field that is not a number") from None
    if number < 0 and number != otherwise:
        raise NoJobError("with a negative time or number")
    if number > MOST_TIME_US:
        raise NoJobError("with a time or number that is too large")
    return number
