"""The record of quotas: every period of the inner loop, beside the ledger, compact, and decided again on request.

A row has what was seen and how each application stood, compressed with the row before it as its dictionary: most of a
period is the period before. Rows of more than an hour ago keep each tenth second of the courses alone. A stored state
of the loop begins each stretch that can be decided again.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, cast

from fawkes.base.errors import FawkesError, RefusedError
from fawkes.base.units import SECOND_US
from fawkes.base.version import __version__
from fawkes.core.quota.loop import step
from fawkes.core.quota.sight import ApplicationSeen, JobGoal, LoopState, Period, PeriodCourse, PeriodLook
from fawkes.core.quota.values import Divide, QuotaRules
from fawkes.core.values.events import PolicyText
from fawkes.core.values.model import NodeId, Plain
from fawkes.store import health
from fawkes.store.opening import connect
from fawkes.store.private import write_private
from fawkes.store.record import NoJsonError, RecordError, dumps, from_plain, loads, text_of, to_plain

FILE = "quotas.sqlite"
#: periods between two rows that can be read by themselves
_KEY_EVERY = 120
#: periods between two stored states of the loop
_ROOM_EVERY = 1200
#: a stretch is thinned when it ended so long ago
_WHOLE_US = 3600 * SECOND_US
#: of a thinned stretch each so many periods stay
_THIN = 20
_TABLES = (
    "CREATE TABLE IF NOT EXISTS goals (name TEXT PRIMARY KEY, goal TEXT NOT NULL) WITHOUT ROWID",
    # key: the row whose text begins the chain of dictionaries. seen is NULL in a row that was thinned.
    "CREATE TABLE IF NOT EXISTS periods (seq INTEGER PRIMARY KEY, at_us INTEGER NOT NULL, key INTEGER NOT NULL,"
    " seen BLOB, courses BLOB NOT NULL, quotas INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS rooms (seq INTEGER PRIMARY KEY, room BLOB NOT NULL, rules TEXT NOT NULL,"
    " policy TEXT NOT NULL, version TEXT NOT NULL)",
)


_IS_MADE = "SELECT 1 FROM sqlite_master WHERE name = 'rooms'"


@dataclass(frozen=True, slots=True)
class PeriodDifference:
    """A period that is decided otherwise than it was, by a version of Fawkes."""

    seq: int
    at_us: int
    version: str


class QuotaRecord:
    """The writer; one thread uses it. A full disk costs the record, not the quotas: what was not stored is skipped."""

    def __init__(self, folder: Path, policy: PolicyText, rules: QuotaRules) -> None:
        """Open the file of a state folder. It is opened, and made if there is none, with the first period."""
        self.path = folder / FILE
        self._policy, self._rules = text_of(policy), text_of(rules)
        self._goals: set[str] = set()
        self._before: tuple[str, str] | None = None
        self._seq = self._key = self._room_at = 0
        self._kept: sqlite3.Connection | None = None

    def append(self, room: LoopState, look: PeriodLook, period: Period) -> None:
        """Store a period that began with the state ``room``; FawkesError, and then the next one begins a stretch."""
        try:
            self._append(self._open(), room, look, period)
        except (sqlite3.Error, OSError) as error:
            # The goals of a step that was not stored are stored with the next one.
            self._before, self._goals = None, set()
            if self._kept is not None:
                with suppress(sqlite3.Error):
                    self._kept.execute("ROLLBACK")
            if isinstance(error, OSError):
                raise FawkesError(f"cannot be written ({error.strerror or error})", where=str(self.path)) from None
            raise health.translated(error, self.path) from None

    def _open(self) -> sqlite3.Connection:
        if self._kept is None:
            if not self.path.exists():
                write_private(self.path, b"")
            db = connect(self.path, "rw")
            db.execute(f"PRAGMA journal_mode = {health.journal_for(self.path.parent)}")
            db.execute("PRAGMA synchronous = NORMAL")
            for table in _TABLES:
                db.execute(table)
            self._seq = int(db.execute("SELECT coalesce(max(seq), 0) FROM periods").fetchone()[0])
            self._key = self._room_at = self._seq
            self._kept = db
        return self._kept

    def _append(self, db: sqlite3.Connection, room: LoopState, look: PeriodLook, period: Period) -> None:
        db.execute("BEGIN IMMEDIATE")
        seq = self._seq + 1
        before = self._before
        if before is None or seq - self._room_at >= _ROOM_EVERY:
            state = zlib.compress(text_of(room).encode())
            db.execute(
                "REPLACE INTO rooms VALUES (?, ?, ?, ?, ?)", (seq, state, self._rules, self._policy, __version__)
            )
            self._room_at, before = seq, None
            self._thin(db, look.at_us)
        if seq - self._key >= _KEY_EVERY:
            before = None
        self._key = seq if before is None else self._key
        seen, courses = dumps(self._seen(db, look)), dumps([_course_plain(course) for course in period.courses])
        packed = [_packed(text, earlier) for text, earlier in zip((seen, courses), before or ("", ""), strict=True)]
        row = (seq, look.at_us, self._key, *packed, _sum_of(period))
        db.execute("INSERT INTO periods VALUES (?, ?, ?, ?, ?, ?)", row)
        db.execute("COMMIT")
        self._seq, self._before = seq, (seen, courses)

    def _seen(self, db: sqlite3.Connection, look: PeriodLook) -> Plain:
        """A look without its goals, which are stored once."""
        for each in look.seen:
            name = _name(each.goal)
            if name not in self._goals:
                db.execute("REPLACE INTO goals VALUES (?, ?)", (name, text_of(each.goal)))
                self._goals.add(name)
        plain = cast(dict[str, Any], to_plain(look))
        for each, row in zip(look.seen, plain.get("seen", ()), strict=True):
            row["goal"] = _name(each.goal)
        return plain

    def _thin(self, db: sqlite3.Connection, now_us: int) -> None:
        """Leave of stretches that ended long ago each tenth second, without what was seen."""
        query = (
            "SELECT coalesce(max(seq), 0) FROM rooms"
            " WHERE seq <= (SELECT coalesce(max(seq), 0) FROM periods WHERE at_us < ?)"
        )
        (first,) = db.execute(query, (now_us - _WHOLE_US,)).fetchone()
        for seq, _, _, courses in list(_rows(db, last=first - 1, whole=True)):
            if seq % _THIN:
                db.execute("DELETE FROM periods WHERE seq = ?", (seq,))
            else:
                thinned = (seq, _packed(courses, ""), seq)
                db.execute("UPDATE periods SET key = ?1, seen = NULL, courses = ?2 WHERE seq = ?3", thinned)
        db.execute("DELETE FROM rooms WHERE seq < ?", (first,))

    def close(self) -> None:
        """Give the file back."""
        if self._kept is not None:
            self._kept.close()


class QuotaReader:
    """The record of a state folder, to be read while a controller writes it."""

    def __init__(self, folder: Path) -> None:
        """Open it; FawkesError when it cannot be read, RefusedError when it is damaged or of another build."""
        self.path = folder / FILE
        self._db: sqlite3.Connection | None = None
        if self.path.exists():
            db = self._ask(lambda: connect(self.path, "ro"))
            # The writer makes the file first, and this table last: one that was killed in between has recorded nothing.
            if self._ask(lambda: db.execute(_IS_MADE).fetchone()):
                self._db = db
            else:
                db.close()

    def ends(self, late: Callable[[], bool]) -> None:
        """End every query with FawkesError once ``late`` says so."""
        if self._db is not None:
            self._db.set_progress_handler(late, 100)

    def courses(
        self, job: str | None = None, after_us: int = 0, last_us: int | None = None
    ) -> list[tuple[int, PeriodCourse]]:
        """The time when and how applications stood, oldest first; empty where nothing was recorded.

        From ``after_us`` to ``last_us``, of which alone rows are read (None: to the newest).
        """
        if self._db is None:
            return []
        db = self._db
        stood: list[tuple[int, PeriodCourse]] = self._ask(
            lambda: [
                (at_us, course)
                for _, at_us, _, courses in takewhile(
                    lambda row: last_us is None or row[1] <= last_us, _rows(db, after_us=after_us)
                )
                for course in map(_course_of, cast(list[list[Any]], loads(courses)))
                if at_us >= after_us and job in (None, course.job)
            ]
        )
        return stood

    def count(self) -> int:
        """The number of periods that are stored whole, so that they can be decided again."""
        if self._db is None:
            return 0
        db = self._db
        query = "SELECT count(*) FROM periods WHERE seen IS NOT NULL"
        return int(self._ask(lambda: db.execute(query).fetchone()[0]))

    def differences(self, load: Callable[[PolicyText], Divide]) -> Iterator[PeriodDifference]:
        """The periods that this version decides otherwise, of those that are stored whole."""
        if self._db is None:
            return
        db = self._db
        query = "SELECT seq, room, rules, policy, version FROM rooms ORDER BY seq"
        stretches = self._ask(lambda: db.execute(query).fetchall())
        goals = self._ask(lambda: dict(map(_goal_of, db.execute("SELECT name, goal FROM goals"))))
        for place, (first, *texts, version) in enumerate(stretches):
            last = stretches[place + 1][0] - 1 if place + 1 < len(stretches) else None
            room, rules, policy = self._ask(partial(_stretch_of, *texts))
            divide = load(policy)
            for seq, at_us, seen, courses, stored in self._ask(partial(_whole, db, first, last)):
                period = step(room, self._ask(partial(_look_of, seen, goals)), divide, rules)
                if _sum_of(period) != stored or dumps([_course_plain(each) for each in period.courses]) != courses:
                    yield PeriodDifference(seq, at_us, version)
                room = period.room

    def _ask(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except (sqlite3.Error, zlib.error, RecordError, LookupError, TypeError, ValueError) as error:
            if isinstance(error, sqlite3.OperationalError) and not str(error).startswith("no such"):
                raise health.translated(error, self.path) from None
            what, hint = f"is damaged: {error}", "Move it away: nothing but the courses of jobs under quotas is lost"
            # What is whole and has other fields, or other columns, is no damage.
            if str(error).startswith("no such column") or (
                isinstance(error, RecordError | ValueError) and not isinstance(error, NoJsonError | UnicodeError)
            ):
                what = f"was written by {self._versions()}, and this Fawkes {__version__} cannot read it: {error}"
                hint = f"Use the version that wrote it. {hint}"
            raise RefusedError(f"the record of quotas {what}", where=str(self.path), hint=hint) from None

    def _versions(self) -> str:
        """The other versions of Fawkes that have written this record; where none is noted, another build."""
        known: set[str] = set()
        if self._db is not None:
            with suppress(sqlite3.Error):
                known.update(version for (version,) in self._db.execute("SELECT version FROM rooms"))
        return " and ".join(f"Fawkes {each}" for each in sorted(known - {__version__})) or "another build of Fawkes"

    def close(self) -> None:
        """Give the file back."""
        if self._db is not None:
            self._db.close()


def _rows(
    db: sqlite3.Connection, *, first: int = 0, last: int | None = None, after_us: int = 0, whole: bool = False
) -> Iterator[tuple[int, int, str | None, str]]:
    """Rows, each unpacked with the one before it; ``whole``: those that were not thinned alone.

    Number, time, what was seen (None: thinned) and the courses.
    """
    query = (
        "SELECT seq, at_us, key, seen, courses FROM periods WHERE seq >= ?1 AND (?2 IS NULL OR seq <= ?2)"
        " AND seq >= (SELECT coalesce(min(key), 0) FROM periods WHERE at_us >= ?3)"
        " AND (NOT ?4 OR seen IS NOT NULL) ORDER BY seq"
    )
    before = ("", "")
    for seq, at_us, key, seen, courses in db.execute(query, (first, last, after_us, whole)):
        if key == seq:
            before = ("", "")
        texts = (None if seen is None else _unpacked(seen, before[0]), _unpacked(courses, before[1]))
        before = (texts[0] or "", texts[1])
        yield seq, at_us, *texts


def _name(goal: JobGoal) -> str:
    return f"{goal.job} {goal.attempt}"


def _goal_of(row: tuple[str, str]) -> tuple[str, JobGoal]:
    return row[0], from_plain(JobGoal, loads(row[1]))


def _stretch_of(state: bytes, rules: str, policy: str) -> tuple[LoopState, QuotaRules, PolicyText]:
    room = from_plain(LoopState, loads(zlib.decompress(state).decode()))
    return room, from_plain(QuotaRules, loads(rules)), from_plain(PolicyText, loads(policy))


def _whole(db: sqlite3.Connection, first: int, last: int | None) -> list[tuple[int, int, str, str, int]]:
    """The rows of a stretch that were not thinned, each with the sum of its quotas."""
    query = "SELECT seq, quotas FROM periods WHERE seq >= ?1 AND (?2 IS NULL OR seq <= ?2)"
    sums = dict(db.execute(query, (first, last)))
    rows = takewhile(lambda row: row[2] is not None, _rows(db, first=first, last=last))
    # What the controller has added meanwhile comes with the next look.
    return [(seq, at_us, seen or "", courses, sums[seq]) for seq, at_us, seen, courses in rows if seq in sums]


def _look_of(seen: str, goals: Mapping[str, JobGoal]) -> PeriodLook:
    plain = cast(dict[str, Any], loads(seen))
    rows = []
    for row in plain.get("seen", ()):
        goal = goals[row["goal"]]
        rows.append(from_plain(ApplicationSeen, {**row, "goal": to_plain(goal)}))
    nodes = {NodeId(node): cores for node, cores in plain.get("nodes", {}).items()}
    return PeriodLook(at_us=plain["at_us"], seen=tuple(rows), nodes=nodes, unset=plain.get("unset", {}))


def _packed(text: str, before: str) -> bytes:
    """A text compressed with the one before it as its dictionary."""
    packer = zlib.compressobj(9, wbits=-15, zdict=before.encode()[-32768:])
    return packer.compress(text.encode()) + packer.flush()


def _unpacked(packed: bytes, before: str) -> str:
    return zlib.decompressobj(wbits=-15, zdict=before.encode()[-32768:]).decompress(packed).decode()


def _sum_of(period: Period) -> int:
    return zlib.crc32(dumps({node: dict(quotas) for node, quotas in period.quotas.items()}).encode())


def _course_plain(course: PeriodCourse) -> list[Plain]:
    numbers = (course.set_point, course.progress, course.requested, course.given)
    rounded = (None if each is None else round(each, 3) for each in numbers)
    return [course.job, course.way, course.stage, *rounded, course.unset]


def _course_of(row: list[Any]) -> PeriodCourse:
    names = ("job", "way", "stage", "set_point", "progress", "requested", "given", "unset")
    return from_plain(PeriodCourse, dict(zip(names, row, strict=True)))
