"""An MR-cluster of the compiled model: its names for addresses, and the room that it needs."""

from __future__ import annotations

from collections.abc import Collection
from math import inf

import numpy as np

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import StartJob
from fawkes.core.values.events import Progress
from fawkes.core.values.model import ClusterId, NodeId, Reading, Role
from fawkes.core.values.tags import tag_of
from fawkes.sim.hadoop.chance import NO_STREAM, factor_of_node, stream_of
from fawkes.sim.hadoop.cluster import NODE_BYTES
from fawkes.sim.hadoop.compiled import layout
from fawkes.sim.hadoop.compiled.ground import CompiledCopy, CompiledGround
from fawkes.sim.hadoop.compiled.layout import (
    CLUSTER,
    COPIES,
    CORES,
    HEADER,
    NETWORK,
    NODE,
    NONE,
    POOL,
    TIME,
    Array,
)
from fawkes.sim.hadoop.constants import Constants
from fawkes.sim.hadoop.machine import (
    capacity_of,
    copies_of,
    cores_of,
    daemons_of,
    input_of_a_core_node,
    network_of,
    own_cores_of,
)
from fawkes.sim.hadoop.profile import Profile, has_chance, profile_of
from fawkes.sim.hadoop.tasks import End, JobAttempt, Running

_ROLES = list(Role)


def slots_of(of: Constants) -> int:
    """The slots of a node, for maps and for reduces."""
    return of.slots if of.map_slots == 0 else of.map_slots + of.reduce_slots


class CompiledCluster:
    """`Cluster` in the memory of a model."""

    def __init__(
        self,
        model: CompiledGround,
        serial: int,
        name: ClusterId,
        replication: int,
        data_bytes: int,
        *,
        standby: bool = False,
    ) -> None:
        self.id = name
        self._standby = standby
        self.loaded = False
        self.ended: dict[JobAttempt, End] = {}
        self.running: dict[JobAttempt, tuple[int, int]] = {}
        self.waiting: dict[JobAttempt, str] = {}
        self._model = model
        self._replication = replication
        self._data_bytes = data_bytes
        self._nodes: dict[NodeId, int] = {}
        self._draining: set[NodeId] = set()
        self._stopped: set[NodeId] = set()
        self._stores: Array | None = None
        self._by_role = [0] * layout.ROLES
        self._sites: dict[int, list[int]] = {}
        self._slots = slots_of(model.constants)
        self._with_masters = model.constants.map_slots == 0 and model.constants.master_share > 0
        self._reserved = 0
        model.for_pools()
        self._at = model.memory.take(CLUSTER.SIZE)
        self._first = model.memory.take(POOL.SIZE * layout.POOLS)
        self._begin(serial)

    def _begin(self, serial: int) -> None:
        model, of, first = self._model, self._model.constants, self._first
        far = model.memory.take(2 * model.site_room)
        words = model.memory.words
        words[self._at + CLUSTER.SERIAL], words[self._at + CLUSTER.FIRST_POOL] = serial, first
        words[self._at + CLUSTER.CORES_POOL] = model.cores or first + CORES * POOL.SIZE
        words[self._at + CLUSTER.REPLICATION], words[self._at + CLUSTER.FAR] = self._replication, far
        words[self._at + CLUSTER.OUTPUT_REPLICAS] = of.output_replicas or self._replication
        self._far_room = model.site_room
        disk, card = of.disk_bytes_s / SECOND_US, of.network_bytes_s / SECOND_US
        caps = {CORES: 1.0, TIME: 1.0, COPIES: copies_of(of), NETWORK: card}
        for number in range(layout.POOLS):
            capacity = inf if number == TIME else 0.0
            seek = of.disk_seek if number < layout.ROLES else 0.0
            model.new_pool(capacity, caps.get(number, disk), seek, first + number * POOL.SIZE)
        self._make_room()

    def _make_room(self) -> None:
        """Make room in the heaps and rings: for its nodes' slots, its jobs and all copies."""
        model, slots = self._model, len(self._nodes) * self._slots
        need = slots + len(self.running) + len(model.copies) + 2
        if need > self._reserved:
            self._reserved = max(need, 2 * self._reserved)
            for number in range(layout.POOLS):
                model.memory.for_heap(self._first + number * POOL.SIZE, 2 * self._reserved)
            for ring in (CLUSTER.MAP_SLOTS, CLUSTER.REDUCE_SLOTS):
                model.memory.for_ring(self._at + ring, self._reserved)

    def _call(self, what: int, a: int, b: int = 0) -> int:
        self._make_room()
        return self._model.call(what, a, b)

    @property
    def nodes(self) -> Collection[NodeId]:
        """The nodes that work for it."""
        return self._nodes.keys()

    @property
    def jobs(self) -> Collection[JobAttempt]:
        """The attempts of jobs that have not ended."""
        return self.running.keys()

    @property
    def tasks_done(self) -> int:
        """Tasks that have ended, without those whose output was lost."""
        return int(self._model.memory.ints[self._at + CLUSTER.TASKS_DONE])

    # --- nodes

    def join(self, name: NodeId, role: Role, site: str = "") -> None:
        """A node of a site offers its slots (again)."""
        node = self._nodes.get(name, NONE)
        if node != NONE and _ROLES[self._model.memory.words[node + NODE.ROLE]] is role:
            if name in self._draining:
                self._draining.remove(name)
                self._stopped.discard(name)
                self._call(layout.UNDRAIN, self._at, node)
            return
        self.leave(name)
        node = self._nodes[name] = self._new_node(name, role, self._model.site(site))
        self._model.slots += self._slots
        self._count(node, 1)
        self._call(layout.JOIN, self._at, node)

    def _new_node(self, name: NodeId, role: Role, site: int) -> int:
        model, of = self._model, self._model.constants
        node = model.memory.take(NODE.SIZE)
        words = model.memory.words
        words[node + NODE.SERIAL] = len(model.node_names)
        words[node + NODE.ROLE], words[node + NODE.SITE] = _ROLES.index(role), site
        maps, reduces = (of.slots, 0) if of.map_slots == 0 else (of.map_slots, of.reduce_slots)
        words[node + NODE.MAPS_FREE], words[node + NODE.REDUCES_FREE] = maps, reduces
        model.memory.floats[node + NODE.FACTOR] = factor_of_node(model.seed, name, of.node_spread)
        model.node_names.append(name)
        return node

    def drain(self, name: NodeId) -> None:
        """A node gets no more tasks."""
        if name in self._nodes and name not in self._draining:
            self._draining.add(name)
            self._call(layout.DRAIN, self._at, self._nodes[name])

    def leave(self, name: NodeId) -> None:
        """A node is gone: its tasks wait again, and so do finished maps whose output is still needed."""
        node = self._nodes.get(name, NONE)
        if node != NONE:
            # Slots of the node may stand in a ring for long, so its address is never used again.
            self._make_room()
            del self._nodes[name]
            self._draining.discard(name)
            self._stopped.discard(name)
            self._count(node, -1)
            self._call(layout.LEAVE, self._at, node)
            self._model.slots -= self._slots

    def stop_tasks(self, name: NodeId) -> None:
        """Nothing computes on a node any more, as when it leaves; what it stores stays until it does."""
        node = self._nodes.get(name, NONE)
        if node != NONE:
            self._draining.add(name)
            self._stopped.add(name)
            self._call(layout.STOP_TASKS, self._at, node)

    def _count(self, node: int, count: int) -> None:
        """Set what the pools shall have, and what crosses the link, for one node more or less (``count``)."""
        memory, of = self._model.memory, self._model.constants
        role, site = memory.ints[node + NODE.ROLE], memory.ints[node + NODE.SITE]
        self._by_role[role] += count
        nodes = sum(self._by_role)
        self._model.nodes += count
        came = bool(nodes) - bool(nodes - count)
        self._model.active += came
        self._model.standbys += self._standby * came
        wanted = cores_of(of, self._model.nodes, self._model.active, self._model.standbys)
        memory.floats[HEADER.CORES_WANTED] = wanted
        memory.words[self._at + CLUSTER.NODES : self._at + CLUSTER.NODES + layout.ROLES] = self._by_role
        # In the order of the pools: a slice costs as much as a word.
        memory.floats[self._at + CLUSTER.WANTED : self._at + CLUSTER.WANTED + TIME] = (
            *(capacity_of(count, of.disk_bytes_s / SECOND_US) for count in self._by_role),
            own_cores_of(of, nodes, standby=self._standby),
            capacity_of(nodes, network_of(of, nodes)),
            of.multiplier * nodes * of.block_bytes / of.heartbeat_us,
        )
        self._stores = None
        self._count_site(site, role, count)

    def _count_site(self, site: int, role: int, count: int) -> None:
        """Count the part of what is read and written is in another site, as in fawkes.sim.hadoop.between."""
        memory = self._model.memory
        self._sites.setdefault(site, [0] * layout.ROLES)[role] += count
        if not any(self._sites[site]):
            del self._sites[site]
        if self._far_room < self._model.site_room:
            memory.longer(self._at + CLUSTER.FAR, 2 * self._far_room, 2 * self._model.site_room)
            self._far_room = self._model.site_room
        memory.words[self._at + CLUSTER.SITES] = len(self._sites)
        core = sum(counts[layout.CORE] for counts in self._sites.values())
        storing = core + sum(counts[layout.TRANSIENT_CORE] for counts in self._sites.values())
        far = memory.ints[self._at + CLUSTER.FAR]
        for near, counts in self._sites.items():
            here = counts[layout.CORE]
            memory.floats[far + 2 * near] = ((core - here) / max(1, core)) ** self._replication
            here += counts[layout.TRANSIENT_CORE]
            memory.floats[far + 2 * near + 1] = (storing - here) / max(1, storing)

    def busy_us(self, name: NodeId) -> int:
        """The time for which the tasks on a node still run, as things are; 0 when there are none."""
        node = self._nodes.get(name, NONE)
        return 0 if node == NONE else self._call(layout.BUSY_US, node)

    # --- jobs

    def savable(self, name: NodeId) -> list[Running]:
        """None: a run with such tasks takes the readable model."""
        return []

    def preempt(self, name: NodeId, task: Running, kept: float | None, restore_us: int) -> bool:
        """False: no task of this model can be saved."""
        return False

    def knows(self, attempt: JobAttempt) -> bool:
        """True if an attempt was submitted, refused or cancelled before."""
        return attempt in self.running or attempt in self.ended

    def submit(self, effect: StartJob) -> End | int:
        """An attempt of a job begins; when it was submitted (us), or what became of it."""
        attempt = (effect.job, effect.attempt)
        if attempt in self.ended:
            return self.ended[attempt]
        if attempt in self.running:
            return self.running[attempt][1]
        model = self._model
        now_us, profile = model.now_us, profile_of(effect.spec)
        job, serial, kept_sites = model.new_job(self, attempt)
        differs = model.has_chances and has_chance(effect.spec, profile)
        stream = stream_of(model.seed, *attempt) if differs else NO_STREAM
        self._write(job, profile, stream, serial, kept_sites, 0 if profile.gang else effect.granted)
        self.running[attempt], self.waiting[attempt] = (job, now_us), tag_of(*attempt)
        model.kept_maps += profile.maps if profile.reduces else 0
        self._call(layout.SUBMIT, job)
        return now_us

    def _write(self, job: int, profile: Profile, stream: int, serial: int, kept_sites: int, granted: int) -> None:
        maps, reduces = profile.maps, profile.reduces
        self._model.memory.put_job(
            job,
            self._at,
            serial,
            0,
            stream - (1 << 64) if stream >> 63 else stream,
            maps,
            reduces,
            maps,
            reduces,
            profile.output_bytes,
            profile.noted_bytes,
            kept_sites,
            profile.gang,
            granted,
            profile.map_us,
            profile.map_cpu_us,
            profile.map_read_bytes,
            profile.map_output_bytes,
            profile.reduce_us,
            profile.reduce_cpu_us,
            profile.shuffle_bytes,
            (1.0 if granted else self._model.constants.slow_start) * maps,
        )

    def refuse(self, attempt: JobAttempt, error: str) -> End:
        """An attempt fails before its first task."""
        now_us = self._model.now_us
        return self.ended.setdefault(attempt, End(Progress.FAILED, now_us, now_us, error))

    def cancel(self, attempt: JobAttempt) -> End:
        """Stop an attempt, or see to it that it never starts; how it ended."""
        model = self._model
        job, since_us = self.running.get(attempt, (NONE, model.now_us))
        if job != NONE:
            self._call(layout.CANCEL, job)
            model.forget(job)
        return self.ended.setdefault(attempt, End(Progress.CANCELLED, since_us, model.now_us))

    # --- copies

    def load(self, of: object) -> CompiledCopy:
        """The input comes from persistent storage, once."""
        wanted = 0 if self.loaded else self._data_bytes
        return self._begun(of, layout.LOAD, wanted)

    def save(self, of: object) -> CompiledCopy:
        """All output goes to persistent storage."""
        output = self._model.memory.ints[self._at + CLUSTER.OUTPUT]
        return self._begun(of, layout.SAVE, output)

    def hold(self, name: NodeId, held_bytes: int) -> None:
        """Let a node store so many bytes of earlier outputs."""
        self._model.memory.words[self._nodes[name] + NODE.STORED] = held_bytes

    def evacuate(self, name: NodeId, of: object) -> CompiledCopy:
        """Begin the copy of what a node stores to the nodes that stay, and return it."""
        node = self._nodes.get(name, NONE)
        words = self._model.memory.words
        held = 0 if node == NONE else int(words[node + NODE.STORED])
        if node != NONE and words[node + NODE.ROLE] == layout.CORE:
            held += input_of_a_core_node(self._data_bytes, self._replication, self._by_role[layout.CORE])
        return self._begun(of, layout.EVACUATE, held)

    def start_daemons(self, time_us: int, of: object, *, deploys: int = 0) -> CompiledCopy:
        """The daemons of a node that comes: so long when they start alone, longer beside what computes.

        A deployment starts those of so many nodes, and the masters.
        """
        count, each_us = daemons_of(self._model.constants, time_us, deploys)
        return self._begun(of, layout.DAEMONS, time_us, each_us, count)

    def _begun(self, of: object, what: int, x: float, y: float = 0.0, count: int = 0) -> CompiledCopy:
        self._make_room()
        owner = self._model.call(what, self._at, count, float(x), float(y))
        made = self._model.copies[owner] = CompiledCopy(of, owner)
        return made

    # --- readings

    @property
    def tasks_ready(self) -> int:
        """The tasks that wait for nothing but room."""
        return int(self._model.memory.ints[self._at + CLUSTER.TASKS_READY])

    def read(self) -> Reading:
        """The reading that the masters give: jobs, tasks, slots and bytes."""
        self._model.settle()
        row = self._model.memory.words[self._at : self._at + CLUSTER.SIZE].tolist()
        running = row[CLUSTER.TASKS_RUNNING]
        return Reading(
            cluster=self.id,
            jobs_waiting=len(self.waiting),
            jobs_running=len(self.running) - len(self.waiting),
            tasks_waiting=row[CLUSTER.TASKS_WAITING],
            tasks_running=running,
            tasks_ready=row[CLUSTER.TASKS_READY],
            waiting_tags=tuple(self.waiting.values()),
            slots_used=running,
            slots_total=self._slots * (len(self._nodes) - len(self._stopped)),
            output_bytes=row[CLUSTER.OUTPUT],
            storage_bytes=(row[CLUSTER.NODES + layout.CORE] + row[CLUSTER.NODES + layout.TRANSIENT_CORE]) * NODE_BYTES,
            jobs_done=row[CLUSTER.JOBS_DONE],
            tasks_done=row[CLUSTER.TASKS_DONE],
            master_slots=int(self._model.constants.map_slots == 0 and self._model.constants.master_share > 0),
            node_bytes=self._node_bytes(),
            masters=row[CLUSTER.MASTERS] if self._with_masters else None,
        )

    def _node_bytes(self) -> dict[NodeId, int]:
        if self._stores is None:
            # Not at each change: a pool of 100,000 nodes would take hours to come up.
            self._stores = np.fromiter(self._nodes.values(), np.int64, len(self._nodes)) + NODE.STORED
        stored = self._model.memory.words[self._stores].tolist()
        return {name: held for name, held in zip(self._nodes, stored, strict=True) if held}
