from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import UserError
from fawkes.workload.changing.writers import NAMES, write
from fawkes.workload.formats.formats import read_workload
from fawkes.workload.formats.swim import maps_of
from fawkes.workload.model import Trace, TraceJob

MS, S = 1000, 1_000_000


@st.composite
def tasks(draw: st.DrawFn) -> Trace:
    """Jobs as a history has them: times of tasks are means of whole milliseconds."""
    jobs: list[TraceJob] = []
    for at, gap in enumerate(draw(st.lists(st.integers(0, 10**6), min_size=1, max_size=5))):
        maps, reduces = draw(st.integers(1, 6)), draw(st.integers(0, 4))
        jobs.append(
            TraceJob(
                id=f"job_{at}",
                submit_us=(jobs[-1].submit_us if jobs else -gap * MS) + gap * MS,
                application=draw(st.sampled_from(["", "sort"])),
                user=draw(st.sampled_from(["", "ann"])),
                input_bytes=draw(st.none() | st.integers(0, 10**12)),
                shuffle_bytes=draw(st.integers(0, 10**12)) if reduces else 0,
                output_bytes=draw(st.none() | st.integers(0, 10**12)),
                maps=maps,
                reduces=reduces,
                map_us=round(draw(st.integers(0, 10**6)) * MS / maps),
                reduce_us=round(draw(st.integers(0, 10**6)) * MS / reduces) if reduces else None,
                run_us=draw(st.integers(0, 10**6)) * MS,
            )
        )
    return Trace(source="drawn", jobs=tuple(jobs))


@pytest.mark.slow
@given(tasks())
@settings(max_examples=40, deadline=None)
def test_rumen_and_sls_read_what_was_written(tmp_path_factory: pytest.TempPathFactory, trace: Trace) -> None:
    folder = tmp_path_factory.mktemp("written")
    assert write(trace, folder / "a", "rumen") == ()
    assert read_workload(folder / "a").format == "rumen"
    assert read_workload(folder / "a").jobs == trace.jobs
    write(trace, folder / "b", "sls")
    read = read_workload(folder / "b")
    assert read.format == "sls"
    unknown: dict[str, Any] = {"application": "", "input_bytes": None, "shuffle_bytes": None, "output_bytes": None}
    assert read.jobs == tuple(replace(job, **unknown, user=job.user or "default") for job in trace.jobs)


@given(st.lists(st.tuples(*[st.integers(0, 10**13)] * 4), min_size=1, max_size=6))
@settings(max_examples=30, deadline=None)
def test_swim_has_the_short_form_for_bytes_alone(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, int, int]]
) -> None:
    jobs = [
        TraceJob(
            id=f"job{at}",
            submit_us=submit_us,
            input_bytes=read,
            shuffle_bytes=shuffled,
            output_bytes=written,
            maps=maps_of(read),
            reduces=None if shuffled else 0,
        )
        for at, (submit_us, read, shuffled, written) in enumerate(sorted(rows))
    ]
    path = tmp_path_factory.mktemp("written") / "a.tsv"
    assert write(Trace(source="", jobs=tuple(jobs)), path, "swim") == ()
    assert {line.count("\t") for line in path.read_text().splitlines()} == {5}
    assert read_workload(path).jobs == tuple(jobs)


def test_swim_has_the_long_form_for_all_else(tmp_path: Path) -> None:
    jobs = (
        TraceJob(id="a", submit_us=0, application="big sort", maps=4, reduces=2, map_us=3 * S, reduce_us=S,
                 run_us=9 * S, input_bytes=5, shuffle_bytes=4, output_bytes=3),
        TraceJob(id="b", submit_us=2_500_000, maps=1, reduces=0, user="ann", after=("a",)),
    )  # fmt: skip
    path = tmp_path / "a.tsv"
    assert write(Trace(source="", jobs=jobs), path, "swim") == ("user of 1 job", "after of 1 job")
    read = read_workload(path)
    assert read.jobs[0] == jobs[0]
    assert read.jobs[1] == replace(jobs[1], user="", after=())


def test_swf_numbers_what_has_names(tmp_path: Path) -> None:
    jobs = (
        TraceJob(id="one", submit_us=0, processors=4, run_us=9 * S, user="ann", application="7"),
        TraceJob(id="two", submit_us=5_400_000, processors=1, run_us=200_000, requested_us=60 * S, user="bob",
                 after=("one",), think_us=3 * S),
    )  # fmt: skip
    path = tmp_path / "a.swf"
    trace = Trace(source="", jobs=jobs, header={"Computer": "x", "MaxJobs": "9", "Queue": "1 a\n2 b"})
    assert write(trace, path, "swf") == ("id of 2 jobs", "fractions of seconds of 1 job")
    read = read_workload(path)
    assert read.header == {
        "Version": "2.2", "Computer": "x", "Queue": "1 a\n2 b", "MaxJobs": "2", "Note": "user 1 is ann\nuser 2 is bob",
    }  # fmt: skip
    assert read.jobs == (
        replace(jobs[0], id="1", user="1"),
        replace(jobs[1], id="2", user="2", submit_us=5 * S, run_us=S, after=("1",)),
    )


def test_swf_has_no_job_that_a_name_made(tmp_path: Path) -> None:
    line = "77 5 0 60 128 -1 -1 128 600 -1 1 1 1 1 1 1 -1 -1"
    jobs = (TraceJob(id="1", submit_us=0, processors=4, run_us=9 * S, user=f"eve\n{line}", application=f"a\r{line}"),)
    path = tmp_path / "a.swf"
    write(Trace(source="", jobs=jobs, header={f"k\n{line}": f"v\v{line}"}), path, "swf")
    assert len(read_workload(path).jobs) == 1


def test_swf_keeps_ids_apart_and_says_which_links_it_cannot_hold(tmp_path: Path) -> None:
    rigid: dict[str, Any] = {"processors": 1, "run_us": S, "submit_us": 0}
    jobs = (
        TraceJob(id="01", **rigid),
        TraceJob(id="1", after=("01", "2"), **rigid),
        TraceJob(id="2", after=("x",), think_us=S, **rigid),
        TraceJob(id="x", user="07", **rigid),
        TraceJob(id="y", user="7", after=("x",), think_us=S, **rigid),
    )
    path = tmp_path / "a.swf"
    lost = write(Trace(source="", jobs=jobs), path, "swf")
    assert lost == ("id of 5 jobs", "after of 2 jobs", "think_us of 1 job")
    read = read_workload(path)
    assert [(job.id, job.user, job.after) for job in read.jobs] == [
        ("1", "", ()), ("2", "", ("1",)), ("3", "", ()), ("4", "1", ()), ("5", "2", ("4",)),
    ]  # fmt: skip
    assert read.mended.total == 0


def test_rumen_keeps_what_is_unknown(tmp_path: Path) -> None:
    job = TraceJob(id="a", submit_us=0, maps=2, input_bytes=9, shuffle_bytes=7, output_bytes=5)
    assert write(Trace(source="", jobs=(job,)), tmp_path / "a", "rumen") == ()
    assert read_workload(tmp_path / "a").jobs == (job,)


def test_what_has_no_place_is_counted(tmp_path: Path) -> None:
    jobs = (
        TraceJob(id="a  b", submit_us=1, maps=0, reduces=0, map_us=S, reduce_us=S, input_bytes=9, shuffle_bytes=7,
                 output_bytes=5),
        TraceJob(id="b", submit_us=0, maps=1, map_us=S),
        TraceJob(id="c", submit_us=0, maps=1, reduces=2, map_us=S, run_us=1),
    )  # fmt: skip
    trace, times = Trace(source="", jobs=jobs), ("map_us of 1 job", "reduce_us of 1 job")
    sizes = ("input_bytes of 1 job", "shuffle_bytes of 1 job", "output_bytes of 1 job")
    assert write(trace, tmp_path / "a", "swim") == (*times, "id of 1 job")
    parts = "fractions of milliseconds of 2 jobs"
    assert write(trace, tmp_path / "a", "rumen") == (*times, *sizes, parts)
    assert write(trace, tmp_path / "a", "sls") == (
        *sizes, *times, "unknown reduces of 1 job", "unknown reduce_us of 1 job", "unknown run_us of 2 jobs",
        "tasks (there are none) of 1 job", parts,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ("swf", "1 of 1 jobs have no processors, which swf needs (first: a)"),
        ("rumen", "have no maps"),
        ("sls", "have no maps"),
        ("synth", "cannot write 'synth'"),
    ],
)
def test_what_a_format_needs_is_said_and_nothing_is_written(form: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    with pytest.raises(UserError) as caught:
        write(Trace(source="", jobs=(TraceJob(id="a", submit_us=0),)), path, form)
    assert says in caught.value.what
    assert not path.exists()
    assert form in NAMES or form == "synth"
