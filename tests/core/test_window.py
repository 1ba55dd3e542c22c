"""What a policy sees of one MR-cluster. A missing reading is missing, never 0."""

from __future__ import annotations

import pytest

from fawkes.core.model import ClusterId, Sample
from fawkes.core.window import Window


def window(*tasks: int | None) -> Window:
    return Window(
        ClusterId("a"),
        tuple(Sample(at_us=i, tasks_waiting=t, tasks_done=t, slots_used=t, slots_total=8) for i, t in enumerate(tasks)),
    )


@pytest.mark.parametrize(
    ("tasks", "mean", "last", "growth"),
    [
        ((2, 4, 9), 5.0, 9, 7.0),
        ((2, None, 4), 3.0, 4, 2.0),
        ((None, None), None, None, None),
        ((), None, None, None),
        ((0, 0), 0.0, 0, 0.0),
        ((9, 2), 5.5, 2, 0.0),  # a counter that fell was started again
        ((5,), 5.0, 5, 0.0),
    ],
)
def test_readings(tasks: tuple[int | None, ...], mean: float | None, last: float | None, growth: float | None) -> None:
    found = window(*tasks)
    assert found.mean("tasks_waiting") == mean
    assert found.last("tasks_waiting") == last
    assert found.growth("tasks_done") == growth


def test_a_ratio_needs_both_readings_of_a_sample() -> None:
    assert window(4, None, 8).mean_ratio("slots_used", "slots_total") == 0.75
    assert window(None).mean_ratio("slots_used", "slots_total") is None


def test_a_ratio_over_nothing_is_no_reading() -> None:
    assert (
        Window(ClusterId("a"), (Sample(at_us=0, slots_used=0, slots_total=0),)).mean_ratio("slots_used", "slots_total")
        is None
    )
