"""`fawkes simulate`: what it prints, and a folder that is a site of its own, whole or not at all."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from fawkes.cli.main import cli

SCENARIO = """
title = "Small"
[pool]
nodes = 8
[settings]
preset = "paper"
period = "20s"
[[cluster]]
id = "c-1"
min_nodes = 3
[[cluster]]
id = "c-2"
min_nodes = 3
at = "5s"
[[load]]
cluster = "c-1"
apps = ["WC"]
jobs = { small = 3 }
[[load]]
cluster = "c-2"
apps = ["WC"]
jobs = { small = 9 }
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    return path


def fawkes(*words: str | Path) -> Result:
    return CliRunner(env={"COLUMNS": "250"}).invoke(cli, [str(word) for word in words])


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The rows of the scenario as JSON."""
    path = tmp_path_factory.mktemp("printed") / "small.toml"
    path.write_text(SCENARIO)
    return fawkes("simulate", path, "-o", "json")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a simulated run, with all forms of its pictures; it is not to be changed."""
    folder = tmp_path_factory.mktemp("simulated")
    (folder / "small.toml").write_text(SCENARIO)
    assert fawkes("simulate", folder / "small.toml", "--out", folder / "new" / "run").exit_code == 0
    return folder / "new" / "run"


@pytest.mark.slow
def test_lost_masters_have_a_table_of_their_own_and_columns_in_csv(scenario: Path) -> None:
    scenario.write_text(SCENARIO + '[[fault]]\nmasters_of = "c-2"\nat = "60s"\n')
    said = fawkes("simulate", scenario)
    assert said.exit_code == 0, said.stderr
    _, _, table = said.stdout.partition("Lost and moved masters:")
    assert ["c-1", "0s", "0"] in [line.split()[:3] for line in table.splitlines()]
    rows = list(csv.DictReader(StringIO(fawkes("simulate", scenario, "-o", "csv").stdout)))
    away = {row["cluster"]: float(row["masters_away_s"]) for row in rows}
    assert away["c-1"] == 0 < away["c-2"] == away["all"]


@pytest.mark.slow
def test_a_row_for_each_mr_cluster_and_totals(scenario: Path, printed: Result) -> None:
    assert printed.exit_code == 0, printed.stderr
    rows, total = (json.loads(printed.stdout)[key] for key in ("rows", "total"))
    assert [(row["cluster"], row["jobs"], row["failed_jobs"]) for row in rows] == [("c-1", 3, 0), ("c-2", 9, 0)]
    means = [row["slowdown_mean"] for row in rows]
    assert (total["slowdown_least"], total["slowdown_most"]) == (min(means), max(means))
    assert total["makespan_s"] == max(row["finished_s"] for row in rows)
    assert all(row["most_nodes"] >= 3 and row["node_s"] > 0 for row in rows)
    assert "simulate 2/2: TD" in printed.stderr
    rows = list(csv.DictReader(StringIO(fawkes("simulate", scenario, "-o", "csv").stdout)))
    assert [row["cluster"] for row in rows] == ["c-1", "c-2", "all"]
    table = fawkes("simulate", scenario).stdout
    assert "mean slowdown of the MR-clusters: least" in table
    assert "asters" not in table, "no masters were lost"


@pytest.mark.slow
def test_checking_at_every_event_changes_nothing(scenario: Path, printed: Result) -> None:
    said = fawkes("simulate", scenario, "--check", "-o", "json")
    assert said.exit_code == 0, said.stderr
    assert said.stdout == printed.stdout


@pytest.mark.slow
def test_policy_settings_and_seed_of_the_command_line_count(scenario: Path) -> None:
    none = json.loads(fawkes("simulate", scenario, "--policy", "None", "-o", "json").stdout)
    assert none["total"]["reconfigurations"] == 0
    assert [row["most_nodes"] for row in none["rows"]] == [3, 3]
    strict = json.loads(fawkes("simulate", scenario, "--set", "tau=1e9", "-o", "json").stdout)
    assert strict["total"]["reconfigurations"] == 0
    assert fawkes("simulate", scenario, "--seed", "5", "-o", "json").exit_code == 0


@pytest.mark.slow
def test_the_folder_is_a_site_of_its_own(simulated: Path) -> None:
    assert [path.name for path in simulated.parent.iterdir()] == ["run"]
    for words, says in (
        (("verify",), "every decision is the same as the stored one"),
        (("events", "--limit", "all", "-o", "json"), '"Started"'),
        (("explain",), "Policy TD"),
        (("status", "--all"), "c-2"),
    ):
        said = fawkes("--site", simulated, *words)
        assert said.exit_code == 0, said.stderr
        assert says in said.stdout + said.stderr
    for name in ("nodes", "clusters", "jobs", "ticks", "moves", "samples"):
        frame = simulated / "frames" / name
        text, packed = pd.read_csv(frame.with_suffix(".csv")), pd.read_parquet(frame.with_suffix(".parquet"))
        assert list(text.columns) == list(packed.columns)
        assert len(text) == len(packed) > 0
    for name in ("nodes-over-time", "course"):
        assert (simulated / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (simulated / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert set(pd.read_csv(simulated / "course.csv").what) >= {"core", "waiting tasks", "discrimination"}


@pytest.mark.slow
def test_beside_a_recorded_run_stand_its_decisions_and_times(scenario: Path, simulated: Path) -> None:
    beside = fawkes("simulate", scenario, "--beside", simulated)
    assert beside.exit_code == 0, beside.stderr
    assert "100% of the decisions are in the same order; median error of the jobs' times +0%" in beside.stdout
    rows = json.loads(fawkes("simulate", scenario, "--beside", simulated, "-o", "json").stdout)["beside"]
    assert rows["likeness"] == 1.0
    assert {row["error"] for row in rows["jobs"]} == {0.0}


def test_beside_a_folder_without_a_ledger_is_refused(scenario: Path, tmp_path: Path) -> None:
    refused = fawkes("simulate", scenario, "--beside", tmp_path)
    assert refused.exit_code == 2
    assert str(tmp_path) in refused.stderr


@pytest.mark.vectors
@pytest.mark.slow
def test_the_same_command_writes_the_same_frames_and_pictures(simulated: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    assert fawkes("simulate", simulated.parents[1] / "small.toml", "--out", again).exit_code == 0
    files = sorted(path.relative_to(again) for path in again.rglob("*.*") if path.is_file())
    same = [path for path in files if path.parts[0] != "state"]
    assert len(same) == 21
    for path in same:
        assert (simulated / path).read_bytes() == (again / path).read_bytes(), path


@pytest.mark.parametrize(
    ("stamp", "says"),
    [
        (None, "exists already and is not from a simulation"),
        ("{", "exists already and is not from a simulation"),
        ('{"fawkes": "0.0.1", "format": 1}', "holds results of Fawkes 0.0.1"),
        ('{"fawkes": "9.9.9", "format": 7}', "holds results of Fawkes 9.9.9 (format 7)"),
    ],
)
def test_a_folder_that_is_there_is_refused_and_left_alone(
    scenario: Path, tmp_path: Path, stamp: str | None, says: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("x")
    if stamp is not None:
        (out / "run.json").write_text(stamp)
    before = sorted(path.name for path in out.iterdir())
    said = fawkes("simulate", scenario, "--out", out)
    assert said.exit_code == 6
    assert says in said.stderr
    assert said.stdout == ""
    assert sorted(path.name for path in out.iterdir()) == before


@pytest.mark.slow
def test_a_result_that_is_there_is_named(scenario: Path, simulated: Path) -> None:
    said = fawkes("simulate", scenario, "--out", simulated)
    assert (said.exit_code, "the results of 'small under TD'" in said.stderr) == (6, True)


def test_a_run_that_never_finishes_leaves_no_folder(scenario: Path, tmp_path: Path) -> None:
    scenario.write_text('limit = "30s"\n' + SCENARIO)
    said = fawkes("simulate", scenario, "--out", tmp_path / "out")
    assert said.exit_code == 5
    assert f"{scenario}: the run never finishes: after 30s of simulated time 12 jobs have not ended" in said.stderr
    assert ": c-1-0001 is " in said.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("nothing-of-that-name",), 2, "there is no workload 'nothing-of-that-name'"),
        (("small.toml", "--policy", "ZZ"), 2, "there is no policy 'ZZ'"),
        (("small.toml", "--set", "tau"), 2, "'tau' is not a setting: write key=value"),
        (("small.toml", "--set", "tau=-3"), 2, "--set: settings.tau"),
        (("small.toml", "--set", "tao=3"), 2, "unknown key 'tao'. Did you mean 'tau'?"),
        (("small.toml", "--set", "tau=3", "--set", "tau=4"), 2, "'tau' is set twice"),
    ],
)
def test_a_wrong_command_says_what_is_wrong(scenario: Path, words: tuple[str, ...], code: int, says: str) -> None:
    said = fawkes("simulate", *(str(scenario) if word == "small.toml" else word for word in words))
    assert (said.exit_code, said.stdout) == (code, "")
    assert says in said.stderr


def test_a_scenario_comes_from_standard_input(scenario: Path, printed: Result) -> None:
    piped = CliRunner().invoke(cli, ["simulate", "-", "-o", "json"], input=scenario.read_text())
    assert piped.exit_code == 0, piped.stderr
    assert json.loads(piped.stdout) == json.loads(printed.stdout)


@pytest.mark.slow
def test_a_simulated_site_says_so_and_counts_times_from_its_start(simulated: Path) -> None:
    site = ("--site", simulated)
    said = fawkes(*site, "status", "--all")
    assert "this is a simulated run of" in said.stderr
    assert "no controller" not in said.stderr
    assert "a simulated run, Fawkes" in said.stdout
    assert ", as of +00:" in said.stdout
    for words in (["status", "--all"], ["events", "--limit", "all"], ["nodes", "-o", "wide"], ["explain"]):
        assert "1970" not in fawkes(*site, *words).output
    rows = json.loads(fawkes(*site, "events", "--since", "+00:00:05", "-o", "json").stdout)["rows"]
    assert rows[0]["time"] == "+00:00:05.000"


def test_what_is_wrong_in_standard_input_names_it() -> None:
    piped = CliRunner().invoke(cli, ["simulate", "-"], input=SCENARIO.replace("min_nodes = 3", "min_nodes = 0", 1))
    assert piped.exit_code == 2
    assert piped.stderr.startswith("fawkes: standard input: cluster")
