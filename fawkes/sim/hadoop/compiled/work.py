"""The demands of a task's phases on the machine, as in fawkes.sim.hadoop.machine: the same flows in the same order."""

from __future__ import annotations

import numpy as np

from fawkes.sim.hadoop.chance import NO_STREAM
from fawkes.sim.hadoop.compiled.flows import add_leg, at_least_one, begin_flow, compiled
from fawkes.sim.hadoop.compiled.layout import (
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
    TRANSIENT_CORE,
    Array,
)
from fawkes.sim.hadoop.flows import MILLI


@compiled
def work(w: Array, f: Array, o: int) -> None:
    """Begin the flows of an attempt's start, or of its phase; a tail follows when these have ended."""
    w[o + OWNER.USED], w[o + OWNER.LEFT] = 0, 0
    f[HEADER.TOGETHER], f[HEADER.LONGEST] = 0.0, 0.0
    phase = w[o + OWNER.PHASE]
    if w[o + OWNER.STARTS]:
        factor = f[o + OWNER.FACTOR]
        start_work(w, f, o, w[HEADER.TASK_START_US] * factor, w[HEADER.TASK_START_CPU_US] * factor, 1)
    elif phase == MAP:
        _work_map(w, f, o)
    elif phase == REDUCE:
        _work_reduce(w, f, o)
    else:
        _work_fetch(w, f, o)
    if not w[o + OWNER.STARTS]:
        ends = phase in (MAP, REDUCE) and not w[w[o + OWNER.JOB] + JOB.GANG]
        end_us = w[HEADER.TASK_END_US] if ends else 0
        f[o + OWNER.TAIL] = f[HEADER.SERIAL] * (f[HEADER.TOGETHER] - f[HEADER.LONGEST]) + end_us
    at_least_one(w, f, o, w[w[o + OWNER.CLUSTER] + CLUSTER.FIRST_POOL])


@compiled
def tail(w: Array, f: Array, o: int) -> None:
    """Begin the tail of a phase: the time that it takes beyond its longest stream."""
    w[o + OWNER.USED], w[o + OWNER.LEFT] = 0, 0
    begin_flow(w, f, o, w[w[o + OWNER.CLUSTER] + CLUSTER.FIRST_POOL] + TIME * POOL.SIZE, f[o + OWNER.TAIL], MILLI)
    f[o + OWNER.TAIL] = 0.0


@compiled
def start_work(w: Array, f: Array, o: int, time_us: float, cpu_us: float, count: int) -> None:
    """Add a start, of a job, a task or ``count`` nodes: it takes its time, and longer where many share the cores."""
    c = w[o + OWNER.CLUSTER]
    add_leg(w, f, o, w[c + CLUSTER.FIRST_POOL] + TIME * POOL.SIZE, time_us, MILLI)
    add_leg(w, f, o, w[c + CLUSTER.CORES_POOL], cpu_us / 2, count * MILLI)
    add_leg(w, f, o, w[c + CLUSTER.CORES_POOL], cpu_us / 2, count * MILLI)


@compiled
def _work_map(w: Array, f: Array, o: int) -> None:
    j, c, role, factor = w[o + OWNER.JOB], w[o + OWNER.CLUSTER], w[w[o + OWNER.NODE] + NODE.ROLE], f[o + OWNER.FACTOR]
    first = w[c + CLUSTER.FIRST_POOL]
    add_leg(w, f, o, first + TIME * POOL.SIZE, f[j + JOB.MAP_US] * factor, MILLI)
    add_leg(w, f, o, w[c + CLUSTER.CORES_POOL], f[j + JOB.MAP_CPU_US] * factor, MILLI)
    read, kept = f[j + JOB.MAP_READ], f[j + JOB.MAP_OUTPUT]
    if role != CORE:
        add_leg(w, f, o, first + NETWORK * POOL.SIZE, read * factor, MILLI)
        add_leg(w, f, o, first, read * f[HEADER.REMOTE_READ] * factor, MILLI)
        read = 0.0
    if not w[j + JOB.REDUCES]:
        kept = _stored(w, f, o)
    add_leg(w, f, o, first + role * POOL.SIZE, (read + kept) * factor, MILLI)
    if not w[j + JOB.REDUCES]:
        _send(w, f, o)
    if w[c + CLUSTER.SITES] > 1:
        far = f[j + JOB.MAP_READ] * f[_far(w, o)]
        if not w[j + JOB.REDUCES]:
            far += _far_output(w, f, o)
        add_leg(w, f, o, w[HEADER.LINK], far * factor, MILLI)


@compiled
def _work_reduce(w: Array, f: Array, o: int) -> None:
    j, c, factor = w[o + OWNER.JOB], w[o + OWNER.CLUSTER], f[o + OWNER.FACTOR]
    first = w[c + CLUSTER.FIRST_POOL]
    add_leg(w, f, o, first + TIME * POOL.SIZE, f[j + JOB.REDUCE_US] * factor, MILLI)
    add_leg(w, f, o, w[c + CLUSTER.CORES_POOL], f[j + JOB.REDUCE_CPU_US] * factor, MILLI)
    own = first + w[w[o + OWNER.NODE] + NODE.ROLE] * POOL.SIZE
    add_leg(w, f, o, own, (f[j + JOB.SHUFFLE] + _stored(w, f, o)) * factor, MILLI)
    _send(w, f, o)
    if w[c + CLUSTER.SITES] > 1:
        add_leg(w, f, o, w[HEADER.LINK], _far_output(w, f, o) * factor, MILLI)


@compiled
def _stored(w: Array, f: Array, o: int) -> float:
    """Bytes of an attempt's output that pass over its own disk."""
    if w[w[o + OWNER.NODE] + NODE.ROLE] == TRANSIENT:
        return 0.0
    return w[w[o + OWNER.JOB] + JOB.OUTPUT] * f[HEADER.OUTPUT_PASSES]  # type: ignore[no-any-return]


@compiled
def _send(w: Array, f: Array, o: int) -> None:
    """The replicas on other nodes than the writer's, each a stream."""
    c, role, factor = w[o + OWNER.CLUSTER], w[w[o + OWNER.NODE] + NODE.ROLE], f[o + OWNER.FACTOR]
    core = w[c + CLUSTER.NODES + CORE]
    storing = core + w[c + CLUSTER.NODES + TRANSIENT_CORE]
    sent = (max(1, min(w[c + CLUSTER.OUTPUT_REPLICAS], storing)) - int(role != TRANSIENT)) * MILLI
    if not sent:
        return
    first, written = w[c + CLUSTER.FIRST_POOL], w[w[o + OWNER.JOB] + JOB.OUTPUT]
    passed = written * f[HEADER.OUTPUT_PASSES]
    on_core = sent if core == storing else sent * core // max(1, storing)
    add_leg(w, f, o, first + NETWORK * POOL.SIZE, written * factor, sent)
    if on_core:
        add_leg(w, f, o, first, passed * factor, on_core)
    if sent - on_core:
        add_leg(w, f, o, first + TRANSIENT_CORE * POOL.SIZE, passed * factor, sent - on_core)


@compiled
def _work_fetch(w: Array, f: Array, o: int) -> None:
    j, c, n, factor = w[o + OWNER.JOB], w[o + OWNER.CLUSTER], w[o + OWNER.NODE], f[o + OWNER.FACTOR]
    before = f[o + OWNER.SHARE]
    f[o + OWNER.SHARE] = w[j + JOB.MAPS_DONE] / max(1, w[j + JOB.MAPS])
    fetched = f[j + JOB.SHUFFLE] * max(0.0, f[o + OWNER.SHARE] - before)
    if not fetched:
        return
    first, maps = w[c + CLUSTER.FIRST_POOL], max(1, w[j + JOB.KEPT])
    add_leg(w, f, o, first + NETWORK * POOL.SIZE, fetched * factor, MILLI)
    add_leg(w, f, o, first + w[n + NODE.ROLE] * POOL.SIZE, fetched * factor, MILLI)
    for role in range(ROLES):
        add_leg(w, f, o, first + role * POOL.SIZE, fetched * w[j + JOB.KEPT_BY + role] / maps * factor, MILLI)
    if w[c + CLUSTER.SITES] > 1:
        far = w[j + JOB.KEPT] - w[w[j + JOB.KEPT_SITES] + w[n + NODE.SITE]]
        add_leg(w, f, o, w[HEADER.LINK], fetched * far / maps * factor, MILLI)


@compiled
def _far(w: Array, o: int) -> int:
    """The words of the parts that cross the link from or to the owner's site: of blocks read, of replicas written."""
    return w[w[o + OWNER.CLUSTER] + CLUSTER.FAR] + 2 * w[w[o + OWNER.NODE] + NODE.SITE]  # type: ignore[no-any-return]


@compiled
def _far_output(w: Array, f: Array, o: int) -> float:
    """Bytes of an attempt's output that cross the link, on all their ways together."""
    c = w[o + OWNER.CLUSTER]
    storing = w[c + CLUSTER.NODES + CORE] + w[c + CLUSTER.NODES + TRANSIENT_CORE]
    sent = min(w[c + CLUSTER.OUTPUT_REPLICAS], storing) - int(w[w[o + OWNER.NODE] + NODE.ROLE] != TRANSIENT)
    return w[w[o + OWNER.JOB] + JOB.OUTPUT] * sent * f[_far(w, o) + 1]  # type: ignore[no-any-return]


@compiled
def chance(w: Array, f: Array, stream: int, number: int) -> float:
    """The factor of `Chance.factor`: 64 bits that depend on the stream and the number choose a quantile."""
    if w[HEADER.QUANTILES] == NONE or stream == NO_STREAM:
        return 1.0
    bits = np.uint64(stream) + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = bits ^ (bits >> np.uint64(31))
    factor: float = f[w[HEADER.QUANTILES] + np.int64(bits >> np.uint64(52))]
    if np.float64(bits & np.uint64(0xFFFFFFFF)) < f[HEADER.SHARE] * 4294967296.0:
        factor *= f[HEADER.STRAGGLE]
    if w[HEADER.SPECULATIVE] and factor > 1.0:
        second = np.int64((bits >> np.uint64(40)) & np.uint64(4095))
        factor = min(factor, 1.0 + f[w[HEADER.QUANTILES] + second])
    return factor
