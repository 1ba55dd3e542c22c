"""Simulating: events of tasks in both models of Hadoop, a day of Facebook's jobs, rigid jobs, and how the cost grows.

Each in a fresh process of its own, after the compiled functions have been loaded.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from bench import accasim
from bench.figures import Figure, Say, fresh, peak_mb
from fawkes.base.catalog import Catalog
from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import StartJob
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec, NodeId, Role
from fawkes.offline.scenarios.applications import job_spec_of
from fawkes.offline.scenarios.load import Coming, Demand, coming
from fawkes.offline.scenarios.plan import Plan, with_demands
from fawkes.offline.scenarios.scenario import Scenario, pool_of, simulate
from fawkes.sim.engines import Engine, compile_now, model_of
from fawkes.sim.hadoop.compiled.kept import is_kept
from fawkes.sim.hadoop.constants import DAS4, PLAIN
from fawkes.workload.formats import swf, swim

GROUP = "Simulating"
#: where the day of Facebook's trace stands (FB-2009_samples_24_times_1hr_0.tsv of SWIM), and a log of rigid jobs in SWF
DAY, RIGID = "FAWKES_SWIM", "FAWKES_SWF"
#: nodes for that day: enough that no backlog grows from hour to hour
DAY_NODES = 60
_ROOT = Path(__file__).parents[1]
_CATALOG = Catalog(bundled=_ROOT)
_SETTINGS = {"preset": "paper", "period": "60s", "sample_every": "15s", "growth": "TR", "policy": "TD"}
_NAMES = ("a", "b", "c")
_BUSY_NODES = 1_000
#: tasks of the run with TD; the readable model would take minutes for as many as the compiled one
_TASKS = {"compiled": 2_000_000, "readable": 100_000}
#: tasks and nodes of the table, by powers of ten
_SIZES = ((10_000, 100), (100_000, 1_000), (1_000_000, 10_000), (10_000_000, 100_000))
_PROFILE = {"map_cpu_us": 20 * SECOND_US, "map_read_bytes": 1 << 27, "output_bytes": 10**7}
#: processors of a node of the log: AccaSim gets as many nodes of as many cores
_NODE_CORES = 4
_FOREVER_US = 10**16


def figures(rounds: int, say: Say) -> list[Figure]:
    """Measure; ``rounds`` fresh processes for each figure."""
    if not is_kept():
        say("simulator: compiling, once")
        compile_now()
    return [*_events(rounds, say), *_day(rounds, say), *_rigid(rounds, say), *_growth(rounds, say)]


def _events(rounds: int, say: Say) -> list[Figure]:
    """Both models by turns, on the same scenario and on one of their own size."""
    pairs = [(_fresh("compiled", say), _fresh("readable", say)) for _ in range(rounds)]
    same = [(_fresh("same compiled", say), _fresh("same readable", say)) for _ in range(rounds)]
    where = f"3 MR-clusters on {_BUSY_NODES:,} nodes with TD"
    than = "the readable model"

    def both(what: str, unit: str, key: str, runs: Sequence[tuple[dict[str, float], ...]], **target: Any) -> Figure:
        ours, other = [run[0][key] for run in runs], [run[1][key] for run in runs]
        return Figure(group=GROUP, what=what, unit=unit, ours=ours, other=other, than=than, **target)

    fewer = f"{_TASKS['readable']:,} tasks"
    return [
        both(f"an event of a task: {where}, {_TASKS['compiled']:,} tasks ({fewer})", "ns", "ns", pairs, at_most=1000),
        both("... peak memory of the process", "MB", "peak_mb", pairs),
        both(f"the same with {fewer} for both", "ns", "ns", same),
    ]


def _day(rounds: int, say: Say) -> list[Figure]:
    if not _there(DAY, "a day of Facebook's jobs", say):
        return []
    runs = [_fresh("day", say) for _ in range(rounds)]
    what = f"a day of Facebook's jobs, 3 MR-clusters on {DAY_NODES} nodes with TD"
    return [
        Figure(group=GROUP, what=what, unit="s", ours=[run["s"] for run in runs], at_most=1),
        Figure(group=GROUP, what="... peak memory", unit="MB", ours=[run["peak_mb"] for run in runs], at_most=300),
    ]


def _rigid(rounds: int, say: Say) -> list[Figure]:
    if not _there(RIGID, "rigid jobs", say):
        return []
    python, log = accasim.python(say), Path(os.environ[RIGID])
    alone, decided, other = list[float](), list[float](), list[float]()
    for _ in range(rounds):
        alone.append(_fresh("rigid", say)["us"])
        decided.append(_fresh("decided", say)["us"])
        other.append(accasim.run(python, log, rigid_nodes(log), say))
    what, than = f"a rigid job of {log.name}, reading included", accasim.NAME
    return [
        Figure(group=GROUP, what=what, unit="us", ours=alone, other=other, than=than, at_least_faster=10),
        Figure(group=GROUP, what="... with decisions", unit="us", ours=decided, other=other, than=than),
    ]


def _growth(rounds: int, say: Say) -> list[Figure]:
    figures = []
    for tasks, nodes in _SIZES:
        runs = [_fresh(f"size {tasks} {nodes}", say) for _ in range(rounds)]
        what = f"{tasks:,} tasks on {nodes:,} nodes, without decisions"
        for key, unit, says in (("event_ns", "ns", "an event"), ("join_us", "us", "a node joins")):
            figures.append(Figure(group=GROUP, what=f"{what}: {says}", unit=unit, ours=[run[key] for run in runs]))
    return figures


def _there(variable: str, what: str, say: Say) -> bool:
    """Whether the file of a variable is there; says what is missing."""
    path = os.environ.get(variable)
    if path is None:
        say(f"simulator: no {what}, {variable} names no file")
    elif not Path(path).is_file():
        say(f"simulator: no {what}, {variable}: there is no {path}")
    return path is not None and Path(path).is_file()


def _fresh(name: str, say: Say) -> dict[str, float]:
    say(f"simulator: {name}")
    return fresh("bench.simulator", *name.split())


# --- in the fresh process


def _scenario(demands: tuple[Demand, ...], nodes: int, settings: Mapping[str, Any] = _SETTINGS) -> Scenario:
    plan = Plan(name="bench", nodes=pool_of(nodes), settings=settings, demands=demands, file="bench")
    return with_demands(plan.scenario(_CATALOG), demands)


def _demand(name: str, min_nodes: int, jobs: tuple[Coming, ...]) -> Demand:
    return Demand(spec=ClusterSpec(id=ClusterId(name), min_nodes=min_nodes, replication=3), jobs=jobs)


def busy(engine: Engine, tasks: int) -> Scenario:
    """Three MR-clusters with unequal loads on 1,000 nodes, jobs of 10,000 maps at most, all there from the start."""
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
        demands.append(_demand(name, _BUSY_NODES // 10, tuple(jobs)))
    return replace(_scenario(tuple(demands), _BUSY_NODES), engine=engine, limit_us=_FOREVER_US)


def events(engine: Engine, tasks: int) -> dict[str, float]:
    """Nanoseconds of the processor for each start and end of an attempt; decisions and readings count as well."""
    simulate(busy(engine, 300))
    return {"ns": 1e9 * _timed(busy(engine, tasks)) / (2 * tasks), "peak_mb": peak_mb()}


def _timed(scenario: Scenario) -> float:
    """Seconds of the processor of a run."""
    began = time.process_time()
    simulate(scenario)
    return time.process_time() - began


def size(tasks: int, nodes: int) -> dict[str, float]:
    """Nanoseconds for each event of an MR-cluster alone, and microseconds for each node that joins."""
    _sized(100, 10)
    joined_s, ended_s = _sized(tasks, nodes)
    return {"join_us": 1e6 * joined_s / nodes, "event_ns": 1e9 * ended_s / (2 * tasks)}


def _sized(tasks: int, nodes: int) -> tuple[float, float]:
    model = model_of("compiled", DAS4)
    cluster = model.cluster(ClusterId("c"))
    began = time.process_time()
    for number in range(nodes):
        cluster.join(NodeId(f"n{number}"), Role.CORE)
    joined = time.process_time()
    for number in range(10):
        spec = JobSpec(
            id=JobId(f"j{number}"), cluster=cluster.id, details={"profile": {"maps": tasks // 10, **_PROFILE}}
        )
        cluster.submit(StartJob(spec.id, cluster.id, 1, spec))
    while model.advance(_FOREVER_US) is not None:
        pass
    assert cluster.tasks_done == tasks
    return joined - began, time.process_time() - joined


def day() -> dict[str, float]:
    """The trace's jobs dealt round robin; seconds of the run without reading the file, and the peak memory."""
    simulate(busy("compiled", 300))
    jobs = swim.read(Path(os.environ[DAY])).jobs
    demands = tuple(_demand(name, 5, coming(jobs[first::3], name)) for first, name in enumerate(_NAMES))
    return {"s": _timed(replace(_scenario(demands, DAY_NODES), engine="compiled")), "peak_mb": peak_mb()}


def rigid_nodes(log: Path) -> int:
    """Nodes for a log: as many processors as its header says, or as its largest job has."""
    trace = swf.read(log)
    most = max(job.processors or 0 for job in trace.jobs)
    said = trace.header.get("MaxProcs", "")
    return -(-max(most, int(said) if said.isdigit() else 0) // _NODE_CORES)


def rigid() -> dict[str, float]:
    """Microseconds for each job, from reading the log to the end of the last one; the model of Hadoop alone."""
    log = Path(os.environ[RIGID])
    nodes = rigid_nodes(log)
    times = []
    for _ in range(2):
        # The first time loads the compiled functions.
        began = time.process_time()
        count = _replayed(log, nodes)
        times.append(1e6 * (time.process_time() - began) / count)
    return {"us": times[1]}


def _replayed(log: Path, nodes: int) -> int:
    model = model_of("compiled", replace(PLAIN, slots=_NODE_CORES))
    cluster = model.cluster(ClusterId("c"))
    for number in range(nodes):
        cluster.join(NodeId(f"n{number}"), Role.CORE)
    jobs = swf.read(log).jobs
    for job in jobs:
        while model.advance(job.submit_us) is not None:
            pass
        model.now_us = job.submit_us
        spec = job_spec_of(job, cluster.id)
        cluster.submit(StartJob(spec.id, cluster.id, 1, spec))
    while model.advance(_FOREVER_US) is not None:
        pass
    assert not cluster.jobs
    return len(jobs)


def decided() -> dict[str, float]:
    """The same as a run of one MR-cluster, with all decisions; ticks and readings once a day."""
    log = Path(os.environ[RIGID])
    simulate(busy("compiled", 300))
    nodes = rigid_nodes(log)
    began = time.process_time()
    jobs = swf.read(log).jobs
    settings = {**_SETTINGS, "policy": "None", "period": "24h", "sample_every": "24h"}
    scenario = _scenario((_demand("c", nodes, coming(jobs, "c")),), nodes, settings)
    simulate(replace(scenario, engine="compiled", constants=replace(PLAIN, slots=_NODE_CORES), limit_us=_FOREVER_US))
    return {"us": 1e6 * (time.process_time() - began) / len(jobs)}


def main(what: str, *more: str) -> dict[str, float]:
    """Measure one thing."""
    match what:
        case "size":
            return size(*map(int, more))
        case "day":
            return day()
        case "rigid":
            return rigid()
        case "decided":
            return decided()
        case "same":
            return events(cast(Engine, more[0]), _TASKS["readable"])
    return events(cast(Engine, what), _TASKS[what])


if __name__ == "__main__":
    json.dump(main(*sys.argv[1:]), sys.stdout)
