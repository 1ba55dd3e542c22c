"""All verdicts in the paper's order, and what each hangs on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise, product

from fawkes.offline.runs.work import Row
from fawkes.offline.studies.paper import runs
from fawkes.offline.studies.paper.experiments import macro_rules, micro_rules
from fawkes.offline.studies.paper.judging.fixed import ASSUMED, FACTORS, RANGES, VARIED
from fawkes.offline.studies.paper.judging.refuting import REFUTED, refuting_runs, used_models
from fawkes.offline.studies.paper.judging.rules import (
    CANNOT_FAIL,
    DEPENDS,
    DIFFERS,
    HOLDS,
    NOT_SHOWN,
    REPRODUCED,
    Judged,
    RuleVerdict,
)
from fawkes.offline.studies.paper.judging.why import reason_runs
from fawkes.offline.studies.paper.rows import NotRunError, Rows
from fawkes.offline.studies.paper.runs import Run

EXPERIMENTS: tuple[Callable[[Rows], Iterator[Judged]], ...] = (
    macro_rules.setup,
    macro_rules.thresholds,
    micro_rules.half,
    micro_rules.sites,
    micro_rules.grow,
    micro_rules.remove,
    micro_rules.busy_removal,
    macro_rules.points,
    macro_rules.wordcount,
    macro_rules.sort,
    macro_rules.gain,
    macro_rules.order,
    macro_rules.skewed,
    macro_rules.skewed_makespan,
)


def ruled(rows: Rows) -> list[RuleVerdict]:
    """The verdicts of the rules alone on these rows, "not shown" for an experiment whose runs were not made."""
    found: list[RuleVerdict] = []
    for experiment in EXPERIMENTS:
        try:
            for name, section, published, ours, holds in experiment(rows):
                found.append(RuleVerdict(name, section, published, ours, REPRODUCED if holds else DIFFERS))
        except NotRunError as missing:
            section, _, what = (experiment.__doc__ or "").partition(":")
            name = f"{section}-{experiment.__name__}"
            found.append(RuleVerdict(name, section, what.strip(), str(missing), NOT_SHOWN))
    return found


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
    return [_refuted(_over(one, ranges.get(one.section, {})), on_models) for one in ruled(plain)]


def _by_name(rows: Rows) -> dict[str, RuleVerdict]:
    return {one.name: one for one in ruled(rows) if one.verdict != NOT_SHOWN}


def _over(plain: RuleVerdict, others: Mapping[float, Mapping[str, RuleVerdict]]) -> RuleVerdict:
    """The verdict over the range of a value: "depends on" it when the rule holds for a part of the range alone."""
    if plain.verdict == NOT_SHOWN or not others:
        return plain
    _, value, _ = RANGES[plain.section]
    points = {1.0: plain} | {factor: found[plain.name] for factor, found in others.items() if plain.name in found}
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


def _refuted(one: RuleVerdict, on_models: Mapping[str, Mapping[str, RuleVerdict]]) -> RuleVerdict:
    """The verdict with what would refute it: never "reproduced" unless the rule fails on each refuting model."""
    against = REFUTED.get(one.name)
    if against is None:
        return one
    if not against.models:
        return replace(one, refuted_by=against.by, verdict=DIFFERS if one.verdict == DIFFERS else CANNOT_FAIL)
    found = {model: on_models[model].get(one.name) for model in against.models}
    shown = ", ".join(f"{model}: {'not run' if ours is None else _there(ours)}" for model, ours in found.items())
    verdict = one.verdict
    if verdict != DIFFERS and any(ours is not None and ours.verdict != DIFFERS for ours in found.values()):
        verdict = CANNOT_FAIL
    elif verdict == REPRODUCED and None in found.values():
        verdict = HOLDS
    return replace(one, refuted_by=f"{against.by} ({shown})", verdict=verdict)


def _there(ours: RuleVerdict) -> str:
    return "differs" if ours.verdict == DIFFERS else "the rule holds there too"


def published_runs() -> frozenset[Run]:
    """The runs that the verdicts and the reasons are made of."""
    return frozenset([*runs.experiments(), *runs.ranges(), *refuting_runs(), *reason_runs()])


def all_runs() -> list[Run]:
    """Everything: the experiments, what refutes, what reasons need, and the sweep."""
    return [*runs.experiments(), *runs.ranges(), *refuting_runs(), *reason_runs(), *runs.sweep()]


def swept(rows: Mapping[Run, Row]) -> list[dict[str, str]]:
    """Constants that verdicts hang on: a row for each verdict, constant and factor that were run, with both verdicts.

    All on the points that the sweep has, with one seed and without replays; ``ours`` is what came out with the changed
    constant.
    """
    some = {run: _one_seed(rows[run]) for part in runs.swept_runs() for run in part if run in rows}
    plain = {one.name: one for one in ruled(Rows(some))}
    found = []
    for constant, factor in product((*VARIED, *ASSUMED), FACTORS):
        if not any(run.constant == constant and run.factor == factor for run in rows):
            continue
        for one in ruled(Rows(rows, constant, factor)):
            before = plain.get(one.name)
            if before is not None and NOT_SHOWN not in (before.verdict, one.verdict):
                found.append(
                    {
                        "verdict": one.name,
                        "constant": constant,
                        "factor": f"{factor:g}",
                        "before": before.verdict,
                        "after": one.verdict,
                        "ours": one.ours,
                    }
                )
    return found


def _one_seed(row: Row) -> Row:
    """The row as the sweep has it, whose runs are made with one seed."""
    return {**row, "seconds": row["each_s"][0], "each_s": row["each_s"][:1]} if "each_s" in row else row
