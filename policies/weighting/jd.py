"""JD, job demand: the number of jobs waiting in the queue (paper section 4.3)."""

from fawkes.policy import Window

NAME = "JD"


def measure(window: Window) -> float | None:
    """Mean number of jobs of which no task has started."""
    return window.mean("jobs_waiting")
