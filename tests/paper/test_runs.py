"""Rows that are kept: whole or not at all, and made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.errors import DeadlineError, FawkesError
from fawkes.paper import macro, runs

FAST = [runs.idle(1, True), runs.idle(2, True)]


def test_rows_are_run_once_and_then_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = runs.gather(FAST[:1], tmp_path)
    assert runs.missing_runs(FAST, tmp_path) == 1
    said: list[str] = []
    assert runs.gather(FAST, tmp_path, say=said.append)[FAST[0]] == first[FAST[0]]
    assert said == [FAST[1].label]
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".json", ".json"]


def test_another_version_of_the_sources_makes_rows_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    before = FAST[0].key
    monkeypatch.setattr(runs, "sources", lambda: "other")
    assert FAST[0].key != before


def test_a_row_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    file = tmp_path / f"{FAST[0].key}.json"
    file.write_text('{"row": ')
    with pytest.raises(FawkesError, match="is no row of a run") as raised:
        runs.gather(FAST[:1], tmp_path)
    assert str(file) in str(raised.value)


def test_a_run_that_never_ends_is_a_row_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(asked: object, model: object) -> None:
        raise DeadlineError("3 jobs have not ended")

    monkeypatch.setattr(macro, "play", never)
    assert "3 jobs have not ended" in runs.execute(runs.replay("WKLD-D", "TD"))["error"]


def test_the_quick_runs_are_among_all_runs() -> None:
    assert set(runs.quick_runs()) <= set(runs.all_runs())
    assert all(not run.constant for run in runs.quick_runs())
