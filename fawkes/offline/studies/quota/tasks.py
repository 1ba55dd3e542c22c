"""Tasks of a stage: how long each is, and how an executor with a quota goes through its part of them."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from fawkes.offline.studies.quota import fixed
from fawkes.workload.seeds import rng


class Part:
    """The tasks of one executor: its slots take them in order and share its quota equally.

    All running tasks have the same speed at any moment. So the order in which they end does not depend on the quota: it
    is found once, on a clock that stands still without cores (``at``), and a quota only says how fast that clock goes.
    """

    def __init__(self, lengths: Sequence[float], slots: int) -> None:
        self.slots = slots
        free = [0.0] * slots
        self.tasks = []
        for length in lengths:
            start = free[0]
            heapq.heapreplace(free, start + length)
            self.tasks.append((start, start + length))
        self._ends = sorted(end for _, end in self.tasks)
        self._slots_end = sorted(free)
        self.at = 0.0

    @property
    def done(self) -> int:
        """Tasks that have ended."""
        return bisect_right(self._ends, self.at + 1e-9)

    @property
    def left(self) -> int:
        """Tasks that run or wait."""
        return len(self._ends) - self.done

    @property
    def full_s(self) -> float:
        """Seconds that all of them take with a core for each slot."""
        return self._slots_end[-1]

    def advance(self, seconds: float, speed: float) -> float:
        """Go on with so many cores' worth of speed; the seconds that were not needed because all tasks ended."""
        while seconds > 0 and self.at < self.full_s - 1e-9:
            busy = self.slots - bisect_right(self._slots_end, self.at + 1e-9)
            rate = min(1.0, speed / busy)
            if rate <= 0:
                return 0.0
            until = self._slots_end[self.slots - busy]
            step_s = (until - self.at) / rate
            self.at = until if step_s <= seconds else self.at + rate * seconds
            seconds = max(0.0, seconds - step_s)
        return seconds if self.at >= self.full_s - 1e-9 else 0.0

    def waiting(self) -> list[float]:
        """The lengths of tasks that have not begun."""
        return [end - start for start, end in self.tasks if start >= self.at]

    def running(self, *, afresh: bool = False) -> list[float]:
        """The rest of each task that runs; ``afresh``: all of them, as when their node is lost."""
        return [end - (start if afresh else self.at) for start, end in self.tasks if start < self.at < end - 1e-9]


def lengths_of(seed: int, app: str, stage: int, tasks: int, mean_s: float, skew: float | None) -> list[float]:
    """Lengths of a stage's tasks with this mean: even ones differ by `fixed.SPREAD`, skewed ones by Zipf's law."""
    dice = rng(seed, "quota", app, str(stage), str(skew))
    if skew is None:
        drawn = [dice.uniform(1 - fixed.SPREAD, 1 + fixed.SPREAD) for _ in range(tasks)]
    else:
        drawn = [float(each) for each in dice.choices(range(1, fixed.RANKS + 1), cum_weights=_zipf(skew), k=tasks)]
    scale = mean_s * tasks / sum(drawn)
    return [each * scale for each in drawn]


@lru_cache
def _zipf(skew: float) -> list[float]:
    return list(accumulate(rank**-skew for rank in range(1, fixed.RANKS + 1)))
