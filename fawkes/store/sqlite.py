"""The ledger: one SQLite file in the state folder, one writer, any number of readers."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fawkes.base.errors import BrokenError, FawkesError, RefusedError, UserError
from fawkes.base.version import __version__
from fawkes.core.values.decision import Change, Decision, DropPending
from fawkes.core.values.events import Event, Started
from fawkes.core.values.model import Plain
from fawkes.engine.ports import Entry
from fawkes.store import health, opening, steps
from fawkes.store.base import PENDING, Identity, Latest, Telling, mentioned, place
from fawkes.store.lock import LOCK_FILE, StateLock, is_held
from fawkes.store.private import FOLDER_MODE
from fawkes.store.record import (
    RecordError,
    change_of,
    decision_of,
    dumps,
    event_of,
    loads,
    text_of,
)
from fawkes.store.schema import FORMAT, OPENED, file_format

T = TypeVar("T")
_log = logging.getLogger(__name__)

LEDGER_FILE = "ledger.sqlite"
_SNAPSHOTS_KEPT = 2
_REASONS = '"reasons":[{'
#: for each kind and subject the last step that said something, and what
_News = dict[tuple[str, str], tuple[int, Change]]


class LedgerReader:
    """A ledger opened for reading, also while a controller writes to it; every step that is read is checked."""

    def __init__(self, folder: Path) -> None:
        """Open the ledger of a state folder; UserError when there is none, RefusedError when it cannot be trusted."""
        self.path = folder / LEDGER_FILE
        health.check_header(self.path)
        self._db = self._ask(lambda: opening.open_to_read(self.path))
        try:
            form = self._ask(lambda: file_format(self._db))
            health.check_format(self.path, form)
            if form < FORMAT:
                if self._is_held(folder, form):
                    # What it adds would not be in the copy.
                    hint = "End its controller, which is of an older version, and start `fawkes run`"
                    raise RefusedError(f"the ledger has the older format {form}", where=str(self.path), hint=hint)
                self._db = self._ask(lambda: opening.brought_up(self._db))
            self._steps = steps.Steps(self._db, self.path)
            self._ask(self._check_end)
        except BaseException:
            self._db.close()
            raise

    def ends(self, late: Callable[[], bool]) -> None:
        """End every query with FawkesError once ``late`` says so."""
        self._db.set_progress_handler(late, 100)

    def _is_held(self, folder: Path, form: int) -> bool:
        try:
            return is_held(folder)
        except OSError as error:
            hint = f"Whether its controller runs is not known: {error.strerror}. Ask as the owner of the state folder"
            where = str(folder / LOCK_FILE)
            raise RefusedError(f"the ledger has the older format {form}", where=where, hint=hint) from None

    def _check_end(self) -> None:
        with steps.looking(self._db):
            health.check_end(self._db, self.path, self._steps.last())

    def entries(self, after: int = 0, *, kinds: Sequence[str] = (), last: int = steps.NO_END) -> Iterator[Entry]:
        """The steps after number ``after`` up to ``last``, oldest first; of the classes ``kinds`` only, if any."""
        rows = self._steps.after(after, kinds=kinds, last=last)
        while (row := self._ask(lambda: next(rows, None))) is not None:
            yield self._entry(row)

    def count(self, last: int, *, after: int = 0, kinds: Sequence[str] = (), deciding: bool = False) -> int:
        """The number of steps after ``after`` up to ``last``; of the classes ``kinds``, if any.

        ``deciding``: only those whose decision has reasons. They are told by their text: reading them as `entries`
        does takes five times as long.
        """
        if not kinds and not deciding:
            return max(last - after, 0)
        rows, count = self._steps.after(after, kinds=kinds, last=last), 0
        while (row := self._ask(lambda: next(rows, None))) is not None:
            count += not deciding or _REASONS in row.decision
        return count

    def texts(self, after: int = 0) -> Iterator[tuple[int, str, str]]:
        """The steps as they are stored: number, text of the event, text of the decision."""
        rows = self._steps.after(after)
        while (row := self._ask(lambda: next(rows, None))) is not None:
            yield row.seq, row.event, row.decision

    def entry(self, seq: int) -> Entry | None:
        """The step of that number; None when there is none."""
        row = self._ask(lambda: self._steps.step(seq))
        return None if row is None else self._entry(row)

    def last_seq(self) -> int:
        """The number of the last step; 0 when there is none."""
        return int(self._row("SELECT seq FROM head")[0])

    def seq_at(self, at_us: int) -> int:
        """The number of the last step before that time; 0 when there is none."""
        return self._ask(lambda: self._steps.seq_at(at_us))

    def latest(self, kind: str, telling: Telling | None = None) -> list[Latest]:
        """The latest change of each subject of a kind, by subject; with ``telling`` only of which that is true."""
        query = "SELECT subject, seq, change FROM latest WHERE kind = ? ORDER BY subject"
        rows = self._ask(lambda: self._db.execute(query, (kind,)).fetchall())
        return [
            Latest(subject, seq, self._change(kind, subject, seq, stored))
            for subject, seq, stored in rows
            if telling is None or self._look(partial(telling, subject), kind, subject, seq, stored)
        ]

    def mentions(self, kind: str, subject: str | None = None) -> list[int]:
        """The numbers of the steps that changed or gave a reason for a subject (None: any of the kind), ascending."""
        values: tuple[str, ...] = (kind,)
        query = "SELECT DISTINCT seq FROM mentions WHERE kind = ? ORDER BY seq"
        if subject is not None:
            query, values = "SELECT seq FROM mentions WHERE kind = ? AND subject = ? ORDER BY seq", (kind, subject)
        return [seq for (seq,) in self._ask(lambda: self._db.execute(query, values).fetchall())]

    def identity(self) -> Identity:
        """The id of the ledger and the highest epoch of a `Started` in it (0 when there is none)."""
        meta = dict(self._ask(lambda: self._db.execute("SELECT key, value FROM meta").fetchall()))
        try:
            return Identity(meta["pool_id"], int(meta["last_epoch"]))
        except (KeyError, ValueError):
            raise steps.damaged(self.path, "its identity is missing") from None

    def starts(self) -> list[tuple[int, str, bool]]:
        """The epoch and the controller of each `Started`, and whether it adopted a pool. The rest is not decoded."""
        rows, starts = self._steps.after(0, kinds=(Started.__name__,)), []
        while (row := self._ask(lambda: next(rows, None))) is not None:
            event: Any = self._read(lambda plain: plain, row.event, row.seq)
            starts.append((int(event["epoch"]), str(event["controller"]), event.get("adopted") is not None))
        return starts

    def note(self, key: str) -> str:
        """The controller's note under a key, kept in the ledger beside its steps; empty when there is none."""
        row = self._ask(lambda: self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone())
        return "" if row is None else str(row[0])

    def latest_snapshot(self) -> tuple[int, Plain] | None:
        """The latest snapshot; None before the first."""
        query = "SELECT seq, state, digest FROM snapshots ORDER BY seq DESC LIMIT 1"
        row = self._ask(lambda: self._db.execute(query).fetchone())
        if row is None:
            return None
        seq, text, digest = row
        try:
            text = steps.unpacked(text)
        except (zlib.error, UnicodeError):
            text = ""
        if steps.state_digest(seq, text) != digest:
            raise steps.damaged(self.path, f"the snapshot after step {seq} has changed since it was stored")
        return seq, self._read(lambda plain: plain, text, seq)

    def verify(self) -> int:
        """Check all of it: pages, every step, and that what reading commands see follows from the steps.

        How many steps there are; RefusedError says what is damaged.
        """
        # The file itself: what is read of an older format is a copy in memory.
        with closing(self._ask(lambda: opening.open_to_read(self.path))) as file:
            count = self._ask(lambda: health.check_whole(file, self.path, everything=True))
        self._ask(self._steps.check_kinds)
        seen: dict[tuple[str, str], str] = {}
        last_epoch = 0
        for entry in self.entries():
            if isinstance(entry.event, Started):
                last_epoch = max(last_epoch, entry.event.epoch)
            for change in entry.decision.changes:
                if isinstance(change, DropPending):
                    seen.pop((PENDING, change.key), None)
                else:
                    seen[place(change)] = text_of(change)
        rows = self._ask(lambda: self._db.execute("SELECT kind, subject, seq, change FROM latest").fetchall())
        # Another version may have written a change with other keys: both are compared as this version writes them.
        stored = {(row[0], row[1]): text_of(self._change(*row)) for row in rows}
        wrong = set(seen.items()) ^ set(stored.items())
        if wrong:
            kind, subject = min(place for place, _ in wrong)
            raise steps.damaged(self.path, f"its entry of {kind} {subject} does not follow from its steps")
        if self.identity().last_epoch != last_epoch:
            raise steps.damaged(self.path, f"its last epoch is not {last_epoch}, that of its steps")
        return count

    def copy_to(self, folder: Path) -> None:
        """Copy the ledger as it is now into a folder, on disk when this returns; a controller may go on writing to it.

        FawkesError when the folder's disk does not take it.
        """
        target = folder / LEDGER_FILE
        try:
            copy = sqlite3.connect(target, isolation_level=None)
            try:
                self._db.backup(copy)
                # The copy is one file: without this it would want a log beside it that it may not be able to make.
                copy.execute("PRAGMA journal_mode = DELETE")
            finally:
                copy.close()
        except sqlite3.Error as error:
            raise health.translated(error, target) from None
        file = os.open(target, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)

    def close(self) -> None:
        """Give the file back."""
        self._db.close()

    def _change(self, kind: str, subject: str, seq: int, stored: str | bytes) -> Change:
        return self._look(change_of, kind, subject, seq, stored)

    def _look(self, decode: Callable[[Plain], T], kind: str, subject: str, seq: int, stored: str | bytes) -> T:
        try:
            return self._read(decode, steps.unpacked(stored), seq)
        except (zlib.error, UnicodeError, AttributeError, KeyError):
            raise steps.damaged(self.path, f"its entry of {kind} {subject} cannot be read") from None

    def _entry(self, row: steps.StepRow) -> Entry:
        event = self._read(event_of, row.event, row.seq)
        return Entry(row.seq, event, self._read(decision_of, row.decision, row.seq))

    def _read(self, decode: Callable[[Plain], T], text: str, seq: int) -> T:
        try:
            return decode(loads(text))
        except RecordError as error:
            raise RefusedError(
                f"step {seq} cannot be read by Fawkes {__version__}: {error}",
                where=str(self.path),
                hint="Use the version that wrote it; its number is in the last `Started`",
            ) from None

    def _row(self, query: str, *values: object) -> tuple[Any, ...]:
        row = self._ask(lambda: self._db.execute(query, values).fetchone())
        if row is None:
            raise steps.damaged(self.path, "a table is empty that must not be")
        return tuple(row)

    def _ask(self, question: Callable[[], T]) -> T:
        try:
            return question()
        except sqlite3.Error as error:
            raise health.translated(error, self.path) from None


class Ledger(LedgerReader):
    """The ledger opened by its one writer: the controller that holds the lock of the state folder."""

    def __init__(self, folder: Path, *, durable: bool = True, block: int = steps.BLOCK) -> None:
        """Open the ledger of a state folder, or make one.

        ElsewhereError when another controller has it, RefusedError when it cannot be trusted (then it is not touched).
        Only one thread at a time may use it. Without ``durable`` a step is stored, but maybe not on disk yet, when
        `append` returns: for copies that nobody relies on before they are complete. The older steps are packed into
        blocks of ``block`` steps each; as many at least stay in rows.
        """
        try:
            folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            self._lock = StateLock(folder)
        except OSError as error:
            hint = "The controller must be able to write to its state folder"
            if error.errno == errno.ENOLCK:
                hint = "Its file system has no locks: put the state folder on a disk of this machine"
            raise UserError(f"cannot be written to: {error.strerror}", where=str(folder), hint=hint) from None
        try:
            self.path = folder / LEDGER_FILE
            if not self.path.exists():
                self._ask(lambda: opening.create(self.path))
            health.check_header(self.path)
            self._ask(lambda: opening.check(self.path))
            self._db = self._ask(lambda: opening.open_to_write(self.path, durable=durable))
            seq, digest = self._row("SELECT seq, digest FROM head")
            self._steps = steps.Steps(self._db, self.path)
            self._folded: int | None = self._ask(self._steps.folded)
        except BaseException:
            self._lock.close()
            raise
        self._seq, self._digest, self._block = int(seq), bytes(digest), block

    def append(self, event: Event, decision: Decision) -> int:
        """Store one step durably; its number. When it cannot be stored nothing of it is, and the error says why.

        HeldUpError when it cannot be stored now: then the same step may be tried again.
        """
        row = _row_of(self._seq + 1, self._digest, event, decision)
        with self._transaction() as db:
            self._steps.put(row)
            if isinstance(event, Started):
                self._put_epoch(event.epoch)
            _put_latest(db, _news(decision, row.seq))
            _put_mentions(db, [(*spot, row.seq) for spot in mentioned(decision)])
        self._seq, self._digest = row.seq, row.digest
        self._fold()
        return row.seq

    def fill(self, entries: Iterable[Entry]) -> None:
        """Store all steps of another store in this empty ledger, or none: as by `append`, in half the time.

        What would become a block soon is packed at once, and a change that a later one supersedes is not written as
        the latest of its subject. BrokenError when the ledger is not empty.
        """
        if self._seq:
            raise BrokenError(f"has {self._seq} steps, but only an empty ledger is filled", where=str(self.path))
        rows: list[steps.StepRow] = []
        news: _News = {}
        named: list[tuple[str, str, int]] = []
        seq, digest = 0, self._digest
        with self._transaction() as db:
            for seq, entry in enumerate(entries, start=1):
                event, decision = entry.event, entry.decision
                rows.append(_row_of(seq, digest, event, decision))
                digest = rows[-1].digest
                news |= _news(decision, seq)
                named += [(*spot, seq) for spot in mentioned(decision)]
                if isinstance(event, Started):
                    self._put_epoch(event.epoch)
                if len(rows) >= 2 * self._block:
                    del rows[: self._steps.pack(rows, self._block) + 1 - rows[0].seq]
            for row in rows:
                self._steps.put(row)
            _put_latest(db, news)
            _put_mentions(db, sorted(named))
        self._seq, self._digest = seq, digest
        self._folded = seq - len(rows)

    def _put_epoch(self, epoch: int) -> None:
        highest = str(max(epoch, self.identity().last_epoch))
        self._db.execute("UPDATE meta SET value = ? WHERE key = 'last_epoch'", (highest,))

    def _fold(self) -> None:
        """Pack the oldest steps that have rows, when these are many: a block takes a twentieth of the room.

        One block at a time, so that a step never waits long: 30 ms with ten MR-clusters.
        """
        if self._folded is None or self._seq - self._folded < 2 * self._block:
            return
        try:
            with self._transaction():
                folded = self._steps.fold(self._block)
        except RefusedError as error:
            # What is damaged and older than the snapshot does not stop a controller. It stays as it was found.
            _log.warning("older steps are not packed: %s", error)
            self._folded = None
        except FawkesError as error:
            _log.info("older steps are not packed now: %s", error)
        else:
            self._folded = folded

    def last_seq(self) -> int:
        """The number of the last step; 0 when there is none."""
        return self._seq

    def put_note(self, key: str, value: str) -> None:
        """Note something beside the steps, durably; an empty value takes the note away. HeldUpError as `append`."""
        with self._transaction() as db:
            if value:
                db.execute("REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))
            else:
                db.execute("DELETE FROM meta WHERE key = ?", (key,))

    def snapshot(self, seq: int, state: Plain) -> None:
        """Store the state after step ``seq``; the older snapshots but one are dropped."""
        if not 0 < seq <= self._seq:
            raise BrokenError(f"a snapshot after step {seq}, but the last step is {self._seq}")
        text = dumps(state)
        with self._transaction() as db:
            values = (seq, steps.packed(text), steps.state_digest(seq, text))
            db.execute("REPLACE INTO snapshots (seq, state, digest) VALUES (?, ?, ?)", values)
            db.execute(
                "DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT ?)",
                (_SNAPSHOTS_KEPT,),
            )

    def beat(self) -> None:
        """Leave a sign of life for whoever looks at the lock; from any thread."""
        self._lock.beat()

    def settle(self) -> None:
        """Make the ledger one file, on disk when this returns, which may be renamed once it is closed.

        HeldUpError when the disk has no room for that, or another program has the ledger open. More may be stored.
        """
        self._row("PRAGMA journal_mode = DELETE")

    def close(self) -> None:
        """Give the file and the lock back; a log that does not fit into the file is a warning."""
        try:
            # A start of the machine later, every page would be looked at without this.
            self._db.execute("DELETE FROM meta WHERE key = ?", (OPENED,))
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except sqlite3.Error as error:
            why = health.translated(error, self.path).what
            _log.warning("%s: %s; copy or move it only together with %s-wal beside it", self.path, why, self.path.name)
        super().close()
        self._lock.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield self._db
            self._db.execute("COMMIT")
        except BaseException as error:
            # A full disk has ended the transaction already; anything else has not.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise health.translated(error, self.path) from None
            raise


def _row_of(seq: int, before: bytes, event: Event, decision: Decision) -> steps.StepRow:
    said = seq, event.at_us, type(event).__name__, text_of(event), text_of(decision)
    return steps.StepRow(*said, steps.digest_of(before, *said))


def _news(decision: Decision, seq: int) -> _News:
    """The last word of a decision on each subject."""
    return {place(change): (seq, change) for change in decision.changes}


def _put_latest(db: sqlite3.Connection, news: _News) -> None:
    """Bring `latest` up to date."""
    dropped = [spot for spot, (_, change) in news.items() if isinstance(change, DropPending)]
    kept = [
        (*spot, seq, steps.packed(text_of(change)))
        for spot, (seq, change) in news.items()
        if not isinstance(change, DropPending)
    ]
    db.executemany("DELETE FROM latest WHERE kind = ? AND subject = ?", dropped)
    db.executemany("REPLACE INTO latest (kind, subject, seq, change) VALUES (?, ?, ?, ?)", kept)


def _put_mentions(db: sqlite3.Connection, named: Iterable[tuple[str, str, int]]) -> None:
    db.executemany("INSERT INTO mentions (kind, subject, seq) VALUES (?, ?, ?)", named)
