"""The page of the deadline chapter: every table and figure of chapters 4 and 5 and of the follow-up paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from fawkes.base.version import __version__
from fawkes.offline.runs.folder import write_frame, write_rows
from fawkes.offline.runs.work import Row
from fawkes.offline.studies.deadlines import tables
from fawkes.offline.studies.deadlines.rule import ABOUT
from fawkes.offline.studies.deadlines.runs import FURTHER, READINGS, SEEDS, TR1_MIDDLE, TR1_SMALL, TR2_MIDDLE, TR2_SMALL
from fawkes.offline.studies.deadlines.verdicts import Read, judge
from fawkes.offline.studies.flat.grid import Cell, sources
from fawkes.offline.studies.flat.metrics import ENDS, GROUPS
from fawkes.offline.studies.paper import pictures
from fawkes.offline.studies.paper.exhibits import Exhibit
from fawkes.offline.studies.paper.judging.rules import DEPENDS, DIFFERS, RuleVerdict
from fawkes.offline.studies.paper.pages import Page, write_exhibits, write_page
from fawkes.offline.studies.paper.rows import NotRunError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
_REASON = "{name} under each reading: {text}"
#: keys of a row that the published rows leave out
_LONG = ("batches",)

_TR1 = f"TR1's twin, means over seeds {SEEDS[0]} to {SEEDS[-1]}. "
_TR2 = "TR2's twin, seed 1. "


def publish(rows: Mapping[Cell, Row], folder: Path, *, pictures: bool = True) -> list[RuleVerdict]:
    """Write the page of these rows into a folder; the verdicts on it."""
    folder.mkdir(parents=True, exist_ok=True)
    found, reads = judge(rows)
    shown = [*_exhibits(rows, pictures), _readings(reads), _models()]
    write_frame(folder / "verdicts", pd.DataFrame([asdict(one) for one in found]))
    write_rows(folder / "rows.json", [{"cell": asdict(cell), "row": _short(row)} for cell, row in _sorted(rows)])
    drawn = write_exhibits(shown, folder, pictures=pictures)
    write_page(Page(TITLE, _made_by(rows), found, shown, _reasons(found, reads), drawn, [], GAPS, {}, _REASON), folder)
    return found


def _sorted(rows: Mapping[Cell, Row]) -> list[tuple[Cell, Row]]:
    return sorted(rows.items(), key=lambda item: str(item[0]))


def _short(row: Row) -> Row:
    """The part of a row that verdicts need: without the means of days, and idle groups only where they are judged."""
    judged = (row["cell"]["trace"], row["cell"]["capacity"]) == ("TR1", TR1_SMALL)
    kept = {key: value for key, value in row.items() if key not in ("cell", "fawkes") and (judged or key != "idle")}
    for name in ("fairness", "equality"):
        kept[name] = {key: [] if key in _LONG else value for key, value in row[name].items()}
    return kept


def _made_by(rows: Mapping[Cell, Row]) -> str:
    return (
        f"Made by `fawkes paper --chapter deadlines` of Fawkes {__version__} (sources {sources()}), {len(rows)} runs. "
        "The policies are those of `policies/admission/`, as they decide live. A compiled twin plays them, equal to "
        "the readable pool. The rules of the verdicts were fixed before the runs "
        "(docs/decisions/deadline-study.md). Each statement is judged on the printed algorithm and on the other "
        'readings of what the text leaves open: "depends on the reading" is a rule that holds under some of them alone.'
    )


def _reasons(found: Sequence[RuleVerdict], reads: Sequence[Read]) -> dict[str, str]:
    """The outcome of each reading, by the name of each verdict that is not reproduced."""
    reasons = {}
    for one in found:
        mine = [read for read in reads if read.name == one.name]
        if one.verdict == DIFFERS or one.verdict.startswith(DEPENDS):
            each = "; ".join(f"{read.reading}: {read.ours}{' (holds)' if read.holds else ''}" for read in mine)
            reasons[one.name] = each if len(mine) > 1 else f"{one.ours}; not known why, no other reading was found"
    return reasons


def _readings(reads: Sequence[Read]) -> Exhibit:
    names = list(dict.fromkeys(read.reading for read in reads))
    lines: dict[str, dict[str, str]] = {}
    for read in reads:
        lines.setdefault(read.name, {})[read.reading] = "holds" if read.holds else "no"
    table = pd.DataFrame(
        [{"statement": name, **{each: line.get(each, "") for each in names}} for name, line in lines.items()]
    )
    said = "; ".join(f"{name}: {text}" for name, text in {**READINGS, **FURTHER}.items())
    how = (
        "Whether each rule holds under each reading, one at a time. Justice as printed is J0 (errors against the CPUs "
        f"that were granted). {said}. Fair share tops up running jobs, or is static."
    )
    return Exhibit("readings", "What the readings give", how, (), table)


def _models() -> Exhibit:
    table = pd.DataFrame([{"model": name, "what it is": text} for name, text in ABOUT.items()])
    how = "In each, allocators stand for others. A rule that holds there too proves nothing."
    return Exhibit("models", "Refuting models", how, (), table)


Maker = tuple[str, str, str, tuple[str, ...], Callable[[], pd.DataFrame], Callable[[pd.DataFrame], "Figure"] | None]


def _exhibits(rows: Mapping[Cell, Row], drawn: bool) -> list[Exhibit]:
    made = []
    for name, title, how, verdicts, table, draw in _makers(rows):
        try:
            frame = table()
        except NotRunError as missing:
            made.append(Exhibit(name, title, how, verdicts, missing=str(missing)))
            continue
        picture = partial(draw, frame) if draw is not None and drawn else None
        made.append(Exhibit(name, title, how, verdicts, frame, picture))
    return made


def _makers(rows: Mapping[Cell, Row]) -> Iterator[Maker]:
    twins = "The twin of seed 1 beside what the text reports of the trace; curve readings are about 5 points wide."
    yield "traces", "Tables 4.1 and 5.1, Figure 4.1: the traces", twins, ("T-",), tables.traces, None
    curve = "Parts of jobs of the twins with fewer tasks, or with less work, than the value."
    yield "traces-curves", "Figure 4.1: tasks and work of the jobs", curve, (), tables.curves, _curves
    for number, metric in (("4.2", "sdr"), ("4.3", "ptr")):
        yield (
            f"{number.replace('.', '-')}-{metric}", f"Figure {number}: {metric.upper()} with Fixed2x over the capacity",
            "Means over the seeds that were run.", ("4-fixed", "4-unconstrained") if metric == "sdr" else (),
            partial(tables.capacities, rows, metric), _over_capacity(metric),
        )  # fmt: skip
    four = ("4-variable-sdr", "4-variable-oracle", "4-priority"), ("4-variable-ptr",), ("4-waste",)
    for (number, metric), verdicts in zip((("4.4", "sdr"), ("4.5", "ptr"), ("4", "wtr")), four, strict=True):
        yield from _both(rows, f"{number} variable", metric, verdicts, tables.CHAPTER_4)
    five: tuple[tuple[str, str, tuple[str, ...]], ...] = (
        ("5.2", "fairness", ("5-fairness",)),
        ("5.3", "equality", ("5-equality",)),
        ("5.4", "sdr", ("5-sdr",)),
        ("5.5", "ptr", ("5-ptr",)),
        ("5.6", "wtr", ("5-wtr",)),
        ("5.7", "utilisation", ("5-utilisation", "5-more-with-less")),
    )
    for number, metric, verdicts in five:
        yield from _both(rows, number, metric, verdicts, tables.ALL)
    yield (
        "5-unserved", "Parts of the work: useful, wasted, unserved", _TR1 + "They add up to 1.", (),
        partial(tables.parts, rows), None,
    )  # fmt: skip
    ends = f"Mean numbers of jobs by how they ended: {', '.join(ENDS[1:])}. " + _TR1
    yield "5-ends", "How the jobs ended", ends, (), partial(tables.ends, rows), None
    idle = _TR1 + f"{TR1_SMALL} CPUs, Aria1x3x. Groups of 10 and of 100 CPUs that are idle at once, in percent."
    yield "5-8-idle", "Figure 5.8: idle groups of CPUs", idle, ("5-idle",), partial(tables.idle, rows), _idle_times
    for metric in ("sdr", "ptr"):
        yield (
            f"5-readings-{metric}", f"{metric.upper()} under each reading of Justice", _TR1,
            (), partial(tables.justice, rows, metric), None,
        )  # fmt: skip
    yield (
        "5-welch", "Welch's test: fairness of Justice as printed against Reactive FS", "Seed 1, samples of 60 s.", (),
        partial(tables.tests, rows), None,
    )  # fmt: skip
    verdicts_2 = {"equality": ("P2-equality",), "sdr": ("5-tr2", "P2-sdr"), "ptr": ("P2-ptr",)}
    for metric in ("equality", "fairness", "sdr", "ptr", "wtr", "utilisation"):
        for capacity in (TR2_SMALL, TR2_MIDDLE):
            yield (
                f"p2-{metric}-{capacity}", f"Follow-up paper: {metric} on TR2, {capacity} CPUs", _TR2,
                verdicts_2.get(metric, ()) if capacity == TR2_SMALL else (),
                partial(tables.by_type, rows, metric, capacity, tables.OF_FOLLOW_UP, "TR2"),
                _bars(metric, tables.OF_FOLLOW_UP),
            )  # fmt: skip


def _both(
    rows: Mapping[Cell, Row], number: str, metric: str, verdicts: tuple[str, ...], allocators: Mapping[str, str]
) -> Iterator[Maker]:
    """A figure at both capacities; the verdicts stand at the first one."""
    for capacity in (TR1_SMALL, TR1_MIDDLE):
        name = f"{number.replace('.', '-').replace(' ', '-')}-{metric}-{capacity}"
        yield (
            name, f"{'Figure ' + number if '.' in number else 'Variable deadlines'}: {metric} at {capacity} CPUs",
            _TR1, verdicts if capacity == TR1_SMALL else (),
            partial(tables.by_type, rows, metric, capacity, allocators), _bars(metric, allocators),
        )  # fmt: skip


def _bars(metric: str, allocators: Mapping[str, str]) -> Callable[[pd.DataFrame], Figure]:
    def draw(table: pd.DataFrame) -> Figure:
        return pictures.bars(table, "deadlines", tuple(allocators), metric)

    return draw


def _over_capacity(metric: str) -> Callable[[pd.DataFrame], Figure]:
    def draw(table: pd.DataFrame) -> Figure:
        names = tuple(tables.CHAPTER_4)
        return pictures.lines(table[table["trace"] == "TR1"], "cpus", names, "CPUs (TR1)", metric)

    return draw


def _idle_times(table: pd.DataFrame) -> Figure:
    """Figure 5.8: of each allocator the part of idle times of ten CPUs that last longer."""
    tens = table[table["group"] == GROUPS[0]].set_index("allocator").drop(columns=["group", "exists"]).T
    tens.insert(0, "seconds", [name.split("_")[1] for name in tens.index])
    names = tuple(name for name in tens.columns if name != "seconds")
    return pictures.lines(tens, "seconds", names, "seconds", "longer idle times of 10 CPUs (%)")


def _curves(table: pd.DataFrame) -> Figure:
    names = tuple(name for name in table.columns if name != "value")
    return pictures.lines(table.assign(value=[f"{each:g}" for each in table["value"]]), "value", names,
                          "tasks, or CPU seconds of work", "part of the jobs (%)")  # fmt: skip
