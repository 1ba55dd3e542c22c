"""Marks that tell a ledger from its copy, and notes beside its steps."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

from fawkes.store.place import host_of, place_of, same_place
from fawkes.store.sqlite import Ledger, LedgerReader
from tests.store.examples import steps


def test_a_ledger_keeps_its_place_while_it_grows_and_a_copy_has_another(tmp_path: Path) -> None:
    with closing(Ledger(tmp_path / "state")) as ledger:
        before = place_of(ledger.path)
        for event, decision in steps():
            ledger.append(event, decision)
        assert same_place(before, place_of(ledger.path))
    (tmp_path / "state").rename(tmp_path / "moved")
    # On the same disk a folder may be renamed: it is the same folder.
    assert same_place(before, place_of(tmp_path / "moved" / "ledger.sqlite"))
    copy = shutil.copytree(tmp_path / "moved", tmp_path / "copy")
    assert not same_place(before, place_of(Path(copy) / "ledger.sqlite"))


def test_another_machine_is_another_place_and_another_host_name_is_not() -> None:
    assert same_place("m 1 2 head", "m 1 2 other")
    assert not same_place("m 1 2 head", "n 1 2 head")
    assert (host_of("m 1 2 head"), host_of("")) == ("head", "another host")


def test_a_note_goes_with_a_copy_and_can_be_taken_away(tmp_path: Path) -> None:
    with closing(Ledger(tmp_path)) as ledger:
        assert ledger.note("seal") == ""
        ledger.put_note("seal", "here")
        (tmp_path / "copy").mkdir()
        ledger.copy_to(tmp_path / "copy")
        ledger.put_note("seal", "")
        assert ledger.note("seal") == ""
    with closing(LedgerReader(tmp_path / "copy")) as copy:
        assert copy.note("seal") == "here"
