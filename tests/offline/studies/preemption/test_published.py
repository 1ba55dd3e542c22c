"""The chapter on preemption under docs/paper: its verdicts come again.

After a change: ``fawkes paper --chapter preemption --out DIR``, and DIR/preemption's index.md, verdicts.csv and
pictures to docs/paper/preemption.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import pytest

from fawkes.offline.studies.preemption import fixed
from fawkes.offline.studies.preemption.cases import MODELS, Case
from fawkes.offline.studies.preemption.chapter import EXPERIMENTS, missing, publish, verdicts_of, wanted
from fawkes.offline.studies.preemption.experiments.experiment import Study
from fawkes.offline.studies.preemption.play import play
from fawkes.offline.studies.shared.statements import Experiment, Statement, judge
from fawkes.offline.studies.shared.verdicts import CANNOT_FAIL, NOT_SHOWN

DOCS = Path(__file__).parents[4] / "docs" / "paper" / "preemption"
STATEMENTS = {each.name: each for experiment in EXPERIMENTS for each in experiment.statements}
RIG = [name for name in STATEMENTS if name.startswith(("1-", "2-", "6-rig"))]


def published() -> list[dict[str, str]]:
    with (DOCS / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def study_of(statements: Iterable[Statement]) -> Study:
    cases = dict.fromkeys(case.plain() for case in Experiment(tuple(statements), ()).wanted(fixed.SEEDS, MODELS))
    rows = {case: play(case) for case in cases if case.seed in fixed.SEEDS[: fixed.RUNS[case.workload]]}
    return Study(rows, fixed.SEEDS)


def test_each_statement_has_a_published_verdict_on_the_page() -> None:
    page = (DOCS / "index.md").read_text("utf-8")
    assert [row["name"] for row in published()] == list(STATEMENTS)
    for row in published():
        assert (
            f"| {row['name']} | {row['published']} | {row['ours']} | {row['verdict']} | {row['refuted_by']} |" in page
        )


def test_each_statement_can_fail_or_says_that_it_cannot() -> None:
    verdicts = {row["name"]: row["verdict"] for row in published()}
    assert NOT_SHOWN not in verdicts.values()
    assert all(each.models or verdicts[each.name] == CANNOT_FAIL for each in STATEMENTS.values())
    assert all(model in MODELS for each in STATEMENTS.values() for model in each.models)


@pytest.mark.slow
@pytest.mark.parametrize("name", RIG)
def test_published_verdicts_on_two_jobs_come_again(name: str) -> None:
    assert asdict(judge(STATEMENTS[name], study_of([STATEMENTS[name]]))) in published()


@pytest.mark.nightly
def test_all_published_verdicts_come_again() -> None:
    assert [asdict(each) for each in verdicts_of(study_of(STATEMENTS.values()))] == published()


@pytest.mark.slow
def test_a_chapter_without_runs_shows_what_is_missing(tmp_path: Path) -> None:
    verdicts = publish({}, tmp_path, [1], pictures=False)
    shown = {verdict.name: verdict.verdict for verdict in verdicts}
    assert all((shown[each.name] == NOT_SHOWN) == bool(each.cases) for each in STATEMENTS.values())
    assert "No table: not run" in (tmp_path / "index.md").read_text("utf-8")


def test_each_rule_and_table_has_the_runs_that_it_needs(tmp_path: Path) -> None:
    row = play(Case(workload="rig", policy="kill")) | {"medium": 1.0}
    verdicts = publish(dict.fromkeys(wanted(quick=False), row), tmp_path, fixed.SEEDS, pictures=False)
    assert NOT_SHOWN not in {verdict.verdict for verdict in verdicts}
    assert "not run" not in (tmp_path / "index.md").read_text("utf-8")


def test_quick_takes_one_seed_of_each_case() -> None:
    assert {case.seed for case in wanted(quick=True)} == {1}
    assert missing(Path(), quick=True) < len(wanted(quick=False)) == len(set(wanted(quick=False)))
