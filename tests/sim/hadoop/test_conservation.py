"""The laws of conservation: they hold in random stories and whole runs, and each break of one is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import BrokenError
from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import StartJob
from fawkes.core.values.model import ClusterId, JobId, JobSpec, NodeId, Role
from fawkes.offline.scenarios.scenario import simulate
from fawkes.sim.hadoop.cluster import SimCluster
from fawkes.sim.hadoop.constants import DAS4
from fawkes.sim.hadoop.readable import ReadableModel, broken, refuse_broken
from fawkes.sim.hadoop.tasks import Phase, SimJob
from tests.offline.support import ready, two
from tests.sim.stories import CONSTANTS, PROFILES, STEPS, Step, played

NODE = NodeId("n1")


def busy() -> SimCluster:
    """An MR-cluster in the middle of a job with reduces: on one node both run, the other one drains."""
    model = ReadableModel(replace(DAS4, map_slots=2, reduce_slots=1, spread=0.0), check=True)
    cluster = model.cluster(ClusterId("c"))
    for number in (1, 2):
        cluster.join(NodeId(f"n{number}"), Role.CORE)
    spec = JobSpec(id=JobId("j"), cluster=cluster.id, details={"profile": PROFILES[2]})
    cluster.submit(StartJob(spec.id, cluster.id, 1, spec))
    while not the_job(cluster).maps_done:
        model.advance(model.now_us + SECOND_US)
        model.now_us += SECOND_US
    cluster.drain(NodeId("n2"))
    return cluster


def the_job(cluster: SimCluster) -> SimJob:
    return next(iter(cluster.jobs.values()))


def a_map_more_waits(cluster: SimCluster) -> None:
    the_job(cluster).maps_waiting += 1


def a_reduce_has_ended_twice(cluster: SimCluster) -> None:
    the_job(cluster).reduces_done += 1


def a_slot_is_lost(cluster: SimCluster) -> None:
    cluster.nodes[NODE].maps_free -= 1


def a_free_slot_is_offered_twice(cluster: SimCluster) -> None:
    cluster.free_slots[0].append(cluster.nodes[NODE])


def a_draining_node_offers_slots(cluster: SimCluster) -> None:
    cluster.free_slots[1].append(cluster.nodes[NodeId("n2")])


def a_node_that_is_gone_offers_slots(cluster: SimCluster) -> None:
    cluster.free_slots[0].append(replace(cluster.nodes[NODE], name=NodeId("n9")))


def an_attempt_is_on_no_node(cluster: SimCluster) -> None:
    cluster.nodes[NODE].attempts.popitem()


def an_attempt_does_nothing(cluster: SimCluster) -> None:
    next(task for task in the_job(cluster).running if task.phase is Phase.MAP).flows.clear()


def more_is_stored_than_was_written(cluster: SimCluster) -> None:
    cluster.stored[NODE] = 10**15


def a_node_that_is_gone_stores(cluster: SimCluster) -> None:
    cluster.stored[NodeId("n9")] = 0


def output_of_maps_is_lost(cluster: SimCluster) -> None:
    for node in cluster.nodes.values():
        node.kept.clear()


def test_a_cluster_at_work_is_sound() -> None:
    assert broken(busy()) == []


@pytest.mark.parametrize(
    "breaks",
    [
        a_map_more_waits,
        a_reduce_has_ended_twice,
        a_slot_is_lost,
        a_free_slot_is_offered_twice,
        a_draining_node_offers_slots,
        a_node_that_is_gone_offers_slots,
        an_attempt_is_on_no_node,
        an_attempt_does_nothing,
        more_is_stored_than_was_written,
        a_node_that_is_gone_stores,
        output_of_maps_is_lost,
    ],
)
def test_each_break_is_seen(breaks: Callable[[SimCluster], None]) -> None:
    cluster = busy()
    breaks(cluster)
    assert broken(cluster)
    with pytest.raises(BrokenError, match="of simulated time"):
        refuse_broken(cluster, 0)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(sorted(CONSTANTS)), sites=st.integers(1, 3), steps=STEPS)
def test_they_hold_in_random_stories(name: str, sites: int, steps: list[Step]) -> None:
    checked = played("readable", CONSTANTS[name], sites, steps, check=True)
    assert checked.told == played("readable", CONSTANTS[name], sites, steps).told


@pytest.mark.slow
def test_they_hold_in_a_whole_run_and_change_nothing() -> None:
    scenario = ready(two())
    entries = list(simulate(replace(scenario, check=True)).entries())
    assert entries == list(simulate(scenario).entries())
