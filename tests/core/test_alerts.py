"""Alerts of MR-clusters are known by how they begin, also when an earlier version of Fawkes stored them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fawkes.core import alerts
from fawkes.core.alerts import Kind
from fawkes.core.model import ClusterId, ClusterState
from tests.support.desk import Desk

#: every beginning that a version has ever stored in a ledger, with the kind that it stands for
STORED = (
    ("idle, but kept", Kind.IDLE),
    ("its masters cannot be read", Kind.UNREADABLE),
    ("blocks are missing in HDFS", Kind.MISSING),
    ("its masters do not answer", Kind.SILENT),
    ("the masters do not know their members yet", Kind.MEMBERS),
    ("its masters do not have its new member list", Kind.MEMBERS),
)


@pytest.fixture
def cluster() -> ClusterState:
    desk = Desk(2)
    desk.up("a")
    return desk.state.clusters[ClusterId("a")]


@pytest.mark.parametrize(("beginning", "kind"), STORED)
def test_an_alert_is_of_the_one_kind_that_it_was_stored_as(cluster: ClusterState, beginning: str, kind: Kind) -> None:
    stored = replace(cluster, alert=f"{beginning}: why")
    assert [each for each in Kind if alerts.about(stored, each)] == [kind]
    assert alerts.ended(stored, kind).alert == ""
    assert all(alerts.ended(stored, other) == stored for other in Kind if other is not kind)


def test_an_alert_about_a_node_is_of_no_kind(cluster: ClusterState) -> None:
    stored = replace(cluster, alert=alerts.of_node(next(iter(Desk(2).state.nodes))) + "its masters do not answer")
    assert [each for each in Kind if alerts.about(stored, each)] == []
