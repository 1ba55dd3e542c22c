"""A grid of runs: policies x settings x replays, each run whole in a file of its own, so that it can be resumed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from fawkes.base.catalog import Catalog, CatalogFile
from fawkes.base.errors import BrokenError, ConfigError, DeadlineError, FawkesError, RefusedError, UserError
from fawkes.base.version import __version__
from fawkes.config.workloads.changes import Changes, divided
from fawkes.core.values.events import PolicyText
from fawkes.offline.outcomes.outcome import outcome_of
from fawkes.offline.runs.code import code_digest
from fawkes.offline.runs.folder import FORMAT, stamp, stamp_of, write_json
from fawkes.offline.runs.work import Row
from fawkes.offline.scenarios.load import Demand
from fawkes.offline.scenarios.notes import CopyNote, struck_nobody
from fawkes.offline.scenarios.plan import Plan, shaken_scenario
from fawkes.offline.scenarios.scenario import Scenario, simulate
from fawkes.report import history
from fawkes.report.pictures.steps import held, totals
from fawkes.sim.hadoop.model import TaskEvent

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
    """A comparison: a scenario for each policy and label of settings, and the demands that all of them meet.

    ``own`` has the plan of a label whose settings change the model, the pool or an MR-cluster; ``origin`` is a
    digest of the plan before any settings: without it, that of the first scenario.
    """

    name: str
    scenarios: Mapping[tuple[str, str], Scenario]
    demands: tuple[Demand, ...]
    replays: int
    seed: int
    spread_us: int
    own: Mapping[str, Plan] = field(default_factory=dict)
    origin: str = ""
    _with_references: dict[str, tuple[Demand, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All runs, replay by replay, so that a grid that is not finished can compare what it has."""
        return tuple(
            Cell(policy, settings, replay)
            for replay in range(1, self.replays + 1)
            for policy, settings in self.scenarios
        )

    def demands_under(self, settings: str) -> tuple[Demand, ...]:
        """The demands that runs under a label of settings meet, before they are perturbed.

        Reference times of a plan of its own are reckoned here, once in each process, so that processes share the work.
        """
        if settings not in self.own:
            return self.demands
        if settings not in self._with_references:
            scenario = next(each for (_, label), each in self.scenarios.items() if label == settings)
            self._with_references[settings] = self.own[settings].with_references(scenario).demands
        return self._with_references[settings]

    def world(self) -> str:
        """A digest of all that does not differ between the runs: pool, model, demands, and how they are perturbed."""
        origin = self.origin or (_machine(next(iter(self.scenarios.values()))), self.demands)
        return _digest(origin, self.seed, self.spread_us)

    def variant(self, cell: Cell) -> str:
        """A digest of what may differ: settings, texts of all policies, the model, the pool and the MR-clusters."""
        scenario = self.scenarios[cell.policy, cell.settings]
        values = {part.name: getattr(scenario, part.name) for part in fields(scenario)}
        texts = {name: value.sha256 for name, value in values.items() if isinstance(value, PolicyText)}
        own = self.own.get(cell.settings)
        demands = None if own is None else own.demands
        return _digest(scenario.settings, texts, _machine(scenario), demands)


def grid_of(
    plan_with: Callable[[Changes], Plan],
    catalog: Catalog,
    policies: Sequence[CatalogFile],
    variants: Mapping[str, Mapping[str, Any]],
    *,
    replays: int,
    spread_us: int,
    name: str = "",
) -> Grid:
    """Each policy under each variant of the settings, by its label; ``name`` stands instead of the plan's.

    ``plan_with`` gives the plan with changed keys of the scenario (`fawkes.config.workloads.changes`). Reference times
    of jobs are those of the machine on which they run. ConfigError names what is wrong in the scenario or in ``--set``.
    """
    base = plan_with({})
    scenarios, own = scenarios_of(plan_with, base, catalog, policies, variants)
    origin = _digest(base.nodes, base.constants, base.delays, base.losses, base.limit_us, base.demands)
    if len(own) < len(variants):
        base = base.with_references(next(scenario for (_, label), scenario in scenarios.items() if label not in own))
    return Grid(
        name=name or base.name,
        scenarios=scenarios,
        demands=base.demands,
        replays=replays,
        seed=base.seed,
        spread_us=spread_us,
        own=own,
        origin=origin,
    )


def scenarios_of(
    plan_with: Callable[[Changes], Plan],
    base: Plan,
    catalog: Catalog,
    policies: Sequence[CatalogFile],
    variants: Mapping[str, Mapping[str, Any]],
) -> tuple[dict[tuple[str, str], Scenario], dict[str, Plan]]:
    """The scenario of each policy and label, and the plan of each label whose settings change more than settings.

    All as in `grid_of`; ``base`` is the plan without changes.
    """
    scenarios: dict[tuple[str, str], Scenario] = {}
    own: dict[str, Plan] = {}
    for label, changes in variants.items():
        said = divided(changes)
        plan = base
        if said.scenario:
            plan = plan_with(said.scenario)
            # A process that gets the grid reads the jobs once, and not once for each label.
            plan = own[label] = replace(plan, demands=base.demands) if plan.demands == base.demands else plan
        for policy in policies:
            scenarios[policy.title, label] = plan.scenario(catalog, policy=policy, changes=said.settings)
    return scenarios, own


def _machine(scenario: Scenario) -> tuple[object, ...]:
    return scenario.nodes, scenario.constants, scenario.delays, scenario.losses, scenario.limit_us


def _digest(*values: object) -> str:
    """Values of dataclasses, tuples and dicts in the order in which they were made: the same text in any process."""
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]


def run_cell(grid: Grid, cell: Cell) -> Row:
    """One run as plain values; FawkesError names the run that cannot finish.

    ``moves`` are those of nodes, as `fawkes.report.pictures.frames.moves` has them. The row of the first replay has
    ``nodes`` as well: each MR-cluster by its arrival, with its points of
    `report.steps.totals`.
    """
    scenario = grid.scenarios[cell.policy, cell.settings]
    copies = CopyNote(scenario.losses)
    try:
        demands = grid.demands_under(cell.settings)
        shaken = shaken_scenario(scenario, demands, seed=grid.seed, replay=cell.replay, spread_us=grid.spread_us)
        tasks: list[TaskEvent] | None = [] if shaken.keeps_tasks else None
        store = simulate(shaken, watch=copies, tasks=tasks)
    except FawkesError as error:
        # Not every kind of error comes through a pipe whole.
        kind = next((plain for plain in _PLAIN if isinstance(error, plain)), FawkesError)
        place = f": {error.where}" if isinstance(error, ConfigError) else ""
        raise kind(error.what, where=f"{scenario.file or grid.name}, {cell}{place}", hint=error.hint) from None
    row: Row = {
        "fawkes": __version__,
        "code": code_digest(),
        "variant": grid.variant(cell),
        **cell._asdict(),
        **outcome_of(store, tasks, with_losses=bool(shaken.losses)).plain(),
        "moves": len(history.moved(store)),
        "lost_copies": copies.lost,
    }
    if missed := struck_nobody(store, shaken.losses):
        row["missed"] = missed
    if cell.replay == DRAWN:
        row["nodes"] = [[name, [list(point) for point in points]] for name, points in totals(held(store)).items()]
    return row


class GridFolder:
    """The folder of a grid: ``grid.json`` says of what, ``rows/`` has a file for each run that is finished.

    ``changed`` are the runs whose rows are of another text of the policy or other settings: they are run again.
    """

    def __init__(self, folder: Path, grid: Grid, *, anew: bool = False) -> None:
        """Open the folder or make it; RefusedError when it has rows of something else, or of other code.

        With ``anew`` rows of other code count as runs that are not finished.
        """
        self.folder, self._grid, self._anew = folder, grid, anew
        said = self._said()
        try:
            if not folder.is_dir() or not any(folder.iterdir()):
                (folder / ROWS).mkdir(parents=True)
                write_json(folder / GRID_FILE, stamp(**said))
        except OSError as error:
            raise UserError(f"cannot be written to: {error.strerror}", where=str(folder)) from None
        self._refuse_other(said)
        self._refuse_other_code()
        rows = {cell: stamp_of(self._file(cell)) for cell in grid.cells}
        self.changed = tuple(cell for cell, row in rows.items() if row and self._mine(row) and not self._is(cell, row))

    def _said(self) -> dict[str, Any]:
        grid = self._grid
        return {"scenario": grid.name, "seed": grid.seed, "spread_us": grid.spread_us, "world": grid.world()}

    def _refuse_other(self, said: Mapping[str, Any]) -> None:
        hint = "Name another folder with --out, or move this one away"
        stamp = stamp_of(self.folder / GRID_FILE)
        if stamp is None:
            raise RefusedError("holds no comparison", where=str(self.folder), hint=hint)
        version, form = stamp.get("fawkes"), stamp.get("format")
        if (version, form) != (__version__, FORMAT):
            raise RefusedError(
                f"holds rows of Fawkes {version} (format {form}); this is {__version__} (format {FORMAT})",
                where=str(self.folder),
                hint=f"Rows of two versions cannot be compared. {hint}",
            )
        # Other code may give another digest of the same world.
        same_code = stamp.get("code") == code_digest()
        for key, value in said.items():
            if stamp.get(key) == value or (key == "world" and not same_code):
                continue
            if key == "world":
                what = f"is a comparison of another scenario {said['scenario']!r}: its pool, model or jobs differ"
                raise RefusedError(what, where=str(self.folder), hint=hint)
            raise RefusedError(
                f"holds rows of another comparison: {key} was {stamp.get(key)!r} and is {value!r} now",
                where=str(self.folder),
                hint=hint,
            )

    def _refuse_other_code(self) -> None:
        """Rows of two models side by side would be compared as if only the policy differed."""
        stamped = (stamp_of(self.folder / GRID_FILE) or {}).get("code")
        files = sorted((self.folder / ROWS).glob("*.json"))
        rows = {file.name: row.get("code") for file in files if (row := stamp_of(file))}
        others = {name: code for name, code in rows.items() if code != code_digest()}
        if others and not self._anew:
            first, code = next(iter(others.items()))
            example = f"digest {code or 'unknown'}, such as {first}"
            raise RefusedError(
                f"{len(others)} of {len(rows)} rows are of other code ({example}); this is {code_digest()}",
                where=str(self.folder),
                hint="Their model or rules differ. Give --anew to play these runs again and replace their rows, or "
                "name another folder with --out",
            )
        if stamped != code_digest():
            write_json(self.folder / GRID_FILE, stamp(**self._said()))

    def row(self, cell: Cell) -> Row | None:
        """The row of a run; None when it is not finished, or is of other code, settings or text of the policy."""
        stamped = stamp_of(self._file(cell))
        return stamped if stamped is not None and self._mine(stamped) and self._is(cell, stamped) else None

    def keep(self, cell: Cell, row: Row) -> None:
        """Store the row of a run, whole."""
        write_json(self._file(cell), row, indent=None)

    @staticmethod
    def _mine(row: Row) -> bool:
        return row.get("code") == code_digest()

    def _is(self, cell: Cell, row: Row) -> bool:
        return row.get("variant") == self._grid.variant(cell)

    def _file(self, cell: Cell) -> Path:
        # Settings may hold what no file's name can.
        name = _digest(cell.settings) if cell.settings else "plain"
        return self.folder / ROWS / f"{cell.policy}-{name}-{cell.replay:04d}.json"


class RowsInMemory:
    """The rows of a grid that nobody keeps."""

    def __init__(self) -> None:
        self._rows: dict[Cell, Row] = {}

    def row(self, cell: Cell) -> Row | None:
        """The row of a run; None when it is not there."""
        return self._rows.get(cell)

    def keep(self, cell: Cell, row: Row) -> None:
        """Store the row of a run."""
        self._rows[cell] = row
