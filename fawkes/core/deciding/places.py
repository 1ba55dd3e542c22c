"""The places of nodes that MR-clusters hold: which other facts of an inventory may count meanwhile. Pure.

With another work folder a wipe would find nothing and call the node clean, and another address may be another machine.
"""

from __future__ import annotations

from fawkes.core.deciding.ruling import LeaseSeen
from fawkes.core.values.lifecycle import HELD
from fawkes.core.values.model import Node, NodeState

_FIXED = ("work_dir", "user")
_WAY = ("address", "port", "data_address")


def other_place(held: NodeState, listed: Node, *, same_machine: bool) -> list[str]:
    """The facts that may not change while a node is held: where its data lies, and the way there.

    The way may change if it is shown to lead to the same machine. What an earlier version did not store is not
    compared.
    """
    if held.life not in HELD:
        return []
    was, now = held.node.details, listed.details
    return [key for key in (_FIXED if same_machine else _FIXED + _WAY) if key in was and was[key] != now.get(key)]


def is_there(held: NodeState, lease: LeaseSeen | None) -> bool:
    """True if a lease is that of the hand-over by which a node is held: it was found on the same machine."""
    if lease is None or not lease.cluster or lease.generation != held.generation:
        return False
    return held.owner in (None, lease.cluster)
