from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest

from fawkes.config.details import ClusterDetails
from fawkes.core.effects import Goal, Host, Member
from fawkes.core.events import Condition
from fawkes.core.model import ClusterId, ClusterSpec, NodeId, Role
from fawkes.errors import HostError
from fawkes.live.clusters import Clusters, LiveCluster
from fawkes.live.ground import Ground
from fawkes.live.hosts import Hosts
from fawkes.live.masters import MasterAddresses
from fawkes.live.setup import Setup
from fawkes.playbook import Facts

NODE = NodeId("node02")
C = ClusterId("c")
EFFECT = Host(NODE, C, Role.TRANSIENT, 1)


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

    def __init__(self, *endings: str) -> None:
        self.endings = list(endings)
        self.begun = 0

    def lease(self, node: NodeId, cluster: ClusterId, generation: int) -> Any:
        return Ground.lease(cast(Ground, self), node, cluster, generation)

    @property
    def nodes(self) -> Any:
        return {NODE: type("Facts", (), {"work_dir": "/srv/fawkes"})}

    @property
    def identity(self) -> Any:
        return type("Identity", (), {"pool": "pool", "epoch": 1, "controller": "controller"})

    def run(self, node: NodeId, script: object, doing: str) -> Facts:
        if doing == "starting daemons":
            self.begun += 1
            if self.endings and (why := self.endings.pop(0)):
                raise HostError(f"starting daemons failed, a daemon ended at once: {why}", host=node)
        return Facts([])


@contextmanager
def resource_manager(states: list[str]) -> Iterator[str]:
    """Answers with these states of the node, one after another; the last one for ever."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state = states.pop(0) if len(states) > 1 else states[0]
            rows = [{"nodeHostName": "node02", "state": state}] if state else []
            body = json.dumps({"nodes": {"node": rows}}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Nothing to say."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def hosts(ground: FakeGround, url: str) -> Hosts:
    clusters = Clusters()
    spec = ClusterSpec(id=C, min_nodes=1, replication=1, details=ClusterDetails().plain())
    members = {NODE: Member(Goal.SERVING, Role.TRANSIENT, 1)}
    clusters._put(LiveCluster(spec, ClusterDetails(), NodeId("node01"), members))
    return Hosts(cast(Ground, ground), clusters, cast(Setup, FakeSetup(url)), threading.Event(), lambda effect: None)


def test_a_daemon_that_came_before_its_master_knew_of_it_is_started_again() -> None:
    ground = FakeGround("", "nodemanager ended: Disallowed NodeManager from  node02, Sending SHUTDOWN signal", "")
    with resource_manager([""] * 20 + ["RUNNING"]) as url:
        assert hosts(ground, url).reach(EFFECT, lambda: True) is Condition.SERVING
    assert ground.begun == 3


def test_a_daemon_that_ends_for_another_reason_is_a_failure_of_the_node() -> None:
    ground = FakeGround("nodemanager ended: port 8041 is in use")
    with resource_manager([""]) as url, pytest.raises(HostError, match="port 8041 is in use"):
        hosts(ground, url).reach(EFFECT, lambda: True)


def test_a_newer_goal_ends_the_wait() -> None:
    ground = FakeGround()
    with resource_manager([""]) as url:
        assert hosts(ground, url).reach(EFFECT, lambda: ground.begun == 0) is None
