"""Figures on pages of studies, in the style of all figures (``report.pictures.style``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from fawkes.report.pictures.style import COLOURS, DASHES, HATCHES, LINE_COLOURS, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Draw = Callable[[pd.DataFrame], Figure]

_MARKERS = "os^Dvxp"


def figure_of(panels: int = 1) -> tuple[Figure, Sequence[Axes]]:
    """An empty figure with panels beside one another, all with the same y axis."""
    figure = new_figure(2.8)
    return figure, list(figure.subplots(1, panels, sharey=True, squeeze=False).ravel())


def draw_line(panel: Axes, at: int, xs: Sequence[float], ys: Sequence[float], label: str | None) -> None:
    """Add the line of a place in the legend, with its own colour, dashes and marks; no label explains it again."""
    colour, dash = LINE_COLOURS[at % len(LINE_COLOURS)], DASHES[at % len(DASHES)]
    panel.plot(xs, ys, marker=_MARKERS[at % len(_MARKERS)], color=colour, linestyle=dash, label=label)


def bars(label: str, values: Sequence[str], unit: str) -> Draw:
    """A function that draws bars: a group for each row of a table, a bar of a colour for each column of values."""

    @styled
    def draw(table: pd.DataFrame) -> Figure:
        figure, (panel,) = figure_of()
        width = 0.8 / len(values)
        for at, name in enumerate(values):
            places = [row + (at - (len(values) - 1) / 2) * width for row in range(len(table))]
            colour, hatch = COLOURS[at % len(COLOURS)], HATCHES[at // len(COLOURS)]
            label_of = name.replace("_", " ")
            panel.bar(places, list(table[name]), width, color=colour, hatch=hatch, label=label_of)
        panel.set_xticks(range(len(table)), [str(group) for group in table[label]])
        panel.set_ylabel(unit)
        panel.axhline(0, color="black", linewidth=0.6)
        figure.legend(loc="outside lower center", ncols=min(4, len(values)))
        return figure

    return draw


def lines(over: str, values: Sequence[str], x_label: str, unit: str) -> Draw:
    """A function that draws a line for each column of values, over another column of the table."""

    @styled
    def draw(table: pd.DataFrame) -> Figure:
        figure, (panel,) = figure_of()
        for at, name in enumerate(values):
            draw_line(panel, at, list(table[over]), list(table[name]), name.replace("_", " "))
        panel.set_xlabel(x_label)
        panel.set_ylabel(unit)
        figure.legend(loc="outside lower center", ncols=min(4, len(values)))
        return figure

    return draw
