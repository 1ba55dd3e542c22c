"""Sweeps of settings from Python, and an objective for an optimiser that the user brings: slowdown against moves.

Runs, folders, errors and frames are those of `fawkes.compare`; `sweep` and `Objective` are names of ``fawkes``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from threading import RLock
from typing import TYPE_CHECKING, Any

import pandas as pd

from fawkes.base.catalog import Catalog
from fawkes.base.errors import RefusedError, UserError
from fawkes.config.files.loader import did_you_mean
from fawkes.config.site.site import Site
from fawkes.offline.api import Say, finished, given, processes_of, replays_of, seed_of, silent, spread_of, variants_of
from fawkes.offline.outcomes.failover import MASTERS
from fawkes.offline.outcomes.outcome import DEADLINES
from fawkes.offline.outcomes.statistics import FIGURES, frame_of, front_of, with_settings
from fawkes.offline.runs.grid import Grid, GridFolder, RowsInMemory, grid_of, run_cell, scenarios_of
from fawkes.offline.runs.settings import policies_named
from fawkes.offline.runs.work import Row, Runner, dask_client, finish, in_this_process, on_pool, processes_for
from fawkes.offline.scenarios.notes import rows_notes
from fawkes.offline.scenarios.read import plan_named
from fawkes.report.pictures.panels import front_of_table
from fawkes.sim.engines import compile_now

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Settings = Mapping[str, Any]
#: the figures of a run that can be made small or large
_OF = (*FIGURES, "moves", "response_mean_s", "node_s", *DEADLINES, *MASTERS)


class Sweep:
    """Runs of one scenario under many settings.

    ``runs`` has a row for each run and ``table`` a row for each policy and combination of settings, both with a column
    for each key. The table has medians over the replays with spread and 95 % interval: ``slowdown_mean`` and ``moves``
    (of nodes, as `Run.moves`). ``front`` has its rows that no other beats in both, by their moves. ``notes`` are those
    of `Run`.
    """

    def __init__(self, name: str, rows: Sequence[Row], variants: Mapping[str, Settings], notes: Sequence[str]) -> None:
        self.name, self.notes = name, (*notes, *rows_notes(rows))
        self._table = front_of(rows)
        moves = [row["moves"] for row in rows]
        self.runs: pd.DataFrame = _with_keys(frame_of(rows).assign(moves=moves), rows, variants)
        self.table: pd.DataFrame = _with_keys(with_settings(pd.DataFrame(self._table)), self._table, variants)
        self.front: pd.DataFrame = self.table[self.table["front"]].sort_values(["moves", "slowdown_mean"])

    def __repr__(self) -> str:
        return f"<Sweep of {self.name}: {len(self.runs)} runs, {len(self.front)} of {len(self.table)} on the front>"

    def figure(self) -> Figure | None:
        """A picture of mean slowdowns against moves, with the front; None where no job has a reference time."""
        return front_of_table(self._table)


def _with_keys(frame: pd.DataFrame, rows: Sequence[Row], variants: Mapping[str, Settings]) -> pd.DataFrame:
    for key in dict.fromkeys(key for changes in variants.values() for key in changes):
        frame[key] = [variants[row["settings"]].get(key) for row in rows]
    return frame


def sweep(
    scenario: str | os.PathLike[str],
    settings: Settings | Iterable[Settings] | pd.DataFrame,
    policies: Sequence[str] = ("TD",),
    *,
    replays: int = 1,
    spread: str = "30s",
    seed: int | None = None,
    processes: int = 1,
    dask: str | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Say = silent,
    site: str | os.PathLike[str] = ".",
) -> Sweep:
    """Run a scenario under each policy and each of many settings, on the same perturbed workloads.

    ``settings`` are keys with lists of values, of which every combination is run, or the combinations themselves:
    ``[{"tau": 5, "period": "30s"}, {"tau": 7}]``, or a frame with a row for each. All else is as in `fawkes.compare`,
    which goes on in the same folder. FawkesError as of `fawkes compare`, before the first run where a key or a value is
    wrong.
    """
    replays, seed = replays_of(replays), seed_of(seed)
    folder = Site(Path(site))
    catalog = Catalog(site=folder.root)
    variants = _variants(settings, catalog)
    plans = partial(plan_named, folder, catalog, scenario, seed)
    chosen, spread_us = policies_named(catalog, policies), spread_of(spread)
    grid = grid_of(plans, catalog, chosen, variants, replays=replays, spread_us=spread_us)
    return Sweep(grid.name, finished(grid, processes, dask, out, progress), variants, plans({}).notes)


def _variants(settings: Settings | Iterable[Settings] | pd.DataFrame, catalog: Catalog) -> dict[str, Settings]:
    variants: dict[str, Settings] = {}
    points: Any = _points(settings) if isinstance(settings, pd.DataFrame) else settings
    for point in points if isinstance(points, Iterable) and not isinstance(points, Mapping | str) else [points]:
        variants |= variants_of({key: _plain(value) for key, value in given(point).items()}, catalog)
    if not variants:
        raise UserError("a sweep without settings", hint='Give keys with values, such as {"tau": [5, 10, 20]}')
    return variants


def _points(frame: pd.DataFrame) -> list[Settings]:
    """The settings of each row, without those that it has a gap for; a gap makes no decimals of whole numbers."""
    rows = frame.apply(lambda column: column.convert_dtypes() if column.hasnans else column).to_dict("records")
    return [
        {str(key): value for key, value in row.items() if not (pd.api.types.is_scalar(value) and pd.isna(value))}
        for row in rows
    ]


def _plain(value: Any) -> Any:
    """A value without numpy's and pandas' types: the same text in a label and in a digest."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    return [_plain(each) for each in plain] if isinstance(plain, list | tuple | range) else plain


class Objective:
    """A function of settings for an optimiser: scipy, Optuna, or any other.

    A call runs what its folder ``out`` does not have, and gives the median over the replays of the figure ``of``, or a
    tuple where that names several: ``("slowdown_mean", "moves")``. So an optimiser that is started again with the same
    random seed is soon where it stopped. Calls from several threads run side by side, on ``processes`` or at the Dask
    scheduler ``dask``. Close it, or use it in ``with``.
    """

    def __init__(
        self,
        scenario: str | os.PathLike[str],
        policy: str = "TD",
        *,
        of: str | Sequence[str] = "slowdown_mean",
        replays: int = 1,
        spread: str = "30s",
        seed: int | None = None,
        processes: int = 1,
        dask: str | None = None,
        out: str | os.PathLike[str] | None = None,
        site: str | os.PathLike[str] = ".",
    ) -> None:
        """Read the scenario and open the folder; FawkesError as of `sweep`."""
        replays, processes, seed = replays_of(replays), processes_of(processes), seed_of(seed)
        folder = Site(Path(site))
        self._of, self._figures = of, (of,) if isinstance(of, str) else tuple(of)
        for name in self._figures:
            if name not in _OF:
                raise UserError(f"there is no figure {name!r}", where="of", hint=did_you_mean(name, _OF))
        self._catalog = Catalog(site=folder.root)
        self._read = partial(plan_named, folder, self._catalog, scenario, seed)
        self._policies = policies_named(self._catalog, policy)
        if len(self._policies) > 1:
            raise UserError("an objective is of one policy", hint="Make one for each, or use fawkes.sweep")
        grid = grid_of(
            self._read, self._catalog, self._policies, {"": {}}, replays=replays, spread_us=spread_of(spread)
        )
        self._first = self._read({})
        # With the reference times, so that no call has to reckon them again.
        self._plan = replace(self._first, demands=grid.demands)
        # Both grow with each call.
        self._scenarios, self._own = dict(grid.scenarios), dict(grid.own)
        self._grid = replace(grid, scenarios=self._scenarios, own=self._own)
        self._variants: dict[str, Settings] = {}
        self._kept = RowsInMemory() if out is None else GridFolder(Path(out), self._grid)
        self._lock, self._closing, self._closed = RLock(), ExitStack(), False
        self._run: Runner = in_this_process
        if dask is not None:
            self._run = on_pool(self._closing.enter_context(dask_client(dask)).get_executor(pure=False), dask)
        elif processes > 1:
            compile_now()
            pool = processes_for(processes)
            self._closing.callback(pool.shutdown, wait=True, cancel_futures=True)
            self._run = on_pool(pool)

    def __enter__(self) -> Objective:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, or the connection to Dask; a call is refused from now on."""
        self._closed = True
        self._closing.close()

    def __call__(self, settings: Settings) -> Any:
        """The figure under these settings as a float, or a tuple of figures.

        UserError when a figure is not known, such as the slowdown where no job succeeded; RefusedError when a key of
        the scenario is set and its file has changed since the first call; else FawkesError as of `sweep`.
        """
        if self._closed:
            raise UserError("the objective is closed", hint="Make another one; with the same folder it goes on")
        variants = _variants([dict(sorted(given(settings).items(), key=str))], self._catalog)
        if len(variants) > 1:
            raise UserError("an objective takes one value of each key", hint="Call it for each, or use fawkes.sweep")
        ((label, changes),) = variants.items()
        scenarios, own = scenarios_of(self._read, self._plan, self._catalog, self._policies, variants)
        if own and self._read({}) != self._first:
            # A key of the scenario is set in its file as it is now; rows of two texts would stand side by side.
            what = f"the objective is of another scenario {self._grid.name!r}: its pool, model, jobs or settings differ"
            raise RefusedError(what, where=self._first.file, hint="Make another objective, with another folder")
        more = replace(self._grid, scenarios=scenarios, own=own)
        with self._lock:
            self._scenarios |= scenarios
            self._own |= own
            self._variants[label] = changes
        with self._lock if self._run is in_this_process else nullcontext():
            rows = finish(partial(run_cell, more), more.cells, self._kept, self._run, silent)
        values = tuple(_median(more, name, rows) for name in self._figures)
        return values[0] if isinstance(self._of, str) else values

    def result(self) -> Sweep:
        """All that was called so far, as a sweep; runs that have not ended are not in it. UserError without any."""
        with self._lock:
            variants = dict(self._variants)
            if not variants:
                raise UserError("the objective has not been called yet", hint="Call it with settings first")
            cells = [cell for cell in self._grid.cells if cell.settings in variants]
        rows = [row for cell in cells if (row := self._kept.row(cell)) is not None]
        if not rows:
            raise UserError("no run of the objective has ended yet", hint="Wait for a call that ends without an error")
        return Sweep(self._grid.name, rows, variants, self._plan.notes)


def _median(grid: Grid, name: str, rows: Sequence[Row]) -> float:
    values = [row[name] for row in rows if row.get(name) is not None]
    if len(values) < len(rows):
        raise UserError(
            f"{name} is not known in {len(rows) - len(values)} of {len(rows)} runs of {grid.name!r}",
            hint="A slowdown needs jobs that succeed and have a reference time; others need deadlines, or lost nodes",
        )
    return float(median(values))
