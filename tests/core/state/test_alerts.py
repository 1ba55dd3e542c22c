"""Alerts have kinds, also when an earlier version of Fawkes stored them without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from fawkes.core.state import alerts
from fawkes.core.values.events import Condition, MastersSeen
from fawkes.core.values.model import (
    Alert,
    ClusterAlert,
    ClusterId,
    ClusterLife,
    ClusterState,
    NodeAlert,
    NodeLife,
    NodeState,
    Role,
)
from fawkes.core.values.sight import Compute, Stored
from fawkes.store.record import from_plain, to_plain
from tests.support.desk import Desk, grown
from tests.support.pools import settings

#: every alert of an MR-cluster that a version has stored without its kind, with the kind that it stands for
STORED = (
    ("idle, but kept, because HDFS has data outside of its declared folders: see", ClusterAlert.IDLE),
    ("its masters cannot be read: no answer", ClusterAlert.UNREADABLE),
    ("blocks are missing in HDFS: 3", ClusterAlert.MISSING),
    ("its masters do not answer: they will be restarted", ClusterAlert.SILENT),
    ("tasks wait and none runs: 3 waiting", ClusterAlert.STUCK),
    ("the masters do not know their members yet: refused", ClusterAlert.MEMBERS),
    ("its masters do not have its new member list: refused", ClusterAlert.MEMBERS),
    ("its masters are lost: there is no copy of their data", ClusterAlert.MASTERS),
    ("its masters' data is not copied: since 60 s and more", ClusterAlert.COPY),
    ("writes of its last seconds are lost: 3 blocks", ClusterAlert.WRITES),
    ("its second NameNode cannot take over: it broke", ClusterAlert.STANDBY),
    ("its admission policy fails: admit raised", ClusterAlert.ADMISSION),
    ("its preemption policy fails: preempt raised", ClusterAlert.PREEMPTION),
    ("node03: /x is nowhere else", ClusterAlert.NODE),
    ("node03: its masters do not answer", ClusterAlert.NODE),
    ("/saved/out cannot be written", ClusterAlert.STAGE),
    ("the port is taken: 8020", ClusterAlert.STAGE),
)


@pytest.fixture
def cluster() -> ClusterState:
    desk = Desk.running("a", count=2)
    return desk.state.clusters[ClusterId("a")]


@pytest.mark.parametrize(("text", "kind"), STORED)
def test_an_alert_is_of_the_one_kind_that_it_was_stored_as(
    cluster: ClusterState, text: str, kind: ClusterAlert
) -> None:
    stored = replace(cluster, alert=text)
    assert [each for each in ClusterAlert if alerts.about(stored, each)] == [kind]
    assert (alerts.ended(stored, kind).alert, alerts.ended(stored, kind).alert_kind) == ("", None)
    assert all(alerts.ended(stored, other) == stored for other in ClusterAlert if other is not kind)


@pytest.mark.parametrize("life", [ClusterLife.WAITING, ClusterLife.ADMITTED])
def test_what_a_queued_cluster_was_stored_with_is_that_it_waits(cluster: ClusterState, life: ClusterLife) -> None:
    assert alerts.about(replace(cluster, life=life, alert="waits for 2 more nodes"), ClusterAlert.WAITS)


@pytest.mark.parametrize("life", [ClusterLife.DEPLOYING, ClusterLife.LOADING, ClusterLife.SAVING])
def test_the_bare_error_of_a_stage_ends_with_the_stage(cluster: ClusterState, life: ClusterLife) -> None:
    stored = replace(cluster, life=life, alert="node03: no answer within 10 s")
    assert alerts.next_stage(stored).alert == ""


def test_the_bare_error_of_masters_that_cannot_be_read_ends_when_they_can(cluster: ClusterState) -> None:
    stored = replace(cluster, unreadable_us=1, alert="node03: no answer within 10 s")
    assert alerts.about(stored, ClusterAlert.UNREADABLE)


@pytest.mark.parametrize("kind", ClusterAlert)
def test_an_alert_keeps_its_kind_whatever_its_detail_says(cluster: ClusterState, kind: ClusterAlert) -> None:
    for detail in ("blocks are missing in HDFS: 3", "node03: gone", "refused"):
        state = alerts.raised(cluster, kind, detail)
        assert from_plain(ClusterState, to_plain(state)) == state
        assert [each for each in ClusterAlert if alerts.about(state, each)] == [kind]
        assert state.alert.endswith(detail)
        assert state.alert.startswith(alerts.in_words(kind))
        assert alerts.ended(state, kind) == cluster


@pytest.mark.slow
@pytest.mark.parametrize("kind", ClusterAlert)
def test_an_alert_without_a_detail_is_one_all_the_same(cluster: ClusterState, kind: ClusterAlert) -> None:
    assert alerts.raised(cluster, kind, "").alert == (alerts.in_words(kind) or "nobody said why")


def test_an_mr_cluster_without_an_alert_has_no_kind_and_stores_nothing_about_it(cluster: ClusterState) -> None:
    plain: Any = to_plain(cluster)
    assert (alerts.every(cluster), "alert_kind" in plain, "further" in plain) == ((), False, False)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), list(permutations(ClusterAlert, 2)))
def test_no_alert_takes_the_place_of_another_one(
    cluster: ClusterState, first: ClusterAlert, second: ClusterAlert
) -> None:
    both = alerts.raised(alerts.raised(cluster, first, "one"), second, "two")
    assert both == alerts.raised(alerts.raised(cluster, second, "two"), first, "one")
    assert alerts.in_order(both)
    assert alerts.text(both, first).endswith("one")
    assert alerts.text(both, second).endswith("two")
    assert from_plain(ClusterState, to_plain(both)) == both
    assert alerts.ended(both, first) == alerts.raised(cluster, second, "two")
    assert alerts.raised(both, first, "three") == alerts.raised(alerts.ended(both, first), first, "three")
    assert alerts.ended(both, first, second) == cluster


@pytest.mark.parametrize("kind", ClusterAlert)
def test_lost_writes_outlast_every_stage(cluster: ClusterState, kind: ClusterAlert) -> None:
    state = alerts.raised(alerts.raised(cluster, ClusterAlert.WRITES, "3 blocks"), kind, "3 blocks")
    for later in (alerts.next_stage(state), alerts.retires(state), alerts.next_stage(alerts.retires(state))):
        assert alerts.about(later, ClusterAlert.WRITES)
        assert alerts.in_order(later)


def test_alerts_in_another_order_or_twice_are_unsound(cluster: ClusterState) -> None:
    worst = alerts.raised(cluster, ClusterAlert.MASTERS, "gone")
    for kind in (ClusterAlert.MASTERS, ClusterAlert.IDLE):
        assert alerts.in_order(replace(worst, further=(Alert(kind, "x"),))) == (kind is ClusterAlert.IDLE)
    swapped = replace(cluster, alert="idle", alert_kind=ClusterAlert.IDLE, further=(Alert(ClusterAlert.MASTERS, "x"),))
    assert not alerts.in_order(swapped)


def unclean() -> Desk:
    """node03, a transient node, could not be wiped."""
    desk = grown(Role.TRANSIENT, 3)
    desk.drain("node03")
    desk.look("node03", Compute.LEFT)
    desk.see("node03", Condition.FAILED, "no answer")
    return desk


def lost(role: Role) -> Desk:
    """node03 stopped answering."""
    desk = grown(role, 3)
    desk.look("node03", Compute.LOST, Stored.DEAD, why="no report")
    desk.wait(60)
    return desk


def held() -> Desk:
    """The blocks of node03 are not safe."""
    desk = grown(Role.TRANSIENT_CORE, 3)
    desk.drain("node03")
    desk.look("node03", Compute.LEFT)
    desk.see("node03", Condition.HELD, "11 blocks are nowhere else")
    return desk


def held_before_its_wipe() -> Desk:
    """The proof of node03 failed at the last moment."""
    desk = grown(Role.TRANSIENT_CORE, 3)
    desk.drain("node03")
    desk.look("node03", Compute.LEFT)
    desk.look("node03", Compute.LEFT, Stored.LEFT, known=True)
    desk.see("node03", Condition.HELD, "a DataNode died")
    return desk


def held_while_lost() -> Desk:
    """node03 is lost and has the only replicas; an operator wants it to leave."""
    desk = lost(Role.TRANSIENT_CORE)
    desk.drain("node03")
    desk.look("node03", Compute.LOST, Stored.DEAD, why="11 blocks are nowhere else")
    return desk


def waits() -> Desk:
    """node02, a core node, cannot leave before another one has taken over."""
    desk = Desk.running("a", count=2)
    desk.drain("node02")
    return desk


def no_release(fact: str = "no_release") -> Desk:
    """node03 lacks a release that the controller has not either."""
    desk = Desk.running("a", count=3, period_us=10**12)
    desk.tick(a=10)
    lacks(desk, fact)
    return desk


def lacks(desk: Desk, fact: str) -> None:
    desk.see("node03", Condition.FAILED, "Hadoop 3.5.0 is being fetched", **{fact: True})


SITUATIONS = [
    (lambda: lost(Role.TRANSIENT), "node03", NodeAlert.LOST),
    (lambda: lost(Role.TRANSIENT_CORE), "node03", NodeAlert.LOST),
    (held, "node03", NodeAlert.HELD),
    (held_before_its_wipe, "node03", NodeAlert.HELD),
    (held_while_lost, "node03", NodeAlert.HELD),
    (unclean, "node03", NodeAlert.UNCLEAN),
    (waits, "node02", NodeAlert.WAITS),
]


@pytest.mark.parametrize(("play", "node", "kind"), SITUATIONS)
def test_each_alert_of_a_node_has_its_kind_in_an_old_ledger_too(
    play: Callable[[], Desk], node: str, kind: NodeAlert
) -> None:
    state = play().node(node)
    assert state.alert
    assert (state.alert_kind, alerts.kind_of(state)) == (kind, kind)
    plain: Any = to_plain(state)
    del plain["alert_kind"]
    old = from_plain(NodeState, plain)
    assert (old.alert, old.alert_kind, alerts.kind_of(old)) == (state.alert, None, kind)


def test_a_node_without_an_alert_has_no_kind_and_stores_nothing_about_it() -> None:
    desk = Desk.running("a", count=2)
    plain: Any = to_plain(desk.node("node01"))
    assert (alerts.kind_of(desk.node("node01")), "alert_kind" in plain) == (None, False)


def test_what_a_core_node_waits_for_does_not_matter_once_it_stays() -> None:
    desk = waits()
    desk.undrain("node02")
    assert (desk.node("node02").alert, desk.node("node02").alert_kind) == ("", None)


@pytest.mark.parametrize("fact", ["no_release", "site"])
def test_a_node_that_lacks_what_any_other_would_is_not_to_blame_and_goes_on_joining(fact: str) -> None:
    """A release of Hadoop, or a KDC that is away."""
    desk = no_release(fact)
    for _ in range(9):
        state = desk.node("node03")
        assert (state.life, state.failures, state.alert_kind) == (NodeLife.JOINING, 0, NodeAlert.NO_RELEASE)
        assert desk.codes() == ["no-release"]
        desk.wait_for("host:node03")
        assert [host.node for host in desk.hosts()] == ["node03"]
        lacks(desk, fact)
    desk.wait(0)
    desk.see("node03", Condition.SERVING)
    assert (desk.node("node03").life, desk.node("node03").alert) == (NodeLife.SERVING, "")


def test_a_node_whose_masters_could_not_be_asked_goes_on_joining() -> None:
    desk = Desk.running("a", count=3, period_us=10**12)
    desk.tick(a=10)
    desk.tell(MastersSeen(at_us=desk.now_us, cluster=ClusterId("a"), error="no ticket", unasked=True))
    desk.wait(5 * settings().join_us / 1e6)
    assert (desk.node("node03").life, desk.node("node03").failures) == (NodeLife.JOINING, 0)


def test_a_node_that_has_its_release_by_now_and_does_not_come_up_is_given_up_as_any_other() -> None:
    desk = no_release()
    codes = desk.wait(3 * settings().join_us / 1e6)
    assert codes.count("join-failed") == 1
    assert codes.count("quarantine") == 1
