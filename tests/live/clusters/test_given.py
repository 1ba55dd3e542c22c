"""The note of where a move has put the masters' data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.clusters.given import Given, GivenNotes
from fawkes.live.edits.kept_copy import KeepError

C = ClusterId("c-1")
GIVEN = Given(5, NodeId("node02"), 3)


def test_a_note_is_of_one_move_to_one_member(tmp_path: Path) -> None:
    notes = GivenNotes(tmp_path / "kept")
    assert not notes.has(C, GIVEN)
    notes.put(C, GIVEN)
    assert GivenNotes(tmp_path / "kept").has(C, GIVEN), "after a restart"
    others = (Given(6, NodeId("node02"), 3), Given(5, NodeId("node03"), 3), Given(5, NodeId("node02"), 4))
    assert not any(notes.has(C, other) for other in others)
    assert not notes.has(ClusterId("c-2"), GIVEN)
    notes.put(C, others[0])
    assert (notes.has(C, GIVEN), notes.has(C, others[0])) == (False, True)
    notes.remove(C)
    assert not notes.has(C, others[0])


@pytest.mark.parametrize(
    ("before", "noted"),
    [
        (None, True),
        (Given(4, NodeId("node02"), 3), True),
        (Given(5, NodeId("node03"), 3, begun=False), True),
        (GIVEN, False),
        (Given(6, NodeId("node02"), 3, begun=False), False),
    ],
    ids=["first", "the move before", "another look", "the move has begun", "the move after"],
)
def test_a_look_that_ends_late_takes_no_note_back(tmp_path: Path, before: Given | None, noted: bool) -> None:
    notes, nothing = GivenNotes(tmp_path), replace(GIVEN, begun=False)
    if before is not None:
        notes.put(C, before)
    notes.put(C, nothing)
    assert notes.has(C, nothing) is noted
    assert before is None or notes.has(C, before) is not noted
    notes.put(C, GIVEN)
    assert notes.has(C, GIVEN)


def test_a_note_that_nobody_has_written_so_is_none(tmp_path: Path) -> None:
    notes, nothing = GivenNotes(tmp_path), replace(GIVEN, begun=False)
    (tmp_path / f".{C}.given").write_text("what is this\n")
    assert (notes.has(C, GIVEN), notes.has(C, nothing)) == (False, False)
    notes.put(C, nothing)
    assert notes.has(C, nothing)


def test_a_note_that_cannot_be_kept_or_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(KeepError, match="a move cannot be noted"):
        GivenNotes(tmp_path / "file").put(C, GIVEN)
    (tmp_path / f".{C}.given").mkdir()
    with pytest.raises(KeepError, match="the note of a move cannot be read"):
        GivenNotes(tmp_path).has(C, GIVEN)
