from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import ConfigError
from fawkes.workload.formats.history import FAILED
from fawkes.workload.formats.rumen import read
from fawkes.workload.model import Trace, TraceJob

DATA = Path(__file__).parents[1] / "data"
FIVE = DATA / "rumen-5jobs.json.gz"


def attempt(start: int, end: int, result: str = "SUCCESS", **counters: int) -> dict[str, Any]:
    return {"startTime": start, "finishTime": end, "result": result, **counters}


def logged(**others: Any) -> dict[str, Any]:
    job = {"jobID": "job_1", "submitTime": 1000, "launchTime": 3000, "finishTime": 90_000, "outcome": "SUCCESS"}
    return job | {"totalMaps": -1, "totalReduces": -1, "mapTasks": [], "reduceTasks": []} | others


def trace_of(tmp_path: Path, *jobs: object, between: str = "\n") -> Trace:
    path = tmp_path / "trace.json"
    path.write_text(between.join(json.dumps(job) for job in jobs))
    return read(path)


def test_five_jobs_of_hadoop() -> None:
    trace = read(FIVE)
    assert [(job.id[-5:], job.maps, job.reduces) for job in trace.jobs] == [
        ("10000", 1, 0), ("10007", 1, 1), ("10014", 4, 0), ("10027", 2, 1), ("10058", 2, 1),
    ]  # fmt: skip
    assert trace.header == {"start": "2009-10-29T10:23:48.131Z"}
    assert trace.jobs[0] == TraceJob(
        id="job_200910281128_10000",
        submit_us=0,
        input_bytes=1012,
        shuffle_bytes=0,
        output_bytes=160,
        maps=1,
        reduces=0,
        map_us=4_295_000,
        run_us=11_707_000,
        user="geek1",
    )
    assert (trace.dropped.total, trace.mended.total) == (0, 0)


def test_only_what_succeeded_counts_and_waiting_for_maps_does_not(tmp_path: Path) -> None:
    maps = [
        {"attempts": [attempt(5000, 9000, "FAILED", hdfsBytesRead=99), attempt(10_000, 20_000, hdfsBytesRead=70)]},
        {"attempts": [attempt(5000, 15_000, hdfsBytesRead=-1, mapInputBytes=30), attempt(5000, -1, "KILLED")]},
        {"attempts": [attempt(5000, 6000, "FAILED")]},
    ]
    reduces = [
        {"attempts": [attempt(7000, 26_000, reduceShuffleBytes=5, hdfsBytesWritten=4)]},
        {"attempts": [attempt(30_000, 34_000, reduceShuffleBytes=6, hdfsBytesWritten=4)]},
    ]
    job = trace_of(tmp_path, logged(mapTasks=maps, reduceTasks=reduces, jobName="sort", user="ann")).jobs[0]
    assert job == TraceJob(
        id="job_1",
        submit_us=0,
        application="sort",
        input_bytes=100,
        shuffle_bytes=11,
        output_bytes=8,
        maps=3,
        reduces=2,
        map_us=10_000_000,
        reduce_us=5_000_000,
        run_us=87_000_000,
        user="ann",
    )


def test_what_is_minus_one_is_unknown(tmp_path: Path) -> None:
    tasks = [{"inputBytes": -1, "attempts": [attempt(-1, -1, hdfsBytesRead=-1, hdfsBytesWritten=-1)]}]
    job = trace_of(tmp_path, logged(mapTasks=tasks, totalReduces=0, finishTime=-1)).jobs[0]
    assert job == TraceJob(id="job_1", submit_us=0, maps=1, reduces=0, shuffle_bytes=0)
    nothing = trace_of(tmp_path, logged(mapTasks=None, reduceTasks=None, launchTime=-1)).jobs[0]
    assert nothing == TraceJob(id="job_1", submit_us=0, run_us=89_000_000)


@pytest.mark.parametrize("between", ["\n", "", " ", "\r\n\r\n"])
def test_what_is_no_job_is_counted_and_what_is_odd_as_well(between: str, tmp_path: Path) -> None:
    trace = trace_of(
        tmp_path,
        logged(),
        {"no": "job"},
        logged(jobID="job_2", submitTime=-1),
        logged(jobID="job_2", submitTime=5000, outcome="FAILED", queue="slow"),
        logged(submitTime=4000, queue="slow"),
        between=between,
    )
    assert [(job.id, job.submit_us) for job in trace.jobs] == [
        ("job_1", 0),
        ("job_1.2", 3_000_000),
        ("job_2", 4_000_000),
    ]
    assert trace.dropped.counts == {"without a job's id": 1, "without a submit time": 1}
    assert trace.mended.counts == {
        FAILED: 1,
        "whose time goes back": 1,
        "with the id of an earlier job": 1,
    }
    assert trace.header["queues"] == "slow 2"
    if between == "\n":
        assert trace.mended.first_lines["whose time goes back"] == 5


def test_objects_larger_than_a_piece_are_read(tmp_path: Path) -> None:
    large = logged(jobID="large", jobProperties={"key": "\u00e9" * 1_500_000})
    trace = trace_of(tmp_path, logged(), large, logged(jobID="job_3"))
    assert [job.id for job in trace.jobs] == ["job_1", "large", "job_3"]


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        (
            '{"jobID": "a", "submitTime": 1}\n{"jobID": "b", \n "sub',
            "line 3",
            "ends within the object that begins on line 2",
        ),
        ('{"jobID": "a", "submitTime": 1}\n{"jobID": oh no this is not JSON at all, is it}', "line 2", "is not JSON"),
        ('{"jobID": "a", "submitTime": 1}\n[1, 2]\n', "line 2", "is not an object"),
        ("{}", "line 1", "has no readable job: 1 line without a job's id"),
        ("", "", "has no job"),
    ],
)
def test_a_file_that_is_broken_is_refused_with_the_line(text: str, key: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read(path)
    assert says in caught.value.what
    assert caught.value.key == key


def test_a_packed_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    packed = gzip.compress(gzip.decompress(FIVE.read_bytes()))
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(ConfigError, match="ends too early"):
        read(path)
