"""Which journal a disk allows, and what the errors of SQLite mean."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from fawkes.base.errors import BrokenError, FawkesError, FullError, LockedError, RefusedError, UserError
from fawkes.store.health import journal_for, translated
from fawkes.store.steps import START, digest_of

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
31 22 0:45 / /home rw,relatime - nfs4 server:/home rw
32 31 254:1 / /home/ann/local rw,relatime - xfs /dev/vdb rw
33 22 0:46 / /mnt/a\\040share rw - fuse.sshfs me@host: rw
"""


@pytest.mark.parametrize(
    ("folder", "journal"),
    [
        ("/var/state", "WAL"),
        ("/home/ann/site/state", "DELETE"),
        ("/home/ann/local/state", "WAL"),
        ("/homeless", "WAL"),
        ("/mnt/a share/state", "DELETE"),
    ],
)
def test_no_shared_memory_on_network_disks(folder: str, journal: str) -> None:
    assert journal_for(Path(folder), MOUNTS) == journal


def test_the_mounts_of_this_machine_can_be_read(tmp_path: Path) -> None:
    assert journal_for(tmp_path) in ("WAL", "DELETE")


def _error(kind: type[sqlite3.Error], name: str) -> sqlite3.Error:
    error = kind("said so")
    error.sqlite_errorname = name
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (_error(sqlite3.OperationalError, "SQLITE_FULL"), FullError),
        (_error(sqlite3.OperationalError, "SQLITE_IOERR_WRITE"), FullError),
        (_error(sqlite3.OperationalError, "SQLITE_IOERR_SHMSIZE"), FullError),
        (_error(sqlite3.OperationalError, "SQLITE_IOERR_READ"), FawkesError),
        (_error(sqlite3.OperationalError, "SQLITE_BUSY"), LockedError),
        (_error(sqlite3.OperationalError, "SQLITE_LOCKED"), LockedError),
        (_error(sqlite3.OperationalError, "SQLITE_CANTOPEN"), UserError),
        (_error(sqlite3.OperationalError, "SQLITE_PERM"), UserError),
        (_error(sqlite3.OperationalError, "SQLITE_AUTH"), UserError),
        (_error(sqlite3.OperationalError, "SQLITE_READONLY_DIRECTORY"), UserError),
        (_error(sqlite3.OperationalError, "SQLITE_READONLY_ROLLBACK"), UserError),
        (_error(sqlite3.DatabaseError, "SQLITE_CORRUPT_VTAB"), RefusedError),
        (_error(sqlite3.DatabaseError, "SQLITE_NOTADB"), RefusedError),
        (sqlite3.ProgrammingError("closed"), BrokenError),
    ],
)
def test_errors_of_sqlite(error: sqlite3.Error, expected: type[FawkesError]) -> None:
    error_shown = translated(error, Path("/state/ledger.sqlite"))
    assert type(error_shown) is expected
    assert error_shown.where == "/state/ledger.sqlite"


def test_a_checksum_depends_on_every_part() -> None:
    same = (START, 1, 2, "Woke", "{}", "{}")
    others = [
        (b"\x01" * 32, 1, 2, "Woke", "{}", "{}"),
        (START, 2, 2, "Woke", "{}", "{}"),
        (START, 1, 3, "Woke", "{}", "{}"),
        (START, 1, 2, "Done", "{}", "{}"),
        (START, 1, 2, "Woke", "{}{", "}"),
        (START, 1, 2, "Woke", "", "{}{}"),
    ]
    digests = {digest_of(*each) for each in (same, *others)}
    assert len(digests) == 1 + len(others)
