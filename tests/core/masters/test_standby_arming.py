"""The second NameNode of an MR-cluster and its journal: how they are brought up again."""

from __future__ import annotations

import pytest

from fawkes.core.values.effects import ArmStandby, Host, LookAtMasters
from fawkes.core.values.events import Condition
from fawkes.core.values.model import NodeAlert, NodeId, NodeLife, Role, Standby
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
    begun,
    cluster,
    how,
    look,
    moved,
    refused,
    silence,
)
from tests.support.standby import FOLLOWS, JOURNAL, STANDBY_S, armed, arms, lost, see, standby, took_over, up

FOURTH, FIFTH = NodeId("node04"), NodeId("node05")


def test_after_a_takeover_the_third_node_gets_the_second_namenode() -> None:
    desk = took_over()
    assert arms(desk) == [
        ArmStandby(A, cluster(desk).version - 1, NEW, Standby(journal=JOURNAL, node=THIRD), before=JOURNAL)
    ]
    assert not standby(desk).ready
    armed(desk, NEW, THIRD)
    assert standby(desk) == Standby(journal=JOURNAL, node=THIRD, ready=True)


def test_a_node_that_is_lost_for_long_is_replaced_in_the_journal() -> None:
    desk = up(4)
    desk.see(THIRD, Condition.LOST)
    see(desk, error="node03 does not answer")
    assert not arms(desk)
    at(desk, STANDBY_S)
    assert arms(desk)[-1].standby == Standby(journal=(OLD, NEW, FOURTH), node=NEW, ready=True)
    assert arms(desk)[-1].before == JOURNAL
    armed(desk)
    assert standby(desk).journal == (OLD, NEW, FOURTH)


def test_only_one_node_is_replaced_at_a_time_and_only_while_most_serve() -> None:
    desk = up(5, count=8)
    for node in (NEW, THIRD):
        desk.see(node, Condition.LOST)
    assert [effect.standby.node for effect in arms(desk)] == [THIRD], "begun when the first one was lost"
    refused(desk)
    at(desk, 10 * STANDBY_S)
    assert not [effect for effect in arms(desk) if effect.standby.journal != JOURNAL]
    assert (standby(desk).node, standby(desk).ready) == (None, False), "nobody can have it"


@pytest.mark.parametrize("unfit", ["no core node", "to leave"])
def test_a_journal_goes_to_core_nodes_that_stay(unfit: str) -> None:
    if unfit == "no core node":
        desk = up(3, count=4, growth=Role.TRANSIENT_CORE)
        desk.balance(a=10)
    else:
        desk = up(4, count=4)
        desk.drain(FOURTH)
    assert desk.node(FOURTH).life is NodeLife.SERVING
    desk.see(THIRD, Condition.LOST)
    see(desk, error="node03 does not answer")
    at(desk, 10 * STANDBY_S)
    assert not [effect for effect in arms(desk) if FOURTH in effect.standby.journal]


def test_nothing_is_begun_while_only_a_lost_node_is_away_and_no_other_can_take_its_part() -> None:
    desk = up(3, count=3)
    desk.see(THIRD, Condition.LOST)
    see(desk, error="node03 does not answer")
    at(desk, 10 * STANDBY_S)
    assert not arms(desk)
    assert cluster(desk).alert == "its second NameNode cannot take over: not whole for 20 s"
    see(desk, error="nor does its disk")
    assert cluster(desk).alert == "its second NameNode cannot take over: nor does its disk"
    desk.see(THIRD, Condition.SERVING)
    see(desk)
    assert cluster(desk).alert == ""


def test_what_is_away_for_long_is_brought_up_again_until_it_is_there() -> None:
    desk = up()
    see(desk, ready=False, error="it ended")
    assert not standby(desk).ready
    at(desk, STANDBY_S)
    desk.failed(KEY, "no room")
    assert cluster(desk).alert == "its second NameNode cannot take over: no room"
    at(desk, 3)
    assert len(arms(desk)) == 2
    armed(desk)
    assert (standby(desk).ready, cluster(desk).alert) == (True, "")


def test_the_same_failure_is_told_now_and_then() -> None:
    desk = up()
    see(desk, ready=False, error="it ended")
    at(desk, STANDBY_S)
    told = []
    for _ in range(40):
        desk.failed(KEY, "no room")
        told += desk.said("standby-not-armed")
        desk.wait_for(KEY)
    assert [facts["tries"] for facts in told] == [*range(1, 17), 32]


def test_what_comes_back_by_itself_is_left_alone() -> None:
    desk = up()
    see(desk, ready=False, error="a pause")
    at(desk, STANDBY_S - 1)
    see(desk)
    at(desk, 10 * STANDBY_S)
    assert not arms(desk)


def test_where_a_part_of_the_journal_did_not_answer_it_is_looked_after_again() -> None:
    desk = took_over()
    armed(desk, NEW, THIRD)
    at(desk, 2 * SILENT_S)
    desk.see(OLD, Condition.SERVING)
    count = len(arms(desk))
    at(desk, 2 * SILENT_S)
    assert len(arms(desk)) == count + 1


def test_what_is_said_of_another_node_is_history() -> None:
    desk = took_over()
    see(desk, NEW)
    assert not standby(desk).ready


def test_a_node_of_the_journal_waits_until_it_is_replaced() -> None:
    desk = up(3, count=3)
    desk.drain(THIRD)
    assert (desk.node(THIRD).life, desk.node(THIRD).alert_kind) == (NodeLife.SERVING, NodeAlert.WAITS)
    assert "journal" in desk.node(THIRD).alert
    desk.undrain(THIRD)
    assert desk.node(THIRD).alert == ""


def test_masters_that_are_lost_while_it_is_armed_are_looked_at_first() -> None:
    desk = took_over()
    silence(desk)
    at(desk, SILENT_S)
    at(desk, PATIENCE_S)
    assert isinstance(desk.state.pending["masters:a"].effect, LookAtMasters)
    assert desk.state.pending["masters:a"].effect.to == THIRD


def test_an_mr_cluster_that_ends_is_armed_no_more() -> None:
    desk = up()
    see(desk, ready=False, error="it ended")
    desk.release(A, ask="r")
    desk.done("cluster:a")
    see(desk, ready=False, error="its node is wiped")
    assert "standby:a" not in desk.state.pending
    at(desk, 10 * STANDBY_S)
    assert not arms(desk)
    assert "standby:a" not in desk.state.pending


def test_a_node_that_comes_back_after_a_takeover_is_a_core_node_of_many() -> None:
    desk = took_over()
    assert [effect.node for effect in desk.effects(Host)][-1] == OLD


def test_a_run_that_goes_on_has_the_same_goals() -> None:
    desk = took_over()
    again = Desk(how=how(), state=desk.state)
    assert arms(again) == [arms(desk)[-1]]


def test_a_node_that_is_getting_its_part_of_the_journal_does_not_leave() -> None:
    """The drain is taken back meanwhile, so there is a core node too many: it is not this one."""
    desk = up(3, count=4)
    desk.drain(THIRD)
    desk.settle("a")
    assert arms(desk)[-1].standby.journal == (OLD, NEW, FOURTH)
    desk.undrain(THIRD)
    assert desk.lives("a") == dict.fromkeys((OLD, NEW, THIRD, FOURTH), "serving")
    armed(desk)
    assert desk.node(FOURTH).life is NodeLife.SERVING


def test_what_was_being_armed_when_masters_were_lost_is_armed_again_once_they_answer() -> None:
    desk = up()
    desk.drain(NEW)
    assert (standby(desk).node, len(arms(desk))) == (THIRD, 1)
    silence(desk)
    at(desk, SILENT_S + PATIENCE_S)
    desk.masters("a")
    at(desk, STANDBY_S)
    assert len(arms(desk)) > 1
    assert arms(desk)[-1].standby.node == THIRD


def test_a_part_of_the_journal_that_ends_while_masters_are_away_is_mended_once_they_answer() -> None:
    desk = up()
    silence(desk)
    see(desk, error="the journal does not answer on node03")
    at(desk, SILENT_S - 1)
    desk.masters("a")
    at(desk, 3 * STANDBY_S)
    assert [effect.standby.node for effect in arms(desk)] == [NEW]


@pytest.mark.parametrize("ready", [True, False])
def test_what_was_seen_while_masters_moved_counts_when_they_stay(ready: bool) -> None:
    """It is told once, when it has changed: nobody tells it again."""
    desk = up(ready=not ready)
    ask(desk)
    if not ready:
        look(desk, **FOLLOWS, old="answers")
    else:
        silence(desk)
        at(desk, SILENT_S + PATIENCE_S)
        look(desk, **FOLLOWS)
    assert begun(desk)
    before = len(arms(desk))
    see(desk, ready=ready, error="" if ready else "it ended")
    refused(desk, alive=True)
    assert (cluster(desk).moving, standby(desk).ready) == (None, ready)
    at(desk, STANDBY_S)
    assert len(arms(desk)) - before == (0 if ready else 1)


def test_a_part_of_the_journal_that_was_away_for_the_whole_move_is_mended_when_masters_stay() -> None:
    desk = up()
    ask(desk)
    look(desk, **FOLLOWS, old="answers")
    see(desk, error="the journal does not answer on node03")
    at(desk, 2 * STANDBY_S)
    refused(desk, alive=True)
    assert not arms(desk)
    at(desk, 600)
    assert [effect.standby for effect in arms(desk)][:1] == [Standby(journal=JOURNAL, node=NEW, ready=True)]


def test_what_was_seen_while_masters_moved_is_no_alert_before_they_serve() -> None:
    desk = lost(up())
    look(desk, **FOLLOWS)
    see(desk, ready=False, error="says that it is active")
    at(desk, 2 * STANDBY_S)
    assert (cluster(desk).alert, arms(desk)) == ("", [])
    moved(desk, known=[])
    assert len(arms(desk)) == 1
