from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.offline.outcomes.statistics import (
    BETTER,
    CANNOT_TELL,
    FIGURES,
    WORSE,
    frame_of,
    interval,
    least_p,
    paired_p,
    table_of,
    verdict_of,
)

Row = dict[str, Any]


def row(policy: str, replay: int, slowdown: float | None, settings: str = "") -> Row:
    figures: Row = dict.fromkeys(FIGURES, 1.0)
    cluster = {"cluster": "c-1", "slowdown_mean": slowdown, "jobs": 3, "finished_s": 7}
    return {
        "policy": policy,
        "settings": settings,
        "replay": replay,
        "variant": "x",
        **figures,
        "slowdown_mean": slowdown,
        "clusters": [cluster],
    }


def test_medians_and_spread_by_hand() -> None:
    rows = [row("TD", n, float(n)) for n in range(1, 22)] + [row("None", n, 2.0 * n) for n in range(1, 22)]
    td, none = table_of(rows, "None")
    # 21 values: the 5th and 95th percentiles are the second and the second last.
    assert (td["slowdown_mean"], td["slowdown_mean_low"], td["slowdown_mean_high"]) == (11, 2, 20)
    assert td["change"] == pytest.approx(-0.5)
    # All 21 pairs have one sign: both tails of 2^21 arrangements.
    assert td["p"] == pytest.approx(2 / 2**21)
    assert (none["change"], none["p"], none["replays"]) == (None, None, 21)


@pytest.mark.parametrize(
    ("mine", "others", "p"),
    [
        ([1, 2, 3], [1, 2, 3], 1.0),
        ([1, 2, 3], [2, 4, 6], 0.25),
        ([1, 2, 3, 4, 5], [2, 4, 6, 8, 10], 0.0625),
        ([1.0], [2.0], 1.0),
    ],
)
def test_the_paired_test_on_known_values(mine: Sequence[float], others: Sequence[float], p: float) -> None:
    assert paired_p(mine, others) == pytest.approx(p)


@pytest.mark.parametrize("pairs", [1, 2, 5, 6, 20])
def test_no_p_is_below_the_least(pairs: int) -> None:
    one_way = [float(n) for n in range(1, pairs + 1)]
    assert paired_p([0.0] * pairs, one_way) == pytest.approx(least_p(pairs))


def test_pairs_are_of_one_replay_and_the_same_settings() -> None:
    rows = [
        row("None", 1, 2.0, "tau=5"),
        row("None", 2, 10.0, "tau=5"),
        row("TD", 2, 5.0, "tau=5"),
        row("TD", 3, 100.0, "tau=5"),
        row("TD", 1, 5.0, "tau=9"),
    ]
    changes = {(pair["policy"], pair["settings"]): pair["change"] for pair in table_of(rows, "None")}
    assert changes == {("None", "tau=5"): None, ("TD", "tau=5"): pytest.approx(-0.5), ("TD", "tau=9"): None}


def test_what_no_job_tells_is_left_out() -> None:
    (only,) = table_of([row("TD", 1, None), row("TD", 2, 3.0)], "None")
    assert (only["slowdown_mean"], only["replays"], only["p"]) == (3.0, 2, None)


@cache
def figures(keys: tuple[tuple[str, int], ...]) -> dict[str, Row]:
    """The figures of each policy, of rows in this order."""
    rows = [row(policy, n, (n * 7 % 5) + (1.0 if policy == "TD" else 2.5)) for policy, n in keys]
    return {of_policy["policy"]: of_policy for of_policy in table_of(rows, "None")}


@pytest.mark.slow
@given(st.permutations([("TD", n) for n in range(6)] + [("None", n) for n in range(6)]))
def test_the_order_of_rows_changes_no_figure(order: list[tuple[str, int]]) -> None:
    assert figures(tuple(order)) == figures(tuple(sorted(order)))


def test_the_frame_has_a_row_for_each_run_with_figures_of_each_mr_cluster() -> None:
    frame = frame_of([row("TD", 1, 2.0), row("TD", 2, None)])
    assert list(frame["replay"]) == [1, 2]
    assert frame["c-1_slowdown_mean"].isna().tolist() == [False, True]
    assert frame["c-1_finished_s"].dtype == float
    assert "variant" not in frame.columns


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ([-0.1, -0.2, -0.1, -0.3, -0.2, -0.1], BETTER),
        ([-0.6, -0.5, -0.4, -0.3, -0.2, -0.1], BETTER),
        ([0.1, 0.2, 0.1, 0.3, 0.2, 0.1], WORSE),
        ([-0.1, 0.2, -0.1, 0.3, -0.2, 0.1, 0.05, -0.03], CANNOT_TELL),
        # The interval lies below 0, and yet p is 0.297: the one against it outweighs all others.
        ([-0.06, -0.05, -0.04, -0.03, -0.02, -0.01, 0.4], CANNOT_TELL),
        ([0.06, 0.05, 0.04, 0.03, 0.02, 0.01, -0.4], CANNOT_TELL),
        ([-0.06, -0.05, -0.04, -0.03, -0.02, -0.01, 0.001], BETTER),
        # All of one sign, and yet five pairs can show nothing.
        ([-0.1, -0.2, -0.1, -0.3, -0.2], CANNOT_TELL),
        ([-0.1], CANNOT_TELL),
        ([0.0] * 20, CANNOT_TELL),
    ],
)
def test_a_verdict_asks_for_the_interval_and_for_p(changes: Sequence[float], verdict: str) -> None:
    rows = [row("None", n, 10.0) for n, _ in enumerate(changes)]
    rows += [row("TD", n, 10.0 * (1 + change)) for n, change in enumerate(changes)]
    none, td = table_of(rows, "None")
    assert (td["verdict"], none["verdict"]) == (verdict, None)
    if td["change_ci_low"] is not None:
        assert td["change_ci_low"] <= td["change"] <= td["change_ci_high"]


@pytest.mark.parametrize(
    ("within", "p", "verdict"),
    [
        ((-0.2, -0.1), 0.049, BETTER),
        ((0.1, 0.2), 0.049, WORSE),
        ((-0.2, -0.1), 0.05, CANNOT_TELL),
        ((-0.2, 0.0), 0.001, CANNOT_TELL),
        (None, 0.001, CANNOT_TELL),
    ],
)
def test_a_verdict_on_both(within: tuple[float, float] | None, p: float, verdict: str) -> None:
    assert verdict_of(within, p) == verdict


@pytest.mark.slow
def test_where_nothing_differs_seldom_a_verdict_says_so() -> None:
    import random

    chance = random.Random(5)
    found = 0
    for _ in range(100):
        mine = [row("TD", n, 10 + chance.gauss(0, 1)) for n in range(7)]
        found += table_of([*mine, *(row("None", n, 10.0) for n in range(7))], "None")[0]["verdict"] != CANNOT_TELL
    assert found <= 10


@pytest.mark.slow
@given(st.lists(st.floats(0.1, 100), min_size=2, max_size=12))
def test_an_interval_lies_within_the_values_and_comes_again(values: list[float]) -> None:
    bounds = interval(values)
    assert bounds is not None
    assert min(values) <= bounds[0] <= bounds[1] <= max(values)
    assert interval(values) == bounds


def test_an_interval_of_values_far_apart_covers_the_median_it_was_drawn_from() -> None:
    import random

    covered = 0
    for seed in range(100):
        chance = random.Random(seed)
        bounds = interval([chance.gauss(5, 1) for _ in range(20)])
        covered += bounds is not None and bounds[0] <= 5 <= bounds[1]
    assert covered >= 88
    assert interval([1.0]) is None
