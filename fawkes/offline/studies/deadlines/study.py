"""Rows of the deadline study as its rules ask for them: as printed, under another reading, or in a refuting model."""

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
    ORACLE,
    PYTHIA,
    REACTIVE,
    READINGS,
    STATIC_BASELINE,
    STATIC_REACTIVE,
)
from fawkes.offline.studies.flat.grid import FlatCell
from fawkes.offline.studies.flat.metrics import EDGES_S, Welch, mean_of_plain, welch
from fawkes.offline.studies.shared.verdicts import NotRunError

FS = "FS"
"""The open reading of fair share; that of Justice is called like the policy."""
#: what stands for each allocator: Justice as printed, fair share with top-up
PRINTED: Mapping[str, str] = MappingProxyType({JUSTICE: READINGS["J0"]})


@dataclass(frozen=True, slots=True)
class DeadlineStudy:
    """All rows; ``instead`` says which allocator stands for which name, ``name`` which reading or model that is."""

    all: Mapping[FlatCell, Row]
    instead: Mapping[str, str] = field(default_factory=lambda: PRINTED)
    name: str = "as printed"
    few: bool = False
    """True if the reading was run with fewer seeds: then all its figures are of these."""
    _by: dict[tuple[str, str, int, str], list[Row]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self._by:
            for cell, row in self.all.items():
                self._by.setdefault((cell.trace, cell.kind, cell.capacity, cell.allocator), []).append(row)

    def under(self, instead: Mapping[str, str], name: str, *, few: bool = False) -> DeadlineStudy:
        """The same rows under another reading."""
        return DeadlineStudy(self.all, {**PRINTED, **instead}, name, few, self._by)

    def rows(self, kind: str, capacity: int, allocator: str, trace: str = "TR1") -> list[Row]:
        """The rows of all seeds, of the allocator that stands for this name; NotRunError when there are none."""
        actual = self.instead.get(allocator, allocator)
        rows = self._by.get((trace, kind, capacity, actual), [])
        if self.few:
            rows = rows[:2]
        if not rows:
            raise NotRunError(f"not run: {trace} {kind} on {capacity} CPUs under {actual}")
        return rows

    def value(self, metric: str, kind: str, capacity: int, allocator: str, trace: str = "TR1") -> float:
        """The mean of a metric over the seeds: sdr, ptr, wtr, unserved, utilisation, fairness or equality."""
        return mean(_of(row, metric) for row in self.rows(kind, capacity, allocator, trace))

    def idle(self, size: int, kind: str, capacity: int, allocator: str, longer_s: int = 0) -> float:
        """The part of time in which so many CPUs are idle at once, or of idle intervals longer than so many seconds."""
        rows = self.rows(kind, capacity, allocator)
        groups = [row["idle"][str(size)] for row in rows]
        if not longer_s:
            return float(mean(group["existence"] for group in groups))
        return float(mean(group["longer"][EDGES_S.index(longer_s)] if group["longer"] else 0.0 for group in groups))

    def gain(self, metric: str, kind: str, capacity: int, allocator: str, against: str, trace: str = "TR1") -> float:
        """The part by which a metric is larger under one allocator than under another, as a part; infinite over 0."""
        least = self.value(metric, kind, capacity, against, trace)
        return self.value(metric, kind, capacity, allocator, trace) / least - 1 if least else float("inf")

    def fairness_test(self, kind: str, capacity: int, allocator: str, against: str) -> Welch | None:
        """Welch's test of the fairness of all samples of the first seed."""
        mine, theirs = (self.rows(kind, capacity, name)[0]["fairness"] for name in (allocator, against))
        return welch(mean_of_plain(mine), mean_of_plain(theirs))


def _of(row: Row, metric: str) -> float:
    value: Any = row[metric]
    return float(value["mean"] if isinstance(value, dict) else value)


def readings(study: DeadlineStudy, axes: Sequence[str]) -> Iterator[tuple[str, DeadlineStudy]]:
    """The other readings of these axes, one at a time: ``JUSTICE`` and ``FS``, which is fair share without top-up."""
    if JUSTICE in axes:
        for name, allocator in list(READINGS.items())[1:]:
            yield name, study.under({JUSTICE: allocator}, name)
        for name, allocator in FURTHER.items():
            yield name, study.under({JUSTICE: allocator}, name, few=True)
    if FS in axes:
        name = "static fair share"
        yield name, study.under({BASELINE: STATIC_BASELINE, REACTIVE: STATIC_REACTIVE}, name, few=True)


@dataclass(frozen=True, slots=True)
class DeadlineModel:
    """A model that refutes: in it allocators stand for others."""

    about: str
    instead: Mapping[str, str]

    def of(self, study: DeadlineStudy, name: str) -> DeadlineStudy:
        """The study in this model."""
        return study.under(
            {allocator: study.instead.get(against, against) for allocator, against in self.instead.items()}, name
        )


MODELS: Mapping[str, DeadlineModel] = {
    "no-admission": DeadlineModel(
        "PYTHIA, Justice and the Oracle do what Reactive FS does",
        {PYTHIA: REACTIVE, JUSTICE: REACTIVE, ORACLE: REACTIVE},
    ),
    "never-late": DeadlineModel("both fair shares do what the Oracle does", {BASELINE: ORACLE, REACTIVE: ORACLE}),
    "blind": DeadlineModel("PYTHIA and Justice do what Baseline FS does", {PYTHIA: BASELINE, JUSTICE: BASELINE}),
    "all-knowing": DeadlineModel(
        "all do what the Oracle does", dict.fromkeys((PYTHIA, JUSTICE, REACTIVE, BASELINE), ORACLE)
    ),
}
