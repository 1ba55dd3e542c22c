"""An MR-cluster that gave its journal up gets a new one: at which moment, on which nodes, and what else happens."""

from __future__ import annotations

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import ArmStandby, LookAtMasters, MoveMasters
from fawkes.core.values.events import Condition, GrowAsked, Progress
from fawkes.core.values.model import MoveCause, NodeId, NodeLife, Role, Standby
from tests.support.desk import Desk
from tests.support.masters import (
    KEY,
    NEW,
    OLD,
    PATIENCE_S,
    SILENT_S,
    THIRD,
    A,
    ask,
    at,
    cluster,
    ever,
    look,
    lost,
    move_of,
    moved,
    refused,
    restore,
    run,
    silence,
)
from tests.support.masters import up as unpaired
from tests.support.standby import armed, arms, moves, see, standby, up

FOURTH = NodeId("node04")
JOURNAL_S = 300
AFTER = (NEW, THIRD, FOURTH)


def given_up(minimum: int = 3, count: int = 6, **changes: object) -> Desk:
    """The masters of a have just come back on the second node by a copy, and the third one is there."""
    how: dict[str, object] = {"journal_us": JOURNAL_S * SECOND_US}
    desk = up(minimum, count, ready=True, **(how | changes))
    silence(desk)
    at(desk, SILENT_S)
    look(desk, standby=None, journal=[THIRD])
    at(desk, PATIENCE_S)
    while (effect := desk.state.pending[KEY].effect) is not None and getattr(effect, "to", NEW) != NEW:
        refused(desk)
        at(desk, 30)
    look(desk, standby=None, journal=[THIRD], copied_us=desk.now_us)
    assert cluster(desk).master != OLD
    return desk


def kept(minimum: int = 3, count: int = 3, **changes: object) -> Desk:
    """a works without a journal: only two core nodes serve."""
    desk = given_up(minimum, count, **changes)
    desk.see(OLD, Condition.LOST)
    moved(desk, copied_us=desk.now_us)
    assert (cluster(desk).moving, cluster(desk).standby) == (None, None)
    desk.settle("a")
    return desk


def back(desk: Desk) -> Desk:
    """The same when the node that was lost serves again."""
    desk.see(OLD, Condition.SERVING)
    return desk


def may(desk: Desk, **facts: object) -> None:
    """The look is answered: the masters answer, and no application runs."""
    look(desk, **({"old": "answers", "copied_us": None} | facts))


def begun_on(desk: Desk) -> tuple[NodeId, ...]:
    """The journal with which the NameNode is to start again."""
    (effect,) = [effect for effect in arms(desk) if not effect.before]
    assert effect.standby.node is None
    return effect.standby.journal


# When.


def test_it_gets_one_right_after_the_move_where_three_core_nodes_serve() -> None:
    """All that ran has ended with the old masters, so nothing is in the way; jobs begin again with the journal."""
    desk = given_up(4)
    desk.submit("a", 1)
    moved(desk, copied_us=desk.now_us)
    assert move_of(desk).cause is MoveCause.JOURNAL
    assert not desk.starts()
    looked = desk.effects(LookAtMasters)[-1]
    assert looked.old == looked.to == cluster(desk).master
    may(desk)
    assert begun_on(desk) == AFTER
    assert not desk.starts()
    armed(desk)
    assert desk.starts() == [("a-1", 1)]
    assert standby(desk).journal == AFTER
    assert ever(desk, "journal-begun")


def test_then_it_gets_a_second_namenode_as_every_other() -> None:
    desk = given_up(4)
    moved(desk, copied_us=desk.now_us)
    may(desk)
    armed(desk)
    assert cluster(desk).moving is None
    effect = arms(desk)[-1]
    second = min(node for node in AFTER if node != cluster(desk).master)
    assert (effect.standby, effect.before) == (Standby(journal=AFTER, node=second), AFTER)
    armed(desk)
    assert standby(desk) == Standby(journal=AFTER, node=second, ready=True)


def test_it_waits_for_a_third_core_node() -> None:
    desk = kept()
    assert not arms(desk)
    back(desk)
    assert move_of(desk).cause is MoveCause.JOURNAL
    may(desk)
    assert begun_on(desk) == (OLD, NEW, THIRD)


def test_a_node_that_only_came_to_grow_gets_no_part_of_it() -> None:
    """It goes again, and would take its part along."""
    desk = kept(count=4)
    desk.tell(GrowAsked(at_us=desk.now_us, cluster=A, node=FOURTH, ask="grow"))
    desk.settle("a")
    assert (desk.node(FOURTH).life, desk.node(FOURTH).role) == (NodeLife.SERVING, Role.TRANSIENT)
    assert cluster(desk).moving is None
    assert not arms(desk)
    back(desk)
    may(desk)
    assert begun_on(desk) == (OLD, NEW, THIRD)


def test_for_some_time_it_waits_for_a_moment_without_jobs() -> None:
    desk = kept()
    desk.submit("a", 1)
    back(desk)
    assert cluster(desk).moving is None
    run(desk, "a-1")
    assert cluster(desk).moving is None
    desk.job("a-1", Progress.SUCCEEDED)
    assert move_of(desk).cause is MoveCause.JOURNAL


def test_after_that_no_job_begins_until_those_that_run_have_ended() -> None:
    desk = kept()
    desk.submit("a", 1)
    run(desk, "a-1")
    back(desk)
    at(desk, JOURNAL_S)
    [wanted] = ever(desk, "journal-wanted")
    assert wanted["jobs"] == ["a-1"]
    desk.submit("a", 2)
    assert not desk.starts()
    assert not [effect for effect in desk.effects(LookAtMasters) if effect.to == effect.old]
    desk.job("a-1", Progress.SUCCEEDED)
    may(desk)
    armed(desk)
    assert desk.starts() == [("a-2", 1)]


def test_applications_of_users_are_given_the_same_time() -> None:
    desk = back(kept(deploy_attempts=1))
    may(desk, applications=[{"id": "application_7"}])
    assert cluster(desk).moving is None, "jobs go first"
    desk.submit("a", 1)
    assert desk.starts()
    desk.job("a-1", Progress.SUCCEEDED)
    at(desk, JOURNAL_S)
    may(desk, applications=[{"id": "application_7"}])
    assert not [effect for effect in arms(desk) if not effect.before]
    [waits] = ever(desk, "journal-waits")
    assert "application_7" in str(waits["error"])
    at(desk, 3)
    may(desk)
    assert begun_on(desk) == (OLD, NEW, THIRD)


def test_without_the_setting_it_is_kept_from_then_on() -> None:
    desk = back(kept(journal_us=0))
    at(desk, 10 * JOURNAL_S)
    assert (cluster(desk).moving, cluster(desk).standby) == (None, None)


def test_an_mr_cluster_that_never_asked_for_one_gets_none() -> None:
    desk = unpaired(4, journal_us=JOURNAL_S * SECOND_US)
    lost(desk)
    look(desk)
    moved(desk, copied_us=desk.now_us)
    at(desk, 10 * JOURNAL_S)
    assert (cluster(desk).moving, arms(desk)) == (None, [])


# What is in the way.


def test_applications_that_are_about_to_end_do_not_take_the_moment_away() -> None:
    desk = back(kept(deploy_attempts=2))
    may(desk, applications=[{"id": "application_7"}])
    at(desk, 3)
    may(desk)
    assert begun_on(desk) == (OLD, NEW, THIRD)


@pytest.mark.parametrize(("edits", "why"), [("gap", "lacks"), (None, "is not known to have")])
def test_a_disk_that_is_not_shown_to_have_everything_is_no_begin(edits: str | None, why: str) -> None:
    """The journal begins with what the NameNode's own disk has."""
    desk = back(kept())
    may(desk, edits=edits)
    assert not [effect for effect in arms(desk) if not effect.before]
    [waits] = ever(desk, "journal-waits")
    assert waits["error"] == f"the disk of its NameNode {why} changes that came before the newest ones"


def test_a_node_that_does_not_answer_is_waited_for() -> None:
    desk = back(kept(deploy_attempts=1))
    may(desk, reached=[OLD])
    assert not [effect for effect in arms(desk) if not effect.before]
    assert cluster(desk).moving is None, "jobs go first while there is time"


def test_a_node_that_is_lost_again_takes_the_moment_away() -> None:
    desk = back(kept())
    desk.see(OLD, Condition.LOST)
    assert (cluster(desk).moving, desk.state.pending.get(KEY)) == (None, None)


def test_a_drain_of_the_masters_goes_first() -> None:
    desk = back(kept(3, 4))
    desk.drain(NEW)
    assert move_of(desk).cause is not MoveCause.JOURNAL


def test_whoever_moves_the_masters_is_not_refused_for_it() -> None:
    desk = back(kept())
    ask(desk, THIRD)
    assert desk.refusal() == ""
    look_at = desk.effects(LookAtMasters)[-1]
    assert (look_at.old, look_at.to) == (NEW, THIRD)


def test_whoever_gives_the_mr_cluster_back_is_not_refused_for_it() -> None:
    desk = back(kept())
    desk.release(A, ask="r")
    assert cluster(desk).life.value == "saving"
    assert cluster(desk).moving is None


def test_masters_that_are_lost_while_it_waits_are_lost_masters() -> None:
    desk = back(kept())
    silence(desk)
    at(desk, SILENT_S)
    assert move_of(desk).cause is MoveCause.LOST


# When it fails.


def test_a_namenode_that_goes_on_without_one_is_asked_again_later() -> None:
    desk = back(kept())
    may(desk)
    desk.submit("a", 1)
    refused(desk, alive=True)
    assert (cluster(desk).moving, cluster(desk).standby) == (None, None)
    assert cluster(desk).alert == "its second NameNode cannot take over: it broke"
    assert desk.members()
    assert desk.starts() == [("a-1", 1)]
    desk.job("a-1", Progress.SUCCEEDED)
    assert cluster(desk).moving is None, "not at once"
    at(desk, 60)
    may(desk)
    armed(desk)
    assert (cluster(desk).alert, standby(desk).journal) == ("", (OLD, NEW, THIRD))


def test_one_of_which_nothing_is_known_is_tried_again_and_then_looked_at_as_lost() -> None:
    desk = back(kept(deploy_attempts=2))
    may(desk)
    refused(desk)
    at(desk, 3)
    assert len([effect for effect in arms(desk) if not effect.before]) == 2
    restore(desk, dry_run=True)
    assert desk.refusal() == ""
    refused(desk)
    moving = move_of(desk)
    assert (moving.cause, moving.begun, moving.old, moving.since_us) == (MoveCause.LOST, False, NEW, desk.now_us)
    look(desk, copied_us=desk.now_us - SECOND_US)
    assert [effect.standby for effect in moves(desk)] == [False, False]


def test_a_start_that_fails_for_want_of_a_kdc_gives_no_journal_up() -> None:
    desk = back(kept(deploy_attempts=2))
    may(desk)
    for tries in range(2, 9):
        desk.failed(KEY, "node02: namenode ended: failure to login", site=True)
        assert move_of(desk).begun
        at(desk, 31)
        assert len([effect for effect in arms(desk) if not effect.before]) == tries
    armed(desk)
    assert (cluster(desk).alert, standby(desk).journal) == ("", (OLD, NEW, THIRD))


def test_one_that_answers_after_all_is_left_alone_for_a_while() -> None:
    desk = back(kept(deploy_attempts=1))
    may(desk)
    refused(desk)
    look(desk, old="answers")
    assert cluster(desk).moving is None
    at(desk, 60)
    assert move_of(desk).cause is MoveCause.JOURNAL


def test_one_that_says_nothing_in_time_is_asked_again() -> None:
    desk = back(kept(deploy_us=SECOND_US))
    may(desk)
    at(desk, 1)
    assert len([effect for effect in arms(desk) if not effect.before]) == 2


def test_a_node_of_the_journal_to_come_does_not_leave() -> None:
    desk = back(kept(3, 4))
    may(desk)
    assert OLD in begun_on(desk)
    desk.drain(OLD)
    assert desk.node(OLD).life.value == "serving"
    armed(desk)
    assert standby(desk).journal == (OLD, NEW, THIRD)


def test_a_controller_that_takes_over_goes_on() -> None:
    desk = back(kept())
    may(desk)
    again = Desk(how=desk.state.rules.settings, state=desk.state)  # type: ignore[union-attr]
    assert arms(again) == [arms(desk)[-1]]
    again.answer(KEY, journal=[OLD, NEW, THIRD])
    assert standby(again).journal == (OLD, NEW, THIRD)


def test_what_is_said_of_a_second_namenode_that_is_gone_is_history() -> None:
    desk = kept()
    see(desk, THIRD)
    assert cluster(desk).standby is None
    assert not desk.effects(ArmStandby)
    assert len(desk.effects(MoveMasters)) == 1
