from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest

from fawkes.config.details import ClusterDetails
from fawkes.core.effects import Effect, Goal, Member, Membership
from fawkes.core.events import Condition, NodeObserved
from fawkes.core.model import ClusterId, ClusterSpec, NodeId, Role
from fawkes.live.clusters import Clusters, LiveCluster
from fawkes.live.masters import MasterAddresses
from fawkes.live.membership import MembershipKeeper
from fawkes.live.post import Mailbox
from fawkes.live.reconcile import Reconciler
from fawkes.live.setup import Setup
from fawkes.live.timers import Clock
from fawkes.live.watch import Watch
from fawkes.units import SECOND_US
from tests.support.stub import Stub, stub_master

C = ClusterId("c")
MASTER, WORKER = NodeId("node01"), NodeId("node02")
NODES, JMX = "/ws/v1/cluster/nodes", "/jmx"


class Hands:
    """Clock, and the few things that a watch asks of others."""

    def __init__(self, master: Stub) -> None:
        self.master = master
        self.now = 1
        self.told: list[Effect] = []

    def now_us(self) -> int:
        return self.now

    def masters(self, cluster: LiveCluster) -> MasterAddresses:
        url = self.master.url
        return MasterAddresses(
            resource_manager=url, namenode=url, user="root", nodes={"node01": MASTER, "node02": WORKER}
        )

    def goal(self, key: str) -> Effect:
        return Membership(C, 1, {})

    def want(self, effect: Effect) -> None:
        self.told.append(effect)

    def forget(self, cluster: ClusterId) -> None:
        """Nothing is remembered."""


class Bench:
    """A MR-cluster of a core node and a worker; the test says what the masters answer."""

    def __init__(self, master: Stub, role: Role = Role.TRANSIENT, *, served: bool = False) -> None:
        self.hands = Hands(master)
        self.master = master
        self.mailbox = Mailbox(cast(Clock, self.hands))
        self.clusters = Clusters()
        self.role = role
        spec = ClusterSpec(id=C, min_nodes=1, replication=1, details=ClusterDetails().plain())
        there = {MASTER: 1, WORKER: 1} if served else {}
        cluster = LiveCluster(spec, ClusterDetails(), MASTER, self._members(Goal.SERVING), True, True, there)
        self.clusters._put(cluster)
        self.watch = Watch(
            self.clusters,
            cast(Setup, self.hands),
            cast(MembershipKeeper, self.hands),
            cast(Reconciler, self.hands),
            self.mailbox,
        )
        self.yarn(node01="RUNNING", node02="RUNNING")
        self.hdfs("node01", "node02")

    def _members(self, goal: Goal) -> dict[NodeId, Member]:
        return {MASTER: Member(Goal.SERVING, Role.CORE, 1), WORKER: Member(goal, self.role, 1)}

    def wish(self, goal: Goal) -> None:
        """What the worker should be from now on."""
        self.clusters.changed(Membership(C, 2, self._members(goal)))

    def yarn(self, **states: str) -> None:
        rows = [{"nodeHostName": name, "state": state} for name, state in states.items()]
        self.master.answers[NODES] = {"nodes": {"node": rows}}

    def hdfs(self, *alive: str, state: str = "In Service") -> None:
        live = {f"{name}:9866": {"adminState": state if name == "node02" else "In Service"} for name in alive}
        dead: dict[str, Any] = {f"{name}:9866": {} for name in ("node01", "node02") if name not in alive}
        bean = {"LiveNodes": json.dumps(live), "DeadNodes": json.dumps(dead), "DecomNodes": "{}"}
        self.master.answers[JMX] = {"beans": [{"NumberOfMissingBlocks": 0, "Safemode": "", **bean}]}

    def seen(self, after_s: int = 0) -> list[tuple[str, Condition, str]]:
        """What is told when that much time has passed and the masters have been looked at."""
        self.hands.now += after_s * SECOND_US
        for _ in range(10):
            self.watch.round()
            look = self.watch._seen[C].look
            if look is not None:
                look.result(timeout=60)
        self.mailbox.end()
        found: list[tuple[str, Condition, str]] = []
        while (event := self.mailbox.take()) is not None:
            assert isinstance(event, NodeObserved)
            found.append((event.node, event.condition, event.error))
        return found


@pytest.fixture
def master() -> Iterator[Stub]:
    with stub_master() as stub:
        yield stub


def test_a_node_that_has_not_served_yet_is_not_lost(master: Stub) -> None:
    bench = Bench(master)
    bench.yarn(node01="RUNNING")
    assert bench.seen() + bench.seen(after_s=100) == []


def test_a_node_whose_daemon_went_is_lost_once(master: Stub) -> None:
    bench = Bench(master)
    assert bench.seen() == []
    bench.yarn(node01="RUNNING", node02="LOST")
    lost = [("node02", Condition.LOST, "its NodeManager is LOST")]
    assert bench.seen() + bench.seen(after_s=100) == lost


def test_a_node_that_died_while_no_controller_ran_is_lost(master: Stub) -> None:
    bench = Bench(master, served=True)
    bench.yarn(node01="RUNNING", node02="LOST")
    assert bench.seen() == [("node02", Condition.LOST, "its NodeManager is LOST")]


def test_a_master_that_has_begun_anew_has_time_to_hear_of_its_nodes(master: Stub) -> None:
    bench = Bench(master, Role.TRANSIENT_CORE, served=True)
    bench.yarn()
    bench.hdfs()
    assert bench.seen() == []
    bench.yarn(node01="RUNNING", node02="RUNNING")
    bench.hdfs("node01", "node02")
    assert bench.seen(after_s=15) == []
    bench.hdfs("node01")
    assert bench.seen(after_s=15) == []
    assert bench.seen(after_s=30) == [("node02", Condition.LOST, "its DataNode is dead")]


def test_a_lost_node_that_came_back_serves(master: Stub) -> None:
    bench = Bench(master, Role.TRANSIENT_CORE, served=True)
    bench.yarn(node01="RUNNING", node02="LOST")
    assert [row[1] for row in bench.seen()] == [Condition.LOST]
    bench.yarn(node01="RUNNING", node02="RUNNING")
    assert bench.seen() + bench.seen() == [("node02", Condition.SERVING, "")]
    bench.yarn(node01="RUNNING", node02="LOST")
    assert [row[1] for row in bench.seen()] == [Condition.LOST]


def test_the_first_node_is_lost_when_its_masters_stay_silent(master: Stub) -> None:
    bench = Bench(master, served=True)
    del master.answers[NODES]
    assert bench.seen() + bench.seen(after_s=20) == []
    ((node, condition, why),) = bench.seen(after_s=20)
    assert (node, condition) == ("node01", Condition.LOST)
    assert "its masters do not answer" in why
    bench.yarn(node01="RUNNING", node02="RUNNING")
    assert bench.seen(after_s=5) == [("node01", Condition.SERVING, "")]


def test_a_node_drains_until_its_master_says_so(master: Stub) -> None:
    bench = Bench(master, served=True)
    bench.wish(Goal.DRAINING)
    bench.yarn(node01="RUNNING", node02="DECOMMISSIONING")
    assert bench.seen(after_s=100) == []
    bench.yarn(node01="RUNNING", node02="DECOMMISSIONED")
    assert bench.seen() + bench.seen() == [("node02", Condition.DRAINED, "")]


def test_masters_that_forgot_a_drain_are_told_again(master: Stub) -> None:
    bench = Bench(master, served=True)
    bench.wish(Goal.DRAINING)
    assert bench.seen() == []
    assert bench.hands.told == []
    assert bench.seen(after_s=30) == []
    assert len(bench.hands.told) == 1


def test_a_node_that_stays_after_all_is_not_lost_by_what_was_said_while_it_left(master: Stub) -> None:
    bench = Bench(master, served=True)
    bench.seen()
    bench.wish(Goal.DRAINING)
    bench.yarn(node01="RUNNING", node02="DECOMMISSIONED")
    bench.seen()
    bench.wish(Goal.SERVING)
    assert bench.seen() + bench.seen(after_s=100) == []


def test_an_answer_to_what_is_not_wanted_any_more_is_passed_over(master: Stub) -> None:
    bench = Bench(master, served=True)

    def overtaken() -> object:
        bench.wish(Goal.DRAINING)
        return {"nodes": {"node": [{"nodeHostName": "node02", "state": "DECOMMISSIONED"}]}}

    bench.seen()
    master.answers[NODES] = overtaken
    assert bench.seen() == []
    assert [row[1] for row in bench.seen()] == [Condition.DRAINED]


def test_blocks_that_are_not_safe_hold_their_node(master: Stub) -> None:
    bench = Bench(master, Role.TRANSIENT_CORE, served=True)
    bench.wish(Goal.EVACUATING)
    bench.hdfs("node01", "node02", state="Decommission In Progress")
    assert bench.seen() == []
    ((node, condition, why),) = bench.seen(after_s=20)
    assert (node, condition) == ("node02", Condition.HELD)
    assert "HDFS has not looked through its 0 blocks yet" in why
    bench.hdfs("node01")
    assert bench.seen() == [("node02", Condition.EVACUATED, "")]
