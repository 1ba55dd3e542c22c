"""Grids: the same rows however they are run, resumed after an interrupt, and refused where they do not belong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import dask
import distributed
import pytest

from fawkes.base.catalog import Kind
from fawkes.base.errors import DeadlineError, FawkesError, RefusedError, UserError
from fawkes.base.units import SECOND_US
from fawkes.core.values.events import PolicyText
from fawkes.offline.runs.code import digest_of
from fawkes.offline.runs.grid import Cell, Grid, GridFolder, grid_of, run_cell
from fawkes.offline.runs.work import Row, Runner, finish, in_this_process, on_dask, on_processes
from fawkes.offline.scenarios.scenario import Scenario, pool_of
from tests.offline.support import CATALOG, ROOT, limited, two


@cache
def grid(replays: int = 2) -> Grid:
    policies = [CATALOG.find(Kind.POLICY, name) for name in ("TD", "None")]
    plan = two()
    scenarios = {(each.title, "tau=1"): plan.scenario(CATALOG, policy=each, changes={"tau": 1}) for each in policies}
    demands = plan.with_references(next(iter(scenarios.values()))).demands
    return Grid(name="small", scenarios=scenarios, demands=demands, replays=replays, seed=1, spread_us=30 * SECOND_US)


def quiet(text: str) -> None:
    """Nobody listens."""


def done(folder: Path, of: Grid, run: Runner = in_this_process) -> list[Row]:
    return finish(partial(run_cell, of), of.cells, GridFolder(folder, of), run, quiet)


def counting(ran: list[Cell]) -> Runner:
    """Runs in this process, and notes each cell."""

    def counted(task: Callable[[Any], Row], items: Sequence[Any], /) -> Iterator[tuple[Any, Row]]:
        for cell in items:
            ran.append(cell)
            yield cell, task(cell)

    return counted


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "rows").iterdir())}


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row]]:
    """A grid that ended without an interrupt: its folder, which is not to be changed, and its rows."""
    folder = tmp_path_factory.mktemp("ended")
    return folder, done(folder, grid())


@pytest.fixture
def copied(ended: tuple[Path, list[Row]], tmp_path: Path) -> Path:
    """A copy of its folder, to be changed."""
    return shutil.copytree(ended[0], tmp_path / "copied")


@pytest.mark.slow
def test_rows_are_the_same_bytes_on_one_process_and_on_two(ended: tuple[Path, list[Row]], tmp_path: Path) -> None:
    folder, alone = ended
    assert done(tmp_path, grid(), on_processes(2)) == alone
    assert files(tmp_path) == files(folder)
    assert [(row["policy"], row["replay"]) for row in alone] == [("TD", 1), ("None", 1), ("TD", 2), ("None", 2)]


@pytest.mark.slow
def test_rows_are_the_same_bytes_with_any_hash_seed(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.offline.runs.test_grid import done, grid;"
        "done(Path(sys.argv[1]), grid(1))"
    )
    for seed in ("0", "1"):
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / seed)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            check=True,
        )
    assert files(tmp_path / "0") == files(tmp_path / "1") != {}
    assert (tmp_path / "0" / "grid.json").read_bytes() == (tmp_path / "1" / "grid.json").read_bytes()


@pytest.mark.slow
def test_replays_differ_and_policies_meet_the_same_workload(ended: tuple[Path, list[Row]]) -> None:
    rows = ended[1]
    slowdowns = [row["slowdown_mean"] for row in rows]
    assert len(set(slowdowns)) == len(slowdowns)
    assert all(row["failed_jobs"] == 0 and row["jobs"] == 16 for row in rows)


@pytest.mark.slow
def test_an_interrupted_grid_runs_only_what_is_missing(ended: tuple[Path, list[Row]], tmp_path: Path) -> None:
    def interrupted(task: Callable[[Any], Row], items: Sequence[Any], /) -> Iterator[tuple[Any, Row]]:
        yield items[0], task(items[0])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        done(tmp_path, grid(), interrupted)
    assert len(files(tmp_path)) == 1
    ran: list[Cell] = []
    assert done(tmp_path, grid(), counting(ran)) == ended[1]
    assert ran == list(grid().cells[1:])
    # More replays and policies are more rows of the same comparison.
    ran.clear()
    done(tmp_path, grid(3), counting(ran))
    assert ran == [Cell("TD", "tau=1", 3), Cell("None", "tau=1", 3)]


@pytest.mark.parametrize("text", ["", "{", '{"policy": "TD"', "[]", '{"variant": "another"}'])
def test_half_a_row_is_no_row(ended: tuple[Path, list[Row]], tmp_path: Path, text: str) -> None:
    folder = GridFolder(tmp_path, grid())
    cell, row = grid().cells[0], ended[1][0]
    folder.keep(cell, row)
    assert folder.row(cell) == row
    (only,) = (tmp_path / "rows").iterdir()
    only.write_text(text)
    assert folder.row(cell) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"fawkes": "0.0.1"}, "rows of Fawkes 0.0.1"),
        ({"format": 99}, "format 99"),
        ({"seed": 2}, "seed was 2 and is 1"),
        ({"world": "x"}, "another scenario 'small': its pool, model or jobs differ"),
    ],
)
def test_rows_of_something_else_are_refused(tmp_path: Path, change: dict[str, object], says: str) -> None:
    GridFolder(tmp_path, grid())
    stamped = json.loads((tmp_path / "grid.json").read_text())
    (tmp_path / "grid.json").write_text(json.dumps(stamped | change))
    with pytest.raises(RefusedError, match=says):
        GridFolder(tmp_path, grid())


def of_other_code(folder: Path, count: int) -> list[Path]:
    """The first rows of a folder, as another version of the model would have left them."""
    rows = sorted((folder / "rows").iterdir())[:count]
    for row in rows:
        row.write_text(json.dumps(json.loads(row.read_text()) | {"code": "0123456789abcdef", "slowdown_mean": 1e9}))
    return rows


@pytest.mark.slow
def test_rows_of_other_code_are_named_and_not_mixed(ended: tuple[Path, list[Row]], copied: Path) -> None:
    of_other_code(copied, 1)
    with pytest.raises(RefusedError) as raised:
        GridFolder(copied, grid())
    assert "1 of 4 rows are of other code (digest 0123456789abcdef, such as None-" in str(raised.value)
    assert "--anew" in str(raised.value)
    ran: list[Cell] = []
    anew = GridFolder(copied, grid(), anew=True)
    assert finish(partial(run_cell, grid()), grid().cells, anew, counting(ran), quiet) == ended[1]
    assert ran == [Cell("None", "tau=1", 1)]
    GridFolder(copied, grid())


def test_a_folder_of_other_code_is_refused_even_if_its_model_gave_another_world(copied: Path) -> None:
    of_other_code(copied, 4)
    file = copied / "grid.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"code": "0123456789abcdef", "world": "x"}))
    with pytest.raises(RefusedError, match="4 of 4 rows are of other code"):
        GridFolder(copied, grid())
    assert all(GridFolder(copied, grid(), anew=True).row(cell) is None for cell in grid().cells)


def test_runs_of_a_changed_policy_are_counted_and_run_again(ended: tuple[Path, list[Row]]) -> None:
    first = grid()
    scenario = first.scenarios["TD", "tau=1"]
    text = replace(scenario.policy, text=scenario.policy.text + "\n", sha256="other")
    changed = replace(first, scenarios={**first.scenarios, ("TD", "tau=1"): replace(scenario, policy=text)})
    folder = GridFolder(ended[0], changed)
    assert folder.changed == (Cell("TD", "tau=1", 1), Cell("TD", "tau=1", 2))
    assert [folder.row(cell) is None for cell in changed.cells] == [True, False, True, False]


TEXTS = [part.name for part in fields(Scenario) if "PolicyText" in str(part.type)]


@pytest.mark.parametrize("kind", TEXTS)
def test_a_row_knows_the_text_of_each_policy_of_its_scenario(kind: str) -> None:
    assert {"policy", "admission", "preemption"} <= set(TEXTS)
    first, cell = grid(1), Cell("TD", "tau=1", 1)
    scenario = first.scenarios["TD", "tau=1"]
    texts = (getattr(scenario, kind), *(PolicyText("mine", "mine.py", text, text) for text in ("old", "new")))
    variants = {
        replace(first, scenarios={("TD", "tau=1"): replace(scenario, **{kind: text})}).variant(cell) for text in texts
    }
    assert len(variants) == 3


def test_two_scenarios_of_one_name_do_not_share_a_folder(tmp_path: Path) -> None:
    done(tmp_path, grid(1))
    plan = replace(two(), nodes=pool_of(9))
    policies = [CATALOG.find(Kind.POLICY, name) for name in ("TD", "None")]
    other = grid_of(lambda changes: plan, CATALOG, policies, {"tau=1": {"tau": 1}}, replays=1, spread_us=30 * SECOND_US)
    assert other.name == "small"
    with pytest.raises(RefusedError, match="is a comparison of another scenario 'small': its pool, model or jobs"):
        GridFolder(tmp_path, other)


def test_a_digest_of_code_changes_with_any_byte_and_any_place(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "a.py").write_text("A = 1\n")
    (tmp_path / "engine.py").write_text("E = 1\n")
    seen = {digest_of(tmp_path, ("core", "engine.py"))}
    (tmp_path / "core" / "a.py").write_text("A = 2\n")
    seen.add(digest_of(tmp_path, ("core", "engine.py")))
    (tmp_path / "core" / "a.py").rename(tmp_path / "core" / "b.py")
    seen.add(digest_of(tmp_path, ("core", "engine.py")))
    (tmp_path / "engine.py").write_text("E = 2\n")
    seen.add(digest_of(tmp_path, ("core", "engine.py")))
    assert len(seen) == 4
    (tmp_path / "core" / "b.pyc").write_text("x")
    assert digest_of(tmp_path, ("core", "engine.py")) in seen


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RefusedError, match="holds no comparison"):
        GridFolder(tmp_path, grid())
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.slow
@pytest.mark.parametrize("run", [in_this_process, on_processes(2)], ids=["one", "two"])
def test_a_run_that_never_finishes_is_named(tmp_path: Path, run: Runner) -> None:
    slow = grid(1)
    slow = replace(slow, scenarios={key: limited(scenario, 30) for key, scenario in slow.scenarios.items()})
    with pytest.raises(
        DeadlineError, match=r"small, (TD|None) tau=1 replay 1: the run never finishes: .* jobs have not"
    ):
        done(tmp_path, slow, run)


def test_dask_is_asked_for_by_name_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    # So Python remembers a module that is not there.
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError, match=r"`--dask` needs distributed, .* pip install .*\[dask\]"):
        on_dask("tcp://127.0.0.1:8786")


@pytest.mark.slow
def test_dask_gives_the_same_rows(tmp_path: Path) -> None:
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True) as cluster:
        rows = done(tmp_path / "dask", grid(1), on_dask(cluster.scheduler_address))
    assert rows == done(tmp_path / "here", grid(1))


def dies(item: int) -> Row:
    """A run that the system ends, such as for want of memory."""
    if item == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"item": item}


class Rows:
    """Where rows are kept in memory."""

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}

    def row(self, item: int) -> Row | None:
        return self.rows.get(item)

    def keep(self, item: int, row: Row) -> None:
        self.rows[item] = row


@pytest.mark.slow
def test_a_process_that_dies_is_an_error_with_the_next_command() -> None:
    kept = Rows()
    with pytest.raises(FawkesError, match=r"a process that ran a scenario is gone.*: start the same again"):
        finish(dies, (1, 2, 3), kept, on_processes(1), quiet)
    assert set(kept.rows) <= {1}


def foreign(item: int) -> Row:
    """A run on a worker whose Fawkes has other modules."""
    raise Exception("ModuleNotFoundError(\"No module named 'fawkes.offline.runs'\")")


@pytest.mark.nightly
@pytest.mark.slow
def test_dask_without_workers_or_with_those_of_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fawkes.offline.runs.work._WORKERS_S", 0.2)
    with distributed.LocalCluster(n_workers=0, threads_per_worker=1, processes=True) as cluster:
        with pytest.raises(UserError, match=r"the scheduler at '.*' has no workers\. Start some: `dask worker tcp:"):
            finish(foreign, (1,), Rows(), on_dask(cluster.scheduler_address), quiet)
        monkeypatch.setattr("fawkes.offline.runs.work._WORKERS_S", 20)
        cluster.scale(1)
        with pytest.raises(RefusedError, match=r"a worker has another Fawkes, or none .*Install the same version"):
            finish(foreign, (1,), Rows(), on_dask(cluster.scheduler_address), quiet)


@pytest.mark.slow
def test_a_dask_worker_that_dies_is_an_error_with_the_next_command() -> None:
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True) as cluster,
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        pytest.raises(FawkesError, match=r"a process that ran a scenario is gone.*: start the same again"),
    ):
        finish(dies, (2,), Rows(), on_dask(cluster.scheduler_address), quiet)
