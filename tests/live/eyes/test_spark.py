"""Tasks of Spark applications, by their drivers; without an answer by their containers, and never none."""

from __future__ import annotations

from typing import Any

import pytest

from fawkes.live.eyes.measure import Tasks, spark_tasks
from tests.live.masters_server import APPS, Answer, Server, hangs_up, redirects, says, text
from tests.live.readings import ONE, app, live, read

STAGES = f"/proxy/{ONE}/api/v1/applications/{ONE}/stages"


def stage(status: str, tasks: int, active: int = 0, done: int = 0, number: int = 9) -> dict[str, Any]:
    return {
        "stageId": number, "status": status, "numTasks": tasks, "numActiveTasks": active, "numCompletedIndices": done
    }  # fmt: skip


@pytest.mark.parametrize(
    ("stages", "tasks"),
    [
        ([], Tasks(waiting=1, ready=1, progress=0.0)),
        ([stage("ACTIVE", 20, 4, 6)], Tasks(10, 4, 6, 10, 30.0)),
        ([stage("PENDING", 2), stage("ACTIVE", 20, 4, 6)], Tasks(12, 4, 6, 10, 600 / 22)),
        # Its output is there from an earlier job: it is skipped, but the driver says so only when this job has ended.
        (
            [stage("PENDING", 2), stage("ACTIVE", 20, 4, 6), stage("PENDING", 50, number=8)],
            Tasks(12, 4, 6, 10, 600 / 22),
        ),
        # Between two of its jobs a program has nothing that waits.
        ([stage("COMPLETE", 20, 0, 20)], Tasks(0, 0, 20, 0, 100.0)),
        # A stage that runs again has more attempts than tasks.
        ([stage("ACTIVE", 4, 3, 3)], Tasks(0, 3, 3, 0, 50.0)),
    ],
)
def test_tasks_are_those_of_the_stages(stages: list[dict[str, Any]], tasks: Tasks) -> None:
    assert spark_tasks(stages) == tasks


@pytest.mark.parametrize(
    "answer",
    [None, {}, "x", [1], [{}], [stage("ACTIVE", 4) | {"numTasks": "many"}], [stage("ACTIVE", 4) | {"numTasks": None}]],
)
def test_an_answer_without_figures_is_not_known(answer: object) -> None:
    assert spark_tasks(answer) is None


@pytest.mark.parametrize(("pending", "ready"), [(2, 10), (0, 0), (None, 10)])
def test_a_driver_is_asked_for_its_tasks(server: Server, pending: int | None, ready: int) -> None:
    """Tasks lack room only where their driver asks YARN for containers; None: YARN does not say."""
    spark = app(applicationType="SPARK")
    server.answers[APPS] = live(spark)
    server.answers[STAGES] = says([stage("PENDING", 2), stage("ACTIVE", 20, 4, 6)])
    requests = [{"resourceName": "*", "numContainers": pending}]
    server.answers[f"{APPS}/{ONE}"] = (
        text("not now", 500) if pending is None else says({"app": spark | {"resourceRequests": requests}})
    )
    reading = read(server)
    assert (reading.jobs_running, reading.tasks_waiting, reading.tasks_running) == (1, 12, 4)
    assert reading.tasks_ready == ready
    assert (reading.tasks_done, reading.strays, reading.silent) == (6, (), ())


@pytest.mark.parametrize("answer", [redirects("/ended"), text("gone", 500), hangs_up, says({})])
def test_a_silent_driver_has_at_least_one_task_that_waits(server: Server, answer: Answer) -> None:
    """Its executors are counted by YARN; what else waits only the driver knows."""
    spark = app(applicationType="SPARK", runningContainers=4)
    server.answers[APPS] = live(spark)
    server.answers[STAGES] = answer
    server.answers[f"{APPS}/{ONE}"] = says({"app": spark})
    reading = read(server)
    assert (reading.tasks_waiting, reading.tasks_running) == (1, 3)
