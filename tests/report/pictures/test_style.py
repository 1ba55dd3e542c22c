"""The style of all figures: what a journal's production editor would send back."""

from __future__ import annotations

import re
from io import BytesIO
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text

import fawkes.report.pictures as drawing
from fawkes.report.pictures import style
from fawkes.report.pictures.course import course_of
from fawkes.report.pictures.figures import nodes_over_time
from fawkes.report.pictures.panels import Division, changes, course_over_time, divisions, front, slowdowns
from fawkes.store.base import Reader
from fawkes.workload.looking.pictures import workload_picture
from fawkes.workload.model import Trace, TraceJob
from tests.report.played import POINTS


def lightness(colour: str) -> float:
    """CIE L* from 0 (black) to 100 (white)."""
    parts = np.asarray(to_rgb(colour))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    light = float(linear @ (0.2126, 0.7152, 0.0722))
    return 116 * light ** (1 / 3) - 16 if light > 0.008856 else 903.3 * light


def test_areas_differ_in_grey_and_lines_can_be_seen_on_white() -> None:
    shades = [lightness(colour) for colour in style.COLOURS]
    assert min(abs(one - other) for one, other in combinations([*shades, 100.0], 2)) >= 11
    assert max(map(lightness, style.LINE_COLOURS)) < 75
    assert len(set(style.DASHES)) == len(style.LINE_COLOURS)
    on = [
        abs(lightness(colour) - lightness(over)) for colour, over in zip(style.COLOURS, style.ON_COLOURS, strict=True)
    ]
    assert min(on) > 45


def test_no_figure_has_a_colour_or_a_size_of_its_own() -> None:
    """Looks are in one place: a colour in another file would not be seen by the test above."""
    for file in Path(drawing.__path__[0]).glob("*.py"):
        if file.name != "style.py":
            assert not re.findall(r"#[0-9a-fA-F]{6}\b|figsize=|dpi=", file.read_text(encoding="utf-8")), file


FRONT: list[dict[str, Any]] = [
    {"policy": policy, "replays": 2, "moves": moves, "slowdown_mean": slowdown, "front": on_front,
     "slowdown_mean_ci_low": slowdown - 0.1, "slowdown_mean_ci_high": slowdown + 0.1}
    for policy, moves, slowdown, on_front in (("TD", 9, 2.0, True), ("TD", 9, 3.0, False), ("EQ", 3, 4.0, True))
]  # fmt: skip


def figures(store: Reader) -> dict[str, Figure]:
    """Each figure in small."""
    jobs = tuple(TraceJob(id=f"j{at}", submit_us=at * 10**7, maps=1 + at, map_us=10**6, reduces=1) for at in range(5))
    nodes = {f"c-{at}": [(0.0, 1.0), (9.0, 1.0)] for at in range(1, 9)}
    return {
        "nodes": nodes_over_time(store, POINTS, "a title"),
        "course": course_over_time(course_of(store), "a title"),
        "divisions": divisions([Division("TD", nodes, 10)], "a title"),
        "slowdowns": slowdowns(["TD"], [1.0], [1.5], [2.0], [[(0.9, 1.2)], [(1.4, 1.6)], [(1.9, 2.2)]]),
        "changes": changes(["TD"], [-0.1], [(-0.2, -0.05)], ["better"], "None"),
        "front": front(FRONT),
        "workload": workload_picture(Trace(source="x.csv", jobs=jobs)),
    }


@pytest.fixture(scope="module")
def drawn(played: Reader) -> dict[str, Figure]:
    """The figures, to be looked at."""
    return figures(played)


@pytest.mark.slow
def test_text_is_readable_and_in_words(drawn: dict[str, Figure]) -> None:
    for name, figure in drawn.items():
        style.rendered(figure)
        assert figure.get_figwidth() == style.PAGE_IN, name
        texts = [text for text in figure.findobj(Text) if text.get_text()]
        assert min(float(text.get_fontsize()) for text in texts) >= 7, name
        said = [text.get_text() for text in texts]
        assert not [text for text in said if "_" in text or "$" in text], name
        for panel in figure.axes:
            assert panel.get_ylabel() or panel not in figure.axes[:1], name


@pytest.mark.slow
def test_a_mark_that_is_there_is_explained(drawn: dict[str, Figure]) -> None:
    said = {name: [text.get_text() for legend in figure.legends for text in legend.get_texts()]
            for name, figure in drawn.items()}  # fmt: skip
    roles = ["core", "transient-core (TC)", "transient (TR)"]
    marks = ["request of the MR-cluster", "tick that moved nodes"]
    assert said["nodes"] == [*roles, *marks, "marked moment (A, B, C, D, E)"]
    assert said["course"] == [*roles, *marks]
    assert said["divisions"][-1] == "nodes of the pool"
    assert said["changes"] == ["median of the paired replays", "95 % interval of the median (bootstrap)"]
    assert said["front"] == [
        "TD", "TD, on the front", "EQ, on the front", "front: no other is better in both",
        "95 % interval of the median (bootstrap)",
    ]  # fmt: skip
    patterns = [area.get_hatch() for area in drawn["divisions"].axes[0].collections]
    assert patterns[:6] == [""] * 6
    assert patterns[6] != ""


@pytest.mark.nightly
@pytest.mark.vectors
@pytest.mark.slow
def test_three_files_with_the_same_bytes_each_time(played: Reader) -> None:
    first, again = figures(played), figures(played)
    # Each figure in one form, and one of them in all: three times as many files take seconds and find nothing more.
    for at, (name, figure) in enumerate(first.items()):
        for form in style.FORMS if name == "changes" else (style.FORMS[at % 3],):
            data = style.rendered(figure, form)
            assert data == style.rendered(again[name], form), (name, form)
            assert not re.search(rb"20\d\d-\d\d-\d\dT|[Mm]atplotlib v|CreationDate", data), (name, form)
    png, pdf, svg = (style.rendered(first["changes"], form) for form in style.FORMS)
    assert b"/Type3" not in pdf
    assert b"<svg" in svg
    assert imread(BytesIO(png)).shape[1] == round(style.PAGE_IN * style.DPI)


@pytest.mark.slow
def test_a_figure_keeps_its_style_where_somebody_else_saves_it() -> None:
    figure = changes(["TD"], [-0.1], [(-0.2, -0.05)], ["better"], "None")
    out = BytesIO()
    figure.savefig(out)
    out.seek(0)
    assert imread(out).shape[1] == round(style.PAGE_IN * style.DPI)
    assert {label.get_fontsize() for label in figure.axes[0].get_yticklabels()} == {7.0}


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.7, 8.0, ["2", "3", "4", "5", "7"]),
        (12.0, 6900.0, ["20", "50", "100", "200", "500", "1,000", "2,000", "5,000"]),
        (2.0, 2.4, ["2", "2.1", "2.2", "2.3", "2.4"]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_plain_numbers(low: float, high: float, expected: list[str]) -> None:
    panel = Figure().subplots()
    panel.plot([0, 1], [low, high])
    style.log_ticks(panel, low, high)
    panel.set_ylim(low, high)
    panel.figure.canvas.draw()
    there = zip(panel.get_yticks(), panel.get_yticklabels(), strict=True)
    assert [label.get_text() for at, label in there if low <= at <= high * 1.0001] == expected
