"""`fawkes simulate`: one run of a scenario offline, decided by the code that decides live."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.catalog import Catalog, Kind
from fawkes.base.extras import needs
from fawkes.base.units import MOST_SEED, counted
from fawkes.cli.asking import completion
from fawkes.cli.asking.ledger import ledger_of
from fawkes.cli.asking.parsed import Parsed
from fawkes.cli.show.fields import NOTHING
from fawkes.cli.show.show import CSV, JSON, TABLE, note, output_option, progress, say, section, show, warn
from fawkes.cli.show.streams import STREAM, from_stdin
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site

if TYPE_CHECKING:
    from fawkes.offline.outcomes.beside import Beside
    from fawkes.offline.outcomes.outcome import Outcome
    from fawkes.offline.scenarios.plan import Plan
    from fawkes.sim.hadoop.model import TaskEvent

ALL = "all"


def _key_and_value(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key.strip() or not value.strip():
        raise ValueError(f"{text!r} is not a setting: write key=value, such as tau=10 or period=90s")
    return key.strip(), value.strip()


#: ``key=value``; the command gets both as text
SETTING = Parsed("key=value", _key_and_value)


@click.command()
@click.argument("scenario")
@click.option(
    "--policy", help="Another weighting policy, by name or by the path of its file.", shell_complete=completion.policies
)
@click.option(
    "--admission",
    help="Another admission policy, by name or by the path of its file.",
    shell_complete=completion.admissions,
)
@click.option(
    "--set",
    "settings",
    type=SETTING,
    multiple=True,
    help="Set a key of fawkes.toml (tau=10) or of the scenario (model.disk=50MB); repeatable.",
)
@click.option("--seed", type=click.IntRange(0, MOST_SEED), help="Random seed, instead of the scenario's.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write ledger, frames and pictures into a new folder.",
)
@click.option(
    "--beside",
    "recorded",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="SITE",
    help="Show decisions and times of jobs beside those in the ledger of a site.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Check slots, tasks, bytes and the core's invariants at every event; ten times slower.",
)
@output_option
@click.pass_obj
@needs("fawkes simulate", "offline")
def simulate(
    site: Site,
    scenario: str,
    policy: str | None,
    admission: str | None,
    settings: tuple[tuple[str, str], ...],
    seed: int | None,
    out: Path | None,
    recorded: Path | None,
    check: bool,
    output: str,
) -> None:
    """Run SCENARIO offline: WKLD-A to WKLD-E of the paper, a workload by its name, a file, or - for standard input.

    Shows each MR-cluster and the totals. The folder of --out is a site of its own: `fawkes --site DIR events`,
    `explain`, `status` and `verify` show what happened in it.
    """
    from fawkes.config.workloads.changes import divided
    from fawkes.offline.outcomes.beside import beside
    from fawkes.offline.outcomes.outcome import outcome_of
    from fawkes.offline.runs.folder import PARTS_OF_A_RUN, refuse_present, write_run
    from fawkes.offline.runs.settings import admission_named, values_of
    from fawkes.offline.scenarios.notes import CopyNote, run_notes, struck_nobody
    from fawkes.offline.scenarios.plan import with_demands
    from fawkes.offline.scenarios.scenario import simulate as run

    if out is not None:
        refuse_present(out)
    # Before the run: a site without a ledger is refused at once.
    ledger = None if recorded is None else click.get_current_context().with_resource(ledger_of(Site(recorded)))
    catalog = Catalog(site=site.root)
    let_in = {} if admission is None else {"admission": admission_named(catalog, admission, where="--admission")}
    said = divided({**values_of(settings), **let_in})
    plan = plan_of(site, catalog, scenario, seed, said.scenario)
    policy_file = None if policy is None else catalog.find(Kind.POLICY, policy)
    chosen = plan.scenario(catalog, policy=policy_file, changes=said.settings)
    with progress("simulate", 2 if out is None else 2 + PARTS_OF_A_RUN) as step:
        plan = plan.with_references(chosen)
        step("reference times")
        copies = CopyNote(plan.losses)
        ready = replace(with_demands(chosen, plan.demands), check=check)
        tasks: list[TaskEvent] | None = [] if ready.keeps_tasks else None
        store = run(ready, watch=copies, tasks=tasks)
        step(chosen.policy.name)
        outcome = outcome_of(store, tasks, with_losses=bool(plan.losses))
        if out is not None:
            write_run(out, store, outcome, f"{plan.name} under {chosen.policy.name}", step)
    for line in run_notes(copies.lost, struck_nobody(store, plan.losses)):
        warn(f"note: {line}")
    _tell(outcome, output, None if ledger is None else beside(ledger, store))
    if out is not None:
        note(f"what happened: fawkes --site {out} events")
        note(f"why: fawkes --site {out} explain")


def plan_of(site: Site, catalog: Any, name: str, seed: int | None, changes: Mapping[str, Any] = {}) -> Plan:
    """The scenario of that name: a workload of the paper, else a file; ``-`` is standard input.

    ``changes`` are keys of the scenario with other values (`fawkes.config.workloads.changes`).
    """
    from fawkes.offline.scenarios.read import plan_named

    if name == STREAM:
        # The file stays until the command ends: parts of a plan are read when they are needed.
        name = str(click.get_current_context().with_resource(from_stdin(name, "stdin.toml")))
    plan = plan_named(site, catalog, name, seed, changes)
    for line in plan.notes:
        note(line)
    return plan


def _tell(outcome: Outcome, output: str, both: Beside | None) -> None:
    from fawkes.report.tables.waste_rows import waste_row

    rows: list[dict[str, Any]] = list(outcome.plain()["clusters"])
    total = {key: value for key, value in outcome.plain().items() if key != "clusters"}
    if output == JSON:
        beside = {} if both is None else {"beside": both.plain()}
        show(rows, TABLES["simulate"], output, envelope={"total": total, **beside})
        return
    everything = {
        "cluster": ALL,
        "jobs": outcome.jobs,
        "failed_jobs": outcome.failed_jobs,
        "slowdown_mean": outcome.slowdown_mean,
        "slowdown_median": outcome.slowdown_median,
        "response_mean_s": outcome.response_mean_s,
        "node_s": outcome.node_s,
        "finished_s": outcome.makespan_s,
    }
    due = {} if outcome.due is None else asdict(outcome.due)
    masters = {} if outcome.masters is None else asdict(outcome.masters)
    waste = {} if outcome.waste is None else waste_row(outcome.waste)
    table = TABLES["simulate"]
    form = replace(table, keys=(*table.keys, *due, *masters, *waste)) if output == CSV else table
    show([*rows, {**everything, **due, **masters, **waste}], form, output)
    if output != TABLE:
        return
    if due:
        with_deadlines = [*(row for row in rows if "jobs_due" in row), {"cluster": ALL, **due}]
        section("Jobs that have a deadline:", with_deadlines, TABLES["simulate, deadlines"], output)
    if masters:
        section("Lost and moved masters:", [*rows, {"cluster": ALL, **masters}], TABLES["simulate, masters"], output)
    if waste:
        known = [*(row for row in rows if "useful_s" in row), {"cluster": ALL, **waste}]
        section("Slot time of tasks, where some can be saved:", known, TABLES["simulate, waste"], output)
    say("")
    say(
        f"mean slowdown of the MR-clusters: least {number(outcome.slowdown_least)}, median "
        f"{number(outcome.slowdown_middle)}, most {number(outcome.slowdown_most)}"
    )
    say(f"makespan {outcome.makespan_s:.0f} s; {counted(outcome.reconfigurations, 'reconfiguration')}")
    if both is not None:
        _tell_beside(both, output)


def _tell_beside(both: Beside, output: str) -> None:
    turns = [asdict(row) for row in both.turns]
    section("Decisions in their order, recorded and simulated:", turns, TABLES["simulate --beside, decisions"], output)
    jobs = [{**asdict(row), "error": row.error} for row in both.jobs]
    section("Times of jobs, recorded and simulated:", jobs, TABLES["simulate --beside, jobs"], output)
    say("")
    say(
        f"{both.likeness:.0%} of the decisions are in the same order; median error of the jobs' times "
        f"{_percent(both.job_error)}; makespan {both.recorded_makespan_s:.0f} s recorded, "
        f"{both.simulated_makespan_s:.0f} s simulated"
    )
    if both.ended_otherwise:
        say(f"{len(both.ended_otherwise)} of {len(both.jobs) + len(both.fates)} jobs ended otherwise than recorded")


def number(value: float | None) -> str:
    """Two digits behind the point; a dash when there is none."""
    return NOTHING if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{value:+.0%}"
