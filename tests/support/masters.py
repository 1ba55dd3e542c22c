"""A pool whose masters are lost, looked at and moved by the test."""

from __future__ import annotations

from typing import TypeVar

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import Effect, MoveMasters
from fawkes.core.values.events import MastersSeen, MoveMastersAsked, Progress, RestoreAsked, Woke
from fawkes.core.values.model import ClusterId, ClusterState, Facts, MastersMove, NodeId
from fawkes.core.values.settings import Settings
from tests.support.desk import Desk
from tests.support.pools import settings

E = TypeVar("E", bound=Effect)
A = ClusterId("a")
KEY = "masters:a"
SILENT_S, PATIENCE_S, GAP_S = 30, 120, 60
OLD, NEW, THIRD = NodeId("node01"), NodeId("node02"), NodeId("node03")


def how(**changes: object) -> Settings:
    usual: dict[str, object] = {
        "silent_us": SILENT_S * SECOND_US,
        "masters_lost_us": PATIENCE_S * SECOND_US,
        "copy_gap_us": GAP_S * SECOND_US,
        "copy_us": 60 * SECOND_US,
    }
    return settings(**(usual | changes))


def up(minimum: int = 3, count: int = 6, **changes: object) -> Desk:
    """a runs on its core nodes, its masters on the first."""
    desk = Desk(count, how=how(**changes))
    desk.up("a", minimum)
    assert cluster(desk).master == OLD
    return desk


def cluster(desk: Desk) -> ClusterState:
    return desk.state.clusters[A]


def move_of(desk: Desk) -> MastersMove:
    """The move of its masters that is under way."""
    moving = cluster(desk).moving
    assert moving is not None
    return moving


def at(desk: Desk, after_s: float) -> None:
    """So much time passes, with every timer on the way."""
    until_s = desk.now_s + after_s
    while (wake_us := desk.state.wake_us) is not None and wake_us <= until_s * SECOND_US:
        desk.now_s = max(desk.now_s, wake_us / SECOND_US)
        desk.tell(Woke(at_us=desk.now_us))
    desk.now_s = until_s


def ever(desk: Desk, code: str) -> list[Facts]:
    """The facts of every reason with this code so far."""
    return [reason.facts for entry in desk.store.entries() for reason in entry.decision.reasons if reason.code == code]


def silence(desk: Desk, silent: str = "", gone: tuple[str, ...] = ()) -> None:
    desk.tell(MastersSeen(at_us=desk.now_us, cluster=A, error="no answer", silent=silent, gone=gone))


def lost(desk: Desk, patience_s: float = PATIENCE_S) -> int:
    """The masters have been silent for as long as they are waited for; when they fell silent (us)."""
    since_us = desk.now_us
    silence(desk)
    at(desk, SILENT_S)
    at(desk, patience_s)
    return since_us


def look(desk: Desk, **facts: object) -> None:
    """The look at the masters is answered: their node is silent, the copy is a second old, all others are reached."""
    since_us = move_of(desk).since_us
    others = [n for n in desk.state.nodes_of(A) if n != cluster(desk).master]
    known: dict[str, object] = {"old": "silent", "image": None, "copied_us": since_us - SECOND_US, "reached": others}
    known |= {"txid": 7, "copy_at": "controller", "applications": [], "edits": "whole"}
    desk.answer(KEY, **(known | facts))


def moved(desk: Desk, **facts: object) -> None:
    desk.answer(KEY, **facts)


def refused(desk: Desk, **facts: object) -> None:
    desk.failed(KEY, **facts)  # type: ignore[arg-type]


def begun(desk: Desk) -> bool:
    return bool(desk.effects(MoveMasters))


def run(desk: Desk, job: str) -> None:
    desk.job(job, Progress.RUNNING, application=f"application_{job}")


def at_work(desk: Desk) -> Desk:
    """The same with its first job at work."""
    desk.submit("a", 1)
    run(desk, "a-1")
    return desk


def taken_over(desk: Desk, **facts: object) -> None:
    """The masters are lost, and others take over from the copy; ``facts`` are those of the move."""
    lost(desk)
    look(desk)
    moved(desk, **facts)


def ask(desk: Desk, to: NodeId | None = None, *, now: bool = False) -> None:
    desk.tell(MoveMastersAsked(at_us=desk.now_us, cluster=A, to=to, now=now, by="ann", ask="m"))


def restore(desk: Desk, to: NodeId | None = None, *, dry_run: bool = False) -> None:
    desk.tell(RestoreAsked(at_us=desk.now_us, cluster=A, to=to, dry_run=dry_run, by="ann", ask="r"))
