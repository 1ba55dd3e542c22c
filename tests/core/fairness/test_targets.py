"""Whole nodes from weights: water-filling between bounds, largest remainder, ties by id; the minimum from the data."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fawkes.core.fairness.targets import Bounds, fill, whole_nodes
from fawkes.core.values.model import ClusterId

Case = tuple[int, dict[ClusterId, float], dict[ClusterId, Bounds]]
NAMES = [ClusterId(name) for name in "abcdefgh"]


def case(total: int, weights: tuple[float, ...], bounds: tuple[tuple[int, int], ...]) -> Case:
    named = [Bounds(least, most) for least, most in bounds]
    return total, dict(zip(NAMES, weights, strict=False)), dict(zip(NAMES, named, strict=False))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    count = draw(st.integers(1, 8))
    total = draw(st.integers(0, 200))
    weights = draw(st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1e6)), min_size=count, max_size=count))
    bounds = draw(
        st.lists(st.tuples(st.integers(0, 30), st.integers(0, 200)), min_size=count, max_size=count).map(
            lambda pairs: tuple((least, least + more) for least, more in pairs)
        )
    )
    return case(total, tuple(weights), bounds)


@pytest.mark.parametrize(
    ("total", "weights", "bounds", "expected"),
    [
        (10, (0.5, 0.3, 0.2), ((0, 10),) * 3, (5, 3, 2)),
        (10, (0.45, 0.35, 0.2), ((1, 10),) * 3, (5, 3, 2)),  # a tie of remainders: the smaller id
        (9, (3 / 6, 2 / 6, 1 / 6), ((0, 9),) * 3, (5, 3, 1)),  # the same tie, whatever the last bits say:
        (9, (15 / 6, 10 / 6, 5 / 6), ((0, 9),) * 3, (5, 3, 1)),
        (48, (0.9, 0.08, 0.02), ((10, 48),) * 3, (28, 10, 10)),
        (60, (0.98, 0.01, 0.01), ((10, 60),) * 3, (40, 10, 10)),
        (10, (1.0, 1.0, 1.0), ((0, 10),) * 3, (4, 3, 3)),
        (10, (1.0, 1.0), ((2, 3), (2, 10)), (3, 7)),  # a maximum binds: the rest goes to the other
        (10, (1.0, 0.0), ((2, 10), (2, 10)), (8, 2)),  # no demand: the minimum
        (10, (1.0, 0.0), ((2, 5), (2, 10)), (5, 2)),  # nobody wants the rest: it stays idle
        (3, (0.5, 0.5), ((2, 10), (2, 10)), (2, 2)),  # nodes were lost: never less than the minimums
        (12, (0.7, 0.2, 0.1), ((2, 4), (2, 12), (5, 12)), (4, 3, 5)),  # one cut, one lifted
        (0, (1.0,), ((0, 5),), (0,)),
    ],
)
def test_whole_nodes(
    total: int, weights: tuple[float, ...], bounds: tuple[tuple[int, int], ...], expected: tuple[int, ...]
) -> None:
    assert tuple(whole_nodes(*case(total, weights, bounds)).values()) == expected


@pytest.mark.slow
@given(cases())
@example(case(10, (1e-6, 1e6), ((0, 10), (0, 10))))
def test_laws_of_whole_nodes(given_case: Case) -> None:
    total, weights, bounds = given_case
    parts, counts = fill(*given_case), whole_nodes(*given_case)
    assert set(counts) == set(weights)
    for c, count in counts.items():
        assert bounds[c].least <= count <= bounds[c].most
        assert abs(count - parts[c]) < 1 + 1e-6
    least = sum(bounds[c].least for c in weights)
    wanting = [c for c in weights if weights[c] > 0]
    room = sum(bounds[c].most if c in wanting else bounds[c].least for c in weights)
    if least <= total <= room:
        assert sum(counts.values()) == total
    else:
        assert sum(counts.values()) == (least if total < least else room)


@pytest.mark.slow
@given(cases())
def test_laws_of_the_real_parts(given_case: Case) -> None:
    total, weights, bounds = given_case
    parts = fill(*given_case)
    loose = [c for c in weights if bounds[c].least < parts[c] < bounds[c].most and weights[c] > 0]
    for c in loose:
        for other in loose:
            # Those that no bound holds share in proportion to their weights.
            assert parts[c] * weights[other] == pytest.approx(parts[other] * weights[c], rel=1e-6)
    if math.fsum(parts.values()) < total - 1e-6:
        assert all(parts[c] == bounds[c].most for c in weights if weights[c] > 0)


@pytest.mark.slow
@given(cases(), st.integers(0, 7), st.floats(1.01, 100))
def test_a_larger_weight_never_gives_less(given_case: Case, which: int, factor: float) -> None:
    total, weights, bounds = given_case
    chosen = NAMES[which % len(weights)]
    heavier = {**weights, chosen: weights[chosen] * factor}
    assert fill(total, heavier, bounds)[chosen] >= fill(total, weights, bounds)[chosen] - 1e-6
    assert whole_nodes(total, heavier, bounds)[chosen] >= whole_nodes(total, weights, bounds)[chosen] - 1


@pytest.mark.slow
@given(cases())
def test_the_order_of_the_mapping_does_not_matter(given_case: Case) -> None:
    total, weights, bounds = given_case
    backwards = {c: weights[c] for c in reversed(weights)}
    assert whole_nodes(total, backwards, bounds) == whole_nodes(total, weights, bounds)
