"""The deadline chapter: its runs are made or read, judged by rules, and written as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from fawkes.base.version import __version__
from fawkes.offline.runs.folder import write_rows
from fawkes.offline.runs.work import Row, Runner, in_this_process
from fawkes.offline.studies.deadlines.exhibits import exhibits
from fawkes.offline.studies.deadlines.runs import JUSTICE, TR1_SMALL, chapter_runs, quick_chapter_runs
from fawkes.offline.studies.deadlines.study import DeadlineStudy
from fawkes.offline.studies.deadlines.verdicts import Read, judge
from fawkes.offline.studies.flat.grid import CellFolder, FlatCell, gather, sources
from fawkes.offline.studies.shared.page import StudyPage, write_page
from fawkes.offline.studies.shared.verdicts import DEPENDS, DIFFERS, RuleVerdict

TITLE = "Deadlines: the trace-driven study on a flat pool of CPUs"
GAPS = (
    "The traces are not public. Their twins have no bursts, no daily cycle, no repeated jobs, and no likeness of jobs "
    "that come one after another.",
    "Jobs are perfectly parallel: with a CPUs, w CPU seconds take w / a seconds.",
    "The figures of the dissertation are pictures: only the numbers in its text can be compared.",
    "Deadlines count from the work and the simulated capacity (T = work / min(tasks, capacity)): each can be met.",
    "Welch's test takes samples of 60 s as independent, as the dissertation does; they are not.",
    "TR2 was run with one seed; further readings and orders of service with two.",
)


def wanted(*, quick: bool) -> list[FlatCell]:
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
    """The number of runs that are to be made."""
    return CellFolder(out / "runs").missing(wanted(quick=quick))


def publish(rows: Mapping[FlatCell, Row], folder: Path, *, pictures: bool = True) -> list[RuleVerdict]:
    """Write the page of these rows into a folder; the verdicts on it."""
    folder.mkdir(parents=True, exist_ok=True)
    verdicts, reads = judge(rows)
    in_order = sorted(rows.items(), key=lambda item: str(item[0]))
    write_rows(folder / "rows.json", [{"cell": asdict(cell), "row": _short(row)} for cell, row in in_order])
    page = StudyPage(
        title=TITLE,
        made_by=_made_by(rows),
        verdicts=verdicts,
        reasons=_reasons(verdicts, reads),
        gaps=GAPS,
        reason="{name} under each reading: {text}",
    )
    write_page(page, exhibits(reads), DeadlineStudy(rows).under({JUSTICE: JUSTICE}, ""), folder, pictures=pictures)
    return verdicts


def _short(row: Row) -> Row:
    """The part of a row that verdicts need: without the means of days, and idle groups only where they are judged."""
    judged = (row["cell"]["trace"], row["cell"]["capacity"]) == ("TR1", TR1_SMALL)
    left_out = {"cell", "fawkes", "due", "finished", *(() if judged else ("idle",))}
    kept = {key: value for key, value in row.items() if key not in left_out}
    for name in ("fairness", "equality"):
        kept[name] = {key: [] if key == "batches" else value for key, value in row[name].items()}
    return kept


def _made_by(rows: Mapping[FlatCell, Row]) -> str:
    return (
        f"Made by `fawkes paper --chapter deadlines` of Fawkes {__version__} (sources {sources()}), {len(rows)} runs. "
        "The policies are those of `policies/admission/`, as they decide live. A compiled twin plays them, equal to "
        "the readable pool. The rules of the verdicts were fixed before the runs "
        "(docs/decisions/deadline-study.md). Each statement is judged on the printed algorithm and on the other "
        'readings of what the text leaves open: "depends on the reading" is a rule that holds under some of them alone.'
    )


def _reasons(verdicts: Sequence[RuleVerdict], reads: Sequence[Read]) -> dict[str, str]:
    """The outcome of each reading, by the name of each verdict that is not reproduced."""
    reasons = {}
    for verdict in verdicts:
        mine = [read for read in reads if read.name == verdict.name]
        if verdict.verdict == DIFFERS or verdict.verdict.startswith(DEPENDS):
            each = "; ".join(f"{read.reading}: {read.ours}{' (holds)' if read.holds else ''}" for read in mine)
            reasons[verdict.name] = (
                each if len(mine) > 1 else f"{verdict.ours}; not known why, no other reading was found"
            )
    return reasons
