"""The REST of a Spark driver: what is asked for, and what is no answer."""

from __future__ import annotations

from typing import Any

import pytest

from fawkes.core.quota.sight import ExecutorSeen, StageSeen
from fawkes.core.values.model import NodeId
from fawkes.live.wire.rest import Deadline, UnreadableError
from fawkes.live.wire.spark_driver import DriverReader
from tests.live.masters_server import Answer, Server, drips, hangs_up, redirects, says, text

APP = "application_1_0001"
ROOT = f"/proxy/{APP}/api/v1/applications/{APP}"
STAGES, EXECUTORS = f"{ROOT}/stages", f"{ROOT}/executors"
CONTAINER = "container_1_0001_01_000002"


def stage(number: int, status: str = "ACTIVE", done: int = 0, **facts: object) -> dict[str, Any]:
    row = {"stageId": number, "attemptId": 0, "status": status, "numTasks": 8, "numCompletedIndices": done}
    return {**row, "name": f"map at words.py:{number}", "outputRecords": 0, "shuffleWriteRecords": 0, **facts}


def executor(name: str = "1", host: str = "h2:4040", **facts: object) -> dict[str, Any]:
    attributes = {"CONTAINER_ID": CONTAINER}
    return {"id": name, "hostPort": host, "isActive": True, "totalCores": 2, "attributes": attributes, **facts}


def answers(server: Server, stages: object, executors: object) -> None:
    server.answers[STAGES], server.answers[EXECUTORS] = says(stages), says(executors)


def test_stages_and_executors_of_a_driver(server: Server) -> None:
    rows = [
        stage(3, done=5, executorRunTime=900),
        stage(2, "COMPLETE", 8, shuffleWriteRecords=70, outputRecords=2, executorRunTime=4500),
        stage(4, "PENDING"),
    ]
    answers(
        server,
        rows,
        [executor("driver", "h1:1"), executor(), executor("2", "stranger:1"), executor("3", isActive=False)],
    )
    said = DriverReader(APP).look(server.masters(), Deadline.after(5))
    assert said.stages == (
        StageSeen(id="2 map at words.py:2", tasks=8, done=8, written=72.0, run_s=4.5),
        StageSeen(id="3 map at words.py:3", tasks=8, done=5, active=True),
    )
    assert said.executors == (ExecutorSeen(container=CONTAINER, node=NodeId("node02"), slots=2),)


def test_the_container_is_found_in_the_address_of_its_log_as_well(server: Server) -> None:
    logs = {"stdout": f"http://h2:8042/node/containerlogs/{CONTAINER}/root/stdout?start=-4096"}
    answers(
        server, [stage(0)], [executor(attributes={}, executorLogs=logs), executor("2", attributes={}, executorLogs={})]
    )
    said = DriverReader(APP).look(server.masters(), Deadline.after(5))
    assert [each.container for each in said.executors] == [CONTAINER]


def test_long_lists_are_asked_for_only_when_something_has_changed(server: Server) -> None:
    reader = DriverReader(APP)
    answers(server, [stage(0)], [executor()])
    for _ in range(4):
        reader.look(server.masters(), Deadline.after(5))
    answers(server, [stage(1)], [executor()])
    reader.look(server.masters(), Deadline.after(5))
    assert [query.get("status", "all") for query in server.questions(STAGES)] == [
        *("active", "all", "active", "active", "active"),
        *("active", "all"),
    ]
    assert len(server.questions(EXECUTORS)) == 2


@pytest.mark.parametrize(
    "answer",
    [
        says({}),
        says([1]),
        says([stage(0) | {"numTasks": None}]),
        says([stage(0) | {"stageId": "x"}]),
        text("<html>proxy</html>"),
        redirects("/cluster/app"),
        hangs_up,
    ],
)
def test_no_usable_answer_is_not_known(server: Server, answer: Answer) -> None:
    answers(server, [stage(0)], [executor()])
    server.answers[STAGES] = answer
    with pytest.raises(UnreadableError):
        DriverReader(APP).look(server.masters(), Deadline.after(5))


def test_a_driver_that_drips_its_answer_is_given_up_in_time(server: Server) -> None:
    answers(server, [stage(0)], [executor()])
    server.answers[STAGES] = drips([stage(0)])
    with pytest.raises(UnreadableError, match="in time"):
        DriverReader(APP).look(server.masters(), Deadline.after(0.3))
