"""CD, CPU demand: the CPUs that jobs with deadlines hold and need, where an admission policy counts them."""

from fawkes.policy import Window

NAME = "CD"


def measure(window: Window) -> float | None:
    """Mean CPUs of jobs that run and of waiting ones that can meet their deadlines; None without an admission policy."""
    return window.mean("cpus_wanted")
