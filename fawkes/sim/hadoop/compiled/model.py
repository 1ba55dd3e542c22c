"""The Python face of the compiled model: names for addresses, and the results of jobs."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Literal

import numpy as np

from fawkes.base.units import SECOND_US
from fawkes.core.values.events import Progress
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.sim.hadoop.chance import quantiles
from fawkes.sim.hadoop.compiled import run
from fawkes.sim.hadoop.compiled.cluster import CompiledCluster, CompiledCopy
from fawkes.sim.hadoop.compiled.layout import HEADER, JOB, LOG_ROW, NONE, POOL, Array
from fawkes.sim.hadoop.compiled.memory import Memory, at_least
from fawkes.sim.hadoop.constants import Constants
from fawkes.sim.hadoop.model import CopyDone, Copying, JobEnded, TaskEvent
from fawkes.sim.hadoop.tasks import End, JobAttempt

_WHAT: tuple[Literal["start", "done", "killed"], ...] = ("start", "done", "killed")


class CompiledModel:
    """`Model` in one block of memory. Addresses of jobs and owners are used again, serial numbers are not."""

    def __init__(self, constants: Constants, *, seed: int = 0, now_us: int = 0, keep_events: bool = False) -> None:
        self.constants = constants
        self.seed = seed
        self.memory = Memory(keep_events=keep_events)
        self._keep_events = keep_events
        self.sites: dict[str, int] = {}
        self.site_room = 1
        self.slots = self.kept_maps = self.nodes = self.active = self.standbys = self._reserved = 0
        self.copies: dict[int, CompiledCopy] = {}
        self.jobs: dict[int, tuple[CompiledCluster, JobAttempt]] = {}
        self.node_names: list[NodeId] = []
        self._job_names: list[JobAttempt] = []
        self._clusters: list[CompiledCluster] = []
        self._log: list[Array] = []
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
        return int(self.memory.words[HEADER.NOW])

    @now_us.setter
    def now_us(self, now_us: int) -> None:
        self.memory.words[HEADER.NOW] = now_us

    @property
    def events(self) -> int:
        """The number of attempts that have started and ended so far, each counted."""
        return int(self.memory.words[HEADER.EVENTS])

    def cluster(
        self, name: ClusterId, *, replication: int = 3, data_bytes: int = 0, standby: bool = False
    ) -> CompiledCluster:
        """A new MR-cluster without nodes."""
        made = CompiledCluster(self, len(self._clusters), name, replication, data_bytes, standby=standby)
        self._clusters.append(made)
        return made

    def advance(self, until_us: int) -> JobEnded | CopyDone | None:
        """Let tasks run until something is to be told; None when nothing is until that time."""
        memory, log_room = self.memory, self.memory.log_room
        while (answer := run.call(memory.place, run.ADVANCE, until_us, log_room, 0.0, 0.0)) != run.QUIET:
            if answer == run.LOG_FULL:
                self._empty_log()
                continue
            what = int(memory.words[HEADER.WHAT])
            if answer == run.COPY_DONE:
                return CopyDone(self.copies.pop(what).of)
            return self._job_ended(what)
        return None

    def _job_ended(self, address: int) -> JobEnded:
        cluster, attempt = self.jobs[address]
        since_us, work_us = cluster.running[attempt][1], int(self.memory.words[address + JOB.WORK])
        end = cluster.ended[attempt] = End(Progress.SUCCEEDED, since_us, self.now_us, work_us=work_us)
        self.forget(address)
        return JobEnded(attempt, end)

    def drop(self, copy: Copying) -> None:
        """A copy is not wanted any more."""
        assert isinstance(copy, CompiledCopy)
        if self.copies.pop(copy.owner, None) is copy:
            self.call(run.COPY_DROPS, copy.owner)

    def call(self, what: int, a: int, b: int = 0, x: float = 0.0, y: float = 0.0) -> int:
        """Change something, or look at it; there is room for all that may come of it."""
        self.make_room()
        return run.call(self.memory.place, what, a, b, x, y)

    # --- the log

    def task_events(self) -> list[TaskEvent]:
        """The starts and ends of attempts so far; none unless they are kept."""
        self._empty_log()
        return list(self._events_of(np.concatenate(self._log).tolist() if self._log else []))

    def _empty_log(self) -> None:
        if not self._keep_events:
            return
        words, count = self.memory.words, int(self.memory.words[HEADER.LOGGED])
        if count:
            at = int(words[HEADER.LOG])
            self._log.append(words[at : at + count * LOG_ROW].reshape(count, LOG_ROW).copy())
            words[HEADER.LOGGED] = 0

    def _events_of(self, rows: list[list[int]]) -> Iterator[TaskEvent]:
        for at_us, cluster, job, number, node, what in rows:
            name, of, kind = self._clusters[cluster].id, self._job_names[job], "reduce" if what % 2 else "map"
            yield TaskEvent(at_us, name, *of, kind, number, self.node_names[node], _WHAT[what // 2])  # type: ignore[arg-type]

    # --- for the MR-clusters

    def make_room(self) -> None:
        """Make room for all that may happen until the next change from outside."""
        self._empty_log()
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
        self.memory.for_pools(3 + CompiledCluster.POOLS * (len(self._clusters) + 1))

    def new_job(self, cluster: CompiledCluster, attempt: JobAttempt) -> tuple[int, int, int]:
        """The record of a job, the number by which the log knows it, and a block with a word for each site."""
        address, serial = self.memory.take(JOB.SIZE), len(self._job_names)
        self._job_names.append(attempt)
        self.jobs[address] = (cluster, attempt)
        return address, serial, self.memory.take(self.site_room)

    def settle(self) -> None:
        """The jobs whose first task has started are known."""
        words = self.memory.words
        job = int(words[HEADER.FRESH])
        if job == NONE:
            return
        while job != NONE:
            cluster, attempt = self.jobs[job]
            cluster.waiting.pop(attempt, None)
            job = int(words[job + JOB.FRESH_NEXT])
        words[HEADER.FRESH] = NONE

    def forget(self, address: int) -> None:
        """A job is under way no more."""
        self.settle()
        cluster, attempt = self.jobs.pop(address)
        del cluster.running[attempt]
        cluster.waiting.pop(attempt, None)
        words = self.memory.words
        self.kept_maps -= int(words[address + JOB.MAPS]) if words[address + JOB.REDUCES] else 0
        self.memory.give(int(words[address + JOB.KEPT_SITES]), self.site_room)
        self.memory.give(address, JOB.SIZE)

    def site(self, name: str) -> int:
        """The number of a site."""
        number = self.sites.setdefault(name, len(self.sites))
        if number == self.site_room:
            before, self.site_room = self.site_room, at_least(self.site_room, number + 1)
            for job in self.jobs:
                self.memory.longer(job + JOB.KEPT_SITES, before, self.site_room)
        return number
