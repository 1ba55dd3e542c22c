"""Pools and their flows, as in fawkes.sim.flows: the same float operations in the same order.

The next end in a pool is looked for only when time goes on, and not after each change of it.
"""

from __future__ import annotations

from math import ceil

from fawkes.sim.compiled.arrays import (
    BATCH,
    BATCH_AT,
    BATCH_POOL,
    DIRTY,
    DUE,
    NONE,
    NOW,
    ORDER,
    Array,
    State,
    compiled,
    inlined,
)

_NEAR = 1e-6


@inlined
def rate(pool: Array) -> float:
    """What each flow of a pool gets now."""
    if pool.flows == 0:
        return 0.0
    share: float = pool.capacity / pool.flows
    return share if share < pool.cap else pool.cap


@inlined
def pass_until_now(s: State, p: int) -> None:
    """Let a pool's virtual clock run to the present."""
    pool, now_us = s.pools[p], s.at[NOW]
    if pool.at_us != now_us:
        if pool.flows:
            pool.clock += rate(pool) * (now_us - pool.at_us)
        pool.at_us = now_us


@compiled
def begin_flow(s: State, p: int, work: float, f: int) -> None:
    """So much work begins now, in flow ``f``."""
    pass_until_now(s, p)
    pool, flow = s.pools[p], s.flows[f]
    s.at[ORDER] += 1
    flow.pool = p
    flow.ends_at = pool.clock + work
    flow.order = s.at[ORDER]
    _up(s, pool.heap, pool.flows, f)
    pool.flows += 1
    changed(s, p)


@compiled
def drop_flow(s: State, f: int) -> None:
    """A flow stops before its end."""
    flow = s.flows[f]
    if flow.pos >= 0:
        pass_until_now(s, flow.pool)
        _take_out(s, flow.pool, flow.pos)
        flow.pos = NONE
        changed(s, flow.pool)


@compiled
def resize(s: State, p: int, capacity: float) -> None:
    """A pool has another capacity from now on."""
    pool = s.pools[p]
    if pool.capacity != capacity:
        pass_until_now(s, p)
        pool.capacity = capacity
        changed(s, p)


@inlined
def changed(s: State, p: int) -> None:
    """The next end in a pool is another one; ties of pools go by the order of their changes."""
    pool = s.pools[p]
    if pool.flows and pool.capacity != 0.0:
        s.at[ORDER] += 1
        pool.due_order = s.at[ORDER]
    if not pool.dirty:
        pool.dirty = 1
        s.dirty[s.at[DIRTY]] = p
        s.at[DIRTY] += 1


@inlined
def next_us(s: State) -> int:
    """When the next flow ends; NONE when none will."""
    for n in range(s.at[DIRTY]):
        p = s.dirty[n]
        pool = s.pools[p]
        pool.dirty = 0
        speed = rate(pool)
        if speed == 0.0:
            _not_due(s, p)
            continue
        away = ceil((s.heap[pool.heap].ends_at - pool.clock - _NEAR) / speed)
        pool.due_us = pool.at_us + max(0, int(away))
        if pool.due_pos < 0:
            pool.due_pos = s.at[DUE]
            s.due[s.at[DUE]] = p
            s.at[DUE] += 1
        _due_down(s, _due_up(s, pool.due_pos))
    s.at[DIRTY] = 0
    if s.at[DUE] == 0:
        return NONE
    due_us: int = s.pools[s.due[0]].due_us
    return due_us


@inlined
def take_ended(s: State) -> None:
    """Go to the next end of a flow; the batch has all that end there at that time, in order. `next_us` comes before."""
    p = s.due[0]
    pool = s.pools[p]
    s.at[NOW] = pool.due_us
    pass_until_now(s, p)
    until, count = pool.clock + _NEAR, 0
    while pool.flows and s.heap[pool.heap].ends_at <= until:
        f = s.heap[pool.heap].flow
        s.batch[count].flow = f
        s.batch[count].order = s.heap[pool.heap].order
        count += 1
        _take_out(s, p, 0)
        s.flows[f].pos = NONE
    changed(s, p)
    s.at[BATCH], s.at[BATCH_AT], s.at[BATCH_POOL] = count, 0, p


# --- the heap of a pool, by (end, order); flows know their places


@inlined
def _up(s: State, base: int, at: int, f: int) -> None:
    """Put a flow in from place ``at`` upwards."""
    ends_at, order = s.flows[f].ends_at, s.flows[f].order
    while at > 0:
        above = (at - 1) >> 1
        entry = s.heap[base + above]
        if entry.ends_at < ends_at or (entry.ends_at == ends_at and entry.order < order):
            break
        _put(s, base, at, entry.ends_at, entry.order, entry.flow)
        at = above
    _put(s, base, at, ends_at, order, f)


@inlined
def _put(s: State, base: int, at: int, ends_at: float, order: int, f: int) -> None:
    entry = s.heap[base + at]
    entry.ends_at = ends_at
    entry.order = order
    entry.flow = f
    s.flows[f].pos = at


@compiled
def _take_out(s: State, p: int, at: int) -> None:
    """Take the flow at a place out: the last one goes there, then up or down."""
    pool = s.pools[p]
    base = pool.heap
    pool.flows -= 1
    count = pool.flows
    if at == count:
        return
    last = s.heap[base + count]
    ends_at, order, f = last.ends_at, last.order, last.flow
    while True:
        below = 2 * at + 1
        if below >= count:
            break
        entry = s.heap[base + below]
        if below + 1 < count:
            other = s.heap[base + below + 1]
            if other.ends_at < entry.ends_at or (other.ends_at == entry.ends_at and other.order < entry.order):
                entry = other
                below += 1
        if ends_at < entry.ends_at or (ends_at == entry.ends_at and order < entry.order):
            break
        _put(s, base, at, entry.ends_at, entry.order, entry.flow)
        at = below
    _up(s, base, at, f)


# --- pools in which something will end, by (time, order); pools know their places


@inlined
def _due_before(s: State, a: int, b: int) -> bool:
    one, other = s.pools[a], s.pools[b]
    sooner: bool = one.due_us < other.due_us or (one.due_us == other.due_us and one.due_order < other.due_order)
    return sooner


@inlined
def _due_up(s: State, at: int) -> int:
    p = s.due[at]
    while at > 0:
        above = (at - 1) >> 1
        if _due_before(s, s.due[above], p):
            break
        s.due[at] = s.due[above]
        s.pools[s.due[at]].due_pos = at
        at = above
    s.due[at] = p
    s.pools[p].due_pos = at
    return at


@inlined
def _due_down(s: State, at: int) -> None:
    p, count = s.due[at], s.at[DUE]
    while True:
        below = 2 * at + 1
        if below >= count:
            break
        if below + 1 < count and _due_before(s, s.due[below + 1], s.due[below]):
            below += 1
        if _due_before(s, p, s.due[below]):
            break
        s.due[at] = s.due[below]
        s.pools[s.due[at]].due_pos = at
        at = below
    s.due[at] = p
    s.pools[p].due_pos = at


@compiled
def _not_due(s: State, p: int) -> None:
    at = s.pools[p].due_pos
    if at < 0:
        return
    s.pools[p].due_pos = NONE
    s.at[DUE] -= 1
    last = s.due[s.at[DUE]]
    if last != p:
        s.due[at] = last
        s.pools[last].due_pos = at
        _due_down(s, _due_up(s, at))
