"""The entrance from Python: one compiled function for all, so that everything is compiled once, and kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf
from typing import cast

import numba
from numba import njit

from fawkes.sim.hadoop.compiled import tasks
from fawkes.sim.hadoop.compiled.flows import (
    add_leg,
    as_floats,
    as_integers,
    at_least_one,
    compiled,
    drop_legs,
    leg_of,
    next_us,
    rate,
    take_ended,
)
from fawkes.sim.hadoop.compiled.kept import folder
from fawkes.sim.hadoop.compiled.layout import (
    CLUSTER,
    COPIES,
    COPY,
    CORE,
    HEADER,
    LEG,
    NETWORK,
    NODE,
    NONE,
    OWNER,
    POOL,
    STEP,
    Array,
)
from fawkes.sim.hadoop.compiled.lists import free_owner, new_owner
from fawkes.sim.hadoop.compiled.work import start_work
from fawkes.sim.hadoop.flows import MILLI

#: what `call` is asked for
ADVANCE, SUBMIT, CANCEL, JOIN, UNDRAIN, DRAIN, LEAVE, STOP_TASKS, BUSY_US, COPY_DROPS = range(10)
LOAD, SAVE, EVACUATE, DAEMONS = range(10, 14)
#: answers to ADVANCE
QUIET, JOB_ENDED, COPY_DONE, LOG_FULL = range(4)


@compiled
def _advance(w: Array, f: Array, until_us: int, log_room: int) -> int:
    """Go on until a job or a copy ends (it is in ``WHAT``), or nothing does until that time.

    LOG_FULL when the log has less than ``log_room`` rows left, which one moment may need.
    """
    while True:
        while w[HEADER.BATCH_AT] < w[HEADER.BATCH_COUNT]:
            if w[HEADER.LOG] != NONE and w[HEADER.LOG_ROOM] - w[HEADER.LOGGED] < log_room:
                return LOG_FULL
            at = w[HEADER.BATCH_AT]
            w[HEADER.BATCH_AT] += 2
            answer = _flow_ended(w, f, w[at], w[at + 1])
            if answer != QUIET:
                return answer
        due_us = next_us(w, f)
        if due_us < 0 or due_us > until_us:
            return QUIET
        take_ended(w, f)


@compiled
def _flow_ended(w: Array, f: Array, flow: int, order: int) -> int:
    """Something of a job, an attempt or a copy is over, unless nobody waits for it any more."""
    o, at = flow >> 3, leg_of(flow)
    if w[at + LEG.ORDER] != -order:
        return QUIET
    w[at + LEG.ORDER], w[at + LEG.POOL] = 0, NONE
    w[o + OWNER.LEFT] -= 1
    if w[o + OWNER.LEFT]:
        return QUIET
    if w[o + OWNER.PHASE] == COPY:
        free_owner(w, o)
        w[HEADER.WHAT] = o
        return COPY_DONE
    j = tasks.step_ended(w, f, o) if w[o + OWNER.PHASE] == STEP else tasks.flows_ended(w, f, o)
    w[HEADER.WHAT] = j
    return QUIET if j == NONE else JOB_ENDED


@compiled
def _change(w: Array, f: Array, what: int, a: int, b: int) -> int:
    """Something changes from outside."""
    if what == SUBMIT:
        tasks.submit(w, f, a)
    elif what == CANCEL:
        tasks.cancel(w, f, a)
    elif what == JOIN:
        tasks.join(w, f, a, b)
    elif what == UNDRAIN:
        tasks.undrain(w, f, a, b)
    elif what == DRAIN:
        tasks.drain(w, a, b)
    elif what == LEAVE:
        tasks.leave(w, f, a, b)
    elif what == STOP_TASKS:
        tasks.stop_tasks(w, f, a, b)
    elif what == COPY_DROPS:
        drop_legs(w, f, a)
        free_owner(w, a)
    return 0


@compiled
def _answer(w: Array, f: Array, what: int, a: int, b: int, x: float, y: float) -> int:
    """Do what is asked for, with addresses, times or bytes; the answer, if there is one."""
    if what == ADVANCE:
        return _advance(w, f, a, b)
    if what == BUSY_US:
        return busy_us(w, f, a)
    if what == LOAD:
        return load(w, f, a, x)
    if what == SAVE:
        return save(w, f, a, x)
    if what == EVACUATE:
        return evacuate(w, f, a, x)
    if what == DAEMONS:
        return start_daemons(w, f, a, x, y, b)
    return _change(w, f, what, a, b)


def _call(place: int, what: int, a: int, b: int, x: float, y: float) -> int:
    return _answer(as_integers(place), as_floats(place), what, a, b, x, y)


def _kept() -> Callable[..., int]:
    """The compiled `_call`, from disk where it has been compiled before."""
    options = {"error_model": "numpy", "nogil": True}
    try:
        folder().mkdir(parents=True, exist_ok=True)
    except OSError:
        # Nothing can be kept: it is compiled for each process.
        return cast(Callable[..., int], njit(_SIGNATURE, **options)(_call))
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder())
    try:
        return cast(Callable[..., int], njit(_SIGNATURE, cache=True, **options)(_call))
    finally:
        numba.config.CACHE_DIR = before


_SIGNATURE = "int64(int64, int64, int64, int64, float64, float64)"
call = _kept()


# --- How long what computes on a node still lasts, as in fawkes.sim.hadoop.cluster


@compiled
def busy_us(w: Array, f: Array, n: int) -> int:
    """How long the attempts on a node still run at the present rates; a second for one that waits for maps."""
    longest, o = 1_000_000 if w[n + NODE.MASTERS] != NONE else 0, w[n + NODE.HEAD]
    while o != NONE:
        left_us = 0 if w[o + OWNER.LEFT] else 1_000_000
        for leg in range(w[o + OWNER.USED]):
            at = o + OWNER.LEG + leg * LEG.SIZE
            p = w[at + LEG.POOL]
            if p != NONE:
                left_us = max(left_us, _left_us(w, f, p, f[at + LEG.ENDS_AT]))
        longest = max(longest, left_us)
        o = w[o + OWNER.NODE_NEXT]
    return longest


@compiled
def _left_us(w: Array, f: Array, p: int, ends_at: float) -> int:
    speed = rate(w, f, p)
    if speed == 0.0 or speed == inf:
        return 1
    clock = f[p + POOL.CLOCK] + speed * (w[HEADER.NOW] - w[p + POOL.AT_US])
    left_us: int = ceil((ends_at - clock) / speed)
    return max(1, left_us)


# --- Bytes from and to persistent storage, or off a node that leaves; daemons that start. As in sim.hadoop.machine


@compiled
def load(w: Array, f: Array, c: int, data_bytes: float) -> int:
    """From persistent storage to core nodes, by as many streams as there are; the owner of the flows."""
    nodes = max(1, w[c + CLUSTER.NODES + CORE])
    copies = max(1, min(w[c + CLUSTER.REPLICATION], nodes))
    each = data_bytes / nodes
    o = new_owner(w, COPY, c, NONE)
    first = w[c + CLUSTER.FIRST_POOL]
    add_leg(w, f, o, w[HEADER.STORAGE], each, nodes * MILLI)
    add_leg(w, f, o, first + NETWORK * POOL.SIZE, each, nodes * copies * MILLI)
    add_leg(w, f, o, first, each * f[HEADER.OUTPUT_PASSES], nodes * copies * MILLI)
    at_least_one(w, f, o, first)
    return o


@compiled
def save(w: Array, f: Array, c: int, output_bytes: float) -> int:
    """From core nodes to persistent storage, by as many streams as there are; the owner of the flows."""
    nodes = max(1, w[c + CLUSTER.NODES + CORE])
    each = output_bytes / nodes
    o = new_owner(w, COPY, c, NONE)
    first = w[c + CLUSTER.FIRST_POOL]
    add_leg(w, f, o, w[HEADER.STORAGE], each, nodes * MILLI)
    add_leg(w, f, o, first + NETWORK * POOL.SIZE, each, nodes * MILLI)
    add_leg(w, f, o, first, each, nodes * MILLI)
    at_least_one(w, f, o, first)
    return o


@compiled
def evacuate(w: Array, f: Array, c: int, held_bytes: float) -> int:
    """From a node that leaves to those that stay; the owner of the flows."""
    o = new_owner(w, COPY, c, NONE)
    first = w[c + CLUSTER.FIRST_POOL]
    add_leg(w, f, o, first + COPIES * POOL.SIZE, held_bytes, MILLI)
    add_leg(w, f, o, first, held_bytes, MILLI)
    at_least_one(w, f, o, first)
    return o


@compiled
def start_daemons(w: Array, f: Array, c: int, time_us: float, cpu_us: float, count: int) -> int:
    """The daemons of so many nodes that come start; the owner of the flows."""
    o = new_owner(w, COPY, c, NONE)
    start_work(w, f, o, time_us, cpu_us, count)
    at_least_one(w, f, o, w[c + CLUSTER.FIRST_POOL])
    return o
