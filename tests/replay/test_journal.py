from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.errors import RefusedError, UserError
from fawkes.replay.journal import BEFORE, FILE, JOBS, Journal
from fawkes.workload.play import Posted

FACTS = {"scenario": "w", "seed": 1}
ONE = Posted("request", "c-1", 0, 10, 1)
TWO = Posted("submit", "job", 5, 20, 2)


def test_what_was_asked_for_is_there_again(tmp_path: Path) -> None:
    first = Journal(tmp_path / "r", FACTS)
    assert not first.resumed
    first.add(BEFORE, ONE)
    first.add(JOBS, TWO)
    again = Journal(tmp_path / "r", FACTS)
    assert again.earlier == {BEFORE: [ONE], JOBS: [TWO]}
    assert again.resumed
    assert again.began(JOBS)


def test_a_line_that_was_cut_off_counts_as_not_asked_for(tmp_path: Path) -> None:
    journal = Journal(tmp_path, FACTS)
    journal.add(BEFORE, ONE)
    journal.add(JOBS, TWO)
    text = (tmp_path / FILE).read_text()
    for left in range(1, 20):
        (tmp_path / FILE).write_text(text[:-left])
        again = Journal(tmp_path, FACTS)
        assert again.earlier[BEFORE] == [ONE]
        assert again.earlier[JOBS] == ([TWO] if left == 1 else [])


def test_a_damaged_journal_is_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path, FACTS)
    journal.add(BEFORE, ONE)
    journal.add(JOBS, TWO)
    lines = (tmp_path / FILE).read_text().splitlines()
    (tmp_path / FILE).write_text("\n".join([lines[0], "no json", lines[2]]) + "\n")
    with pytest.raises(UserError, match="line 2 cannot be read"):
        Journal(tmp_path, FACTS)


def test_another_replay_s_folder_is_refused(tmp_path: Path) -> None:
    Journal(tmp_path, FACTS)
    with pytest.raises(RefusedError, match="another seed: 1 instead of 2"):
        Journal(tmp_path, {**FACTS, "seed": 2})


def test_somebody_else_s_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RefusedError, match="no replay"):
        Journal(tmp_path, FACTS)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
