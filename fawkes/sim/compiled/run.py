"""What Python calls: let time pass, and change nodes, jobs and copies."""

from __future__ import annotations

from math import ceil

from fawkes.sim.compiled.arrays import (
    ALL,
    BATCH,
    BATCH_AT,
    COPIES,
    COPY,
    COPY_DONE,
    CORE,
    CORES,
    JOB_ENDED,
    LEGS,
    LOG_FULL,
    LOGGED,
    MAP_SLOTS,
    NETWORK,
    NONE,
    NOW,
    QUIET,
    REDUCE_SLOTS,
    ROLES,
    SEQ,
    STEP,
    TASK,
    TRANSIENT,
    UNSTARTED,
    WHAT,
    State,
    compiled,
    inlined,
)
from fawkes.sim.compiled.flows import next_us, rate, resize, take_ended
from fawkes.sim.compiled.lists import add_job, free_owner, new_owner, push_slot, tidy_slots
from fawkes.sim.compiled.phases import add_leg, at_least_one, drop_flows
from fawkes.sim.compiled.tasks import (
    assign,
    begin_step,
    count_kept,
    finish,
    forget,
    give_up,
    phase_ended,
    reconsider,
    stop,
)


@compiled
def advance(s: State, until_us: int, log_room: int) -> int:
    """Go on until a job or a copy ends (its number is in ``at[WHAT]``), or nothing does until that time.

    LOG_FULL when the log has less than ``log_room`` rows left, which one moment may need.
    """
    while True:
        while s.at[BATCH_AT] < s.at[BATCH]:
            if s.of[0].logging and s.log.size - s.at[LOGGED] < log_room:
                return LOG_FULL
            entry = s.batch[s.at[BATCH_AT]]
            s.at[BATCH_AT] += 1
            answer = flow_ended(s, entry.flow, entry.order)
            if answer != QUIET:
                return answer
        due_us = next_us(s)
        if due_us < 0 or due_us > until_us:
            return QUIET
        take_ended(s)


@inlined
def flow_ended(s: State, f: int, order: int) -> int:
    """Something of a job, an attempt or a copy is over, unless nobody waits for it any more."""
    flow = s.flows[f]
    if flow.pool == NONE or flow.order != order:
        return QUIET
    flow.pool = NONE
    o = f // LEGS
    owner = s.owners[o]
    owner.left -= 1
    if owner.left:
        return QUIET
    if owner.kind == TASK:
        j = phase_ended(s, o)
        s.at[WHAT] = j
        return QUIET if j == NONE else JOB_ENDED
    if owner.kind == STEP:
        return _step_ended(s, o)
    free_owner(s, o)
    s.at[WHAT] = o
    return COPY_DONE


@inlined
def _step_ended(s: State, o: int) -> int:
    j = s.owners[o].job
    s.jobs[j].step = NONE
    free_owner(s, o)
    if not s.jobs[j].ready:
        _make_ready(s, j)
        return QUIET
    finish(s, j)
    s.at[WHAT] = j
    return JOB_ENDED


@compiled
def _make_ready(s: State, j: int) -> None:
    s.jobs[j].ready = 1
    reconsider(s, j)
    assign(s, s.jobs[j].cluster)


# --- jobs


@compiled
def submit(s: State, j: int) -> None:
    """A job whose record is written begins."""
    job = s.jobs[j]
    s.at[SEQ] += 1
    job.seq = s.at[SEQ]
    s.clusters[job.cluster].jobs += 1
    add_job(s, ALL, j)
    add_job(s, UNSTARTED, j)
    reconsider(s, j)
    if s.of[0].job_begin_us:
        begin_step(s, j, s.of[0].job_begin_us)
    else:
        _make_ready(s, j)


@compiled
def cancel(s: State, j: int) -> None:
    """A job stops where it is."""
    job = s.jobs[j]
    if job.step != NONE:
        drop_flows(s, job.step)
        free_owner(s, job.step)
        job.step = NONE
    while job.head != NONE:
        stop(s, job.head)
    forget(s, j)
    assign(s, job.cluster)


# --- nodes


@compiled
def join(s: State, c: int, n: int) -> None:
    """A node whose record is new offers its slots."""
    _count_node(s, c, s.nodes[n].role, 1)
    _offer(s, c, n)
    _resize(s, c)
    assign(s, c)


@compiled
def undrain(s: State, c: int, n: int) -> None:
    """A node that is there offers its slots, again if it was to leave."""
    if s.nodes[n].draining:
        s.nodes[n].draining = 0
        _offer(s, c, n)
    assign(s, c)


@compiled
def drain(s: State, c: int, n: int) -> None:
    """A node gets no more tasks: its free slots do not count from now on."""
    node = s.nodes[n]
    if node.draining:
        return
    node.draining = 1
    node.epoch += 1
    s.rings[2 * c + MAP_SLOTS].valid -= node.maps_free
    s.rings[2 * c + REDUCE_SLOTS].valid -= node.reduces_free
    tidy_slots(s, 2 * c + MAP_SLOTS)
    tidy_slots(s, 2 * c + REDUCE_SLOTS)


@compiled
def leave(s: State, c: int, n: int) -> None:
    """A node is gone."""
    drain(s, c, n)
    node = s.nodes[n]
    while node.head != NONE:
        stop(s, node.head)
    x = node.cells
    while x != NONE:
        cell = s.cells[x]
        j = cell.job
        job = s.jobs[j]
        count_kept(s, j, n, -1)
        cell.node = NONE
        if job.reduces_waiting > 0 or job.fetches > 0:
            job.maps_done -= 1
            job.maps_waiting += 1
            s.clusters[c].tasks_done -= 1
            reconsider(s, j)
        x = cell.next
    node.cells = NONE
    node.stored = 0
    _count_node(s, c, node.role, -1)
    _resize(s, c)
    assign(s, c)


@compiled
def _offer(s: State, c: int, n: int) -> None:
    node = s.nodes[n]
    for _ in range(node.maps_free):
        push_slot(s, 2 * c + MAP_SLOTS, n)
    for _ in range(node.reduces_free):
        push_slot(s, 2 * c + REDUCE_SLOTS, n)


@compiled
def _count_node(s: State, c: int, role: int, count: int) -> None:
    cluster = s.clusters[c]
    if role == CORE:
        cluster.core += count
    elif role == TRANSIENT:
        cluster.transient += count
    else:
        cluster.transient_core += count


@compiled
def _resize(s: State, c: int) -> None:
    cluster, of = s.clusters[c], s.of[0]
    first = cluster.first_pool
    nodes = cluster.core + cluster.transient + cluster.transient_core
    resize(s, first, _times(cluster.core, of.disk))
    resize(s, first + 1, _times(cluster.transient, of.disk))
    resize(s, first + 2, _times(cluster.transient_core, of.disk))
    if not of.shared_cores:
        resize(s, first + CORES, _times(nodes, of.cores))
    resize(s, first + NETWORK, _times(nodes, of.network))
    resize(s, first + COPIES, copies_capacity(s, nodes))
    for role in range(ROLES):
        if _count(s, c, role) == 0:
            give_up(s, c, role)


@compiled
def copies_capacity(s: State, nodes: int) -> float:
    """What HDFS hands out to copy, bytes a microsecond: so many blocks for each node and heartbeat."""
    of = s.of[0]
    return float((of.multiplier * nodes * of.block_bytes) / of.heartbeat_us)


@compiled
def _count(s: State, c: int, role: int) -> int:
    cluster = s.clusters[c]
    if role == CORE:
        return int(cluster.core)
    return int(cluster.transient if role == TRANSIENT else cluster.transient_core)


@compiled
def _times(count: int, amount: float) -> float:
    """No nodes have no capacity, also where a node's is without limit."""
    return count * amount if count else 0.0


@compiled
def busy_us(s: State, n: int) -> int:
    """How long the attempts on a node still run at the present rates; a second for one that waits for maps."""
    longest, o = 0, s.nodes[n].head
    while o != NONE:
        owner = s.owners[o]
        left_us = 0 if owner.left else 1_000_000
        for f in range(o * LEGS, o * LEGS + owner.used):
            if s.flows[f].pool != NONE:
                left_us = max(left_us, _left_us(s, f))
        longest = max(longest, left_us)
        o = owner.node_next
    return longest


@compiled
def _left_us(s: State, f: int) -> int:
    flow = s.flows[f]
    pool = s.pools[flow.pool]
    speed = rate(pool)
    if speed == 0.0:
        return 1
    clock = pool.clock + speed * (s.at[NOW] - pool.at_us)
    return max(1, ceil((flow.ends_at - clock) / speed))


# --- copies


@compiled
def copy(s: State, c: int, p: int, first_bytes: float, core_bytes: float) -> int:
    """Bytes pass through a pool and through the disks of core nodes, side by side; the owner of the flows."""
    o = new_owner(s, COPY, c)
    add_leg(s, o, p, first_bytes)
    add_leg(s, o, s.clusters[c].first_pool + CORE, core_bytes)
    at_least_one(s, o)
    return o


@compiled
def drop(s: State, o: int) -> None:
    """A copy is not wanted any more."""
    drop_flows(s, o)
    free_owner(s, o)
