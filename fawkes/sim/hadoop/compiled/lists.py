"""Ordered lists: jobs by submission, attempts by start, free slots by release, finished maps of a node."""

from __future__ import annotations

from fawkes.sim.hadoop.compiled.flows import compiled
from fawkes.sim.hadoop.compiled.layout import (
    CELL,
    CLUSTER,
    HEADER,
    JOB,
    LISTS,
    LOG_ROW,
    MAP,
    NODE,
    NONE,
    OWNER,
    RING,
    SLOT,
    Array,
)

# --- jobs of an MR-cluster


@compiled
def list_job(w: Array, which: int, j: int, wanted: bool) -> None:
    """Put a job into a list by its submission, or take it out."""
    if wanted == (w[j + JOB.LISTED + which] != 0):
        return
    w[j + JOB.LISTED + which] = wanted
    head, tail = w[j + JOB.CLUSTER] + CLUSTER.HEAD + which, w[j + JOB.CLUSTER] + CLUSTER.TAIL + which
    if wanted:
        # From the end, where new jobs belong.
        before = w[tail]
        while before != NONE and w[before + JOB.SEQ] > w[j + JOB.SEQ]:
            before = w[before + JOB.PREV + which]
        after = w[head] if before == NONE else w[before + JOB.NEXT + which]
        w[j + JOB.PREV + which], w[j + JOB.NEXT + which] = before, after
        to_before, to_after = j, j
    else:
        before, after = w[j + JOB.PREV + which], w[j + JOB.NEXT + which]
        to_before, to_after = after, before
    w[head if before == NONE else before + JOB.NEXT + which] = to_before
    w[tail if after == NONE else after + JOB.PREV + which] = to_after


@compiled
def forget_job(w: Array, j: int) -> None:
    """A job that does not run any more is in no list and no count, and nobody fetches from its maps."""
    c = w[j + JOB.CLUSTER]
    for which in range(LISTS):
        list_job(w, which, j, False)
    w[c + CLUSTER.TASKS_WAITING] -= w[j + JOB.MAPS_WAITING] + w[j + JOB.REDUCES_WAITING]
    w[c + CLUSTER.TASKS_READY] -= w[j + JOB.COUNTED_READY]
    while w[j + JOB.CELLS] != NONE:
        free_cell(w, w[j + JOB.CELLS])


# --- jobs whose ApplicationMaster runs on a node


@compiled
def add_master(w: Array, j: int, n: int) -> None:
    """A job's ApplicationMaster is the last one on its node."""
    before = w[n + NODE.LAST_MASTER]
    w[j + JOB.MASTER], w[j + JOB.MASTER_PREV], w[j + JOB.MASTER_NEXT] = n, before, NONE
    w[n + NODE.MASTERS if before == NONE else before + JOB.MASTER_NEXT] = j
    w[n + NODE.LAST_MASTER] = j
    w[w[j + JOB.CLUSTER] + CLUSTER.MASTERS] += 1


@compiled
def remove_master(w: Array, j: int) -> None:
    """A job's ApplicationMaster runs no more."""
    n, before, after = w[j + JOB.MASTER], w[j + JOB.MASTER_PREV], w[j + JOB.MASTER_NEXT]
    w[n + NODE.MASTERS if before == NONE else before + JOB.MASTER_NEXT] = after
    w[n + NODE.LAST_MASTER if after == NONE else after + JOB.MASTER_PREV] = before
    w[j + JOB.MASTER] = NONE
    w[w[j + JOB.CLUSTER] + CLUSTER.MASTERS] -= 1


# --- owners of flows, and attempts of a job and on a node


@compiled
def new_owner(w: Array, phase: int, c: int, j: int) -> int:
    """An owner without flows."""
    o: int = w[HEADER.FREE_OWNERS]
    w[HEADER.FREE_OWNERS] = w[o + OWNER.NEXT]
    w[o + OWNER.PHASE], w[o + OWNER.CLUSTER], w[o + OWNER.JOB] = phase, c, j
    w[o + OWNER.LEFT], w[o + OWNER.USED] = 0, 0
    return o


@compiled
def free_owner(w: Array, o: int) -> None:
    """An owner is gone, its flows have ended or been dropped."""
    w[o + OWNER.NEXT] = w[HEADER.FREE_OWNERS]
    w[HEADER.FREE_OWNERS] = o


@compiled
def add_attempt(w: Array, o: int) -> None:
    """An attempt is the last one of its job and on its node."""
    j, n = w[o + OWNER.JOB], w[o + OWNER.NODE]
    before = w[j + JOB.TAIL]
    w[o + OWNER.PREV], w[o + OWNER.NEXT] = before, NONE
    w[j + JOB.HEAD if before == NONE else before + OWNER.NEXT] = o
    w[j + JOB.TAIL] = o
    before = w[n + NODE.TAIL]
    w[o + OWNER.NODE_PREV], w[o + OWNER.NODE_NEXT] = before, NONE
    w[n + NODE.HEAD if before == NONE else before + OWNER.NODE_NEXT] = o
    w[n + NODE.TAIL] = o


@compiled
def remove_attempt(w: Array, o: int) -> None:
    """An attempt runs no more."""
    j, n = w[o + OWNER.JOB], w[o + OWNER.NODE]
    before, after = w[o + OWNER.PREV], w[o + OWNER.NEXT]
    w[j + JOB.HEAD if before == NONE else before + OWNER.NEXT] = after
    w[j + JOB.TAIL if after == NONE else after + OWNER.PREV] = before
    before, after = w[o + OWNER.NODE_PREV], w[o + OWNER.NODE_NEXT]
    w[n + NODE.HEAD if before == NONE else before + OWNER.NODE_NEXT] = after
    w[n + NODE.TAIL if after == NONE else after + OWNER.NODE_PREV] = before


# --- free slots


@compiled
def free_slots(w: Array, r: int) -> int:
    """The number of free slots."""
    return w[r + RING.COUNT] - w[r + RING.STALE]  # type: ignore[no-any-return]


@compiled
def push_slot(w: Array, r: int, n: int) -> None:
    """A slot of a node is free."""
    room = w[r + RING.ROOM]
    if w[r + RING.COUNT] == room:
        _tidy_slots(w, r)
    place = w[r + RING.HEAD] + w[r + RING.COUNT]
    at = w[r + RING.SLOTS] + SLOT.SIZE * (place if place < room else place - room)
    w[at + SLOT.NODE], w[at + SLOT.EPOCH] = n, w[n + NODE.EPOCH]
    w[r + RING.COUNT] += 1


@compiled
def pop_slot(w: Array, r: int) -> int:
    """The node of the slot that has been free for longest; there must be one."""
    while True:
        at = w[r + RING.SLOTS] + SLOT.SIZE * w[r + RING.HEAD]
        w[r + RING.HEAD] += 1
        if w[r + RING.HEAD] == w[r + RING.ROOM]:
            w[r + RING.HEAD] = 0
        w[r + RING.COUNT] -= 1
        n: int = w[at + SLOT.NODE]
        if w[n + NODE.EPOCH] == w[at + SLOT.EPOCH]:
            return n
        w[r + RING.STALE] -= 1


@compiled
def _tidy_slots(w: Array, r: int) -> None:
    """Take out slots of nodes that have left, so that a ring never overflows."""
    first, head, room, kept = w[r + RING.SLOTS], w[r + RING.HEAD], w[r + RING.ROOM], 0
    for place in range(w[r + RING.COUNT]):
        at = first + SLOT.SIZE * ((head + place) % room)
        if w[w[at + SLOT.NODE] + NODE.EPOCH] == w[at + SLOT.EPOCH]:
            to = first + SLOT.SIZE * ((head + kept) % room)
            w[to + SLOT.NODE], w[to + SLOT.EPOCH] = w[at + SLOT.NODE], w[at + SLOT.EPOCH]
            kept += 1
    w[r + RING.COUNT], w[r + RING.STALE] = kept, 0


# --- finished maps whose output lies on a node


@compiled
def add_cell(w: Array, j: int, n: int) -> None:
    """A map of a job has its output on a node."""
    x = w[HEADER.FREE_CELLS]
    w[HEADER.FREE_CELLS] = w[x + CELL.NEXT]
    after = w[n + NODE.CELLS]
    w[x + CELL.JOB], w[x + CELL.NODE], w[x + CELL.PREV], w[x + CELL.NEXT] = j, n, NONE, after
    if after != NONE:
        w[after + CELL.PREV] = x
    w[n + NODE.CELLS] = x
    after = w[j + JOB.CELLS]
    w[x + CELL.JOB_PREV], w[x + CELL.JOB_NEXT] = NONE, after
    if after != NONE:
        w[after + CELL.JOB_PREV] = x
    w[j + JOB.CELLS] = x


@compiled
def free_cell(w: Array, x: int) -> None:
    """The output of a map is not there any more, or nobody fetches from it."""
    before, after = w[x + CELL.PREV], w[x + CELL.NEXT]
    w[w[x + CELL.NODE] + NODE.CELLS if before == NONE else before + CELL.NEXT] = after
    if after != NONE:
        w[after + CELL.PREV] = before
    before, after = w[x + CELL.JOB_PREV], w[x + CELL.JOB_NEXT]
    w[w[x + CELL.JOB] + JOB.CELLS if before == NONE else before + CELL.JOB_NEXT] = after
    if after != NONE:
        w[after + CELL.JOB_PREV] = before
    w[x + CELL.NEXT], w[HEADER.FREE_CELLS] = w[HEADER.FREE_CELLS], x


@compiled
def count_kept(w: Array, j: int, n: int, count: int) -> None:
    """Count so many more maps of a job that have their output on a node."""
    w[j + JOB.KEPT] += count
    w[j + JOB.KEPT_BY + w[n + NODE.ROLE]] += count
    w[w[j + JOB.KEPT_SITES] + w[n + NODE.SITE]] += count


# --- the log


@compiled
def note(w: Array, o: int, what: int) -> None:
    """The start or end of an attempt, where they are kept."""
    w[HEADER.EVENTS] += 1
    if w[HEADER.LOG] == NONE:
        return
    at = w[HEADER.LOG] + w[HEADER.LOGGED] * LOG_ROW
    w[at], w[at + 1] = w[HEADER.NOW], w[w[o + OWNER.CLUSTER] + CLUSTER.SERIAL]
    w[at + 2], w[at + 3] = w[w[o + OWNER.JOB] + JOB.SERIAL], w[o + OWNER.NUMBER]
    w[at + 4], w[at + 5] = w[w[o + OWNER.NODE] + NODE.SERIAL], 2 * what + (w[o + OWNER.PHASE] != MAP)
    w[HEADER.LOGGED] += 1
