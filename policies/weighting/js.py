"""JS, job slowdown: mean over jobs of elapsed over reference time on a static MR-cluster (paper section 4.3)."""

from fawkes.policy import Window

NAME = "JS"


def measure(window: Window) -> float | None:
    """Mean slowdown so far of running and waiting jobs that have a reference time."""
    return window.mean("job_slowdown")
