"""`fawkes whatif`: a recorded span under other policies and settings, and how far the model can be believed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fawkes.cli.acting import Duration, Number
from fawkes.cli.compare import AGAINST, COMPARED, chosen
from fawkes.cli.show import CSV, JSON, JSON_VERSION, TABLE, Column, note, output_option, progress, show
from fawkes.cli.simulate import Setting, number
from fawkes.config.site import Site
from fawkes.errors import ExitStatus
from fawkes.extras import needs

if TYPE_CHECKING:
    from fawkes.record.verdict import Verdict

Share = Number(0, 1000)


@click.command()
@click.argument("record", type=click.Path(path_type=Path))
@click.option("--policies", default="all", show_default=True, help="Names or files, with commas; or all.")
@click.option("--set", "settings", type=Setting(), multiple=True, help="Values of a key: tau=5,10,20; repeatable.")
@click.option("--replays", type=click.IntRange(1, 9999), default=10, show_default=True, help="Shaken runs of each.")
@click.option("--spread", type=Duration(), default="10s", show_default=True, help="How far arrivals are shaken.")
@click.option("--job-bound", type=Share, default=0.25, show_default=True, help="Bound for the median error of jobs.")
@click.option("--makespan-bound", type=Share, default=0.25, show_default=True, help="Bound for the makespan's error.")
@click.option("--jobs", type=click.IntRange(1, 1024), help="Processes at once.  [default: one for each core]")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep the rows of the runs; the same command goes on with them.",
)
@output_option
@click.pass_obj
@needs("fawkes whatif", "offline")
def whatif(
    site: Site,
    record: Path,
    policies: str,
    settings: tuple[tuple[str, str], ...],
    replays: int,
    spread: int,
    job_bound: float,
    makespan_bound: float,
    jobs: int | None,
    out: Path | None,
    output: str,
) -> ExitStatus | None:
    """Run RECORD, a folder of `fawkes record`, under each policy and each combination of settings.

    First as it was recorded, held against what happened: the first line says how far off the model is. Then the
    policies by the mean slowdown of their jobs. Ends 4 when the recorded run is not reproduced within the bounds: the
    ranking is shown all the same.
    """
    from fawkes.catalog import Catalog
    from fawkes.offline.settings import variants_of
    from fawkes.offline.work import in_this_process, on_processes
    from fawkes.record.folder import open_record
    from fawkes.record.verdict import Bounds
    from fawkes.record.whatif import grid_of, question_of, ranked, verdict_of

    opened = open_record(record)
    # The policy of the record counts as one of its site, and is among all of them.
    catalog = Catalog(site=record)
    found = chosen(catalog, policies)
    question = question_of(opened, catalog)
    grid = grid_of(question, catalog, found, variants_of(settings), replays=replays, spread_us=spread)
    count = jobs or os.cpu_count() or 1
    with progress("whatif", 1 + len(grid.cells)) as step:
        verdict = verdict_of(question, Bounds(job_bound, makespan_bound))
        step(f"{verdict.policy} as recorded")
        rows = ranked(grid, verdict.policy, on_processes(count) if count > 1 else in_this_process, step, out)
    _tell(verdict, rows, output)
    return None if verdict.reproduced else ExitStatus.PARTIAL


def _tell(verdict: Verdict, rows: list[dict[str, Any]], output: str) -> None:
    if output == JSON:
        said = {"version": JSON_VERSION, "line": verdict.line(), "recorded": verdict.plain(), "rows": rows}
        click.echo(json.dumps(said, indent=2, allow_nan=False))
        return
    if output == CSV:
        note(verdict.line())
    else:
        click.echo(f"{verdict.line()}\n")
    show(rows, _COLUMNS, output)
    if output == TABLE:
        against = f"{verdict.policy} as recorded" if any(row["policy"] == verdict.policy for row in rows) else "nothing"
        click.echo(f"\nmedians over the replays (5-95 %); change and p: mean slowdown against {against}, paired")


def _whole(value: float) -> str:
    return f"{value:.0f}"


_COLUMNS = (
    Column("rank", right=True),
    *COMPARED,
    Column("slowdown_median", "median slowdown", number, right=True),
    Column("makespan_s", "makespan (s)", _whole, right=True),
    Column("makespan_s_low", "5 %", _whole, right=True),
    Column("makespan_s_high", "95 %", _whole, right=True),
    *AGAINST,
)
