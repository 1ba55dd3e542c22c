"""Rows that are kept: whole or not at all, and made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import DeadlineError
from fawkes.offline.runs.work import on_processes
from fawkes.offline.studies.paper import runs
from fawkes.offline.studies.paper.experiments import macro
from fawkes.offline.studies.paper.experiments.removing import idle
from fawkes.offline.studies.paper.sets import all_runs, quick_runs

FAST = [idle(1, True), idle(2, True)]


def test_rows_are_run_once_and_then_read(tmp_path: Path) -> None:
    folder = runs.RunFolder(tmp_path / "runs")
    first = runs.gather(FAST[:1], folder)
    assert folder.missing(FAST) == 1
    said: list[str] = []
    assert runs.gather(FAST, folder, say=said.append)[FAST[0]] == first[FAST[0]]
    assert said == [str(FAST[1])]
    assert sorted(file.suffix for file in folder.folder.iterdir()) == [".json", ".json"]


@pytest.mark.slow
def test_rows_are_the_same_on_one_process_and_on_two(tmp_path: Path) -> None:
    two = runs.gather(FAST, runs.RunFolder(tmp_path / "two"), run=on_processes(2))
    assert two == runs.gather(FAST, runs.RunFolder(tmp_path / "one"))


def test_another_version_of_the_sources_makes_rows_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    before = FAST[0].key
    monkeypatch.setattr(runs, "sources", lambda: "other")
    assert FAST[0].key != before


def test_half_a_row_is_made_again(tmp_path: Path) -> None:
    folder = runs.RunFolder(tmp_path)
    whole = runs.gather(FAST[:1], folder)
    (tmp_path / f"{FAST[0].key}.json").write_text('{"row": ')
    assert folder.missing(FAST[:1]) == 1
    assert runs.gather(FAST[:1], folder) == whole


def test_a_run_that_never_ends_is_a_row_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(asked: object, model: object) -> None:
        raise DeadlineError("3 jobs have not ended")

    monkeypatch.setattr(macro, "play", never)
    assert "3 jobs have not ended" in runs.execute(runs.replay("WKLD-D", "TD"))["error"]


def test_the_quick_runs_are_among_all_runs() -> None:
    assert set(quick_runs()) <= set(all_runs())
    assert all(not run.constant for run in quick_runs())
