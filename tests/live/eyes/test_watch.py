"""Which facts about members are told, when they are told again, and what the masters are asked for them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import Goal, Member, Membership
from fawkes.core.values.events import MastersSeen, NodeSeen, news_of
from fawkes.core.values.model import ClusterId, NodeId, Role
from fawkes.core.values.proof import Proof, not_proven
from fawkes.core.values.settings import Settings
from fawkes.core.values.sight import Blocks, Compute, Sight, Stored
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Clock
from fawkes.live.eyes.watch import Watch
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.wire.masters import MasterAddresses
from tests.live.masters_server import JMX, NODE_LIST, Handler, Query, Server, clear, says, text
from tests.live.played import NoTicket, PlayedSetup, SetClock, live_cluster

C = ClusterId("c")
MASTER, WORKER = NodeId("node01"), NodeId("node02")
FSCK = "/fsck"
MISSING_S, DOUBT_S = 20, 30
IN, LEAVING, LEFT = "In Service", "Decommission In Progress", "Decommissioned"
END = "\n\nThe filesystem under path '/' is HEALTHY"
_AT = {1: "10.77.0.1:9866", 2: "10.77.0.2:9866"}


def file_of(name: str, *nodes: int, state: str = "LIVE") -> str:
    """A file in fsck's words, of one block with replicas on these nodes."""
    places = ", ".join(f"DatanodeInfoWithStorage[{_AT[n]},DS-1,DISK]({state})" for n in nodes)
    header = f"{name} 9 bytes, replicated: replication=1, 1 block(s):  OK"
    return f"{header}\n0. BP-1:blk_1_1 len=9 Live_repl={len(nodes)}  [{places}]\n"


class Bench(SetClock, PlayedSetup):
    """An MR-cluster of a core node and a worker; the test says what the masters answer, and what time it is."""

    def __init__(self, server: Server, role: Role = Role.TRANSIENT) -> None:
        self.server = server
        super().__init__(100 * SECOND_US)
        self.fsck_takes_s = 0
        self.mailbox = Mailbox(self)
        self.clusters = Clusters()
        self.role = role
        self.version = 1
        self.members = {MASTER: Member(Goal.SERVING, Role.CORE, 1), WORKER: Member(Goal.SERVING, role, 1)}
        self.clusters._put(live_cluster(C, MASTER, self.members, ready=True, working=True))
        #: the daemons that do not run on a node; None: it does not answer
        self.ended: dict[NodeId, set[str] | None] = {}
        self.rules = Settings(missing_us=MISSING_S * SECOND_US, doubt_us=DOUBT_S * SECOND_US)
        self.watch = self.controller()
        self.yarn(node01="RUNNING", node02="RUNNING")
        self.hdfs(IN, IN)
        self.report = END

        def fsck(handler: Handler, query: Query) -> None:
            self.now += self.fsck_takes_s * SECOND_US
            text(self.report, kind="text/plain")(handler, query)

        server.answers[FSCK] = fsck

    def controller(self) -> Watch:
        """The eyes of a controller that has just started."""
        return Watch(self.clusters, self, self.mailbox, self.gone, lambda: self.rules)

    # --- what a watch asks of others

    def gone(self, cluster: LiveCluster, at: NodeId, daemons: Sequence[str]) -> tuple[str, ...] | None:
        """Which daemons do not run on a node, as `ended` has it."""
        ended = self.ended.get(at, set())
        return None if ended is None else tuple(name for name in daemons if name in ended)

    def masters(self, cluster: LiveCluster) -> MasterAddresses:
        url, nodes = self.server.url, {"node01": MASTER, "node02": WORKER}
        return MasterAddresses(resource_manager=url, namenode=url, user="root", nodes=nodes, key=self.key)

    # --- what the test says

    def wish(self, goal: Goal, generation: int = 1) -> None:
        """Sets the goal of the worker from now on."""
        self.members = {**self.members, WORKER: Member(goal, self.role, generation)}
        self.list_again()

    def list_again(self) -> None:
        """A new list of the same members."""
        self.version += 1
        self.clusters.changed(Membership(C, self.version, self.members))

    def yarn(self, **states: str) -> None:
        rows = [{"nodeHostName": name, "state": state} for name, state in states.items()]
        self.server.answers[NODE_LIST] = says({"nodes": {"node": rows}})

    def hdfs(self, *states: str | None, **changes: Any) -> None:
        """DataNodes in these states; None: dead. What is to be missing from the bean is None in ``changes``."""
        names = {n: f"node0{n}:9866" for n in (1, 2)}
        by_number = dict(enumerate(states, 1))
        live = {
            names[n]: {"adminState": state, "lastContact": 0, "xferaddr": _AT[n], "numBlocks": 3}
            for n, state in by_number.items()
            if state is not None
        }
        dead = {names[n]: {"xferaddr": _AT[n]} for n, state in by_number.items() if state is None}
        bean: dict[str, Any] = {
            "LiveNodes": json.dumps(live),
            "DeadNodes": json.dumps(dead),
            "DecomNodes": "{}",
            "NumberOfMissingBlocks": 0,
            "Safemode": "",
        } | changes
        self.bean = {key: value for key, value in bean.items() if value is not None}
        self.server.answers[JMX] = says({"beans": [self.bean]})

    def worker(self, **changes: Any) -> None:
        """Change what the NameNode says of the worker; None takes an attribute away."""
        live = json.loads(self.bean["LiveNodes"])
        row = live["node02:9866"] | changes
        live["node02:9866"] = {key: value for key, value in row.items() if value is not None}
        self.server.answers[JMX] = says({"beans": [self.bean | {"LiveNodes": json.dumps(live)}]})

    # --- what was told

    def look(self, after_s: int = 0) -> list[NodeSeen | MastersSeen]:
        """The events after that much time and one look at the masters."""
        self.now += after_s * SECOND_US
        eye = self.watch._eyes.get(C)
        earlier = None if eye is None else eye.look
        while (eye := self.watch._eyes.get(C)) is None or eye.look is earlier:
            self.watch.round()
        assert eye.look is not None
        eye.look.result(timeout=60)
        self.mailbox.end()
        events: list[NodeSeen | MastersSeen] = []
        while (event := self.mailbox.take()) is not None:
            for news in news_of(event):
                assert isinstance(news, NodeSeen | MastersSeen)
                events.append(news)
        return events

    def seen(self, after_s: int = 0) -> list[Sight]:
        """The sights of the worker in these events."""
        return [e.sight for e in self.look(after_s) if isinstance(e, NodeSeen) and e.node == WORKER]

    def states(self, after_s: int = 0) -> list[tuple[Compute, Stored]]:
        return [(sight.compute, sight.stored) for sight in self.seen(after_s)]

    def before_a_wipe(self) -> Sight:
        """The answer of the masters about the worker, asked right before its wipe."""
        cluster = self.clusters.get(C)
        assert cluster is not None
        return self.watch.see(cluster, WORKER)

    def reports(self) -> int:
        """How many reports the NameNode was asked for."""
        return len(self.server.questions(FSCK))


def known(sight: Sight) -> Blocks:
    assert sight.blocks is not None
    return sight.blocks


@pytest.fixture
def server(one_server: Server) -> Iterator[Server]:
    yield one_server
    clear(one_server)


@pytest.fixture
def bench(server: Server) -> Bench:
    """An MR-cluster of two core nodes."""
    return Bench(server, Role.CORE)


# --- told when they change


def test_facts_are_told_once(server: Server) -> None:
    bench = Bench(server, Role.TRANSIENT_CORE)
    events = bench.look()
    assert [type(event) for event in events] == [MastersSeen, NodeSeen, NodeSeen]
    assert {e.node: (e.generation, e.sight) for e in events if isinstance(e, NodeSeen)} == {
        node: (1, Sight(asked_us=bench.now, compute=Compute.RUNNING, stored=Stored.IN_SERVICE, repeated=True))
        for node in (MASTER, WORKER)
    }
    assert bench.look() + bench.look(after_s=1000) == []
    bench.yarn(node01="RUNNING", node02="LOST")
    assert bench.states() == [(Compute.LOST, Stored.IN_SERVICE)]
    assert bench.seen(after_s=1000) == []
    bench.yarn(node01="RUNNING", node02="RUNNING")
    assert bench.states() == [(Compute.RUNNING, Stored.IN_SERVICE)]


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("RUNNING", Compute.RUNNING),
        ("DECOMMISSIONING", Compute.DRAINING),
        ("DECOMMISSIONED", Compute.LEFT),
        ("LOST", Compute.LOST),
        ("SHUTDOWN", Compute.LOST),
        ("UNHEALTHY", Compute.OTHER),
        ("NEW", Compute.OTHER),
        ("", Compute.OTHER),
        (None, Compute.ABSENT),
    ],
)
def test_words_of_the_resourcemanager(server: Server, state: str | None, told: Compute) -> None:
    bench = Bench(server)
    bench.yarn(node01="RUNNING", **({} if state is None else {"node02": state}))
    assert bench.states() == [(told, Stored.NOT_KNOWN)]


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (IN, Stored.IN_SERVICE),
        (LEAVING, Stored.LEAVING),
        (LEFT, Stored.LEFT),
        ("In Maintenance", Stored.OTHER),
        ("", Stored.OTHER),
        (None, Stored.DEAD),
    ],
)
def test_words_of_the_namenode(bench: Bench, state: str | None, told: Stored) -> None:
    bench.hdfs(IN, state)
    assert bench.states() == [(Compute.RUNNING, told)]


def test_a_node_that_the_namenode_does_not_list_is_absent(bench: Bench) -> None:
    bench.hdfs(IN)
    assert bench.states() == [(Compute.RUNNING, Stored.ABSENT)]


@pytest.mark.parametrize("states", [(IN,), (IN, None)])
def test_a_node_may_be_the_one_that_goes_by_a_name_that_nobody_knows(
    bench: Bench, server: Server, states: tuple[str | None, ...]
) -> None:
    """It holds the only replica, under an address that no report is searched for: it must not be proven safe."""
    bench.hdfs(*states)
    stranger = {"other.example:9866": {"adminState": IN, "lastContact": 0, "xferaddr": "10.99.0.2:9866"}}
    live = json.loads(bench.bean["LiveNodes"]) | stranger
    server.answers[JMX] = says({"beans": [bench.bean | {"LiveNodes": json.dumps(live)}]})
    assert bench.states() == [(Compute.RUNNING, Stored.NOT_KNOWN)]
    sight = bench.before_a_wipe()
    assert known(sight).known
    assert not_proven(sight, Proof(()), since_us=0)


def test_a_transient_node_has_no_data(server: Server) -> None:
    bench = Bench(server)
    bench.wish(Goal.DRAINING)
    bench.hdfs(IN, None)
    (sight,) = bench.seen()
    assert (sight.stored, sight.blocks, bench.reports()) == (Stored.NOT_KNOWN, None, 0)


def test_a_member_with_another_goal_is_told_of_again(server: Server) -> None:
    bench = Bench(server)
    bench.seen()
    for goal in (Goal.DRAINING, Goal.SERVING):
        bench.wish(goal)
        assert bench.states() == [(Compute.RUNNING, Stored.NOT_KNOWN)]
        assert bench.seen(after_s=1000) == []
    bench.wish(Goal.SERVING, generation=2)
    (event,) = bench.look()
    assert isinstance(event, NodeSeen)
    assert event.generation == 2


def test_a_member_that_leaves_with_data_is_told_of_with_each_new_list(bench: Bench) -> None:
    """Its wipe was not proven, or it was lost and is back: it goes on leaving, and was told of before that."""
    bench.wish(Goal.EVACUATING)
    bench.hdfs(IN, LEFT)
    (first,) = bench.seen()
    assert bench.seen(after_s=1000) == []
    bench.list_again()
    (again,) = bench.seen()
    assert (again.stored, known(again).known) == (Stored.LEFT, True)
    assert again.asked_us > first.asked_us
    assert known(again).asked_us == again.asked_us
    assert bench.seen(after_s=1000) == []


def test_a_new_list_is_no_news_of_those_that_serve(bench: Bench) -> None:
    bench.look()
    bench.list_again()
    assert bench.look() == []


def test_an_answer_to_what_is_not_wanted_any_more_is_passed_over(server: Server) -> None:
    bench = Bench(server)
    bench.seen()

    def overtaken(handler: Handler, query: Query) -> None:
        bench.wish(Goal.DRAINING)
        bench.yarn(node01="RUNNING", node02="DECOMMISSIONED")
        says({"nodes": {"node": [{"nodeHostName": "node02", "state": "DECOMMISSIONED"}]}})(handler, query)

    server.answers[NODE_LIST] = overtaken
    assert bench.seen() == []
    assert bench.states() == [(Compute.LEFT, Stored.NOT_KNOWN)]


def test_facts_are_as_old_as_the_question(bench: Bench) -> None:
    """Masters that answer late say how it was when they were asked, at the latest."""
    bench.wish(Goal.EVACUATING)
    bench.hdfs(IN, LEFT)
    bench.fsck_takes_s = 50
    asked_us = bench.now
    (sight,) = bench.seen()
    assert (sight.asked_us, known(sight).asked_us) == (asked_us, asked_us)
    assert bench.now == asked_us + 50 * SECOND_US


def test_an_mr_cluster_that_is_not_up_or_gone_is_not_looked_at(server: Server) -> None:
    bench = Bench(server)
    bench.clusters.mark(C, ready=False)
    for _ in range(20):
        bench.watch.round()
    assert bench.watch._eyes == {}
    bench.clusters.mark(C, ready=True)
    assert len(bench.seen()) == 1
    bench.clusters.remove(C)
    bench.watch.round()
    assert bench.watch._eyes == {}


# --- masters that fall silent


@pytest.mark.parametrize("path", [NODE_LIST, JMX])
def test_masters_that_fall_silent_are_told_of_once_and_all_is_told_anew_when_they_are_back(
    bench: Bench, server: Server, path: str
) -> None:
    bench.look()
    answers = server.answers.pop(path)
    (event,) = bench.look()
    assert isinstance(event, MastersSeen)
    assert "404" in event.error
    assert bench.look() + bench.look(after_s=1000) == []
    server.answers[path] = answers
    events = bench.look()
    assert [type(event) for event in events] == [MastersSeen, NodeSeen, NodeSeen]
    assert events[0] == MastersSeen(at_us=events[0].at_us, cluster=C)


def test_masters_that_could_not_be_asked_are_not_silent(bench: Bench, server: Server) -> None:
    """Their node is not asked either: nothing follows from what it would say."""
    bench.look()
    bench.key, bench.ended[MASTER] = NoTicket(), {"namenode"}
    (event,) = bench.look()
    error = "keytabs/c-1.keytab: the KDC gave no ticket: Cannot contact any KDC"
    assert event == MastersSeen(at_us=event.at_us, cluster=C, error=error, unasked=True)
    assert bench.look() + bench.look(after_s=1000) == []
    bench.key = ""
    assert [type(event) for event in bench.look()] == [MastersSeen, NodeSeen, NodeSeen]


@pytest.mark.parametrize(("path", "silent"), [(NODE_LIST, "resourcemanager"), (JMX, "namenode")])
def test_which_masters_are_silent_is_told_and_what_their_node_says_of_them_once_it_does(
    bench: Bench, server: Server, path: str, silent: str
) -> None:
    bench.look()
    del server.answers[path]
    bench.ended[MASTER] = None
    (off,) = bench.look()
    bench.ended[MASTER] = {"namenode", "resourcemanager"}
    (ended,) = bench.look()
    bench.ended[MASTER] = set()
    (begun,) = bench.look()
    masters = [(e.silent, e.gone) for e in (off, ended, begun) if isinstance(e, MastersSeen)]
    assert masters == [(silent, ()), (silent, ("namenode", "resourcemanager")), (silent, ())]


@pytest.mark.parametrize("contact", [5, None])
def test_a_node_with_a_late_heartbeat_is_asked_whether_its_daemons_run(bench: Bench, contact: int | None) -> None:
    """So is one of which the time is not known. A daemon that is started again counts with its first heartbeat."""
    bench.look()
    bench.ended[WORKER] = {"datanode", "nodemanager"}
    assert bench.seen() == []
    bench.worker(lastContact=contact)
    sights: list[Sight] = []
    while not sights:
        sights = bench.seen()
    bench.ended[WORKER] = set()
    assert [sight.gone for sight in sights] == [("datanode", "nodemanager")]
    assert bench.seen() + bench.seen() == []
    bench.worker(lastContact=0)
    assert [sight.gone for sight in bench.seen()] == [()]


def test_masters_that_do_not_answer_a_controller_that_has_just_started_are_told_of(server: Server) -> None:
    bench = Bench(server)
    del server.answers[NODE_LIST]
    (event,) = bench.look()
    assert isinstance(event, MastersSeen)
    assert event.error


@pytest.mark.parametrize("attribute", ["LiveNodes", "DeadNodes", "DecomNodes"])
def test_a_namenode_that_does_not_list_its_nodes_says_nothing(bench: Bench, attribute: str) -> None:
    """An empty list would make its nodes absent, and a node that leaves safe."""
    bench.wish(Goal.EVACUATING)
    bench.hdfs(IN, LEFT, **{attribute: None})
    (event,) = bench.look()
    assert isinstance(event, MastersSeen)
    assert f"{attribute} is not a list of nodes" in event.error
    sight = bench.before_a_wipe()
    assert (sight.stored, known(sight).known, bench.reports()) == (Stored.NOT_KNOWN, False, 0)
    assert attribute in not_proven(sight, Proof(()), since_us=0)


@pytest.mark.parametrize(
    ("attribute", "proves"),
    [("Safemode", False), ("NumberOfMissingBlocks", True), ("adminState", False), ("lastContact", True)],
)
def test_what_the_namenode_does_not_say_is_not_known(bench: Bench, attribute: str, proves: bool) -> None:
    """Facts may be missing about the worker itself, or about all of HDFS: a report shows some of them anyhow."""
    bench.wish(Goal.EVACUATING)
    bench.report = file_of("/a", 1) + END
    bench.hdfs(IN, LEFT, **({} if attribute in ("adminState", "lastContact") else {attribute: None}))
    if attribute in ("adminState", "lastContact"):
        bench.worker(**{attribute: None})
    (sight,) = bench.seen()
    assert (not_proven(sight, Proof(()), since_us=0) == "") is proves


def test_a_number_of_blocks_that_is_not_said_is_not_0(bench: Bench) -> None:
    bench.wish(Goal.EVACUATING)
    bench.hdfs(IN, LEFT)
    bench.worker(numBlocks=None)
    (sight,) = bench.seen()
    assert known(sight).listed is None


# --- reports


def test_a_node_that_leaves_with_data_has_a_report_at_first_and_when_hdfs_has_let_it_go(bench: Bench) -> None:
    bench.seen()
    assert bench.reports() == 0
    bench.report = file_of("/a", 2) + END
    bench.wish(Goal.DRAINING)
    (sight,) = bench.seen()
    assert (known(sight).known, known(sight).at_risk, bench.reports()) == (True, ("/a",), 1)
    bench.hdfs(IN, LEAVING)
    bench.worker(numBlocks=3)
    (sight,) = bench.seen(after_s=1)
    assert (known(sight).known, known(sight).listed, bench.reports()) == (False, 3, 1)
    bench.report = file_of("/a", 1, state="LIVE") + END
    bench.hdfs(IN, LEFT)
    (sight,) = bench.seen(after_s=1)
    assert (known(sight).known, known(sight).at_risk, known(sight).asked_us) == (True, (), bench.now)
    assert bench.reports() == 2


def test_how_a_drain_gets_on_is_told_now_and_then(bench: Bench) -> None:
    bench.wish(Goal.EVACUATING)
    bench.hdfs(IN, LEAVING)
    bench.seen()
    bench.seen()
    listed = []
    for blocks in range(9, 0, -1):
        bench.worker(numBlocks=blocks)
        listed += [known(sight).listed for sight in bench.seen(after_s=4)]
    assert listed == [7, 4, 1]
    assert bench.seen(after_s=1000) == []


def test_a_report_is_asked_for_a_small_part_of_the_time_only(bench: Bench) -> None:
    """It walks through all of HDFS under the NameNode's lock; meanwhile nothing is told that is not known."""
    bench.fsck_takes_s = 10
    bench.report = file_of("/a", 2) + END
    bench.wish(Goal.EVACUATING)
    bench.hdfs(IN, LEFT)
    assert [known(sight).at_risk for sight in bench.seen()] == [("/a",)]
    bench.report = file_of("/a", 1) + END
    assert bench.seen(after_s=1) + bench.seen(after_s=38) == []
    assert bench.reports() == 1
    assert [known(sight).at_risk for sight in bench.seen(after_s=1)] == [()]
    assert bench.reports() == 2


def test_a_node_that_dies_while_the_next_report_is_not_due_is_told_of_at_once(bench: Bench) -> None:
    bench.fsck_takes_s = 10
    bench.wish(Goal.EVACUATING)
    bench.hdfs(IN, LEAVING)
    bench.seen()
    bench.hdfs(IN, None)
    (sight,) = bench.seen(after_s=1)
    assert (sight.stored, known(sight).known, bench.reports()) == (Stored.DEAD, False, 1)
    assert bench.seen(after_s=1) == []
    assert [known(sight).known for sight in bench.seen(after_s=38)] == [True]


def test_why_there_is_no_report_is_told_once_and_it_is_asked_for_again(bench: Bench) -> None:
    bench.fsck_takes_s = 10
    bench.report = "FSCK started by root\n"
    bench.wish(Goal.EVACUATING)
    for state in (LEAVING, LEFT):
        bench.hdfs(IN, state)
        (sight,) = bench.seen(after_s=100)
        assert (known(sight).known, "ends with 'FSCK started by root'" in known(sight).why) == (False, True)
        assert bench.seen(after_s=1) + bench.seen(after_s=100) + bench.seen(after_s=1) == []
    assert bench.reports() == 4
    bench.report = END
    assert [known(sight).known for sight in bench.seen(after_s=100)] == [True]


@pytest.mark.parametrize("stored", [LEFT, None])
def test_nodes_that_leave_together_share_a_report(bench: Bench, stored: str | None) -> None:
    bench.members = {node: Member(Goal.EVACUATING, Role.CORE, 1) for node in (MASTER, WORKER)}
    bench.list_again()
    bench.hdfs(LEFT, stored)
    bench.report = file_of("/a", 1) + END
    at_risk = {e.node: known(e.sight).at_risk for e in bench.look() if isinstance(e, NodeSeen)}
    assert at_risk == {MASTER: ("/a",), WORKER: ()}
    assert bench.reports() == 1


def test_a_report_before_a_wipe_is_one_of_now(bench: Bench, server: Server) -> None:
    """It is asked for whatever the pace; a replica on a node that has fallen silent since does not count."""
    bench.fsck_takes_s = 10
    bench.report = file_of("/a", 1, 2) + END
    bench.wish(Goal.EVACUATING)
    bench.hdfs(IN, LEFT)
    (seen,) = bench.seen()
    assert not_proven(seen, Proof(()), since_us=0) == ""
    live = json.loads(bench.bean["LiveNodes"])
    live["node01:9866"]["lastContact"] = 11
    server.answers[JMX] = says({"beans": [bench.bean | {"LiveNodes": json.dumps(live)}]})
    asked_us = bench.now
    sight = bench.before_a_wipe()
    assert (sight.asked_us, known(sight).asked_us, sight.stored) == (asked_us, asked_us, Stored.LEFT)
    assert not_proven(sight, Proof(()), since_us=0) == "too few replicas on other nodes: /a"
    assert bench.reports() == 2


def test_masters_that_do_not_answer_before_a_wipe_prove_nothing(bench: Bench, server: Server) -> None:
    del server.answers[JMX]
    sight = bench.before_a_wipe()
    assert (sight.stored, known(sight).known) == (Stored.NOT_KNOWN, False)
    assert "404" in not_proven(sight, Proof(()), since_us=0)


def test_many_mr_clusters_that_hang_keep_no_other_one_from_being_looked_at() -> None:
    let, reached = threading.Event(), threading.Event()

    class Hanging(PlayedSetup):
        def masters(self, cluster: LiveCluster) -> MasterAddresses:
            if cluster.id == "z":
                reached.set()
            assert let.wait(60)
            raise AssertionError("nobody is asked")

    clusters = Clusters()
    for name in [*(f"a{number:02}" for number in range(30)), "z"]:
        members = {MASTER: Member(Goal.DRAINING, Role.CORE, 1)}
        clusters._put(live_cluster(name, MASTER, members, ready=True, working=True))
    watch = Watch(clusters, Hanging(), Mailbox(Clock()), lambda *_: None, Settings)
    try:
        watch.round()
        assert reached.wait(20)
    finally:
        let.set()
        watch.close()
