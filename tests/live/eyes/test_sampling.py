from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from fawkes.base.errors import HostError
from fawkes.core.values.model import ClusterId, NodeId, Reading
from fawkes.live.base.timers import Clock
from fawkes.live.eyes.measure import Sampler
from fawkes.live.eyes.sampling import Sampling
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.wire.masters import MasterAddresses, Target
from tests.live.played import PlayedSetup, live_cluster


class Fakes(PlayedSetup, Sampler):
    """Nodes that answer, do not, or only when they are let; readings that are all alike."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.down: set[str] = set()
        self.hangs: set[str] = set()
        self.let = threading.Event()

    def target(self, cluster: LiveCluster) -> Target:
        self.asked.append(cluster.id)
        if cluster.id in self.down:
            raise HostError("it does not answer", host=cluster.master)
        if cluster.id in self.hangs:
            assert self.let.wait(60)
        masters = MasterAddresses(resource_manager="http://rm", namenode="http://nn", user="root")
        return Target(cluster=cluster.id, masters=masters, task_mb=256, task_vcores=0)

    def sample(self, targets: Sequence[Target]) -> tuple[Reading, ...]:
        return tuple(Reading(cluster=target.cluster, jobs_running=1) for target in targets)


def clusters(*names: str, working: bool = True) -> Clusters:
    clusters = Clusters()
    for number, name in enumerate(names, 1):
        clusters._put(live_cluster(name, NodeId(f"node{number:02d}"), ready=True, working=working))
    return clusters


def round_of(sampling: Sampling) -> dict[str, str | int | None]:
    event = sampling.round()
    return {reading.cluster: reading.error or reading.jobs_running for reading in event.readings} if event else {}


def test_nothing_is_read_where_nothing_works() -> None:
    fakes = Fakes()
    sampling = Sampling(clusters("a", working=False), fakes, fakes, Clock())
    assert (sampling.round(), fakes.asked) == (None, [])
    sampling.close()


def test_one_whose_nodes_do_not_answer_is_unreadable_by_itself_and_asked_again() -> None:
    fakes = Fakes()
    fakes.down = {"a"}
    sampling = Sampling(clusters("a", "b"), fakes, fakes, Clock())
    assert round_of(sampling) == {"a": "node01: it does not answer", "b": 1}
    fakes.down = set()
    assert round_of(sampling) == {"a": 1, "b": 1}
    assert sorted(fakes.asked) == ["a", "a", "b"]
    sampling.close()


@pytest.mark.slow
def test_one_whose_nodes_hang_holds_up_no_other() -> None:
    fakes = Fakes()
    fakes.hangs = {"a"}
    sampling = Sampling(clusters("a", "b"), fakes, fakes, Clock())
    assert round_of(sampling) == {"a": "node01 has not reported how to read its MR-cluster", "b": 1}
    fakes.let.set()
    assert round_of(sampling) == {"a": 1, "b": 1}
    assert sorted(fakes.asked) == ["a", "b"]
    sampling.close()


@pytest.mark.slow
def test_many_that_hang_keep_no_other_one_from_being_read() -> None:
    fakes = Fakes()
    hanging = [f"a{number:02}" for number in range(30)]
    fakes.hangs = set(hanging)
    sampling = Sampling(clusters(*hanging, "z"), fakes, fakes, Clock())
    try:
        assert round_of(sampling)["z"] == 1
    finally:
        fakes.let.set()
        sampling.close()


@pytest.mark.parametrize(("master_mb", "slots"), [(0, 1), (128, 1), (256, 1), (257, 2), (384, 2), (1024, 4)])
def test_an_application_master_takes_a_slot_or_more(master_mb: int, slots: int) -> None:
    masters = MasterAddresses(resource_manager="", namenode="", user="")
    target = Target(cluster=ClusterId("c"), masters=masters, task_mb=256, master_mb=master_mb)
    assert target.master_slots == slots
