"""What the phases of a task ask of the machine, as in fawkes.sim.machine: the same flows in the same order."""

from __future__ import annotations

from math import inf

from fawkes.sim.compiled.arrays import (
    CORE,
    LEGS,
    LINK,
    MAP,
    NETWORK,
    NONE,
    REDUCE,
    TIME,
    TRANSIENT,
    State,
    compiled,
    inlined,
)
from fawkes.sim.compiled.flows import begin_flow, drop_flow

# --- flows of an owner


@inlined
def add_leg(s: State, o: int, p: int, work: float) -> None:
    """Work in a pool, unless it is none or takes no time there."""
    pool = s.pools[p]
    if work > 0 and (pool.capacity < inf or pool.cap < inf):
        owner = s.owners[o]
        begin_flow(s, p, work, o * LEGS + owner.used)
        owner.used += 1
        owner.left += 1


@inlined
def at_least_one(s: State, o: int) -> None:
    """A flow of no length when there is nothing to do, or nothing that takes time."""
    owner = s.owners[o]
    if owner.left == 0:
        wait(s, o, 0.0)


@compiled
def wait(s: State, o: int, time_us: float) -> None:
    """Time passes, whatever the machine does."""
    owner = s.owners[o]
    begin_flow(s, s.clusters[owner.cluster].first_pool + TIME, time_us, o * LEGS + owner.used)
    owner.used += 1
    owner.left += 1


@compiled
def drop_flows(s: State, o: int) -> None:
    """What an owner waits for stops, in the order in which it began."""
    for f in range(o * LEGS, o * LEGS + s.owners[o].used):
        if s.flows[f].pool != NONE:
            drop_flow(s, f)


# --- what a phase asks for


@compiled
def work(s: State, o: int) -> None:
    """Begin the flows of an attempt's phase."""
    owner = s.owners[o]
    owner.used, owner.left = 0, 0
    if owner.phase == MAP:
        _work_map(s, o)
    elif owner.phase == REDUCE:
        _work_reduce(s, o)
    else:
        _work_fetch(s, o)
    at_least_one(s, o)


@inlined
def _work_map(s: State, o: int) -> None:
    owner = s.owners[o]
    job, node, cluster, factor = s.jobs[owner.job], s.nodes[owner.node], s.clusters[owner.cluster], owner.factor
    first = cluster.first_pool
    add_leg(s, o, first + TIME, job.map_us * factor)
    add_leg(s, o, cluster.cores_pool, job.map_cpu_us * factor)
    read = job.map_read
    if node.role != CORE:
        add_leg(s, o, first + NETWORK, read * factor)
        read *= s.of[0].remote_read
    add_leg(s, o, first + CORE, read * factor)
    if job.reduces:
        add_leg(s, o, first + node.role, job.map_output * factor)
    else:
        _write_output(s, o)
    if cluster.sites > 1:
        add_leg(s, o, LINK, job.map_read * s.far[node.site, owner.cluster] * factor)


@inlined
def _work_reduce(s: State, o: int) -> None:
    owner = s.owners[o]
    job, node, cluster, factor = s.jobs[owner.job], s.nodes[owner.node], s.clusters[owner.cluster], owner.factor
    add_leg(s, o, cluster.first_pool + TIME, job.reduce_us * factor)
    add_leg(s, o, cluster.cores_pool, job.reduce_cpu_us * factor)
    add_leg(s, o, cluster.first_pool + node.role, job.shuffle * factor)
    _write_output(s, o)


@inlined
def _write_output(s: State, o: int) -> None:
    owner = s.owners[o]
    role, first = s.nodes[owner.node].role, s.clusters[owner.cluster].first_pool
    written = s.jobs[owner.job].output * s.of[0].output_passes
    if role == TRANSIENT:
        add_leg(s, o, first + NETWORK, written * owner.factor)
        add_leg(s, o, first + CORE, written * owner.factor)
    else:
        add_leg(s, o, first + role, written * owner.factor)


@inlined
def _work_fetch(s: State, o: int) -> None:
    owner = s.owners[o]
    job, node, cluster, factor = s.jobs[owner.job], s.nodes[owner.node], s.clusters[owner.cluster], owner.factor
    before = owner.share
    owner.share = job.maps_done / max(1, job.maps)
    more = owner.share - before
    fetched = job.shuffle * (more if more > 0.0 else 0.0)
    if not fetched:
        return
    first, maps = cluster.first_pool, max(1, job.kept)
    add_leg(s, o, first + NETWORK, fetched * factor)
    add_leg(s, o, first + node.role, fetched * factor)
    add_leg(s, o, first, fetched * job.kept_core / maps * factor)
    add_leg(s, o, first + 1, fetched * job.kept_transient / maps * factor)
    add_leg(s, o, first + 2, fetched * job.kept_transient_core / maps * factor)
    if cluster.sites > 1:
        far = job.kept - s.site_kept[node.site, owner.job]
        add_leg(s, o, LINK, fetched * far / maps * factor)
