"""Results of programs, held against the same computation here: the right ones, and the words for the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.cli.demo.outcome import ComparedJob, compared
from fawkes.config.workloads.workloads import WorkloadFile, load_workload
from fawkes.workload.btworld import reference as btworld
from fawkes.workload.playing.play import with_data
from tests.config.support import pool
from tests.workload.hibench.support import make, streaming

CLUSTER = """
[[cluster]]
id = "a"
min_nodes = 1
replication = 1
data = [{ from = "in", to = "/input" }]
outputs = [{ path = "/output", save_to = "kept" }]
"""
COUNT = """
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
SORT = """
[[job]]
id = "sort"
cluster = "a"
kind = "jar"
jar = "examples"
args = ["sort", {more} "/input", "/output/s"]
"""
AS_TEXT = '"-inFormat", "org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat",'


def loaded(folder: Path, jobs: str) -> WorkloadFile:
    (folder / "in").mkdir(exist_ok=True)
    # A workload is refused while its input is not there.
    if not any((folder / "in").iterdir()):
        (folder / "in" / "empty").touch()
    (folder / "w.toml").write_text(CLUSTER + jobs)
    return load_workload(folder / "w.toml", pool(folder), site=folder)


def script(name: str, words: str) -> str:
    return f'[[job]]\nid = "{name}"\ncluster = "a"\nkind = "script"\ncommand = "sh {name}.sh {words}"\n'


def twin(folder: Path, name: str, words: str) -> WorkloadFile:
    """The same program for Spark."""
    (folder / "twins.py").write_text("# not run here\n")
    args = [name, *words.split()]
    job = f'[[job]]\nid = "{name}"\ncluster = "a"\nkind = "spark"\npython = "twins.py"\nargs = {args}\n'
    return loaded(folder, f'software = ["spark"]\n{job}')


def saved(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.fixture
def counting(tmp_path: Path) -> WorkloadFile:
    workload = loaded(tmp_path, COUNT)
    (tmp_path / "in" / "one").write_text("a b\n\n a\ta")
    (tmp_path / "in" / "two").write_text("Ä\n")
    return workload


def test_an_identical_output(counting: WorkloadFile, tmp_path: Path) -> None:
    saved(tmp_path / "kept" / "count", RIGHT)
    assert list(compared(counting)) == [ComparedJob("count", "what wordcount wrote", "")]


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"part-r-00000": "a\t2\nb\t1\n"}, "1 words differ, such as 'a': 2 instead of 3"),
        ({"part-r-00001": ""}, "1 words differ, such as 'Ä': 0 instead of 1"),
        ({"part-r-00002": "c\t1\n"}, "1 words differ, such as 'c': 1 instead of 0"),
        ({"part-r-00001": "a\t3\nÄ\t1\n"}, "'a' is counted twice"),
    ],
)
def test_an_output_that_differs(change: dict[str, str], wrong: str, counting: WorkloadFile, tmp_path: Path) -> None:
    saved(tmp_path / "kept" / "count", RIGHT | change)
    assert [result.wrong for result in compared(counting)] == [wrong]


def test_an_output_that_is_not_whole(counting: WorkloadFile, tmp_path: Path) -> None:
    saved(tmp_path / "kept" / "count", {"part-r-00000": "a\t3\n"})
    assert [result.wrong for result in compared(counting)] == [f"there is no whole output in {tmp_path}/kept/count"]


def test_other_jobs_are_not_compared(counting: WorkloadFile, tmp_path: Path) -> None:
    assert [result.job for result in compared(with_data(counting, tmp_path / "data"))] == ["count"]


def test_records_of_text_are_compared_and_binary_ones_are_not(tmp_path: Path) -> None:
    binary, text = (loaded(tmp_path, SORT.replace("{more}", more)) for more in ("", AS_TEXT))
    (tmp_path / "in" / "part-0").write_text("b\t1\na\t2\n")
    saved(tmp_path / "kept" / "s", {"part-r-00000": "b\t1\na\t2\n", "_SUCCESS": ""})
    assert list(compared(binary)) == []
    assert [result.wrong for result in compared(text)] == ["part-r-00000 is not in order"]


def test_what_a_twin_wrote_is_compared(tmp_path: Path) -> None:
    words, records = (twin(tmp_path, name, "/input /output/t 2") for name in ("wordcount", "sort"))
    (tmp_path / "in" / "part-0").write_text("b\t1\na\t2\n")
    saved(tmp_path / "kept" / "t", {"part-00000": "b\t1\na\t2\n", "_SUCCESS": ""})
    assert [result.wrong for result in compared(records)] == ["part-00000 is not in order"]
    assert "words differ" in next(compared(words)).wrong


@pytest.mark.slow
def test_ranks_of_pages(tmp_path: Path) -> None:
    workload = loaded(tmp_path, script("pagerank", "/input /output/ranks 60 1 1"))
    make(tmp_path / "in", "links", "--count", "60")
    (pages,) = compared(workload)
    assert "there are no files of a result" in pages.wrong
    out = tmp_path / "kept" / "ranks"
    streaming(tmp_path / "in", out / "dangling-1", "pagerank.py", "dangling-map", "dangling-reduce")
    side = out / "dangling-1" / "part-00000"
    streaming(tmp_path / "in", out / "ranks-1", "pagerank.py", "update-map", "update-reduce 60", side)
    streaming(out / "ranks-1", out / "sorted-1", "pagerank.py", "sort-map", "sort-reduce")
    assert list(compared(workload)) == [ComparedJob("pagerank", "ranks of 1 iterations", "")]
    (out / "sorted-1" / "_SUCCESS").touch()
    twins = twin(tmp_path, "pagerank", "/input /output/ranks 60 1 1")
    assert list(compared(twins)) == [ComparedJob("pagerank", "what pagerank wrote", "")]


@pytest.mark.slow
def test_centres_of_samples(tmp_path: Path) -> None:
    shape = "--count 90 --dimensions 3 --clusters 3"
    workload = loaded(tmp_path, script("kmeans", f"/input /output/means 1 python3 data.py centres {shape} --k 4"))
    make(tmp_path / "in", "samples", *shape.split())
    first = make(tmp_path / "first", "centres", *shape.split(), "--k", "4") / "part-00000"
    out = tmp_path / "kept" / "means"
    streaming(tmp_path / "in", out / "centres-1", "kmeans.py", "iterate-map", "iterate-reduce", first)
    streaming(tmp_path / "in", out / "samples", "kmeans.py", "assign-map", side=out / "centres-1" / "part-00000")
    assert list(compared(workload)) == [ComparedJob("kmeans", "centres of 1 iterations", "")]
    twins = twin(tmp_path, "kmeans", "/input /output/means 1 90 3 3 4 1 2")
    assert list(compared(twins)) == list(compared(workload))
    (out / "centres-1" / "part-00000").write_text(first.read_text())
    assert "off by" in next(compared(workload)).wrong


@pytest.mark.slow
def test_each_result_of_the_btworld_workflow(tmp_path: Path) -> None:
    params = '"-param", "raw=/input", "-param", "sets=/output/sets"'
    (tmp_path / "btworld.pig").write_text("-- not run here\n")
    job = f'[[job]]\nid = "bt"\ncluster = "a"\nkind = "pig"\npig = "btworld.pig"\nargs = [{params}]\n'
    workload = loaded(tmp_path, job)
    assert ["there are no records" in result.wrong for result in compared(workload)] == [True]
    rows = [f"{number:040x} t{number % 2} 20100101T0{number}0000 {number} 2 3" for number in range(9)]
    (tmp_path / "in" / "part-0").write_text("\n".join(rows) + "\n")
    for name, table in btworld.results(btworld.scrapes(tmp_path / "in")).items():
        text = "".join("\t".join(map(str, row)) + "\n" for row in table.itertuples(index=False))
        saved(tmp_path / "kept" / "sets" / name, {"part-r-00000": text, "_SUCCESS": ""})
    results = list(compared(workload))
    assert len(results) > 12
    assert {result.wrong for result in results} == {""}
