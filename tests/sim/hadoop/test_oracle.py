"""An independent oracle: the same jobs in SimPy, task by task as its processes, where sharing is simple."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import StartJob
from fawkes.core.values.model import ClusterId, JobId, JobSpec, NodeId, Role
from fawkes.sim.hadoop.cluster import SimCluster
from fawkes.sim.hadoop.constants import PLAIN
from fawkes.sim.hadoop.flows import Flows
from fawkes.sim.hadoop.machine import Common, Owner

pytestmark = pytest.mark.slow

C = ClusterId("c")
#: when it is submitted (s), how many maps, how long each takes (s), how long its one reduce takes (s; 0: it has none)
Job = tuple[int, int, int, int]
JOBS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 12), st.integers(1, 20), st.integers(0, 9)), min_size=1, max_size=8
)


def by_fawkes(jobs: list[Job], slots: int) -> list[int]:
    """When each job ended (s), with slots of their own for reduces."""
    flows: Flows[Owner] = Flows()
    constants = replace(PLAIN, map_slots=slots, reduce_slots=len(jobs), slow_start=1.0)
    cluster = SimCluster(C, flows, constants, Common(constants))
    cluster.join(NodeId("n"), Role.CORE)
    for number, (at_s, maps, map_s, reduce_s) in sorted(enumerate(jobs), key=lambda row: row[1][0]):
        while (next_us := flows.next_us()) is not None and next_us <= at_s * SECOND_US:
            _step(flows)
        flows.now_us = at_s * SECOND_US
        profile = {
            "maps": maps,
            "map_us": map_s * SECOND_US,
            "reduces": int(reduce_s > 0),
            "reduce_us": reduce_s * SECOND_US,
        }
        spec = JobSpec(id=JobId(f"{number}"), cluster=C, details={"profile": profile})
        cluster.submit(StartJob(spec.id, C, 1, spec))
    while flows.next_us() is not None:
        _step(flows)
    return [cluster.ended[JobId(f"{number}"), 1].finished_us // SECOND_US for number in range(len(jobs))]


def _step(flows: Flows[Owner]) -> None:
    for flow in flows.end():
        cluster, owner = flow.owner
        cluster.flow_ended(owner, flow)


def by_simpy(jobs: list[Job], slots: int) -> list[int]:
    """The same: maps queue for the slots in the order of their jobs, the reduce follows the last map."""
    world = simpy.Environment()
    pool = simpy.Resource(world, slots)
    ends = [0] * len(jobs)

    def task(seconds: int) -> Generator[simpy.Event, Any, None]:
        with pool.request() as slot:
            yield slot
            yield world.timeout(seconds)

    def job(number: int) -> Generator[simpy.Event, Any, None]:
        at_s, maps, map_s, reduce_s = jobs[number]
        yield world.timeout(at_s)
        yield simpy.AllOf(world, [world.process(task(map_s)) for _ in range(maps)])
        yield world.timeout(reduce_s)
        ends[number] = int(world.now)

    for number in range(len(jobs)):
        world.process(job(number))
    world.run()
    return ends


@settings(max_examples=80)
@given(jobs=JOBS, slots=st.integers(1, 6))
def test_simpy_comes_to_the_same_ends(jobs: list[Job], slots: int) -> None:
    jobs = sorted(jobs, key=lambda row: row[0])
    assert by_fawkes(jobs, slots) == by_simpy(jobs, slots)
