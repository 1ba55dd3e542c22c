"""The congestion monitor: which action is due when (K24, K25), and what holds for all courses of readings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fawkes.core.streams.monitor import watch
from fawkes.core.streams.values import (
    Action,
    MonitorState,
    Operator,
    ScaleDown,
    ScaleIn,
    ScaleOut,
    ScaleUp,
    Shuffle,
    StreamAction,
    StreamReading,
    Thresholds,
)

LIMITS = Thresholds()
HEALTHY: dict[str, Any] = {"cpu": 0.7, "memory": 0.3, "network": 0.1, "queue": 0, "latency_s": 1.0, "workers": 3}
BUSY = HEALTHY | {"cpu": 0.95}
IDLE = HEALTHY | {"cpu": 0.2}
GROWS = [100 * each for each in range(1, 14)]
FALLS = [100 * each for each in range(14, 1, -1)]


def operator(name: str, queue: float | None, parallelism: int = 2) -> Operator:
    return Operator(name=name, queue=queue, parallelism=parallelism)


def course(base: dict[str, Any], seconds: int = 13, **values: Any) -> list[StreamReading]:
    """A reading each second; a list is a value for each second."""
    return [
        StreamReading(
            at_s=at, **base | {name: each[at] if isinstance(each, list) else each for name, each in values.items()}
        )
        for at in range(seconds)
    ]


def steps(readings: Iterable[StreamReading], limits: Thresholds = LIMITS) -> list[tuple[float, StreamAction]]:
    state, taken = MonitorState(), []
    for reading in readings:
        state, step = watch(state, reading, limits)
        if step is not None:
            taken.append((reading.at_s, step))
    return taken


def actions(readings: Iterable[StreamReading], limits: Thresholds = LIMITS) -> list[Action]:
    return [step.action for _, step in steps(readings, limits)]


def queues(name: str, values: Sequence[float], parallelism: int = 2) -> list[tuple[Operator, ...]]:
    return [(operator(name, value, parallelism), operator("sink", 5)) for value in values]


@pytest.mark.parametrize(
    ("readings", "due"),
    [
        (course(BUSY, queue=GROWS), [ScaleUp()]),
        (course(HEALTHY | {"memory": 0.91}, queue=GROWS), [ScaleUp()]),
        (course(HEALTHY | {"network": 0.91}, queue=GROWS), [ScaleUp()]),
        (course(BUSY, queue=FALLS), []),
        (course(BUSY, queue=0, operators=queues("parse", [0.0] * 13)), [ScaleDown("parse")]),
        (course(BUSY, queue=0, operators=queues("parse", [0.0] * 13, 1)), []),
        (course(BUSY, queue=None, operators=queues("parse", [0.0] * 13)), []),
        (course(BUSY, queue=0, operators=queues("parse", [1.0] * 13)), []),
        (course(HEALTHY, queue=GROWS), [Shuffle()]),
        (course(HEALTHY, latency_s=GROWS), [Shuffle()]),
        (course(HEALTHY, operators=queues("parse", GROWS), workers=1), [ScaleOut("parse")]),
        (course(HEALTHY, operators=queues("parse", GROWS), workers=None), [ScaleOut("parse")]),
        (course(HEALTHY, queue=GROWS, workers=1), []),
        (course(HEALTHY, queue=FALLS), []),
        (course(IDLE, queue=FALLS), [ScaleIn()]),
        (course(IDLE), [ScaleIn()]),
        (course(IDLE, workers=1), []),
        (course(IDLE, workers=None), []),
        (course(IDLE, queue=[100.0, *[50.0] * 12]), []),
        (course(IDLE, queue=GROWS), [Shuffle()]),
    ],
)  # fmt: skip
def test_the_table_of_actions(readings: list[StreamReading], due: list[Action]) -> None:
    assert actions(readings) == due


@pytest.mark.parametrize(("seconds", "due"), [(10, []), (11, []), (12, []), (13, [ScaleUp()])])
def test_congestion_has_to_last_for_longer_than_ten_seconds(seconds: int, due: list[Action]) -> None:
    """A rise shows one reading after the first, at 1 s; at 12 s it has lasted for 11 s."""
    assert actions(course(BUSY, seconds, queue=GROWS)) == due


def test_an_interruption_begins_the_count_anew() -> None:
    assert actions(course(BUSY, cpu=[0.95] * 6 + [0.9] + [0.95] * 6, queue=GROWS)) == []


@pytest.mark.parametrize("name", ["cpu", "memory", "network", "queue"])
def test_nothing_shrinks_on_a_value_that_is_not_known(name: str) -> None:
    values: dict[str, Any] = {name: None}
    assert actions(course(IDLE, 60, **values)) == []


@pytest.mark.parametrize("name", ["cpu", "memory", "network", "queue"])
def test_one_value_that_was_not_read_interrupts_what_would_shrink(name: str) -> None:
    values: dict[str, Any] = {name: [IDLE[name]] * 10 + [None] + [IDLE[name]] * 10}
    assert actions(course(IDLE, 21, **values)) == []


@pytest.mark.parametrize(("gap_s", "due"), [(30, [ScaleIn()]), (31, [])])
def test_a_long_gap_between_readings_interrupts_what_would_shrink(gap_s: int, due: list[Action]) -> None:
    assert actions(replace(reading, at_s=reading.at_s * gap_s) for reading in course(IDLE, 2)) == due


def test_a_long_gap_between_readings_interrupts_no_congestion() -> None:
    readings = course(BUSY, 3, queue=GROWS)
    assert actions([*readings[:2], replace(readings[2], at_s=500)]) == [ScaleUp()]


def test_an_operator_that_was_not_read_is_not_idle() -> None:
    seen = queues("parse", [0.0] * 13)
    seen[6] = ()
    assert actions(course(BUSY, operators=seen)) == []


@pytest.mark.parametrize("name", ["cpu", "queue"])
def test_a_value_that_was_not_read_interrupts_no_congestion_and_proves_none(name: str) -> None:
    busy: dict[str, Any] = {"cpu": [0.95] * 13, "queue": list(GROWS)}
    busy[name][4:12] = [None] * 8
    readings = course(HEALTHY, **busy)
    assert actions(readings[:12]) == []
    assert actions(readings) == [ScaleUp()]


def test_an_operator_that_was_not_read_stays_congested() -> None:
    seen = queues("parse", GROWS)
    seen[6] = ()
    assert actions(course(HEALTHY, operators=seen, workers=1)) == [ScaleOut("parse")]


def test_no_growth_without_knowing_that_nothing_is_overloaded() -> None:
    assert actions(course(HEALTHY, 40, memory=None, queue=list(range(40)))) == []
    assert actions(course(HEALTHY, memory=None, queue=GROWS), replace(LIMITS, memory=None)) == [Shuffle()]


def test_scale_out_follows_a_shuffle_that_did_not_help() -> None:
    grows = [100.0 * each for each in range(80)]
    taken = steps(course(HEALTHY, 80, queue=grows, operators=queues("parse", grows)))
    assert [(at, step.action) for at, step in taken] == [
        (12, Shuffle()), (42, ScaleOut("parse")), (72, ScaleOut("parse")),
    ]  # fmt: skip


def test_a_second_congestion_has_a_shuffle_of_its_own() -> None:
    course_of = [*range(0, 1300, 100), *range(1200, -100, -100), *[0] * 30, *range(0, 1300, 100)]
    assert actions(course(HEALTHY, len(course_of), queue=course_of)) == [Shuffle(), Shuffle()]


def test_a_short_relief_is_not_the_end_of_a_congestion() -> None:
    course_of = [*range(0, 2000, 100), 1000, *range(1100, 4000, 100)]
    values = [float(each) for each in course_of]
    readings = course(HEALTHY, len(course_of), queue=values, operators=queues("parse", values))
    assert actions(readings) == [Shuffle(), ScaleOut("parse")]


def test_the_operator_with_the_largest_growth_scales_out() -> None:
    seen = [(operator("a", 10 * at), operator("b", 500 + at), operator("c", 30 * at)) for at in range(13)]
    assert actions(course(HEALTHY, operators=seen, workers=1)) == [ScaleOut("c")]


def test_a_reason_has_the_numbers() -> None:
    ((_, step),) = steps(course(BUSY, queue=GROWS))
    assert step.reason == (
        "cpu has been over 90% for 12 s (now 95%) and the topology's queue grew from 100 to 1300 records in 11 s: "
        "more workers"
    )


@pytest.mark.parametrize(
    ("limits", "names"),
    [
        ({"idle": 0.9}, ("idle (0.9)", "cpu (0.9)")),
        ({"memory": 0.4}, ("idle (0.5)", "memory (0.4)")),
        ({"lasting_s": 40.0}, ("lasting_s (40.0)", "monitoring_s (30.0)")),
        ({"cpu": None, "memory": None, "network": None}, ("cpu", "memory", "network")),
        ({"cpu": float("nan")}, ("cpu", "nan")),
        ({"idle": 0.0}, ("idle",)),
        ({"monitoring_s": float("inf")}, ("monitoring_s",)),
        ({"least_workers": 0}, ("least_workers",)),
    ],
)
def test_limits_that_contradict_each_other_are_refused_with_their_names(
    limits: dict[str, Any], names: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        Thresholds(**limits)
    assert all(name in str(refused.value) for name in names)


@pytest.mark.parametrize(
    ("values", "name"),
    [({"cpu": -0.1}, "cpu"), ({"queue": float("nan")}, "queue"), ({"latency_s": float("inf")}, "latency_s"),
     ({"operators": (operator("a", -1),)}, "queue of a"),
     ({"operators": (operator("a", 1), operator("a", 2))}, "name")],
)  # fmt: skip
def test_readings_that_cannot_be_are_refused(values: dict[str, Any], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        StreamReading(at_s=0, **values)


SHARE = some.none() | some.sampled_from([0.1, 0.45, 0.7, 0.95])
QUEUE = some.none() | some.integers(0, 5)
READINGS = some.lists(
    some.builds(
        StreamReading, at_s=some.integers(0, 300), cpu=SHARE, memory=SHARE, network=SHARE, queue=QUEUE,
        latency_s=QUEUE, workers=some.none() | some.integers(1, 4),
        operators=some.lists(
            some.builds(Operator, name=some.sampled_from("ab"), queue=QUEUE, parallelism=some.integers(1, 4)),
            max_size=2, unique_by=lambda each: each.name,
        ).map(tuple),
    ),
    max_size=40,
)  # fmt: skip
QUICK = Thresholds(lasting_s=0, monitoring_s=30)


@given(READINGS, some.sampled_from([LIMITS, QUICK]))
def test_no_two_actions_within_a_monitoring_period(readings: list[StreamReading], limits: Thresholds) -> None:
    times = [at for at, _ in steps(sorted(readings, key=lambda each: each.at_s), limits)]
    assert all(after - before >= limits.monitoring_s for before, after in pairwise(times))


@given(READINGS)
def test_a_reading_that_is_not_newer_changes_nothing(readings: list[StreamReading]) -> None:
    state = MonitorState()
    for reading in readings:
        after, step = watch(state, reading, QUICK)
        if state.at_s is not None and reading.at_s <= state.at_s:
            assert (after, step) == (state, None)
        state = after


@given(READINGS)
def test_workers_go_only_if_all_resources_are_read_and_under_used(readings: list[StreamReading]) -> None:
    state = MonitorState()
    for reading in readings:
        state, step = watch(state, reading, QUICK)
        if step is not None and isinstance(step.action, ScaleIn):
            shares = (reading.cpu, reading.memory, reading.network)
            assert all(share is not None and share < QUICK.idle for share in shares)
            assert reading.queue is not None
            assert (reading.workers or 0) > QUICK.least_workers


@given(READINGS)
def test_workers_come_only_if_a_resource_is_overloaded(readings: list[StreamReading]) -> None:
    state = MonitorState()
    for reading in readings:
        state, step = watch(state, reading, QUICK)
        if step is not None and isinstance(step.action, ScaleUp | ScaleDown):
            assert any(share is not None and share > 0.9 for share in (reading.cpu, reading.memory, reading.network))
