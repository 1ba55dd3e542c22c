"""`fawkes compare`: a table over replays, rows in a folder, and going on with what is there."""

from __future__ import annotations

import csv
import json
import re
import shutil
import socket
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from fawkes.cli.main import cli
from fawkes.cli.offline.compare import divisions_of
from fawkes.offline.runs.grid import Grid
from fawkes.offline.scenarios.scenario import pool_of
from tests.cli.offline.test_simulate import SCENARIO, fawkes
from tests.offline.support import CATALOG, two


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    return path


def compare(scenario: Path, *words: str, out: str = "out", replays: int = 2, jobs: int = 1) -> Result:
    folder = scenario.parent / out
    options = ("--replays", str(replays), "--jobs", str(jobs), "--out", str(folder))
    return fawkes("compare", scenario, "--policies", "TD,None", *options, *words)


def rows_of(said: Result) -> list[dict[str, Any]]:
    assert said.exit_code == 0, said.stderr
    rows: list[dict[str, Any]] = json.loads(said.stdout)["rows"]
    return rows


@pytest.mark.slow
def test_a_row_for_each_policy_and_setting(scenario: Path) -> None:
    rows = rows_of(compare(scenario, "--set", "tau=1,1e9", "-o", "json"))
    assert [(row["policy"], row["settings"], row["replays"]) for row in rows] == [
        ("TD", "tau=1", 2),
        ("None", "tau=1", 2),
        ("TD", "tau=1e9", 2),
        ("None", "tau=1e9", 2),
    ]
    eager, none, lazy, _ = rows
    assert (none["p"], none["change"]) == (None, None)
    # With a threshold that nothing reaches, TD moves nothing.
    assert lazy["reconfigurations"] == 0
    assert eager["reconfigurations"] > 0
    assert eager["slowdown_most"] < none["slowdown_most"]
    for row in rows:
        assert row["slowdown_mean_low"] <= row["slowdown_mean"] <= row["slowdown_mean_high"]
        assert row["slowdown_least"] <= row["slowdown_middle"] <= row["slowdown_most"]


@pytest.mark.slow
def test_the_same_command_goes_on_with_what_is_there(scenario: Path) -> None:
    first = compare(scenario, "-o", "json")
    folder = scenario.parent / "out"
    rows = sorted((folder / "rows").iterdir())
    assert len(rows) == 4
    rows[0].unlink()
    rows[1].write_text(rows[1].read_text()[:40])
    again = compare(scenario, "-o", "json")
    assert again.stdout == first.stdout
    assert "2 of 4 runs are finished already" in again.stderr
    assert again.stderr.count("compare ") == 2
    third = compare(scenario, "-o", "json")
    assert "4 of 4 runs are finished already" in third.stderr
    assert len(pd.read_csv(folder / "runs.csv")) == len(pd.read_parquet(folder / "runs.parquet")) == 4
    assert len(pd.read_parquet(folder / "table.parquet")) == 2
    assert (folder / "slowdowns.png").read_bytes().startswith(b"\x89PNG")
    assert f"picture of the nodes under each policy: {folder / 'nodes-over-time.png'}" in third.stderr
    assert (folder / "nodes-over-time.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.nightly
@pytest.mark.slow
def test_two_processes_say_the_same_as_one(scenario: Path) -> None:
    alone, two = compare(scenario, "-o", "csv"), compare(scenario, "-o", "csv", out="other", jobs=2)
    assert alone.stdout == two.stdout
    assert [row["policy"] for row in csv.DictReader(StringIO(alone.stdout))] == ["TD", "None (policy)"]


@pytest.mark.slow
def test_the_table_tells_what_is_compared(scenario: Path) -> None:
    said = compare(scenario, "--baseline", "td", replays=1)
    assert said.exit_code == 0, said.stderr
    assert "verdict: mean slowdown against TD, paired" in said.stdout
    assert "replays move each job by up to 30s; they draw no other workload" in said.stdout


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A comparison that has ended, with one replay: its folder, and what it said."""
    folder = tmp_path_factory.mktemp("ended")
    (folder / "small.toml").write_text(SCENARIO)
    done = compare(folder / "small.toml", "-o", "json", replays=1)
    assert done.exit_code == 0, done.stderr
    return folder, done


@pytest.fixture
def compared(ended: tuple[Path, Result], tmp_path: Path) -> Path:
    """The scenario of a comparison that has ended, beside its folder."""
    shutil.copytree(ended[0], tmp_path / "again")
    return tmp_path / "again" / "small.toml"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        (("--seed", "9"), 6, "seed was 1 and is 9 now"),
        (("--spread", "1s"), 6, "spread_us was 30000000 and is 1000000 now"),
    ],
)
def test_rows_of_another_comparison_are_refused(compared: Path, change: tuple[str, ...], code: int, says: str) -> None:
    said = compare(compared, *change, replays=1)
    assert (said.exit_code, said.stdout) == (code, "")
    assert says in said.stderr


@pytest.mark.slow
def test_no_picture_shows_what_the_table_beside_it_does_not(compared: Path) -> None:
    """A second command with fewer policies once left the picture of the first one beside its table."""
    out = compared.parent / "out"
    assert "slowdowns and changes as PNG" in compare(compared, "--front", replays=1).stderr
    assert {"changes.png", "front.png", "slowdowns.png"} <= {path.name for path in out.iterdir()}
    done = compare(compared, "--policies", "TD", replays=1)
    assert "slowdowns as PNG, PDF and SVG" in done.stderr
    assert {path.stem for path in out.glob("*.png")} == {"slowdowns", "nodes-over-time"}


@pytest.mark.slow
def test_rows_of_another_version_are_refused(compared: Path) -> None:
    file = compared.parent / "out" / "grid.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"fawkes": "0.0.1"}))
    said = compare(compared, replays=1)
    assert (said.exit_code, said.stdout) == (6, "")
    assert "holds rows of Fawkes 0.0.1" in said.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--policies", "TD,ZZ"), "there is no policy 'ZZ'"),
        (("--policies", "TD,td"), "the policy 'TD' is named twice"),
        (("--baseline", "ZZ"), "there is no policy 'ZZ'"),
        (("--replays", "0"), "0 is not in the range"),
        (("--spread", "-3s"), "'-3s' is not a duration"),
        (("--set", "tau=5,x"), "--set: settings.tau"),
        (("--set", "tau=5,5"), "--set: tau has a value twice"),
        (("--set", "policy=TD,EQ"), "--set: policy: would set the weighting policy, and it is named already"),
        (("--set", "model.dsk=1MB,2MB"), "small.toml with --set model.dsk=1MB: model.dsk: unknown key 'dsk'"),
        (("--set", "modle.disk=1MB"), "--set: modle.disk: there is no table 'modle'. Did you mean 'model'?"),
        (("--set", "settings.tau=3"), "--set: settings.tau: there is no table 'settings'. Write tau=3"),
        (
            ("--set", "zzz.tau=3"),
            "Tables: access, admission_parameters, bounds, cluster, hooks, kerberos, model, patience",
        ),
        (("--set", "pool.nodes=2,8"), "with --set pool.nodes=2: cluster[c-1].min_nodes: 3 core nodes are more than"),
    ],
)
def test_a_wrong_command_says_what_is_wrong_and_leaves_nothing(
    scenario: Path, words: tuple[str, ...], says: str
) -> None:
    said = fawkes("compare", scenario, "--out", scenario.parent / "out", *words)
    assert (said.exit_code, said.stdout) == (2, "")
    assert says in said.stderr
    assert not (scenario.parent / "out").exists()


def test_a_scheduler_that_refuses_is_asked_once_and_the_cause_is_named(scenario: Path) -> None:
    with socket.socket() as taken:
        # Bound and not listening: no other program can get the port, and a connection to it is refused.
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        said = compare(scenario, "--dask", address)
    assert said.exit_code == 2
    assert f"--dask: no answer from '{address}' ([Errno 111] Connection refused)" in said.stderr


def test_dask_without_dask_says_what_to_install(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # So Python remembers a module that is not there.
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = compare(scenario, "--dask", "tcp://127.0.0.1:8786")
    assert said.exit_code == 2
    assert re.search(r"`--dask` needs distributed, .* -m pip install .*\[dask\]", said.stderr)


@pytest.mark.slow
def test_rows_say_how_sure_they_are(scenario: Path) -> None:
    none, td = (
        next(row for row in rows_of(compare(scenario, "-o", "json", replays=6)) if row["policy"] == name)
        for name in ("None", "TD")
    )
    assert td["change_ci_low"] <= td["change"] <= td["change_ci_high"] < 0
    assert (td["verdict"], none["verdict"]) == ("better", None)
    assert td["slowdown_mean_ci_low"] <= td["slowdown_mean"] <= td["slowdown_mean_ci_high"]
    assert (scenario.parent / "out" / "changes.png").read_bytes().startswith(b"\x89PNG")
    few = rows_of(compare(scenario, "-o", "json", replays=2))
    assert [row["verdict"] for row in few] == ["cannot tell", None]


@pytest.mark.slow
def test_rows_of_other_code_are_refused_until_they_are_run_anew(ended: tuple[Path, Result], compared: Path) -> None:
    file = next((compared.parent / "out" / "rows").glob("TD-*"))
    file.write_text(json.dumps(json.loads(file.read_text()) | {"code": "0123456789abcdef"}))
    said = compare(compared, replays=1)
    assert (said.exit_code, said.stdout) == (6, "")
    assert "1 of 2 rows are of other code (digest 0123456789abcdef, such as TD-plain-0001.json)" in said.stderr
    again = compare(compared, "--anew", "-o", "json", replays=1)
    assert again.stdout == ended[1].stdout
    assert compare(compared, "-o", "json", replays=1).stdout == ended[1].stdout


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_a_policy_that_takes_too_long_ends_the_comparison_with_file_line_and_window(scenario: Path, jobs: int) -> None:
    slow = scenario.parent / "slow.py"
    slow.write_text('"""Slow."""\nNAME = "SLOW"\n\n\ndef measure(window):\n    return sum(range(10**12))\n')
    out = scenario.parent / "out"
    words = ("--policies", f"None,{slow}", "--set", "bounds.policy_time=1s", "--replays", "2", "--jobs", str(jobs))
    said = fawkes("compare", scenario, *words, "--out", out)
    assert (said.exit_code, said.stdout) == (2, "")
    assert f"{slow}: line 6: the policy SLOW gave no usable answer at tick 1" in said.stderr
    assert "took more than 1 s on a processor for the window of" in said.stderr


@pytest.mark.slow
def test_a_scenario_from_standard_input_is_compared_over_its_model(scenario: Path) -> None:
    words = ("--policies", "None", "--replays", "1", "--jobs", "1", "--set", "model.disk=50MB,100MB", "-o", "json")
    out = str(scenario.parent / "piped")
    piped = CliRunner().invoke(cli, ["compare", "-", *words, "--out", out], input=scenario.read_text())
    assert piped.exit_code == 0, piped.stderr
    slow, quick = json.loads(piped.stdout)["rows"]
    assert slow["makespan_s"] > quick["makespan_s"]


@pytest.mark.nightly
@pytest.mark.slow
def test_regret_is_a_column_only_when_asked_for(scenario: Path) -> None:
    plain = compare(scenario)
    assert "regret" not in plain.stdout
    said = compare(scenario, "--regret")
    assert "regret" in said.stdout
    assert re.search(r"best fixed division: .+; mean slowdown [0-9.]+, [0-9]+ were tried", said.stderr)
    rows = rows_of(compare(scenario, "--regret", "-o", "json"))
    assert min(row["regret"] for row in rows) > -1


def test_the_picture_says_how_many_runs_it_has_and_each_panel_has_its_own_pool() -> None:
    plan = two()
    scenarios = {
        ("TD", f"pool.nodes={count}"): replace(plan, nodes=pool_of(count)).scenario(CATALOG) for count in range(4, 17)
    }
    rows: list[dict[str, Any]] = [
        {"policy": policy, "settings": label, "slowdown_mean": 1.0, "nodes": [["a", [[0.0, 2], [9.0, 2]]]]}
        for policy, label in scenarios
    ]
    grid = Grid(name="small", scenarios=scenarios, demands=plan.demands, replays=1, seed=1, spread_us=0)
    whole, part, nothing = (divisions_of(grid, rows[:count]) for count in (12, 13, 0))
    assert whole is not None
    assert part is not None
    assert nothing is None
    titles = [figure.get_suptitle() for figure in (whole, part)]
    assert titles == ["small, first replay", "small, first replay, 12 of 13 runs"]
    pools = [np.asarray(panel.lines[-1].get_ydata())[0] for panel in part.axes]
    assert pools == list(range(4, 16))
