"""The ground that MR-clusters of a compiled model share: its memory, names for addresses, room for what comes."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Protocol

from fawkes.base.units import SECOND_US
from fawkes.core.values.model import NodeId
from fawkes.sim.hadoop.chance import quantiles
from fawkes.sim.hadoop.compiled import layout
from fawkes.sim.hadoop.compiled.kept import entrance
from fawkes.sim.hadoop.compiled.layout import HEADER, JOB, LOG_ROW, NONE, POOL, Array
from fawkes.sim.hadoop.compiled.memory import Memory, at_least
from fawkes.sim.hadoop.constants import Constants
from fawkes.sim.hadoop.tasks import End, JobAttempt


class CompiledJobs(Protocol):
    """An MR-cluster's jobs: the address and the begin of each that runs, the tag of each that waits, and ends."""

    running: dict[JobAttempt, tuple[int, int]]
    waiting: dict[JobAttempt, str]
    ended: dict[JobAttempt, End]


@dataclass(eq=False, slots=True)
class CompiledCopy:
    """A copy under way, or daemons that start, and the address of the owner of its flows."""

    of: object
    owner: int


class CompiledGround:
    """The memory that MR-clusters share. Addresses of jobs and owners are used again, serial numbers are not."""

    def __init__(self, constants: Constants, *, seed: int, now_us: int, keep_events: bool) -> None:
        self.constants = constants
        self.seed = seed
        self.memory = Memory(keep_events=keep_events)
        self._compiled = entrance()
        self.sites: dict[str, int] = {}
        self.site_room = 1
        self.slots = self.kept_maps = self.nodes = self.active = self.standbys = self._reserved = self._clusters = 0
        self.copies: dict[int, CompiledCopy] = {}
        self.jobs: dict[int, tuple[CompiledJobs, JobAttempt]] = {}
        self.node_names: list[NodeId] = []
        self.job_names: list[JobAttempt] = []
        self._keep_events = keep_events
        self.log: list[Array] = []
        self._begin(now_us)

    def _begin(self, now_us: int) -> None:
        of, memory = self.constants, self.memory
        card = of.network_bytes_s / SECOND_US
        self.storage = self.new_pool(of.storage_bytes_s / SECOND_US, cap=card)
        self.link = self.new_pool(of.site_bytes_s / SECOND_US, cap=of.site_stream_bytes_s / SECOND_US)
        self.cores = self.new_pool(of.cores, cap=1.0) if of.shared_cores else NONE
        words, floats = memory.words, memory.floats
        words[HEADER.NOW], words[HEADER.LINK], words[HEADER.STORAGE] = now_us, self.link, self.storage
        words[HEADER.SHARED_SLOTS] = of.map_slots == 0
        words[HEADER.JOB_BEGIN_US], words[HEADER.JOB_END_US] = of.job_begin_us, of.job_end_us
        words[HEADER.JOB_BEGIN_CPU_US] = of.job_begin_cpu_us
        words[HEADER.TASK_START_US], words[HEADER.TASK_START_CPU_US] = of.task_start_us, of.task_start_cpu_us
        words[HEADER.TASK_END_US], words[HEADER.SPECULATIVE] = of.task_end_us, of.speculative
        floats[HEADER.SERIAL], floats[HEADER.MASTER_SHARE] = of.serial, of.master_share
        words[HEADER.SLOTS] = of.slots
        floats[HEADER.SHARE], floats[HEADER.STRAGGLE] = of.stragglers, of.straggle
        floats[HEADER.REMOTE_READ], floats[HEADER.OUTPUT_PASSES] = of.remote_read, of.output_passes
        if self.has_chances:
            table = quantiles(of.spread)
            at = memory.take(len(table))
            memory.floats[at : at + len(table)] = table
            memory.words[HEADER.QUANTILES] = at

    def new_pool(self, capacity: float, cap: float = inf, seek: float = 0.0, address: int = NONE) -> int:
        """A pool without flows."""
        pool = address or self.memory.take(POOL.SIZE)
        self.memory.floats[pool + POOL.CAPACITY], self.memory.floats[pool + POOL.CAP] = capacity, cap
        self.memory.floats[pool + POOL.SEEK], self.memory.words[pool + POOL.UNITS] = seek, 1
        return pool

    @property
    def has_chances(self) -> bool:
        """True if attempts take longer or shorter than the mean."""
        return bool(self.constants.spread or self.constants.stragglers)

    @property
    def now_us(self) -> int:
        """The time up to which all has run."""
        return int(self.memory.ints[HEADER.NOW])

    @now_us.setter
    def now_us(self, now_us: int) -> None:
        self.memory.ints[HEADER.NOW] = now_us

    def call(self, what: int, a: int, b: int = 0, x: float = 0.0, y: float = 0.0) -> int:
        """Change something, or look at it; there is room for all that may come of it."""
        self.make_room()
        return self._compiled(self.memory.place, what, a, b, x, y)

    def empty_log(self) -> None:
        """Keep the events that the memory has, and make room for more."""
        if not self._keep_events:
            return
        words, count = self.memory.words, self.memory.ints[HEADER.LOGGED]
        if count:
            at = int(words[HEADER.LOG])
            self.log.append(words[at : at + count * LOG_ROW].reshape(count, LOG_ROW).copy())
            words[HEADER.LOGGED] = 0

    def make_room(self) -> None:
        """Make room for all that may happen until the next change from outside."""
        self.empty_log()
        self.memory.for_cells(self.kept_maps)
        need = self.slots + len(self.jobs) + len(self.copies) + 2
        if need > self._reserved:
            self._reserved = max(need, 2 * self._reserved)
            self.memory.for_owners(self._reserved)
            for pool in (self.storage, self.link, self.cores):
                if pool != NONE:
                    self.memory.for_heap(pool, 2 * self._reserved)

    def for_pools(self) -> None:
        """Make room for the pools of one more MR-cluster."""
        self._clusters += 1
        self.memory.for_pools(3 + layout.POOLS * self._clusters)

    def new_job(self, cluster: CompiledJobs, attempt: JobAttempt) -> tuple[int, int, int]:
        """The record of a job, the number by which the log knows it, and a block with a word for each site."""
        address, serial = self.memory.take(JOB.SIZE), len(self.job_names)
        self.job_names.append(attempt)
        self.jobs[address] = (cluster, attempt)
        return address, serial, self.memory.take(self.site_room)

    def settle(self) -> None:
        """The jobs whose first task has started are known."""
        ints = self.memory.ints
        job = ints[HEADER.FRESH]
        if job == NONE:
            return
        while job != NONE:
            cluster, attempt = self.jobs[job]
            cluster.waiting.pop(attempt, None)
            job = ints[job + JOB.FRESH_NEXT]
        ints[HEADER.FRESH] = NONE

    def forget(self, address: int) -> None:
        """A job is under way no more."""
        self.settle()
        cluster, attempt = self.jobs.pop(address)
        del cluster.running[attempt]
        cluster.waiting.pop(attempt, None)
        ints = self.memory.ints
        self.kept_maps -= ints[address + JOB.MAPS] if ints[address + JOB.REDUCES] else 0
        self.memory.give(ints[address + JOB.KEPT_SITES], self.site_room)
        self.memory.give(address, JOB.SIZE)

    def site(self, name: str) -> int:
        """The number of a site."""
        number = self.sites.setdefault(name, len(self.sites))
        if number == self.site_room:
            before, self.site_room = self.site_room, at_least(self.site_room, number + 1)
            for job in self.jobs:
                self.memory.longer(job + JOB.KEPT_SITES, before, self.site_room)
        return number
