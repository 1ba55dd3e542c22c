"""The whole workflow on real Pig, each query held against pandas; all that can fail has happened in ``ran``."""

from __future__ import annotations

import pytest

from fawkes.workload.btworld.definition import workflow
from fawkes.workload.btworld.reference import compare, results, scrapes
from tests.e2e.programs.conftest import Ran
from tests.e2e.programs.support import assert_succeeded_at_once

pytestmark = [pytest.mark.hadoop, pytest.mark.drill]


def test_it_succeeded_at_once(ran: Ran) -> None:
    assert_succeeded_at_once(ran, {"bt-prepare", "btworld"})


def test_yarn_saw_26_jobs_and_each_was_known_as_ours(ran: Ran) -> None:
    found = ran.applications["btworld"]
    assert len(found) == len(list(workflow().jobs())) == 26
    assert {one["finalStatus"] for one in found} == {"SUCCEEDED"}


def test_each_query_has_as_many_jobs_as_the_definition_says(ran: Ran) -> None:
    names = [one["name"] for one in ran.applications["btworld"]]
    wanted = {query.script: len(query.jobs) for query in workflow().queries}
    assert {script: names.count(f"PigLatin:{script}") for script in wanted} == wanted


def test_each_query_has_the_result_that_pandas_has(ran: Ran) -> None:
    wanted = results(scrapes(ran.saved / "btworld" / "raw"))
    compared = compare(ran.saved / "btworld" / "sets", wanted)

    assert {one.name: one.wrong for one in compared} == dict.fromkeys(wanted, "")
    assert min(one.rows for one in compared) > 2
