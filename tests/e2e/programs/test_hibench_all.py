"""HiBench's programs on real Hadoop, held against independent computations; what can fail has happened in ``ran``."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.workload.hibench import reference, report
from fawkes.workload.hibench.programs import folder
from tests.e2e.programs.conftest import PROGRAMS, Ran
from tests.e2e.programs.support import assert_succeeded_at_once, digests, made

pytestmark = [pytest.mark.hadoop, pytest.mark.drill]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Wordcount", f"words --size {PROGRAMS['wordcount'].size_bytes}"),
        ("Sort", f"records --size {PROGRAMS['sort'].size_bytes}"),
        ("Pagerank", f"links --count {PROGRAMS['pagerank'].count}"),
    ],
)
def test_the_data_in_hdfs_was_what_the_generator_makes_anywhere(
    ran: Ran, tmp_path: Path, name: str, words: str
) -> None:
    here = made(folder() / "data.py", f"{words} --parts 2", tmp_path)
    assert digests(ran.saved / "hibench" / name / "Input") == digests(here) != {}


def test_every_job_succeeded_at_once(ran: Ran) -> None:
    steps = {f"{name}-prepare" for name in PROGRAMS} | {"terasort-verify", "terasort-validate"}
    assert_succeeded_at_once(ran, {*PROGRAMS, *steps})


def test_three_jobs_for_each_iteration_of_pagerank(ran: Ran) -> None:
    names = sorted(one["name"] for one in ran.applications["pagerank"])
    assert names == [f"{step}-{n}" for step in ("DanglingPages", "SortRanks", "UpdateRanks") for n in (1, 2)]


@pytest.mark.parametrize("name", ["Wordcount", "Sort", "Terasort"])
def test_the_examples(ran: Ran, name: str) -> None:
    place = ran.saved / "hibench" / name
    assert getattr(reference, name.lower())(place / "Input", place / "Output") == ""


def test_teravalidate_found_nothing_either(ran: Ran) -> None:
    rows = reference.lines(ran.saved / "hibench" / "Terasort" / "Validate")
    assert [row.split("\t")[0] for row in rows] == ["checksum"]


def test_pagerank(ran: Ran) -> None:
    place = ran.saved / "hibench" / "Pagerank"
    assert reference.pagerank(place / "Input", place / "Output", PROGRAMS["pagerank"].iterations) == ""


def test_the_report_has_a_line_for_each_program(ran: Ran, tmp_path: Path) -> None:
    runs = [run for job in ran.jobs.values() if (run := report.of_job(job, 2)) is not None]
    report.append(tmp_path / "hibench.report", runs)

    rows = {row.type: row for row in report.read(tmp_path / "hibench.report")}
    assert rows.keys() == set(report.TYPES.values())
    assert all(row.duration_s > 1 and row.throughput_node == row.throughput // 2 for row in rows.values())
    assert rows["HadoopTerasort"].input_bytes == PROGRAMS["terasort"].size_bytes
