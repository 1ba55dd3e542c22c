"""`--set` over a scenario: its model, its pool and its MR-clusters, as if the file said so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.catalog import Kind
from fawkes.base.errors import ConfigError, UserError
from fawkes.config.site.site import Site
from fawkes.offline.outcomes.outcome import outcome_of
from fawkes.offline.runs.grid import grid_of, run_cell
from fawkes.offline.runs.settings import choices_of, crossed
from fawkes.offline.scenarios.plan import Plan, paper_plan, shaken_scenario
from fawkes.offline.scenarios.read import read_plan
from fawkes.offline.scenarios.scenario import simulate
from tests.offline.support import CATALOG

FILE = """
hosts = 6
[pool]
nodes = 6
[settings]
preset = "paper"
period = "20s"
[model]
disk = "100MB"
[[cluster]]
id = "a"
min_nodes = 2
replication = 1
[[cluster]]
id = "b"
min_nodes = 2
replication = 1
[[load]]
cluster = "a"
apps = ["WC"]
jobs = { small = 2 }
[[load]]
cluster = "b"
apps = ["ST"]
jobs = { "1GB" = 2 }
"""


def plan_with(folder: Path, changes: Mapping[str, Any], text: str = FILE) -> Plan:
    path = folder / "s.toml"
    path.write_text(text)
    return read_plan(Site(folder), CATALOG, str(path), changes=changes)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"model.disk": "50MB"}, FILE.replace('"100MB"', '"50MB"')),
        ({"model.disk_bytes_s": 5e7}, FILE.replace('"100MB"', '"50MB"')),
        ({"model.job_start_us": 1_500_000}, FILE.replace('"100MB"', '"100MB"\njob_start = "1.5s"')),
        ({"pool.nodes": 9}, FILE.replace("hosts = 6", "").replace("nodes = 6", "nodes = 9")),
        ({"pool.sites": ["x", "y"]}, FILE.replace("nodes = 6", 'nodes = 6\nsites = ["x", "y"]')),
        ({"cluster.b.min_nodes": 4}, FILE.replace("min_nodes = 2\nreplication = 1\n[[load", "min_nodes = 4\n"
                                                  "replication = 1\n[[load")),
        ({"bounds.policy_time": "3s"}, FILE + '[bounds]\npolicy_time = "3s"\n'),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_change_is_the_same_as_the_file_with_it(tmp_path: Path, changes: dict[str, Any], text: str) -> None:
    changed, written = plan_with(tmp_path, changes), plan_with(tmp_path, {}, text)
    assert changed == written
    assert changed != plan_with(tmp_path, {})


def test_a_smaller_pool_needs_no_hosts(tmp_path: Path) -> None:
    assert len(plan_with(tmp_path, {"pool.nodes": 4}).nodes) == 4


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model.dsk": "5MB"}, "s.toml with --set model.dsk=5MB: model.dsk: unknown key 'dsk'. Did you mean 'disk'?"),
        ({"model.disk": 5e7}, "model.disk: 50000000.0 has no unit"),
        ({"model.disk": "1000000PB"}, "is too large: a size is at most 1000PB"),
        ({"model.disk_bytes_s": 1e30}, "is too large: a size is at most 1000PB"),
        ({"model.job_start": "1000000d"}, "is too long: a duration is at most 3650d"),
        ({"model.from": "nowhere.toml"}, "nowhere.toml: there is no such file"),
        ({"pool.nodes": 1e30}, "pool.nodes: 1e+30 is a number, not a whole number"),
        ({"pool.nodes": 3, "cluster.b.min_nodes": 4},
         "s.toml with --set pool.nodes=3 --set cluster.b.min_nodes=4: cluster[b].min_nodes: 4 core nodes are more"),
        ({"cluster.c.min_nodes": 3}, "--set: cluster.c.min_nodes: there is no MR-cluster 'c'. There are: a, b"),
        ({"cluster.b": 3}, "--set: cluster.b: names no key of an MR-cluster. Write"),
        ({"pool": 3}, "--set: pool: names no key of a table. Write"),
        ({"cluster.b.min_nodes.x": 3}, "--set: cluster.b.min_nodes.x: 'min_nodes' is no table"),
        ({"pool.nodes.x": 3}, "'nodes' is no table"),
    ],
)  # fmt: skip
def test_a_wrong_change_names_key_and_remedy(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        plan_with(tmp_path, changes)
    assert says in str(raised.value)


def test_a_fault_of_the_file_itself_names_no_change(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        plan_with(tmp_path, {"pool.nodes": 9}, FILE.replace("min_nodes = 2", "min_nodes = -2", 1))
    assert "--set" not in str(raised.value)


def test_a_workload_of_the_paper_takes_them_too() -> None:
    plain = paper_plan("WKLD-D")
    changed = paper_plan("WKLD-D", changes={"pool.nodes": 40, "model.disk_bytes_s": 5e7, "cluster.c-1.min_nodes": 3})
    assert len(changed.nodes) == 40
    assert changed.constants == replace(plain.constants, disk_bytes_s=5 * 10**7)
    assert changed.delays == plain.delays
    assert [demand.spec.min_nodes for demand in changed.demands] == [3, 10, 10]
    assert [demand.all_jobs for demand in changed.demands] == [demand.all_jobs for demand in plain.demands]
    assert changed.demands[0].spec.details == plain.demands[0].spec.details
    with pytest.raises(ConfigError, match=r"WKLD-D with --set pool.nodes=9: cluster\[c-1\].min_nodes: 10 core nodes"):
        paper_plan("WKLD-D", changes={"pool.nodes": 9})


def test_values_are_divided_at_commas_outside_of_brackets_and_quotes() -> None:
    variants = crossed(choices_of([("pool.sites", '["x", "y"],["z"]'), ("tau", "5, 10")]))
    assert [changes["pool.sites"] for changes in variants.values()] == [["x", "y"]] * 2 + [["z"]] * 2
    assert {changes["tau"] for changes in variants.values()} == {5, 10}
    with pytest.raises(UserError, match="tau has a value twice"):
        crossed(choices_of([("tau", "5,5")]))


@pytest.mark.slow
def test_each_run_of_a_grid_over_the_model_is_that_of_simulate(tmp_path: Path) -> None:
    policies = [CATALOG.find(Kind.POLICY, name) for name in ("TD", "None")]
    variants = crossed(choices_of([("model.disk", "20MB,100MB"), ("cluster.a.min_nodes", "2,3")]))
    grid = grid_of(lambda changes: plan_with(tmp_path, changes), CATALOG, policies, variants, replays=1, spread_us=0)
    assert len(grid.cells) == 8
    assert len({grid.variant(cell) for cell in grid.cells}) == 8
    for cell in grid.cells:
        changes = variants[cell.settings]
        plan = plan_with(tmp_path, changes)
        scenario = plan.scenario(CATALOG, policy=CATALOG.find(Kind.POLICY, cell.policy))
        plan = plan.with_references(scenario)
        alone = simulate(shaken_scenario(scenario, plan.demands, seed=plan.seed, replay=1, spread_us=0))
        row = run_cell(grid, cell)
        assert {key: row[key] for key in outcome_of(alone).plain()} == outcome_of(alone).plain()
