"""All experiments in the paper's order, and the sets of runs that pages are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from fawkes.offline.studies.paper.experiments import (
    balance,
    growing,
    half,
    points,
    policies,
    removing,
    sites,
    workloads,
)
from fawkes.offline.studies.paper.experiments.experiment import PaperClaim, PaperExperiment
from fawkes.offline.studies.paper.judging.fixed import ASSUMED, FACTORS, NOT_SECTION_6, RANGES, SECTION_7, VARIED
from fawkes.offline.studies.paper.runs import PaperRun, in_model, with_factor

EXPERIMENTS: tuple[PaperExperiment, ...] = (
    workloads.RATIOS,
    workloads.TAU,
    half.HALF,
    sites.SITES,
    growing.GROWING,
    removing.IDLE,
    removing.BUSY,
    points.POINTS,
    balance.WORDCOUNT,
    balance.SORT,
    policies.GAIN,
    policies.ORDER,
    policies.SKEWED,
    policies.SKEWED_MAKESPAN,
)
STATEMENTS: Mapping[str, PaperClaim] = {
    statement.name: statement for experiment in EXPERIMENTS for statement in experiment.statements
}
"""All statements, by name."""


def used_models() -> tuple[str, ...]:
    """All refuting models, by name."""
    return tuple(dict.fromkeys(model for statement in STATEMENTS.values() for model in statement.models))


def experiment_runs() -> list[PaperRun]:
    """All experiments, in the model as it is."""
    return _unique(run for experiment in EXPERIMENTS for run in experiment.runs)


def quick_runs() -> list[PaperRun]:
    """Runs that take less than a minute: the micro-experiments with fewer points, one replay of the macro ones."""
    return _unique(run for experiment in EXPERIMENTS for run in experiment.quick)


def range_runs() -> list[PaperRun]:
    """7.1 and 7.3 again over the ranges of what the paper does not say."""
    return [
        with_factor(run, constant, factor)
        for section, (constant, _, factors) in RANGES.items()
        for experiment in EXPERIMENTS
        if experiment.section == section
        for factor, run in product(factors, experiment.ranged)
    ]


def refuting_runs() -> list[PaperRun]:
    """Runs to show that rules can fail; policies that stand in for others are not run again."""
    return _unique(
        in_model(run, model)
        for experiment in EXPERIMENTS
        for statement in experiment.statements
        for model, run in product(statement.models, experiment.refuting)
    )


def reason_runs() -> list[PaperRun]:
    """The runs that the checks of reasons need beside those of the experiments."""
    reasons = [reason for statement in STATEMENTS.values() for reason in statement.reasons]
    return _unique(in_model(run, reason.model) for reason in reasons for run in reason.runs)


def swept_runs() -> tuple[list[PaperRun], list[PaperRun]]:
    """Runs to make again with a changed constant: section 6 on fewer points, and of section 7 WKLD-A, C and D."""
    six, seven = (
        _unique(run for experiment in EXPERIMENTS if experiment.section.startswith(section) for run in experiment.swept)
        for section in ("6", "7")
    )
    return six, seven


def sweep_runs() -> list[PaperRun]:
    """Each constant halved and doubled, where it can matter."""
    six, seven = swept_runs()
    return [
        with_factor(run, name, factor)
        for name, factor in product((*VARIED, *ASSUMED), FACTORS)
        for run in [*(() if name in NOT_SECTION_6 else six), *(seven if name in SECTION_7 else ())]
    ]


def published_runs() -> frozenset[PaperRun]:
    """The runs that the verdicts and the reasons are made of."""
    return frozenset([*experiment_runs(), *range_runs(), *refuting_runs(), *reason_runs()])


def all_runs() -> list[PaperRun]:
    """Everything: the experiments, what refutes, what reasons need, and the sweep."""
    return [*experiment_runs(), *range_runs(), *refuting_runs(), *reason_runs(), *sweep_runs()]


def _unique(runs: Iterable[PaperRun]) -> list[PaperRun]:
    return list(dict.fromkeys(runs))
