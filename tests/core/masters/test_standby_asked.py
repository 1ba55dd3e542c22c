"""What an operator hears who moves the masters of an MR-cluster with a second NameNode."""

from __future__ import annotations

from fawkes.core.values.effects import ArmStandby, LookAtMasters, MoveMasters, Reply
from fawkes.core.values.events import Done, StandbySeen
from fawkes.core.values.model import NodeId, Promise
from tests.support.desk import Desk
from tests.support.masters import KEY, NEW, OLD, THIRD, A, all_of, ask, cluster, how, look, moved, run

OUTSIDE = NodeId("node04")


def paired() -> Desk:
    """a runs on four core nodes; its journal is on the first three, and the second NameNode on the second can take
    over."""
    desk = Desk(6, how=how())
    desk.up("a", 4, masters=Promise.STANDBY)
    assert cluster(desk).standby is not None
    desk.tell(StandbySeen(at_us=desk.now_us, cluster=A, node=NEW, ready=True))
    return desk


def waited_for(desk: Desk) -> object:
    """The jobs that the answer names."""
    (reply,) = [effect for effect in desk.last.effects if isinstance(effect, Reply)]
    return reply.facts["jobs"]


def test_masters_go_only_to_nodes_of_the_journal() -> None:
    desk = paired()
    ask(desk, OUTSIDE)
    assert desk.refusal() == "no-such-master"
    (reply,) = [effect for effect in desk.last.effects if isinstance(effect, Reply)]
    assert reply.refused is not None
    assert reply.refused.facts["able"] == [NEW, THIRD]
    assert cluster(desk).moving is None


def test_only_a_job_that_is_not_yet_an_application_is_waited_for() -> None:
    desk = paired()
    desk.submit("a", 1)
    ask(desk, NEW)
    assert waited_for(desk) == ["a-1"]
    assert not all_of(desk, LookAtMasters)
    run(desk, "a-1")
    assert all_of(desk, LookAtMasters) == [LookAtMasters(A, cluster(desk).version, OLD, NEW)]


def test_an_application_goes_on_and_is_not_waited_for() -> None:
    desk = paired()
    desk.submit("a", 1)
    run(desk, "a-1")
    ask(desk, NEW)
    assert waited_for(desk) == []
    assert all_of(desk, LookAtMasters) == [LookAtMasters(A, cluster(desk).version, OLD, NEW)]


def test_the_second_name_node_is_armed_first_where_the_masters_are_to_go() -> None:
    desk = paired()
    ask(desk, THIRD)
    assert not all_of(desk, LookAtMasters)
    (armed,) = all_of(desk, ArmStandby)
    assert isinstance(armed, ArmStandby)
    assert armed.standby.node == THIRD
    facts = {"journal": list(armed.standby.journal)}
    desk.tell(Done(at_us=desk.now_us, effect=KEY, version=desk.state.pending[KEY].version, facts=facts))
    assert [each.to for each in all_of(desk, LookAtMasters) if isinstance(each, LookAtMasters)] == [THIRD]


def test_a_move_says_that_the_second_name_node_did_it() -> None:
    desk = paired()
    ask(desk, NEW)
    look(desk, old="answers", standby="standby", journal=[OLD, NEW, THIRD])
    (begun,) = desk.said("masters-move")
    assert begun["by_standby"] is True
    (move,) = all_of(desk, MoveMasters)
    assert isinstance(move, MoveMasters)
    assert move.standby
    moved(desk, known=[])
    (told,) = desk.said("masters-moved")
    assert told["by_standby"] is True
