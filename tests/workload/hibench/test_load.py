from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError, UserError
from fawkes.offline.scenarios.applications import profile_of_job
from fawkes.workload.hibench.conf import PROFILES, Conf, Place
from fawkes.workload.hibench.load import (
    WORKLOADS,
    Program,
    load_programs,
    of_checkout,
    of_profile,
    of_size,
    workload_of,
)
from fawkes.workload.model import in_order

GB = 10**9


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("profile", PROFILES)
def test_every_program_has_every_profile(name: str, profile: str) -> None:
    program = of_profile(name, profile)
    jobs = workload_of([program]).jobs

    assert program.size_bytes > 0
    in_order(jobs)
    assert jobs[0].input_bytes == program.size_bytes
    for job in jobs:
        profile_of_job(job)


@pytest.mark.parametrize(
    ("program", "jobs"),
    [
        (of_profile("wordcount", "large"), ["wordcount"]),
        (of_profile("terasort", "small"), ["terasort"]),
        (of_profile("pagerank", "tiny"), [f"pagerank.0{n}" for n in (1, 2, 3)]),
        (of_profile("pagerank", "small"), [f"pagerank.0{n}" for n in range(1, 10)]),
        (of_profile("kmeans", "small"), [f"kmeans.0{n}" for n in range(1, 7)]),
    ],
)
def test_the_mr_jobs_of_a_program(program: Program, jobs: list[str]) -> None:
    assert [job.id for job in workload_of([program]).jobs] == jobs


def test_the_paper_s_sizes_as_bytes() -> None:
    (small,) = workload_of([of_size("wordcount", GB)]).jobs
    assert (small.maps, small.input_bytes, small.output_bytes) == (8, GB, 27_500)
    (sort,) = workload_of([of_size("sort", 200 * GB)]).jobs
    assert (sort.maps, sort.shuffle_bytes, sort.output_bytes) == (1491, 200 * GB, 200 * GB)
    rank = workload_of([of_size("pagerank", 50 * GB)]).jobs
    assert [job.application for job in rank] == ["PR-dangling", "PR-update", "PR-sort"] * 3
    assert rank[1].shuffle_bytes == round(5.3 / 1.21 * 50 * GB)
    assert rank[-1].output_bytes == 1_500_000
    means = workload_of([of_size("kmeans", 70 * GB)]).jobs
    assert [job.application for job in means] == [*["KM-iterate"] * 5, "KM-assign"]
    assert (means[-1].output_bytes, means[-1].reduces) == (72 * GB, 0)


def test_programs_one_after_another_or_together() -> None:
    chosen = [of_profile(name, "tiny") for name in ("sort", "pagerank", "sort")]

    assert [job.after for job in workload_of(chosen, think_us=5).jobs] == [
        (), ("sort",), ("pagerank.01",), ("pagerank.02",), ("pagerank.03",),
    ]  # fmt: skip
    assert [job.think_us for job in workload_of(chosen, think_us=5).jobs] == [0, 5, 0, 0, 5]
    together = workload_of(chosen, order="together", cluster="c-1").jobs
    assert {job.cluster for job in together} == {"c-1"}
    assert [job.id for job in together if not job.after] == ["sort", "pagerank.01", "sort-2"]


def test_a_checkout_says_reduces_and_files_as_well() -> None:
    rows = {
        "hibench.scale.profile": "own",
        "hibench.sort.own.datasize": "5000",
        "hibench.default.map.parallelism": "3",
        "hibench.default.shuffle.parallelism": "2",
    }
    conf = Conf(Path("x"), "micro/sort", rows, {key: Place(Path("x"), 1) for key in rows})

    assert of_checkout("sort", conf) == Program(name="sort", size_bytes=5000, files=3, reduces=2)


@pytest.mark.parametrize(
    ("name", "size", "says"),
    [
        ("sort", 0, "0 bytes are too little input"),
        ("terasort", 99, "It needs 100 bytes"),
        ("srt", 5, "Did you mean 'sort'"),
    ],
)
def test_what_cannot_be_is_refused(name: str, size: int, says: str) -> None:
    with pytest.raises(UserError, match=says):
        of_size(name, size)


def test_an_own_file(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text("""
[[program]]
name = "wordcount"
size = "50GB"
[[program]]
name = "kmeans"
profile = "tiny"
iterations = 2
k = 4
reduces = 3
""")

    first, second = load_programs(file)

    assert first == Program(name="wordcount", size_bytes=50 * GB)
    assert (second.count, second.iterations, second.k, second.reduces) == (30_000, 2, 4, 3)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('name = "sort"', "program[#1]: give either profile or size"),
        ('name = "sort"\nsize = "1GB"\nprofile = "tiny"', "program[#1]: give either profile or size"),
        ('name = "sort"\nprofile = "medium"', "program[#1].profile: micro/sort has no profile 'medium'"),
        ('name = "sort"\nprofile = "medium"', "Known: tiny, small, large, huge, gigantic, bigdata"),
        ('name = "terasort"\nsize = "10B"', "program[#1].size: 10 bytes are too little input for terasort"),
        ('name = "sleep"\nprofile = "tiny"', "'sleep' is none of 'wordcount'"),
        ('name = "sort"\nsize = "1GB"\nmaps = 3', "maps"),
        ('name = "sort"\nsize = "-1GB"', "-1GB"),
    ],
)
def test_an_own_file_that_is_wrong(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(f"[[program]]\n{text}\n")

    with pytest.raises(ConfigError) as caught:
        load_programs(file)

    assert says in str(caught.value)
    assert str(file) in str(caught.value)
