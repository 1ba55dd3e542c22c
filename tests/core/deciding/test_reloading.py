"""Settings that change while the controller runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fawkes.base.catalog import Kind
from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import Effect, Reply, WakeAt
from fawkes.core.values.events import Reloaded
from fawkes.core.values.model import ClusterId, NodeId, NodeLife
from fawkes.core.values.settings import Settings
from fawkes.policy import policy_text
from fawkes.report import history
from tests.support.desk import Desk
from tests.support.pools import admission, bundled, nodes, policy, settings, started


def reloaded(desk: Desk, how: Settings, **more: Any) -> None:
    facts: dict[str, Any] = {"policy": policy(), "changed": ("period: 20s -> 40s",), "by": "ann", "ask": "r"}
    desk.tell(Reloaded(at_us=desk.now_us, settings=how, **{**facts, **more}))


def test_the_next_tick_comes_by_the_new_period_and_nothing_is_started_again() -> None:
    desk = Desk.running("a", count=6)
    desk.wait(10)
    effects: list[type[Effect]] = [type(effect) for effect in desk.last.effects]
    reloaded(desk, settings(period_us=40 * SECOND_US))
    effects = [type(effect) for effect in desk.last.effects]
    assert set(effects) <= {Reply, WakeAt}
    assert desk.state.pending["tick"].deadline_us == 40 * SECOND_US
    reloaded(desk, settings(period_us=2 * SECOND_US))
    assert desk.state.pending["tick"].deadline_us == desk.now_us
    assert desk.state.rules is not None
    assert desk.state.rules.settings.period_us == 2 * SECOND_US
    assert desk.state.rules.controller == "controller-1"


def test_the_ticks_after_it_go_by_the_new_policy_and_a_replay_decides_the_same() -> None:
    desk = Desk.running("a", "b")
    reloaded(desk, settings(policy="EQ"), policy=policy("eq"))
    facts: Any = desk.tick(a=30, b=10)
    assert facts["policy"] == "EQ"
    assert facts["clusters"]["a"]["weight"] == 0.5
    assert desk.decided_otherwise() == []
    assert [event.settings.policy for _, event in history.starts(desk.store)] == ["TD", "EQ"]
    news = history.news_of_settings(desk.store)
    assert news is not None
    assert (news[0].settings.policy, news[1].settings.policy) == ("TD", "EQ")


def test_a_reload_that_brings_a_preemption_policy_or_nodes_counts_as_a_start_with_them() -> None:
    desk = Desk(4, how=settings(preemption="kill"), preemption=bundled(Kind.PREEMPTION, "kill"))
    new = bundled(Kind.PREEMPTION, "checkpoint")
    reloaded(desk, settings(preemption="checkpoint"), preemption=new, nodes=nodes(6))
    reloaded(desk, settings(preemption="checkpoint"), preemption=new)
    held = [(event.preemption and event.preemption.name, len(event.nodes)) for _, event in history.starts(desk.store)]
    assert held == [("KILL", 4), ("CHECKPOINT", 6), ("CHECKPOINT", 6)]


def test_nodes_that_come_are_free_and_those_that_go_leave_with_their_data_safe() -> None:
    desk = Desk.running("a", count=4)
    held = [state.node for state in desk.state.nodes.values() if state.owner == "a"]
    new = replace(held[0], id=NodeId("new"))
    reloaded(desk, settings(), nodes=(*held[:-1], new))
    assert desk.state.nodes[new.id].life in (NodeLife.FREE, NodeLife.JOINING)
    for state in desk.state.nodes.values():
        if state.unlisted:
            assert state.life is NodeLife.OUT or state.owner == "a"
    assert desk.state.nodes[held[-1].id].unlisted
    assert desk.decided_otherwise() == []
    reloaded(desk, settings())
    assert desk.state.nodes[held[-1].id].unlisted, "an event without nodes says nothing of them"


def test_a_core_node_that_leaves_the_inventory_serves_until_another_has_taken_over() -> None:
    desk = Desk(2, how=settings())
    desk.up("a", 2)
    nodes = [state.node for state in desk.state.nodes.values()]
    gone = next(node for node in nodes if node.id != desk.state.clusters[ClusterId("a")].master)
    reloaded(desk, settings(), nodes=tuple(node for node in nodes if node != gone))
    assert desk.state.nodes[gone.id].life is NodeLife.SERVING
    new = replace(gone, id=NodeId("new"))
    reloaded(desk, settings(), nodes=(*(node for node in nodes if node != gone), new))
    assert desk.state.nodes[new.id].owner == "a", "the new one takes over"


def test_another_admission_policy_counts_from_then_on() -> None:
    desk = Desk.running("a", count=6)
    reloaded(desk, settings(admission="justice"), admission=admission("justice"))
    assert desk.state.rules is not None
    assert desk.state.rules.admission
    desk.submit("a", 1, deadline_us=10**9)
    desk.sample(a={"slots_total": 8, "slots_used": 0, "jobs_waiting": 0, "jobs_running": 0})
    reloaded(desk, settings())
    assert desk.state.rules is not None
    assert not desk.state.rules.admission


@pytest.mark.parametrize("restart", [False, True])
def test_another_weighting_policy_begins_without_the_memory_of_the_one_before(restart: bool) -> None:
    """Also one of the same name: somebody has changed its file."""
    text = 'NAME = "OWN"\ndef measure(window, memory):\n    return 1.0, {}\n'
    lists, counts = (policy_text("OWN", "own.py", text.format(value)) for value in ("[1]", "(memory or 0) + 1"))
    desk = Desk(6, how=settings(), policy=lists)
    desk.up("a")
    desk.tick(a=1)
    assert desk.state.last_tick.memory == {"a": [1]}
    for _ in range(2):
        if restart:
            desk.tell(started(at_s=desk.now_s, how=settings(), policy=counts))
        else:
            reloaded(desk, settings(), policy=counts)
        desk.tick(a=1)
    assert desk.state.last_tick.memory == {"a": 2}


def test_a_change_is_news_for_a_day_also_against_a_run_of_long_ago() -> None:
    desk = Desk(2, how=settings())
    desk.checks = False
    for at_s, tau in ((40 * 86_400, 1.0), (41 * 86_400, 2.0)):
        desk.now_s = at_s
        desk.tell(started(at_s=at_s, how=settings(tau=tau)))
    news = history.news_of_settings(desk.store)
    assert news is not None
    assert (news[1].at_us, news[0].settings.tau, news[1].settings.tau) == (desk.now_us, 1.0, 2.0)
    desk.tell(started(at_s=at_s + 2 * 86_400, how=settings(tau=2.0)))
    assert history.news_of_settings(desk.store) is None
    assert history.started_us(desk.store) == (at_s + 2 * 86_400) * SECOND_US
