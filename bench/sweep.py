"""A sweep of 1,000 runs of one scenario, beside the runs themselves: what keeping, sharing and judging them costs.

The runs alone are shared by as many processes at the same time: one process has the memory of the machine for itself,
and is faster for that.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import fawkes
from bench.figures import Figure, Say
from fawkes.base.catalog import Catalog, Kind
from fawkes.config.site.site import Site
from fawkes.offline.outcomes.outcome import outcome_of
from fawkes.offline.runs.grid import grid_of
from fawkes.offline.scenarios.plan import shaken_scenario
from fawkes.offline.scenarios.read import plan_named
from fawkes.offline.scenarios.scenario import simulate

GROUP = "Sweeps"
SCENARIO, RUNS, PROCESSES, THREADS = "fb-2009-small", 1000, 2, 6
_KINDS = {
    "sweep": f"{RUNS:,} settings of {SCENARIO} by fawkes.sweep on {PROCESSES} processes, in a folder, with the front",
    "machines": f"{RUNS:,} other machines (model.disk), whose reference times differ",
    "objective": f"{RUNS:,} calls of a fawkes.Objective from {THREADS} threads",
}


def figures(rounds: int, say: Say) -> list[Figure]:
    """Measure; each kind in ``rounds`` pairs of fresh processes, the runs alone beside it."""
    results = []
    for kind, what in _KINDS.items():
        bare, with_ = [], []
        for _ in range(rounds):
            bare.append(_fresh("alone", kind, say, PROCESSES))
            with_.append(_fresh(kind, kind, say, 1))
        results.append(
            Figure(group=GROUP, what=what, unit="s", ours=with_, other=bare, than="the runs alone", at_most_times=1.1)
        )
    return results


def _fresh(name: str, kind: str, say: Say, processes: int) -> float:
    """Processor seconds of fresh processes that begin at the same time, and of all that they start."""
    say(f"sweep: {kind}, {name}")
    commands = [[sys.executable, "-m", "bench.sweep", name, kind, str(part)] for part in range(processes)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE) for command in commands]
    return sum(float(json.loads(process.communicate()[0])["cpu_s"]) for process in started)


def points(kind: str, runs: int) -> list[dict[str, object]]:
    """The settings of each run."""
    if kind == "machines":
        return [{"model.disk": f"{40_000 + 50 * at}KB"} for at in range(runs)]
    return [{"tau": 0.05 * at} for at in range(runs)]


def alone(kind: str, runs: int, part: int) -> None:
    """A process's part of the runs, made ready before where all are of one machine; nothing is kept."""
    folder = Site(Path())
    catalog = Catalog(site=folder.root)
    policy = catalog.find(Kind.POLICY, "TD")
    plans = partial(plan_named, folder, catalog, SCENARIO, 1)
    variants = {str(point): point for point in points(kind, runs)[part::PROCESSES]}
    grid = grid_of(plans, catalog, [policy], variants, replays=1, spread_us=30_000_000)
    for cell in grid.cells:
        scenario, demands = grid.scenarios[cell.policy, cell.settings], grid.demands_under(cell.settings)
        outcome_of(simulate(shaken_scenario(scenario, demands, seed=1, replay=1, spread_us=grid.spread_us)))


def with_sweep(kind: str, runs: int, folder: str) -> None:
    """The same runs by what users call."""
    if kind != "objective":
        fawkes.sweep(SCENARIO, points(kind, runs), seed=1, processes=PROCESSES, out=folder).figure()
        return
    with (
        fawkes.Objective(SCENARIO, seed=1, processes=PROCESSES, out=folder) as objective,
        ThreadPoolExecutor(THREADS) as threads,
    ):
        list(threads.map(objective, points(kind, runs)))
        objective.result().figure()


def main(name: str, kind: str, part: int = 0, runs: int = RUNS) -> dict[str, float]:
    """In the fresh process: processor seconds of it and of all that it started, and elapsed ones."""
    began = time.perf_counter()
    if name == "alone":
        alone(kind, runs, part)
    else:
        with tempfile.TemporaryDirectory() as folder:
            with_sweep(kind, runs, str(Path(folder) / "sweep"))
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {"cpu_s": sum(each.ru_utime + each.ru_stime for each in used), "s": time.perf_counter() - began}


if __name__ == "__main__":
    json.dump(main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])), sys.stdout)
