"""A second NameNode and its journal brought up again, on nodes that are folders of this machine."""

from __future__ import annotations

import shutil

import pytest

from fawkes.base.errors import FawkesError, HostError
from fawkes.core.values.effects import ArmStandby
from fawkes.core.values.model import Standby
from fawkes.live.kerberos.keytab import TicketError
from fawkes.live.wire.hadoop_rpc import RpcError
from tests.live.masters_site import NODES, OLD, THIRD, TO, C
from tests.live.pair_site import NAME, PairSite

pytestmark = pytest.mark.slow


def test_what_is_whole_is_left_alone(site: PairSite) -> None:
    before = {at: site.running(at) for at in NODES}
    assert site.arm(TO) == {"journal": list(NODES)}
    assert site.orders == []
    assert {at: site.running(at) for at in NODES} == before


@pytest.mark.nightly
def test_daemons_that_have_ended_are_started_with_what_they_have(site: PairSite) -> None:
    site.stop(TO, "namenode", "journalnode")
    assert site.arm(TO) == {"journal": list(NODES)}
    assert site.running(TO) >= {"namenode", "journalnode"}
    assert not list(site.root(TO).glob("*.before-*"))
    assert site.orders == [(OLD, "namenode", "rollEdits")], "the part that was away takes part again at once"


def test_a_lost_disk_gets_the_image_and_a_part_of_the_journal(site: PairSite) -> None:
    site.stop(TO, "namenode", "journalnode", "datanode", "nodemanager")
    shutil.rmtree(site.folder / TO)
    assert site.arm(TO) == {"journal": list(NODES)}
    current = site.root(TO) / "journal" / NAME / "current"
    assert (current / "VERSION").read_text() == f"VERSION of {OLD}\n"
    assert (current / "last-promised-epoch").read_text() == f"last-promised-epoch of {OLD}\n"
    assert (site.root(TO) / "nn" / "current" / "VERSION").read_text() == site.version
    assert (site.running(TO) >= {"namenode", "journalnode"}, site.cluster().second) == (True, TO)


@pytest.mark.nightly
def test_a_segment_that_is_in_a_journal_twice_is_set_aside_before_the_image_comes(site: PairSite) -> None:
    """With it the JournalNode lists no segments, and a NameNode without an image asks for all of them."""
    current = site.root(THIRD) / "journal" / NAME / "current"
    whole, again = current / f"edits_{1:019d}-{4:019d}", current / f"edits_inprogress_{1:019d}"
    for path in (whole, again):
        path.touch()
    site.stop(TO, "namenode")
    shutil.rmtree(site.root(TO) / "nn")
    site.arm(TO)
    assert whole.exists()
    assert not again.exists()


@pytest.mark.nightly
def test_the_image_of_another_namespace_is_set_aside(site: PairSite) -> None:
    site.stop(TO, "namenode")
    (site.root(TO) / "nn" / "current" / "VERSION").write_text("namespaceID=2\nclusterID=x\nblockpoolID=BP-2\n")
    site.arm(TO)
    assert (site.root(TO) / "nn" / "current" / "VERSION").read_text() == site.version
    assert (site.root(TO) / "nn.before-1" / "current" / "VERSION").read_text().startswith("namespaceID=2")


def test_a_lost_part_of_the_journal_counts_again_only_when_all_others_have_everything(site: PairSite) -> None:
    """Acknowledged writes may be on it and one other alone."""
    site.stop(THIRD, "journalnode")
    shutil.rmtree(site.root(THIRD) / "journal")
    site.stop(TO, "journalnode")
    site.fleet.off = {TO}
    with pytest.raises(FawkesError, match="c-1: most of its journal does not answer: node02, node03"):
        site.arm(TO)
    assert not (site.root(THIRD) / "journal" / NAME / "current").exists()


@pytest.mark.nightly
def test_a_part_of_the_journal_on_a_node_that_is_away_holds_nothing_up(site: PairSite) -> None:
    site.fleet.off = {THIRD}
    site.stop(TO, "namenode")
    assert site.arm(TO) == {"journal": [OLD, TO]}
    assert "namenode" in site.running(TO)


@pytest.mark.nightly
def test_the_second_namenode_goes_to_another_node_of_the_journal(site: PairSite) -> None:
    """The one before it is stopped, and its folder stays."""
    assert site.arm(THIRD) == {"journal": list(NODES)}
    assert "namenode" in site.running(THIRD)
    assert "namenode" not in site.running(TO)
    assert (site.root(TO) / "nn" / "current" / "VERSION").exists()
    assert site.cluster().second == THIRD


def test_while_the_kdc_is_away_a_second_namenode_goes_nowhere(site: PairSite) -> None:
    site.setup.no_kdc = True
    with pytest.raises(TicketError, match="the KDC gave no ticket"):
        site.arm(THIRD)
    assert "namenode" in site.running(TO)
    assert site.arm(TO) == {"journal": list(NODES)}, "what is whole needs no ticket"


@pytest.mark.nightly
def test_nothing_is_brought_up_beside_masters_that_do_not_work(site: PairSite) -> None:
    site.told(OLD, "namenode", "transitionToStandby")
    site.orders.clear()
    with pytest.raises(FawkesError, match="its NameNode says that it is standby, so no second one is brought up"):
        site.arm(TO)
    site.fleet.off = {OLD}
    with pytest.raises(FawkesError, match="its NameNode does not answer, so no second one is brought up"):
        site.arm(TO)
    assert site.orders == []


@pytest.mark.nightly
def test_of_two_that_say_that_they_are_active_only_the_one_with_the_journal_counts(site: PairSite) -> None:
    """The one on the masters' node was paused and does not know yet that it was shut out: nothing is stopped."""
    site.told(TO, "namenode", "transitionToActive")
    before = site.pid(TO, "namenode")
    with pytest.raises(RpcError, match="less than the last promised epoch"):
        site.arm(TO)
    assert site.pid(TO, "namenode") == before
    site.told(OLD, "namenode", "transitionToActive")
    site.arm(TO)
    assert site.pid(TO, "namenode") != before


@pytest.mark.nightly
def test_a_node_that_does_not_answer_cannot_have_it(site: PairSite) -> None:
    site.fleet.off = {TO}
    with pytest.raises(HostError, match="node02: it does not answer, so it cannot have the second NameNode"):
        site.arm(TO)


@pytest.mark.nightly
def test_nothing_is_brought_up_while_masters_move(site: PairSite) -> None:
    site.clusters.begin_move(C, TO)
    with pytest.raises(FawkesError, match="c-1: its masters are being moved"):
        site.arm(TO)


@pytest.mark.nightly
def test_a_goal_that_nobody_wants_any_more(site: PairSite) -> None:
    site.stop(TO, "namenode")
    effect = ArmStandby(C, 9, OLD, Standby(journal=NODES, node=TO), NODES)
    assert site.mover.reach(effect, lambda: False) is None
