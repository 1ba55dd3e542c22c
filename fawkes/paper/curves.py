"""Nodes of the MR-clusters over time, from a row."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
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
    """The nodes of each MR-cluster, all roles together."""
    now: dict[tuple[str, str], float] = {}
    found: dict[str, tuple[list[float], list[float]]] = {}
    for at_s, cluster, role, nodes in row["nodes"]:
        if not cluster:
            continue
        now[cluster, role] = nodes
        times, values = found.setdefault(cluster, ([], []))
        total = sum(count for (name, _), count in now.items() if name == cluster)
        if times and times[-1] == at_s:
            values[-1] = total
        else:
            times.append(at_s)
            values.append(total)
    return {name: Curve(tuple(times), tuple(values)) for name, (times, values) in found.items()}
