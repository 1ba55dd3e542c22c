"""`fawkes deadlines`: admission policies on a flat pool of CPUs, with a trace of jobs and their deadlines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.catalog import Catalog
from fawkes.base.errors import UserError
from fawkes.base.extras import needs
from fawkes.base.units import counted
from fawkes.cli.offline.options import jobs_option, out_option
from fawkes.cli.show.show import TABLE, note, output_option, progress, say, show, warn
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site

if TYPE_CHECKING:
    from fawkes.offline.studies.flat.grid import FlatCell

_MOST_CPUS = 10_000_000
_MOST_JOBS = 10_000_000
_DEFAULTS = "BASELINE,REACTIVE,ORACLE,PYTHIA,JUSTICE"


@click.command()
@click.argument("trace")
@click.option(
    "--allocators",
    default=_DEFAULTS,
    show_default=True,
    help="Admission policies by name or file, with options in brackets, such as JUSTICE[correction=none].",
)
@click.option(
    "--types",
    help="Deadline types with commas between them, or all.  [default: the table's own deadlines, else Fixed2x]",
)
@click.option("--capacity", required=True, help="CPUs of the pool, with commas between several.")
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(1, 9999), help="Random seeds, from 1.")
@click.option(
    "--basis",
    default="capacity",
    show_default=True,
    type=click.Choice(["capacity", "peak", "trace"]),
    help="Shortest runtime of a job: on the simulated CPUs, on those of the trace, or the trace's runtime_s.",
)
@click.option("--peak", default=0, type=click.IntRange(0, _MOST_CPUS), help="CPUs of the trace, for --basis peak.")
@click.option(
    "--jobs-of-twin", "count", default=0, type=click.IntRange(0, _MOST_JOBS), help="Shorten a twin to so many jobs."
)
@jobs_option
@out_option("Folder for the results; the same command continues in it.  [default: deadlines-TRACE]")
@output_option
@click.pass_obj
@needs("fawkes deadlines", "offline")
def deadlines(site: Site, /, trace: str, jobs: int | None, out: Path | None, output: str, **options: Any) -> None:
    """Run the jobs of TRACE on a flat pool of CPUs under each allocator, deadline type and capacity.

    TRACE is TR1 or TR2 (twins of the two production traces), or a CSV or Parquet file with the columns submit_s, tasks
    and work_s (CPU seconds). Each run is a file in the folder; after an interrupt the same command runs only what is
    missing.
    """
    import pandas as pd

    from fawkes.offline.runs.folder import write_frame
    from fawkes.offline.runs.work import in_this_process, on_processes
    from fawkes.offline.studies.flat.grid import CellFolder, gather, summary

    cells = _cells(site, trace, **options)
    folder = CellFolder(out or Path(f"deadlines-{Path(trace).name.partition('.')[0]}"), site.root)
    left = folder.missing(cells)
    if left < len(cells):
        note(f"{len(cells) - left} of {len(cells)} runs are finished already, in {folder.folder}")
    workers = min(jobs or os.cpu_count() or 1, left)
    run = on_processes(workers) if workers > 1 else in_this_process
    with progress("deadlines", left) as step:
        rows = gather(cells, folder, site=site.root, run=run, say=step)
    for cell, row in rows.items():
        waiting = row["jobs"] - sum(row[end] for end in ("met", "missed", "killed", "dropped", "finished"))
        if waiting:
            warn(f"note: {cell}: the policy left {waiting} of {counted(row['jobs'], 'job')} waiting for ever")
    row = next(iter(rows.values()))
    if row["due"] < row["jobs"]:
        said = f"{row['due']} of {counted(row['jobs'], 'job')} have a deadline"
        warn(f"note: {said}: SDR, PTR, WTR and unserved are of these")
    table = summary(rows.values())
    write_frame(folder.folder / "table", pd.DataFrame(table))
    show(table, TABLES["deadlines"], output)
    if output == TABLE:
        say("")
        say("SDR: jobs that met their deadline; PTR, WTR: useful and wasted part of the work of jobs that have one")
    note(f"runs as JSON, table as CSV and Parquet: {folder.folder}")


def _cells(
    site: Site,
    trace: str,
    allocators: str,
    types: str | None,
    capacity: str,
    seeds: int,
    basis: str,
    peak: int,
    count: int,
) -> list[FlatCell]:
    """All runs, after everything that can be wrong has been looked at."""
    from fawkes.offline.studies.flat.allocators import parsed, split
    from fawkes.offline.studies.flat.deadlines import TYPES, type_named
    from fawkes.offline.studies.flat.grid import OWN, cells, dated, jobs_of
    from fawkes.offline.studies.flat.play import check, policy_named
    from fawkes.offline.studies.flat.twins import TWINS

    name = trace.upper() if trace.upper() in TWINS else trace
    catalog = Catalog(site=site.root)
    names = []
    for text in split(allocators):
        allocator = parsed(text)
        policy_file = policy_named(allocator, catalog)
        check(allocator, policy_file)
        names.append(text if "/" in allocator.policy else text.replace(allocator.policy, policy_file.title, 1))
    own = jobs_of(name, 1, count).deadline_s is not None
    if types is None:
        kinds = [OWN] if own else ["Fixed2x"]
    elif types.strip().casefold() == "all":
        kinds = list(TYPES)
    else:
        kinds = [type_named(word.strip()) for word in types.split(",")]
    cpus = [_cpus(word.strip()) for word in capacity.split(",")]
    # The jobs of a table are the same with each seed; so are its own deadlines.
    numbers = range(1, 2 if kinds == [OWN] else seeds + 1)
    planned = cells(name, numbers, kinds, cpus, names, basis=basis, peak=peak, jobs=count)
    dated(planned[0])
    return planned


def _cpus(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_CPUS:
        raise UserError(
            f"{text!r} is not a number of CPUs", where="--capacity", hint=f"Give whole numbers from 1 to {_MOST_CPUS}"
        )
    return int(text)
