"""The tables of a scenario: the example of docs/reference/scenario.md, and what can be wrong before there is a pool."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError
from fawkes.config.workloads.scenarios import load_scenario
from tests.config.support import Bad, assert_refused, cases, write

TEXT = (Path(__file__).parents[3] / "docs" / "reference" / "scenario.md").read_text()
HEAD = '[[cluster]]\nid = "c-1"\nmin_nodes = 2\n'
LOAD = HEAD + '[[load]]\ncluster = "c-1"\n'


def test_the_example_of_the_page_is_a_scenario(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert example
    table = load_scenario(write(tmp_path, "example.toml", example[1]))
    assert table.pool is not None
    assert (table.pool.nodes, [load.cluster for load in table.load]) == (24, ["bursts", "mixed"])
    assert table.model.disk_bytes_s == 120_000_000


@cases(
    part_without_paper=Bad(
        LOAD + 'apps = ["WC"]\njobs = { small = 1 }\npart = "c-2"',
        "load[#1].part",
        "means nothing without paper",
        "apps",
    ),
    format_without_trace=Bad(
        LOAD + 'paper = "WKLD-A"\nformat = "swf"', "load[#1].format", "means nothing without trace", "paper"
    ),
    no_jobs_at_all=Bad(LOAD + 'apps = ["WC"]', "load[#1].jobs", "is missing", "beside apps"),
    less_than_one_job=Bad(LOAD + 'apps = ["WC"]\njobs = { small = 0 }', "load[#1].jobs.small", "0", ""),
    more_sites_than_nodes=Bad(
        HEAD + '[pool]\nnodes = 1\nsites = ["a", "b"]', "pool.sites", "2 sites are more than 1 nodes", "a node"
    ),
    no_nodes=Bad(HEAD + "[pool]\nnodes = 0", "pool.nodes", "0", ""),
    neither_count_nor_nodes=Bad(HEAD + "[pool]", "pool.nodes", "a choice of one", "how many"),
    count_and_nodes=Bad(HEAD + "[pool]\nnodes = 2\nnode = [{ id = 'a' }]", "pool.nodes", "a choice of one", "each"),
    twice_the_same_node=Bad(
        HEAD + "[pool]\nnode = [{ id = 'a' }, { id = 'a' }]", "pool.node", "'a' is named twice", ""
    ),
    sites_beside_nodes=Bad(
        HEAD + "[pool]\nnode = [{ id = 'a' }]\nsites = ['x']", "pool.sites", "means nothing", "own site"
    ),
    demands_without_trace=Bad(
        LOAD + 'paper = "WKLD-A"\ndemands = "d.csv"', "load[#1].demands", "means nothing without trace", "paper"
    ),
    no_limit=Bad('limit = "0s"\n' + HEAD, "limit", "0 is too little", ""),
    slow_start_above_all_maps=Bad(HEAD + "[model]\nslow_start = 1.5", "model.slow_start", "1.5", ""),
)
def test_bad_tables_are_refused(tmp_path: Path, bad: Bad) -> None:
    path = write(tmp_path, "mine.toml", bad.text)
    assert_refused(bad, path, lambda: load_scenario(path))


def test_a_missing_file_says_what_needs_none(tmp_path: Path) -> None:
    bad = Bad("", "", "no such file", "WKLD-D")
    assert_refused(bad, tmp_path / "x.toml", lambda: load_scenario(tmp_path / "x.toml"))


def test_constants_of_a_file_stand_below_those_of_the_scenario(tmp_path: Path) -> None:
    write(tmp_path, "model.toml", '[model]\njoin = "9s"\ncores = 1.5\n[fitted]\nfawkes = "1"\n')
    path = write(tmp_path, "mine.toml", HEAD + '[model]\nfrom = "model.toml"\ncores = 3\n')
    model = load_scenario(path).model
    assert (model.join_us, model.cores, model.clean_us) == (9_000_000, 3, None)


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        (None, "model.toml", "no such file"),
        ("[fitted]", "model.toml", "has no [model]"),
        ('[model]\nfrom = "other.toml"', "model.toml: model.from", "names a further file"),
        ('[model]\njoins = "9s"', "model.toml: model.joins", "unknown key 'joins'"),
        ('[model]\njoin = "long"', "model.toml: model.join", "not a duration"),
    ],
)
def test_a_wrong_file_of_constants_is_refused(tmp_path: Path, text: str | None, place: str, says: str) -> None:
    if text is not None:
        write(tmp_path, "model.toml", text)
    path = write(tmp_path, "mine.toml", HEAD + '[model]\nfrom = "model.toml"\n')
    with pytest.raises(ConfigError) as caught:
        load_scenario(path)
    assert caught.value.where == f"{tmp_path}/{place}"
    assert says in caught.value.what
