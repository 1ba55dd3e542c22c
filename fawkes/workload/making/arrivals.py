"""The time when jobs come: submit times in microseconds, in order, from a generator of random numbers alone.

A closed loop (the next job comes when the one before has ended) is no list of times: its jobs have ``after`` and
``think_us`` (``fawkes.workload.model``).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from fawkes.base.units import SECOND_US
from fawkes.workload.model import TraceJob, in_order

NAMED = ("average", "batch", "bursty", "sequential")
"""The arrivals of the paper's Table 2."""
_HOUR_US = 3600 * SECOND_US


def batch(count: int, *, start_us: int = 0) -> tuple[int, ...]:
    """All at once."""
    return (start_us,) * count


def poisson(rng: random.Random, count: int, *, per_hour: float, start_us: int = 0) -> tuple[int, ...]:
    """One after another, independently, ``per_hour`` of them an hour on average; ValueError unless that is above 0."""
    if not per_hour > 0:
        raise ValueError(f"{per_hour} jobs an hour never come: the rate must be above 0")
    gaps = (rng.expovariate(per_hour) * _HOUR_US for _ in range(count))
    return tuple(start_us + round(at) for at in accumulate(gaps))


def bursts(
    rng: random.Random,
    count: int,
    *,
    sizes: Sequence[tuple[int, float]],
    gap_us: int,
    within_us: int = 0,
    start_us: int = 0,
) -> tuple[int, ...]:
    """``count`` jobs in bursts: of ``sizes`` (jobs, weight), exponential gaps of ``gap_us`` on average before each.

    The jobs of a burst come within ``within_us``, evenly at random; the last burst is cut to what is left. ValueError
    when there are no sizes, a burst has no job, or a time is negative.
    """
    if not sizes or min(size for size, _ in sizes) < 1:
        raise ValueError(f"bursts of {[size for size, _ in sizes]} jobs: each needs at least one")
    if gap_us < 0 or within_us < 0:
        raise ValueError(f"a time is negative (gap {gap_us} us, within {within_us} us)")
    times: list[int] = []
    at = float(start_us)
    while len(times) < count:
        at += rng.expovariate(1) * gap_us
        size = rng.choices([size for size, _ in sizes], [weight for _, weight in sizes])[0]
        times += (round(at) + rng.randint(0, within_us) for _ in range(min(size, count - len(times))))
    return tuple(sorted(times))


def named(
    kind: str,
    large: Sequence[bool],
    rng: random.Random,
    *,
    span_us: int,
    burst_sizes: Sequence[tuple[int, float]],
    burst_within_us: int,
    start_us: int = 0,
) -> tuple[int, ...]:
    """A time for each job, of which some are ``large``, by the paper's names (section 7); not in order.

    ``batch`` and ``sequential``: all at ``start_us`` (``after`` makes the second a sequence). ``average``: Poisson, the
    last one after ``span_us`` on average. ``bursty``: the same for those that are not large, and the large ones in
    ``bursts``, so far apart that the last one comes within the span on average. The paper draws its curves but does not
    give their numbers: this is a reconstruction. ValueError for another name.
    """
    if kind not in NAMED:
        raise ValueError(f"there are no arrivals {kind!r}: {', '.join(NAMED)}")
    if kind in ("batch", "sequential"):
        return batch(len(large), start_us=start_us)
    in_bursts = [at for at, is_large in enumerate(large) if is_large and kind == "bursty"]
    weights = sum(weight for _, weight in burst_sizes)
    mean = sum(size * weight for size, weight in burst_sizes) / weights
    gap_us = round(span_us / (len(in_bursts) / mean + 1))
    coming = bursts(rng, len(in_bursts), sizes=burst_sizes, gap_us=gap_us, within_us=burst_within_us, start_us=start_us)
    times = dict(zip(in_bursts, coming, strict=True))
    others = [at for at in range(len(large)) if at not in times]
    rate = max(1, len(others)) * _HOUR_US / span_us
    times |= dict(zip(others, poisson(rng, len(others), per_hour=rate, start_us=start_us), strict=True))
    return tuple(times[at] for at in range(len(large)))


def perturbed(jobs: Sequence[TraceJob], rng: random.Random, spread_us: int) -> tuple[TraceJob, ...]:
    """The same jobs, each submitted up to ``spread_us`` earlier or later, evenly at random, never below 0; sorted.

    No job is submitted before one that it is ``after``. This is the "shaking" of Tsafrir and Feitelson: one replay of a
    trace may show an accident of its exact times, the spread of many shaken ones tells. A policy that is compared with
    another one meets the same shaken jobs when it gets a generator of the same seed.

    ValueError when the spread is negative; UserError as ``in_order``.
    """
    if spread_us < 0:
        raise ValueError(f"a spread of {spread_us} us is negative")
    # Times that would be below 0 are mirrored at it: cut off there, the first jobs of a trace became a batch.
    moved = {job.id: abs(job.submit_us + rng.randint(-spread_us, spread_us)) for job in jobs}
    for job in in_order(jobs):
        moved[job.id] = max(moved[job.id], *(moved[other] for other in job.after), 0)
    shaken = [replace(job, submit_us=moved[job.id]) for job in jobs]
    return tuple(sorted(shaken, key=lambda job: job.submit_us))
