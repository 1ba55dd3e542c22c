"""The chapter on deadlines: its runs are made or read, judged, and its page is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fawkes.offline.runs.work import Runner, in_this_process
from fawkes.offline.studies.deadlines.pages import publish
from fawkes.offline.studies.deadlines.runs import chapter_runs, quick_chapter_runs
from fawkes.offline.studies.flat.grid import Cell, CellFolder, gather
from fawkes.offline.studies.paper.judging.rules import RuleVerdict


def wanted(*, quick: bool) -> list[Cell]:
    """The runs of the chapter, each once; those of TR2, which take longest, come last."""
    some = quick_chapter_runs() if quick else chapter_runs()
    return sorted(dict.fromkeys(some), key=lambda cell: cell.trace)


def make(
    out: Path,
    *,
    quick: bool,
    pictures: bool,
    run: Runner = in_this_process,
    say: Callable[[str], None] = lambda text: None,
) -> list[RuleVerdict]:
    """Make what is missing in ``out``/runs, and write the page into ``out``; the verdicts on it."""
    rows = gather(wanted(quick=quick), CellFolder(out / "runs"), run=run, say=say)
    return publish(rows, out, pictures=pictures)


def missing(out: Path, *, quick: bool) -> int:
    """How many runs are to be made."""
    return CellFolder(out / "runs").missing(wanted(quick=quick))
