"""The one loop: decided, checked, stored, applied, begun, in this order; nothing of it when a decision is unsound."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from fawkes.base.errors import BrokenError, ConfigError
from fawkes.core.state.state import State
from fawkes.core.values.decision import Decision
from fawkes.core.values.effects import Effect
from fawkes.core.values.events import Event, Woke
from fawkes.core.values.model import NodeId, NodeLife
from fawkes.engine import Engine, rebuild
from fawkes.policy import compile_policy, policy_text
from fawkes.store.memory import MemoryStore
from tests.support.desk import Desk, Silence
from tests.support.pools import request, started


class Diary(MemoryStore):
    """A store, and a world beside it, that note in which order they are called."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []
        self.state = State()

    def append(self, event: Event, decision: Decision) -> int:
        self.notes.append(f"stored at {len(self.state.clusters)}")
        return super().append(event, decision)


class Noted(Silence):
    def __init__(self, diary: Diary) -> None:
        super().__init__()
        self.diary = diary

    def start(self, effects: Iterable[Effect]) -> None:
        super().start(effects)
        self.diary.notes.append(f"begun at {len(self.diary.state.clusters)}")


def test_a_step_is_stored_before_it_is_applied_and_applied_before_it_is_begun() -> None:
    diary = Diary()
    seen: list[tuple[int, int]] = []
    engine = Engine(
        Noted(diary),
        diary,
        compile_policy,
        diary.state,
        remember=lambda seq, state: seen.append((seq, len(state.clusters))),
    )
    engine.step(started(4))
    engine.step(request("a", 1))
    assert diary.notes == ["stored at 0", "begun at 0", "stored at 0", "begun at 1"]
    assert seen == [(1, 0), (2, 1)]


def test_an_unsound_decision_is_neither_stored_nor_begun() -> None:
    desk = Desk(4)
    spoilt = desk.state.nodes[NodeId("node01")]
    desk.state.nodes[NodeId("node01")] = replace(spoilt, life=NodeLife.OUT)
    before = desk.store.last_seq(), len(desk.world.effects)
    with pytest.raises(BrokenError, match=r"Requested is unsound: node01 cannot go from out to joining"):
        desk.engine.step(request("a", 1))
    assert (desk.store.last_seq(), len(desk.world.effects)) == before
    assert not desk.state.clusters


def test_a_policy_that_cannot_be_loaded_stops_the_start_and_stores_nothing() -> None:
    store = MemoryStore()
    engine = Engine(Silence(), store, compile_policy)
    with pytest.raises(ConfigError, match="imports 'os'"):
        engine.step(started(4, policy=policy_text("BAD", "bad.py", "import os\n")))
    assert store.last_seq() == 0


def test_events_are_taken_until_there_are_no_more() -> None:
    class Three(Silence):
        left = 3

        def next_event(self) -> Event | None:
            self.left -= 1
            return started(4) if self.left == 2 else (Woke(at_us=self.left) if self.left >= 0 else None)

    store = MemoryStore()
    Engine(Three(), store, compile_policy).run()
    assert store.last_seq() == 3


def test_a_state_can_be_built_in_two_parts() -> None:
    desk = Desk.running("a", "b", count=6)
    entries = list(desk.store.entries())
    half = rebuild(entries[:5])
    assert rebuild(entries[5:], half) is half
    assert half.nodes == desk.state.nodes
    assert half.pending == desk.state.pending
