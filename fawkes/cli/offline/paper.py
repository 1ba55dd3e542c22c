"""`fawkes paper`: every table and figure of the paper's sections 4 to 7."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fawkes.base.extras import needs
from fawkes.cli.show.show import note, progress
from fawkes.offline.studies.paper.chapters import CHAPTERS

if TYPE_CHECKING:
    from fawkes.offline.runs.work import Runner
    from fawkes.offline.studies.shared.verdicts import RuleVerdict

PAPER = "paper"


@click.command()
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the page, its tables and its pictures.",
)
@click.option(
    "--chapter",
    default=PAPER,
    show_default=True,
    type=click.Choice([PAPER, *CHAPTERS]),
    help="What is run: the paper, or a chapter of its own in DIR/CHAPTER.",
)
@click.option("--quick", is_flag=True, help="Fewer runs: about a minute.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1, 1024), help="Parallel runs, one per core.")
@click.option(
    "--pictures/--no-pictures", default=True, show_default=True, help="Also write PNG and PDF beside the tables."
)
@needs("fawkes paper", "offline")
def paper(out: Path, chapter: str, quick: bool, jobs: int, pictures: bool) -> None:
    """Run the paper's experiments in the simulated world and write a page with tables, figures and verdicts.

    Runs are kept in DIR/runs, and those of the chapter "deadlines" in DIR/deadlines/runs: an interrupted command
    continues where it stopped. The other chapters keep no runs and begin anew. Each statement of the paper is shown
    with our figure, a verdict, and what would refute it. The rules of verdicts were fixed beforehand.

    A page beside it, interference.md, has the study of frameworks that share a cloud by resource offers.

    The chapter "deadlines" repeats the trace-driven study of PYTHIA and Justice on a flat pool of CPUs.
    The chapter "quota" repeats xSpark: deadlines of Spark applications, kept by quotas of CPU.
    The chapter "preemption" repeats Li's study of tasks that are killed or checkpointed for others.
    The chapter "streams" repeats Li's study of streams that grow and shrink without a restart.
    """
    from fawkes.offline.runs.work import in_this_process, on_processes

    run = on_processes(jobs) if jobs > 1 else in_this_process
    page = out if chapter == PAPER else out / chapter
    if chapter == PAPER:
        experiments = _paper(out, quick, pictures, run)
    else:
        module = import_module(CHAPTERS[chapter])
        with progress(chapter, module.missing(page, quick=quick)) as step:
            experiments = module.make(page, quick=quick, pictures=pictures, run=run, say=step)
    for experiment in experiments:
        click.echo(f"{experiment.verdict:11} {experiment.name}: {experiment.ours}")
    note(f"{page / 'index.md'} and index.html describe how each was made")


def _paper(out: Path, quick: bool, pictures: bool, run: Runner) -> list[RuleVerdict]:
    from fawkes.offline.studies.interference.page import publish_interference
    from fawkes.offline.studies.paper.page import publish
    from fawkes.offline.studies.paper.runs import RunFolder, gather
    from fawkes.offline.studies.paper.sets import all_runs, quick_runs

    wanted, folder = quick_runs() if quick else all_runs(), RunFolder(out / "runs")
    with progress("paper", folder.missing(wanted)) as step:
        rows = gather(wanted, folder, run=run, say=step)
    return publish(rows, out, pictures=pictures) + publish_interference(out, pictures=pictures)
