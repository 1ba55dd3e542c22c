"""The flat pool of CPUs: TR2's twin under each allocator, and TR1's whole grid. Each in a fresh process."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from bench.figures import Figure, Line, Say, figures_of, fresh, peak_mb
from fawkes.offline.runs.work import on_processes
from fawkes.offline.studies.flat.allocators import parsed
from fawkes.offline.studies.flat.deadlines import TYPES, with_deadlines
from fawkes.offline.studies.flat.engine import compile_pool, run_compiled
from fawkes.offline.studies.flat.grid import CellFolder, cells, gather
from fawkes.offline.studies.flat.twins import TWINS, twin

GROUP = "Deadlines"
ALLOCATORS = ("BASELINE", "REACTIVE", "ORACLE", "PYTHIA", "JUSTICE")
_CAPACITY, _KIND, _SEED = 2500, "Aria1x3x", 1
_CAPACITIES, _SEEDS, _PROCESSES = (2250, 4500), range(1, 6), 2
_MINUTE_S, _MB = 60.0, 1e6


def figures(rounds: int, say: Say) -> list[Figure]:
    """Measure; ``rounds`` fresh processes for each allocator, and the grid once."""
    say("flat pool: compiling, once")
    compile_pool()
    jobs = f"{TWINS['TR2'].jobs:,} jobs of TR2's twin on {_CAPACITY:,} CPUs, {_KIND}"
    lines: list[Line] = []
    for name in ALLOCATORS:
        runs = [_fresh(name, say) for _ in range(rounds)]
        lines.append((f"{jobs}: {name}", "s", [run["s"] for run in runs], 60))
        lines.append(("... peak memory", "MB", [run["mb"] for run in runs], 1000))
    return [*figures_of(GROUP, lines), _grid(say)]


def _grid(say: Say) -> Figure:
    grid = cells("TR1", _SEEDS, tuple(TYPES), _CAPACITIES, ALLOCATORS)
    say(f"flat pool: {len(grid)} runs")
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        gather(grid, CellFolder(Path(folder)), run=on_processes(_PROCESSES))
        minutes = (time.perf_counter() - began) / _MINUTE_S
    what = f"TR1's grid: {len(grid)} runs of {TWINS['TR1'].jobs:,} jobs on {_PROCESSES} cores"
    return Figure(group=GROUP, what=what, unit="min", ours=[minutes], at_most=20)


def _fresh(name: str, say: Say) -> dict[str, float]:
    say(f"flat pool: {name}")
    return fresh("bench.flat", name)


def main(name: str) -> dict[str, float]:
    """In the fresh process: seconds of a run with making its jobs, and the peak memory of the process."""
    compile_pool()
    began = time.perf_counter()
    jobs = with_deadlines(twin("TR2", _SEED), _KIND, _CAPACITY, _SEED)
    run_compiled(jobs, _CAPACITY, parsed(name)).plain()
    seconds = time.perf_counter() - began
    return {"s": seconds, "mb": peak_mb()}


if __name__ == "__main__":
    json.dump(main(*sys.argv[1:]), sys.stdout)
