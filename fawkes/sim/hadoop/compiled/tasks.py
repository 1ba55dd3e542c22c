"""The course of jobs and tasks, as in fawkes.sim.hadoop.cluster: the same steps in the same order.

Instead of going through all jobs and nodes, it keeps lists of the jobs that have something to start, and counts.
"""

from __future__ import annotations

from fawkes.sim.hadoop.compiled.flows import compiled, drop_leg, drop_legs, resize
from fawkes.sim.hadoop.compiled.layout import (
    ALL,
    CELL,
    CLUSTER,
    COPIES,
    CORES,
    ENDED,
    FETCH,
    FETCH_REST,
    HEADER,
    JOB,
    KILLED,
    LEG,
    MAP,
    MAPS,
    MASTERS,
    NETWORK,
    NODE,
    NONE,
    OWNER,
    POOL,
    REDUCE,
    REDUCES,
    RING,
    ROLES,
    STARTED,
    STEP,
    TRANSIENT,
    WAIT,
    Array,
)
from fawkes.sim.hadoop.compiled.lists import (
    add_attempt,
    add_cell,
    add_master,
    count_kept,
    forget_job,
    free_cell,
    free_owner,
    free_slots,
    list_job,
    new_owner,
    note,
    pop_slot,
    push_slot,
    remove_attempt,
    remove_master,
)
from fawkes.sim.hadoop.compiled.work import chance, start_work, tail, work

# --- what jobs have to start


@compiled
def _may_reduce(w: Array, f: Array, j: int) -> bool:
    """Containers go to the maps first: reduces that hold them all would wait for maps for ever."""
    if w[HEADER.SHARED_SLOTS] and w[j + JOB.MAPS_WAITING] > 0:
        return False
    enough: bool = w[j + JOB.MAPS_DONE] >= f[j + JOB.SLOW_START]
    return enough


@compiled
def _may_start(w: Array, j: int) -> bool:
    """True if its grant has room for one more task."""
    may: bool = w[j + JOB.GRANTED] == 0 or w[j + JOB.RUNNING] < w[j + JOB.GRANTED]
    return may


@compiled
def reconsider(w: Array, f: Array, j: int) -> None:
    """A job's tasks have changed: whether it has something to start, and what the masters count as ready."""
    ready = 1
    if w[j + JOB.READY]:
        reduces = w[j + JOB.REDUCES_WAITING] if _may_reduce(w, f, j) else 0
        ready = w[j + JOB.MAPS_WAITING] + reduces
        if w[j + JOB.GRANTED]:
            ready = min(ready, w[j + JOB.GRANTED] - w[j + JOB.RUNNING])
        # Of a full grant maps get the part of reduces that wait for them.
        may = _may_start(w, j)
        list_job(w, MAPS, j, w[j + JOB.MAPS_WAITING] > 0 and (may or w[j + JOB.WAITS] > 0))
        list_job(w, REDUCES, j, reduces > 0 and may)
    w[w[j + JOB.CLUSTER] + CLUSTER.TASKS_READY] += ready - w[j + JOB.COUNTED_READY]
    w[j + JOB.COUNTED_READY] = ready


@compiled
def _waits(w: Array, j: int, field: int, count: int) -> None:
    """Note that so many more maps or reduces of a job wait."""
    w[j + field] += count
    w[w[j + JOB.CLUSTER] + CLUSTER.TASKS_WAITING] += count


@compiled
def _ring(w: Array, c: int, phase: int) -> int:
    """The free slots for maps or for reduces, which may be the same."""
    of_maps = phase == MAP or w[HEADER.SHARED_SLOTS] != 0
    return c + (CLUSTER.MAP_SLOTS if of_maps else CLUSTER.REDUCE_SLOTS)  # type: ignore[no-any-return]


@compiled
def assign(w: Array, f: Array, c: int) -> None:
    """Start waiting tasks on free slots: jobs in their order, maps before reduces."""
    maps, reduces = c + CLUSTER.MAP_SLOTS, _ring(w, c, REDUCE)
    while True:
        j = w[c + CLUSTER.HEAD + MAPS] if free_slots(w, maps) else NONE
        heir = _heir(w, f, c)
        if j == NONE or (heir != NONE and w[heir + JOB.SEQ] < w[j + JOB.SEQ]):
            j = heir
        other = w[c + CLUSTER.HEAD + REDUCES] if free_slots(w, reduces) else NONE
        if j == NONE or (other != NONE and w[other + JOB.SEQ] < w[j + JOB.SEQ]):
            j = other
        if j == NONE:
            return
        if j == heir:
            _give_master(w, f, j, pop_slot(w, maps))
            continue
        if w[j + JOB.GANG] and free_slots(w, maps) < w[j + JOB.MAPS_WAITING]:
            # What comes later would take the slots that it waits for, for ever.
            return
        while w[j + JOB.MAPS_WAITING] > 0 and free_slots(w, maps) and _may_start(w, j):
            _waits(w, j, JOB.MAPS_WAITING, -1)
            start(w, f, j, pop_slot(w, maps), MAP)
        while w[j + JOB.REDUCES_WAITING] > 0 and free_slots(w, reduces) and _may_start(w, j) and _may_reduce(w, f, j):
            _waits(w, j, JOB.REDUCES_WAITING, -1)
            start(w, f, j, pop_slot(w, reduces), FETCH)
        if w[HEADER.SHARED_SLOTS] or w[j + JOB.GRANTED]:
            _make_way(w, f, j)
        reconsider(w, f, j)


@compiled
def _heir(w: Array, f: Array, c: int) -> int:
    """The first job that waits for its ApplicationMaster and may have a slot; none in most cases, so that is first."""
    j: int = w[c + CLUSTER.HEAD + MASTERS]
    return j if j != NONE and free_slots(w, c + CLUSTER.MAP_SLOTS) and _may_master(w, f, c) else NONE


@compiled
def _may_master(w: Array, f: Array, c: int) -> bool:
    """True if one more ApplicationMaster may hold a slot: the first always, so that something runs."""
    nodes = 0
    for role in range(ROLES):
        nodes += w[c + CLUSTER.NODES + role]
    may: bool = w[c + CLUSTER.MASTERS] < max(1, int(f[HEADER.MASTER_SHARE] * (w[HEADER.SLOTS] * nodes)))
    return may


@compiled
def _give_master(w: Array, f: Array, j: int, n: int) -> None:
    w[n + NODE.MAPS_FREE] -= 1
    list_job(w, MASTERS, j, False)
    add_master(w, j, n)
    _prepare(w, f, j)


@compiled
def _take_master(w: Array, j: int) -> None:
    """The slot of a job's ApplicationMaster is free."""
    n = w[j + JOB.MASTER]
    if n != NONE:
        remove_master(w, j)
        w[n + NODE.MAPS_FREE] += 1
        if not w[n + NODE.DRAINING]:
            push_slot(w, w[j + JOB.CLUSTER] + CLUSTER.MAP_SLOTS, n)


@compiled
def _lose_master(w: Array, f: Array, j: int) -> None:
    """A job's ApplicationMaster is gone, and its tasks with it: it waits for a slot again, and ended maps count."""
    _take_master(w, j)
    w[j + JOB.READY] = 0
    step = w[j + JOB.STEP]
    if step != NONE:
        drop_legs(w, f, step)
        free_owner(w, step)
        w[j + JOB.STEP] = NONE
    while w[j + JOB.HEAD] != NONE:
        stop(w, f, w[j + JOB.HEAD])
    for which in (MAPS, REDUCES):
        list_job(w, which, j, False)
    list_job(w, MASTERS, j, True)
    reconsider(w, f, j)


@compiled
def _make_way(w: Array, f: Array, j: int) -> None:
    """Maps that run again take the containers of reduces that wait for them, the last ones first.

    Where there are free slots they take the reduces' part of the grant.
    """
    slots = w[j + JOB.CLUSTER] + CLUSTER.MAP_SLOTS
    while w[j + JOB.MAPS_WAITING] > 0 and w[j + JOB.WAITS] > 0:
        free, o = free_slots(w, slots) > 0, w[j + JOB.TAIL]
        if not free and not w[HEADER.SHARED_SLOTS]:
            return
        while o != NONE and (w[o + OWNER.PHASE] != WAIT or (w[w[o + OWNER.NODE] + NODE.DRAINING] and not free)):
            o = w[o + OWNER.PREV]
        if o == NONE:
            return
        stop(w, f, o)
        _waits(w, j, JOB.MAPS_WAITING, -1)
        start(w, f, j, pop_slot(w, slots), MAP)


@compiled
def start(w: Array, f: Array, j: int, n: int, phase: int) -> None:
    """An attempt begins on a node; its task has been taken from those that wait."""
    c = w[j + JOB.CLUSTER]
    if phase == MAP or w[HEADER.SHARED_SLOTS]:
        w[n + NODE.MAPS_FREE] -= 1
    else:
        w[n + NODE.REDUCES_FREE] -= 1
    if not w[j + JOB.STARTED]:
        w[j + JOB.STARTED] = 1
        w[j + JOB.FRESH_NEXT], w[HEADER.FRESH] = w[HEADER.FRESH], j
    o = new_owner(w, phase, c, j)
    w[o + OWNER.NODE], w[o + OWNER.NUMBER], w[o + OWNER.SINCE] = n, w[j + JOB.ATTEMPTS], w[HEADER.NOW]
    starts = w[HEADER.TASK_START_US] > 0 or w[HEADER.TASK_START_CPU_US] > 0
    w[o + OWNER.STARTS] = starts and not w[j + JOB.GANG]
    f[o + OWNER.SHARE], f[o + OWNER.TAIL] = 0.0, 0.0
    f[o + OWNER.FACTOR] = chance(w, f, w[j + JOB.STREAM], w[j + JOB.ATTEMPTS]) * f[n + NODE.FACTOR]
    w[j + JOB.ATTEMPTS] += 1
    if phase != MAP:
        w[j + JOB.FETCHES] += 1
    w[j + JOB.RUNNING] += 1
    w[c + CLUSTER.TASKS_RUNNING] += 1
    add_attempt(w, o)
    note(w, o, STARTED)
    work(w, f, o)


@compiled
def stop(w: Array, f: Array, o: int) -> None:
    """A task is killed and waits again."""
    drop_legs(w, f, o)
    j = w[o + OWNER.JOB]
    _waits(w, j, JOB.MAPS_WAITING if w[o + OWNER.PHASE] == MAP else JOB.REDUCES_WAITING, 1)
    note(w, o, KILLED)
    _release(w, o)
    reconsider(w, f, j)


@compiled
def _release(w: Array, o: int) -> None:
    """An attempt gives its slot back."""
    n, c, is_map = w[o + OWNER.NODE], w[o + OWNER.CLUSTER], w[o + OWNER.PHASE] == MAP
    remove_attempt(w, o)
    if not is_map:
        _set_phase(w, o, REDUCE)
    w[w[o + OWNER.JOB] + JOB.RUNNING] -= 1
    w[c + CLUSTER.TASKS_RUNNING] -= 1
    w[n + (NODE.MAPS_FREE if is_map or w[HEADER.SHARED_SLOTS] else NODE.REDUCES_FREE)] += 1
    if not w[n + NODE.DRAINING]:
        push_slot(w, _ring(w, c, MAP if is_map else REDUCE), n)
    free_owner(w, o)


@compiled
def _set_phase(w: Array, o: int, phase: int) -> None:
    """A reduce goes on to another phase; its job counts those that wait for maps and those that fetch."""
    j, before = w[o + OWNER.JOB], w[o + OWNER.PHASE]
    w[j + JOB.WAITS] += int(phase == WAIT) - int(before == WAIT)
    w[j + JOB.FETCHES] += int(phase < REDUCE) - int(before < REDUCE)
    w[o + OWNER.PHASE] = phase


# --- the course of a task and of a job


@compiled
def flows_ended(w: Array, f: Array, o: int) -> int:
    """All flows of an attempt have ended in their own time; the job when that ended with it."""
    fetched = w[o + OWNER.PHASE] == FETCH
    over = phase_ended(w, f, o)
    if fetched and w[o + OWNER.PHASE] == WAIT and w[w[o + OWNER.JOB] + JOB.GRANTED]:
        # The maps that it waits for may need its part of the grant.
        assign(w, f, w[o + OWNER.CLUSTER])
    return over


@compiled
def phase_ended(w: Array, f: Array, o: int) -> int:
    """All flows of an attempt's start or phase have ended; the job when that ended with it."""
    if w[o + OWNER.STARTS]:
        w[o + OWNER.STARTS] = 0
        work(w, f, o)
        return NONE
    if f[o + OWNER.TAIL] > 0.0:
        tail(w, f, o)
        return NONE
    phase = w[o + OWNER.PHASE]
    if phase in (MAP, REDUCE):
        return _task_ended(w, f, o)
    if phase == FETCH and f[o + OWNER.SHARE] < 1.0:
        _fetch_rest(w, f, o)
    else:
        _set_phase(w, o, REDUCE)
        work(w, f, o)
    return NONE


@compiled
def _fetch_rest(w: Array, f: Array, o: int) -> None:
    """Fetch what the reduce has not fetched yet, once all maps have ended; until then it waits."""
    j = w[o + OWNER.JOB]
    if w[j + JOB.MAPS_DONE] < w[j + JOB.MAPS]:
        _set_phase(w, o, WAIT)
        if w[j + JOB.GRANTED]:
            reconsider(w, f, j)
    else:
        _set_phase(w, o, FETCH_REST)
        work(w, f, o)


@compiled
def _task_ended(w: Array, f: Array, o: int) -> int:
    """A task is done; the job when that ended with it."""
    j, n, c, is_map = w[o + OWNER.JOB], w[o + OWNER.NODE], w[o + OWNER.CLUSTER], w[o + OWNER.PHASE] == MAP
    note(w, o, ENDED)
    w[j + JOB.WORK] += w[HEADER.NOW] - w[o + OWNER.SINCE]
    _release(w, o)
    w[c + CLUSTER.TASKS_DONE] += 1
    if is_map:
        w[j + JOB.MAPS_DONE] += 1
        if w[j + JOB.REDUCES]:
            add_cell(w, j, n)
            count_kept(w, j, n, 1)
    else:
        w[j + JOB.REDUCES_DONE] += 1
    if not (is_map and w[j + JOB.REDUCES]):
        _count_output(w, c, n, w[j + JOB.OUTPUT] + w[j + JOB.NOTED])
    if w[j + JOB.MAPS_DONE] == w[j + JOB.MAPS] and w[j + JOB.WAITS]:
        waiting = w[j + JOB.HEAD]
        while waiting != NONE:
            if w[waiting + OWNER.PHASE] == WAIT:
                _fetch_rest(w, f, waiting)
            waiting = w[waiting + OWNER.NEXT]
    if (is_map and w[j + JOB.REDUCES_WAITING]) or w[j + JOB.GRANTED]:
        reconsider(w, f, j)
    if w[j + JOB.REDUCES_DONE] == w[j + JOB.REDUCES] and w[j + JOB.MAPS_DONE] == w[j + JOB.MAPS]:
        return _tasks_ended(w, f, j)
    assign(w, f, c)
    return NONE


@compiled
def _count_output(w: Array, c: int, n: int, output_bytes: int) -> None:
    w[c + CLUSTER.OUTPUT] += output_bytes
    if w[n + NODE.ROLE] != TRANSIENT:
        w[n + NODE.STORED] += output_bytes


@compiled
def _begin_step(w: Array, f: Array, j: int, time_us: int, cpu_us: int) -> None:
    """A job is being prepared, or is being brought to its end."""
    o = new_owner(w, STEP, w[j + JOB.CLUSTER], j)
    w[j + JOB.STEP] = o
    start_work(w, f, o, float(time_us), float(cpu_us), 1)


@compiled
def step_ended(w: Array, f: Array, o: int) -> int:
    """A job has been prepared or brought to its end; the job in the second case."""
    j = w[o + OWNER.JOB]
    w[j + JOB.STEP] = NONE
    free_owner(w, o)
    if w[j + JOB.READY]:
        return _finish(w, f, j)
    w[j + JOB.READY] = 1
    reconsider(w, f, j)
    if w[j + JOB.REDUCES_DONE] == w[j + JOB.REDUCES] and w[j + JOB.MAPS_DONE] == w[j + JOB.MAPS]:
        return _tasks_ended(w, f, j)
    assign(w, f, w[j + JOB.CLUSTER])
    return NONE


@compiled
def _prepare(w: Array, f: Array, j: int) -> None:
    """A job is prepared, or ready at once: the time of a gang has its beginning and its end."""
    if (w[HEADER.JOB_BEGIN_US] or w[HEADER.JOB_BEGIN_CPU_US]) and not w[j + JOB.GANG]:
        _begin_step(w, f, j, w[HEADER.JOB_BEGIN_US], w[HEADER.JOB_BEGIN_CPU_US])
    else:
        w[j + JOB.READY] = 1
        reconsider(w, f, j)


@compiled
def _tasks_ended(w: Array, f: Array, j: int) -> int:
    """All tasks of a job have ended; the job when it has ended with them."""
    if w[HEADER.JOB_END_US] == 0 or w[j + JOB.GANG]:
        return _finish(w, f, j)
    _begin_step(w, f, j, w[HEADER.JOB_END_US], 0)
    assign(w, f, w[j + JOB.CLUSTER])
    return NONE


@compiled
def _finish(w: Array, f: Array, j: int) -> int:
    """A job has succeeded."""
    c = w[j + JOB.CLUSTER]
    _take_master(w, j)
    forget_job(w, j)
    w[c + CLUSTER.JOBS_DONE] += 1
    assign(w, f, c)
    return j


# --- jobs, from outside


@compiled
def submit(w: Array, f: Array, j: int) -> None:
    """A job whose record is written begins."""
    c = w[j + JOB.CLUSTER]
    w[HEADER.SEQ] += 1
    w[j + JOB.SEQ] = w[HEADER.SEQ]
    w[c + CLUSTER.TASKS_WAITING] += w[j + JOB.MAPS_WAITING] + w[j + JOB.REDUCES_WAITING]
    list_job(w, ALL, j, True)
    reconsider(w, f, j)
    if w[HEADER.SHARED_SLOTS] and f[HEADER.MASTER_SHARE] > 0.0 and not w[j + JOB.GANG]:
        list_job(w, MASTERS, j, True)
    else:
        _prepare(w, f, j)
    assign(w, f, c)


@compiled
def cancel(w: Array, f: Array, j: int) -> None:
    """A job stops where it is."""
    step = w[j + JOB.STEP]
    if step != NONE:
        drop_legs(w, f, step)
        free_owner(w, step)
    while w[j + JOB.HEAD] != NONE:
        stop(w, f, w[j + JOB.HEAD])
    _take_master(w, j)
    forget_job(w, j)
    assign(w, f, w[j + JOB.CLUSTER])


# --- nodes, from outside


@compiled
def join(w: Array, f: Array, c: int, n: int) -> None:
    """A node whose record is new offers its slots."""
    _offer(w, c, n)
    _resize(w, f, c)
    assign(w, f, c)


@compiled
def undrain(w: Array, f: Array, c: int, n: int) -> None:
    """A node that is there offers its slots, again if it was to leave."""
    if w[n + NODE.DRAINING]:
        w[n + NODE.DRAINING] = 0
        _offer(w, c, n)
    assign(w, f, c)


@compiled
def _offer(w: Array, c: int, n: int) -> None:
    for _ in range(w[n + NODE.MAPS_FREE]):
        push_slot(w, c + CLUSTER.MAP_SLOTS, n)
    for _ in range(w[n + NODE.REDUCES_FREE]):
        push_slot(w, c + CLUSTER.REDUCE_SLOTS, n)


@compiled
def drain(w: Array, c: int, n: int) -> None:
    """A node gets no more tasks: its free slots are of an epoch that is over."""
    if not w[n + NODE.DRAINING]:
        w[n + NODE.DRAINING] = 1
        w[n + NODE.EPOCH] += 1
        w[c + CLUSTER.MAP_SLOTS + RING.STALE] += w[n + NODE.MAPS_FREE]
        w[c + CLUSTER.REDUCE_SLOTS + RING.STALE] += w[n + NODE.REDUCES_FREE]


@compiled
def leave(w: Array, f: Array, c: int, n: int) -> None:
    """A node is gone: its tasks wait again, and so do finished maps whose output is still needed."""
    stop_all(w, f, c, n)
    w[n + NODE.STORED] = 0
    _resize(w, f, c)
    assign(w, f, c)


@compiled
def stop_tasks(w: Array, f: Array, c: int, n: int) -> None:
    """Nothing computes on a node any more; what it stores stays."""
    stop_all(w, f, c, n)
    assign(w, f, c)


@compiled
def stop_all(w: Array, f: Array, c: int, n: int) -> None:
    """Its tasks wait again, and so do finished maps whose output was here and is still needed."""
    drain(w, c, n)
    while w[n + NODE.MASTERS] != NONE:
        _lose_master(w, f, w[n + NODE.MASTERS])
    while w[n + NODE.HEAD] != NONE:
        j = w[w[n + NODE.HEAD] + OWNER.JOB]
        w[j + JOB.BROKEN] = w[j + JOB.GANG]
        stop(w, f, w[n + NODE.HEAD])
        _run_lost_maps(w, f, j)
    while w[n + NODE.CELLS] != NONE:
        j = w[w[n + NODE.CELLS] + CELL.JOB]
        free_cell(w, w[n + NODE.CELLS])
        count_kept(w, j, n, -1)
        _run_lost_maps(w, f, j)
    j = w[c + CLUSTER.HEAD + ALL]
    while j != NONE:
        if w[j + JOB.BROKEN]:
            _stop_gang(w, f, j)
        j = w[j + JOB.NEXT + ALL]


@compiled
def _stop_gang(w: Array, f: Array, j: int) -> None:
    """One of its maps has lost its node: all start again."""
    w[j + JOB.BROKEN] = 0
    while w[j + JOB.HEAD] != NONE:
        stop(w, f, w[j + JOB.HEAD])
    _waits(w, j, JOB.MAPS_WAITING, w[j + JOB.MAPS_DONE])
    w[w[j + JOB.CLUSTER] + CLUSTER.TASKS_DONE] -= w[j + JOB.MAPS_DONE]
    w[j + JOB.MAPS_DONE] = 0
    reconsider(w, f, j)


@compiled
def _run_lost_maps(w: Array, f: Array, j: int) -> None:
    """Maps whose output left with its node wait again when a reduce needs it, even one that was killed only now."""
    if w[j + JOB.REDUCES_WAITING] > 0 or w[j + JOB.FETCHES] > 0:
        lost = w[j + JOB.MAPS_DONE] - w[j + JOB.KEPT]
        if lost:
            w[j + JOB.MAPS_DONE] -= lost
            _waits(w, j, JOB.MAPS_WAITING, lost)
            w[w[j + JOB.CLUSTER] + CLUSTER.TASKS_DONE] -= lost
            reconsider(w, f, j)


@compiled
def _resize(w: Array, f: Array, c: int) -> None:
    """The pools get what is wanted for the nodes that are there now."""
    first, wanted = w[c + CLUSTER.FIRST_POOL], c + CLUSTER.WANTED
    for role in range(ROLES):
        resize(w, f, first + role * POOL.SIZE, f[wanted + role], max(1, w[c + CLUSTER.NODES + role]))
    own = w[c + CLUSTER.CORES_POOL] == first + CORES * POOL.SIZE
    resize(w, f, w[c + CLUSTER.CORES_POOL], f[wanted + CORES] if own else f[HEADER.CORES_WANTED], 1)
    resize(w, f, first + NETWORK * POOL.SIZE, f[wanted + NETWORK], 1)
    resize(w, f, first + COPIES * POOL.SIZE, f[wanted + COPIES], 1)
    for role in range(ROLES):
        if w[c + CLUSTER.NODES + role] == 0:
            _give_up(w, f, c, first + role * POOL.SIZE)


@compiled
def _give_up(w: Array, f: Array, c: int, gone: int) -> None:
    """Reduces that fetch from nodes of which none is left go on with what they have got: those maps run again."""
    j = w[c + CLUSTER.HEAD + ALL]
    while j != NONE:
        o = w[j + JOB.HEAD] if w[j + JOB.FETCHES] else NONE
        while o != NONE:
            if w[o + OWNER.PHASE] == FETCH or w[o + OWNER.PHASE] == FETCH_REST:
                _go_on_without(w, f, o, gone)
            o = w[o + OWNER.NEXT]
        j = w[j + JOB.NEXT + ALL]


@compiled
def _go_on_without(w: Array, f: Array, o: int, gone: int) -> None:
    dead = 0
    for leg in range(w[o + OWNER.USED]):
        at = o + OWNER.LEG + leg * LEG.SIZE
        if w[at + LEG.POOL] == gone:
            drop_leg(w, f, at)
            dead += 1
    w[o + OWNER.LEFT] -= dead
    if dead and w[o + OWNER.LEFT] == 0:
        phase_ended(w, f, o)
