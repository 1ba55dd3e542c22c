"""Regret: the search for the best fixed division, runs under one, and the regret of each policy."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.catalog import Kind
from fawkes.core.values.model import ClusterId
from fawkes.offline.runs.grid import Grid, run_cell
from fawkes.offline.runs.regret import Best, Division, best_of, bounds, capped, fixed, regrets, search, slowdown_of
from fawkes.offline.runs.work import in_this_process
from fawkes.offline.scenarios.plan import with_demands
from fawkes.offline.scenarios.scenario import simulate
from fawkes.report import history
from fawkes.report.pictures.steps import held, totals
from tests.offline.support import CATALOG, two

A, B, C = ClusterId("a"), ClusterId("b"), ClusterId("c")


@given(
    least=st.fixed_dictionaries({A: st.integers(1, 3), B: st.integers(1, 3), C: st.integers(1, 3)}),
    spare=st.integers(0, 12),
    work=st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50)),
    cap=st.integers(1, 20),
)
@settings(max_examples=60)
def test_a_convex_cost_is_searched_to_its_best(least: Division, spare: int, work: tuple[int, ...], cap: int) -> None:
    most = {c: max(least[c], cap) for c in least}
    total = sum(least.values()) + spare
    tried: list[Division] = []

    def slowdown(division: Division) -> float:
        tried.append(division)
        assert all(least[c] <= division[c] <= most[c] for c in division)
        assert sum(division.values()) <= total
        return sum(amount / division[c] for amount, c in zip(work, (A, B, C), strict=True))

    best = search(slowdown, least, most, total, divisions=10_000)
    assert best is not None
    everything = [
        {A: a, B: b, C: c}
        for a in range(least[A], most[A] + 1)
        for b in range(least[B], most[B] + 1)
        for c in range(least[C], most[C] + 1)
        if a + b + c <= total
    ]
    before = len(tried)
    assert best.tried == before
    assert best.slowdown == pytest.approx(min(slowdown(division) for division in everything))


def test_no_more_divisions_are_tried_than_allowed() -> None:
    tried = []

    def slowdown(division: Division) -> float:
        tried.append(division)
        return 1 / division[A]

    best = search(slowdown, {A: 1, B: 1}, {A: 99, B: 99}, 50, divisions=4)
    assert best is not None
    assert len(tried) == best.tried == 4


def test_without_a_slowdown_there_is_no_best() -> None:
    assert search(lambda division: None, {A: 1, B: 1}, {A: 9, B: 9}, 10) is None


def test_a_pool_that_is_too_small_has_its_minimums_alone() -> None:
    best = search(lambda division: 1.0, {A: 4, B: 4}, {A: 9, B: 9}, 6)
    assert best == Best({A: 4, B: 4}, 1.0, 1)


@pytest.mark.slow
def test_under_a_fixed_division_nobody_gets_more_and_nothing_moves_back() -> None:
    plan = two()
    scenario = plan.scenario(CATALOG)
    least, _, total = bounds(scenario, plan.demands)
    division = {c: count + n for n, (c, count) in enumerate(sorted(least.items()))}
    assert sum(division.values()) <= total
    store = simulate(with_demands(fixed(scenario, division), capped(plan.demands, division)))
    for name, points in totals(held(store)).items():
        assert max(count for _, count in points) == division[ClusterId(name)]
    assert not [move for move in history.moves(store) if move.source and move.target]


@pytest.mark.slow
def test_each_policy_has_a_regret_and_that_of_the_best_division_is_nought() -> None:
    plan = two()
    scenarios = {
        (title, ""): plan.scenario(CATALOG, policy=CATALOG.find(Kind.POLICY, title)) for title in ("TD", "None")
    }
    plan = plan.with_references(scenarios["TD", ""])
    grid = Grid(name="two", scenarios=scenarios, demands=plan.demands, replays=1, seed=1, spread_us=0)
    steps: list[str] = []
    best = best_of(grid, "", in_this_process, steps.append)
    assert best is not None
    assert len(steps) == best.tried > 1
    rows = [run_cell(grid, cell) for cell in grid.cells]
    values = regrets(grid, rows, {"": best})
    for row in rows:
        assert values[row["policy"], ""] == pytest.approx(row["slowdown_mean"] / best.slowdown - 1)
    assert values["None", ""] is not None
    assert values["None", ""] >= 0
    assert regrets(grid, [{**row, "failed_jobs": 1} for row in rows], {"": best})["TD", ""] is None
    assert regrets(grid, rows, {"": None})["TD", ""] is None


@pytest.mark.slow
def test_a_division_under_which_jobs_do_not_end_has_no_slowdown() -> None:
    plan = two()
    scenario = replace(plan.scenario(CATALOG), limit_us=1_000_000)
    least, _, _ = bounds(scenario, plan.demands)
    assert slowdown_of(scenario, plan.demands, least, seed=1, replay=1, spread_us=0) is None
