"""From observations to constants."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.offline.calibrate.fit import LEAST, NAMES, fit_of, fits_of

FIGURES = st.lists(st.floats(0, 1e9), min_size=LEAST, max_size=30)


@pytest.mark.parametrize(
    ("name", "values", "value"), [("join", [5, 1, 3], 3), ("join", [4, 1, 2, 3], 2.5), ("drain", [9, 2, 30], 2)]
)
def test_the_median_and_for_drains_the_least(name: str, values: list[float], value: float) -> None:
    assert fit_of(name, values).value == value


@pytest.mark.slow
@given(FIGURES)
def test_the_interval_is_within_what_was_seen(values: list[float]) -> None:
    fit = fit_of("join", values)
    assert fit.value is not None
    assert fit.low is not None
    assert fit.high is not None
    assert min(values) <= fit.low <= fit.high <= max(values)
    assert fit.n == len(values)
    assert fit_of("join", values) == fit


@given(st.floats(1, 1e9), st.integers(LEAST, 20))
def test_equal_observations_leave_no_doubt(value: float, count: int) -> None:
    fit = fit_of("join", [value] * count)
    assert (fit.low, fit.value, fit.high) == (value, value, value)


def test_too_few_are_not_fitted() -> None:
    fits = fits_of({"join": [1.0] * (LEAST - 1), "clean": [2.0] * LEAST})
    assert [fit.name for fit in fits] == list(NAMES)
    by_name = {fit.name: fit for fit in fits}
    assert (by_name["join"].value, by_name["join"].n, by_name["disk"].n) == (None, LEAST - 1, 0)
    assert by_name["clean"].value == 2.0
