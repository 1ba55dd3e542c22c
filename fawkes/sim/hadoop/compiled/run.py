"""The entrance from Python: one compiled function for all, so that everything is compiled once."""

from __future__ import annotations

from fawkes.sim.hadoop.compiled import copies, leaving, tasks
from fawkes.sim.hadoop.compiled.flows import as_floats, as_integers, compiled, drop_legs, leg_of, next_us, take_ended
from fawkes.sim.hadoop.compiled.layout import (
    ADVANCE,
    BUSY_US,
    CANCEL,
    COPY,
    COPY_DONE,
    COPY_DROPS,
    DAEMONS,
    DRAIN,
    EVACUATE,
    HEADER,
    JOB_ENDED,
    JOIN,
    LEAVE,
    LEG,
    LOAD,
    LOG_FULL,
    NONE,
    OWNER,
    QUIET,
    SAVE,
    STEP,
    STOP_TASKS,
    SUBMIT,
    UNDRAIN,
    Array,
)
from fawkes.sim.hadoop.compiled.lists import free_owner


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
        return leaving.busy_us(w, f, a)
    if what == LOAD:
        return copies.load(w, f, a, x)
    if what == SAVE:
        return copies.save(w, f, a, x)
    if what == EVACUATE:
        return copies.evacuate(w, f, a, x)
    if what == DAEMONS:
        return copies.start_daemons(w, f, a, x, y, b)
    return _change(w, f, what, a, b)


def run_at(place: int, what: int, a: int, b: int, x: float, y: float) -> int:
    """Do what is asked for in the memory at this place."""
    return _answer(as_integers(place), as_floats(place), what, a, b, x, y)
