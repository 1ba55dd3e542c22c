"""Verdicts of the deadline chapter: the rules on the printed algorithms, on other readings, and on refuting models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fawkes.offline.runs.work import Row
from fawkes.offline.studies.deadlines.rules import Rule, rules
from fawkes.offline.studies.deadlines.study import MODELS, DeadlineStudy, readings
from fawkes.offline.studies.deadlines.traces import trace_verdicts
from fawkes.offline.studies.flat.grid import FlatCell
from fawkes.offline.studies.shared.verdicts import (
    DEPENDS,
    DIFFERS,
    NOT_SHOWN,
    REPRODUCED,
    NotRunError,
    RuleVerdict,
    refuted,
)


@dataclass(frozen=True, slots=True)
class Read:
    """The outcome of a rule under one reading."""

    name: str
    reading: str
    ours: str
    holds: bool


def judge(rows: Mapping[FlatCell, Row]) -> tuple[list[RuleVerdict], list[Read]]:
    """All verdicts, and what each rule gave under each reading.

    "reproduced": the rule holds as printed and under all other readings that were run, and fails on its refuting
    models. "depends on the reading" when it holds under some of them alone.
    """
    study, verdicts, reads = DeadlineStudy(rows), trace_verdicts(), list[Read]()
    for rule in rules():
        try:
            ours, holds = rule.check(study)
        except NotRunError as missing:
            verdicts.append(RuleVerdict(rule.name, rule.section, rule.published, str(missing), NOT_SHOWN))
            continue
        others = ((name, _checked(rule, other)) for name, other in readings(study, rule.axes))
        mine = [
            Read(rule.name, study.name, ours, holds),
            *(Read(rule.name, name, *outcome) for name, outcome in others if outcome is not None),
        ]
        reads += mine
        on_models = {name: _checked(rule, MODELS[name].of(study, name)) for name in rule.models}
        passed = {name: None if outcome is None else outcome[1] for name, outcome in on_models.items()}
        verdicts.append(refuted(_over(rule, mine), rule.refuted_by, passed))
    return verdicts, reads


def _checked(rule: Rule, study: DeadlineStudy) -> tuple[str, bool] | None:
    """The outcome of a rule under a reading or in a model; None where its runs were not made."""
    try:
        return rule.check(study)
    except NotRunError:
        return None


def _over(rule: Rule, reads: list[Read]) -> RuleVerdict:
    holding = [read.reading for read in reads if read.holds]
    failing = [read.reading for read in reads if not read.holds]
    ours = reads[0].ours
    if rule.axes and len(reads) > 1:
        if not failing:
            ours += "; holds under all readings"
        elif not holding:
            ours += "; holds under no reading"
        elif len(failing) <= len(holding):
            ours += f"; holds under all readings but: {', '.join(failing)}"
        else:
            ours += f"; holds under these readings alone: {', '.join(holding)}"
    verdict = REPRODUCED if len(holding) == len(reads) else DEPENDS + "the reading" if holding else DIFFERS
    return RuleVerdict(rule.name, rule.section, rule.published, ours, verdict)
