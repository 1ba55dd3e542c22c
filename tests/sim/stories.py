"""Stories for both models of Hadoop: nodes, jobs and copies that come and go on two MR-clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any

from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import StartJob
from fawkes.core.values.model import ClusterId, JobId, JobSpec, NodeId, Role
from fawkes.sim.engines import Engine, model_of
from fawkes.sim.hadoop.constants import DAS4, PLAIN, Constants
from fawkes.sim.hadoop.model import Cluster, CopyDone, Model
from fawkes.sim.hadoop.tasks import JobAttempt

MB = 10**6
SITES = ("delft", "leiden", "twente")
CONSTANTS: dict[str, Constants] = {
    "das4": DAS4,
    "containers": replace(DAS4, map_slots=0, reduce_slots=0, slots=3),
    "stragglers": replace(DAS4, map_slots=2, reduce_slots=1, stragglers=0.1, job_end_us=0, job_begin_us=0),
    "a-lab": replace(DAS4, map_slots=0, reduce_slots=0, slots=2, shared_cores=True, cores=4.0, spread=0.0),
    "starts": replace(
        DAS4,
        map_slots=0,
        slots=3,
        shared_cores=True,
        cores=2.0,
        job_begin_cpu_us=6_000_000,
        join_cpu_us=8_000_000,
        task_start_cpu_us=2_000_000,
    ),
    "starts-alone": replace(DAS4, map_slots=2, reduce_slots=1, cores=1.0, job_begin_us=0, task_start_us=1_500_000),
    "masters": replace(DAS4, map_slots=0, reduce_slots=0, slots=2, master_share=0.5, job_end_us=2_000_000),
    "masters-at-once": replace(PLAIN, map_slots=0, slots=3, master_share=0.4),
    "unequal-nodes": replace(DAS4, map_slots=2, reduce_slots=1, node_spread=0.3, stragglers=0.2, speculative=True),
    "racks": replace(DAS4, rack_nodes=2, oversubscription=20.0, network_bytes_s=100.0 * MB, output_replicas=2),
    "daemons": replace(DAS4, map_slots=0, slots=2, shared_cores=True, idle_cores=0.7, join_cpu_us=3_000_000),
    "kept": replace(DAS4, map_slots=2, reduce_slots=1, cores=2.0, keep_cores=0.3),
    "kept-on-one-machine": replace(DAS4, map_slots=0, slots=2, shared_cores=True, cores=3.0, keep_cores=0.2),
    "standby": replace(DAS4, map_slots=2, reduce_slots=1, cores=1.0, keep_cores=0.2, standby_cores=0.3),
    "standby-on-one-machine": replace(DAS4, map_slots=0, slots=2, shared_cores=True, cores=2.0, standby_cores=0.6),
    "equal": replace(DAS4, map_slots=2, reduce_slots=1, spread=0.0, slow_start=0.0, network_bytes_s=50.0 * MB),
    "no-limits": replace(DAS4, map_slots=2, reduce_slots=1, disk_bytes_s=inf, cores=inf, site_bytes_s=20.0 * MB),
    "time-alone": replace(PLAIN, map_slots=2, reduce_slots=1, slow_start=1.0),
}
PROFILES: tuple[dict[str, int], ...] = (
    {"maps": 7, "map_us": 9 * SECOND_US},
    {"maps": 40, "map_cpu_us": 8 * SECOND_US, "map_read_bytes": 100 * MB, "output_bytes": 20 * MB},
    {"maps": 12, "reduces": 5, "map_read_bytes": 80 * MB, "map_output_bytes": 60 * MB, "output_bytes": 90 * MB},
    {"maps": 6, "reduces": 9, "map_us": 5 * SECOND_US, "map_output_bytes": 200 * MB, "reduce_cpu_us": 7 * SECOND_US},
    {"maps": 3, "reduces": 2, "map_us": 4 * SECOND_US, "reduce_us": 3 * SECOND_US, "noted_bytes": 1_000},
    {"maps": 1},
    {"maps": 5, "map_us": 6 * SECOND_US, "gang": 1},
)


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens from outside, so long after the step before."""

    after_us: int
    what: str
    cluster: int
    number: int
    choice: int
    granted: int = 0


STEPS = st.lists(
    st.builds(
        Step,
        after_us=st.integers(0, 40 * SECOND_US),
        what=st.sampled_from(
            (
                "submit",
                "submit",
                "submit",
                "join",
                "join",
                "leave",
                "drain",
                "stop-tasks",
                "cancel",
                "load",
                "save",
                "evacuate",
                "start-daemons",
                "all-fail",
            )
        ),
        cluster=st.integers(0, 1),
        number=st.integers(1, 6),
        choice=st.integers(0, 5),
        granted=st.sampled_from((0, 0, 1, 2, 3, 7)),
    ),
    min_size=1,
    max_size=40,
)


class Run:
    """Two MR-clusters of a model, and all that was told of them."""

    def __init__(self, engine: Engine, constants: Constants, sites: int, check: bool = False) -> None:
        self.model: Model = model_of(engine, constants, seed=7, keep_events=True, check=check)
        self.sites = sites
        self.told: list[Any] = []
        self.granted: dict[JobAttempt, int] = {}
        self.clusters = [
            self.model.cluster(ClusterId(name), replication=2, data_bytes=300 * MB, standby=standby)
            for name, standby in (("a", True), ("b", False))
        ]
        for cluster in self.clusters:
            # A core node stays: without any, what maps read is nowhere.
            cluster.join(NodeId(f"{cluster.id}-0"), Role.CORE, SITES[0])

    def until(self, until_us: int) -> None:
        while (event := self.model.advance(until_us)) is not None:
            self.told.append((self.model.now_us, event))
            if isinstance(event, CopyDone) and isinstance(event.of, tuple):
                # As HDFS lets a node go, in the middle of what ends at this moment.
                self.clusters[event.of[0]].leave(event.of[1])

    def step(self, step: Step, at_us: int) -> None:
        self.until(at_us)
        self.model.now_us = at_us
        cluster = self.clusters[step.cluster]
        node = NodeId(f"{cluster.id}-{step.number}")
        self.told.append(cluster.busy_us(node))
        self._change(step, cluster, node)
        self.told.append([each.read() for each in self.clusters])

    def _change(self, step: Step, cluster: Cluster, node: NodeId) -> None:
        match step.what:
            case "load":
                cluster.load(f"load-{step.number}")
            case "save":
                self.told.append(cluster.save(f"save-{step.number}").of)
            case "start-daemons":
                cluster.start_daemons(step.choice * SECOND_US, f"daemons-{step.number}")
            case _:
                self._change_nodes_or_jobs(step, cluster, node)

    def _change_nodes_or_jobs(self, step: Step, cluster: Cluster, node: NodeId) -> None:
        attempt = (JobId(f"{cluster.id}-{step.number}"), 1 + step.choice % 2)
        match step.what:
            case "submit":
                spec = JobSpec(id=attempt[0], cluster=cluster.id, details={"profile": PROFILES[step.choice]})
                self.told.append(cluster.submit(StartJob(attempt[0], cluster.id, attempt[1], spec, step.granted)))
                self.granted.setdefault(attempt, 0 if PROFILES[step.choice].get("gang") else step.granted)
            case "join":
                cluster.join(node, list(Role)[step.choice % 3], SITES[step.number % self.sites])
            case "leave" | "all-fail":
                for name in [node] if step.what == "leave" else list(cluster.nodes):
                    cluster.leave(name)
            case "drain":
                cluster.drain(node)
            case "stop-tasks":
                cluster.stop_tasks(node)
            case "cancel":
                self.told.append(cluster.cancel(attempt))
            case "evacuate" if node in cluster.nodes:
                cluster.stop_tasks(node)
                cluster.evacuate(node, (step.cluster, node))


def played(engine: Engine, constants: Constants, sites: int, steps: list[Step], *, check: bool = False) -> Run:
    """A whole story, and an hour more."""
    run, at_us = Run(engine, constants, sites, check), 0
    for step in steps:
        at_us += step.after_us
        run.step(step, at_us)
    run.until(at_us + 3600 * SECOND_US)
    run.told.append([cluster.read() for cluster in run.clusters])
    run.told.append([cluster.ended for cluster in run.clusters])
    return run
