"""Equation 4, and what happens to answers that are none."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.fairness.weights import MINIMUM, Measured, Minimum, measure_all, weights
from fawkes.core.values.model import ClusterId, Plain, Sample
from fawkes.core.values.window import Window

A, B, C = ClusterId("a"), ClusterId("b"), ClusterId("c")
SAMPLE = (Sample(at_us=1),)


def windows(*names: ClusterId) -> dict[ClusterId, Window]:
    return {name: Window(name, SAMPLE) for name in names}


def test_weights_are_demands_over_their_sum() -> None:
    assert weights({A: 30.0, B: 10.0, C: 0.0}) == {A: 0.75, B: 0.25, C: 0.0}


@pytest.mark.parametrize("values", [{}, {A: 0.0}, {A: 0.0, B: 0.0}])
def test_no_demand_at_all_leaves_weights_undefined(values: dict[ClusterId, float]) -> None:
    assert weights(values) == {}


@pytest.mark.slow
@given(st.dictionaries(st.text("abc", min_size=1).map(ClusterId), st.floats(0, 1.7e308), max_size=20))
def test_weights_sum_to_one_or_are_undefined(values: dict[ClusterId, float]) -> None:
    shares = weights(values)
    if any(values.values()):
        assert math.fsum(shares.values()) == pytest.approx(1.0)
        assert all(0 <= weight <= 1 for weight in shares.values())
    else:
        assert shares == {}


def test_answers_are_sorted_by_what_they_mean() -> None:
    answers: dict[ClusterId, float | Minimum | None] = {A: 3, B: MINIMUM, C: None}
    measured = measure_all(lambda window, memory: (answers[window.cluster], None), windows(A, B, C), {})
    assert measured == Measured({A: 3.0}, frozenset({B}), frozenset({C}), {})


def test_an_empty_window_is_not_shown_to_the_policy() -> None:
    def measure(window: Window, memory: Plain) -> tuple[float, Plain]:
        assert window.samples
        return 1.0, None

    measured = measure_all(measure, {A: Window(A, ()), B: Window(B, SAMPLE)}, {})
    assert measured.unreadable == {A}
    assert measured.values == {B: 1.0}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (math.nan, "nan is not a demand"),
        (math.inf, "inf is not a demand"),
        (-1, "-1 is not a demand"),
        (10**400, "too large"),
        ("7", "'7' is not a number"),
        (True, "True is not a number"),
        ([1], "is not a number"),
    ],
)
def test_one_bad_answer_makes_all_unusable(answer: Any, why: str) -> None:
    measured = measure_all(lambda window, memory: (answer if window.cluster == B else 1.0, None), windows(A, B), {})
    assert measured.values == {}
    assert measured.failed.startswith("b: ")
    assert why in measured.failed


def test_a_policy_that_raises_says_what() -> None:
    def measure(window: Window, memory: Plain) -> tuple[float, Plain]:
        return 1 / 0, None

    assert measure_all(measure, windows(A), {}).failed == "a: ZeroDivisionError: division by zero"


def test_a_memory_comes_back_as_the_ledger_would_give_it() -> None:
    measured = measure_all(lambda window, memory: (1.0, {"z": 0, "last": (1, 2.5, None)}), windows(A), {})
    assert str(measured.memory[A]) == "{'last': [1, 2.5, None], 'z': 0}"


def test_a_policy_cannot_change_what_was_stored_of_its_memory() -> None:
    stored: list[int] = [1]

    def measure(window: Window, memory: Any) -> tuple[float, Plain]:
        memory.append(2)
        return 1.0, memory

    assert measure_all(measure, windows(A), {A: stored}).memory == {A: [1, 2]}
    assert stored == [1]


@pytest.mark.parametrize("memory", [{1: 2}, {1, 2}, math.nan, object(), b"bytes", [[[]] * 3, {"a": {"b": 1j}}]])
def test_a_memory_that_no_ledger_could_keep_is_refused(memory: Any) -> None:
    assert "the memory holds" in measure_all(lambda window, kept: (1.0, memory), windows(A), {}).failed


@pytest.mark.parametrize("memory", ["\ud800", {"\ud800": 1}])
def test_a_memory_with_half_a_character_is_refused(memory: Any) -> None:
    assert "surrogates not allowed" in measure_all(lambda window, kept: (1.0, memory), windows(A), {}).failed


def test_a_memory_without_an_end_is_refused() -> None:
    memory: list[Any] = []
    memory.append(memory)
    assert "nested too deeply" in measure_all(lambda window, kept: (1.0, memory), windows(A), {}).failed
