"""Preemption: deciding for a thousand nodes under each policy, and the YARN workload of the chapter."""

from __future__ import annotations

import time
from dataclasses import replace

from bench.figures import Figure, Say
from fawkes.core.preemption.preempt import decide
from fawkes.core.preemption.values import Cause, Device, Medium, Need, Task
from fawkes.offline.studies.preemption import fixed
from fawkes.offline.studies.preemption.cases import seven
from fawkes.offline.studies.preemption.play import play, policy_of

GROUP = "Preemption"
_NODES, _TASKS = 1_000, 24
_WITHIN_S = 60.0


def figures(rounds: int, say: Say) -> list[Figure]:
    """Measure; ``rounds`` of deciding for each policy, and the workload once."""
    rate = fixed.GB / fixed.SLOPES["ssd"]
    medium = Medium(write=rate, read=rate, network=fixed.NETWORK_GB_S * fixed.GB)
    devices = {f"node{node:04}": Device(medium=medium) for node in range(_NODES)}
    tasks = [
        Task(id=f"{node}-{place}", node=node, progress_s=10.0 * place, memory=fixed.YARN_GB * fixed.GB)
        for node in devices
        for place in range(_TASKS)
    ]
    need = Need(cause=Cause.LEAVES, within_s=_WITHIN_S)
    what = f"deciding for {_NODES:,} nodes with {_TASKS} tasks each"
    results = []
    for name in ("kill", "checkpoint", "adaptive"):
        say(f"preemption: {name}")
        choose, seconds = policy_of(name), []
        for _ in range(rounds):
            began = time.perf_counter()
            decide(tasks, devices, need, choose)
            seconds.append(time.perf_counter() - began)
        results.append(Figure(group=GROUP, what=f"{what}: {name}", unit="s", ours=seconds, at_most=1))
    return [*results, _workload(say)]


def _workload(say: Say) -> Figure:
    say("preemption: the YARN workload")
    began = time.perf_counter()
    cases = seven("yarn").values()
    for seed in fixed.SEEDS:
        for case in cases:
            play(replace(case, seed=seed))
    seconds = time.perf_counter() - began
    what = f"YARN workload: {len(cases)} policies, {len(fixed.SEEDS)} seeds, one core"
    return Figure(group=GROUP, what=what, unit="s", ours=[seconds], at_most=60)
