"""Histories that the controller reads for `fawkes record`, from a server with canned documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fawkes.core.values.model import NodeId
from fawkes.live.eyes import history
from fawkes.live.eyes.history import configured, histories, succeeded
from fawkes.live.wire.masters import MasterAddresses, YarnApplication
from fawkes.live.wire.rest import Deadline, UnreadableError
from tests.support.stub import Stub, stub_master

JOB = "/ws/v1/history/mapreduce/jobs/job_1_0007"
APPLICATION = YarnApplication(id="application_1_0007", name="sleep", state="FINISHED", started_us=5, finished_us=9)


def attempt(task: str) -> dict[str, Any]:
    return {
        "taskAttempt": {
            "id": f"attempt_{task}",
            "state": "SUCCEEDED",
            "startTime": 10,
            "finishTime": 20,
            "nodeHttpAddress": "10.98.1.2:8042",
            "diagnostics": "x" * 1000,
        }
    }


@pytest.fixture
def server() -> Iterator[Stub]:
    with stub_master() as stub:
        tasks = [
            {"id": f"t{n}", "type": "MAP", "state": "SUCCEEDED", "successfulAttempt": f"a{n}", "startTime": 10,
             "finishTime": 20, "progress": 100.0}
            for n in range(3)
        ]  # fmt: skip
        stub.answers = {
            JOB: {"job": {"id": "job_1_0007", "state": "SUCCEEDED", "mapsTotal": 3}},
            f"{JOB}/counters": {"jobCounters": {"id": "job_1_0007", "counterGroup": [{"counter": []}]}},
            f"{JOB}/tasks": {"tasks": {"task": tasks}},
            **{f"{JOB}/tasks/t{n}/attempts/a{n}": attempt(f"t{n}") for n in range(3)},
        }
        yield stub


def masters_at(stub: Stub) -> MasterAddresses:
    return MasterAddresses(
        resource_manager="", namenode="", user="", history=stub.url, nodes={"10.98.1.2": NodeId("node02")}
    )


def asked(stub: Stub) -> dict[str, Any]:
    documents = list(histories(masters_at(stub), [APPLICATION], Deadline.after(10)))
    assert len(documents) == 1
    return dict(documents[0])


def test_job_counters_and_tasks_with_their_nodes(server: Stub) -> None:
    document = asked(server)
    assert document["application"]["id"] == "application_1_0007"
    assert (document["application"]["started_us"], document["application"]["finished_us"]) == (5, 9)
    assert document["job"]["mapsTotal"] == 3
    assert document["why"] == ""
    assert document["counters"] == [{"counter": []}]
    assert [task["attempt"]["node"] for task in document["tasks"]] == ["node02"] * 3
    assert "diagnostics" not in document["tasks"][0]["attempt"]
    assert "progress" not in document["tasks"][0]
    assert document["tasks_left_out"] == 0


def test_an_attempt_that_is_not_there_leaves_its_task(server: Stub) -> None:
    del server.answers[f"{JOB}/tasks/t1/attempts/a1"]
    server.answers[f"{JOB}/tasks/t2/attempts/a2"] = {"oh": "no"}
    assert ["attempt" in task for task in asked(server)["tasks"]] == [True, False, False]


def test_a_job_that_the_server_does_not_know_says_why(server: Stub) -> None:
    del server.answers[JOB]
    document = asked(server)
    assert (document["job"], document["tasks"]) == (None, [])
    assert "404" in document["why"]


@pytest.mark.parametrize("document", [{}, {"job": None}, []])
def test_an_answer_of_another_form_says_why(server: Stub, document: object) -> None:
    server.answers[JOB] = document
    answer = asked(server)
    assert answer["job"] is None
    assert "no 'job'" in answer["why"]


def test_without_a_server_there_is_a_reason() -> None:
    masters = MasterAddresses(resource_manager="", namenode="", user="")
    documents = list(histories(masters, [APPLICATION], Deadline.after(10)))
    assert [document["job"] for document in documents] == [None]
    assert "no JobHistory server" in str(documents[0]["why"])


def test_tasks_beyond_the_limit_are_counted(server: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_TASKS", 2)
    monkeypatch.setattr(history, "_ATTEMPTS", 1)
    document = asked(server)
    assert document["tasks_left_out"] == 1
    assert ["attempt" in task for task in document["tasks"]] == [True, False]


def test_nothing_is_asked_once_the_time_is_over(server: Stub) -> None:
    masters = MasterAddresses(resource_manager="", namenode="", user="", history=server.url)
    documents = list(histories(masters, [APPLICATION], Deadline.after(-1)))
    assert documents[0]["job"] is None
    assert "no time left" in str(documents[0]["why"])


def test_a_task_without_a_name_is_told_without_its_attempt(server: Stub) -> None:
    server.answers[f"{JOB}/tasks"] = {"tasks": {"task": [{"type": "MAP", "successfulAttempt": "a0"}]}}
    assert asked(server)["tasks"] == [{"type": "MAP", "successfulAttempt": "a0"}]


@pytest.mark.parametrize(
    ("document", "success"), [({"job": {"state": "SUCCEEDED"}}, True), ({"job": {"state": "KILLED"}}, False)]
)
def test_an_application_succeeded_if_its_history_says_so(server: Stub, document: object, success: bool) -> None:
    server.answers[JOB] = document
    assert succeeded(masters_at(server), APPLICATION.id, Deadline.after(10)) is success


def test_one_without_a_history_did_not_succeed_and_has_no_configuration(server: Stub) -> None:
    server.answers = {}
    masters = masters_at(server)
    assert succeeded(masters, APPLICATION.id, Deadline.after(10)) is False
    assert configured(masters, APPLICATION.id, "a.key", Deadline.after(10)) == ""


@pytest.mark.parametrize("document", [None, {}, {"job": None}, []])
def test_an_answer_that_says_nothing_is_not_known(server: Stub, document: object) -> None:
    """The job of an application that is taken for one that failed begins again."""
    server.answers[JOB] = server.answers[f"{JOB}/conf"] = lambda: document
    with pytest.raises(UnreadableError):
        succeeded(masters_at(server), APPLICATION.id, Deadline.after(10))
    if document is None:
        with pytest.raises(UnreadableError):
            configured(masters_at(server), APPLICATION.id, "a.key", Deadline.after(10))
