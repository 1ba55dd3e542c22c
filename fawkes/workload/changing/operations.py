"""Operations on workloads: each takes traces and gives one, and changes nothing else."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from operator import add

from fawkes.base.errors import UserError
from fawkes.workload.formats.swim import maps_of, scaled
from fawkes.workload.links import bridged, renamed
from fawkes.workload.making.arrivals import perturbed
from fawkes.workload.model import Dropped, Trace, TraceJob
from fawkes.workload.seeds import rng


def scale(trace: Trace, *, time: Fraction | float = 1, size: Fraction | float = 1) -> Trace:
    """Arrivals are multiplied by ``time``, bytes and tasks by ``size``; a job keeps one map, one byte and so on.

    Tasks stay as long as they are. Maps of a job whose tasks' times are unknown follow its bytes, a map for each block.
    The time of a whole job with tasks is unknown when its size has changed. ValueError when a factor is negative.
    """
    if time < 0 or size < 0:
        raise ValueError(f"a factor is negative: time {time}, size {size}")
    return _each(trace, lambda job: _sized(_at(job, time), Fraction(size)))


def scale_machines(
    trace: Trace,
    *,
    machines: int,
    target: int,
    time: Fraction | float = 1,
    bytes_per_reducer: int | None = None,
) -> Trace:
    """The jobs for a cluster of ``target`` machines, out of a trace of ``machines``, by the rules of SWIM.

    These have least sizes, and reduces by bytes (``fawkes.workload.formats.swim.scaled``). ValueError when a number is
    not above 0.
    """
    _check(machines=machines, target=target, time=time)
    factor = Fraction(target, machines)
    return _each(
        trace,
        lambda job: scaled(
            job,
            factor_time=Fraction(time),
            factor_size=factor,
            machines=target,
            bytes_per_reducer=bytes_per_reducer,
        ),
    )


def sample(
    trace: Trace,
    *,
    jobs: int | None = None,
    share: float | None = None,
    window_us: tuple[int, int] | None = None,
    seed: int = 1,
) -> Trace:
    """Some of the jobs at their own times: ``jobs`` of them or a ``share``, drawn evenly; those of a time window.

    A window is from its first moment to before its second one, counted from the start of the trace; the times of its
    jobs count from its beginning. With both, jobs are drawn out of the window. A job that was after one that is left
    out is after those that this one was after. UserError when there are not so many jobs; ValueError for a share that
    is none.
    """
    kept = trace.jobs
    if window_us is not None:
        begin_us, end_us = window_us
        kept = tuple(
            replace(job, submit_us=job.submit_us - begin_us) for job in kept if begin_us <= job.submit_us < end_us
        )
    if share is not None:
        if not 0 < share <= 1:
            raise ValueError(f"{share} is not a share: it must be above 0 and at most 1")
        jobs = max(1, round(share * len(kept)))
    if jobs is not None:
        if jobs > len(kept):
            raise UserError(f"there are {len(kept)} jobs, but {jobs} were requested", where=trace.source)
        places = sorted(rng(seed, "sample").sample(range(len(kept)), jobs))
        kept = tuple(kept[at] for at in places)
    if not kept:
        raise UserError("no job is left", where=trace.source, hint="The workload is shorter, or has a gap there")
    return replace(trace, jobs=bridged(trace.jobs, kept))


def perturb(trace: Trace, *, spread_us: int = 0, deviation: float = 0.0, seed: int = 1) -> Trace:
    """The jobs shaken: each up to ``spread_us`` earlier or later, its size times a lognormal factor of mean 1.

    ``deviation`` is the standard deviation of that factor; bytes and tasks change as in ``scale``. Arrivals do not
    depend on whether sizes are shaken, and the other way round. ValueError when one of them is negative; UserError when
    jobs wait for each other.
    """
    if spread_us < 0 or deviation < 0:
        raise ValueError(f"cannot perturb by {spread_us} us and {deviation}: neither may be negative")
    jobs: Sequence[TraceJob] = trace.jobs
    if deviation:
        chance = rng(seed, "perturb", "sizes")
        jobs = [_sized(job, Fraction(_factor(chance, deviation))) for job in jobs]
    if spread_us:
        jobs = perturbed(jobs, rng(seed, "perturb", "arrivals"), spread_us)
    return replace(trace, jobs=tuple(jobs))


def merge(traces: Sequence[Trace], *, clusters: Sequence[str | None] = (), labels: Sequence[str] = ()) -> Trace:
    """All jobs of several workloads, side by side: each begins at its own zero of time.

    The jobs of a workload get the MR-cluster of its place in ``clusters``, or keep theirs where that is None. When an
    id is in two of them, all ids get the label of their workload in front (``a-``), or its number where the labels
    would make two ids the same. ValueError when there are not as many of one as of the other, or no workload.
    """
    if not traces or (clusters and len(clusters) != len(traces)) or (labels and len(labels) != len(traces)):
        raise ValueError(f"{len(traces)} workloads, {len(clusters)} MR-clusters and {len(labels)} labels")
    parts = [trace.jobs for trace in traces]
    ids = [{job.id for job in part} for part in parts]
    if len(set().union(*ids)) < sum(map(len, ids)):
        fronts = _labels(labels, ids)
        parts = [renamed(part, partial(add, f"{label}-")) for part, label in zip(parts, fronts, strict=True)]
    names = clusters or [None] * len(parts)
    jobs = [
        job if name is None else replace(job, cluster=name)
        for part, name in zip(parts, names, strict=True)
        for job in part
    ]
    return Trace(
        source=", ".join(trace.source for trace in traces), jobs=tuple(sorted(jobs, key=lambda job: job.submit_us))
    )


def _labels(labels: Sequence[str], ids: Sequence[Collection[str]]) -> Sequence[str]:
    """Labels under which all ids differ: those given, else numbers, which have no hyphen and so never meet."""
    names = {f"{label}-{name}" for label, mine in zip(labels, ids, strict=False) for name in mine}
    differ = len(set(labels)) == len(ids) and len(names) == sum(map(len, ids))
    return labels if differ else [str(number) for number in range(1, len(ids) + 1)]


def _check(**numbers: Fraction | float) -> None:
    for name, value in numbers.items():
        if not value > 0:
            raise ValueError(f"{name} is {value}: it must be above 0")


def _each(trace: Trace, change: Callable[[TraceJob], TraceJob]) -> Trace:
    return replace(trace, jobs=tuple(change(job) for job in trace.jobs), dropped=Dropped(), mended=Dropped())


def _at(job: TraceJob, factor: Fraction | float) -> TraceJob:
    if factor == 1:
        return job
    exact = Fraction(factor)
    return replace(job, submit_us=round(job.submit_us * exact), think_us=round(job.think_us * exact))


def _sized(job: TraceJob, factor: Fraction) -> TraceJob:
    if factor == 1:
        return job
    input_bytes = _times(job.input_bytes, factor)
    by_blocks = job.map_us is None and job.maps is not None and job.maps == maps_of(job.input_bytes or 0)
    return replace(
        job,
        input_bytes=input_bytes,
        shuffle_bytes=_times(job.shuffle_bytes, factor),
        output_bytes=_times(job.output_bytes, factor),
        maps=maps_of(input_bytes or 0) if by_blocks else _times(job.maps, factor),
        reduces=_times(job.reduces, factor),
        processors=_times(job.processors, factor),
        run_us=job.run_us if job.processors is not None else None,
    )


def _times(count: int | None, factor: Fraction) -> int | None:
    """The count times the factor: one at least where there was something; nothing stays nothing."""
    return max(1, round(count * factor)) if count else count


def _factor(chance: random.Random, deviation: float) -> float:
    variance = math.log1p(deviation**2)
    return chance.lognormvariate(-variance / 2, math.sqrt(variance))
