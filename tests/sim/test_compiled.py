"""The compiled model against the readable one: equal events of tasks, equal ends, equal readings."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fawkes.core.effects import StartJob
from fawkes.core.model import ClusterId, JobId, JobSpec, NodeId, Role
from fawkes.core.record import decision_plain, dumps, to_plain
from fawkes.offline.plan import asked, paper_plan
from fawkes.offline.scenario import Scenario, simulate
from fawkes.sim.constants import DAS4, PLAIN, Constants
from fawkes.sim.model import Cluster, CopyDone, Engine, Model, TaskEvent, model_of
from fawkes.units import SECOND_US
from tests.offline.support import CATALOG, ready, two

MB = 10**6
SITES = ("delft", "leiden", "twente")
CONSTANTS: dict[str, Constants] = {
    "das4": DAS4,
    "containers": replace(DAS4, map_slots=0, reduce_slots=0, slots=3),
    "stragglers": replace(DAS4, map_slots=2, reduce_slots=1, stragglers=0.1, job_end_us=0, job_begin_us=0),
    "a-lab": replace(DAS4, map_slots=0, reduce_slots=0, slots=2, shared_cores=True, cores=4.0, spread=0.0),
    "equal": replace(DAS4, map_slots=2, reduce_slots=1, spread=0.0, slow_start=0.0, network_bytes_s=50.0 * MB),
    "time-alone": replace(PLAIN, map_slots=2, reduce_slots=1, slow_start=1.0),
}
PROFILES: tuple[dict[str, int], ...] = (
    {"maps": 7, "map_us": 9 * SECOND_US},
    {"maps": 40, "map_cpu_us": 8 * SECOND_US, "map_read_bytes": 100 * MB, "output_bytes": 20 * MB},
    {"maps": 12, "reduces": 5, "map_read_bytes": 80 * MB, "map_output_bytes": 60 * MB, "output_bytes": 90 * MB},
    {"maps": 6, "reduces": 9, "map_us": 5 * SECOND_US, "map_output_bytes": 200 * MB, "reduce_cpu_us": 7 * SECOND_US},
    {"maps": 3, "reduces": 2, "map_us": 4 * SECOND_US, "reduce_us": 3 * SECOND_US, "noted_bytes": 1_000},
    {"maps": 1},
)


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens from outside, so long after the step before."""

    after_us: int
    what: str
    cluster: int
    number: int
    choice: int


STEPS = st.lists(
    st.builds(
        Step,
        after_us=st.integers(0, 40 * SECOND_US),
        what=st.sampled_from(
            ("submit", "submit", "submit", "join", "join", "leave", "drain", "cancel", "load", "save", "evacuate")
        ),
        cluster=st.integers(0, 1),
        number=st.integers(1, 6),
        choice=st.integers(0, 5),
    ),
    min_size=1,
    max_size=40,
)


class Run:
    """Two MR-clusters of a model, and all that was told of them."""

    def __init__(self, engine: Engine, constants: Constants, sites: int) -> None:
        self.model: Model = model_of(engine, constants, seed=7, keep_events=True)
        self.sites = sites
        self.told: list[Any] = []
        self.clusters = [self.model.cluster(ClusterId(name), replication=2, data_bytes=300 * MB) for name in ("a", "b")]
        for cluster in self.clusters:
            # A core node stays: without any, what maps read is nowhere.
            cluster.join(NodeId(f"{cluster.id}-0"), Role.CORE, SITES[0])

    def until(self, until_us: int) -> None:
        while (found := self.model.advance(until_us)) is not None:
            self.told.append((self.model.now_us, found))
            if isinstance(found, CopyDone) and isinstance(found.of, tuple):
                # As HDFS lets a node go, in the middle of what ends at this moment.
                self.clusters[found.of[0]].leave(found.of[1])

    def step(self, step: Step, at_us: int) -> None:
        self.until(at_us)
        self.model.now_us = at_us
        cluster = self.clusters[step.cluster]
        node = NodeId(f"{cluster.id}-{step.number}")
        self.told.append(cluster.busy_us(node))
        self._change(step, cluster, node)
        self.told.append([one.read() for one in self.clusters])

    def _change(self, step: Step, cluster: Cluster, node: NodeId) -> None:
        attempt = (JobId(f"{cluster.id}-{step.number}"), 1 + step.choice % 2)
        match step.what:
            case "submit":
                spec = JobSpec(id=attempt[0], cluster=cluster.id, details={"profile": PROFILES[step.choice]})
                self.told.append(cluster.submit(StartJob(attempt[0], cluster.id, attempt[1], spec)))
            case "join":
                cluster.join(node, list(Role)[step.choice % 3], SITES[step.number % self.sites])
            case "leave":
                cluster.leave(node)
            case "drain":
                cluster.drain(node)
            case "cancel":
                self.told.append(cluster.cancel(attempt))
            case "load":
                cluster.load(f"load-{step.number}")
            case "save":
                self.told.append(cluster.save(f"save-{step.number}").of)
            case "evacuate" if node in cluster.nodes:
                cluster.drain(node)
                cluster.evacuate(node, (step.cluster, node))


def played(engine: Engine, constants: Constants, sites: int, steps: list[Step]) -> Run:
    run, at_us = Run(engine, constants, sites), 0
    for step in steps:
        at_us += step.after_us
        run.step(step, at_us)
    run.until(at_us + 3600 * SECOND_US)
    run.told.append([one.read() for one in run.clusters])
    return run


def conserved(events: list[TaskEvent], slots: int) -> None:
    """Each attempt starts once and ends at most once, and no node has more of them than slots."""
    busy: Counter[tuple[str, str]] = Counter()
    under_way: set[tuple[str, int, int]] = set()
    for event in events:
        who, where = (event.job, event.attempt, event.number), (event.cluster, event.node)
        if event.what == "start":
            assert who not in under_way
            under_way.add(who)
            busy[where] += 1
            assert busy[where] <= slots
        else:
            under_way.remove(who)
            busy[where] -= 1


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=st.sampled_from(sorted(CONSTANTS)), sites=st.integers(1, 3), steps=STEPS)
def test_whatever_happens_both_models_come_to_the_same(name: str, sites: int, steps: list[Step]) -> None:
    of = CONSTANTS[name]
    readable, compiled = (played(engine, of, sites, steps) for engine in ("readable", "compiled"))
    assert compiled.model.task_events() == readable.model.task_events()
    assert compiled.told == readable.told
    conserved(compiled.model.task_events(), of.slots if of.map_slots == 0 else of.map_slots + of.reduce_slots)


def text_of(scenario: Scenario) -> str:
    entries = simulate(scenario).entries()
    return "\n".join(dumps(to_plain(entry.event)) + dumps(decision_plain(entry.decision)) for entry in entries)


def test_a_whole_run_writes_the_same_records() -> None:
    scenario = ready(two())
    assert text_of(replace(scenario, engine="compiled")) == text_of(replace(scenario, engine="readable"))


def test_a_workload_of_the_paper_writes_the_same_records() -> None:
    plan = paper_plan("WKLD-D")
    scenario = asked(plan.scenario(CATALOG), plan.demands)
    assert text_of(replace(scenario, engine="compiled")) == text_of(replace(scenario, engine="readable"))


def test_a_copy_of_a_compiled_model_goes_on_as_the_model_does() -> None:
    steps = [Step(0, "submit", 0, 1, 2), Step(SECOND_US, "join", 0, 2, 1), Step(20 * SECOND_US, "leave", 0, 2, 1)]
    run = played("compiled", DAS4, 1, steps[:2])
    other = copy.deepcopy(run)
    for one in (run, other):
        one.until(7200 * SECOND_US)
    assert other.model.task_events() == run.model.task_events()
