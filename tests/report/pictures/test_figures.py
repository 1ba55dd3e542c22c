"""Pictures: the bytes depend on the data alone, and what is drawn is what was held."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fawkes.report.pictures.figures import moments, nodes_over_time, text_picture
from fawkes.report.pictures.style import rendered
from fawkes.store.base import Reader
from fawkes.store.memory import MemoryStore
from tests.report.played import POINTS

_OTHER_PROCESS = """
import hashlib
from fawkes.report.pictures.figures import nodes_over_time
from fawkes.report.pictures.style import rendered
from tests.report.played import POINTS, filled, recorded
store = filled(recorded())
for form in ("png", "pdf"):
    print(hashlib.sha256(rendered(nodes_over_time(store, POINTS, "WKLD-A"), form)).hexdigest())
"""


@pytest.mark.slow
def test_the_same_bytes_in_any_process(played: Reader) -> None:
    run = subprocess.run(
        [sys.executable, "-c", _OTHER_PROCESS],
        env={**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"},
        capture_output=True,
        text=True,
        check=True,
    )
    here = [
        hashlib.sha256(rendered(nodes_over_time(played, POINTS, "WKLD-A"), form)).hexdigest() for form in ("png", "pdf")
    ]
    assert run.stdout.split() == here


@pytest.mark.slow
def test_png_and_pdf_say_nothing_of_the_machine(played: Reader) -> None:
    figure = nodes_over_time(played)
    png, pdf = rendered(figure), rendered(figure, "pdf")
    assert png.startswith(b"\x89PNG")
    assert b"atplotlib" not in png
    assert pdf.startswith(b"%PDF")
    assert b"CreationDate" not in pdf


def test_what_is_drawn(played: Reader) -> None:
    figure = nodes_over_time(played, POINTS, "a title")
    assert [panel.get_ylabel() for panel in figure.axes] == ["c-1\nnodes", "c-2\nnodes", "c-3\nnodes"]
    assert [text.get_text() for text in figure.axes[0].texts] == ["A", "B", "C", "D", "E"]
    assert figure.axes[0].get_ylim()[1] == pytest.approx(11)
    tops = [np.asarray(area.get_paths()[0].vertices)[:, 1].max() for area in figure.axes[0].collections]
    assert tops == [2, 2, 10]


def test_what_is_marked(played: Reader) -> None:
    marks = moments(played, POINTS)
    assert marks.arrivals == ((1.0, "c-1"), (41.0, "c-2"), (81.0, "c-3"))
    assert marks.reconfigurations == (20.0, 60.0, 100.0, 140.0)
    assert marks.points == tuple(POINTS)


def test_a_picture_for_terminals(played: Reader) -> None:
    assert text_picture(played, POINTS, width=60, height=5) == PICTURE.strip("\n")


def test_a_picture_is_never_wider_than_asked(played: Reader) -> None:
    for width in (40, 78, 200):
        lines = text_picture(played, POINTS, width=width).splitlines()
        assert max(len(line) for line in lines if "tick that moved" not in line) <= width


@pytest.mark.slow
def test_an_empty_store_has_a_picture_too() -> None:
    assert text_picture(MemoryStore(), POINTS)
    assert rendered(nodes_over_time(MemoryStore(), POINTS)).startswith(b"\x89PNG")


PICTURE = (Path(__file__).parents[1] / "picture.txt").read_text()
