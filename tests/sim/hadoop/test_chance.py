"""Chances of tasks: fixed numbers, a mean of one, and nothing drawn where nothing is asked for."""

from __future__ import annotations

from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.sim.hadoop.chance import NO_STREAM, Chance, mixed, quantiles, stream_of


def test_numbers_are_those_of_the_published_generator() -> None:
    """SplitMix64 from seed 0: the first outputs of Vigna's reference program."""
    golden = 0x9E3779B97F4A7C15
    assert [mixed(golden * n & (2**64 - 1)) for n in (1, 2, 3)] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]


@pytest.mark.parametrize("spread", [0.05, 0.165, 0.4])
def test_work_has_mean_one_and_the_spread(spread: float) -> None:
    chance = Chance(spread)
    factors = [chance.factor(stream_of(1, "j", 1), number) for number in range(20_000)]
    assert fmean(factors) == pytest.approx(1.0, abs=0.01)
    assert pstdev(factors) == pytest.approx(spread, rel=0.05)


def test_a_share_straggles() -> None:
    factors = [Chance(0.0, 0.02, 5.0).factor(stream_of(1, "j", 1), number) for number in range(20_000)]
    assert set(factors) == {1.0, 5.0}
    assert factors.count(5.0) == pytest.approx(400, rel=0.2)


@given(st.integers(0, 2**63), st.integers(0, 10**7))
def test_without_spread_nothing_is_longer(stream: int, number: int) -> None:
    assert Chance().factor(stream, number) == 1.0


def test_each_job_attempt_and_seed_has_its_own_numbers() -> None:
    streams = {
        stream_of(seed, job, attempt) for seed in (1, 2) for job in ("a", "b", "1", "11") for attempt in (1, 2, 11)
    }
    assert len(streams) == 2 * 4 * 3


def test_quantiles_rise() -> None:
    assert list(quantiles(0.3)) == sorted(quantiles(0.3))


@given(st.integers(0, 10**7))
def test_a_job_without_a_stream_takes_its_own_times(number: int) -> None:
    assert Chance(0.4, 0.5, 5.0).factor(NO_STREAM, number) == 1.0
