"""The chapters on preemption, on quotas and on streams under docs/paper: their verdicts come again.

After a change: ``fawkes paper --chapter NAME --out DIR``, and DIR/NAME's index.md, verdicts.csv and pictures to
docs/paper/NAME.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from fawkes.offline.studies.preemption.cases import PreemptionCase
from fawkes.offline.studies.preemption.chapter import CHAPTER as PREEMPTION
from fawkes.offline.studies.quota.chapter import CHAPTER as QUOTA
from fawkes.offline.studies.shared.chapter import Chapter
from fawkes.offline.studies.shared.statements import Experiment, Statement, Study, judge
from fawkes.offline.studies.shared.verdicts import CANNOT_FAIL, NOT_SHOWN
from fawkes.offline.studies.streams.chapter import CHAPTER as STREAMS

DOCS = Path(__file__).parents[3] / "docs" / "paper"
every = pytest.mark.parametrize("chapter", [PREEMPTION, QUOTA, STREAMS], ids=lambda chapter: chapter.name)


def statements_of(chapter: Chapter) -> dict[str, Statement]:
    return {each.name: each for experiment in chapter.experiments for each in experiment.statements}


RIG = [name for name in statements_of(PREEMPTION) if name.startswith(("1-", "2-", "6-rig"))]
QUOTAS = ("10-shares", "1-table", "1-planner", "1-margin", "1-recovery", "4-error-40", "6-edf-all", "10-lost")


def published(chapter: Chapter) -> list[dict[str, str]]:
    with (DOCS / chapter.name / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def study_of(chapter: Chapter, statements: Iterable[Statement]) -> Study:
    cases = replace(chapter, experiments=(Experiment(tuple(statements), ()),)).wanted(quick=False)
    return chapter.study({case: chapter.play(case) for case in cases}, chapter.seeds)


@every
def test_each_statement_has_a_published_verdict_on_the_page(chapter: Chapter) -> None:
    page = (DOCS / chapter.name / "index.md").read_text("utf-8")
    assert [row["name"] for row in published(chapter)] == list(statements_of(chapter))
    for row in published(chapter):
        assert (
            f"| {row['name']} | {row['published']} | {row['ours']} | {row['verdict']} | {row['refuted_by']} |" in page
        )


@every
def test_each_statement_can_fail_or_says_that_it_cannot(chapter: Chapter) -> None:
    verdicts = {row["name"]: row["verdict"] for row in published(chapter)}
    statements = statements_of(chapter).values()
    assert NOT_SHOWN not in verdicts.values()
    assert all(each.models or verdicts[each.name] == CANNOT_FAIL for each in statements)
    # A rule of the quotas that needs no runs makes its models itself.
    ran = [each for each in statements if each.cases or chapter is PREEMPTION]
    assert all(model in chapter.models for each in ran for model in each.models)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chapter", "name"),
    [
        pytest.param(chapter, name, id=f"{chapter.name}-{name}")
        for chapter, names in ((PREEMPTION, RIG), (QUOTA, QUOTAS), (STREAMS, statements_of(STREAMS)))
        for name in names
    ],
)
def test_published_verdicts_come_again(chapter: Chapter, name: str) -> None:
    statement = statements_of(chapter)[name]
    assert asdict(judge(statement, study_of(chapter, [statement]))) in published(chapter)


@pytest.mark.nightly
@every
def test_all_published_verdicts_come_again(chapter: Chapter) -> None:
    study = study_of(chapter, statements_of(chapter).values())
    assert [asdict(each) for each in chapter.verdicts_of(study)] == published(chapter)


@pytest.mark.slow
@every
def test_a_chapter_without_runs_shows_what_is_missing(chapter: Chapter, tmp_path: Path) -> None:
    verdicts = chapter.publish({}, tmp_path, [1], pictures=False)
    shown = {verdict.name: verdict.verdict for verdict in verdicts}
    assert all((shown[each.name] == NOT_SHOWN) == bool(each.cases) for each in statements_of(chapter).values())
    assert "No table: not run" in (tmp_path / "index.md").read_text("utf-8")


def test_each_rule_and_table_has_the_runs_that_it_needs(tmp_path: Path) -> None:
    row = PREEMPTION.play(PreemptionCase(workload="rig", policy="kill")) | {"medium": 1.0}
    rows = dict.fromkeys(PREEMPTION.wanted(quick=False), row)
    verdicts = PREEMPTION.publish(rows, tmp_path, PREEMPTION.seeds, pictures=False)
    assert NOT_SHOWN not in {verdict.verdict for verdict in verdicts}
    assert "not run" not in (tmp_path / "index.md").read_text("utf-8")


@every
def test_quick_takes_one_seed_of_each_case(chapter: Chapter) -> None:
    wanted = chapter.wanted(quick=False)
    assert {case.seed for case in chapter.wanted(quick=True)} == {chapter.seeds[0]}
    assert chapter.missing(Path(), quick=False) == len(wanted)
    assert (chapter.missing(Path(), quick=True) < len(wanted)) == (len(chapter.seeds) > 1)
    assert len(wanted) == len(set(wanted))


def test_quick_takes_a_fifth_of_the_runs_of_quotas() -> None:
    assert QUOTA.missing(Path(), quick=True) * 5 == QUOTA.missing(Path(), quick=False)
