from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.base.errors import RefusedError, UserError
from fawkes.cli.replay.journal import BEFORE, FILE, JOBS, Journal
from fawkes.workload.playing.play import REFUSED, Posted

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


def test_what_the_controller_took_stands_for_what_was_about_to_be_sent(tmp_path: Path) -> None:
    journal = Journal(tmp_path, FACTS)
    journal.add(JOBS, replace(TWO, at_us=19, tries=0))
    assert Journal(tmp_path, FACTS).earlier[JOBS] == [replace(TWO, at_us=19, tries=0)]
    journal.add(JOBS, TWO)
    assert Journal(tmp_path, FACTS).earlier[JOBS] == [TWO]


def test_a_line_that_was_cut_off_counts_as_not_written_and_the_next_is_whole(tmp_path: Path) -> None:
    journal = Journal(tmp_path, FACTS)
    journal.add(BEFORE, ONE)
    journal.add(JOBS, TWO)
    text = (tmp_path / FILE).read_text()
    for left in range(1, 20):
        (tmp_path / FILE).write_text(text[:-left])
        again = Journal(tmp_path, FACTS)
        assert again.earlier == {BEFORE: [ONE], JOBS: []}
        again.add(JOBS, TWO)
        assert (tmp_path / FILE).read_text() == text


def test_one_that_was_killed_while_it_began_begins_anew(tmp_path: Path) -> None:
    Journal(tmp_path, FACTS)
    head = (tmp_path / FILE).read_text()
    for left in (1, 5, len(head)):
        (tmp_path / FILE).write_text(head[:-left])
        assert not Journal(tmp_path, FACTS).resumed
        assert (tmp_path / FILE).read_text() == head


@pytest.mark.parametrize("bad", ['{"not": "ours"}', "[1]", '{"part": "jobs", "verb": 1}', "{", "\xff"])
def test_a_line_of_something_else_is_refused_and_stays(tmp_path: Path, bad: str) -> None:
    Journal(tmp_path, FACTS)
    with (tmp_path / FILE).open("a", encoding="latin-1") as out:
        out.write(bad + "\n")
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(UserError, match="line 2 cannot be read"):
        Journal(tmp_path, FACTS)
    assert (tmp_path / FILE).read_bytes() == before


def test_a_file_without_a_line_that_is_not_ours_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("somebody else's")
    with pytest.raises(UserError, match="line 1 cannot be read"):
        Journal(tmp_path, FACTS)
    assert (tmp_path / FILE).read_text() == "somebody else's"


def test_a_damaged_journal_is_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path, FACTS)
    journal.add(BEFORE, ONE)
    journal.add(JOBS, TWO)
    lines = (tmp_path / FILE).read_text().splitlines()
    (tmp_path / FILE).write_text("\n".join([lines[0], "no json", lines[2]]) + "\n")
    with pytest.raises(UserError, match="line 2 cannot be read"):
        Journal(tmp_path, FACTS)


def test_another_replay_s_folder_is_refused(tmp_path: Path) -> None:
    Journal(tmp_path, FACTS).add(BEFORE, ONE)
    with pytest.raises(RefusedError, match="another seed: 1 instead of 2"):
        Journal(tmp_path, {**FACTS, "seed": 2})
    with pytest.raises(RefusedError, match="its scenario has changed"):
        Journal(tmp_path, {**FACTS, "requests": "digest"})


def test_one_that_asked_for_nothing_begins_anew(tmp_path: Path) -> None:
    Journal(tmp_path, FACTS, {"c-1"})
    Journal(tmp_path, {**FACTS, "seed": 2}).add(BEFORE, ONE)
    again = Journal(tmp_path, {**FACTS, "seed": 2}, {"c-1", "c-2"})
    assert (again.earlier[BEFORE], again.running) == ([ONE], frozenset())


def test_the_mr_clusters_that_ran_when_it_began_are_known_again(tmp_path: Path) -> None:
    Journal(tmp_path, FACTS, {"c-1"}).add(BEFORE, ONE)
    assert Journal(tmp_path, FACTS, {"c-1", "c-2"}).running == {"c-1"}


def test_a_name_that_was_refused_is_not_its_own(tmp_path: Path) -> None:
    journal = Journal(tmp_path, FACTS)
    journal.add(BEFORE, ONE)
    for tries in (0, REFUSED):
        journal.add(JOBS, replace(TWO, tries=tries))
    journal.add(BEFORE, replace(ONE, verb="ready", name="w", at_us=70))
    again = Journal(tmp_path, FACTS)
    assert again.names == {"c-1"}


def test_somebody_else_s_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RefusedError, match="no replay"):
        Journal(tmp_path, FACTS)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
