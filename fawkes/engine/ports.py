"""The two things an engine needs: a world to act in and a store that remembers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from fawkes.base.errors import HeldUpError
from fawkes.core.values.decision import Decision
from fawkes.core.values.effects import Effect
from fawkes.core.values.events import Event


class World(Protocol):
    """The place where events come from and effects go to.

    The contract (tests/contract holds both worlds to it): `start` returns at once; an effect that is started again, or
    whose goal holds already, is confirmed again and does no harm; a newer goal for the same key replaces the older;
    each effect ends as events, also when it fails; times of events never run backwards.
    """

    def next_event(self) -> Event | None:
        """The next event; waits for it. None when there will be none: the run is over."""

    def start(self, effects: Iterable[Effect]) -> None:
        """Take these goals over; they were stored before."""

    def wait_for_room(self, error: HeldUpError) -> bool:
        """Called while a step cannot be stored: returns when it is time to try again; False when the run is over.

        Until `next_event` is called again the step is not stored. What happens meanwhile must not pile up without
        bound: a fact that is true no more, or said twice, may be dropped; a request of a person is refused.
        """

    def close(self) -> None:
        """Stop working; leave everything outside as it is."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One step of the ledger: its number (from 1), what happened, what was decided."""

    seq: int
    event: Event
    decision: Decision


class Store(Protocol):
    """Remembers every step."""

    def append(self, event: Event, decision: Decision) -> int:
        """Store one step durably; its number. Returns only when it would survive a crash.

        HeldUpError when it takes nothing now: nothing was stored, and the same step may be offered again.
        """

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """The steps after number ``after``, oldest first."""
