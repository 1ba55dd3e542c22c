"""DD, data demand: the total input of the waiting jobs, in bytes (paper section 4.3)."""

from fawkes.policy import Window

NAME = "DD"


def measure(window: Window) -> float | None:
    """Mean input bytes of the jobs of which no task has started; None while nobody knows the input of one."""
    if any(sample.bytes_waiting is None for sample in window.samples):
        return None
    return window.mean("bytes_waiting")
