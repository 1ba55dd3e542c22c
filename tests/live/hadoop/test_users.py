"""The Unix user of an MR-cluster is refused before any node is touched."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from fawkes.base.errors import HostError, UserError
from fawkes.config.clusters.details import ClusterDetails
from fawkes.core.values.events import PauseAsked, Requested
from fawkes.core.values.model import ClusterId, ClusterLife, ClusterSpec, ClusterState
from fawkes.live.hadoop.users import refuse_shared_user, refuse_unfit_user
from fawkes.live.nodes.ground import ControllerIdentity, Ground
from fawkes.live.nodes.ssh import Result
from fawkes.live.wire.hadoop_rpc import Connection
from fawkes.playbook import Script

NODES = ("node1", "node2", "node3")


class Shell:
    """Nodes that answer as they are told to; one that is told nothing does not answer."""

    def __init__(self, said: Mapping[str, str]) -> None:
        self.said = said

    def run(self, node: str, script: Script, deadline_s: float) -> Result:
        assert "alpha" in script.text
        if node not in self.said:
            raise HostError("it does not answer", host=node)
        return Result(node, 0, self.said[node], "")

    def connect(self, node: str, address: str, port: int, limit_s: float) -> Connection:
        raise AssertionError("nobody asked for it")


def ground(**said: str) -> Ground:
    nodes: Any = [SimpleNamespace(name=name, address=name, data_address=name) for name in NODES]
    return Ground(nodes, ControllerIdentity("pool", 1, "c"), Shell(said), command_s=1, threads=2)


def spec(name: str, user: str) -> ClusterSpec:
    return ClusterSpec(id=ClusterId(name), min_nodes=1, details=ClusterDetails(run_as=user).plain())


def request(name: str, user: str) -> Requested:
    return Requested(at_us=1, spec=spec(name, user), by="ann", ask="q")


def state(name: str, user: str, life: ClusterLife) -> ClusterState:
    return ClusterState(spec=spec(name, user), life=life)


@pytest.mark.slow
def test_a_user_whom_another_mr_cluster_has_is_refused() -> None:
    with pytest.raises(UserError, match="'alpha' is the Unix user of c-1 already") as refused:
        refuse_shared_user(request("c-2", "alpha"), [state("c-1", "alpha", ClusterLife.WAITING)])
    assert (refused.value.where, "release c-1 first" in refused.value.hint) == ("c-2: run_as", True)


@pytest.mark.slow
def test_a_user_is_free_again_when_the_mr_cluster_is_gone() -> None:
    refuse_shared_user(request("c-2", "alpha"), [state("c-1", "alpha", ClusterLife.GONE)])
    refuse_shared_user(request("c-2", "beta"), [state("c-1", "alpha", ClusterLife.RUNNING)])
    refuse_shared_user(request("c-2", ""), [state("c-1", "", ClusterLife.RUNNING)])
    refuse_shared_user(PauseAsked(at_us=1, reason="x", by="ann", ask="q"), [])


def test_a_node_that_cannot_run_as_the_user_is_named_with_the_reason() -> None:
    sudo = "@unfit.alpha=hadoop cannot run programs as alpha (sudo: a password is required)\n"
    with pytest.raises(UserError) as refused:
        refuse_unfit_user(request("c", "alpha"), ground(node1="@unfit.alpha=\n", node2=sudo, node3=sudo))
    assert refused.value.what == (
        "node2: hadoop cannot run programs as alpha (sudo: a password is required) (2 nodes cannot: node[2-3])"
    )
    assert (refused.value.where, "sudo without a password" in refused.value.hint) == ("c: run_as", True)


def test_what_a_node_does_not_say_is_no_yes() -> None:
    with pytest.raises(UserError, match="node1: it did not say whether it can"):
        refuse_unfit_user(request("c", "alpha"), ground(node1=""))


def test_a_node_that_does_not_answer_is_asked_later() -> None:
    refuse_unfit_user(request("c", "alpha"), ground(node1="@unfit.alpha=\n"))
    refuse_unfit_user(request("c", ""), ground(node1="@unfit.alpha=no\n"))
