"""DD, data demand: the total input of the waiting jobs, in bytes (paper section 4.3)."""

from fawkes.policy import Window

NAME = "DD"


def measure(window: Window) -> float | None:
    """Mean input bytes of the jobs of which no task has started."""
    return window.mean("bytes_waiting")
