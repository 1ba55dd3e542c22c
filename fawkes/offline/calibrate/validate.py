"""The fit of constants to runs that they were not fitted on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

from fawkes.base.catalog import Catalog
from fawkes.config.site.site import Site
from fawkes.config.workloads.model import ModelTable
from fawkes.config.workloads.scenarios import load_scenario
from fawkes.offline.outcomes.beside import Beside, beside, finite, quantile_90
from fawkes.offline.record.folder import Record
from fawkes.offline.scenarios.demands import KnownDemands
from fawkes.offline.scenarios.plan import shaken_scenario
from fawkes.offline.scenarios.read import read_plan
from fawkes.offline.scenarios.scenario import simulate

#: simulated runs whose tasks differ by chance; a job's time is their median
RUNS = 5
#: the goal of calibration: the median error, and that of nine jobs of ten
GOAL, GOAL_90 = 0.05, 0.15

#: what a site's configuration says, not its machines: it holds for the record that it stands in
_GIVEN = ("map_slots", "reduce_slots", "slots", "shared_cores", "cores", "network_bytes_s")
_KINDS = {KnownDemands.SPEC: "sleeping", KnownDemands.HISTORY: "computing", KnownDemands.LEDGER: "by run time"}
#: kinds of jobs of which more is known than how long they ran
JUDGED = (_KINDS[KnownDemands.SPEC], _KINDS[KnownDemands.HISTORY])


@dataclass(frozen=True, slots=True, kw_only=True)
class JobError:
    """A job of a validation record; ``kind`` is sleeping, computing, or by run time (its time is not judged).

    The error of a job that ended otherwise than recorded is infinite. ``recorded_s`` is None where no run has it.
    """

    record: str
    job: str
    kind: str
    recorded_s: float | None
    simulated_s: float
    error: float

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "simulated_s": finite(self.simulated_s), "error": finite(self.error)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSummary:
    """Absolute errors of the jobs of one kind over all records, or the makespans' (kind ``makespan``)."""

    kind: str
    n: int
    median: float
    q90: float

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "median": finite(self.median), "q90": finite(self.q90)}


@dataclass(frozen=True, slots=True)
class Validation:
    """All jobs, and the makespans of each record: name, recorded and simulated seconds."""

    jobs: tuple[JobError, ...]
    makespans: tuple[tuple[str, float, float], ...]

    @property
    def judged(self) -> list[JobError]:
        """The jobs that are judged: those known by more than their time, and those that ended otherwise."""
        return [row for row in self.jobs if row.kind in JUDGED or row.error == inf]

    @property
    def otherwise(self) -> int:
        """The number of jobs that ended otherwise than recorded."""
        return sum(row.error == inf for row in self.jobs)

    def summaries(self) -> tuple[ErrorSummary, ...]:
        """Sleeping, computing, both, makespans; kinds without any are left out."""
        groups = {kind: [abs(row.error) for row in self.judged if row.kind == kind] for kind in JUDGED}
        groups["all jobs"] = [abs(row.error) for row in self.judged]
        makespans = [abs(simulated / recorded - 1) for _, recorded, simulated in self.makespans if recorded]
        return tuple(_summary(kind, errors) for kind, errors in (*groups.items(), ("makespan", makespans)) if errors)

    @property
    def reached(self) -> bool:
        """True if all jobs together are within the goal."""
        everything = (row for row in self.summaries() if row.kind == "all jobs")
        return any(row.median <= GOAL and row.q90 <= GOAL_90 for row in everything)

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "jobs": [row.plain() for row in self.jobs],
            "makespans": [
                {"record": name, "recorded_s": recorded, "simulated_s": simulated}
                for name, recorded, simulated in self.makespans
            ],
            "summary": [row.plain() for row in self.summaries()],
            "ended_otherwise": self.otherwise,
            "goal": {"median": GOAL, "q90": GOAL_90, "reached": self.reached},
        }


def _summary(kind: str, errors: Sequence[float]) -> ErrorSummary:
    return ErrorSummary(kind=kind, n=len(errors), median=median(errors), q90=quantile_90(errors))


def validated(
    records: Sequence[Record],
    model: ModelTable,
    step: Callable[[str], None],
    *,
    runs_of_each: int = RUNS,
    site: Path | None = None,
) -> Validation:
    """Simulate each record by the fitted constants alone, and hold it against what happened.

    Policies that a record does not have are those of ``site``.
    """
    jobs: list[JobError] = []
    makespans = []
    for record in records:
        runs = _simulated(record, model, runs_of_each, site)
        name = record.folder.name
        times: dict[str, list[float]] = {}
        recorded_s: dict[str, float] = {}
        for run in runs:
            for row in run.jobs:
                times.setdefault(row.job, []).append(row.simulated_s)
                recorded_s[row.job] = row.recorded_s
            for job in run.otherwise(record.known):
                times.setdefault(job, []).append(inf)
        for job, simulated in times.items():
            was_s, is_s = recorded_s.get(job), median(simulated)
            jobs.append(
                JobError(
                    record=name,
                    job=job,
                    kind=_KINDS[record.known[job]],
                    recorded_s=was_s,
                    simulated_s=is_s,
                    error=is_s / was_s - 1 if was_s else is_s,
                )
            )
        spans = [run.simulated_makespan_s for run in runs]
        makespans.append((name, runs[0].recorded_makespan_s, median(spans)))
        step(name)
    return Validation(tuple(jobs), tuple(makespans))


def _simulated(record: Record, model: ModelTable, count: int, site: Path | None) -> list[Beside]:
    catalog = Catalog(site=site, record=record.folder)
    given = load_scenario(record.scenario).model
    said = {name: getattr(given, name) for name in _GIVEN if getattr(given, name) is not None}
    fitted = {name: getattr(model, name) for name in model.model_fields_set}
    plan = read_plan(
        Site(record.folder), catalog, str(record.scenario), model=ModelTable().model_copy(update=said | fitted)
    )
    scenario = plan.scenario(catalog)
    runs = []
    with record.ledger() as ledger:
        for replay in range(1, count + 1):
            perturbed = shaken_scenario(scenario, plan.demands, seed=plan.seed, replay=replay, spread_us=0)
            runs.append(beside(ledger, simulate(perturbed), record.span.times))
    return runs
