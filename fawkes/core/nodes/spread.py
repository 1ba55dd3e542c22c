"""The spread of an input set over the core nodes of an MR-cluster: is it even?"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fawkes.base.units import show_bytes

#: the fullest core node may have this much of the mean: more, and its disks are what jobs wait for
SKEW_LIMIT = 1.25


def skew_of(held: Mapping[str, int], nodes: Collection[str]) -> float:
    """The most that one of the nodes holds over their mean; 1 is even, also when there is nothing."""
    total = sum(held.get(node, 0) for node in nodes)
    return max(held.get(node, 0) for node in nodes) * len(nodes) / total if total else 1.0


def uneven(held: Mapping[str, int], core: Collection[str], block_bytes: int) -> str:
    """The faults of the spread of the bytes ``held`` by each node; empty when nothing is.

    A block cannot be divided: a difference of one or two is no fault.
    """
    strangers = sorted(set(held) - set(core))
    if strangers:
        return f"input lies on {', '.join(strangers)}, which are not core nodes"
    sizes = [held.get(node, 0) for node in core]
    most, least = max(sizes), min(sizes)
    if skew_of(held, core) <= SKEW_LIMIT or most - least <= 2 * block_bytes:
        return ""
    return f"the fullest core node has {show_bytes(most)} of the input, the emptiest {show_bytes(least)}"
