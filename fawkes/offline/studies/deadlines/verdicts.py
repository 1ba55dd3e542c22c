"""Verdicts of the deadline chapter: the rules on the printed algorithms, on other readings, and on refuting models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from fawkes.offline.runs.work import Row
from fawkes.offline.studies.deadlines.rule import MODELS, Rule
from fawkes.offline.studies.deadlines.rules_4 import chapter_4
from fawkes.offline.studies.deadlines.rules_5 import chapter_5
from fawkes.offline.studies.deadlines.study import Study, readings
from fawkes.offline.studies.flat.grid import Cell
from fawkes.offline.studies.flat.twins import REPORTED, TWINS, Class, Recipe, made, statistics, twin
from fawkes.offline.studies.paper.judging.rules import (
    CANNOT_FAIL,
    DEPENDS,
    DIFFERS,
    HOLDS,
    NOT_SHOWN,
    REPRODUCED,
    RuleVerdict,
)
from fawkes.offline.studies.paper.rows import NotRunError

THE_READING = "the reading"


@dataclass(frozen=True, slots=True)
class Read:
    """The outcome of a rule under one reading."""

    name: str
    reading: str
    ours: str
    holds: bool


def rules() -> Iterator[Rule]:
    """All rules on runs, in the order of the chapters."""
    yield from chapter_4()
    yield from chapter_5()


def judge(rows: Mapping[Cell, Row]) -> tuple[list[RuleVerdict], list[Read]]:
    """All verdicts, and what each rule gave under each reading.

    "reproduced": the rule holds as printed and under all other readings that were run, and fails on its refuting
    models. "depends on the reading" when it holds under some of them alone.
    """
    study, found, reads = Study(rows), trace_verdicts(), list[Read]()
    for rule in rules():
        try:
            ours, holds = rule.check(study)
        except NotRunError as missing:
            found.append(RuleVerdict(rule.name, rule.section, rule.published, str(missing), NOT_SHOWN))
            continue
        mine = [Read(rule.name, study.name, ours, holds), *_others(rule, study)]
        reads += mine
        found.append(_refuted(rule, study, _over(rule, mine)))
    return found, reads


def _others(rule: Rule, study: Study) -> Iterator[Read]:
    for name, other in readings(study, rule.axes):
        try:
            ours, holds = rule.check(other)
        except NotRunError:
            continue
        yield Read(rule.name, name, ours, holds)


def _over(rule: Rule, reads: list[Read]) -> RuleVerdict:
    holding = [one.reading for one in reads if one.holds]
    failing = [one.reading for one in reads if not one.holds]
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
    verdict = REPRODUCED if len(holding) == len(reads) else DEPENDS + THE_READING if holding else DIFFERS
    return RuleVerdict(rule.name, rule.section, rule.published, ours, verdict)


def _refuted(rule: Rule, study: Study, plain: RuleVerdict) -> RuleVerdict:
    """The verdict with what would refute it: never "reproduced" unless the rule fails on each refuting model."""
    shown, passed = list[str](), list[bool | None]()
    for model in rule.models:
        instead = {name: study.instead.get(other, other) for name, other in MODELS[model].items()}
        try:
            holds = rule.check(study.under(instead, model))[1]
        except NotRunError:
            shown.append(f"{model}: not run")
            passed.append(None)
            continue
        shown.append(f"{model}: {'the rule holds there too' if holds else 'differs'}")
        passed.append(holds)
    verdict = plain.verdict
    if verdict != DIFFERS and (True in passed or not rule.models):
        verdict = CANNOT_FAIL
    elif verdict == REPRODUCED and None in passed:
        verdict = HOLDS
    refuted = f"{rule.refuted_by} ({', '.join(shown)})" if shown else rule.refuted_by
    return RuleVerdict(plain.name, plain.section, plain.published, plain.ours, verdict, refuted)


# --- Tables 4.1 and 5.1: the twins beside what is reported of the traces

#: what the recipe has from the tables, and so cannot miss
_BY_RECIPE = frozenset(
    {
        "peak_cpus", "jobs", "work_h", "one_task_percent", "one_task_work_percent", "below_10_tasks_percent",
        "below_100_tasks_percent", "above_1000_tasks_percent", "above_1000_tasks_work_percent",
    }
)  # fmt: skip
#: points by which a figure that was read off a curve may differ
_CURVE = 5.0
_NO_SPREAD = "follows from the recipe of the twin, which has this figure"


def trace_verdicts() -> list[RuleVerdict]:
    """For each reported statistic of a trace, whether its twin has it: within 5 points, counts within 1 %."""
    found = []
    for trace, reported in REPORTED.items():
        ours, flat = twin_statistics(trace), _without_spread(trace)
        for key, said in zip(ours, reported, strict=True):
            if said is None:
                continue
            verdict = REPRODUCED if _like(key, ours[key], said) else DIFFERS
            refuted = _NO_SPREAD
            if key not in _BY_RECIPE:
                holds = _like(key, flat[key], said)
                refuted = f"work without spread within a class: {'the rule holds there too' if holds else 'differs'}"
                verdict = CANNOT_FAIL if holds and verdict == REPRODUCED else verdict
            elif verdict == REPRODUCED:
                verdict = CANNOT_FAIL
            label = key.removesuffix("_percent").replace("_", " ")
            unit = " %" if key.endswith("_percent") else ""
            found.append(
                RuleVerdict(
                    f"T-{trace}-{key}",
                    "T",
                    f"{trace}: {label} {said:,g}{unit}",
                    f"{ours[key]:,.6g}{unit}",
                    verdict,
                    refuted,
                )
            )
    return found


def _like(key: str, ours: float, said: float) -> bool:
    return abs(ours - said) <= (_CURVE if key.endswith("_percent") else 0.01 * said)


@cache
def twin_statistics(trace: str) -> Mapping[str, float]:
    """The statistics of the first seed's twin."""
    return statistics(twin(trace, 1))


@cache
def _without_spread(trace: str) -> Mapping[str, float]:
    recipe = TWINS[trace]
    flat = tuple(Class(c.name, c.least, c.most, c.part, c.share, 0.0, c.per_task) for c in recipe.classes)
    return statistics(made(Recipe(recipe.name, recipe.jobs, recipe.work_h, recipe.peak, flat), 1))
