"""Rows of runs as the experiments ask for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, cast

from fawkes.offline.runs.work import Row
from fawkes.offline.studies.paper import runs
from fawkes.offline.studies.paper.judging.fixed import MICRO_NODES, REPLAYS, TIE
from fawkes.offline.studies.paper.runs import Run

CLUSTERS = ("c-1", "c-2", "c-3")

Kind = tuple[str, str]
"""A policy and the type of node by which it grows MR-clusters."""


class NotRunError(LookupError):
    """A run that an experiment needs was not made."""


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows, of the model as it is, with one constant multiplied, or of a changed model (``models.MODELS``)."""

    all: Mapping[Run, Row]
    constant: str = ""
    factor: float = 1.0
    model: str = ""

    def row(self, run: Run) -> Row:
        """The row of a run; NotRunError when there is none, or when the run failed."""
        asked = self._asked(run)
        if asked not in self.all:
            raise NotRunError(f"not run: {asked}")
        if "error" in self.all[asked]:
            raise NotRunError(f"failed: {asked}: {self.all[asked]['error']}")
        return self.all[asked]

    def has(self, run: Run) -> bool:
        """True if a run was made and did not fail."""
        return "error" not in self.all.get(self._asked(run), {"error": ""})

    def of_model(self, model: str) -> Rows:
        """The same rows, asked for those of a changed model."""
        return Rows(self.all, model=model)

    def _asked(self, run: Run) -> Run:
        return runs.in_model(runs.with_factor(run, self.constant, self.factor), self.model)

    def seconds(self, app: str, core: int = MICRO_NODES, role: str = "", others: int = 0) -> float:
        """An application on one MR-cluster."""
        return float(self.row(runs.application(app, core, role, others))["seconds"])

    def half(self, app: str, role: str) -> float:
        """6.1: how much longer it takes when half of the nodes are of that role, as a part."""
        return self.seconds(app, MICRO_NODES // 2, role, MICRO_NODES // 2) / self.seconds(app) - 1

    def speedups_each(self, app: str, role: str, fraction: float) -> list[float]:
        """6.3 with each seed."""
        pairs = self._each(runs.application(app, MICRO_NODES), runs.grown(app, role, fraction))
        return [each + 1 for each in pairs]

    def half_each(self, app: str, role: str) -> list[float]:
        """The same with each seed."""
        part = MICRO_NODES // 2
        return self._each(runs.application(app, part, role, part), runs.application(app, MICRO_NODES))

    def sites_each(self, app: str) -> list[float]:
        """6.2 with each seed."""
        return self._each(runs.on_sites(app), runs.application(app, MICRO_NODES))

    def busy_each(self, app: str, removed: int) -> list[float]:
        """6.4 with each seed."""
        return self._each(runs.busy(app, removed), runs.busy(app, 0))

    def _each(self, run: Run, base: Run) -> list[float]:
        pairs = zip(self._seconds_each(run), self._seconds_each(base), strict=True)
        return [changed / plain - 1 for changed, plain in pairs]

    def _seconds_each(self, run: Run) -> list[float]:
        """With each seed; rows of the sweep and of tests may have their mean alone."""
        row = self.row(run)
        return [float(each) for each in row.get("each_s", (row["seconds"],))]

    def sites(self, app: str, link: float = 1.0) -> float:
        """6.2: how much longer it takes on two sites, with that part of the link's capacity."""
        return float(self.row(runs.on_sites(app, link))["seconds"]) / self.seconds(app) - 1

    def speedup(self, app: str, role: str, fraction: float) -> float:
        """6.3: how much faster it is with a fraction of nodes more."""
        return self.seconds(app) / float(self.row(runs.grown(app, role, fraction))["seconds"])

    def idle(self, removed: int, together: bool) -> Row:
        """6.4: seconds in all and of one node."""
        return self.row(runs.idle(removed, together))

    def busy(self, app: str, removed: int) -> float:
        """6.4: how much longer a job takes when so many nodes leave at its start."""
        return float(self.row(runs.busy(app, removed))["seconds"]) / float(self.row(runs.busy(app, 0))["seconds"]) - 1

    def replays(self, workload: str, policy: str, growth: str = "TC", tau: float = 10.0) -> list[Row]:
        """The replays of a workload under a policy that were run; NotRunError when there are none."""
        asked = [runs.replay(workload, policy, growth, tau, number) for number in range(REPLAYS)]
        return [self.row(run) for run in asked if self.has(run)] or [self.row(asked[0])]

    def middle(
        self, of: Callable[[Row], float], workload: str, policy: str, growth: str = "TC", tau: float = 10.0
    ) -> float:
        """The median of a figure over the replays."""
        return median(map(of, self.replays(workload, policy, growth, tau)))

    def ahead(self, of: Callable[[Row], float], workload: str, first: Kind, second: Kind) -> bool:
        """True if a figure is less under the first policy, in each replay and by more than a tie in the median."""
        one, other = self.replays(workload, *first), self.replays(workload, *second)
        less = self.middle(of, workload, *first) < (1 - TIE) * self.middle(of, workload, *second)
        return less and all(of(row) < of(against) for row, against in zip(one, other, strict=False))

    def spread(
        self, of: Callable[[Row], float], workload: str, policy: str, growth: str = "TC", tau: float = 10.0
    ) -> tuple[float, float]:
        """The least and the most of a figure over the replays."""
        found = [of(row) for row in self.replays(workload, policy, growth, tau)]
        return min(found), max(found)


def of_cluster(name: str, figure: str) -> Callable[[Row], float]:
    """A figure of one MR-cluster, as a function of a row."""
    return lambda row: float(cast(Mapping[str, Any], row["clusters"])[name][figure])


def mean_slowdown(row: Row) -> float:
    """The mean slowdown of all jobs, as in `compare` and `whatif`: an MR-cluster counts by its jobs."""
    slow, jobs = ([of_cluster(name, figure)(row) for name in CLUSTERS] for figure in ("slowdown", "jobs"))
    return fmean(slow, weights=jobs)


def makespan_s(row: Row) -> float:
    """When the last job ended."""
    return float(row["makespan_s"])


def reconfigurations(row: Row) -> float:
    """Ticks on which balancing moved nodes."""
    return float(row["reconfigurations"])


def apart(row: Row) -> float:
    """How much longer c-2 or c-3 takes than the other one until its jobs have ended, as a part of the longer time."""
    two, three = (of_cluster(name, "drain_s")(row) for name in ("c-2", "c-3"))
    return abs(two - three) / max(two, three)
