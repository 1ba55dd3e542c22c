"""Causes of waits of the work under way: noted by the hands, and told when it has lasted.

What that means is decided in `core.late`. A wait is told again after twice the time, so that an MR-cluster that waits
for hours is no ledger full of it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from fawkes.core.values.events import WaitSeen
from fawkes.live.base import limits
from fawkes.live.base.mailbox import Mailbox


@dataclass(slots=True)
class _Wait:
    """The latest wait of one effect: since when, when it is told next, and after which time then."""

    version: int
    waits_for: str
    since_us: int
    every_us: int
    next_us: int


class Waits:
    """The waits of all that is under way; safe to use from any thread."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._lock = threading.Lock()
        self._known: dict[str, _Wait] = {}

    def note(self, effect: str, version: int, waits_for: str) -> None:
        """The work on the effect with this key waits for something; another wait begins anew."""
        now_us, first_us = self._mailbox.clock.now_us(), limits.WAIT_TOLD_US
        with self._lock:
            known = self._known.get(effect)
            if known is None or (known.version, known.waits_for) != (version, waits_for):
                self._known[effect] = _Wait(version, waits_for, now_us, first_us, now_us + first_us)

    def moves(self, effect: str) -> None:
        """The work on an effect gets on: what it waits for is not in its way."""
        with self._lock:
            if (known := self._known.get(effect)) is not None:
                now_us = self._mailbox.clock.now_us()
                known.since_us, known.every_us, known.next_us = (
                    now_us,
                    limits.WAIT_TOLD_US,
                    now_us + limits.WAIT_TOLD_US,
                )

    def over(self, effect: str) -> None:
        """The work on an effect has ended, however."""
        with self._lock:
            self._known.pop(effect, None)

    def round(self) -> None:
        """Tell the waits that have lasted."""
        now_us = self._mailbox.clock.now_us()
        with self._lock:
            due = [(effect, wait) for effect, wait in self._known.items() if wait.next_us <= now_us]
            for effect, wait in due:
                wait.every_us *= 2
                wait.next_us = now_us + wait.every_us
                self._tell(effect, wait.version, wait.waits_for, wait.since_us)

    def _tell(self, effect: str, version: int, waits_for: str, since_us: int) -> None:
        self._mailbox.tell(
            lambda at: WaitSeen(at_us=at, effect=effect, version=version, waits_for=waits_for, since_us=since_us)
        )
