"""Goals by key, worked on one at a time for each key; the latest goal wins."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from fawkes.core.effects import Effect

_log = logging.getLogger(__name__)


class Reconciler:
    """Hands each goal to ``act`` on a bounded pool of threads; ``act`` never runs twice at once for a key.

    A goal that arrives while an older one of its key is worked on is taken up right after it; goals in between are
    skipped. ``act`` reports by posting events and asks `is_current` before it does anything that a newer goal forbids.
    """

    def __init__(self, act: Callable[[Effect], None], threads: int) -> None:
        self._act = act
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="hands")
        self._lock = threading.Lock()
        self._goals: dict[str, Effect] = {}
        self._busy: set[str] = set()
        self._closed = False

    def want(self, effect: Effect) -> None:
        """This is the goal of its key from now on."""
        with self._lock:
            if self._closed:
                return
            self._goals[effect.key] = effect
            if effect.key in self._busy:
                return
            self._busy.add(effect.key)
        self._pool.submit(self._work, effect.key)

    def is_current(self, effect: Effect) -> bool:
        """Whether no newer goal of the key has arrived and work goes on at all."""
        with self._lock:
            return not self._closed and self._goals.get(effect.key) is effect

    def goal(self, key: str) -> Effect | None:
        """The latest goal of a key; None when there was none."""
        with self._lock:
            return self._goals.get(key)

    def forget(self, key: str) -> None:
        """The goal of this key is reached and needs no memory."""
        with self._lock:
            self._goals.pop(key, None)

    def close(self) -> None:
        """Take no more goals; what is being worked on notices by `is_current` and is not waited for."""
        with self._lock:
            self._closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _work(self, key: str) -> None:
        while True:
            with self._lock:
                effect = self._goals.get(key)
            if effect is not None:
                try:
                    self._act(effect)
                except Exception:
                    _log.exception("a defect while working on %s", key)
            with self._lock:
                if self._closed or self._goals.get(key) is effect or key not in self._goals:
                    self._busy.discard(key)
                    return
