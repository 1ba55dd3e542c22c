"""Drills in the simulator: nothing is lost, and a world in which something would be is caught."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drills.every_step import AWAY_S, SEEDS, codes, every_step, story
from drills.hdfs import Hdfs
from drills.plan import Fault, Kind, Plan, Spot, late_plan_of, plan_of, standby_plan_of
from drills.seeing import Seeing
from drills.sim_facts import not_whole
from drills.simulated import Drill, play
from fawkes.core.jobs import attempts
from fawkes.core.state.state import State
from fawkes.core.values.events import NodesSeen
from fawkes.core.values.model import ClusterId, ClusterLife, ClusterSpec, ClusterState, NodeId, NodeLife, Standby
from fawkes.core.values.sight import Blocks
from fawkes.sim.masters.standby import Pair


def without_faults(seed: int) -> Plan:
    return replace(plan_of(seed), faults=())


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(20), range(20, 40)], ids=str)
def test_nothing_is_lost(seeds: range) -> None:
    assert {seed: result.failures for seed in seeds if (result := play(plan_of(seed))).failures} == {}


@pytest.mark.slow
def test_nothing_is_lost_where_masters_have_a_second_name_node() -> None:
    """Among them seeds in which a node left while it got its part of a journal, and one that was never armed again."""
    seeds = (*range(12), 14, 37, 57, 60, 145)
    assert {seed: result.failures for seed in seeds if (result := play(standby_plan_of(seed))).failures} == {}


@pytest.mark.slow
def test_nothing_is_lost_where_news_are_old_when_they_come() -> None:
    assert {seed: result.failures for seed in range(12) if (result := play(late_plan_of(seed), "late")).failures} == {}


def test_an_end_that_is_told_while_a_job_runs_on_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A core that believed each client that ended well would tell of successes that YARN is still at work on."""
    monkeypatch.setattr(attempts, "_contradicted", lambda seen: False)
    found = {failure.check for failure in play(late_plan_of(2), "late").failures}
    assert found == {"job told early"}


def test_a_second_name_node_that_does_not_follow_is_caught() -> None:
    drill = Drill(replace(standby_plan_of(0), faults=()))
    drill.run()
    assert "standby-ready" in {reason.code for entry in drill.store.entries() for reason in entry.decision.reasons}
    pair, state = Pair(Standby(journal=(NodeId("n1"), NodeId("n2"), NodeId("n3")), node=NodeId("n2"))), State()
    drill.world.masters.second.pairs[ClusterId("z")] = pair
    spec = ClusterSpec(id=ClusterId("z"), min_nodes=3)
    state.clusters[spec.id] = ClusterState(
        spec=spec, life=ClusterLife.RUNNING, standby=replace(pair.standby, ready=True)
    )
    assert [failure.check for failure in not_whole(drill.world, state)] == ["no second NameNode"]


def test_a_seed_is_played_again_to_the_letter() -> None:
    first, second = Drill(plan_of(3)), Drill(plan_of(3))
    assert replace(first.run(), took_s=0) == replace(second.run(), took_s=0)
    assert list(first.store.entries()) == list(second.store.entries())


def test_the_stories_of_every_step_have_moves_of_data_a_load_and_a_save() -> None:
    for seed in SEEDS:
        assert {"evacuated", "loaded", "saved", "grow", "shrink", "core-leaves"} <= codes(seed)


@pytest.mark.slow
def test_a_controller_that_dies_after_a_step_loses_nothing() -> None:
    ways = list(every_step(SEEDS[0], every=30))
    assert len(ways) > 9
    assert {str(fault): result.failures for fault, result in ways if result.failures} == {}


def test_news_of_several_nodes_that_no_disk_had_room_for_is_heard_later() -> None:
    """It once came again with the times at which it was seen first, so that deadlines had passed when they were set."""
    drill = Drill(story(SEEDS[0]))
    drill.run()
    steps = [entry.seq for entry in drill.store.entries() if isinstance(entry.event, NodesSeen)]
    full = Fault(kind=Kind.STATE_DISK, spot=Spot.CONTROLLER, told=False, back_s=AWAY_S)
    plans = {step: replace(story(SEEDS[0]), faults=(replace(full, step=step),)) for step in steps}
    assert len(plans) > 4
    assert {step: result.failures for step, plan in plans.items() if (result := play(plan)).failures} == {}


@pytest.mark.slow
def test_every_fault_that_has_its_chance_strikes() -> None:
    fault = Fault(kind=Kind.EMPTIED, spot=Spot.TRANSIENT_CORE, life=NodeLife.SERVING, back_s=8)
    result = play(replace(plan_of(SEEDS[0]), faults=(fault,)))
    assert result.tried[0].at_s is not None
    assert result.failures == ()


class Lies(Hdfs):
    """An HDFS that reports every block as safe, although nobody copied anything."""

    def report(self, cluster: ClusterId, node: NodeId, state: State, asked_us: int) -> Blocks:
        return Blocks(asked_us=asked_us, known=True)


class Careless(Drill):
    """A drill in whose world a node counts as evacuated although nobody copied anything."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.hdfs = Lies(plan.story, self.world.dead)
        self._seeing = Seeing(self.hdfs)

    def _answer(self, kind: str, name: str) -> str | None:
        return None if kind == "evacuate" else super()._answer(kind, name)


@pytest.mark.slow
def test_a_node_that_is_wiped_with_the_last_replica_is_caught() -> None:
    seen = {failure.check for seed in range(12) for failure in Careless(without_faults(seed)).run().failures}
    assert seen == {"data lost"}


class Deaf(Drill):
    """A drill in whose world no save is ever answered."""

    def _answer(self, kind: str, name: str) -> str | None:
        return "" if kind == "save" else super()._answer(kind, name)


@pytest.mark.slow
def test_what_is_held_for_ever_without_a_word_is_caught() -> None:
    (failure, *_) = Deaf(without_faults(SEEDS[0])).run().failures
    assert failure.check == "held without a word"
