"""The window of a policy on one MR-cluster: its samples of the last period."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import fsum

from fawkes.core.values.model import ClusterId, Sample


@dataclass(frozen=True, slots=True)
class Window:
    """The samples of one MR-cluster within the last period, oldest first; empty when there were none.

    ``before`` is the sample just before them, from which counters grow; None when there is no recent one.
    """

    cluster: ClusterId
    samples: tuple[Sample, ...]
    before: Sample | None = None

    def readings(self, name: str) -> list[float]:
        """The values of the sample field ``name``, oldest first, missing ones left out."""
        values = []
        for sample in self.samples:
            value = getattr(sample, name)
            if value is not None:
                values.append(value)
        return values

    def mean(self, name: str) -> float | None:
        """The mean of a field over the window (y_i of eq. 4); None when it was never read."""
        values = self.readings(name)
        return fsum(values) / len(values) if values else None

    def last(self, name: str) -> float | None:
        """The latest value of a field; None when it was never read."""
        values = self.readings(name)
        return values[-1] if values else None

    def growth(self, name: str) -> float | None:
        """The rise of a counter over the window, from the sample before it on; None when nobody can tell.

        A step down (a master was started again, or work was lost) counts for nothing. Where there is no other step, or
        no two readings to compare, the growth is not known.
        """
        values = self.readings(name)
        base = None if self.before is None else getattr(self.before, name)
        steps = pairwise(values if base is None else [base, *values])
        rises = [after - earlier for earlier, after in steps if after >= earlier]
        return fsum(rises) if rises else None

    def mean_ratio(self, above: str, below: str) -> float | None:
        """The mean over the samples of one field divided by another; samples without either are left out."""
        ratios = []
        for sample in self.samples:
            upper, lower = getattr(sample, above), getattr(sample, below)
            if upper is not None and lower:
                ratios.append(upper / lower)
        return fsum(ratios) / len(ratios) if ratios else None
