"""Ledgers of every released format can be opened, and a migration happens whole or not at all."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fawkes.base.errors import RefusedError
from fawkes.store import schema
from fawkes.store.lock import LOCK_FILE
from fawkes.store.record import text_of
from fawkes.store.schema import APPLICATION_ID, FORMAT, MIGRATIONS, file_format, migrate
from fawkes.store.sqlite import LEDGER_FILE, Ledger, LedgerReader
from tests.store.examples import steps

#: one file for each format that was released, with the steps of `examples` and a snapshot after step 4; never made anew
KEPT = sorted(Path(__file__).parent.glob("ledger-v*.sqlite"))


def test_there_is_a_ledger_of_every_format() -> None:
    assert [path.name for path in KEPT] == [f"ledger-v{version}.sqlite" for version in range(1, FORMAT + 1)]


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_a_ledger_of_an_older_format_is_brought_up(kept: Path, tmp_path: Path) -> None:
    shutil.copy(kept, tmp_path / LEDGER_FILE)
    ledger = Ledger(tmp_path)
    expected = [(text_of(event), text_of(decision)) for event, decision in steps()]
    entries_read = [(text_of(entry.event), text_of(entry.decision)) for entry in ledger.entries()]
    assert [event for event, _ in entries_read] == [event for event, _ in expected]
    assert len(entries_read) == len(expected)
    assert ledger.latest_snapshot() == (4, {"after": 4})
    assert ledger.identity().last_epoch == 2
    assert ledger.verify() == len(expected)
    assert ledger.append(*steps()[7]) == 9
    ledger.close()
    reader = LedgerReader(tmp_path)
    assert reader.verify() == 9
    reader.close()


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_an_older_format_is_verified_as_it_is(kept: Path, tmp_path: Path) -> None:
    file = tmp_path / LEDGER_FILE
    shutil.copy(kept, file)
    size = file.stat().st_size
    with closing(LedgerReader(tmp_path)) as reader:
        assert reader.verify() == len(steps())
        # Only the file has the damage: the copy of an older format was made before.
        os.truncate(file, size - 4096)
        with pytest.raises(RefusedError, match="the ledger is damaged"):
            reader.verify()
    shutil.copy(kept, file)
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("UPDATE entries SET event = event || ' ' WHERE seq = (SELECT max(seq) - 1 FROM entries)")
    with closing(LedgerReader(tmp_path)) as reader, pytest.raises(RefusedError, match="the ledger is damaged"):
        reader.verify()


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_the_steps_of_an_older_format_are_packed_while_new_ones_are_added(kept: Path, tmp_path: Path) -> None:
    shutil.copy(kept, tmp_path / LEDGER_FILE)
    with closing(Ledger(tmp_path, block=3)) as ledger:
        before = list(ledger.texts())
        for event, decision in steps() * 2:
            ledger.append(event, decision)
        assert list(ledger.texts())[:8] == before
        assert ledger.latest_snapshot() == (4, {"after": 4})
        assert ledger.verify() == 24
    with closing(sqlite3.connect(tmp_path / LEDGER_FILE)) as db:
        blocks = db.execute("SELECT first, last FROM blocks").fetchall()
        rows = db.execute("SELECT count(*) FROM entries").fetchone()[0]
    assert blocks == [(first, first + 2) for first in range(1, 25 - rows, 3)]
    assert rows < 6


def _notes(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE notes (text TEXT)")


def _half(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE half (text TEXT)")
    connection.execute("SELECT * FROM nowhere")


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def test_only_the_missing_migrations_run() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    assert migrate(connection) == [step.__name__ for step in MIGRATIONS]
    assert migrate(connection) == []
    assert migrate(connection, (*MIGRATIONS, _notes)) == ["_notes"]
    assert file_format(connection) == FORMAT + 1
    assert "notes" in _tables(connection)


def test_a_migration_that_fails_leaves_the_format_before() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="no such table: nowhere"):
        migrate(connection, (*MIGRATIONS, _half, _notes))
    assert file_format(connection) == FORMAT
    assert not _tables(connection) & {"half", "notes"}


def test_a_reader_leaves_an_older_ledger_alone_and_reads_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Ledger(tmp_path)) as ledger:
        monkeypatch.setattr("fawkes.store.sqlite.FORMAT", FORMAT + 1)
        with pytest.raises(RefusedError, match=f"the ledger has the older format {FORMAT}"):
            LedgerReader(tmp_path)
        identity = ledger.identity()
    (tmp_path / LOCK_FILE).rename(tmp_path / "aside")
    (tmp_path / LOCK_FILE).symlink_to(LOCK_FILE)
    with pytest.raises(RefusedError, match="Whether its controller runs is not known"):
        LedgerReader(tmp_path)
    (tmp_path / "aside").replace(tmp_path / LOCK_FILE)
    before = (tmp_path / LEDGER_FILE).read_bytes()
    with closing(LedgerReader(tmp_path)) as reader:
        assert reader.identity() == identity
    assert (tmp_path / LEDGER_FILE).read_bytes() == before


def test_the_header_says_whose_file_it_is(tmp_path: Path) -> None:
    Ledger(tmp_path).close()
    head = (tmp_path / LEDGER_FILE).read_bytes()[:100]
    assert head[68:72] == b"Fwks" == APPLICATION_ID.to_bytes(4, "big")
    assert head[60:64] == schema.FORMAT.to_bytes(4, "big")
