"""A grid of runs: policies x settings x replays, each run whole in a file of its own, so that it can be resumed."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fawkes import __version__
from fawkes.errors import BrokenError, DeadlineError, FawkesError, RefusedError, UserError
from fawkes.offline.folder import FORMAT, stamp, stamp_of, write_json
from fawkes.offline.load import Demand
from fawkes.offline.outcome import outcome_of
from fawkes.offline.plan import shaken_scenario
from fawkes.offline.scenario import Scenario, simulate

GRID_FILE = "grid.json"
ROWS = "rows"

Row = dict[str, Any]
#: takes the cells that are to be run and yields their rows as they are done
Runner = Callable[["Grid", Sequence["Cell"]], Iterator[Row]]

_PLAIN = (UserError, DeadlineError, RefusedError, BrokenError)


class Cell(NamedTuple):
    """One run: which policy, which settings (a label), which replay (from 1)."""

    policy: str
    settings: str
    replay: int

    def __str__(self) -> str:
        return f"{self.policy}{f' {self.settings}' if self.settings else ''} replay {self.replay}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """What is compared: a scenario for each policy and label of settings, and the demands that all of them meet."""

    name: str
    scenarios: Mapping[tuple[str, str], Scenario]
    demands: tuple[Demand, ...]
    replays: int
    seed: int
    spread_us: int

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All runs, replay by replay, so that a grid that is not finished can compare what it has."""
        return tuple(
            Cell(policy, settings, replay)
            for replay in range(1, self.replays + 1)
            for policy, settings in self.scenarios
        )

    def world(self) -> str:
        """A digest of all that does not differ between the runs: pool, model, demands, and how they are shaken."""
        any_scenario = next(iter(self.scenarios.values()))
        same = (any_scenario.nodes, any_scenario.constants, any_scenario.delays, any_scenario.losses)
        return _digest(same, any_scenario.limit_us, self.demands, self.seed, self.spread_us)

    def variant(self, cell: Cell) -> str:
        """A digest of what differs: settings and the policy's text."""
        scenario = self.scenarios[cell.policy, cell.settings]
        return _digest(scenario.settings, scenario.policy.sha256)


def _digest(*values: object) -> str:
    """Values of dataclasses, tuples and dicts in the order in which they were made: the same text in any process."""
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]


def run_cell(grid: Grid, cell: Cell) -> Row:
    """One run as plain values; FawkesError names the run that cannot finish."""
    scenario = grid.scenarios[cell.policy, cell.settings]
    try:
        store = simulate(
            shaken_scenario(scenario, grid.demands, seed=grid.seed, replay=cell.replay, spread_us=grid.spread_us)
        )
    except FawkesError as error:
        # Not every kind of error comes through a pipe whole.
        kind = type(error) if type(error) in _PLAIN else FawkesError
        raise kind(error.what, where=f"{grid.name}, {cell}", hint=error.hint) from None
    return {
        "fawkes": __version__,
        "variant": grid.variant(cell),
        **cell._asdict(),
        **outcome_of(store).plain(),
    }


def in_this_process(grid: Grid, cells: Sequence[Cell]) -> Iterator[Row]:
    """One after another."""
    for cell in cells:
        yield run_cell(grid, cell)


def on_processes(count: int) -> Runner:
    """A runner on so many processes of this machine; runs that are under way at an interrupt are finished."""

    def run(grid: Grid, cells: Sequence[Cell]) -> Iterator[Row]:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(count, len(cells)), context, _begin, (grid,)) as pool:
            left = {pool.submit(_work, cell) for cell in cells}
            try:
                yield from _done(left)
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    return run


def _done(left: set[Future[Row]]) -> Iterator[Row]:
    for future in as_completed(left):
        yield future.result()


_mine: list[Grid] = []


def _begin(grid: Grid) -> None:
    """A process of the pool: leaves interrupts to the one that started it, and ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _mine[:] = [grid]
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(cell: Cell) -> Row:
    return run_cell(_mine[0], cell)


def on_dask(address: str) -> Runner:
    """A runner on a Dask cluster that is there already.

    UserError without the extra ``dask`` or without an answer; RefusedError when its workers have another Fawkes.
    """
    try:
        from distributed import Client
        from distributed import as_completed as completed
    except ImportError:
        raise UserError(
            "needs Dask, which is not installed", where="--dask", hint="pip install 'fawkes-provisioner[dask]'"
        ) from None

    def run(grid: Grid, cells: Sequence[Cell]) -> Iterator[Row]:
        try:
            client = Client(address, timeout="10s")
        except (OSError, ValueError) as error:
            hint = "Give the address of a Dask scheduler, such as tcp://host:8786"
            raise UserError(f"no answer from {address!r} ({error})", where="--dask", hint=hint) from None
        with client:
            shared = client.scatter(grid, broadcast=True)
            for future in completed([client.submit(run_cell, shared, cell, pure=False) for cell in cells]):
                row: Row = future.result()
                if row["fawkes"] != __version__:
                    raise RefusedError(
                        f"a worker has Fawkes {row['fawkes']}, this is {__version__}",
                        where=address,
                        hint="Install the same version on all workers",
                    )
                yield row

    return run


class GridFolder:
    """The folder of a grid: ``grid.json`` says of what, ``rows/`` has a file for each run that is finished."""

    def __init__(self, folder: Path, grid: Grid) -> None:
        """Open the folder or make it; RefusedError when it has rows of something else or of another version."""
        self.folder, self._grid = folder, grid
        said = {"scenario": grid.name, "seed": grid.seed, "spread_us": grid.spread_us, "world": grid.world()}
        try:
            if not folder.is_dir() or not any(folder.iterdir()):
                (folder / ROWS).mkdir(parents=True)
                write_json(folder / GRID_FILE, stamp(**said))
        except OSError as error:
            raise UserError(f"cannot be written to: {error.strerror}", where=str(folder)) from None
        self._refuse_other(said)

    def _refuse_other(self, said: Mapping[str, Any]) -> None:
        hint = "Name another folder with --out, or move that one away"
        found = stamp_of(self.folder / GRID_FILE)
        if found is None:
            raise RefusedError("holds no comparison", where=str(self.folder), hint=hint)
        version, form = found.get("fawkes"), found.get("format")
        if (version, form) != (__version__, FORMAT):
            raise RefusedError(
                f"holds rows of Fawkes {version} (format {form}); this is {__version__} (format {FORMAT})",
                where=str(self.folder),
                hint=f"Rows of two versions cannot be compared. {hint}",
            )
        for key, value in said.items():
            if found.get(key) != value:
                what = "its pool, model or jobs" if key == "world" else key
                raise RefusedError(
                    f"holds rows of something else: {what} was {found.get(key)!r} and is {value!r} now",
                    where=str(self.folder),
                    hint=hint,
                )

    def row(self, cell: Cell) -> Row | None:
        """The row of a run; None when it is not finished, or was of other settings or another text of the policy."""
        found = stamp_of(self._file(cell))
        return found if found is not None and found.get("variant") == self._grid.variant(cell) else None

    def keep(self, row: Row) -> None:
        """Store the row of a run, whole."""
        write_json(self._file(_cell_of(row)), row)

    def _file(self, cell: Cell) -> Path:
        # Settings may hold what no file's name can.
        name = _digest(cell.settings) if cell.settings else "plain"
        return self.folder / ROWS / f"{cell.policy}-{name}-{cell.replay:04d}.json"


def _cell_of(row: Mapping[str, Any]) -> Cell:
    return Cell(row["policy"], row["settings"], row["replay"])


def finish(grid: Grid, folder: GridFolder, run: Runner, step: Callable[[str], None]) -> list[Row]:
    """Run what is not finished yet; the rows of all runs in the order of the grid.

    Each row is stored before the next one is waited for. ``step`` hears of each run that is done.
    """
    left = [cell for cell in grid.cells if folder.row(cell) is None]
    for row in run(grid, left) if left else ():
        folder.keep(row)
        step(str(_cell_of(row)))
    return list(_all(grid, folder))


def _all(grid: Grid, folder: GridFolder) -> Iterable[Row]:
    for cell in grid.cells:
        row = folder.row(cell)
        if row is None:
            raise BrokenError(f"the row of {cell} is not there", where=str(folder.folder))
        yield row
