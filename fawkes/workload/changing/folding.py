"""Rumen's Folder (hadoop-tools/hadoop-rumen, Folder.java): a long trace squeezed into a shorter or longer time.

The trace is cut into pieces of ``cycle_us``; the pieces are laid over each other, stretched to ``duration_us``, and of
each job as many copies are taken as keep the load: the rate of jobs is ``concentration`` times that of the trace. With
the same seed the jobs are those that Hadoop's own tool takes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from fawkes.base.errors import UserError
from fawkes.workload.links import relinked
from fawkes.workload.model import MOST_JOBS, Trace, TraceJob


def fold(
    trace: Trace,
    *,
    cycle_us: int,
    duration_us: int,
    concentration: float = 1.0,
    seed: int = 0,
    starts_after_us: int = 0,
) -> Trace:
    """The folded trace; its times count from the first job that is taken into account.

    Jobs that come less than ``starts_after_us`` after the first one are left out. Copies of a job have a number behind
    its id. A job is after the copies of those that it was after, as far as they are there.

    A skew buffer, as Rumen has, is not needed: jobs are sorted. ValueError when a time or the concentration is not
    above 0; UserError when there are no jobs, all come at one moment, or too many would come.
    """
    if cycle_us <= 0 or duration_us <= 0 or concentration <= 0 or starts_after_us < 0:
        raise ValueError(f"cannot fold by {cycle_us} us into {duration_us} us, {concentration} times as dense")
    first_us = trace.jobs[0].submit_us if trace.jobs else 0
    jobs = [job for job in trace.jobs if job.submit_us >= first_us + starts_after_us]
    if not jobs:
        raise UserError("no job is left to fold", where=trace.source)
    begin_us = jobs[0].submit_us
    span_us = jobs[-1].submit_us - begin_us
    if not span_us:
        raise UserError("all jobs arrive at the same moment, so there is nothing to fold", where=trace.source)
    ratio = span_us * (len(jobs) + 1) / len(jobs) / cycle_us
    copies = duration_us / cycle_us * concentration / ratio
    if len(jobs) * copies > MOST_JOBS:
        hint = "Give a lower concentration, a shorter duration or a longer cycle"
        raise UserError(f"folded it would have more than {MOST_JOBS:,} jobs", where=trace.source, hint=hint)
    draw = java_random(seed)
    folded: list[TraceJob] = []
    for job in _laid_over(jobs, begin_us, cycle_us, duration_us):
        count = int(copies) + (draw() < copies - int(copies))
        folded += [job] * count
    return replace(trace, jobs=relinked(folded))


def java_random(seed: int) -> Callable[[], float]:
    """``nextDouble`` of java.util.Random with a seed: the linear congruential generator of its documentation."""
    state = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)

    def bits(count: int) -> int:
        nonlocal state
        state = (state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        return state >> (48 - count)

    return lambda: ((bits(26) << 27) + bits(27)) / (1 << 53)


def _laid_over(jobs: Sequence[TraceJob], begin_us: int, cycle_us: int, duration_us: int) -> Iterator[TraceJob]:
    """The jobs at their new times, in the order of these."""
    pieces = [list(piece) for _, piece in groupby(jobs, key=lambda job: (job.submit_us - begin_us) // cycle_us)]
    return heapq.merge(
        *(
            [replace(job, submit_us=(job.submit_us - begin_us) % cycle_us * duration_us // cycle_us) for job in piece]
            for piece in pieces
        ),
        key=lambda job: job.submit_us,
    )
