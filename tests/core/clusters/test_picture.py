"""A picture of a state is the state: whatever follows is decided alike."""

from __future__ import annotations

import pytest

from fawkes.core.clusters.picture import Picture, picture, restored
from fawkes.core.deciding.pool import decide
from fawkes.core.state.state import State, evolve
from fawkes.core.values.events import Event
from fawkes.policy import compile_policy
from fawkes.store.record import from_plain, text_of, to_plain
from tests.support.pools import policy, request, run, settings, started, submit


@pytest.mark.slow
def test_every_later_decision_is_the_same_from_a_picture_taken_anywhere() -> None:
    events: list[Event] = [started(8), request("b", 1), request("a", 3, deploy_on_first_job=True), request("c", 2)]
    events += [submit("b", n, 4 + n, tasks=9) for n in range(4)] + [submit("a", 1, 30), submit("c", 1, 31, tasks=30)]
    entries = list(run(events, 160).store.entries())
    measure = compile_policy(policy(), settings())
    state = State()
    for index, entry in enumerate(entries):
        evolve(state, entry.event.at_us, entry.decision.changes)
        if index % 7:
            continue
        again = restored(from_plain(Picture, to_plain(picture(state))))
        assert to_plain(picture(again)) == to_plain(picture(state))
        for later in entries[index + 1 : index + 40]:
            decision = decide(again, later.event, measure)
            assert text_of(decision) == text_of(later.decision), later.seq
            evolve(again, later.event.at_us, later.decision.changes)


def test_an_empty_state_has_a_picture() -> None:
    assert to_plain(picture(restored(picture(State())))) == to_plain(picture(State()))
