"""A picture of a workload: when its jobs come, how far apart, how large they are, how long their tasks take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from fawkes.base.errors import UserError
from fawkes.report.pictures import style
from fawkes.workload.looking.statistics import frame_of
from fawkes.workload.model import Trace

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FIRST, _SECOND, _THIRD = zip(style.LINE_COLOURS[:3], style.DASHES[:3], strict=True)
"""Colour and dashes of lines."""
_MOST_BARS = 150
_NUMBERS = tuple((10.0**power, f"{10**power:,}") for power in range(7))
_BYTES = tuple((1000.0**at, f"1 {unit}") for at, unit in enumerate(("B", "KB", "MB", "GB", "TB", "PB")))
_SECONDS = (
    (0.001, "1 ms"), (0.01, "10 ms"), (0.1, "0.1 s"), (1.0, "1 s"), (10.0, "10 s"), (60.0, "1 min"), (600.0, "10 min"),
    (3600.0, "1 h"), (36_000.0, "10 h"), (345_600.0, "4 d"), (3_456_000.0, "40 d"),
)  # fmt: skip
_WIDTHS = tuple(
    (count * unit, f"{count:g} {name}")
    for unit, name, counts in (
        (1.0, "s", (0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)),
        (60.0, "min", (1, 2, 5, 10, 30)),
        (3600.0, "h", (1, 2, 6, 12)),
        (86400.0, "d", (1, 7, 30, 365)),
    )
    for count in counts
)
"""How much time a bar may stand for, and in words."""
_PANELS = (
    ("bytes of a job", _BYTES, ("input_bytes", "shuffle_bytes", "output_bytes")),
    ("tasks of a job", _NUMBERS, ("maps", "reduces")),
    ("processors of a job", _NUMBERS, ("processors",)),
    ("how long it takes", _SECONDS, ("map_s", "reduce_s", "run_s")),
)
_LINES = {
    "input_bytes": ("input", _FIRST), "shuffle_bytes": ("shuffle", _SECOND), "output_bytes": ("output", _THIRD),
    "maps": ("maps", _FIRST), "reduces": ("reduces", _SECOND),
    "map_s": ("a map", _FIRST), "reduce_s": ("a reduce", _SECOND), "run_s": ("a job", _THIRD),
}  # fmt: skip

Ticks = Sequence[tuple[float, str]]


@style.styled
def workload_picture(trace: Trace) -> Figure:
    """Arrivals over time, and the cumulative shares of jobs by the gap before them, by bytes, tasks and times.

    Quantities that no job has are left out. Sizes are on logarithmic scales that begin with 0. UserError for a
    workload without jobs.
    """
    if not trace.jobs:
        raise UserError("a workload without jobs cannot be drawn", where=trace.source)
    frame = frame_of(trace)
    shown = [(title, ticks, known) for title, ticks, names in _PANELS if (known := _known(frame, names))]
    columns = 1 + len(shown) if len(shown) < 3 else 1 + len(shown) // 2
    rows = -(-(1 + len(shown)) // columns)
    figure = style.new_figure(2.2 * (1 + rows))
    grid = figure.add_gridspec(1 + rows, columns)
    _arrivals(figure.add_subplot(grid[0, :]), frame)
    gaps = figure.add_subplot(grid[1, 0])
    _shares(gaps, {"gap": frame["submit_s"].diff().dropna().to_numpy()}, _SECONDS)
    gaps.set_title("gap between jobs")
    gaps.set_ylabel("share of jobs")
    for at, (title, ticks, values) in enumerate(shown, 1):
        row, column = divmod(at, columns)
        panel = figure.add_subplot(grid[1 + row, column], sharey=gaps)
        panel.tick_params(labelleft=column == 0)
        _shares(panel, values, ticks)
        panel.set_title(title)
        panel.set_ylabel("" if column else "share of jobs")
    count = f"{len(frame):,} {'job' if len(frame) == 1 else 'jobs'}"
    figure.suptitle(f"{PurePath(trace.source).name}: {count}" if trace.source else count)
    return figure


def _known(frame: pd.DataFrame, names: Sequence[str]) -> dict[str, np.ndarray]:
    """The values of each quantity that is known; not where only those are known that are 0 (SWIM's reduces)."""
    known = {name: frame[name].dropna().to_numpy() for name in names}
    return {name: values for name, values in known.items() if len(values) == len(frame) or values.any()}


def _arrivals(panel: Axes, frame: pd.DataFrame) -> None:
    """Jobs of each moment as bars, and how many there are so far as a line."""
    import numpy as np
    from matplotlib.ticker import MaxNLocator

    at = frame["submit_s"].to_numpy()
    span = float(at[-1] - at[0])
    width, words = next((bin_width for bin_width in _WIDTHS if span <= bin_width[0] * _MOST_BARS), _WIDTHS[-1])
    unit, name = _unit(span)
    edges = np.arange(at[0] // width, at[-1] // width + 2) * width
    counts, _ = np.histogram(at, edges)
    bars = panel.bar(edges[:-1] / unit, counts, width / unit, align="edge", color=_FIRST[0], label=f"jobs in {words}")
    panel.set_xlabel(f"time ({name})")
    panel.set_ylabel(f"jobs in {words}")
    panel.set_xlim(edges[0] / unit, edges[-1] / unit)
    so_far = panel.twinx()
    times, total = np.append(at, edges[-1]) / unit, np.append(np.arange(1, len(at) + 1), len(at))
    (line,) = so_far.step(times, total, where="post", color=_THIRD[0], label="jobs so far (right)")
    so_far.set_ylabel("jobs so far")
    so_far.spines["right"].set_visible(True)
    so_far.legend(handles=[bars, line], loc="upper left", ncols=2, bbox_to_anchor=(0.0, 1.2), borderaxespad=0.0)
    for axes in (panel, so_far):
        axes.set_ylim(0, None)
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))


def _unit(span_s: float) -> tuple[int, str]:
    for unit, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if span_s >= 3 * unit:
            return unit, name
    return 1, "seconds"


def _shares(panel: Axes, lines: Mapping[str, np.ndarray], ticks: Ticks) -> None:
    """The share of jobs with that much or less, for each quantity."""
    import numpy as np
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    positive = np.concatenate([values[values > 0] for values in lines.values()])
    least, most = (positive.min(), positive.max()) if len(positive) else (1.0, 1.0)
    # The part from 0 to the least value is linear, so that a job without shuffle has a place; a little room before it.
    begins = 10.0 ** np.floor(np.log10(least))
    panel.set_xscale("symlog", linthresh=begins)
    left, right = -begins / 4, max(most * 3, begins * 300)
    panel.set_xlim(left, right)
    for name, values in lines.items():
        label, (colour, dashes) = _LINES.get(name, ("", _FIRST))
        ordered = np.sort(values)
        at = np.concatenate([[left], ordered, [right]])
        share = np.concatenate([[0.0], np.arange(1, len(ordered) + 1) / max(1, len(ordered)), [1.0]])
        panel.step(at, share, where="post", color=colour, linestyle=dashes, label=label)
    there = [(value, text) for value, text in ticks if begins <= value <= right]
    there = there[:: -(-len(there) // 5)] if there else []
    panel.xaxis.set_major_locator(FixedLocator([0.0, *(value for value, _ in there)]))
    panel.xaxis.set_major_formatter(FixedFormatter(["0", *(text for _, text in there)]))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_ylim(0, 1.02)
    if set(lines) & set(_LINES):
        below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "borderaxespad": 0.0}
        panel.legend(**below, ncols=3, fontsize=7.0, handlelength=1.6, columnspacing=0.9)
