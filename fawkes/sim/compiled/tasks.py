"""The course of jobs and tasks, as in fawkes.sim.cluster: the same steps in the same order.

Instead of going through all jobs and nodes, it keeps lists of the jobs that have something to start, and counts.
"""

from __future__ import annotations

import numpy as np

from fawkes.sim.compiled.arrays import (
    ALL,
    BATCH_POOL,
    CORE,
    DONE,
    ENDED,
    FETCH,
    FETCH_REST,
    KILLED,
    LEGS,
    MAP,
    MAP_SLOTS,
    MAPS,
    NONE,
    NOT_IN_LIST,
    NOW,
    REDUCE,
    REDUCE_SLOTS,
    REDUCES,
    STARTED,
    STEP,
    TASK,
    TRANSIENT,
    UNSTARTED,
    WAIT,
    State,
    compiled,
    inlined,
)
from fawkes.sim.compiled.flows import drop_flow
from fawkes.sim.compiled.lists import (
    add_attempt,
    add_cell,
    add_job,
    free_cells,
    free_owner,
    new_owner,
    note,
    pop_slot,
    push_slot,
    remove_attempt,
    remove_job,
)
from fawkes.sim.compiled.phases import drop_flows, wait, work

# --- what jobs have to start


@compiled
def reconsider(s: State, j: int) -> None:
    """A job's tasks have changed: whether it has something to start, and what the masters count."""
    job = s.jobs[j]
    cluster = s.clusters[job.cluster]
    may = job.maps_done >= job.slow_start and not (s.of[0].shared_slots and job.maps_waiting > 0)
    wanted = bool(job.ready and job.maps_waiting > 0)
    if wanted != (s.job_prev[MAPS, j] != NOT_IN_LIST):
        if wanted:
            add_job(s, MAPS, j)
        else:
            remove_job(s, MAPS, j)
    wanted = bool(job.ready and job.reduces_waiting > 0 and may)
    if wanted != (s.job_prev[REDUCES, j] != NOT_IN_LIST):
        if wanted:
            add_job(s, REDUCES, j)
        else:
            remove_job(s, REDUCES, j)
    waiting = job.maps_waiting + job.reduces_waiting
    ready = 1
    if job.ready:
        ready = job.maps_waiting + (job.reduces_waiting if may else 0)
    cluster.tasks_waiting += waiting - job.counted_waiting
    cluster.tasks_ready += ready - job.counted_ready
    job.counted_waiting, job.counted_ready = waiting, ready


@compiled
def assign(s: State, c: int) -> None:
    """Start waiting tasks on free slots: jobs in their order, maps before reduces."""
    maps, reduces = 2 * c + MAP_SLOTS, 2 * c + REDUCE_SLOTS
    if s.of[0].shared_slots:
        reduces = maps
    while True:
        j = s.job_head[MAPS, c] if s.rings[maps].valid else NONE
        other = s.job_head[REDUCES, c] if s.rings[reduces].valid else NONE
        if j == NONE or (other != NONE and s.jobs[other].seq < s.jobs[j].seq):
            j = other
        if j == NONE:
            return
        while s.job_prev[MAPS, j] >= NONE and s.rings[maps].valid:
            s.jobs[j].maps_waiting -= 1
            start(s, j, pop_slot(s, maps), MAP)
        while s.job_prev[REDUCES, j] >= NONE and s.rings[reduces].valid:
            s.jobs[j].reduces_waiting -= 1
            start(s, j, pop_slot(s, reduces), FETCH)
        if s.of[0].shared_slots:
            _make_way(s, j)


@compiled
def _make_way(s: State, j: int) -> None:
    """Maps that run again take the containers of reduces that wait for them, the last ones first."""
    job = s.jobs[j]
    while job.maps_waiting > 0 and job.waits > 0:
        o = job.tail
        while o != NONE and (s.owners[o].phase != WAIT or s.nodes[s.owners[o].node].draining):
            o = s.owners[o].prev
        if o == NONE:
            return
        stop(s, o)
        job.maps_waiting -= 1
        start(s, j, pop_slot(s, 2 * job.cluster + MAP_SLOTS), MAP)


@compiled
def start(s: State, j: int, n: int, phase: int) -> None:
    """An attempt begins on a node; its task has been taken from those that wait."""
    job, node = s.jobs[j], s.nodes[n]
    if phase == MAP or s.of[0].shared_slots:
        node.maps_free -= 1
    else:
        node.reduces_free -= 1
    if not job.started:
        job.started = 1
        remove_job(s, UNSTARTED, j)
    o = new_owner(s, TASK, job.cluster)
    owner = s.owners[o]
    owner.job, owner.node, owner.phase, owner.number, owner.share = j, n, phase, job.attempts, 0.0
    owner.factor = chance(s, job.stream, job.attempts)
    job.attempts += 1
    if phase != MAP:
        job.fetches += 1
    s.clusters[job.cluster].tasks_running += 1
    add_attempt(s, o)
    reconsider(s, j)
    note(s, o, STARTED)
    work(s, o)


@inlined
def chance(s: State, stream: int, number: int) -> float:
    """As `Chance.factor`: 64 bits that depend on the stream and the number choose a quantile."""
    of = s.of[0]
    if not of.chance:
        return 1.0
    bits = np.uint64(stream) + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = bits ^ (bits >> np.uint64(31))
    factor: float = s.quantiles[bits >> np.uint64(52)]
    if np.float64(bits & np.uint64(0xFFFFFFFF)) < of.share * 4294967296.0:
        return factor * of.straggle
    return factor


@compiled
def stop(s: State, o: int) -> None:
    """A task is killed and waits again."""
    drop_flows(s, o)
    owner = s.owners[o]
    j = owner.job
    if owner.phase == MAP:
        s.jobs[j].maps_waiting += 1
    else:
        s.jobs[j].reduces_waiting += 1
    note(s, o, KILLED)
    release(s, o)
    reconsider(s, j)


@inlined
def release(s: State, o: int) -> None:
    """An attempt gives its slot back."""
    owner = s.owners[o]
    node, job, c = s.nodes[owner.node], s.jobs[owner.job], owner.cluster
    remove_attempt(s, o)
    set_phase(s, o, MAP if owner.phase == MAP else REDUCE)
    s.clusters[job.cluster].tasks_running -= 1
    r = 2 * c + MAP_SLOTS
    if owner.phase == MAP or s.of[0].shared_slots:
        node.maps_free += 1
    else:
        node.reduces_free += 1
        r = 2 * c + REDUCE_SLOTS
    if not node.draining:
        push_slot(s, r, owner.node)
    free_owner(s, o)


@inlined
def set_phase(s: State, o: int, phase: int) -> None:
    """A reduce goes on to another phase; its job counts those that wait for maps and those that fetch."""
    owner = s.owners[o]
    job = s.jobs[owner.job]
    if owner.phase != MAP:
        job.waits += int(phase == WAIT) - int(owner.phase == WAIT)
        job.fetches += int(phase < REDUCE) - int(owner.phase < REDUCE)
    owner.phase = phase


# --- the course of a task and of a job


@inlined
def phase_ended(s: State, o: int) -> int:
    """All flows of an attempt's phase have ended; the job when that ended with it, else NONE."""
    owner = s.owners[o]
    if owner.phase == MAP or owner.phase == REDUCE:
        return task_ended(s, o)
    if owner.phase == FETCH and owner.share < 1.0:
        fetch_rest(s, o)
    else:
        set_phase(s, o, REDUCE)
        work(s, o)
    return NONE


@compiled
def fetch_rest(s: State, o: int) -> None:
    """What the reduce has not fetched yet, once all maps have ended."""
    job = s.jobs[s.owners[o].job]
    if job.maps_done < job.maps:
        set_phase(s, o, WAIT)
    else:
        set_phase(s, o, FETCH_REST)
        work(s, o)


@compiled
def task_ended(s: State, o: int) -> int:
    """A task is done; the job when that ended with it, else NONE."""
    owner = s.owners[o]
    j, n, c, is_map = owner.job, owner.node, owner.cluster, owner.phase == MAP
    job = s.jobs[j]
    note(s, o, ENDED)
    release(s, o)
    s.clusters[c].tasks_done += 1
    if is_map:
        job.maps_done += 1
        if job.reduces:
            add_cell(s, j, n)
            count_kept(s, j, n, 1)
    else:
        job.reduces_done += 1
    if not (is_map and job.reduces):
        _count_output(s, c, n, job.output + job.noted)
    if job.maps_done == job.maps and job.waits:
        waiting = job.head
        while waiting != NONE:
            if s.owners[waiting].phase == WAIT:
                fetch_rest(s, waiting)
            waiting = s.owners[waiting].next
    reconsider(s, j)
    if job.reduces_done == job.reduces and job.maps_done == job.maps:
        if not s.of[0].job_end_us:
            finish(s, j)
            return int(j)
        begin_step(s, j, s.of[0].job_end_us)
    assign(s, c)
    return NONE


@inlined
def count_kept(s: State, j: int, n: int, count: int) -> None:
    """So many more maps of a job have their output on a node."""
    job, node = s.jobs[j], s.nodes[n]
    job.kept += count
    if node.role == CORE:
        job.kept_core += count
    elif node.role == TRANSIENT:
        job.kept_transient += count
    else:
        job.kept_transient_core += count
    s.site_kept[node.site, j] += count


@inlined
def _count_output(s: State, c: int, n: int, output_bytes: int) -> None:
    s.clusters[c].output += output_bytes
    if s.nodes[n].role != TRANSIENT:
        s.nodes[n].stored += output_bytes


@compiled
def begin_step(s: State, j: int, time_us: int) -> None:
    """A job is being prepared, or is being brought to its end."""
    o = new_owner(s, STEP, s.jobs[j].cluster)
    s.owners[o].job = j
    s.jobs[j].step = o
    wait(s, o, float(time_us))


@compiled
def finish(s: State, j: int) -> None:
    """A job has succeeded."""
    c = s.jobs[j].cluster
    forget(s, j)
    s.jobs[j].finished_us = s.at[NOW]
    s.done[s.at[DONE]] = j
    s.at[DONE] += 1
    s.clusters[c].jobs_done += 1
    assign(s, c)


@compiled
def forget(s: State, j: int) -> None:
    """A job that does not run any more is in no list and no count."""
    job = s.jobs[j]
    cluster = s.clusters[job.cluster]
    for which in (ALL, UNSTARTED, MAPS, REDUCES):
        remove_job(s, which, j)
    cluster.tasks_waiting -= job.counted_waiting
    cluster.tasks_ready -= job.counted_ready
    cluster.jobs -= 1
    free_cells(s, j)


@compiled
def give_up(s: State, c: int, role: int) -> None:
    """Reduces that fetch from nodes of which none is left go on with what they have got: those maps run again."""
    gone = s.clusters[c].first_pool + role
    if s.pools[gone].flows == 0 and s.at[BATCH_POOL] != gone:
        return
    j = s.job_head[ALL, c]
    while j != NONE:
        following, count = s.job_next[ALL, j], 0
        # What begins or is killed meanwhile must not be met on the way.
        found = np.empty((_running(s, j), 2), np.int64)
        o = s.jobs[j].head
        while o != NONE:
            found[count, 0], found[count, 1] = o, s.owners[o].number
            count += 1
            o = s.owners[o].next
        for n in range(count):
            o = found[n, 0]
            owner = s.owners[o]
            if owner.kind == TASK and owner.job == j and owner.number == found[n, 1]:
                _go_on_without(s, o, gone)
        j = following


@compiled
def _running(s: State, j: int) -> int:
    count, o = 0, s.jobs[j].head
    while o != NONE:
        count += 1
        o = s.owners[o].next
    return count


@compiled
def _go_on_without(s: State, o: int, gone: int) -> None:
    owner, dead = s.owners[o], 0
    for f in range(o * LEGS, o * LEGS + owner.used):
        if s.flows[f].pool == gone:
            drop_flow(s, f)
            s.flows[f].pool = NONE
            dead += 1
    owner.left -= dead
    if dead and owner.left == 0:
        phase_ended(s, o)
