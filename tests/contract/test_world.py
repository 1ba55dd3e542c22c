"""Promises of both worlds (fawkes.engine.ports.World), by the same cases: in memory, and on real Hadoop over real SSH.

The cases of one world share an MR-cluster `c` that has `node01` for its core. Each node goes through its hand-overs
with generations of its own, as the core would count them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from fawkes.base.units import SECOND_US
from fawkes.config.clusters.details import ClusterDetails, DataSet, JobDetails
from fawkes.config.jobs.jobs import job_of
from fawkes.core.jobs.attempts import AttemptVerdict, judge
from fawkes.core.values import events
from fawkes.core.values.effects import (
    AwaitRoom,
    CancelJob,
    ClearSaved,
    CountWork,
    Deploy,
    Effect,
    Goal,
    Host,
    Load,
    Member,
    Membership,
    Retire,
    StartJob,
    WakeAt,
)
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec, NodeId, Role
from fawkes.core.values.proof import Proof, unsafe
from fawkes.core.values.sight import Compute, Stored
from fawkes.engine.ports import World
from fawkes.live.lab import LabSpec, up
from fawkes.sim.world import SimWorld
from tests.support.far_world import FarWorld

LIMIT_S = 300.0
C = ClusterId("c")
#: an MR-cluster that somebody gives back before it works
D = ClusterId("d")
INPUT_BYTES = 1 << 30
CORE = NodeId("node01")
#: nobody can reach it in either world
DEAD = NodeId("node04")
SETTINGS = """
preset = "demo"
[ssh]
connect_timeout = "5s"
"""

E = TypeVar("E", bound=events.Event)


class Bench:
    """A world, what was heard of it, and how many hand-overs and documents there were."""

    def __init__(self, world: World, details: ClusterDetails, storage: Path) -> None:
        self.world = world
        self.details = details
        self.storage = storage
        self.heard: list[events.Event] = []
        self.versions = count(1)
        self.generations = {NodeId(f"node{i:02d}"): count(1) for i in range(1, 5)}
        self.members = {CORE: Member(Goal.SERVING, Role.CORE, next(self.generations[CORE]))}
        spec = ClusterSpec(id=C, min_nodes=1, replication=1, details=details.plain())
        self.deploy = Deploy(C, next(self.versions), spec, dict(self.members), CORE)

    def start(self, *effects: Effect) -> int:
        """Begin; how many events were heard before."""
        self.world.start(effects)
        return len(self.heard)

    def first(self, which: Callable[[events.Event], bool], *, after: int) -> events.Event:
        """The first event that fits, of those heard after the first ``after``."""
        for heard in self.heard[after:]:
            if which(heard):
                return heard
        limit = time.monotonic() + LIMIT_S
        while (event := self.world.next_event()) is not None:
            news = events.news_of(event)
            self.heard += news
            for heard in filter(which, news):
                return heard
            assert time.monotonic() < limit, [e for e in self.heard[after:] if not isinstance(e, events.Sampled)]
        raise AssertionError(f"the world ended: {self.heard}")

    def hear(self, kind: type[E], which: Callable[[E], bool], *, after: int) -> E:
        """The first event of a kind that fits."""
        event = self.first(lambda e: isinstance(e, kind) and which(e), after=after)
        assert isinstance(event, kind)
        return event

    def membership(self, **changes: Member | None) -> Membership:
        """The next document: as before, with these members changed (None: out)."""
        for name, member in changes.items():
            self.members.pop(NodeId(name), None)
            if member is not None:
                self.members[NodeId(name)] = member
        return Membership(C, next(self.versions), dict(self.members))

    def seen(self, effect: Host, condition: events.Condition, *, after: int) -> events.NodeObserved:
        """Facts about the node of a goal."""
        return self.hear(
            events.NodeObserved,
            lambda e: (e.node, e.generation, e.condition) == (effect.node, effect.generation, condition),
            after=after,
        )

    def wait(self, seconds: float) -> None:
        """Let time pass, and hear what happens meanwhile."""
        wake = WakeAt(self.heard[-1].at_us + round(seconds * SECOND_US))
        after = self.start(wake)
        self.hear(events.Woke, lambda e: e.at_us >= wake.at_us, after=after)

    def done(self, effect: Deploy | Membership | Load | Retire, *, after: int) -> events.Done:
        """That a goal of the MR-cluster was reached."""
        ended = self.first(
            lambda e: (
                isinstance(e, (events.Done, events.Failed)) and (e.effect, e.version) == (effect.key, effect.version)
            ),
            after=after,
        )
        assert isinstance(ended, events.Done), ended
        return ended


def faults(kind: str, name: str) -> str | None:
    """The dead node of the simulated world."""
    return "no answer" if name == DEAD else None


def simulated() -> Bench:
    return Bench(SimWorld(until_us=10**12, faults=faults), ClusterDetails(), Path("/storage"))


#: for what `tests/e2e` shows of the live world in `make test` as well
live_by_night = pytest.mark.parametrize(
    "bench",
    ["sim", pytest.param("live", marks=[pytest.mark.hadoop, pytest.mark.nightly])],
    indirect=True,
    scope="module",
)


@pytest.fixture(scope="module", params=["sim", pytest.param("live", marks=pytest.mark.hadoop)])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    if request.param == "sim":
        yield simulated()
        return
    site = tmp_path_factory.mktemp("contract") / "lab"
    with up(LabSpec(hosts=4, site=site, nodemanager_memory_bytes=1_000_000_000)) as lab:
        (site / "fawkes.toml").write_text(SETTINGS)
        lab.kill(DEAD)
        world = FarWorld(lab, LIMIT_S)
        try:
            yield Bench(world, ClusterDetails(hadoop_version="3.5.0", block_size_bytes=1 << 20), sparse(site / "in"))
        finally:
            world.close()


def sparse(folder: Path) -> Path:
    """A folder with a file that takes a while to load."""
    folder.mkdir()
    with (folder / "zeros").open("wb") as file:
        file.truncate(INPUT_BYTES)
    return folder


@pytest.fixture(scope="module")
def cluster(bench: Bench) -> Bench:
    """The bench with its MR-cluster deployed, its data loaded."""
    bench.done(bench.deploy, after=bench.start(bench.deploy))
    load = Load(C, next(bench.versions))
    bench.done(load, after=bench.start(load))
    return bench


def serve(bench: Bench, node: str, role: Role = Role.TRANSIENT) -> Host:
    """Hand a node over, and see it serve."""
    goal = Host(NodeId(node), C, role, next(bench.generations[NodeId(node)]))
    document = bench.membership(**{node: Member(Goal.SERVING, role, goal.generation)})
    after = bench.start(document, goal)
    bench.done(document, after=after)
    bench.seen(goal, events.Condition.SERVING, after=after)
    return goal


def wipe(bench: Bench, goal: Host) -> Host:
    """Take a node back, and see it clean."""
    clean = Host(goal.node, C, None, goal.generation)
    after = bench.start(bench.membership(**{goal.node: None}), clean)
    bench.seen(clean, events.Condition.CLEAN, after=after)
    return clean


def leave(bench: Bench, goal: Host, wish: Goal) -> events.NodeSeen:
    """Tell the masters that a node leaves, and hear facts by which the core would judge that it is through."""
    assert goal.role is not None
    document = bench.membership(**{goal.node: Member(wish, goal.role, goal.generation)})
    since_us = bench.heard[-1].at_us
    after = bench.start(document)
    bench.done(document, after=after)
    return bench.hear(
        events.NodeSeen,
        lambda e: (e.cluster, e.node, e.generation) == (C, goal.node, goal.generation) and left(e, wish, since_us),
        after=after,
    )


def left(event: events.NodeSeen, wish: Goal, since_us: int) -> bool:
    """True if a node that was told to leave after ``since_us`` has stopped to compute, or keeps nothing of its own."""
    sight = event.sight
    if wish is Goal.DRAINING:
        return sight.compute in (Compute.LEFT, Compute.LOST)
    # Nothing was missing before, so nothing may be missing now.
    return sight.stored is Stored.LEFT and not unsafe(sight.blocks, Proof(()), since_us=since_us)


def test_a_deployment_begun_again_is_confirmed_again(cluster: Bench) -> None:
    after = cluster.start(cluster.deploy)
    cluster.done(cluster.deploy, after=after)


@live_by_night
def test_a_transient_node_serves_drains_and_is_clean(cluster: Bench) -> None:
    goal = serve(cluster, "node02")
    leave(cluster, goal, Goal.DRAINING)
    wipe(cluster, goal)


@live_by_night
@pytest.mark.parametrize("role", [Role.TRANSIENT_CORE, Role.CORE])
def test_a_node_that_stores_gives_its_blocks_away_before_it_is_clean(cluster: Bench, role: Role) -> None:
    goal = serve(cluster, "node03", role)
    leave(cluster, goal, Goal.DRAINING)
    leave(cluster, goal, Goal.EVACUATING)
    wipe(cluster, goal)


def test_how_a_leaving_node_stands_is_told_as_often_as_wanted_and_a_proof_is_asked_for_right_before_it_is_wiped(
    cluster: Bench,
) -> None:
    """A new controller starts the effects under way once more, and knows what was told before they ended or not."""
    goal = serve(cluster, "node03", Role.TRANSIENT_CORE)
    for wish in (Goal.DRAINING, Goal.EVACUATING):
        leave(cluster, goal, wish)
        leave(cluster, goal, wish)
    clean = replace(goal, role=None, proof=Proof(()))
    after = cluster.start(clean)
    cluster.seen(clean, events.Condition.CLEAN, after=after)
    document = cluster.membership(node03=None)
    cluster.done(document, after=cluster.start(document))


def test_facts_about_a_node_are_as_young_as_they_say(cluster: Bench) -> None:
    facts = [e for e in cluster.heard if isinstance(e, events.NodeSeen)]
    assert facts
    for event in facts:
        asked_us = [event.sight.asked_us, *([event.sight.blocks.asked_us] if event.sight.blocks else [])]
        assert max(asked_us) <= event.at_us, event


@pytest.fixture(scope="module")
def served(cluster: Bench) -> Host:
    """The goal of a node that serves, by its second hand-over or a later one."""
    next(cluster.generations[NodeId("node02")])
    return serve(cluster, "node02")


def test_a_node_that_was_leaving_stays_when_that_is_the_newer_goal(cluster: Bench, served: Host) -> None:
    goal = served
    leaving = cluster.membership(node02=Member(Goal.DRAINING, Role.TRANSIENT, goal.generation, 0))
    staying = cluster.membership(node02=Member(Goal.SERVING, Role.TRANSIENT, goal.generation))
    after = cluster.start(leaving, staying, goal)
    cluster.done(staying, after=after)
    cluster.seen(goal, events.Condition.SERVING, after=after)


def test_a_newer_goal_replaces_the_older(cluster: Bench) -> None:
    generation = next(cluster.generations[NodeId("node03")])
    # It can never serve: no document names it. Only the newer goal ends.
    hopeless = Host(NodeId("node03"), C, Role.TRANSIENT, generation)
    clean = Host(NodeId("node03"), C, None, generation)
    after = cluster.start(hopeless, clean)
    cluster.seen(clean, events.Condition.CLEAN, after=after)
    cluster.wait(1)
    seen = [e for e in cluster.heard[after:] if isinstance(e, events.NodeObserved) and e.node == "node03"]
    assert events.Condition.SERVING not in {e.condition for e in seen}


def test_a_goal_of_an_older_hand_over_is_refused(cluster: Bench, served: Host) -> None:
    old = replace(served, role=None, generation=served.generation - 1)
    assert cluster.seen(old, events.Condition.FAILED, after=cluster.start(old)).error
    # It went on serving all the same.
    cluster.seen(served, events.Condition.SERVING, after=cluster.start(served))


def test_what_is_so_already_is_confirmed_again(cluster: Bench, served: Host) -> None:
    cluster.seen(served, events.Condition.SERVING, after=cluster.start(served))
    document = cluster.membership()
    cluster.done(document, after=cluster.start(document))
    cluster.done(document, after=cluster.start(document))
    clean = wipe(cluster, served)
    cluster.seen(clean, events.Condition.CLEAN, after=cluster.start(clean))


def test_a_host_that_does_not_answer_is_a_failure_with_a_reason(cluster: Bench) -> None:
    clean = Host(DEAD, C, None, next(cluster.generations[DEAD]))
    assert cluster.seen(clean, events.Condition.FAILED, after=cluster.start(clean)).error


def test_a_stage_of_a_cluster_that_is_not_there_fails(cluster: Bench) -> None:
    nobody = Membership(ClusterId("nobody"), 1, {})
    after = cluster.start(nobody)
    failed = cluster.hear(events.Failed, lambda e: e.effect == nobody.key, after=after)
    assert (failed.version, bool(failed.error), failed.final) == (1, True, False)


def called_off(bench: Bench, goal: Host, stage: Deploy | Load, *, after: int) -> None:
    """The stage ends unreached, its node is wiped, and somebody else can have it."""
    stop, clean = Retire(D, next(bench.versions)), Host(goal.node, D, None, goal.generation)
    bench.start(stop, clean)
    bench.done(stop, after=after)
    bench.seen(clean, events.Condition.CLEAN, after=after)
    # A daemon that was started after the wipe would have its ports.
    wipe(bench, serve(bench, goal.node))
    assert [e for e in bench.heard[after:] if isinstance(e, events.Done) and e.version == stage.version] == []


def newcomer(bench: Bench) -> tuple[Host, Deploy]:
    """The goals of a second MR-cluster, with an input of its own."""
    goal = Host(NodeId("node02"), D, Role.CORE, next(bench.generations[NodeId("node02")]))
    details = replace(bench.details, data=(DataSet(source=str(bench.storage), to="/in"),))
    spec = ClusterSpec(id=D, min_nodes=1, replication=1, details=details.plain())
    members = {goal.node: Member(Goal.SERVING, Role.CORE, goal.generation)}
    return goal, Deploy(D, next(bench.versions), spec, members, goal.node)


#: a deployment is called off once, in `make drills` at its beginning and at its end as well
MOMENTS_S = [3, *(pytest.param(after_s, marks=pytest.mark.drill) for after_s in (0, 1, 7))]


@live_by_night
@pytest.mark.parametrize("after_s", MOMENTS_S)
def test_a_deployment_that_is_called_off_leaves_nothing(cluster: Bench, after_s: int) -> None:
    goal, deploy = newcomer(cluster)
    after = cluster.start(deploy)
    if after_s:
        cluster.wait(after_s)
    called_off(cluster, goal, deploy, after=after)


@live_by_night
def test_a_load_that_is_called_off_leaves_nothing(cluster: Bench) -> None:
    goal, deploy = newcomer(cluster)
    cluster.done(deploy, after=cluster.start(deploy))
    load = Load(D, next(cluster.versions))
    after = cluster.start(load)
    cluster.wait(1)
    called_off(cluster, goal, load, after=after)


def job(name: str, seconds: int, attempt: int = 1) -> StartJob:
    """A job; the simulated world gives all jobs the same time."""
    details = JobDetails(kind="script", command=f"sleep {seconds}").plain()
    spec = JobSpec(id=JobId(name), cluster=C, tasks=1, details=details)
    return StartJob(spec.id, C, attempt, spec)


def verdict(event: events.AttemptSeen) -> AttemptVerdict | None:
    """The core's verdict on the facts about an attempt that was just handed over."""
    return judge(event.seen, began=False, cancelling=False, lasted=False)


def over(event: events.AttemptSeen) -> bool:
    found = verdict(event)
    return found is not None and found.progress is not events.Progress.RUNNING


def ended(bench: Bench, effect: StartJob | CancelJob, *, after: int) -> tuple[events.Progress, int | None]:
    """How an attempt ended, and when by its launcher."""
    event = bench.hear(
        events.AttemptSeen, lambda e: (e.job, e.attempt) == (effect.job, effect.attempt) and over(e), after=after
    )
    found = verdict(event)
    assert found is not None
    return found.progress, event.seen.ended_us


@live_by_night
def test_a_job_runs_to_its_end_once(cluster: Bench) -> None:
    effect = job("once", 1)
    after = cluster.start(effect)
    first = ended(cluster, effect, after=after)
    assert first[0] is events.Progress.SUCCEEDED
    assert ended(cluster, effect, after=cluster.start(effect)) == first


@live_by_night
def test_the_work_of_a_job_is_counted_when_it_has_ended(cluster: Bench) -> None:
    table = {"id": "slept", "kind": "sleep", "maps": 2, "map_time": "2s", "reduces": 0}
    spec = job_of(table, cluster=C, file="slept.toml", folder=Path())
    effect = StartJob(spec.id, C, 1, spec, granted=1)
    event = cluster.hear(events.AttemptSeen, lambda e: e.job == spec.id and over(e), after=cluster.start(effect))
    application = event.seen.applications[0].id if event.seen.applications else ""
    count = CountWork(spec.id, C, 1, application, {})
    for _ in range(2):
        # The JobHistory server hears of an MR-job a moment after its end.
        answer = answered(cluster, count)
        while isinstance(answer, events.Failed) and not answer.final:
            cluster.wait(1)
            answer = answered(cluster, count)
        assert isinstance(answer, events.Done), answer
        work_us = answer.facts["work_us"]
        assert isinstance(work_us, int)
        assert 4 * SECOND_US <= work_us < 400 * SECOND_US


def answered(bench: Bench, effect: CountWork | AwaitRoom | ClearSaved) -> events.Done | events.Failed:
    """The answer to a question about the jobs of an MR-cluster."""
    version = effect.attempt if isinstance(effect, CountWork) else effect.version
    found = bench.first(
        lambda e: isinstance(e, (events.Done, events.Failed)) and (e.effect, e.version) == (effect.key, version),
        after=bench.start(effect),
    )
    assert isinstance(found, (events.Done, events.Failed))
    return found


def test_the_work_of_a_job_that_nobody_knows_is_a_failure_with_a_reason(cluster: Bench) -> None:
    answer = answered(cluster, CountWork(JobId("nobody"), C, 1, "application_1_1", {}))
    assert isinstance(answer, events.Failed)
    assert answer.error


def test_what_tasks_have_saved_is_gone_when_it_is_asked_for_as_often_as_wanted(cluster: Bench) -> None:
    table = {"id": "saves", "kind": "tasks", "tasks": 1, "memory": "1MiB", "output": "/out/{id}", "command": ":"}
    spec = job_of({**table, "checkpoint": "own"}, cluster=C, file="saves.toml", folder=Path())
    for _ in range(2):
        assert isinstance(answered(cluster, ClearSaved(spec.id, C, 1, spec, 0)), events.Done)


def test_room_is_found_where_nothing_waits_and_there_is_none_in_an_mr_cluster_that_is_not_there(cluster: Bench) -> None:
    assert isinstance(answered(cluster, AwaitRoom(C, 1, SECOND_US)), events.Done)
    assert isinstance(answered(cluster, AwaitRoom(ClusterId("nobody"), 1, SECOND_US)), events.Failed)


def test_a_job_that_is_cancelled_ends_so(cluster: Bench) -> None:
    effect = job("cancelled", 1000)
    cluster.start(effect)
    cluster.wait(5)
    cancel = CancelJob(effect.job, C, 1)
    after = cluster.start(cancel)
    assert ended(cluster, cancel, after=after)[0] is events.Progress.CANCELLED


def test_times_never_run_backwards(cluster: Bench) -> None:
    times = [event.at_us for event in cluster.heard]
    assert len(times) > 1
    assert times == sorted(times)
