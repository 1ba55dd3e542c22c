"""JT, job throughput: 2^(-q) with q = jobs completed over jobs waiting (paper eq. 6)."""

import math

from fawkes.policy import Window

NAME = "JT"


def measure(window: Window, a: float = 2.0) -> float | None:
    """a^(-q), q over the last interval and within [0, 1]; 0 when there was nothing to do."""
    done, waiting, running = window.growth("jobs_done"), window.mean("jobs_waiting"), window.mean("jobs_running")
    if done is None or waiting is None or (running is None and not done and not waiting):
        return None
    if not done and not waiting and not running:
        return 0.0
    q = done / waiting if waiting else float(done > 0)
    return math.pow(a, -min(1.0, q))
