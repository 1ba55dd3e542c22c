"""The verdicts that the code computes now are those that docs/paper publishes."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from fawkes.paper.fixed import Model
from fawkes.paper.macro import Replay, scenario_of
from fawkes.paper.rows import Rows
from fawkes.paper.runs import gather, quick_runs
from fawkes.paper.verdicts import judge

DOCS = Path(__file__).parents[2] / "docs" / "paper"
#: near the edge of their rule: one replay alone may fall on the other side of the median of three
OF_MEDIANS = ("7.2-", "7.3-moves")


def published() -> dict[str, str]:
    with (DOCS / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: row["verdict"] for row in csv.DictReader(file)}


@pytest.mark.skipif(not (DOCS / "verdicts.csv").exists(), reason="`fawkes paper --out docs/paper` was not run yet")
def test_the_quick_verdicts_are_the_published_ones(tmp_path: Path) -> None:
    said = published()
    quick = {one.name: one.verdict for one in judge(Rows(gather(quick_runs(), tmp_path)))}
    compared = {name: verdict for name, verdict in quick.items() if verdict != "not shown"}
    differ = {
        name: (verdict, said.get(name))
        for name, verdict in compared.items()
        if not name.startswith(OF_MEDIANS) and said.get(name) != verdict
    }
    assert not differ
    assert len(compared) > 20


def test_a_policy_does_not_change_the_workload_that_it_meets() -> None:
    under = [scenario_of(Replay(workload="WKLD-A", policy=name, replay=1), Model()).wishes for name in ("TD", "JD")]
    assert under[0] == under[1]
    assert under[0] != scenario_of(Replay(workload="WKLD-A", policy="TD", replay=2), Model()).wishes
