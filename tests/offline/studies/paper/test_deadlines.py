"""The chapter on deadlines under docs/paper: its verdicts are those of its rows, and its rows come again.

After a change: ``fawkes paper --chapter deadlines --out DIR``, and DIR/deadlines' index.md, rows.json, verdicts.csv and
pictures to docs/paper/deadlines.
"""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fawkes.offline.runs.work import Row
from fawkes.offline.studies.deadlines.rules import rules
from fawkes.offline.studies.deadlines.runs import chapter_runs
from fawkes.offline.studies.deadlines.study import MODELS
from fawkes.offline.studies.deadlines.verdicts import judge
from fawkes.offline.studies.flat.grid import FlatCell, cells, run_cell
from fawkes.offline.studies.shared.verdicts import CANNOT_FAIL, NOT_SHOWN, REPRODUCED

DOCS = Path(__file__).parents[4] / "docs" / "paper" / "deadlines"
AGAIN = [
    *cells("TR1", (1,), ("Aria1x3x",), (2250,), ("BASELINE", "JUSTICE[rounding=literal]")),
    *cells("TR1", (2,), ("Fixed1x",), (4500,), ("ORACLE", "PYTHIA", "REACTIVE")),
]


@cache
def published() -> dict[FlatCell, Row]:
    stored = json.loads((DOCS / "rows.json").read_text(encoding="utf-8"))
    return {FlatCell(**one["cell"]): one["row"] for one in stored}


def test_all_runs_of_the_chapter_are_published() -> None:
    assert published().keys() == set(chapter_runs())


def test_the_published_rows_take_a_line_each() -> None:
    lines = (DOCS / "rows.json").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(set(chapter_runs())) + 2


@pytest.mark.slow
def test_the_verdicts_of_the_published_rows_are_the_published_ones() -> None:
    with (DOCS / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        said = list(csv.DictReader(file))
    assert [asdict(one) for one in judge(published())[0]] == said


@pytest.mark.slow
def test_the_page_has_each_verdict() -> None:
    page = (DOCS / "index.md").read_text(encoding="utf-8")
    for one in judge(published())[0]:
        assert f"| {one.name} | {one.published} | {one.ours} | {one.verdict} | {one.refuted_by} |" in page


@pytest.mark.slow
@pytest.mark.parametrize("cell", AGAIN, ids=str)
def test_the_published_rows_come_again(cell: FlatCell) -> None:
    again, stored = run_cell(None, cell), published()[cell]
    for key in ("jobs", "met", "missed", "killed", "dropped"):
        assert again[key] == stored[key]
    for key in ("sdr", "ptr", "wtr", "unserved", "utilisation"):
        assert again[key] == pytest.approx(stored[key], rel=1e-9)
    assert again["fairness"]["mean"] == pytest.approx(stored["fairness"]["mean"], rel=1e-9)


@pytest.mark.slow
def test_nothing_is_reproduced_where_nothing_was_run() -> None:
    verdicts, reads = judge({})
    assert not reads
    assert {one.verdict for one in verdicts if not one.name.startswith("T-")} == {NOT_SHOWN}


def test_each_rule_names_known_models_and_a_name_of_its_own() -> None:
    every = list(rules())
    assert len({rule.name for rule in every}) == len(every)
    assert {model for rule in every for model in rule.models} == set(MODELS)


@pytest.mark.slow
def test_a_rule_that_holds_on_a_refuting_model_reproduces_nothing() -> None:
    # All allocators are one, so that whatever holds of one holds of all.
    one: dict[str, Any] = next(iter(published().values()))
    same = judge(dict.fromkeys(published(), one))[0]
    assert not [each.name for each in same if each.verdict == REPRODUCED and not each.name.startswith("T-")]
    assert CANNOT_FAIL in {each.verdict for each in same}
