"""An experiment of the chapter: its statements, each with its cases, its rule and what would refute it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from fawkes.offline.studies.quota.cases import MODELS, Case
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.verdicts import DIFFERS, NOT_SHOWN, REPRODUCED, NotRunError, RuleVerdict, refuted

Outcome = Mapping[str, Any]
"""An application in a row of a case."""
Found = tuple[str, bool]
"""The outcome in words, and whether the rule holds."""


@dataclass(frozen=True)
class Study:
    """Rows of cases for some seeds, read under one model. A case here has any seed."""

    rows: Mapping[Case, Mapping[str, Any]]
    seeds: Sequence[int]
    model: str = ""

    def each(self, case: Case) -> list[Mapping[str, Any]]:
        """The rows of a case, one for each seed; NotRunError when one was not made."""
        wanted = [replace(case, seed=seed, model=self.model) for seed in self.seeds]
        missing = [each for each in wanted if each not in self.rows]
        if missing:
            raise NotRunError(f"not run: {missing[0]}")
        return [self.rows[each] for each in wanted]

    def apps(self, case: Case) -> list[list[Outcome]]:
        """The outcomes of each application of a case, one for each seed."""
        return [list(each) for each in zip(*(row["apps"] for row in self.each(case)), strict=True)]

    def errors(self, case: Case) -> list[float]:
        """The mean error of each application of a case (eq. 4, in percent)."""
        return [fmean(outcome["error"] for outcome in app) for app in self.apps(case)]

    def error(self, case: Case) -> float:
        """The mean error of the only application."""
        return self.errors(case)[0]

    def cores(self, case: Case) -> float:
        """The mean of the cores that the only application held."""
        return fmean(outcome["cores"] for outcome in self.apps(case)[0])

    def stage_errors(self, case: Case, of: Callable[[list[float]], float] = fmean) -> float:
        """A statistic of the stages' errors in a run (eq. 5), averaged over the runs."""
        return fmean(of(outcome["stage_errors"]) for outcome in self.apps(case)[0])


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason why a verdict differs: a claim, printed only when its check holds on runs without the alleged cause."""

    claim: str
    check: Callable[[Study], Found]
    cases: tuple[Case, ...]

    def text(self, study: Study) -> str:
        """The claim with the figures that bear it out, or that there is no reason."""
        ours, holds = self.check(study)
        return f"{self.claim} ({ours})" if holds else "not known why"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement in our words; without ``models`` it follows from how the experiment was made and cannot fail."""

    name: str
    section: str
    published: str
    rule: Callable[[Study], Found]
    refuted_by: str
    models: tuple[str, ...]
    cases: tuple[Case, ...] = ()
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """Statements with their exhibits; ``cases`` are those that only exhibits need."""

    statements: tuple[Statement, ...]
    exhibits: tuple[Exhibit, ...]
    cases: tuple[Case, ...] = ()

    def wanted(self, seeds: Sequence[int]) -> Iterator[Case]:
        """All cases, also those in refuting models."""
        for seed in seeds:
            yield from (replace(case, seed=seed) for case in self.cases)
            for statement in self.statements:
                if statement.reason is not None:
                    yield from (replace(case, seed=seed) for case in statement.reason.cases)
                for model in ("", *statement.models):
                    if model in MODELS:
                        yield from (replace(case, seed=seed, model=model) for case in statement.cases)


def judge(statement: Statement, study: Study) -> RuleVerdict:
    """The verdict on a statement: "reproduced" when its rule holds here and fails in each refuting model."""
    try:
        ours, holds = statement.rule(study)
    except NotRunError as missing:
        return RuleVerdict(statement.name, statement.section, statement.published, str(missing), NOT_SHOWN)
    verdict = REPRODUCED if holds else DIFFERS
    plain = RuleVerdict(statement.name, statement.section, statement.published, ours, verdict)
    passed = {model: statement.rule(replace(study, model=model))[1] for model in statement.models}
    return refuted(plain, statement.refuted_by, passed)


def signed(values: Sequence[float]) -> str:
    """Percents in a line, each with its sign."""
    return ", ".join(f"{value:+.1f}" for value in values)
