"""The compiled pool: ends, late jobs, submissions and samples of an instant, then one pass of admission."""

from __future__ import annotations

from math import inf

import numpy as np

from fawkes.offline.studies.flat.compiled import layout
from fawkes.offline.studies.flat.compiled.heaps import push, remove
from fawkes.offline.studies.flat.compiled.layout import (
    ACTIVE,
    CAPACITY,
    FAIR,
    FILLING,
    FIRST,
    FREE,
    HORIZON,
    KILL_THRESHOLD,
    KILLS,
    KIND,
    LAST_IDLE,
    NEXT_DEADLINE,
    NEXT_JOB,
    ORACLE,
    PRIORITY,
    RUNNING,
    TOP_UP,
    WAITING,
    CompiledPool,
)
from fawkes.offline.studies.flat.compiled.meter import change, close, idle_changed, pass_until
from fawkes.offline.studies.flat.compiled.policies import in_bootstrap, learn, share_of, whole_cpus
from fawkes.offline.studies.flat.metrics import DROPPED, KILLED, MET, MISSED, OPEN, TOLERANCE_S
from fawkes.sim.hadoop.compiled.flows import compiled

_TTD, _FIFO = layout.PRIORITIES.index("ttd"), layout.PRIORITIES.index("fifo")


@compiled
def run(p: CompiledPool, count: int) -> None:
    """Everything, from the first submission until no job of so many is left."""
    capacity = int(p.s[CAPACITY])
    while True:
        now = _next(p, count)
        if now == inf:
            break
        free = p.n[FREE]
        pass_until(p.m, p.batches, now, free, capacity, False)
        changed = _end(p, now)
        changed = _kill(p, now, count) or changed
        changed = _submit(p, now, count) or changed
        pass_until(p.m, p.batches, now, p.n[FREE], capacity, True)
        if changed:
            _admit(p, now)
        if now <= p.m[HORIZON]:
            idle_changed(p.idle_since, p.idle_counts, now, free, p.n[FREE])
            p.n[LAST_IDLE] = p.n[FREE]
    close(p.m, p.idle_since, p.idle_counts, p.n[LAST_IDLE])


@compiled
def _next(p: CompiledPool, count: int) -> float:
    """The time when something happens next; infinite when nothing does."""
    now = inf
    if p.n[NEXT_JOB] < count:
        now = p.submit[p.n[NEXT_JOB]]
    if p.n[RUNNING]:
        now = min(now, p.finish[p.running[0]])
    while p.n[NEXT_DEADLINE] < count:
        job = p.by_deadline[p.n[NEXT_DEADLINE]]
        if job >= p.n[NEXT_JOB] or p.ends[job] == OPEN:
            now = min(now, p.submit[job] + p.deadline[job])
            break
        p.n[NEXT_DEADLINE] += 1
    return now


@compiled
def _end(p: CompiledPool, now: float) -> bool:
    """Jobs whose work is done leave, and are learned from."""
    any_ended = False
    while p.n[RUNNING] and p.finish[p.running[0]] <= now:
        job = p.running[0]
        met = p.finish[job] <= p.submit[job] + p.deadline[job] + TOLERANCE_S
        p.consumed[job] = p.work[job]
        _leave(p, job, MET if met else MISSED)
        if p.deadline[job] < inf:
            learn(p.s, p.known, p.recent, p.most[job], p.deadline[job], p.work[job], p.granted[job], p.share[job],
                  met, False)  # fmt: skip
        any_ended = True
    return any_ended


@compiled
def _kill(p: CompiledPool, now: float, count: int) -> bool:
    """Late jobs are ended, if their policy says so: one that has run is learned from."""
    any_ended = False
    while p.n[NEXT_DEADLINE] < count:
        job = p.by_deadline[p.n[NEXT_DEADLINE]]
        due = p.submit[job] + p.deadline[job]
        if due > now or due == inf:
            break
        p.n[NEXT_DEADLINE] += 1
        if p.ends[job] != OPEN or (p.granted[job] and p.finish[job] <= due + TOLERANCE_S) or not _late(p, job):
            continue
        any_ended = True
        if not p.granted[job]:
            p.finish[job] = now
            _leave(p, job, DROPPED)
            continue
        p.consumed[job] = p.work[job] - (p.left[job] - p.granted[job] * (now - p.since[job]))
        p.finish[job] = now
        _leave(p, job, KILLED)
        learn(p.s, p.known, p.recent, p.most[job], p.deadline[job], p.work[job], p.granted[job], p.share[job],
              False, True)  # fmt: skip
    return any_ended


@compiled
def _late(p: CompiledPool, job: int) -> bool:
    kind = p.s[KIND]
    if kind in (FAIR, FIRST):
        return bool(p.s[KILLS])
    if not p.granted[job]:
        return True
    return bool(kind != ORACLE and 0 <= p.s[KILL_THRESHOLD] < p.tasks[job])


@compiled
def _leave(p: CompiledPool, job: int, end: int) -> None:
    """A job leaves the pool; its CPUs are free."""
    p.ends[job] = end
    p.m[ACTIVE] -= 1
    if p.filling_at[job] >= 0:
        p.n[FILLING] = remove(p.filling, p.filling_at, p.held, p.n[FILLING], job)
    if p.granted[job]:
        change(p.m, p.sums, p.most[job], p.granted[job], 0)
        # Its end may have been set to now: it is found by its place.
        p.n[RUNNING] = remove(p.running, p.running_at, p.finish, p.n[RUNNING], job)
        p.n[FREE] += p.granted[job]


@compiled
def _submit(p: CompiledPool, now: float, count: int) -> bool:
    any_new = False
    fair = p.s[KIND] == FAIR
    while p.n[NEXT_JOB] < count and p.submit[p.n[NEXT_JOB]] <= now:
        job = p.n[NEXT_JOB]
        p.n[NEXT_JOB] += 1
        p.m[ACTIVE] += 1
        p.left[job] = p.work[job]
        if fair:
            p.n[FILLING] = push(p.filling, p.filling_at, p.held, p.n[FILLING], job)
        else:
            p.waiting[p.n[WAITING]] = job
            p.n[WAITING] += 1
        any_new = True
    return any_new


@compiled
def _admit(p: CompiledPool, now: float) -> None:
    if p.s[KIND] == FAIR:
        _fill(p, now)
    elif p.s[KIND] == FIRST:
        _serve_first(p, now)
    elif p.n[WAITING]:
        _drop_and_ask(p, now)


@compiled
def _grant(p: CompiledPool, job: int, cpus: int, now: float) -> None:
    """A job holds so many CPUs from now on: it starts, or goes on with more of them."""
    held = p.granted[job]
    change(p.m, p.sums, p.most[job], held, cpus)
    p.n[FREE] -= cpus - held
    if held:
        p.n[RUNNING] = remove(p.running, p.running_at, p.finish, p.n[RUNNING], job)
        p.left[job] -= held * (now - p.since[job])
    else:
        p.start[job] = now
    p.since[job] = now
    p.granted[job] = cpus
    p.finish[job] = now + max(0.0, p.left[job]) / cpus
    p.n[RUNNING] = push(p.running, p.running_at, p.finish, p.n[RUNNING], job)


@compiled
def _fill(p: CompiledPool, now: float) -> None:
    """Progressive filling: whole levels at a time, which comes to the same as CPU by CPU."""
    free, changed = p.n[FREE], 0
    while free > 0 and p.n[FILLING]:
        level, took, room = p.held[p.filling[0]], 0, np.int64(1) << 60
        while took < free and p.n[FILLING] and p.held[p.filling[0]] == level:
            job = p.filling[0]
            p.n[FILLING] = remove(p.filling, p.filling_at, p.held, p.n[FILLING], job)
            p.asks[changed + took] = job
            room = min(room, p.most[job] - np.int64(level))
            took += 1
        lift = min(room, free // took)
        if p.n[FILLING]:
            above = np.int64(p.held[p.filling[0]] - level)
            lift = max(1, min(lift, above))
        for at in range(took):
            job = p.asks[changed + at]
            p.held[job] = level + lift
        free -= took * lift
        kept = 0
        for at in range(took):
            job = p.asks[changed + at]
            if p.held[job] < p.most[job]:
                p.n[FILLING] = push(p.filling, p.filling_at, p.held, p.n[FILLING], job)
            if not p.wanted[job]:
                p.wanted[job] = 1
                p.asks[changed + kept] = job
                kept += 1
        changed += kept
    for at in range(changed):
        job = p.asks[at]
        p.wanted[job] = 0
        _grant(p, job, int(p.held[job]), now)
        if not p.s[TOP_UP] and p.filling_at[job] >= 0:
            p.n[FILLING] = remove(p.filling, p.filling_at, p.held, p.n[FILLING], job)


@compiled
def _serve_first(p: CompiledPool, now: float) -> None:
    """First come, first served: all that could work for the first job, then for the second."""
    kept = 0
    for at in range(p.n[WAITING]):
        job = p.waiting[at]
        if p.ends[job] != OPEN:
            continue
        if p.n[FREE] > 0:
            _grant(p, job, min(p.most[job], p.n[FREE]), now)
        else:
            p.waiting[kept] = job
            kept += 1
    p.n[WAITING] = kept


@compiled
def _drop_and_ask(p: CompiledPool, now: float) -> None:
    """PYTHIA's admission control and offers, for its own, Justice's and the Oracle's requests."""
    bootstrap, share = in_bootstrap(p.s, p.known), share_of(p.s, p.known)
    oracle, priority, total = p.s[KIND] == ORACLE, p.s[PRIORITY], p.n[FREE]
    kept = fits = 0
    for at in range(p.n[WAITING]):
        job = p.waiting[at]
        if p.ends[job] != OPEN:
            continue
        p.waiting[kept] = job
        kept += 1
        if p.deadline[job] == inf:
            continue
        left_s = p.deadline[job] - (now - p.submit[job])
        cpus = p.most[job]
        if left_s > 0 and not bootstrap:
            if oracle:
                cpus = whole_cpus(p.work[job] / left_s)
            else:
                p.share[job] = share * (p.deadline[job] / left_s)
                cpus = whole_cpus(p.share[job] * p.most[job])
        if left_s <= 0 or cpus > p.most[job]:
            p.finish[job] = now
            _leave(p, job, DROPPED)
            kept -= 1
            continue
        if bootstrap:
            p.share[job] = 1.0
        if cpus <= total or (bootstrap and total >= 1):
            p.asks[fits], p.wanted[fits] = job, cpus
            p.keys[fits] = left_s if priority == _TTD else float(fits) if priority == _FIFO else cpus / left_s
            fits += 1
    p.n[WAITING] = kept
    granted = _offer(p, fits, bootstrap, now)
    granted = _rest(p, now) or granted
    if granted:
        _forget_granted(p)


@compiled
def _offer(p: CompiledPool, fits: int, bootstrap: bool, now: float) -> bool:
    """Grant what fits, the smallest key first; who does not fit is passed over."""
    any_granted = False
    while fits and p.n[FREE] > 0:
        best, kept = -1, 0
        for at in range(fits):
            if p.wanted[at] > p.n[FREE] and not bootstrap:
                continue
            p.asks[kept], p.wanted[kept], p.keys[kept] = p.asks[at], p.wanted[at], p.keys[at]
            if best < 0 or p.keys[kept] < p.keys[best]:
                best = kept
            kept += 1
        fits = kept
        if best < 0:
            break
        _grant(p, p.asks[best], min(p.wanted[best], p.n[FREE]), now)
        any_granted = True
        for at in range(best, fits - 1):
            p.asks[at], p.wanted[at], p.keys[at] = p.asks[at + 1], p.wanted[at + 1], p.keys[at + 1]
        fits -= 1
    return any_granted


@compiled
def _rest(p: CompiledPool, now: float) -> bool:
    """Jobs without a deadline take what is left, first come first."""
    any_granted = False
    for at in range(p.n[WAITING]):
        job = p.waiting[at]
        if p.n[FREE] == 0:
            break
        if p.deadline[job] == inf and not p.granted[job]:
            _grant(p, job, min(p.most[job], p.n[FREE]), now)
            any_granted = True
    return any_granted


@compiled
def _forget_granted(p: CompiledPool) -> None:
    kept = 0
    for at in range(p.n[WAITING]):
        job = p.waiting[at]
        if not p.granted[job]:
            p.waiting[kept] = job
            kept += 1
    p.n[WAITING] = kept
