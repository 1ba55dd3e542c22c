"""The queue between the hands of the live world and the engine: events in the order of their times."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import replace

from fawkes.core.events import Event
from fawkes.live.timers import Clock


class Mailbox:
    """Takes events from any thread; the engine takes them out. Times never run backwards."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._last_us = 0

    def post(self, event: Event) -> None:
        """An event with a time of its own; it is moved up when a later one was posted before."""
        with self._lock:
            if event.at_us < self._last_us:
                event = replace(event, at_us=self._last_us)
            self._last_us = event.at_us
            self._queue.put(event)

    def tell(self, make: Callable[[int], Event]) -> None:
        """An event that happens now; ``make`` gets the time."""
        with self._lock:
            self._last_us = max(self._last_us, self.clock.now_us())
            self._queue.put(make(self._last_us))

    def take(self) -> Event | None:
        """The next event; waits for it. None after `end`."""
        return self._queue.get()

    def end(self) -> None:
        """There will be no more."""
        self._queue.put(None)
