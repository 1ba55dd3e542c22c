from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import UserError
from fawkes.workload.changing.operations import merge, perturb, sample, scale, scale_machines
from fawkes.workload.formats.swim import scaled
from fawkes.workload.model import Trace, TraceJob, in_order

S = 1_000_000


@st.composite
def traces(draw: st.DrawFn, prefix: str = "j") -> Trace:
    times = sorted(draw(st.lists(st.integers(0, 10**10), min_size=1, max_size=6)))
    sizes = st.none() | st.integers(0, 10**13)
    counts = st.none() | st.integers(0, 5000)
    jobs = [
        TraceJob(
            id=f"{prefix}{at}",
            submit_us=time,
            input_bytes=draw(sizes),
            output_bytes=draw(sizes),
            maps=draw(counts),
            reduces=draw(counts),
            map_us=draw(st.none() | st.integers(0, 10**9)),
            after=tuple(draw(st.lists(st.sampled_from([f"{prefix}{number}" for number in range(at)]), unique=True)))
            if at
            else (),
            cluster=draw(st.sampled_from(["", "own"])),
            deadline_us=draw(st.none() | st.integers(1, 10**10)),
        )
        for at, time in enumerate(times)
    ]
    return Trace(source="drawn", jobs=tuple(jobs))


def jobs(*ids: str, **facts: Any) -> Trace:
    return Trace(source="made", jobs=tuple(TraceJob(id=name, submit_us=at * S, **facts) for at, name in enumerate(ids)))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(traces(), st.fractions(min_value=Fraction(1, 50), max_value=50), st.integers(0, 9))
def test_deadlines_stay_whatever_becomes_of_arrivals_and_sizes(trace: Trace, factor: Fraction, seed: int) -> None:
    """They count from the submission, and tasks stay as long as they are."""
    known = {job.id: job.deadline_us for job in trace.jobs}
    for changed in (
        scale(trace, time=factor, size=factor),
        scale_machines(trace, machines=600, target=20),
        perturb(trace, spread_us=10**6, deviation=0.2, seed=seed),
        sample(trace, share=0.7, seed=seed),
        merge([trace]),
    ):
        assert all(job.deadline_us == known[job.id] for job in changed.jobs)


FACTORS = st.fractions(min_value=Fraction(1, 50), max_value=50)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(traces(), FACTORS)
def test_times_there_and_back_are_the_same_but_for_rounding(trace: Trace, factor: Fraction) -> None:
    back = scale(scale(trace, time=factor), time=1 / factor)
    for job, same in zip(trace.jobs, back.jobs, strict=True):
        assert abs(same.submit_us - job.submit_us) <= 1 / factor + 1
        assert replace(same, submit_us=job.submit_us) == job


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(traces(), FACTORS)
def test_sizes_grow_and_shrink_together_and_nothing_stays_nothing(trace: Trace, factor: Fraction) -> None:
    for job, other in zip(trace.jobs, scale(trace, size=factor).jobs, strict=True):
        for name in ("input_bytes", "output_bytes", "reduces"):
            size, changed = getattr(job, name), getattr(other, name)
            assert (changed is None, changed == 0) == (size is None, size == 0)
            if size:
                assert changed == max(1, round(size * factor))
        assert (other.submit_us, other.map_us) == (job.submit_us, job.map_us)


def test_maps_follow_blocks_where_they_did_so_before() -> None:
    by_blocks = TraceJob(id="a", submit_us=0, input_bytes=300 << 20, maps=3, run_us=5)
    by_tasks = replace(by_blocks, map_us=9)
    rigid = TraceJob(id="a", submit_us=0, processors=4, run_us=5)
    for job, maps, processors, run_us in ((by_blocks, 2, None, None), (by_tasks, 2, None, None), (rigid, None, 2, 5)):
        (changed,) = scale(Trace(source="", jobs=(job,)), size=0.5).jobs
        assert (changed.maps, changed.processors, changed.run_us) == (maps, processors, run_us)
    (small,) = scale(Trace(source="", jobs=(by_blocks,)), size=Fraction(1, 10)).jobs
    assert (small.input_bytes, small.maps) == (30 << 20, 1)


def test_machines_are_swims_rules() -> None:
    trace = jobs("a", "b", input_bytes=10**12, shuffle_bytes=10**10, output_bytes=5)
    made = scale_machines(trace, machines=600, target=20, time=0.5, bytes_per_reducer=10**8)
    expected = [scaled(job, 0.5, Fraction(20, 600), machines=20, bytes_per_reducer=10**8) for job in trace.jobs]
    assert list(made.jobs) == expected
    assert (made.jobs[1].output_bytes, made.jobs[1].reduces) == (1024, 3)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(traces(), st.integers(0, 5), st.data())
def test_a_sample_is_a_part_in_the_same_order(trace: Trace, seed: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(trace.jobs)))
    taken = sample(trace, jobs=count, seed=seed)
    assert len(taken.jobs) == count
    there = {job.id: job for job in trace.jobs}
    assert all(replace(job, after=there[job.id].after) == there[job.id] for job in taken.jobs)
    places = [trace.jobs.index(there[job.id]) for job in taken.jobs]
    assert places == sorted(places)
    in_order(taken.jobs)
    assert sample(trace, jobs=count, seed=seed) == taken


def test_a_sample_bridges_what_is_left_out() -> None:
    chain = [TraceJob(id=f"j{at}", submit_us=at * S, after=(f"j{at - 1}",) if at else ()) for at in range(5)]
    trace = Trace(source="", jobs=(*chain, TraceJob(id="x", submit_us=9 * S, after=("j3", "j4"))))
    window = sample(trace, window_us=(1 * S, 4 * S))
    assert [(job.id, job.submit_us // S, job.after) for job in window.jobs] == [
        ("j1", 0, ()),
        ("j2", 1, ("j1",)),
        ("j3", 2, ("j2",)),
    ]
    without = Trace(source="", jobs=tuple(job for job in trace.jobs if job.id in ("j0", "x")))
    seeds = (seed for seed in range(200) if {job.id for job in sample(trace, jobs=2, seed=seed).jobs} == {"j0", "x"})
    taken = sample(trace, jobs=2, seed=next(seeds))
    assert [job.after for job in taken.jobs] == [(), ("j0",)]
    assert [job.id for job in taken.jobs] == [job.id for job in without.jobs]


def test_shares_and_what_cannot_be_sampled() -> None:
    trace = jobs(*"abcdefghij")
    assert len(sample(trace, share=0.34).jobs) == 3
    assert len(sample(trace, share=0.01).jobs) == 1
    assert len(sample(trace, share=1).jobs) == 10
    assert len(sample(trace, jobs=2, window_us=(3 * S, 6 * S)).jobs) == 2
    with pytest.raises(UserError, match="there are 10 jobs, but 11 were requested"):
        sample(trace, jobs=11)
    with pytest.raises(UserError, match="no job is left"):
        sample(trace, window_us=(20 * S, 30 * S))
    with pytest.raises(ValueError, match="not a share"):
        sample(trace, share=0)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(traces(), st.integers(0, 10**8), st.integers(0, 5))
def test_shaken_arrivals_are_near_and_sizes_are_another_matter(trace: Trace, spread_us: int, seed: int) -> None:
    shaken = perturb(trace, spread_us=spread_us, seed=seed)
    assert {job.id for job in shaken.jobs} == {job.id for job in trace.jobs}
    both = perturb(trace, spread_us=spread_us, deviation=0.5, seed=seed)
    assert [(job.id, job.submit_us) for job in both.jobs] == [(job.id, job.submit_us) for job in shaken.jobs]
    sized = {job.id: job.input_bytes for job in perturb(trace, deviation=0.5, seed=seed).jobs}
    assert {job.id: job.input_bytes for job in both.jobs} == sized
    assert [job.submit_us for job in both.jobs] == sorted(job.submit_us for job in both.jobs)


def test_factors_of_sizes_have_mean_one_and_the_deviation() -> None:
    trace = jobs(*map(str, range(4000)), input_bytes=10**9)
    sizes = [job.input_bytes or 0 for job in perturb(trace, deviation=0.5, seed=3).jobs]
    mean = sum(sizes) / len(sizes) / 1e9
    deviation = (sum((size / 1e9 - mean) ** 2 for size in sizes) / len(sizes)) ** 0.5
    # 4,000 draws: the mean is known to 0.008, the deviation to about 0.02.
    assert mean == pytest.approx(1, abs=0.04)
    assert deviation == pytest.approx(0.5, abs=0.08)
    with pytest.raises(ValueError, match="negative"):
        perturb(trace, deviation=-1)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(traces(), min_size=1, max_size=3), st.booleans())
def test_merging_keeps_all_jobs_and_their_order(parts: list[Trace], named: bool) -> None:
    names = [f"c-{at}" for at in range(len(parts))] if named else []
    whole = merge(parts, clusters=names, labels=names)
    assert len(whole.jobs) == sum(len(part.jobs) for part in parts)
    assert [job.submit_us for job in whole.jobs] == sorted(job.submit_us for job in whole.jobs)
    in_order(whole.jobs)
    for at, part in enumerate(parts):
        prefix = f"{names[at] if named else at + 1}-" if len(parts) > 1 else ""
        mine = {f"{prefix}{job.id}": job for job in part.jobs}
        jobs = [job for job in whole.jobs if job.id in mine]
        assert [job.id for job in jobs] == list(mine)
        for job in jobs:
            before = mine[job.id]
            assert job.after == tuple(f"{prefix}{parent}" for parent in before.after)
            assert job.cluster == (names[at] if named else before.cluster)


def test_labels_under_which_ids_meet_again_give_way_to_numbers() -> None:
    """`a` and `b-1` would be `a-b-1`, and so would `a-b` and `1`."""
    whole = merge([jobs("b-1", "1"), jobs("1")], clusters=["a", "a-b"], labels=["a", "a-b"])
    assert sorted((job.id, job.cluster) for job in whole.jobs) == [("1-1", "a"), ("1-b-1", "a"), ("2-1", "a-b")]


def test_ids_stay_when_they_differ() -> None:
    whole = merge([jobs("a", "b"), jobs("c")], clusters=[None, "c-2"])
    assert [(job.id, job.cluster) for job in whole.jobs] == [("a", ""), ("c", "c-2"), ("b", "")]
    with pytest.raises(ValueError, match="2 workloads, 1 MR-clusters"):
        merge([jobs("a"), jobs("b")], clusters=["c-1"])


def test_factors_that_cannot_be() -> None:
    for bad in ({"time": -1}, {"size": -0.5}):
        with pytest.raises(ValueError, match="negative"):
            scale(jobs("a"), **bad)
    with pytest.raises(ValueError, match="target is 0"):
        scale_machines(jobs("a"), machines=600, target=0)
