"""Nodes that lose their power at each moment of their leave: what only they have is never wiped, and nothing hangs."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.events import Event
from fawkes.core.values.model import NodeId, NodeLife, Role
from fawkes.sim.events.steps import Delays
from fawkes.sim.world import SimWorld
from tests.support.pools import Checked, request, settings, started, submit

UNTIL_S = 400
#: when MR-cluster a, which had grown, gives nodes to b
LEAVES_S = 100


def story() -> list[Event]:
    """First a works, then b: transient-core nodes with the output of a leave it."""
    leave_us = 4 * SECOND_US
    how = settings(growth=Role.TRANSIENT_CORE, transient_core_leave_us=leave_us, evacuate_us=30 * SECOND_US)
    events: list[Event] = [started(6, how=how), request("a", 1, 1), request("b", 2, 1)]
    events += [submit("a", n, 5, tasks=30, task_s=8) for n in range(3)]
    events += [submit("b", n, LEAVES_S - 10, tasks=200, task_s=8) for n in range(4)]
    return events


def world(lost: NodeId | None = None, at_s: float = 0, back_s: float | None = None) -> SimWorld:
    delays = Delays(sample_us=4 * SECOND_US, detect_us=5 * SECOND_US, evacuate_us=8 * SECOND_US)
    new = SimWorld(UNTIL_S * SECOND_US, delays=delays)
    new.script(story())
    if lost is not None:
        new.lose(lost, round(at_s * SECOND_US), None if back_s is None else round(back_s * SECOND_US))
    return new


def play(*lost: object) -> Checked:
    engine = Checked(world(*lost))  # type: ignore[arg-type]
    engine.run()
    return engine


@cache
def leaves() -> dict[NodeId, tuple[float, float]]:
    """When nodes leave in the run in which nothing happens, from their drain to their wipe, in seconds."""
    times: dict[NodeId, tuple[float, float]] = {}
    undisturbed = play()
    began = {facts["node"]: at_s for at_s, facts in undisturbed.reasons("shrink")}
    for at_s, facts in undisturbed.reasons("evacuated"):
        times.setdefault(NodeId(str(facts["node"])), (began[facts["node"]], at_s))
    return times


@cache
def moments() -> list[tuple[NodeId, float]]:
    """Each second in which a node leaves, and some around it."""
    first = list(leaves().items())[:2]
    return [(node, at_s) for node, (from_s, to_s) in first for at_s in range(int(from_s) - 6, int(to_s) + 3)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "away_s", [pytest.param(None, marks=pytest.mark.nightly), 3, pytest.param(60, marks=pytest.mark.nightly)]
)
def test_what_only_a_dead_node_has_is_never_wiped(away_s: int | None) -> None:
    held: Counter[str] = Counter()
    assert len(moments()) > 20
    for node, at_s in moments():
        outcome = play(node, at_s, None if away_s is None else at_s + away_s)
        assert outcome.world.destroyed == [], (node, at_s)
        state = outcome.state.nodes[node]
        leaving = [facts for _, facts in outcome.reasons("node-lost") if facts.get("leaving")]
        held["died while it left"] += len(leaving)
        if away_s is None:
            assert node not in outcome.world.only_here or state.life is NodeLife.LOST, (node, at_s)
        else:
            held["left again"] += len(outcome.reasons("leaves-again"))
            assert outcome.world.only_here == {}, (node, at_s)
            assert state.life is not NodeLife.LOST, (node, at_s)
    assert held["died while it left"] > 5
    if away_s:
        assert held["left again"] == held["died while it left"]
