"""Free nodes are looked at, and told of when they stop answering and when they answer again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fawkes.core.state import alerts
from fawkes.core.values.events import Condition, NodeObserved
from fawkes.core.values.model import ClusterId, Node, NodeAlert, NodeId, NodeLife, NodeState
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Clock
from fawkes.live.eyes.free_nodes import FreeNodesWatch
from fawkes.live.nodes.playbooks import lease
from tests.support.local_nodes import LocalFleet, node_of

THERE, NEVER_SEEN = NodeId("node01"), NodeId("node02")


def test_a_free_node_is_told_of_when_the_ledger_knows_it_otherwise(tmp_path: Path) -> None:
    fleet = LocalFleet([node_of(name, tmp_path) for name in (THERE, NEVER_SEEN)])
    fleet.off = {NEVER_SEEN}
    known = {name: NodeState(node=Node(id=name), generation=4) for name in (THERE, NEVER_SEEN)}
    mailbox = Mailbox(Clock())
    eyes = FreeNodesWatch(fleet.ground(1, "c"), mailbox, lambda: known.values())

    def look() -> list[NodeObserved]:
        eyes.round()
        assert eyes._round is not None
        eyes._round.result(timeout=60)
        mailbox.end()
        events: list[NodeObserved] = []
        while (event := mailbox.take()) is not None:
            assert isinstance(event, NodeObserved)
            events.append(event)
        return events

    (event,) = look()
    assert (event.node, event.generation, event.condition) == (NEVER_SEEN, 4, Condition.FAILED)
    assert event.error == "it does not answer"
    known[NEVER_SEEN] = replace(alerts.put(known[NEVER_SEEN], NodeAlert.SILENT, event.error))
    assert look() == []
    fleet.off = set()
    (event,) = look()
    assert (event.node, event.condition) == (NEVER_SEEN, Condition.CLEAN)
    known[NEVER_SEEN] = alerts.without(known[NEVER_SEEN])
    assert look() == []
    ground = fleet.ground(1, "c")
    right = ground.lease(NEVER_SEEN, ClusterId("lost"), 3)
    ground.run(NEVER_SEEN, lease.take(right), "taking it")
    (event,) = look()
    assert (event.node, event.condition, event.facts) == (NEVER_SEEN, Condition.FAILED, {"held": True})
    assert "its lease says that lost holds it, with generation 3" in event.error
    known[NEVER_SEEN] = replace(alerts.put(known[NEVER_SEEN], NodeAlert.SILENT, event.error))
    assert look() == []
    ground.run(NEVER_SEEN, lease.release(right), "giving it back")
    (event,) = look()
    assert event.condition is Condition.CLEAN
    (tmp_path / NEVER_SEEN / "clusters" / "old").mkdir(parents=True)
    known[NEVER_SEEN] = alerts.without(known[NEVER_SEEN])
    (event,) = look()
    assert event.error == "it has the folder of old, and nobody holds it"
    # One that belongs to somebody, and on which work failed because its host did not answer.
    known[NEVER_SEEN] = replace(alerts.put(known[NEVER_SEEN], NodeAlert.SILENT, "no answer"), life=NodeLife.JOINING)
    fleet.off = {NEVER_SEEN}
    assert look() == []
    fleet.off = set()
    (event,) = look()
    assert (event.node, event.condition) == (NEVER_SEEN, Condition.ANSWERS)
    eyes.close()
