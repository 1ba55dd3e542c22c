"""A store in memory, for simulations and tests: the same answers as the ledger, gone with the process."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from fawkes.base.errors import BrokenError
from fawkes.core.values.decision import Decision, DropPending
from fawkes.core.values.events import Event, Started
from fawkes.core.values.model import Plain
from fawkes.engine.ports import Entry
from fawkes.store.base import Identity, Latest, Telling, mentioned, place
from fawkes.store.record import to_plain


class MemoryStore:
    """Keeps the values themselves; indexes are caught up when somebody asks, so that storing a step costs nothing."""

    def __init__(self, pool_id: str = "memory") -> None:
        self._pool_id = pool_id
        self._entries: list[Entry] = []
        self._snapshots: list[tuple[int, Plain]] = []
        self._indexed = 0
        self._latest: dict[str, dict[str, Latest]] = {}
        self._mentions: dict[tuple[str, str], list[int]] = {}
        self._last_epoch = 0

    def append(self, event: Event, decision: Decision) -> int:
        """Store one step; its number."""
        seq = len(self._entries) + 1
        self._entries.append(Entry(seq, event, decision))
        return seq

    def entries(self, after: int = 0, *, kinds: Sequence[str] = ()) -> Iterator[Entry]:
        """The steps after number ``after``, oldest first; only those of the classes ``kinds`` unless it is empty."""
        for index in range(max(0, after), len(self._entries)):
            entry = self._entries[index]
            if not kinds or type(entry.event).__name__ in kinds:
                yield entry

    def entry(self, seq: int) -> Entry | None:
        """The step of that number; None when there is none."""
        return self._entries[seq - 1] if 0 < seq <= len(self._entries) else None

    def last_seq(self) -> int:
        """The number of the last step; 0 when there is none."""
        return len(self._entries)

    def seq_at(self, at_us: int) -> int:
        """The number of the last step before that time; 0 when there is none."""
        return bisect_left(self._entries, at_us, key=lambda entry: entry.event.at_us)

    def latest(self, kind: str, telling: Telling | None = None) -> list[Latest]:
        """The latest change of each subject of a kind, by subject; with ``telling`` only of which that is true."""
        self._catch_up()
        rows = sorted(self._latest.get(kind, {}).items())
        return [row for name, row in rows if telling is None or telling(name, to_plain(row.change))]

    def mentions(self, kind: str, subject: str | None = None) -> list[int]:
        """The numbers of the steps that changed or gave a reason for a subject (None: any of the kind), ascending."""
        self._catch_up()
        if subject is not None:
            return list(self._mentions.get((kind, subject), ()))
        return sorted({seq for (of, _), seqs in self._mentions.items() if of == kind for seq in seqs})

    def identity(self) -> Identity:
        """The id given at the start and the highest epoch stored."""
        self._catch_up()
        return Identity(self._pool_id, self._last_epoch)

    def snapshot(self, seq: int, state: Plain) -> None:
        """Store the state after step ``seq``; the older snapshots but one are dropped."""
        if not 0 < seq <= len(self._entries):
            raise BrokenError(f"a snapshot after step {seq}, but the last step is {len(self._entries)}")
        self._snapshots = [*(kept for kept in self._snapshots if kept[0] < seq), (seq, state)][-2:]

    def latest_snapshot(self) -> tuple[int, Plain] | None:
        """The latest snapshot; None before the first."""
        return self._snapshots[-1] if self._snapshots else None

    def close(self) -> None:
        """Nothing is held."""

    def _catch_up(self) -> None:
        for index in range(self._indexed, len(self._entries)):
            self._index(self._entries[index])
        self._indexed = len(self._entries)

    def _index(self, entry: Entry) -> None:
        if isinstance(entry.event, Started):
            self._last_epoch = max(self._last_epoch, entry.event.epoch)
        for change in entry.decision.changes:
            kind, subject = place(change)
            if isinstance(change, DropPending):
                self._latest.get(kind, {}).pop(subject, None)
            else:
                self._latest.setdefault(kind, {})[subject] = Latest(subject, entry.seq, change)
        for named in mentioned(entry.decision):
            self._mentions.setdefault(named, []).append(entry.seq)
