"""Work that has waited for the same thing for long says so; whatever else is waited for, or was, is no alert."""

from __future__ import annotations

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.state import alerts
from fawkes.core.values.events import Condition, WaitSeen
from fawkes.core.values.model import ClusterAlert, ClusterId, ClusterLife, NodeAlert, NodeLife
from fawkes.report.tables.rows import cluster_row
from tests.support.desk import Desk
from tests.support.pools import settings

A = ClusterId("a")
WHY = "no NodeManager runs on node02"


def desk_of(late_s: int = 30) -> Desk:
    return Desk(6, how=settings(period_us=10**12, late_us=late_s * SECOND_US, join_attempts=2))


def waits(desk: Desk, effect: str, lasting_s: int, *, older: int = 0, why: str = WHY) -> None:
    since_us, version = desk.now_us, desk.state.pending[effect].version - older
    desk.now_s += lasting_s
    desk.tell(WaitSeen(at_us=desk.now_us, effect=effect, version=version, waits_for=why, since_us=since_us))


def health(desk: Desk) -> tuple[str, str]:
    row = cluster_row(desk.state.clusters[A], list(desk.state.nodes.values()), None, None, 1)
    return row["health"], row["why"]


def test_a_stage_that_waits_for_long_says_for_what_until_it_ends() -> None:
    desk = desk_of()
    desk.request("a")
    waits(desk, "cluster:a", 29)
    assert health(desk) == ("green", "")
    waits(desk, "cluster:a", 30)
    assert health(desk) == ("yellow", f"deploying takes longer than usual: {WHY}")
    assert desk.codes() == ["late"]
    waits(desk, "cluster:a", 60)
    assert desk.codes() == [], "the same again is no news"
    waits(desk, "cluster:a", 60, why="HDFS is in safe mode")
    assert "safe mode" in health(desk)[1]
    desk.done("cluster:a")
    assert desk.state.clusters[A].life is ClusterLife.LOADING
    assert health(desk) == ("green", "")


@pytest.mark.parametrize(("late_s", "older"), [(0, 0), (30, 1)])
def test_a_wait_of_an_earlier_stage_and_one_without_the_setting_are_no_alert(late_s: int, older: int) -> None:
    desk = desk_of(late_s)
    desk.request("a")
    waits(desk, "cluster:a", 60, older=older)
    assert health(desk) == ("green", "")


def test_a_node_that_does_not_come_up_or_is_not_wiped_says_why() -> None:
    desk = desk_of()
    desk.up("a")
    desk.tick(a=1000)
    node = next(name for name, state in desk.state.nodes.items() if state.life is NodeLife.JOINING)
    waits(desk, f"host:{node}", 40)
    assert alerts.kind_of(desk.node(node)) is NodeAlert.LATE
    assert health(desk) == ("yellow", f"{node}: it does not come up yet: {WHY}")
    desk.see(node, Condition.SERVING)
    assert health(desk) == ("green", "")


def test_a_node_that_failed_once_says_so_until_it_serves() -> None:
    desk = desk_of()
    desk.up("a")
    desk.tick(a=1000)
    node = next(name for name, state in desk.state.nodes.items() if state.life is NodeLife.JOINING)
    desk.see(node, Condition.FAILED, "disk full")
    assert health(desk) == ("yellow", f"{node}: it did not come up, and is tried again: disk full")
    desk.see(node, Condition.SERVING)
    assert health(desk) == ("green", "")


def test_an_alert_of_a_host_that_did_not_answer_ends_with_its_first_answer() -> None:
    desk = desk_of()
    desk.up("a")
    desk.tick(a=1000)
    node = next(name for name, state in desk.state.nodes.items() if state.life is NodeLife.JOINING)
    desk.see(node, Condition.FAILED, "port 22 does not answer", silent=True)
    assert (health(desk)[0], alerts.kind_of(desk.node(node))) == ("yellow", NodeAlert.SILENT)
    desk.see(node, Condition.ANSWERS)
    assert (health(desk), desk.node(node).life) == (("green", ""), NodeLife.JOINING)
    desk.see(node, Condition.ANSWERS)
    assert desk.codes() == [], "the same again is no news"


def test_a_node_that_could_not_be_wiped_is_wiped_once_its_host_answers() -> None:
    desk = desk_of()
    desk.up("a")
    desk.tick(a=1000)
    node = next(name for name, state in desk.state.nodes.items() if state.life is NodeLife.JOINING)
    while desk.node(node).life is not NodeLife.LOST:
        desk.see(node, Condition.FAILED, "port 22 does not answer", silent=True)
    assert desk.node(node).alert == "port 22 does not answer"
    key = f"host:{node}"
    assert desk.state.pending[key].effect is not None
    decision = desk.see(node, Condition.ANSWERS)
    assert (desk.node(node).alert, decision.effects[0].key) == ("", key)


def test_a_wait_of_what_is_not_pending_is_history() -> None:
    desk = desk_of()
    desk.up("a")
    desk.tell(WaitSeen(at_us=desk.now_us, effect="host:node01", version=1, waits_for=WHY, since_us=-(10**9)))
    desk.tell(WaitSeen(at_us=desk.now_us, effect="cluster:b", version=1, waits_for=WHY, since_us=-(10**9)))
    assert (health(desk), desk.codes()) == (("green", ""), [])
    assert not alerts.about(desk.state.clusters[A], ClusterAlert.STAGE)
