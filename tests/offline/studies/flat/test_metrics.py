"""Jain's index, equality, Welch's test, intervals and idle groups (statements 34 to 36)."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from fawkes.offline.studies.flat.metrics import EDGES_S, equality, jain, mean_of, mean_of_plain, welch
from tests.offline.studies.flat.support import jobs_of, run

PARTS = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=30)


def test_34_jain() -> None:
    assert [jain([1, 1, 1]), jain([1, 0, 0]), jain([0.5, 0.5])] == pytest.approx([1, 1 / 3, 1])


@given(PARTS)
def test_jain_is_from_one_over_n_to_one(parts: list[float]) -> None:
    index = jain(parts)
    assert index == 0 or 1 / len(parts) - 1e-9 <= index <= 1 + 1e-9


def test_34_equality_is_by_demand_and_weighted_by_jobs() -> None:
    assert equality([1, 1, 4, 0], [3, 3, 8, 8]) == pytest.approx(0.75)
    assert equality([0, 0], [3, 3]) == 0
    assert equality([], []) == 0


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=2, max_size=40), st.lists(st.floats(0.1, 1), min_size=2, max_size=40))
def test_35_welch_is_scipys(one: list[float], other: list[float]) -> None:
    ours = welch(mean_of(one), mean_of(other))
    theirs = ttest_ind(one, other, equal_var=False)
    if ours is None:
        assert np.std(one) == np.std(other) == 0
    elif np.var(one) + np.var(other) > 1e-12:
        assert ours.t == pytest.approx(theirs.statistic, rel=1e-6, abs=1e-9)
        assert ours.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-9)
        assert ours.df == pytest.approx(theirs.df, rel=1e-6)


def test_35_intervals() -> None:
    mean = mean_of([1.0, 2.0, 3.0, 4.0], [1.5, 3.5])
    assert mean.half_width == pytest.approx(1.96 * np.std([1, 2, 3, 4], ddof=1) / 2)
    assert mean.batch_half_width == pytest.approx(12.706 * np.std([1.5, 3.5], ddof=1) / np.sqrt(2), rel=1e-3)
    assert mean_of_plain(mean.plain()) == mean


@pytest.mark.parametrize(("values", "batches"), [([], []), ([0.7], [0.7])])
def test_35_without_two_values_there_is_no_interval(values: list[float], batches: list[float]) -> None:
    mean = mean_of(values, batches)
    assert (mean.half_width, mean.batch_half_width) == (None, None)


def test_35_two_samples_of_one_day_have_an_interval_by_samples_alone() -> None:
    mean = mean_of([0.7, 0.7], [0.7])
    assert (mean.half_width, mean.batch_half_width) == (0.0, None)


def test_35_samples_are_taken_each_minute_before_admission() -> None:
    # At 0 s the first job waits still, so that no sample counts; at 60 and 120 s it holds half of its demand.
    outcome = run(jobs_of((0, 10, 900, inf), (150, 1, 1, inf)), 5, "BASELINE")
    assert outcome.fairness.count == 2
    assert outcome.fairness.mean == 1


def test_36_idle_groups() -> None:
    # 25 CPUs: 20 are busy from 100 to 200 s, then 5; the last submission is at 1000 s.
    jobs = jobs_of((0, 1, 1, inf), (100, 20, 2000, inf), (400, 20, 2000, inf), (1000, 1, 1, inf))
    tens, hundreds = run(jobs, 25, "FIFO").idle
    assert tens.existence == pytest.approx(0.8)
    assert hundreds.existence == hundreds.intervals == 0
    # Two groups: idle until 100 s, 200 s from 200 s on, 500 s from 500 s on.
    assert tens.intervals == 6
    assert [tens.longer[EDGES_S.index(edge)] for edge in (50, 100, 200, 500)] == pytest.approx([1, 2 / 3, 1 / 3, 0])
