"""Sweeps and objectives from Python: the runs of `fawkes.compare`, kept, gone on with, and judged by two figures."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.optimize import minimize_scalar

import fawkes
from fawkes.cli.main import cli
from fawkes.offline.api_sweep import _points
from fawkes.offline.outcomes.statistics import front_of
from fawkes.offline.runs.grid import Cell, Grid, run_cell
from fawkes.offline.runs.work import Row

SCENARIO = "fb-2009-small"
TINY = """
[pool]
nodes = 8
[settings]
preset = "paper"
[[cluster]]
id = "a"
min_nodes = 3
[[load]]
cluster = "a"
apps = ["WC"]
jobs = { "1GB" = 2 }
arrivals = "average"
per_hour = 60
"""


@pytest.mark.slow
def test_a_sweep_has_the_rows_of_a_comparison_and_the_command_goes_on_in_its_folder(tmp_path: Path) -> None:
    swept = fawkes.sweep(SCENARIO, {"tau": [5, 60], "period": ["20s", "60s"]}, ["TD", "EQ"], replays=2, out=tmp_path)
    assert len(swept.runs) == 2 * 4 * 2
    assert swept.table[["tau", "period"]].drop_duplicates().to_numpy().tolist() == [
        [5, "20s"], [5, "60s"], [60, "20s"], [60, "60s"],
    ]  # fmt: skip
    words = ["compare", SCENARIO, "--policies", "TD,EQ", "--set", "tau=5,60", "--set", "period=20s,60s", "--replays",
             "2", "--out", str(tmp_path), "--front"]  # fmt: skip
    told = CliRunner().invoke(cli, [*words, "-o", "csv"])
    assert told.exit_code == 0, told.output
    assert "16 of 16 runs are finished already" in told.stderr
    assert (tmp_path / "front.png").is_file()
    table = pd.read_csv(tmp_path / "table.csv")
    assert table["moves"].tolist() == swept.table["moves"].tolist()
    assert table["front"].tolist() == swept.table["front"].tolist()
    assert swept.table["slowdown_mean"].tolist() == table["slowdown_mean"].tolist()


@pytest.mark.slow
def test_a_frame_has_a_combination_in_each_row(tmp_path: Path) -> None:
    points = pd.DataFrame({"tau": [5, 20], "period": ["30s", "60s"]})
    swept = fawkes.sweep(SCENARIO, points, ["EQ"], out=tmp_path)
    assert swept.runs[["tau", "period"]].to_numpy().tolist() == points.to_numpy().tolist()


@pytest.mark.slow
def test_moves_are_those_of_the_run() -> None:
    swept = fawkes.sweep(SCENARIO, [{"tau": 20}], replays=1, spread="0s")
    (row,) = swept.runs.to_dict("records")
    assert row["tau"] == 20
    assert row["moves"] == len(fawkes.simulate(SCENARIO, policy="TD", settings={"tau": 20}).moves) > 0
    assert "1 runs, 1 of 1 on the front" in repr(swept)


@pytest.mark.slow
def test_a_sweep_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    class StopError(Exception):
        """A notebook that was interrupted."""

    done: list[str] = []

    def stop(text: str) -> None:
        done.append(text)
        if len(done) == 2:
            raise StopError

    points = [{"tau": at} for at in np.linspace(1, 5, 4)]
    with pytest.raises(StopError):
        fawkes.sweep(SCENARIO, points, out=tmp_path, progress=stop)
    assert len(list((tmp_path / "rows").glob("*.json"))) == 2
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()]
    done.clear()
    again = fawkes.sweep(SCENARIO, points, out=tmp_path, progress=done.append)
    assert len(done) == 2
    assert len(again.runs) == 4


@pytest.mark.slow
def test_processes_share_the_work_and_give_the_same_rows(tmp_path: Path) -> None:
    """Also where each point is another machine, whose reference times its process reckons."""
    points = [{"tau": 5, "model.disk": f"{disk}MB"} for disk in (50, 60, 70)]
    one = fawkes.sweep(SCENARIO, points, out=tmp_path / "one")
    two = fawkes.sweep(SCENARIO, points, processes=2, out=tmp_path / "two")
    pd.testing.assert_frame_equal(one.runs, two.runs)
    rows = [{path.name: path.read_bytes() for path in (tmp_path / name / "rows").iterdir()} for name in ("one", "two")]
    assert rows[0] == rows[1]
    with fawkes.Objective(SCENARIO, processes=2) as objective:
        assert [objective(point) for point in points] == one.table["slowdown_mean"].tolist()
    assert one.table["slowdown_mean"].nunique() == 3


@pytest.mark.slow
def test_an_optimiser_that_is_started_again_is_soon_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Cell] = []

    def counted(grid: Grid, cell: Cell) -> Row:
        runs.append(cell)
        return run_cell(grid, cell)

    monkeypatch.setattr("fawkes.offline.api_sweep.run_cell", counted)

    def minimise(steps: int) -> float:
        with fawkes.Objective(SCENARIO, out=tmp_path) as objective:
            found = minimize_scalar(
                lambda tau: objective({"tau": tau}), bounds=(0.0, 60.0), method="bounded", options={"maxiter": steps}
            )
            assert len(objective.result().table) == steps
            assert objective.result().table["slowdown_mean"].min() == pytest.approx(found.fun)
            return float(found.fun)

    first = minimise(4)
    assert len(runs) == 4
    assert minimise(6) <= first
    assert len(runs) == 6


@pytest.mark.slow
def test_threads_call_side_by_side_and_several_figures_are_a_tuple() -> None:
    with (
        fawkes.Objective(SCENARIO, "EQ", of=("slowdown_mean", "moves"), processes=2) as objective,
        ThreadPoolExecutor(2) as threads,
    ):
        values = list(threads.map(objective, [{"tau": 5, "period": "20s"}, {"period": "20s", "tau": 5}, {"tau": 60}]))
        assert values[0] == values[1]
        assert len(objective.result().table) == 2
    assert all(isinstance(value, tuple) and len(value) == 2 for value in values)


@pytest.mark.nightly
def test_dask_runs_a_sweep_and_an_objective(tmp_path: Path) -> None:
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True) as cluster:
        swept = fawkes.sweep(SCENARIO, {"tau": [5]}, dask=cluster.scheduler_address, out=tmp_path)
        with fawkes.Objective(SCENARIO, dask=cluster.scheduler_address) as objective:
            value = objective({"tau": 5})
    assert value == swept.table["slowdown_mean"].iloc[0]
    here = fawkes.sweep(SCENARIO, {"tau": [5]}, out=tmp_path / "here")
    pd.testing.assert_frame_equal(swept.runs, here.runs)


def objective(**more: Any) -> fawkes.Objective:
    return fawkes.Objective(SCENARIO, **more)


def closed() -> fawkes.Objective:
    with objective(processes=2) as made:
        pass
    return made


def test_an_objective_whose_first_call_failed_has_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(grid: Grid, cell: Cell) -> Row:
        raise fawkes.FawkesError("cannot finish")

    monkeypatch.setattr("fawkes.offline.api_sweep.run_cell", fail)
    made = objective()
    with pytest.raises(fawkes.FawkesError, match="cannot finish"):
        made({"tau": 5})
    with pytest.raises(fawkes.FawkesError, match="no run of the objective has ended yet"):
        made.result()


def test_an_objective_is_of_one_text_of_its_scenario(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(TINY)
    made = fawkes.Objective(file, of="makespan_s")
    before = made({"pool.nodes": 8})
    file.write_text(TINY.replace("1GB", "10GB"))
    with pytest.raises(fawkes.FawkesError, match=r"mine.toml: the objective is of another scenario .*\. Make another"):
        made({"pool.nodes": 9})
    file.write_text(TINY)
    assert made({"pool.nodes": 8}) == before


def test_a_gap_in_a_frame_sets_nothing() -> None:
    points = pd.DataFrame([{"tau": 5, "period": "30s", "at": 1.5}, {"tau": None, "period": None, "at": 2.0}])
    assert _points(points) == [{"tau": 5, "period": "30s", "at": 1.5}, {"at": 2.0}]
    assert str(_points(points)[0]["tau"]) == "5"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: fawkes.sweep(SCENARIO, {"taau": [1, 2]}), "unknown key 'taau'. Did you mean 'tau'?"),
        (lambda: fawkes.sweep(SCENARIO, {"model.dsk": ["1MB"]}), "model.dsk: unknown key 'dsk'. Did you mean 'disk'?"),
        (lambda: fawkes.sweep(SCENARIO, [{"tau": 1}, {"tau": -1}]), "tau: -1 is too small. It must be at least 0"),
        (lambda: fawkes.sweep(SCENARIO, {"tau": []}), "tau has no value"),
        (lambda: fawkes.sweep(SCENARIO, []), "a sweep without settings"),
        (lambda: fawkes.sweep(SCENARIO, {"tau": [1]}, dask="tcp://127.0.0.1:1"), "no answer from 'tcp://127.0.0.1:1'"),
        (lambda: objective(of="slowdwn_mean"), "of: there is no figure 'slowdwn_mean'. Did you mean 'slowdown_mean'?"),
        (lambda: objective()({"tau": [1, 2]}), "an objective takes one value of each key"),
        (lambda: objective()({"taau": 1}), "unknown key 'taau'. Did you mean 'tau'?"),
        (lambda: objective(of="sdr")({"tau": 1}), "sdr is not known in 1 of 1 runs of"),
        (lambda: objective(replays=0), "replays is 0"),
        (lambda: objective(seed="1"), "seed is '1'"),
        (lambda: objective(policy=["TD", "EQ"]), "an objective is of one policy"),
        (lambda: objective()({"tau": None}), "tau: has no value. Leave the key out"),
        (lambda: objective().result(), "the objective has not been called yet"),
        (lambda: objective()({"policy": "EQ"}), "policy: would set the weighting policy"),
        (lambda: fawkes.sweep(SCENARIO, {"policy": ["TD", "EQ"]}), "policy: would set the weighting policy"),
        (lambda: closed()({"tau": 5}), "the objective is closed"),
    ],
)
def test_an_error_says_what_is_wrong_and_what_would_be_right(call: Callable[[], object], says: str) -> None:
    with pytest.raises(fawkes.FawkesError, match=re.escape(says)):
        call()


@pytest.mark.parametrize("settings", ["tau=5", 5, ["tau"]])
def test_settings_are_keys_with_values(settings: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: fawkes.sweep(SCENARIO, settings),
        lambda: fawkes.simulate(SCENARIO, settings=settings),
        lambda: fawkes.compare(SCENARIO, settings=settings),
        lambda: objective()(settings),
        lambda: objective()(None),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(fawkes.FawkesError, match=r"settings are .*\. Give keys with values"):
            call()


def test_a_wrong_key_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(fawkes.FawkesError):
        fawkes.sweep(SCENARIO, {"tau": [1], "taau": [1]}, out=tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()


def row(policy: str, moves: int, slowdown: float | None, failed: int = 0) -> dict[str, Any]:
    return {"policy": policy, "settings": "", "moves": moves, "slowdown_mean": slowdown, "failed_jobs": failed}


def test_the_front_has_those_that_none_beats_in_both() -> None:
    rows = [
        row("few", 1, 9.0), row("also few", 1, 9.0), row("worse", 1, 9.5), row("middle", 5, 4.0),
        row("no better", 6, 4.0), row("much", 9, 2.0), row("failed", 0, 1.0, failed=1), row("unknown", 0, None),
    ]  # fmt: skip
    assert [point["policy"] for point in front_of(rows) if point["front"]] == ["few", "also few", "middle", "much"]


def test_the_front_is_of_medians_over_replays() -> None:
    (point,) = front_of([row("TD", moves, slowdown) for moves, slowdown in ((1, 2.0), (3, 3.0), (8, 7.0))])
    assert (point["replays"], point["moves"], point["slowdown_mean"]) == (3, 3.0, 3.0)
    assert point["moves_ci_low"] >= 1
    assert point["slowdown_mean_ci_high"] <= 7
