"""The preset `steady`: confirmations, settling, a budget of moves for each window, no flapping."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import Effect, Goal, Membership
from fawkes.core.values.events import Event
from fawkes.core.values.model import ClusterId
from fawkes.sim.events.steps import Delays
from fawkes.sim.world import SimWorld
from tests.support.pools import Checked, request, started, submit
from tests.support.scripts import preset

NODES = 40
LONG_S = 2 * 3600


@dataclass(slots=True)
class Recording(SimWorld):
    """A simulated world that keeps the membership documents as it got them."""

    documents: list[Membership] = field(default_factory=list)

    def start(self, effects: Iterable[Effect]) -> None:
        goals = list(effects)
        self.documents += [goal for goal in goals if isinstance(goal, Membership)]
        # The class that `slots` makes is another one than the one that super() alone would mean.
        SimWorld.start(self, goals)


def noisy(how: str) -> Checked:
    """Two MR-clusters of equal load on average, in bursts, for two hours."""
    draw = random.Random(7)
    changes = {"transient_leave_us": 30 * SECOND_US}
    core = preset(how, **changes)
    if how == "steady":
        # These tests are about damping: with two equal loads few moves pay.
        core = replace(core, moves_must_pay=False, max_moves_fraction=0.2)
        steady = {"settle_after_grow_us": 120, "settle_after_shrink_us": 600, "max_moves_window_us": 600}
        core = replace(core, **{key: value * SECOND_US for key, value in steady.items()})  # type: ignore[arg-type]
    else:
        core = replace(core, idle_us=None)
    events: list[Event] = [started(NODES, how=core), request("a", 1, 4), request("b", 1, 4)]
    for number in range(LONG_S // 60):
        for name in "ab":
            events.append(submit(name, number, 60 + number * 60, tasks=draw.choice((0, 20, 90)) + 1, task_s=15))
    world = Recording(until_us=LONG_S * SECOND_US, delays=Delays(sample_us=10 * SECOND_US))
    world.script(sorted(events, key=lambda event: event.at_us))
    run = Checked(world)
    run.run()
    return run


@pytest.fixture(scope="module")
def steady() -> Checked:
    return noisy("steady")


@pytest.mark.slow
def test_no_window_sees_more_moves_than_its_budget(steady: Checked) -> None:
    begun = [at_s for at_s, _ in steady.reasons("shrink")]
    budget = int(0.2 * (NODES - 8))
    assert begun, "something has to move"
    for at_s in begun:
        assert sum(at_s <= other < at_s + 600 for other in begun) <= budget


@pytest.mark.slow
def test_moves_rest_after_moves(steady: Checked) -> None:
    moved = sorted({at_s for code in ("shrink", "grow") for at_s, _ in steady.reasons(code)})
    ticks = {facts["tick"]: at_s for at_s, facts in steady.reasons("tick") if facts["verdict"] == "unbalanced"}
    acted = sorted(at_s for at_s in ticks.values() if at_s in moved)
    freed = [at_s for at_s, _ in steady.reasons("freed")]
    for at_s in acted[1:]:
        assert all(at_s - free >= 600 for free in freed if free < at_s)


def test_no_tick_acts_unconfirmed(steady: Checked) -> None:
    for _, facts in steady.reasons("tick"):
        if facts["verdict"] == "unbalanced":
            assert int(str(facts["over"])) >= 2
    assert Counter(facts["verdict"] for _, facts in steady.reasons("tick"))["confirming"] > 0


@pytest.mark.slow
def test_steady_moves_far_less_than_the_paper_on_the_same_noise(steady: Checked) -> None:
    paper = noisy("paper")
    assert len(steady.reasons("shrink")) * 5 < len(paper.reasons("shrink"))
    assert steady.state.last_tick.reconfigurations < paper.state.last_tick.reconfigurations / 5


def test_running_tasks_get_their_time(steady: Checked) -> None:
    assert isinstance(steady.world, Recording)
    members = [member for document in steady.world.documents for member in document.members.values()]
    draining = [member for member in members if member.goal is Goal.DRAINING]
    assert draining
    assert {member.leave_us for member in draining} == {30 * SECOND_US}


def test_both_get_their_work_done(steady: Checked) -> None:
    assert set(steady.state.clusters) == {ClusterId("a"), ClusterId("b")}
    succeeded = len(steady.reasons("job-succeeded"))
    assert succeeded > 2 * (LONG_S // 60) * 0.9
