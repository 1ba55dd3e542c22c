"""Takeovers on nodes that are folders of this machine: real scripts, sleeping daemons, orders over RPC."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from fawkes.base.errors import FawkesError, HostError
from fawkes.core.values.effects import MoveMasters
from fawkes.live.hadoop.doors import LIST
from fawkes.live.kerberos.keytab import is_of_site
from fawkes.live.masters.succession import StayError
from fawkes.live.wire.hadoop_rpc import RpcError
from fawkes.live.wire.rest import OwnFaultError
from tests.live.masters_site import NODES, OLD, THIRD, TO, C
from tests.live.pair_site import PairSite
from tests.live.played import NoTicket

pytestmark = pytest.mark.slow

MASTERS = {"namenode", "resourcemanager", "historyserver"}
ACTIVE = "transitionToActive"
ID = "application_1795220018027_0001"


@pytest.mark.nightly
def test_a_look_tells_who_could_take_over(site: PairSite) -> None:
    found = site.look()
    assert (found["old"], found["standby"], found["journal"]) == ("answers", "standby", list(NODES))
    site.fleet.off = {OLD}
    found = site.look()
    assert (found["old"], found["standby"], found["journal"]) == ("silent", "standby", [TO, THIRD])
    site.stop(TO, "namenode")
    assert site.look()["standby"] is None
    assert site.orders == []


@pytest.mark.nightly
def test_a_namenode_that_waits_to_be_made_active_does_not_answer_as_masters(site: PairSite) -> None:
    site.told(OLD, "namenode", "transitionToStandby")
    assert site.look()["old"] == "runs"


def test_masters_that_answer_are_not_replaced(site: PairSite) -> None:
    with pytest.raises(StayError, match="c-1: its masters answer, so they stay where they are"):
        site.take_over()
    assert site.orders == []
    assert site.running(OLD) >= MASTERS
    assert (site.cluster().master, site.clusters.moving(C)) == (OLD, None)


def test_masters_that_could_not_be_asked_are_not_shut_out(site: PairSite) -> None:
    site.setup.key = NoTicket()
    for ask in (site.take_over, site.look):
        with pytest.raises(OwnFaultError, match="the KDC gave no ticket") as caught:
            ask()
        assert is_of_site(caught.value)
    assert site.orders == []
    assert site.running(OLD) >= MASTERS


def test_while_the_kdc_is_away_masters_that_work_are_not_moved(site: PairSite) -> None:
    site.setup.no_kdc = True
    with pytest.raises(StayError, match=r"stay on node01: keytabs/c-1\.keytab: the KDC gave no ticket"):
        site.take_over(planned=True)
    assert site.orders == []
    assert site.running(OLD) >= MASTERS
    site.fleet.off = {OLD}
    site.take_over()
    assert site.orders[0] == (TO, "namenode", ACTIVE), "what is lost cannot be stopped, and HDFS goes on"


def test_the_second_namenode_of_a_lost_one_takes_over(site: PairSite) -> None:
    """Its node cannot be reached, so it is on no list of addresses; what ran goes on."""
    site.applications = [
        {"id": ID, "state": "RUNNING", "applicationTags": "fawkes-j-1-1"},
        {
            "id": ID.replace("0001", "0002"),
            "state": "FINISHED",
            "finalStatus": "SUCCEEDED",
            "applicationTags": "fawkes-j-2-1",
        },
        {"id": ID.replace("0001", "0003"), "state": "RUNNING", "user": "alice"},
    ]
    # A task of an ended application, one of a living one, and a user's client.
    site.writers = {
        f"DFSClient_attempt_{ID.removeprefix('application_').replace('0001', '0002')}_r_000000_0_5_1": "/output/ended",
        f"DFSClient_attempt_{ID.removeprefix('application_')}_r_000000_0_5_1": "/output/lives",
        "DFSClient_NONMAPREDUCE_5_1": "/output/users",
    }
    site.fleet.off = {OLD}
    workers = {at: (site.pid(at, "nodemanager"), site.pid(at, "datanode")) for at in (TO, THIRD)}
    facts = site.take_over()
    assert site.orders[0] == (TO, "namenode", ACTIVE)
    assert site.orders[1] == (TO, "namenode", "rollEdits"), "it is shown that the journal takes what it writes"
    assert (facts["copied_us"], facts["missing_files"], facts["ended"]) == (None, 0, [])
    assert facts["known"] == [
        {"id": ID, "tags": ["fawkes-j-1-1"]},
        {"id": ID.replace("0001", "0002"), "tags": ["fawkes-j-2-1"]},
    ]
    listed = {at for at, _, method in site.orders if method == "triggerBlockReport"}
    assert listed == {TO, THIRD}, "a NameNode takes no replica for sure before its DataNode has listed it anew"
    assert facts["reached"] == [TO, THIRD]
    assert site.closed == ["/output/ended"], "whoever may be alive keeps its lease"
    assert {at: (site.pid(at, "nodemanager"), site.pid(at, "datanode")) for at in (TO, THIRD)} == workers
    assert site.running(TO) >= {*MASTERS, "journalnode"}
    for at in (TO, THIRD):
        assert (site.root(at) / "conf" / LIST).read_text() == "node02\nnode03\n"
    cluster = site.cluster()
    assert (cluster.master, cluster.second, cluster.journal) == (TO, None, NODES)
    assert cluster.shut_out == {OLD}
    assert site.clusters.moving(C) is None


@pytest.mark.nightly
def test_former_masters_are_stopped_where_their_node_answers(site: PairSite) -> None:
    """Their data and their part of the journal stay: a second NameNode begins with it."""
    site.stop(OLD, "namenode")
    facts = site.take_over()
    assert facts["reached"] == sorted(NODES)
    assert site.running(OLD) == {"journalnode", "datanode", "nodemanager"}
    assert (site.root(OLD) / "nn" / "current" / "VERSION").exists()
    assert site.cluster().shut_out == frozenset()


def test_a_former_masters_node_that_came_back_empty_works_at_once(site: PairSite) -> None:
    """Nobody waits for daemons that nobody has started. Its part of the journal is brought up later."""
    for daemon in sorted(site.running(OLD)):
        site.stop(OLD, daemon)
    shutil.rmtree(site.root(OLD))
    facts = site.take_over()
    assert facts["reached"] == sorted(NODES)
    assert site.running(OLD) == {"datanode", "nodemanager"}
    assert not (site.root(OLD) / "nn").exists()


@pytest.mark.nightly
def test_a_takeover_starts_a_datanode_that_had_ended(site: PairSite) -> None:
    """It would hold up the takeover, and nobody repairs it before that has ended."""
    site.fleet.off = {OLD}
    site.stop(THIRD, "datanode")
    facts = site.take_over()
    assert facts["reached"] == [TO, THIRD]
    assert "datanode" in site.running(THIRD)


def test_without_most_of_the_journal_nobody_takes_over(site: PairSite) -> None:
    site.fleet.off = {OLD}
    site.stop(THIRD, "journalnode")
    with pytest.raises(RpcError, match="most of the journal does not answer"):
        site.take_over()
    assert not site.running(TO) & {"resourcemanager", "historyserver"}


@pytest.mark.nightly
def test_a_second_namenode_that_does_not_answer_does_not_take_over(site: PairSite) -> None:
    site.fleet.off = {OLD}
    site.stop(TO, "namenode")
    with pytest.raises(HostError, match="node02: it does not answer, so it cannot take over c-1"):
        site.take_over()
    assert site.orders == []


@pytest.mark.nightly
def test_a_takeover_that_was_cut_off_goes_on(site: PairSite) -> None:
    """Old masters that answer by then change nothing: the journal is another one's."""
    site.told(TO, "namenode", ACTIVE)
    facts = site.take_over()
    assert facts["missing_files"] == 0
    assert not site.running(OLD) & MASTERS
    assert site.cluster().master == TO


@pytest.mark.nightly
def test_an_active_namenode_without_the_journal_is_no_master(site: PairSite) -> None:
    """It says that it is active, because it does not know yet that another one writes."""
    site.told(TO, "namenode", ACTIVE)
    site.told(OLD, "namenode", ACTIVE)
    with pytest.raises(RpcError, match="less than the last promised epoch"):
        site.take_over()
    assert site.running(OLD) >= MASTERS


def test_a_planned_takeover_swaps_both(site: PairSite) -> None:
    facts = site.take_over(planned=True)
    assert facts["reached"] == sorted(NODES)
    assert site.orders[:3] == [
        (OLD, "namenode", "transitionToStandby"),
        (TO, "namenode", ACTIVE),
        (TO, "namenode", "rollEdits"),
    ]
    assert not site.running(OLD) & MASTERS
    assert (site.cluster().master, site.clusters.moving(C)) == (TO, None)


@pytest.mark.nightly
def test_a_planned_takeover_that_is_refused_goes_back(site: PairSite) -> None:
    site.refuses = {(TO, ACTIVE)}
    with pytest.raises(StayError, match=r"c-1: its masters stay on node01: .*it is told to refuse"):
        site.take_over(planned=True)
    assert site.orders[-1] == (OLD, "namenode", ACTIVE)
    assert site.running(OLD) >= MASTERS
    assert (site.cluster().master, site.clusters.moving(C)) == (OLD, None)


@pytest.mark.nightly
def test_a_planned_takeover_that_leaves_nobody_active_is_not_over(site: PairSite) -> None:
    """Nobody may say that the masters stay: the next try makes one of them active."""
    site.refuses = {(TO, ACTIVE), (OLD, ACTIVE)}
    with pytest.raises(RpcError, match="it is told to refuse"):
        site.take_over(planned=True)
    assert site.clusters.moving(C) == TO


@pytest.mark.nightly
def test_a_planned_takeover_of_masters_that_are_silent_by_then(site: PairSite) -> None:
    site.fleet.off = {OLD}
    with pytest.raises(StayError, match="node01 does not answer, so its masters are not moved") as error:
        site.take_over(planned=True)
    assert error.value.facts == {"alive": True, "silent": True}
    assert site.orders == []


@pytest.mark.nightly
def test_a_takeover_without_a_second_namenode(site: PairSite) -> None:
    site.clusters.arm(C, None)
    with pytest.raises(FawkesError, match="c-1: it has no second NameNode that could take over"):
        site.take_over()


@pytest.mark.nightly
def test_a_takeover_that_nobody_wants_any_more(site: PairSite) -> None:
    site.fleet.off = {OLD}
    assert site.mover.reach(MoveMasters(C, 5, OLD, TO, planned=False, standby=True), lambda: False) is None
    assert (site.orders, site.clusters.moving(C)) == ([], None)
    assert site.cluster() == replace(site.cluster(), master=OLD)


@pytest.mark.nightly
def test_masters_that_come_back_from_a_copy_end_the_journal(site: PairSite) -> None:
    """The journal has another history: its files are set aside, and the members are configured without it."""
    site.copies.take()
    site.fleet.off = {OLD}
    before = {at: site.pid(at, "datanode") for at in (TO, THIRD)}
    facts = site.move()
    assert (facts["copied_us"], facts["reached"]) == (7, [TO, THIRD])
    assert not [order for order in site.orders if order[2] == "refreshNamenodes"]
    assert all(site.pid(at, "datanode") not in (None, pid) for at, pid in before.items())
    for at in (TO, THIRD):
        assert (site.root(at) / "conf" / "journal").read_text() == ""
        assert "journalnode" not in site.running(at)
        assert (site.root(at) / "journal.before-1" / "c-1" / "current" / "VERSION").exists()
    assert (site.root(TO) / "nn.before-1" / "current" / "VERSION").exists()
    assert site.running(TO) >= MASTERS
    cluster = site.cluster()
    assert (cluster.master, cluster.standby) == (TO, None)
    assert cluster.shut_out == {OLD}


@pytest.mark.nightly
def test_masters_that_answer_keep_their_journal_when_a_copy_was_to_replace_them(site: PairSite) -> None:
    site.copies.take()
    with pytest.raises(StayError, match="its masters answer"):
        site.move()
    assert all("journalnode" in site.running(at) for at in NODES)
    assert not any((site.root(at) / "journal.before-1").exists() for at in NODES)
    assert site.cluster().journal == NODES
