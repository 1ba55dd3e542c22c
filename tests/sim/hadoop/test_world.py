"""The simulated world beyond the contract of both worlds: faults, silence, losses, the leavings of a dead engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.jobs.attempts import AttemptVerdict, judge
from fawkes.core.values.effects import (
    CancelJob,
    Deploy,
    Effect,
    Goal,
    Host,
    Load,
    Member,
    Membership,
    Retire,
    Save,
    StartJob,
    WakeAt,
)
from fawkes.core.values.events import (
    AttemptSeen,
    Condition,
    Done,
    Event,
    Failed,
    MastersSeen,
    NodeObserved,
    NodeSeen,
    Progress,
    Sampled,
    Woke,
    news_of,
)
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec, NodeId, Role
from fawkes.core.values.proof import Proof, unsafe
from fawkes.core.values.sight import Compute, Stored
from fawkes.sim.engines import Engine
from fawkes.sim.hadoop.cluster import SimCluster
from fawkes.sim.hadoop.constants import DAS4, PLAIN
from fawkes.sim.world import SimWorld
from tests.support.scripts import Mishaps

A = ClusterId("a")
N1, N2 = NodeId("n1"), NodeId("n2")
FIRST = {N1: Member(Goal.SERVING, Role.CORE, 1)}
E = TypeVar("E", bound=Event)
CLOSED = {"closed": [{"path": "/output/x", "bytes": 5, "client": "", "host": ""}], "closed_count": 1}


def world(**faults: list[str | None]) -> SimWorld:
    return SimWorld(until_us=1000 * SECOND_US, faults=Mishaps(dict(faults)))


def deployed(**faults: list[str | None]) -> SimWorld:
    """One MR-cluster on one core node, with one transient node beside it."""
    simulated = world(**faults)
    deploy(simulated)
    after(simulated, Host(N2, A, Role.TRANSIENT, 1), NodeObserved)
    return simulated


def deploy(
    simulated: SimWorld, members: Mapping[NodeId, Member] = FIRST, master: NodeId = N1, replication: int = 3
) -> None:
    """The MR-cluster comes up on these nodes, by default on one core node."""
    cores = [node for node, member in members.items() if member.role is Role.CORE]
    spec = ClusterSpec(id=A, min_nodes=len(cores), replication=replication)
    after(simulated, Deploy(A, 1, spec, members, master), Done)


def answer(simulated: SimWorld) -> Event | None:
    """The next event that is no reading."""
    while isinstance(event := simulated.next_event(), Sampled):
        pass
    return event


def heard(simulated: SimWorld, kind: type[E]) -> E:
    """The next event that is no reading, which is of this kind."""
    event = answer(simulated)
    assert isinstance(event, kind), event
    return event


def after(simulated: SimWorld, effect: Effect, kind: type[E]) -> E:
    """The next event once an effect was begun, which is of this kind."""
    simulated.start([effect])
    return heard(simulated, kind)


def verdict(event: Event | None) -> AttemptVerdict | None:
    """The core's verdict on the facts about an attempt."""
    assert isinstance(event, AttemptSeen), event
    return judge(event.seen, began=False, cancelling=False, lasted=False)


def test_what_clients_hold_open_is_closed_for_a_save_and_told_once() -> None:
    simulated = deployed()
    simulated.users.open_files[A] = {"/output/x": 5}
    for version, close_us, facts in ((2, 0, {}), (3, 1, CLOSED), (4, 1, {})):
        done = after(simulated, Save(A, version, close_us=close_us), Done)
        assert done.facts == facts


def job(number: int = 1, attempt: int = 1, tasks: int = 4) -> StartJob:
    spec = JobSpec(id=JobId(f"a-{number}"), cluster=A, tasks=tasks, details={"task_s": 10})
    return StartJob(spec.id, A, attempt, spec)


def last_reading(simulated: SimWorld) -> Sampled:
    while not isinstance(event := simulated.next_event(), Sampled):
        assert event is not None
    return event


def test_a_newer_goal_replaces_the_older_one() -> None:
    simulated = deployed()
    simulated.start([Host(N2, A, None, 1)])
    event = after(simulated, Host(N2, A, Role.TRANSIENT, 1), NodeObserved)
    assert event.condition is Condition.SERVING
    assert answer(simulated) is None


def test_the_timer_goes_off_once_at_the_latest_time_that_was_set() -> None:
    simulated = world()
    for at_s in (50, 20, 50, 30):
        simulated.start([WakeAt(at_s * SECOND_US)])
    assert answer(simulated) == Woke(at_us=30 * SECOND_US)
    assert answer(simulated) is None


GOALS: dict[str, Effect] = {
    "deploy": Deploy(A, 1, ClusterSpec(id=A, min_nodes=1), FIRST, N1),
    "load": Load(A, 2),
    "join": Host(N2, A, Role.TRANSIENT, 1),
    "clean": Host(N2, A, None, 1),
    "membership": Membership(A, 3, {}),
    "job": job(),
}


def joined_s(simulated: SimWorld) -> list[float]:
    """When nodes served, in the order of it."""
    times = []
    while (event := simulated.next_event()) is not None:
        for news in news_of(event):
            if isinstance(news, NodeObserved) and news.condition is Condition.SERVING:
                times.append(news.at_us / SECOND_US)
    return times


@pytest.mark.parametrize("engine", ["readable", "compiled"])
@pytest.mark.parametrize(
    ("join_cpu_s", "shared", "nodes", "expected"),
    [
        (0, True, 2, [16, 16]),  # after 12 s of deployment
        (8, True, 1, [16]),  # two threads on two cores; a deployment that is alone takes its 12 s
        (8, True, 2, [20, 20]),
        (8, False, 2, [16, 16]),  # each has cores of its own
    ],
)
def test_nodes_that_come_to_shared_cores_take_their_part_of_them(
    engine: Engine, join_cpu_s: int, shared: bool, nodes: int, expected: list[float]
) -> None:
    of = replace(PLAIN, cores=2.0, shared_cores=shared, join_cpu_us=join_cpu_s * SECOND_US)
    simulated = SimWorld(until_us=1000 * SECOND_US, constants=of, engine=engine)
    deploy(simulated)
    simulated.start([Host(NodeId(f"n{number + 2}"), A, Role.TRANSIENT, 1) for number in range(nodes)])
    assert joined_s(simulated) == expected


@pytest.mark.parametrize("engine", ["readable", "compiled"])
def test_a_node_that_is_called_off_while_it_comes_serves_nobody(engine: Engine) -> None:
    of = replace(PLAIN, cores=2.0, shared_cores=True, join_cpu_us=8 * SECOND_US)
    simulated = SimWorld(until_us=1000 * SECOND_US, constants=of, engine=engine)
    deploy(simulated)
    simulated.start([Host(N2, A, Role.TRANSIENT, 1)])
    simulated.start([Host(N2, A, None, 2)])
    assert joined_s(simulated) == []


@pytest.mark.parametrize("kind", sorted(GOALS))
def test_a_fault_is_an_answer_and_silence_is_none(kind: str) -> None:
    for fault in ("it broke", ""):
        simulated = world() if kind == "deploy" else deployed()
        simulated.faults = Mishaps({kind: [fault]})
        simulated.start([GOALS[kind]])
        event = answer(simulated)
        if not fault:
            assert event is None
        else:
            assert isinstance(event, (Failed, NodeObserved, AttemptSeen))
            error = event.error if not isinstance(event, AttemptSeen) else event.seen.words
            assert error == fault


def test_an_attempt_runs_once_however_often_it_is_asked_for() -> None:
    simulated = deployed()
    for _ in range(2):
        simulated.start([job()])
        assert verdict(answer(simulated)) == AttemptVerdict(Progress.RUNNING)
    event = heard(simulated, AttemptSeen)
    assert verdict(event) == AttemptVerdict(Progress.SUCCEEDED)
    assert [app.started_us for app in event.seen.applications or ()] == [19 * SECOND_US]
    simulated.start([job()])
    assert answer(simulated) == replace(event, at_us=simulated.now_us)
    assert set(simulated.starts.values()) == {1}


def test_a_job_that_is_cancelled_before_it_began_never_begins() -> None:
    simulated = deployed()
    simulated.start([job()])
    simulated.start([CancelJob(JobId("a-1"), A, 1)])
    assert verdict(answer(simulated)) == AttemptVerdict(Progress.CANCELLED)
    simulated.start([job()])
    assert verdict(answer(simulated)) == AttemptVerdict(Progress.CANCELLED)
    assert not simulated.starts


def test_tasks_of_a_lost_node_run_again_elsewhere() -> None:
    simulated = deployed()
    simulated.start([job(tasks=4)])
    answer(simulated)
    simulated.lose(N2, simulated.now_us + 5 * SECOND_US)
    while simulated.now_us < 25 * SECOND_US:
        reading = last_reading(simulated)
    assert reading.readings[0].tasks_waiting == 2
    assert verdict(answer(simulated)) == AttemptVerdict(Progress.SUCCEEDED)
    assert simulated.clusters[A].tasks_done == 4


def test_masters_notice_a_dead_node_only_when_its_heartbeats_have_failed_to_come() -> None:
    simulated = deployed()
    lost_us = simulated.now_us + 5 * SECOND_US
    simulated.lose(N2, lost_us)
    event = heard(simulated, NodeSeen)
    assert (event.node, event.generation, event.at_us) == (N2, 1, lost_us + simulated.delays.detect_us)
    assert (event.sight.compute, event.sight.stored) == (Compute.LOST, Stored.DEAD)
    assert event.sight.asked_us == event.at_us


def test_a_node_that_restarts_before_its_masters_miss_it_says_so_itself() -> None:
    simulated = deployed()
    simulated.lose(N2, simulated.now_us, simulated.now_us + 5 * SECOND_US)
    back = heard(simulated, NodeSeen)
    assert (back.sight.stored, back.sight.gone) == (Stored.IN_SERVICE, ("datanode", "nodemanager"))
    event = after(simulated, Host(N2, A, Role.TRANSIENT, 1), NodeObserved)
    assert event.condition is Condition.SERVING
    assert answer(simulated) is None


def test_masters_without_power_are_silent_at_once_and_notice_nobody_until_they_are_back() -> None:
    simulated = deployed()
    simulated.lose(N1, simulated.now_us, simulated.now_us + 90 * SECOND_US)
    simulated.lose(N2, simulated.now_us + SECOND_US)
    lost_us = simulated.now_us
    why = "its masters do not answer"
    assert answer(simulated) == MastersSeen(at_us=lost_us, cluster=A, error=why, silent="namenode")
    assert last_reading(simulated).readings[0].error == why
    simulated.start([WakeAt(lost_us + 100 * SECOND_US)])
    gone = ("namenode", "resourcemanager")
    back_us = lost_us + 90 * SECOND_US
    assert answer(simulated) == MastersSeen(at_us=back_us, cluster=A, error=why, silent="namenode", gone=gone)
    heard(simulated, Woke)
    after(simulated, Host(N1, A, Role.CORE, 1), NodeObserved)
    assert answer(simulated) == MastersSeen(at_us=simulated.now_us, cluster=A)
    event = heard(simulated, NodeSeen)
    assert (event.node, event.sight.stored) == (N2, Stored.DEAD)


def test_a_node_without_power_answers_nobody_until_it_is_back() -> None:
    simulated = deployed()
    simulated.lose(N2, simulated.now_us, simulated.now_us + 60 * SECOND_US)
    for role in (None, Role.TRANSIENT):
        event = after(simulated, Host(N2, A, role, 1), NodeObserved)
        assert (event.condition, event.error) == (Condition.FAILED, "no answer")
    simulated.start([Membership(A, 2, {n: Member(Goal.SERVING, Role.CORE, 1) for n in (N1, N2)})])
    answer(simulated)
    assert set(simulated.clusters[A].nodes) == {N1}
    while simulated.now_us < 80 * SECOND_US:
        simulated.next_event()
    event = after(simulated, Host(N2, A, Role.TRANSIENT, 1), NodeObserved)
    assert event.condition is Condition.SERVING


def test_a_free_node_that_lost_its_power_is_seen_when_a_cluster_gets_it() -> None:
    simulated = world()
    simulated.lose(N1, 0)
    members = {node: Member(Goal.SERVING, Role.CORE, 1) for node in (N1, N2)}
    deploy(simulated, members, N2)
    event = heard(simulated, NodeSeen)
    assert (event.node, event.sight.compute, event.sight.stored) == (N1, Compute.LOST, Stored.DEAD)
    assert set(simulated.clusters[A].nodes) == {N2}


def test_a_node_that_leaves_is_empty_when_hdfs_looks() -> None:
    simulated = SimWorld(until_us=1000 * SECOND_US, constants=replace(DAS4, job_begin_us=0))
    members = {node: Member(Goal.SERVING, Role.TRANSIENT_CORE, 1) for node in (N1, N2)}
    members[N1] = Member(Goal.SERVING, Role.CORE, 1)
    deploy(simulated, members)
    cluster = simulated.clusters[A]
    assert isinstance(cluster, SimCluster)
    cluster.stored[N2] = 10**9
    simulated.start([Membership(A, 2, {**members, N2: Member(Goal.EVACUATING, Role.TRANSIENT_CORE, 1)})])
    answer(simulated)
    event = heard(simulated, NodeSeen)
    # Copied at about 24 s: deployed at 12 s, 1 GB at 90 MB/s.
    assert (event.sight.stored, simulated.now_us) == (Stored.LEFT, 30 * SECOND_US)
    assert unsafe(event.sight.blocks, Proof(()), since_us=24 * SECOND_US) == ""


def test_a_node_with_data_computes_no_more_when_its_time_to_drain_is_over() -> None:
    """Its NodeManager has left: what still ran there runs again elsewhere, however long its blocks take."""
    simulated = world()
    members = {node: Member(Goal.SERVING, Role.CORE, 1) for node in (N1, N2)}
    deploy(simulated, members)
    simulated.start([job()])
    assert verdict(answer(simulated)) == AttemptVerdict(Progress.RUNNING)
    cluster = simulated.clusters[A]
    assert cluster.busy_us(N2) > SECOND_US
    after(simulated, Membership(A, 2, {**members, N2: Member(Goal.DRAINING, Role.CORE, 1, leave_us=0)}), Done)
    event = heard(simulated, NodeSeen)
    assert (event.sight.compute, event.sight.stored) == (Compute.LEFT, Stored.IN_SERVICE)
    assert cluster.busy_us(N2) == 0
    assert N2 in cluster.nodes, "its blocks are where they were"


def stored(*, power: bool) -> SimWorld:
    """One MR-cluster without replicas: its transient-core node has the only ones, with or without power."""
    simulated = SimWorld(until_us=1000 * SECOND_US, constants=replace(DAS4, job_begin_us=0))
    members = {N1: Member(Goal.SERVING, Role.CORE, 1), N2: Member(Goal.SERVING, Role.TRANSIENT_CORE, 1)}
    deploy(simulated, members, replication=1)
    cluster = simulated.clusters[A]
    assert isinstance(cluster, SimCluster)
    cluster.stored[N2] = 10**9
    if not power:
        simulated.lose(N2, simulated.now_us, simulated.now_us + 90 * SECOND_US)
        heard(simulated, NodeSeen)
    return simulated


@pytest.mark.parametrize("asked_for", [True, False])
def test_the_only_replicas_die_with_their_node_unless_a_proof_is_asked_for(asked_for: bool) -> None:
    simulated = stored(power=False)
    assert simulated.only_here == {N2: A}
    while simulated.now_us < 120 * SECOND_US:
        simulated.next_event()
    event = after(simulated, Host(N2, A, None, 1, proof=Proof(()) if asked_for else None), NodeObserved)
    if asked_for:
        assert (event.condition, simulated.destroyed) == (Condition.HELD, [])
        assert N2 in event.error
    else:
        assert (event.condition, simulated.destroyed) == (Condition.CLEAN, [N2])


def test_what_only_a_dead_node_has_is_there_again_with_its_daemons() -> None:
    simulated = stored(power=False)
    while simulated.now_us < 120 * SECOND_US:
        simulated.next_event()
    event = after(simulated, Host(N2, A, Role.TRANSIENT_CORE, 1, leaving=True), NodeObserved)
    assert (event.condition, simulated.only_here) == (Condition.SERVING, {})
    assert N2 not in simulated.clusters[A].nodes, "its DataNode alone runs"


def test_a_node_that_is_not_named_is_out() -> None:
    simulated = deployed()
    simulated.start([Membership(A, 2, {N1: Member(Goal.SERVING, Role.CORE, 1)})])
    answer(simulated)
    assert set(simulated.clusters[A].nodes) == {N1}


def test_what_is_stored_of_an_older_hand_over_is_refused() -> None:
    simulated = deployed()
    simulated.start([Host(N2, A, Role.TRANSIENT, 3)])
    answer(simulated)
    event = after(simulated, Host(N2, A, None, 2), NodeObserved)
    assert (event.condition, event.generation) == (Condition.FAILED, 2)


def test_hadoop_goes_on_when_its_controller_is_dead_and_nothing_else_does() -> None:
    simulated = deployed()
    simulated.start([job(1, tasks=4), Load(A, 2), WakeAt(60 * SECOND_US)])
    answer(simulated)
    left = simulated.orphaned(30 * SECOND_US)
    assert left.now_us == simulated.now_us + 30 * SECOND_US
    left.start([job(1, tasks=4)])
    event = answer(left)
    assert verdict(event) == AttemptVerdict(Progress.SUCCEEDED)
    assert isinstance(event, AttemptSeen)
    assert event.seen.ended_us is not None
    assert event.seen.ended_us < left.now_us
    assert answer(left) is None, "what the dead one had asked for is not answered"


def test_users_come_back_after_a_crash() -> None:
    simulated = world()
    simulated.script([Woke(at_us=5 * SECOND_US), Woke(at_us=500 * SECOND_US)])
    left = simulated.orphaned(100 * SECOND_US)
    assert answer(left) == Woke(at_us=100 * SECOND_US)
    assert answer(left) == Woke(at_us=500 * SECOND_US)


def test_a_mr_cluster_is_gone_with_its_last_node_and_a_new_one_has_no_past() -> None:
    simulated = deployed()
    simulated.start([job()])
    answer(simulated)
    for node in (N1, N2):
        simulated.start([Host(node, A, None, 1)])
        answer(simulated)
    assert A not in simulated.clusters
    deploy(simulated, {N1: Member(Goal.SERVING, Role.CORE, 2)})
    assert simulated.clusters[A].tasks_done == 0
    assert not simulated.clusters[A].jobs


def test_a_deployment_that_is_called_off_brings_nothing_up() -> None:
    simulated = world()
    simulated.start([Deploy(A, 1, ClusterSpec(id=A, min_nodes=1), FIRST, N1)])
    simulated.start([Retire(A, 2), Host(N1, A, None, 1)])
    assert answer(simulated) == Done(at_us=750_000, effect="cluster:a", version=2)
    event = heard(simulated, NodeObserved)
    assert (event.node, event.condition) == (N1, Condition.CLEAN)
    assert answer(simulated) is None
    assert (simulated.clusters, simulated.hosts) == ({}, {})


@pytest.mark.parametrize("engine", ["readable", pytest.param("compiled", marks=pytest.mark.slow)])
def test_a_load_that_is_called_off_leaves_the_storage_to_others(engine: Engine) -> None:
    """Two loads at once, one of which is given up in the middle: the other is done as if it were alone."""
    simulated = SimWorld(until_us=1000 * SECOND_US, constants=DAS4, engine=engine)
    details = {"data": [{"size_bytes": 10**10}]}
    names = {A: N1, ClusterId("b"): N2}
    for name, node in names.items():
        spec = ClusterSpec(id=name, min_nodes=1, replication=1, details=details)
        simulated.start([Deploy(name, 1, spec, {node: Member(Goal.SERVING, Role.CORE, 1)}, node)])
        answer(simulated)
    simulated.start([Load(name, 2) for name in names])
    after(simulated, WakeAt(simulated.now_us + SECOND_US), Woke)
    simulated.start([Retire(A, 3), Host(N1, A, None, 1)])
    stopped, event = answer(simulated), answer(simulated)
    assert isinstance(stopped, Done)
    assert (stopped.effect, stopped.version) == ("cluster:a", 3)
    assert isinstance(event, NodeObserved)
    assert event.condition is Condition.CLEAN
    assert set(simulated.clusters) == {"b"}
    done = heard(simulated, Done)
    assert done.effect == "cluster:b"
    assert answer(simulated) is None


@pytest.mark.parametrize("engine", ["readable", "compiled"])
def test_a_deployment_takes_its_part_of_shared_cores(engine: Engine) -> None:
    of = replace(PLAIN, cores=2.0, shared_cores=True, join_cpu_us=8 * SECOND_US)
    simulated = SimWorld(until_us=1000 * SECOND_US, constants=of, engine=engine)
    specs = [ClusterSpec(id=name, min_nodes=1) for name in (A, ClusterId("b"))]
    nodes = (N1, NodeId("n9"))
    simulated.start(
        [
            Deploy(spec.id, 1, spec, {node: Member(Goal.SERVING, Role.CORE, 1)}, node)
            for spec, node in zip(specs, nodes, strict=True)
        ]
    )
    done = [answer(simulated), answer(simulated)]
    # Either would take 12 s alone, with both cores.
    assert [event.at_us / SECOND_US for event in done if event is not None] == [24, 24]
