"""All verdicts in the paper's order, what each hangs on, and the reasons of those that differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise, product

from fawkes.offline.runs.work import Row
from fawkes.offline.studies.paper.judging.fixed import ASSUMED, FACTORS, RANGES, VARIED
from fawkes.offline.studies.paper.rows import Rows
from fawkes.offline.studies.paper.runs import Run
from fawkes.offline.studies.paper.sets import EXPERIMENTS, STATEMENTS, swept_runs, used_models
from fawkes.offline.studies.shared.verdicts import (
    DEPENDS,
    DIFFERS,
    HOLDS,
    NOT_SHOWN,
    REPRODUCED,
    NotRunError,
    RuleVerdict,
    refuted,
)

UNKNOWN = "not known why."


def ruled(rows: Rows) -> list[RuleVerdict]:
    """The verdicts of the rules alone on these rows, "not shown" for an experiment whose runs were not made."""
    verdicts: list[RuleVerdict] = []
    for experiment in EXPERIMENTS:
        section = experiment.section
        try:
            for name, ours, holds in experiment.rules(rows):
                verdict = REPRODUCED if holds else DIFFERS
                verdicts.append(RuleVerdict(name, section, STATEMENTS[name].published, ours, verdict))
        except NotRunError as missing:
            name = f"{section}-{experiment.name}"
            verdicts.append(RuleVerdict(name, section, experiment.title, str(missing), NOT_SHOWN))
    return verdicts


def judge(rows: Mapping[Run, Row]) -> list[RuleVerdict]:
    """All verdicts.

    A statement is "reproduced" when its rule holds over the range of what the paper does not say, and does not hold
    on any of its refuting models. One without such a model "cannot fail".
    """
    plain = Rows(rows)
    on_models = {model: _by_name(plain.of_model(model)) for model in used_models()}
    ranges = {
        section: {factor: _by_name(Rows(rows, constant, factor)) for factor in factors}
        for section, (constant, _, factors) in RANGES.items()
    }
    return [_refuted(_over(verdict, ranges.get(verdict.section, {})), on_models) for verdict in ruled(plain)]


def _by_name(rows: Rows) -> dict[str, RuleVerdict]:
    return {verdict.name: verdict for verdict in ruled(rows) if verdict.verdict != NOT_SHOWN}


def _over(plain: RuleVerdict, others: Mapping[float, Mapping[str, RuleVerdict]]) -> RuleVerdict:
    """The verdict over the range of a value: "depends on" it when the rule holds for a part of the range alone."""
    if plain.verdict == NOT_SHOWN or not others:
        return plain
    _, value, _ = RANGES[plain.section]
    points = {1.0: plain} | {factor: there[plain.name] for factor, there in others.items() if plain.name in there}
    if len(points) <= len(others):
        return replace(plain, verdict=HOLDS if plain.verdict == REPRODUCED else plain.verdict)
    holding = [factor for factor in sorted(points) if points[factor].verdict == REPRODUCED]
    if len(holding) in (0, len(points)):
        return replace(plain, ours=f"{plain.ours}; the same verdict with {value} x {_factors(others)}")
    differing = [factor for factor in sorted(points) if (factor in holding) != (1.0 in holding)]
    there = ", x ".join(f"{each:g}: {points[each].ours}" for each in differing)
    turns = [pair for pair in pairwise(sorted(points)) if (pair[0] in holding) != (pair[1] in holding)]
    ends = f"holds with x {_factors(holding)} alone, turns between x {', '.join(map(_factors, turns))}"
    return replace(plain, ours=f"{plain.ours}; with {value} x {there}; {ends}", verdict=DEPENDS + value)


def _factors(factors: Iterable[float]) -> str:
    return " and ".join(f"{each:g}" for each in factors)


def _refuted(plain: RuleVerdict, on_models: Mapping[str, Mapping[str, RuleVerdict]]) -> RuleVerdict:
    """The verdict with what would refute it; as it is for an experiment whose runs were not made."""
    against = STATEMENTS.get(plain.name)
    if against is None:
        return plain
    there = {model: on_models[model].get(plain.name) for model in against.models}
    passed = {model: None if ours is None else ours.verdict != DIFFERS for model, ours in there.items()}
    return refuted(plain, against.refuted_by, passed)


def why(name: str, rows: Rows) -> str:
    """The reasons for a verdict that are borne out, or "not known why"."""
    texts = []
    for reason in STATEMENTS[name].reasons:
        try:
            figures = reason.check(rows)
        except NotRunError:
            continue
        if figures is not None:
            texts.append(f"{reason.claim} ({figures}).")
    return " ".join(texts) or UNKNOWN


def swept(rows: Mapping[Run, Row]) -> list[dict[str, str]]:
    """Constants that verdicts hang on: a row for each verdict, constant and factor that were run, with both verdicts.

    All on the points that the sweep has, with one seed and without replays; ``ours`` is what came out with the changed
    constant.
    """
    some = {run: _one_seed(rows[run]) for part in swept_runs() for run in part if run in rows}
    plain = {verdict.name: verdict for verdict in ruled(Rows(some))}
    table = []
    for constant, factor in product((*VARIED, *ASSUMED), FACTORS):
        if not any(run.constant == constant and run.factor == factor for run in rows):
            continue
        for verdict in ruled(Rows(rows, constant, factor)):
            before = plain.get(verdict.name)
            if before is not None and NOT_SHOWN not in (before.verdict, verdict.verdict):
                table.append(
                    {
                        "verdict": verdict.name,
                        "constant": constant,
                        "factor": f"{factor:g}",
                        "before": before.verdict,
                        "after": verdict.verdict,
                        "ours": verdict.ours,
                    }
                )
    return table


def _one_seed(row: Row) -> Row:
    """The row as the sweep has it, whose runs are made with one seed."""
    return {**row, "seconds": row["each_s"][0], "each_s": row["each_s"][:1]} if "each_s" in row else row
