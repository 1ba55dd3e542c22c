"""Runs offline from Python: the same as by the commands, and what the page and the notebook show."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import fawkes
from fawkes.base.catalog import Catalog
from fawkes.cli.main import cli
from fawkes.cli.offline.compare import variants_under
from fawkes.offline import api

ROOT = Path(__file__).parents[2]
SCENARIO = "fb-2009-small"
NOTEBOOK = json.loads((ROOT / "docs" / "notebooks" / "compare.ipynb").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_run_is_that_of_the_command() -> None:
    run = fawkes.simulate(SCENARIO, policy="TD", settings={"tau": 10})
    words = ["simulate", SCENARIO, "--policy", "TD", "--set", "tau=10", "-o", "json"]
    printed = json.loads(CliRunner().invoke(cli, words).stdout)
    assert dict(run.totals) == printed["total"]
    assert run.clusters["cluster"].tolist() == [row["cluster"] for row in printed["rows"]]
    assert len(run.jobs) == printed["total"]["jobs"] == 50
    assert len(run.moves) > 0
    assert set(run.moves["why"]) != {""}


@pytest.mark.slow
def test_a_run_is_written_as_the_command_writes_it(tmp_path: Path) -> None:
    run = fawkes.simulate(SCENARIO)
    folder = run.write(tmp_path / "mine")
    CliRunner().invoke(cli, ["simulate", SCENARIO, "--out", str(tmp_path / "theirs")])
    names = sorted(path.relative_to(folder) for path in folder.rglob("*.csv"))
    assert names
    assert [(folder / name).read_bytes() for name in names] == [
        (tmp_path / "theirs" / name).read_bytes() for name in names
    ]
    with pytest.raises(fawkes.FawkesError, match="mine"):
        run.write(tmp_path / "mine")


@pytest.mark.slow
def test_a_comparison_goes_on_where_it_stopped_and_by_the_command(tmp_path: Path) -> None:
    done: list[str] = []
    first = fawkes.compare(SCENARIO, ["TD", "None"], replays=2, out=tmp_path / "grid", progress=done.append)
    again = fawkes.compare(SCENARIO, ["TD", "None"], replays=3, out=tmp_path / "grid", progress=done.append)
    assert len(done) == 2 * 2 + 2 * 1
    pd.testing.assert_frame_equal(first.runs, again.runs[again.runs["replay"] <= 2].reset_index(drop=True))
    words = ["compare", SCENARIO, "--policies", "TD,None", "--replays", "3", "--out", str(tmp_path / "grid")]
    ended = CliRunner().invoke(cli, words)
    assert "6 of 6 runs are finished already" in ended.stderr


@pytest.mark.slow
def test_alternatives_are_combined_and_nothing_is_kept_without_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    comparison = fawkes.compare(SCENARIO, ["TD", "None"], settings={"tau": [5, 20], "period": "60s"}, replays=1)
    assert sorted(set(comparison.table["settings"])) == ["tau=20 period=60s", "tau=5 period=60s"]
    assert list(tmp_path.iterdir()) == []


FAULTS = """
[pool]
nodes = 8
[settings]
preset = "paper"
[[cluster]]
id = "a"
min_nodes = 3
replication = 2
[[cluster]]
id = "b"
min_nodes = 2
replication = 2
at = "5m"
[[job]]
cluster = "a"
id = "long"
kind = "sleep"
maps = 40
map_time = "30s"
reduces = 0
[[fault]]
masters_of = "b"
at = "1m"
[[fault]]
node = "node02"
at = "2m"
back = "4m"
emptied = true
[[fault]]
node = "node03"
at = "2m"
back = "4m"
emptied = true
"""


def test_the_notes_on_faults_are_those_of_the_command(tmp_path: Path) -> None:
    path = tmp_path / "faults.toml"
    path.write_text(FAULTS)
    told = CliRunner().invoke(cli, ["simulate", str(path)]).stderr
    notes = fawkes.simulate(path).notes
    assert [note[:20] for note in notes] == ["core nodes with all ", "losses of masters st"]
    assert all(f"note: {note}" in told for note in notes)
    compared = fawkes.compare(path, ["None"], replays=2)
    assert [note[:14] for note in compared.notes] == ["in 2 of 2 runs"] * 2
    assert compared.runs[["lost_copies", "missed"]].to_numpy().tolist() == [[1, 1], [1, 1]]
    assert fawkes.sweep(path, {"tau": 5}, ["None"], replays=2).notes == compared.notes


def test_labels_are_those_of_the_command(tmp_path: Path) -> None:
    """So that either goes on in the folder of the other."""
    catalog = Catalog(site=tmp_path)
    settings = {"tau": [5, 10], "moves_must_pay": True, "pool.sites": [["x", "y"]], "admission": ["fifo", "justice"]}
    said = (("tau", "5,10"), ("moves_must_pay", "true"), ("pool.sites", '["x","y"]'))
    variants = variants_under(catalog, "fifo, justice", said)
    assert variants == api.variants_of(settings, catalog)
    assert list(variants)[-1] == 'admission=justice tau=10 moves_must_pay=true pool.sites=["x", "y"]'
    with pytest.raises(fawkes.FawkesError, match="period has a value twice"):
        variants_under(catalog, None, (("period", '60s,"60s"'),))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: fawkes.simulate(SCENARIO, site="/nowhere"), "/nowhere: there is no such folder"),
        (lambda: fawkes.simulate("nosuch"), "there is no workload 'nosuch'. Known: "),
        (lambda: fawkes.simulate(SCENARIO, settings={"taau": 1}), "unknown key 'taau'. Did you mean 'tau'?"),
        (lambda: fawkes.simulate(SCENARIO, policy="XX"), "there is no policy 'XX'"),
        (lambda: fawkes.simulate(SCENARIO, policy=5), "5 is not the name of a policy"),  # type: ignore[arg-type]
        (lambda: fawkes.simulate(SCENARIO, settings={5: 3}), "5 is not a key"),  # type: ignore[dict-item]
        (lambda: fawkes.compare(SCENARIO, ["TD", "td"]), "the policy 'TD' is named twice"),
        (lambda: fawkes.compare(SCENARIO, settings={"tau": [1, 1]}), "tau has a value twice"),
        (lambda: fawkes.compare(SCENARIO, settings={"tau": []}), "tau has no value"),
        (lambda: fawkes.compare(SCENARIO, []), "no policy is named"),
        (lambda: fawkes.compare(SCENARIO, ["TD"], settings={"policy": "EQ"}), "policy: would set the weighting policy"),
        (lambda: fawkes.simulate(SCENARIO, policy="TD", settings={"policy": "EQ"}), "and it is named already"),
        (lambda: fawkes.compare(SCENARIO, replays=0), "replays is 0"),
        (lambda: fawkes.compare(SCENARIO, replays=True), "replays is True. Give a whole number from 1 to 9999"),
        (lambda: fawkes.compare(SCENARIO, processes=0), "processes is 0. Give a whole number from 1 to 1024"),
        (lambda: fawkes.simulate(SCENARIO, seed=1.0), "seed is 1.0. Give a whole number from 0 to "),  # type: ignore[arg-type]
        (lambda: fawkes.simulate(SCENARIO, seed=-1), "seed is -1"),
        (lambda: fawkes.simulate(SCENARIO, settings={"pool.nodes": range(3)}), "range(0, 3) is of Python's type range"),
        (lambda: fawkes.compare(SCENARIO, spread=30), 'Give a text with a unit, such as "30s"'),  # type: ignore[arg-type]
        (lambda: fawkes.compare(SCENARIO, spread="soon"), "spread: 'soon' is not a duration"),
        (lambda: fawkes.read_workload("/nowhere"), "/nowhere: there is no such file"),
    ],
)
def test_an_error_is_an_exception_with_the_text_of_the_command(call: object, says: str) -> None:
    assert callable(call)
    with pytest.raises(fawkes.FawkesError, match=re.escape(says)):
        call()


@pytest.mark.slow
def test_a_seed_of_numpy_is_that_number() -> None:
    runs = [fawkes.simulate("quickstart", seed=seed) for seed in (3, np.int64(3), 4)]  # type: ignore[arg-type]
    assert runs[0].totals == runs[1].totals != runs[2].totals


@pytest.mark.slow
def test_slowdowns_are_of_jobs_that_succeeded_in_totals_and_frames() -> None:
    """Jobs that were dropped early once counted as fast ones in the frame, and not in the totals."""
    run = fawkes.simulate("deadlines-small", admission="pythia")
    succeeded = run.jobs[run.jobs["state"] == "succeeded"]
    assert 0 < len(succeeded) < len(run.jobs)
    assert run.jobs["slowdown"].count() == len(succeeded)
    assert run.jobs["slowdown"].mean() == pytest.approx(run.totals["slowdown_mean"])


@pytest.mark.slow
def test_a_leaving_that_was_called_off_is_no_move() -> None:
    moves = fawkes.simulate("quickstart", policy="TD").moves
    assert len(moves) > 0
    assert (moves["from_cluster"] != moves["to_cluster"]).all()


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    names: dict[str, object] = {}
    for cell in cells:
        exec(compile(cell, "notebook", "exec"), names)
    assert isinstance(names["run"], fawkes.Run)
    assert isinstance(names["comparison"], fawkes.Comparison)
    assert isinstance(names["sweep"], fawkes.Sweep)
    assert all(cell["outputs"] == [] for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code")


@pytest.mark.nightly
def test_what_the_page_shows_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 6
    body = "".join(blocks).replace('"workloads/', f'"{ROOT}/workloads/').replace("\n", "\n    ")
    (tmp_path / "page.py").write_text(f'if __name__ == "__main__":\n    {body}')
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "unknown key 'taau'" in done.stdout
    assert {path.name for path in tmp_path.glob("*.pdf")} == {
        "course.pdf",
        "front.pdf",
        "slowdowns.pdf",
        "workload.pdf",
    }


def test_importing_fawkes_imports_nothing_heavy() -> None:
    code = "import sys, fawkes; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pandas", "numpy", "pydantic", "click"} & {name.partition(".")[0] for name in done.stdout.split()}
    assert {"simulate", "compare", "sweep", "Objective", "read_workload"} <= set(fawkes.__all__)
