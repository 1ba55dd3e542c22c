"""Refusals by a node's lease, as the world reports them: one node alone, or another controller that is in charge."""

from __future__ import annotations

from typing import Any

import pytest

from fawkes.base.errors import FawkesError
from fawkes.core.values.effects import Host
from fawkes.core.values.events import Condition, Event, Failed, NodeObserved
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.controller.world import _facts_of_host
from fawkes.live.nodes.ssh import ConnectionState, SshError
from fawkes.playbook import Exit, failure
from tests.live.clusters.test_deploy import DEPLOY
from tests.live.played import give_hands, world_of

CLEAN = Host(NodeId("node07"), ClusterId("c-1"), None, 3)


class Refuses:
    """A node whose scripts end with this exit code, whatever they are for."""

    def __init__(self, code: int) -> None:
        self.code = code

    def reach(self, effect: Host, current: object) -> Condition:
        raise failure(effect.node, "wiping", self.code, "the lease in /srv is not ours")

    def deploy(self, *words: object) -> Any:
        raise failure("node07", "taking the node", self.code, "the lease in /srv is not ours")


def tell(code: int, effect: Any) -> tuple[Event, list[FawkesError]]:
    """The event that a goal ends with, and what stops the controller."""
    stops: list[FawkesError] = []
    world, refuses = world_of(refused=stops.append), Refuses(code)
    give_hands(world, deployer=refuses, hosts=refuses)
    try:
        world.start([effect])
        event = world.next_event()
    finally:
        world.close()
    assert event is not None
    return event, stops


@pytest.mark.parametrize("code", [Exit.DAMAGED, Exit.FOREIGN, Exit.SHARED_FOLDER])
def test_a_lease_that_is_not_ours_is_a_fact_about_its_node(code: int) -> None:
    event, stops = tell(code, CLEAN)
    assert isinstance(event, NodeObserved)
    assert (event.condition, event.node, event.facts) == (Condition.FAILED, "node07", {"refused": True})
    assert "wiping failed" in event.error
    assert stops == []


@pytest.mark.parametrize("state", ConnectionState)
def test_a_host_that_nobody_reaches_is_told_as_silent(state: ConnectionState) -> None:
    facts = _facts_of_host(SshError("port 22 does not answer", host="node07", state=state))
    is_off = state in (ConnectionState.NO_ANSWER, ConnectionState.REFUSED, ConnectionState.BEHIND)
    assert facts == ({"silent": True} if is_off else {})


def test_a_newer_epoch_of_our_pool_stops_the_controller() -> None:
    event, stops = tell(Exit.FENCED, CLEAN)
    assert isinstance(event, NodeObserved)
    assert event.facts == {}
    assert ["another controller has taken over" in str(error) for error in stops] == [True]


def test_any_other_failure_of_a_node_is_no_refusal() -> None:
    event, stops = tell(Exit.BUSY, CLEAN)
    assert isinstance(event, NodeObserved)
    assert (event.facts, stops) == ({}, [])


def test_a_stage_of_a_mr_cluster_names_the_node_that_refused() -> None:
    event, stops = tell(Exit.DAMAGED, DEPLOY)
    assert isinstance(event, Failed)
    assert (event.facts, event.final, stops) == ({"refused": "node07"}, False, [])


def test_a_node_whose_disk_is_away_is_no_refusal() -> None:
    assert tell(Exit.AWAY, CLEAN)[0].facts == {"away": True}  # type: ignore[union-attr]
    assert tell(Exit.AWAY, DEPLOY)[0].facts == {"away": "node07"}  # type: ignore[union-attr]
