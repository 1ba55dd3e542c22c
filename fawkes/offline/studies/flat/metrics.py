"""Metrics of the study: jobs and work by their ends, Jain's index, means with intervals, Welch's test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fawkes.offline.studies.flat.jobs import Floats, Ints

#: how jobs end; OPEN is for jobs that have not
OPEN, MET, MISSED, KILLED, DROPPED = range(5)
ENDS = ("open", "met", "missed", "killed", "dropped")
#: a job that ends so many seconds after its deadline has met it: allocations just in time end on the deadline
TOLERANCE_S = 1e-6
SAMPLE_S = 60.0
BATCH_S = 86_400.0
#: sizes of the groups of CPUs whose idle times are measured, and after how many seconds the curve has a point
GROUPS = (10, 100)
EDGES_S = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
_NORMAL = 1.96


def jain(values: ArrayLike) -> float:
    """Jain's index (sum F)^2 / (n sum F^2), from 1/n to 1; 0 when all values are 0 or there are none."""
    of = np.asarray(values, dtype=np.float64)
    squares = float((of * of).sum())
    return float(of.sum()) ** 2 / (len(of) * squares) if squares else 0.0


def equality(granted: ArrayLike, demands: ArrayLike) -> float:
    """Jain's index of the granted CPUs within each class of equal demand, averaged by jobs; 0 without jobs."""
    amounts, classes = np.asarray(granted, dtype=np.float64), np.asarray(demands)
    if not len(amounts):
        return 0.0
    each = [(classes == demand).sum() * jain(amounts[classes == demand]) for demand in np.unique(classes)]
    return float(sum(each)) / len(amounts)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over samples: count, mean, variance (of n - 1), and the means of batches of one day."""

    count: int
    mean: float
    variance: float
    batches: tuple[float, ...] = ()

    @property
    def half_width(self) -> float | None:
        """Half of the 95 % interval by the samples, as if they were independent, which they are not.

        None for fewer than two samples.
        """
        return _NORMAL * sqrt(self.variance / self.count) if self.count > 1 else None

    @property
    def batch_half_width(self) -> float | None:
        """Half of the 95 % interval by the means of days, which are far less correlated than samples.

        None for fewer than two days.
        """
        from scipy.stats import t

        count = len(self.batches)
        if count < 2:
            return None
        return float(t.ppf(0.975, count - 1)) * float(np.std(self.batches, ddof=1)) / sqrt(count)

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"count": self.count, "mean": self.mean, "variance": self.variance, "batches": list(self.batches)}


def mean_of(values: Sequence[float], batches: Sequence[float] = ()) -> Mean:
    """The mean of these samples; of none a mean of 0 with a count of 0."""
    of = np.asarray(values, dtype=np.float64)
    variance = float(of.var(ddof=1)) if len(of) > 1 else 0.0
    return Mean(len(of), float(of.mean()) if len(of) else 0.0, variance, tuple(batches))


def mean_of_plain(plain: dict[str, Any]) -> Mean:
    """The mean of what `Mean.plain` gave."""
    return Mean(plain["count"], plain["mean"], plain["variance"], tuple(plain["batches"]))


@dataclass(frozen=True, slots=True)
class Welch:
    """Welch's t, its degrees of freedom by Welch and Satterthwaite, and the two-sided p."""

    t: float
    df: float
    p: float


def welch(first: Mean, second: Mean) -> Welch | None:
    """Welch's test of two means; None where a side has fewer than two samples or neither varies."""
    from scipy.stats import t as student

    if min(first.count, second.count) < 2 or first.variance + second.variance == 0:
        return None
    a, b = first.variance / first.count, second.variance / second.count
    t = (first.mean - second.mean) / sqrt(a + b)
    part = a / (a + b)
    df = 1 / (part**2 / (first.count - 1) + (1 - part) ** 2 / (second.count - 1))
    return Welch(t, df, float(2 * student.sf(abs(t), df)))


@dataclass(frozen=True, slots=True)
class IdleGroups:
    """Groups of ``size`` CPUs that are idle at the same time, up to the last submission.

    ``existence`` is the part of time in which at least one such group exists, None where no time passes. ``longer`` has
    for each of `EDGES_S` the part of idle intervals that last longer; empty without intervals.
    """

    size: int
    existence: float | None
    intervals: int
    longer: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class FlatOutcome:
    """The ends of the jobs of one run, and how the pool was shared up to the last submission.

    ``ends`` has a code of `ENDS` for each job, ``finish_s`` the time at which it left the pool (NaN while open) and
    ``consumed_s`` the CPU seconds that it used, ``granted`` the CPUs that it held last. ``deadline_s`` is infinite
    without a deadline. ``utilisation`` is None where no time passes.
    """

    ends: NDArray[np.int8]
    finish_s: Floats
    start_s: Floats
    granted: Ints
    consumed_s: Floats
    work_s: Floats
    deadline_s: Floats
    utilisation: float | None
    fairness: Mean
    equality: Mean
    idle: tuple[IdleGroups, ...]

    def plain(self) -> dict[str, Any]:
        """Metrics as values for JSON: satisfied deadlines, parts of the work, utilisation, fairness, idle groups.

        Deadlines and work are judged of the jobs that have a deadline (``due``), None without any; ``finished`` counts
        the others that ended.
        """
        due = np.isfinite(self.deadline_s)
        met = (self.ends == MET) & due
        failed = (self.ends == MISSED) | (self.ends == KILLED)
        total = float(self.work_s[due].sum())
        done, wasted = float(self.work_s[met].sum()), float(self.consumed_s[failed].sum())
        unserved = float((self.work_s - self.consumed_s)[~met & due].sum())
        counts = {name: int((self.ends == code).sum()) for code, name in enumerate(ENDS) if code != OPEN}
        return {
            "jobs": len(self.ends),
            **counts,
            "met": int(met.sum()),
            "due": int(due.sum()),
            "finished": counts["met"] - int(met.sum()),
            "sdr": float(met[due].mean()) if due.any() else None,
            "ptr": done / total if total else None,
            "wtr": wasted / total if total else None,
            "unserved": unserved / total if total else None,
            "utilisation": self.utilisation,
            "fairness": self.fairness.plain(),
            "equality": self.equality.plain(),
            "idle": {str(group.size): {"existence": group.existence, "intervals": group.intervals,
                                       "longer": list(group.longer)} for group in self.idle},
        }  # fmt: skip
