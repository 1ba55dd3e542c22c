"""The show of streams: the longest time of batches in which no task ran, by Spark's event log."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bench.streams import Gap, batches_of, changes_of, gap_of
from fawkes.core.values.sight import StreamSeen


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
