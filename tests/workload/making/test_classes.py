from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import UserError
from fawkes.base.units import SECOND_US
from fawkes.workload.making.arrivals import NAMED
from fawkes.workload.making.classes import (
    APPLICATIONS,
    BTWORLD_JOBS,
    BTWORLD_SETS,
    DEFAULTS,
    GB,
    NAMES,
    RECONSTRUCTION,
    SIZES,
    STAGES,
    ClassLoad,
    Mix,
    chain,
    generate,
    load_ratio,
    size_of,
    workload,
)
from fawkes.workload.model import in_order

SOURCES = {"paper", "HiBench", "reconstruction"}


@pytest.mark.parametrize(
    ("code", "size", "output", "mr_jobs"),
    [
        ("WC", "200GB", 5.5e6, 1),
        ("ST", "200GB", 200e9, 1),
        ("PR", "50GB", 1.5e6, 9),
        ("KM", "70GB", 72e9, 6),
        ("TT", "100GB", 3.9e6, 1),
        ("AH", "100GB", 90e3, 2),
    ],
)
def test_table_1(code: str, size: str, output: float, mr_jobs: int) -> None:
    assert APPLICATIONS[code].input_bytes == size_of(size)
    jobs = chain("x", code, size)
    assert len(jobs) == mr_jobs
    assert jobs[0].input_bytes == size_of(size)
    assert jobs[-1].output_bytes == pytest.approx(output, rel=1e-6)


@pytest.mark.parametrize(
    ("code", "size", "maps", "shuffle"),
    [
        ("WC", "small", 8, 66_500_000),
        ("WC", "medium", 373, 3_325_000_000),
        ("ST", "large", 746, 100_000_000_000),
        ("ST", "200GB", 1491, 200_000_000_000),
    ],
)
def test_sizes_give_maps_and_shuffle(code: str, size: str, maps: int, shuffle: int) -> None:
    (job,) = chain("x", code, size, reduces=7)
    assert (job.id, job.maps, job.reduces, job.shuffle_bytes) == ("x", maps, 7, shuffle)


def test_every_number_says_where_it_comes_from() -> None:
    numbers = [number for stage in STAGES.values() for number in (stage.input, stage.shuffle, stage.output)]
    numbers += [app.iterations for app in APPLICATIONS.values()] + list(BTWORLD_SETS.values())
    assert {number.source for number in numbers} == SOURCES
    assert all(number.value >= 0 for number in numbers)


def test_an_application_of_several_jobs_is_a_chain() -> None:
    jobs = chain("km", "KM", "medium", submit_us=5, after=("before",), reduces=3)
    assert [job.after for job in jobs] == [("before",), *((job.id,) for job in jobs[:-1])]
    assert [job.application for job in jobs] == ["KM-iterate"] * 5 + ["KM-assign"]
    assert [job.reduces for job in jobs] == [3] * 5 + [0]
    assert {job.submit_us for job in jobs} == {5}
    assert [job.application for job in chain("pr", "PR", "small")] == ["PR-dangling", "PR-update", "PR-sort"] * 3


def test_btworld_is_as_the_paper_counts_it() -> None:
    jobs = chain("bt", "BT", "large")
    assert len(jobs) == 26
    assert len({job.input_bytes for job in jobs}) == 13
    assert all(job.after == (before.id,) for before, job in pairwise(jobs))
    assert len({name.split("-")[0] for name, *_ in BTWORLD_JOBS} - {"Join"}) == 14
    assert (jobs[0].input_bytes, jobs[0].output_bytes) == (100 * GB, 3_900_000)
    # Pig's rule: a reduce for each GB read, here up to the workload's 20.
    assert {(job.maps, job.reduces) for job in jobs} >= {(746, 20), (75, 10), (23, 3), (1, 1)}
    ratios = [STAGES[job.application].output.value for job in jobs]
    assert min(ratios) == pytest.approx(0.9e-6)
    assert max(ratios) <= 100


def test_each_job_of_btworld_reads_what_is_there_and_writes_what_others_can_read() -> None:
    there = {"raw"}
    for _, reads, writes, _, _ in BTWORLD_JOBS:
        assert reads in there
        assert writes not in there
        there.add(writes)
    assert there == set(BTWORLD_SETS)


def test_what_is_not_reconstructed_of_btworld_is_the_papers_table() -> None:
    given_by_paper = {name for name, part in BTWORLD_SETS.items() if part.source != RECONSTRUCTION}
    assert given_by_paper == {"raw", "tot", "ah-rows", "ah"}


@pytest.mark.parametrize(
    ("name", "counts", "apps"),
    [
        ("WKLD-A", ({1: 50}, {1: 50}, {1: 50}), {"WC"}),
        ("WKLD-B", ({1: 90}, {50: 5}, {100: 5}), {"WC"}),
        ("WKLD-C", ({1: 90}, {50: 5}, {100: 5}), {"ST"}),
        ("WKLD-D", ({1: 165}, {1: 170, 50: 8, 100: 10}, {1: 555}), {"WC", "ST"}),
        ("WKLD-E", ({1: 287, 50: 41, 100: 31}, None, {1: 559}), {"WC", "ST"}),
    ],
)
def test_table_2(name: str, counts: tuple[dict[int, int] | None, ...], apps: set[str]) -> None:
    loads = workload(name, seed=1)
    assert [load.cluster for load in loads] == ["c-1", "c-2", "c-3"]
    for load, expected in zip(loads, counts, strict=True):
        in_order(load.jobs)
        if expected is None:
            assert len(load.jobs) == 26
            continue
        assert Counter((job.input_bytes or 0) // GB for job in load.jobs) == expected
        assert {job.application for job in load.jobs} == apps


def test_the_jobs_of_all_sizes_are_as_many_as_the_paper_says_and_mostly_small() -> None:
    for counts, jobs in ((DEFAULTS.counts_d, 188), (DEFAULTS.counts_e, 359)):
        assert sum(count for _, count in counts) == jobs
        assert [size for size, _ in counts] == list(SIZES)
        assert dict(counts)["small"] > 0.75 * jobs


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("name", "heaviest", "ratio"), [("WKLD-D", "c-2", 3), ("WKLD-E", "c-1", 8)])
def test_the_load_ratios_of_the_paper(name: str, heaviest: str, ratio: int, seed: int) -> None:
    loads = workload(name, seed)
    assert max(loads, key=lambda load: load.tasks).cluster == heaviest
    assert load_ratio(loads) == pytest.approx(ratio, rel=0.15)


def test_the_load_of_the_mean_job_in_d_is_three_times_that_of_a_small_one() -> None:
    first, second, _ = workload("WKLD-D", 1)
    per_job = [load.tasks / len(load.jobs) for load in (first, second)]
    assert per_job[1] / per_job[0] == pytest.approx(3, rel=0.02)


@pytest.mark.parametrize(
    ("name", "requested_s", "data_gb"),
    [
        ("WKLD-A", (0, 100, 200), (50, 50, 50)),
        ("WKLD-B", (0, 0, 0), (50, 50, 100)),
        ("WKLD-D", (0, 0, 0), (200, 200, 200)),
    ],
)
def test_requests_and_data(name: str, requested_s: tuple[int, ...], data_gb: tuple[int, ...]) -> None:
    loads = workload(name, 1)
    assert tuple(load.requested_us // SECOND_US for load in loads) == requested_s
    assert tuple(load.data_bytes // GB for load in loads) == data_gb
    assert all(job.submit_us >= load.requested_us for load in loads for job in load.jobs)


def times(load: ClassLoad) -> list[int]:
    return [job.submit_us for job in load.jobs]


def test_arrivals_of_table_2() -> None:
    assert all(set(times(load)) == {load.requested_us} for name in NAMES[:3] for load in workload(name, 1))
    average, bursty, _ = workload("WKLD-D", 1)
    assert len(set(times(average))) == 165
    assert times(average)[-1] == pytest.approx(DEFAULTS.span_us, rel=0.3)
    large = [job.submit_us for job in bursty.jobs if job.input_bytes == 100 * GB]
    near = [min(abs(at - other) for other in large[:place] + large[place + 1 :]) for place, at in enumerate(large)]
    assert sum(gap <= DEFAULTS.burst_within_us for gap in near) >= 9


def test_the_same_seed_gives_the_same_jobs_and_another_one_other_times() -> None:
    first, again, other = workload("WKLD-D", 1), workload("WKLD-D", 1), workload("WKLD-D", 2)
    assert first == again
    for first_job, two in zip(first, other, strict=True):
        assert times(first_job) != times(two)
        assert [job.application for job in first_job.jobs] != [job.application for job in two.jobs]
        assert first_job.tasks == two.tasks
    assert times(first[0])[:50] != times(first[2])[:50]


def test_a_choice_changes_what_it_is_about() -> None:
    few = replace(DEFAULTS, reduces=1, counts_d=(("small", 3), ("large", 1)))
    first, second, _ = workload("WKLD-D", 1, few)
    assert first.tasks == 165 * 9
    assert second.tasks == 3 * 9 + 747


@pytest.mark.parametrize(
    ("mix", "arrivals", "said"),
    [
        (Mix(("WC",), (("small", 1),)), "averge", "Did you mean 'average'"),
        (Mix(("WX",), (("small", 1),)), "batch", "no application 'WX'"),
        (Mix(("WC",), (("smal", 1),)), "batch", "small, medium, large"),
        (Mix(("WC",), (("small", 0),)), "batch", "0 jobs"),
        (Mix((), (("small", 1),)), "batch", "without jobs"),
        (Mix(("WC",), ()), "batch", "without jobs"),
    ],
)
def test_what_cannot_be_generated_is_refused(mix: Mix, arrivals: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        generate("c-1", mix, arrivals, 1)


def test_an_unknown_workload_is_refused() -> None:
    with pytest.raises(UserError, match="no workload 'WKLD-F' in the paper"):
        workload("WKLD-F", 1)


@given(
    st.lists(st.sampled_from(sorted(APPLICATIONS)), min_size=1, max_size=3, unique=True),
    st.dictionaries(st.sampled_from(("small", "large", "3GiB")), st.integers(1, 6), min_size=1),
    st.sampled_from(NAMED),
    st.integers(0, 5),
)
@settings(max_examples=30, deadline=None)
def test_any_mix_has_all_its_jobs_in_an_order_that_can_be(
    apps: list[str], counts: dict[str, int], arrivals: str, seed: int
) -> None:
    mix = Mix(tuple(apps), tuple(counts.items()))
    jobs = generate("c-9", mix, arrivals, seed, start_us=77)
    in_order(jobs)
    assert [job.submit_us for job in jobs] == sorted(job.submit_us for job in jobs)
    assert min(job.submit_us for job in jobs) >= 77
    runs = Counter(job.id.split(".")[0] for job in jobs)
    assert len(runs) == sum(counts.values())
    assert sum(not job.after for job in jobs) == (1 if arrivals == "sequential" else len(runs))
    assert all(job.application in STAGES and (job.maps or 0) >= 1 for job in jobs)
