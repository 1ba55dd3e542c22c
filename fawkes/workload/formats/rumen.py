"""Traces of Rumen: what Hadoop's own tool makes of job histories (hadoop-tools/hadoop-rumen, LoggedJob).

One JSON object for each job, one after another, with its tasks and their attempts; times are milliseconds, -1 is
unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fawkes.base.units import show_time
from fawkes.workload.formats.history import FAILED
from fawkes.workload.model import Trace, TraceJob
from fawkes.workload.reading.objects import objects
from fawkes.workload.reading.traces import Collected, NoJobError
from fawkes.workload.tasks import MS_US, TaskSpan, known, map_us, reduce_us, total

_FORM = "An object has jobID, submitTime, mapTasks and reduceTasks, as `hadoop rumentrace` writes them"
_DONE = "SUCCESS"

Plain = Mapping[str, Any]


def read(path: Path) -> Trace:
    """The jobs of a Rumen trace, plain or gzip; times count from the earliest one (``start`` in the header).

    Bytes and times are those of the attempts that succeeded: input is what maps read from HDFS, shuffle what reduces
    fetched (or, unknown, what maps gave out), output what the last tasks wrote to HDFS.

    Dropped and counted by the line on which they begin: objects without a job's id or submit time. Mended: jobs that
    did not succeed (they are kept, with what they ran), jobs of an id that was there (a folded trace has them; they get
    a number behind it), and jobs whose time goes back. ConfigError when the file cannot be read, or holds no job.
    """
    collected = Collected(path)
    queues = Counter[str]()
    for line, logged in objects(path):
        try:
            job = _job(logged)
        except NoJobError as error:
            collected.drop(str(error), line)
            continue
        if logged.get("outcome") != _DONE:
            collected.mend(FAILED, line)
        if queue := logged.get("queue"):
            queues[str(queue)] += 1
        collected.add(job, line)
    start_us = collected.from_first()
    header = {"start": show_time(start_us)} if collected.jobs else {}
    if queues:
        header["queues"] = ", ".join(f"{name} {count}" for name, count in sorted(queues.items()))
    return collected.trace(form=_FORM, header=header)


def _job(logged: Plain) -> TraceJob:
    job_id, submit_ms = logged.get("jobID"), known(logged.get("submitTime"))
    if not isinstance(job_id, str) or not job_id:
        raise NoJobError("without a job's id")
    if submit_ms is None:
        raise NoJobError("without a submit time")
    maps, reduces = _listed(logged.get("mapTasks")), _listed(logged.get("reduceTasks"))
    map_count, reduce_count = _count(logged, "totalMaps", maps), _count(logged, "totalReduces", reduces)
    done_maps, done_reduces = _done(maps), _done(reduces)
    map_spans = [_span(attempt) for _, attempt in done_maps]
    last = done_reduces if reduce_count else done_maps
    end_ms, launch_ms = known(logged.get("finishTime")), known(logged.get("launchTime"))
    begin_ms = submit_ms if launch_ms is None else launch_ms
    return TraceJob(
        id=job_id,
        submit_us=submit_ms * MS_US,
        application=_text(logged.get("jobName")),
        input_bytes=total(_input(task, attempt) for task, attempt in done_maps),
        shuffle_bytes=_shuffled(done_maps, done_reduces) if reduce_count != 0 else 0,
        output_bytes=total(known(attempt.get("hdfsBytesWritten")) for _, attempt in last),
        maps=map_count,
        reduces=reduce_count,
        map_us=map_us(map_spans),
        reduce_us=reduce_us([_span(attempt) for _, attempt in done_reduces], map_spans),
        run_us=None if end_ms is None or end_ms < begin_ms else (end_ms - begin_ms) * MS_US,
        user=_text(logged.get("user")),
    )


def _listed(value: object) -> Sequence[Plain]:
    """The objects of a list; nothing when there is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _count(logged: Plain, key: str, tasks: Sequence[Plain]) -> int | None:
    count = known(logged.get(key))
    return count if count is not None else len(tasks) or None


def _done(tasks: Sequence[Plain]) -> list[tuple[Plain, Plain]]:
    """Each task that succeeded, with the attempt that did."""
    done = []
    for task in tasks:
        attempts = [attempt for attempt in _listed(task.get("attempts")) if attempt.get("result") == _DONE]
        if attempts:
            done.append((task, attempts[-1]))
    return done


def _span(attempt: Plain) -> TaskSpan:
    return TaskSpan.of(attempt.get("startTime"), attempt.get("finishTime"))


def _input(task: Plain, attempt: Plain) -> int | None:
    for said, key in ((attempt, "hdfsBytesRead"), (attempt, "mapInputBytes"), (task, "inputBytes")):
        size = known(said.get(key))
        if size is not None:
            return size
    return None


def _shuffled(maps: Sequence[tuple[Plain, Plain]], reduces: Sequence[tuple[Plain, Plain]]) -> int | None:
    fetched = total(known(attempt.get("reduceShuffleBytes")) for _, attempt in reduces)
    return fetched if fetched is not None else total(known(attempt.get("mapOutputBytes")) for _, attempt in maps)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
