"""Workflows of the Workflow Trace Archive (WTA): rigid jobs, one row of a Parquet file each.

A trace is a folder with ``tasks/schema-1.0/*.parquet``; one of these files alone is read as well. Times are
milliseconds, -1 is unknown. pyarrow reads Parquet: it belongs to the extra ``offline``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fawkes.base.errors import ConfigError, cut
from fawkes.base.extras import require
from fawkes.base.reading import opened
from fawkes.workload.formats.gwf import linked, rigid
from fawkes.workload.model import MOST_JOBS, MOST_TIME_US, Trace, TraceJob
from fawkes.workload.reading.traces import Collected, NoJobError, many_objects
from fawkes.workload.tasks import MS_US

_NEEDED = ("id", "workflow_id", "ts_submit", "runtime", "resource_amount_requested", "parents")
_USER = "user_id"
_FORM = f"A row of a task has the columns {', '.join(_NEEDED)}"
_BATCH_ROWS = 1 << 14


def read(path: Path) -> Trace:
    """The tasks of a WTA trace as rigid jobs; ids are WORKFLOW-TASK, and times count from the earliest one.

    Dropped and counted by the number of the row over all files: tasks without a run time, a submit time or processors.
    Mended: tasks with a parent that is not there. ConfigError names the file that cannot be read: then none is read.
    """
    require("a workload in Parquet", "offline")
    collected = Collected(path)
    jobs: list[tuple[TraceJob, int]] = []
    with many_objects():
        rows = (row for file in files(path) for row in _rows(file))
        for number, row in enumerate(rows, start=1):
            try:
                jobs.append((_job(row), number))
            except NoJobError as error:
                collected.drop(str(error), number)
    return linked(collected, jobs, form=_FORM, from_first=True)


def files(path: Path) -> list[Path]:
    """The Parquet files with the tasks of a trace, in order; a file is the only one of its trace."""
    if not path.is_dir():
        return [path]
    for place in (path / "tasks" / "schema-1.0", path / "tasks", path / "schema-1.0", path):
        if parts := sorted(place.glob("*.parquet")):
            return parts
    return []


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with opened(file) as source:
            table = pq.ParquetFile(source)
            there = set(table.schema_arrow.names)
            if missing := [name for name in _NEEDED if name not in there]:
                what = f"has no column {missing[0]!r}, so it has no tasks of the Workflow Trace Archive"
                raise ConfigError(what, file=str(file), hint=f"{_FORM}; it has {cut(', '.join(sorted(there)))}")
            if table.metadata.num_rows > MOST_JOBS:
                raise ConfigError(f"holds more than {MOST_JOBS:,} jobs", file=str(file), hint="Give a part of it")
            columns = [*_NEEDED, *({_USER} & there)]
            for batch in table.iter_batches(batch_size=_BATCH_ROWS, columns=columns):
                yield from batch.to_pylist()
    except (pa.ArrowException, OSError, EOFError) as error:
        what = f"is not a complete Parquet file ({cut(str(error))})"
        raise ConfigError(what, file=str(file), hint="Fetch the file again; no other part is used without it") from None


def _job(row: Mapping[str, Any]) -> TraceJob:
    submit_ms, run_ms = _whole(row["ts_submit"]), _whole(row["runtime"])
    if submit_ms < 0:
        raise NoJobError("with a negative submit time")
    if max(submit_ms, run_ms) > MOST_TIME_US // MS_US:
        raise NoJobError("with a number that is too large")
    workflow = row["workflow_id"]
    user = row.get(_USER)
    return rigid(
        job_id=f"{workflow}-{row['id']}",
        submit_us=submit_ms * MS_US,
        run_us=run_ms * MS_US,
        processors=[math.ceil(_number(row["resource_amount_requested"]))],
        after=[f"{workflow}-{_item(parent)}" for parent in row["parents"] or ()],
        user="" if user in (None, -1) else str(user),
    )


def _item(parent: object) -> object:
    """The id of a parent; some writers put each into a group of its own."""
    return next(iter(parent.values()), None) if isinstance(parent, dict) else parent


def _whole(value: object) -> int:
    if isinstance(value, datetime):
        return round((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * 1000)
    return round(_number(value))


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise NoJobError("with a field that is not a number")
    return value
