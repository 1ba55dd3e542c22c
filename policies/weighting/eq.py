"""EQ, the equal baseline: nodes are always divided equally among the active MR-clusters (paper section 4.3)."""

from fawkes.policy import Window

NAME = "EQ"


def measure(window: Window) -> float:
    """The same for everybody."""
    return 1.0
