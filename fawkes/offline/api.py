"""Runs offline from Python: the same runs, frames, pictures and errors as those of the commands.

`simulate` runs a scenario once, `compare` runs it under several policies, `read_workload` reads a trace. All of them
are names of the package ``fawkes`` itself. An error is a `FawkesError`, and its text is what the command would print.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from fawkes.base.catalog import Catalog, Kind
from fawkes.base.errors import UserError, cut
from fawkes.base.units import MOST_SEED, duration_us
from fawkes.config.site.site import Site
from fawkes.config.workloads.changes import divided
from fawkes.offline.outcomes.outcome import Outcome, outcome_of
from fawkes.offline.outcomes.statistics import frame_of, table_of, with_settings
from fawkes.offline.runs.folder import refuse_present, write_run
from fawkes.offline.runs.grid import Grid, GridFolder, RowsInMemory, grid_of, run_cell
from fawkes.offline.runs.settings import admission_named, crossed, policies_named
from fawkes.offline.runs.work import Row, finish, in_this_process, on_dask, on_processes
from fawkes.offline.scenarios.notes import CopyNote, rows_notes, run_notes, struck_nobody
from fawkes.offline.scenarios.plan import Plan, with_demands
from fawkes.offline.scenarios.read import plan_named
from fawkes.offline.scenarios.scenario import simulate as run_scenario
from fawkes.report.pictures import frames
from fawkes.report.pictures.course import course_of
from fawkes.report.pictures.panels import changes_of_table, course_over_time, slowdowns_of_table
from fawkes.sim.hadoop.model import TaskEvent
from fawkes.store.base import Reader
from fawkes.workload.formats.formats import read_workload as read_trace
from fawkes.workload.looking.pictures import workload_picture
from fawkes.workload.looking.statistics import Summary, summary_of
from fawkes.workload.looking.statistics import frame_of as frame_of_jobs
from fawkes.workload.model import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Say = Callable[[str], None]
_SEVERAL = (list, tuple)


def silent(text: str) -> None:
    """Progress that nobody wants to see."""


class Run:
    """One run of a scenario: totals, and frames that are made when they are asked for. Times are seconds.

    ``notes`` say what a reader of the figures must know: what the trace lacked and the model made up, and faults that
    the model takes too lightly.
    """

    def __init__(self, plan: Plan, policy: str, store: Reader, outcome: Outcome, notes: Sequence[str] = ()) -> None:
        self.name, self.policy, self.notes = plan.name, policy, (*plan.notes, *notes)
        self._store, self._outcome = store, outcome

    def __repr__(self) -> str:
        return f"<Run of {self.name} under {self.policy}: {self.totals['jobs']} jobs>"

    @cached_property
    def totals(self) -> Mapping[str, Any]:
        """Figures of the whole run, by the names that `fawkes simulate -o json` gives them."""
        return {key: value for key, value in self._outcome.plain().items() if key != "clusters"}

    @cached_property
    def clusters(self) -> pd.DataFrame:
        """Figures of each MR-cluster, a row each."""
        return pd.DataFrame(self._outcome.plain()["clusters"])

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """Jobs by their submission, with wait_s, run_s, response_s and slowdown."""
        return frames.jobs(self._store)

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """Nodes of each MR-cluster and role over time; a row whenever a number changes."""
        return frames.nodes(self._store)

    @cached_property
    def moves(self) -> pd.DataFrame:
        """Moves of nodes by their beginning, with the reason of each."""
        return frames.moves(self._store)

    @cached_property
    def ticks(self) -> pd.DataFrame:
        """Ticks with weights, discriminations and targets; a row for each MR-cluster."""
        return frames.ticks(self._store)

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Readings of each MR-cluster; what is not known is NaN."""
        return frames.samples(self._store)

    def figure(self) -> Figure:
        """A picture of nodes, waiting tasks and discrimination of each MR-cluster over time."""
        return course_over_time(course_of(self._store), self._title)

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write ledger, frames and pictures into a new folder, as ``--out`` does; RefusedError if there is one."""
        path = Path(folder)
        refuse_present(path)
        write_run(path, self._store, self._outcome, self._title, silent)
        return path

    @property
    def _title(self) -> str:
        return f"{self.name} under {self.policy}"


class Comparison:
    """A scenario under several policies on the same perturbed workloads.

    ``runs`` has a row for each run. ``table`` has a row for each policy and combination of settings: medians over the
    replays, and the change of the mean slowdown against the ``baseline`` with its interval and its verdict. ``notes``
    are those of `Run`.
    """

    def __init__(self, name: str, baseline: str, rows: Sequence[Row], notes: Sequence[str] = ()) -> None:
        self.name, self.baseline, self.notes = name, baseline, (*notes, *rows_notes(rows))
        self._table = table_of(rows, baseline)
        self.runs: pd.DataFrame = frame_of(rows)
        self.table: pd.DataFrame = with_settings(pd.DataFrame(self._table))

    def __repr__(self) -> str:
        return f"<Comparison of {self.name}: {len(self.runs)} runs, against {self.baseline}>"

    def figure(self) -> Figure | None:
        """A picture of the mean slowdowns of MR-clusters by policy; None where no job has a reference time."""
        return slowdowns_of_table(self._table)

    def changes(self) -> Figure | None:
        """A picture of the changes against the baseline; None where there is nothing to compare."""
        return changes_of_table(self._table, self.baseline)


class Workload:
    """Jobs of a trace in any format that Fawkes reads."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __repr__(self) -> str:
        return f"<Workload of {len(self.trace.jobs)} jobs, format {self.trace.format}>"

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """The jobs, a row each; times are seconds, what is not known is NaN."""
        return frame_of_jobs(self.trace)

    @cached_property
    def summary(self) -> Summary:
        """Statistics of the jobs: how many, how fast they come, how large they are."""
        return summary_of(self.trace)

    def figure(self) -> Figure:
        """A picture of arrivals, gaps, sizes and times of tasks."""
        return workload_picture(self.trace)


def simulate(
    scenario: str | os.PathLike[str],
    *,
    policy: str | None = None,
    admission: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
    site: str | os.PathLike[str] = ".",
) -> Run:
    """Run a scenario once: ``"WKLD-A"`` to ``"WKLD-E"``, a bundled workload by its name, or a file.

    ``policy`` and ``admission`` are names or files; without them those of the scenario count. ``settings`` are keys of
    fawkes.toml (``{"tau": 10}``) or of the scenario (``{"model.disk": "50MB"}``). FawkesError as of `fawkes simulate`.
    """
    seed, folder = seed_of(seed), Site(Path(site))
    catalog = Catalog(site=folder.root)
    said = divided(
        {**given(settings or {}), **({} if admission is None else {"admission": admission_named(catalog, admission)})}
    )
    plan = plan_named(folder, catalog, scenario, seed, said.scenario)
    policy_file = None if policy is None else catalog.find(Kind.POLICY, policy)
    chosen = plan.scenario(catalog, policy=policy_file, changes=said.settings)
    plan = plan.with_references(chosen)
    ready = with_demands(chosen, plan.demands)
    copies, tasks = CopyNote(plan.losses), list[TaskEvent]() if ready.keeps_tasks else None
    store = run_scenario(ready, watch=copies, tasks=tasks)
    outcome = outcome_of(store, tasks, with_losses=bool(plan.losses))
    return Run(plan, chosen.policy.name, store, outcome, run_notes(copies.lost, struck_nobody(store, plan.losses)))


def compare(
    scenario: str | os.PathLike[str],
    policies: Sequence[str] = ("TD", "EQ", "None"),
    *,
    baseline: str = "None",
    admission: str | None = None,
    settings: Mapping[str, Any] | None = None,
    replays: int = 20,
    spread: str = "30s",
    seed: int | None = None,
    processes: int = 1,
    dask: str | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Say = silent,
    site: str | os.PathLike[str] = ".",
) -> Comparison:
    """Run a scenario under each policy and each combination of settings, on the same perturbed workloads.

    A list or a tuple in ``settings`` has alternatives: ``{"tau": [5, 10, 20]}``. ``out`` is a folder in which each run
    is kept, so that the same call goes on after an interrupt; `fawkes compare` goes on in it as well. ``dask`` is the
    address of a Dask scheduler, instead of ``processes``. ``progress`` hears of each run that is done. FawkesError as
    of `fawkes compare`.
    """
    replays, seed = replays_of(replays), seed_of(seed)
    folder = Site(Path(site))
    catalog = Catalog(site=folder.root)
    base = catalog.find(Kind.POLICY, baseline).title
    let_in = {} if admission is None else {"admission": admission}
    variants = variants_of({**given(settings or {}), **let_in}, catalog)
    plans = partial(plan_named, folder, catalog, scenario, seed)
    notes = plans({}).notes
    grid = grid_of(
        plans, catalog, policies_named(catalog, policies), variants, replays=replays, spread_us=spread_of(spread)
    )
    return Comparison(grid.name, base, finished(grid, processes, dask, out, progress), notes)


def finished(
    grid: Grid, processes: int, dask: str | None, out: str | os.PathLike[str] | None, progress: Say
) -> list[Row]:
    """The rows of a grid: those that the folder ``out`` has, and those of the runs that are missing there."""
    processes = processes_of(processes)
    kept = RowsInMemory() if out is None else GridFolder(Path(out), grid)
    run = on_dask(dask) if dask else on_processes(processes) if processes > 1 else in_this_process
    return finish(partial(run_cell, grid), grid.cells, kept, run, progress)


def read_workload(path: str | os.PathLike[str], *, format: str | None = None) -> Workload:  # noqa: A002
    """The jobs of a trace, in the format that its content shows, or in ``format``; FawkesError if it cannot be read."""
    return Workload(read_trace(Path(path), format=format))


def given(settings: Any) -> Mapping[str, Any]:
    """The settings; UserError when they are not keys with values."""
    if not isinstance(settings, Mapping):
        raise UserError(f"settings are {cut(repr(settings))}", hint='Give keys with values, such as {"tau": 10}')
    return settings


def replays_of(replays: int) -> int:
    """The number of replays; UserError when it is none."""
    return _whole("replays", replays, 1, 9999)


def processes_of(processes: int) -> int:
    """The number of processes; UserError when it is none."""
    return _whole("processes", processes, 1, 1024)


def seed_of(seed: int | None) -> int | None:
    """The random seed, or None for that of the scenario; UserError for what the command would not take either."""
    return None if seed is None else _whole("seed", seed, 0, MOST_SEED)


def _whole(name: str, value: int, least: int, most: int) -> int:
    """The number without numpy's types: 1, 1.0 and True would be three random streams."""
    number = None if isinstance(value, bool) or not hasattr(value, "__index__") else operator.index(value)
    if number is None or not least <= number <= most:
        raise UserError(f"{name} is {value!r}", hint=f"Give a whole number from {least} to {most}")
    return number


def variants_of(settings: Mapping[str, Any], catalog: Catalog) -> dict[str, Mapping[str, Any]]:
    """Every combination of the alternatives, by its label as of `crossed`; UserError for a value twice."""
    choices = {key: list(value) if isinstance(value, _SEVERAL) else [value] for key, value in settings.items()}
    return {
        label: {**pairs, "admission": admission_named(catalog, str(pairs["admission"]))}
        if pairs.get("admission") is not None
        else pairs
        for label, pairs in crossed(choices).items()
    }


def spread_of(spread: str) -> int:
    """Microseconds of a duration; UserError when it is none."""
    try:
        return duration_us(str(spread))
    except ValueError as error:
        raise UserError(f"spread: {error}", hint='Give a text with a unit, such as "30s"') from None
