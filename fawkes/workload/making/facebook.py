"""Synthetic workloads like those of SWIM: jobs drawn out of a trace, or out of a table of Facebook's in 2009.

The table was made from SWIM's FB-2009_samples_24_times_1hr_0.tsv: its 5,894 jobs, in the logarithms of their three
sizes, in 28 groups (k-means; jobs without shuffle by themselves), each with its middle job. SWIM's own licence is in
tests/workload/data/SOURCES.md.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import accumulate

from fawkes.base.errors import UserError
from fawkes.base.units import SECOND_US
from fawkes.workload.formats.swim import maps_of
from fawkes.workload.links import relinked
from fawkes.workload.making.arrivals import poisson
from fawkes.workload.model import Trace, TraceJob
from fawkes.workload.seeds import rng

PER_MINUTE = 4.1
"""Jobs a minute in that trace."""
SPREAD = 0.5
"""Standard deviation of the decimal logarithm of a size in its group: the median over the groups."""

GROUPS = (
    (1022, 39_900, 0, 362_601),
    (971, 3_498, 0, 244_399),
    (957, 86, 0, 577_725_125),
    (293, 52_888, 0, 3_433_633_260),
    (288, 9_638, 0, 1_694),
    (252, 350, 0, 4_051_127_709),
    (202, 43_492_184, 93_829_292, 8_816_694),
    (170, 3_034_493, 7_581_980, 984_317),
    (155, 25, 0, 468),
    (150, 60_898, 89_544, 12_715),
    (127, 510_446_416, 1_020_235_756, 107_714_155),
    (120, 10_045_905, 0, 11_632_530),
    (116, 10_834_063_225, 12_470_759_977, 1_407_875_635),
    (114, 7_121_116_453, 938_806_985, 13_826_653),
    (110, 16_009_011, 320, 244),
    (104, 7_336, 5_109, 766),
    (98, 8_688, 0, 576_914_641),
    (83, 3_037_583_596, 0, 852_491_770),
    (74, 54_287_899_625, 66_616_933_905, 4_703_255_578),
    (74, 5_322_054_258, 618_548_082, 1_895),
    (70, 10_400, 0, 89_256_271),
    (62, 0, 0, 0),
    (60, 5_456_941_556, 166_274, 4_422),
    (58, 1_057, 211, 301),
    (51, 1_493_830, 3_478_854, 15_086),
    (43, 18_309_664_182, 0, 1_420_407),
    (36, 922_874, 2_470_407, 127),
    (34, 358_561_401, 0, 10_360),
)
"""Jobs of each group; bytes of input, shuffle and output of its middle job."""


def like_facebook(jobs: int = 1000, *, per_minute: float = PER_MINUTE, seed: int = 1) -> Trace:
    """Jobs with the sizes of Facebook's of 2009, in a Poisson stream; UserError without jobs or rate.

    A job is of a group by the group's weight; its sizes are those of the middle one times a common lognormal factor.
    """
    _check(jobs, per_minute)
    chance = rng(seed, "facebook", "sizes")
    ends = list(accumulate(count for count, *_ in GROUPS))
    drawn = chance.choices(GROUPS, cum_weights=ends, k=jobs)
    times = _times(jobs, per_minute, seed, "facebook")
    made = [_job(number, at_us, group, chance) for number, (at_us, group) in enumerate(zip(times, drawn, strict=True))]
    return Trace(source="like Facebook 2009", jobs=tuple(made), header={"seed": str(seed)})


def like(trace: Trace, jobs: int | None = None, *, per_minute: float | None = None, seed: int = 1) -> Trace:
    """A trace of as many jobs, or of ``jobs``, drawn from this one with replacement, in a Poisson stream of its rate.

    They are after no others: what is drawn is no chain any more. UserError when the rate is not known (all of its jobs
    come at once) or no job is asked for.
    """
    span_us = trace.jobs[-1].submit_us - trace.jobs[0].submit_us
    if per_minute is None:
        if not span_us:
            raise UserError("all jobs arrive at the same moment", where=trace.source, hint="Give per_minute")
        per_minute = (len(trace.jobs) - 1) * 60 * SECOND_US / span_us
    count = len(trace.jobs) if jobs is None else jobs
    _check(count, per_minute)
    drawn = rng(seed, "like", "jobs").choices(trace.jobs, k=count)
    times = _times(count, per_minute, seed, "like")
    made = [replace(job, submit_us=at_us, after=(), think_us=0) for job, at_us in zip(drawn, times, strict=True)]
    return Trace(source=f"like {trace.source}", jobs=relinked(made), header={"seed": str(seed)})


def _times(count: int, per_minute: float, seed: int, label: str) -> tuple[int, ...]:
    times = poisson(rng(seed, label, "arrivals"), count, per_hour=60 * per_minute)
    return tuple(at_us - times[0] for at_us in times)


def _job(number: int, at_us: int, group: tuple[int, int, int, int], chance: random.Random) -> TraceJob:
    factor = 10 ** chance.gauss(0, SPREAD)
    input_bytes, shuffle_bytes, output_bytes = (round(size * factor) for size in group[1:])
    return TraceJob(
        id=f"job{number}",
        submit_us=at_us,
        input_bytes=input_bytes,
        shuffle_bytes=shuffle_bytes,
        output_bytes=output_bytes,
        maps=maps_of(input_bytes),
        reduces=None if shuffle_bytes else 0,
    )


def _check(jobs: int, per_minute: float) -> None:
    if jobs < 1 or not per_minute > 0:
        raise UserError(f"{jobs} jobs at {per_minute} a minute are none", hint="Both must be above 0")
