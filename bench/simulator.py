"""Simulating: task events a second of both models of Hadoop, a day of Facebook's trace, and how the cost grows.

Each in a fresh process of its own, after the compiled functions have been loaded.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from bench.figures import Figure, Say
from fawkes.catalog import Catalog
from fawkes.core.effects import StartJob
from fawkes.core.model import ClusterId, ClusterSpec, JobId, JobSpec, NodeId, Role
from fawkes.offline.load import Coming, Demand, coming
from fawkes.offline.plan import Plan, asked
from fawkes.offline.scenario import Scenario, pool_of, simulate
from fawkes.sim.constants import DAS4
from fawkes.sim.model import Engine, model_of
from fawkes.units import SECOND_US
from fawkes.workload import swim

GROUP = "Simulating"
#: where the day of Facebook's trace stands (FB-2009_samples_24_times_1hr_0.tsv of SWIM); without it that is left out
TRACE = "FAWKES_SWIM"
#: nodes for that day: enough that the three MR-clusters are busy and no backlog grows from hour to hour
DAY_NODES = 300
_ROOT = Path(__file__).parents[1]
_CATALOG = Catalog(user=_ROOT / "nobody", bundled=_ROOT)
_SETTINGS = {"preset": "paper", "period": "60s", "growth": "TR", "policy": "TD"}
_NAMES = ("a", "b", "c")
#: tasks of the run with TD and 100 nodes; the readable model would take minutes for as many
_TASKS = {"compiled": 2_000_000, "readable": 60_000}
#: tasks and nodes of the table, by powers of ten
_SIZES = ((10_000, 100), (100_000, 1_000), (1_000_000, 10_000), (10_000_000, 100_000))
_PROFILE = {"map_cpu_us": 20 * SECOND_US, "map_read_bytes": 1 << 27, "output_bytes": 10**7}


def figures(rounds: int, say: Say) -> list[Figure]:
    """Measure; ``rounds`` fresh processes for each figure."""
    ours = [_fresh("compiled", say)["events"] for _ in range(rounds)]
    theirs = [_fresh("readable", say)["events"] for _ in range(rounds)]
    found = [
        Figure(
            group=GROUP,
            what="task events, 3 MR-clusters on 100 nodes with TD: the compiled model",
            unit="1/s",
            ours=ours,
        ),
        Figure(group=GROUP, what="the same, with fewer tasks: the readable model", unit="1/s", ours=theirs),
    ]
    for tasks, nodes in _SIZES:
        each = [_fresh(f"size {tasks} {nodes}", say) for _ in range(rounds)]
        what = f"{tasks:,} tasks on {nodes:,} nodes, without decisions"
        by_event, by_node = [1e9 * one["event_s"] for one in each], [one["join_us"] for one in each]
        found.append(Figure(group=GROUP, what=f"{what}: an event", unit="ns", ours=by_event))
        found.append(Figure(group=GROUP, what=f"{what}: a node joins", unit="us", ours=by_node))
    if TRACE in os.environ:
        days = [_fresh("day", say) for _ in range(rounds)]
        what = f"a day of Facebook's jobs, 3 MR-clusters on {DAY_NODES} nodes with TD"
        found.append(Figure(group=GROUP, what=what, unit="s", ours=[one["s"] for one in days], at_most=1))
        found.append(
            Figure(group=GROUP, what=f"{what}: peak", unit="MB", ours=[one["peak_mb"] for one in days], at_most=300)
        )
    else:
        say(f"simulator: no day of Facebook's trace, {TRACE} names no file")
    return found


def _fresh(name: str, say: Say) -> dict[str, float]:
    say(f"simulator: {name}")
    command = [sys.executable, "-m", "bench.simulator", *name.split()]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


# --- in the fresh process


def _scenario(demands: tuple[Demand, ...], nodes: int, settings: Mapping[str, Any]) -> Scenario:
    plan = Plan(name="bench", nodes=pool_of(nodes), settings=settings, demands=demands, file="bench")
    return asked(plan.scenario(_CATALOG), demands)


def _demand(name: str, min_nodes: int, jobs: tuple[Coming, ...]) -> Demand:
    return Demand(spec=ClusterSpec(id=ClusterId(name), min_nodes=min_nodes, replication=3), jobs=jobs)


def busy(engine: Engine, tasks: int) -> Scenario:
    """Three MR-clusters with unequal loads on 100 nodes, jobs of 10,000 maps at most, all there from the start."""
    demands = []
    for name, share in zip(_NAMES, (0.6, 0.3, 0.1), strict=True):
        left, jobs = int(tasks * share), list[Coming]()
        while left > 0:
            profile = {"maps": min(left, 10_000), **_PROFILE}
            left -= profile["maps"]
            spec = JobSpec(
                id=JobId(f"{name}-{len(jobs)}"),
                cluster=ClusterId(name),
                tasks=profile["maps"],
                tasks_estimated=False,
                reference_us=SECOND_US,
                details={"profile": profile},
            )
            jobs.append(Coming(0, spec))
        demands.append(_demand(name, 10, tuple(jobs)))

    return replace(_scenario(tuple(demands), 100, _SETTINGS), engine=engine, limit_us=10**15)


def events(engine: Engine) -> dict[str, float]:
    """Starts and ends of attempts a second of the processor: all of the run counts, decisions and readings too."""
    _load(engine)
    scenario = busy(engine, _TASKS[engine])
    began = time.process_time()
    simulate(scenario)
    return {"events": 2 * _TASKS[engine] / (time.process_time() - began)}


def _load(engine: Engine) -> None:
    simulate(busy(engine, 300))


def size(tasks: int, nodes: int) -> dict[str, float]:
    """Seconds for each event of a MR-cluster alone, and microseconds for each node that joins."""
    for warm in (True, False):
        model = model_of("compiled", DAS4)
        cluster = model.cluster(ClusterId("c"))
        began = time.process_time()
        count = 10 if warm else nodes
        for number in range(count):
            cluster.join(NodeId(f"n{number}"), Role.CORE)
        joined = time.process_time()
        profile = {"maps": 100 if warm else tasks // 10, **_PROFILE}
        for number in range(10):
            spec = JobSpec(id=JobId(f"j{number}"), cluster=cluster.id, details={"profile": profile})
            cluster.submit(StartJob(spec.id, cluster.id, 1, spec))
        while model.advance(10**15) is not None:
            pass
        ended = time.process_time()
    assert cluster.tasks_done == tasks
    return {"join_us": 1e6 * (joined - began) / nodes, "event_s": (ended - joined) / (2 * tasks)}


def day() -> dict[str, float]:
    """The trace's jobs dealt round robin; seconds of the run without reading the file, and the peak memory."""
    _load("compiled")
    jobs = swim.read(Path(os.environ[TRACE])).jobs
    demands = tuple(_demand(name, 20, coming(jobs[first::3], name)) for first, name in enumerate(_NAMES))
    scenario = replace(_scenario(demands, DAY_NODES, _SETTINGS), engine="compiled")
    began = time.process_time()
    simulate(scenario)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return {"s": time.process_time() - began, "peak_mb": peak_mb}


def main(what: str, *numbers: str) -> dict[str, float]:
    """Measure one thing."""
    if what == "size":
        return size(*map(int, numbers))
    return day() if what == "day" else events(cast(Engine, what))


if __name__ == "__main__":
    json.dump(main(*sys.argv[1:]), sys.stdout)
