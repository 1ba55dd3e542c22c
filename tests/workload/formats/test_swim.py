from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import ConfigError, ExitStatus
from fawkes.workload.formats.swim import maps_of, read, scaled
from fawkes.workload.model import Trace, TraceJob

FACEBOOK = Path(__file__).parents[1] / "data" / "fb-2009-first20.tsv"
MIB = 1 << 20
Written = Callable[..., Path]

PATHS = (
    "job0\t1\t1\t2267942\t0\t1937944\tinputPath1\t\t\n"
    "job1\t2\t1\t20791551476\t12295202125\t1491950225\tinputPath2\t\t\n"
)
HISTORY = (
    "job_2\tgrep\t6913085573\t1380194628.4\t2464\t1334329853.250\t400\t4000\t1500\t5500\t90\t2\tin\tout\n"
    "job_1\t\t404\t0\t191\t1334329826\t30\t10\t0\t10\t1\t0\n"
    "job_3\tsort\t404\t22\t191\t1334329900\t\t\t5\t15\t\t1\tin\n"
)


@pytest.fixture(name="written")
def _written(tmp_path: Path) -> Written:
    def write(text: str | bytes, name: str = "trace.tsv") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_twenty_jobs_of_facebook() -> None:
    trace = read(FACEBOOK)
    assert (len(trace.jobs), trace.dropped.total, trace.mended.total) == (20, 0, 0)
    assert sum(job.maps or 0 for job in trace.jobs) == 131
    assert [job.id for job in trace.jobs if job.reduces == 0] == ["job4", "job6", "job10", "job14"]
    assert trace.jobs[17] == TraceJob(
        id="job17",
        submit_us=1_128_000_000,
        input_bytes=10_274_791_099,
        shuffle_bytes=13_024_975_762,
        output_bytes=3_600_817_163,
        maps=77,
    )


def test_a_packed_file_holds_the_same_jobs_whatever_its_name(written: Written) -> None:
    packed = read(written(gzip.compress(FACEBOOK.read_bytes()), "trace.tsv"))
    assert packed.jobs == read(FACEBOOK).jobs


def test_columns_for_paths_change_nothing(written: Written) -> None:
    jobs = read(written(PATHS)).jobs
    assert [(job.id, job.submit_us, job.input_bytes, job.maps, job.reduces) for job in jobs] == [
        ("job0", 1_000_000, 2_267_942, 1, 0),
        ("job1", 2_000_000, 20_791_551_476, 155, None),
    ]


def test_a_job_history_has_tasks_and_how_long_they_ran(written: Written) -> None:
    trace = read(written(HISTORY))
    assert [(job.id, job.application, job.submit_us) for job in trace.jobs] == [
        ("job_1", "", 0),
        ("job_2", "grep", 27_250_000),
        ("job_3", "sort", 74_000_000),
    ]
    first, second, third = trace.jobs
    assert (first.maps, first.reduces, first.map_us, first.reduce_us) == (1, 0, 10_000_000, None)
    assert (second.maps, second.reduces, second.map_us, second.reduce_us) == (90, 2, 44_444_444, 750_000_000)
    assert (second.run_us, second.shuffle_bytes) == (400_000_000, 1_380_194_628)
    assert (third.maps, third.map_us, third.reduce_us, third.run_us) == (1, None, 5_000_000, None)
    assert (trace.mended.total, trace.dropped.total) == (1, 0)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("bad\t5\t1\t-1\t0\t0", "with a negative size"),
        ("bad\t-5\t1\t1\t0\t0", "with a negative time"),
        ("bad\t5\t1\t1\t0", "with a wrong number of columns"),
        ("bad\t5\t1\t1\t0\t0\t\t\t\t", "with a wrong number of columns"),
        (HISTORY.splitlines()[0], "with a wrong number of columns"),
        ("", "with a wrong number of columns"),
        ("bad 5 1 1 0 0", "with a wrong number of columns"),
        ("bad\tfive\t1\t1\t0\t0", "with a time that is not a number"),
        ("bad\tinf\t1\t1\t0\t0", "with a time that is not a number"),
        ("bad\t5\t1\t\t0\t0", "with a size that is not a number"),
        ("bad\t5\t1\t1\tnan\t0", "with a size that is not a number"),
        ("bad\t5\t1\t1\t0\t\xff", "with a size that is not a number"),
        ("job0\t5\t1\t1\t0\t0", "with the id of an earlier job"),
    ],
)
def test_a_line_that_is_no_job_is_counted_and_the_others_are_read(line: str, reason: str, written: Written) -> None:
    good = "job0\t1\t1\t5\t0\t7\n"
    trace = read(written(f"{good}{line}\njob1\t9\t8\t5\t0\t7\r\n{line}\n".encode("latin-1")))
    assert [job.id for job in trace.jobs] == ["job0", "job1"]
    assert trace.dropped.counts == {reason: 2}
    assert trace.dropped.first_lines == {reason: 2}


def test_a_time_that_goes_back_is_put_in_its_place(written: Written) -> None:
    trace = read(
        written("".join(f"{name}\t{at}\t0\t1\t1\t1\n" for name, at in (("a", 5), ("b", 9), ("c", 5), ("d", 9))))
    )
    assert "".join(job.id for job in trace.jobs) == "acbd"
    assert trace.mended.first_lines == {"whose time goes back": 3}
    assert trace.dropped.total == 0


def test_a_first_line_that_is_no_job_does_not_decide_for_a_form(written: Written) -> None:
    heading = "\t".join(f"column{at}" for at in range(12))
    trace = read(written(f"{heading}\njob0\t1\t1\t5\t0\t7\n"))
    assert [job.id for job in trace.jobs] == ["job0"]
    assert trace.dropped.first_lines == {"with a size that is not a number": 1}


def refused(path: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        read(path)
    assert caught.value.exit_status is ExitStatus.USAGE
    assert caught.value.file == str(path)
    return caught.value


def test_a_file_without_any_job_is_refused_with_what_it_should_hold(written: Written) -> None:
    error = refused(written("a b c\nd e f\n"))
    assert "2 lines with a wrong number of columns (first: line 1)" in error.what
    assert error.key == "line 1"
    assert "tabs" in error.hint
    assert refused(written("")).what == "has no job"


@pytest.mark.slow
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, written: Written) -> None:
    assert refused(tmp_path / "missing.tsv").what == "there is no such file"
    assert "is a folder" in refused(tmp_path).what
    packed = gzip.compress(b"".join(b"job%d\t%d\t1\t%d\t1\t1\n" % (at, at, at * 7919) for at in range(50_000)), mtime=0)
    error = refused(written(packed[: len(packed) // 2], "cut.gz"))
    assert "ends too early" in error.what
    assert 20_000 < int(error.key.removeprefix("line ")) < 30_000
    assert "broken" in refused(written(packed[:10] + b"\xff" * 99, "noise.gz")).what
    assert "CRC" in refused(written(packed[:-8] + bytes(8), "sum.gz")).what


@pytest.mark.parametrize(
    ("size", "block", "maps"),
    [(0, 128, 1), (1, 128, 1), (128, 128, 1), (129, 128, 2), (10**15, 128 * MIB, 7_450_581)],
)
def test_a_map_for_each_block(size: int, block: int, maps: int) -> None:
    assert maps_of(size, block) == maps


def replayed(input_bytes: int, shuffle_bytes: int, output_bytes: int) -> TraceJob:
    return TraceJob(
        id="a",
        submit_us=100,
        think_us=10,
        input_bytes=input_bytes,
        shuffle_bytes=shuffle_bytes,
        output_bytes=output_bytes,
        maps=maps_of(input_bytes),
        reduces=None if shuffle_bytes else 0,
    )


@pytest.mark.parametrize(
    ("sizes", "machines", "per_reducer", "expected"),
    [
        # (input, shuffle, output) of 600 machines -> (input, shuffle, output, maps, reduces) on `machines`
        ((740_773, 2_339_561, 627_471), 20, 64 * MIB, (64 * MIB, 77_985, 20_915, 1, 1)),
        ((3_623_279, 0, 9_838_062), 20, 64 * MIB, (64 * MIB, 1024, 327_935, 1, 1)),
        ((10_274_791_099, 13_024_975_762, 3_600_817_163), 20, 64 * MIB, (342_493_036, 434_165_858, 120_027_238, 3, 8)),
        ((10_274_791_099, 13_024_975_762, 3_600_817_163), 20, 16 * MIB, (342_493_036, 434_165_858, 120_027_238, 3, 4)),
        ((600 * MIB, 1500, 1500), 600, 2000, (600 * MIB, 1500, 1500, 5, 2)),
        ((600 * MIB, 1500, 3500), 600, 2000, (600 * MIB, 1500, 3500, 5, 3)),
        ((600 * MIB, 150_000, 0), 3, 100, (64 * MIB, 1024, 1024, 1, 1)),
    ],
)
def test_the_rules_of_swims_replay(
    sizes: tuple[int, int, int], machines: int, per_reducer: int, expected: tuple[int, ...]
) -> None:
    job = scaled(
        replayed(*sizes), factor_size=Fraction(machines, 600), machines=machines, bytes_per_reducer=per_reducer
    )
    assert (job.input_bytes, job.shuffle_bytes, job.output_bytes, job.maps, job.reduces) == expected
    assert job.submit_us == 100


@pytest.mark.parametrize(("machines", "reduces"), [(10, 10), (9, 1), (3, 1), (None, 10)])
def test_more_reduces_than_machines_become_a_fifth_of_the_machines(machines: int | None, reduces: int) -> None:
    job = scaled(replayed(5000, 5000, 5000), machines=machines, bytes_per_reducer=1000, least_bytes=0)
    assert job.reduces == reduces


def test_times_and_unknown_sizes() -> None:
    job = TraceJob(id="a", submit_us=101, think_us=10, maps=7, reduces=2, map_us=5)
    assert scaled(job, 0.5, 0.5, bytes_per_reducer=1) == replace(job, submit_us=50, think_us=5)
    with pytest.raises(ValueError, match="negative"):
        scaled(job, -1)


def test_a_job_without_shuffle_stays_one_when_nothing_is_added() -> None:
    job = scaled(replayed(5, 0, 7), bytes_per_reducer=1, least_input_bytes=0, least_bytes=0)
    assert (job.shuffle_bytes, job.output_bytes, job.reduces) == (0, 7, 0)
    assert scaled(replayed(5, 0, 7)).reduces is None


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 10**13), st.integers(0, 10**13), st.integers(0, 10**13)),
        min_size=1,
        max_size=20,
    ),
    st.sets(st.integers(0, 19)),
)
@settings(max_examples=25, deadline=None)
def test_every_line_is_a_job_or_counted(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, int, int]], spoilt: set[int]
) -> None:
    path = tmp_path_factory.mktemp("swim") / "trace.tsv"
    texts = ["\t".join(map(str, (f"j{at}", row[0], 0, *row[1:]))) for at, row in enumerate(rows)]
    path.write_text("".join(f"{text}-\n" if at in spoilt else f"{text}\n" for at, text in enumerate(texts)))
    whole = {f"j{at}": row for at, row in enumerate(rows) if at not in spoilt}
    if not whole:
        refused(path)
        return
    trace: Trace = read(path)
    assert trace.dropped.total == len(rows) - len(whole)
    assert {
        job.id: (job.submit_us // 10**6, job.input_bytes, job.shuffle_bytes, job.output_bytes) for job in trace.jobs
    } == whole
    assert [job.submit_us for job in trace.jobs] == sorted(job.submit_us for job in trace.jobs)
