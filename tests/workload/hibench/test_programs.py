"""The programs without Hadoop: data, mappers and reducers as Streaming runs them, held against numpy and scipy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fawkes.config.clusters.details import JobDetails
from fawkes.config.jobs.jobs import job_of
from fawkes.workload.hibench import reference
from fawkes.workload.hibench.load import COORDINATE_BYTES, PAGE_BYTES, WORKLOADS, of_profile, of_size
from fawkes.workload.hibench.programs import folder, programs
from tests.workload.hibench.support import make, streaming


def text_of(place: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(place.iterdir()))


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    ["words --size 20001", "records --size 5000", "links --count 300", "samples --count 200 --dimensions 4"],
)
def test_data_is_the_same_for_the_same_seed_and_other_for_another(tmp_path: Path, words: str) -> None:
    made = [
        make(tmp_path / name, *words.split(), "--seed", seed, "--parts", "3")
        for name, seed in (("a", "1"), ("b", "1"), ("c", "2"))
    ]
    texts = [text_of(place) for place in made]

    assert texts[0] == texts[1] != texts[2]
    assert [file.name for file in sorted(made[0].iterdir())] == ["part-00000", "part-00001", "part-00002"]
    if "--size" in words:
        assert len(texts[0]) == int(words.split()[2])


@pytest.mark.slow
def test_a_graph_and_samples_do_not_depend_on_the_number_of_files(tmp_path: Path) -> None:
    for words in (["links", "--count", "100"], ["samples", "--count", "100"]):
        single = make(tmp_path / f"{words[0]}-1", *words)
        three = make(tmp_path / f"{words[0]}-3", *words, "--parts", "3")
        assert text_of(single) == text_of(three)


@pytest.mark.slow
def test_lines_are_as_long_as_sizes_are_reckoned_with(tmp_path: Path) -> None:
    links = make(tmp_path / "links", "links", "--count", "20000")
    samples = make(tmp_path / "samples", "samples", "--count", "2000", "--dimensions", "20")

    assert len(text_of(links)) / 20_000 == pytest.approx(PAGE_BYTES, rel=0.05)
    assert len(text_of(samples)) / 2000 / 20 == pytest.approx(COORDINATE_BYTES, rel=0.05)


def test_some_pages_link_to_nowhere_and_none_out_of_the_graph(tmp_path: Path) -> None:
    rows = [line.split("\t") for line in reference.lines(make(tmp_path / "links", "links", "--count", "200"))]
    targets = [[int(link) for link in links.split()] for _, _, links in rows]

    assert [int(page) for page, _, _ in rows] == list(range(200))
    assert sum(not links for links in targets) == 10
    assert all(0 <= link < 200 for links in targets for link in links)
    assert max(map(len, targets)) > 5


def test_what_cannot_be_written_is_told_in_a_line(tmp_path: Path) -> None:
    argv = [sys.executable, str(folder() / "data.py"), "words", "--size", "9" * 18, "--out", str(tmp_path / "x")]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("data.py: no space for 9999")
    assert list((tmp_path / "x").iterdir()) == []


@pytest.mark.slow
def test_pagerank_in_three_jobs_for_each_iteration(tmp_path: Path) -> None:
    read, out = make(tmp_path / "links", "links", "--count", "120", "--parts", "2"), tmp_path / "out"
    state = read
    for n in (1, 2, 3):
        streaming(state, out / f"dangling-{n}", "pagerank.py", "dangling-map", "dangling-reduce")
        side = out / f"dangling-{n}" / "part-00000"
        streaming(state, out / f"ranks-{n}", "pagerank.py", "update-map", "update-reduce 120", side)
        state = out / f"ranks-{n}"
        streaming(state, out / f"sorted-{n}", "pagerank.py", "sort-map", "sort-reduce")

    assert reference.pagerank(read, out, 3) == ""
    assert "off by" in reference.pagerank(read, _renamed(out, "sorted-3", "sorted-2"), 2)


def _renamed(folder: Path, old: str, new: str) -> Path:
    (folder / new).rename(folder / "was")
    (folder / old).rename(folder / new)
    return folder


def test_the_ranks_of_a_graph_that_can_be_computed_by_hand() -> None:
    """0 and 1 link to each other, 2 to nowhere: its rank of a third goes evenly to all."""
    ranks = reference.ranks(["0\t0.25\t1", "1\t0.25\t0", "2\t0.5\t"], 1)
    assert list(ranks) == pytest.approx([0.05 + 0.85 * (0.25 + 0.5 / 3)] * 2 + [0.05 + 0.85 * 0.5 / 3])


@pytest.mark.slow
def test_kmeans_iterates_then_assigns(tmp_path: Path) -> None:
    shape = ["--count", "150", "--dimensions", "3", "--clusters", "3"]
    read = make(tmp_path / "samples", "samples", *shape, "--parts", "2")
    first, out = make(tmp_path / "first", "centres", *shape, "--k", "4"), tmp_path / "out"
    side = first / "part-00000"
    for n in (1, 2):
        streaming(read, out / f"centres-{n}", "kmeans.py", "iterate-map", "iterate-reduce", side)
        side = out / f"centres-{n}" / "part-00000"
    streaming(read, out / "samples", "kmeans.py", "assign-map", side=side)

    assert reference.kmeans(read, out, first, 2) == ""
    assert "not at the nearest centre" in reference.kmeans(read, out, first, 1)
    (out / "samples" / "part-00000").write_text((out / "samples" / "part-00001").read_text())
    assert "samples that are not the 150" in reference.kmeans(read, out, first, 2)


def test_the_checks_of_sorted_records_can_fail(tmp_path: Path) -> None:
    read = make(tmp_path / "in", "records", "--size", "2000")
    good = sorted(reference.lines(read))
    out = tmp_path / "out"
    out.mkdir()
    for rows, wrong in (
        (good, ""),
        (good[::-1], "part-r-00000 is not in order"),
        (good[1:], "19 records that are not"),
    ):
        (out / "part-r-00000").write_text("".join(f"{row}\n" for row in rows))
        assert reference.sort(read, out).startswith(wrong)
        assert bool(reference.sort(read, out)) == bool(wrong)


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_tables_are_jobs_that_can_be_submitted(name: str) -> None:
    tables = programs([of_profile(name, "tiny")], properties={"a.b": "c"})
    specs = [job_of(table, cluster="c", file="here", folder=Path()) for table in tables]

    assert [spec.id for spec in specs][-1].startswith(name)
    assert len({spec.id for spec in specs}) == len(specs) > 1
    assert all(JobDetails.of(spec.details).properties == {"a.b": "c"} for spec in specs)


def test_programs_know_pages_iterations_and_reduces() -> None:
    commands = {table["id"]: table.get("command", "") for table in programs([of_size("pagerank", 2300, iterations=2)])}
    assert commands["pagerank"] == "sh pagerank.sh /HiBench/Pagerank/Input /HiBench/Pagerank/Output 100 2 8"
    assert commands["pagerank-prepare"].endswith("data.py links --count 100 --seed 1 --parts 4")
