"""Equations 1 to 3, the meaning of tau, and the two cases in which it is exceeded with nothing to do."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.core.fairness.fairness import discrimination, global_discrimination, share_error
from fawkes.core.fairness.targets import Bounds, whole_nodes
from fawkes.core.fairness.weights import weights
from fawkes.core.values.model import ClusterId
from fawkes.core.values.settings import Discrimination
from tests.support.desk import Desk
from tests.support.pools import settings


@pytest.mark.parametrize(
    ("share", "weight", "period_s", "expected"),
    [(0.5, 0.5, 60, 0.0), (10 / 48, 0.9, 120, -83.0), (28 / 48, 0.9, 120, -38.0), (0.3, 0.2, 60, 6.0)],
)
def test_discrimination_is_the_excess_share_over_the_period(
    share: float, weight: float, period_s: float, expected: float
) -> None:
    assert discrimination(share, weight, period_s) == pytest.approx(expected)


def test_global_discrimination_is_the_mean_square_and_not_centred() -> None:
    assert global_discrimination([3.0, -1.0]) == 5.0
    assert global_discrimination([-2.0, -2.0]) == 4.0
    assert global_discrimination([]) == 0.0


@pytest.mark.parametrize(("tau", "period_s", "percent"), [(10, 60, 5.3), (10, 120, 2.6), (10, 20, 16)])
def test_tau_is_a_share_error_that_depends_on_the_period(tau: float, period_s: float, percent: float) -> None:
    assert share_error(tau, period_s) * 100 == pytest.approx(percent, abs=0.2)


@given(st.floats(1, 1000), st.floats(0.1, 1000), st.floats(1, 10))
def test_scaled_by_the_square_of_the_period_tau_is_the_same_share_error(
    period_s: float, tau: float, factor: float
) -> None:
    assert share_error(tau * factor**2, period_s * factor) == pytest.approx(share_error(tau, period_s))


@given(st.lists(st.tuples(st.integers(1, 100), st.floats(0.001, 1000)), min_size=1, max_size=8))
def test_the_discriminations_sum_to_zero_when_every_node_is_held(found: list[tuple[int, float]]) -> None:
    total = sum(held for held, _ in found)
    shares = weights({ClusterId(str(i)): y for i, (_, y) in enumerate(found)})
    values = [discrimination(held / total, shares[ClusterId(str(i))], 60) for i, (held, _) in enumerate(found)]
    assert math.fsum(values) == pytest.approx(0, abs=1e-9)


def test_minimums_that_bind_leave_a_discrimination_of_731() -> None:
    by_weight = dict(zip("abc", (0.9, 0.08, 0.02), strict=True))
    targets = whole_nodes(
        48, {ClusterId(c): w for c, w in by_weight.items()}, {ClusterId(c): Bounds(10, 48) for c in by_weight}
    )
    assert targets == {"a": 28, "b": 10, "c": 10}
    values = [discrimination(targets[ClusterId(c)] / 48, w, 120) for c, w in by_weight.items()]
    assert round(global_discrimination(values)) == 731


@pytest.mark.parametrize(
    ("count", "minimum", "demand", "raw", "sizes"),
    [
        (48, 10, {"a": 900, "b": 80, "c": 20}, 731, {"a": 28, "b": 10, "c": 10}),
        (10, 1, {"a": 45, "b": 35, "c": 20}, 24, {"a": 5, "b": 3, "c": 2}),
    ],
    ids=["minimums bind", "nodes are whole"],
)
@pytest.mark.parametrize("measure", list(Discrimination))
def test_what_cannot_be_balanced_better_is_left_alone(
    count: int,
    minimum: int,
    demand: dict[str, int],
    raw: int,
    sizes: dict[str, int],
    measure: Discrimination,
) -> None:
    tau = 10.0 * (120 / 60) ** 2 if raw > 40 else 10.0
    desk = Desk(count, how=settings(period_us=120 * SECOND_US, tau=tau, discrimination=measure))
    for name in demand:
        desk.up(name, minimum)
    desk.tick(**demand)
    assert desk.sizes() == sizes
    for name in demand:
        desk.settle(name)
    moved = desk.state.last_tick.reconfigurations
    for _ in range(3):
        facts = desk.tick(**demand)
        assert round(float(str(facts["raw"]))) == raw
        assert facts["reducible"] == 0
        raw_decides = measure is Discrimination.RAW
        assert facts["verdict"] == ("as-balanced-as-possible" if raw_decides else "balanced")
        assert desk.sizes() == sizes
        assert desk.state.last_tick.reconfigurations == moved == 1
