"""The course of a pool for the page, folded step by step: curves over time, moves with their reasons, the latest steps.

Each step is read once, and what is kept has a bound: a week of a large pool takes no more room than an hour.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from fawkes.base.units import SECOND_US
from fawkes.core.values.decision import Change, PutCluster, PutJob, PutNode
from fawkes.core.values.events import Sampled
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import ClusterLife, NodeId, NodeState
from fawkes.engine.ports import Entry
from fawkes.report.history import LEAVING, tick_of
from fawkes.report.tables.rows import Row, step_row

MOST_POINTS = 600
"""Points of a curve that are left after it was thinned out; it has at most twice as many."""
MOST_STEPS = 300
"""Steps with a decision that are shown, the newest."""
MOST_MOVES = 200
"""Ticks that moved nodes, the newest."""

#: figures of a tick that are drawn for each MR-cluster
_FIGURES = ("discrimination", "weight")
_SHOWN = ("step", "time", "kind", "what", "decided")


@dataclass(slots=True)
class Curve:
    """A step function: moments in seconds since the first step, and the value from each of them on; None: not known."""

    at_s: list[float] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)

    def add(self, at_s: float, value: float | None) -> None:
        """The value from a moment on. A long curve gets coarser where it is old, and stays whole where it is new."""
        if self.at_s and self.at_s[-1] == at_s:
            self.values[-1] = value
        elif not self.values or self.values[-1] != value:
            self.at_s.append(at_s)
            self.values.append(value)
        if len(self.at_s) > 2 * MOST_POINTS:
            older = slice(1, len(self.at_s) // 2, 2)
            del self.at_s[older], self.values[older]

    def plain(self) -> list[list[float | None]]:
        """Moments and values, for JSON."""
        return [list(self.at_s), self.values]


class Course:
    """The course of a pool so far."""

    def __init__(self) -> None:
        self.seq = 0
        self.start_us: int | None = None
        self.at_us = 0
        self.curves: dict[str, dict[str, Curve]] = {}
        self.pool: dict[str, Curve] = {"free": Curve(), "out": Curve(), "lost": Curve()}
        self.moves: deque[Row] = deque(maxlen=MOST_MOVES)
        self.steps: deque[Row] = deque(maxlen=MOST_STEPS)
        self.moved: Counter[str] = Counter()
        self.ended: Counter[tuple[str, str]] = Counter()
        self.ticks = 0
        self._nodes: dict[NodeId, tuple[str, str]] = {}
        self._counts: Counter[tuple[str, str]] = Counter()

    def follow(self, entry: Entry) -> None:
        """One more step; each has to come once, in the order of the ledger."""
        self.seq, self.at_us = entry.seq, max(self.at_us, entry.event.at_us)
        if self.start_us is None:
            self.start_us = entry.event.at_us
        at_s = self._s(self.at_us)
        touched: dict[tuple[str, str], None] = {}
        for change in entry.decision.changes:
            touched |= dict.fromkeys(self._changed(change, at_s))
        for owner, role in touched:
            curves = self._of(owner) if owner else self.pool
            curves.setdefault(role, Curve()).add(at_s, float(self._counts[owner, role]))
        if isinstance(entry.event, Sampled):
            for reading in entry.event.readings:
                waiting = None if reading.error else reading.tasks_waiting
                self._of(reading.cluster)["waiting"].add(at_s, None if waiting is None else float(waiting))
        self._tick(entry, at_s)
        if entry.decision.reasons:
            row = step_row(entry)
            self.steps.append({key: row[key] for key in _SHOWN})

    def plain(self) -> dict[str, Any]:
        """The curves as plain values for JSON, by MR-cluster in the order of their arrival, and of free nodes."""
        return {
            "seq": self.seq,
            "start_us": self.start_us,
            "end_s": 0.0 if self.start_us is None else self._s(self.at_us),
            "clusters": {
                name: {what: curve.plain() for what, curve in curves.items()} for name, curves in self.curves.items()
            },
            "pool": {what: curve.plain() for what, curve in self.pool.items()},
            "moves_s": [row["at_s"] for row in self.moves],
        }

    def _s(self, at_us: int) -> float:
        return (at_us - (self.start_us or 0)) / SECOND_US

    def _of(self, cluster: str) -> dict[str, Curve]:
        return self.curves.setdefault(cluster, {"waiting": Curve(), **{figure: Curve() for figure in _FIGURES}})

    def _changed(self, change: Change, at_s: float) -> list[tuple[str, str]]:
        """The kinds of nodes of which there are others by a change."""
        match change:
            case PutNode():
                return self._moved(change.state)
            case PutCluster() if change.state.life is ClusterLife.GONE:
                for what in ("waiting", *_FIGURES):
                    self._of(change.state.id)[what].add(at_s, None)
            case PutJob() if change.state.life in ENDED_JOBS:
                self.ended[change.state.cluster, change.state.life.value] += 1
        return []

    def _moved(self, state: NodeState) -> list[tuple[str, str]]:
        """The kinds of nodes of which there are others now."""
        old, new = self._nodes.get(state.node.id), _kind(state)
        if old == new:
            return []
        self._nodes[state.node.id] = new
        self._counts[new] += 1
        if old is None:
            return [new]
        self._counts[old] -= 1
        return [old, new]

    def _tick(self, entry: Entry, at_s: float) -> None:
        for reason in entry.decision.reasons:
            if reason.code in ("grow", "shrink"):
                self.moved[reason.code] += 1
        if (tick := tick_of(entry)) is None:
            return
        self.ticks += 1
        for name, figures in tick.clusters.items():
            for figure in _FIGURES:
                value = figures.get(figure)
                self._of(name)[figure].add(at_s, None if value is None else float(value))
        if tick.moved:
            row = step_row(entry)
            self.moves.append({"at_s": at_s, "tick": tick.number, **{key: row[key] for key in _SHOWN}})


def _kind(state: NodeState) -> tuple[str, str]:
    """The owner of a node, and its role or how it leaves; nobody's node is free, out or lost."""
    if state.owner is None or state.role is None:
        return "", state.life.value
    return state.owner, "leaving" if state.life in LEAVING else state.role.value
