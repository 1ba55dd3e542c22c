"""The fidelity with which a recorded run is reproduced, in numbers and in one line that stands before any ranking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import Any

from fawkes.offline.outcomes.beside import Beside, finite, quantile_90
from fawkes.offline.scenarios.demands import KnownDemands

#: the effects that are looked for are as large (section 7.2: 25 % between TD and None)
BOUND = 0.25

_WORDS = {
    KnownDemands.SPEC: "by their own description",
    KnownDemands.HISTORY: "by Hadoop's history",
    KnownDemands.LEDGER: "by their run time alone",
}


@dataclass(frozen=True, slots=True)
class ModelBounds:
    """Up to which errors a run counts as reproduced: the median of the jobs' absolute errors, and the makespan's."""

    job: float = BOUND
    makespan: float = BOUND


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelVerdict:
    """A recorded run beside its simulation under the recorded policy and settings.

    Errors are shares. ``job_error`` and ``job_error_90`` are the median and the 90 % quantile of the absolute errors of
    the jobs that are judged: those that are known by more than their run time, from which the tasks of all others were
    made. The error of a job that ended otherwise than recorded is infinite, whatever is known of it. None without such
    jobs: then nothing tells whether the run is reproduced.
    """

    both: Beside
    policy: str
    known: Mapping[str, KnownDemands]
    left_out: int
    bounds: ModelBounds

    @property
    def judged(self) -> list[float]:
        """The absolute errors of the jobs that are judged."""
        rows = self.both.jobs
        times = [abs(row.error) for row in rows if self.known.get(row.job) is not KnownDemands.LEDGER]
        return times + [inf] * len(self.otherwise)

    @property
    def otherwise(self) -> list[str]:
        """The jobs of the record that did not end in the model as they did."""
        return self.both.otherwise(self.known)

    @property
    def job_error(self) -> float | None:
        """The median."""
        return median(self.judged) if self.judged else None

    @property
    def job_error_90(self) -> float | None:
        """The 90 % quantile."""
        return quantile_90(self.judged) if self.judged else None

    @property
    def makespan_error(self) -> float | None:
        """Simulated / recorded - 1."""
        recorded = self.both.recorded_makespan_s
        return self.both.simulated_makespan_s / recorded - 1 if recorded else None

    @property
    def reproduced(self) -> bool:
        """True if both errors are within their bounds."""
        job, makespan = self.job_error, self.makespan_error
        return (
            job is not None
            and makespan is not None
            and job <= self.bounds.job
            and abs(makespan) <= self.bounds.makespan
        )

    def line(self) -> str:
        """The honesty line."""
        within = f"{_percent(self.bounds.job)} for job times and {_percent(self.bounds.makespan)} for the makespan"
        if self.reproduced:
            head = f"Reproduced within {within}"
        elif self.both.jobs and not self.judged:
            head = (
                "Whether the model reproduces this run cannot be told, so do not trust the ranking below: every job is "
                "known by its run time alone, from which its tasks were made"
            )
        else:
            head = f"NOT reproduced within {within}: do not trust the ranking below"
        errors = f"{len(self.judged)} jobs, median error {_percent(self.job_error)}" if self.judged else "no job judged"
        if finite(self.job_error_90) is not None:
            errors += f" (90 % of them within {_percent(self.job_error_90)})"
        if self.otherwise:
            errors += f"; {len(self.otherwise)} of {len(self.known)} jobs ended otherwise"
        return (
            f"{head}. {self.policy} as recorded: {errors}; makespan {self.both.recorded_makespan_s:.0f} s "
            f"recorded, {self.both.simulated_makespan_s:.0f} s simulated; {self.both.likeness:.0%} of the decisions in "
            f"the same order. Jobs known {self._sources()}{self._left_out()}."
        )

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "reproduced": self.reproduced,
            "policy": self.policy,
            "job_error": finite(self.job_error),
            "job_error_90": finite(self.job_error_90),
            "jobs_judged": len(self.judged),
            "ended_otherwise": self.otherwise,
            "makespan_error": self.makespan_error,
            "likeness": self.both.likeness,
            "bounds": {"job": self.bounds.job, "makespan": self.bounds.makespan},
            "known": {str(kind): count for kind, count in self._counts().items()},
            "left_out": self.left_out,
            "beside": self.both.plain(),
        }

    def _counts(self) -> Counter[KnownDemands]:
        return Counter(self.known.values())

    def _sources(self) -> str:
        counts = self._counts()
        return ", ".join(f"{words} ({counts[kind]})" for kind, words in _WORDS.items() if counts[kind])

    def _left_out(self) -> str:
        return f"; {self.left_out} skipped, see record.json" if self.left_out else ""


def _percent(share: float | None) -> str:
    return "-" if share is None else "infinite" if share == inf else f"{share:.0%}"
