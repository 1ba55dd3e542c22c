"""A store in memory whose disk is full now and then."""

from __future__ import annotations

from collections.abc import Callable

from fawkes.base.errors import FullError
from fawkes.core.values.decision import Decision
from fawkes.core.values.events import Event
from fawkes.store.memory import MemoryStore


class Scarce(MemoryStore):
    """Asks ``full`` before each step whether there is no room for it."""

    def __init__(self, full: Callable[[], bool]) -> None:
        super().__init__()
        self._full = full
        self.refused = 0

    def append(self, event: Event, decision: Decision) -> int:
        """Store one step; FullError, and nothing stored, while there is no room."""
        if self._full():
            self.refused += 1
            raise FullError("the disk is full")
        return super().append(event, decision)
