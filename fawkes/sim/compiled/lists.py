"""What stands in order: jobs by submission, attempts by start, free slots by release, finished maps of a node."""

from __future__ import annotations

from fawkes.sim.compiled.arrays import (
    CELLS,
    FREE,
    FREE_CELL,
    FREE_OWNER,
    LEGS,
    LOGGED,
    MAP,
    NONE,
    NOT_IN_LIST,
    NOW,
    State,
    compiled,
    inlined,
)

# --- jobs of a MR-cluster


@compiled
def add_job(s: State, which: int, j: int) -> None:
    """Put a job into a list by its submission; it comes from the end of the list, where new jobs belong."""
    if s.job_prev[which, j] != NOT_IN_LIST:
        return
    c, seq = s.jobs[j].cluster, s.jobs[j].seq
    before = s.job_tail[which, c]
    while before != NONE and s.jobs[before].seq > seq:
        before = s.job_prev[which, before]
    after = s.job_head[which, c] if before == NONE else s.job_next[which, before]
    s.job_prev[which, j], s.job_next[which, j] = before, after
    if before == NONE:
        s.job_head[which, c] = j
    else:
        s.job_next[which, before] = j
    if after == NONE:
        s.job_tail[which, c] = j
    else:
        s.job_prev[which, after] = j


@compiled
def remove_job(s: State, which: int, j: int) -> None:
    """Take a job out of a list."""
    before, after = s.job_prev[which, j], s.job_next[which, j]
    if before == NOT_IN_LIST:
        return
    c = s.jobs[j].cluster
    if before == NONE:
        s.job_head[which, c] = after
    else:
        s.job_next[which, before] = after
    if after == NONE:
        s.job_tail[which, c] = before
    else:
        s.job_prev[which, after] = before
    s.job_prev[which, j] = NOT_IN_LIST


# --- owners of flows, and attempts of a job and on a node


@inlined
def new_owner(s: State, kind: int, c: int) -> int:
    """An owner without flows."""
    o: int = s.at[FREE_OWNER]
    owner = s.owners[o]
    s.at[FREE_OWNER] = owner.next
    owner.kind, owner.cluster, owner.left, owner.used = kind, c, 0, 0
    return o


@inlined
def free_owner(s: State, o: int) -> None:
    """An owner is gone; its flows are waited for no more."""
    owner = s.owners[o]
    for f in range(o * LEGS, o * LEGS + owner.used):
        s.flows[f].pool = NONE
    owner.kind = FREE
    owner.next = s.at[FREE_OWNER]
    s.at[FREE_OWNER] = o


@inlined
def add_attempt(s: State, o: int) -> None:
    """An attempt is the last one of its job and on its node."""
    owner = s.owners[o]
    job, node = s.jobs[owner.job], s.nodes[owner.node]
    owner.prev, owner.next = job.tail, NONE
    if job.tail == NONE:
        job.head = o
    else:
        s.owners[job.tail].next = o
    job.tail = o
    owner.node_prev, owner.node_next = node.tail, NONE
    if node.tail == NONE:
        node.head = o
    else:
        s.owners[node.tail].node_next = o
    node.tail = o


@inlined
def remove_attempt(s: State, o: int) -> None:
    """An attempt runs no more."""
    owner = s.owners[o]
    job, node = s.jobs[owner.job], s.nodes[owner.node]
    if owner.prev == NONE:
        job.head = owner.next
    else:
        s.owners[owner.prev].next = owner.next
    if owner.next == NONE:
        job.tail = owner.prev
    else:
        s.owners[owner.next].prev = owner.prev
    if owner.node_prev == NONE:
        node.head = owner.node_next
    else:
        s.owners[owner.node_prev].node_next = owner.node_next
    if owner.node_next == NONE:
        node.tail = owner.node_prev
    else:
        s.owners[owner.node_next].node_prev = owner.node_prev


# --- free slots


@inlined
def push_slot(s: State, r: int, n: int) -> None:
    """A slot of a node is free."""
    ring = s.rings[r]
    at = ring.head + ring.count
    if at >= ring.room:
        at -= ring.room
    slot = s.slots[ring.first + at]
    slot.node, slot.epoch = n, s.nodes[n].epoch
    ring.count += 1
    ring.valid += 1


@inlined
def pop_slot(s: State, r: int) -> int:
    """The node of the slot that has been free for longest; there must be one."""
    ring = s.rings[r]
    while True:
        slot = s.slots[ring.first + ring.head]
        ring.head += 1
        if ring.head == ring.room:
            ring.head = 0
        ring.count -= 1
        if s.nodes[slot.node].epoch == slot.epoch:
            ring.valid -= 1
            return int(slot.node)


@compiled
def tidy_slots(s: State, r: int) -> None:
    """Take out slots of nodes that have left, once they are the most, so that a ring never overflows."""
    ring = s.rings[r]
    if ring.count <= 2 * ring.valid:
        return
    kept = 0
    for n in range(ring.count):
        slot = s.slots[ring.first + (ring.head + n) % ring.room]
        if s.nodes[slot.node].epoch == slot.epoch:
            to = s.slots[ring.first + (ring.head + kept) % ring.room]
            to.node, to.epoch = slot.node, slot.epoch
            kept += 1
    ring.count = kept


# --- finished maps whose output lies on a node


@inlined
def add_cell(s: State, j: int, n: int) -> None:
    """A map of a job has its output on a node."""
    x = s.at[FREE_CELL]
    if x == NONE:
        x = s.at[CELLS]
        s.at[CELLS] += 1
    else:
        s.at[FREE_CELL] = s.cells[x].next
    cell, job, node = s.cells[x], s.jobs[j], s.nodes[n]
    cell.job, cell.node = j, n
    cell.job_next, job.cells = job.cells, x
    cell.prev, cell.next = NONE, node.cells
    if node.cells != NONE:
        s.cells[node.cells].prev = x
    node.cells = x


@compiled
def free_cells(s: State, j: int) -> None:
    """A job has ended: nobody fetches from its maps."""
    x = s.jobs[j].cells
    while x != NONE:
        cell = s.cells[x]
        if cell.node != NONE:
            if cell.prev == NONE:
                s.nodes[cell.node].cells = cell.next
            else:
                s.cells[cell.prev].next = cell.next
            if cell.next != NONE:
                s.cells[cell.next].prev = cell.prev
        following = cell.job_next
        cell.next = s.at[FREE_CELL]
        s.at[FREE_CELL] = x
        x = following
    s.jobs[j].cells = NONE


# --- the log


@inlined
def note(s: State, o: int, what: int) -> None:
    """The start or end of an attempt, where they are kept."""
    if not s.of[0].logging:
        return
    owner, row = s.owners[o], s.log[s.at[LOGGED]]
    row.at_us, row.what = s.at[NOW], what
    row.cluster, row.job = s.clusters[owner.cluster].serial, s.jobs[owner.job].serial
    row.number, row.node = owner.number, s.nodes[owner.node].serial
    row.reduce = owner.phase != MAP
    s.at[LOGGED] += 1
