"""DU, disk usage: output generated since activation over storage capacity (paper section 4.3)."""

from fawkes.policy import Window

NAME = "DU"


def measure(window: Window) -> float | None:
    """Mean fraction of the storage of core and transient-core nodes that output fills, at most 1."""
    usage = window.mean_ratio("output_bytes", "storage_bytes")
    return None if usage is None else min(1.0, usage)
