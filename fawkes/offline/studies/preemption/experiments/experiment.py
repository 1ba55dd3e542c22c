"""Rows of the chapter's cases, as its rules read them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from fawkes.offline.studies.preemption import fixed
from fawkes.offline.studies.preemption.cases import PreemptionCase
from fawkes.offline.studies.shared import statements


class PreemptionStudy(statements.Study):
    """Means over the seeds, and ratios of runs with the same seed."""

    def seeds_of(self, case: PreemptionCase) -> Sequence[int]:
        """The seeds with which the workload of a case is run."""
        return self.seeds[: fixed.RUNS[case.workload]]

    def run_of(self, case: PreemptionCase) -> PreemptionCase:
        """The case without a model that makes no other run."""
        return case.plain()

    def ratio(self, case: PreemptionCase, base: PreemptionCase, key: str) -> float:
        """The mean of the ratios of a figure to that of another case, seed by seed."""
        return fmean(ours[key] / other[key] for ours, other in zip(self.each(case), self.each(base), strict=True))


def listed(values: dict[str, float], digits: int = 2) -> str:
    """Names with their values in a line."""
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in values.items())


def reported(value: float | None) -> str:
    """A figure of the thesis in a table; empty where it has none."""
    return "" if value is None else f"{value:g}"


def falling(values: Sequence[float]) -> bool:
    """True if each value is smaller than the one before it."""
    return all(first > second for first, second in pairwise(values))
