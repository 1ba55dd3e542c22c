"""The course of a pool for the page, folded step by step: curves over time, moves with their reasons, the latest steps.

Each step is read once, and what is kept has a bound: of MR-clusters that are gone the newest are kept.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from fawkes.base.units import SECOND_US
from fawkes.core.preemption.account import Accounts
from fawkes.core.values.decision import Change, Decision, PutCluster, PutJob, PutNode
from fawkes.core.values.events import Sampled
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import ClusterId, ClusterLife, JobId, JobState, NodeId, NodeLife, NodeState
from fawkes.engine.ports import Entry
from fawkes.report.history import LEAVING, tick_of
from fawkes.report.tables.rows import Row, step_row

MOST_STEPS = 300
"""Steps with a decision that are shown, the newest."""
MOST_JOBS = 300
"""Jobs that have ended, the newest, and as many of those that have not."""
MOST_MOVES = 200
"""Ticks that moved nodes, the newest."""

MOST_ENDED = 100
"""MR-clusters that are gone, the newest."""
MOST_GONE = 60
"""Points of each curve of an MR-cluster that is gone: in a year there are many of them."""

#: figures of a tick that are drawn for each MR-cluster
_FIGURES = ("discrimination", "weight")
#: kinds of nodes of an MR-cluster that have no role, as in its row
_KINDS = {NodeLife.JOINING: "joining", NodeLife.LOST: "lost", **dict.fromkeys(LEAVING, "leaving")}
_SHOWN = ("step", "time", "kind", "what", "decided")


class PoolCourse:
    """The course of a pool so far."""

    def __init__(self) -> None:
        self.seq = 0
        self.start_us: int | None = None
        self.at_us = 0
        self.curves: dict[str, dict[str, Series]] = {}
        self.pool: dict[str, Series] = {"free": Series(), "out": Series(), "lost": Series()}
        self.moves: deque[Entry] = deque(maxlen=MOST_MOVES)
        self.steps: deque[Entry] = deque(maxlen=MOST_STEPS)
        self._rows: dict[int, Row] = {}
        self._gone: dict[ClusterId, None] = {}
        self.job_count = 0
        self._jobs: dict[JobId, JobState] = {}
        self._ended_jobs: deque[JobState] = deque(maxlen=MOST_JOBS)
        self._nodes: dict[NodeId, tuple[str, str]] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self.waste = Accounts()

    def follow(self, entry: Entry) -> None:
        """One more step; each has to come once, in the order of the ledger."""
        self.seq, self.at_us = entry.seq, max(self.at_us, entry.event.at_us)
        if self.start_us is None:
            self.start_us = entry.event.at_us
        at_us = self.at_us
        self.waste.follow(entry.event, entry.decision.reasons)
        touched: dict[tuple[str, str], None] = {}
        for change in entry.decision.changes:
            touched |= dict.fromkeys(self._changed(change, at_us))
        for owner, role in touched:
            curves = self._of(owner) if owner else self.pool
            curves.setdefault(role, Series()).add(at_us, float(self._counts[owner, role]))
        if isinstance(entry.event, Sampled):
            for reading in entry.event.readings:
                waiting = None if reading.error else reading.tasks_waiting
                self._of(reading.cluster)["waiting"].add(at_us, None if waiting is None else float(waiting))
        # Of a large pool a step may have changed hundreds of nodes, and no row says which.
        kept = Entry(entry.seq, entry.event, Decision(reasons=entry.decision.reasons))
        self._tick(kept)
        if kept.decision.reasons:
            self.steps.append(kept)

    def plain(self) -> dict[str, Any]:
        """The curves as plain values for JSON, by MR-cluster in the order of their arrival, and of free nodes."""
        return {
            "seq": self.seq,
            "start_us": self.start_us,
            "end_s": 0.0 if self.start_us is None else self._s(self.at_us),
            "clusters": {name: self._plain(curves) for name, curves in self.curves.items()},
            "pool": self._plain(self.pool),
            "moves_s": [self._s(entry.event.at_us) for entry in self.moves],
        }

    def shown(self, entries: Iterable[Entry]) -> list[Row]:
        """The rows of steps, made once: of a long ledger only the newest get any."""
        kept = {entry.seq for entry in (*self.moves, *self.steps)}
        self._rows = {seq: row for seq, row in self._rows.items() if seq in kept}
        for entry in entries:
            if entry.seq not in self._rows:
                row, tick = step_row(entry), tick_of(entry)
                more = {} if tick is None else {"tick": tick.number}
                self._rows[entry.seq] = {**{key: row[key] for key in _SHOWN}, **more}
        return [self._rows[entry.seq] for entry in entries]

    def newest_jobs(self) -> list[JobState]:
        """The jobs that are shown: those that have ended by their end, then the others by their submission."""
        return [*self._ended_jobs, *list(self._jobs.values())[-MOST_JOBS:]]

    def _plain(self, curves: Mapping[str, Series]) -> dict[str, list[list[float | None]]]:
        return {what: curve.plain(self.start_us or 0) for what, curve in curves.items()}

    def _s(self, at_us: int) -> float:
        return (at_us - (self.start_us or 0)) / SECOND_US

    def _of(self, cluster: str) -> dict[str, Series]:
        return self.curves.setdefault(cluster, {"waiting": Series(), **{figure: Series() for figure in _FIGURES}})

    def _changed(self, change: Change, at_us: int) -> list[tuple[str, str]]:
        """The kinds of nodes of which there are others by a change."""
        match change:
            case PutNode():
                return self._moved(change.state)
            case PutCluster():
                self._gone.pop(change.state.id, None)
                if change.state.life is not ClusterLife.GONE:
                    return []
                self._gone[change.state.id] = None
                for what in ("waiting", *_FIGURES):
                    self._of(change.state.id)[what].add(at_us, None)
                for curve in self._of(change.state.id).values():
                    curve.bound(MOST_GONE)
                if len(self._gone) > MOST_ENDED:
                    oldest = next(iter(self._gone))
                    del self._gone[oldest], self.curves[oldest]
                    self.waste.forget(oldest)
            case PutJob():
                self._job(change.state)
        return []

    def _job(self, state: JobState) -> None:
        self.job_count += state.id not in self._jobs
        if state.life not in ENDED_JOBS:
            self._jobs[state.id] = state
            return
        self._jobs.pop(state.id, None)
        self._ended_jobs.append(state)
        self.waste.end(state.id)

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

    def _tick(self, entry: Entry) -> None:
        if (tick := tick_of(entry)) is None:
            return
        for name, figures in tick.clusters.items():
            for figure in _FIGURES:
                value = figures.get(figure)
                self._of(name)[figure].add(self.at_us, None if value is None else float(value))
        if tick.moved:
            self.moves.append(entry)


def _kind(state: NodeState) -> tuple[str, str]:
    """The owner of a node, and its role in service or how else it is; nobody's node is free, out or lost."""
    if state.owner is None or state.role is None:
        return "", state.life.value
    return state.owner, _KINDS.get(state.life, state.role.value)


# --- Series of bounded length: the course of a number over a week takes no more room than that of an hour


Point = tuple[int, float | None]
"""A moment (us) and the value from then on; None: not known from then on."""


class Series:
    """A step function that keeps at most ``most`` points.

    When it is full, its time is divided into ever wider spans, and of each the first, last, lowest and highest point
    are kept, and the first without a value. So no peak and no gap is lost. The result depends on the points alone,
    not on how many came at once.
    """

    def __init__(self, most: int = 1_200) -> None:
        self._most = most
        self._span_us = 1
        self.points: list[Point] = []

    def add(self, at_us: int, value: float | None) -> None:
        """Add a value from a moment on; the same value again, and None before the first value, is no news."""
        if self.points:
            last_us, last = self.points[-1]
            if value == last:
                return
            if last_us == at_us:
                self.points.pop()
        elif value is None:
            return
        self.points.append((at_us, value))
        self.bound(self._most)

    def bound(self, most: int) -> None:
        """Keep at most so many points from now on."""
        self._most = most
        while len(self.points) > most:
            self._thin()

    @property
    def values(self) -> list[float | None]:
        """The values of the points."""
        return [value for _, value in self.points]

    def plain(self, start_us: int) -> list[list[float | None]]:
        """Moments, in seconds since ``start_us``, and values, for JSON."""
        return [[(at_us - start_us) / SECOND_US for at_us, _ in self.points], self.values]

    def _thin(self) -> None:
        self._span_us *= 2
        spans = groupby(self.points, key=lambda point: point[0] // self._span_us)
        self.points = [point for _, span in spans for point in _kept(list(span))]


def _kept(points: list[Point]) -> list[Point]:
    """The points of one span that a picture cannot do without."""
    known = [index for index, (_, value) in enumerate(points) if value is not None]
    kept = {0, len(points) - 1}
    if known:
        kept |= {
            min(known, key=lambda index: points[index][1] or 0.0),
            max(known, key=lambda index: points[index][1] or 0.0),
        }
    gaps = [index for index, (_, value) in enumerate(points) if value is None]
    return [points[index] for index in sorted(kept | set(gaps[:1]))]
