"""The chapter on quotas under docs/paper: its verdicts come again.

After a change: ``fawkes paper --chapter quota --out DIR``, and DIR/quota's index.md, verdicts.csv and pictures to
docs/paper/quota.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import pytest

from fawkes.offline.studies.quota import fixed
from fawkes.offline.studies.quota.cases import MODELS
from fawkes.offline.studies.quota.chapter import EXPERIMENTS, missing, publish, verdicts_of, wanted
from fawkes.offline.studies.quota.experiments.experiment import Study
from fawkes.offline.studies.quota.play import play
from fawkes.offline.studies.shared.statements import Experiment, Statement, judge
from fawkes.offline.studies.shared.verdicts import CANNOT_FAIL, NOT_SHOWN

DOCS = Path(__file__).parents[4] / "docs" / "paper" / "quota"
STATEMENTS = {each.name: each for experiment in EXPERIMENTS for each in experiment.statements}
AGAIN = ("10-shares", "1-table", "1-planner", "1-margin", "1-recovery", "4-error-40", "6-edf-all", "10-lost")


def said() -> list[dict[str, str]]:
    with (DOCS / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def study_of(statements: Iterable[Statement]) -> Study:
    cases = Experiment(tuple(statements), ()).wanted(fixed.SEEDS, MODELS)
    return Study({case: play(case) for case in dict.fromkeys(cases)}, fixed.SEEDS)


def test_each_statement_has_a_published_verdict_on_the_page() -> None:
    page = (DOCS / "index.md").read_text("utf-8")
    assert [row["name"] for row in said()] == list(STATEMENTS)
    for row in said():
        assert (
            f"| {row['name']} | {row['published']} | {row['ours']} | {row['verdict']} | {row['refuted_by']} |" in page
        )


def test_each_statement_can_fail_or_says_that_it_cannot() -> None:
    verdicts = {row["name"]: row["verdict"] for row in said()}
    assert NOT_SHOWN not in verdicts.values()
    assert all(each.models or verdicts[each.name] == CANNOT_FAIL for each in STATEMENTS.values())
    assert all(model in MODELS for each in STATEMENTS.values() if each.cases for model in each.models)


@pytest.mark.slow
@pytest.mark.parametrize("name", AGAIN)
def test_published_verdicts_come_again(name: str) -> None:
    verdict = judge(STATEMENTS[name], study_of([STATEMENTS[name]]))
    assert asdict(verdict) in said()


@pytest.mark.nightly
def test_all_published_verdicts_come_again() -> None:
    assert [asdict(each) for each in verdicts_of(study_of(STATEMENTS.values()))] == said()


@pytest.mark.slow
def test_a_chapter_without_runs_shows_what_is_missing(tmp_path: Path) -> None:
    verdicts = publish({}, tmp_path, [1], pictures=False)
    shown = {verdict.name: verdict.verdict for verdict in verdicts}
    assert all((shown[each.name] == NOT_SHOWN) == bool(each.cases) for each in STATEMENTS.values())
    assert "No table: not run" in (tmp_path / "index.md").read_text("utf-8")


def test_quick_takes_a_fifth_of_the_runs() -> None:
    assert missing(Path(), quick=True) * 5 == missing(Path(), quick=False) == len(wanted(quick=False))
