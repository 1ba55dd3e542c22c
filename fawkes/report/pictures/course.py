"""The course of a run as plain step functions: nodes, waiting tasks and discrimination of each MR-cluster over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil, nan
from operator import itemgetter
from typing import Any

import pandas as pd

from fawkes.base.units import SECOND_US
from fawkes.core.values.events import Sampled
from fawkes.report import history
from fawkes.report.pictures.steps import ROLES, HeldSteps, held
from fawkes.store.base import Reader

Points = list[tuple[float, float]]
"""Moments in seconds since the start of the run, and the value from each of them on."""
GapPoints = Sequence[tuple[float, float | None]]
"""The same, with None where from that moment on there is no value."""

#: of a line: more cannot be seen in a picture
_MOST_POINTS = 800


@dataclass(frozen=True, slots=True)
class Course:
    """The course of a run by the names of the MR-clusters, in the order of their arrival.

    ``nodes`` are those of each role, ``waiting`` are tasks, ``discrimination`` is D_i of each tick in share-seconds
    (section 4.1), None at ticks at which nothing was weighed. ``asked_s`` are the requests, ``moves_s`` the ticks that
    moved nodes.
    """

    nodes: Mapping[str, Mapping[str, Points]]
    waiting: Mapping[str, Points]
    discrimination: Mapping[str, GapPoints]
    asked_s: Mapping[str, float]
    moves_s: list[float]
    end_s: float

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON; ``Course(**values)`` is the same again."""
        return asdict(self)

    def frame(self) -> pd.DataFrame:
        """A row for each point: at_s, cluster, what (a role, waiting tasks, discrimination), value (NaN: none)."""
        rows: list[tuple[float, str, str, float]] = []
        for name, roles in self.nodes.items():
            waiting, discrimination = self.waiting.get(name, []), self.discrimination.get(name, [])
            lines: dict[str, GapPoints] = {**roles, "waiting tasks": waiting, "discrimination": discrimination}
            rows += [
                (at_s, name, what, nan if value is None else float(value))
                for what, points in lines.items()
                for at_s, value in points
            ]
        return pd.DataFrame(rows, columns=["at_s", "cluster", "what", "value"])


def course_of(store: Reader) -> Course:
    """The course of a store, with every point."""
    curves, start_us = held(store), history.first_us(store)
    waiting: dict[str, Points] = {}
    for entry in store.entries(kinds=(Sampled.__name__,)):
        if isinstance(entry.event, Sampled):
            for reading in entry.event.readings:
                if reading.tasks_waiting is not None:
                    at_s = (entry.event.at_us - start_us) / SECOND_US
                    waiting.setdefault(reading.cluster, []).append((at_s, float(reading.tasks_waiting)))
    discrimination: dict[str, list[tuple[float, float | None]]] = {}
    moves_s = []
    for tick in history.ticks(store):
        at_s = (tick.at_us - start_us) / SECOND_US
        for name, figures in tick.clusters.items():
            value = figures.get("discrimination")
            discrimination.setdefault(name, []).append((at_s, None if value is None else float(value)))
        if tick.moved:
            moves_s.append(at_s)
    return Course(
        nodes={name: {role: _points(curves, name, role) for role in ROLES} for name in curves.clusters},
        waiting=waiting,
        discrimination=discrimination,
        asked_s={state.id: (state.requested_us - start_us) / SECOND_US for state in history.clusters(store)},
        moves_s=moves_s,
        end_s=curves.end_s,
    )


def drawn(points: Points) -> Points:
    """The points that a picture shows: all, or the least and the most of each stretch where there are too many."""
    if len(points) <= _MOST_POINTS:
        return points
    size = ceil(2 * len(points) / _MOST_POINTS)
    shown = set[tuple[float, float]]()
    for first in range(0, len(points), size):
        stretch = points[first : first + size]
        shown |= {min(stretch, key=itemgetter(1)), max(stretch, key=itemgetter(1))}
    return sorted(shown)


def _points(curves: HeldSteps, name: str, role: str) -> Points:
    return [(at_s, float(nodes)) for at_s, nodes in zip(*curves.curve(name, role), strict=True)]
