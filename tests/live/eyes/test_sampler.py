"""All MR-clusters are read at once: each in its own thread, none waits for another."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.eyes.measure import Sampler
from fawkes.live.wire.masters import Target
from tests.live.masters_server import (
    APPS,
    JMX,
    NODE_LIST,
    NODES,
    Server,
    beans,
    by_states,
    hangs,
    healthy,
    recorded,
    running,
    says,
)
from tests.live.readings import C1, C2, NONE, target
from tests.support.waiting import wait_for


class Stuck(Mapping[str, NodeId]):
    """Names whose look-up does not come back before it is told to."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.go_on = threading.Event()

    def __getitem__(self, name: str) -> NodeId:
        self.asked.set()
        self.go_on.wait()
        return NODES[name]

    def __iter__(self) -> Iterator[str]:
        return iter(NODES)

    def __len__(self) -> int:
        return len(NODES)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("read-")]


def until_ended(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)


@pytest.fixture
def sampler() -> Iterator[Sampler]:
    sampler = Sampler(deadline_s=1.0)
    yield sampler
    sampler.close()
    until_ended(readers())


def test_all_clusters_are_read_in_the_order_given(server: Server, sampler: Sampler) -> None:
    with running() as other:
        readings = sampler.sample([target(server, C2), target(other, C1), target(server, ClusterId("c-3"))])
    assert [reading.cluster for reading in readings] == ["c-2", "c-1", "c-3"]
    assert [bool(reading.error) for reading in readings] == [False, True, False]


@pytest.mark.slow
def test_a_cluster_that_is_late_does_not_keep_the_others_waiting(server: Server, sampler: Sampler) -> None:
    with running() as other:
        healthy(other)
        other.answers[NODE_LIST] = hangs
        late, well = sampler.sample([target(other, C1), target(server, C2)])
        assert late.error
        assert well.error == ""
        other.answers[NODE_LIST] = server.answers[NODE_LIST]
        other.over.set()
        until_read(sampler, target(other, C1))


def until_read(sampler: Sampler, wanted: Target) -> None:
    """A thread that was given up may take a moment to see that its time is over."""
    wait_for(lambda: not sampler.sample([wanted])[0].error, "a reading")


@pytest.mark.slow
def test_a_thread_that_is_stuck_is_given_up_and_not_joined_by_others(server: Server) -> None:
    sampler = Sampler(deadline_s=0.3)
    names = Stuck()
    stuck = target(server, nodes=names)
    assert sampler.sample([stuck])[0].error == "no answer within 0.3 s"
    assert names.asked.is_set()
    for _ in range(3):
        assert sampler.sample([stuck])[0].error == "the previous reading is still under way"
    assert len(readers()) == 1
    names.go_on.set()
    until_read(sampler, stuck)
    assert len(readers()) == 1
    sampler.close()
    until_ended(readers())


@pytest.mark.slow
def test_a_late_answer_is_not_taken_for_that_of_the_next_round(server: Server) -> None:
    sampler = Sampler(deadline_s=0.3)
    names = Stuck()
    sampler.sample([target(server, nodes=names)])
    names.go_on.set()
    until_read(sampler, target(server, nodes=names))
    server.answers[APPS] = says(NONE)
    (reading,) = sampler.sample([target(server, nodes=names)])
    assert (reading.error, reading.jobs_waiting) == ("", 0)
    sampler.close()
    until_ended(readers())


def test_a_cluster_that_is_gone_leaves_no_thread(server: Server, sampler: Sampler) -> None:
    sampler.sample([target(server, C1), target(server, C2)])
    before = readers()
    assert len(before) == 2
    sampler.sample([target(server, C2)])
    until_ended([thread for thread in before if thread.name == "read-c-1"])
    assert sampler.sample([]) == ()
    until_ended(before)


def test_another_master_is_another_cluster_with_a_memory_of_its_own(server: Server, sampler: Sampler) -> None:
    server.answers[APPS] = by_states(NONE, recorded("apps_ended.json"))
    assert sampler.sample([target(server)])[0].jobs_done == 3
    with running() as other:
        healthy(other)
        assert sampler.sample([target(other)])[0].jobs_done == 0


def test_answers_that_make_no_sense_are_an_error_and_the_thread_lives_on(server: Server, sampler: Sampler) -> None:
    good = server.answers[JMX]
    server.answers[JMX] = beans(
        NameNodeInfo=recorded("namenode.json"), BlockStats={"beans": [{"StorageTypeStats": [7]}]}
    )
    assert "does not report the size of its volumes" in sampler.sample([target(server)])[0].error
    server.answers[JMX] = good
    assert sampler.sample([target(server)])[0].error == ""


def test_connections_are_kept_from_reading_to_reading(server: Server, sampler: Sampler) -> None:
    """Each reading of a reader thread finds its connection open: one TCP connection for all."""
    seen: set[object] = set()
    nodes = server.answers[NODE_LIST]

    def remember(handler: Any, query: Any) -> None:
        seen.add(handler.client_address)
        nodes(handler, query)

    server.answers[NODE_LIST] = remember
    assert {sampler.sample([target(server)])[0].error for _ in range(3)} == {""}
    assert len(seen) == 1
