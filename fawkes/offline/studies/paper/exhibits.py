"""The tables and figures of the page: what was run for each, its table, its picture and its verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from fawkes.offline.studies.paper import pictures, tables
from fawkes.offline.studies.paper.judging import fixed
from fawkes.offline.studies.paper.judging.rules import RuleVerdict
from fawkes.offline.studies.paper.rows import NotRunError, Rows
from fawkes.report.pictures.course import Course

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Exhibit:
    """``how`` tells what was run, ``verdicts`` are their names' beginnings; ``missing`` says why there is no table."""

    name: str
    title: str
    how: str
    verdicts: tuple[str, ...] = ()
    table: pd.DataFrame | None = None
    draw: Callable[[], Figure] | None = None
    missing: str = ""

    def judged(self, found: list[RuleVerdict]) -> list[RuleVerdict]:
        """Its verdicts of all."""
        return [one for one in found if one.name.startswith(self.verdicts)] if self.verdicts else []


_ONE = (
    f"One MR-cluster of {fixed.MICRO_NODES} nodes, inputs of Table 1, {fixed.REDUCES_PER_NODE} reduces a node. Tasks "
    f"differ by chance: means over seeds {', '.join(map(str, fixed.CHANCES))}, each against its own. "
)
_MACRO = (
    f"Preset paper (tau = 10, raw discrimination, no damping), {fixed.MIN_NODES} core nodes each, seed {fixed.SEED}; "
    "medians over the replays that were run, the first as drawn, the others perturbed. Slowdown: response over the "
    "execution alone on 10 core nodes. "
)


def exhibits(rows: Rows, swept: list[dict[str, str]]) -> list[Exhibit]:
    """All of them in the paper's order; without a table where runs were not made."""
    return [_made(make) for make in _makers(rows, swept)]


Maker = tuple[str, str, str, tuple[str, ...], Callable[[], pd.DataFrame], Callable[[pd.DataFrame], "Figure"] | None]


def _made(maker: Maker) -> Exhibit:
    name, title, how, verdicts, table, draw = maker
    try:
        made = table()
    except NotRunError as missing:
        return Exhibit(name, title, how, verdicts, missing=str(missing))
    return Exhibit(name, title, how, verdicts, made, None if draw is None else partial(draw, made))


def _makers(rows: Rows, swept: list[dict[str, str]]) -> Iterator[Maker]:
    yield "table-1", "Table 1: applications", "The definitions.", (), tables.applications, None
    what = f"The definitions, seed {fixed.SEED}."
    yield "table-2", "Table 2: workloads", what, ("5.3-ratio",), tables.workloads, None
    yield from _micro(rows)
    yield from _macro(rows)
    what = "Each is the model with one change. A rule that holds in one of its refuting models proves nothing."
    yield "models", "Refuting models", what, (), tables.refuting_models, None
    what = (
        "Each constant times 0.5 and 2, fitted or assumed alike: section 6 on fewer points and with one seed, of "
        f"section 7 WKLD-A, C and D without replays, with {', '.join(fixed.SECTION_7)}. WKLD-B and E are not swept. "
        "The verdicts here are those of the rules alone, without ranges and refuting models."
    )
    yield "sweep", "What the verdicts hang on", what, (), partial(tables.flipped, swept), None


def _micro(rows: Rows) -> Iterator[Maker]:
    both = ("half_TC_percent", "half_TR_percent")
    yield (
        "6-1-half", "6.1 Half of the nodes transient or transient-core", _ONE + "20 core against 10 + 10 nodes.",
        ("6.1",), partial(tables.half, rows),
        lambda table: pictures.bars(table, "application", both, "longer (%)"),
    )  # fmt: skip
    yield (
        "6-2-sites", "6.2 Two sites", _ONE + "All core; 10 on each of two sites with 10 Gb/s between them.",
        ("6.2",), partial(tables.sites, rows),
        lambda table: pictures.bars(table, "application", ("percent",), "longer (%)"),
    )  # fmt: skip
    yield (
        "6-3-grow", "6.3 Growing before the job", _ONE + "And a fraction of them more; judged up to f = 0.5.",
        ("6.3",), partial(tables.grow, rows), pictures.growth,
    )  # fmt: skip
    times = ("one_after_another_total_s", "together_total_s", "together_node_s")
    yield (
        "6-4-idle", "6.4 Removing idle nodes",
        "20 nodes, 10 GB on each that leaves, no jobs. Two readings: one after another, and all together.",
        ("6.4-total", "6.4-flat", "6.4-steep", "6.4-remove"), partial(tables.remove_idle, rows),
        lambda table: pictures.lines(table, "removed", times, "nodes removed of 20", "seconds"),
    )  # fmt: skip
    slower = ("ST_percent", "WC_percent", "TT_percent", "PR_percent")
    yield (
        "6-4-busy", "6.4 Removing nodes at the start of a job",
        _ONE + "Each leaving node holds a twentieth of three replicas of the input.",
        ("6.4-busy",), partial(tables.remove_busy, rows),
        lambda table: pictures.lines(table, "removed", slower, "nodes removed of 20", "longer (%)"),
    )  # fmt: skip


def _macro(rows: Rows) -> Iterator[Maker]:
    yield (
        "7-1-wkld-a", "7.1 WKLD-A: the five points", _MACRO + "60 nodes, TR, JD, T = 60 s; replay 0.",
        ("7.1",), partial(tables.points, rows), None,
    )  # fmt: skip
    yield _course(rows, "WKLD-A", "JD", "TR")
    for name, app, code in (("WKLD-B", "WC", "wordcount"), ("WKLD-C", "ST", "sort")):
        yield (
            f"7-2-{name.lower()}", f"7.2 {name}", _MACRO + "60 nodes, T = 60 s.",
            (f"7.2-{app}", f"7.2-{code}"), partial(tables.drain, rows, name),
            lambda table: pictures.bars(
                table.assign(run=table["policy"] + " " + table["growth"]), "run", ("c-1_s", "c-2_s", "c-3_s"), "seconds"
            ),
        )  # fmt: skip
        yield _course(rows, name, "TD", "TC")
        yield _course(rows, name, "TD", "TR")
    yield (
        "7-3-wkld-d", "7.3 WKLD-D: the policies", _MACRO + "48 nodes, TC, T = 120 s.",
        ("7.3-gain", "7.3-unharmed", "7.3-moves-D", "7.3-best", "7.3-finer", "7.3-PU", "7.3-DU", "7.3-perf",
         "7.3-order"),
        partial(tables.compared, rows, "WKLD-D"), pictures.ranges,
    )  # fmt: skip
    yield _course(rows, "WKLD-D", "TD", "TC")
    yield (
        "7-3-wkld-e", "7.3 WKLD-E: one heavy MR-cluster", _MACRO + "48 nodes, TC, T = 120 s.",
        ("7.3-E", "7.3-moves-E", "7.3-skewed"), partial(tables.compared, rows, "WKLD-E"), pictures.ranges,
    )  # fmt: skip
    yield _course(rows, "WKLD-E", "TD", "TC")
    yield (
        "5-3-tau", "5.3 tau", _MACRO + "TD with TC; tau = 5, 10 and 20.",
        ("5.3-t",), partial(tables.thresholds, rows), None,
    )  # fmt: skip


def _course(rows: Rows, name: str, policy: str, growth: str) -> Maker:
    """Nodes, queues and discrimination over time; the frame beside it has a row for each point."""
    title = f"{name} under {policy} with {growth}"

    def table() -> pd.DataFrame:
        return Course(**rows.replays(name, policy, growth)[0]["course"]).frame()

    def draw(_: pd.DataFrame) -> Figure:
        return pictures.over_time(rows.replays(name, policy, growth)[0], title)

    label = f"7-{name.lower()}-{policy.lower()}-{growth.lower()}-over-time"
    return label, f"7 {title}, over time", "Replay 0. Points as CSV and Parquet.", (), table, draw
