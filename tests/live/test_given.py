"""The note of where a move has put the masters' data."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.core.model import ClusterId, NodeId
from fawkes.live.given import Given, GivenNotes
from fawkes.live.kept_copy import KeepError

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


def test_a_note_that_cannot_be_kept_or_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(KeepError, match="a move cannot be noted"):
        GivenNotes(tmp_path / "file").put(C, GIVEN)
    (tmp_path / f".{C}.given").mkdir()
    with pytest.raises(KeepError, match="the note of a move cannot be read"):
        GivenNotes(tmp_path).has(C, GIVEN)
