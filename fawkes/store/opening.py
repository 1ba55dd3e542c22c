"""Opening the file of a ledger: to read it, to write to it, to look whether it is sound, or a new one."""

from __future__ import annotations

import os
import sqlite3
import time
import uuid
from contextlib import closing
from pathlib import Path

from fawkes.base.errors import RefusedError
from fawkes.base.version import __version__
from fawkes.store import health
from fawkes.store.private import FILE_MODE, sync_folder
from fawkes.store.schema import APPLICATION_ID, OPENED, migrate
from fawkes.store.steps import START

_BUSY_S = 10.0


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection that waits for other programs and starts no transaction by itself; sqlite3.Error."""
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}",
        uri=True,
        timeout=_BUSY_S,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """A connection that cannot write.

    In a folder that this user may not write to, SQLite can read a ledger only while a controller has it open, unless it
    is told that nobody will change the file. It is not told so where a log or a journal says otherwise: without them
    the file may be half of two steps.
    """
    connection = connect(path, "ro")
    try:
        connection.execute("SELECT 1 FROM head").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        forbidden = error.sqlite_errorname.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY"))
        if not forbidden or health.size_of(path, "-wal") or health.size_of(path, "-journal"):
            raise
        return connect(path, "ro&immutable=1")
    return connection


def open_to_write(path: Path, *, durable: bool) -> sqlite3.Connection:
    """A connection for the one writer; what a killed one left is put right by SQLite, older formats by us."""
    connection = connect(path, "rw")
    try:
        connection.execute(f"PRAGMA journal_mode = {health.journal_for(path.parent)}")
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
        migrate(connection)
        connection.execute("REPLACE INTO meta (key, value) VALUES (?, ?)", (OPENED, health.boot()))
    except BaseException:
        connection.close()
        raise
    return connection


def brought_up(older: sqlite3.Connection) -> sqlite3.Connection:
    """A copy in memory of a ledger of an older format, in this one; the file stays as it is, and is closed.

    A run that was simulated long ago has no controller that would ever bring it up.
    """
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    with closing(older):
        older.backup(copy)
    migrate(copy)
    return copy


def check(path: Path) -> None:
    """Look whether a ledger is sound, before anything is written to it; RefusedError when it is not."""
    if health.size_of(path, "-journal"):
        # An ordinary journal, of a network disk, is what a killed writer left. Looking alone cannot take it back.
        with closing(connect(path, "rw")) as connection:
            connection.execute("SELECT 1 FROM head").fetchone()
    with closing(connect(path, "ro")) as connection:
        health.check_whole(connection, path)


def create(path: Path) -> None:
    """An empty ledger, whole or not at all: under its name there is never a file without tables."""
    for ending in ("-wal", "-journal"):
        if health.size_of(path, ending):
            # SQLite would take it for a part of the new one.
            raise RefusedError(
                "the ledger is missing, but this file belongs to it",
                where=str(health.beside(path, ending)),
                hint="No ledger was made. Put the old one back beside it, or move this file away as well",
            )
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    health.beside(draft, "-journal").unlink(missing_ok=True)
    # Before SQLite opens it: what it makes itself has the modes of the umask, and files beside it those of this one.
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
    connection = connect(draft, "rw")
    try:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
        migrate(connection)
        said = {
            "pool_id": str(uuid.uuid4()),
            "created_us": str(time.time_ns() // 1000),
            "fawkes": __version__,
            "last_epoch": "0",
        }
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO meta VALUES (?, ?)", said.items())
        connection.execute("INSERT INTO head VALUES (1, 0, ?)", (START,))
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        draft.unlink(missing_ok=True)
        raise
    connection.close()
    os.replace(draft, path)
    sync_folder(path.parent)
