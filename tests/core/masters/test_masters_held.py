"""Lost masters that the settings leave alone, and moves that do not come to their end: an operator decides."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import LookAtMasters, MoveMasters
from fawkes.core.values.events import Condition, Done, RetryAsked
from fawkes.core.values.model import MastersMove, MoveCause, NodeId, NodeLife
from tests.support.desk import Desk
from tests.support.masters import (
    KEY,
    NEW,
    OLD,
    THIRD,
    A,
    ask,
    at,
    begun,
    cluster,
    ever,
    look,
    lost,
    move_of,
    moved,
    refused,
    restore,
    silence,
    taken_over,
    up,
)
from tests.support.pools import settings


def test_lost_masters_that_nothing_takes_over_can_be_restored() -> None:
    desk = Desk(6, how=settings(masters_lost_us=0))
    desk.up("a", 3)
    restore(desk)
    assert desk.refusal() == "masters-answer"
    silence(desk)
    at(desk, 100)
    restore(desk, dry_run=True)
    assert (desk.refusal(), cluster(desk).moving) == ("", None)
    restore(desk)
    assert len(desk.effects(LookAtMasters)) == 1
    look(desk, copied_us=5, reached=[])
    assert begun(desk)


# A move that was begun and does not come to its end.


def test_the_edits_of_a_disk_that_cannot_be_read_give_way_to_a_young_copy() -> None:
    """Two core nodes: there is nobody else to try, and the image alone does not make the disk usable."""
    desk = up(2, count=2, deploy_attempts=2)
    lost(desk)
    look(desk, old="stopped", image=True)
    for _ in range(2):
        refused(desk, untouched=True, unreadable=True)
        at(desk, 100)
    assert (cluster(desk).master, desk.node(NEW).life) == (OLD, NodeLife.SERVING)
    look(desk, old="stopped", image=True)
    (*_, effect) = desk.effects(MoveMasters)
    assert effect == MoveMasters(A, cluster(desk).version, OLD, NEW, planned=False, from_copy=True)


def test_the_edits_of_a_disk_that_cannot_be_read_and_an_old_copy_wait_for_an_operator() -> None:
    desk = up(2, count=2, deploy_attempts=2)
    at(desk, 1000)
    lost(desk)
    look(desk, old="stopped", image=True, copied_us=5)
    for _ in range(2):
        refused(desk, untouched=True, unreadable=True)
        at(desk, 100)
    look(desk, old="stopped", image=True, copied_us=5)
    assert len({e.version for e in desk.effects(MoveMasters)}) == 1
    assert "`fawkes restore a`" in cluster(desk).alert
    # After a repair the disk counts again; an operator who restores takes the copy.
    restore(desk)
    look(desk, old="stopped", image=True, copied_us=5)
    (*_, effect) = desk.effects(MoveMasters)
    assert (effect.from_copy, effect.old) == (True, OLD)


UNREADABLE: Mapping[str, object] = {"untouched": True, "unreadable": True}


@pytest.mark.parametrize(
    ("planned", "tries", "left"),
    [
        pytest.param(False, (UNREADABLE, UNREADABLE), True, id="tried often enough"),
        pytest.param(False, (UNREADABLE,), False, id="tried once"),
        pytest.param(False, ({}, UNREADABLE), False, id="files may have come to the new one"),
        pytest.param(False, ({}, {}), False, id="nobody else is there"),
        pytest.param(True, (UNREADABLE, UNREADABLE), False, id="planned"),
    ],
)
def test_a_move_that_was_begun_is_only_left_for_the_copy_when_nothing_else_can_be_done(
    planned: bool, tries: tuple[Mapping[str, object], ...], left: bool
) -> None:
    desk = up(2, count=2, deploy_attempts=2)
    begin(desk, planned=planned)
    for facts in tries:
        refused(desk, **facts)
        at(desk, 5)
    assert move_of(desk).begun != left
    assert desk.node(NEW).life is NodeLife.SERVING


def test_a_disk_that_could_not_be_read_once_is_not_tried_again_on_another_node() -> None:
    desk = up(4, deploy_attempts=2)
    lost(desk)
    look(desk, old="stopped", image=True)
    for facts in (UNREADABLE, {"untouched": True}):
        refused(desk, **facts)
        at(desk, 30)
    look(desk, old="stopped", image=True)
    (*_, effect) = desk.effects(MoveMasters)
    assert (effect.to, effect.from_copy) == (THIRD, True)


def test_a_repaired_disk_counts_again_after_a_retry() -> None:
    desk = up(2, count=2, deploy_attempts=1)
    lost(desk)
    look(desk, old="stopped", image=True, copied_us=None)
    refused(desk, untouched=True, unreadable=True)
    at(desk, 1)
    look(desk, old="stopped", image=True, copied_us=None)
    assert "there is no copy" in cluster(desk).alert
    assert (
        f"If {OLD} is gone for good, give up its data: `fawkes release a --discard-data --force`" in cluster(desk).alert
    )
    desk.tell(RetryAsked(at_us=desk.now_us, subject="a", ask="t"))
    look(desk, old="stopped", image=True, copied_us=None)
    (*_, effect) = desk.effects(MoveMasters)
    assert not effect.from_copy


def test_a_move_that_nothing_came_of_leaves_the_copy_as_young_as_it_was() -> None:
    desk = up(4, deploy_attempts=2)
    since_us = lost(desk)
    look(desk)
    for _ in range(2):
        refused(desk, untouched=True)
        at(desk, 30)
    (*_, again) = desk.effects(LookAtMasters)
    assert (again.old, again.to, desk.node(NEW).life) == (OLD, THIRD, NodeLife.LOST)
    look(desk, copied_us=since_us - SECOND_US)
    (*_, effect) = desk.effects(MoveMasters)
    assert (effect.old, effect.to) == (OLD, THIRD)


#: the facts of tries that failed, and on which node the look of the restore then finds the old masters
TRIES: Mapping[str, tuple[tuple[Mapping[str, object], ...], NodeId]] = {
    "nothing was begun": (({"untouched": True},), OLD),
    "it broke later": (({},), NEW),
    "first untouched, then not": (({"untouched": True}, {}), NEW),
    "first not, then untouched": (({}, {"untouched": True}), NEW),
}


@pytest.mark.parametrize("case", sorted(TRIES))
@pytest.mark.parametrize("planned", [False, True])
def test_a_move_that_failed_can_be_left_for_a_restore(case: str, planned: bool) -> None:
    tries, old = TRIES[case]
    desk = up(3)
    begin(desk, planned=planned)
    restore(desk)
    assert desk.refusal() == "masters-moving", "no try has failed yet"
    for facts in tries:
        refused(desk, **facts)
        at(desk, 30)
    before = cluster(desk)
    restore(desk, dry_run=True)
    assert (desk.refusal(), cluster(desk)) == ("", before)
    restore(desk, THIRD)
    (*_, again) = desk.effects(LookAtMasters)
    assert (desk.refusal(), again.old, again.to) == ("", old, THIRD)
    assert cluster(desk).master == old
    look(desk, copied_us=5, reached=[])
    moved(desk, copied_us=5)
    assert (cluster(desk).master, cluster(desk).moving) == (THIRD, None)


@pytest.mark.parametrize("planned", [False, True])
def test_new_masters_whose_disk_is_lost_are_lost_masters(planned: bool) -> None:
    """They may have taken files until now, and the copy is from before: it must be young."""
    desk = up(4)
    begin(desk, planned=planned)
    at(desk, 20)
    refused(desk, gone=True)
    (*_, again) = desk.effects(LookAtMasters)
    assert (again.old, cluster(desk).master) == (NEW, NEW)
    assert cluster(desk).moving == MastersMove(cause=MoveCause.LOST, since_us=desk.now_us, old=NEW, by=by(planned))
    look(desk, old="stopped", image=False, copied_us=desk.now_us - 61 * SECOND_US)
    assert "61 s older than their last answer: `fawkes restore a`" in cluster(desk).alert
    at(desk, 30)
    look(desk, old="stopped", image=False, copied_us=move_of(desk).since_us - 20 * SECOND_US)
    (*_, effect) = desk.effects(MoveMasters)
    assert (effect.old, effect.planned, effect.to != NEW) == (NEW, False, True)


def begin(desk: Desk, *, planned: bool) -> None:
    """A move to NEW that somebody asked for, or of lost masters."""
    if planned:
        ask(desk, NEW)
        look(desk, old="answers")
    else:
        lost(desk)
        look(desk)


def by(planned: bool) -> str:
    return "ann" if planned else ""


@pytest.mark.parametrize(
    ("facts", "named"), [({}, True), ({"untouched": True}, False)], ids=["may have begun", "nothing was begun"]
)
def test_a_planned_move_that_does_not_end_names_the_way_out(facts: Mapping[str, object], named: bool) -> None:
    desk = up(4, deploy_attempts=2)
    ask(desk, NEW)
    look(desk, old="answers")
    refused(desk, **facts)
    assert "fawkes restore" not in cluster(desk).alert, "the next try may do"
    at(desk, 30)
    refused(desk, **facts)
    assert ("If it is gone for good: `fawkes restore a`" in cluster(desk).alert) == named


def test_an_answer_of_the_move_that_was_left_is_history() -> None:
    desk = up(3)
    lost(desk)
    look(desk)
    left = desk.state.pending[KEY].version
    refused(desk)
    restore(desk, THIRD)
    before = cluster(desk)
    desk.tell(Done(at_us=desk.now_us, effect=KEY, version=left, facts={"reached": [NEW]}))
    assert (cluster(desk), ever(desk, "masters-moved")) == (before, [])


# Former masters that nobody could stop.


def test_a_former_masters_node_is_shut_out_until_it_is_back() -> None:
    desk = up(4)
    taken_over(desk, copied_us=5, reached=[NEW, THIRD])
    assert cluster(desk).shut_out == (OLD,)


def test_one_that_was_reached_is_not_shut_out() -> None:
    desk = up(4)
    lost(desk)
    look(desk, old="stopped", image=True)
    moved(desk, reached=[OLD, NEW, THIRD])
    assert cluster(desk).shut_out == ()


def test_one_that_is_back_is_not_shut_out_any_more() -> None:
    desk = up(4)
    taken_over(desk, reached=[NEW, THIRD])
    desk.see(OLD, Condition.SERVING)
    taken_over(desk, reached=[OLD, THIRD])
    assert cluster(desk).shut_out == (NEW,)


def test_masters_that_were_moved_as_planned_leave_a_node_that_serves_on() -> None:
    desk = up(3)
    ask(desk, NEW)
    look(desk, old="answers")
    moved(desk)
    assert (cluster(desk).shut_out, desk.node(OLD).life) == ((), NodeLife.SERVING)
    assert f"host:{OLD}" not in desk.state.pending
