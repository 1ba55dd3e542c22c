"""Logs of task events with known figures: by default those of Tables 1, 2, 4 and 5 of Li's thesis, and its repeats.

Evictions that are preemptions get a task of higher priority on their machine within five seconds. The others happen on
machines that have tasks of the same priority alone, and tasks of higher priority that come too late.
"""

from __future__ import annotations

import gzip
import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from fawkes.offline.analyser.fold import (
    CLASSES,
    EVICT,
    FAIL,
    FINISH,
    KILL,
    LOST,
    SCHEDULE,
    SUBMIT,
    WINDOW_US,
    Ints,
    Mask,
    Reals,
)  # fmt: skip
from fawkes.offline.analyser.machines import TASK_EVENTS, write_machines
from fawkes.workload.seeds import rng

_SECOND: Final = 1_000_000
_FIRST_US: Final = 600 * _SECOND
_MARGIN_US: Final = 20 * _SECOND
_LATE_US: Final = 2 * _SECOND
_LONG: Final = 10
_REQUESTS: Final = np.array([0.0125, 0.025, 0.03, 0.0625, 0.07, 0.125])
_USERS: Final = 900
_JOB, _PART_JOBS, _JOB_TASKS = 3_418_000_000, 1_000_000, 1_000
_UPDATE_PENDING, _UPDATE_RUNNING = 7, 8


@dataclass(frozen=True)
class Law:
    """The figures of a log; ``shares`` are of schedules, ``rates`` evictions per schedule, others per schedule too.

    ``again`` are a and b of the Beta law of being evicted again, ``most`` the most evictions of a task. ``preempted``
    is the part of evictions that the rule should find; it is smaller when tasks of higher priority are few.
    """

    shares: tuple[float, ...]
    rates: tuple[float, ...]
    class_shares: tuple[float, ...]
    class_rates: tuple[float, ...]
    ends: tuple[float, float, float, float] = (13.83, 18.22, 9.432, 0.008)
    """Parts of fail, finish, kill and lost among the attempts that are not evicted."""
    killed_waiting: float = 0.918 / 47.35
    submitted: float = 0.032 / 47.35
    updates: tuple[float, float] = (0.008 / 47.35, 0.64 / 47.35)
    preempted: float = 0.93
    again: tuple[float, float] = (0.342, 0.444)
    most: int = 100
    machines: int = 12_583
    span_s: float = 29 * 86_400.0
    run_s: float = 600.0


_BANDS: Final = ((28.4, 20.26, 2), (17.3, 0.55, 7), (1.7, 1.02, 3))
LI: Final = Law(
    shares=tuple(tasks / count for tasks, _, count in _BANDS for _ in range(count)),
    rates=tuple(percent / 100 for _, percent, count in _BANDS for _ in range(count)),
    class_shares=(37.4, 5.94, 3.70, 0.28),
    class_rates=(0.1176, 0.1887, 0.0814, 0.1480),
)
"""Tables 2, 4 and 5; priorities of a band are alike."""


@dataclass
class Truth:
    """The figures of a log that was made; arrays have a row for each priority and a column for each class."""

    schedules: Ints
    evictions: Ints
    preemptions: Ints
    events: Ints = field(default_factory=lambda: np.zeros(9, np.int64))
    #: tasks by how often they were evicted, and preempted
    evicted_times: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    preempted_times: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    #: machines by platform, CPU and memory
    machines: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    used_cpu_us: float = 0.0
    evicted_cpu_us: float = 0.0
    preempted_cpu_us: float = 0.0


class _Attempts(NamedTuple):
    """Attempts as columns; ``task`` are numbers within the part, ``late`` marks near misses of the rule."""

    task: Ints
    priority: Ints
    kind: Ints
    submit_us: Ints
    begin_us: Ints
    end_us: Ints
    machine: Ints
    preempted: Mask


def make(folder: Path, law: Law = LI, *, schedules: int = 1_000_000, parts: int = 10, seed: int = 1) -> Truth:
    """Write a log into ``task_events`` and ``machine_events`` of a folder that is new or empty; return its figures.

    ``schedules`` are so many in all; there are three times as many events. The same seed makes the same log.
    """
    events = folder / TASK_EVENTS
    events.mkdir(parents=True)
    shape = (len(law.shares), CLASSES)
    truth = Truth(np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64))
    machines = rng(seed, "machine events").getrandbits(64)
    truth.machines = write_machines(folder, law.machines, np.random.default_rng(machines))
    window_us = int(law.span_s * _SECOND) // parts
    for part in range(parts):
        chance = np.random.default_rng(rng(seed, "task events", str(part)).getrandbits(64))
        begin_us = _FIRST_US + part * window_us
        count = schedules * (part + 1) // parts - schedules * part // parts
        table = _part(law, count, (begin_us, begin_us + window_us), part, chance, truth)
        _write(events / f"part-{part:05}-of-{parts:05}.csv.gz", table)
    return truth


def _part(
    law: Law, schedules: int, window: tuple[int, int], part: int, chance: np.random.Generator, truth: Truth
) -> pa.Table:
    shares = np.outer(np.divide(law.shares, sum(law.shares)), np.divide(law.class_shares, sum(law.class_shares)))
    factor = np.outer(law.rates, law.class_rates)
    factor *= np.sum(shares.sum(axis=1) * law.rates) / np.sum(shares * factor)
    placed = _whole(shares * schedules, chance)
    evicted = np.minimum(_whole(shares * schedules * factor, chance), placed // 2)
    owner, times = _shared(evicted.ravel(), law, chance)
    chains = np.bincount(owner, minlength=placed.size).reshape(placed.shape)
    single = placed - evicted - chains
    waiting = _whole(shares * schedules * law.killed_waiting, chance)
    left = _whole(shares * schedules * law.submitted, chance)
    cells = np.arange(placed.size)
    cell = np.concatenate([np.repeat(cells, count.ravel()) for count in (chains, single, waiting, left)])
    request = chance.choice(_REQUESTS, len(cell))
    chained = _chained(times, cell // CLASSES, law, window, chance)
    first = int(chains.sum())
    singles = _singles(first, cell[first : first + int(single.sum())] // CLASSES, law, window, chance)
    _match(chained, singles, law, chance)
    attempts = _Attempts(*(np.concatenate(pair) for pair in zip(chained, singles, strict=True)))
    others = attempts.kind != EVICT
    attempts.kind[others] = chance.permutation(
        np.repeat((FAIL, FINISH, KILL, LOST), _whole(np.array(law.ends) / sum(law.ends) * others.sum(), chance))
    )
    _account(truth, attempts, cell, first)
    return _table(attempts, cell, request, (int(waiting.sum()), int(left.sum())), law, window, part, chance, truth)


def _whole(values: Reals, chance: np.random.Generator) -> Ints:
    """Whole numbers with the same sum, and column by column nearly the same; parts of a log are rounded differently."""
    ends = np.floor(np.cumsum(values.T.ravel()) + chance.random() * 0.999).astype(np.int64)
    whole = np.diff(ends, prepend=0)
    whole[-1] += round(float(values.sum())) - int(whole.sum())
    return np.maximum(whole, 0).reshape(values.T.shape).T


def _shared(totals: Ints, law: Law, chance: np.random.Generator) -> tuple[Ints, Ints]:
    """The cell of each task that is evicted, and how often: cells have these totals, and all tasks follow the law.

    The longest go first, each to the cell that lacks most, so that single evictions fill what is left.
    """
    lacks = [(-int(total), cell) for cell, total in enumerate(totals) if total]
    heapq.heapify(lacks)
    tasks: list[tuple[int, int]] = []
    drawn = np.sort(_times(-sum(lack for lack, _ in lacks), law, chance)).tolist()
    while lacks:
        lack, cell = heapq.heappop(lacks)
        times = min(drawn.pop() if drawn else law.most, -lack)
        tasks.append((cell, times))
        if lack + times:
            heapq.heappush(lacks, (lack + times, cell))
    both: Ints = np.array(sorted(tasks), np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _times(total: int, law: Law, chance: np.random.Generator) -> Ints:
    """The evictions of each task: as near to the law as whole tasks can be, about ``total`` in all."""
    a, b = law.again
    before = np.arange(1, law.most)
    at_least = np.concatenate([[1.0], np.cumprod((a + before - 1) / (a + b + before - 1))])
    count = max(1, round(total / at_least.sum()))
    drawn = (np.arange(count) + chance.random()) / count
    times: Ints = np.searchsorted(np.cumsum(-np.diff(at_least, append=0.0))[:-1], drawn, side="right") + 1
    while (short := total - int(times.sum())) != 0:
        # Only tasks that are evicted often absorb the rest, so that shares of rare repeats stay as they are.
        able = np.flatnonzero((times > _LONG) & (times < law.most) if short > 0 else times > _LONG + 1)
        if not len(able):
            break
        times[able[: abs(short)]] += np.sign(short)
    return times.astype(np.int64)


def _chained(times: Ints, priority: Ints, law: Law, window: tuple[int, int], chance: np.random.Generator) -> _Attempts:
    """The attempts of tasks that are evicted: each but the last one of a task ends so."""
    count = times + 1
    task = np.repeat(np.arange(len(times)), count)
    ends = np.cumsum(count) - 1
    room = (window[1] - window[0] - 2 * _MARGIN_US) * 0.9
    wait = chance.integers(_SECOND // 2, 4 * _SECOND, len(task)).astype(float)
    run = chance.exponential(law.run_s * _SECOND, len(task)) + _SECOND
    whole = np.bincount(task, wait + run, minlength=len(times))
    fit = np.minimum(1.0, room / np.maximum(whole, 1.0))[task]
    step_end = np.cumsum((wait + run) * fit)
    base = np.concatenate([[0.0], step_end[ends[:-1]]]) if len(ends) else np.zeros(0)
    start = window[0] + chance.random(len(times)) * np.maximum(room - whole, 0)
    offset = (start - base)[task]
    end_us = (offset + step_end).astype(np.int64)
    first = np.zeros(len(task), bool)
    first[ends - times] = True
    submit_us = np.where(first, start[task].astype(np.int64), np.roll(end_us, 1))
    begin_us = np.minimum(submit_us + np.maximum((wait * fit).astype(np.int64), 1), end_us - 1)
    kind = np.full(len(task), EVICT)
    kind[ends] = FINISH
    nowhere = np.zeros(len(task), np.int64)
    return _Attempts(task, priority[task], kind, submit_us, begin_us, end_us, nowhere, np.zeros(len(task), bool))


def _singles(first: int, priority: Ints, law: Law, window: tuple[int, int], chance: np.random.Generator) -> _Attempts:
    """Tasks with one attempt each."""
    count = len(priority)
    begin_us = window[0] + _MARGIN_US + chance.integers(0, window[1] - window[0] - 2 * _MARGIN_US, count)
    end_us = begin_us + (chance.exponential(law.run_s * _SECOND, count)).astype(np.int64) + _SECOND
    machine = chance.integers(0, law.machines, count)
    task = first + np.arange(count)
    return _Attempts(task, priority, np.full(count, FINISH), begin_us, begin_us, end_us, machine, np.zeros(count, bool))


def _match(chained: _Attempts, singles: _Attempts, law: Law, chance: np.random.Generator) -> None:
    """Give each eviction its machine, and to most of them a task that preempts it."""
    loud = _quiet(law) * len(law.shares)
    chained.machine[:] = chance.integers(loud, law.machines, len(chained.machine))
    np.copyto(singles.machine, loud + singles.machine % (law.machines - loud))
    evicted = np.flatnonzero(chained.kind == EVICT)
    free = chance.permutation(len(singles.task))
    wanted = evicted[chance.permutation(len(evicted))[: round(law.preempted * len(evicted))]]
    for level in range(len(law.shares) - 1, -1, -1):
        victims = wanted[chained.priority[wanted] == level]
        able = np.flatnonzero(singles.priority[free] > level)[: len(victims)]
        victims, chosen = victims[: len(able)], free[able]
        after = chance.integers(0, WINDOW_US + 1, len(victims))
        edge = chance.random(len(victims))
        after = np.where(edge < 0.01, 0, np.where(edge > 0.99, WINDOW_US, after))
        _place(singles, chosen, chained, victims, after)
        chained.preempted[victims] = True
        free = np.delete(free, able)
        spared = evicted[(chained.priority[evicted] == level) & ~chained.preempted[evicted]]
        free = _near_misses(chained, spared, singles, free, law, chance)


def _quiet(law: Law) -> int:
    """The number of machines that each priority has for evictions that are no preemptions."""
    return max(1, law.machines // (16 * len(law.shares)))


def _near_misses(
    chained: _Attempts, spared: Ints, singles: _Attempts, free: Ints, law: Law, chance: np.random.Generator
) -> Ints:
    """Put these evictions on machines of their priority, with tasks of higher priority behind the window."""
    if not len(spared):
        return free
    level, quiet = int(chained.priority[spared[0]]), _quiet(law)
    spared = spared[np.argsort(chained.end_us[spared])]
    chained.machine[spared] = level * quiet + np.arange(len(spared)) % quiet
    end_us = chained.end_us[spared]
    # Where the next eviction on the machine is near, the late task would be in time for that one.
    alone = np.append(end_us[quiet:] - end_us[:-quiet] > WINDOW_US + 2 * _LATE_US, [True] * quiet)[: len(spared)]
    able = np.flatnonzero(singles.priority[free] > level)
    victims = spared[alone][: len(able) // 10]
    able = able[: len(victims)]
    after = WINDOW_US + 1 + chance.integers(0, _LATE_US, len(victims)) * (chance.random(len(victims)) > 0.2)
    _place(singles, free[able], chained, victims, after)
    return np.delete(free, able)


def _place(singles: _Attempts, chosen: Ints, chained: _Attempts, victims: Ints, after: Ints) -> None:
    run = singles.end_us[chosen] - singles.begin_us[chosen]
    singles.begin_us[chosen] = chained.end_us[victims] + after
    singles.end_us[chosen] = singles.begin_us[chosen] + run
    singles.machine[chosen] = chained.machine[victims]


def _account(truth: Truth, attempts: _Attempts, cell: Ints, chains: int) -> None:
    evicted = attempts.kind == EVICT
    groups = cell[attempts.task]
    shape, size = truth.schedules.shape, truth.schedules.size
    truth.schedules += np.bincount(groups, minlength=size).reshape(shape)
    truth.evictions += np.bincount(groups[evicted], minlength=size).reshape(shape)
    truth.preemptions += np.bincount(groups[attempts.preempted], minlength=size).reshape(shape)
    evicted_times = np.bincount(attempts.task[evicted], minlength=chains)
    preempted_times = np.bincount(attempts.task[attempts.preempted], minlength=chains)
    truth.evicted_times = _longer(truth.evicted_times, np.bincount(evicted_times))
    truth.preempted_times = _longer(truth.preempted_times, np.bincount(preempted_times))


def _longer(old: Ints, new: Ints) -> Ints:
    size = max(len(old), len(new))
    return np.pad(old, (0, size - len(old))) + np.pad(new, (0, size - len(new)))


def _table(
    attempts: _Attempts,
    cell: Ints,
    request: Reals,
    waiting: tuple[int, int],
    law: Law,
    window: tuple[int, int],
    part: int,
    chance: np.random.Generator,
    truth: Truth,
) -> pa.Table:
    """All events of a part, by time."""
    limit = window[1] - _SECOND
    end_us = np.where(attempts.kind == EVICT, attempts.end_us, np.minimum(attempts.end_us, limit))
    alone = attempts.submit_us == attempts.begin_us
    submit_us = np.where(alone, attempts.begin_us - chance.integers(1, 4 * _SECOND, len(alone)), attempts.submit_us)
    submit_us = np.maximum(submit_us, window[0])
    cpu = (end_us - attempts.begin_us) * request[attempts.task]
    truth.used_cpu_us += float(cpu.sum())
    truth.evicted_cpu_us += float(cpu[attempts.kind == EVICT].sum())
    truth.preempted_cpu_us += float(cpu[attempts.preempted].sum())
    count = len(attempts.task)
    never = np.arange(len(cell) - sum(waiting), len(cell))
    never_us = chance.integers(window[0], window[1] - _MARGIN_US, len(never))
    killed, killed_us = never[: waiting[0]], never_us[: waiting[0]] + _SECOND
    pending, running = (chance.choice(count, int(count * rate + chance.random())) for rate in law.updates)
    none = np.full(len(cell), -1)
    pieces: list[tuple[int | Ints, Ints, Ints, NDArray[np.int64]]] = [
        (attempts.kind, attempts.task, end_us, attempts.machine),
        (KILL, killed, killed_us, none),
        (SUBMIT, attempts.task, submit_us, none),
        (SUBMIT, never, never_us, none),
        (_UPDATE_PENDING, attempts.task[pending], submit_us[pending], none),
        (_UPDATE_RUNNING, attempts.task[running], end_us[running] - 1, attempts.machine[running]),
        (SCHEDULE, attempts.task, attempts.begin_us, attempts.machine),
    ]
    time_us = np.concatenate([when for _, _, when, _ in pieces])
    order = np.argsort(time_us, kind="stable")
    kind = np.concatenate([np.broadcast_to(each, len(task)) for each, task, _, _ in pieces])[order]
    task = np.concatenate([task for _, task, _, _ in pieces])[order]
    machine = np.concatenate([np.resize(where, len(task)) if len(task) else where[:0] for _, task, _, where in pieces])[
        order
    ]
    truth.events += np.bincount(kind, minlength=9)
    job = _JOB + part * _PART_JOBS + task // _JOB_TASKS
    names = pa.array([f"user{number:03}" for number in range(_USERS)])
    empty = pa.nulls(len(task), pa.string())
    zero = pa.array(np.zeros(len(task), np.int8))
    columns = [
        pa.array(time_us[order]), empty, pa.array(job), pa.array(task % _JOB_TASKS),
        pa.array(machine + 1, mask=machine < 0), pa.array(kind), names.take(pa.array(job % _USERS)),
        pa.array(cell[task] % CLASSES), pa.array(cell[task] // CLASSES), pa.array(request[task]),
        pa.array(request[task] / 2), pa.array(request[task] / 64), zero,
    ]  # fmt: skip
    return pa.table(columns, names=[str(number) for number in range(len(columns))])


def _write(path: Path, table: pa.Table) -> None:
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    with path.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=4, filename="", mtime=0) as out:
        target: Any = out
        csv.write_csv(table, target, options)
