"""Nodes of the MR-clusters over time, from a row."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Curve:
    """A step function of time in seconds; 0 before the first step."""

    times: tuple[float, ...]
    values: tuple[float, ...]

    def at(self, moment: float) -> float:
        """Its value at a moment."""
        place = bisect_right(self.times, moment)
        return self.values[place - 1] if place else 0.0

    def first(self, holds: Callable[[float], bool], after: float = 0.0) -> float | None:
        """The first moment not before ``after`` with such a value; None when there is none."""
        if holds(self.at(after)):
            return after
        steps = zip(self.times, self.values, strict=True)
        return next((moment for moment, value in steps if moment > after and holds(value)), None)

    def most(self) -> float:
        """Its largest value."""
        return max(self.values, default=0.0)


def curves(row: Mapping[str, Any]) -> dict[str, Curve]:
    """The nodes of each MR-cluster, all roles together, of a row with its course."""
    return {name: _total(roles.values()) for name, roles in row["course"]["nodes"].items()}


def _total(parts: Iterable[Sequence[tuple[float, float]]]) -> Curve:
    steps = [Curve(tuple(at for at, _ in points), tuple(value for _, value in points)) for points in parts]
    times = sorted({at for step in steps for at in step.times})
    return Curve(tuple(times), tuple(sum(step.at(at) for step in steps) for at in times))
