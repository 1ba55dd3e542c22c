"""The pictures of the page: figures whose bytes depend on the rows alone (``report.pictures.figures.rendered``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from fawkes.offline.runs.work import Row
from fawkes.report.pictures.course import Course
from fawkes.report.pictures.panels import course_over_time, slowdowns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#1f4e79", "#2e9e8f", "#e8a33d", "#9c3d54", "#6b6b6b", "#7a5ea8", "#3f7d20")
_MARKERS = "os^Dvxp"


def _figure(panels: int = 1, *, wide: bool = False, share_y: bool = False) -> tuple[Figure, Sequence[Axes]]:
    from matplotlib.figure import Figure

    rows, columns = (1, panels) if wide else (panels, 1)
    size = (4.2 * columns if columns > 1 else 7.0, 1.2 + 1.9 * rows if rows > 1 else 3.6)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, sharex=not wide, sharey=share_y, squeeze=False).ravel()
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
    return figure, list(axes)


def bars(table: pd.DataFrame, label: str, values: Sequence[str], unit: str) -> Figure:
    """Bars beside one another: a group for each row, a colour for each column of values."""
    figure, (panel,) = _figure()
    width = 0.8 / len(values)
    for at, name in enumerate(values):
        places = [row + (at - (len(values) - 1) / 2) * width for row in range(len(table))]
        panel.bar(places, list(table[name]), width, color=_COLOURS[at], label=name.replace("_", " "))
    panel.set_xticks(range(len(table)), [str(one) for one in table[label]])
    panel.set_ylabel(unit)
    panel.axhline(0, color="black", linewidth=0.6)
    figure.legend(loc="outside lower center", ncols=min(4, len(values)), frameon=False)
    return figure


def growth(table: pd.DataFrame) -> Figure:
    """Speed-up over the fraction of nodes added: a panel for TC and one for TR."""
    figure, panels = _figure(2, wide=True, share_y=True)
    names = [name for name in table.columns if name.startswith("f=")]
    fractions = [0.0, *(float(name.removeprefix("f=")) for name in names)]
    for panel, role in zip(panels, ("TC", "TR"), strict=True):
        for at, row in enumerate(table[table["role"] == role].to_dict("records")):
            speedups = [1.0, *(row[name] for name in names)]
            panel.plot(fractions, speedups, marker=_MARKERS[at], markersize=4, color=_COLOURS[at],
                       label=row["application"] if role == "TC" else None)  # fmt: skip
        panel.plot([0, fractions[-1]], [1, 1 + fractions[-1]], color="grey", linestyle=":", linewidth=1)
        panel.set_xlabel(f"nodes added, {role} (part of 20 core nodes)")
    panels[0].set_ylabel("speed-up")
    figure.legend(loc="outside lower center", ncols=6, frameon=False)
    return figure


def lines(table: pd.DataFrame, over: str, values: Sequence[str], x_label: str, unit: str) -> Figure:
    """A line for each column of values."""
    figure, (panel,) = _figure()
    for at, name in enumerate(values):
        panel.plot(list(table[over]), list(table[name]), marker=_MARKERS[at], markersize=4, color=_COLOURS[at],
                   label=name.replace("_", " "))  # fmt: skip
    panel.set_xlabel(x_label)
    panel.set_ylabel(unit)
    figure.legend(loc="outside lower center", ncols=min(4, len(values)), frameon=False)
    return figure


def over_time(row: Row, title: str) -> Figure:
    """Nodes, waiting tasks and discrimination of each MR-cluster over time, of a row with its course."""
    return course_over_time(Course(**row["course"]), title)


def ranges(table: pd.DataFrame) -> Figure:
    """Least, median and most of the mean job slowdown over the MR-clusters, for each policy."""
    return slowdowns(*(list(table[name]) for name in ("policy", "min", "median", "max")))
