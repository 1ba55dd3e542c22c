from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from statistics import mean, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import UserError
from fawkes.base.units import SECOND_US
from fawkes.workload.making.arrivals import NAMED, batch, bursts, named, perturbed, poisson
from fawkes.workload.model import TraceJob
from fawkes.workload.seeds import rng

HOUR_US = 3600 * SECOND_US


def job(name: str, at_us: int = 0, *after: str) -> TraceJob:
    return TraceJob(id=name, submit_us=at_us, after=after)


def test_a_batch_comes_at_once() -> None:
    assert batch(3, start_us=7) == (7, 7, 7)
    assert batch(0) == ()


def test_poisson_arrivals_have_their_rate_and_their_variation() -> None:
    times = poisson(rng(1), 4000, per_hour=60, start_us=5)
    gaps = [later - earlier for earlier, later in pairwise((5, *times))]
    assert min(gaps) >= 0
    assert mean(gaps) == pytest.approx(60 * SECOND_US, rel=0.05)
    # Of exponential gaps, mean and standard deviation are the same, and 1 in e is longer than the mean.
    assert stdev(gaps) == pytest.approx(60 * SECOND_US, rel=0.1)
    assert sum(gap > 60 * SECOND_US for gap in gaps) / len(gaps) == pytest.approx(0.368, abs=0.03)


def test_bursts_have_their_sizes_and_gaps() -> None:
    times = bursts(rng(2), 3000, sizes=((2, 1), (6, 3)), gap_us=HOUR_US, within_us=0, start_us=9)
    sizes = [times.count(at) for at in dict.fromkeys(times)]
    assert sum(sizes) == 3000
    assert set(sizes[:-1]) == {2, 6}
    assert sizes.count(6) / len(sizes) == pytest.approx(0.75, abs=0.06)
    gaps = [later - earlier for earlier, later in pairwise((9, *dict.fromkeys(times)))]
    assert mean(gaps) == pytest.approx(HOUR_US, rel=0.1)


def test_the_jobs_of_a_burst_may_come_one_after_another() -> None:
    times = bursts(rng(3), 50, sizes=((50, 1),), gap_us=HOUR_US, within_us=60 * SECOND_US)
    assert 0 < times[-1] - times[0] <= 60 * SECOND_US
    assert list(times) == sorted(times)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: poisson(rng(1), 1, per_hour=0),
        lambda: poisson(rng(1), 1, per_hour=float("nan")),
        lambda: bursts(rng(1), 1, sizes=(), gap_us=1),
        lambda: bursts(rng(1), 1, sizes=((0, 1),), gap_us=1),
        lambda: bursts(rng(1), 1, sizes=((1, 1),), gap_us=-1),
        lambda: bursts(rng(1), 1, sizes=((1, 1),), gap_us=1, within_us=-1),
        lambda: perturbed([], rng(1), -1),
        lambda: named("late", [False], rng(1), span_us=1, burst_sizes=((1, 1),), burst_within_us=0),
    ],
)
def test_what_never_comes_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        wrong()


def curve(kind: str, large: list[bool], seed: int = 4) -> tuple[int, ...]:
    return named(kind, large, rng(seed), span_us=HOUR_US, burst_sizes=((3, 1),), burst_within_us=SECOND_US, start_us=11)


@pytest.mark.parametrize("kind", ["batch", "sequential"])
def test_batch_and_sequential_come_at_once(kind: str) -> None:
    assert curve(kind, [True, False, False]) == (11, 11, 11)


def test_average_arrivals_fill_the_span_large_or_not() -> None:
    last = [max(curve("average", [True] * 30 + [False] * 30, seed)) for seed in range(40)]
    assert mean(last) == pytest.approx(HOUR_US, rel=0.1)
    assert curve("average", [True] * 5) == curve("average", [False] * 5)


def test_only_large_jobs_come_in_bursts() -> None:
    large = [at % 5 == 0 for at in range(60)]
    ends = []
    for seed in range(40):
        times = curve("bursty", large, seed)
        in_bursts = sorted(at for at, is_large in zip(times, large, strict=True) if is_large)
        ends.append(in_bursts[-1])
        assert len(in_bursts) == 12
        assert all(in_bursts[at + 2] - in_bursts[at] <= SECOND_US for at in range(0, 12, 3))
        others = [at for at, is_large in zip(times, large, strict=True) if not is_large]
        assert others == sorted(others)
        assert sum(later - earlier <= SECOND_US for earlier, later in pairwise(others)) < 8
    assert mean(ends) == pytest.approx(0.8 * HOUR_US, rel=0.25)


@given(st.sampled_from(NAMED), st.lists(st.booleans(), max_size=20), st.integers(0, 9))
@settings(max_examples=30, deadline=None)
def test_each_job_has_a_time_from_the_start_on_and_the_same_one_again(kind: str, large: list[bool], seed: int) -> None:
    times = curve(kind, large, seed)
    assert len(times) == len(large)
    assert all(at >= 11 for at in times)
    assert times == curve(kind, large, seed)


def test_shaking_moves_each_job_a_little_and_not_all_alike() -> None:
    jobs = [job(f"j{at}", at * 10_000) for at in range(200)]
    shaken = {each.id: each.submit_us for each in perturbed(jobs, rng(5), 2_000)}
    moves = [shaken[each.id] - each.submit_us for each in jobs[1:]]
    assert max(map(abs, moves)) <= 2_000
    assert min(moves) < -1_500 < 1_500 < max(moves)
    assert abs(mean(moves)) < 300
    assert perturbed(jobs, rng(5), 2_000) == perturbed(jobs, rng(5), 2_000) != perturbed(jobs, rng(6), 2_000)
    assert perturbed(jobs, rng(5), 0) == tuple(jobs)


def test_a_batch_does_not_stay_one_at_zero() -> None:
    times = [each.submit_us for each in perturbed([job(f"j{at}") for at in range(100)], rng(7), 1000)]
    assert times == sorted(times)
    assert times.count(0) < 5
    assert max(times) > 900


def test_jobs_that_wait_for_what_is_not_there_are_not_shaken() -> None:
    with pytest.raises(UserError, match="does not exist"):
        perturbed([job("a", 0, "x")], rng(1), 5)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=30, deadline=None)
def test_no_shaken_job_comes_below_zero_or_before_one_that_it_is_after(data: st.DataObject) -> None:
    count, spread = data.draw(st.integers(0, 10)), data.draw(st.integers(0, 100))
    jobs = []
    for at in range(count):
        after = data.draw(st.lists(st.integers(0, at - 1), max_size=2)) if at else []
        jobs.append(job(str(at), data.draw(st.integers(0, 100)), *map(str, after)))
    shaken = perturbed(data.draw(st.permutations(jobs)), rng(data.draw(st.integers(0, 5))), spread)
    times = {each.id: each.submit_us for each in shaken}
    assert times.keys() == {each.id for each in jobs}
    assert [each.submit_us for each in shaken] == sorted(times.values())
    assert all(at >= 0 for at in times.values())
    assert all(times[other] <= times[each.id] for each in jobs for other in each.after)
    for each in jobs:
        earliest = max((each.submit_us, *(times[other] for other in each.after)))
        assert abs(times[each.id] - each.submit_us) <= spread or times[each.id] == earliest
