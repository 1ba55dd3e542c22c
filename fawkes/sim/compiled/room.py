"""Room in the arrays: what each call may need at most, made before it."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from fawkes.sim.chance import quantiles
from fawkes.sim.compiled.arrays import (
    BATCH_POOL,
    CELL,
    CELLS,
    CLUSTER,
    CONSTANTS,
    ENTRY,
    FLOW,
    FREE_CELL,
    FREE_OWNER,
    JOB,
    LEGS,
    LISTS,
    LOG,
    LOGGED,
    NODE,
    NONE,
    NOT_IN_LIST,
    NOW,
    NUMBERS,
    OWNER,
    POOL,
    RING,
    SLOT,
    STALE,
    STORAGE,
    State,
    at_least,
    longer,
)
from fawkes.sim.constants import Constants
from fawkes.units import SECOND_US

#: pools that all MR-clusters share
COMMON = 3
_FIRST = 16


def new_state(constants: Constants, now_us: int, keep_events: bool) -> State:
    """Nothing yet but the pools that all MR-clusters share."""
    at = np.zeros(NUMBERS, np.int64)
    at[NOW], at[FREE_OWNER], at[FREE_CELL], at[BATCH_POOL] = now_us, NONE, NONE, NONE

    def ints(*shape: int, fill: int = NONE) -> Any:
        return np.full(shape, fill, np.int64)

    return State(
        at=at,
        of=_constants(constants, keep_events),
        quantiles=np.array(quantiles(constants.spread)),
        pools=_pools(constants, now_us),
        due=ints(COMMON),
        dirty=ints(COMMON),
        heap=np.zeros(COMMON, ENTRY),
        owners=np.zeros(0, OWNER),
        flows=np.zeros(0, FLOW),
        batch=np.zeros(0, STALE),
        jobs=np.zeros(_FIRST, JOB),
        job_next=ints(LISTS, _FIRST),
        job_prev=ints(LISTS, _FIRST, fill=NOT_IN_LIST),
        job_head=ints(LISTS, 1),
        job_tail=ints(LISTS, 1),
        site_kept=ints(1, _FIRST, fill=0),
        done=ints(_FIRST),
        nodes=np.zeros(_FIRST, NODE),
        clusters=np.zeros(1, CLUSTER),
        far=np.zeros((1, 1)),
        rings=np.zeros(2, RING),
        slots=np.zeros(_FIRST, SLOT),
        cells=np.zeros(_FIRST, CELL),
        log=np.zeros(_FIRST, LOG),
    )


def _constants(of: Constants, keep_events: bool) -> Any:
    found = np.zeros(1, CONSTANTS)
    same = ("slots", "map_slots", "reduce_slots", "cores", "remote_read", "output_passes", "job_begin_us", "job_end_us")
    for name in (*same, "block_bytes", "heartbeat_us", "multiplier", "straggle"):
        found[name] = getattr(of, name)
    found["shared_slots"] = of.map_slots == 0
    found["shared_cores"] = of.shared_cores
    found["disk"] = of.disk_bytes_s / SECOND_US
    found["network"] = of.network_bytes_s / SECOND_US
    found["chance"] = bool(of.spread or of.stragglers)
    found["share"] = of.stragglers
    found["logging"] = keep_events
    return found


def _pools(of: Constants, now_us: int) -> Any:
    pools = np.zeros(COMMON, POOL)
    pools["cap"] = (inf, inf, 1.0)
    pools["capacity"] = (of.storage_bytes_s / SECOND_US, of.site_bytes_s / SECOND_US, of.cores)
    pools["due_pos"] = NONE
    pools["heap"], pools["room"] = range(STORAGE, COMMON), 1
    return pools


class Room:
    """The arrays, and how much of each is in use as Python knows it."""

    def __init__(self, constants: Constants, now_us: int, keep_events: bool) -> None:
        self.state = new_state(constants, now_us, keep_events)
        self._slots = constants.slots if constants.map_slots == 0 else constants.map_slots + constants.reduce_slots
        self._heap_used = COMMON
        self._rings_used = 0
        self._owners = 0
        self._keep_events = keep_events

    def _replace(self, **arrays: Any) -> None:
        self.state = self.state._replace(**arrays)

    def for_owners(self, need: int) -> None:
        """So many attempts, steps and copies at once, each with its flows; the log has room for their events."""
        count = len(self.state.owners)
        if need > count:
            more = at_least(max(count, _FIRST), need)
            owners = longer(self.state.owners, more)
            owners["next"][count:] = range(count + 1, more + 1)
            owners["next"][more - 1] = self.state.at[FREE_OWNER]
            self.state.at[FREE_OWNER] = count
            flows = longer(self.state.flows, more * LEGS)
            flows["pool"][count * LEGS :] = NONE
            flows["pos"][count * LEGS :] = NONE
            self._replace(owners=owners, flows=flows, batch=longer(self.state.batch, 2 * more))
        if self._keep_events:
            self.for_log()

    @property
    def log_room(self) -> int:
        """How many events one moment may have: every attempt is killed and begins again, and something more."""
        return 2 * len(self.state.owners) + _FIRST

    def for_log(self) -> None:
        """Room for the events of one moment at least."""
        need = int(self.state.at[LOGGED]) + self.log_room
        if need > len(self.state.log):
            self._replace(log=longer(self.state.log, at_least(len(self.state.log), need)))

    def for_heap(self, pool: int, need: int) -> None:
        """So many flows in a pool; its part of the heaps moves to the end."""
        at = self.state.pools[pool]
        if need <= at["room"]:
            return
        room = at_least(int(at["room"]) or _FIRST, need)
        if self._heap_used + room > len(self.state.heap):
            self._replace(heap=longer(self.state.heap, at_least(len(self.state.heap), self._heap_used + room)))
        start, flows = int(at["heap"]), int(at["flows"])
        self.state.heap[self._heap_used : self._heap_used + flows] = self.state.heap[start : start + flows]
        at["heap"], at["room"] = self._heap_used, room
        self._heap_used += room

    def for_ring(self, ring: int, slots: int) -> None:
        """So many slots of nodes that are there, and as many stale ones."""
        at, need = self.state.rings[ring], 2 * slots + 4 * self._slots + _FIRST
        if need <= at["room"]:
            return
        room = at_least(int(at["room"]) or _FIRST, need)
        if self._rings_used + room > len(self.state.slots):
            self._replace(slots=longer(self.state.slots, at_least(len(self.state.slots), self._rings_used + room)))
        if at["count"]:
            found = at["first"] + (at["head"] + np.arange(at["count"])) % at["room"]
            self.state.slots[self._rings_used : self._rings_used + len(found)] = self.state.slots[found]
        at["first"], at["room"], at["head"] = self._rings_used, room, 0
        self._rings_used += room

    def for_jobs(self, count: int) -> None:
        """So many jobs under way."""
        s = self.state
        if count <= len(s.jobs):
            return
        more = at_least(len(s.jobs), count)
        self._replace(
            jobs=longer(s.jobs, more),
            job_next=longer(s.job_next, more, NONE),
            job_prev=longer(s.job_prev, more, NOT_IN_LIST),
            site_kept=longer(s.site_kept, more),
            done=longer(s.done, more),
        )

    def for_cells(self, maps: int) -> None:
        """All maps of the jobs under way may end (again) until somebody looks."""
        need = int(self.state.at[CELLS]) + maps
        if need > len(self.state.cells):
            self._replace(cells=longer(self.state.cells, at_least(len(self.state.cells), need)))

    def for_nodes(self, count: int) -> None:
        """So many nodes, those that have left included."""
        if count > len(self.state.nodes):
            self._replace(nodes=longer(self.state.nodes, at_least(len(self.state.nodes), count)))

    def for_clusters(self, count: int) -> None:
        """So many MR-clusters, with their pools, rings and lists."""
        s = self.state
        if count > len(s.clusters):
            more = at_least(len(s.clusters), count)
            self._replace(
                clusters=longer(s.clusters, more),
                rings=longer(s.rings, 2 * more),
                job_head=longer(s.job_head, more, NONE),
                job_tail=longer(s.job_tail, more, NONE),
                far=longer(s.far, more),
            )

    def for_pools(self, count: int) -> None:
        """So many pools."""
        s = self.state
        if count > len(s.pools):
            more = at_least(len(s.pools), count)
            self._replace(pools=longer(s.pools, more), due=longer(s.due, more), dirty=longer(s.dirty, more))

    def for_sites(self, count: int) -> None:
        """So many sites."""
        s = self.state
        if count > len(s.site_kept):
            kept = np.zeros((count, s.site_kept.shape[1]), np.int64)
            kept[: len(s.site_kept)] = s.site_kept
            far = np.zeros((count, s.far.shape[1]))
            far[: len(s.far)] = s.far
            self._replace(site_kept=kept, far=far)
