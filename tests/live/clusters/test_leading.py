"""Masters with a journal are made active where the ledger has them, in their order, and nowhere else."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from fawkes.base.errors import ElsewhereError
from fawkes.config.clusters.details import ClusterDetails
from fawkes.core.values.effects import Goal, Member
from fawkes.core.values.model import ClusterId, ClusterSpec, NodeId, Promise, Role, Standby
from fawkes.live.clusters.leading import Leading
from fawkes.live.hadoop.ha import NameNodePair
from fawkes.live.kerberos.keytab import TicketError
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.wire.hadoop_rpc import RpcError
from fawkes.playbook import Facts, Script
from tests.live.played import CARRIED_OUT, Call, PlayedGround, PlayedSetup
from tests.support.stub import Stub, stub_master

C = ClusterId("c")
NODES = tuple(NodeId(f"node0{n}") for n in (1, 2, 3))
MASTER, SECOND, THIRD = NODES
JMX, INFO = "/jmx", "/ws/v1/cluster/info"


class Site(PlayedGround, PlayedSetup):
    """A NameNode and a ResourceManager that become what they are told over RPC; ``told`` has the ports."""

    def __init__(self, stub: Stub) -> None:
        super().__init__(*NODES, user="root")
        self.nodes = {at: replace(node, data_address=f"10.0.0.{at[-1]}") for at, node in self.nodes.items()}
        self.told: list[tuple[str, int]] = []
        self.namenode, self.manager, self.safe = "standby", "STANDBY", ""
        self.newer = False
        self.tickets = True
        self.stores = True
        self.url = stub.url
        stub.answers[JMX] = lambda: {
            "beans": [
                {
                    "name": "Hadoop:name=NameNodeInfo",
                    "JournalTransactionInfo": '{"LastAppliedOrWrittenTxId":"7"}',
                    "Safemode": self.safe,
                    "LiveNodes": json.dumps({"node02:9866": {"adminState": "In Service"}} if self.stores else {}),
                    "DecomNodes": "{}",
                    "DeadNodes": "{}",
                },
                {"name": "Hadoop:name=NameNodeStatus", "State": self.namenode},
            ]
        }
        stub.answers[INFO] = lambda: {"clusterInfo": {"haState": self.manager}}
        self.clusters = Clusters()
        members = {n: Member(Goal.SERVING, Role.CORE, 1) for n in NODES}
        spec = ClusterSpec(id=C, min_nodes=3, masters=Promise.STANDBY)
        self.cluster = self.clusters._put(
            LiveCluster(spec, ClusterDetails(), MASTER, members, standby=Standby(journal=NODES, node=SECOND))
        )

    def lead(self) -> bool:
        leading = Leading(self, self.clusters, self)
        return leading.lead(self.clusters.get(C) or self.cluster)

    # -- as a set-up

    def session(self, cluster: LiveCluster) -> None:
        if not self.tickets:
            raise TicketError("the KDC gave no ticket")

    # -- as nodes

    def played(self, node: NodeId, script: Script, doing: str) -> Facts:
        if self.newer:
            raise ElsewhereError("another controller has taken over the node", where=node)
        return Facts([])

    def through(self, node: NodeId) -> Any:
        def connect(address: str, port: int, limit_s: float) -> Call:
            assert address == self.nodes[node].data_address
            self.told.append((address, port))
            if port == 8020:
                self.namenode = "active"
            else:
                self.manager = "ACTIVE"
            return Call(ordered)

        def ordered(data: bytes) -> bytes:
            assert b"transitionToActive" in data
            return CARRIED_OUT

        return connect


@pytest.fixture
def site() -> Iterator[Site]:
    with stub_master() as stub:
        yield Site(stub)


def test_the_namenode_comes_first_because_the_state_of_yarn_lies_there(site: Site) -> None:
    assert site.lead()
    assert site.told == [("10.0.0.1", 8020), ("10.0.0.1", 8033)]
    assert site.lead()
    assert len(site.told) == 2, "active masters are left alone"


def test_the_resource_manager_waits_until_hdfs_takes_writes(site: Site) -> None:
    site.safe = "Safe mode is ON."
    assert not site.lead()
    assert site.told == [("10.0.0.1", 8020)]
    site.safe = ""
    assert site.lead()


@pytest.mark.slow
def test_the_resource_manager_waits_for_a_datanode(site: Site) -> None:
    """Its first write would fail, and its next tries come ever later."""
    site.stores = False
    assert not site.lead()
    assert site.told == [("10.0.0.1", 8020)]
    site.stores = True
    assert site.lead()


def test_nobody_is_made_active_while_masters_move_or_where_they_were_before(site: Site) -> None:
    before = site.cluster
    site.clusters.begin_move(C, SECOND)
    assert not site.lead()
    site.clusters.end_move(C, SECOND)
    leading = Leading(site, site.clusters, site)
    assert not leading.lead(before), "who still sees the masters of before asks for nothing"
    assert site.told == []


def test_a_controller_that_rules_no_more_makes_nobody_active(site: Site) -> None:
    site.newer = True
    assert not site.lead()
    assert site.told == []


def test_masters_that_do_not_answer_are_not_told_anything(site: Site) -> None:
    site.url = "http://127.0.0.1:1"
    assert not site.lead()
    assert site.told == []


def test_a_move_begins_when_nobody_is_being_made_active_any_more(site: Site) -> None:
    begun = threading.Event()

    def move() -> None:
        site.clusters.begin_move(C, SECOND)
        begun.set()

    thread = threading.Thread(target=move)
    with site.clusters.leading(C, MASTER) as here:
        assert here
        thread.start()
        assert not begun.is_set()
        assert site.clusters.moving(C) is None
    thread.join(60)
    assert site.clusters.moving(C) == SECOND


def test_without_a_journal_masters_are_active_from_the_start(site: Site) -> None:
    site.clusters.arm(C, None)
    assert site.lead()
    assert site.told == []


def test_without_a_ticket_an_order_is_not_followed(site: Site) -> None:
    """Whoever gives orders is ready for that: a second NameNode that cannot be told may be told later."""
    site.tickets = False
    with pytest.raises(RpcError, match="the KDC gave no ticket"):
        NameNodePair(site, site).roll(site.cluster, MASTER)
    assert site.told == []
