"""The style of figures on pages: their bytes depend on the rows alone (``report.pictures.figures.rendered``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Draw = Callable[[pd.DataFrame], Figure]

COLOURS = ("#1f4e79", "#2e9e8f", "#e8a33d", "#9c3d54", "#6b6b6b", "#7a5ea8", "#3f7d20")
MARKERS = "os^Dvxp"


def figure_of(panels: int = 1) -> tuple[Figure, Sequence[Axes]]:
    """An empty figure with panels beside one another, all with the same y axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * panels if panels > 1 else 7.0, 3.6), layout="constrained")
    axes = figure.subplots(1, panels, sharey=True, squeeze=False).ravel()
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
    return figure, list(axes)


def bars(label: str, values: Sequence[str], unit: str) -> Draw:
    """A function that draws bars: a group for each row of a table, a bar of a colour for each column of values."""

    def draw(table: pd.DataFrame) -> Figure:
        figure, (panel,) = figure_of()
        width = 0.8 / len(values)
        for at, name in enumerate(values):
            places = [row + (at - (len(values) - 1) / 2) * width for row in range(len(table))]
            panel.bar(places, list(table[name]), width, color=COLOURS[at], label=name.replace("_", " "))
        panel.set_xticks(range(len(table)), [str(group) for group in table[label]])
        panel.set_ylabel(unit)
        panel.axhline(0, color="black", linewidth=0.6)
        figure.legend(loc="outside lower center", ncols=min(4, len(values)), frameon=False)
        return figure

    return draw


def lines(over: str, values: Sequence[str], x_label: str, unit: str) -> Draw:
    """A function that draws a line for each column of values, over another column of the table."""

    def draw(table: pd.DataFrame) -> Figure:
        figure, (panel,) = figure_of()
        for at, name in enumerate(values):
            panel.plot(list(table[over]), list(table[name]), marker=MARKERS[at], markersize=4, color=COLOURS[at],
                       label=name.replace("_", " "))  # fmt: skip
        panel.set_xlabel(x_label)
        panel.set_ylabel(unit)
        figure.legend(loc="outside lower center", ncols=min(4, len(values)), frameon=False)
        return figure

    return draw
