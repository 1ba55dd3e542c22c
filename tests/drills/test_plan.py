"""Plans: the same from the same seed, sound, and together they try everything."""

from __future__ import annotations

import pytest

from drills.plan import LIVES, OF_CONTROLLER, SPOTS, STORY_S, Plan, chance_of, plan_of, standby_plan_of, story_of
from fawkes.core.values.model import Promise, Role

PLANS = [plan_of(seed) for seed in range(2000)]


def test_a_seed_gives_its_plan_again() -> None:
    assert [plan_of(seed) for seed in range(50)] == PLANS[:50]
    assert len(set(map(str, PLANS))) == len(PLANS)


def test_each_purpose_has_chances_of_its_own() -> None:
    assert chance_of(1, "story").random() != chance_of(1, "faults").random()
    assert story_of(7) == plan_of(7).story


@pytest.mark.slow
def test_a_drill_with_second_name_nodes_has_room_for_journals_and_one_fault_more() -> None:
    for seed, before in enumerate(PLANS):
        plan = standby_plan_of(seed)
        assert {(c.masters, c.min_nodes) for c in plan.story.clusters} == {(Promise.STANDBY, 3)}
        assert plan.story.jobs == before.story.jobs
        assert plan.faults[:-1] == before.faults
        assert plan.faults[-1].back_s
        sound(plan)


def test_a_story_can_be_played() -> None:
    for plan in PLANS:
        sound(plan)


def sound(plan: Plan) -> None:
    """The story has room for its MR-clusters, and its parts fit each other."""
    story = plan.story
    assert sum(cluster.min_nodes for cluster in story.clusters) < story.hosts, plan
    assert any(cluster.growth is Role.TRANSIENT_CORE for cluster in story.clusters)
    names = {cluster.name for cluster in story.clusters}
    assert {job.cluster for job in story.jobs} == names
    assert len({job.name for job in story.jobs}) == len(story.jobs)
    assert all(1 <= cluster.replication <= cluster.min_nodes for cluster in story.clusters)
    assert all(job.at_s <= STORY_S for job in story.jobs)
    assert all(1 <= drain.node <= story.hosts for drain in story.drains)


def test_at_most_one_node_stays_away() -> None:
    assert max(sum(fault.back_s is None for fault in plan.faults) for plan in PLANS) == 1


@pytest.mark.slow
def test_every_fault_strikes_every_kind_of_node_in_every_life() -> None:
    wanted = {(kind, spot, life) for kind, spots in SPOTS.items() for spot in spots for life in LIVES.get(spot, ("",))}
    plans = PLANS + [plan_of(seed) for seed in range(len(PLANS), 3 * len(PLANS))]
    assert {(fault.kind, fault.spot, fault.life) for plan in plans for fault in plan.faults} == wanted


def test_the_controller_dies_at_a_step_and_comes_back() -> None:
    for fault in (fault for plan in PLANS for fault in plan.faults if fault.kind in OF_CONTROLLER):
        assert fault.step > 1
        assert fault.back_s
