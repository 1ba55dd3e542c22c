"""The show of streams: the longest time of batches in which no task ran, by Spark's event log."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from bench import streams
from bench.streams import Gap, batches_of, changes_of, gap_of
from fawkes.base.units import SECOND_US
from fawkes.core.streams.values import Thresholds
from fawkes.core.values.events import Progress
from fawkes.core.values.model import JobId, StreamSpec
from fawkes.core.values.sight import StreamSeen, Work
from fawkes.core.values.tags import tag_of
from fawkes.report.pictures import style
from tests.support.desk import Desk
from tests.support.pools import settings


def log() -> Iterator[str]:
    """Two batches of a stream, each with a stage, and a Spark job that is none of it."""
    jobs = [(0, {"streaming.sql.batchId": "0"}, 10.0), (1, {"streaming.sql.batchId": "1"}, 20.0), (2, {}, 40.0)]
    for stage, own, at_s in jobs:
        yield event("JobStart", **{"Stage IDs": [stage], "Submission Time": at_s * 1000, "Properties": own})
    tasks = [(0, 10.5, 12.0), (0, 10.6, 13.0), (0, 13.2, 14.0), (1, 23.0, 24.0), (2, 50.0, 51.0)]
    for stage, launched, finished in tasks:
        times = {"Launch Time": launched * 1000, "Finish Time": finished * 1000}
        yield event("TaskEnd", **{"Stage ID": stage, "Task Info": times})
    for stage, at_s in ((0, 14.3), (1, 24.1), (2, 51.0)):
        yield event("StageCompleted", **{"Stage Info": {"Stage ID": stage, "Completion Time": at_s * 1000}})


def event(kind: str, **facts: object) -> str:
    return json.dumps({"Event": f"SparkListener{kind}", **facts})


def test_a_gap_is_time_in_a_batch_without_a_task() -> None:
    batches = list(batches_of(log()))
    assert [span for span, _ in batches] == [(10.0, 14.3), (20.0, 24.1)]
    assert gap_of(batches, []) == Gap(0.0, 3.0, 0)
    near = gap_of(batches, [24.0])
    assert (near.changing_s, round(near.steady_s, 3), near.changes) == (3.0, 0.5, 1)


def test_changes_are_readings_with_other_executors() -> None:
    course = [(at * 10**6, StreamSeen(wanted=1, executors=count)) for at, count in enumerate((1, 1, 3, 3, 2))]
    assert changes_of(course) == [2.0, 4.0]


def test_a_ledger_with_a_stream_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "STREAM", "streams-1")
    monkeypatch.setattr(streams, "BATCH", ("streams-2",))
    desk = Desk(4, how=settings(period_us=10**6 * SECOND_US))
    for name in (streams.MINE, streams.OTHER):
        desk.up(name)
    spec = StreamSpec(least=1, most=5, batch_us=10 * SECOND_US, guarantee=0.8, thresholds=Thresholds())
    desk.submit(streams.MINE, 1, stream=spec)
    desk.job("streams-1", Progress.RUNNING)
    for number, executors in enumerate((1, 1, 2)):
        desk.now_s += 20
        seen = StreamSeen(
            wanted=2, executors=executors, batch=number, rows=160, arrive=8.0, took_us=(9 + number) * SECOND_US
        )
        row = Work(tag=tag_of(JobId("streams-1"), 1), application="app-1", master=True, stream=seen)
        desk.sample(streams={"work": (row,), "jobs_running": 1})
    desk.job("streams-1", Progress.SUCCEEDED)
    desk.submit(streams.MINE, 2)
    desk.job("streams-2", Progress.SUCCEEDED)
    assert streams.table(desk.store).splitlines()[2:] == [
        "| 20 | 8 | 1 | 2 | 2 | 2 | 10.0 | 20.0 |", "| 40 | 8 | 2 | 2 | 2 | 2 | 11.0 | 21.0 |"
    ]  # fmt: skip
    lines = streams.summary(desk.store, Gap(1.5, 0.25, 1)).splitlines()
    assert lines[0] == "2 batches, 1 of them late; latency 20.5 s on average, 21.0 s at most"
    assert "1.50 s around 1 changes of executors, 0.25 s elsewhere" in lines[1]
    assert lines[2].startswith("streams-2 succeeded")
    assert style.rendered(streams.picture(desk.store)).startswith(b"\x89PNG")
