"""Rows of runs as the experiments ask for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, cast

from fawkes.offline.runs.work import Row
from fawkes.offline.studies.paper import runs
from fawkes.offline.studies.paper.judging.fixed import REPLAYS, TIE
from fawkes.offline.studies.paper.runs import PaperRun
from fawkes.offline.studies.shared.verdicts import NotRunError

CLUSTERS = ("c-1", "c-2", "c-3")

Kind = tuple[str, str]
"""A policy and the type of node by which it grows MR-clusters."""


@dataclass(frozen=True, slots=True)
class PaperRows:
    """All rows, of the model as it is, with one constant multiplied, or of a changed model (``models.MODELS``)."""

    all: Mapping[PaperRun, Row]
    constant: str = ""
    factor: float = 1.0
    model: str = ""

    def row(self, run: PaperRun) -> Row:
        """The row of a run; NotRunError when there is none, or when the run failed."""
        actual = self._changed(run)
        if actual not in self.all:
            raise NotRunError(f"not run: {actual}")
        if "error" in self.all[actual]:
            raise NotRunError(f"failed: {actual}: {self.all[actual]['error']}")
        return self.all[actual]

    def has(self, run: PaperRun) -> bool:
        """True if a run was made and did not fail."""
        return "error" not in self.all.get(self._changed(run), {"error": ""})

    def of_model(self, model: str) -> PaperRows:
        """The same rows, asked for those of a changed model."""
        return PaperRows(self.all, model=model)

    def _changed(self, run: PaperRun) -> PaperRun:
        return runs.in_model(runs.with_factor(run, self.constant, self.factor), self.model)

    def seconds(self, run: PaperRun) -> float:
        """Seconds of an application, the mean over the seeds."""
        return float(self.row(run)["seconds"])

    def slower(self, run: PaperRun, base: PaperRun) -> float:
        """The part by which one run takes longer than another."""
        return self.seconds(run) / self.seconds(base) - 1

    def slower_each(self, run: PaperRun, base: PaperRun) -> list[float]:
        """The same with each seed; rows of the sweep and of tests may have their mean alone."""
        pairs = zip(*(self.row(each).get("each_s", (self.seconds(each),)) for each in (run, base)), strict=True)
        return [float(changed) / float(plain) - 1 for changed, plain in pairs]

    def replays(self, workload: str, policy: str, growth: str = "TC", tau: float = 10.0) -> list[Row]:
        """The replays of a workload under a policy that were run; NotRunError when there are none."""
        wanted = [runs.replay(workload, policy, growth, tau, number) for number in range(REPLAYS)]
        return [self.row(run) for run in wanted if self.has(run)] or [self.row(wanted[0])]

    def middle(
        self, of: Callable[[Row], float], workload: str, policy: str, growth: str = "TC", tau: float = 10.0
    ) -> float:
        """The median of a figure over the replays."""
        return median(map(of, self.replays(workload, policy, growth, tau)))

    def ahead(self, of: Callable[[Row], float], workload: str, first: Kind, second: Kind) -> bool:
        """True if a figure is less under the first policy, in each replay and by more than a tie in the median."""
        mine, theirs = self.replays(workload, *first), self.replays(workload, *second)
        less = self.middle(of, workload, *first) < (1 - TIE) * self.middle(of, workload, *second)
        return less and all(of(row) < of(against) for row, against in zip(mine, theirs, strict=False))

    def spread(
        self, of: Callable[[Row], float], workload: str, policy: str, growth: str = "TC", tau: float = 10.0
    ) -> tuple[float, float]:
        """The least and the most of a figure over the replays."""
        values = [of(row) for row in self.replays(workload, policy, growth, tau)]
        return min(values), max(values)


def of_cluster(name: str, figure: str) -> Callable[[Row], float]:
    """A figure of one MR-cluster, as a function of a row."""
    return lambda row: float(cast(Mapping[str, Any], row["clusters"])[name][figure])


def mean_slowdown(row: Row) -> float:
    """The mean slowdown of all jobs, as in `compare` and `whatif`: an MR-cluster counts by its jobs."""
    slow, jobs = ([of_cluster(name, figure)(row) for name in CLUSTERS] for figure in ("slowdown", "jobs"))
    return fmean(slow, weights=jobs)


def makespan_s(row: Row) -> float:
    """The time when the last job ended."""
    return float(row["makespan_s"])


def reconfigurations(row: Row) -> float:
    """Ticks on which balancing moved nodes."""
    return float(row["reconfigurations"])


def apart(row: Row) -> float:
    """The difference of the times until the jobs of c-2 and c-3 have ended, as a part of the longer time."""
    two, three = (of_cluster(name, "drain_s")(row) for name in ("c-2", "c-3"))
    return abs(two - three) / max(two, three)


# --- cells of tables


def rounded(value: float, digits: int = 1) -> float:
    """A number with so many digits behind its point."""
    return round(value, digits) if digits else float(round(value))


def percents(parts: Iterable[float]) -> str:
    """The least and the most of some parts, in percent."""
    return span((100 * part for part in parts), 1)


def span(values: Iterable[float], digits: int = 0) -> str:
    """The least and the most of some values."""
    ends = sorted(values)
    return f"{ends[0]:.{digits}f} to {ends[-1]:.{digits}f}"
