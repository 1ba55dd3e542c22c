"""Section 6: one MR-cluster of the model by itself, without a controller."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from statistics import fmean
from typing import Any, cast

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import StartJob
from fawkes.core.values.model import ClusterId, JobId, JobSpec, NodeId, Role
from fawkes.offline.scenarios.applications import details_of, profile_of_job
from fawkes.offline.studies.paper.judging.fixed import (
    CHANCES,
    IDLE_BYTES,
    MICRO_NODES,
    MIN_NODES,
    REDUCES_PER_NODE,
    REPLICAS,
    FixedModel,
)
from fawkes.sim.engines import Choice, engine_for, model_of
from fawkes.sim.events.steps import next_look_us
from fawkes.sim.hadoop.constants import Constants
from fawkes.sim.hadoop.model import CopyDone, JobEnded
from fawkes.sim.hadoop.profile import Profile
from fawkes.workload.making.classes import APPLICATIONS, COMPUTE, GB, STAGES, chain
from fawkes.workload.model import TraceJob

ROLES = {"TR": Role.TRANSIENT, "TC": Role.TRANSIENT_CORE}
_C = ClusterId("c")
#: of an application, more or less: it chooses the engine alone
_TASKS = 1_000
_FOREVER_US = 10**16


def profile(job: TraceJob, model: FixedModel) -> Profile:
    """The demand of a job on the machine, with the model's factors on its processor time."""
    plain = profile_of_job(job)
    compute = job.application in STAGES and STAGES[job.application].kind == COMPUTE
    factor = model.factor("cpu_compute" if compute else "cpu_disk")
    return replace(
        plain,
        map_cpu_us=round(plain.map_cpu_us * factor),
        reduce_cpu_us=round(plain.reduce_cpu_us * model.factor("cpu_reduce")),
    )


class Bench:
    """An MR-cluster of the model and its clock; tasks take their chances from ``seed``."""

    def __init__(
        self,
        constants: Constants,
        core: int,
        others: int = 0,
        role: Role = Role.CORE,
        sites: int = 1,
        seed: int = CHANCES[0],
        replication: int = 3,
        engine: Choice = "auto",
    ) -> None:
        self.model = model_of(engine_for(engine, _TASKS), constants, seed=seed)
        self.cluster = self.model.cluster(_C, replication=replication)
        self._look_us = constants.decommission_us
        self.others = [NodeId(f"other-{number:03d}") for number in range(others)]
        names = [NodeId(f"core-{number:03d}") for number in range(core)]
        for number, name in enumerate(names):
            self.cluster.join(name, Role.CORE, f"site-{number * sites // core}")
        for name in self.others:
            self.cluster.join(name, role, "site-0")

    def over(self) -> Iterator[JobEnded | CopyDone]:
        """Jobs as they end, and copies as HDFS sees that they have, until nothing is under way."""
        copied = deque[tuple[int, CopyDone]]()
        while True:
            ended = self.model.advance(copied[0][0] if copied else _FOREVER_US)
            if isinstance(ended, CopyDone):
                copied.append((next_look_us(self.model.now_us, self._look_us), ended))
            elif ended is not None:
                yield ended
            elif copied:
                self.model.now_us, done = copied.popleft()
                yield done
            else:
                return

    def submit(self, name: str, job: Profile) -> None:
        """A job begins now."""
        spec = JobSpec(id=JobId(name), cluster=_C, details=details_of(job))
        self.cluster.submit(StartJob(spec.id, _C, 1, spec))

    def run(self, jobs: Sequence[Profile]) -> float:
        """Jobs one after another; seconds from the first submission to the last end. Nodes that are empty leave."""
        left = list(enumerate(jobs))
        number, first = left.pop(0)
        self.submit(str(number), first)
        end_us = 0
        for done in self.over():
            if isinstance(done, CopyDone):
                self.leave(done)
                continue
            end_us = self.model.now_us
            if left:
                number, following = left.pop(0)
                self.submit(str(number), following)
        return end_us / SECOND_US

    def leave(self, done: CopyDone) -> None:
        """The node leaves whose copy is done."""
        self.cluster.leave(cast(NodeId, done.of))

    def evacuate(self, names: Sequence[NodeId], held_bytes: int) -> None:
        """Nodes stop working and what they hold is copied to the others, all at once (delayed preemption, 4.2.2)."""
        for name in names:
            self.cluster.hold(name, held_bytes)
            self.cluster.drain(name)
        for name in names:
            self.cluster.evacuate(name, name)


def jobs_of(code: str, nodes: int, model: FixedModel) -> list[Profile]:
    """The jobs of an application on the input of Table 1, with two reduces for each node."""
    size = f"{APPLICATIONS[code].input_bytes // GB}GB"
    reduces = max(1, round(nodes * REDUCES_PER_NODE * model.factor("reduces")))
    return [profile(job, model) for job in chain(code, code, size, reduces=reduces)]


def chances(once: Callable[[int], float], seeds: Sequence[int] = CHANCES) -> dict[str, Any]:
    """``seconds`` is the mean over the seeds of the tasks' chances, ``each_s`` with each of them."""
    each_s = [once(seed) for seed in seeds]
    return {"seconds": fmean(each_s), "each_s": each_s}


def application_s(
    model: FixedModel,
    app: str,
    core: int,
    role: str,
    others: int,
    sites: int = 1,
    link: float = 1.0,
    seed: int = CHANCES[0],
    engine: Choice = "auto",
) -> float:
    """Seconds that an application takes on so many core nodes, evenly on so many sites, and nodes of another role.

    ``link`` is the part that the link between the sites has of its capacity.
    """
    constants = replace(model.constants, site_bytes_s=model.constants.site_bytes_s * link)
    bench = Bench(constants, core, others, ROLES.get(role, Role.CORE), sites, seed, engine=engine)
    return bench.run(jobs_of(app, core + others, model))


def removal_idle_s(model: FixedModel, removed: int, together: bool) -> dict[str, float]:
    """``total_s`` until the last node has left, and ``node_s``, the mean time of one (section 6.4, Figure 5a).

    The nodes that stay take the copies, so all of them are core nodes here.
    """
    bench = Bench(model.constants, MICRO_NODES - removed, removed, Role.TRANSIENT_CORE)
    left, began, times = list(bench.others), 0, list[float]()
    first = left if together else left[:1]
    left = left[len(first) :]
    bench.evacuate(first, IDLE_BYTES)
    for done in bench.over():
        if isinstance(done, CopyDone):
            bench.leave(done)
            times.append((bench.model.now_us - began) / SECOND_US)
            if left:
                began = bench.model.now_us
                bench.evacuate([left.pop(0)], IDLE_BYTES)
    return {"total_s": bench.model.now_us / SECOND_US, "node_s": sum(times) / len(times)}


def removal_busy_s(model: FixedModel, app: str, removed: int, seed: int = CHANCES[0]) -> float:
    """Seconds of an application when nodes begin to leave at its start, each with its part of three replicas of the
    input (section 6.4, the worst case: transient-core nodes store as much as core nodes, which they are here).
    """
    bench = Bench(model.constants, MICRO_NODES - removed, removed, Role.TRANSIENT_CORE, seed=seed)
    bench.evacuate(bench.others, APPLICATIONS[app].input_bytes * REPLICAS // MICRO_NODES)
    return bench.run(jobs_of(app, MICRO_NODES, model))


@cache
def reference_us(constants: Constants, job: Profile) -> int:
    """Alone on a static MR-cluster of 10 nodes, in microseconds (facts, section 7): the mean over the seeds."""
    return round(fmean(Bench(constants, MIN_NODES, seed=seed).run([job]) for seed in CHANCES) * SECOND_US)
