"""An MR-cluster without a journal gets one, on nodes that are folders of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import FawkesError, HostError
from fawkes.live.kerberos.keytab import TicketError
from fawkes.live.masters.succession import StayError
from fawkes.live.wire.rest import OwnFaultError
from tests.live.masters_site import NODES, OLD, THIRD, TO, C
from tests.live.pair_site import EDITS_DIR, EDITS_ON_DISK, NAME, PairSite
from tests.live.played import NoTicket

pytestmark = pytest.mark.slow

ACTIVE = "transitionToActive"


@pytest.fixture
def site(site: PairSite) -> PairSite:
    site.give_up()
    assert site.pair.state(site.cluster(), OLD) == "active"
    return site


def journals(site: PairSite) -> list[str]:
    """The journal that stands in each node's configuration."""
    return [" ".join(site.journal_of(at)) for at in NODES]


def version(site: PairSite, at: str) -> Path:
    return site.folder / at / "clusters" / C / "journal" / NAME / "current" / "VERSION"


def works_without(site: PairSite) -> None:
    """Everything is as it was: masters without a journal, which answer."""
    cluster = site.cluster()
    assert (cluster.master, cluster.standby, site.clusters.moving(C)) == (OLD, None, None)
    assert site.pair.state(cluster, OLD) == "active"
    assert journals(site) == ["", "", ""]
    assert {"namenode", "resourcemanager", "historyserver", "datanode", "nodemanager"} == site.running(OLD)
    assert {"datanode", "nodemanager"} == site.running(TO) == site.running(THIRD)


def cut_off(site: PairSite) -> None:
    """A try that ends when its masters have been started."""
    answers = iter([True, False])
    assert site.begin(current=lambda: next(answers, True)) is None


@pytest.mark.nightly
def test_a_goal_that_nobody_wants_any_more_stops_nothing(site: PairSite) -> None:
    before = site.pid(OLD, "namenode")
    assert site.begin(current=lambda: False) is None
    assert site.pid(OLD, "namenode") == before
    works_without(site)


def test_the_masters_start_again_with_a_journal_where_they_are(site: PairSite) -> None:
    before = {at: site.pid(at, "datanode") for at in NODES}
    master = site.pid(OLD, "namenode")
    assert site.begin() == {"journal": list(NODES)}
    assert site.pid(OLD, "namenode") not in (None, master)
    assert site.orders == [
        (OLD, "namenode", ACTIVE),
        (OLD, "resourcemanager", ACTIVE),
        (OLD, "namenode", "rollEdits"),
    ]
    assert [(site.root(at) / "journal" / NAME / "current" / "VERSION").read_text() for at in NODES] == ["begun\n"] * 3
    assert journals(site) == [" ".join(NODES)] * 3
    assert all(site.pid(at, "datanode") not in (None, before[at]) for at in NODES), "they follow another name"
    cluster = site.cluster()
    assert (cluster.master, cluster.second, cluster.journal, site.clusters.moving(C)) == (OLD, None, NODES, None)


@pytest.mark.nightly
def test_then_a_second_namenode_can_be_brought_up(site: PairSite) -> None:
    site.begin()
    assert site.arm(TO) == {"journal": list(NODES)}
    assert (site.root(TO) / "nn" / "current" / "VERSION").read_text() == site.version


@pytest.mark.nightly
def test_a_node_that_does_not_answer_leaves_everything_as_it_is(site: PairSite) -> None:
    before = site.pid(OLD, "namenode")
    site.fleet.off = {THIRD}
    with pytest.raises(StayError, match="it goes on without a journal: node03: it should have a part of the journal"):
        site.begin()
    site.fleet.off.clear()
    assert site.pid(OLD, "namenode") == before
    works_without(site)


def test_a_journal_that_cannot_begin_lets_the_masters_start_again_without_it(site: PairSite) -> None:
    before = site.pid(OLD, "namenode")
    site.shares_not = True
    with pytest.raises(StayError, match="it goes on without a journal"):
        site.begin()
    assert site.pid(OLD, "namenode") not in (None, before)
    works_without(site)
    site.shares_not = False
    assert site.begin() == {"journal": list(NODES)}


@pytest.mark.parametrize(("lost", "why"), [("no_keytab", "it is not there"), ("no_kdc", "the KDC gave no ticket")])
def test_without_keytab_or_kdc_no_masters_are_stopped(site: PairSite, lost: str, why: str) -> None:
    before = site.pid(OLD, "namenode")
    setattr(site.setup, lost, True)
    with pytest.raises(StayError, match=rf"goes on without a journal: keytabs/c-1\.keytab: {why}"):
        site.begin()
    assert site.pid(OLD, "namenode") == before
    works_without(site)


@pytest.mark.nightly
def test_masters_that_were_stopped_and_could_not_be_asked_go_on_with_the_journal(site: PairSite) -> None:
    """Without the KDC they could not start without it either."""
    cut_off(site)
    site.setup.key = NoTicket()
    with pytest.raises(OwnFaultError, match="the KDC gave no ticket"):
        site.begin()
    assert journals(site) == [" ".join(NODES)] * 3
    site.setup.key = ""
    assert site.begin() == {"journal": list(NODES)}


def test_masters_that_run_are_not_stopped_to_go_back_while_the_kdc_is_away(site: PairSite) -> None:
    cut_off(site)
    started = site.pid(OLD, "namenode")
    site.setup.no_kdc = True
    site.refuses = {(OLD, "rollEdits")}
    with pytest.raises(TicketError, match="the KDC gave no ticket"):
        site.begin()
    assert site.pid(OLD, "namenode") == started


@pytest.mark.nightly
def test_a_namenode_that_may_not_write_to_it_starts_again_without_it(site: PairSite) -> None:
    site.refuses = {(OLD, "rollEdits")}
    with pytest.raises(StayError, match="it is told to refuse"):
        site.begin()
    works_without(site)
    assert (site.root(TO) / "journal.before-2").exists(), "what it began is kept"


@pytest.mark.nightly
def test_a_try_that_was_cut_off_once_masters_ran_goes_on(site: PairSite) -> None:
    """A controller that takes over does not start the masters a second time."""
    cut_off(site)
    started = site.pid(OLD, "namenode")
    assert site.clusters.moving(C) == OLD
    assert site.begin() == {"journal": list(NODES)}
    assert site.pid(OLD, "namenode") == started


@pytest.mark.nightly
def test_a_try_that_was_cut_off_before_begins_anew(site: PairSite) -> None:
    cut_off(site)
    site.stop(OLD, "namenode")
    assert site.begin() == {"journal": list(NODES)}
    assert (site.root(OLD) / "journal.before-2").exists()


def test_a_namenode_whose_own_disk_lacks_changes_is_not_stopped(site: PairSite) -> None:
    """It took over from another one, say: only the journal of those days had what came before."""
    before = site.pid(OLD, "namenode")
    assert site.look(OLD)["edits"] == "whole"
    edits = site.root(OLD) / "nn" / "current" / EDITS_ON_DISK[2]
    edits.unlink()
    assert site.look(OLD)["edits"] == "gap"
    with pytest.raises(StayError, match="it goes on without a journal: the disk of its NameNode lacks changes"):
        site.begin()
    assert site.pid(OLD, "namenode") == before
    works_without(site)


@pytest.mark.nightly
def test_a_namenode_that_writes_another_journal_is_not_stopped(site: PairSite) -> None:
    """A journal that nobody follows any more may have writes that its own disk lacks."""
    before, configuration = site.pid(OLD, "namenode"), site.root(OLD) / "conf" / "hdfs-site.xml"
    configuration.write_text(f"<name>{EDITS_DIR}</name>\n<value>qjournal://node07/{NAME}</value>\n")
    with pytest.raises(StayError, match=r"its NameNode writes another journal \(qjournal://node07/c-1\)"):
        site.begin()
    assert site.pid(OLD, "namenode") == before
    assert site.clusters.moving(C) is None


@pytest.mark.nightly
def test_masters_that_do_not_answer_are_no_case_for_it(site: PairSite) -> None:
    site.fleet.off = {OLD}
    with pytest.raises(HostError, match="node01: it does not answer, so c-1 cannot get a journal"):
        site.begin()


@pytest.mark.nightly
def test_nothing_begins_while_masters_move(site: PairSite) -> None:
    site.clusters.begin_move(C, TO)
    with pytest.raises(FawkesError, match="its masters are being moved"):
        site.begin()


@pytest.mark.nightly
def test_a_namenode_that_waits_to_be_made_active_does_not_answer_as_masters(site: PairSite) -> None:
    """Nobody knows of its journal yet: by a look it runs, and takes nothing."""
    cut_off(site)
    site.clusters.end_move(C, OLD)
    assert site.look()["old"] == "runs"
