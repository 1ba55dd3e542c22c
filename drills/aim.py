"""Which node a fault strikes, as the ledger stands: the same answer for both worlds."""

from __future__ import annotations

from drills.plan import Fault, Spot
from fawkes.core.state.state import State
from fawkes.core.values.model import NodeId, NodeLife, Role

_ROLES = {Spot.CORE: Role.CORE, Spot.TRANSIENT: Role.TRANSIENT, Spot.TRANSIENT_CORE: Role.TRANSIENT_CORE}


def struck(fault: Fault, view: State) -> NodeId | None:
    """The node that a fault strikes now; None while there is no such node."""
    found = sorted(_candidates(fault, view))
    return found[fault.pick % len(found)] if found else None


def _candidates(fault: Fault, view: State) -> list[NodeId]:
    if fault.spot in (Spot.MASTER, Spot.USER):
        return [c.master for c in view.clusters.values() if c.life == fault.life and c.master is not None]
    masters = {cluster.master for cluster in view.clusters.values()}
    if fault.spot is Spot.NOBODY:
        return [name for name, node in view.nodes.items() if node.life is NodeLife.FREE]
    role = _ROLES[fault.spot]
    return [
        name
        for name, node in view.nodes.items()
        if node.role is role and node.life == fault.life and name not in masters
    ]
