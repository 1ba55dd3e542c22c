"""The place where things stand in the memory of the compiled model: one array of words, seen as integers and as floats.

A thing is known by the address of its first word; 0 is none. The names of a record are offsets from there. So compiled
functions hand over two arrays and nothing else: with an array for each kind of thing, handing them over is most of the
time.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

#: an array of numpy, whose items numba knows and mypy does not
Array = Any
NONE = 0
#: work under way for one owner, at most: a map that writes to another node's disk, with input from another site
LEGS = 8
#: phases of a task, as in fawkes.sim.hadoop.tasks; other owners of flows have these instead
MAP, FETCH, WAIT, FETCH_REST, REDUCE, STEP, COPY = range(7)
#: roles of nodes, in the order of Role
CORE, TRANSIENT, TRANSIENT_CORE = range(3)
ROLES = 3
#: pools of an MR-cluster from its first one: disks by role, then these
CORES, NETWORK, COPIES, TIME = range(3, 7)
POOLS = 7
#: lists of jobs of an MR-cluster in the order of submission: all, with maps to start, with reduces to start,
#: that wait for a slot of their ApplicationMaster
ALL, MAPS, REDUCES, MASTERS = range(4)
LISTS = 4
#: what the compiled function is asked for
ADVANCE, SUBMIT, CANCEL, JOIN, UNDRAIN, DRAIN, LEAVE, STOP_TASKS, BUSY_US, COPY_DROPS = range(10)
LOAD, SAVE, EVACUATE, DAEMONS = range(10, 14)
#: its answers to ADVANCE
QUIET, JOB_ENDED, COPY_DONE, LOG_FULL = range(4)
#: what is told of an attempt in the log
STARTED, ENDED, KILLED = range(3)
#: a row of the log: time, MR-cluster, job, number of the attempt, node, and what with whether it is a reduce
LOG_ROW = 6


def _record(name: str, fields: str, **arrays: int) -> Any:
    """Offsets by name, as numba takes constants: a module. ``SIZE`` is the whole; arrays are that many words long."""
    made, size = ModuleType(name), 0
    for field in fields.split():
        setattr(made, field, size)
        size += arrays.get(field, 1)
    made.SIZE = size  # type: ignore[attr-defined]
    return made


#: the first record of the memory. ``DUE`` and ``DIRTY`` are blocks of pools, ``BATCH`` is what ended at this moment,
#: ``TOGETHER`` and ``LONGEST`` are of the streams of the phase that begins
HEADER = _record(
    "header",
    "NONE NOW ORDER SEQ EVENTS WHAT FREE_OWNERS FREE_CELLS FRESH DUE DUES DIRTY DIRTIES BATCH BATCH_COUNT BATCH_AT"
    " LOG LOGGED LOG_ROOM QUANTILES SHARED_SLOTS JOB_BEGIN_US JOB_BEGIN_CPU_US"
    " JOB_END_US TASK_START_US TASK_START_CPU_US TASK_END_US LINK STORAGE CORES_WANTED SHARE STRAGGLE SPECULATIVE"
    " MASTER_SHARE SLOTS"
    " REMOTE_READ OUTPUT_PASSES SERIAL TOGETHER LONGEST",
)
#: ``COUNT`` of ``ROOM`` entries of the ``HEAP`` are in use; ``DROPPED`` of them are of flows not among ``STREAMS``.
#: ``RATE`` and ``DUE_ORDER`` are of the last look for the next end: they hold until the pool has ``CHANGED``, whose
#: number breaks ties from the next look on (0: not changed)
POOL = _record(
    "pool",
    "CLOCK AT_US RATE STREAMS CAPACITY CAP SEEK UNITS HEAP COUNT DROPPED ROOM DUE_US DUE_ORDER DUE_PLACE CHANGED",
)
#: an entry of a heap; a flow is its owner's address times `LEGS` and the number of its leg
ENTRY = _record("entry", "ENDS_AT ORDER FLOW")
#: of an owner. ``ORDER`` is below 0 from the end of the flow until its owner has heard of it
LEG = _record("leg", "ENDS_AT ORDER POOL WIDTH")
#: an attempt of a task, a step of a job or a copy. ``LEFT`` of ``USED`` legs are waited for; one that ``STARTS`` has
#: not come to the work of its phase, ``TAIL`` is what follows that
OWNER = _record(
    "owner",
    "PHASE CLUSTER JOB NODE LEFT USED NUMBER STARTS SINCE FACTOR SHARE TAIL NEXT PREV NODE_NEXT NODE_PREV LEG",
    LEG=LEGS * LEG.SIZE,
)
#: free slots, first come first served; ``STALE`` ones of nodes that drain or have left are passed over
RING = _record("ring", "SLOTS ROOM HEAD COUNT STALE")
SLOT = _record("slot", "NODE EPOCH")
#: the floats from ``DISKS`` on are what the pools shall have, ``FAR`` is a block of floats: two for each site
CLUSTER = _record(
    "cluster",
    "SERIAL FIRST_POOL CORES_POOL SITES FAR REPLICATION OUTPUT_REPLICAS NODES OUTPUT JOBS_DONE TASKS_DONE"
    " MASTERS TASKS_RUNNING TASKS_WAITING TASKS_READY HEAD TAIL MAP_SLOTS REDUCE_SLOTS WANTED",
    NODES=ROLES,
    HEAD=LISTS,
    TAIL=LISTS,
    MAP_SLOTS=RING.SIZE,
    REDUCE_SLOTS=RING.SIZE,
    WANTED=POOLS - 1,
)
#: ``KEPT`` maps have their output on nodes that are there, ``KEPT_BY`` role and, in a block, by site. Of ``RUNNING``
#: attempts there may be as many as are ``GRANTED`` (0: no bound)
JOB = _record(
    "job",
    "CLUSTER SERIAL SEQ STREAM MAPS REDUCES MAPS_WAITING REDUCES_WAITING OUTPUT NOTED KEPT_SITES GANG GRANTED MAP_US"
    " MAP_CPU_US MAP_READ MAP_OUTPUT REDUCE_US REDUCE_CPU_US SHUFFLE SLOW_START MAPS_DONE REDUCES_DONE ATTEMPTS READY"
    " STARTED FRESH_NEXT STEP HEAD TAIL WAITS FETCHES CELLS KEPT KEPT_BY MASTER MASTER_NEXT MASTER_PREV COUNTED_READY"
    " RUNNING WORK BROKEN NEXT PREV LISTED",
    KEPT_BY=ROLES,
    NEXT=LISTS,
    PREV=LISTS,
    LISTED=LISTS,
)
NODE = _record(
    "node", "SERIAL ROLE SITE EPOCH MAPS_FREE REDUCES_FREE DRAINING HEAD TAIL CELLS STORED FACTOR MASTERS LAST_MASTER"
)
#: a finished map whose output lies on a node while its job runs
CELL = _record("cell", "JOB NODE NEXT PREV JOB_NEXT JOB_PREV")
