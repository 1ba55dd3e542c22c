"""Statements of a chapter: each with its cases, its rule and what would refute it, and experiments made of them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.verdicts import DIFFERS, NOT_SHOWN, REPRODUCED, NotRunError, RuleVerdict, refuted

Finding = tuple[str, bool]
"""The outcome in words, and whether the rule holds."""


@dataclass(frozen=True)
class Study:
    """Rows of cases for some seeds, read under one model.

    A case is a frozen dataclass with a ``seed`` and a ``model``. A case that a rule names here has any seed.
    """

    rows: Mapping[Any, Mapping[str, Any]]
    seeds: Sequence[int]
    model: str = ""

    def each(self, case: Any) -> list[Mapping[str, Any]]:
        """The rows of a case, one for each seed; NotRunError when one was not made."""
        wanted = [self.run_of(replace(case, seed=seed, model=self.model)) for seed in self.seeds_of(case)]
        missing = [each for each in wanted if each not in self.rows]
        if missing:
            raise NotRunError(f"not run: {missing[0]}")
        return [self.rows[each] for each in wanted]

    def mean(self, case: Any, key: str) -> float:
        """The mean of a figure of a case; not a number when a run has none, so that no rule holds on it."""
        values = [row[key] for row in self.each(case)]
        return float("nan") if None in values else fmean(values)

    def run_of(self, case: Any) -> Any:
        """The case whose row stands for a case."""
        return case

    def seeds_of(self, _case: Any) -> Sequence[int]:
        """The seeds with which a case is run."""
        return self.seeds


@dataclass(frozen=True, slots=True)
class VerdictReason:
    """A reason why a verdict differs: a claim, printed only when its check holds on runs without the alleged cause."""

    claim: str
    check: Callable[[Any], Finding]
    cases: tuple[Any, ...]

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
    rule: Callable[[Any], Finding]
    refuted_by: str
    models: tuple[str, ...]
    cases: tuple[Any, ...] = ()
    reason: VerdictReason | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """Statements with their exhibits; ``cases`` are those that only exhibits need."""

    statements: tuple[Statement, ...]
    exhibits: tuple[Exhibit, ...]
    cases: tuple[Any, ...] = ()

    def wanted(self, seeds: Sequence[int], models: Container[str]) -> Iterator[Any]:
        """All cases, also those in the refuting models that are among ``models``."""
        for seed in seeds:
            yield from (replace(case, seed=seed) for case in self.cases)
            for statement in self.statements:
                if statement.reason is not None:
                    yield from (replace(case, seed=seed) for case in statement.reason.cases)
                for model in ("", *statement.models):
                    if model in models:
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


def reasons_of(experiments: Sequence[Experiment], verdicts: Sequence[RuleVerdict], study: Study) -> dict[str, str]:
    """The reasons of the verdicts that differ, by name."""
    differs = {verdict.name for verdict in verdicts if verdict.verdict == DIFFERS}
    return {
        each.name: "not known why" if each.reason is None else each.reason.text(study)
        for experiment in experiments
        for each in experiment.statements
        if each.name in differs
    }


def signed(values: Sequence[float]) -> str:
    """Percents in a line, each with its sign."""
    return ", ".join(f"{value:+.1f}" for value in values)
