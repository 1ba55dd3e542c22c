"""A node of a journal is replaced, on nodes that are folders of this machine."""

from __future__ import annotations

import pytest

from fawkes.base.errors import FawkesError, HostError
from fawkes.core.values.effects import ArmStandby
from fawkes.core.values.model import NodeId, Standby
from fawkes.live.kerberos.keytab import TicketError
from fawkes.live.wire.hadoop_rpc import RpcError
from tests.live.masters_site import NODES, OLD, THIRD, TO, C
from tests.live.pair_site import FOURTH, NAME, PairSite

pytestmark = pytest.mark.slow

NEW = (OLD, TO, FOURTH)
ACTIVE, STANDBY = "transitionToActive", "transitionToStandby"


@pytest.fixture
def nodes() -> tuple[NodeId, ...]:
    return (*NODES, FOURTH)


def changes_of_namenodes(site: PairSite) -> list[tuple[str, str]]:
    return [(at, method) for at, daemon, method in site.orders if daemon == "namenode" and method in (ACTIVE, STANDBY)]


def test_both_namenodes_are_started_again_with_the_new_journal(site: PairSite) -> None:
    before = {at: site.pid(at, "namenode") for at in (OLD, TO)}
    workers = {at: (site.pid(at, "datanode"), site.pid(at, "nodemanager")) for at in site.nodes}
    assert site.arm(TO, NEW) == {"journal": list(NEW)}
    assert changes_of_namenodes(site) == [(OLD, STANDBY), (TO, ACTIVE), (TO, STANDBY), (OLD, ACTIVE)]
    for at in (OLD, TO):
        assert site.pid(at, "namenode") not in (None, before[at])
    assert {at: (site.pid(at, "datanode"), site.pid(at, "nodemanager")) for at in site.nodes} == workers
    assert all((site.root(at) / "conf" / "journal").read_text() == " ".join(NEW) for at in site.nodes)
    assert (site.root(FOURTH) / "journal" / NAME / "current" / "VERSION").read_text() == f"VERSION of {OLD}\n"
    assert "journalnode" in site.running(FOURTH) - site.running(THIRD)
    assert (site.root(THIRD) / "journal.before-1" / NAME / "current" / "VERSION").exists()
    cluster = site.cluster()
    assert (cluster.master, cluster.second, cluster.journal) == (OLD, TO, NEW)
    assert site.clusters.moving(C) is None


@pytest.mark.nightly
def test_a_node_that_leaves_and_does_not_answer_is_not_waited_for(site: PairSite) -> None:
    site.fleet.off = {THIRD}
    assert site.arm(TO, NEW) == {"journal": list(NEW)}


@pytest.mark.nightly
def test_nothing_is_replaced_while_another_part_of_the_journal_is_away(site: PairSite) -> None:
    site.stop(TO, "journalnode")
    with pytest.raises(FawkesError, match="c-1: its journal does not answer on node02"):
        site.arm(TO, NEW)
    assert changes_of_namenodes(site) == []
    assert (site.clusters.moving(C), site.cluster().journal) == (None, NODES)


def test_a_node_that_lacks_a_part_of_the_journal_lets_nothing_be_replaced(site: PairSite) -> None:
    """The one that stays may have missed what the one that leaves has: the first NameNode goes on as before."""
    missed = site.root(TO) / "journal" / NAME / "current" / f"edits_{1:019d}-{site.txid + 2:019d}"
    missed.mkdir()
    with pytest.raises(HostError, match="node02: it does not have all of the journal, so nothing is replaced yet"):
        site.arm(TO, NEW)
    assert changes_of_namenodes(site) == [(OLD, STANDBY), (OLD, ACTIVE)]
    assert site.cluster().journal == NODES
    missed.rmdir()
    assert site.arm(TO, NEW) == {"journal": list(NEW)}


def test_while_the_kdc_is_away_no_namenode_is_stopped(site: PairSite) -> None:
    before = {at: site.pid(at, "namenode") for at in (OLD, TO)}
    site.setup.no_kdc = True
    with pytest.raises(TicketError, match="the KDC gave no ticket"):
        site.arm(TO, NEW)
    assert {at: site.pid(at, "namenode") for at in (OLD, TO)} == before
    assert changes_of_namenodes(site) == []


@pytest.mark.nightly
def test_a_second_namenode_that_refuses_leaves_the_first_at_work(site: PairSite) -> None:
    site.refuses = {(TO, ACTIVE)}
    with pytest.raises(RpcError, match="it is told to refuse"):
        site.arm(TO, NEW)
    assert changes_of_namenodes(site)[-1] == (OLD, ACTIVE)
    site.refuses.clear()
    assert site.arm(TO, NEW) == {"journal": list(NEW)}


@pytest.mark.nightly
def test_a_change_that_was_cut_off_between_the_swaps_goes_on(site: PairSite) -> None:
    site.refuses = {(OLD, ACTIVE)}
    with pytest.raises(RpcError):
        site.arm(TO, NEW)
    assert changes_of_namenodes(site)[-1] == (TO, ACTIVE), "HDFS takes writes meanwhile"
    site.refuses.clear()
    site.orders.clear()
    assert site.arm(TO, NEW) == {"journal": list(NEW)}
    assert changes_of_namenodes(site) == [(TO, STANDBY), (OLD, ACTIVE)]


@pytest.mark.nightly
def test_one_node_is_replaced_at_a_time(site: PairSite) -> None:
    effect = ArmStandby(C, 9, OLD, Standby(journal=(OLD, FOURTH), node=FOURTH), NODES)
    with pytest.raises(FawkesError, match="one node of its journal is replaced at a time"):
        site.mover.reach(effect, lambda: True)
