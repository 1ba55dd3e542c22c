"""Tasks of jobs of tasks, by the list of applications alone: their number, the part that is done, their containers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.live.masters_server import APPS, Server, says
from tests.live.readings import ONE, app, live, read


def tasks(containers: int, progress: float, *tags: str) -> dict[str, Any]:
    own = ",".join(("fawkes-x", *tags))
    return app(applicationType="FAWKES", runningContainers=containers, progress=progress, applicationTags=own)


@pytest.mark.parametrize(
    ("row", "counts"),
    [
        (tasks(1, 0.0, "tasks-12"), (12, 0, 0)),
        (tasks(5, 0.0, "tasks-12"), (8, 4, 0)),
        (tasks(5, 100 * 5 / 12, "tasks-12"), (3, 4, 5)),
        # The ApplicationMaster tells its progress a moment after YARN knows of the end of a container, or before.
        (tasks(13, 100 * 1 / 12, "tasks-12"), (0, 11, 1)),
        (tasks(1, 100.0, "tasks-12"), (0, 0, 12)),
        (tasks(9, 50.0, "tasks-1000000"), (499_992, 8, 500_000)),
    ],
)
def test_what_neither_runs_nor_has_ended_waits(server: Server, row: dict[str, Any], counts: tuple[int, ...]) -> None:
    server.answers[APPS] = live(row)
    reading = read(server)
    assert (reading.tasks_waiting, reading.tasks_running, reading.tasks_done) == counts
    assert (reading.tasks_ready, reading.silent) == (counts[0], ())
    assert [work.opaque for work in reading.work or ()] == [True]


@pytest.mark.parametrize(("memory_mb", "each"), [(256, 1), (512, 2), (640, 2.5), (128, 0.5)])
def test_tasks_are_demand_by_their_memory_and_work_by_their_number(server: Server, memory_mb: int, each: float) -> None:
    server.answers[APPS] = live(tasks(5, 0.0, "tasks-12", f"container-{memory_mb}"))
    reading = read(server)
    # A slot has 256 MB.
    assert (reading.tasks_waiting, reading.tasks_running, reading.tasks_ready) == (8 * each, 4 * each, 8 * each)
    assert [(work.waiting, work.running, work.size) for work in reading.work or ()] == [(8, 4, each)]


@pytest.mark.parametrize("tags", [(), ("tasks-",), ("tasks-x",), ("tasks-0",)])
def test_without_their_number_containers_count(server: Server, tags: tuple[str, ...]) -> None:
    row = tasks(4, 50.0, *tags)
    server.answers[APPS] = live(row)
    server.answers[f"{APPS}/{ONE}"] = says({"app": row})
    reading = read(server)
    assert (reading.tasks_waiting, reading.tasks_running) == (0, 3)
