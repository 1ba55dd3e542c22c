"""News that come late, and clients that end before their application: a drill of facts that are true, and old."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

from drills.seeing import Script
from fawkes.base.units import SECOND_US
from fawkes.core.values.events import (
    AttemptSeen,
    Done,
    Event,
    Failed,
    MastersSeen,
    NodeObserved,
    NodeSeen,
    NodesSeen,
    in_one,
)
from fawkes.core.values.model import JobId
from fawkes.core.values.sight import Attempt, Launcher

#: how long it may take until something is told; most is told at once
_TAKES_S = (0.0, 0.0, 0.0, 0.5, 2.0, 8.0, 25.0)
#: the part of the looks at attempts of which nothing comes, and how long it takes until the next one
_BLIND, _AGAIN_US = 0.3, SECOND_US
#: what a client may leave while its application goes on, and after that; two of six leave what their application does
_CLIENTS: tuple[Mapping[str, Any], ...] = (
    {},
    {},
    {"launcher": Launcher.LOST, "exit": None},
    {"launcher": Launcher.ABSENT, "exit": None},
    {"launcher": Launcher.FINISHED, "exit": 137},
    {"launcher": Launcher.FINISHED, "exit": 0, "single": True},
)


class Late:
    """Stands between a simulated world and its engine, and holds back what it hears.

    News of one MR-cluster's masters, one job and one effect stay in their order. Each says when it was asked for.
    """

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._told_us: dict[str, int] = {}
        self._held: list[Event] = []
        self._void: list[Event] = []
        self._clients: dict[tuple[JobId, int], Mapping[str, Any]] = {}

    def is_void(self, event: Event) -> bool:
        """True if it was held back for a controller that is gone."""
        return any(event is void for void in self._void)

    def is_due(self, event: Event) -> bool:
        """True if it was held back until now."""
        left = [held for held in self._held if held is not event]
        due, self._held = len(left) < len(self._held), left
        return due

    def through(self, event: Event, script: Script) -> Event | None:
        """The event as it is told now; None when all of it is told later."""
        match event:
            case NodesSeen():
                news = [self.through(seen, script) for seen in event.seen]
                now = [seen for seen in news if isinstance(seen, NodeObserved | NodeSeen)]
                return in_one(now) if now else None
            case MastersSeen() | NodeSeen():
                return self._hold(f"masters {event.cluster}", event, script)
            case NodeObserved():
                return self._hold(f"node {event.node}", event, script)
            case Done() | Failed():
                return self._hold(event.effect, event, script)
            case AttemptSeen():
                return self._look(event, script)
        return event

    def anew(self, at_us: int, script: Script) -> None:
        """A new controller sees then what the one before did not hear any more; the work of that one ended with it."""
        held, self._held, self._told_us = self._held, [], {}
        self._void += held
        for event in held:
            if not isinstance(event, NodeObserved | Done | Failed):
                seen = replace(event, at_us=at_us)
                fresh = replace(seen, sight=replace(seen.sight, asked_us=at_us)) if isinstance(seen, NodeSeen) else seen
                self._held.append(fresh)
        script(self._held)

    def _hold(self, order: str, event: Event, script: Script) -> Event | None:
        took_us = round(self._chance.choice(_TAKES_S) * SECOND_US)
        at_us = max(event.at_us + took_us, self._told_us.get(order, 0))
        self._told_us[order] = at_us
        if at_us == event.at_us:
            return event
        self._later(event, at_us, script)
        return None

    def _later(self, event: Event, at_us: int, script: Script) -> None:
        self._held.append(replace(event, at_us=at_us))
        script(self._held[-1:])

    def _look(self, event: AttemptSeen, script: Script) -> Event | None:
        client = self._clients.setdefault((event.job, event.attempt), self._chance.choice(_CLIENTS))
        if event.seen.applications:
            event = replace(event, seen=replace(event.seen, **client))
        if self._chance.random() >= _BLIND:
            return self._hold(event.job, event, script)
        blind = replace(event, seen=Attempt())
        now = self._hold(event.job, blind, script)
        self._told_us[event.job] += _AGAIN_US
        self._later(event, self._told_us[event.job], script)
        return now
