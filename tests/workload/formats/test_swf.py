from __future__ import annotations

import gc
import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import ConfigError
from fawkes.offline.scenarios.notes import trace_notes
from fawkes.workload.formats.swf import COLUMNS, read
from fawkes.workload.model import TraceJob, in_order

HEADER = """\
; Version: 2.2
; Computer: Two rooms: one of them cold
;UnixStartTime: 1027839845
; MaxProcs:   240
; Queue:  1 night
; Queue:  2 day
;
; nothing to tell here
"""


def line(number: int = 1, submit: object = 0, run: object = 60, **others: object) -> str:
    """A line of a log; keywords are columns from 1, as the format's definition counts them: ``c5=4``."""
    columns: list[object] = [-1] * COLUMNS
    columns[0], columns[1], columns[3], columns[4], columns[10] = number, submit, run, 4, 1
    for name, value in others.items():
        columns[int(name[1:]) - 1] = value
    return " ".join(map(str, columns)) + "\n"


def log(tmp_path: Path, *texts: str) -> Path:
    path = tmp_path / "log.swf"
    path.write_text("".join(texts), encoding="latin-1")
    return path


def test_a_job_and_what_its_log_says_of_itself(tmp_path: Path) -> None:
    text = "    7     12 308426  31039   30 552.21    -1   32  37980    -1  1   5  11   2  -1  1 -1 -1\n"
    trace = read(log(tmp_path, HEADER, text))
    assert trace.jobs == (
        TraceJob(
            id="7",
            submit_us=12_000_000,
            application="2",
            processors=30,
            run_us=31_039_000_000,
            requested_us=37_980_000_000,
            user="5",
        ),
    )
    assert trace.header == {
        "Version": "2.2",
        "Computer": "Two rooms: one of them cold",
        "UnixStartTime": "1027839845",
        "MaxProcs": "240",
        "Queue": "1 night\n2 day",
    }
    assert trace.dropped.total == trace.mended.total == 0


def test_what_is_unknown_is_none(tmp_path: Path) -> None:
    (job,) = read(log(tmp_path, line())).jobs
    assert job == TraceJob(id="1", submit_us=0, run_us=60_000_000, processors=4)


@pytest.mark.parametrize(
    ("text", "processors", "run_us"),
    [
        (line(c5=-1, c8=16), 16, 60_000_000),
        (line(c5=0, c8=16), 16, 60_000_000),
        (line(c5=8, c8=16), 8, 60_000_000),
        (line(run=0.25), 4, 250_000),
        (line(run="1e2", c5="8.0"), 8, 100_000_000),
    ],
)
def test_processors_and_run_times(text: str, processors: int, run_us: int, tmp_path: Path) -> None:
    (job,) = read(log(tmp_path, text)).jobs
    assert (job.processors, job.run_us) == (processors, run_us)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (line(2, run=0), "with a job without run time"),
        (line(2, run=-1), "with a job without run time"),
        (line(2, c5=-1), "with a job without processors"),
        (line(2, c5=0, c8=0), "with a job without processors"),
        (line(2, submit=-1), "with a negative submit time"),
        (line(2, c11=3), "with a part of a job (status 2 to 4)"),
        (line(2, submit="noon"), "with a field that is not a number"),
        (line(2, run="nan"), "with a field that is not a number"),
        (line(2, run="1e999"), "with a field that is not a number"),
        (line(2, submit="1_000"), "with a field that is not a number"),
        (line(2, submit="1_000.5"), "with a field that is not a number"),
        (line(2, submit=10**17), "with a number that is too large"),
        (line(2, run=10**17), "with a number that is too large"),
        (line(2, c9=10**18), "with a number that is too large"),
        (line(2, c5=-1, c8=10**8), "with more than 10,000,000 processors"),
        (line(2, c17=1, c18=10**17), "with a number that is too large"),
        (line(1), "with the number of an earlier job"),
        ("1 2 3\n", "without 18 columns"),
        (line(2).strip() + " 19\n", "without 18 columns"),
        ("# a comment of another kind\n", "without 18 columns"),
    ],
)
def test_a_line_that_is_no_job_is_counted_and_the_others_are_read(text: str, reason: str, tmp_path: Path) -> None:
    trace = read(log(tmp_path, HEADER, line(1), text, "\n", line(9, submit=5), text))
    assert [job.id for job in trace.jobs] == ["1", "9"]
    assert trace.dropped.counts == {reason: 2}
    assert trace.dropped.first_lines == {reason: 10}


def test_jobs_that_failed_or_were_cancelled_are_told(tmp_path: Path) -> None:
    trace = read(log(tmp_path, *(line(number, c11=status) for number, status in enumerate((1, 0, 5, -1), 1))))
    assert len(trace.jobs) == 4
    assert trace.mended.counts == {"that did not succeed": 2}
    assert any("simulated as one that succeeds" in note for note in trace_notes(trace, trace.jobs))


def test_jobs_come_by_their_time(tmp_path: Path) -> None:
    trace = read(log(tmp_path, *(line(number, submit) for number, submit in ((1, 7), (2, 3), (3, 7), (4, 3)))))
    assert [job.id for job in trace.jobs] == ["2", "4", "1", "3"]
    assert trace.mended.counts == {"whose submit time goes back": 2}
    assert trace.mended.first_lines == {"whose submit time goes back": 2}


def test_a_job_waits_for_the_one_before_it_when_that_is_there(tmp_path: Path) -> None:
    trace = read(
        log(
            tmp_path,
            line(1),
            line(2, run=0),
            line(3, c17=1, c18=30),
            line(4, c17=2, c18=30),
            line(5, c17=6),
            line(6, c17=5, c18=-1),
            line(7, c17=7),
        )
    )
    assert [(job.id, job.after, job.think_us) for job in trace.jobs] == [
        ("1", (), 0),
        ("3", ("1",), 30_000_000),
        ("4", (), 0),
        ("5", (), 0),
        ("6", ("5",), 0),
        ("7", (), 0),
    ]
    assert trace.mended.counts == {"whose preceding job is missing": 3}
    in_order(trace.jobs)


def test_a_packed_log(tmp_path: Path) -> None:
    path = log(tmp_path, HEADER, line(1), line(2, submit=5))
    packed = tmp_path / "log.swf.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed).jobs == read(path).jobs


@pytest.mark.parametrize("text", ["", HEADER, "job0\t49\t49\t740773\t2339561\t627471\n", line(run=0)])
def test_a_log_without_jobs_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"has no (readable )?job.*18 numbers"):
        read(log(tmp_path, text))
    assert gc.isenabled()


@given(st.lists(st.tuples(st.integers(-1, 9), st.integers(-1, 3), st.integers(-1, 2), st.integers(-1, 2)), max_size=15))
@settings(max_examples=25, deadline=None)
def test_every_line_is_a_job_or_counted(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, int, int]]
) -> None:
    texts = [line(at + 1, submit, run, c5=got, c8=asked) for at, (submit, run, got, asked) in enumerate(rows)]
    path = log(tmp_path_factory.mktemp("swf"), line(0), *texts)
    trace = read(path)
    good = {at + 1 for at, row in enumerate(rows) if row[0] >= 0 and row[1] > 0 and max(row[2:]) > 0}
    assert {int(job.id) for job in trace.jobs} == good | {0}
    assert len(trace.jobs) + trace.dropped.total == len(rows) + 1
    assert [job.submit_us for job in trace.jobs] == sorted(job.submit_us for job in trace.jobs)
