"""NP, nodes planned: the nodes by which Spark jobs under quotas meet their deadlines (Baresi et al., eq. 6)."""

from fawkes.policy import Window

NAME = "NP"


def measure(window: Window) -> float | None:
    """Mean nodes that the plans of the stages under way need; None where no quotas are set."""
    return window.mean("nodes_planned")
