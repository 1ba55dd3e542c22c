"""The view of a policy on one MR-cluster. A missing reading is missing, never 0."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.core.clusters.picture import picture, restored
from fawkes.core.state.state import State, evolve
from fawkes.core.values.decision import AddSample
from fawkes.core.values.model import ClusterId, Sample
from fawkes.core.values.window import Window
from tests.support.desk import Desk
from tests.support.pools import policy

A = ClusterId("a")


def sample(at_us: int, tasks: int | None) -> Sample:
    return Sample(at_us=at_us, tasks_waiting=tasks, tasks_done=tasks, slots_used=tasks, slots_total=8)


def window(*tasks: int | None) -> Window:
    return Window(A, tuple(sample(i, t) for i, t in enumerate(tasks)))


@pytest.mark.parametrize(
    ("tasks", "mean", "last", "growth"),
    [
        ((2, 4, 9), 5.0, 9, 7.0),
        ((2, None, 4), 3.0, 4, 2.0),
        ((None, None), None, None, None),
        ((), None, None, None),
        ((0, 0), 0.0, 0, 0.0),
        ((9, 2), 5.5, 2, None),  # a counter that fell was started again: how much was done nobody knows
        ((5,), 5.0, 5, None),  # there is nothing to compare it with
        ((9, 2, 6), 17 / 3, 6, 4.0),
        ((3, 9, 2, 6), 5.0, 6, 10.0),
    ],
)
def test_readings(tasks: tuple[int | None, ...], mean: float | None, last: float | None, growth: float | None) -> None:
    readings = window(*tasks)
    assert readings.mean("tasks_waiting") == mean
    assert readings.last("tasks_waiting") == last
    assert readings.growth("tasks_done") == growth


def test_a_ratio_needs_both_readings_of_a_sample() -> None:
    assert window(4, None, 8).mean_ratio("slots_used", "slots_total") == 0.75
    assert window(None).mean_ratio("slots_used", "slots_total") is None


def test_a_ratio_over_nothing_is_no_reading() -> None:
    assert (
        Window(ClusterId("a"), (Sample(at_us=0, slots_used=0, slots_total=0),)).mean_ratio("slots_used", "slots_total")
        is None
    )


@pytest.mark.parametrize(
    ("before", "tasks", "growth"),
    [
        (1, (2, 4, 9), 8.0),  # the interval from the sample before the window belongs to it
        (3, (5,), 2.0),  # with one sample a period it is the only one
        (3, (3,), 0.0),
        (None, (2, 4), 2.0),  # that sample did not have the counter
        (None, (5,), None),
        (90, (2, 8), 6.0),  # started again in between
        (90, (2,), None),
        (1, (None, 4), 3.0),
        (1, (None,), None),
        (1, (), None),
    ],
)
def test_growth_begins_with_the_sample_just_before_the_window(
    before: int | None, tasks: tuple[int | None, ...], growth: float | None
) -> None:
    readings = replace(window(*tasks), before=sample(-1, before))
    assert readings.growth("tasks_done") == growth
    # Nothing else looks at what was before.
    assert readings.mean("tasks_waiting") == window(*tasks).mean("tasks_waiting")
    assert readings.last("tasks_waiting") == window(*tasks).last("tasks_waiting")


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(0, 12))
def test_what_is_done_counts_in_one_window_and_in_one_alone(steps: list[int], cut: int) -> None:
    """However a course is cut into two windows that follow each other, together they grow as the course does."""
    course = [sample(i, sum(steps[: i + 1])) for i in range(len(steps))]
    first, rest = tuple(course[:cut]), tuple(course[cut:])
    grown = [
        Window(A, first).growth("tasks_done"),
        Window(A, rest, first[-1] if first else None).growth("tasks_done"),
    ]
    assert sum(filter(None, grown)) == sum(steps[1:])


def kept(period_us: int, every_us: int, samples: int) -> State:
    """A state with samples at regular times, the first at ``every_us``; each has done as much as its time says."""
    state = State()
    for n in range(1, samples + 1):
        add = AddSample(A, sample(n * every_us, n * every_us), n * every_us - period_us, 0, {}, {})
        evolve(state, n * every_us, [add])
    return state


@pytest.mark.parametrize("every_us", [7, 10, 30, 60])
def test_the_state_keeps_the_sample_that_the_next_window_begins_with(every_us: int) -> None:
    state = kept(60, every_us, 50)
    assert len(state.samples()) <= 60 // every_us + 2
    last_us = 50 * every_us
    for at_us in range(last_us, last_us + 60, 5):
        readings = state.window(A, at_us - 60, at_us - 120)
        assert readings.before is not None
        expected = max(s for s in range(0, last_us + 1, every_us) if s <= at_us - 60)
        assert readings.before.at_us == expected
        assert [s.at_us for s in readings.samples] == [
            s for s in range(0, last_us + 1, every_us) if at_us - 60 < s <= at_us
        ]
        assert readings.growth("tasks_done") == last_us - expected or not readings.samples


def test_a_sample_from_long_ago_is_no_base() -> None:
    """After an hour in which nothing was read, what was done in that hour was not done in the last minute."""
    state = kept(60, 60, 2)
    evolve(state, 3600, [AddSample(A, sample(3600, 3600), 3540, 0, {}, {})])
    assert state.window(A, 3540, 3480).before is None
    assert state.window(A, 3540, 0).before == sample(120, 120)


def test_a_picture_keeps_the_sample_before_the_window() -> None:
    state = kept(60, 60, 5)
    assert restored(picture(state)).window(A, 240, 180).before == state.window(A, 240, 180).before == sample(240, 240)


@pytest.mark.parametrize("name", ["jt", "tt"])
def test_throughput_with_one_sample_a_period(name: str) -> None:
    kind = {"jt": "jobs", "tt": "tasks"}[name]
    desk = Desk(4, policy=policy(name))
    desk.up("a")
    for done, y in ((5, None), (7, 2**-0.5), (7, 1.0)):
        desk.now_s = desk.state.pending["tick"].deadline_us / SECOND_US - 5
        desk.sample(a={f"{kind}_done": done, f"{kind}_waiting": 4, f"{kind}_running": 1})
        clusters: Any = desk.tick()["clusters"]
        assert clusters["a"]["y"] == (None if y is None else pytest.approx(y))
        assert clusters["a"]["unreadable"] is (y is None)
