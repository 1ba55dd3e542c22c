"""The nodes that each MR-cluster held over time, as step functions."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from fawkes.base.units import SECOND_US
from fawkes.core.values.model import NodeState, Role
from fawkes.report import history
from fawkes.store.base import Reader

#: from the bottom of a picture to its top
ROLES = (Role.CORE.value, Role.TRANSIENT_CORE.value, Role.TRANSIENT.value)


class PictureStep(NamedTuple):
    """A step: from this moment on (seconds since the first step of the store) so many nodes are of this kind.

    ``cluster`` is empty for nodes of nobody; ``role`` is then how they stand: free, out, lost.
    """

    at_s: float
    cluster: str
    role: str
    nodes: int


@dataclass(frozen=True, slots=True)
class HeldSteps:
    """All step functions of a store, with the names of its MR-clusters by arrival and the time of its last step."""

    steps: tuple[PictureStep, ...]
    clusters: tuple[str, ...]
    end_s: float

    def curve(self, cluster: str, role: str) -> tuple[list[float], list[int]]:
        """One step function: moments, and the number from each of them on; it begins with 0 nodes at 0 s."""
        steps = [step for step in self.steps if (step.cluster, step.role) == (cluster, role)]
        return [0.0, *(step.at_s for step in steps)], [0, *(step.nodes for step in steps)]

    def most(self) -> int:
        """The most nodes that one MR-cluster ever held."""
        totals: Counter[str] = Counter()
        counts: Counter[tuple[str, str]] = Counter()
        most = 0
        for step in self.steps:
            totals[step.cluster] += step.nodes - counts[step.cluster, step.role]
            counts[step.cluster, step.role] = step.nodes
            most = max(most, totals[step.cluster] if step.cluster else 0)
        return most


def held(store: Reader) -> HeldSteps:
    """The step functions of a store."""
    start_us = history.first_us(store)
    counts: Counter[tuple[str, str]] = Counter()
    known: dict[tuple[str, str], int] = {}
    steps: list[PictureStep] = []
    for at_us, changes in groupby(history.node_changes(store), key=lambda change: change.at_us):
        for change in changes:
            if change.old is not None:
                counts[_kind(change.old)] -= 1
            counts[_kind(change.new)] += 1
        news = {kind: count for kind, count in sorted(counts.items()) if known.get(kind, 0) != count}
        steps += [PictureStep((at_us - start_us) / SECOND_US, *kind, count) for kind, count in news.items()]
        known.update(news)
    names = tuple(cluster.id for cluster in history.clusters(store))
    return HeldSteps(tuple(steps), names, (history.last_us(store) - start_us) / SECOND_US)


def totals(curves: HeldSteps) -> dict[str, list[tuple[float, int]]]:
    """The nodes of each MR-cluster, of all roles together: moments (seconds), and the number from each of them on.

    Each begins with 0 nodes at 0 s and ends with the last step of the store.
    """
    counts: Counter[tuple[str, str]] = Counter()
    sums: dict[str, list[tuple[float, int]]] = {name: [(0.0, 0)] for name in curves.clusters}
    for step in curves.steps:
        if not step.cluster:
            continue
        points = sums[step.cluster]
        now = points[-1][1] + step.nodes - counts[step.cluster, step.role]
        counts[step.cluster, step.role] = step.nodes
        if points[-1][0] == step.at_s:
            points.pop()
        points.append((step.at_s, now))
    return {name: [*points, (curves.end_s, points[-1][1])] for name, points in sums.items()}


def value_at(curve: tuple[list[float], list[int]], at_s: float) -> int:
    """The value of a step function at a moment."""
    return curve[1][max(0, bisect_right(curve[0], at_s) - 1)]


def _kind(state: NodeState) -> tuple[str, str]:
    if state.owner is None:
        return "", state.life.value
    return state.owner, str(state.role)
