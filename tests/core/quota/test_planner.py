"""The planner by the worked values of the fact sheet (1.6), and what it says of deadlines that cannot be met."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.quota import planner
from fawkes.core.quota.planner import HeldExecutors, StagePlan, deal_tasks, mean_rate, plan_stage, shortages
from fawkes.core.quota.profile import ApplicationProfile, ProfiledStage
from fawkes.core.quota.values import Parameters

HELD = HeldExecutors(executors=4, node_cores=16)
THREE = tuple(
    ProfiledStage(id=f"s{place}", duration_s=duration_s, tasks=40, records_read=1e6, records_written=1e6, rate=2000.0,
          parents=(f"s{place - 1}",) if place else ())
    for place, duration_s in enumerate((10.0, 20.0, 30.0))
)  # fmt: skip


def plan(stage: ProfiledStage, waiting: tuple[ProfiledStage, ...] = THREE, **changes: Any) -> StagePlan:
    values = {"records": 1e6, "spent_s": 0.0, "deadline_s": 120.0, "held": HELD, "parameters": Parameters()}
    return plan_stage(stage, waiting, **{**values, **changes})


@pytest.mark.parametrize(
    ("beta", "deadlines"),
    [(0.3, (23.529, 41.051, 55.419)), (0.0, (20.0, 40.0, 60.0)), (1.0, (40.0, 40.0, 40.0))],
)
def test_deadlines_of_stages_that_are_in_time(beta: float, deadlines: tuple[float, ...]) -> None:
    spent_s = 0.0
    for place, deadline_s in enumerate(deadlines):
        made = plan(THREE[place], THREE[place:], spent_s=spent_s, parameters=Parameters(beta=beta))
        assert made.deadline_s == pytest.approx(deadline_s, abs=1e-3)
        spent_s += made.deadline_s
    assert spent_s == pytest.approx(120)


def test_weights_of_eq_2() -> None:
    weights = [planner.weight(stage, THREE[place:], 0.3) for place, stage in enumerate(THREE)]
    assert weights == pytest.approx([5.1, 2.35, 1.0], abs=1e-3)


@given(st.lists(st.floats(0.5, 500), min_size=1, max_size=9), st.floats(0, 1), st.floats(0.1, 1))
def test_stages_in_time_end_the_application_at_alpha_of_its_deadline(
    durations: list[float], beta: float, alpha: float
) -> None:
    stages = [replace(THREE[0], id=f"s{place}", duration_s=each) for place, each in enumerate(durations)]
    spent_s = 0.0
    for place, stage in enumerate(stages):
        made = plan(stage, tuple(stages[place:]), spent_s=spent_s, parameters=Parameters(beta=beta, alpha=alpha))
        spent_s += made.deadline_s
    assert spent_s == pytest.approx(alpha * 120)


@pytest.mark.parametrize(
    ("idle_s", "end_s", "deadlines"),
    [
        # 120 s less the time that no stage explains, by the weights 5.1, 2.35 and 1.
        ((None, None, None), None, (23.529, 41.051, 55.419)),
        ((None, None, None), 0.0, (23.529, 41.051, 55.419)),
        ((None, None, None), 18.0, (20.0, 34.894, 47.106)),
        ((0.0, 3.0, 5.0), 10.0, (20.0, 34.894, 47.106)),
        ((7.0, 3.0, 5.0), 3.0, (20.0, 34.894, 47.106)),
    ],
)
def test_time_without_a_stage_is_not_divided_among_stages(
    idle_s: tuple[float | None, ...], end_s: float | None, deadlines: tuple[float, ...]
) -> None:
    stages = tuple(replace(stage, idle_s=idle) for stage, idle in zip(THREE, idle_s, strict=True))
    spent_s = 0.0
    for place, deadline_s in enumerate(deadlines):
        spent_s += stages[place].idle_s or 0.0
        made = plan(stages[place], stages[place:], spent_s=spent_s, end_s=end_s)
        assert made.deadline_s == pytest.approx(deadline_s, abs=1e-3)
        spent_s += made.deadline_s
    assert spent_s + (end_s or 0.0) == pytest.approx(120)


@given(
    st.lists(st.tuples(st.floats(0.5, 500), st.floats(0, 50)), min_size=1, max_size=9),
    st.floats(0, 300),
    st.floats(0, 100),
    st.floats(0, 100),
    st.floats(0, 1),
)
def test_a_longer_end_never_gives_a_stage_a_later_deadline_or_fewer_cores(
    stages: list[tuple[float, float]], spent_s: float, end_s: float, longer_s: float, beta: float
) -> None:
    waiting = tuple(
        replace(THREE[0], id=f"s{place}", duration_s=took_s, idle_s=idle_s)
        for place, (took_s, idle_s) in enumerate(stages)
    )
    values = {"spent_s": spent_s, "parameters": Parameters(beta=beta)}
    later = plan(waiting[0], waiting, end_s=end_s, **values)
    sooner = plan(waiting[0], waiting, end_s=end_s + longer_s, **values)
    assert sooner.deadline_s <= later.deadline_s
    assert (sooner.cores or 1e99) >= (later.cores or 1e99)
    assert sooner.initial >= later.initial
    assert plan(waiting[0], waiting, end_s=None, **values) == plan(waiting[0], waiting, end_s=0.0, **values)


def test_cores_and_quota_of_eq_6_and_7() -> None:
    made = plan(THREE[0])
    assert (made.cores, made.initial) == (22, 5.5)


@given(st.floats(1, 1e8), st.integers(1, 40), st.sampled_from([0.05, 0.5, 1.0]))
def test_quotas_of_executors_sum_to_the_need_within_a_quantum_each(records: float, executors: int, cq: float) -> None:
    held = HeldExecutors(executors=executors, node_cores=1e9)
    made = plan(THREE[0], records=records, held=held, parameters=Parameters(quantum=cq))
    assert made.cores is not None
    assert made.cores - 1e-6 <= made.initial * executors < made.cores + executors * cq + 1e-6


@pytest.mark.parametrize(
    "late", [plan(THREE[0], spent_s=120.0), plan(THREE[0], spent_s=500.0), plan(replace(THREE[0], rate=None))]
)
def test_late_stages_and_those_without_a_rate_get_all_cores(late: StagePlan) -> None:
    assert (late.cores, late.initial) == (None, 16)
    assert late.deadline_s >= 0


def test_a_deadline_is_warned_of_when_a_stage_needs_more_than_there_is() -> None:
    profile = ApplicationProfile("a", 1, THREE)
    assert shortages(profile, 120, HELD, Parameters()) == []
    short = shortages(profile, 30, HELD, Parameters())
    assert [each.stage for each in short] == ["s0"]
    assert short[0].cores is not None
    assert short[0].cores > short[0].of == 64
    assert shortages(profile, 120, HELD, Parameters(), size=10.0) != []
    assert [each.cores for each in shortages(profile, -1, HELD, Parameters())] == [None, None, None]
    assert shortages(ApplicationProfile("a", 1, THREE[:1]), 500 / 64, HELD, Parameters()) == [], "all cores are enough"


@pytest.mark.parametrize(
    ("idle_s", "end_s", "deadline_s", "short"),
    [(None, None, 60, False), (0.0, 30.0, 60, True), (30.0, 0.0, 60, True), (30.0, 30.0, 120, False)],
)
def test_a_deadline_is_warned_of_when_no_stage_has_the_time_that_the_rest_takes(
    idle_s: float | None, end_s: float | None, deadline_s: float, short: bool
) -> None:
    profile = ApplicationProfile("a", 1, tuple(replace(stage, idle_s=idle_s and idle_s / 3) for stage in THREE), end_s)
    assert bool(shortages(profile, deadline_s, HELD, Parameters())) is short


def test_no_warning_where_the_rate_is_not_known() -> None:
    profile = ApplicationProfile("a", 1, tuple(replace(stage, rate=None) for stage in THREE))
    assert shortages(profile, 1, HELD, Parameters()) == []


@pytest.mark.parametrize(
    ("tasks", "cores", "dealt"),
    [
        (40, {"a": 16, "b": 16}, {"a": 20, "b": 20}),
        (7, {"a": 16, "b": 16, "c": 16}, {"a": 3, "b": 2, "c": 2}),
        (40, {"a": 16, "b": 48}, {"a": 10, "b": 30}),
        (0, {"a": 16}, {"a": 0}),
    ],
)
def test_tasks_are_dealt_by_cores(tasks: int, cores: dict[str, float], dealt: dict[str, int]) -> None:
    assert deal_tasks(tasks, cores) == dealt


def test_the_mean_rate_of_an_application_is_weighted_by_its_stages() -> None:
    rates = (100.0, 200.0, None)
    stages = tuple(replace(stage, rate=rate) for stage, rate in zip(THREE, rates, strict=True))
    assert mean_rate(ApplicationProfile("a", 1, stages), 0.3) == pytest.approx((100 * 5.1 + 200 * 2.35) / 7.45)
    assert mean_rate(ApplicationProfile("a", 1, stages[2:]), 0.3) is None


def test_parameters_are_those_of_table_3() -> None:
    assert Parameters() == Parameters(alpha=1, beta=0.3, gamma=0, phi=1, eta=10, quantum=0.05)
