"""Bytes from and to persistent storage, or off a node that leaves; daemons that start. As in sim.hadoop.machine."""

from __future__ import annotations

from fawkes.sim.hadoop.compiled.flows import add_leg, at_least_one, compiled
from fawkes.sim.hadoop.compiled.layout import CLUSTER, COPIES, COPY, CORE, HEADER, NETWORK, NONE, POOL, Array
from fawkes.sim.hadoop.compiled.lists import new_owner
from fawkes.sim.hadoop.compiled.work import start_work
from fawkes.sim.hadoop.flows import MILLI


@compiled
def load(w: Array, f: Array, c: int, data_bytes: float) -> int:
    """Load from persistent storage to core nodes, by as many streams as there are; the owner of the flows."""
    nodes = max(1, w[c + CLUSTER.NODES + CORE])
    copies = max(1, min(w[c + CLUSTER.REPLICATION], nodes))
    each = data_bytes / nodes
    o = new_owner(w, COPY, c, NONE)
    first = w[c + CLUSTER.FIRST_POOL]
    add_leg(w, f, o, w[HEADER.STORAGE], each, nodes * MILLI)
    add_leg(w, f, o, first + NETWORK * POOL.SIZE, each, nodes * copies * MILLI)
    add_leg(w, f, o, first, each * f[HEADER.OUTPUT_PASSES], nodes * copies * MILLI)
    at_least_one(w, f, o, first)
    return o


@compiled
def save(w: Array, f: Array, c: int, output_bytes: float) -> int:
    """Save from core nodes to persistent storage, by as many streams as there are; the owner of the flows."""
    nodes = max(1, w[c + CLUSTER.NODES + CORE])
    each = output_bytes / nodes
    o = new_owner(w, COPY, c, NONE)
    first = w[c + CLUSTER.FIRST_POOL]
    add_leg(w, f, o, w[HEADER.STORAGE], each, nodes * MILLI)
    add_leg(w, f, o, first + NETWORK * POOL.SIZE, each, nodes * MILLI)
    add_leg(w, f, o, first, each, nodes * MILLI)
    at_least_one(w, f, o, first)
    return o


@compiled
def evacuate(w: Array, f: Array, c: int, held_bytes: float) -> int:
    """Copy from a node that leaves to those that stay; the owner of the flows."""
    o = new_owner(w, COPY, c, NONE)
    first = w[c + CLUSTER.FIRST_POOL]
    add_leg(w, f, o, first + COPIES * POOL.SIZE, held_bytes, MILLI)
    add_leg(w, f, o, first, held_bytes, MILLI)
    at_least_one(w, f, o, first)
    return o


@compiled
def start_daemons(w: Array, f: Array, c: int, time_us: float, cpu_us: float, count: int) -> int:
    """The daemons of so many nodes that come start; the owner of the flows."""
    o = new_owner(w, COPY, c, NONE)
    start_work(w, f, o, time_us, cpu_us, count)
    at_least_one(w, f, o, w[c + CLUSTER.FIRST_POOL])
    return o
