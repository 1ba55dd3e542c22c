"""Series: bounded, with their end, their peak and their gaps; the same however the points came."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fawkes.report.web.course import Point, Series

values = st.none() | st.integers(0, 9).map(float)
points = st.lists(st.tuples(st.integers(0, 10_000), values), max_size=300).map(
    lambda made: sorted(made, key=lambda point: point[0])
)


def filled(made: list[Point], most: int) -> Series:
    series = Series(most)
    for at_us, value in made:
        series.add(at_us, value)
    return series


@given(points, st.integers(8, 40))
def test_a_series_is_bounded_and_keeps_its_end_its_peak_and_whether_something_was_unknown(
    made: list[Point], most: int
) -> None:
    whole, thin = filled(made, 10_000).points, filled(made, most).points
    assert len(thin) <= most
    assert set(thin) <= set(whole)
    assert thin[-1:] == whole[-1:]
    known = [value for _, value in whole if value is not None]
    if known:
        kept = [value for _, value in thin if value is not None]
        assert (min(kept), max(kept)) == (min(known), max(known))
    assert any(value is None for _, value in thin) == any(value is None for _, value in whole)


def test_what_is_not_known_is_a_gap_and_never_zero() -> None:
    series = filled([(0, None), (1, 2.0), (2, None), (3, None), (4, 0.0)], 100)
    assert series.points == [(1, 2.0), (2, None), (4, 0.0)]


def test_two_values_of_one_moment_leave_the_latter() -> None:
    assert filled([(1, 2.0), (1, 3.0)], 100).points == [(1, 3.0)]
