"""TD, task demand: the number of tasks not yet started, of waiting and of running jobs (paper section 4.3). Default."""

from fawkes.policy import Window

NAME = "TD"


def measure(window: Window) -> float | None:
    """Mean number of tasks not yet started."""
    return window.mean("tasks_waiting")
