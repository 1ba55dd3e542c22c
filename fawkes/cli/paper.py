"""`fawkes paper`: every table and figure of the paper's sections 4 to 7."""

from __future__ import annotations

from pathlib import Path

import click

from fawkes.cli.show import note, progress
from fawkes.extras import needs


@click.command()
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the page, its tables and its pictures.",
)
@click.option("--quick", is_flag=True, help="One replay; no tau, refuting models and sweep: about a minute.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1, 1024), help="Parallel runs, one per core.")
@click.option(
    "--pictures/--no-pictures", default=True, show_default=True, help="Also write PNG and PDF beside the tables."
)
@needs("fawkes paper", "offline")
def paper(out: Path, quick: bool, jobs: int, pictures: bool) -> None:
    """Run the paper's experiments in the simulated world and write a page with tables, figures and verdicts.

    Runs are kept in DIR/runs: an interrupted command continues where it stopped. Each statement of the paper is
    shown with our figure, a verdict, and what would refute it. The rules of verdicts were fixed beforehand. A page of
    its own, interference.md, has chapter 3 of the dissertation of Dimopoulos.
    """
    from fawkes.offline.work import in_this_process, on_processes
    from fawkes.paper.interference_page import publish_interference
    from fawkes.paper.pages import publish
    from fawkes.paper.runs import RunFolder, gather, quick_runs
    from fawkes.paper.verdicts import all_runs

    wanted, folder = quick_runs() if quick else all_runs(), RunFolder(out / "runs")
    with progress("paper", folder.missing(wanted)) as step:
        rows = gather(wanted, folder, run=on_processes(jobs) if jobs > 1 else in_this_process, say=step)
    found = publish(rows, out, pictures=pictures)
    found += publish_interference(out, pictures=pictures)
    for one in found:
        click.echo(f"{one.verdict:11} {one.name}: {one.ours}")
    note(f"{out / 'index.md'} and index.html describe how each was made")
