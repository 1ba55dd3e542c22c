from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.config.workloads import Workload, load_workload
from fawkes.workload.play import with_data
from fawkes.workload.wordcount import Compared, compare_all, counts
from tests.config.support import pool

TEXT = """
[[cluster]]
id = "a"
min_nodes = 1
replication = 1
data = [{ from = "in", to = "/input" }]
outputs = [{ path = "/output", save_to = "kept" }]

[[job]]
id = "count"
cluster = "a"
kind = "jar"
jar = "examples"
args = ["wordcount", "/input", "/output/{id}"]

[[job]]
id = "nap"
cluster = "a"
kind = "sleep"
maps = 1
map_time = "1s"
"""
RIGHT = {"part-r-00000": "a\t3\nb\t1\n", "part-r-00001": "Ä\t1\n", "_SUCCESS": ""}


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one").write_text("a b\n\n a\ta")
    (tmp_path / "in" / "two").write_text("Ä\n")
    (tmp_path / "w.toml").write_text(TEXT)
    return load_workload(tmp_path / "w.toml", pool(tmp_path), site=tmp_path)


def compared(workload: Workload, folder: Path, saved: dict[str, str]) -> Compared:
    out = folder / "kept" / "count"
    out.mkdir(parents=True)
    for name, text in saved.items():
        (out / name).write_text(text)
    (only,) = compare_all(workload)
    return only


def test_words_are_what_blanks_divide(workload: Workload, tmp_path: Path) -> None:
    assert counts(tmp_path / "in") == {b"a": 3, b"b": 1, "Ä".encode(): 1}


def test_an_identical_output(workload: Workload, tmp_path: Path) -> None:
    assert compared(workload, tmp_path, RIGHT) == Compared("count", 3, 5, "")


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"part-r-00000": "a\t2\nb\t1\n"}, "1 words differ, such as 'a': 2 instead of 3"),
        ({"part-r-00001": ""}, "1 words differ, such as 'Ä': 0 instead of 1"),
        ({"part-r-00002": "c\t1\n"}, "1 words differ, such as 'c': 1 instead of 0"),
        ({"part-r-00001": "a\t3\nÄ\t1\n"}, "'a' is counted twice"),
    ],
)
def test_an_output_that_differs(change: dict[str, str], wrong: str, workload: Workload, tmp_path: Path) -> None:
    assert compared(workload, tmp_path, RIGHT | change).wrong == wrong


def test_an_output_that_is_not_whole(workload: Workload, tmp_path: Path) -> None:
    found = compared(workload, tmp_path, {"part-r-00000": "a\t3\n"})
    assert found.wrong == f"there is no whole output in {tmp_path}/kept/count"


def test_other_jobs_are_not_compared(workload: Workload, tmp_path: Path) -> None:
    assert [one.job for one in compare_all(with_data(workload, tmp_path / "data"))] == ["count"]
