"""The state of the compiled model: one array of records for each kind of thing, and how these grow.

Compiled functions cannot make an array longer. So each array has room for all that can happen until the next call,
which Python sees to before it: as many attempts as there are slots, as many finished maps as jobs under way have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit

Array = Any
"""An array of numpy; its fields are known to numba, not to mypy."""

#: work under way for one owner, at most: a map that writes to another node's disk, with input from another site
LEGS = 8
NONE = -1
#: owners of flows
FREE, TASK, STEP, COPY = range(4)
#: phases of a task, as in fawkes.sim.tasks
MAP, FETCH, WAIT, FETCH_REST, REDUCE = range(5)
#: roles of nodes, in the order of Role
CORE, TRANSIENT, TRANSIENT_CORE = range(3)
ROLES = 3
#: pools of a MR-cluster, from its first one: disks by role, then these
CORES, NETWORK, TIME, COPIES = range(3, 7)
POOLS = 7
#: pools of all MR-clusters
STORAGE, LINK, SHARED_CORES = range(3)
#: rings of free slots, two for each MR-cluster; containers for either use the first
MAP_SLOTS, REDUCE_SLOTS = range(2)
#: lists of jobs of a MR-cluster, in the order of submission: all, without a task yet, with maps to start, with reduces
ALL, UNSTARTED, MAPS, REDUCES = range(4)
LISTS = 4
NOT_IN_LIST = -2
#: numbers that change, in ``State.at``
(NOW, ORDER, FREE_OWNER, DUE, DIRTY, BATCH, BATCH_AT, BATCH_POOL, FREE_CELL, CELLS, DONE, LOGGED, WHAT, SEQ) = range(14)
NUMBERS = 14
#: what is told of an attempt in the log
STARTED, ENDED, KILLED = range(3)
#: answers of advance()
QUIET, JOB_ENDED, COPY_DONE, LOG_FULL = range(4)

_F, _I = np.float64, np.int64

CONSTANTS = np.dtype(
    [
        ("shared_slots", _I),
        ("shared_cores", _I),
        ("slots", _I),
        ("map_slots", _I),
        ("reduce_slots", _I),
        ("disk", _F),
        ("network", _F),
        ("cores", _F),
        ("block_bytes", _I),
        ("heartbeat_us", _I),
        ("multiplier", _I),
        ("remote_read", _F),
        ("output_passes", _F),
        ("job_begin_us", _I),
        ("job_end_us", _I),
        ("chance", _I),
        ("share", _F),
        ("straggle", _F),
        ("logging", _I),
    ]
)
POOL = np.dtype(
    [
        ("capacity", _F),
        ("cap", _F),
        ("clock", _F),
        ("at_us", _I),
        ("flows", _I),
        ("heap", _I),
        ("room", _I),
        ("due_us", _I),
        ("due_order", _I),
        ("due_pos", _I),
        ("dirty", _I),
    ]
)
#: an entry of the heap of a pool; the heaps of all pools stand in one array
ENTRY = np.dtype([("ends_at", _F), ("order", _I), ("flow", _I)])
#: ``pool`` is NONE when the owner does not wait for it; ``pos`` is its place in the heap, NONE when it has ended
FLOW = np.dtype([("ends_at", _F), ("order", _I), ("pool", _I), ("pos", _I)])
OWNER = np.dtype(
    [
        ("kind", _I),
        ("cluster", _I),
        ("job", _I),
        ("node", _I),
        ("phase", _I),
        ("left", _I),
        ("used", _I),
        ("number", _I),
        ("factor", _F),
        ("share", _F),
        ("next", _I),
        ("prev", _I),
        ("node_next", _I),
        ("node_prev", _I),
    ]
)
JOB = np.dtype(
    [
        ("cluster", _I),
        ("serial", _I),
        ("seq", _I),
        ("stream", np.uint64),
        ("maps", _I),
        ("reduces", _I),
        ("map_us", _F),
        ("map_cpu_us", _F),
        ("map_read", _F),
        ("map_output", _F),
        ("reduce_us", _F),
        ("reduce_cpu_us", _F),
        ("shuffle", _F),
        ("output", _I),
        ("noted", _I),
        ("slow_start", _F),
        ("maps_waiting", _I),
        ("reduces_waiting", _I),
        ("maps_done", _I),
        ("reduces_done", _I),
        ("attempts", _I),
        ("finished_us", _I),
        ("ready", _I),
        ("started", _I),
        ("step", _I),
        ("head", _I),
        ("tail", _I),
        ("waits", _I),
        ("fetches", _I),
        ("cells", _I),
        ("kept", _I),
        ("kept_core", _I),
        ("kept_transient", _I),
        ("kept_transient_core", _I),
        ("counted_waiting", _I),
        ("counted_ready", _I),
    ]
)
NODE = np.dtype(
    [
        ("serial", _I),
        ("role", _I),
        ("site", _I),
        ("epoch", _I),
        ("maps_free", _I),
        ("reduces_free", _I),
        ("draining", _I),
        ("head", _I),
        ("tail", _I),
        ("cells", _I),
        ("stored", _I),
    ]
)
CLUSTER = np.dtype(
    [
        ("serial", _I),
        ("first_pool", _I),
        ("cores_pool", _I),
        ("sites", _I),
        ("core", _I),
        ("transient", _I),
        ("transient_core", _I),
        ("output", _I),
        ("jobs", _I),
        ("jobs_done", _I),
        ("tasks_done", _I),
        ("tasks_running", _I),
        ("tasks_waiting", _I),
        ("tasks_ready", _I),
    ]
)
#: free slots, first come first served; of nodes that drain some are ``stale`` and passed over
RING = np.dtype([("first", _I), ("room", _I), ("head", _I), ("count", _I), ("valid", _I)])
SLOT = np.dtype([("node", _I), ("epoch", _I)])
#: a finished map whose output lies on a node while its job runs
CELL = np.dtype([("job", _I), ("node", _I), ("next", _I), ("prev", _I), ("job_next", _I)])
STALE = np.dtype([("flow", _I), ("order", _I)])
LOG = np.dtype(
    [("at_us", _I), ("cluster", _I), ("job", _I), ("number", _I), ("node", _I), ("reduce", np.int8), ("what", np.int8)]
)


class State(NamedTuple):
    """All arrays. ``heap``, ``slots`` are cut into parts for the pools, the rings; ``batch`` ended at this moment."""

    at: Array
    of: Array
    quantiles: Array
    pools: Array
    due: Array
    dirty: Array
    heap: Array
    owners: Array
    flows: Array
    batch: Array
    jobs: Array
    job_next: Array
    job_prev: Array
    job_head: Array
    job_tail: Array
    site_kept: Array
    done: Array
    nodes: Array
    clusters: Array
    far: Array
    rings: Array
    slots: Array
    cells: Array
    log: Array


Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """By numba, kept on disk; no freedom with the order of float operations, so that results stay equal."""
    return cast(Function, njit(cache=True, error_model="numpy")(function))


def inlined(function: Function) -> Function:
    """The same for what is called for each flow: handing all arrays over costs more than the work."""
    return cast(Function, njit(cache=True, error_model="numpy", forceinline=True)(function))


def longer(array: Array, count: int, fill: int | None = None) -> Array:
    """The same with room for so many along the last axis; what is new is zero, or ``fill``."""
    shape = (*array.shape[:-1], count)
    new = np.zeros(shape, array.dtype) if fill is None else np.full(shape, fill, array.dtype)
    new[..., : array.shape[-1]] = array
    return new


def at_least(length: int, need: int) -> int:
    """Twice the length as often as it takes."""
    while length < need:
        length *= 2
    return length
