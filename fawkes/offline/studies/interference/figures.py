"""The picture of the study: who holds which CPUs over time, who works on them, and who stands still."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fawkes.offline.studies.interference.rows import Curve
from fawkes.report.pictures.style import COLOURS, HATCHES, ON_COLOURS, SPAN, legend_below, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@styled
def shares_over_time(curves: Sequence[Curve], cpus: float, title: str = "") -> Figure:
    """A panel for each manager, a band for each framework in it.

    A band has the CPUs where tasks run as an area and all CPUs that are held as a line. Grey spans are those in which
    the framework stands still: its tasks wait, it holds CPUs, and none runs. ``cpus`` are those of the whole cloud.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    managers = list(dict.fromkeys(curve.manager for curve in curves))
    names = list(dict.fromkeys(curve.framework for curve in curves))
    figure = new_figure(1.0 + 1.2 * len(managers))
    grid = figure.subplots(len(managers), len(names), sharex=True, sharey=True, squeeze=False)
    ends = [at for curve in curves for at, _ in curve.held[-1:]]
    end_s = max([1.0, *ends, *(until for curve in curves for _, until in curve.stuck)])
    for curve in curves:
        panel = grid[managers.index(curve.manager)][names.index(curve.framework)]
        _band(panel, curve, names.index(curve.framework))
    for row, manager in zip(grid, managers, strict=True):
        row[0].set_ylabel(f"{manager}\nCPUs")
    for panel, name in zip(grid[0], names, strict=True):
        panel.set_title(name)
    for panel in grid[-1]:
        panel.set_xlabel("time (s)")
    grid[0][0].set_xlim(0, end_s)
    grid[0][0].set_ylim(0, cpus * 1.05)
    handles = [
        Patch(facecolor=COLOURS[0], label="CPUs where tasks run"),
        Line2D([], [], color="black", label="CPUs held"),
        Patch(facecolor=SPAN, label="stands still"),
    ]
    legend_below(figure, handles)
    if title:
        figure.suptitle(title)
    return figure


def _band(panel: Axes, curve: Curve, place: int) -> None:
    colour, hatch = place % len(COLOURS), HATCHES[place // len(COLOURS) % len(HATCHES)]
    for since_s, until_s in curve.stuck:
        panel.axvspan(since_s, until_s, color=SPAN)
    for points, filled in ((curve.used, True), (curve.held, False)):
        # Who stands still at the end does so beyond the last change.
        beyond = [(until_s, points[-1][1]) for _, until_s in curve.stuck[-1:] if points and until_s > points[-1][0]]
        times, values = [at for at, _ in (*points, *beyond)], [value for _, value in (*points, *beyond)]
        if filled:
            panel.fill_between(
                times, values, step="post", facecolor=COLOURS[colour], edgecolor=ON_COLOURS[colour], hatch=hatch
            )
        else:
            panel.step(times, values, where="post", color="black")
