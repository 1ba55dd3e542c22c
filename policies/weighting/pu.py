"""PU, processor usage: utilised slots over configured slots (paper section 4.3)."""

from fawkes.policy import Window

NAME = "PU"


def measure(window: Window) -> float | None:
    """Mean fraction of the slots in use, 0 to 1."""
    return window.mean_ratio("slots_used", "slots_total")
