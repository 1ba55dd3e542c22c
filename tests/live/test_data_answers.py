"""What the controller answers about the history of a job and the data at stake, asked by a command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fawkes.config.details import ClusterDetails, Output
from fawkes.core.events import ReleaseAsked
from fawkes.core.model import ClusterId, JobId
from fawkes.core.state import State
from fawkes.core.tags import tag_of
from fawkes.errors import FawkesError, UserError
from fawkes.live.data_answers import DataAnswers
from fawkes.live.masters import MasterAddresses
from tests.support.desk import Desk
from tests.support.stub import Stub, stub_master

APPS = "/ws/v1/cluster/apps"
JOB = "/ws/v1/history/mapreduce/jobs/job_1_0007"
ASKED = {"cluster": "c-1", "job": "j-1", "attempt": "2"}


class Cluster:
    """The one MR-cluster with masters, and where they answer."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, name: str) -> Cluster | None:
        return self if name == "c-1" else None

    def masters(self, cluster: object) -> MasterAddresses:
        return MasterAddresses(resource_manager=self.url, namenode="", user="", history=self.url)


@pytest.fixture
def server() -> Iterator[Stub]:
    with stub_master() as stub:
        app = {
            "id": "application_1_0007",
            "applicationTags": tag_of(JobId("j-1"), 2),
            "startedTime": 5,
            "finishedTime": 9,
        }
        stub.answers = {
            APPS: {"apps": {"app": [app]}},
            JOB: {"job": {"state": "SUCCEEDED"}},
            f"{JOB}/counters": {"jobCounters": {}},
            f"{JOB}/tasks": {"tasks": {}},
        }
        yield stub


def ask(stub: Stub, **asked: str) -> list[Any]:
    cluster: Any = Cluster(stub.url)
    nothing: Any = None
    answers = DataAnswers(State(), cluster, cluster, nothing, nothing, nothing, Path())
    found: Any = answers.queries()["history"]({**ASKED, **asked})
    return list(found)


def test_the_applications_of_an_attempt_are_found_by_their_tag(server: Stub) -> None:
    found = ask(server)
    assert [one["application"]["id"] for one in found] == ["application_1_0007"]
    assert found[0]["application"]["started_us"] == 5000
    assert found[0]["job"] == {"state": "SUCCEEDED"}


def test_what_the_resource_manager_has_forgotten_is_asked_for_by_its_id(server: Stub) -> None:
    server.answers[APPS] = {"apps": {}}
    assert ask(server) == []
    assert ask(server, application="application_1_0007")[0]["job"] == {"state": "SUCCEEDED"}


def test_a_mr_cluster_that_is_gone_has_no_history(server: Stub) -> None:
    with pytest.raises(FawkesError, match="c-9 is not running"):
        ask(server, cluster="c-9")


@pytest.mark.parametrize("attempt", ["", "-1", "x"])
def test_an_attempt_has_a_number(server: Stub, attempt: str) -> None:
    with pytest.raises(UserError, match="attempt"):
        ask(server, attempt=attempt)


class Silent:
    """Every MR-cluster that there ever was, with an output folder; no NameNode answers."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def all(self) -> list[Any]:
        details = ClusterDetails(outputs=(Output(path="/out", save_to="/saved"),))
        return [SimpleNamespace(id=ClusterId(name), details=details) for name in self.names]

    def at_stake(self, cluster: object) -> list[Any]:
        raise FawkesError("nobody answers")


def at_stake(desk: Desk, **asked: str) -> list[str]:
    silent: Any = Silent("a", "b", "gone")
    nothing: Any = None
    answers = DataAnswers(desk.state, silent, nothing, nothing, nothing, silent, Path())
    rows: Any = answers.queries()["at-stake"](asked)
    assert [(row["path"], row["bytes"], row["files"], row["owner"]) for row in rows] == [
        (path, None, None, None) for row in rows[::2] for path in ("/out", "/")
    ]
    return [row["cluster"] for row in rows[::2]]


def test_nothing_is_at_stake_before_the_first_job_could_run() -> None:
    """What is unknown counts as at stake, but only of those that may have it."""
    desk = Desk(4)
    desk.request("a")
    desk.up("b")
    assert at_stake(desk) == ["b"]
    desk.done("cluster:a")
    assert at_stake(desk) == ["b"]
    desk.done("cluster:a")
    assert at_stake(desk) == ["a", "b"]
    desk.tell(ReleaseAsked(at_us=desk.now_us, cluster=ClusterId("a")))
    assert at_stake(desk, cluster="a") == ["a"], "it is being saved"
    desk.done("cluster:a")
    assert at_stake(desk) == ["b"]
