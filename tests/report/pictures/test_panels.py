"""Pictures of whole runs: what is drawn is what was read, and the points beside it are those of the lines."""

from __future__ import annotations

import json
from math import isnan

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from fawkes.core.values.decision import Decision
from fawkes.core.values.events import Sampled
from fawkes.core.values.model import ClusterId, Reading
from fawkes.report.pictures.course import Course, GapPoints, course_of
from fawkes.report.pictures.frames import samples, ticks
from fawkes.report.pictures.panels import (
    Division,
    changes,
    changes_of_table,
    course_over_time,
    divisions,
    slowdowns,
    slowdowns_of_table,
)
from fawkes.report.pictures.steps import ROLES, held, totals, value_at
from fawkes.report.pictures.style import rendered
from fawkes.store.base import Reader
from fawkes.store.memory import MemoryStore


def test_the_course_is_that_of_the_frames(played: Reader) -> None:
    course, by_tick, read = course_of(played), ticks(played), samples(played)
    assert list(course.nodes) == ["c-1", "c-2", "c-3"]
    for name in course.nodes:
        mine = by_tick[by_tick.cluster == name]
        values = [None if isnan(value) else value for value in mine.discrimination]
        assert course.discrimination[name] == list(zip(mine.at_s, values, strict=True))
        known = read[(read.cluster == name) & read.tasks_waiting.notna()]
        waiting = dict(course.waiting[name])
        # A sample counts the jobs as well that Fawkes itself still holds.
        pairs = [(waiting[at_s], most) for at_s, most in zip(known.at_s, known.tasks_waiting, strict=True)]
        assert all(said <= most for said, most in pairs)
        assert any(said for said, _ in pairs)


@pytest.mark.slow
def test_a_course_is_the_same_from_json(played: Reader) -> None:
    course = course_of(played)
    again = Course(**json.loads(json.dumps(course.plain())))
    assert again.frame().equals(course.frame())
    assert rendered(course_over_time(again, "x"), "pdf") == rendered(course_over_time(course, "x"), "pdf")


def test_what_is_drawn(played: Reader) -> None:
    course = course_of(played)
    figure = course_over_time(course)
    rows = np.asarray(figure.axes).reshape(3, 3)
    assert [panel.get_ylabel() for panel in rows[:, 0]] == ["c-1", "c-2", "c-3"]
    assert rows[0, 0].get_title() == "nodes"
    for panel, name in zip(rows[:, 2], course.nodes, strict=True):
        drawn = panel.lines[0].get_xydata()
        points = np.array(course.discrimination[name], dtype=float)
        assert np.array_equal(drawn, points, equal_nan=True)


def test_a_long_queue_is_drawn_with_its_peaks_and_kept_whole() -> None:
    queue = [(float(at), 0.0 if at == 7003 else 99.0 if at == 5001 else 5.0) for at in range(10_000)]
    course = Course({"web": {}}, {"web": queue}, {}, {}, [], 10_000.0)
    line = course_over_time(course).axes[1].lines[0]
    seen = [*zip(*(np.asarray(part).tolist() for part in line.get_data()), strict=True)]
    assert {(5001.0, 99.0), (7003.0, 0.0)} <= set(seen)
    assert seen == sorted(seen)
    assert len(seen) <= 800
    assert len(course.frame()) == 10_000


def test_a_store_of_many_samples_has_them_all_in_its_course() -> None:
    store = MemoryStore()
    for at in range(1000):
        readings = (Reading(cluster=ClusterId("c-1"), tasks_waiting=at),)
        store.append(Sampled(at_us=at, readings=readings), Decision())
    assert [value for _, value in course_of(store).waiting["c-1"]] == list(range(1000))


def test_a_tick_without_weights_is_a_gap_and_no_line() -> None:
    """At 120 and 180 s nothing was weighed: that -51 share-seconds lasted until 240 s is not known."""
    points: GapPoints = [(60.0, -51.0), (120.0, None), (180.0, None), (240.0, 3.0)]
    course = Course({"web": {}}, {}, {"web": points}, {}, [], 300.0)
    panel = course_over_time(course).axes[2]
    drawn = np.asarray(panel.lines[0].get_ydata(), dtype=float)
    assert np.array_equal(drawn, [-51.0, np.nan, np.nan, 3.0], equal_nan=True)
    assert course.frame().to_csv(index=False).splitlines()[1:] == [
        "60.0,web,discrimination,-51.0",
        "120.0,web,discrimination,",
        "180.0,web,discrimination,",
        "240.0,web,discrimination,3.0",
    ]


def test_slowdowns_are_at_the_policies() -> None:
    figure = slowdowns(["TD", "None"], [1.0, 2.0], [3.0, 4.0], [5.0, 60.0])
    (panel,) = figure.axes
    assert [label.get_text() for label in panel.get_xticklabels()] == ["TD", "None"]
    drawn = {str(line.get_label()): np.asarray(line.get_ydata()).tolist() for line in panel.lines}
    assert drawn == {
        "MR-cluster with the least mean": [1.0, 2.0],
        "median of the MR-clusters": [3.0, 4.0],
        "MR-cluster with the largest mean": [5.0, 60.0],
    }
    assert panel.get_ylim()[1] > 60


@pytest.mark.slow
def test_intervals_stand_at_the_marks_that_they_belong_to() -> None:
    intervals: list[list[tuple[float, float] | None]] = [
        [(0.9, 1.1), None],
        [(2.0, 3.5), (3.0, 4.5)],
        [(4.0, 6.0), (50.0, 70.0)],
    ]
    figure = slowdowns(["TD", "None"], [1.0, 2.0], [3.0, 4.0], [5.0, 60.0], intervals)
    span, errors = [(0.0, 1.0, 5.0), (1.0, 2.0, 60.0)], [
        (-0.12, 0.9, 1.1), (0.0, 2.0, 3.5), (1.0, 3.0, 4.5), (0.12, 4.0, 6.0), (1.12, 50.0, 70.0)]  # fmt: skip
    assert bars(figure.axes[0]) == [pytest.approx(bar) for bar in (*span, *errors)]
    assert words(figure)[-1] == "95 % interval of the median (bootstrap)"


def test_a_picture_of_too_many_policies_shows_the_best_and_says_so() -> None:
    row = {"policy": "TD", "verdict": "better", "change_ci_low": None, "change_ci_high": None}
    row |= {f"slowdown_{name}_ci_{end}": None for name in ("least", "middle", "most") for end in ("low", "high")}
    table = [
        {**row, "settings": f"tau={at}", "change": -at / 100, "slowdown_mean": 3.0 - at / 100}
        | {f"slowdown_{name}": 3.0 for name in ("least", "middle", "most")}
        for at in range(50)
    ]
    for figure in (slowdowns_of_table(table), changes_of_table(table, "None")):
        assert figure is not None
        (panel,) = figure.axes
        names = [label.get_text().split(":")[0] for label in panel.get_xticklabels()]
        assert names == [f"TD tau={at}" for at in range(10, 50)]
        assert panel.get_xlabel() == "the 40 of 50 with the least values"


def test_changes_are_in_per_cent_with_interval_and_verdict() -> None:
    (panel,) = changes(["TD", "EQ"], [-0.1, 0.02], [(-0.2, -0.05), None], ["better", "cannot tell"], "None").axes
    assert [label.get_text() for label in panel.get_xticklabels()] == ["TD\nbetter", "EQ\ncannot tell"]
    ((place, low, high),) = bars(panel)
    assert (place, low, high) == pytest.approx((0.0, -20.0, -5.0))
    assert "None" in panel.get_ylabel()


def bars(panel: Axes) -> list[tuple[float, float, float]]:
    """Upright lines: where, from, to."""
    drawn = [bars_drawn for bars_drawn in panel.collections if isinstance(bars_drawn, LineCollection)]
    return [(float(low[0]), float(low[1]), float(high[1])) for bar in drawn for low, high in bar.get_segments()]


def words(figure: Figure) -> list[str]:
    """The texts of the legend."""
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_totals_are_the_sums_of_the_roles(played: Reader) -> None:
    curves = held(played)
    sums = totals(curves)
    assert list(sums) == list(curves.clusters)
    for name, points in sums.items():
        assert (points[0][0], points[-1][0]) == (0.0, curves.end_s)
        assert [at_s for at_s, _ in points] == sorted(at_s for at_s, _ in points)
        for at_s, nodes in points:
            assert nodes == sum(value_at(curves.curve(name, role), at_s) for role in ROLES)


def test_a_panel_for_each_run_with_the_same_axes() -> None:
    runs = [
        Division("TD", {"a": [(0.0, 2), (5.0, 2)], "b": [(0.0, 0), (2.0, 3), (9.0, 0)]}, 5),
        Division("None", {"a": [(0.0, 1), (4.0, 0)], "b": [(0.0, 1), (4.0, 0)]}, 4),
    ]
    figure = divisions(runs)
    assert [panel.get_title(loc="left") for panel in figure.axes] == ["TD", "None"]
    assert {panel.get_xlim() for panel in figure.axes} == {(0.0, 9.0)}
    assert {panel.get_ylim() for panel in figure.axes} == {(0.0, 5.25)}
    assert words(figure) == ["a", "b", "nodes of the pool"]
    assert [np.asarray(panel.lines[-1].get_ydata())[0] for panel in figure.axes] == [5, 4]
    # b is drawn on top of a.
    edges = figure.axes[0].collections[1].get_paths()[0].vertices
    assert np.asarray(edges)[:, 1].max() == 5
