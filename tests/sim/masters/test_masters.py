"""Masters of simulated MR-clusters that die: what stands still, who takes over, what is lost, in both models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.decision import PutJob
from fawkes.core.values.events import Condition, Event, MastersSeen, MoveMastersAsked, NodeObserved, Sampled
from fawkes.core.values.model import ClusterId, ClusterState, JobLife, NodeId, NodeLife, Promise
from fawkes.core.values.settings import Settings
from fawkes.sim.engines import Engine
from fawkes.sim.events.steps import Faults, Loss, no_faults
from fawkes.sim.world import SimWorld
from fawkes.store.record import text_of
from tests.support.pools import Checked, request, settings, started, submit

A = ClusterId("a")
MASTER, SECOND = NodeId("node01"), NodeId("node02")
LOST_S = 60.3
both = pytest.mark.parametrize("engine", ["readable", "compiled"])


def how(**changes: object) -> Settings:
    """Silent for 30 s, then waited for during 20 s."""
    patient = {"masters_lost_us": 20 * SECOND_US, "copy_gap_us": 60 * SECOND_US, "spare_masters": True}
    return settings(**{**patient, **changes})


def played(
    *losses: Loss,
    events: tuple[Event, ...] = (),
    engine: Engine = "readable",
    until_s: int = 900,
    minimum: int = 3,
    tasks: int = 12,
    count: int | None = None,
    faults: Faults = no_faults,
    masters: Promise = Promise.KEPT,
    **changes: object,
) -> Checked:
    """One MR-cluster on all nodes but one as core nodes, with four jobs: two run when its masters are lost."""
    world = SimWorld(until_us=until_s * SECOND_US, engine=engine, keep_events=True, faults=faults)
    jobs = [submit("a", number, 20, tasks=tasks, task_s=30) for number in range(4)]
    asked = request("a", 1, minimum=minimum, masters=masters)
    world.script([started(count or minimum + 1, how=how(**changes)), asked, *jobs, *events])
    for loss in losses:
        world.suffer(loss)
    run = Checked(world)
    run.run()
    return run


def move_at(at_s: int, to: NodeId | None = None, *, now: bool = True) -> MoveMastersAsked:
    """Somebody wants the masters elsewhere."""
    return MoveMastersAsked(at_us=at_s * SECOND_US, cluster=A, to=to, by="test", now=now, ask="move")


def same_ledgers(play: Callable[[Engine], Checked]) -> None:
    """Both models write the same ledger, and their tasks begin and end alike."""
    first, second = play("readable"), play("compiled")
    assert _rows(first) == _rows(second)
    assert first.world.task_events() == second.world.task_events()


def _rows(run: Checked) -> list[tuple[int, str, str]]:
    return [(e.event.at_us, type(e.event).__name__, text_of(e.decision)) for e in run.store.entries()]


def lost(back_s: float | None = None, *, emptied: bool = False) -> Loss:
    back_us = None if back_s is None else round(back_s * SECOND_US)
    return Loss(NodeId(""), round(LOST_S * SECOND_US), back_us, masters_of=A, emptied=emptied)


def ends(run: Checked) -> dict[str, list[JobLife]]:
    """Every end of each job, as the ledger has it."""
    found: dict[str, list[JobLife]] = {}
    for entry in run.store.entries():
        for change in entry.decision.changes:
            if isinstance(change, PutJob) and change.state.finished_us is not None:
                found.setdefault(change.state.id, []).append(change.state.life)
    return found


def succeeded_once(run: Checked) -> None:
    """Conservation: each job has one good end, for the ledger as well as for YARN; no attempt was begun twice."""
    assert {job: lives[0] for job, lives in ends(run).items()} == {f"a-{n}": JobLife.SUCCEEDED for n in range(4)}
    good = Counter(job for job, attempt in run.world.clusters[A].ended if _good(run, job, attempt))
    assert good == Counter({f"a-{n}": 1 for n in range(4)})
    assert run.world.masters.reading(A, None).jobs_done == 4
    assert set(run.world.starts.values()) == {1}


def _good(run: Checked, job: str, attempt: int) -> bool:
    return run.world.clusters[A].ended[job, attempt].progress == "succeeded"  # type: ignore[index]


def cluster(run: Checked) -> ClusterState:
    return run.state.clusters[A]


@both
def test_others_take_over_from_the_copy_and_every_job_succeeds_once(engine: Engine) -> None:
    run = played(lost(), engine=engine)
    [(at_s, moved)] = run.reasons("masters-moved")
    assert (moved["node"], moved["instead_of"]) == (SECOND, MASTER)
    # 30 s of silence, 20 s of patience, a look and the move.
    assert at_s == pytest.approx(LOST_S + 30 + 20 + 0.75 + 15)
    assert moved["took_us"] == round((at_s - LOST_S) * SECOND_US)
    assert moved["lacks_us"] == round((LOST_S % 2) * SECOND_US)
    assert {facts["job"] for _, facts in run.reasons("displaced")} == {"a-0", "a-1"}
    assert cluster(run).master == SECOND
    succeeded_once(run)


def test_nothing_begins_while_masters_are_away_and_what_runs_ends_with_the_move() -> None:
    run = played(lost())
    [(moved_s, _)] = run.reasons("masters-moved")
    begun_us = (moved_s - 15) * SECOND_US
    away = [e for e in run.world.task_events() if LOST_S * SECOND_US < e.at_us < moved_s * SECOND_US]
    assert {event.what for event in away} <= {"done", "killed"}
    assert max(event.at_us for event in away) <= begun_us
    dark = [
        e.event for e in run.store.entries() if isinstance(e.event, Sampled) and LOST_S < e.event.at_us / 1e6 < moved_s
    ]
    assert dark
    assert all(reading.error for event in dark for reading in event.readings)


@both
def test_a_job_that_ended_while_nobody_could_take_its_output_begins_again(engine: Engine) -> None:
    """Its tasks were over within the silence, and it counts as done by its later attempt alone."""
    run = played(lost(), engine=engine, tasks=4)
    assert run.world.masters.void
    succeeded_once(run)


@both
def test_a_node_that_comes_back_in_time_brings_its_masters_back(engine: Engine) -> None:
    run = played(lost(back_s=LOST_S + 35), engine=engine)
    assert not run.reasons("masters-moved")
    assert not run.reasons("displaced")
    assert cluster(run).master == MASTER
    succeeded_once(run)


def test_masters_whose_disk_is_there_are_moved_without_a_loss() -> None:
    """The node has power again, but its daemons are not started: the look finds them stopped."""

    def refuses(kind: str, name: str) -> str | None:
        return "its daemons do not start" if (kind, name) == ("join", MASTER) else None

    world = SimWorld(until_us=400 * SECOND_US, faults=refuses)
    world.script([started(4, how=how()), request("a", 1, minimum=3), submit("a", 0, 20, tasks=12, task_s=30)])
    world.suffer(lost(back_s=LOST_S + 5))
    run = Checked(world)
    run.run()
    [(_, moved)] = run.reasons("masters-moved")
    [(_, begun)] = run.reasons("masters-move")
    assert (begun["seen"], moved["lacks_us"]) == ("stopped", 0)


def test_an_emptied_disk_is_found_at_the_restart_and_others_take_over_at_once() -> None:
    run = played(lost(back_s=LOST_S + 35, emptied=True), masters_lost_us=600 * SECOND_US)
    failed = [
        e.event for e in run.store.entries() if isinstance(e.event, NodeObserved) and e.event.facts.get("no_image")
    ]
    assert failed[0].condition is Condition.FAILED
    [(at_s, moved)] = run.reasons("masters-moved")
    assert at_s < LOST_S + 35 + 60
    assert moved["lacks_us"] == round((LOST_S % 2) * SECOND_US)
    assert run.state.nodes[MASTER].life is NodeLife.SERVING
    succeeded_once(run)


def test_under_replication_1_the_files_of_the_lost_node_are_missing() -> None:
    from fawkes.sim.hadoop.cluster import SimCluster

    world = SimWorld(until_us=400 * SECOND_US)
    world.script([started(4, how=how()), request("a", 1, minimum=3)])
    world.suffer(lost())
    run = Checked(world)
    while world.now_us < 50 * SECOND_US:
        run.step(world.next_event())  # type: ignore[arg-type]
    found = world.clusters[A]
    assert isinstance(found, SimCluster)
    found.stored[MASTER] = 10**9
    run.run()
    [(_, moved)] = run.reasons("masters-moved")
    assert (moved["missing"], moved["missing_files"]) == ([f"/blocks-of/{MASTER}"], 1)


@both
def test_a_planned_move_takes_its_time_and_loses_nothing(engine: Engine) -> None:
    run = played(events=(move_at(40),), engine=engine)
    [(at_s, moved)] = run.reasons("masters-moved")
    assert at_s == pytest.approx(40 + 0.75 + 15)
    assert moved["lacks_us"] == 0
    assert run.state.nodes[MASTER].life is NodeLife.SERVING
    assert MASTER in run.world.clusters[A].nodes
    succeeded_once(run)


@both
def test_a_planned_move_waits_for_jobs_unless_it_is_to_be_now(engine: Engine) -> None:
    run = played(events=(move_at(40, now=False),), engine=engine)
    assert len(run.reasons("masters-moved")) == 1
    assert not run.reasons("displaced")
    succeeded_once(run)


def test_the_target_dies_as_well_and_is_waited_for_because_it_may_have_taken_files() -> None:
    run = played(lost(), Loss(SECOND, round((LOST_S + 55) * SECOND_US), round((LOST_S + 400) * SECOND_US)), minimum=4)
    assert any("older than their last answer" in str(held) for held in run.reasons("masters-held"))
    assert (cluster(run).master, cluster(run).moving) == (SECOND, None)


def test_masters_answer_again_right_before_they_would_be_replaced() -> None:
    """Their node is back between the look and the end of the move: as a member, for the others have begun."""
    run = played(lost(back_s=LOST_S + 52))
    assert cluster(run).master == SECOND
    assert run.state.nodes[MASTER].life is NodeLife.SERVING
    seen = [e.event for e in run.store.entries() if isinstance(e.event, MastersSeen) and not e.event.error]
    assert not seen
    succeeded_once(run)


@pytest.mark.slow
@pytest.mark.parametrize("losses", [(lost(),), (lost(back_s=LOST_S + 35),), (lost(back_s=LOST_S + 35, emptied=True),)])
def test_both_models_write_the_same_ledger(losses: tuple[Loss, ...]) -> None:
    same_ledgers(lambda engine: played(*losses, engine=engine))


def test_a_planned_move_whose_target_is_dead_changes_nothing() -> None:
    run = played(
        Loss(SECOND, round(40.5 * SECOND_US), 200 * SECOND_US), events=(move_at(40, SECOND),), minimum=4, tasks=4
    )
    assert not run.reasons("masters-moved")
    assert not run.reasons("displaced")
    assert cluster(run).master == MASTER
    succeeded_once(run)


def test_a_job_that_ends_while_a_move_is_tried_in_vain_is_known_to_have_ended() -> None:
    """Its end was told in the 15 s between the decision and the failure, with the old masters at work all the time."""
    run = played(
        Loss(SECOND, round(45.5 * SECOND_US), 200 * SECOND_US), events=(move_at(45, SECOND),), minimum=4, tasks=4
    )
    succeeded_once(run)


def test_masters_that_are_lost_while_they_load_move_and_the_load_goes_on() -> None:
    run = played(Loss(NodeId(""), 15 * SECOND_US, masters_of=A))
    succeeded_once(run)


def test_a_planned_move_goes_on_when_its_target_is_back() -> None:
    run = played(Loss(SECOND, 45 * SECOND_US, 100 * SECOND_US), events=(move_at(40, SECOND),), minimum=4)
    assert cluster(run).master == SECOND
    succeeded_once(run)


def test_why_masters_are_held_is_told_once() -> None:
    run = played(lost(), minimum=1)
    assert len(run.reasons("masters-held")) == 1


@both
@pytest.mark.parametrize("back_s", [35, None])
def test_tasks_that_were_lost_with_the_masters_are_ended_within_a_minute(engine: Engine, back_s: float | None) -> None:
    """Nobody but a reading tells of their containers; those that ended with their application are no such tasks."""
    run = played(lost(back_s=None if back_s is None else LOST_S + back_s), engine=engine)
    seen_us = {
        name: entry.event.at_us
        for entry in reversed(list(run.store.entries()))
        if isinstance(entry.event, Sampled)
        for reading in entry.event.readings
        for name in (stray.attempt for stray in reading.strays)
    }
    told = run.reasons("stray-tasks")
    assert len(seen_us) == len(told) == (back_s is not None)
    assert all(at_s - first_us / SECOND_US < 60 for (at_s, _), first_us in zip(told, seen_us.values(), strict=True))
    assert not any(run.world.masters.strays.values())
    succeeded_once(run)
