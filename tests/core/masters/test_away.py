"""A disk that is not mounted: its node is waited for as one that does not answer, and nothing of it counts as gone."""

from __future__ import annotations

from fawkes.core.values.effects import Host, LookAtMasters
from fawkes.core.values.events import Condition
from fawkes.core.values.model import ClusterLife, NodeAlert, NodeLife, Role
from fawkes.store.record import text_of
from tests.support.desk import Desk, grown
from tests.support.masters import OLD, PATIENCE_S, SILENT_S, at, begun, cluster, how, look, silence, up

AWAY = "taking the node failed: the disk with the work folder is not mounted: /data/fawkes was on /data"
PLACE = "/data/fawkes on /data"


def away(desk: Desk, node: str) -> None:
    desk.see(node, Condition.FAILED, AWAY, away=True)


def test_the_ledger_keeps_where_the_work_folder_of_a_node_lies() -> None:
    desk = Desk(3)
    desk.request("a", 2)
    assert "place" not in text_of(desk.node(OLD))
    desk.answer("cluster:a", places={OLD: PLACE})
    assert [desk.node(node).place for node in ("node01", "node02")] == [PLACE, ""]
    assert "places" not in desk.said("deployed")[0]
    joined = grown(Role.TRANSIENT, count=3)
    joined.see("node03", Condition.LOST)
    joined.see("node03", Condition.CLEAN, place=PLACE)
    assert (joined.node("node03").life, joined.node("node03").place) == (NodeLife.JOINING, PLACE)
    joined.see("node03", Condition.SERVING, place="/data/fawkes on /")
    assert joined.node("node03").place == "/data/fawkes on /"


def test_masters_whose_disk_is_away_are_waited_for_as_silent_ones() -> None:
    desk = up()
    silence(desk)
    at(desk, SILENT_S)
    away(desk, OLD)
    assert (desk.node(OLD).life, desk.node(OLD).alert_kind) == (NodeLife.LOST, NodeAlert.LOST)
    assert desk.node(OLD).alert == AWAY
    at(desk, PATIENCE_S - 1)
    assert (desk.effects(LookAtMasters), begun(desk)) == ([], False)
    at(desk, 1)
    look(desk, old="stopped")
    assert begun(desk)


def test_an_mr_cluster_that_loads_is_not_given_up_for_a_disk_that_is_away() -> None:
    desk = Desk(6, how=how())
    desk.request("a", 3)
    desk.done("cluster:a")
    silence(desk)
    at(desk, SILENT_S)
    away(desk, OLD)
    at(desk, PATIENCE_S)
    look(desk, old="stopped", copied_us=None)
    assert cluster(desk).life is ClusterLife.LOADING


def test_a_node_that_stays_lost_is_told_again_when_its_tries_have_doubled_or_its_error_is_new() -> None:
    desk = grown(Role.TRANSIENT, count=3)
    desk.see("node03", Condition.LOST)
    desk.settle("a")
    told, asked = [], 0
    for _ in range(100):
        asked += desk.wait_for("host:node03").count("asked-again")
        assert [each.role for each in desk.latest(Host)] == [None]
        away(desk, "node03")
        told += [(said["tries"], said["error"]) for said in desk.said("not-clean")]
    assert [tries for tries, _ in told] == [*range(2, 16), 16, 32, 64]
    assert asked == len(told)
    desk.wait_for("host:node03")
    desk.see("node03", Condition.FAILED, "its disk is full")
    assert [said["error"] for said in desk.said("not-clean")] == ["its disk is full"]
    assert desk.node("node03").alert == "its disk is full"


def test_a_node_whose_disk_is_away_is_not_clean() -> None:
    desk = grown(Role.TRANSIENT, count=3)
    desk.see("node03", Condition.LOST)
    away(desk, "node03")
    assert desk.said("not-clean")[0]["error"] == AWAY
    assert (desk.node("node03").life, desk.node("node03").alert) == (NodeLife.LOST, AWAY)
    desk.wait_for("host:node03")
    assert desk.latest(Host)[0].role is None
