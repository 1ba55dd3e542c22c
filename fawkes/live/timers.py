"""Time for the live world: APScheduler drives the core's timer, the samples and the watches.

Jobs do nothing but hand work on, so that a late one never piles up. Times are the larger of the last event's time and
the clock, so that live time never runs backwards.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MISSED, JobExecutionEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger

from fawkes.units import SECOND_US

_log = logging.getLogger(__name__)


class Clock:
    """Microseconds since the epoch that never run backwards, across restarts too when told the last event's time."""

    def __init__(self, not_before_us: int = 0) -> None:
        self._last_us = not_before_us
        self._lock = threading.Lock()

    def now_us(self) -> int:
        """The larger of the clock and the latest time given out."""
        with self._lock:
            self._last_us = max(self._last_us, time.time_ns() // 1000)
            return self._last_us


class Timers:
    """One wake-up time and any number of regular rounds."""

    def __init__(self, clock: Clock, wake: Callable[[], None]) -> None:
        self._clock = clock
        self._wake = wake
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": ThreadPoolExecutor(8)},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )
        self._scheduler.add_listener(_log_trouble, EVENT_JOB_ERROR | EVENT_JOB_MISSED)
        self._scheduler.start()

    def wake_at(self, at_us: int) -> None:
        """Call ``wake`` at this time or soon after; a later call replaces the time."""
        at_us = max(at_us, self._clock.now_us())
        when = datetime.fromtimestamp(at_us / SECOND_US, UTC)
        self._scheduler.add_job(self._wake, DateTrigger(when), id="wake", replace_existing=True)

    def every(self, name: str, period_us: int, do: Callable[[], None]) -> None:
        """Call ``do`` every ``period_us``; a round that is late is not made up for, and never runs beside itself."""
        trigger = IntervalTrigger(seconds=period_us / SECOND_US)
        self._scheduler.add_job(do, trigger, id=name, replace_existing=True)

    def close(self) -> None:
        """No more calls; a round under way is not waited for."""
        self._scheduler.shutdown(wait=False)


def _log_trouble(event: JobExecutionEvent) -> None:
    if event.exception is not None:
        _log.error("round %s failed: %s", event.job_id, event.exception, exc_info=event.exception)
    else:
        _log.debug("round %s was late and is skipped", event.job_id)
