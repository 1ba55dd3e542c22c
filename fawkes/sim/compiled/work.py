"""What the phases of a task ask of the machine, as in fawkes.sim.machine: the same flows in the same order."""

from __future__ import annotations

import numpy as np

from fawkes.sim.compiled.flows import add_leg, at_least_one, compiled
from fawkes.sim.compiled.layout import (
    CLUSTER,
    CORE,
    HEADER,
    JOB,
    MAP,
    NETWORK,
    NODE,
    NONE,
    OWNER,
    POOL,
    REDUCE,
    ROLES,
    TIME,
    TRANSIENT,
    Array,
)


@compiled
def work(w: Array, f: Array, o: int) -> None:
    """Begin the flows of an attempt's start, or of its phase."""
    w[o + OWNER.USED], w[o + OWNER.LEFT] = 0, 0
    if w[o + OWNER.STARTS]:
        factor = f[o + OWNER.FACTOR]
        start_work(w, f, o, w[HEADER.TASK_START_US] * factor, w[HEADER.TASK_START_CPU_US] * factor)
    elif w[o + OWNER.PHASE] == MAP:
        _work_map(w, f, o)
    elif w[o + OWNER.PHASE] == REDUCE:
        _work_reduce(w, f, o)
    else:
        _work_fetch(w, f, o)
    at_least_one(w, f, o, w[w[o + OWNER.CLUSTER] + CLUSTER.FIRST_POOL])


@compiled
def start_work(w: Array, f: Array, o: int, time_us: float, cpu_us: float) -> None:
    """What starts, of a job, a task or a node: it takes its time, and longer where the cores are shared by many."""
    c = w[o + OWNER.CLUSTER]
    add_leg(w, f, o, w[c + CLUSTER.FIRST_POOL] + TIME * POOL.SIZE, time_us)
    add_leg(w, f, o, w[c + CLUSTER.CORES_POOL], cpu_us / 2)
    add_leg(w, f, o, w[c + CLUSTER.CORES_POOL], cpu_us / 2)


@compiled
def _work_map(w: Array, f: Array, o: int) -> None:
    j, c, role, factor = w[o + OWNER.JOB], w[o + OWNER.CLUSTER], w[w[o + OWNER.NODE] + NODE.ROLE], f[o + OWNER.FACTOR]
    first = w[c + CLUSTER.FIRST_POOL]
    add_leg(w, f, o, first + TIME * POOL.SIZE, f[j + JOB.MAP_US] * factor)
    add_leg(w, f, o, w[c + CLUSTER.CORES_POOL], f[j + JOB.MAP_CPU_US] * factor)
    read = f[j + JOB.MAP_READ]
    if role != CORE:
        add_leg(w, f, o, first + NETWORK * POOL.SIZE, read * factor)
        read *= f[HEADER.REMOTE_READ]
    add_leg(w, f, o, first, read * factor)
    if w[j + JOB.REDUCES]:
        add_leg(w, f, o, first + role * POOL.SIZE, f[j + JOB.MAP_OUTPUT] * factor)
    else:
        _write_output(w, f, o)
    if w[c + CLUSTER.SITES] > 1:
        far = f[j + JOB.MAP_READ] * f[_far(w, o)]
        if not w[j + JOB.REDUCES]:
            far += _far_output(w, f, o)
        add_leg(w, f, o, w[HEADER.LINK], far * factor)


@compiled
def _work_reduce(w: Array, f: Array, o: int) -> None:
    j, c, factor = w[o + OWNER.JOB], w[o + OWNER.CLUSTER], f[o + OWNER.FACTOR]
    first = w[c + CLUSTER.FIRST_POOL]
    add_leg(w, f, o, first + TIME * POOL.SIZE, f[j + JOB.REDUCE_US] * factor)
    add_leg(w, f, o, w[c + CLUSTER.CORES_POOL], f[j + JOB.REDUCE_CPU_US] * factor)
    add_leg(w, f, o, first + w[w[o + OWNER.NODE] + NODE.ROLE] * POOL.SIZE, f[j + JOB.SHUFFLE] * factor)
    _write_output(w, f, o)
    if w[c + CLUSTER.SITES] > 1:
        add_leg(w, f, o, w[HEADER.LINK], _far_output(w, f, o) * factor)


@compiled
def _write_output(w: Array, f: Array, o: int) -> None:
    role, first = w[w[o + OWNER.NODE] + NODE.ROLE], w[w[o + OWNER.CLUSTER] + CLUSTER.FIRST_POOL]
    written = w[w[o + OWNER.JOB] + JOB.OUTPUT] * f[HEADER.OUTPUT_PASSES] * f[o + OWNER.FACTOR]
    if role == TRANSIENT:
        add_leg(w, f, o, first + NETWORK * POOL.SIZE, written)
        add_leg(w, f, o, first, written)
    else:
        add_leg(w, f, o, first + role * POOL.SIZE, written)


@compiled
def _work_fetch(w: Array, f: Array, o: int) -> None:
    j, c, n, factor = w[o + OWNER.JOB], w[o + OWNER.CLUSTER], w[o + OWNER.NODE], f[o + OWNER.FACTOR]
    before = f[o + OWNER.SHARE]
    f[o + OWNER.SHARE] = w[j + JOB.MAPS_DONE] / max(1, w[j + JOB.MAPS])
    fetched = f[j + JOB.SHUFFLE] * max(0.0, f[o + OWNER.SHARE] - before)
    if not fetched:
        return
    first, maps = w[c + CLUSTER.FIRST_POOL], max(1, w[j + JOB.KEPT])
    add_leg(w, f, o, first + NETWORK * POOL.SIZE, fetched * factor)
    add_leg(w, f, o, first + w[n + NODE.ROLE] * POOL.SIZE, fetched * factor)
    for role in range(ROLES):
        add_leg(w, f, o, first + role * POOL.SIZE, fetched * w[j + JOB.KEPT_BY + role] / maps * factor)
    if w[c + CLUSTER.SITES] > 1:
        far = w[j + JOB.KEPT] - w[w[j + JOB.KEPT_SITES] + w[n + NODE.SITE]]
        add_leg(w, f, o, w[HEADER.LINK], fetched * far / maps * factor)


@compiled
def _far(w: Array, o: int) -> int:
    """Where the parts stand that cross the link from or to the owner's site: of blocks read, of replicas written."""
    return w[w[o + OWNER.CLUSTER] + CLUSTER.FAR] + 2 * w[w[o + OWNER.NODE] + NODE.SITE]  # type: ignore[no-any-return]


@compiled
def _far_output(w: Array, f: Array, o: int) -> float:
    """Bytes of an attempt's output that cross the link, on all their ways together."""
    sent = w[w[o + OWNER.CLUSTER] + CLUSTER.REPLICATION] - int(w[w[o + OWNER.NODE] + NODE.ROLE] != TRANSIENT)
    return w[w[o + OWNER.JOB] + JOB.OUTPUT] * sent * f[_far(w, o) + 1]  # type: ignore[no-any-return]


@compiled
def chance(w: Array, f: Array, stream: int, number: int) -> float:
    """As `Chance.factor`: 64 bits that depend on the stream and the number choose a quantile."""
    if w[HEADER.QUANTILES] == NONE:
        return 1.0
    bits = np.uint64(stream) + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = bits ^ (bits >> np.uint64(31))
    factor: float = f[w[HEADER.QUANTILES] + np.int64(bits >> np.uint64(52))]
    if np.float64(bits & np.uint64(0xFFFFFFFF)) < f[HEADER.SHARE] * 4294967296.0:
        factor *= f[HEADER.STRAGGLE]
    return factor
