"""A grid of runs: traces x seeds x deadline types x capacities x allocators, each run in a file of its own.

An interrupted grid continues where it stopped. Runs of other code, or of a policy that has changed, are made anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from fawkes.base.catalog import Catalog
from fawkes.base.errors import ConfigError, FawkesError, UserError
from fawkes.base.version import PACKAGE, __version__
from fawkes.offline.runs.code import digest_of
from fawkes.offline.runs.folder import stamp_of, write_json
from fawkes.offline.runs.work import Row, Runner, finish, in_this_process
from fawkes.offline.studies.flat.allocators import parsed
from fawkes.offline.studies.flat.deadlines import CAPACITY, with_deadlines
from fawkes.offline.studies.flat.engine import compile_pool, digest_of_text
from fawkes.offline.studies.flat.jobs import FlatJobs, read_jobs
from fawkes.offline.studies.flat.metrics import ENDS, GROUPS, mean_of_plain, welch
from fawkes.offline.studies.flat.play import is_compiled, play, policy_named
from fawkes.offline.studies.flat.twins import TWINS, twin

OWN = "own"
"""The deadline type of a table that has deadlines of its own."""
#: sources on which the outcome of a run depends, besides the text of its policy
_SOURCES = tuple(
    f"offline/studies/flat/{name}"
    for name in (
        "compiled", "allocators.py", "deadlines.py", "engine.py", "jobs.py", "metrics.py", "play.py", "twins.py"
    )
)  # fmt: skip
#: what the readable pool depends on besides
_READABLE = ("offline/studies/flat/pool.py", "core/state/admitting.py", "policy")


@dataclass(frozen=True, slots=True)
class FlatCell:
    """One run. ``trace`` is the name of a twin or the path of a table, ``allocator`` a text as `parsed` reads it."""

    trace: str
    seed: int
    kind: str
    capacity: int
    allocator: str
    basis: str = CAPACITY
    peak: int = 0
    jobs: int = 0
    """Jobs of a shortened twin; 0: all."""

    def __str__(self) -> str:
        return f"{Path(self.trace).name} seed {self.seed} {self.kind} {self.capacity} CPUs {self.allocator}"


def cells(
    trace: str,
    seeds: Iterable[int],
    kinds: Sequence[str],
    capacities: Sequence[int],
    allocators: Sequence[str],
    *,
    basis: str = CAPACITY,
    peak: int = 0,
    jobs: int = 0,
) -> list[FlatCell]:
    """All combinations, seed by seed, so that a grid that is not finished can compare what it has."""
    return [
        FlatCell(trace, seed, kind, capacity, allocator, basis, peak, jobs)
        for seed, kind, capacity, allocator in product(seeds, kinds, capacities, allocators)
    ]  # fmt: skip


@lru_cache(maxsize=1)
def jobs_of(trace: str, seed: int, jobs: int = 0) -> FlatJobs:
    """The jobs of a twin or of a table; those of a table are the same with each seed."""
    return twin(trace, seed, jobs=jobs or None) if trace.upper() in TWINS else read_jobs(Path(trace))


def dated(cell: FlatCell) -> FlatJobs:
    """The jobs of a run with their deadlines. Errors are those of `with_deadlines`, and a table without its own."""
    jobs = jobs_of(cell.trace, cell.seed, cell.jobs)
    if cell.kind == OWN:
        if jobs.deadline_s is None:
            raise UserError(f"{cell.trace} has no column deadline_s", where="--types", hint="Name a deadline type")
        return jobs
    try:
        return with_deadlines(
            replace(jobs, peak=cell.peak or jobs.peak), cell.kind, cell.capacity, cell.seed, cell.basis
        )
    except ConfigError as error:
        raise ConfigError(error.what, file=cell.trace, key=error.key, hint=error.hint) from None


def run_cell(site: Path | None, cell: FlatCell) -> Row:
    """One run as plain values: the cell, what made it, and its metrics. FawkesError names the run."""
    catalog, allocator = Catalog(site=site), parsed(cell.allocator)
    policy = policy_named(allocator, catalog)
    try:
        outcome = play(dated(cell), cell.capacity, allocator, policy)
    except UserError:
        raise
    except FawkesError as error:
        raise FawkesError(error.what, where=f"{cell}: {error.where}", hint=error.hint) from None
    return {"fawkes": __version__, "cell": asdict(cell), **outcome.plain()}


class CellFolder:
    """A file for each run, named by all that it depends on; half a row is no row."""

    def __init__(self, folder: Path, site: Path | None = None) -> None:
        """Open the folder or make it; UserError when it cannot be written to."""
        self.folder, self._catalog = folder, Catalog(site=site)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"cannot be written to: {error.strerror}", where=str(folder)) from None

    def row(self, cell: FlatCell) -> Row | None:
        """The row of a run; None when it is not finished, or was made by other code or another text of the policy."""
        return stamp_of(self._file(cell))

    def keep(self, cell: FlatCell, row: Row) -> None:
        """Store the row of a run, whole."""
        write_json(self._file(cell), row)

    def missing(self, some: Iterable[FlatCell]) -> int:
        """The number of these runs that it does not have."""
        return sum(self.row(cell) is None for cell in some)

    def _file(self, cell: FlatCell) -> Path:
        allocator = parsed(cell.allocator)
        policy = policy_named(allocator, self._catalog)
        code = sources(compiled=is_compiled(policy))
        table = "" if cell.trace.upper() in TWINS else _digest_of_file(Path(cell.trace))
        return self.folder / f"{digest_of_text(json.dumps([asdict(cell), code, policy.text(), table]))}.json"


@cache
def _digest_of_file(path: Path) -> str:
    try:
        with path.open("rb") as source:
            return hashlib.file_digest(source, "sha256").hexdigest()
    except OSError:
        return ""


@cache
def sources(*, compiled: bool = True) -> str:
    """A digest of the code that decides what comes out of a run of the compiled or the readable pool."""
    return digest_of(PACKAGE, _SOURCES if compiled else (*_SOURCES, *_READABLE))


def gather(
    some: Sequence[FlatCell],
    folder: CellFolder,
    *,
    site: Path | None = None,
    run: Runner = in_this_process,
    say: Callable[[str], None] = lambda text: None,
) -> dict[FlatCell, Row]:
    """The rows of all runs: those that the folder has are read, the others are made and written."""
    wanted = list(dict.fromkeys(some))
    rows = finish(partial(run_cell, site), wanted, folder, run, say, prepare=compile_pool)
    return dict(zip(wanted, rows, strict=True))


def summary(rows: Iterable[Row], reference: str = "REACTIVE") -> list[dict[str, Any]]:
    """A row for each trace, type, capacity and allocator: means over the seeds, and the least and most of the SDR.

    ``t`` and ``p`` are of Welch's test of the fairness of all samples of the first seed against the allocator
    ``reference``; None for itself, and without it.
    """
    groups: dict[tuple[str, str, int, str], list[Row]] = {}
    for row in rows:
        cell = row["cell"]
        groups.setdefault((cell["trace"], cell["kind"], cell["capacity"], cell["allocator"]), []).append(row)
    means = []
    for (trace, kind, capacity, allocator), runs in groups.items():
        fair = mean_of_plain(runs[0]["fairness"])
        other = groups.get((trace, kind, capacity, reference))
        test = None
        if other is not None and allocator != reference:
            test = welch(fair, mean_of_plain(other[0]["fairness"]))
        means.append(
            {
                "trace": Path(trace).name,
                "deadlines": kind,
                "cpus": capacity,
                "allocator": allocator,
                "seeds": len(runs),
                "sdr": _mean(runs, "sdr"),
                "sdr_least": min((row["sdr"] for row in runs if row["sdr"] is not None), default=None),
                "sdr_most": max((row["sdr"] for row in runs if row["sdr"] is not None), default=None),
                **{metric: _mean(runs, metric) for metric in ("ptr", "wtr", "unserved", "utilisation")},
                "fairness": _sampled(runs, "fairness"),
                "fairness_ci": fair.half_width,
                "fairness_ci_days": fair.batch_half_width,
                "equality": _sampled(runs, "equality"),
                **{f"idle_{size}": _mean([row["idle"][str(size)] for row in runs], "existence") for size in GROUPS},
                "t": None if test is None else test.t,
                "p": None if test is None else test.p,
                **{f"jobs_{end}": _mean(runs, end) for end in ENDS[1:]},
            }
        )
    return means


def _sampled(runs: Sequence[Row], key: str) -> float | None:
    """The mean over the seeds; None when no sample found a job that ran."""
    return _mean([row[key] for row in runs if row[key]["count"]], "mean")


def _mean(runs: Sequence[Row], key: str) -> float | None:
    """The mean over the seeds in which the figure is known; None without any."""
    known = [row[key] for row in runs if row[key] is not None]
    return float(sum(known)) / len(known) if known else None
