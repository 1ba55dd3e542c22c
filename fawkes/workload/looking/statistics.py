"""Statistics of a workload: how many jobs, how fast they come, how large they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fawkes.base.units import SECOND_US
from fawkes.workload.model import Dropped, Trace, TraceJob

if TYPE_CHECKING:
    import pandas as pd

_TIMES = ("submit_us", "map_us", "reduce_us", "run_us", "requested_us", "think_us", "deadline_us")
_NUMBERS = ("input_bytes", "shuffle_bytes", "output_bytes", "maps", "reduces", "processors")
_TEXTS = ("id", "application", "cluster", "user")
_MEANS = ("map_s", "reduce_s")
QUANTITIES = (
    "gap_s", "input_bytes", "shuffle_bytes", "output_bytes", "maps", "reduces", "map_s", "reduce_s", "processors",
    "run_s", "requested_s", "deadline_s",
)  # fmt: skip
"""What ``sizes_of`` tells of, in this order; ``gap_s`` is the time from one job to the next."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """One quantity over all jobs that have it: how many, percentiles (linear between two values), mean and sum.

    There is no sum of what is a mean already, the time of a job's maps or reduces.
    """

    what: str
    jobs: int
    p5: float
    p50: float
    p95: float
    max: float
    mean: float
    total: float | None


@dataclass(frozen=True, slots=True)
class Lines:
    """The number of lines (or files) of a kind, and the first of them."""

    count: int
    first: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A workload in numbers. Shares are of the jobs of which it is known, and None when it is known of none.

    A job is map-only when it has no reduces, or shuffles nothing. ``rate_per_min`` is of the times between jobs: None
    for one job and for jobs of one moment.
    """

    source: str
    format: str
    jobs: int
    span_s: float
    rate_per_min: float | None
    map_only: float | None
    one_map: float | None
    to_ten_maps: float | None
    dependent: int
    applications: dict[str, int]
    users: int
    clusters: dict[str, int]
    dropped: dict[str, Lines]
    mended: dict[str, Lines]
    header: dict[str, str]
    sizes: tuple[Sizes, ...]

    def plain(self) -> dict[str, Any]:
        """All of it as data, without the sizes."""
        return {key: value for key, value in asdict(self).items() if key != "sizes"}


def frame_of(trace: Trace) -> pd.DataFrame:
    """A row for each job, with the columns of the table (times in seconds); unknown is NaN, ``after`` a tuple."""
    import pandas as pd

    jobs = trace.jobs
    columns: dict[str, Any] = {name: [getattr(job, name) for job in jobs] for name in _TEXTS}
    for name in (*_TIMES, *_NUMBERS):
        column = pd.array([getattr(job, name) for job in jobs], dtype="Float64").to_numpy(
            dtype=float, na_value=float("nan")
        )
        columns[f"{name.removesuffix('_us')}_s" if name in _TIMES else name] = (
            column / SECOND_US if name in _TIMES else column
        )
    columns["after"] = [job.after for job in jobs]
    return pd.DataFrame(columns)


def summary_of(trace: Trace) -> Summary:
    """The workload in numbers."""
    jobs = trace.jobs
    span_us = jobs[-1].submit_us - jobs[0].submit_us if jobs else 0
    maps = [job.maps for job in jobs if job.maps is not None]
    return Summary(
        source=trace.source,
        format=trace.format,
        jobs=len(jobs),
        span_s=span_us / SECOND_US,
        rate_per_min=(len(jobs) - 1) * 60 * SECOND_US / span_us if span_us else None,
        map_only=_share(_is_map_only(jobs)),
        one_map=_share(count <= 1 for count in maps),
        to_ten_maps=_share(count <= 10 for count in maps),
        dependent=sum(bool(job.after) for job in jobs),
        applications=_counted(job.application for job in jobs),
        users=len({job.user for job in jobs if job.user}),
        clusters=_counted(job.cluster for job in jobs),
        dropped=_lines(trace.dropped),
        mended=_lines(trace.mended),
        header=dict(trace.header),
        sizes=sizes_of(frame_of(trace)),
    )


def sizes_of(frame: pd.DataFrame) -> tuple[Sizes, ...]:
    """Percentiles of every quantity that some job has."""
    import numpy as np

    sizes = []
    for what in QUANTITIES:
        values = (np.diff(frame["submit_s"]) if what == "gap_s" else frame[what].dropna().to_numpy()).astype(float)
        if len(values):
            p5, p50, p95 = (float(value) for value in np.percentile(values, (5, 50, 95)))
            total = None if what in _MEANS else float(values.sum())
            sizes.append(Sizes(what, len(values), p5, p50, p95, float(values.max()), float(values.mean()), total))
    return tuple(sizes)


def _lines(dropped: Dropped) -> dict[str, Lines]:
    return {reason: Lines(count, dropped.first(reason)) for reason, count in dropped.counts.items()}


def _is_map_only(jobs: Iterable[TraceJob]) -> list[bool]:
    known = [job for job in jobs if job.reduces is not None or job.shuffle_bytes is not None]
    return [job.reduces == 0 or (job.reduces is None and job.shuffle_bytes == 0) for job in known]


def _share(facts: Iterable[bool]) -> float | None:
    there: Sequence[bool] = list(facts)
    return sum(there) / len(there) if there else None


def _counted(names: Iterable[str]) -> dict[str, int]:
    """The number of jobs of each name, most first; those without a name are left out."""
    counts = Counter(name for name in names if name)
    return dict(sorted(counts.items(), key=lambda row: (-row[1], row[0])))
