"""Masters that are asked to move, leave with their node, or come back from a copy; and how their copies are seen."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values import events
from fawkes.core.values.effects import LookAtMasters, MoveMasters, StartJob
from fawkes.core.values.model import ClusterId, ClusterLife, MoveCause, NodeId, NodeLife
from tests.support.desk import Desk
from tests.support.masters import (
    KEY,
    NEW,
    OLD,
    THIRD,
    A,
    ask,
    at,
    at_work,
    begun,
    cluster,
    ever,
    how,
    look,
    lost,
    move_of,
    moved,
    refused,
    restore,
    up,
)

# Planned moves.


def test_a_planned_move_waits_for_jobs_and_for_what_users_run() -> None:
    desk = at_work(up())
    ask(desk, THIRD)
    desk.submit("a", 2)
    assert not desk.effects(LookAtMasters)
    desk.job("a-1", events.Progress.SUCCEEDED)
    assert desk.effects(LookAtMasters) == [LookAtMasters(A, cluster(desk).version, OLD, THIRD)]
    look(desk, old="answers", applications=[{"id": "application_9"}])
    assert not begun(desk)
    at(desk, 100)
    look(desk, old="answers", applications=None)
    assert not begun(desk)
    at(desk, 100)
    look(desk, old="answers", applications=[{"id": "x", "tags": ["fawkes-copy.in-1"]}])
    assert desk.effects(MoveMasters) == [MoveMasters(A, cluster(desk).version, OLD, THIRD, planned=True)]
    assert len(desk.effects(StartJob)) == 1, "the second job waits until they have moved"
    moved(desk, copied_us=None)
    assert (cluster(desk).master, desk.node(OLD).life) == (THIRD, NodeLife.SERVING)
    assert len(desk.effects(StartJob)) == 2
    assert desk.said("masters-moved")[0]["lacks_us"] == 0


def test_with_now_nothing_is_waited_for_and_jobs_begin_again() -> None:
    desk = at_work(up())
    ask(desk, now=True)
    look(desk, old="answers", applications=None)
    moved(desk)
    assert [e.attempt for e in desk.effects(StartJob)] == [1, 2]


@pytest.mark.parametrize("old", ["silent", "stopped", "runs", None])
def test_a_planned_move_needs_masters_that_answer(old: str | None) -> None:
    desk = up()
    ask(desk)
    look(desk, old=old, image=True)
    assert not begun(desk)


@pytest.mark.parametrize("now", [False, True])
def test_a_planned_move_waits_while_the_kdc_is_away(now: bool) -> None:
    desk = up()
    ask(desk, now=now)
    look(desk, old="answers", no_login="a.keytab: the KDC gave no ticket")
    assert not begun(desk)
    assert [row["error"] for row in desk.said("masters-wait")] == ["a.keytab: the KDC gave no ticket"]
    look(desk, old="answers")
    assert begun(desk)


def test_masters_that_are_lost_before_a_planned_move_are_lost_masters() -> None:
    desk = at_work(up())
    ask(desk)
    lost(desk)
    assert move_of(desk).cause is MoveCause.LOST
    look(desk)
    assert begun(desk)


def test_the_masters_leave_a_node_that_is_drained_and_it_leaves_after_them() -> None:
    desk = up(2, count=4)
    desk.drain(OLD, reason="a fan")
    assert desk.refusal() == ""
    look(desk, old="answers")
    moved(desk)
    assert cluster(desk).master == NEW
    desk.settle("a")
    desk.settle("a")
    assert desk.node(OLD).life is NodeLife.DRAINING


def test_an_undrain_calls_the_move_off() -> None:
    desk = at_work(up())
    desk.drain(OLD, reason="a fan")
    assert cluster(desk).moving is not None
    desk.undrain(OLD)
    assert cluster(desk).moving is None


REFUSED: Mapping[str, tuple[NodeId | None, str]] = {
    "itself": (OLD, "no-such-master"),
    "free": (NodeId("node06"), "no-such-master"),
    "unknown": (NodeId("node99"), "no-such-master"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_where_masters_cannot_go(case: str) -> None:
    to, code = REFUSED[case]
    desk = up()
    ask(desk, to)
    assert (desk.refusal(), cluster(desk).moving) == (code, None)


def test_who_cannot_be_asked_to_move_masters() -> None:
    desk = up()
    desk.tell(events.MoveMastersAsked(at_us=desk.now_us, cluster=ClusterId("b"), ask="m"))
    assert desk.refusal() == "no-such-cluster"
    ask(desk)
    ask(desk)
    assert desk.refusal() == "masters-moving"
    desk = Desk(2, how=how())
    desk.request("a", 2)
    ask(desk)
    assert desk.refusal() == "not-running"


# Restore.


def test_a_restore_takes_an_old_copy_and_few_nodes() -> None:
    desk = up(4)
    at(desk, 1000)
    lost(desk)
    look(desk, copied_us=5, reached=[])
    assert not begun(desk)
    restore(desk)
    look(desk, copied_us=5, reached=[])
    assert begun(desk)
    moved(desk, copied_us=5)
    assert desk.said("masters-moved")[0]["lacks_us"] > 900 * SECOND_US  # type: ignore[operator]


def test_a_restore_is_possible_while_a_planned_move_waits_for_masters_that_are_lost_for_good() -> None:
    """Where `masters_lost` is 0 nobody else moves them, and the planned move would wait for ever."""
    desk = at_work(up(masters_lost_us=0))
    ask(desk, THIRD)
    restore(desk)
    assert desk.refusal() == "masters-answer"
    lost(desk)
    restore(desk)
    assert desk.refusal() == ""
    assert move_of(desk).cause is MoveCause.RESTORE


@pytest.mark.parametrize("facts", [{"old": "answers"}, {"old": None}, {"copied_us": None}])
def test_a_restore_needs_a_copy_and_masters_that_do_not_answer(facts: Mapping[str, object]) -> None:
    desk = up()
    lost(desk)
    restore(desk)
    look(desk, **facts)
    assert not begun(desk)


def test_the_node_that_lost_its_disk_can_have_the_masters_back() -> None:
    desk = up(1, count=2)
    lost(desk)
    assert not desk.effects(LookAtMasters)
    restore(desk, OLD)
    assert desk.effects(LookAtMasters) == [LookAtMasters(A, cluster(desk).version, OLD, OLD)]
    look(desk, old="stopped", image=False, reached=[])
    moved(desk)
    assert cluster(desk).master == OLD


@pytest.mark.parametrize("to", [NEW, OLD], ids=["it is lost as well", "it is to leave"])
def test_a_restore_takes_no_node_that_cannot_serve_or_is_to_leave(to: NodeId) -> None:
    desk = up()
    desk.drain(OLD, reason="x")
    desk.see(NEW, events.Condition.LOST)
    lost(desk)
    restore(desk, to)
    assert desk.refusal() == "no-such-master"


def test_living_masters_are_not_restored_and_a_dry_run_changes_nothing() -> None:
    desk = up()
    restore(desk)
    assert desk.refusal() == "masters-answer"
    desk.tell(events.RestoreAsked(at_us=desk.now_us, cluster=ClusterId("b"), ask="r"))
    assert desk.refusal() == "no-such-cluster"
    lost(desk)
    before = cluster(desk)
    restore(desk, dry_run=True)
    assert (desk.refusal(), cluster(desk)) == ("", before)
    restore(desk, NodeId("node06"))
    assert desk.refusal() == "no-such-master"
    look(desk)
    restore(desk)
    assert desk.refusal() == "masters-moving"


# Copies, retries, ends.


def test_masters_that_are_not_copied_for_long_are_an_alert() -> None:
    desk = up()
    desk.tell(events.CopySeen(at_us=desk.now_us, cluster=A, error="full"))
    at(desk, 59)
    assert not cluster(desk).alert
    at(desk, 2)
    assert cluster(desk).alert == "its masters' data is not copied: since 60 s and more: full"
    desk.tell(events.CopySeen(at_us=desk.now_us, cluster=A, error="no answer"))
    assert cluster(desk).alert == "its masters' data is not copied: since 60 s and more: no answer"
    desk.tell(events.CopySeen(at_us=desk.now_us, cluster=A))
    assert (cluster(desk).alert, cluster(desk).uncopied, len(desk.said("copied-again"))) == ("", "", 1)


def test_an_alert_names_the_last_reason_why_masters_are_not_copied() -> None:
    desk = up()
    for error in ("no answer", "full"):
        desk.tell(events.CopySeen(at_us=desk.now_us, cluster=A, error=error))
        at(desk, 30)
    at(desk, 1)
    assert cluster(desk).alert.endswith(": full")


def test_a_copy_that_works_again_in_time_is_no_news() -> None:
    desk = up()
    desk.tell(events.CopySeen(at_us=desk.now_us, cluster=A, error="full"))
    at(desk, 30)
    desk.tell(events.CopySeen(at_us=desk.now_us, cluster=A))
    at(desk, 100)
    assert (cluster(desk).alert, desk.said("not-copied")) == ("", [])


def test_a_retry_looks_at_once() -> None:
    desk = up()
    lost(desk)
    look(desk, copied_us=None)
    count = len(desk.effects(LookAtMasters))
    desk.tell(events.RetryAsked(at_us=desk.now_us, subject="a", ask="t"))
    assert len(desk.effects(LookAtMasters)) == count + 1


def test_an_mr_cluster_that_is_given_up_moves_no_masters() -> None:
    desk = up()
    lost(desk)
    look(desk)
    desk.release(A, discard=True, force=True)
    assert cluster(desk).life is ClusterLife.RETIRING
    assert not {KEY, "patience:a", "copy:a"} & set(desk.state.pending)


def test_a_release_of_lost_masters_says_that_they_are_lost_until_others_take_over() -> None:
    desk = up()
    lost(desk)
    desk.release(A, ask="e")
    assert desk.refusal() == "masters-lost"
    ask(desk)
    assert desk.refusal() == "masters-lost"
    look(desk)
    desk.release(A, ask="f")
    assert desk.refusal() == "masters-moving"
    desk.release(A, ask="g", discard=True, force=True)
    assert (desk.refusal(), cluster(desk).life) == ("", ClusterLife.RETIRING)


def test_a_release_waits_for_masters_that_move() -> None:
    desk = up()
    ask(desk)
    desk.release(A, ask="e")
    assert desk.refusal() == "masters-moving"


def test_a_move_to_a_node_that_is_lost_meanwhile_is_called_off() -> None:
    desk = up()
    ask(desk, NEW)
    desk.see(NEW, events.Condition.LOST)
    refused(desk)
    at(desk, 5)
    assert ever(desk, "masters-stay") == [{"cluster": A, "node": NEW}]
    assert (cluster(desk).master, cluster(desk).moving) == (OLD, None)
