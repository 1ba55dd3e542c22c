"""Plans of lost masters: every case comes up, at moments of its own."""

from __future__ import annotations

from drills.loss import CASES, First, Killed, LossPlan, Phase, loss_plan_of, row_of
from fawkes.core.values.model import Promise

PLANS = [loss_plan_of(seed) for seed in range(20 * len(CASES))]


def test_a_seed_gives_its_plan_again() -> None:
    assert [loss_plan_of(seed) for seed in range(len(CASES))] == PLANS[: len(CASES)]
    assert len({str(plan.loss) for plan in PLANS}) > len(PLANS) * 0.9


def test_seeds_in_a_row_have_every_case_once() -> None:
    wanted = {row_of(*case) for case in CASES}
    for first in (0, 5 * len(CASES)):
        rows = [plan.loss.row for plan in PLANS[first : first + len(CASES)]]
        assert len(rows) == len(wanted)
        assert set(rows) == wanted


def test_seeds_of_a_promise_follow_each_other_through_a_life() -> None:
    """So that one lab can play them: what is loaded first is saved last."""
    lives = [PLANS[number : number + len(Phase)] for number in range(0, len(CASES), len(Phase))]
    for life in lives:
        assert [plan.loss.phase for plan in life] == list(Phase)
        assert len({plan.loss.promise for plan in life}) == 1
    assert [life[0].loss.promise for life in lives] == [Promise.KEPT, Promise.KEPT, Promise.STANDBY, Promise.STANDBY]


def test_the_controller_is_killed_in_both_ways() -> None:
    for plan in PLANS:
        loss = plan.loss
        assert (loss.row[2] == "killed") == (loss.killed is not Killed.NEVER) == (loss.down_s > 0)
        assert loss.killed is Killed.AT_DECISION or loss.killed_after_s == 0
    assert {plan.loss.killed for plan in PLANS} == set(Killed)


def test_another_failover_is_a_move_or_a_loss_of_power() -> None:
    firsts = {plan.loss.first for plan in PLANS if plan.loss.phase is Phase.FAILOVER}
    assert firsts == {First.ASKED, First.POWER}
    assert {plan.loss.first for plan in PLANS if plan.loss.phase is not Phase.FAILOVER} == {First.NONE}


def test_the_story_has_room_for_a_journal_and_for_a_node_that_comes_and_goes() -> None:
    for plan in PLANS:
        (cluster,) = plan.story.clusters
        assert (cluster.masters, cluster.min_nodes) == (plan.loss.promise, 3)
        assert cluster.min_nodes + 2 <= plan.story.hosts
        assert bool(plan.story.jobs) == (plan.loss.phase in (Phase.JOBS, Phase.SAVE))


def test_the_loss_is_the_fault_of_its_drill() -> None:
    plan: LossPlan = PLANS[0]
    assert plan.faults == (plan.loss,)
    assert str(plan.loss.fault).startswith("disk emptied: a node that is master")
