"""Checks that tell if a file is a ledger that can be trusted. Nothing here writes."""

from __future__ import annotations

import os
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from stat import S_ISREG

from fawkes.base.errors import BrokenError, FawkesError, FullError, LockedError, RefusedError, UserError
from fawkes.store.schema import APPLICATION_ID, BLOCKS_SINCE, FORMAT, OPENED, file_format
from fawkes.store.steps import RESTORE, START, Steps, damaged

_HEADER_BYTES = 100
_PERMISSIONS = "Look at the permissions of the file and its folder"
_NOT_STORED = "The step was not stored and nothing of it was done."
#: file systems on which SQLite's shared memory for write-ahead logging does not work
_REMOTE = frozenset({"nfs", "nfs3", "nfs4", "cifs", "smb3", "smbfs", "lustre", "gpfs", "beegfs", "ceph", "afs", "9p"})
#: what a disk says that has no room, or no more for this user or this process
_NO_ROOM = ("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE")
#: a disk with less than this is full, whatever it answers: a network disk may only notice when it is to synchronise
_LEAST_FREE = 1 << 16
#: all pages of a smaller ledger are looked at whenever a controller starts: a tenth of a second
_SMALL = 1 << 26


def translated(error: sqlite3.Error, path: Path) -> FawkesError:
    """An error of SQLite, translated for whoever runs Fawkes."""
    name = getattr(error, "sqlite_errorname", "")
    if isinstance(error, (sqlite3.InterfaceError, sqlite3.ProgrammingError)):
        return BrokenError(f"the ledger was used incorrectly: {error}", where=str(path))
    if name.startswith(_NO_ROOM) or (name.startswith("SQLITE_IOERR") and _no_room(path.parent)):
        what = (
            "the disk is full"
            if name == "SQLITE_FULL"
            else f"the disk accepts no more data ({name}: check its quota and limits)"
        )
        return FullError(what, where=str(path), hint=f"{_NOT_STORED} {FullError.way_out}")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        hint = f"{LockedError.way_out}, and try again"
        return LockedError("another program has locked the ledger", where=str(path), hint=hint)
    if name in ("SQLITE_READONLY_ROLLBACK", "SQLITE_READONLY_RECOVERY"):
        hint = "Start `fawkes run` once: it removes the incomplete step"
        return UserError("the controller was killed while it wrote", where=str(path), hint=hint)
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")):
        return UserError(f"the ledger cannot be opened: {error}", where=str(path), hint=_PERMISSIONS)
    if name.startswith("SQLITE_IOERR"):
        hint = f"{_NOT_STORED} Look at the disk, its quota and its limits"
        return FawkesError(f"the disk failed: {error} ({name})", where=str(path), hint=hint)
    return damaged(path, str(error))


def _no_room(folder: Path) -> bool:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _LEAST_FREE


def check_header(path: Path) -> None:
    """Refuse what is no ledger of this or an older format, by its first page.

    The file is opened by SQLite alone: whoever opens it otherwise takes all of this process's locks from it when he
    closes it again, and the next program that is done with it would take the controller's log away.
    """
    size = _size(path)
    log = size_of(path, "-wal")
    if size < _HEADER_BYTES and not log:
        raise damaged(path, f"it has {size} bytes")
    if size <= 1:
        # SQLite itself takes such a file for a new one, and deletes the log beside it.
        raise damaged(path, f"it has {size} bytes, but the log beside it has {log}")
    application, version = _says(path, log, alone=size >= _HEADER_BYTES)
    if application != APPLICATION_ID:
        raise RefusedError(
            "this SQLite file belongs to another program", where=str(path), hint="It was not changed. Move it away"
        )
    check_format(path, version)


def _size(path: Path) -> int:
    try:
        status = path.stat()
    except FileNotFoundError:
        raise UserError(
            "there is no ledger", where=str(path), hint="Start `fawkes run` once, or name the site with --site"
        ) from None
    except OSError as error:
        raise UserError(f"the ledger cannot be read: {error.strerror}", where=str(path), hint=_PERMISSIONS) from None
    if not S_ISREG(status.st_mode):
        raise UserError("the ledger cannot be read: it is not a file", where=str(path), hint=RESTORE)
    return status.st_size


def beside(path: Path, ending: str) -> Path:
    """The file that SQLite keeps beside a ledger: ``-wal`` (what is not yet in it), ``-journal`` (what was in it)."""
    return path.with_name(f"{path.name}{ending}")


def size_of(path: Path, ending: str) -> int:
    """The bytes of a file beside a ledger; 0 without one."""
    try:
        return beside(path, ending).stat().st_size
    except OSError:
        return 0


def _says(path: Path, log: int, *, alone: bool) -> tuple[int, int]:
    """The program and the format in the header.

    The file is asked ``alone`` first, so that nothing appears beside the file of another program. A full disk or a kill
    may have left a sound ledger in a state that only makes sense together with its log: then both are asked.
    """
    ways = [*(["mode=ro&immutable=1"] if alone else []), *(["mode=ro"] if log else [])]
    for way in ways:
        try:
            return _header(path, way)
        except sqlite3.Error as error:
            if way == ways[-1]:
                if getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB":
                    raise RefusedError("this is not an SQLite file", where=str(path), hint=RESTORE) from None
                raise translated(error, path) from None
    raise damaged(path, "it has no header")


def _header(path: Path, how: str) -> tuple[int, int]:
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True)) as connection:
        # A file that is shorter than its header says would not even tell whose it is.
        connection.execute("PRAGMA writable_schema = ON")
        return int(connection.execute("PRAGMA application_id").fetchone()[0]), file_format(connection)


def check_format(path: Path, version: int) -> None:
    """Refuse a ledger of a newer Fawkes."""
    if version > FORMAT:
        raise RefusedError(
            f"the ledger has format {version}, this Fawkes knows formats up to {FORMAT}",
            where=str(path),
            hint="The ledger was not changed. Use the newer Fawkes that wrote it",
        )


def check_whole(connection: sqlite3.Connection, path: Path, *, everything: bool = False) -> int:
    """Refuse a ledger whose pages or steps are damaged; how many steps were looked at.

    Steps are checked from the latest snapshot on, or from the first one with ``everything``. Pages are all checked
    with ``everything``, of a small ledger, and when the machine stopped under a controller: a disk that lost its power
    may have lost pages. A process that was killed has lost none.
    """
    version = file_format(connection)
    check_format(path, version)
    _check_length(connection, path)
    if everything or _size(path) <= _SMALL or _may_lack_pages(connection, version):
        for (said,) in connection.execute("PRAGMA quick_check(1)"):
            if said != "ok":
                raise damaged(path, str(said))
    snapshot = None if everything else connection.execute("SELECT max(seq) FROM snapshots").fetchone()[0]
    count = 0
    seq, digest = snapshot or 0, START
    for row in Steps(connection, path, blocks=version >= BLOCKS_SINCE).after(snapshot or 0):
        seq, digest, count = row.seq, row.digest, count + 1
    check_end(connection, path, seq, digest if count else None)
    return count


def _check_length(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that was cut. What is missing at its end may still be in its log."""
    pages, page = (int(connection.execute(f"PRAGMA {what}").fetchone()[0]) for what in ("page_count", "page_size"))
    size = _size(path)
    if size < pages * page and not size_of(path, "-wal"):
        raise damaged(path, f"it has {size} bytes of {pages * page}")


def _may_lack_pages(connection: sqlite3.Connection, version: int) -> bool:
    """True if the machine may have stopped while a controller had the ledger, or nobody noted that."""
    if version < BLOCKS_SINCE:
        return True
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (OPENED,)).fetchone()
    return row is not None and row[0] != boot()


def boot() -> str:
    """The id of this start of this machine; never the same twice where nobody can say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"not known {uuid.uuid4()}"


def check_end(connection: sqlite3.Connection, path: Path, seq: int, digest: bytes | None = None) -> None:
    """Refuse a ledger whose last step is not the one that was stored last."""
    head = connection.execute("SELECT seq, digest FROM head").fetchone()
    if head is None:
        raise damaged(path, "its last step is not recorded")
    if head[0] != seq or (digest is not None and head[1] != digest):
        raise damaged(path, f"its last step is {seq}, but it once had {head[0]}")


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
