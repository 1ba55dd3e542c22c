"""The picture of a log: evictions and preemptions over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fawkes.offline.studies.shared.pictures import draw_line, figure_of
from fawkes.report.pictures.style import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def evictions_over_time(hours: Sequence[Mapping[str, Any]]) -> Figure:
    """A line for the evictions of each hour, and one for the preemptions."""
    figure, (panel,) = figure_of()
    for at, name in enumerate(("evictions", "preemptions")):
        draw_line(panel, at, [row["hour"] for row in hours], [row[name] for row in hours], name)
    panel.set_xlabel("hour of the log")
    panel.set_ylabel("in an hour")
    figure.legend(loc="outside lower center", ncols=2)
    return figure
