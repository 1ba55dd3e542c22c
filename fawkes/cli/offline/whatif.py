"""`fawkes whatif`: a recorded span under other policies and settings, and how far the model can be believed."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.catalog import Catalog
from fawkes.base.errors import ExitStatus
from fawkes.base.extras import needs
from fawkes.cli.asking.acting import BoundedNumber
from fawkes.cli.offline.compare import chosen, plain_texts, variants_under
from fawkes.cli.offline.options import comparison_options, jobs_option, out_option
from fawkes.cli.show.show import CSV, JSON, TABLE, note, output_option, progress, say, section, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site

if TYPE_CHECKING:
    from fawkes.offline.record.verdict import ModelVerdict

Share = BoundedNumber(0, 1000)


@click.command()
@click.argument("record", type=click.Path(path_type=Path))
@comparison_options(policies="all", admission="the recorded one", example="pool.nodes=8,12", replays=10, spread="10s")
@click.option(
    "--job-bound", type=Share, default=0.25, show_default=True, help="Largest accepted median error of job times."
)
@click.option(
    "--makespan-bound", type=Share, default=0.25, show_default=True, help="Largest accepted error of the makespan."
)
@click.option("--preemption", metavar="NAMES", help="Preemption policies, with commas between; or all.")
@jobs_option
@out_option("Folder for the results; the same command continues in it.")
@click.option("--anew", is_flag=True, help="Run again what other code ran before, and replace its rows.")
@output_option
@click.pass_obj
@needs("fawkes whatif", "offline")
def whatif(
    site: Site,
    record: Path,
    policies: str,
    admission: str | None,
    settings: tuple[tuple[str, str], ...],
    replays: int,
    spread: int,
    job_bound: float,
    makespan_bound: float,
    preemption: str | None,
    jobs: int | None,
    out: Path | None,
    anew: bool,
    output: str,
) -> ExitStatus | None:
    """Run RECORD, a folder of `fawkes record`, under each policy and each combination of settings.

    The first line compares a simulation of the span, as recorded, with what happened: it shows the error of the model.
    Then the policies follow, by the mean slowdown of their jobs, each with a verdict against the recorded policy. Exits
    with 4 unless the recorded run is reproduced within the bounds; the ranking is shown anyway, without verdicts.
    """
    from fawkes.offline.record import whatif as answers
    from fawkes.offline.record.folder import open_record
    from fawkes.offline.record.verdict import ModelBounds
    from fawkes.offline.runs.grid import GridFolder, RowsInMemory, grid_of, run_cell
    from fawkes.offline.runs.work import finish, in_this_process, on_processes

    opened = open_record(record)
    # The policy of the record counts as one of the site, and is among all of them.
    catalog = Catalog(site=site.root, record=record)
    chosen_policies = chosen(catalog, policies)
    variants = variants_under(catalog, admission, settings)
    if preemption is not None:
        variants = answers.preemption_variants(catalog, preemption, variants)
    question = answers.question_of(opened, catalog)
    name = record.resolve().name
    grid = grid_of(question.plan_with, catalog, chosen_policies, variants, replays=replays, spread_us=spread, name=name)
    count = jobs or os.cpu_count() or 1
    with progress("whatif", 1 + len(grid.cells)) as step:
        verdict = answers.verdict_of(question, ModelBounds(job_bound, makespan_bound))
        step(f"{verdict.policy} as recorded")
        run = on_processes(count) if count > 1 else in_this_process
        kept = RowsInMemory() if out is None else GridFolder(out, grid, anew=anew)
        rows = finish(partial(run_cell, grid), grid.cells, kept, run, step)
    known = bool(answers.savable(question))
    saving = answers.believed(answers.preemption_table(question, rows), verdict, known=known)
    _tell(verdict, answers.believed(answers.ranked(rows, verdict.policy), verdict), saving, output)
    if saving and not known and output == TABLE:
        say("no job says itself what its tasks take and that they can be saved: every verdict is `cannot tell`")
    return None if verdict.reproduced else ExitStatus.PARTIAL


def _tell(verdict: ModelVerdict, rows: list[dict[str, Any]], saving: list[dict[str, Any]], output: str) -> None:
    from fawkes.offline.outcomes.statistics import SIGNIFICANT, least_p

    if output == JSON:
        more = {"preemption": saving} if saving else {}
        show(rows, TABLES["whatif"], output, envelope={"line": verdict.line(), "recorded": verdict.plain(), **more})
        return
    if output == CSV:
        note(verdict.line())
    else:
        say(verdict.line())
        say("")
    show(plain_texts(rows) if output == CSV else rows, TABLES["whatif"], output)
    if output == TABLE:
        settings = "under the same settings" if any(row["settings"] for row in rows) else "as recorded"
        there = any(row["policy"] == verdict.policy for row in rows)
        against = f"{verdict.policy} {settings}" if there else "nothing"
        say("")
        say(f"medians over the replays; change, from, to, verdict: mean slowdown against {against}, paired")
        replays = max((row["replays"] for row in rows), default=0)
        if least_p(replays) >= SIGNIFICANT:
            say(f"{replays} replays cannot tell policies apart. Give --replays 6 or more")
        if saving:
            what = f"preemption policies under {verdict.policy}, against the recorded one; medians over the replays:"
            section(what, saving, TABLES["whatif, preemption"], output)
        if not verdict.reproduced:
            say("every verdict is `cannot tell`, because nothing shows that the model reproduces the record")
