from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import UserError
from fawkes.config.clusters.details import JobDetails
from fawkes.config.jobs.jobs import job_of
from fawkes.workload.btworld.load import programs, workload_of
from fawkes.workload.making.classes import STAGES
from fawkes.workload.model import in_order

TB_10TH = 100 * 10**9


def test_the_whole_workflow_comes_one_job_after_another() -> None:
    jobs = workload_of(TB_10TH, think_us=7, cluster="c-2").jobs

    assert len(jobs) == 26
    assert {job.cluster for job in jobs} == {"c-2"}
    assert [job.think_us for job in jobs] == [0, *[7] * 25]
    assert [job.after for job in jobs] == [(), *((job.id,) for job in jobs[:-1])]
    assert len({job.input_bytes for job in jobs}) == 13


def test_by_dependencies_four_queries_start_at_once() -> None:
    jobs = workload_of(TB_10TH, order="dependencies").jobs

    in_order(jobs)
    assert [job.id for job in jobs if not job.after] == ["bt-tot", "bt-ah-1", "bt-sot-1", "bt-hot-1"]
    assert {job.id: job.after for job in jobs}["bt-join-1"] == ("bt-tktg-2",)


def test_tt_and_ah_alone_are_those_of_table_1() -> None:
    (tot,) = workload_of(TB_10TH, queries=["ToT"]).jobs
    assert (tot.maps, tot.output_bytes) == (746, 3_900_000)
    first, second = workload_of(TB_10TH, queries=["AH"]).jobs
    assert (first.maps, first.shuffle_bytes, first.output_bytes) == (746, TB_10TH, TB_10TH)
    assert (second.input_bytes, second.output_bytes, second.after) == (TB_10TH, 90_000, (first.id,))


def test_a_job_without_a_shuffle_has_no_reduces_and_every_other_has_some() -> None:
    reduces = {job.id: job.reduces for job in workload_of(TB_10TH).jobs}
    assert [name for name, count in reduces.items() if not count] == ["bt-join-1"]
    assert max(count or 0 for count in reduces.values()) == 20


def test_the_simulator_knows_the_kind_of_every_job() -> None:
    assert {job.application for job in workload_of(1).jobs} <= set(STAGES)


def test_tiny_data_still_makes_jobs_that_can_run() -> None:
    assert min(job.input_bytes or 0 for job in workload_of(1).jobs) == 1


@pytest.mark.parametrize(("size", "queries", "says"), [(0, [], "0 bytes"), (10, ["TT"], "no query 'TT'.*Known: ToT")])
def test_what_cannot_be_is_refused(size: int, queries: list[str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        workload_of(size, queries=queries)


@pytest.mark.parametrize(
    ("queries", "ids"),
    [([], ["bt-prepare", "btworld"]), (["AH", "ToT"], ["bt-prepare", "bt-tot", "bt-ah"])],
)
def test_the_programs_are_jobs_that_can_be_submitted(queries: list[str], ids: list[str]) -> None:
    tables = programs(10**6, queries=queries, properties={"mapreduce.job.ubertask.enable": "true"})

    specs = [job_of(table, cluster="c", file="here", folder=Path()) for table in tables]

    assert [spec.id for spec in specs] == ids
    details = JobDetails.of(specs[-1].details)
    assert details.kind == "pig"
    assert Path(details.pig).is_file()
    assert details.properties == {"mapreduce.job.ubertask.enable": "true"}
    assert "scrapes.macro" in {Path(name).name for name in details.files}


def test_the_whole_workflow_takes_every_script_along() -> None:
    files = {Path(name).name for name in programs(10**6)[-1]["files"]}
    assert len([name for name in files if name.endswith(".pig")]) == 15
