"""The memory of the compiled model: it grows between calls, because compiled functions cannot make it longer.

So there is always room for all that can happen until the next call: as many attempts at once as there are slots, as
many finished maps as the jobs under way have.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

import numpy as np

from fawkes.sim.hadoop.compiled.layout import CELL, ENTRY, HEADER, JOB, NONE, OWNER, POOL, RING, SLOT, Array

_FIRST = 16
_WORDS = 1 << 14
_LOG_ROWS = 1 << 12
_JOB = Struct(f"={JOB.MAP_US}q{JOB.MAPS_DONE - JOB.MAP_US}d")


class Memory:
    """Words by address. Addresses stay when it grows; ``words`` and ``floats`` are other arrays then.

    ``ints`` are the words once more: a single one is read and written there in half of the time. ``place`` is where
    they stand in the process, for compiled functions.
    """

    words: Array
    floats: Array
    ints: memoryview[int]
    place: int

    def __init__(self, *, keep_events: bool) -> None:
        self._use(np.zeros(_WORDS, np.int64))
        self._used: int = HEADER.SIZE
        self._free: dict[int, list[int]] = {}
        self._owners = self._cells = self._places = 0
        self._keep_events = keep_events

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "words": self.words[: self._used].copy(), "floats": None, "ints": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._use(state["words"])

    def _use(self, words: Array) -> None:
        # Views of the same bytes: a copy of each by itself would be another memory.
        self.words, self.floats, self.ints = words, words.view(np.float64), memoryview(words)
        self.place = int(words.ctypes.data)

    def take(self, count: int) -> int:
        """The address of so many words, all 0."""
        free = self._free.get(count)
        if free:
            address = free.pop()
            self.words[address : address + count] = 0
            return address
        address, self._used = self._used, self._used + count
        if self._used > len(self.words):
            words = np.zeros(max(2 * len(self.words), self._used), np.int64)
            words[:address] = self.words[:address]
            self._use(words)
        return address

    def put_job(self, at: int, *figures: float) -> None:
        """Write the first fields of a job, in the order of its record: integers up to ``MAP_US``, and then floats."""
        _JOB.pack_into(self.ints, 8 * at, *figures)

    def give(self, address: int, count: int) -> None:
        """Words are needed no more."""
        self._free.setdefault(count, []).append(address)

    def longer(self, field: int, before: int, count: int) -> None:
        """The block whose address stands in a word gets so many words; what is in it stays."""
        old = self.ints[field]
        new = self.take(count)
        if old != NONE:
            self.words[new : new + before] = self.words[old : old + before]
            self.give(old, before)
        self.words[field] = new

    def for_owners(self, need: int) -> None:
        """Make room for so many attempts, steps and copies at once; all of them may end in one pool at one moment."""
        if need <= self._owners:
            return
        before, self._owners = self._owners, at_least(self._owners, need)
        self._feed(HEADER.FREE_OWNERS, OWNER.SIZE, OWNER.NEXT, self._owners - before)
        # Two flows of an owner may be in one pool, and each has two words of the batch.
        at, words = self.ints[HEADER.BATCH], self.words
        words[[HEADER.BATCH_AT, HEADER.BATCH_COUNT]] -= at
        self.longer(HEADER.BATCH, 4 * before, 4 * self._owners)
        self.words[[HEADER.BATCH_AT, HEADER.BATCH_COUNT]] += self.words[HEADER.BATCH]
        if self._keep_events:
            assert not self.words[HEADER.LOGGED]
            room = max(_LOG_ROWS, 2 * self.log_room)
            self.longer(HEADER.LOG, 6 * self.ints[HEADER.LOG_ROOM], 6 * room)
            self.words[HEADER.LOG_ROOM] = room

    @property
    def log_room(self) -> int:
        """The events that one moment may have: every attempt is killed and begins again, and something more."""
        return 2 * self._owners + _FIRST

    def for_cells(self, need: int) -> None:
        """Make room for so many finished maps whose output is kept."""
        if need > self._cells:
            more = at_least(self._cells, need)
            self._feed(HEADER.FREE_CELLS, CELL.SIZE, CELL.NEXT, more - self._cells)
            self._cells = more

    def _feed(self, field: int, size: int, link: int, count: int) -> None:
        """Feed so many new records to a list of free ones."""
        records = self.take(count * size) + size * np.arange(count)
        self.words[records[:-1] + link] = records[1:]
        self.words[records[-1] + link] = self.words[field]
        self.words[field] = records[0]

    def for_pools(self, pools: int) -> None:
        """Make room for so many pools that may be due, or have changed."""
        if pools > self._places:
            before, self._places = self._places, at_least(self._places, pools)
            for field in (HEADER.DUE, HEADER.DIRTY):
                self.longer(field, before + 1 if before else 0, self._places + 1)

    def for_heap(self, pool: int, flows: int) -> None:
        """Make room for so many flows in a pool, and half as many that have been dropped."""
        self._for_part(pool, POOL.HEAP, POOL.ROOM, ENTRY.SIZE, flows + flows // 2)

    def for_ring(self, ring: int, slots: int) -> None:
        """Make room for so many free slots, and half as many of nodes that have left."""
        before, need = self.ints[ring + RING.ROOM], slots + slots // 2
        if need > before and before:
            # Its first slot comes first again, so that none is on both sides of the end.
            head, at = self.ints[ring + RING.HEAD], self.ints[ring + RING.SLOTS]
            part = self.words[at : at + before * SLOT.SIZE].reshape(before, SLOT.SIZE)
            part[:] = np.roll(part, -head, axis=0)
            self.words[ring + RING.HEAD] = 0
        self._for_part(ring, RING.SLOTS, RING.ROOM, SLOT.SIZE, need)

    def _for_part(self, record: int, field: int, room: int, size: int, need: int) -> None:
        before = self.ints[record + room]
        if need > before:
            more = at_least(before, need)
            self.longer(record + field, before * size, more * size)
            self.words[record + room] = more


def at_least(length: int, need: int) -> int:
    """Twice the length as often as it takes."""
    length = max(length, _FIRST)
    while length < need:
        length *= 2
    return length
