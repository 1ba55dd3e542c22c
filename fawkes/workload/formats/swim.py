"""Traces of SWIM (Facebook's Hadoop clusters of 2009 and 2010, and what its tools make of a job history).

Lines with tabs and no header, in one of two forms (SWIMProjectUCB/SWIM, workloadSuite):

sampled  id, submit time, gap to the job before (s), bytes of map input, of shuffle, of reduce output; up to three more
         columns for paths (FB-2010 with input paths)
full     id, name, bytes of map input, of shuffle, of reduce output, submit time, duration (s), task-seconds of maps, of
         reduces, of both, maps, reduces; up to two more columns for paths (parse-hadoop-jobhistory.pl)

The sampled form has no durations: how long a job runs is for a model to say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from fawkes.base.units import MOST_BYTES, SECOND_US
from fawkes.workload.model import Trace, TraceJob, out_of_range
from fawkes.workload.reading.traces import NoJobError, Tally, lines, refuse_empty

BLOCK_BYTES = 128 << 20
"""A block of HDFS, as in the paper's section 5.1."""
LEAST_INPUT_BYTES = 64 << 20
LEAST_BYTES = 1024
"""What GenerateReplayScript.java lets a replayed job read at least, and shuffle and write at least."""

_SAMPLED_COLUMNS = range(6, 10)
_FULL_COLUMNS = range(12, 15)
_FORM = (
    "A line of SWIM has an id, two times and three sizes with tabs between them, or 12 to 14 columns of a job history"
)


def read(path: Path, *, block_bytes: int = BLOCK_BYTES) -> Trace:
    """The jobs of a SWIM file, plain or gzip; the first line that is a job decides for one of the two forms.

    A job has a map for each block of ``block_bytes`` that it reads, and at least one. It has no reduces when it
    shuffles nothing; else the sampled form does not know how many. In the full form times count from the earliest job.

    Lines that are no job are dropped and counted; those whose time goes back are put in their place and counted as
    mended. ConfigError when the file cannot be read, or holds no job at all.
    """
    dropped, mended = Tally(), Tally()
    jobs: list[TraceJob] = []
    ids: set[str] = set()
    form: range | None = None
    latest_us = 0
    for number, line in lines(path):
        fields = line.rstrip(b"\r\n").split(b"\t")
        seen = _form(len(fields))
        if seen is None or seen is not (form or seen):
            dropped.add("with a wrong number of columns", number)
            continue
        try:
            job = _job(seen, fields, block_bytes)
        except NoJobError as error:
            dropped.add(str(error), number)
            continue
        if job.id in ids:
            dropped.add("with the id of an earlier job", number)
            continue
        if reason := out_of_range(job):
            dropped.add(reason, number)
            continue
        form = seen
        ids.add(job.id)
        if job.submit_us < latest_us:
            mended.add("whose time goes back", number)
        latest_us = max(latest_us, job.submit_us)
        jobs.append(job)
    refuse_empty(path, jobs, dropped, form=_FORM)
    jobs.sort(key=lambda job: job.submit_us)
    if form is _FULL_COLUMNS:
        start_us = jobs[0].submit_us
        jobs = [replace(job, submit_us=job.submit_us - start_us) for job in jobs]
    return Trace(source=str(path), jobs=tuple(jobs), dropped=dropped.dropped(), mended=mended.dropped())


def is_job(line: bytes) -> bool:
    """True if a line looks like a job of one of the two forms."""
    fields = line.rstrip(b"\r\n").split(b"\t")
    form = _form(len(fields))
    try:
        return form is not None and _job(form, fields, BLOCK_BYTES) is not None
    except NoJobError:
        return False


def maps_of(input_bytes: int, block_bytes: int = BLOCK_BYTES) -> int:
    """The map tasks of a job: one for each block that it reads, and at least one."""
    return max(1, -(-input_bytes // block_bytes))


def scaled(
    job: TraceJob,
    factor_time: Fraction | float = 1,
    factor_size: Fraction | float = 1,
    *,
    machines: int | None = None,
    bytes_per_reducer: int | None = None,
    block_bytes: int = BLOCK_BYTES,
    least_input_bytes: int = LEAST_INPUT_BYTES,
    least_bytes: int = LEAST_BYTES,
) -> TraceJob:
    """A job for a cluster of another size, by the rules of SWIM's GenerateReplayScript.java.

    ``factor_size`` is target machines / machines of the trace (``Fraction(20, 600)``). Sizes are multiplied and cut to
    whole bytes; input is at least ``least_input_bytes``, shuffle and output at least ``least_bytes`` (with 0 a job
    without shuffle stays one). ``factor_time`` below 1 brings the jobs closer together; SWIM leaves times alone.

    With ``bytes_per_reducer``, reduces = (shuffle + output) / that, rounded, at least 1; and a fifth of ``machines``
    when that is more than ``machines``. Without it they stay, or become unknown when there were none and there is
    shuffle now. Unknown sizes and durations of tasks stay as they are. ValueError when a factor is negative.
    """
    if factor_time < 0 or factor_size < 0:
        raise ValueError(f"a factor is negative: time {factor_time}, size {factor_size}")
    read_bytes = _times(job.input_bytes, factor_size, least_input_bytes)
    shuffle_bytes = _times(job.shuffle_bytes, factor_size, least_bytes)
    output_bytes = _times(job.output_bytes, factor_size, least_bytes)
    reduces = None if shuffle_bytes and not job.reduces else job.reduces
    if bytes_per_reducer is not None and shuffle_bytes:
        reduces = _reducers(shuffle_bytes + (output_bytes or 0), bytes_per_reducer, machines)
    return replace(
        job,
        submit_us=int(job.submit_us * Fraction(factor_time)),
        think_us=int(job.think_us * Fraction(factor_time)),
        input_bytes=read_bytes,
        shuffle_bytes=shuffle_bytes,
        output_bytes=output_bytes,
        maps=job.maps if read_bytes is None else maps_of(read_bytes, block_bytes),
        reduces=reduces,
    )


def _times(size: int | None, factor: Fraction | float, least: int) -> int | None:
    return None if size is None else max(least, int(size * Fraction(factor)))


def _reducers(size: int, bytes_per_reducer: int, machines: int | None) -> int:
    # Java's Math.round, which SWIM uses, rounds halves up; Python's round takes the even neighbour.
    count = max(1, math.floor(Fraction(size, bytes_per_reducer) + Fraction(1, 2)))
    return max(1, machines // 5) if machines is not None and count > machines else count


def _form(columns: int) -> range | None:
    return next((form for form in (_SAMPLED_COLUMNS, _FULL_COLUMNS) if columns in form), None)


def _job(form: range, fields: Sequence[bytes], block_bytes: int) -> TraceJob:
    if not fields[0].strip():
        raise NoJobError("without an id")
    return (_full if form is _FULL_COLUMNS else _sampled)(fields, block_bytes)


def _sampled(fields: Sequence[bytes], block_bytes: int) -> TraceJob:
    input_bytes, shuffle_bytes, output_bytes = (_whole(field, "size") for field in fields[3:6])
    return TraceJob(
        id=_text(fields[0]),
        submit_us=_us(fields[1]),
        input_bytes=input_bytes,
        shuffle_bytes=shuffle_bytes,
        output_bytes=output_bytes,
        maps=maps_of(input_bytes, block_bytes),
        reduces=None if shuffle_bytes else 0,
    )


def _full(fields: Sequence[bytes], block_bytes: int) -> TraceJob:
    input_bytes, shuffle_bytes, output_bytes = (_maybe(field, "size") for field in fields[2:5])
    maps, reduces = (_maybe(field, "number of tasks") for field in fields[10:12])
    if not maps and input_bytes is not None:
        maps = maps_of(input_bytes, block_bytes)
    return TraceJob(
        id=_text(fields[0]),
        application=_text(fields[1]),
        submit_us=_us(fields[5]),
        run_us=_us(fields[6]) if fields[6].strip() else None,
        input_bytes=input_bytes,
        shuffle_bytes=shuffle_bytes,
        output_bytes=output_bytes,
        maps=maps,
        reduces=reduces,
        map_us=_mean_us(fields[7], maps),
        reduce_us=_mean_us(fields[8], reduces),
    )


def _mean_us(task_seconds: bytes, tasks: int | None) -> int | None:
    return round(_us(task_seconds) / tasks) if tasks and task_seconds.strip() else None


def _us(field: bytes) -> int:
    return round(_number(field, "time") * SECOND_US)


def _maybe(field: bytes, what: str) -> int | None:
    """The job history has empty fields, where a counter was not logged."""
    return _whole(field, what) if field.strip() else None


def _whole(field: bytes, what: str) -> int:
    """The job history's sizes may have decimals: its script multiplies records by a mean length."""
    return round(_number(field, what))


def _number(field: bytes, what: str) -> float:
    try:
        value: float = int(field)
    except ValueError:
        value = _decimal(field, what)
    if value < 0:
        raise NoJobError(f"with a negative {what}")
    if value > MOST_BYTES:
        raise NoJobError(f"with a {what} that is too large")
    return value


def _decimal(field: bytes, what: str) -> float:
    try:
        value = float(field)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise NoJobError(f"with a {what} that is not a number")
    return value


def _text(field: bytes) -> str:
    return field.strip().decode(errors="replace")
