"""A full disk holds a run up and changes nothing of it: each step is stored later, once, and the same."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes import engine
from fawkes.base.errors import FullError
from fawkes.core.clusters.picture import picture
from fawkes.core.values.events import Event, Woke
from fawkes.core.values.model import ClusterId
from fawkes.policy import compile_policy
from fawkes.sim.world import SimWorld
from tests.sim.test_random_runs import random_runs
from tests.support.desk import Silence
from tests.support.pools import Checked, request, run, started, submit
from tests.support.scarce import Scarce
from tests.support.scripts import Script, scripts


def _full_at_random(seed: int, often: float) -> Scarce:
    chance = Random(seed)
    return Scarce(lambda: chance.random() < often)


def _same(first: Checked, other: Checked) -> None:
    assert list(first.store.entries()) == list(other.store.entries())
    assert picture(first.state) == picture(other.state)
    assert first.world.starts == other.world.starts
    assert first.world.replies == other.world.replies


@pytest.mark.slow
def test_a_run_that_is_held_up_is_the_same_run() -> None:
    events: list[Event] = [started(6), request("a", 0), request("b", 5), submit("a", 1, 50, tasks=40)]
    scarce = _full_at_random(1, 0.6)
    world = SimWorld(until_us=600_000_000)
    world.script(events)
    held_up = Checked(world, scarce)
    held_up.run()
    assert scarce.refused > 50
    _same(held_up, run(events, 600))
    assert list(engine.replay(scarce.entries(), compile_policy)) == []


@pytest.mark.nightly
@random_runs
@given(scripts(), st.integers(0, 2**32), st.sampled_from((0.01, 0.3, 0.9)))
def test_every_run_that_is_held_up_is_the_same_run(script: Script, seed: int, often: float) -> None:
    scarce = _full_at_random(seed, often)
    _same(script.play(lambda world: Checked(world, scarce)), script.play())


def test_a_step_without_room_is_neither_stored_nor_done() -> None:
    full = [False]
    world, store = Silence(), Scarce(lambda: full[0])
    held = engine.Engine(world, store, compile_policy)
    assert held.offer(started(4))
    begun = len(world.effects)
    full[0] = True
    assert not held.offer(request("a", 1))
    with pytest.raises(FullError):
        held.step(request("a", 1))
    assert (store.last_seq(), len(world.effects)) == (1, begun)
    assert not held.view.clusters
    full[0] = False
    assert held.offer(request("a", 1))
    assert ClusterId("a") in held.view.clusters


def test_a_run_ends_when_its_world_does_not_wait() -> None:
    class Two(Silence):
        left = 2

        def next_event(self) -> Woke | None:
            self.left -= 1
            return Woke(at_us=1) if self.left >= 0 else None

    full = [False]
    world, store = Two(), Scarce(lambda: full[0])
    held = engine.Engine(world, store, compile_policy)
    held.step(started(4))
    full[0] = True
    held.run()
    assert (world.left, store.refused, store.last_seq()) == (1, 1, 1)
