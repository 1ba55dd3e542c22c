"""Pictures of whole runs: nodes, queues and discrimination over time; nodes and mean slowdowns by policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any

from fawkes.report.pictures import style
from fawkes.report.pictures.course import Course, GapPoints, Points, drawn
from fawkes.report.pictures.figures import draw_nodes, draw_request, marks_of_nodes
from fawkes.report.pictures.steps import value_at

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: letters of all labels beside each other
_WIDEST = 75
#: from the low end to the high one
Interval = tuple[float, float]

#: of policies, beside their colours
_MARKERS = "os^Dvp"
#: so many names stand upright
_UPRIGHT = 13
#: names side by side that can be read
_MOST_NAMES = 40
_MEANS = (
    ("MR-cluster with the least mean", "o", style.COLOURS[0]),
    ("median of the MR-clusters", "s", style.COLOURS[1]),
    ("MR-cluster with the largest mean", "^", style.COLOURS[2]),
)
#: how far the three stand from their name, so that their intervals do not hide each other
_ASIDE = 0.12


@style.styled
def course_over_time(course: Course, title: str = "") -> Figure:
    """A row for each MR-cluster: its nodes by role, its waiting tasks and its discrimination of each tick over time.

    Dashed lines are requests, triangles on top are ticks that moved nodes.
    """
    names = list(course.nodes) or [""]
    figure = style.new_figure(max(2.4, 1.1 + 1.0 * len(names)))
    panels = figure.subplots(len(names), 3, sharex=True, sharey="col", squeeze=False)
    for (nodes, queue, discrimination), name in zip(panels, names, strict=True):
        by_role = {
            role: ([at for at, _ in points], [int(count) for _, count in points])
            for role, points in course.nodes.get(name, {}).items()
        }
        draw_nodes(nodes, by_role, course.end_s, course.moves_s)
        nodes.set_ylabel(name)
        _line(queue, drawn(course.waiting.get(name, [])))
        _line(discrimination, course.discrimination.get(name, []))
        discrimination.axhline(0, color="black", linewidth=0.6)
        for panel in (nodes, queue, discrimination):
            if name in course.asked_s:
                draw_request(panel, course.asked_s[name])
    titles = ("nodes", "waiting tasks", "discrimination (share-seconds)")
    for panel, what in zip(panels[0], titles, strict=True):
        panel.set_title(what)
    for panel in panels[-1]:
        panel.set_xlabel("time (s)")
    panels[0][0].set_xlim(0, max(course.end_s, 1.0))
    style.legend_below(figure, marks_of_nodes(requests=bool(course.asked_s), moves=bool(course.moves_s)), columns=5)
    if title:
        figure.suptitle(title)
    return figure


@dataclass(frozen=True, slots=True)
class Division:
    """The division of a pool of so many nodes by one run: each MR-cluster's nodes as points of a step function (s)."""

    title: str
    nodes: Mapping[str, Points]
    pool: int


@style.styled
def divisions(runs: Sequence[Division], title: str = "") -> Figure:
    """A panel for each run, with the nodes of its MR-clusters on top of each other over time; all axes are the same.

    A dotted line is the number of nodes of its pool.
    """
    from matplotlib.lines import Line2D

    figure = style.new_figure(1.0 + 1.3 * len(runs))
    panels = figure.subplots(len(runs), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    limit: dict[str, Any] = {"color": "black", "linestyle": ":", "linewidth": 0.9}
    for panel, run in zip(panels, runs, strict=True):
        _division(panel, run)
        panel.axhline(run.pool, **limit)
        panel.set_title(run.title, loc="left")
        panel.set_ylabel("nodes")
    panels[0].set_ylim(0, max(run.pool for run in runs) * 1.05)
    panels[0].set_xlim(0, max((at for run in runs for points in run.nodes.values() for at, _ in points), default=1.0))
    panels[-1].set_xlabel("time (s)")
    handles, _ = panels[0].get_legend_handles_labels()
    style.legend_below(figure, [*handles, Line2D([], [], label="nodes of the pool", **limit)], columns=6)
    if title:
        figure.suptitle(title)
    return figure


def _division(panel: Axes, run: Division) -> None:
    curves = {name: ([at for at, _ in points], [int(n) for _, n in points]) for name, points in run.nodes.items()}
    times = sorted({at for moments, _ in curves.values() for at in moments})
    below = [0] * len(times)
    for number, (name, curve) in enumerate(curves.items()):
        top = [base + value_at(curve, at) for base, at in zip(below, times, strict=True)]
        again, which = divmod(number, len(style.COLOURS))
        hatch, on = style.HATCHES[again % len(style.HATCHES)], style.ON_COLOURS[which]
        look: dict[str, Any] = {"facecolor": style.COLOURS[which], "hatch": hatch, "edgecolor": on, "linewidth": 0}
        panel.fill_between(times, below, top, step="post", label=name, **look)
        below = top


def _line(panel: Axes, points: GapPoints) -> None:
    """A step function; nothing is drawn where there is no value."""
    times, values = [at for at, _ in points], [nan if value is None else value for _, value in points]
    panel.plot(times, values, color=style.COLOURS[0], linewidth=0.9, drawstyle="steps-post")


@style.styled
def slowdowns(
    names: Sequence[str],
    least: Sequence[float],
    median: Sequence[float],
    most: Sequence[float],
    intervals: Sequence[Sequence[Interval | None]] = (),
) -> Figure:
    """Least, median and most of the MR-clusters' mean job slowdowns, for each name, on a logarithmic scale.

    ``intervals`` are those of the least, the median and the most, each for each name: error bars at the marks.
    """
    figure, panel = _place(names)
    places = list(range(len(names)))
    span = panel.vlines(places, least, most, color=style.SPAN, linewidth=5, label="range of the MR-clusters")
    asides = (-_ASIDE, 0.0, _ASIDE) if intervals else (0.0,) * len(_MEANS)
    handles: list[Artist] = []
    mark: list[Artist] = []
    for (label, marker, colour), values, bars, aside in zip(
        _MEANS, (least, median, most), intervals or [[]] * len(_MEANS), asides, strict=True
    ):
        at = [place + aside for place in places]
        look: dict[str, Any] = {"color": colour, "markeredgecolor": "black", "markeredgewidth": 0.4}
        handles += panel.plot(at, values, marker, label=label, **look)
        mark = _bars(panel, at, values, bars) or mark
    ends = [end for bars in intervals for within in bars if within is not None for end in within]
    style.log_ticks(panel, min([*least, *ends]), max([*most, *ends]))
    panel.set_ylabel("mean job slowdown\n(median of the replays)" if intervals else "mean job slowdown")
    style.legend_below(figure, [*handles, span, *mark], columns=3)
    return figure


@style.styled
def changes(
    names: Sequence[str],
    middle: Sequence[float],
    intervals: Sequence[Interval | None],
    verdicts: Sequence[str],
    to: str,
) -> Figure:
    """The change of the mean slowdown against the policy ``to``, in per cent, with its interval and its verdict."""
    figure, panel = _place([f"{name}\n{verdict}" for name, verdict in zip(names, verdicts, strict=True)])
    places = list(range(len(names)))
    panel.axhline(0, color="black", linewidth=0.6)
    values = [100 * value for value in middle]
    marks = panel.plot(places, values, "o", color=style.COLOURS[0], label="median of the paired replays")
    shown = [None if within is None else (100 * within[0], 100 * within[1]) for within in intervals]
    style.legend_below(figure, [*marks, *_bars(panel, places, values, shown)])
    panel.set_xlabel("policy, and the verdict on its change")
    panel.set_ylabel(f"change of the mean job slowdown\nagainst {to} (%)")
    return figure


def slowdowns_of_table(table: Sequence[Mapping[str, Any]]) -> Figure | None:
    """The picture of `slowdowns` for the rows of a comparison; None where no job has a reference time."""
    there = [row for row in table if row["slowdown_mean"] is not None]
    drawn = _shown(there, "slowdown_mean")
    if not drawn:
        return None
    which = [f"slowdown_{name}" for name in ("least", "middle", "most")]
    least, middle, most = ([row[key] for row in drawn] for key in which)
    intervals = [[_interval(row, key) for row in drawn] for key in which]
    return _counted(slowdowns([name_of(row) for row in drawn], least, middle, most, intervals), drawn, there)


def changes_of_table(table: Sequence[Mapping[str, Any]], baseline: str) -> Figure | None:
    """The picture of `changes` for the rows of a comparison; None where there is nothing to compare."""
    there = [row for row in table if row["change"] is not None]
    judged = _shown(there, "change")
    if not judged:
        return None
    figure = changes(
        [name_of(row) for row in judged],
        [row["change"] for row in judged],
        [_interval(row, "change") for row in judged],
        [row["verdict"] for row in judged],
        baseline,
    )
    return _counted(figure, judged, there)


@style.styled
def front(table: Sequence[Mapping[str, Any]]) -> Figure:
    """Mean slowdowns against moves of nodes, with the front: those that no other beats in both.

    A row has ``policy``, ``replays``, ``moves``, ``slowdown_mean``, ``front``, and the interval of the slowdown.
    Policies differ in marks and colours; only marks on the front are filled and have error bars.
    """
    from matplotlib.ticker import MaxNLocator

    figure = style.new_figure(3.4)
    panel = figure.subplots()
    handles: list[Artist] = []
    for number, policy in enumerate(dict.fromkeys(row["policy"] for row in table)):
        colour, marker = (kinds[number % len(kinds)] for kinds in (style.LINE_COLOURS, _MARKERS))
        for on_front in (False, True):
            mine = [row for row in table if row["policy"] == policy and row["front"] is on_front]
            look: dict[str, Any] = {"color": colour, "marker": marker, "fillstyle": "full" if on_front else "none"}
            label = f"{policy}, on the front" if on_front else policy
            handles += panel.plot(*_points(mine), linestyle="none", label=label, **look) if mine else []
    best = sorted((row for row in table if row["front"]), key=lambda row: row["moves"])
    line: dict[str, Any] = {
        "color": "black",
        "linestyle": "--",
        "linewidth": 0.8,
        "label": "front: no other is better in both",
    }
    handles += panel.plot(*_points(best), drawstyle="steps-post", **line) if len(best) > 1 else []
    handles += _bars(panel, *_points(best), [_interval(row, "slowdown_mean") for row in best])
    medians = any(row["replays"] > 1 for row in table)
    panel.set_xlabel("moves of nodes (median of the replays)" if medians else "moves of nodes")
    panel.set_ylabel("mean job slowdown\n(median of the replays)" if medians else "mean job slowdown")
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.legend_below(figure, handles, columns=3)
    return figure


def _points(rows: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    return [row["moves"] for row in rows], [row["slowdown_mean"] for row in rows]


def front_of_table(table: Sequence[Mapping[str, Any]]) -> Figure | None:
    """The picture of `front` for the rows of a sweep; None where no job has a reference time."""
    drawn = [row for row in table if row["slowdown_mean"] is not None]
    return front(drawn) if drawn else None


def name_of(row: Mapping[str, Any]) -> str:
    """The policy of a row with its settings, if it has any."""
    return f"{row['policy']} {row['settings']}".strip()


def _interval(row: Mapping[str, Any], key: str) -> Interval | None:
    low, high = row[f"{key}_ci_low"], row[f"{key}_ci_high"]
    return None if low is None else (low, high)


def _place(labels: Sequence[str]) -> tuple[Figure, Axes]:
    """A panel with labels side by side: each in a line, with a line for each word, or upright, whichever fits."""
    broken = [label.replace(" ", "\n") for label in labels]
    shown = list(labels) if _width(labels) < _WIDEST else broken
    upright = len(labels) >= _UPRIGHT or _width(shown) >= _WIDEST
    if upright:
        shown = [label.replace("\n", ": ") for label in labels]
    # An upright label takes 0.06 inches a letter.
    figure = style.new_figure(3.2 + (0.06 * max(map(len, shown)) if upright else 0.0))
    panel = figure.subplots()
    panel.set_xticks(range(len(labels)), shown, rotation=90 if upright else 0)
    panel.margins(x=0.1)
    return figure, panel


def _width(labels: Sequence[str]) -> int:
    return sum(max(map(len, label.splitlines()), default=0) for label in labels)


def _shown(rows: list[Mapping[str, Any]], key: str) -> list[Mapping[str, Any]]:
    """All rows, or those with the least values where there are more than can be read, each in its place."""
    best = sorted(range(len(rows)), key=lambda at: rows[at][key])[:_MOST_NAMES]
    return [rows[at] for at in sorted(best)]


def _counted(figure: Figure, drawn: Sequence[object], there: Sequence[object]) -> Figure:
    """The figure, which says so where it has not all rows."""
    if len(drawn) < len(there):
        figure.axes[0].set_xlabel(f"the {len(drawn)} of {len(there)} with the least values")
    return figure


def _bars(
    panel: Axes, places: Sequence[float], values: Sequence[float], intervals: Sequence[Interval | None]
) -> list[Artist]:
    """Draw the intervals that are there, and return their explanation for a legend."""
    from matplotlib.lines import Line2D

    every = zip(places, values, intervals, strict=True) if intervals else ()
    there = [(place, value, *within) for place, value, within in every if within is not None]
    for place, value, low, high in there:
        aside = [[max(0.0, value - low)], [max(0.0, high - value)]]
        panel.errorbar([place], [value], aside, fmt="none", ecolor="black", elinewidth=0.8, zorder=3)
    look: dict[str, Any] = {"color": "black", "linewidth": 0.8, "marker": "|", "markersize": 6}
    return [Line2D([], [], label="95 % interval of the median (bootstrap)", **look)] if there else []
