"""Reports of masters on writes and applications, and how often a change of them is posted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.events import ServiceSeen
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.core.values.sight import SafeMode, Service
from fawkes.live.base import limits
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.eyes.service import ServiceWatch, read, room_bytes
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.rest import Deadline
from tests.live.masters_server import INFO, JMX, NODE_LIST, Handler, Query, Server, says
from tests.live.played import PlayedSetup, SetClock, live_cluster

METRICS, SCHEDULER = "/ws/v1/cluster/metrics", "/ws/v1/cluster/scheduler"
BLOCK = 128 * 2**20
#: the words of NameNodes of 3.5.0 and of versions before 3.4
LOW = "Safe mode is ON. Resources are low on NN. Please add or free up more resources. NOTE:  If you turn off ..."
LOW_BEFORE = (
    "Safe mode is ON. Resources are low on NN. Please add or free up more resourcesthen turn off safe mode manually."
)
GOOD = Service(safe_mode=SafeMode.OFF, storing=2, manager="ACTIVE", computing=2, queues=2)


class Hadoop:
    """The answers of masters; a bean or a document that is None is refused."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.beans: dict[str, dict[str, Any] | None] = {
            "FSNamesystemState": {
                "FSState": "Operational",
                "NumLiveDataNodes": 3,
                "NumDecomLiveDataNodes": 1,
                "NumDecommissioningDataNodes": 0,
                "CapacityRemaining": 10**12,
            },
            "NameNodeInfo": None,
            "BlockStats": None,
        }
        server.answers[JMX] = self._bean
        self.says(INFO, {"clusterInfo": {"haState": "ACTIVE"}})
        self.metrics(activeNodes=2, totalMB=2048, unhealthyNodes=0)
        self.queues({"root.default": "RUNNING", "root.granted": "RUNNING"})

    def _bean(self, handler: Handler, query: Query) -> None:
        bean = self.beans[query["qry"].rpartition("=")[2]]
        says({"beans": []} if bean is None else {"beans": [bean]})(handler, query)

    def says(self, path: str, document: object, status: int = 200) -> None:
        self.server.answers[path] = says(document, status)

    def metrics(self, **figures: int) -> None:
        self.says(METRICS, {"clusterMetrics": figures})

    def queues(self, states: dict[str, str | None]) -> None:
        """Queues below one that has all of them."""
        rows = [{"queuePath": path, "state": state} for path, state in states.items()]
        parent = {"queuePath": "root.all", "state": "RUNNING", "queues": {"queue": rows}}
        self.says(SCHEDULER, {"scheduler": {"schedulerInfo": {"queues": {"queue": [parent]}}}})

    def safe(self, words: object) -> None:
        self.state(FSState="safeMode")
        statuses = json.dumps({"active": {"/srv/nn": "IMAGE_AND_EDITS"}, "failed": {}})
        self.beans["NameNodeInfo"] = {"Safemode": words, "NameDirStatuses": statuses}

    def state(self, **changes: object) -> None:
        self.beans["FSNamesystemState"] = {**(self.beans["FSNamesystemState"] or {}), **changes}

    def room(self, *free: int | None, disk: int, archive: int) -> None:
        """So much is free on DataNodes in service, and on the volumes of each kind of all of them."""
        self.state(CapacityRemaining=sum(left or 0 for left in free))
        live = {f"h{n}:9866": {"adminState": "In Service", "remaining": left} for n, left in enumerate(free, 1)}
        nodes = {"LiveNodes": json.dumps(live), "DeadNodes": "{}", "DecomNodes": "{}"}
        self.beans["NameNodeInfo"] = {"Safemode": "", "NameDirStatuses": "{}", **nodes}
        rows = {"DISK": disk, "ARCHIVE": archive}
        stats = [{"key": k, "value": {"capacityTotal": 10**9, "capacityRemaining": v}} for k, v in rows.items()]
        self.beans["BlockStats"] = {"StorageTypeStats": stats}

    def read(self) -> Service:
        return read(self.server.masters(), BLOCK, Deadline.after(60))


@pytest.fixture
def hadoop(one_server: Server) -> Hadoop:
    return Hadoop(one_server)


def test_masters_that_work_are_asked_four_short_questions(hadoop: Hadoop) -> None:
    assert hadoop.read() == GOOD
    assert [path for path, _ in hadoop.server.asked] == [JMX, INFO, METRICS, SCHEDULER]


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        (LOW, SafeMode.LOW, "Resources are low on NN."),
        (LOW_BEFORE, SafeMode.LOW, "turn off safe mode manually."),
        ("Safe mode is ON. It was turned on manually. Use ...", SafeMode.ASKED, "It was turned on manually."),
        ("Safe mode is ON. The reported blocks 0 needs ...", SafeMode.STARTING, "The reported blocks 0 needs"),
        ("Safe mode is ON. " + 500 * "x", SafeMode.OTHER, 200 * "x"),
        (None, SafeMode.NOT_KNOWN, ""),
    ],
)
def test_safe_mode_with_its_reason(hadoop: Hadoop, words: object, kind: SafeMode, said: str) -> None:
    hadoop.safe(words)
    seen = hadoop.read()
    assert (seen.safe_mode, seen.folder) == (kind, "/srv/nn" if kind else "")
    assert said in seen.said
    assert len(seen.said) <= 200
    assert seen.computing == 2, "YARN is asked all the same"


def test_a_namenode_that_has_just_left_safe_mode_is_not_in_it(hadoop: Hadoop) -> None:
    hadoop.safe("")
    assert hadoop.read() == GOOD


@pytest.mark.parametrize(
    ("free", "disk", "archive", "full"),
    [
        ((BLOCK - 1, 2**20), BLOCK + 2**20 - 1, 0, 2),
        ((BLOCK, 2**20), BLOCK + 2**20, 0, 1),
        ((2 * BLOCK - 1, 2**20), BLOCK, BLOCK, 2),  # two volumes on one disk report its room twice
        ((2 * BLOCK, 2 * BLOCK), 2 * BLOCK, 2 * BLOCK, 0),
        ((2 * BLOCK, None), 2 * BLOCK, 0, None),
        ((0, 0), 0, 0, 2),
    ],
)
def test_datanodes_that_have_no_room_for_a_block(
    hadoop: Hadoop, free: tuple[int | None, ...], disk: int, archive: int, full: int | None
) -> None:
    hadoop.room(*free, disk=disk, archive=archive)
    assert hadoop.read().full == full


@pytest.mark.parametrize(("value", "margin"), [(None, 2**30), ("0", 0), ("5", 5), ("1g", 2**30)])
def test_a_datanode_keeps_more_free_than_a_block(value: str | None, margin: int) -> None:
    """Seen on 3.5.0: with 500 MB free each DataNode refused a block of 128 MB, and the NameNode offered all of them."""
    key = "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space"
    assert room_bytes(BLOCK, {} if value is None else {key: value}) == BLOCK + margin


def test_nodemanagers_that_do_not_run(hadoop: Hadoop) -> None:
    hadoop.metrics(activeNodes=0, totalMB=0, unhealthyNodes=0)
    assert (hadoop.read().computing, hadoop.read().unhealthy) == (0, ())
    hadoop.metrics(activeNodes=2, totalMB=0, unhealthyNodes=0)
    assert hadoop.read().computing == 0
    hadoop.metrics(activeNodes=0, totalMB=0, unhealthyNodes=1)
    rows = [{"nodeHostName": "h2", "state": "UNHEALTHY", "healthReport": "1/1 local-dirs are bad"}]
    hadoop.says(NODE_LIST, {"nodes": {"node": rows}})
    seen = hadoop.read()
    assert (seen.computing, seen.unhealthy, seen.health) == (0, ("node02",), "1/1 local-dirs are bad")


@pytest.mark.parametrize(
    ("states", "queues", "stopped"),
    [
        ({"root.default": "STOPPED", "root.b": "RUNNING"}, 1, ("root.default",)),
        ({"root.default": "STOPPED", "root.a": "DRAINING"}, 0, ("root.a", "root.default")),
        ({"root.default": None}, None, ()),  # another scheduler
        ({}, 1, ()),  # a queue without others below it takes applications itself
    ],
)
def test_queues_that_are_stopped(
    hadoop: Hadoop, states: dict[str, str | None], queues: int | None, stopped: tuple[str, ...]
) -> None:
    hadoop.queues(states)
    seen = hadoop.read()
    assert (seen.queues, seen.stopped) == (queues, stopped)


def test_what_a_master_does_not_say_is_not_known(hadoop: Hadoop) -> None:
    hadoop.says(INFO, {"clusterInfo": {"haState": "STANDBY"}})
    assert (hadoop.read().manager, hadoop.read().computing) == ("STANDBY", None)
    hadoop.says(INFO, {}, 500)
    seen = hadoop.read()
    assert (seen.safe_mode, seen.manager, seen.computing, seen.queues) == (SafeMode.OFF, "", None, None)
    hadoop.beans["FSNamesystemState"] = None
    assert hadoop.read() == Service()


C = ClusterId("c")
MASTER = NodeId("node01")


class Bench(SetClock, PlayedSetup):
    """The watch of an MR-cluster; the test says what time it is."""

    def __init__(self, hadoop: Hadoop) -> None:
        self.hadoop = hadoop
        super().__init__(100 * SECOND_US)
        self.mailbox = Mailbox(self)
        clusters = Clusters()
        clusters._put(live_cluster(C, MASTER))
        self.watch = ServiceWatch(clusters, self, self.mailbox)

    def settings(self, cluster: LiveCluster) -> dict[str, dict[str, str]]:
        return {"hdfs-site": {}}

    def masters(self, cluster: LiveCluster) -> MasterAddresses:
        return self.hadoop.server.masters()

    def told(self, *, now: bool = False) -> list[SafeMode]:
        """The modes that one look reports."""
        if now:
            self.watch.look_now(C)
        else:
            self.watch.round()
            for eye in self.watch._eyes.values():
                assert eye.look is not None
                eye.look.result(timeout=60)
        self.mailbox.end()
        modes: list[SafeMode] = []
        for event in iter(self.mailbox.take, None):
            assert isinstance(event, ServiceSeen)
            modes.append(event.service.safe_mode)
        self.mailbox = self.watch._mailbox = Mailbox(self)
        return modes


@pytest.fixture
def bench(hadoop: Hadoop) -> Bench:
    return Bench(hadoop)


def test_a_change_is_told_once_and_not_sooner_than_some_seconds_after_the_last(bench: Bench, hadoop: Hadoop) -> None:
    assert bench.told() == [SafeMode.OFF]
    bench.now += limits.SERVICE_TOLD_US
    hadoop.state(NumLiveDataNodes=2)
    assert bench.told() == [], "how many nodes there are is no news"
    hadoop.safe(LOW)
    assert bench.told() == [SafeMode.LOW]
    hadoop.safe("")
    assert bench.told() == []
    bench.now += limits.SERVICE_TOLD_US - 1
    assert bench.told() == []
    bench.now += 1
    assert bench.told() == [SafeMode.OFF]
    hadoop.safe(LOW)
    assert bench.told(now=True) == [SafeMode.LOW], "a job has failed: why it did is told before that"


def test_an_mr_cluster_that_has_come_up_is_told_at_once_and_anew(bench: Bench, hadoop: Hadoop) -> None:
    hadoop.says(INFO, {"clusterInfo": {"haState": "INITIALIZING"}})
    assert bench.told() == [SafeMode.OFF]
    hadoop.says(INFO, {"clusterInfo": {"haState": "ACTIVE"}})
    assert bench.told() == []
    bench.watch._clusters.mark(C, ready=True)
    assert bench.told() == [SafeMode.OFF]
    assert bench.told() == []


def test_the_first_word_of_a_namenode_does_not_wait(hadoop: Hadoop) -> None:
    bench, state = Bench(hadoop), hadoop.beans["FSNamesystemState"]
    hadoop.beans["FSNamesystemState"] = None
    assert bench.told() == [SafeMode.NOT_KNOWN]
    hadoop.beans["FSNamesystemState"] = state
    hadoop.safe(LOW)
    assert bench.told() == [SafeMode.LOW]


def test_masters_that_say_nothing_at_all_are_no_news_of_what_they_offer(bench: Bench, hadoop: Hadoop) -> None:
    hadoop.says(INFO, {}, 500)
    hadoop.beans["FSNamesystemState"] = None
    assert bench.told() == []
