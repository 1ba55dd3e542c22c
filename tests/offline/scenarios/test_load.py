from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.core.values.events import Requested, Submitted
from fawkes.core.values.model import ClusterId
from fawkes.offline.scenarios.applications import profile_of_job
from fawkes.offline.scenarios.load import PAPER_CORE_NODES, coming, paper, referenced, shaken, wishes
from fawkes.offline.scenarios.plan import EXPERIMENTS, reference_times
from fawkes.offline.scenarios.scenario import simulate
from fawkes.report import history
from fawkes.sim.hadoop.constants import DAS4
from fawkes.workload.model import TraceJob
from tests.offline.support import CATALOG, demand, job, jobs, plan, ready


@pytest.mark.parametrize(
    ("name", "nodes", "counts"),
    [
        ("WKLD-A", 60, [50, 50, 50]),
        ("WKLD-B", 60, [90, 5, 5]),
        ("WKLD-C", 60, [90, 5, 5]),
        ("WKLD-D", 48, [165, 188, 555]),
        ("WKLD-E", 48, [359, 26, 559]),
    ],
)
def test_the_papers_workloads_have_its_pool_and_jobs(name: str, nodes: int, counts: list[int]) -> None:
    demands = paper(name, 1)
    # As `fawkes paper` has it: jobs come to an MR-cluster that runs, after its data was loaded.
    assert [len(demand.once_running) for demand in demands] == counts
    assert [len(demand.all_jobs) for demand in demands] == counts
    assert [demand.spec.min_nodes for demand in demands] == [PAPER_CORE_NODES] * 3
    assert EXPERIMENTS[name].nodes == nodes
    # Requests come 100 s apart in A.
    apart = 100 * SECOND_US if name == "WKLD-A" else 0
    assert [demand.requested_us for demand in demands] == [0, apart, 2 * apart]
    assert all(job.at_us >= 0 for each in demands for job in each.once_running)


@given(st.integers(0, 5), st.integers(1, 4), st.integers(0, 90))
def test_shaken_jobs_are_the_same_jobs_near_their_times(seed: int, replay: int, spread_s: int) -> None:
    before = (demand("a", come=jobs("a", 8, every_s=100)), demand("b", come=jobs("b", 5), at_s=60))
    after = shaken(before, seed, replay, spread_s * SECOND_US)
    assert shaken(before, seed, replay, spread_s * SECOND_US) == after
    for earlier, other in zip(before, after, strict=True):
        was = {each.spec.id: each for each in earlier.jobs}
        now = {each.spec.id: each for each in other.jobs}
        assert was.keys() == now.keys()
        assert replace(earlier, jobs=()) == replace(other, jobs=())
        for name, each in now.items():
            assert each.spec == was[name].spec
            assert 0 <= each.at_us <= was[name].at_us + spread_s * SECOND_US
            assert each.at_us >= was[name].at_us - spread_s * SECOND_US


def test_what_one_mr_cluster_draws_does_not_depend_on_another() -> None:
    a, b = demand("a", come=jobs("a", 8)), demand("b", come=jobs("b", 8))
    alone = shaken((a,), 1, 1, 30 * SECOND_US)
    assert shaken((b, a), 1, 1, 30 * SECOND_US)[1] == alone[0]
    assert shaken((a,), 1, 2, 30 * SECOND_US) != alone


def test_wishes_come_at_their_times() -> None:
    come = coming([job("a-1", 5), job("a-2", 9, after=("a-1",), think_s=3)], "a")
    made = wishes((demand("a", come=come, at_s=10),), None)
    assert [(type(wish.event), wish.event.at_us // SECOND_US, wish.think_us // SECOND_US) for wish in made] == [
        (Requested, 10, 0),
        (Submitted, 15, 0),
        (Submitted, 19, 3),
    ]
    assert [wish.jobs for wish in made] == [(), (), ("a-1",)]


def test_jobs_of_a_mr_cluster_behind_another_count_from_its_request() -> None:
    behind = demand("b", come=jobs("b", 1), at_s=25, behind=ClusterId("a"), once_running=jobs("late", 1))
    request, first, late = wishes((behind,), None)
    assert (request.running, request.delay_us) == ("a", 25 * SECOND_US)
    assert (first.running, first.delay_us) == ("a", 25 * SECOND_US)
    assert (late.running, late.delay_us) == ("b", 0)


@pytest.mark.parametrize(("submit_s", "think_s"), [(30, 5), (300, 5), (0, 0), (0, 200)])
@pytest.mark.parametrize("kind", ["request", "behind", "running", "start"])
def test_a_job_with_after_comes_after_its_thinking_but_not_before_its_own_time(
    kind: str, submit_s: int, think_s: int
) -> None:
    """Also where its time counts from an MR-cluster that runs: what waits for both never waits for their sum."""
    come = coming([job("b-1"), job("b-2", submit_s, after=("b-1",), think_s=think_s)], "b")
    first = demand("a", come=jobs("a", 1))
    there = {
        "request": demand("b", come=come, at_s=12),
        "behind": demand("b", come=come, at_s=12, behind=ClusterId("a")),
        "running": demand("b", once_running=come),
        "start": demand("b", from_start=come),
    }
    before, after = history.jobs(simulate(ready(plan(first, there[kind]), "None")))[-2:]
    own_us = before.submitted_us + submit_s * SECOND_US
    assert after.submitted_us == max(own_us, (before.finished_us or 0) + think_s * SECOND_US)


@pytest.mark.parametrize(
    ("every_s", "idle_s", "own_s", "kept_s"),
    [(0, 60, None, None), (200, 60, None, 260), (200, None, None, None), (200, 60, 7, 7)],
    ids=["batch", "gaps", "never-idle", "its-own"],
)
def test_a_mr_cluster_is_kept_through_the_gaps_of_its_jobs(
    every_s: int, idle_s: int | None, own_s: int | None, kept_s: int | None
) -> None:
    wanted = demand("a", come=jobs("a", 3, every_s=every_s))
    wanted = replace(wanted, spec=replace(wanted.spec, idle_us=None if own_s is None else own_s * SECOND_US))
    request = wishes((wanted,), None if idle_s is None else idle_s * SECOND_US)[0].event
    assert isinstance(request, Requested)
    assert request.spec.idle_us == (None if kept_s is None else kept_s * SECOND_US)


def test_a_reference_time_is_that_of_the_job_alone() -> None:
    come = coming([job("a-1"), job("a-2"), job("a-3", gigabytes=9)], "a")
    known = replace(come[1], spec=replace(come[1].spec, reference_us=5))
    same = replace(DAS4, spread=0.0)
    unshaken = plan(demand("a", 2, come=(come[0], known, come[2])), constants=same)
    times = reference_times(unshaken.scenario(CATALOG), unshaken.demands)
    assert set(times) == {"a-1", "a-3"}
    small, given_one, large = referenced(unshaken.demands, times)[0].jobs
    assert given_one.spec.reference_us == 5
    # The same job on a pool of just its minimum, with nobody beside it.
    alone = simulate(ready(plan(demand("a", 2, come=come[:1]), nodes=2, constants=same), "None"))
    (ran,) = history.jobs(alone)
    assert small.spec.reference_us == ran.run_us
    assert (large.spec.reference_us or 0) > (small.spec.reference_us or 0)


def test_a_reference_time_is_a_mean_when_tasks_differ_by_chance() -> None:
    even_plan = plan(demand("a", 2, come=jobs("a", 1)))
    names = [f"alone-{number:06d}" for number in range(3)]
    apart = plan(demand("a", 2, come=coming([job(name, 1000 * number) for number, name in enumerate(names)], "a")))
    each = [job.run_us or 0 for job in history.jobs(simulate(ready(replace(apart, nodes=even_plan.nodes[:2]), "None")))]
    assert len(set(each)) == 3
    assert reference_times(even_plan.scenario(CATALOG), even_plan.demands) == {"a-0": round(fmean(each))}


@pytest.mark.parametrize(("shuffle_bytes", "reduces"), [(0, 0), (1, 1), (10**9, 1), (10**9 + 1, 2)])
def test_reduces_that_a_trace_does_not_know_follow_from_the_shuffle(shuffle_bytes: int, reduces: int) -> None:
    row = TraceJob(id="x", submit_us=0, input_bytes=10, shuffle_bytes=shuffle_bytes, maps=1)
    assert profile_of_job(row).reduces == reduces
