"""JS, job slowdown: mean over jobs of elapsed over reference time on a static MR-cluster (paper section 4.3)."""

from fawkes.policy import Window

NAME = "JS"


def measure(window: Window) -> float | None:
    """Mean slowdown so far of running and waiting jobs that have a reference time; None when only others were there."""
    slowdown = window.mean("job_slowdown")
    unknown = any(sample.job_slowdown is None for sample in window.samples)
    return None if unknown and not slowdown else slowdown
