"""Workflows in the Grid Workload Format, as the traces of the Graph Workloads Archive: rigid jobs, one a line.

The columns are WorkflowID, JobID, SubmitTime, RunTime, NProcs, ReqNProcs, Dependencies, with commas between them; times
are seconds, -1 is unknown. Dependencies are ids of jobs of the same workflow, with spaces between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from fawkes.base.errors import ConfigError, UserError
from fawkes.base.units import SECOND_US
from fawkes.workload.model import MOST_TASKS, MOST_TIME_US, Trace, TraceJob, in_order
from fawkes.workload.reading.traces import Collected, NoJobError, lines, many_objects

COLUMNS = ("WorkflowID", "JobID", "SubmitTime", "RunTime", "NProcs", "ReqNProcs", "Dependencies")
_HEAD = ",".join(COLUMNS).lower().encode()
_NUMBER = re.compile(rb"-?\d{1,18}(\.\d{1,9})?")
_ID = re.compile(rb"\d{1,18}")
_FORM = "A line has 7 columns with commas between them: " + ", ".join(COLUMNS)


def read(path: Path) -> Trace:
    """The jobs of a GWF file: processors are those allocated, else those asked for; ids are WORKFLOW-JOB.

    Dropped and counted: lines without 7 columns of numbers, jobs without a run time, a submit time or processors.
    Mended: jobs that depend on one that is not there; they do not wait for it. ConfigError when the file cannot be
    read, holds no job, or jobs wait for each other.
    """
    collected = Collected(path)
    jobs: list[tuple[TraceJob, int]] = []
    with many_objects():
        for number, line in lines(path):
            text = line.strip()
            if not text or text.startswith(b"#") or is_head(text):
                continue
            try:
                jobs.append((_job(text), number))
            except NoJobError as error:
                collected.drop(str(error), number)
    return linked(collected, jobs, form=_FORM)


def linked(collected: Collected, jobs: Sequence[tuple[TraceJob, int]], *, form: str, from_first: bool = False) -> Trace:
    """The jobs of workflows (each with its line) in the order of their times, each after jobs that are there.

    ``found`` has what was dropped. ConfigError when there is no job, or jobs wait for each other.
    """
    there = {job.id for job, _ in jobs}
    linked_jobs = []
    for job, number in jobs:
        known = tuple(before for before in job.after if before in there)
        if known != job.after:
            collected.mend("that depends on a job that is not there", number)
        linked_jobs.append((replace(job, after=known), number))
    # Files have one workflow after another, and each begins at a time of its own.
    for job, number in sorted(linked_jobs, key=lambda row: row[0].submit_us):
        collected.add(job, number)
    if from_first:
        collected.from_first()
    trace = collected.trace(form=form, header={})
    try:
        in_order(trace.jobs)
    except UserError as error:
        file, hint = str(collected.path), "Correct the dependencies"
        raise ConfigError(error.what, file=file, key=error.where, hint=hint) from None
    return trace


def is_head(line: bytes) -> bool:
    """True for the line with the names of the columns."""
    return re.sub(rb"\s", b"", line).lower() == _HEAD


def fits(there: Iterable[bytes]) -> bool:
    """True if a file that begins with these lines is GWF: the names of its columns come before any job."""
    head = next((line for line in there if line.strip() and not line.startswith(b"#")), b"")
    return is_head(head.removeprefix(b"\xef\xbb\xbf"))


def _job(line: bytes) -> TraceJob:
    fields = [field.strip() for field in line.split(b",")]
    if len(fields) != len(COLUMNS):
        raise NoJobError("without 7 columns")
    if not (_ID.fullmatch(fields[0]) and _ID.fullmatch(fields[1])):
        raise NoJobError("without the number of a workflow and of a job")
    submit_us, run_us = (_time_us(field) for field in fields[2:4])
    if submit_us < 0:
        raise NoJobError("with a negative submit time")
    workflow = fields[0].decode()
    return rigid(
        job_id=f"{workflow}-{fields[1].decode()}",
        submit_us=submit_us,
        run_us=run_us,
        processors=[round(_number(field)) for field in fields[4:6]],
        after=[f"{workflow}-{parent}" for parent in _dependencies(fields[6])],
    )


def rigid(
    *, job_id: str, submit_us: int, run_us: int, processors: Sequence[int], after: Sequence[str], user: str = ""
) -> TraceJob:
    """A rigid job with the first number of processors that is known; UnreadableError when it cannot be run."""
    if run_us <= 0:
        raise NoJobError("with a job without run time")
    known = next((count for count in processors if count > 0), 0)
    if not known:
        raise NoJobError("with a job without processors")
    if known > MOST_TASKS:
        raise NoJobError(f"with more than {MOST_TASKS:,} processors")
    return TraceJob(
        id=job_id, submit_us=submit_us, processors=known, run_us=run_us, after=tuple(dict.fromkeys(after)), user=user
    )


def _dependencies(field: bytes) -> list[str]:
    ids = [word for word in field.split() if word != b"-1"]
    if not all(map(_ID.fullmatch, ids)):
        raise NoJobError("with a dependency that is not the number of a job")
    return [word.decode() for word in ids]


def _time_us(field: bytes) -> int:
    time_us = round(_number(field) * SECOND_US)
    if time_us > MOST_TIME_US:
        raise NoJobError("with a number that is too large")
    return time_us


def _number(field: bytes) -> float:
    if not _NUMBER.fullmatch(field):
        raise NoJobError("with a field that is not a number")
    return float(field)
