"""Results of real MR-jobs, held against independent computations; all that can fail has happened in ``ran``."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from fawkes.btworld.definition import folder as btworld_folder
from fawkes.btworld.definition import workflow
from fawkes.btworld.reference import compare, results, scrapes
from fawkes.core.model import JobLife
from fawkes.hibench import reference
from fawkes.hibench.programs import folder as hibench_folder
from tests.e2e.programs.conftest import BTWORLD_BYTES, BTWORLD_DAYS, EARLY, PROGRAMS, Ran

pytestmark = pytest.mark.hadoop


def test_every_job_succeeded_at_once(ran: Ran) -> None:
    ends = {name: (job.life, job.attempt, job.why) for name, job in ran.jobs.items() if name != EARLY}
    assert ends == dict.fromkeys(ends, (JobLife.SUCCEEDED, 1, ""))


def test_a_query_whose_input_is_missing_says_which(ran: Ran) -> None:
    early = ran.jobs[EARLY]
    assert early.life is JobLife.FAILED
    assert early.why.startswith("Failed to read data from")
    assert "/nowhere/join" in early.why


def digests(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.glob("part-*")}


@pytest.mark.parametrize(
    ("saved", "words"),
    [
        ("btworld/raw", f"scrapes.py --size {BTWORLD_BYTES} --parts 2 --days {BTWORLD_DAYS}"),
        ("hibench/Wordcount/Input", f"data.py words --size {PROGRAMS['wordcount'].size_bytes} --parts 2"),
        ("hibench/Sort/Input", f"data.py records --size {PROGRAMS['sort'].size_bytes} --parts 2"),
        ("hibench/Pagerank/Input", f"data.py links --count {PROGRAMS['pagerank'].count} --parts 2"),
        (
            "hibench/Kmeans/Input",
            f"data.py samples --count {PROGRAMS['kmeans'].count} --dimensions 3 --clusters 3 --parts 2",
        ),
    ],
)
def test_the_data_in_hdfs_was_what_the_generator_makes_anywhere(
    ran: Ran, tmp_path: Path, saved: str, words: str
) -> None:
    program, *rest = words.split()
    place = (btworld_folder() if program == "scrapes.py" else hibench_folder()) / program
    subprocess.run([sys.executable, str(place), *rest, "--out", str(tmp_path)], check=True, capture_output=True)

    assert digests(ran.saved / saved) == digests(tmp_path) != {}


def test_yarn_saw_26_jobs_of_btworld_and_each_was_known_as_ours(ran: Ran) -> None:
    found = ran.applications["btworld"]
    assert len(found) == len(list(workflow().jobs())) == 26
    assert {one["finalStatus"] for one in found} == {"SUCCEEDED"}


def test_each_query_of_btworld_has_the_result_that_pandas_has(ran: Ran) -> None:
    wanted = results(scrapes(ran.saved / "btworld" / "raw"))
    compared = compare(ran.saved / "btworld" / "sets", wanted)

    assert {one.name: one.wrong for one in compared} == dict.fromkeys(wanted, "")
    assert min(one.rows for one in compared) > 2


def test_three_jobs_for_each_iteration_of_pagerank_and_one_for_each_of_kmeans(ran: Ran) -> None:
    names = {job: sorted(one["name"] for one in ran.applications[job]) for job in ("pagerank", "kmeans")}
    assert names["pagerank"] == [
        f"{step}-{n}" for step in ("DanglingPages", "SortRanks", "UpdateRanks") for n in (1, 2)
    ]
    assert names["kmeans"] == ["CentroidComputing-1", "CentroidComputing-2", "Clustering"]


@pytest.mark.parametrize("name", ["Wordcount", "Sort", "Terasort"])
def test_the_examples(ran: Ran, name: str) -> None:
    folder = ran.saved / "hibench" / name
    assert getattr(reference, name.lower())(folder / "Input", folder / "Output") == ""


def test_teravalidate_found_nothing_either(ran: Ran) -> None:
    rows = reference.lines(ran.saved / "hibench" / "Terasort" / "Validate")
    assert [row.split("\t")[0] for row in rows] == ["checksum"]


def test_pagerank(ran: Ran) -> None:
    folder = ran.saved / "hibench" / "Pagerank"
    assert reference.pagerank(folder / "Input", folder / "Output", PROGRAMS["pagerank"].iterations) == ""


def test_kmeans(ran: Ran, tmp_path: Path) -> None:
    program = PROGRAMS["kmeans"]
    words = f"centres --count {program.count} --dimensions 3 --clusters 3 --k 4 --out {tmp_path}".split()
    subprocess.run([sys.executable, str(hibench_folder() / "data.py"), *words], check=True, capture_output=True)
    folder = ran.saved / "hibench" / "Kmeans"

    assert reference.kmeans(folder / "Input", folder / "Output", tmp_path, program.iterations) == ""
