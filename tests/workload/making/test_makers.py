from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import UserError
from fawkes.workload.formats.formats import read_workload
from fawkes.workload.looking.statistics import summary_of
from fawkes.workload.making import classes
from fawkes.workload.making.facebook import GROUPS, like, like_facebook
from fawkes.workload.making.makers import MAKERS, Maker, MakerKey, maker
from fawkes.workload.model import Trace, TraceJob, in_order

FACEBOOK = Path(__file__).parents[1] / "data" / "fb-2009-first20.tsv"


@pytest.mark.parametrize(
    ("name", "said", "jobs"),
    [
        ("paper", {}, 165 + 188 + 555),
        ("mix", {"apps": "WC,KM", "jobs": "small:3,2GB:1", "arrivals": "sequential"}, None),
        ("facebook", {"jobs": "40", "per_minute": "2"}, 40),
        ("like", {"file": str(FACEBOOK), "jobs": "70"}, 70),
    ],
)
def test_each_maker_makes_the_same_for_the_same_seed(name: str, said: dict[str, str], jobs: int | None) -> None:
    made = maker(name).make(said, 5)
    assert made == maker(name).make(said, 5)
    assert made.jobs != maker(name).make(said, 6).jobs
    assert made.format == f"made: {name}"
    assert [job.submit_us for job in made.jobs] == sorted(job.submit_us for job in made.jobs)
    in_order(made.jobs)
    if jobs is not None:
        assert len(made.jobs) == jobs


@pytest.mark.parametrize(
    ("name", "said", "jobs"),
    [
        ("btworld", {"size": "10GB", "cluster": "c-2"}, 26),
        ("btworld", {"size": "10GB", "queries": "AH", "order": "dependencies", "cluster": "c-2"}, 2),
        ("hibench", {"programs": "wordcount:small,sort:1GB", "cluster": "c-2", "think": "5s"}, 2),
    ],
)
def test_hibench_and_btworld_are_made_as_well(name: str, said: dict[str, str], jobs: int) -> None:
    made = maker(name).make(said, 1)
    assert len(made.jobs) == jobs
    assert {job.cluster for job in made.jobs} == {"c-2"}
    in_order(made.jobs)


@pytest.mark.parametrize(
    ("name", "said", "says"),
    [
        ("btworld", {}, "size is missing"),
        ("btworld", {"size": "1GB", "order": "random"}, "it must be one of sequential, dependencies"),
        ("hibench", {"programs": "wordcount"}, "write programs with a profile or a size"),
        ("hibench", {"programs": ","}, "name at least one program"),
        ("hibench", {"programs": "wordcout:small"}, "there is no program 'wordcout'"),
        ("hibench", {"programs": "sort:enormous"}, "enormous"),
    ],
)
def test_what_cannot_be_made_is_said(name: str, said: dict[str, str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        maker(name).make(said, 1)


@pytest.mark.slow
def test_a_workload_of_the_paper_has_the_jobs_of_its_three_mr_clusters() -> None:
    made = maker("paper").make({"workload": "wkld-d"}, 3)
    for load in classes.workload("WKLD-D", 3):
        assert [job.id for job in made.jobs if job.cluster == load.cluster] == [
            job.id for job in sorted(load.jobs, key=lambda job: job.submit_us)
        ]


def test_synthetic_jobs_are_like_those_of_facebook() -> None:
    # references/simulators-and-workloads.md, section 2, of the whole day: 75.5 % map-only, 87.7 % with one map, 91.6 %
    # with ten at most, 4.1 jobs per minute, 95 % of the inputs below 7.7 GB.
    summary = summary_of(like_facebook(6000, seed=1))
    assert summary.map_only == pytest.approx(0.755, abs=0.02)
    assert summary.one_map == pytest.approx(0.877, abs=0.02)
    assert summary.to_ten_maps == pytest.approx(0.916, abs=0.02)
    assert summary.rate_per_min == pytest.approx(4.1, rel=0.05)
    sizes = {row.what: row for row in summary.sizes}
    assert sizes["input_bytes"].p95 == pytest.approx(7.7e9, rel=0.3)
    assert sum(count for count, *_ in GROUPS) == 5894


def test_jobs_drawn_out_of_a_trace_have_its_sizes_and_its_rate() -> None:
    trace = read_workload(FACEBOOK)
    drawn = like(trace, 3000, seed=2)
    assert {job.input_bytes for job in drawn.jobs} == {job.input_bytes for job in trace.jobs}
    assert len({job.id for job in drawn.jobs}) == 3000
    rates = [summary_of(trace_of).rate_per_min for trace_of in (trace, drawn)]
    assert rates[1] == pytest.approx(rates[0], rel=0.06)
    at_once = Trace(source="", jobs=(TraceJob(id="a", submit_us=0),))
    with pytest.raises(UserError, match="all jobs arrive at the same moment"):
        like(at_once)
    assert len(like(at_once, 3, per_minute=1).jobs) == 3
    with pytest.raises(UserError, match="0 jobs"):
        like_facebook(0)


def _made(size_bytes: int, *, queries: tuple[str, ...] = ()) -> Trace:
    return Trace(source=f"{size_bytes} {queries}", jobs=())


def test_a_maker_is_a_function_and_the_keys_of_its_parameters() -> None:
    single = Maker("one", "", f"{__name__}:_made", {"size": MakerKey("size_bytes", int, "of the data")})
    assert single.make({"size": "7"}, 1).source == "7 ()"
    for said, says in (
        ({}, "size is missing: of the data"),
        ({"size": "much"}, "size = 'much'"),
        ({"queries": "x"}, "there is no key 'queries'"),
    ):
        with pytest.raises(UserError, match=says):
            single.make(said, 1)
    with pytest.raises(UserError, match=r"no maker 'papr'.*Did you mean 'paper'"):
        maker("papr")
    assert all(name == known.name for name, known in MAKERS.items())
