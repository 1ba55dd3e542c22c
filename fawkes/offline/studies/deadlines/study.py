"""Rows of the deadline study as its rules ask for them, under one reading of what the dissertation leaves open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from types import MappingProxyType
from typing import Any

from fawkes.offline.runs.work import Row
from fawkes.offline.studies.deadlines.runs import (
    BASELINE,
    FURTHER,
    JUSTICE,
    REACTIVE,
    READINGS,
    STATIC_BASELINE,
    STATIC_REACTIVE,
)
from fawkes.offline.studies.flat.grid import Cell
from fawkes.offline.studies.flat.metrics import EDGES_S, Welch, mean_of_plain, welch
from fawkes.offline.studies.paper.rows import NotRunError

#: what stands for each allocator: Justice as printed, fair share with top-up
PRINTED: Mapping[str, str] = MappingProxyType({JUSTICE: READINGS["J0"]})


@dataclass(frozen=True, slots=True)
class Study:
    """All rows; ``instead`` says which allocator stands for which name, ``name`` which reading or model that is."""

    all: Mapping[Cell, Row]
    instead: Mapping[str, str] = field(default_factory=lambda: PRINTED)
    name: str = "as printed"
    few: bool = False
    """Whether the reading was run with fewer seeds: then all its figures are of these."""
    _by: dict[tuple[str, str, int, str], list[Row]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self._by:
            for cell, row in self.all.items():
                self._by.setdefault((cell.trace, cell.kind, cell.capacity, cell.allocator), []).append(row)

    def under(self, instead: Mapping[str, str], name: str, *, few: bool = False) -> Study:
        """The same rows under another reading."""
        return Study(self.all, {**PRINTED, **instead}, name, few, self._by)

    def rows(self, kind: str, capacity: int, allocator: str, trace: str = "TR1") -> list[Row]:
        """The rows of all seeds, of the allocator that stands for this name; NotRunError when there are none."""
        asked = self.instead.get(allocator, allocator)
        found = self._by.get((trace, kind, capacity, asked), [])
        if self.few:
            found = found[:2]
        if not found:
            raise NotRunError(f"not run: {trace} {kind} on {capacity} CPUs under {asked}")
        return found

    def value(self, metric: str, kind: str, capacity: int, allocator: str, trace: str = "TR1") -> float:
        """The mean of a metric over the seeds: sdr, ptr, wtr, unserved, utilisation, fairness or equality."""
        return mean(_of(row, metric) for row in self.rows(kind, capacity, allocator, trace))

    def idle(self, size: int, kind: str, capacity: int, allocator: str, longer_s: int = 0) -> float:
        """The part of time in which so many CPUs are idle at once, or of idle intervals longer than so many seconds."""
        rows = self.rows(kind, capacity, allocator)
        groups = [row["idle"][str(size)] for row in rows]
        if not longer_s:
            return float(mean(one["existence"] for one in groups))
        return float(mean(one["longer"][EDGES_S.index(longer_s)] if one["longer"] else 0.0 for one in groups))

    def gain(self, metric: str, kind: str, capacity: int, one: str, other: str, trace: str = "TR1") -> float:
        """How much larger a metric is under one allocator than under another, as a part; infinite over 0."""
        least = self.value(metric, kind, capacity, other, trace)
        return self.value(metric, kind, capacity, one, trace) / least - 1 if least else float("inf")

    def gains(
        self, metric: str, kinds: Sequence[str], capacity: int, one: str, other: str, trace: str = "TR1"
    ) -> dict[str, float]:
        """`gain` for each of these types."""
        return {kind: self.gain(metric, kind, capacity, one, other, trace) for kind in kinds}

    def fairness_test(self, kind: str, capacity: int, one: str, other: str) -> Welch | None:
        """Welch's test of the fairness of all samples of the first seed."""
        mine, theirs = (self.rows(kind, capacity, name)[0]["fairness"] for name in (one, other))
        return welch(mean_of_plain(mine), mean_of_plain(theirs))


def _of(row: Row, metric: str) -> float:
    value: Any = row[metric]
    return float(value["mean"] if isinstance(value, dict) else value)


def readings(study: Study, axes: Sequence[str]) -> Iterator[tuple[str, Study]]:
    """The other readings of these axes, one at a time: ``JUSTICE`` and ``FS``."""
    if JUSTICE in axes:
        for name, allocator in list(READINGS.items())[1:]:
            yield name, study.under({JUSTICE: allocator}, name)
        for name, allocator in FURTHER.items():
            yield name, study.under({JUSTICE: allocator}, name, few=True)
    if "FS" in axes:
        yield "static fair share", static(study)


def static(study: Study) -> Study:
    """Fair share without top-up of running jobs."""
    return study.under({BASELINE: STATIC_BASELINE, REACTIVE: STATIC_REACTIVE}, "static fair share", few=True)
