"""Pictures of nodes over time: a figure whose bytes depend on the data alone, and one for terminals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fawkes.base.units import SECOND_US
from fawkes.report import history
from fawkes.report.pictures import style
from fawkes.report.pictures.steps import ROLES, HeldSteps, held, value_at
from fawkes.store.base import Reader

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = dict(zip(ROLES, style.COLOURS, strict=False))
_GLYPHS = {"core": "█", "transient-core": "▓", "transient": "░"}
LABELS = {"core": "core", "transient-core": "transient-core (TC)", "transient": "transient (TR)"}
#: looks of marks, the same in a panel and in its legend
_REQUEST: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 0.8}
_MOVED: dict[str, Any] = {"color": "black", "marker": "v", "markersize": 3.5, "linestyle": "none"}
_POINT = style.COLOURS[3]

Mark = tuple[float, str]
Curve = tuple[list[float], list[int]]
"""A step function: moments in seconds, and the nodes from each of them on."""


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


@style.styled
def nodes_over_time(store: Reader, points: Sequence[Mark] = (), title: str = "") -> Figure:
    """A figure with one panel for each MR-cluster: its nodes by role over time.

    Dashed lines are requests, triangles on top are ticks that moved nodes, ``points`` (seconds, label) are lettered
    lines; the legend explains those that are there.
    """
    curves, marked = held(store), moments(store, points)
    names = curves.clusters or ("",)
    figure = style.new_figure(max(2.4, 0.9 + 1.1 * len(names)))
    panels = figure.subplots(len(names), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for panel, name in zip(panels, names, strict=True):
        by_role = {role: curves.curve(name, role) for role in ROLES}
        draw_nodes(panel, by_role, curves.end_s, marked.reconfigurations)
        for at_s in (at_s for at_s, arrived in marked.arrivals if arrived == name):
            draw_request(panel, at_s)
        for at_s, _ in marked.points:
            panel.axvline(at_s, color=_POINT, linewidth=0.8, zorder=1.5)
        panel.set_ylabel(f"{name}\nnodes")
    panels[0].set_ylim(0, max(1, curves.most()) * 1.1)
    panels[0].set_xlim(0, max(curves.end_s, 1.0, *(at_s for at_s, _ in marked.points)))
    for at_s, label in marked.points:
        # Above the triangles of the ticks, which begin at the edge of the panel.
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
    panels[-1].set_xlabel("time (s)")
    lettered = [_line(f"marked moment ({', '.join(label for _, label in marked.points)})", color=_POINT)]
    explained = marks_of_nodes(requests=bool(marked.arrivals), moves=bool(marked.reconfigurations))
    style.legend_below(figure, explained + (lettered if points else []), columns=3)
    if title:
        figure.suptitle(title)
    return figure


def draw_nodes(panel: Axes, by_role: Mapping[str, Curve], end_s: float, moves_s: Sequence[float]) -> None:
    """Draw the nodes of one MR-cluster: step functions of each role on top of each other, and ticks that moved nodes.

    A role without a curve has no nodes. ``end_s`` is where the curves end, ``moves_s`` are the ticks, in seconds.
    """
    from matplotlib.ticker import MaxNLocator

    times = sorted({0.0, end_s, *(at_s for moments, _ in by_role.values() for at_s in moments)})
    below = [0] * len(times)
    for role in ROLES:
        curve = by_role.get(role, ([0.0], [0]))
        top = [base + value_at(curve, at_s) for base, at_s in zip(below, times, strict=True)]
        panel.fill_between(times, below, top, step="post", color=COLOURS[role], linewidth=0)
        below = top
    on_top = panel.get_xaxis_transform()
    if moves_s:
        panel.plot(moves_s, [1.0] * len(moves_s), clip_on=False, transform=on_top, **_MOVED)
    panel.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))


def draw_request(panel: Axes, at_s: float) -> None:
    """Draw the request of an MR-cluster."""
    panel.axvline(at_s, **_REQUEST)


def marks_of_nodes(*, requests: bool, moves: bool) -> list[Artist]:
    """The explanations of `draw_nodes` and `draw_request` for a legend: the roles, and those marks that are there."""
    from matplotlib.patches import Patch

    roles = [Patch(color=COLOURS[role], label=LABELS[role]) for role in ROLES]
    request = [_line("request of the MR-cluster", **_REQUEST)] if requests else []
    return [*roles, *request, *([_line("tick that moved nodes", **_MOVED)] if moves else [])]


def _line(label: str, **look: Any) -> Artist:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **look)


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


def _block(name: str, curves: HeldSteps, columns: int, rows: int, margin: int) -> list[str]:
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
