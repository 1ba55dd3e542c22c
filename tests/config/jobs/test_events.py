"""Profiles out of event logs that Spark wrote: what stages took, runs that tried again, and logs that are damaged."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.errors import ConfigError
from fawkes.config.jobs.events import lines_of, needed, profile_of_log
from fawkes.core.quota.profile import ApplicationProfile

DATA = Path(__file__).parent / "data"
LOGS = {path.stem: path.read_bytes() for path in sorted(DATA.glob("*.events"))}
Event = dict[str, Any]
PAGERANK = [
    ("0 partitionBy at pagerank.py:24", 12, 0, 576, []),
    ("1 reduceByKey at pagerank.py:28", 12, 1152, 756, ["0"]),
    ("2 count at pagerank.py:32", 12, 756, 0, ["1"]),
]
"""Stages of pagerank.toml on a lab: id, tasks, records read and written, numbers of parents."""


def profile_of(log: bytes) -> ApplicationProfile:
    return profile_of_log(lines_of(io.BytesIO(log)), "p", "log")


def events(name: str = "pagerank") -> list[Event]:
    return [json.loads(line) for line in LOGS[name].splitlines()]


def log_of(events: list[Event]) -> bytes:
    return b"".join(json.dumps(event, separators=(",", ":")).encode() + b"\n" for event in events)


def stage(number: int, parents: tuple[int, ...] = (), *, rdd: int = 0, begin_ms: int = 0, end_ms: int = 1000) -> Event:
    info = {"Stage ID": number, "Stage Name": f"map at /c/x.py:{rdd}", "Parent IDs": list(parents)}
    return info | {"RDD Info": [{"RDD ID": rdd}], "Submission Time": begin_ms, "Completion Time": end_ms}


def task(
    number: int, partition: int, *, read: int = 0, written: int = 5, run_ms: int = 500, why: str = "Success"
) -> Event:
    metrics = {
        "Executor Run Time": run_ms,
        "Input Metrics": {"Records Read": read},
        "Output Metrics": {"Records Written": 0},
        "Shuffle Read Metrics": {"Total Records Read": 0},
        "Shuffle Write Metrics": {"Shuffle Records Written": written},
    }
    ended = {"Event": "SparkListenerTaskEnd", "Stage ID": number, "Task End Reason": {"Reason": why}}
    return ended | {"Task Info": {"Index": 0, "Partition ID": partition}, "Task Metrics": metrics}


def submitted(info: Event) -> Event:
    return {"Event": "SparkListenerStageSubmitted", "Stage Info": info}


def completed(info: Event) -> Event:
    return {"Event": "SparkListenerStageCompleted", "Stage Info": info}


def application(what: str, at_ms: int) -> Event:
    return {"Event": f"SparkListenerApplication{what}", "Timestamp": at_ms}


def ran(*parts: Event, end_ms: int = 9000) -> ApplicationProfile:
    return profile_of(log_of([*parts, application("End", end_ms)]))


def test_a_log_of_yarn_gives_stages_with_their_parents_records_and_rates() -> None:
    """Recorded on a lab (pagerank.toml) and on one machine (group-by.py), without what a profile does not need."""
    shown = [
        (
            each.id,
            each.tasks,
            each.records_read,
            each.records_written,
            [parent.partition(" ")[0] for parent in each.parents],
        )
        for each in profile_of(LOGS["pagerank"]).stages
    ]
    assert shown == PAGERANK
    (made, grouped) = profile_of(LOGS["group-by"]).stages
    assert grouped.parents == (made.id,)
    assert grouped.records_read == made.records_written


def test_a_rate_is_records_over_the_time_of_all_tasks() -> None:
    first, second = stage(0), stage(1, (0,), rdd=1, begin_ms=1000, end_ms=4500)
    profile = ran(
        submitted(first),
        task(0, 0),
        task(0, 1),
        completed(first),
        submitted(second),
        task(1, 0, written=0),
        completed(second),
    )
    assert [each.duration_s for each in profile.stages] == [1.0, 3.5]
    # Of the first its own records, of the second what the first wrote.
    assert [each.rate for each in profile.stages] == [10.0 / 1.0, 10.0 / 0.5]


@pytest.mark.parametrize(
    ("began_ms", "times_ms", "end_ms", "idle_s", "end_s"),
    [
        (400, [(1000, 3000), (3200, 5000)], 6500, [0.6, 0.2], 1.5),
        # Of parallel stages the time counts until the last of them ends.
        (400, [(1000, 3000), (1500, 5000), (5250, 6000)], 6000, [0.6, 0.0, 0.25], 0.0),
        (400, [(1000, 5000), (2000, 3000), (4000, 4500), (7000, 8000)], 8001, [0.6, 0.0, 0.0, 2.0], 0.001),
        # The clock of a machine may be set back.
        (4000, [(1000, 3000)], 2000, [0.0], 0.0),
        (None, [(1000, 3000), (3200, 5000)], 6500, [None, 0.2], 1.5),
    ],
)
def test_the_time_that_no_stage_explains_is_in_the_profile(
    began_ms: int | None, times_ms: list[tuple[int, int]], end_ms: int, idle_s: list[float | None], end_s: float
) -> None:
    parts = [] if began_ms is None else [application("Start", began_ms)]
    for number, (begin, end) in enumerate(times_ms):
        info = stage(number, rdd=number, begin_ms=begin, end_ms=end)
        parts += [submitted(info), task(number, 0), completed(info)]
    profile = ran(*parts, end_ms=end_ms)
    assert ([each.idle_s for each in profile.stages], profile.end_s) == (idle_s, end_s)


@pytest.mark.parametrize(
    ("ran_ms", "idle_s", "end_s"),
    [
        # Before its first event at 5 s the driver started; after its last one at 10 s it stopped.
        ((3000, 12_500), 3.0, 3.0),
        ((5000, 10_000), 1.0, 0.5),
        # A clock that is 100 s ahead, or behind: both together are still 4.5 s.
        ((103_000, 112_500), 1.0, 5.0),
        ((-97_000, -87_500), 5.5, 0.5),
        # YARN cannot have seen it for a shorter time.
        ((6000, 9000), 1.0, 0.5),
        ((9000, 6000), 1.0, 0.5),
    ],
)
def test_what_yarn_saw_before_and_after_the_events_counts_whatever_its_clock_says(
    ran_ms: tuple[int, int], idle_s: float, end_s: float
) -> None:
    info = stage(0, begin_ms=6000, end_ms=9500)
    log = log_of([application("Start", 5000), submitted(info), task(0, 0), completed(info), application("End", 10_000)])
    ran_us = (ran_ms[0] * 1000, ran_ms[1] * 1000)
    profile = profile_of_log(lines_of(io.BytesIO(log)), "p", "log", ran_us)
    assert (profile.stages[0].idle_s, profile.end_s) == (idle_s, end_s)


def test_without_its_first_event_yarn_s_times_do_not_count() -> None:
    profile = profile_of_log(lines_of(io.BytesIO(LOGS["pagerank"])), "p", "log", (0, 10**18))
    assert profile == profile_of(LOGS["pagerank"])


def test_the_end_of_an_application_of_yarn_is_in_its_profile() -> None:
    """Both logs were kept without their first event, so that the time before the first stage is not known."""
    for name, end_s in (("pagerank", 0.072), ("group-by", 0.202)):
        profile = profile_of(LOGS[name])
        assert (profile.stages[0].idle_s, profile.end_s) == (None, end_s)


def test_a_stage_that_ran_again_counts_once_with_each_task_once() -> None:
    first, again = stage(0), stage(0, begin_ms=2000, end_ms=3000)
    failed = completed({**first, "Failure Reason": "a fetch failed"})
    lost = task(0, 1, why="FetchFailed")
    (only,) = ran(
        submitted(first),
        task(0, 0, run_ms=100),
        lost,
        failed,
        submitted(again),
        task(0, 0, run_ms=300),
        task(0, 1),
        completed(again),
    ).stages
    assert (only.tasks, only.records_written, only.duration_s) == (2, 10, 3.0)
    assert only.rate == 10 / 0.8


def test_a_skipped_parent_is_the_earlier_stage_that_made_the_same_data() -> None:
    """Spark numbers a stage anew in each job, and skips it where its output is there."""
    first, skipped, second = stage(0, rdd=7), stage(1, rdd=7), stage(2, (1, 9), rdd=8, begin_ms=2000, end_ms=3000)
    start = {"Event": "SparkListenerJobStart", "Stage Infos": [skipped, second, stage(9, rdd=99)]}
    made, child = ran(
        submitted(first), task(0, 0), completed(first), start, submitted(second), task(2, 0), completed(second)
    ).stages
    assert child.parents == (made.id,) == ("0 map at x.py:7",)


def test_other_events_are_not_needed_and_what_is_no_event_is() -> None:
    assert not needed(b'{"Event":"SparkListenerEnvironmentUpdate","Spark Properties":{}}\n')
    assert needed(b'{"Event":"SparkListenerTaskEnd"}\n')
    assert needed(b'{"Event":"SparkListenerApplicationStart"}\n')
    assert needed(b"<html>\n")


def without(key: str, kind: str) -> Callable[[], bytes]:
    """The log without a key of each event of a kind."""

    def made() -> bytes:
        return log_of([{k: v for k, v in e.items() if k != key or kind not in e["Event"]} for e in events()])

    return made


def metric(value: object) -> bytes:
    some = events()
    for event in some:
        if "Task Metrics" in event:
            event["Task Metrics"]["Executor Run Time"] = value
    return log_of(some)


@pytest.mark.parametrize(
    ("log", "says"),
    [
        (lambda: b"", "log: the log ends before its application does"),
        (lambda: b"<!DOCTYPE html>\n<html></html>\n", "log: line 1: is a page (HTML or XML)"),
        (lambda: b"\x28\xb5\x2f\xfd\x00\x01", "log: is compressed (zstd). Unpack it with `zstd -d` first"),
        (lambda: b"\x00" * 100, "log: line 1: is cut off, or not an event"),
        (lambda: b"[1, 2]\n", "log: line 1: is not an event"),
        (lambda: b"[" * 100_000, "log: line 1: is cut off, or not an event"),
        (lambda: b'{"Event": 5}\n', "log: line 1: is not an event"),
        (lambda: LOGS["pagerank"][: LOGS["pagerank"].rindex(b"\n", 0, -1) - 40], "is cut off"),
        (lambda: log_of(events()[:-1]), "log: the log ends before its application does"),
        (lambda: log_of([events()[-1]]), "log: no stage of this application has ended"),
        (without("Task Metrics", "TaskEnd"), "the event has no 'Task Metrics'"),
        (without("Stage ID", "TaskEnd"), "the event has no 'Stage ID'"),
        (without("Stage Info", "StageSubmitted"), "the event has no 'Stage Info'"),
        (without("Timestamp", "ApplicationEnd"), "the event has no 'Timestamp'"),
        (lambda: metric(float("nan")), "is not an event of Spark"),
        (lambda: metric(-1), "is not an event of Spark"),
        (lambda: metric("long"), "is not an event of Spark"),
        (lambda: metric(10**400), "is not an event of Spark"),
        (lambda: LOGS["pagerank"].replace(b'"Parent IDs":[0]', b'"Parent IDs":[Infinity]'), "is not an event of Spark"),
    ],
)
def test_a_damaged_log_is_refused_with_file_line_and_the_next_command(log: Callable[[], bytes], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        profile_of(log())
    assert says in str(caught.value)
    assert caught.value.hint


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def replaced(value: Any, choose: Callable[[int], int], new: object) -> Any:
    """The value with one part of it, anywhere, replaced."""
    if isinstance(value, Mapping) and value and choose(3):
        key = list(value)[choose(len(value))]
        return {**value, key: replaced(value[key], choose, new)}
    if isinstance(value, list) and value and choose(3):
        at = choose(len(value))
        return [*value[:at], replaced(value[at], choose, new), *value[at + 1 :]]
    return new


@given(st.data())
def test_whatever_an_event_has_a_log_gives_a_profile_or_one_error(data: st.DataObject) -> None:
    some = events()
    at = data.draw(st.integers(0, len(some) - 1))
    some[at] = replaced(some[at], lambda most: data.draw(st.integers(0, most - 1)), data.draw(JSON))
    try:
        count = len(profile_of(log_of(some)).stages)
    except ConfigError as error:
        count = len(error.hint)
    assert count
