"""The Python face of the compiled model: names for addresses, and the results of jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from fawkes.core.values.events import Progress
from fawkes.core.values.model import ClusterId
from fawkes.sim.hadoop.compiled.cluster import CompiledCluster
from fawkes.sim.hadoop.compiled.ground import CompiledCopy, CompiledGround
from fawkes.sim.hadoop.compiled.layout import ADVANCE, COPY_DONE, COPY_DROPS, HEADER, JOB, LOG_FULL, QUIET
from fawkes.sim.hadoop.constants import Constants
from fawkes.sim.hadoop.model import CopyDone, Copying, JobEnded, TaskEvent
from fawkes.sim.hadoop.tasks import End

_WHAT: tuple[Literal["start", "done", "killed"], ...] = ("start", "done", "killed")


class CompiledModel(CompiledGround):
    """`Model` in one block of memory."""

    def __init__(self, constants: Constants, *, seed: int = 0, now_us: int = 0, keep_events: bool = False) -> None:
        super().__init__(constants, seed=seed, now_us=now_us, keep_events=keep_events)
        self._made: list[CompiledCluster] = []

    @property
    def events(self) -> int:
        """The number of attempts that have started and ended so far, each counted."""
        return int(self.memory.ints[HEADER.EVENTS])

    def cluster(
        self, name: ClusterId, *, replication: int = 3, data_bytes: int = 0, standby: bool = False
    ) -> CompiledCluster:
        """A new MR-cluster without nodes."""
        made = CompiledCluster(self, len(self._made), name, replication, data_bytes, standby=standby)
        self._made.append(made)
        return made

    def advance(self, until_us: int) -> JobEnded | CopyDone | None:
        """Let tasks run until something is to be told; None when nothing is until that time."""
        memory, log_room = self.memory, self.memory.log_room
        while (answer := self._compiled(memory.place, ADVANCE, until_us, log_room, 0.0, 0.0)) != QUIET:
            if answer == LOG_FULL:
                self.empty_log()
                continue
            what = memory.ints[HEADER.WHAT]
            if answer == COPY_DONE:
                return CopyDone(self.copies.pop(what).of)
            return self._job_ended(what)
        return None

    def _job_ended(self, address: int) -> JobEnded:
        cluster, attempt = self.jobs[address]
        since_us, work_us = cluster.running[attempt][1], self.memory.ints[address + JOB.WORK]
        end = cluster.ended[attempt] = End(Progress.SUCCEEDED, since_us, self.now_us, work_us=work_us)
        self.forget(address)
        return JobEnded(attempt, end)

    def drop(self, copy: Copying) -> None:
        """A copy is not wanted any more."""
        assert isinstance(copy, CompiledCopy)
        if self.copies.pop(copy.owner, None) is copy:
            self.call(COPY_DROPS, copy.owner)

    # --- the log

    def task_events(self) -> list[TaskEvent]:
        """The starts and ends of attempts so far; none unless they are kept."""
        self.empty_log()
        return list(self._events_of(np.concatenate(self.log).tolist() if self.log else []))

    def _events_of(self, rows: list[list[int]]) -> Iterator[TaskEvent]:
        for at_us, cluster, job, number, node, what in rows:
            name, of, kind = self._made[cluster].id, self.job_names[job], "reduce" if what % 2 else "map"
            yield TaskEvent(at_us, name, *of, kind, number, self.node_names[node], _WHAT[what // 2])  # type: ignore[arg-type]
