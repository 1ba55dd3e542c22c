"""The second NameNode of an MR-cluster: when it takes over, and what goes on."""

from __future__ import annotations

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import Deploy, Host, LookAtMasters, Membership, MoveMasters, StartJob
from fawkes.core.values.events import MastersSeen
from fawkes.core.values.model import JobId, JobLife, NodeId, NodeLife, Promise, Standby
from fawkes.core.values.sight import Launcher
from fawkes.core.values.tags import tag_of
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
    at_work,
    begun,
    cluster,
    ever,
    how,
    look,
    moved,
    refused,
    restore,
    run,
    silence,
)
from tests.support.standby import FOLLOWS, JOURNAL, armed, arms, lost, moves, see, standby, up

TAKEOVER_S = 2
FOURTH, FIFTH = NodeId("node04"), NodeId("node05")


# Where it is.


def test_an_mr_cluster_of_two_promises_gets_a_journal_only_with_the_second() -> None:
    desk = Desk(6, how=how())
    desk.request("a", 3, masters=Promise.STANDBY)
    desk.request("b", 3)
    first, second = desk.effects(Deploy)
    assert first.standby == Standby(journal=JOURNAL, node=NEW)
    assert (first.master, second.standby) == (OLD, None)


def test_a_node_that_refuses_to_be_deployed_on_is_not_part_of_the_journal() -> None:
    desk = Desk(6, how=how())
    desk.request("a", 3, masters=Promise.STANDBY)
    desk.failed("cluster:a", "damaged", refused=NEW)
    assert standby(desk) == Standby(journal=(OLD, THIRD, FOURTH), node=FOURTH)
    (effect,) = desk.latest(Deploy)
    assert effect.standby == standby(desk)


def test_every_list_of_members_names_the_second_namenode() -> None:
    desk = up()
    documents = desk.effects(Membership)
    assert documents[-1].standby is not None
    assert documents[-1].standby.journal == JOURNAL


# Taking over.


def test_it_takes_over_as_soon_as_masters_are_lost() -> None:
    desk = lost(up())
    (effect,) = desk.effects(LookAtMasters)
    assert (effect.old, effect.to) == (OLD, NEW)
    look(desk, **FOLLOWS, copied_us=None, reached=[])
    assert moves(desk) == [MoveMasters(A, cluster(desk).version, OLD, NEW, planned=False, standby=True)]
    moved(desk, known=[])
    assert (cluster(desk).master, cluster(desk).moving) == (NEW, None)
    (said,) = desk.said("masters-moved")
    assert said["lacks_us"] == 0


@pytest.mark.parametrize(
    ("silent", "gone", "after_s"),
    [
        pytest.param("", (), SILENT_S, id="it is not known which of the masters is silent"),
        pytest.param("resourcemanager", (), SILENT_S, id="the NameNode answers"),
        pytest.param("resourcemanager", ("resourcemanager",), SILENT_S, id="the ResourceManager is started again"),
        pytest.param("namenode", (), TAKEOVER_S, id="the NameNode is silent"),
        pytest.param("namenode", ("resourcemanager",), TAKEOVER_S, id="the NameNode hangs"),
        pytest.param("namenode", ("namenode",), 0, id="the NameNode has ended"),
        pytest.param("namenode", ("namenode", "resourcemanager"), 0, id="the node was restarted"),
    ],
)
def test_the_less_there_is_to_wait_for_the_sooner_it_takes_over(
    silent: str, gone: tuple[str, ...], after_s: int
) -> None:
    desk = up(takeover_us=TAKEOVER_S * SECOND_US)
    silence(desk, silent, gone)
    if after_s:
        at(desk, after_s - 0.1)
        assert desk.effects(LookAtMasters) == []
        at(desk, 0.1)
    assert len(desk.effects(LookAtMasters)) == 1
    look(desk, **FOLLOWS)
    assert cluster(desk).master == NEW


def test_masters_that_have_ended_are_told_by_name_and_started_again_at_once() -> None:
    desk = up(takeover_us=TAKEOVER_S * SECOND_US)
    silence(desk, "resourcemanager", ("resourcemanager",))
    assert "node01 answers, but its ResourceManager is not running" in cluster(desk).alert
    (host,) = desk.latest(Host)
    assert (host.node, host.cluster) == (OLD, A)
    desk.tell(MastersSeen(at_us=desk.now_us, cluster=A))
    assert (cluster(desk).alert, cluster(desk).silent_us) == ("", None)


def test_a_second_namenode_that_follows_no_more_leaves_the_masters_their_full_time() -> None:
    desk = up(takeover_us=TAKEOVER_S * SECOND_US)
    silence(desk, "namenode")
    at(desk, 1)
    see(desk, ready=False, error="it does not follow")
    at(desk, SILENT_S - 1.1)
    assert desk.node(OLD).life is NodeLife.SERVING
    at(desk, 0.1)
    assert desk.node(OLD).life is NodeLife.LOST


def test_a_namenode_that_answers_before_its_node_does_has_the_time_that_is_left() -> None:
    desk = up(takeover_us=TAKEOVER_S * SECOND_US)
    silence(desk, "namenode")
    at(desk, 1)
    silence(desk, "resourcemanager")
    at(desk, SILENT_S - 1.1)
    assert desk.effects(LookAtMasters) == []
    at(desk, 0.1)
    assert len(desk.effects(LookAtMasters)) == 1


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"standby": None, "journal": [NEW, THIRD]},
        {"standby": "initializing", "journal": [NEW, THIRD]},
        {"standby": "standby", "journal": [NEW]},
        {"standby": "standby", "journal": [NEW, FOURTH]},
        {"standby": "standby", "journal": None},
        {"standby": "standby", "journal": "node02"},
    ],
)
def test_without_proof_it_does_not_take_over(facts: dict[str, object]) -> None:
    desk = lost(up())
    look(desk, **facts, copied_us=None)
    assert not begun(desk)
    assert cluster(desk).alert.startswith("its masters are lost")


def test_masters_that_answer_after_all_stay() -> None:
    desk = lost(up())
    look(desk, **FOLLOWS, old="answers")
    assert not begun(desk)
    assert (cluster(desk).master, cluster(desk).moving) == (OLD, None)


def test_masters_that_answer_when_it_is_to_take_over_stay() -> None:
    desk = lost(up())
    look(desk, **FOLLOWS)
    refused(desk, alive=True)
    assert (cluster(desk).master, cluster(desk).moving) == (OLD, None)
    assert (standby(desk).node, standby(desk).ahead) == (NEW, False)
    assert desk.members(), "the new ones may have had them meanwhile"


def test_masters_that_died_in_a_planned_move_are_brought_up_again() -> None:
    """They were stopped for the new ones, whose node is lost: what was told of them meanwhile was not heard."""
    desk = up()
    ask(desk)
    look(desk, **FOLLOWS, old="answers")
    silence(desk)
    refused(desk, alive=True, silent=True)
    assert (cluster(desk).master, cluster(desk).moving) == (OLD, None)
    at(desk, SILENT_S)
    assert desk.node(OLD).life is NodeLife.LOST
    host = desk.effects(Host)[-1]
    assert host.node == OLD


def called_off() -> Desk:
    """A planned takeover was tried, how far nobody knows; its node is lost, and the old masters are silent."""
    desk = up()
    at(desk, 300)
    ask(desk)
    look(desk, **FOLLOWS, old="answers")
    refused(desk, alive=True, silent=True)
    lost(desk)
    see(desk, error="it does not answer", ready=False)
    return desk


def test_masters_that_can_read_the_journal_are_waited_for() -> None:
    desk = called_off()
    at(desk, PATIENCE_S)
    for journal, waits in (([OLD, THIRD], True), ([THIRD], False)):
        until_look_at(desk, THIRD)
        look(desk, old="runs", image=True, copied_us=0, journal=journal)
        assert not [effect for effect in moves(desk) if effect.to == THIRD]
        assert ("they can read the journal, and are waited for" in cluster(desk).alert) == waits
    restore(desk, THIRD)
    look(desk, old="runs", image=True, copied_us=0, journal=[OLD, THIRD])
    assert [effect.from_copy for effect in moves(desk) if effect.to == THIRD] == [True]


def test_a_disk_that_may_lack_what_the_other_namenode_wrote_does_not_pass_for_everything() -> None:
    desk = called_off()
    at(desk, PATIENCE_S)
    until_look_at(desk, THIRD)
    look(desk, old="stopped", image=True, copied_us=0, journal=[THIRD])
    assert "s older than their last answer: `fawkes restore a`" in cluster(desk).alert
    until_look_at(desk, THIRD)
    look(desk, old="stopped", image=True, journal=[THIRD])
    assert [effect.from_copy for effect in moves(desk) if effect.to == THIRD] == [True]


def test_masters_that_answer_have_read_the_journal() -> None:
    desk = called_off()
    desk.tell(MastersSeen(at_us=desk.now_us, cluster=A))
    assert not standby(desk).ahead
    lost(desk)
    at(desk, PATIENCE_S)
    until_look_at(desk, THIRD)
    look(desk, old="stopped", image=True, copied_us=0)
    assert [effect.from_copy for effect in moves(desk) if effect.to == THIRD] == [False]


def test_masters_that_answer_after_a_planned_move_was_called_off_are_not_lost() -> None:
    desk = up()
    ask(desk)
    look(desk, **FOLLOWS, old="answers")
    refused(desk, alive=True)
    at(desk, SILENT_S)
    assert desk.node(OLD).life is NodeLife.SERVING


def test_one_that_was_not_ready_is_looked_at_after_the_usual_patience() -> None:
    desk = lost(up(ready=False))
    assert not desk.effects(LookAtMasters)
    at(desk, PATIENCE_S)
    look(desk, **FOLLOWS)
    assert moves(desk)[-1].standby


def test_it_takes_over_even_where_lost_masters_are_waited_for_for_ever() -> None:
    desk = lost(up(masters_lost_us=0))
    look(desk, **FOLLOWS)
    assert moves(desk)[-1].standby


def test_where_it_cannot_take_over_a_young_copy_does_and_the_journal_ends() -> None:
    desk = lost(up())
    look(desk, standby=None, journal=[THIRD])
    assert not begun(desk)
    assert cluster(desk).alert == "its masters are lost: its second NameNode cannot take over yet"
    see(desk, error="it does not answer", ready=False)
    at(desk, PATIENCE_S)
    look(desk, standby=None, journal=[THIRD])
    assert [effect.standby for effect in moves(desk)] == [False]
    assert standby(desk) == Standby(journal=JOURNAL)
    assert not ever(desk, "standby-given-up")
    moved(desk, copied_us=desk.now_us)
    assert cluster(desk).standby is None
    assert ever(desk, "standby-given-up")
    assert not arms(desk)


def came_back(**changes: object) -> Desk:
    """The masters are about to come back from a copy on the second node."""
    desk = up(**changes)  # type: ignore[arg-type]
    lost(desk)
    see(desk, error="it does not answer", ready=False)
    look(desk, standby=None, journal=[THIRD])
    at(desk, PATIENCE_S)
    look(desk, standby=None, journal=[THIRD])
    assert [effect.standby for effect in moves(desk)] == [False]
    return desk


def test_masters_that_answer_before_a_copy_took_their_place_still_have_their_journal() -> None:
    """Nothing was begun elsewhere, so somebody must go on keeping it whole."""
    desk = came_back()
    refused(desk, alive=True)
    assert (cluster(desk).master, cluster(desk).moving) == (OLD, None)
    assert standby(desk).journal == JOURNAL
    assert not ever(desk, "standby-given-up")
    assert arms(desk)[-1].standby == Standby(journal=JOURNAL, node=NEW)
    armed(desk)
    assert standby(desk) == Standby(journal=JOURNAL, node=NEW, ready=True)


def test_a_copy_that_began_nothing_has_written_nothing_that_the_old_masters_lack() -> None:
    desk = came_back()
    refused(desk, alive=True, silent=True)
    assert not standby(desk).ahead


def test_nobody_takes_over_by_the_journal_once_a_copy_may_have_taken_files() -> None:
    desk = came_back(deploy_attempts=1)
    refused(desk)
    assert ever(desk, "standby-given-up")
    assert cluster(desk).standby is None


def test_a_copy_that_began_nothing_leaves_the_journal_to_the_old_masters() -> None:
    desk = came_back(deploy_attempts=1)
    refused(desk, untouched=True)
    assert (cluster(desk).master, standby(desk)) == (OLD, Standby(journal=JOURNAL))
    look(desk, old="answers")
    assert (cluster(desk).moving, standby(desk).journal) == (None, JOURNAL)
    assert arms(desk)[-1].standby == Standby(journal=JOURNAL, node=NEW)


def test_a_node_that_does_not_answer_either_is_not_tried_for_ever() -> None:
    desk = lost(up())
    refused(desk)
    at(desk, 3)
    effect = desk.state.pending["masters:a"].effect
    assert isinstance(effect, LookAtMasters)
    assert effect.to == THIRD


def until_look_at(desk: Desk, node: NodeId) -> None:
    """Looks at other nodes run over their time."""

    def there() -> bool:
        pending = desk.state.pending.get(KEY)
        return pending is not None and isinstance(pending.effect, LookAtMasters) and pending.effect.to == node

    for _ in range(1000):
        if there():
            return
        at(desk, 1)
    raise AssertionError(desk.state.pending)


def test_no_copy_is_taken_while_the_second_namenode_follows_and_could_not_be_looked_at() -> None:
    """A look at it that ran over its time says nothing of it, and a copy has less."""
    desk = lost(up())
    at(desk, PATIENCE_S)
    until_look_at(desk, THIRD)
    look(desk, **FOLLOWS)
    assert not begun(desk), "a NameNode on another node is none that it may trust"
    assert cluster(desk).alert == f"its masters are lost: its second NameNode on {NEW} follows, and is waited for"
    until_look_at(desk, NEW)
    look(desk, **FOLLOWS)
    assert [effect.standby for effect in moves(desk)] == [True]


@pytest.mark.parametrize("drained", [False, True])
def test_one_that_does_not_follow_any_more_is_not_waited_for(drained: bool) -> None:
    desk = lost(up())
    if drained:
        desk.drain(NEW)
    else:
        see(desk, error="it does not answer", ready=False)
    at(desk, PATIENCE_S)
    until_look_at(desk, THIRD)
    look(desk)
    assert [effect.standby for effect in moves(desk)] == [False]


def test_a_restore_takes_the_copy_and_ends_the_journal() -> None:
    desk = lost(up())
    look(desk, standby=None, journal=[], copied_us=0)
    restore(desk)
    look(desk, **FOLLOWS, copied_us=0)
    assert [effect.standby for effect in moves(desk)] == [False]
    moved(desk, copied_us=0)
    assert cluster(desk).standby is None


def test_where_the_new_masters_do_not_come_up_a_copy_is_as_old_as_it_is() -> None:
    desk = lost(up(deploy_attempts=1))
    look(desk, **FOLLOWS)
    at(desk, 300)
    refused(desk)
    assert (standby(desk).node, desk.node(NEW).life) == (None, NodeLife.LOST)
    at(desk, PATIENCE_S)
    look(desk, copied_us=0)
    assert len(moves(desk)) == 1
    assert "fawkes restore a" in cluster(desk).alert


# Jobs.


def test_jobs_that_yarn_knows_go_on() -> None:
    desk = at_work(up())
    lost(desk)
    look(desk, **FOLLOWS)
    moved(desk, known=[{"id": "application_a-1", "tags": ["mine", tag_of(JobId("a-1"), 1)]}])
    job = desk.state.jobs[JobId("a-1")]
    assert (job.life, job.attempt, job.displaced) == (JobLife.RUNNING, 1, 0)
    assert [effect.attempt for effect in desk.latest(StartJob)] == [1]


def test_a_job_that_yarn_does_not_know_begins_again_once() -> None:
    desk = up()
    desk.submit("a", 1)
    lost(desk)
    look(desk, **FOLLOWS)
    moved(desk, known=[{"id": "application_7", "tags": [tag_of(JobId("a-2"), 1)]}, {"id": "x", "tags": None}, "odd"])
    job = desk.state.jobs[JobId("a-1")]
    assert (job.life, job.attempt, job.displaced) == (JobLife.STARTING, 2, 1)


# Planned moves.


def waited_for(desk: Desk) -> object:
    """The jobs that the answer names."""
    return desk.reply().facts["jobs"]


def test_a_planned_move_does_not_wait_for_jobs_that_yarn_knows() -> None:
    desk = at_work(up())
    ask(desk)
    assert waited_for(desk) == []
    look(desk, **FOLLOWS, old="answers", applications=[{"id": "application_a-1"}])
    assert moves(desk) == [MoveMasters(A, cluster(desk).version, OLD, NEW, planned=True, standby=True)]
    assert desk.said("masters-move")[0]["by_standby"] is True
    moved(desk, known=[])
    assert desk.said("masters-moved")[0]["by_standby"] is True


def test_a_planned_move_waits_for_a_job_that_is_no_application_yet() -> None:
    desk = up()
    desk.submit("a", 1)
    ask(desk, NEW)
    assert waited_for(desk) == ["a-1"]
    assert not desk.effects(LookAtMasters)
    run(desk, "a-1")
    assert desk.effects(LookAtMasters) == [LookAtMasters(A, cluster(desk).version, OLD, NEW)]


def test_a_planned_move_waits_for_a_command_of_its_own() -> None:
    """It may have further applications, and nobody begins it a second time."""
    desk = at_work(up())
    desk.attempt("a-1", launcher=Launcher.RUNNING, own=True)
    ask(desk)
    assert waited_for(desk) == ["a-1"]
    assert not desk.effects(LookAtMasters)


def test_a_planned_move_waits_until_it_can_take_over() -> None:
    desk = up(ready=False)
    ask(desk)
    assert not desk.effects(LookAtMasters)
    see(desk)
    look(desk, old="answers", standby="standby", journal=[OLD])
    assert not begun(desk)


def test_the_second_namenode_goes_to_the_third_node_before_the_masters_and_then_to_their_old_node() -> None:
    desk = up()
    ask(desk, THIRD)
    assert [effect.standby.node for effect in arms(desk)] == [THIRD]
    assert not desk.effects(LookAtMasters)
    armed(desk)
    look(desk, old="answers", standby="standby", journal=JOURNAL)
    assert moves(desk)[-1].to == THIRD
    moved(desk, known=[])
    assert arms(desk)[-1].standby.node == OLD
    armed(desk)
    ask(desk)
    look(desk, old="answers", standby="standby", journal=JOURNAL)
    moved(desk, known=[])
    assert (cluster(desk).master, arms(desk)[-1].standby.node) == (OLD, THIRD)


def test_masters_go_to_no_node_without_a_journal() -> None:
    desk = up(4)
    ask(desk, FOURTH)
    refusal = desk.reply().refused
    assert refusal is not None
    assert (refusal.code, refusal.facts["able"]) == ("no-such-master", [NEW, THIRD])
    assert cluster(desk).moving is None


def test_the_masters_leave_a_drained_node_and_then_it_leaves_the_journal() -> None:
    desk = up(count=6)
    desk.drain(OLD)
    look(desk, **FOLLOWS, old="answers")
    moved(desk, known=[])
    assert desk.node(OLD).life is NodeLife.SERVING
    assert arms(desk)[-1].standby == Standby(journal=JOURNAL, node=THIRD)
    desk.settle("a")
    armed(desk)
    assert arms(desk)[-1].standby.journal == (NEW, THIRD, FOURTH)
    armed(desk)
    assert desk.node(OLD).life is not NodeLife.SERVING
