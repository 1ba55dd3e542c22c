"""Pictures of nodes over time: PNG and PDF whose bytes depend on the data alone, and one for terminals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from fawkes.base.units import SECOND_US
from fawkes.report import history
from fawkes.report.pictures.steps import ROLES, Held, held, value_at
from fawkes.store.base import Reader

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"core": "#1f4e79", "transient-core": "#2e9e8f", "transient": "#e8a33d"}
_GLYPHS = {"core": "█", "transient-core": "▓", "transient": "░"}
LABELS = {"core": "core", "transient-core": "transient-core (TC)", "transient": "transient (TR)"}
#: nothing of the machine, the time or the version of the library
_NO_METADATA = {
    "png": {"Software": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}

Mark = tuple[float, str]


@dataclass(frozen=True, slots=True)
class Moments:
    """Marks in a picture, in seconds: arrivals of MR-clusters, ticks that moved nodes, and the caller's own points."""

    arrivals: tuple[Mark, ...]
    reconfigurations: tuple[float, ...]
    points: tuple[Mark, ...]


def moments(store: Reader, points: Sequence[Mark] = ()) -> Moments:
    """Arrivals and reconfigurations of a store, and the caller's points (seconds since the first step, label)."""
    start_us = history.first_us(store)
    return Moments(
        tuple(((state.requested_us - start_us) / SECOND_US, state.id) for state in history.clusters(store)),
        tuple((t.at_us - start_us) / SECOND_US for t in history.ticks(store) if t.moved),
        tuple(points),
    )


def nodes_over_time(store: Reader, points: Sequence[Mark] = (), title: str = "") -> Figure:
    """A figure with one panel for each MR-cluster: its nodes by role over time.

    Dashed lines are arrivals, dots on top are ticks that moved nodes, ``points`` (seconds, label) are lettered lines.
    """
    from matplotlib.figure import Figure

    curves, marked = held(store), moments(store, points)
    names = curves.clusters or ("",)
    figure = Figure(figsize=(8.0, max(3.0, 1.0 + 1.5 * len(names))), layout="constrained")
    panels = figure.subplots(len(names), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for panel, name in zip(panels, names, strict=True):
        _panel(panel, name, curves, marked)
    panels[0].set_ylim(0, max(1, curves.most()) * 1.1)
    panels[0].set_xlim(0, max(curves.end_s, 1.0, *(at_s for at_s, _ in marked.points)))
    for at_s, label in marked.points:
        # Above the dots of the ticks, which begin at the edge of the panel.
        panels[0].annotate(
            label,
            (at_s, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontweight="bold",
        )
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(ROLES), frameon=False)
    panels[-1].set_xlabel("time (s)")
    if title:
        figure.suptitle(title)
    return figure


def _panel(panel: Axes, name: str, curves: Held, marked: Moments) -> None:
    from matplotlib.ticker import MaxNLocator

    times = sorted({0.0, curves.end_s, *(step.at_s for step in curves.steps if step.cluster == name)})
    below = [0] * len(times)
    for role in ROLES:
        curve = curves.curve(name, role)
        top = [base + value_at(curve, at_s) for base, at_s in zip(below, times, strict=True)]
        panel.fill_between(times, below, top, step="post", color=COLOURS[role], label=LABELS[role], linewidth=0)
        below = top
    for at_s, arrived in marked.arrivals:
        if arrived == name:
            panel.axvline(at_s, color="black", linestyle="--", linewidth=0.8)
    for at_s, _ in marked.points:
        panel.axvline(at_s, color="firebrick", linewidth=0.8)
    panel.plot(
        marked.reconfigurations,
        [1.0] * len(marked.reconfigurations),
        "v",
        color="black",
        markersize=4,
        clip_on=False,
        transform=panel.get_xaxis_transform(),
    )
    panel.set_ylabel(f"{name}\nnodes")
    panel.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    panel.spines[["top", "right"]].set_visible(False)


def rendered(figure: Figure, form: str = "png") -> bytes:
    """A figure as PNG or PDF; the same figure gives the same bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    out = BytesIO()
    figure.savefig(out, format=form, dpi=150, metadata=_NO_METADATA[form])
    return out.getvalue()


def text_picture(store: Reader, points: Sequence[Mark] = (), *, width: int = 78, height: int = 6) -> str:
    """Nodes over time for a terminal: a block of at most ``height`` lines for each MR-cluster, ``width`` characters."""
    curves, marked = held(store), moments(store, points)
    most = max(1, curves.most())
    rows = min(most, height)
    margin = len(str(most)) + 2
    columns = max(10, width - margin)
    end_s = max(curves.end_s, 1.0)
    lines = [" " * margin + _letters(marked.points, columns, end_s)] if points else []
    for name in curves.clusters:
        arrived = next(at_s for at_s, cluster in marked.arrivals if cluster == name)
        lines.append(f"{name} (requested at {arrived:.0f} s)")
        lines += _block(name, curves, columns, rows, margin)
        lines.append(f"{'0':>{margin - 1}}└" + "─" * columns)
    moved = ["▲" if mark else " " for mark in _hits(marked.reconfigurations, columns, end_s)]
    lines.append(" " * margin + "".join(moved).rstrip())
    lines.append(" " * margin + _axis(columns, end_s))
    lines.append(
        " " * margin + "  ".join(f"{_GLYPHS[role]} {LABELS[role]}" for role in ROLES) + "  ▲ tick that moved nodes"
    )
    return "\n".join(lines)


def _block(name: str, curves: Held, columns: int, rows: int, margin: int) -> list[str]:
    """The lines of one MR-cluster, the topmost first; a line stands for most/rows nodes."""
    most, end_s = max(1, curves.most()), max(curves.end_s, 1.0)
    by_role = [(_GLYPHS[role], curves.curve(name, role)) for role in ROLES]
    stacks = []
    for column in range(columns):
        at_s = (column + 0.5) * end_s / columns
        stacks.append("".join(glyph * value_at(curve, at_s) for glyph, curve in by_role))
    lines = []
    for row in reversed(range(rows)):
        level = int((row + 0.5) * most / rows)
        label = str(most) if row == rows - 1 else ""
        cells = "".join(stack[level] if level < len(stack) else " " for stack in stacks)
        lines.append(f"{label:>{margin - 1}}│{cells}".rstrip())
    return lines


def _hits(times: Sequence[float], columns: int, end_s: float) -> list[bool]:
    hits = [False] * columns
    for at_s in times:
        hits[_column(at_s, columns, end_s)] = True
    return hits


def _letters(points: Sequence[Mark], columns: int, end_s: float) -> str:
    cells = [" "] * columns
    for at_s, label in points:
        start = min(_column(at_s, columns, end_s), columns - len(label))
        cells[start : start + len(label)] = label
    return "".join(cells).rstrip()


def _column(at_s: float, columns: int, end_s: float) -> int:
    return min(columns - 1, max(0, int(at_s / end_s * columns)))


def _axis(columns: int, end_s: float) -> str:
    left, middle, right = "0 s", f"{end_s / 2:.0f} s", f"{end_s:.0f} s"
    half = columns // 2
    return f"{left:<{half}}{middle:<{columns - half - len(right)}}{right}"
