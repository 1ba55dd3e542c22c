"""The page under docs/paper: its verdicts are those of its rows, and its rows are what the code computes now.

After a change of the model: ``fawkes paper --out DIR``, and its index.md, rows.json, verdicts.csv and pictures to
docs/paper.
"""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from fawkes.offline.runs.work import Row
from fawkes.offline.studies.paper import runs
from fawkes.offline.studies.paper.experiments import growing, half, removing, sites
from fawkes.offline.studies.paper.page import judge, why
from fawkes.offline.studies.paper.rows import PaperRows
from fawkes.offline.studies.paper.runs import PaperRun

DOCS = Path(__file__).parents[4] / "docs" / "paper"
#: some runs of each experiment, about half a minute in all
AGAIN = [
    *half.HALF.runs,
    *sites.SITES.runs,
    *growing.grow((0.5,)),
    *(removing.idle(count, together) for count in (1, 10, 16) for together in (True, False)),
    *(removing.busy(app, count) for app in removing.BUSY_APPS for count in (0, 8)),
    runs.replay("WKLD-A", "JD", "TR"),
    runs.replay("WKLD-B", "TD", "TR"),
    runs.replay("WKLD-C", "TD", "TR"),
    runs.replay("WKLD-D", "TD"),
    runs.replay("WKLD-D", "PU"),
    runs.with_factor(runs.replay("WKLD-D", "TD"), "span", 1.5),
    runs.in_model(sites.on_sites("ST"), "slow-link"),
    runs.in_model(runs.replay("WKLD-B", "TD"), "half-of-c-1"),
]


def published() -> dict[PaperRun, Row]:
    stored = json.loads((DOCS / "rows.json").read_text(encoding="utf-8"))
    return {
        PaperRun(**{**one["run"], "values": tuple((name, value) for name, value in one["run"]["values"])}): one["row"]
        for one in stored
    }


@pytest.mark.slow
def test_the_verdicts_of_the_published_rows_are_the_published_ones() -> None:
    with (DOCS / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        said = list(csv.DictReader(file))
    assert [asdict(one) for one in judge(published())] == said


@pytest.mark.slow
def test_the_page_says_each_verdict_what_would_refute_it_and_why_it_differs() -> None:
    page = (DOCS / "index.md").read_text(encoding="utf-8")
    for one in judge(published()):
        assert f"| {one.name} | {one.published} | {one.ours} | {one.verdict} | {one.refuted_by} |" in page
        if one.verdict == "differs":
            assert f"Why {one.name} differs: {why(one.name, PaperRows(published()))}" in page


@pytest.mark.slow
@pytest.mark.parametrize(
    "run",
    # Every sixth of each kind by day, the others at night.
    [
        pytest.param(run, id=str(run), marks=pytest.mark.nightly if place % 6 else ())
        for place, run in enumerate(dict.fromkeys(AGAIN))
    ],
)
def test_a_run_gives_the_published_row_again(run: PaperRun) -> None:
    row, said = json.loads(json.dumps(runs.execute(run))), published()[run]
    assert {name: row[name] for name in said} == said
