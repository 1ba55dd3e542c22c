"""A node that drains is free early when only Spark runs on its MR-cluster and it has no container; never by a guess."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fawkes.config.clusters.details import ClusterDetails
from fawkes.core.values.sight import Compute
from tests.live.eyes.test_watch import Bench
from tests.live.masters_server import APPS, INFO, NODE_LIST, Server, clear, recorded, says, text
from tests.live.readings import app

SPARK, TASKS = app(applicationType="SPARK"), app(applicationType="FAWKES")
MAPREDUCE = app("application_1795220018027_0002")
OWN = {"yarn-site": {"yarn.nodemanager.aux-services": "mapreduce_shuffle,spark_shuffle"}}


@pytest.fixture
def server(one_server: Server) -> Iterator[Server]:
    one_server.answers[INFO] = says(recorded("info.json"))
    yield one_server
    clear(one_server)


def sees(server: Server, *apps: dict[str, Any], state: str = "DECOMMISSIONING", containers: object = 0) -> Compute:
    bench = Bench(server)
    row = {"nodeHostName": "node02", "state": state, "numContainers": containers}
    server.answers[NODE_LIST] = says({"nodes": {"node": [row]}})
    server.answers.setdefault(APPS, says({"apps": {"app": list(apps)}}))
    ((compute, _),) = bench.states()
    return compute


@pytest.mark.parametrize("apps", [(), (SPARK,), (TASKS,), (SPARK, TASKS, MAPREDUCE | {"state": "FINISHED"})])
def test_nobody_fetches_from_a_node_that_executors_have_left(server: Server, apps: tuple[dict[str, Any], ...]) -> None:
    assert sees(server, *apps) is Compute.IDLE


@pytest.mark.parametrize("apps", [(MAPREDUCE,), (SPARK, MAPREDUCE), (SPARK, app(applicationType="TEZ"))])
def test_other_applications_may_fetch_from_it(server: Server, apps: tuple[dict[str, Any], ...]) -> None:
    assert sees(server, *apps) is Compute.DRAINING


@pytest.mark.parametrize("containers", [1, None, "many"])
def test_a_node_with_containers_or_with_an_unknown_number_drains(server: Server, containers: object) -> None:
    assert sees(server, SPARK, containers=containers) is Compute.DRAINING


def test_a_node_that_serves_is_never_idle(server: Server) -> None:
    assert sees(server, SPARK, state="RUNNING") is Compute.RUNNING


def test_applications_that_are_not_known_may_be_any(server: Server) -> None:
    server.answers[APPS] = text("gone", 500)
    assert sees(server) is Compute.DRAINING


def test_a_resourcemanager_that_recovers_does_not_know_all(server: Server) -> None:
    server.answers[INFO] = says({"clusterInfo": {"state": "STARTED", "haState": "INITIALIZING", "startedOn": 1}})
    assert sees(server) is Compute.DRAINING


def test_a_site_s_own_services_may_serve_what_is_there(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClusterDetails, "overrides", lambda details, role: OWN)
    assert sees(server, SPARK) is Compute.DRAINING
