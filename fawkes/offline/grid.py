"""A grid of runs: policies x settings x replays, each run whole in a file of its own, so that it can be resumed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
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
from fawkes.offline.work import Row
from fawkes.report.steps import held, totals

GRID_FILE = "grid.json"
ROWS = "rows"
#: the replay whose rows say how many nodes each MR-cluster held over time, for a picture
DRAWN = 1

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
    """One run as plain values; FawkesError names the run that cannot finish.

    The row of the first replay has ``nodes`` as well: each MR-cluster by its arrival, with its points of
    `report.steps.totals`.
    """
    scenario = grid.scenarios[cell.policy, cell.settings]
    try:
        store = simulate(
            shaken_scenario(scenario, grid.demands, seed=grid.seed, replay=cell.replay, spread_us=grid.spread_us)
        )
    except FawkesError as error:
        # Not every kind of error comes through a pipe whole.
        kind = type(error) if type(error) in _PLAIN else FawkesError
        raise kind(error.what, where=f"{grid.name}, {cell}", hint=error.hint) from None
    row: Row = {
        "fawkes": __version__,
        "variant": grid.variant(cell),
        **cell._asdict(),
        **outcome_of(store).plain(),
    }
    if cell.replay == DRAWN:
        row["nodes"] = [[name, [list(point) for point in points]] for name, points in totals(held(store)).items()]
    return row


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
        hint = "Name another folder with --out, or move this one away"
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
                    f"holds rows of another comparison: {what} was {found.get(key)!r} and is {value!r} now",
                    where=str(self.folder),
                    hint=hint,
                )

    def row(self, cell: Cell) -> Row | None:
        """The row of a run; None when it is not finished, or was of other settings or another text of the policy."""
        found = stamp_of(self._file(cell))
        return found if found is not None and found.get("variant") == self._grid.variant(cell) else None

    def keep(self, cell: Cell, row: Row) -> None:
        """Store the row of a run, whole."""
        write_json(self._file(cell), row)

    def _file(self, cell: Cell) -> Path:
        # Settings may hold what no file's name can.
        name = _digest(cell.settings) if cell.settings else "plain"
        return self.folder / ROWS / f"{cell.policy}-{name}-{cell.replay:04d}.json"
