from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import ConfigError, UserError
from fawkes.workload.formats.table import COLUMNS, read, write
from fawkes.workload.model import MOST_TASKS, Trace, TraceJob

HEAD = "# fawkes jobs 1\n"
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)
NUMBERS = st.none() | st.integers(0, 10**16)
COUNTS = st.none() | st.integers(0, MOST_TASKS)
FIELDS = {"maps": COUNTS, "reduces": COUNTS, "processors": st.none() | st.integers(1, MOST_TASKS)}


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    ids = draw(st.lists(TEXTS.filter(bool), unique=True, min_size=1, max_size=6))
    numbers = [field.name for field in fields(TraceJob) if "None" in str(field.type) and field.name != "deadline_us"]
    jobs = [
        TraceJob(
            id=name,
            submit_us=at * 7_000_001,
            application=draw(TEXTS),
            user=draw(TEXTS),
            cluster=draw(TEXTS),
            after=tuple(draw(st.lists(st.sampled_from(ids[:at]), unique=True))) if at else (),
            think_us=draw(st.integers(0, 10**9)),
            deadline_us=draw(st.none() | st.integers(1, 10**16)),
            **{field: draw(FIELDS.get(field, NUMBERS)) for field in numbers},
        )
        for at, name in enumerate(ids)
    ]
    return Trace(source="drawn", jobs=tuple(jobs), header={"Note": "one\ntwo", "MaxProcs": "7"})


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a.jobs.csv"
    path.write_bytes(text.encode())
    return path


@pytest.mark.slow
@given(traces(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_what_is_read_is_what_was_written(tmp_path_factory: pytest.TempPathFactory, trace: Trace, packed: bool) -> None:
    path = tmp_path_factory.mktemp("table") / ("a.jobs.csv.gz" if packed else "a.jobs.csv")
    write(trace, path)
    again = read(path)
    assert again.jobs == trace.jobs
    assert again.header == trace.header
    assert path.read_bytes().startswith(b"\x1f\x8b") is packed
    first = path.read_bytes()
    write(again, path)
    assert path.read_bytes() == first
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_job_after_thousands_of_others_is_read(tmp_path: Path) -> None:
    jobs = [TraceJob(id=f"job-{number:05}", submit_us=0) for number in range(20_000)]
    last = TraceJob(id="last", submit_us=1, after=tuple(job.id for job in jobs))
    write(Trace(source="", jobs=(*jobs, last)), tmp_path / "t.jobs.csv")
    assert read(tmp_path / "t.jobs.csv").jobs[-1] == last


def test_every_field_of_a_job_has_a_column() -> None:
    assert {column.field for column in COLUMNS.values()} == {field.name for field in fields(TraceJob)}


def test_a_table_as_a_person_writes_it(tmp_path: Path) -> None:
    text = "submit_s,id,maps,after,map_s\r\n0.5,a,,,\r\n\r\n12,b,3,a,1.000001\r\n12,c,0,a b,\r\n"
    trace = read(table(tmp_path, "\ufeff# fawkes jobs 1\r\n#note without colon\r\n# Made: by hand: twice\r\n" + text))
    assert trace.header == {"Made": "by hand: twice"}
    assert trace.jobs == (
        TraceJob(id="a", submit_us=500_000),
        TraceJob(id="b", submit_us=12_000_000, maps=3, after=("a",), map_us=1_000_001),
        TraceJob(id="c", submit_us=12_000_000, maps=0, after=("a", "b")),
    )


def test_deadlines_count_from_the_submission_of_their_job(tmp_path: Path) -> None:
    trace = read(table(tmp_path, HEAD + "id,submit_s,deadline_s\na,5,90.5\nb,7,\n"))
    assert [job.deadline_us for job in trace.jobs] == [90_500_000, None]


def test_a_table_without_deadlines_has_no_column_of_them(tmp_path: Path) -> None:
    path = tmp_path / "a.jobs.csv"
    write(Trace(source="", jobs=(TraceJob(id="a", submit_us=0),)), path)
    assert path.read_text() == HEAD + "id,submit_s\na,0\n"


def test_rows_whose_time_goes_back_are_put_in_their_place(tmp_path: Path) -> None:
    trace = read(table(tmp_path, HEAD + "id,submit_s\na,5\nb,3\nc,5\n"))
    assert [job.id for job in trace.jobs] == ["b", "a", "c"]
    assert trace.mended.first_lines == {"whose time goes back": 4}


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("# fawkes jobs 2\nid,submit_s\n", 1, "begins with '# fawkes jobs 2'"),
        (HEAD + "id,submit_s,colour\na,1,red\n", 2, "there is no column 'colour'"),
        (HEAD + "id,submit_s,deadline_s\na,1,0.0\n", 3, "deadline_s '0.0' is 0: no job can end at its submission"),
        (HEAD + "id,submit_s,deadline_s\na,1,-5\n", 3, "deadline_s '-5' is negative"),
        (HEAD + "id,submit_s,deadline_s\na,1,soon\n", 3, "deadline_s 'soon' is not a time in seconds"),
        (HEAD + "id,submit_s,deadline_s\na,1,999999999999\n", 3, "is a job with a time that is too large"),
        (HEAD + "# k: v\nid,maps\na,1\n", 3, "the column 'submit_s' is missing"),
        (HEAD + "id,submit_s,id\na,1,a\n", 2, "the column 'id' appears twice"),
        (HEAD, 2, "the column 'id' is missing"),
        (HEAD + "id,submit_s\na,1\nb,2,3\n", 4, "has 3 fields, but there are 2 columns"),
        (HEAD + "id,submit_s\na\n", 3, "has 1 fields"),
        (HEAD + "id,submit_s\na,-1\n", 3, "submit_s '-1' is negative"),
        (HEAD + "id,submit_s,maps\na,1,-4\n", 3, "maps '-4' is negative"),
        (HEAD + "id,submit_s,processors,run_s\na,1,0,5\n", 3, "processors '0' is 0: a rigid job needs a processor"),
        (HEAD + "id,submit_s,input_bytes\na,1,1.5\n", 3, "is not a whole number"),
        (HEAD + "id,submit_s\na,1.1234567\n", 3, "is not a time in seconds"),
        (HEAD + "id,submit_s\na,nan\n", 3, "is not a time in seconds"),
        (HEAD + "id,submit_s\na,\n", 3, "has no submit_s"),
        (HEAD + 'id,submit_s\n"a,1\n', 3, "is not CSV"),
        (HEAD + "id,submit_s\na,1\nb,2\na,3\n", 5, "there are two jobs 'a'"),
        (HEAD + "id,submit_s,after\na,1,\nb,2,x\n", 4, "'b' is after 'x', which does not exist"),
        (
            HEAD + "id,submit_s,after\na,1,c\nb,2,a\nc,3,b\n",
            3,
            "jobs wait for each other: 'a' after 'c' after 'b' after 'a'",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: int, says: str, tmp_path: Path) -> None:
    path = table(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read(path)
    assert says in caught.value.what
    assert (caught.value.file, caught.value.key) == (str(path), f"line {line}")


def test_a_table_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jobs.csv"
    path.write_bytes(HEAD.encode() + b"id,submit_s\n\xff,1\n")
    with pytest.raises(ConfigError, match="is not UTF-8") as caught:
        read(path)
    assert caught.value.key == "line 3"


def test_nothing_is_left_of_a_table_that_cannot_be_written(tmp_path: Path) -> None:
    whole = Trace(source="", jobs=(TraceJob(id="a", submit_us=0),))
    broken = Trace(source="", jobs=(TraceJob(id="a", submit_us=0, user="\ud800"),))
    path = tmp_path / "a.jobs.csv"
    write(whole, path)
    before = path.read_bytes()
    with pytest.raises(UnicodeEncodeError):
        write(broken, path)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [before]
    with pytest.raises(UserError, match="cannot be written"):
        write(whole, tmp_path / "missing" / "a.jobs.csv")
