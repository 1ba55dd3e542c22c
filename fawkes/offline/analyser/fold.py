"""Counting evictions and preemptions: batches of columns are folded into a state, and the state into totals.

The state holds the events of the latest five seconds, the running tasks, and a count for each task that was evicted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Mask = NDArray[np.bool_]

SUBMIT, SCHEDULE, EVICT, FAIL, FINISH, KILL, LOST = range(7)
KINDS: Final = (
    "submit", "schedule", "evict", "fail", "finish", "kill", "lost", "update pending", "update running"
)  # fmt: skip
WINDOW_US: Final = 5_000_000
HOUR_US: Final = 3_600_000_000
PRIORITIES: Final = 64
CLASSES: Final = 4
GROUPS: Final = PRIORITIES * CLASSES
"""A group is a priority and a scheduling class in one number: ``CLASSES * priority + class``."""
NOWHERE: Final = -1
"""The machine of an event that names none."""


class EventRows(NamedTuple):
    """Events as columns, by time; events of the same time are in the order of the log."""

    time_us: Ints
    task: Ints
    machine: Ints
    kind: NDArray[np.int8]
    group: NDArray[np.int16]
    cpu: NDArray[np.float32]

    def take(self, which: Mask | Ints | slice) -> EventRows:
        """These rows alone."""
        return EventRows._make(column[which] for column in self)


def joined(*parts: EventRows) -> EventRows:
    """Rows behind one another."""
    return EventRows._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


def no_rows() -> EventRows:
    """Columns without events."""
    forms = (np.int64, np.int64, np.int64, np.int8, np.int16, np.float32)
    return EventRows._make(np.empty(0, form) for form in forms)


class Repeats(NamedTuple):
    """Tasks that were evicted, by number, with their evictions and preemptions so far."""

    task: Ints
    evictions: NDArray[np.int32]
    preemptions: NDArray[np.int32]


@dataclass(frozen=True)
class Totals:
    """Sums over events; arrays have a place for each group.

    ``events`` has a row for each kind of event. CPU times are cores times microseconds. ``unmeasured`` are attempts
    whose time or CPU request is not known, with a row each for all, evicted and preempted ones. ``hours`` has
    schedules, evictions, preemptions and evictions that are undecided.
    """

    events: Ints
    preemptions: Ints
    undecided: Ints
    unmeasured: Ints
    used: Reals
    evicted_cpu: Reals
    preempted_cpu: Reals
    hours: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class FoldState:
    """Everything that later events need: events of the latest five seconds, running tasks, evicted tasks, sums."""

    recent: EventRows
    running: EventRows
    repeats: Repeats
    totals: Totals


def start() -> FoldState:
    """The state before the first event."""
    count, cpu = np.zeros(GROUPS, np.int64), np.zeros(GROUPS)
    totals = Totals(np.zeros((len(KINDS), GROUPS), np.int64), count, count, np.stack([count] * 3), cpu, cpu, cpu)
    repeats = Repeats(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
    return FoldState(no_rows(), no_rows(), repeats, totals)


def fold(state: FoldState, rows: EventRows) -> FoldState:
    """The state after further events, none of which is earlier than the latest one before."""
    cells = rows.kind.astype(np.int64) * GROUPS + rows.group
    events = np.bincount(cells, minlength=len(KINDS) * GROUPS).reshape(len(KINDS), GROUPS)
    state = replace(state, totals=replace(state.totals, events=state.totals.events + events))
    there = joined(state.recent, rows.take((rows.kind >= SCHEDULE) & (rows.kind <= LOST)))
    # Events without an end of a task move the time as well.
    latest = max([int(each.time_us[-1]) for each in (there, rows) if len(each.time_us)], default=0)
    return _settle(state, there, latest, int(np.searchsorted(there.time_us, latest - WINDOW_US)))


def finish(state: FoldState, latest_us: int) -> FoldState:
    """The state after the last event, at ``latest_us``: no event waits, and running tasks have used their time."""
    ended = _settle(state, state.recent, latest_us, len(state.recent.time_us))
    running = ended.running
    cpu = (latest_us - running.time_us) * running.cpu.astype(float)
    measured = (running.time_us > 0) & ~np.isnan(cpu)
    unmeasured = ended.totals.unmeasured.copy()
    unmeasured[0] += _count(running.group, ~measured)
    used = ended.totals.used + _sum(running.group, measured, cpu)
    return replace(ended, totals=replace(ended.totals, used=used, unmeasured=unmeasured))


def _settle(state: FoldState, there: EventRows, latest_us: int, count: int) -> FoldState:
    """Account for the first ``count`` events; those behind them may decide on these, and wait themselves."""
    known = there.take(slice(count))
    evicted = np.flatnonzero(known.kind == EVICT)
    victims = known.take(evicted)
    preempted, undecided = np.zeros((2, count), bool)
    preempted[evicted] = _preempted(victims, there)
    open_ = (victims.machine == NOWHERE) | (victims.time_us + WINDOW_US >= latest_us)
    undecided[evicted] = open_ & ~preempted[evicted]
    running, attempts = _attempts(state.running, known, preempted)
    old = state.totals
    totals = replace(
        old,
        preemptions=old.preemptions + _count(known.group, preempted),
        undecided=old.undecided + _count(known.group, undecided),
        unmeasured=old.unmeasured + attempts.unmeasured,
        used=old.used + attempts.used,
        evicted_cpu=old.evicted_cpu + attempts.evicted_cpu,
        preempted_cpu=old.preempted_cpu + attempts.preempted_cpu,
        hours=_hours(old.hours, known, preempted, undecided),
    )
    repeats = _repeated(state.repeats, victims.task, preempted[evicted])
    return FoldState(there.take(slice(count, None)), running, repeats, totals)


def _preempted(victims: EventRows, there: EventRows) -> Mask:
    """True for each eviction that is followed by a task of higher priority on its machine, within the window."""
    preempted = np.zeros(len(victims.task), bool)
    machines = np.unique(victims.machine)
    at = np.flatnonzero((there.kind == SCHEDULE) & (there.machine != NOWHERE))
    place = np.minimum(np.searchsorted(machines, there.machine[at]), len(machines) - 1)
    if not len(machines):
        return preempted
    here = machines[place] == there.machine[at]
    at, place = at[here], place[here]
    # A code orders schedules by machine, then by their place in the log, which is an order by time too.
    size = len(there.time_us) + 1
    codes = place * size + at
    order = np.argsort(codes)
    codes, priority = codes[order], there.group[at[order]] // CLASSES
    base = np.searchsorted(machines, victims.machine) * size
    first = base + np.searchsorted(there.time_us, victims.time_us)
    behind = base + np.searchsorted(there.time_us, victims.time_us + WINDOW_US, side="right")
    levels = victims.group // CLASSES
    for level in np.unique(levels):
        which, higher = levels == level, codes[priority > level]
        preempted[which] = np.searchsorted(higher, behind[which]) > np.searchsorted(higher, first[which])
    return preempted


class _Attempts(NamedTuple):
    unmeasured: Ints
    used: Reals
    evicted_cpu: Reals
    preempted_cpu: Reals


def _attempts(running: EventRows, known: EventRows, preempted: Mask) -> tuple[EventRows, _Attempts]:
    """The tasks that run after these events, and the CPU time of the attempts that ended."""
    both = joined(running, known)
    marks = np.concatenate([np.zeros(len(running.task), bool), preempted])
    order = np.argsort(both.task, kind="stable")
    task, kind, since = both.task[order], both.kind[order], both.time_us[order]
    same = task[1:] == task[:-1]
    last = np.append(~same, True)[: len(task)]
    ends = np.flatnonzero(kind != SCHEDULE)
    begun = (ends > 0) & (kind[ends - 1] == SCHEDULE)
    begun[begun] = same[ends[begun] - 1]
    at = order[ends]
    group, marks = both.group[at], marks[at]
    cpu = (since[ends] - since[ends - 1]) * both.cpu[at].astype(float)
    measured = begun & (since[ends - 1] > 0) & ~np.isnan(cpu)
    evicted = kind[ends] == EVICT
    lacks = np.flatnonzero(~measured)
    at, ended = at[lacks], kind[ends[lacks]]
    # Only a task that waits ends without having run: it is on no machine, and is neither evicted nor finished.
    ran = begun[lacks] | (ended == EVICT) | (ended == FINISH) | (both.machine[at] != NOWHERE)
    # Where a task is scheduled again, the end of the attempt before is not in the log.
    lost = order[:-1][same & (kind[:-1] == SCHEDULE) & (kind[1:] == SCHEDULE)]
    unmeasured = [_count(both.group[at], which) for which in (ran, ended == EVICT, marks[lacks])]
    unmeasured[0] += np.bincount(both.group[lost], minlength=GROUPS)
    sums = _Attempts(
        unmeasured=np.stack(unmeasured),
        used=_sum(group, measured, cpu),
        evicted_cpu=_sum(group, measured & evicted, cpu),
        preempted_cpu=_sum(group, measured & marks, cpu),
    )
    return both.take(order[last & (kind == SCHEDULE)]), sums


def _repeated(before: Repeats, task: Ints, preempted: Mask) -> Repeats:
    """The counts of evicted tasks after further evictions."""
    tasks, place = np.unique(task, return_inverse=True)
    evictions = np.bincount(place, minlength=len(tasks)).astype(np.int32)
    preemptions = np.bincount(place, preempted, minlength=len(tasks)).astype(np.int32)
    at = np.searchsorted(before.task, tasks)
    old = at < len(before.task)
    old[old] = before.task[at[old]] == tasks[old]
    counted = (before.evictions.copy(), before.preemptions.copy())
    for counts, more in zip(counted, (evictions, preemptions), strict=True):
        counts[at[old]] += more[old]
    new, where = ~old, at[~old]
    return Repeats(
        np.insert(before.task, where, tasks[new]),
        np.insert(counted[0], where, evictions[new]),
        np.insert(counted[1], where, preemptions[new]),
    )


def _hours(before: Mapping[int, tuple[int, ...]], known: EventRows, *marks: Mask) -> dict[int, tuple[int, ...]]:
    hour = known.time_us // HOUR_US
    firsts = np.flatnonzero(np.diff(hour, prepend=-1))
    after = dict(before)
    if not len(firsts):
        return after
    counted = (known.kind == SCHEDULE, known.kind == EVICT, *marks)
    sums = np.stack([np.add.reduceat(mark.astype(np.int64), firsts) for mark in counted], axis=1)
    for name, more in zip(hour[firsts].tolist(), sums.tolist(), strict=True):
        after[name] = tuple(map(sum, zip(after.get(name, (0,) * len(more)), more, strict=True)))
    return after


def _count(group: NDArray[np.int16], which: Mask) -> Ints:
    return np.bincount(group[which], minlength=GROUPS)


def _sum(group: NDArray[np.int16], which: Mask, values: Reals) -> Reals:
    return np.bincount(group[which], values[which], minlength=GROUPS).astype(np.float64)
