"""The tables of the ledger, and how a file of an older format becomes one of this format."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

#: "Fwks": what SQLite writes into the header, so that another program's file is never taken for a ledger
APPLICATION_ID = 0x46776B73

Migration = Callable[[sqlite3.Connection], None]

_FIRST = (
    # What is said once: pool_id, created_us, fawkes (the version that made the file), last_epoch, and the keys below.
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    # Every step. digest = SHA-256 over the digest before and this row: a lost or edited row is noticed.
    # Long texts, here and below, are compressed by zlib: then they are blobs.
    "CREATE TABLE entries (seq INTEGER PRIMARY KEY, at_us INTEGER NOT NULL, kind TEXT NOT NULL,"
    " event TEXT NOT NULL, decision TEXT NOT NULL, digest BLOB NOT NULL)",
    "CREATE INDEX entries_kind ON entries (kind)",
    "CREATE INDEX entries_at ON entries (at_us)",
    # The last step, so that rows cut off at the end are noticed too.
    "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, digest BLOB NOT NULL)",
    "CREATE TABLE snapshots (seq INTEGER PRIMARY KEY, state TEXT NOT NULL, digest BLOB NOT NULL)",
    # For reading commands, so that they need no replay; made from the decisions within the same transaction.
    "CREATE TABLE latest (kind TEXT NOT NULL, subject TEXT NOT NULL, seq INTEGER NOT NULL, change TEXT NOT NULL,"
    " PRIMARY KEY (kind, subject)) WITHOUT ROWID",
    "CREATE TABLE mentions (kind TEXT NOT NULL, subject TEXT NOT NULL, seq INTEGER NOT NULL,"
    " PRIMARY KEY (kind, subject, seq)) WITHOUT ROWID",
)


def first_tables(connection: sqlite3.Connection) -> None:
    """Format 1."""
    for statement in _FIRST:
        connection.execute(statement)


_BLOCKS = (
    # Steps that have no row in `entries` any more, packed together by xz: the bytes that their checksums cover, one
    # after the other. digest is that of the last one. The old rows become blocks while the controller works.
    "CREATE TABLE blocks (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, from_us INTEGER NOT NULL,"
    " digest BLOB NOT NULL, steps BLOB NOT NULL)",
    "CREATE INDEX blocks_at ON blocks (from_us)",
    # Which kinds of events a block has, so that the few starts among millions of readings are found.
    "CREATE TABLE kinds (kind TEXT NOT NULL, first INTEGER NOT NULL, PRIMARY KEY (kind, first)) WITHOUT ROWID",
)


def blocks(connection: sqlite3.Connection) -> None:
    """Format 2: steps in blocks. Nothing is moved here: a ledger of a year would keep the controller waiting."""
    for statement in _BLOCKS:
        connection.execute(statement)


#: one for each format, oldest first; never edit one that was released
MIGRATIONS: tuple[Migration, ...] = (first_tables, blocks)
FORMAT = len(MIGRATIONS)
BLOCKS_SINCE = 2
#: key in `meta`, there while a controller has the ledger: since which start of which machine
OPENED = "opened"
#: keys in `meta`: where the ledger lies (`store.place`), a take-over that is under way, the clocks (`live.timers`)
SEAL, CLAIM, CLOCK = "seal", "claim", "clock"


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> list[str]:
    """Bring a ledger to the format of ``migrations``, one transaction for each step; the names of those that ran."""
    ran = []
    for version in range(file_format(connection) + 1, len(migrations) + 1):
        step = migrations[version - 1]
        connection.execute("BEGIN IMMEDIATE")
        try:
            step(connection)
            connection.execute(f"PRAGMA user_version = {version:d}")
            connection.execute("COMMIT")
        except BaseException:
            # A full disk has ended the transaction already; anything else has not.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        ran.append(step.__name__)
    return ran


def file_format(connection: sqlite3.Connection) -> int:
    """The format that a ledger has; 0 for an empty file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
