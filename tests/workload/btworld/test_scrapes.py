from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.workload.btworld.definition import folder
from tests.workload.btworld.support import made, program

SCRAPES = program("scrapes")


def lines(place: Path) -> list[list[str]]:
    return [line.split(" ") for file in sorted(place.iterdir()) for line in file.read_text().splitlines()]


@pytest.mark.slow
@given(size=st.integers(1, 40_000), seed=st.integers(0, 50), part=st.integers(0, 3))
def test_a_size_is_reached_but_for_less_than_a_line_and_no_line_is_cut_by_it(size: int, seed: int, part: int) -> None:
    text = b"".join(SCRAPES.records(size, seed, 2, part))

    assert size - 160 < len(text) <= size
    assert not text or text.endswith(b"\n")


def test_the_same_bytes_for_the_same_seed_on_any_machine(tmp_path: Path) -> None:
    place = made(tmp_path / "raw", 50_000, seed=3, days=2, parts=2)

    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(place.iterdir()))).hexdigest()

    assert [file.name for file in sorted(place.iterdir())] == ["part-00000", "part-00001"]
    assert digest == "bc489f8e41cf684841be099e427dc15e2392e59d2f120797dcc68e0c9159da5c"


def test_another_seed_and_another_file_have_other_scrapes() -> None:
    texts = {b"".join(SCRAPES.records(5000, seed, 1, part)) for seed in (1, 2) for part in (0, 1)}
    assert len(texts) == 4


def test_few_trackers_have_most_swarms_and_few_swarms_most_scrapes(tmp_path: Path) -> None:
    rows = lines(made(tmp_path / "raw", 2_000_000))
    trackers = Counter(row[1] for row in rows if len(row) == 6)
    swarms = Counter(row[0] for row in rows if len(row) == 6)

    assert len(trackers) > 50
    assert sum(count for _, count in trackers.most_common(6)) > 0.4 * len(rows)
    assert len(swarms) > 500
    assert sum(count for _, count in swarms.most_common(10)) > 0.2 * len(rows)


@pytest.mark.slow
def test_the_dirt_is_there_and_is_rare(tmp_path: Path) -> None:
    rows = lines(made(tmp_path / "raw", 2_000_000))
    count = len(rows)
    unknown = sum("None" in row for row in rows)
    twice = sum(before == other for before, other in pairwise(rows))
    cut = sum(len(row) < 6 for row in rows)

    assert 0.01 < unknown / count < 0.03
    assert 0.005 < twice / count < 0.015
    assert 0 < cut / count < 0.002


def test_times_go_from_the_first_hour_to_the_last_day(tmp_path: Path) -> None:
    times = [row[2][:11] for row in lines(made(tmp_path / "raw", 500_000, days=3)) if len(row) == 6]

    assert times == sorted(times)
    assert (times[0], times[-1]) == ("20111018T00", "20111020T23")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(folder() / "scrapes.py"), *words], capture_output=True, text=True, check=False
    )


def test_the_command_prints_the_bytes_that_it_wrote(tmp_path: Path) -> None:
    ended = run("--size", "30000", "--out", str(tmp_path / "a" / "b"), "--parts", "3")

    files = list((tmp_path / "a" / "b").iterdir())
    assert len(files) == 3
    assert int(ended.stdout) == sum(file.stat().st_size for file in files)


@pytest.mark.parametrize(
    ("size", "place", "says"),
    [("1000000000000000000", "out", "no space for 1000000000000000000 bytes"), ("1000", "file/out", "Not a directory")],
)
def test_what_cannot_be_written_is_told_in_a_line_and_nothing_is_left(
    tmp_path: Path, size: str, place: str, says: str
) -> None:
    (tmp_path / "file").touch()

    ended = run("--size", size, "--out", str(tmp_path / place))

    assert ended.returncode == 1
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.glob("out/*"))
