"""Two queries of BTWorld on real Pig, each held against pandas; all that can fail has happened in ``ran``.

`make drills` runs the whole workflow (test_btworld_whole.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.core.values.model import JobLife
from fawkes.workload.btworld.definition import folder
from fawkes.workload.btworld.reference import compare, results, scrapes
from tests.e2e.programs.conftest import BTWORLD_BYTES, BTWORLD_DAYS, EARLY, QUERIES, QUERIES_IN, Ran
from tests.e2e.programs.support import assert_succeeded_at_once, digests, made

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]


def test_the_data_in_hdfs_was_what_the_generator_makes_anywhere(ran: Ran, tmp_path: Path) -> None:
    words = f"--size {BTWORLD_BYTES} --parts 2 --days {BTWORLD_DAYS}"
    assert digests(ran.saved / "btworld" / "raw") == digests(made(folder() / "scrapes.py", words, tmp_path)) != {}


def test_they_succeeded_at_once(ran: Ran) -> None:
    assert_succeeded_at_once(ran, {"bt-prepare", *(f"bt-{name.lower()}" for name in QUERIES)})


def test_each_mr_job_of_a_query_was_known_as_ours(ran: Ran) -> None:
    found = ran.applications["bt-tktl"]
    assert [(one["name"], one["finalStatus"]) for one in found] == [("PigLatin:tktl.pig", "SUCCEEDED")] * 2


def test_each_query_has_the_result_that_pandas_has(ran: Ran) -> None:
    wanted = results(scrapes(ran.saved / "btworld" / "raw"))
    mine = {name.lower(): wanted[name.lower()] for name in QUERIES}
    compared = compare(ran.saved / "btworld" / Path(QUERIES_IN).name, mine)

    assert {one.name: one.wrong for one in compared} == dict.fromkeys(mine, "")
    assert min(one.rows for one in compared) > 2


def test_a_query_whose_input_is_missing_says_which(ran: Ran) -> None:
    early = ran.jobs[EARLY]
    assert early.life is JobLife.FAILED
    assert early.why.startswith("Failed to read data from")
    assert "/nowhere/join" in early.why
