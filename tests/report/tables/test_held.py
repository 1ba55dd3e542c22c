"""A node whose data is waited for, as people see it: rows, health, explanation; and that it passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fawkes.core.values.events import DrainAsked, ReleaseAsked, Sampled
from fawkes.core.values.model import ClusterId, NodeId, NodeLife, Reading, Role
from fawkes.core.values.sight import Compute, Stored
from fawkes.report.tables.explain import explain_cluster, explain_node
from fawkes.report.tables.rows import cluster_rows, node_rows
from tests.support.desk import Desk
from tests.support.pools import settings

A = ClusterId("a")
FILES: Mapping[str, Any] = {"at_risk": ("/user/ann/x", "/user/ann/y"), "at_risk_files": 2}


@pytest.fixture
def desk() -> Desk:
    """An MR-cluster with two core and two transient-core nodes."""
    desk = Desk(4, how=settings(growth=Role.TRANSIENT_CORE, idle_us=None))
    desk.up("a")
    desk.tick(a=10)
    desk.settle("a")
    assert desk.sizes() == {"a": 4}
    return desk


def _drained(desk: Desk, node: str = "node03") -> None:
    desk.tell(DrainAsked(at_us=desk.now_us, node=NodeId(node), reason="new fans", by="ann"))
    desk.look(node, Compute.LEFT, Stored.IN_SERVICE)
    assert desk.node(node).life is NodeLife.EVACUATING


def _held(desk: Desk, stored: Stored, node: str = "node03") -> None:
    """The masters go on to say the same until the settings' patience is over."""
    desk.look(node, Compute.LEFT, stored, **FILES)
    while f"doubt:{node}" in desk.state.pending:
        desk.wake()


def _row(desk: Desk, node: str = "node03") -> Mapping[str, Any]:
    return next(row for row in node_rows(desk.store) if row["node"] == node)


def _health(desk: Desk) -> tuple[str, str]:
    (row,) = cluster_rows(desk.store)
    return row["health"], row["why"]


def _why(desk: Desk, node: str = "node03") -> list[str]:
    return [line.text for line in explain_node(desk.store, node).lines]


def test_a_node_that_does_what_it_should_is_no_news(desk: Desk) -> None:
    desk.look("node03", Compute.RUNNING, Stored.IN_SERVICE)
    row = _row(desk)
    assert (row["seen"], row["waited_since"], row["at_risk_files"]) == ("", None, 0)
    assert (row["compute"], row["stored"]) == ("running", "in-service")
    assert [each["node"] for each in node_rows(desk.store) if each["master"]] == [desk.state.clusters[A].master]
    assert _health(desk) == ("green", "")


def test_a_held_node_shows_what_is_at_risk_and_what_to_type(desk: Desk) -> None:
    _drained(desk)
    _held(desk, Stored.LEFT)
    row = _row(desk)
    assert (row["at_risk"], row["at_risk_files"]) == (["/user/ann/x", "/user/ann/y"], 2)
    assert row["waited_since"] is not None
    assert row["seen"] == "DataNode has left, 2 files at risk"
    assert _health(desk) == ("yellow", "node03: too few replicas on other nodes: /user/ann/x, /user/ann/y")
    said = "\n".join(_why(desk))
    assert "Too few replicas on other nodes: /user/ann/x, /user/ann/y\n" in said
    assert "`fawkes retry node03`" in said
    assert "`fawkes drain node03 --discard-data --reason ...`" in said


def test_a_lost_node_with_data_makes_its_cluster_red_until_it_is_back(desk: Desk) -> None:
    desk.look("node03", Compute.LOST, Stored.DEAD)
    state, reason = _health(desk)
    assert (state, reason) == (
        "red",
        "waits for node03, which may hold data: its NodeManager is lost, its DataNode is dead",
    )
    row = _row(desk)
    assert row["why"].endswith("a waits for it, because it may hold data")
    assert row["waited_since"] is not None
    assert any("`fawkes drain node03 --reason ...`: it is released once" in text for text in _why(desk))
    assert _why(desk)[0].startswith("node03 has been lost since ")
    desk.look("node03", Compute.RUNNING, Stored.IN_SERVICE)
    assert _health(desk) == ("green", "")
    row = _row(desk)
    assert (row["state"], row["why"], row["waited_since"]) == ("serving", "node03 serves a as transient-core", None)


def test_the_alert_of_a_node_that_died_while_it_left_ends_when_it_is_back(desk: Desk) -> None:
    _drained(desk)
    _held(desk, Stored.DEAD)
    assert _health(desk)[0] == "red"
    assert "node03" in desk.state.clusters[A].alert
    desk.look("node03", Compute.ABSENT, Stored.LEAVING, **FILES)
    assert desk.node("node03").life is NodeLife.EVACUATING
    assert desk.state.clusters[A].alert == ""
    assert _row(desk)["why"] == "node03 answers again and continues to leave a"


def test_the_alert_of_a_node_that_died_while_it_left_ends_when_its_data_is_given_up(desk: Desk) -> None:
    _drained(desk)
    _held(desk, Stored.DEAD)
    drain = DrainAsked(at_us=desk.now_us, node=NodeId("node03"), reason="dead disk", discard=True, by="ann")
    desk.tell(drain)
    assert desk.node("node03").life is NodeLife.CLEANING
    assert desk.state.clusters[A].alert == ""
    assert "data-given-up" in desk.codes()


def test_missing_blocks_are_red(desk: Desk) -> None:
    _drained(desk)
    desk.look("node03", Compute.LEFT, Stored.LEAVING, missing=("/a", "/b"), missing_files=2)
    assert _health(desk) == ("red", "HDFS misses blocks of /a, /b")


def test_a_release_that_was_refused_is_explained_with_names(desk: Desk) -> None:
    folder = {
        "path": "/user/ann",
        "bytes": 5_000_000_000,
        "files": 3,
        "owner": "ann",
        "newest": [{"path": "/user/ann/x"}],
    }
    desk.survey = {"undeclared": [folder], "applications": []}
    desk.tell(ReleaseAsked(at_us=desk.now_us, cluster=A, by="bob", ask="q"))
    said = [line.text for line in explain_cluster(desk.store, "a").lines]
    (refused,) = [text for text in said if "declared" in text]
    assert "/user/ann (5.0 GB, 3 files, of ann, the newest: /user/ann/x)" in refused
    assert "`fawkes release a --discard-data`" in refused


def test_an_idle_cluster_that_is_kept_is_explained_and_its_alert_ends_with_the_idleness() -> None:
    desk = Desk(4, how=settings(idle_us=1))
    desk.survey = {"undeclared": [{"path": "/user/ann", "bytes": 5, "files": 1, "owner": "ann"}], "applications": []}
    desk.up("a")
    desk.sample(a={"jobs_running": 0, "jobs_waiting": 0})
    desk.tick()
    desk.sample(a={"jobs_running": 0, "jobs_waiting": 0})
    desk.tick()
    (row,) = cluster_rows(desk.store)
    assert row["alert"].startswith("idle, but kept: HDFS has data outside of its declared folders")
    said = [line.text for line in explain_cluster(desk.store, "a").lines]
    assert any(text.startswith("a is idle, but it is kept: a has data in HDFS") and "of ann" in text for text in said)
    desk.submit("a", 1)
    assert cluster_rows(desk.store)[0]["alert"] == ""


def test_idleness_that_ends_by_itself_ends_the_alert() -> None:
    desk = Desk(4, how=settings(idle_us=1))
    desk.survey = {"undeclared": None, "applications": []}
    desk.up("a")
    desk.sample(a={"jobs_running": 0, "jobs_waiting": 0})
    desk.tick()
    desk.sample(a={"jobs_running": 0, "jobs_waiting": 0})
    desk.tick()
    assert desk.state.clusters[A].alert.startswith("idle, but kept")
    desk.tell(Sampled(at_us=desk.now_us + 1, readings=(Reading(cluster=A, jobs_running=1, jobs_waiting=0),)))
    assert desk.state.clusters[A].alert == ""
