from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from fawkes.base.errors import FawkesError, HostError
from fawkes.core.values.effects import Goal, Host, Member, Membership
from fawkes.core.values.events import Condition
from fawkes.core.values.model import ClusterId, NodeId, Role, Standby
from fawkes.core.values.proof import Proof
from fawkes.core.values.sight import Blocks, Sight, Stored
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Clock
from fawkes.live.base.waits import Waits
from fawkes.live.clusters.hosts import Hosts, NoImageError, NotProvenError, Reached
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.wire.masters import MasterAddresses
from fawkes.playbook import Facts, Script
from playbooks.hadoop import Daemon
from tests.live.played import PlayedGround, PlayedSetup, core, live_cluster
from tests.support.stub import stub_master

NODE = NodeId("node02")
C = ClusterId("c")
EFFECT = Host(NODE, C, Role.TRANSIENT, 1)
NODES = "/ws/v1/cluster/nodes"
DAEMONS = ("journalnode", "namenode", "datanode")


class FakeSetup(PlayedSetup):
    """Knows where the ResourceManager answers, and nothing that runs."""

    def __init__(self, url: str = "http://127.0.0.1:1", daemons: Sequence[Daemon] = ()) -> None:
        self.url, self.started = url, daemons

    def masters(self, cluster: LiveCluster) -> MasterAddresses:
        return MasterAddresses(resource_manager=self.url, namenode=self.url, user="root", nodes={"node02": NODE})

    def daemons(self, cluster: LiveCluster, node: NodeId, role: Role) -> list[Daemon]:
        return list(self.started)


class FakeGround(PlayedGround):
    """Starts of daemons end as they are told to; ``begun`` counts them, and all scripts print ``facts``."""

    def __init__(self, *endings: str, nodes: Sequence[NodeId] = (NODE,), facts: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(*nodes)
        self.facts = Facts(list(facts))
        self.endings = list(endings)
        self.begun = 0
        self.done: list[str] = []
        self.started: list[str] = []

    def played(self, node: NodeId, script: Script, doing: str) -> Facts:
        self.done.append(doing)
        if doing == "starting daemons":
            self.started = [name for name in DAEMONS if f"launch {name} " in script.text]
            self.begun += 1
            if self.endings and (why := self.endings.pop(0)):
                raise HostError(f"starting daemons failed, a daemon ended at once: {why}", host=node)
        return self.facts

    def run_on(
        self,
        scripts: Mapping[NodeId, Script],
        doing: str,
        *,
        within_s: float | None = None,
        fine: Collection[int] = (),
    ) -> dict[NodeId, Facts | FawkesError]:
        return {node: self.run(node, script, f"{doing} of {node}") for node, script in scripts.items()}


def waits() -> Waits:
    return Waits(Mailbox(Clock(0)))


def nobody_asks(cluster: LiveCluster, node: NodeId) -> Sight:
    raise AssertionError("no proof was wanted")


def nobody_opens(cluster: ClusterId) -> None:
    raise AssertionError("nobody was shut out")


def known() -> Clusters:
    """The MR-cluster of the node, with its masters on node01."""
    clusters = Clusters()
    members = {NODE: Member(Goal.SERVING, Role.TRANSIENT, 1)}
    clusters._put(live_cluster(C, NodeId("node01"), members))
    return clusters


def hosts(ground: FakeGround, url: str) -> Hosts:
    setup = FakeSetup(url)
    return Hosts(ground, known(), setup, threading.Event(), lambda effect: None, nobody_asks, waits(), nobody_opens)


def nodes(*states: str) -> Any:
    return {"nodes": {"node": [{"nodeHostName": "node02", "state": state} for state in states]}}


@pytest.mark.slow
def test_a_daemon_that_came_before_its_master_knew_of_it_is_started_again() -> None:
    ground = FakeGround("", "nodemanager ended: Disallowed NodeManager from  node02, Sending SHUTDOWN signal", "")
    with stub_master() as master:
        master.answers[NODES] = lambda: nodes("RUNNING") if ground.begun == 3 else nodes()
        assert hosts(ground, master.url).reach(EFFECT, lambda: True) == Reached(Condition.SERVING)
    assert ground.begun == 3


def test_a_daemon_that_ends_for_another_reason_is_a_failure_of_the_node() -> None:
    ground = FakeGround("nodemanager ended: port 8041 is in use")
    with stub_master() as master, pytest.raises(HostError, match="port 8041 is in use"):
        hosts(ground, master.url).reach(EFFECT, lambda: True)


@pytest.mark.slow
def test_a_newer_goal_ends_the_wait() -> None:
    ground = FakeGround()
    with stub_master() as master:
        master.answers[NODES] = nodes()
        assert hosts(ground, master.url).reach(EFFECT, lambda: ground.begun == 0) is None


def test_a_node_is_wiped_without_its_logs_rather_than_not_at_all() -> None:
    ground = FakeGround()

    def full(effect: Host) -> None:
        raise FawkesError("cannot be written (No space left on device)", where="/srv/pool/state/logs")

    wiping = Hosts(ground, Clusters(), FakeSetup(), threading.Event(), full, nobody_asks, waits(), nobody_opens)
    assert wiping.reach(Host(NODE, C, None, 1), lambda: True) == Reached(Condition.CLEAN)
    assert ground.done == ["closing the node", "wiping", "giving the node back"]


def test_where_the_work_folder_of_a_node_lies_is_told_and_asked_for() -> None:
    ground = FakeGround(facts=[("place", "/srv/fawkes on /srv")])
    wiping = Hosts(
        ground, Clusters(), FakeSetup(), threading.Event(), lambda effect: None, nobody_asks, waits(), nobody_opens
    )
    told = wiping.reach(Host(NODE, C, None, 1), lambda: True)
    assert told == Reached(Condition.CLEAN, {"place": "/srv/fawkes on /srv"})
    with stub_master() as master:
        master.answers[NODES] = nodes("RUNNING")
        joined = hosts(ground, master.url).reach(EFFECT, lambda: True)
    assert joined == Reached(Condition.SERVING, {"place": "/srv/fawkes on /srv"})
    assert ground.done.index("taking the node") < ground.done.index("making folders")
    ground.place_of = {NODE: "/srv/fawkes on /"}.__getitem__
    assert ground.lease(NODE, C, 1).place == "/srv/fawkes on /"


class Proving:
    """The wipe of a node that stored data; the test says how the masters see it when they are asked."""

    def __init__(self, sight: Sight | None = None, clusters: Clusters | None = None) -> None:
        self.sight = sight
        self.ground = FakeGround()
        self.clusters = known() if clusters is None else clusters
        self.steps = self.ground.done
        self.hosts = Hosts(
            self.ground,
            self.clusters,
            FakeSetup(),
            threading.Event(),
            lambda effect: self.steps.append("keeping the logs"),
            self.see,
            waits(),
            nobody_opens,
        )

    def see(self, cluster: LiveCluster, node: NodeId) -> Sight:
        assert (cluster.id, node) == (C, NODE)
        assert self.sight is not None
        self.steps.append("asking HDFS")
        return self.sight

    def wipe(self, proof: Proof | None = Proof(())) -> Reached | None:  # noqa: B008
        return self.hosts.reach(Host(NODE, C, None, 1, proof=proof), lambda: True)


def seen(stored: Stored = Stored.LEFT, **blocks: Any) -> Sight:
    """A look at 5 s, with a whole report of then on which nothing is at risk."""
    return Sight(asked_us=5, stored=stored, blocks=Blocks(**{"asked_us": 5, "known": True, **blocks}))


@pytest.mark.parametrize("stored", [Stored.LEFT, Stored.DEAD, Stored.ABSENT])
def test_hdfs_is_asked_right_before_a_wipe(stored: Stored) -> None:
    proving = Proving(seen(stored))
    assert proving.wipe() == Reached(Condition.CLEAN)
    wiped = ["closing the node", "wiping", "giving the node back"]
    assert proving.steps == ["keeping the logs", "asking HDFS", *wiped]


@pytest.mark.parametrize(
    ("sight", "why"),
    [
        (seen(at_risk=("/out/a",), at_risk_files=1), "too few replicas on other nodes: /out/a"),
        (seen(missing=("/out/b",), missing_files=1), "blocks are on no live node: /out/b"),
        (seen(known=False, why="HDFS is in safe mode"), "HDFS is in safe mode"),
        (seen(asked_us=4), "no newer report of the NameNode on its blocks"),
        (Sight(asked_us=5, stored=Stored.LEFT), "its blocks are not known"),
        *((seen(stored), "not") for stored in (Stored.IN_SERVICE, Stored.LEAVING, Stored.OTHER, Stored.NOT_KNOWN)),
    ],
)
def test_a_node_whose_blocks_are_not_proven_elsewhere_is_not_touched(sight: Sight, why: str) -> None:
    """It is not closed either: its DataNode may have to be started again."""
    proving = Proving(sight)
    with pytest.raises(NotProvenError, match=why):
        proving.wipe()
    assert proving.steps == ["keeping the logs", "asking HDFS"]


def test_what_was_missing_before_does_not_hold_a_node() -> None:
    proving = Proving(seen(missing=("/out/b",), missing_files=1))
    assert proving.wipe(Proof(("/out/b",))) == Reached(Condition.CLEAN)


def test_a_node_of_an_mr_cluster_that_nobody_knows_is_not_touched() -> None:
    """It is the word of its masters that is wanted, and nobody knows where they are."""
    proving = Proving(clusters=Clusters())
    with pytest.raises(NotProvenError, match="c is not running, so it is not known where its blocks are"):
        proving.wipe()
    assert proving.steps == ["keeping the logs"]


def test_a_node_without_data_needs_no_proof() -> None:
    proving = Proving(clusters=Clusters())
    assert proving.wipe(None) == Reached(Condition.CLEAN)


def test_masters_whose_node_is_held_are_still_asked() -> None:
    """Only a wipe ends their MR-cluster: its other nodes would not be watched any more."""
    clusters = known()
    cluster = clusters.get(C)
    assert cluster is not None
    clusters._put(replace(cluster, master=NODE))
    proving = Proving(seen(Stored.IN_SERVICE), clusters)
    with pytest.raises(NotProvenError):
        proving.wipe()
    assert clusters.get(C) is not None
    proving.sight = seen()
    assert proving.wipe() == Reached(Condition.CLEAN)
    assert clusters.get(C) is None


class Bringing:
    """A core node is brought up; ``facts`` are what its scripts print."""

    def __init__(self, node: NodeId, facts: list[tuple[str, str]]) -> None:
        self.ground = FakeGround(nodes=(NODE, NodeId("node01")), facts=facts)
        self.setup = FakeSetup()
        self.clusters = known()
        self.opened: list[ClusterId] = []
        self.clusters.changed(Membership(C, 2, core(*self.ground.nodes), master=node))
        self.clusters.mark(C, ready=True)

    def reach(self, stopping: threading.Event, current: Callable[[], bool] = lambda: True) -> Reached | None:
        ground, setup = self.ground, self.setup
        doors = self.opened.append
        bringing = Hosts(ground, self.clusters, setup, stopping, lambda effect: None, nobody_asks, waits(), doors)
        return bringing.reach(Host(NODE, C, Role.CORE, 1), current)


def once() -> Callable[[], bool]:
    """A goal that is wanted for one look."""
    looks = iter([True])
    return lambda: next(looks, False)


def test_masters_without_an_image_are_not_started() -> None:
    bringing = Bringing(NODE, [("image", "no")])
    with pytest.raises(NoImageError, match="node02: its NameNode has lost its image"):
        bringing.reach(threading.Event())
    assert "starting daemons" not in bringing.ground.done


@pytest.mark.slow
@pytest.mark.parametrize("facts", [[("image", "yes")], []])
def test_masters_whose_image_is_there_or_not_known_are_started(facts: list[tuple[str, str]]) -> None:
    bringing = Bringing(NODE, facts)
    assert bringing.reach(threading.Event(), once()) is None
    assert bringing.ground.done[-2:] == ["looking for the image of the NameNode", "starting daemons"]


@pytest.mark.slow
def test_a_former_masters_node_becomes_a_plain_member_and_is_let_in() -> None:
    bringing = Bringing(NodeId("node01"), [])
    bringing.clusters.end_move(C, NodeId("node01"), [NODE])
    assert bringing.reach(threading.Event(), once()) is None
    assert bringing.ground.done == [
        "taking the node",
        "making folders",
        "setting former masters' data aside",
        "configuring",
        "starting daemons",
    ]
    assert bringing.opened == [C]


def test_nothing_is_brought_up_while_masters_move() -> None:
    bringing = Bringing(NODE, [])
    bringing.clusters.begin_move(C, NodeId("node01"))
    looks = iter([True, True, True])
    stopping = threading.Event()
    stopping.set()
    assert bringing.reach(stopping, lambda: next(looks, False)) is None
    assert bringing.ground.done == []


class OfJournal(Bringing):
    """A node of the journal; its daemons are those of the second NameNode's node."""

    def __init__(self, facts: list[tuple[str, str]], second: NodeId | None = NODE) -> None:
        super().__init__(NodeId("node01"), facts)
        journal = (NodeId("node01"), NODE, NodeId("node03"))
        self.clusters.arm(C, Standby(journal=journal, node=second))
        self.setup = FakeSetup(daemons=[Daemon(name, ["/bin/true"]) for name in DAEMONS])


WITH_DATA = [("journal", "x"), ("image", "yes")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("facts", "started"),
    [
        (WITH_DATA, list(DAEMONS)),
        (WITH_DATA[:1], ["journalnode", "datanode"]),
        ([*WITH_DATA[:1], ("image", "no")], ["journalnode", "datanode"]),
        (WITH_DATA[1:], ["namenode", "datanode"]),
        ([], ["datanode"]),
    ],
)
def test_what_has_lost_its_data_is_not_started_on_a_node_of_the_journal(
    facts: list[tuple[str, str]], started: list[str]
) -> None:
    """A JournalNode without its promises must not count, and a NameNode without an image is no second one."""
    bringing = OfJournal(facts)
    assert bringing.reach(threading.Event(), once()) is None
    assert bringing.ground.started == started


@pytest.mark.slow
def test_a_former_masters_node_of_the_journal_keeps_its_data() -> None:
    bringing = OfJournal(WITH_DATA)
    assert bringing.reach(threading.Event(), once()) is None
    assert "stopping former masters" in bringing.ground.done
    assert "setting former masters' data aside" not in bringing.ground.done


class TwoNameNodes(FakeSetup):
    """The second NameNode, on node03, answers at a place of its own."""

    def __init__(self, url: str, second: str) -> None:
        super().__init__(url)
        self.second = second

    def masters(self, cluster: LiveCluster) -> MasterAddresses:
        addresses = super().masters(cluster)
        return replace(addresses, namenode=self.second) if cluster.master == NodeId("node03") else addresses


def lists(*names: str) -> object:
    live = {name: {"adminState": "In Service", "lastContact": 0} for name in names}
    return {"beans": [{"LiveNodes": json.dumps(live), "DeadNodes": "{}", "DecomNodes": "{}"}]}


@pytest.mark.slow
@pytest.mark.parametrize(("listed", "restarts"), [((), 1), (("node02",), 0)])
def test_a_member_that_only_the_second_namenode_lacks_is_restarted_once_and_then_serves(
    listed: tuple[str, ...], restarts: int
) -> None:
    bringing, stopping = Bringing(NodeId("node01"), []), threading.Event()
    bringing.clusters.arm(C, Standby(journal=(), node=NodeId("node03")))
    stopping.set()  # no look waits for the next one
    with stub_master() as master, stub_master() as second:
        master.answers |= {NODES: nodes("RUNNING"), "/jmx": lists("node02")}
        second.answers["/jmx"] = lists(*listed)
        bringing.setup = TwoNameNodes(master.url, second.url)
        assert bringing.reach(stopping) == Reached(Condition.SERVING)
    assert bringing.ground.done.count("stopping the DataNode") == restarts
