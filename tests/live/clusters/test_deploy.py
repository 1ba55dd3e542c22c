"""A deployment that is called off: no step begins any more, wherever it was."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from fawkes.config.clusters.details import ClusterDetails
from fawkes.core.values.effects import Deploy, Goal, Host, Member, Retire
from fawkes.core.values.events import Event
from fawkes.core.values.model import ClusterId, ClusterSpec, NodeId, Promise, Role, Standby
from fawkes.core.values.sight import Sight
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Clock
from fawkes.live.base.waits import Waits
from fawkes.live.clusters.deploy import Deployer
from fawkes.live.clusters.hosts import Hosts
from fawkes.live.clusters.membership import MembershipKeeper
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.playbook import Facts, Script
from playbooks.hadoop import Members
from tests.live.played import PlayedGround, PlayedSetup, give_hands, world_of
from tests.support.waiting import wait_for

A = ClusterId("a")
NODES = (NodeId("node01"), NodeId("node02"))
JOURNAL = (*NODES, NodeId("node03"))
MEMBERS = {node: Member(Goal.SERVING, Role.CORE, 1) for node in NODES}
DEPLOY = Deploy(
    A, 1, ClusterSpec(id=A, min_nodes=2, replication=1, details=ClusterDetails().plain()), MEMBERS, NODES[0]
)
STEPS = ("taking the node", "spreading", "making folders", "configuring", "writing the members", "starting daemons")


EDITS = "qjournal://node01:8485;node02:8485;node03:8485/a"


class FakeGround(PlayedGround):
    """Notes what was done; ``reached`` is called before each step."""

    def __init__(self, reached: Callable[[str], None] = lambda doing: None, nodes: tuple[NodeId, ...] = NODES) -> None:
        super().__init__(*nodes)
        self.done: list[str] = []
        self.reached = reached

    def played(self, node: NodeId, script: Script, doing: str) -> Facts:
        self.reached(doing)
        self.done.append(doing)
        return Facts([])


class FakeSetup(PlayedSetup):
    """A set-up that spreads releases by one script."""

    def __init__(self, ground: FakeGround) -> None:
        self._ground = ground

    def make_sound(self, cluster: object, nodes: Mapping[NodeId, int]) -> dict[NodeId, tuple[str, ...]]:
        self._ground.run(next(iter(nodes)), Script(""), "spreading")
        return {}

    def settings(self, cluster: object) -> dict[str, dict[str, str]]:
        return {"hdfs-site": {"dfs.namenode.shared.edits.dir": EDITS}}

    def format_argv(self, cluster: object) -> list[str]:
        return ["java", "-format"]


class FakeMembership(MembershipKeeper):
    """Lists of nobody."""

    def __init__(self) -> None:
        """Without nodes."""

    def members(self, document: object) -> Members:
        return Members(version=1, data=["10.0.0.1"], compute=["10.0.0.1"])

    def documents(self, *_: object, **__: object) -> dict[str, str]:
        return {}

    def started_with(self, *_: object, **__: object) -> None:
        """Nobody is told."""


def deployer(ground: FakeGround, clusters: Clusters) -> Deployer:
    waits = Waits(Mailbox(Clock(0)))
    return Deployer(ground, clusters, FakeSetup(ground), FakeMembership(), threading.Event(), waits)


def nobody_looks(cluster: LiveCluster, node: NodeId) -> Sight:
    raise AssertionError("no proof was wanted")


@pytest.mark.parametrize("last", range(1, len(STEPS)))
def test_no_step_begins_after_it_was_called_off(last: int) -> None:
    ground = FakeGround()
    current = lambda: STEPS[last - 1] not in ground.done  # noqa: E731
    assert deployer(ground, Clusters()).deploy(DEPLOY, current) is None
    assert list(dict.fromkeys(ground.done)) == list(STEPS[:last])


def test_the_world_stops_a_deployment_and_forgets_the_mr_cluster() -> None:
    """It is called off while it takes its nodes; a wipe goes on beside it, and only the goals of now are answered."""
    begun, go_on = threading.Event(), threading.Event()

    def reached(doing: str) -> None:
        if doing == "taking the node":
            begun.set()
            assert go_on.wait(60)

    ground, clusters = FakeGround(reached), Clusters()
    world, setup = world_of(ground=ground, clusters=clusters), FakeSetup(ground)
    hosts = Hosts(
        ground, clusters, setup, threading.Event(), lambda effect: None, nobody_looks, world.waits, lambda name: None
    )
    give_hands(world, deployer=deployer(ground, clusters), hosts=hosts)
    heard: list[Event] = []
    try:
        world.start([DEPLOY])
        assert begun.wait(60)
        assert clusters.get(A) is not None
        world.start([Retire(A, 2), Host(NODES[1], A, None, 1)])
        wait_for(lambda: "giving the node back" in ground.done, "the wipe beside it")
        assert ground.done == ["closing the node", "wiping", "giving the node back"]
        go_on.set()
        wait_for(lambda: clusters.get(A) is None, "the MR-cluster to be forgotten")
        while len(heard) < 2:
            event = world.next_event()
            assert event is not None
            heard.append(event)
    finally:
        go_on.set()
        world.close()
    assert "making folders" not in ground.done
    assert [type(event).__name__ for event in heard] == ["NodeObserved", "Done"]
    assert heard[1].version == 2  # type: ignore[union-attr]


class WithJournal(FakeGround):
    """Nodes of which the first one has, or lacks, the data of a NameNode."""

    def __init__(self, *, formatted: bool, edits: str = "") -> None:
        super().__init__(nodes=JOURNAL)
        self.formatted = formatted
        self.edits = edits

    def played(self, node: NodeId, script: Script, doing: str) -> Facts:
        super().played(node, script, f"{doing} on {node}" if "journal" in doing or "members" in doing else doing)
        if doing == "looking for an earlier journal":
            return Facts([("edits", self.edits)] if self.edits and node != NodeId("node03") else [])
        if doing == "setting a NameNode's folder aside":
            self.formatted = False
        return Facts([("nn", "x")] if self.formatted and doing == "looking for the NameNode's data" else [])


def deploy_with_journal(ground: WithJournal) -> None:
    """A deployment until daemons were started."""
    members = {node: Member(Goal.SERVING, Role.CORE, 1) for node in JOURNAL}
    spec = replace(DEPLOY.spec, masters=Promise.STANDBY, min_nodes=3)
    standby = Standby(journal=JOURNAL, node=JOURNAL[1])
    effect = replace(DEPLOY, spec=spec, members=members, master=JOURNAL[0], standby=standby)
    assert deployer(ground, Clusters()).deploy(effect, lambda: "starting daemons" not in ground.done) is None


def test_a_try_with_another_journal_begins_anew() -> None:
    """A node was replaced: the daemons of the try before know the other three, and would never look for this one."""
    ground = WithJournal(formatted=True, edits="qjournal://node01:8485;node02:8485;node04:8485/a")
    deploy_with_journal(ground)
    left = [f"leaving an earlier journal on node0{n}" for n in (1, 2)]
    assert [doing for doing in ground.done if "leaving" in doing] == left, "node03 is new"
    assert ground.done.index("setting a NameNode's folder aside") > ground.done.index(left[-1])
    assert [doing for doing in ground.done if "making way" in doing], "no journal has a NameNode of its own now"


def test_a_try_with_the_same_journal_goes_on() -> None:
    ground = WithJournal(formatted=True, edits=EDITS)
    deploy_with_journal(ground)
    assert not [doing for doing in ground.done if "leaving" in doing or "aside" in doing or "making way" in doing]


@pytest.mark.parametrize("formatted", [False, True])
def test_the_journal_of_a_format_that_was_cut_short_is_set_aside_and_no_other(formatted: bool) -> None:
    """Once the NameNode has its folder, the journal is its own: nobody touches it any more."""
    ground = WithJournal(formatted=formatted)
    deploy_with_journal(ground)
    way = [f"making way for the journal on {node}" for node in JOURNAL]
    assert [doing for doing in ground.done if "making way" in doing] == ([] if formatted else way)
    assert "formatting the NameNode" in ground.done, "it says `already` by itself"
    lists = [doing for doing in ground.done if "members" in doing]
    assert lists == [f"writing the members on {node}" for node in NODES], "both NameNodes read them"
