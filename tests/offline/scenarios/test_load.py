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
from fawkes.offline.scenarios.plan import _name as alone_name
from fawkes.offline.scenarios.scenario import simulate
from fawkes.report import history
from fawkes.sim.hadoop.constants import DAS4
from fawkes.sim.hadoop.profile import profile_of
from fawkes.workload.making.classes import GB
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
    ((profile, by_chance),) = {(profile_of(job.spec), True) for job in even_plan.demands[0].jobs}
    names = [alone_name(profile, by_chance, turn) for turn in range(3)]
    apart = plan(demand("a", 2, come=coming([job(name, 1000 * number) for number, name in enumerate(names)], "a")))
    each = [job.run_us or 0 for job in history.jobs(simulate(ready(replace(apart, nodes=even_plan.nodes[:2]), "None")))]
    assert len(set(each)) == 3
    assert reference_times(even_plan.scenario(CATALOG), even_plan.demands) == {"a-0": round(fmean(each))}


@pytest.mark.parametrize("replication", [1, 3])
def test_a_reference_time_is_that_under_the_replication_of_its_mr_cluster(replication: int) -> None:
    come = coming([replace(job("a-1"), output_bytes=5 * GB)], "a")
    mine = demand("a", 4, come=come)
    mine = replace(mine, spec=replace(mine.spec, replication=replication))
    alone = plan(mine, nodes=4, constants=replace(DAS4, spread=0.0))
    (ran,) = history.jobs(simulate(ready(alone, "None")))
    assert ran.finished_us is not None
    assert ran.run_us is not None
    assert ran.slowdown == pytest.approx((ran.finished_us - ran.submitted_us) / ran.run_us, rel=0.01)


def test_a_reference_time_depends_on_no_other_job_and_no_other_mr_cluster() -> None:
    """Neither on the order in the file: jobs of other files are held against the same time."""
    a = demand("a", come=coming([job("a-1"), job("a-2", gigabytes=2)], "a"))
    b = demand("b", come=coming([job("b-1", gigabytes=3), job("b-2")], "b"))
    both = plan(a, b)
    times = {str(name): us for name, us in reference_times(both.scenario(CATALOG), both.demands).items()}
    assert times["a-1"] == times["b-2"]
    for others in ((b, a), (b,), (demand("a", 3, come=a.jobs), b)):
        again = {str(name): us for name, us in reference_times(both.scenario(CATALOG), others).items()}
        assert {name: again[name] for name in ("b-1", "b-2")} == {name: times[name] for name in ("b-1", "b-2")}


@pytest.mark.parametrize(("at_s", "delay_s"), [(0, 605), (600, 605), (600, 10)])
def test_a_job_that_counts_from_the_start_waits_for_the_request_of_its_mr_cluster(at_s: int, delay_s: int) -> None:
    """The same as live, also where it is perturbed; and jobs do not become a batch at the request."""
    come = tuple(replace(each, at_us=delay_s * SECOND_US) for each in jobs("b", 20))
    late = demand("b", at_s=at_s, from_start=come)
    (moved,) = shaken((late,), 1, 1, 60 * SECOND_US)
    times = [each.at_us for each in moved.from_start]
    assert min(times) >= at_s * SECOND_US
    assert len(set(times)) == 20
    submitted = [job.submitted_us for job in history.jobs(simulate(ready(plan(late), "None")))]
    assert submitted == [max(at_s, delay_s) * SECOND_US] * 20


def test_a_chain_from_one_mr_cluster_to_another_can_be_perturbed() -> None:
    first, then = coming([job("t0", 10)], "a"), coming([job("t1", 10, after=("t0",)), job("t2", 5, after=("t1",))], "b")
    moved = shaken((demand("a", come=first), demand("b", come=then)), 1, 1, 9 * SECOND_US)
    assert {each.spec.id: each.after for each in moved[1].jobs} == {"t1": ("t0",), "t2": ("t1",)}
    times = {str(each.spec.id): each.at_us for each in moved[1].jobs}
    assert times["t2"] >= times["t1"]


@pytest.mark.parametrize(("shuffle_bytes", "reduces"), [(0, 0), (1, 1), (10**9, 1), (10**9 + 1, 2)])
def test_reduces_that_a_trace_does_not_know_follow_from_the_shuffle(shuffle_bytes: int, reduces: int) -> None:
    row = TraceJob(id="x", submit_us=0, input_bytes=10, shuffle_bytes=shuffle_bytes, maps=1)
    assert profile_of_job(row).reduces == reduces
