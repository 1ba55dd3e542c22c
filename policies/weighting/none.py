"""None, the static baseline: every MR-cluster stays at its minimum for ever (paper section 4.3)."""

from fawkes.policy import MINIMUM, Minimum, Window

NAME = "None"


def measure(window: Window) -> Minimum:
    """Always the minimum."""
    return MINIMUM
