"""RU, resource usage: psi PU + (1 - psi) DU (paper eq. 5); psi is 0.5 in the paper's experiments."""

from fawkes.policy import Window

NAME = "RU"


def measure(window: Window, psi: float = 0.5) -> float | None:
    """The mixture of processor and disk usage, 0 to 1."""
    processor = window.mean_ratio("slots_used", "slots_total")
    disk = window.mean_ratio("output_bytes", "storage_bytes")
    if processor is None or disk is None:
        return None
    return psi * processor + (1 - psi) * min(1.0, disk)
