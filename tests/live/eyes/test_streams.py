"""Streams by the metrics of their drivers; what is not said is not known."""

from __future__ import annotations

from typing import Any

import pytest

from fawkes.core.values.sight import StreamSeen
from fawkes.live.eyes.streams import stream_of
from tests.live.masters_server import APPS, Server, recorded, says
from tests.live.readings import ONE, app, live, read

NAME = "application_1_1.driver.plugin.fawkes.streams.Stream.stream"


def gauges(text: object, name: str = NAME) -> dict[str, Any]:
    return {"gauges": {"application_1_1.driver.jvm.heap": {"value": 1}, name: {"value": text}}}


def test_a_driver_tells_of_its_executors_and_of_its_latest_batch() -> None:
    seen = StreamSeen(
        wanted=3, executors=2, batch=7, rows=120, arrive=1e-05, took_us=6_474_000, since_us=12_000,
        present=1.5, tasks=84,
    )  # fmt: skip
    assert stream_of(gauges("3 2 84 7 120 1.0E-5 6474 12 1.5")) == seen


def test_before_the_first_batch_only_executors_are_known() -> None:
    assert stream_of(gauges("1 0 0 0 0 0 0 0 0")) == StreamSeen(wanted=1, executors=0)


@pytest.mark.parametrize(
    "answer",
    [
        None, [], {}, {"gauges": []}, {"gauges": {NAME: 7}}, gauges(None), gauges("3 2 7"),
        gauges("3 -2 7 1 1 1 1 1 1"), gauges("1 1 1 1 1 NaN 1 1 1"), gauges("1 1 1 1 1 1E999 1 1 1"),
        gauges("1 1 1 1 1 1.2.3 1 1 1"), gauges("1 1 1 1 1 1 1 1 E"), gauges("3 2 1 7 1 1 1 1 1", "x"),
        {"gauges": {NAME: {"value": "1 1 1 1 1 1 1 1 1"}, f"b.{NAME}": {"value": "2 1 1 1 1 1 1 1 1"}}},
    ],
)  # fmt: skip
def test_anything_else_is_not_known(answer: Any) -> None:
    assert stream_of(answer) is None


def test_the_room_of_an_mr_cluster_is_counted_in_executors_of_their_size(server: Server) -> None:
    own = {"applicationType": "SPARK", "applicationTags": "fawkes-x,stream,executor-300", "amHostHttpAddress": "n:1"}
    server.answers[APPS] = live(app(**own))
    server.answers[f"/proxy/{ONE}/metrics/json/"] = says(gauges("3 2 84 7 120 10 6474 12 1.5"))
    reading = read(server)
    (row,) = reading.work or ()
    assert row.stream is not None
    nodes = recorded("nodes.json")["nodes"]["node"]
    memory = [node["availMemoryMB"] + node["usedMemoryMB"] for node in nodes if node["state"] == "RUNNING"]
    assert row.stream.room == sum(mb // 300 for mb in memory) > 0
    assert row.stream.given == 2, "the third container is the ApplicationMaster's"
    # A slot has 256 MB.
    assert (reading.tasks_waiting, reading.tasks_running, reading.tasks_ready, reading.tasks_done) == (2, 3, 0, 0)


@pytest.mark.parametrize(
    ("containers", "given", "waiting"), [(1, 0, 2), (2, 1, 2), (3, 2, 1), (4, 3, 0), (5, 4, 0), (-1, None, 2)]
)
def test_an_executor_that_only_starts_does_not_wait_for_room(
    containers: int, given: int | None, waiting: int, server: Server
) -> None:
    own = {"applicationType": "SPARK", "applicationTags": "fawkes-x,stream", "amHostHttpAddress": "n:1"}
    server.answers[APPS] = live(app(**own, runningContainers=containers))
    server.answers[f"/proxy/{ONE}/metrics/json/"] = says(gauges("3 1 84 7 120 10 6474 12 1.5"))
    (row,) = read(server).work or ()
    assert row.stream is not None
    assert (row.stream.given, row.waiting, row.running) == (given, waiting, max(1, given or 0))
