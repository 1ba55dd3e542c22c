from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError
from fawkes.workload.formats.formats import read_workload
from fawkes.workload.model import TraceJob

DATA = Path(__file__).parents[1] / "data"
HEAD = "WorkflowID, JobID     , SubmitTime, RunTime   , NProcs    , ReqNProcs , Dependencies\n"


def written(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "trace.gwf"
    path.write_text(HEAD + "".join(f"{row}\n" for row in rows))
    return path


def test_a_public_trace() -> None:
    trace = read_workload(DATA / "opendc-trace.gwf")
    assert (trace.format, len(trace.jobs)) == ("gwf", 63)
    (second,) = (job for job in trace.jobs if job.id == "0-2")
    assert second == TraceJob(id="0-2", submit_us=40_000_000, processors=1, run_us=11_000_000, after=("0-1",))
    assert sum(bool(job.after) for job in trace.jobs) == 54
    assert str(trace.dropped) == "7 lines with a job without run time (first: line 51)"
    assert trace.mended.total == 0


def test_processors_are_those_allocated_else_those_asked_for(tmp_path: Path) -> None:
    rows = ("1,1,0,2.5,3,8,", "1,2,0,5,-1,8,-1", "2,2,9,5,2,-1,1", "1,3,4,5,1,1,1 2 2")
    jobs = {job.id: job for job in read_workload(written(tmp_path, *rows)).jobs}
    assert [(name, job.processors, job.run_us, job.after) for name, job in jobs.items()] == [
        ("1-1", 3, 2_500_000, ()),
        ("1-2", 8, 5_000_000, ()),
        ("1-3", 1, 5_000_000, ("1-1", "1-2")),
        ("2-2", 2, 5_000_000, ()),
    ]


def test_what_is_wrong_is_counted(tmp_path: Path) -> None:
    rows = (
        *("1,1,0,5,1,1,", "1,2,-1,5,1,1,", "1,3,0,-1,1,1,", "1,4,0,5,-1,-1,", "1,5,0,5,1,1", "x,6,0,5,1,1,"),
        *("1,7,0,1e400,1,1,", "1,8,0,5,1,1,one", "1,9,0,999999999999999999,1,1,", "1,10,0,5,99999999999,1,"),
        *("1,11,2,5,1,1,1 99", "2,1,0,5,1,1,9"),
    )
    trace = read_workload(written(tmp_path, *rows))
    assert [(job.id, job.after) for job in trace.jobs] == [("1-1", ()), ("2-1", ()), ("1-11", ("1-1",))]
    assert trace.dropped.first_lines == {
        "with a negative submit time": 3,
        "with a job without run time": 4,
        "with a job without processors": 5,
        "without 7 columns": 6,
        "without the number of a workflow and of a job": 7,
        "with a field that is not a number": 8,
        "with a dependency that is not the number of a job": 9,
        "with a number that is too large": 10,
        "with more than 10,000,000 processors": 11,
    }
    assert trace.mended.first_lines == {"that depends on a job that is not there": 12}


def test_a_trace_of_unknown_numbers_names_its_first_line_and_the_form(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no readable job: 3 lines with a negative submit time") as caught:
        read_workload(written(tmp_path, *["-1,-1,-1,-1,-1,-1,-1".replace("-1", "1", 2)] * 3))
    assert caught.value.key == "line 2"
    assert "WorkflowID, JobID, SubmitTime, RunTime, NProcs, ReqNProcs, Dependencies" in caught.value.hint


def test_jobs_that_wait_for_each_other_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'1-1' after '1-2' after '1-1'"):
        read_workload(written(tmp_path, "1,1,0,5,1,1,2", "1,2,0,5,1,1,1"))
