"""The way from observations to constants: medians, and how far they could be off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

#: from fewer observations nothing is fitted
LEAST = 3
RESAMPLES = 2000
LOW, HIGH = 0.05, 0.95
SEED = 20

#: what no record shows by itself: of some values, that by which the recorded jobs are missed least
SEARCHED = frozenset({"job_begin_cpu", "join_cpu"})
#: what waits for something else now and then: its least is what it takes by itself
LEAST_COUNTS = frozenset({"drain"})
NAMES = (
    "deploy",
    "join",
    "join_cpu",
    "drain",
    "clean",
    "job_start",
    "job_begin",
    "job_begin_cpu",
    "job_end",
    "cores",
    "task_start",
    "task_start_cpu",
    "disk",
    "spread",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A constant, and the 5 and 95 % quantiles of it over bootstrap resamples of its ``n`` observations.

    ``value`` is None when there were too few.
    """

    name: str
    n: int
    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def method(self) -> str:
        """The method in words."""
        if self.name in SEARCHED:
            return "search"
        return "least" if self.name in LEAST_COUNTS else "median"


def fits_of(values: Mapping[str, Sequence[float]]) -> tuple[Fit, ...]:
    """A fit of each constant that can be had from records, in a fixed order; the same values give the same fits."""
    return tuple(fit_of(name, values.get(name, ())) for name in NAMES)


def fit_of(name: str, values: Sequence[float]) -> Fit:
    """The fit of one constant."""
    if len(values) < LEAST:
        return Fit(name=name, n=len(values))
    figures = np.asarray(values, dtype=float)
    figure = np.min if name in LEAST_COUNTS else np.median
    chosen = np.random.default_rng(SEED).integers(0, len(figures), size=(RESAMPLES, len(figures)))
    spread = figure(figures[chosen], axis=1)
    low, high = np.quantile(spread, [LOW, HIGH])
    return Fit(name=name, n=len(values), value=float(figure(figures)), low=float(low), high=float(high))
