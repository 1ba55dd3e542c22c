"""Masters with a second NameNode in the simulated world: takeovers that lose nothing, journals that are mended."""

from __future__ import annotations

from typing import Any

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import ArmStandby, Deploy, Goal, LookAtMasters, Member, MoveMasters
from fawkes.core.values.events import Condition, Done, DrainAsked, Event, Failed, NodeObserved, StandbySeen
from fawkes.core.values.model import ClusterSpec, NodeId, NodeLife, Promise, Role, Standby
from fawkes.sim.engines import Engine
from fawkes.sim.events.steps import Delays, Hosted, Loss
from fawkes.sim.masters.standby import NO_JOURNAL
from fawkes.sim.world import SimWorld
from tests.sim.masters import test_masters
from tests.sim.masters.test_masters import (
    LOST_S,
    MASTER,
    SECOND,
    A,
    both,
    cluster,
    lost,
    move_at,
    same_ledgers,
    succeeded_once,
)
from tests.support.pools import Checked, submit

THIRD, FOURTH = NodeId("node03"), NodeId("node04")
ALL = (MASTER, SECOND, THIRD)


def played(*losses: Loss, **how: Any) -> Checked:
    """The same with a second NameNode."""
    how = {"masters": Promise.STANDBY, "standby_us": 30 * SECOND_US, **how}
    return test_masters.played(*losses, **how)


def of(node: NodeId, at_s: float, back_s: float | None = None, *, emptied: bool = False) -> Loss:
    back_us = None if back_s is None else round(back_s * SECOND_US)
    return Loss(node, round(at_s * SECOND_US), back_us, emptied=emptied)


def seen(run: Checked) -> list[tuple[float, NodeId, bool]]:
    """The reasons that name the second NameNode."""
    found = (entry.event for entry in run.store.entries())
    return [(e.at_us / SECOND_US, e.node, e.ready) for e in found if isinstance(e, StandbySeen)]


def whole(run: Checked) -> bool:
    """True if the second NameNode follows and all of the journal answers, for the ledger as well."""
    pair, known = run.world.masters.second.pairs[A], cluster(run).standby
    sight = pair.sight()
    return (
        known is not None and known.ready and sight == (known.node, True, "") and pair.standby.journal == known.journal
    )


def test_the_second_name_node_comes_up_after_the_deployment_and_is_seen_by_the_next_look() -> None:
    run = played(until_s=60)
    [(deployed_s, _)] = run.reasons("deployed")
    # The journal takes 3 s of a deployment, the second NameNode 6 s after it.
    assert deployed_s == 1 + 12 + 3
    assert seen(run) == [(24, SECOND, True)]
    assert whole(run)


@both
def test_it_takes_over_without_patience_and_jobs_go_on(engine: Engine) -> None:
    run = played(lost(), engine=engine)
    [(at_s, moved)] = run.reasons("masters-moved")
    assert (moved["node"], moved["lacks_us"]) == (SECOND, 0)
    # 30 s of silence, a look, and the takeover; nobody waits for patience.masters_lost.
    assert at_s == pytest.approx(LOST_S + 30 + 0.75 + 5)
    assert not run.reasons("displaced")
    assert set(run.world.starts) == {(f"a-{number}", 1) for number in range(4)}
    succeeded_once(run)


def test_the_third_node_of_the_journal_gets_the_next_second_name_node() -> None:
    run = played(lost())
    [(at_s, armed)] = run.reasons("standby-armed")
    [(moved_s, _)] = run.reasons("masters-moved")
    assert armed["node"] == THIRD
    assert at_s == pytest.approx(moved_s + 6)
    assert not whole(run)


@pytest.mark.parametrize("emptied", [False, True])
def test_a_node_that_comes_back_makes_the_journal_whole(emptied: bool) -> None:
    run = played(lost(back_s=LOST_S + 200, emptied=emptied))
    assert cluster(run).master == SECOND
    assert run.state.nodes[MASTER].life is NodeLife.SERVING
    assert whole(run)
    succeeded_once(run)


@both
def test_a_job_that_ended_without_masters_has_succeeded_by_its_first_attempt(engine: Engine) -> None:
    run = played(lost(), engine=engine, tasks=4)
    assert not run.world.masters.void
    assert set(run.world.starts) == {(f"a-{number}", 1) for number in range(4)}
    succeeded_once(run)


def test_an_attempt_that_had_not_reached_yarn_begins_again_as_another_one() -> None:
    """The job is handed over 1 s before the loss, and 3 s later it would have been an application."""
    at_s = 59.0
    run = played(lost(), events=(submit("a", 4, at_s, tasks=1),), max_moves_fraction=None, tasks=1)
    [(_, facts)] = run.reasons("displaced")
    assert (facts["job"], facts["attempt"]) == ("a-4", 2)
    assert run.world.starts[("a-4", 2)] == 1  # type: ignore[index]
    assert ("a-4", 1) not in run.world.starts


@both
def test_a_planned_move_ends_no_job_and_waits_for_none(engine: Engine) -> None:
    asked = move_at(40, now=False)
    run = played(events=(asked,), engine=engine)
    [(at_s, moved)] = run.reasons("masters-moved")
    assert moved["lacks_us"] == 0
    assert at_s == pytest.approx(40 + 0.75 + 5)
    assert not run.reasons("displaced")
    assert whole(run)
    succeeded_once(run)


def test_a_planned_move_to_the_third_node_arms_it_first() -> None:
    asked = move_at(40, THIRD, now=False)
    run = played(events=(asked,))
    assert next(facts["node"] for _, facts in run.reasons("standby-armed")) == THIRD
    assert cluster(run).master == THIRD
    assert whole(run)
    succeeded_once(run)


def test_a_planned_move_whose_target_dies_leaves_the_masters_where_they_were() -> None:
    asked = move_at(40, SECOND, now=False)
    run = played(of(SECOND, 42, 200), events=(asked,))
    assert not run.reasons("masters-moved")
    assert cluster(run).master == MASTER
    assert whole(run)
    succeeded_once(run)


def test_without_most_of_the_journal_the_masters_end_and_come_back_with_it() -> None:
    """Two of three nodes lose their power: nothing can be written, and no other NameNode may take over."""
    run = played(of(SECOND, 60), of(THIRD, 61, 80), until_s=400, masters_lost_us=600 * SECOND_US)
    assert not run.reasons("masters-move")
    failed = [e.event for e in run.store.entries() if isinstance(e.event, NodeObserved) and e.event.error == NO_JOURNAL]
    assert {(event.node, event.condition) for event in failed} == {(MASTER, Condition.FAILED)}


def test_without_most_of_the_journal_masters_are_kept_from_then_on_and_lose_nothing() -> None:
    """Two nodes have power again, without daemons: nobody looks after them while their masters are away."""
    run = played(of(SECOND, 60, 100), of(THIRD, 61, 100))
    [(_, moved)] = run.reasons("masters-moved")
    assert moved["lacks_us"] == 0
    assert len(run.reasons("standby-given-up")) == 1
    assert cluster(run).standby is None
    assert A not in run.world.masters.second.pairs
    assert cluster(run).master in (SECOND, THIRD)
    succeeded_once(run)


@pytest.mark.slow
@both
def test_masters_that_came_back_without_a_journal_get_one_again(engine: Engine) -> None:
    """The first node comes back: three core nodes serve, and a moment without jobs is waited for."""
    losses = of(SECOND, 60, 100), of(THIRD, 61, 100)
    run = played(*losses, engine=engine, until_s=1200, journal_us=60 * SECOND_US)
    [(wanted_s, wanted)] = run.reasons("journal-wanted")
    [(begun_s, begun)] = run.reasons("journal-begun")
    assert begun["node"] == cluster(run).master
    assert cluster(run).master in (SECOND, THIRD)
    assert wanted["journal"] == begun["journal"] == ALL
    assert begun_s >= wanted_s
    assert whole(run)
    succeeded_once(run)


@pytest.mark.slow
def test_masters_that_are_lost_while_they_start_with_a_journal_are_lost_masters() -> None:
    """Nothing is known of the start; the copy is taken, or their disk once they are back."""
    quiet = of(SECOND, 60, 100), of(THIRD, 61, 100)
    before = played(*quiet, until_s=1200, journal_us=60 * SECOND_US)
    [(begin_s, _)] = before.reasons("journal-begin")
    again = of(cluster(before).master or SECOND, begin_s + 1, begin_s + 300)
    run = played(*quiet, again, until_s=2400, journal_us=60 * SECOND_US, copy_gap_us=600 * SECOND_US)
    assert run.reasons("journal-not-begun")
    assert whole(run)
    succeeded_once(run)


def test_a_lost_node_of_the_journal_is_replaced_by_another_core_node() -> None:
    run = played(of(THIRD, 60), minimum=4)
    known = cluster(run).standby
    assert known is not None
    assert known.journal == (MASTER, SECOND, FOURTH)
    assert whole(run)
    assert not run.reasons("masters-move")
    succeeded_once(run)


def test_a_node_of_the_journal_that_goes_out_of_service_leaves_it_first() -> None:
    run = played(events=(DrainAsked(at_us=60 * SECOND_US, node=THIRD, reason="disk"),), minimum=4, count=6)
    known = cluster(run).standby
    assert known is not None
    assert THIRD not in known.journal
    assert whole(run)
    assert run.state.nodes[THIRD].owner is None
    succeeded_once(run)


@pytest.mark.slow
def test_a_second_name_node_that_does_not_come_up_is_tried_again() -> None:
    tries: list[str] = []

    def twice(kind: str, name: str) -> str | None:
        tries.append(kind)
        return "no room" if kind == "arm" and tries.count("arm") < 3 else None

    run = played(of(SECOND, 60, 70, emptied=True), faults=twice)
    assert len(run.reasons("standby-not-armed")) == 2
    assert whole(run)
    succeeded_once(run)


@pytest.mark.slow
@pytest.mark.parametrize(
    "losses",
    [
        (lost(),),
        (lost(back_s=LOST_S + 200, emptied=True),),
        (of(SECOND, 60, 200, emptied=True), of(THIRD, 65, 300)),
    ],
)
def test_both_models_write_the_same_ledger(losses: tuple[Loss, ...]) -> None:
    same_ledgers(lambda engine: played(*losses, engine=engine))


class Hands:
    """A world with one MR-cluster, and no core above it."""

    def __init__(self) -> None:
        self.world = SimWorld(until_us=10**12, delays=Delays(sample_us=10**11))
        spec = ClusterSpec(id=A, min_nodes=4, masters=Promise.STANDBY)
        members = {node: Member(Goal.SERVING, Role.CORE, 1) for node in (*ALL, FOURTH)}
        for node in members:
            self.world.hosts[node] = Hosted(A, Role.CORE, 1)
        self.end(Deploy(A, 1, spec, members, MASTER, Standby(journal=ALL, node=SECOND)))
        self.next(StandbySeen)

    def next(self, *kinds: type[Event]) -> Event:
        while (event := self.world.next_event()) is not None:
            if isinstance(event, kinds):
                return event
        raise AssertionError("nothing more is told")

    def end(self, effect: Deploy | LookAtMasters | MoveMasters | ArmStandby) -> Done | Failed:
        self.world.start([effect])
        found = self.next(Done, Failed)
        assert isinstance(found, Done | Failed)
        assert (found.effect, found.version) == (effect.key, effect.version)
        return found

    def dies(self, *nodes: NodeId, emptied: bool = False) -> None:
        for node in nodes:
            self.world.lose(node, self.world.now_us, emptied=emptied)
            self.next(StandbySeen)

    def arm(self, node: NodeId | None, journal: tuple[NodeId, ...] = ALL) -> Done | Failed:
        return self.end(ArmStandby(A, 2, MASTER, Standby(journal=journal, node=node), ALL))


def test_a_look_tells_what_the_other_name_node_is_and_who_of_the_journal_answers() -> None:
    hands = Hands()
    found = hands.end(LookAtMasters(A, 2, MASTER, SECOND)).facts
    assert (found["standby"], found["journal"]) == ("standby", list(ALL))
    found = hands.end(LookAtMasters(A, 2, MASTER, THIRD)).facts
    assert found["standby"] is None
    hands.dies(THIRD)
    found = hands.end(LookAtMasters(A, 2, MASTER, SECOND)).facts
    assert (found["standby"], found["journal"]) == ("standby", [MASTER, SECOND])


def test_masters_that_answer_are_not_taken_over_from() -> None:
    found = Hands().end(MoveMasters(A, 2, MASTER, SECOND, planned=False, standby=True))
    assert isinstance(found, Failed)
    assert found.facts == {"alive": True}


def test_a_name_node_that_does_not_follow_does_not_take_over() -> None:
    hands = Hands()
    hands.dies(MASTER)
    assert isinstance(hands.end(MoveMasters(A, 2, MASTER, THIRD, planned=False, standby=True)), Failed)
    assert isinstance(hands.end(MoveMasters(A, 3, MASTER, SECOND, planned=False, standby=True)), Done)


def test_another_journal_needs_most_of_the_one_before() -> None:
    hands = Hands()
    hands.dies(THIRD)
    assert isinstance(hands.arm(SECOND, (MASTER, SECOND, FOURTH)), Done)
    assert hands.world.masters.second.pairs[A].answering == [MASTER, SECOND, FOURTH]
    hands = Hands()
    hands.dies(SECOND, THIRD)
    found = hands.arm(None, (MASTER, SECOND, FOURTH))
    assert isinstance(found, Failed)
    assert found.error == NO_JOURNAL
    assert hands.world.masters.second.pairs[A].standby.journal == ALL


def test_an_empty_folder_of_the_journal_is_filled_only_beside_most_of_it() -> None:
    hands = Hands()
    hands.dies(SECOND, THIRD, emptied=True)
    hands.world.dead.clear()
    assert isinstance(hands.arm(SECOND), Failed)
    hands = Hands()
    hands.dies(THIRD, emptied=True)
    hands.world.dead.clear()
    found = hands.arm(SECOND)
    assert found.facts == {"journal": list(ALL)}


def test_a_new_controller_is_told_afresh() -> None:
    hands = Hands()
    left = hands.world.orphaned(SECOND_US)
    hands.world = left
    found = hands.next(StandbySeen)
    assert isinstance(found, StandbySeen)
    assert (found.node, found.ready, found.error) == (SECOND, True, "")
