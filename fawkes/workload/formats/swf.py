"""Logs in the Standard Workload Format of the Parallel Workloads Archive: rigid jobs, one a line, 18 columns.

Format: https://www.cs.huji.ac.il/labs/parallel/workload/swf.html. Times are seconds, -1 is unknown, lines that begin
with ``;`` are comments, of which ``; Key: value`` describe the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fawkes.base.units import SECOND_US
from fawkes.workload.formats.history import FAILED
from fawkes.workload.model import MOST_TASKS, Trace, TraceJob
from fawkes.workload.reading.traces import NoJobError, Tally, lines, many_objects, refuse_empty

COLUMNS = 18
_LARGEST = 1e11
"""As seconds these are 3000 years; no number of a log means more."""
_PARTS = frozenset((b"2", b"3", b"4"))
_UNDONE = frozenset((b"0", b"5"))
_UNKNOWN = frozenset((b"-1", b"-1.0"))
_S = SECOND_US
_NO_NUMBER = "with a field that is not a number"
_FORM = "A line has 18 numbers with spaces between them (Standard Workload Format)"


def read(path: Path) -> Trace:
    """The jobs of a SWF log, plain or gzip, with the log's own zero of time; ``header`` has what its comments say.

    ``processors`` are those allocated, else those asked for; ``requested_us`` is the user's estimate. A job that names
    a preceding one is ``after`` it, with the think time. Users and executables stay numbers, as text.

    Dropped and counted: lines that are not 18 numbers, or have one that is too large, jobs without a run time or
    processors, lines that tell only a part of a job (status 2 to 4), which another line tells whole, and second lines
    of one job. Mended and counted: jobs that failed or were cancelled (status 0 and 5), jobs whose submit time goes
    back, and those whose preceding job is not among the jobs before it. ConfigError when the file cannot be read, or
    holds no job.
    """
    dropped, mended = Tally(), Tally()
    jobs: list[TraceJob] = []
    header: dict[str, str] = {}
    names: dict[bytes, str] = {}
    ids: set[str] = set()
    latest_us = 0
    with many_objects():
        for number, line in lines(path):
            fields = line.split()
            if len(fields) != COLUMNS or fields[0].startswith(b";"):
                _other(line, number, header, dropped)
                continue
            try:
                job = _job(fields, names)
            except NoJobError as error:
                dropped.add(str(error), number)
                continue
            if job.id in ids:
                dropped.add("with the number of an earlier job", number)
                continue
            if job.after and job.after[0] not in ids:
                # It was dropped, or lies before the log's beginning: the job would wait for ever.
                mended.add("whose preceding job is missing", number)
                job = replace(job, after=(), think_us=0)
            ids.add(job.id)
            if fields[10] in _UNDONE:
                mended.add(FAILED, number)
            if job.submit_us < latest_us:
                mended.add("whose submit time goes back", number)
            else:
                latest_us = job.submit_us
            jobs.append(job)
    refuse_empty(path, jobs, dropped, form=_FORM)
    jobs.sort(key=lambda job: job.submit_us)
    return Trace(source=str(path), jobs=tuple(jobs), dropped=dropped.dropped(), mended=mended.dropped(), header=header)


def _other(line: bytes, number: int, header: dict[str, str], dropped: Tally) -> None:
    """A comment, an empty line, or a line that is wrong."""
    text = line.strip()
    if not text:
        return
    if not text.startswith(b";"):
        dropped.add("without 18 columns", number)
        return
    key, colon, value = text.lstrip(b"; \t").decode(errors="replace").partition(":")
    if colon:
        value = value.strip()
        header[key] = f"{header[key]}\n{value}" if key in header else value


def _job(fields: Sequence[bytes], names: dict[bytes, str]) -> TraceJob:
    if fields[10] in _PARTS:
        raise NoJobError("with a part of a job (status 2 to 4)")
    submit_us, run_us, requested_us, processors = _numbers(fields)
    if submit_us < 0:
        raise NoJobError("with a negative submit time")
    if run_us <= 0:
        raise NoJobError("with a job without run time")
    if processors <= 0:
        processors = round(_decimal(fields[7]))
        if processors <= 0:
            raise NoJobError("with a job without processors")
    if processors > MOST_TASKS:
        raise NoJobError(f"with more than {MOST_TASKS:,} processors")
    preceding, think_us = fields[16], 0
    if preceding not in _UNKNOWN:
        think_us = max(0, round(_decimal(fields[17]) * _S))
    return TraceJob(
        id=_text(fields[0]),
        submit_us=submit_us,
        application=names.get(fields[13]) or _name(fields[13], names),
        processors=processors,
        run_us=run_us,
        requested_us=requested_us if requested_us > 0 else None,
        user=names.get(fields[11]) or _name(fields[11], names),
        after=() if preceding in _UNKNOWN else (_text(preceding),),
        think_us=think_us,
    )


def _numbers(fields: Sequence[bytes]) -> tuple[int, int, int, int]:
    """Submit time, run time and the time asked for, in microseconds, and the processors."""
    try:
        submit, run, requested, processors = int(fields[1]), int(fields[3]), int(fields[8]), int(fields[4])
    except ValueError:
        submit_s, run_s, requested_s, count = (_decimal(fields[column]) for column in (1, 3, 8, 4))
        return round(submit_s * _S), round(run_s * _S), round(requested_s * _S), round(count)
    # Python reads 1_000 as a number.
    if b"_" in fields[1] + fields[3] + fields[8] + fields[4]:
        raise NoJobError(_NO_NUMBER)
    if max(submit, run, requested) > _LARGEST:
        raise NoJobError("with a number that is too large")
    return submit * _S, run * _S, requested * _S, processors


def _decimal(field: bytes) -> float:
    try:
        value = float(field.replace(b"_", b"?"))
        round(value)
    except (ValueError, OverflowError):
        raise NoJobError(_NO_NUMBER) from None
    if abs(value) > _LARGEST:
        raise NoJobError("with a number that is too large")
    return value


def _name(field: bytes, names: dict[bytes, str]) -> str:
    """One text for all jobs of a user: a million jobs would hold a million of them."""
    return "" if field in _UNKNOWN else names.setdefault(field, _text(field))


def _text(field: bytes) -> str:
    return field.decode(errors="replace")


def is_job(line: bytes) -> bool:
    """True if a line looks like a job: 18 numbers."""
    fields = line.split()
    try:
        return len(fields) == COLUMNS and all(_decimal(field) is not None for field in fields)
    except NoJobError:
        return False
