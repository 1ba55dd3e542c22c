"""Pools and their flows, as in fawkes.sim.hadoop.flows: the same float operations in the same order.

The next end in a pool is looked for only when time goes on, and not after each change of it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf
from typing import Any, TypeVar, cast

from numba import njit, types
from numba.extending import intrinsic

from fawkes.sim.hadoop.compiled.layout import ENTRY, HEADER, LEG, LEGS, NONE, OWNER, POOL, TIME, Array
from fawkes.sim.hadoop.flows import MILLI

_NEAR = 1e-6
#: a thousandth with a margin, larger than the rounding errors of a few operations
_WIDE = (1.0 + 1e-9) / MILLI
#: entries below each entry of a heap: with four the way from top to bottom is half as long as with two
_WAYS = 4
#: no flow ends after so many microseconds: later times do not fit into a word
_NEVER_US = 4e18

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile by numba, for other compiled functions; no freedom with floats, so that results stay equal."""
    return cast(
        Function, njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, nogil=True)(function)
    )


def _integers(context: Any, place: Any) -> Any:
    return types.CPointer(types.int64)(types.int64), _to_pointer


def _floats(context: Any, place: Any) -> Any:
    return types.CPointer(types.float64)(types.int64), _to_pointer


def _to_pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))


#: the memory from its place in that of the process: a pointer is handed over faster than an array
as_integers, as_floats = intrinsic(_integers), intrinsic(_floats)


@compiled
def rate(w: Array, f: Array, p: int) -> float:
    """The rate that each stream of a pool gets now."""
    thousandths, capacity = w[p + POOL.STREAMS], f[p + POOL.CAPACITY]
    if thousandths == 0 or capacity == 0.0:
        return 0.0
    cap: float = f[p + POOL.CAP]
    seeks = f[p + POOL.SEEK] > 0.0 and thousandths > w[p + POOL.UNITS] * MILLI
    if not seeks and capacity > cap * thousandths * _WIDE:
        # So far above the cap that rounding cannot matter: the divisions below would give the cap as well.
        return cap
    streams = thousandths / MILLI
    share: float = capacity / streams
    if seeks:
        share /= 1.0 + f[p + POOL.SEEK] * (1.0 - w[p + POOL.UNITS] / streams)
    return share if share < cap else cap


@compiled
def pass_until_now(w: Array, f: Array, p: int) -> None:
    """Let a pool's virtual clock run to the present."""
    now_us = w[HEADER.NOW]
    if w[p + POOL.AT_US] != now_us:
        speed = rate(w, f, p) if w[p + POOL.CHANGED] else f[p + POOL.RATE]
        if speed < inf:
            f[p + POOL.CLOCK] += speed * (now_us - w[p + POOL.AT_US])
        w[p + POOL.AT_US] = now_us


@compiled
def alone(w: Array, f: Array, p: int) -> float:
    """The rate that a stream gets in a pool of its own."""
    capacity: float = f[p + POOL.CAPACITY]
    cap: float = f[p + POOL.CAP]
    return capacity if capacity < cap else cap


@compiled
def begin_flow(w: Array, f: Array, o: int, p: int, work: float, width: int) -> None:
    """Begin so much work now for an owner, in each of so many thousandths of streams."""
    pass_until_now(w, f, p)
    leg = w[o + OWNER.USED]
    at = o + OWNER.LEG + leg * LEG.SIZE
    w[HEADER.ORDER] += 1
    order = w[HEADER.ORDER]
    f[at + LEG.ENDS_AT] = f[p + POOL.CLOCK] + work
    w[at + LEG.ORDER] = order
    w[at + LEG.POOL] = p
    w[at + LEG.WIDTH] = width
    w[o + OWNER.USED] += 1
    w[o + OWNER.LEFT] += 1
    if w[p + POOL.COUNT] == w[p + POOL.ROOM]:
        _tidy(w, p)
    w[p + POOL.COUNT] += 1
    w[p + POOL.STREAMS] += width
    _up(w, w[p + POOL.HEAP], w[p + POOL.COUNT] - 1, w[at + LEG.ENDS_AT], order, o * LEGS + leg)
    changed(w, f, p)


@compiled
def drop_leg(w: Array, f: Array, at: int) -> None:
    """A flow is waited for no more; it stops, unless it has ended already."""
    p = w[at + LEG.POOL]
    if w[at + LEG.ORDER] > 0:
        pass_until_now(w, f, p)
        w[p + POOL.STREAMS] -= w[at + LEG.WIDTH]
        w[p + POOL.DROPPED] += 1
        changed(w, f, p)
    w[at + LEG.ORDER] = 0
    w[at + LEG.POOL] = NONE


@compiled
def drop_legs(w: Array, f: Array, o: int) -> None:
    """Stop what an owner waits for, in the order in which it began."""
    for leg in range(w[o + OWNER.USED]):
        at = o + OWNER.LEG + leg * LEG.SIZE
        if w[at + LEG.POOL] != NONE:
            drop_leg(w, f, at)


@compiled
def add_leg(w: Array, f: Array, o: int, p: int, work: float, width: int) -> None:
    """Work in a pool, unless it is none or takes no time there; what it would take alone is noted for the tail."""
    speed = alone(w, f, p)
    if work > 0 and speed < inf:
        if speed > 0:
            alone_us = work / speed
            f[HEADER.TOGETHER] += alone_us
            f[HEADER.LONGEST] = max(f[HEADER.LONGEST], alone_us)
        begin_flow(w, f, o, p, work, width)


@compiled
def at_least_one(w: Array, f: Array, o: int, first: int) -> None:
    """A flow of no length when there is nothing to do, or nothing that takes time."""
    if w[o + OWNER.LEFT] == 0:
        begin_flow(w, f, o, first + TIME * POOL.SIZE, 0.0, MILLI)


@compiled
def resize(w: Array, f: Array, p: int, capacity: float, units: int) -> None:
    """A pool has another capacity, of so many disks, from now on."""
    if f[p + POOL.CAPACITY] != capacity or w[p + POOL.UNITS] != units:
        pass_until_now(w, f, p)
        f[p + POOL.CAPACITY] = capacity
        w[p + POOL.UNITS] = units
        changed(w, f, p)


@compiled
def changed(w: Array, f: Array, p: int) -> None:
    """The next end in a pool is another one; ties of pools go by the order of their changes.

    Its place among the pools stays right until `next_us` moves it: two pools that are out of order would hide a third.
    """
    if not w[p + POOL.CHANGED]:
        w[w[HEADER.DIRTY] + w[HEADER.DIRTIES]] = p
        w[HEADER.DIRTIES] += 1
    if w[p + POOL.STREAMS] and f[p + POOL.CAPACITY] != 0.0:
        w[HEADER.ORDER] += 1
    w[p + POOL.CHANGED] = max(1, w[HEADER.ORDER])


@compiled
def next_us(w: Array, f: Array) -> int:
    """The time when the next flow ends; -1 when none will."""
    for n in range(w[HEADER.DIRTIES]):
        p = w[w[HEADER.DIRTY] + n]
        w[p + POOL.DUE_ORDER], w[p + POOL.CHANGED] = w[p + POOL.CHANGED], 0
        speed = rate(w, f, p)
        f[p + POOL.RATE] = speed
        if speed == 0.0:
            _not_due(w, p)
            continue
        heap = w[p + POOL.HEAP]
        while w[p + POOL.DROPPED] and not _lives(w, heap):
            w[p + POOL.DROPPED] -= 1
            _pop(w, p)
        away_us = (f[heap + ENTRY.ENDS_AT] - f[p + POOL.CLOCK] - _NEAR) / speed
        w[p + POOL.DUE_US] = w[p + POOL.AT_US]
        if away_us > 0.0:
            w[p + POOL.DUE_US] += ceil(min(away_us, _NEVER_US))
        if w[p + POOL.DUE_PLACE] == NONE:
            w[HEADER.DUES] += 1
            w[p + POOL.DUE_PLACE] = w[HEADER.DUES]
        _due_down(w, _due_up(w, w[p + POOL.DUE_PLACE], p), p)
    w[HEADER.DIRTIES] = 0
    if w[HEADER.DUES] == 0:
        return -1
    due_us: int = w[w[w[HEADER.DUE] + 1] + POOL.DUE_US]
    return due_us


@compiled
def take_ended(w: Array, f: Array) -> None:
    """Go to the next end of a flow; the batch has all that end there at that time, in order. `next_us` comes before."""
    p = w[w[HEADER.DUE] + 1]
    w[HEADER.NOW] = w[p + POOL.DUE_US]
    at_once = f[p + POOL.RATE] == inf
    pass_until_now(w, f, p)
    heap, until, to = w[p + POOL.HEAP], f[p + POOL.CLOCK] + _NEAR, w[HEADER.BATCH]
    while w[p + POOL.STREAMS]:
        if w[p + POOL.DROPPED] and not _lives(w, heap):
            w[p + POOL.DROPPED] -= 1
        elif at_once or f[heap + ENTRY.ENDS_AT] <= until:
            flow, order = w[heap + ENTRY.FLOW], w[heap + ENTRY.ORDER]
            at = leg_of(flow)
            w[to], w[to + 1] = flow, order
            w[at + LEG.ORDER] = -order
            w[p + POOL.STREAMS] -= w[at + LEG.WIDTH]
            to += 2
        else:
            break
        _pop(w, p)
    w[HEADER.BATCH_COUNT], w[HEADER.BATCH_AT] = to, w[HEADER.BATCH]
    changed(w, f, p)


# --- the heap of a pool, by (end, order), with `_WAYS` entries below each
#
# Ends are never below 0. So their words, read as integers, have the same order as the numbers.


@compiled
def leg_of(flow: int) -> int:
    """The place where a flow stands in its owner."""
    return (flow >> 3) + OWNER.LEG + (flow & 7) * LEG.SIZE  # type: ignore[no-any-return]


@compiled
def _lives(w: Array, at: int) -> bool:
    """True if the flow of an entry has not been dropped."""
    lives: bool = w[leg_of(w[at + ENTRY.FLOW]) + LEG.ORDER] == w[at + ENTRY.ORDER]
    return lives


@compiled
def _put(w: Array, at: int, end: int, order: int, flow: int) -> None:
    w[at + ENTRY.ENDS_AT] = end
    w[at + ENTRY.ORDER] = order
    w[at + ENTRY.FLOW] = flow


@compiled
def _copy(w: Array, to: int, at: int) -> None:
    _put(w, to, w[at + ENTRY.ENDS_AT], w[at + ENTRY.ORDER], w[at + ENTRY.FLOW])


@compiled
def _is_before(w: Array, at: int, end: int, order: int) -> int:
    """1 when an entry comes first, else 0. There is no branch, because the processor would often guess it wrongly."""
    other: int = w[at + ENTRY.ENDS_AT]
    return (other < end) | ((other == end) & (w[at + ENTRY.ORDER] < order))  # type: ignore[no-any-return]


@compiled
def _first(w: Array, heap: int, place: int, other: int) -> int:
    """The one of two places whose entry comes first."""
    at = heap + place * ENTRY.SIZE
    comes = _is_before(w, heap + other * ENTRY.SIZE, w[at + ENTRY.ENDS_AT], w[at + ENTRY.ORDER])
    return place + (other - place) * comes


@compiled
def _up(w: Array, heap: int, place: int, end: int, order: int, flow: int) -> None:
    """Put an entry in from a place upwards."""
    while place > 0:
        above = (place - 1) // _WAYS
        if _is_before(w, heap + above * ENTRY.SIZE, end, order):
            break
        _copy(w, heap + place * ENTRY.SIZE, heap + above * ENTRY.SIZE)
        place = above
    _put(w, heap + place * ENTRY.SIZE, end, order, flow)


@compiled
def _down(w: Array, heap: int, count: int, place: int, end: int, order: int, flow: int) -> None:
    """Put an entry in from a place downwards."""
    while True:
        below = _WAYS * place + 1
        if below >= count:
            break
        if below + _WAYS <= count:
            least = _first(w, heap, _first(w, heap, below, below + 1), _first(w, heap, below + 2, below + 3))
        else:
            least = below
            for other in range(below + 1, count):
                least = _first(w, heap, least, other)
        if not _is_before(w, heap + least * ENTRY.SIZE, end, order):
            break
        _copy(w, heap + place * ENTRY.SIZE, heap + least * ENTRY.SIZE)
        place = least
    _put(w, heap + place * ENTRY.SIZE, end, order, flow)


@compiled
def _pop(w: Array, p: int) -> None:
    """Take the first entry out: the last one goes there, then down."""
    w[p + POOL.COUNT] -= 1
    heap, count = w[p + POOL.HEAP], w[p + POOL.COUNT]
    last = heap + count * ENTRY.SIZE
    if count:
        _down(w, heap, count, 0, w[last + ENTRY.ENDS_AT], w[last + ENTRY.ORDER], w[last + ENTRY.FLOW])


@compiled
def _tidy(w: Array, p: int) -> None:
    """Take out what has been dropped, so that a heap never overflows."""
    heap, count = w[p + POOL.HEAP], 0
    for n in range(w[p + POOL.COUNT]):
        at = heap + n * ENTRY.SIZE
        if _lives(w, at):
            _copy(w, heap + count * ENTRY.SIZE, at)
            count += 1
    w[p + POOL.COUNT], w[p + POOL.DROPPED] = count, 0
    for n in range((count - 2) // _WAYS, -1, -1):
        at = heap + n * ENTRY.SIZE
        _down(w, heap, count, n, w[at + ENTRY.ENDS_AT], w[at + ENTRY.ORDER], w[at + ENTRY.FLOW])


# --- pools in which something will end, a heap by (time, order) from place 1 on; pools know their places


@compiled
def _due_before(w: Array, p: int, q: int) -> bool:
    first: bool = w[p + POOL.DUE_US] < w[q + POOL.DUE_US] or (
        w[p + POOL.DUE_US] == w[q + POOL.DUE_US] and w[p + POOL.DUE_ORDER] < w[q + POOL.DUE_ORDER]
    )
    return first


@compiled
def _due_put(w: Array, place: int, p: int) -> None:
    w[w[HEADER.DUE] + place] = p
    w[p + POOL.DUE_PLACE] = place


@compiled
def _due_up(w: Array, place: int, p: int) -> int:
    """Put a pool in from a place upwards; where it is now."""
    while place > 1:
        above = w[w[HEADER.DUE] + (place >> 1)]
        if _due_before(w, above, p):
            break
        _due_put(w, place, above)
        place >>= 1
    _due_put(w, place, p)
    return place


@compiled
def _due_down(w: Array, place: int, p: int) -> None:
    """Put a pool in from a place downwards."""
    due, count = w[HEADER.DUE], w[HEADER.DUES]
    while 2 * place <= count:
        below = 2 * place
        if below < count and _due_before(w, w[due + below + 1], w[due + below]):
            below += 1
        if _due_before(w, p, w[due + below]):
            break
        _due_put(w, place, w[due + below])
        place = below
    _due_put(w, place, p)


@compiled
def _not_due(w: Array, p: int) -> None:
    place = w[p + POOL.DUE_PLACE]
    if place == NONE:
        return
    w[p + POOL.DUE_PLACE] = NONE
    last = w[w[HEADER.DUE] + w[HEADER.DUES]]
    w[HEADER.DUES] -= 1
    if last != p:
        _due_down(w, _due_up(w, place, last), last)
