"""Rows of the chapter's cases, as its rules read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from statistics import fmean
from typing import Any

from fawkes.offline.studies.quota.cases import QuotaCase
from fawkes.offline.studies.shared import statements

Outcome = Mapping[str, Any]
"""An application in a row of a case."""


class QuotaStudy(statements.Study):
    """Errors and cores of applications, averaged over the seeds."""

    def apps(self, case: QuotaCase) -> list[list[Outcome]]:
        """The outcomes of each application of a case, one for each seed."""
        return [list(each) for each in zip(*(row["apps"] for row in self.each(case)), strict=True)]

    def errors(self, case: QuotaCase) -> list[float]:
        """The mean error of each application of a case (eq. 4, in percent)."""
        return [fmean(outcome["error"] for outcome in app) for app in self.apps(case)]

    def error(self, case: QuotaCase) -> float:
        """The mean error of the only application."""
        return self.errors(case)[0]

    def cores(self, case: QuotaCase) -> float:
        """The mean of the cores that the only application held."""
        return fmean(outcome["cores"] for outcome in self.apps(case)[0])

    def stage_errors(self, case: QuotaCase, of: Callable[[list[float]], float] = fmean) -> float:
        """A statistic of the stages' errors in a run (eq. 5), averaged over the runs."""
        return fmean(of(outcome["stage_errors"]) for outcome in self.apps(case)[0])


def within(study: QuotaStudy, cases: Iterable[QuotaCase], most: float) -> statements.Finding:
    """Errors of cases of one application, and whether none is larger, early or late."""
    errors = [study.error(case) for case in cases]
    return f"{statements.signed(errors)} %", all(abs(error) <= most for error in errors)
