"""CD, CPU demand: the CPUs that jobs with deadlines hold and need, where an admission policy counts them."""

from fawkes.policy import Window

NAME = "CD"


def measure(window: Window) -> float | None:
    """Mean CPUs of running jobs and of waiting ones that can be in time; None without an admission policy."""
    return window.mean("cpus_wanted")
