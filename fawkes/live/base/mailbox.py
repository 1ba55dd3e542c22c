"""The queue between the hands of the live world and the engine: events in the order of their times."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeVar

from fawkes.base.errors import DeadlineError, FawkesError
from fawkes.core.values.events import ClockSeen, Event, NodeObserved, NodeSeen, in_one
from fawkes.live.base.timers import Clock

T = TypeVar("T")
_LOOK_S = 0.1
#: what an event speaks of, as far as it has these fields: a later one of its class that speaks of the same replaces it
_SUBJECT = ("cluster", "node", "generation", "condition", "job", "attempt", "progress", "effect", "version")


class Mailbox:
    """Takes events from any thread; the engine takes them out. Times never run backwards.

    While it is held, because the engine cannot go on, it keeps one fact of each kind and subject, the latest, and
    refuses what people ask for: it never grows beyond what there is to see.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Event | Callable[[], None] | None] = queue.SimpleQueue()
        #: taken off the queue, and not handed over yet: one at most
        self._ahead: list[Event | Callable[[], None] | None] = []
        self._last_us = 0
        self._ended = False
        self._refusal: FawkesError | None = None
        self._kept: dict[Hashable, Event] = {}
        self._taken: tuple[str, float] | None = None

    @property
    def refusal(self) -> FawkesError | None:
        """The error that people get while it is held; None while it is not."""
        return self._refusal

    def post(self, event: Event) -> None:
        """An event with a time of its own; it is moved up when a later one was posted before.

        The refusal of `hold` when somebody asks for something while it is held.
        """
        with self._lock:
            self._see_clock()
            if event.at_us < self._last_us:
                event = replace(event, at_us=self._last_us)
            self._put(event)

    def tell(self, make: Callable[[int], Event]) -> None:
        """An event that happens now; ``make`` gets the time."""
        with self._lock:
            self._see_clock()
            self._put(make(max(self._last_us, self.clock.now_us())))

    def look(self) -> None:
        """See whether the machine's clock was set, if nothing else happens."""
        with self._lock:
            self._see_clock()

    def _see_clock(self) -> None:
        """A clock that was set is told before anything has the new time. While held, our time does not follow it."""
        if self._refusal is None and (step := self.clock.step()) is not None:
            at_us = max(self._last_us, self.clock.now_us())
            self._put(ClockSeen(at_us=at_us, by_us=step.by_us, moved_us=step.moved_us))

    def _put(self, event: Event) -> None:
        if self._refusal is None:
            self._queue.put(event)
        elif hasattr(event, "ask"):
            raise self._refusal
        else:
            kind = (type(event), *(getattr(event, name, None) for name in _SUBJECT))
            # The latest comes last: times must not run backwards.
            self._kept.pop(kind, None)
            self._kept[kind] = event
        self._last_us = event.at_us

    def take(self) -> Event | None:
        """The next event, or the news of all nodes that have come by now; waits for it. None after `end`."""
        self._taken = None
        while callable(event := self._ahead.pop() if self._ahead else self._queue.get()):
            event()
        if isinstance(event, NodeObserved | NodeSeen):
            event = self._with_more(event)
        self._taken = (type(event).__name__, time.monotonic())
        return event

    def _with_more(self, first: NodeObserved | NodeSeen) -> Event:
        """News of a node with what came of nodes right after it: each by itself would have the masters told anew."""
        news = [first]
        while not self._queue.empty():
            following = self._queue.get()
            if not isinstance(following, NodeObserved | NodeSeen):
                self._ahead.append(following)
                break
            news.append(following)
        return in_one(news)

    def between(self, look: Callable[[], T], within_s: float) -> T:
        """The answer of ``look``, which the engine's thread gives between two events; it changes nothing.

        DeadlineError when the engine has no time for it within ``within_s``.
        """
        answer: Future[T] = Future()

        def run() -> None:
            if not answer.set_running_or_notify_cancel():
                return
            try:
                answer.set_result(look())
            except Exception as error:
                answer.set_exception(error)

        self._queue.put(run)
        try:
            return answer.result(within_s)
        except TimeoutError:
            answer.cancel()
            hint = "Nothing was done. `fawkes status` shows what the controller works on"
            raise DeadlineError(f"the controller has not looked at this within {within_s:g} s", hint=hint) from None

    def at_work(self) -> tuple[str, float]:
        """The kind of the event that was taken last, and for how many seconds the engine has worked on it.

        ("", 0) while the engine waits for the next one.
        """
        taken = self._taken
        return ("", 0.0) if taken is None else (taken[0], time.monotonic() - taken[1])

    def hold(self, refusal: FawkesError) -> None:
        """Keep what comes in bounds, until `release`; people are told ``refusal``."""
        with self._lock:
            self._refusal = refusal

    def release(self) -> None:
        """Hand over what was kept."""
        with self._lock:
            self._refusal = None
            for event in self._kept.values():
                self._queue.put(event)
            self._kept.clear()

    def wait(self, seconds: float) -> bool:
        """Wait so long; False, and at once, when the run is to end."""
        # No lock is taken: whoever ends the run may be a signal within this very wait.
        until = time.monotonic() + seconds
        while not self._ended and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_S))
        return not self._ended

    def end(self) -> None:
        """There will be no more."""
        self._ended = True
        self._queue.put(None)
