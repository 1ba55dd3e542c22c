"""Jobs of a trace that come after the end of the run: one wrong time makes a run that cannot finish."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from fawkes.errors import ConfigError, FawkesError
from fawkes.units import SECOND_US, show_duration
from fawkes.workload.model import TraceJob
from fawkes.workload.traces import lines

_DAY_US = 86_400 * SECOND_US


def refuse_late(jobs: Sequence[TraceJob], path: Path, time_factor: float, limit_us: int, *, table: bool) -> None:
    """ConfigError when jobs of a trace are submitted after the limit of the run, which then could never finish.

    It says how many, names the first one with its line, and the largest gap between two jobs: when the time of the
    first job is the wrong one, nearly all others come late. Times of a ``table`` count from the start of the run,
    others from the first job; they are multiplied by ``time_factor``.
    """
    begin_us = 0 if table or not jobs else jobs[0].submit_us
    late = [job for job in jobs if (job.submit_us - begin_us) * time_factor > limit_us]
    if not late:
        return
    first = late[0]
    are = "is" if len(late) == 1 else "are"
    wrong = f"{len(late):,} of {len(jobs):,} jobs {are} submitted after the limit of the run, {_days(limit_us)}"
    at = f"the first is {_named(first, path)}, {_days((first.submit_us - begin_us) * time_factor)} after the start"
    gap = ""
    if len(jobs) > 1:
        before, after = max(pairwise(jobs), key=lambda pair: pair[1].submit_us - pair[0].submit_us)
        long = _days((after.submit_us - before.submit_us) * time_factor)
        gap = f"; the largest gap, {long}, is between {_named(before, path)} and {_named(after, path)}"
    raise ConfigError(
        f"{wrong}: {at}{gap}",
        file=str(path),
        hint="Correct or remove the job whose time is wrong. If all times are right, give the scenario a longer "
        "`limit`, or the load a smaller `time_factor` or fewer jobs (`limit`)",
    )


def _days(us: float) -> str:
    return f"{us / _DAY_US:,.0f} d" if us >= 2 * _DAY_US else show_duration(round(us))


def _named(job: TraceJob, path: Path) -> str:
    line = _line_of(job, path)
    return f"job {job.id!r} (line {line})" if line else f"job {job.id!r}"


def _line_of(job: TraceJob, path: Path) -> int | None:
    """The line of a job: the first that begins with its id, else the first with the id as a word; None without one.

    Formats do not keep the numbers of lines of the jobs that they read: only an error needs them.
    """
    name = re.escape(job.id.encode())
    begins, has = re.compile(rb"\s*" + name + rb"(?![\w.-])"), re.compile(rb"(?<![\w.-])" + name + rb"(?![\w.-])")
    found = None
    try:
        for number, line in lines(path):
            if begins.match(line):
                return number
            if found is None and has.search(line):
                found = number
    except FawkesError:
        return None
    return found
