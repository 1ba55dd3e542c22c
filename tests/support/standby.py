"""A pool with an MR-cluster whose masters have a second NameNode, played by the test."""

from __future__ import annotations

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import ArmStandby, MoveMasters
from fawkes.core.values.events import Done, Failed, StandbySeen
from fawkes.core.values.model import NodeId, Promise, Standby
from tests.support.desk import Desk
from tests.support.masters import KEY, NEW, OLD, SILENT_S, THIRD, A, all_of, at, cluster, how, look, moved, silence

STANDBY_S = 20
JOURNAL = (OLD, NEW, THIRD)


def up(minimum: int = 3, count: int = 6, *, ready: bool = True, **changes: object) -> Desk:
    """a runs with its journal on its first three nodes; its second NameNode, on the second one, is ready."""
    desk = Desk(count, how=how(standby_us=STANDBY_S * SECOND_US, **changes))
    desk.up("a", minimum, masters=Promise.STANDBY)
    assert standby(desk) == Standby(journal=JOURNAL, node=NEW)
    if ready:
        see(desk)
    return desk


def standby(desk: Desk) -> Standby:
    running = cluster(desk).standby
    assert running is not None
    return running


def see(desk: Desk, node: NodeId = NEW, error: str = "", *, ready: bool = True) -> None:
    desk.tell(StandbySeen(at_us=desk.now_us, cluster=A, node=node, ready=ready, error=error))


def arms(desk: Desk) -> list[ArmStandby]:
    return all_of(desk, ArmStandby)


def moves(desk: Desk) -> list[MoveMasters]:
    return all_of(desk, MoveMasters)


def armed(desk: Desk, *answering: NodeId) -> None:
    """The goal under way is reached; ``answering`` nodes of the journal answer, all if none is named."""
    effect = arms(desk)[-1]
    facts = {"journal": list(answering or effect.standby.journal)}
    desk.tell(Done(at_us=desk.now_us, effect=KEY, version=desk.state.pending[KEY].version, facts=facts))


def not_armed(desk: Desk, error: str = "it broke") -> None:
    desk.tell(Failed(at_us=desk.now_us, effect=KEY, version=desk.state.pending[KEY].version, error=error))


FOLLOWS = {"standby": "standby", "journal": [NEW, THIRD]}
"""The look at a second NameNode that can take over."""


def lost(desk: Desk) -> Desk:
    """The same with masters that have been silent for as long as masters may be, and no longer."""
    silence(desk)
    at(desk, SILENT_S)
    return desk


def took_over() -> Desk:
    """The second NameNode has taken over, and another one is being brought up on the third node."""
    desk = lost(up())
    look(desk, **FOLLOWS)
    moved(desk, known=[])
    return desk
