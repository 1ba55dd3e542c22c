"""CPU quotas on many nodes at once, whose scripts a test ends itself."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fawkes.base.errors import ElsewhereError, FawkesError, HostError, UserError
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.nodes.quotas import ContainerQuota, InForce, Limit, LimitMode, NodeQuotas, read_back
from fawkes.live.nodes.ssh import Result
from fawkes.playbook import Exit, Facts, Script
from tests.support.local_nodes import LocalFleet, node_of

A, B = "container_1_0001_01_000002", "container_1_0001_01_000003"
IN_FORCE = InForce(LimitMode.V1, {A: ContainerQuota(Limit.LIMITED, 25)})
WITHIN_S = 0.5
WELL, HANGS, BAD = NodeId("well"), NodeId("hangs"), NodeId("bad")


class Nodes(LocalFleet):
    """``well`` does as it is told, ``hangs`` answers when ``answer`` is set, ``fenced`` has another controller."""

    def __init__(self, *names: str) -> None:
        super().__init__(node_of(name, Path("/")) for name in names)
        self.answer = threading.Event()
        self.sent: list[str] = []

    def run(self, node: str, script: Script, deadline_s: float, **more: object) -> Result:
        self.sent.append(node)
        if node == "hangs":
            self.answer.wait(60)
        if node == "fenced":
            return Result(node, Exit.FENCED, "", "epoch 9 of controller x is newer")
        return Result(node, 0, f"@quota=v1\n@quota.{A}=25\n", "")


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    made = Nodes("well", "hangs", "fenced", "bad")
    yield made
    made.answer.set()


def test_a_node_that_does_not_answer_costs_the_others_nothing(nodes: Nodes) -> None:
    wanted = {NodeId(name): (ClusterId("alpha"), 1, {A: 25}) for name in ("well", "hangs", "fenced", "unknown")}
    with closing(NodeQuotas(nodes.ground(1, "c"))) as quotas:
        for _ in range(2):
            answers = quotas.set(wanted, WITHIN_S)
            assert answers[WELL] == IN_FORCE
            for name, kind in (("hangs", HostError), ("fenced", ElsewhereError), ("unknown", HostError)):
                assert isinstance(answers[NodeId(name)], kind), answers
        assert nodes.sent.count("hangs") == 1, "an answer that is due is waited for"
        nodes.answer.set()
        while isinstance(answers[HANGS], FawkesError):
            answers = quotas.set({HANGS: wanted[HANGS]}, 10)
        assert answers[HANGS] == IN_FORCE


def test_a_node_that_has_its_groups_gets_the_short_script_until_a_limit_is_due() -> None:
    sent: list[str] = []

    class Renewed(LocalFleet):
        def run(self, node: str, script: Script, deadline_s: float, **more: object) -> Result:
            short = len(script.text) < 3000
            sent.append("renew" if short else "limit")
            said = "@due=yes\n" if short and len(sent) > 2 else f"@quota=v1\n@quota.{A}=25\n"
            return Result(node, 0, said, "")

    fleet = Renewed([node_of("well", Path("/"))])
    with closing(NodeQuotas(fleet.ground(1, "c"))) as quotas:
        for _ in range(3):
            assert quotas.set({WELL: (ClusterId("alpha"), 1, {A: 25})}, 10) == {WELL: IN_FORCE}
    assert sent == ["limit", "renew", "renew", "limit"]


def test_a_bad_wish_for_a_node_is_its_error_alone(nodes: Nodes) -> None:
    with closing(NodeQuotas(nodes.ground(1, "c"))) as quotas:
        answers = quotas.set({WELL: (ClusterId("a"), 1, {A: 25}), BAD: (ClusterId("a"), 1, {"no id": 25})}, 10)
    assert answers[WELL] == IN_FORCE
    assert isinstance(answers[BAD], UserError)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([("quota", "v2"), (f"quota.{A}", "5")], ContainerQuota(Limit.LIMITED, 5)),
        ([("quota", "stop"), (f"quota.{A}", "max")], ContainerQuota(Limit.NONE)),
        ([("quota", "v1"), (f"quota.{A}", "gone")], ContainerQuota(Limit.GONE)),
        (
            [("quota", "v1"), (f"quota.{A}", "denied"), (f"why.{A}", "Permission denied")],
            ContainerQuota(Limit.DENIED, why="Permission denied"),
        ),
        ([("quota", "v1"), (f"quota.{B}", "5")], ContainerQuota(Limit.UNKNOWN)),
        ([("quota", "v7"), (f"quota.{A}", "much")], ContainerQuota(Limit.UNKNOWN)),
        ([], ContainerQuota(Limit.UNKNOWN)),
    ],
)
def test_what_a_node_says_is_what_is_in_force(said: list[tuple[str, str]], expected: ContainerQuota) -> None:
    in_force = read_back(Facts(said), {A: 25})
    assert in_force.containers == {A: expected}
    assert in_force.mode == (said[0][1] if said and said[0][1] in set(LimitMode) else None)
