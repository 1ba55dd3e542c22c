"""One of HiBench's programs on real Hadoop, held against a computation of our own. All that can fail is in ``ran``.

`make nightly` runs it, `make drills` runs all of them (test_hibench_all.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.workload.hibench import reference, report
from fawkes.workload.hibench.programs import folder
from tests.e2e.programs.conftest import PROGRAMS, SAMPLES, Ran
from tests.e2e.programs.support import assert_succeeded_at_once, digests, made

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]


def test_the_data_in_hdfs_was_what_the_generator_makes_anywhere(ran: Ran, tmp_path: Path) -> None:
    here = made(folder() / "data.py", f"samples {SAMPLES} --parts 2", tmp_path)
    assert digests(ran.saved / "hibench" / "Kmeans" / "Input") == digests(here) != {}


def test_both_jobs_succeeded_at_once(ran: Ran) -> None:
    assert_succeeded_at_once(ran, {"kmeans-prepare", "kmeans"})


def test_each_iteration_is_an_mr_job_that_was_known_as_ours(ran: Ran) -> None:
    names = sorted(one["name"] for one in ran.applications["kmeans"])
    assert names == ["CentroidComputing-1", "CentroidComputing-2", "Clustering"]


def test_the_result_is_that_of_a_local_computation(ran: Ran, tmp_path: Path) -> None:
    program, place = PROGRAMS["kmeans"], ran.saved / "hibench" / "Kmeans"
    first = made(folder() / "data.py", f"centres {SAMPLES} --k {program.k}", tmp_path)
    assert reference.kmeans(place / "Input", place / "Output", first, program.iterations) == ""


def test_the_report_has_a_line_for_it(ran: Ran, tmp_path: Path) -> None:
    runs = [run for job in ran.jobs.values() if (run := report.of_job(job, 2)) is not None]
    report.append(tmp_path / "hibench.report", runs)

    row = {row.type: row for row in report.read(tmp_path / "hibench.report")}[report.TYPES["kmeans"]]
    assert row.duration_s > 1
    assert row.throughput_node == row.throughput // 2
