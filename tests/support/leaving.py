"""A transient-core node of MR-cluster a that leaves: node03, from its drain to its wipe, and what may go wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fawkes.core.values.effects import Host
from fawkes.core.values.events import NodeSeen
from fawkes.core.values.model import ClusterId, NodeId, NodeLife, Role
from fawkes.core.values.sight import Blocks, Compute, Sight, Stored
from tests.support.desk import Desk, grown

A = ClusterId("a")
NODE = "node03"
MISSING_S, SILENT_S, DOUBT_S, HELD_S = 20, 30, 20, 15
NOT_KNOWN = "the NameNode gave no report"


def draining(role: Role = Role.TRANSIENT_CORE) -> Desk:
    """node03 begins to leave for an operator."""
    desk = grown(role, transient_leave_us=10**12, transient_core_leave_us=10**12)
    desk.drain(NODE)
    desk.done("membership:a")
    assert desk.node(NODE).life is NodeLife.DRAINING
    return desk


def evacuating() -> Desk:
    """Nothing computes on node03 any more; its blocks are next."""
    desk = draining()
    desk.now_s += 1
    desk.look(NODE, Compute.LEFT, Stored.IN_SERVICE, why=NOT_KNOWN)
    desk.done("membership:a")
    assert desk.node(NODE).life is NodeLife.EVACUATING
    desk.now_s += 1
    return desk


def died_while_leaving(**blocks: Any) -> Desk:
    """node03 is dead although its blocks are not safe elsewhere."""
    desk = evacuating()
    desk.look(NODE, Compute.LEFT, Stored.LEAVING, at_risk=("/x",), at_risk_files=1)
    desk.now_s += 1
    risk = blocks or {"missing": ("/x",), "missing_files": 1}
    desk.look(NODE, Compute.LOST, Stored.DEAD, **risk)
    assert desk.node(NODE).life is NodeLife.EVACUATING
    desk.wait(MISSING_S)
    assert desk.node(NODE).life is NodeLife.LOST
    desk.now_s += 1
    return desk


def wipes(desk: Desk, node: str = NODE) -> list[Host]:
    """The wipes of a node that the latest decision asks for."""
    return [effect for effect in desk.hosts() if effect.node == node and effect.role is None]


def never_wiped(desk: Desk, act: Callable[[], object]) -> None:
    """Whatever happens by an act, no wipe of the node begins."""
    before = len(desk.world.effects)
    act()
    effects = [e for e in desk.world.effects[before:] if isinstance(e, Host) and e.node == NODE]
    assert [e for e in effects if e.role is None] == []


def tell_sight(desk: Desk, sight: Sight, *, cluster: str = "a", generation: int | None = None) -> None:
    """Masters say how they see node03, as it is or of another generation or owner."""
    known = desk.node(NODE).generation if generation is None else generation
    desk.tell(NodeSeen(at_us=desk.now_us, cluster=ClusterId(cluster), node=NodeId(NODE), generation=known, sight=sight))


def whole(asked_us: int) -> Blocks:
    """A whole and healthy report."""
    return Blocks(asked_us=asked_us, known=True)
