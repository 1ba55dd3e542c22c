"""Whether a file is a ledger that can be trusted. Nothing here writes."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

from fawkes.errors import BrokenError, FawkesError, RefusedError, UserError
from fawkes.store.schema import APPLICATION_ID, FORMAT, file_format

_HEADER_BYTES = 100
_PAGE = 200
_NO_END = 2**62
_PERMISSIONS = "Look at the permissions of the file and its folder"
_RESTORE = "Nothing was changed. Restore a backup of the folder, or move it away and begin with an empty one"
#: file systems on which SQLite's shared memory for write-ahead logging does not work
_REMOTE = frozenset({"nfs", "nfs3", "nfs4", "cifs", "smb3", "smbfs", "lustre", "gpfs", "beegfs", "ceph", "afs", "9p"})

START = b"\x00" * 32
#: shorter texts are stored as they are
_WORTH_PACKING = 512


class Row(NamedTuple):
    """One step of the ledger: its texts, and the checksum that goes with them."""

    seq: int
    at_us: int
    kind: str
    event: str
    decision: str
    digest: bytes


def packed(text: str) -> str | bytes:
    """A text as it is stored: a long one compressed. Ten MR-clusters would fill 80 MB a day with samples otherwise."""
    return zlib.compress(text.encode(), 3) if len(text) >= _WORTH_PACKING else text


def unpacked(stored: str | bytes) -> str:
    """The text behind what is stored; zlib.error or UnicodeError when there is none."""
    return zlib.decompress(stored).decode() if isinstance(stored, bytes) else stored


def digest_of(before: bytes, seq: int, at_us: int, kind: str, event: str, decision: str) -> bytes:
    """The checksum of a step: over the checksum of the step before it and all that it says."""
    event_bytes, decision_bytes = event.encode(), decision.encode()
    head = f"{seq} {at_us} {kind} {len(event_bytes)} {len(decision_bytes)}\n".encode()
    return hashlib.sha256(b"".join((before, head, event_bytes, decision_bytes))).digest()


def state_digest(seq: int, state: str) -> bytes:
    """The checksum of a snapshot."""
    return hashlib.sha256(f"{seq}\n{state}".encode()).digest()


def damaged(path: Path, what: str) -> RefusedError:
    """The refusal of a damaged ledger."""
    return RefusedError(f"the ledger is damaged: {what}", where=str(path), hint=_RESTORE)


def translated(error: sqlite3.Error, path: Path) -> FawkesError:
    """What an error of SQLite means for whoever runs Fawkes."""
    name = getattr(error, "sqlite_errorname", "")
    if isinstance(error, (sqlite3.InterfaceError, sqlite3.ProgrammingError)):
        return BrokenError(f"the ledger was used in a wrong way: {error}", where=str(path))
    if name.startswith("SQLITE_FULL"):
        hint = "The step was not stored and nothing of it was done. Free some space and start again"
        return FawkesError("the disk is full", where=str(path), hint=hint)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        hint = "Close the program that has it open (an sqlite3 shell?) and try again"
        return FawkesError("another program has locked the ledger", where=str(path), hint=hint)
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")):
        return UserError(f"the ledger cannot be opened: {error}", where=str(path), hint=_PERMISSIONS)
    if name.startswith("SQLITE_IOERR"):
        hint = "The step was not stored and nothing of it was done. Look at the disk, its quota and its limits"
        return FawkesError(f"the disk refused to work: {error} ({name})", where=str(path), hint=hint)
    return damaged(path, str(error))


def check_header(path: Path) -> None:
    """Refuse what is no ledger of this or an older format, by its first page.

    The file is opened by SQLite alone: whoever opens it otherwise takes all of this process's locks from it when he
    closes it again, and the next program that is done with it would take the controller's log away.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        raise UserError(
            "there is no ledger", where=str(path), hint="Start `fawkes run` once, or name the site by --site"
        ) from None
    except OSError as error:
        raise UserError(f"the ledger cannot be read: {error.strerror}", where=str(path), hint=_PERMISSIONS) from None
    if not S_ISREG(found.st_mode):
        raise UserError("the ledger cannot be read: it is no file", where=str(path), hint=_RESTORE)
    if found.st_size < _HEADER_BYTES:
        raise damaged(path, f"it has {found.st_size} bytes")
    application, version = _says(path)
    if application != APPLICATION_ID:
        raise RefusedError(
            "this SQLite file belongs to another program", where=str(path), hint="Nothing was changed. Move it away"
        )
    check_format(path, version)


def _says(path: Path) -> tuple[int, int]:
    """The program and the format in the header; what a log beside it says is left alone."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            application = int(connection.execute("PRAGMA application_id").fetchone()[0])
            return application, file_format(connection)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB":
            raise RefusedError("this is no SQLite file", where=str(path), hint=_RESTORE) from None
        raise translated(error, path) from None


def check_format(path: Path, version: int) -> None:
    """Refuse a ledger of a newer Fawkes."""
    if version > FORMAT:
        raise RefusedError(
            f"the ledger has format {version}, this Fawkes knows formats up to {FORMAT}",
            where=str(path),
            hint="Nothing was changed. Use the newer Fawkes that wrote it",
        )


def check_whole(connection: sqlite3.Connection, path: Path, *, everything: bool = False) -> int:
    """Refuse a ledger whose pages or steps are damaged; how many steps were looked at.

    Steps are checked from the latest snapshot on, or from the first one with ``everything``.
    """
    for (said,) in connection.execute("PRAGMA quick_check(1)"):
        if said != "ok":
            raise damaged(path, str(said))
    check_format(path, file_format(connection))
    snapshot = None if everything else connection.execute("SELECT max(seq) FROM snapshots").fetchone()[0]
    count = 0
    seq, digest = snapshot or 0, START
    for row in rows(connection, path, after=snapshot or 0):
        seq, digest, count = row.seq, row.digest, count + 1
    _check_end(connection, path, seq, digest if count else None)
    return count


def _check_end(connection: sqlite3.Connection, path: Path, seq: int, digest: bytes | None) -> None:
    head = connection.execute("SELECT seq, digest FROM head").fetchone()
    if head is None:
        raise damaged(path, "it does not say which step is the last")
    if head[0] != seq or (digest is not None and head[1] != digest):
        raise damaged(path, f"its last step is {seq}, but it once had {head[0]}")


def rows(
    connection: sqlite3.Connection, path: Path, *, after: int = 0, kinds: tuple[str, ...] = (), only: bool = False
) -> Iterator[Row]:
    """The steps after number ``after``, oldest first, each one checked; without ``kinds`` none may be missing.

    ``only`` the next one, if it is there. Read in pages: a reading transaction that stays open would keep the writer
    from tidying up behind itself.
    """
    chosen = f" AND e.kind IN ({','.join('?' * len(kinds))})" if kinds else ""
    query = (
        "SELECT e.seq, e.at_us, e.kind, e.event, e.decision, e.digest,"  # noqa: S608 - only question marks
        " (SELECT b.digest FROM entries b WHERE b.seq = e.seq - 1)"
        f" FROM entries e WHERE e.seq > ? AND e.seq <= ?{chosen} ORDER BY e.seq LIMIT {_PAGE:d}"
    )
    last = after + 1 if only else _NO_END
    while page := connection.execute(query, (after, last, *kinds)).fetchall():
        for row in checked(page, path):
            if not kinds and row.seq != after + 1:
                raise damaged(path, f"step {after + 1} is missing")
            after = row.seq
            yield row


def checked(found: Iterable[tuple[Any, ...]], path: Path) -> Iterator[Row]:
    """The steps behind stored rows; a damaged one is refused when its turn comes."""
    for seq, at_us, kind, event, decision, digest, before in found:
        first = START if seq == 1 else before
        if first is None:
            raise damaged(path, f"step {seq - 1} is missing")
        try:
            row = Row(seq, at_us, kind, unpacked(event), unpacked(decision), digest)
            good = digest == digest_of(first, *row[:5])
        except (AttributeError, UnicodeError, zlib.error):
            raise damaged(path, f"step {seq} is not what was stored") from None
        if not good:
            raise damaged(path, f"step {seq} is not what was stored")
        yield row


def journal_for(folder: Path, mounts: str | None = None) -> str:
    """``WAL`` on a local disk, ``DELETE`` (an ordinary journal) where the folder is on a network file system.

    ``mounts`` is the text of /proc/self/mountinfo, read from there when it is not given.
    """
    try:
        text = Path("/proc/self/mountinfo").read_text() if mounts is None else mounts
    except OSError:
        return "WAL"
    place, kind = Path("/"), ""
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        point = Path(left.split()[4].replace("\\040", " "))
        if folder.resolve().is_relative_to(point) and point.is_relative_to(place):
            place, kind = point, right.split()[0]
    return "DELETE" if kind in _REMOTE or kind.startswith("fuse.ss") else "WAL"
