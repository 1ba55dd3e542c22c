"""Shared rates: against a plain recomputation of everybody's share at every event, and by laws."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.sim.hadoop.flows import Flows, Pool


def run(pool: Pool[str], begins: list[tuple[int, float]], resizes: dict[int, float] | None = None) -> dict[str, int]:
    """When each flow ended (microseconds); flows begin at their times, in order, with their work."""
    flows: Flows[str] = Flows()
    ends: dict[str, int] = {}

    def pass_until(at_us: float) -> None:
        while (next_us := flows.next_us()) is not None and next_us <= at_us:
            ends.update({flow.owner: flows.now_us for flow in flows.end()})

    steps = [(at, 1, n, work) for n, (at, work) in enumerate(begins)]
    todo = sorted([*steps, *((at, 0, 0, capacity) for at, capacity in (resizes or {}).items())])
    for at_us, begins_one, number, amount in todo:
        pass_until(at_us)
        flows.now_us = max(flows.now_us, at_us)
        if begins_one:
            flows.begin(pool, amount, str(number))
        else:
            flows.resize(pool, amount)
    pass_until(inf)
    return ends


@dataclass
class Left:
    at_us: float
    work: float


def plainly(capacity: float, cap: float, begins: list[tuple[int, float]]) -> dict[str, float]:
    """The same by going from event to event, with everybody's rest of work reduced each time."""
    waiting = sorted((at, n, work) for n, (at, work) in enumerate(begins))
    running: dict[str, float] = {}
    ends: dict[str, float] = {}
    now = 0.0
    while waiting or running:
        rate = min(cap, capacity / len(running)) if running else 0.0
        first_end = now + min(running.values()) / rate if running else inf
        first_begin = waiting[0][0] if waiting else inf
        until = min(first_end, first_begin)
        running = {name: left - rate * (until - now) for name, left in running.items()}
        now = until
        for name in [name for name, left in running.items() if left <= 1e-9]:
            ends[name] = now
            del running[name]
        while waiting and waiting[0][0] <= now:
            _, number, work = waiting.pop(0)
            running[str(number)] = work
    return ends


@pytest.mark.parametrize(
    ("capacity", "cap", "begins", "ends"),
    [
        (1.0, inf, [(0, 100.0)], [100]),
        (1.0, inf, [(0, 100.0), (0, 100.0)], [200, 200]),
        (1.0, inf, [(0, 100.0), (50, 100.0)], [150, 200]),
        (10.0, 1.0, [(0, 100.0), (0, 50.0)], [100, 50]),
        (2.0, 1.0, [(0, 90.0), (0, 90.0), (0, 90.0)], [135, 135, 135]),
        (inf, 1.0, [(0, 5.5), (3, 0.0)], [6, 3]),
    ],
)
def test_when_flows_end(capacity: float, cap: float, begins: list[tuple[int, float]], ends: list[int]) -> None:
    ends_s = run(Pool("p", capacity, cap), begins)
    assert [ends_s[str(n)] for n in range(len(begins))] == ends


def test_a_pool_without_capacity_waits() -> None:
    pool: Pool[str] = Pool("p", 0.0)
    assert run(pool, [(0, 100.0)]) == {}
    assert run(Pool("p", 0.0), [(0, 100.0)], {500: 2.0}) == {"0": 550}


def test_a_pool_without_limit_lets_go_of_what_had_to_wait() -> None:
    assert run(Pool("p", 0.0), [(0, 100.0), (300, 5.0)], {500: inf}) == {"0": 500, "1": 500}
    assert run(Pool("p", 1.0), [(0, 100.0), (700, 5.0)], {50: inf, 600: 1.0}) == {"0": 50, "1": 705}


def test_what_waits_for_a_pool_without_limit_has_a_moment_left() -> None:
    flows: Flows[str] = Flows()
    pool: Pool[str] = Pool("p", 0.0)
    flow = flows.begin(pool, 100.0, "it")
    flows.resize(pool, inf)
    assert flow.left_us(0) == 1


def test_a_flow_that_is_dropped_leaves_its_share_to_the_others() -> None:
    flows: Flows[str] = Flows()
    pool: Pool[str] = Pool("p", 1.0)
    kept, dropped = flows.begin(pool, 100.0, "kept"), flows.begin(pool, 100.0, "dropped")
    flows.now_us = 100
    flows.drop(dropped)
    flows.drop(dropped)
    assert kept.left_us(100) == 50
    assert [flow.owner for flow in flows.end()] == ["kept"]
    assert flows.now_us == 150
    assert flows.next_us() is None


BEGINS = st.lists(st.tuples(st.integers(0, 5_000), st.floats(1.0, 20_000.0)), min_size=1, max_size=12)


@pytest.mark.slow
@settings(max_examples=150)
@given(begins=BEGINS, capacity=st.floats(0.1, 50.0), cap=st.floats(0.1, 20.0) | st.just(inf))
def test_it_is_processor_sharing(begins: list[tuple[int, float]], capacity: float, cap: float) -> None:
    """Each end is rounded up to a microsecond; one such delay moves every later end by at most as much."""
    ends_s, expected = run(Pool("p", capacity, cap), begins), plainly(capacity, cap, begins)
    assert ends_s.keys() == expected.keys()
    for name, end in expected.items():
        assert -1e-3 <= ends_s[name] - end <= 2 * len(begins) + 1


@pytest.mark.slow
@settings(max_examples=100)
@given(works=st.lists(st.floats(1.0, 1e6), min_size=1, max_size=20), capacity=st.floats(0.5, 100.0))
def test_a_busy_pool_does_all_its_work_at_its_capacity(works: list[float], capacity: float) -> None:
    ends = run(Pool("p", capacity), [(0, work) for work in works])
    whole = ceil(sum(works) / capacity)
    assert whole <= max(ends.values()) + 1
    assert max(ends.values()) <= whole + len(works) + 1


@given(begins=BEGINS)
@settings(max_examples=50)
def test_the_same_comes_again(begins: list[tuple[int, float]]) -> None:
    assert run(Pool("p", 3.0), begins) == run(Pool("p", 3.0), begins)
