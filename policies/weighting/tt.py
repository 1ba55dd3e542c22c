"""TT, task throughput: as JT, with tasks (paper section 4.3)."""

import math

from fawkes.policy import Window

NAME = "TT"


def measure(window: Window, a: float = 2.0) -> float | None:
    """a^(-q), q = tasks completed over tasks waiting in the last interval, within [0, 1]; 0 with nothing to do."""
    done, waiting, running = window.growth("tasks_done"), window.mean("tasks_waiting"), window.mean("tasks_running")
    if done is None or waiting is None or (running is None and not done and not waiting):
        return None
    if not done and not waiting and not running:
        return 0.0
    q = done / waiting if waiting else float(done > 0)
    return math.pow(a, -min(1.0, q))
