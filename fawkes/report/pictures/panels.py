"""Pictures of whole runs: nodes, queues and discrimination over time; nodes and mean slowdowns by policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fawkes.report.pictures.course import Course, Points
from fawkes.report.pictures.figures import COLOURS, LABELS
from fawkes.report.pictures.steps import ROLES, value_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: letters of all labels beside each other
_WIDEST = 75
#: from the low end to the high one
Interval = tuple[float, float]

_QUEUE, _DISCRIMINATION = "#9c3d54", "#5b5b5b"
#: of MR-clusters that are drawn on top of each other, in the order of their arrival; then from the first one again
_OF_CLUSTERS = ("#1f4e79", "#2e9e8f", "#e8a33d", "#9c3d54", "#8fb8de", "#5b5b5b")
_MEANS = (("least", "o", "#1f4e79"), ("median", "s", "#2e9e8f"), ("most", "^", "#e8a33d"))


def course_over_time(course: Course, title: str = "") -> Figure:
    """A row for each MR-cluster: its nodes by role, its waiting tasks and its discrimination of each tick over time.

    Dashed lines are requests, dots on top are ticks that moved nodes.
    """
    from matplotlib.figure import Figure

    names = list(course.nodes) or [""]
    figure = Figure(figsize=(11.0, max(3.0, 1.0 + 1.5 * len(names))), layout="constrained")
    panels = figure.subplots(len(names), 3, sharex=True, sharey="col", squeeze=False)
    for (nodes, queue, discrimination), name in zip(panels, names, strict=True):
        _nodes(nodes, course, name)
        nodes.set_ylabel(name)
        _line(queue, course.waiting.get(name, []), _QUEUE)
        _line(discrimination, course.discrimination.get(name, []), _DISCRIMINATION)
        discrimination.axhline(0, color="black", linewidth=0.6)
        for panel in (nodes, queue, discrimination):
            panel.spines[["top", "right"]].set_visible(False)
            if name in course.asked_s:
                panel.axvline(course.asked_s[name], color="black", linestyle="--", linewidth=0.8)
    titles = ("nodes", "waiting tasks", "discrimination (share-seconds)")
    for panel, what in zip(panels[0], titles, strict=True):
        panel.set_title(what, fontsize="medium")
    for panel in panels[-1]:
        panel.set_xlabel("time (s)")
    panels[0][0].set_xlim(0, max(course.end_s, 1.0))
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(ROLES), frameon=False)
    if title:
        figure.suptitle(title)
    return figure


@dataclass(frozen=True, slots=True)
class Division:
    """How one run divided the pool: a title, and for each MR-cluster its nodes as points of a step function (s)."""

    title: str
    nodes: Mapping[str, Points]


def divisions(runs: Sequence[Division], pool: int, title: str = "") -> Figure:
    """A panel for each run, with the nodes of its MR-clusters on top of each other over time; all axes are the same.

    ``pool`` is the number of nodes: a dotted line.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 1.2 + 1.8 * len(runs)), layout="constrained")
    panels = figure.subplots(len(runs), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for panel, run in zip(panels, runs, strict=True):
        _division(panel, run)
        panel.axhline(pool, color="black", linestyle=":", linewidth=0.9)
        panel.set_title(run.title, fontsize="medium", loc="left")
        panel.set_ylabel("nodes")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylim(0, pool * 1.05)
    panels[0].set_xlim(0, max((at for run in runs for points in run.nodes.values() for at, _ in points), default=1.0))
    panels[-1].set_xlabel("time (s)")
    handles, labels = panels[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(6, len(labels)), frameon=False)
    if title:
        figure.suptitle(title)
    return figure


def _division(panel: Axes, run: Division) -> None:
    curves = {name: ([at for at, _ in points], [int(n) for _, n in points]) for name, points in run.nodes.items()}
    times = sorted({at for moments, _ in curves.values() for at in moments})
    below = [0] * len(times)
    for number, (name, curve) in enumerate(curves.items()):
        top = [base + value_at(curve, at) for base, at in zip(below, times, strict=True)]
        colour = _OF_CLUSTERS[number % len(_OF_CLUSTERS)]
        panel.fill_between(times, below, top, step="post", color=colour, label=name, linewidth=0)
        below = top


def _nodes(panel: Axes, course: Course, name: str) -> None:
    curves = {
        role: ([at for at, _ in points], [int(nodes) for _, nodes in points])
        for role, points in course.nodes.get(name, {}).items()
    }
    times = sorted({0.0, course.end_s, *(at for moments, _ in curves.values() for at in moments)})
    below = [0] * len(times)
    for role in ROLES:
        curve = curves.get(role, ([0.0], [0]))
        top = [base + value_at(curve, at) for base, at in zip(below, times, strict=True)]
        panel.fill_between(times, below, top, step="post", color=COLOURS[role], label=LABELS[role], linewidth=0)
        below = top
    dots = [1.0] * len(course.moves_s)
    panel.plot(course.moves_s, dots, "v", color="black", markersize=3, clip_on=False,
               transform=panel.get_xaxis_transform())  # fmt: skip


def _line(panel: Axes, points: Points, colour: str) -> None:
    times, values = [at for at, _ in points], [value for _, value in points]
    panel.plot(times, values, color=colour, linewidth=0.9, drawstyle="steps-post")


def slowdowns(
    names: Sequence[str],
    least: Sequence[float],
    median: Sequence[float],
    most: Sequence[float],
    intervals: Sequence[Sequence[Interval | None]] = (),
) -> Figure:
    """Least, median and most of the MR-clusters' mean job slowdowns, for each name, on a logarithmic scale.

    ``intervals`` are those of the least, the median and the most, each for each name: bars behind the marks.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(7.0, 0.6 * len(names)), 3.6), layout="constrained")
    panel = figure.subplots()
    places = list(range(len(names)))
    panel.vlines(places, least, most, color="grey")
    for (label, marker, colour), values, bars in zip(
        _MEANS, (least, median, most), intervals or [[]] * len(_MEANS), strict=True
    ):
        panel.plot(places, values, marker, color=colour, label=label)
        _bars(panel, places, bars, colour)
    panel.set_yscale("log")
    _named(panel, names)
    what = "mean job slowdown of the MR-clusters"
    panel.set_ylabel("mean job slowdown of the\nMR-clusters, 95 % intervals" if intervals else what)
    panel.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def changes(
    names: Sequence[str],
    middle: Sequence[float],
    intervals: Sequence[Interval | None],
    verdicts: Sequence[str],
    to: str,
) -> Figure:
    """The change of the mean slowdown against the policy ``to``, in per cent, with its interval and its verdict."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(7.0, 0.6 * len(names)), 3.6), layout="constrained")
    panel = figure.subplots()
    places = list(range(len(names)))
    panel.axhline(0, color="black", linewidth=0.8)
    panel.plot(places, [100 * value for value in middle], "o", color=_OF_CLUSTERS[0])
    shown = [None if interval is None else (100 * interval[0], 100 * interval[1]) for interval in intervals]
    _bars(panel, places, shown, _OF_CLUSTERS[0])
    labels = [f"{name}\n{verdict}" for name, verdict in zip(names, verdicts, strict=True)]
    _named(panel, labels)
    panel.set_ylabel(f"change against {to} (%), 95 % interval")
    panel.spines[["top", "right"]].set_visible(False)
    panel.margins(x=0.1)
    return figure


def slowdowns_of_table(table: Sequence[Mapping[str, Any]]) -> Figure | None:
    """The picture of `slowdowns` for the rows of a comparison; None where no job has a reference time."""
    drawn = [row for row in table if row["slowdown_mean"] is not None]
    if not drawn:
        return None
    which = [f"slowdown_{name}" for name in ("least", "middle", "most")]
    least, middle, most = ([row[key] for row in drawn] for key in which)
    intervals = [[_interval(row, key) for row in drawn] for key in which]
    return slowdowns([name_of(row) for row in drawn], least, middle, most, intervals)


def changes_of_table(table: Sequence[Mapping[str, Any]], baseline: str) -> Figure | None:
    """The picture of `changes` for the rows of a comparison; None where there is nothing to compare."""
    judged = [row for row in table if row["change"] is not None]
    if not judged:
        return None
    return changes(
        [name_of(row) for row in judged],
        [row["change"] for row in judged],
        [_interval(row, "change") for row in judged],
        [row["verdict"] for row in judged],
        baseline,
    )


def name_of(row: Mapping[str, Any]) -> str:
    """The policy of a row with its settings, if it has any."""
    return f"{row['policy']} {row['settings']}".strip()


def _interval(row: Mapping[str, Any], key: str) -> Interval | None:
    low, high = row[f"{key}_ci_low"], row[f"{key}_ci_high"]
    return None if low is None else (low, high)


def _named(panel: Axes, labels: Sequence[str]) -> None:
    """Labels side by side, with a line for each word where they would not fit; upright if that is not enough."""
    broken = [label.replace(" ", "\n") for label in labels]
    shown = list(labels) if _width(labels) < _WIDEST else broken
    panel.set_xticks(range(len(labels)), shown, rotation=0 if len(labels) < 13 and _width(shown) < _WIDEST else 90)


def _width(labels: Sequence[str]) -> int:
    return sum(max(map(len, label.splitlines()), default=0) for label in labels)


def _bars(panel: Axes, places: Sequence[float], intervals: Sequence[Interval | None], colour: str) -> None:
    there = [
        (place, *interval)
        for place, interval in zip(places, intervals or [None] * len(places), strict=True)
        if interval is not None
    ]
    if there:
        at, low, high = zip(*there, strict=True)
        panel.vlines(at, low, high, color=colour, linewidth=7, alpha=0.35)
