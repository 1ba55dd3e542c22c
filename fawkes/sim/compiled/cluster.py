"""A MR-cluster of the compiled model: its names for numbers, and the room that it needs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from fawkes.core.clusters import tag_of
from fawkes.core.effects import StartJob
from fawkes.core.events import Progress
from fawkes.core.model import ClusterId, NodeId, Reading, Role
from fawkes.sim.chance import stream_of
from fawkes.sim.cluster import NODE_BYTES
from fawkes.sim.compiled import run
from fawkes.sim.compiled.arrays import (
    COPIES,
    CORES,
    NONE,
    POOLS,
    SHARED_CORES,
    STORAGE,
    TIME,
    UNSTARTED,
    at_least,
)
from fawkes.sim.compiled.room import COMMON
from fawkes.sim.profile import Profile, profile_of
from fawkes.sim.tasks import End, JobAttempt

if TYPE_CHECKING:
    from fawkes.sim.compiled.model import CompiledModel

_ROLES = list(Role)


@dataclass(eq=False, slots=True)
class CompiledCopy:
    """A copy under way, and the number of the owner of its flows."""

    of: object
    owner: int


class CompiledCluster:
    """`Cluster` in arrays."""

    def __init__(self, model: CompiledModel, number: int, name: ClusterId, replication: int, data_bytes: int) -> None:
        self.id = name
        self.loaded = False
        self.ended: dict[JobAttempt, End] = {}
        self.running: dict[JobAttempt, tuple[int, int]] = {}
        self.waits = self._reserved = 0
        self._model = model
        self._number = number
        self._replication = replication
        self._data_bytes = data_bytes
        self._nodes: dict[NodeId, int] = {}
        self._known: dict[NodeId, int] = {}
        self._sites: dict[int, list[int]] = {}
        self._reserve(model, number)

    def _reserve(self, model: CompiledModel, number: int) -> None:
        of, first = model.constants, COMMON + POOLS * number
        model.room.for_clusters(number + 1)
        model.room.for_pools(first + POOLS)
        state = model.state
        cluster, pools = state.clusters[number], state.pools[first : first + POOLS]
        cluster["serial"], cluster["first_pool"] = number, first
        cluster["cores_pool"] = SHARED_CORES if of.shared_cores else first + CORES
        pools["cap"], pools["due_pos"], pools["at_us"] = inf, NONE, 0
        pools["cap"][[CORES, TIME]] = 1.0
        pools["capacity"][TIME] = inf
        pools["cap"][COPIES] = of.streams * of.block_bytes / of.heartbeat_us
        self._make_room()

    def _make_room(self) -> None:
        """Of its nodes' slots, its jobs and all copies."""
        model, slots = self._model, len(self._nodes) * self._slots
        model.make_room()
        need = 2 * slots + self.waits + len(model.copies) + 2
        if need <= self._reserved:
            return
        self._reserved = at_least(max(self._reserved, POOLS), need)
        for pool in range(COMMON + POOLS * self._number, COMMON + POOLS * (self._number + 1)):
            model.room.for_heap(pool, self._reserved)
        for ring in (2 * self._number, 2 * self._number + 1):
            model.room.for_ring(ring, self._reserved // 2)

    @property
    def _slots(self) -> int:
        of = self._model.constants
        return of.slots if of.map_slots == 0 else of.map_slots + of.reduce_slots

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
        return int(self._model.state.clusters[self._number]["tasks_done"])

    # --- nodes

    def join(self, name: NodeId, role: Role, site: str = "") -> None:
        """A node of a site offers its slots (again)."""
        found = self._nodes.get(name)
        if found is not None and self._model.state.nodes[found]["role"] == _ROLES.index(role):
            self._make_room()
            run.undrain(self._model.state, self._number, found)
        else:
            self.leave(name)
            self._come(name, role, self._model.site(site))
            self._make_room()
            run.join(self._model.state, self._number, self._nodes[name])
        self._model.settle()

    def _come(self, name: NodeId, role: Role, site: int) -> None:
        model, of = self._model, self._model.constants
        number = self._known.setdefault(name, len(model.node_names))
        if number == len(model.node_names):
            model.node_names.append(name)
            model.room.for_nodes(number + 1)
        node = model.state.nodes[number]
        epoch = node["epoch"] + 1
        node["serial"], node["epoch"], node["role"], node["site"] = number, epoch, _ROLES.index(role), site
        shared = of.map_slots == 0
        node["maps_free"], node["reduces_free"] = (of.slots, 0) if shared else (of.map_slots, of.reduce_slots)
        node["draining"], node["stored"] = 0, 0
        node["head"] = node["tail"] = node["cells"] = NONE
        self._nodes[name] = number
        model.slots += self._slots
        self._count_site(site, role, 1)

    def drain(self, name: NodeId) -> None:
        """A node gets no more tasks."""
        if name in self._nodes:
            run.drain(self._model.state, self._number, self._nodes[name])

    def leave(self, name: NodeId) -> None:
        """A node is gone: its tasks wait again, and so do finished maps whose output is still needed."""
        number = self._nodes.pop(name, None)
        if number is None:
            return
        node = self._model.state.nodes[number]
        self._count_site(int(node["site"]), _ROLES[node["role"]], -1)
        self._make_room()
        run.leave(self._model.state, self._number, number)
        self._model.slots -= self._slots
        self._model.settle()
        self._make_room()

    def _count_site(self, site: int, role: Role, count: int) -> None:
        """How likely the blocks of a map are all on other sites changes with the core nodes."""
        counts = self._sites.setdefault(site, [0, 0])
        counts[0] += count
        counts[1] += count if role is Role.CORE else 0
        if not counts[0]:
            del self._sites[site]
        state = self._model.state
        state.clusters[self._number]["sites"] = len(self._sites)
        core = sum(cores for _, cores in self._sites.values())
        for near, (_, cores) in self._sites.items():
            state.far[near, self._number] = ((core - cores) / max(1, core)) ** self._replication

    def busy_us(self, name: NodeId) -> int:
        """How long the tasks on a node still run, as things are; 0 when there are none."""
        number = self._nodes.get(name)
        return 0 if number is None else run.busy_us(self._model.state, number)

    # --- jobs

    def knows(self, attempt: JobAttempt) -> bool:
        """Whether an attempt was submitted, refused or cancelled before."""
        return attempt in self.running or attempt in self.ended

    def submit(self, effect: StartJob) -> End | int:
        """An attempt of a job begins; when it was submitted (us), or what became of it."""
        attempt = (effect.job, effect.attempt)
        if attempt in self.ended:
            return self.ended[attempt]
        if attempt in self.running:
            return self.running[attempt][1]
        model = self._model
        number, now_us, profile = model.new_job(), model.now_us, profile_of(effect.spec)
        self._write(number, profile, stream_of(model.seed, *attempt))
        model.job_names.append(attempt)
        model.jobs[number] = (self, attempt, tag_of(*attempt))
        self.running[attempt] = (number, now_us)
        model.waits += 1
        self.waits += 1
        model.kept_maps += profile.maps if profile.reduces else 0
        self._make_room()
        run.submit(model.state, number)
        model.settle()
        return now_us

    def _write(self, number: int, profile: Profile, stream: int) -> None:
        state, model = self._model.state, self._model
        state.jobs[number] = 0
        job = state.jobs[number]
        job["cluster"], job["serial"], job["stream"] = self._number, len(model.job_names), stream
        job["maps"], job["maps_waiting"] = profile.maps, profile.maps
        job["reduces"], job["reduces_waiting"] = profile.reduces, profile.reduces
        job["map_us"], job["map_cpu_us"] = profile.map_us, profile.map_cpu_us
        job["map_read"], job["map_output"] = profile.map_read_bytes, profile.map_output_bytes
        job["reduce_us"], job["reduce_cpu_us"] = profile.reduce_us, profile.reduce_cpu_us
        job["shuffle"], job["output"], job["noted"] = profile.shuffle_bytes, profile.output_bytes, profile.noted_bytes
        job["slow_start"] = model.constants.slow_start * profile.maps
        job["step"] = job["head"] = job["tail"] = job["cells"] = NONE
        state.site_kept[:, number] = 0

    def refuse(self, attempt: JobAttempt, error: str) -> End:
        """An attempt fails before its first task."""
        now_us = self._model.now_us
        return self.ended.setdefault(attempt, End(Progress.FAILED, now_us, now_us, error))

    def cancel(self, attempt: JobAttempt) -> End:
        """Stop an attempt, or see to it that it never starts; how it ended."""
        model = self._model
        number, since_us = self.running.get(attempt, (NONE, model.now_us))
        if number != NONE:
            self._make_room()
            run.cancel(model.state, number)
            model.forget(number)
            model.settle()
        return self.ended.setdefault(attempt, End(Progress.CANCELLED, since_us, model.now_us))

    # --- copies

    def load(self, of: object) -> CompiledCopy:
        """The input comes from persistent storage, once."""
        wanted = 0 if self.loaded else self._data_bytes
        return self._copy(of, STORAGE, wanted, wanted * self._model.constants.output_passes)

    def save(self, of: object) -> CompiledCopy:
        """All output goes to persistent storage."""
        output = int(self._model.state.clusters[self._number]["output"])
        return self._copy(of, STORAGE, output, output)

    def evacuate(self, name: NodeId, of: object) -> CompiledCopy:
        """What a node stores is copied to those that stay."""
        number = self._nodes.get(name)
        held = 0 if number is None else int(self._model.state.nodes[number]["stored"])
        return self._copy(of, COMMON + POOLS * self._number + COPIES, held, held)

    def _copy(self, of: object, pool: int, some_bytes: float, core_bytes: float) -> CompiledCopy:
        self._make_room()
        owner = run.copy(self._model.state, self._number, pool, float(some_bytes), float(core_bytes))
        made = self._model.copies[owner] = CompiledCopy(of, owner)
        return made

    # --- readings

    def read(self) -> Reading:
        """What the masters say."""
        state = self._model.state
        cluster = state.clusters[self._number]
        tags = self._tags()
        running, jobs = int(cluster["tasks_running"]), int(cluster["jobs"])
        storing = int(cluster["core"]) + int(cluster["transient_core"])
        return Reading(
            cluster=self.id,
            jobs_waiting=len(tags),
            jobs_running=jobs - len(tags),
            tasks_waiting=int(cluster["tasks_waiting"]),
            tasks_running=running,
            tasks_ready=int(cluster["tasks_ready"]),
            waiting_tags=tags,
            slots_used=running,
            slots_total=self._slots * len(self._nodes),
            output_bytes=int(cluster["output"]),
            storage_bytes=storing * NODE_BYTES,
            jobs_done=int(cluster["jobs_done"]),
            tasks_done=int(cluster["tasks_done"]),
            node_bytes=self._stored(),
        )

    def _tags(self) -> tuple[str, ...]:
        state, found = self._model.state, []
        number = state.job_head[UNSTARTED, self._number]
        while number != NONE:
            found.append(self._model.jobs[int(number)][2])
            number = state.job_next[UNSTARTED, number]
        return tuple(found)

    def _stored(self) -> dict[NodeId, int]:
        numbers = np.fromiter(self._nodes.values(), np.int64, len(self._nodes))
        stored = self._model.state.nodes["stored"][numbers].tolist()
        return {name: held for name, held in zip(self._nodes, stored, strict=True) if held}
