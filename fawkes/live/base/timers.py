"""Time for the live world: APScheduler drives the core's timer, the samples and the watches.

Jobs do nothing but hand work on, so that a late one never piles up. Live time never runs backwards, and durations are
those of the monotonic clock: how far the machine's clock was set is told as a fact, and the core judges it.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MISSED, JobExecutionEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger

from fawkes.base.units import SECOND_US

_log = logging.getLogger(__name__)
_CLOCK_CHECK_S = 1.0
_WAKE = "wake"
#: a clock is set in steps, or it is off a little and slowly gets right; the second is no news
STEP_US = SECOND_US


class ClockStep(NamedTuple):
    """The machine's clock was set by ``by_us`` (below zero: back); our time follows it by ``moved_us``."""

    by_us: int
    moved_us: int


class Mark(NamedTuple):
    """Our time, the monotonic clock and the machine's clock at one moment since one start of the machine."""

    boot: str
    at_us: int
    steady_us: int
    wall_us: int

    def text(self) -> str:
        """The note for the ledger."""
        return f"{self.at_us} {self.steady_us} {self.wall_us} {self.boot}"

    @classmethod
    def of(cls, text: str) -> Mark | None:
        """The mark of a note; None for one that cannot be read."""
        try:
            at_us, steady_us, wall_us, boot = text.split(" ", 3)
            return cls(boot, int(at_us), int(steady_us), int(wall_us))
        except ValueError:
            return None

    def since(self, now: Mark, last_us: int) -> tuple[int | None, int]:
        """Time for which before ``now`` our time was ``last_us``, and how far the machine's clock was set meanwhile.

        (None, 0) when the machine was off: then nobody knows.
        """
        if now.boot != self.boot:
            return None, 0
        passed_us = now.steady_us - self.steady_us
        stepped_us = now.wall_us - self.wall_us - passed_us
        return max(0, self.at_us + passed_us - last_us), stepped_us if abs(stepped_us) > STEP_US else 0


class Clock:
    """Microseconds since the epoch that never run backwards, across restarts too when told the last event's time.

    Time goes on at the pace of the monotonic clock. It follows the machine's clock at once where that is a little
    ahead, and by `step` where that was set ahead. ``wall`` and ``steady`` give nanoseconds.
    """

    def __init__(
        self,
        not_before_us: int = 0,
        wall: Callable[[], int] = time.time_ns,
        steady: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._wall = wall
        self._steady = steady
        self._base_us = max(not_before_us, wall() // 1000)
        self._base_steady_us = steady() // 1000
        #: how far the machine's clock is behind our time, as far as that is known already
        self._behind_us = self._base_us - wall() // 1000
        self._lock = threading.Lock()

    def now_us(self) -> int:
        """The time. A machine's clock that was set ahead does not move it before `step` is asked."""
        with self._lock:
            return self._now()[0]

    def step(self) -> ClockStep | None:
        """The step of the machine's clock since this was asked last; our time follows; None when it was not."""
        with self._lock:
            now_us, wall_us, steady_us = self._now()
            behind_us = now_us - wall_us
            by_us = self._behind_us - behind_us
            if abs(by_us) <= STEP_US:
                return None
            if behind_us < 0:
                self._base_us, self._base_steady_us = wall_us, steady_us
            self._behind_us = max(0, behind_us)
            return ClockStep(by_us, max(0, -behind_us))

    def mark(self, boot: str) -> Mark:
        """The clocks now; ``boot`` says which start of the machine this is."""
        with self._lock:
            now_us, wall_us, steady_us = self._now()
            return Mark(boot, now_us, steady_us, wall_us)

    def _now(self) -> tuple[int, int, int]:
        """Our time, the machine's clock, the monotonic clock."""
        steady_us, wall_us = self._steady() // 1000, self._wall() // 1000
        now_us = self._base_us + steady_us - self._base_steady_us
        if 0 < wall_us - now_us <= STEP_US:
            now_us = self._base_us = wall_us
            self._base_steady_us = steady_us
            self._behind_us = 0
        return now_us, wall_us, steady_us


class Timers:
    """One wake-up time and any number of regular rounds."""

    def __init__(self, clock: Clock, wake: Callable[[], None], look: Callable[[], None] = lambda: None) -> None:
        """``wake`` is called when `wake_at` says so, ``look`` every second, so that a clock that was set is seen."""
        self._clock = clock
        self._wake = wake
        self._look = look
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": ThreadPoolExecutor(8)},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )
        self._scheduler.add_listener(_log_trouble, EVENT_JOB_ERROR | EVENT_JOB_MISSED)
        self._scheduler.start()
        self._ended = threading.Event()
        self._ahead_us = self._lead()
        threading.Thread(target=self._watch_the_clock, name="clock", daemon=True).start()

    def wake_at(self, at_us: int) -> None:
        """Call ``wake`` at this time or soon after; a later call replaces the time."""
        wait_us = max(0, at_us - self._clock.now_us())
        when = datetime.now(UTC) + timedelta(microseconds=wait_us)
        self._scheduler.add_job(self._wake, DateTrigger(when, UTC), id=_WAKE, replace_existing=True)

    def every(self, name: str, period_us: int, do: Callable[[], None]) -> None:
        """Call ``do`` every ``period_us``; a round that is late is not made up for, and never runs beside itself."""
        trigger = IntervalTrigger(seconds=period_us / SECOND_US, timezone=UTC)
        self._scheduler.add_job(do, trigger, id=name, replace_existing=True)

    def close(self) -> None:
        """No more calls; a round under way is not waited for."""
        self._ended.set()
        # One that goes off just then ends the scheduler's thread with an error: it looks for its job to take it away.
        with contextlib.suppress(JobLookupError):
            self._scheduler.remove_job(_WAKE)
        self._scheduler.shutdown(wait=False)

    def _lead(self) -> int:
        """The lead of our time ahead of the machine's clock."""
        return self._clock.now_us() - time.time_ns() // 1000

    def _watch_the_clock(self) -> None:
        """APScheduler waits for a time of the machine's clock: when that is set back, everything is due at once."""
        while not self._ended.wait(_CLOCK_CHECK_S):
            self._look()
            lead_us = self._lead()
            if lead_us > self._ahead_us + SECOND_US:
                _log.warning("the clock was set back by %.0f s", (lead_us - self._ahead_us) / SECOND_US)
                self.catch_up()
            self._ahead_us = lead_us

    def catch_up(self) -> None:
        """Make every call due now; one that comes too early does no harm."""
        for job in self._scheduler.get_jobs():
            with contextlib.suppress(JobLookupError):
                job.modify(next_run_time=datetime.now(UTC))


def _log_trouble(event: JobExecutionEvent) -> None:
    if event.exception is not None:
        _log.error("round %s failed: %s", event.job_id, event.exception, exc_info=event.exception)
    else:
        _log.debug("round %s was late and is skipped", event.job_id)
