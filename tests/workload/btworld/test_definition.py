from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError
from fawkes.workload.btworld.definition import RAW, Query, folder, workflow
from fawkes.workload.btworld.reference import COLUMNS

FLOW = workflow()


def test_14_queries_26_jobs_and_13_sizes_of_input_as_in_the_paper() -> None:
    jobs = [job for _, job in FLOW.jobs()]

    assert (len(FLOW.queries), len(jobs)) == (14, 26)
    assert len({FLOW.sets[job.reads].value for job in jobs}) == 13
    assert len({job.name for job in jobs}) == 26


def test_tt_and_ah_are_those_of_table_1() -> None:
    tot, ah = FLOW.queries[:2]
    assert [len(query.jobs) for query in (tot, ah)] == [1, 2]
    assert (FLOW.sets["tot"].value, FLOW.sets["ah"].value) == (3.9e6 / 100e9, 90e3 / 100e9)
    assert FLOW.sets["ah-rows"].value == 1
    assert {FLOW.sets[name].source for name in ("tot", "ah", "ah-rows")} == {"paper"}


@pytest.mark.parametrize(
    ("query", "needs"),
    [
        ("ToT", []), ("AH", []), ("AT", ["ToT"]), ("AS", ["ToT"]), ("TKTL", ["ToT"]), ("TKTG", ["TKTL"]),
        ("TKSL", ["SoT"]), ("TKSG", ["TKSL"]), ("TKHL", ["HoT"]), ("TKHG", ["TKHL"]), ("NS", ["TKTG"]), ("DS", ["NS"]),
    ],
)  # fmt: skip
def test_what_a_query_needs(query: str, needs: list[str]) -> None:
    (query_found,) = [known for known in FLOW.queries if known.name == query]
    assert [needed.name for needed in FLOW.depends(query_found)] == needs


@pytest.mark.parametrize("query", FLOW.queries, ids=[query.name for query in FLOW.queries])
def test_a_script_loads_and_stores_what_the_definition_says(query: Query) -> None:
    text = (folder() / query.script).read_text()
    loaded = set(re.findall(r"LOAD '\$sets/([\w-]+)'", text)) | ({RAW} if "scrapes('$raw')" in text else set())
    stored = set(re.findall(r"INTO '\$sets/([\w-]+)'", text))

    assert loaded - stored == set(query.reads)
    assert stored <= {job.writes for job in query.jobs}
    assert query.jobs[-1].writes in stored


def test_the_script_of_the_whole_workflow_runs_every_query_in_this_order() -> None:
    text = (folder() / "btworld.pig").read_text()
    assert re.findall(r"^exec .* (\S+\.pig);$", text, re.MULTILINE) == [query.script for query in FLOW.queries]


def test_every_result_has_a_reference() -> None:
    assert {query.jobs[-1].writes for query in FLOW.queries} | {"join"} <= COLUMNS.keys()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('reads = "tktg"', 'reads = "nobody"', "query[NS].job[Join-1]: there is no [[set]] 'nobody'"),
        ('writes = "tktg"', 'writes = "tktl"', "'tktl' is written twice"),
        ('reads = "tktl-rows"', 'reads = "ds"', "reads 'ds' before it is written"),
        ('script = "ds.pig"', 'script = "xx.pig"', "query[DS].script: there is no file 'xx.pig'"),
        ('source = "paper"', 'source = "gossip"', "source"),
        ("value = 1e-05", "value = -1", "value"),
    ],
)
def test_a_wrong_definition_is_refused_with_its_place(tmp_path: Path, old: str, new: str, says: str) -> None:
    shutil.copytree(folder(), tmp_path / "btworld")
    file = tmp_path / "btworld" / "workflow.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))

    with pytest.raises(ConfigError) as caught:
        workflow(file)

    assert says in str(caught.value)
    assert str(file) in str(caught.value)
