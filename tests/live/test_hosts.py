from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fawkes.config.details import ClusterDetails
from fawkes.core.effects import Goal, Host, Member
from fawkes.core.events import Condition
from fawkes.core.model import ClusterId, ClusterSpec, NodeId, Role
from fawkes.errors import FawkesError, HostError
from fawkes.live.clusters import Clusters, LiveCluster
from fawkes.live.ground import Ground
from fawkes.live.hosts import Hosts
from fawkes.live.masters import MasterAddresses
from fawkes.live.setup import Setup
from fawkes.playbook import Facts
from tests.support.stub import stub_master

NODE = NodeId("node02")
C = ClusterId("c")
EFFECT = Host(NODE, C, Role.TRANSIENT, 1)
NODES = "/ws/v1/cluster/nodes"


class FakeSetup:
    """Knows where the ResourceManager answers, and nothing that runs."""

    def __init__(self, url: str) -> None:
        self.url = url

    def masters(self, cluster: LiveCluster) -> MasterAddresses:
        return MasterAddresses(resource_manager=self.url, namenode=self.url, user="root", nodes={"node02": NODE})

    def daemons(self, cluster: LiveCluster, node: NodeId, role: Role) -> list[Any]:
        return []

    def files(self, cluster: LiveCluster, node: NodeId, role: Role) -> dict[str, str]:
        return {}


class FakeGround:
    """Starts of daemons end as they are told to; ``begun`` counts them."""

    nodes = {NODE: SimpleNamespace(work_dir="/srv/fawkes")}
    identity = SimpleNamespace(pool="pool", epoch=1, controller="controller")

    def __init__(self, *endings: str) -> None:
        self.endings = list(endings)
        self.begun = 0
        self.done: list[str] = []

    def lease(self, node: NodeId, cluster: ClusterId, generation: int) -> Any:
        return Ground.lease(cast(Ground, self), node, cluster, generation)

    def run(self, node: NodeId, script: object, doing: str) -> Facts:
        self.done.append(doing)
        if doing == "starting daemons":
            self.begun += 1
            if self.endings and (why := self.endings.pop(0)):
                raise HostError(f"starting daemons failed, a daemon ended at once: {why}", host=node)
        return Facts([])


def hosts(ground: FakeGround, url: str) -> Hosts:
    clusters = Clusters()
    spec = ClusterSpec(id=C, min_nodes=1, replication=1, details=ClusterDetails().plain())
    members = {NODE: Member(Goal.SERVING, Role.TRANSIENT, 1)}
    clusters._put(LiveCluster(spec, ClusterDetails(), NodeId("node01"), members))
    return Hosts(cast(Ground, ground), clusters, cast(Setup, FakeSetup(url)), threading.Event(), lambda effect: None)


def nodes(*states: str) -> Any:
    return {"nodes": {"node": [{"nodeHostName": "node02", "state": state} for state in states]}}


@pytest.mark.slow
def test_a_daemon_that_came_before_its_master_knew_of_it_is_started_again() -> None:
    ground = FakeGround("", "nodemanager ended: Disallowed NodeManager from  node02, Sending SHUTDOWN signal", "")
    with stub_master() as master:
        master.answers[NODES] = lambda: nodes("RUNNING") if ground.begun == 3 else nodes()
        assert hosts(ground, master.url).reach(EFFECT, lambda: True) is Condition.SERVING
    assert ground.begun == 3


def test_a_daemon_that_ends_for_another_reason_is_a_failure_of_the_node() -> None:
    ground = FakeGround("nodemanager ended: port 8041 is in use")
    with stub_master() as master, pytest.raises(HostError, match="port 8041 is in use"):
        hosts(ground, master.url).reach(EFFECT, lambda: True)


def test_a_newer_goal_ends_the_wait() -> None:
    ground = FakeGround()
    with stub_master() as master:
        master.answers[NODES] = nodes()
        assert hosts(ground, master.url).reach(EFFECT, lambda: ground.begun == 0) is None


def test_a_node_is_wiped_without_its_logs_rather_than_not_at_all() -> None:
    ground = FakeGround()

    def full(effect: Host) -> None:
        raise FawkesError("cannot be written (No space left on device)", where="/srv/pool/state/logs")

    setup = cast(Setup, FakeSetup("http://127.0.0.1:1"))
    wiping = Hosts(cast(Ground, ground), Clusters(), setup, threading.Event(), full)
    assert wiping.reach(Host(NODE, C, None, 1), lambda: True) is Condition.CLEAN
    assert ground.done == ["closing the node", "wiping", "giving the node back"]
