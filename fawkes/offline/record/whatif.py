"""A record under other policies and settings: first as it was, held against what happened, then all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fawkes.base.catalog import Catalog, Kind
from fawkes.base.errors import UserError
from fawkes.config.site.site import Site
from fawkes.config.workloads.changes import Changes
from fawkes.offline.outcomes.beside import beside
from fawkes.offline.outcomes.statistics import CANNOT_TELL, table_of
from fawkes.offline.record.folder import Record
from fawkes.offline.record.verdict import ModelBounds, ModelVerdict
from fawkes.offline.runs.work import Row
from fawkes.offline.scenarios.demands import KnownDemands
from fawkes.offline.scenarios.plan import Plan, with_demands
from fawkes.offline.scenarios.read import read_plan
from fawkes.offline.scenarios.scenario import Scenario, simulate

PREEMPTION = "preemption="
"""The beginning of the label of a variant under a preemption policy."""


@dataclass(frozen=True, slots=True)
class Question:
    """A record as a plan, and the scenario of the recorded policy and settings, without wishes.

    ``plan_with`` gives the plan with changed keys of the scenario, without reference times.
    """

    record: Record
    plan: Plan
    recorded: Scenario
    plan_with: Callable[[Changes], Plan]


def question_of(record: Record, catalog: Catalog) -> Question:
    """The plan of a record's scenario with its reference times; ConfigError names what is wrong in it."""

    def plan_with(changes: Changes) -> Plan:
        return read_plan(Site(record.folder), catalog, str(record.scenario), changes=changes)

    plan = plan_with({})
    recorded = plan.scenario(catalog)
    return Question(record, plan.with_references(recorded), recorded, plan_with)


def verdict_of(question: Question, bounds: ModelBounds) -> ModelVerdict:
    """The recorded policy and settings, simulated once, beside what happened."""
    record = question.record
    store = simulate(with_demands(question.recorded, question.plan.demands))
    with record.ledger() as ledger:
        both = beside(ledger, store, record.span.times)
    return ModelVerdict(
        both=both,
        policy=question.recorded.policy.name,
        known=record.known,
        left_out=len(record.left_out),
        bounds=bounds,
    )


def ranked(rows: Sequence[Row], baseline: str) -> list[dict[str, Any]]:
    """A row for each policy and variant as `table_of` gives it, best first: least mean slowdown, then makespan.

    Policies without any slowdown come last.
    """
    table = table_of(rows, baseline)
    table.sort(key=lambda row: (row["slowdown_mean"] is None, row["slowdown_mean"], row["makespan_s"]))
    return [{"rank": number, **row} for number, row in enumerate(table, 1)]


def preemption_variants(
    catalog: Catalog, names: str, variants: Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Each variant under each preemption policy that is named, with commas, or all; UserError for a wrong name.

    Also for a name twice: labels have the names of policies, and two files may have one name.
    """
    every = names.strip().casefold() == "all"
    policies = (
        catalog.all(Kind.PREEMPTION) if every else [catalog.find(Kind.PREEMPTION, n.strip()) for n in names.split(",")]
    )
    for name, count in Counter(policy.title for policy in policies).items():
        if count > 1:
            raise UserError(f"the policy {name!r} is named twice", where="--preemption", hint="Name each once")
    return {
        f"{PREEMPTION}{policy.title} {label}".strip(): {**changes, "preemption": str(policy.path.resolve())}
        for policy in policies
        for label, changes in variants.items()
    }


def preemption_table(question: Question, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The preemption policies under the recorded policy: response times and waste, each against the recorded one.

    Empty where no run was played under a preemption policy that was asked for.
    """
    recorded = question.recorded
    if recorded.preemption is None:
        return []
    mine = [row for row in rows if row["policy"] == recorded.policy.name and row["settings"].startswith(PREEMPTION)]
    split = [(row, *row["settings"].removeprefix(PREEMPTION).partition(" ")) for row in mine]
    table = table_of(
        [{**row, "policy": name, "settings": others} for row, name, _, others in split], recorded.preemption.name
    )
    return [{"preemption": row["policy"], **{k: v for k, v in row.items() if k != "policy"}} for row in table]


def savable(question: Question) -> list[str]:
    """The jobs of a record whose tasks can be saved, as far as their own description says what these take.

    Of others the tasks are made up from the time of the whole job, so that what a kill loses is not known.
    """
    specs = (job.spec for demand in question.plan.demands for job in demand.all_jobs)
    return [spec.id for spec in specs if spec.saves and question.record.known.get(spec.id) is KnownDemands.SPEC]


def believed(rows: Sequence[Mapping[str, Any]], verdict: ModelVerdict, *, known: bool = True) -> list[dict[str, Any]]:
    """The rows; their verdicts are `CANNOT_TELL` if the model does not reproduce what happened, or not ``known``."""
    if verdict.reproduced and known:
        return [dict(row) for row in rows]
    return [{**row, "verdict": CANNOT_TELL if row["verdict"] else None} for row in rows]
