"""The measurement of an evacuation reads facts from a ledger that worlds of today put there."""

from __future__ import annotations

from bench.evacuate import left
from fawkes.base.units import SECOND_US
from fawkes.core.values.events import DrainAsked, Event, UndrainAsked
from fawkes.core.values.model import NodeId
from tests.support.pools import policy, request, run, started

NODE = NodeId("node04")


def test_a_node_that_was_drained_twice_has_the_times_of_the_last_time() -> None:
    began_us, again_us = 200 * SECOND_US, 500 * SECOND_US
    events: list[Event] = [
        started(4, policy=policy("eq")),
        request("a", 0, 3),
        DrainAsked(at_us=began_us, node=NODE, reason="bench", by="op", ask="1"),
        UndrainAsked(at_us=400 * SECOND_US, node=NODE, by="op", ask="2"),
        DrainAsked(at_us=again_us, node=NODE, reason="bench", by="op", ask="3"),
    ]
    entries = list(run(events, 900).store.entries())
    times = left(entries, NODE)
    assert times is not None
    assert again_us == times[0] < times[1] < times[2]
    first = left([entry for entry in entries if entry.event.at_us < 400 * SECOND_US], NODE)
    assert first is not None
    assert first[0] == began_us


def test_a_node_that_still_leaves_has_no_times_yet() -> None:
    entries = list(run([started(4), request("a", 0)], 100).store.entries())
    assert left(entries, NODE) is None
