"""The steps of a ledger as they are stored: the latest each in a row, older ones in blocks; checked whenever read."""

from __future__ import annotations

import hashlib
import lzma
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from fawkes.base.errors import RefusedError

#: steps of a block: of ten MR-clusters 3 MB of text, packed within 20 ms, unpacked within 10
BLOCK = 256
_BLOCK_BYTES, _BLOCK_LEAST = 4_000_000, 8
_PAGE = 200
NO_END = 2**62
_CACHED = 2
#: the checksum before the first row behind the last block
_BEFORE = "(SELECT k.digest FROM blocks k WHERE k.first < e.seq AND k.last = e.seq - 1 ORDER BY k.first DESC LIMIT 1)"
#: of one text of a step, unpacked: a ledger may be somebody else's
_MOST_BYTES = 1 << 28
#: shorter texts are stored as they are
_WORTH_PACKING = 512
#: a block repeats what came one step before: packing must look back that far, and needs eight times as much memory
_LOOK_BACK, _LEAST_BACK, _MOST_BACK = 4, 1 << 20, 1 << 23
_MEMORY_LIMIT = 1 << 26

START = b"\x00" * 32
RESTORE = "The ledger was not changed. Restore a backup of the folder, or move it away and begin with an empty one"


class StepRow(NamedTuple):
    """One step of the ledger: its texts, and the checksum that goes with them."""

    seq: int
    at_us: int
    kind: str
    event: str
    decision: str
    digest: bytes


def damaged(path: Path, what: str) -> RefusedError:
    """The refusal of a damaged ledger."""
    return RefusedError(f"the ledger is damaged: {what}", where=str(path), hint=RESTORE)


def packed(text: str) -> str | bytes:
    """A text as it is stored in a row: a long one compressed."""
    return zlib.compress(text.encode(), 3) if len(text) >= _WORTH_PACKING else text


def unpacked(stored: str | bytes) -> str:
    """The text behind what is stored; zlib.error or UnicodeError when there is none."""
    if not isinstance(stored, bytes):
        return stored
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(stored, _MOST_BYTES)
    if not unpacker.eof:
        raise zlib.error(f"is cut off, or longer than {_MOST_BYTES} bytes")
    return text.decode()


def digest_of(before: bytes, seq: int, at_us: int, kind: str, event: str, decision: str) -> bytes:
    """The checksum of a step: over the checksum of the step before it and all that it says."""
    return _digest(before, _spelled(seq, at_us, kind, event, decision))


def _spelled(seq: int, at_us: int, kind: str, event: str, decision: str) -> bytes:
    """A step as the bytes that its checksum covers; a block is these bytes of its steps, one after the other."""
    event_bytes, decision_bytes = event.encode(), decision.encode()
    head = f"{seq} {at_us} {kind} {len(event_bytes)} {len(decision_bytes)}\n".encode()
    return b"".join((head, event_bytes, decision_bytes))


def state_digest(seq: int, state: str) -> bytes:
    """The checksum of a snapshot."""
    return hashlib.sha256(f"{seq}\n{state}".encode()).digest()


def _digest(before: bytes, spelled: bytes) -> bytes:
    return hashlib.sha256(before + spelled).digest()


class Steps:
    """The steps behind a connection. What damages were seen is refused when the turn of the damaged step comes."""

    def __init__(self, connection: sqlite3.Connection, path: Path, *, blocks: bool = True) -> None:
        """``blocks``: whether the format of the file has any; an older one is read before it is brought up."""
        self._db = connection
        self._path = path
        self._has_blocks = blocks
        self._blocks: dict[int, list[StepRow]] = {}

    def step(self, seq: int) -> StepRow | None:
        """The step of that number, checked; None when there is none."""
        return next(self.after(seq - 1, last=seq), None) if seq > 0 else None

    def after(self, seq: int, *, kinds: Sequence[str] = (), last: int = NO_END) -> Iterator[StepRow]:
        """The steps after number ``seq``, oldest first, each one checked; without ``kinds`` none may be missing.

        At most to the step ``last``. Read in pages: a reading transaction that stays open would keep the writer from
        tidying up behind itself.
        """
        seq = max(seq, 0)
        while seq < last and (page := self._page(seq, last, tuple(kinds))):
            for row in page if isinstance(page[0], StepRow) else _checked(page, self._path):
                if not kinds and row.seq != seq + 1:
                    raise damaged(self._path, f"step {seq + 1} is missing")
                seq = row.seq
                if seq <= last:
                    yield row

    def seq_at(self, at_us: int) -> int:
        """The number of the last step before that time; 0 when there is none."""
        with looking(self._db):
            query = "SELECT coalesce(max(seq), 0) FROM entries WHERE at_us < ?"
            if seq := self._db.execute(query, (at_us,)).fetchone()[0]:
                return int(seq)
            first = self._db.execute("SELECT max(first) FROM blocks WHERE from_us < ?", (at_us,)).fetchone()[0]
            if first is None:
                return 0
            return max(row.seq for row in self._block(first) if row.at_us < at_us)

    def last(self) -> int:
        """The last step that is there; 0 when there is none."""
        return self._db.execute("SELECT max(seq) FROM entries").fetchone()[0] or self.folded()

    def folded(self) -> int:
        """The last step that is in a block; 0 when there is none."""
        row = self._db.execute("SELECT last FROM blocks ORDER BY first DESC LIMIT 1").fetchone()
        return int(row[0]) if row else 0

    def fold(self, most: int = BLOCK) -> int:
        """Make one block of the oldest steps that have rows, within the caller's transaction; its last step.

        RefusedError when one of them has changed since it was stored: then a block would hide the damage.
        """
        last = self.pack(self.after(self.folded()), most)
        self._db.execute("DELETE FROM entries WHERE seq <= ?", (last,))
        return last

    def pack(self, steps: Iterable[StepRow], most: int = BLOCK) -> int:
        """Make one block of the first of these steps, which come next and have no rows; its last step."""
        rows: list[StepRow] = []
        size = 0
        for row in steps:
            rows.append(row)
            size += len(row.event) + len(row.decision)
            if len(rows) >= most or (size >= _BLOCK_BYTES and len(rows) >= _BLOCK_LEAST):
                break
        first, last = rows[0], rows[-1]
        values = (first.seq, last.seq, first.at_us, last.digest, block_of(rows))
        self._db.execute("INSERT INTO blocks (first, last, from_us, digest, steps) VALUES (?, ?, ?, ?, ?)", values)
        kinds = [(kind, first.seq) for kind in sorted({row.kind for row in rows})]
        self._db.executemany("INSERT INTO kinds (kind, first) VALUES (?, ?)", kinds)
        return last.seq

    def put(self, row: StepRow) -> None:
        """Give a step a row, as the last one."""
        stored = (*row[:3], packed(row.event), packed(row.decision), row.digest)
        self._db.execute(
            "INSERT INTO entries (seq, at_us, kind, event, decision, digest) VALUES (?, ?, ?, ?, ?, ?)", stored
        )
        self._db.execute("UPDATE head SET seq = ?, digest = ?", (row.seq, row.digest))

    def check_kinds(self) -> None:
        """Refuse a ledger whose blocks are not found by the kinds of the events in them."""
        stored = {(str(kind), int(first)) for kind, first in self._db.execute("SELECT kind, first FROM kinds")}
        firsts = [first for (first,) in self._db.execute("SELECT first FROM blocks ORDER BY first").fetchall()]
        wrong = stored ^ {(row.kind, first) for first in firsts for row in self._block(first)}
        if wrong:
            kind, first = min(wrong)
            raise damaged(self._path, f"its index of {kind} after step {first - 1} does not follow from its steps")

    def _page(self, after: int, last: int, kinds: tuple[str, ...]) -> list[Any]:
        """Some of the steps that come next: of a block, checked, or rows as they are stored; none at the end.

        In one transaction, because the writer moves steps from rows into a block between two of them.
        """
        with looking(self._db):
            for first in self._blocks_after(after, kinds) if self._has_blocks else ():
                rows = [row for row in self._block(first) if row.seq > after and (not kinds or row.kind in kinds)]
                if rows:
                    return rows
            chosen = f" AND e.kind IN ({_marks(kinds)})" if kinds else ""
            before = _BEFORE if self._has_blocks else "NULL"
            query = (
                "SELECT e.seq, e.at_us, e.kind, e.event, e.decision, e.digest,"  # noqa: S608 - only marks
                f" coalesce((SELECT b.digest FROM entries b WHERE b.seq = e.seq - 1), {before})"
                f" FROM entries e WHERE e.seq > ? AND e.seq <= ?{chosen} ORDER BY e.seq LIMIT {_PAGE:d}"
            )
            return self._db.execute(query, (after, last, *kinds)).fetchall()

    def _blocks_after(self, after: int, kinds: tuple[str, ...]) -> list[int]:
        """The blocks to look into next, by their first steps: the first one may have these kinds before ``after``."""
        query = "SELECT first, last FROM blocks WHERE first <= ? ORDER BY first DESC LIMIT 1"
        row = self._db.execute(query, (after + 1,)).fetchone()
        begin = row[0] if row and row[1] > after else after + 1
        if not kinds:
            query = "SELECT first FROM blocks WHERE first >= ? ORDER BY first LIMIT 1"
            return [first for (first,) in self._db.execute(query, (begin,))]
        # One question for each kind: of several at once SQLite would sort what is left of the ledger.
        query = "SELECT first FROM kinds WHERE kind = ? AND first >= ? ORDER BY first LIMIT 2"
        return sorted({first for kind in kinds for (first,) in self._db.execute(query, (kind, begin))})

    def _block(self, first: int) -> list[StepRow]:
        """The steps of a block; checked once, because a block never changes."""
        if first not in self._blocks:
            query = "SELECT last, digest, steps FROM blocks WHERE first = ?"
            row = self._db.execute(query, (first,)).fetchone()
            if row is None:
                raise damaged(self._path, f"step {first} is missing")
            last, digest, steps = row
            rows = _rows_of(first, last, self._before(first), digest, steps)
            if rows is None:
                raise damaged(self._path, f"steps {first} to {last} have changed since they were stored")
            while len(self._blocks) >= _CACHED:
                del self._blocks[next(iter(self._blocks))]
            self._blocks[first] = rows
        return self._blocks[first]

    def _before(self, first: int) -> bytes:
        """The checksum of the step before a block."""
        if first == 1:
            return START
        query = "SELECT last, digest FROM blocks WHERE first < ? ORDER BY first DESC LIMIT 1"
        row = self._db.execute(query, (first,)).fetchone()
        if row is None or row[0] != first - 1:
            raise damaged(self._path, f"step {first - 1} is missing")
        return bytes(row[1])


@contextmanager
def looking(connection: sqlite3.Connection) -> Iterator[None]:
    """Questions within see one state of the ledger, whatever is written meanwhile."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def block_of(rows: Sequence[StepRow]) -> bytes:
    """Steps that follow each other as a block has them."""
    spelled = [_spelled(*row[:5]) for row in rows]
    back = min(max(_LOOK_BACK * max(map(len, spelled)), _LEAST_BACK), _MOST_BACK)
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": back}]
    return lzma.compress(b"".join(spelled), check=lzma.CHECK_NONE, filters=filters)


def _rows_of(first: int, last: int, before: bytes, digest: bytes, steps: Any) -> list[StepRow] | None:
    """The steps in a block that begins after the checksum ``before``; None when they are not what was stored."""
    rows: list[StepRow] = []
    try:
        data = lzma.decompress(steps, memlimit=_MEMORY_LIMIT)
        begin = 0
        for seq in range(first, last + 1):
            head = data.index(b"\n", begin) + 1
            number, at_us, kind, event_size, decision_size = data[begin:head].decode().split()
            middle = head + int(event_size)
            end = middle + int(decision_size)
            before = _digest(before, data[begin:end])
            texts = data[head:middle].decode(), data[middle:end].decode()
            rows.append(StepRow(seq, int(at_us), kind, *texts, before))
            if int(number) != seq:
                return None
            begin = end
    except (lzma.LZMAError, ValueError, TypeError):
        return None
    return rows if rows and begin == len(data) and before == digest else None


def _checked(rows: Iterable[tuple[Any, ...]], path: Path) -> Iterator[StepRow]:
    """The steps behind stored rows; a damaged one is refused when its turn comes."""
    for seq, at_us, kind, event, decision, digest, before in rows:
        first = START if seq == 1 else before
        if first is None:
            raise damaged(path, f"step {seq - 1} is missing")
        try:
            row = StepRow(seq, at_us, kind, unpacked(event), unpacked(decision), digest)
            good = digest == digest_of(first, *row[:5])
        except (AttributeError, UnicodeError, zlib.error):
            raise damaged(path, f"step {seq} has changed since it was stored") from None
        if not good:
            raise damaged(path, f"step {seq} has changed since it was stored")
        yield row
