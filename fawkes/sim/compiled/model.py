"""The Python face of the compiled model: names for numbers, and the results of jobs."""

from __future__ import annotations

from typing import Literal

from fawkes.core.events import Progress
from fawkes.core.model import ClusterId, NodeId
from fawkes.sim.compiled import run
from fawkes.sim.compiled.arrays import (
    COPY_DONE,
    DONE,
    LOG_FULL,
    LOGGED,
    NOW,
    QUIET,
    WHAT,
    Array,
    State,
    at_least,
)
from fawkes.sim.compiled.cluster import CompiledCluster, CompiledCopy
from fawkes.sim.compiled.room import COMMON, Room
from fawkes.sim.constants import Constants
from fawkes.sim.model import CopyDone, Copying, JobEnded, TaskEvent
from fawkes.sim.tasks import End, JobAttempt

_WHAT: tuple[Literal["start", "done", "killed"], ...] = ("start", "done", "killed")


class CompiledModel:
    """`Model` in arrays. Numbers of jobs and owners are used again, serial numbers in the log are not."""

    def __init__(self, constants: Constants, *, seed: int = 0, now_us: int = 0, keep_events: bool = False) -> None:
        self.constants = constants
        self.seed = seed
        self.room = Room(constants, now_us, keep_events)
        self.sites: dict[str, int] = {}
        self.slots = self.waits = self.kept_maps = 0
        self.copies: dict[int, CompiledCopy] = {}
        self.jobs: dict[int, tuple[CompiledCluster, JobAttempt, str]] = {}
        self.job_names: list[JobAttempt] = []
        self.node_names: list[NodeId] = []
        self._clusters: list[CompiledCluster] = []
        self._free_jobs: list[int] = []
        self._reserved = 0

    @property
    def state(self) -> State:
        """The arrays as they are now; they are other ones after they have grown."""
        return self.room.state

    @property
    def now_us(self) -> int:
        """The time up to which all has run."""
        return int(self.state.at[NOW])

    @now_us.setter
    def now_us(self, now_us: int) -> None:
        self.state.at[NOW] = now_us

    def cluster(self, name: ClusterId, *, replication: int = 3, data_bytes: int = 0) -> CompiledCluster:
        """A new MR-cluster without nodes."""
        made = CompiledCluster(self, len(self._clusters), name, replication, data_bytes)
        self._clusters.append(made)
        return made

    def advance(self, until_us: int) -> JobEnded | CopyDone | None:
        """Let tasks run until something is to be told; None when nothing is until that time."""
        answer = self._advance(until_us)
        if answer == QUIET:
            self.settle()
            return None
        what = int(self.state.at[WHAT])
        if answer == COPY_DONE:
            self.settle()
            return CopyDone(self.copies.pop(what).of)
        cluster, attempt, _ = self.jobs[what]
        self.settle()
        return JobEnded(attempt, cluster.ended[attempt])

    def _advance(self, until_us: int) -> int:
        while (answer := run.advance(self.state, until_us, self.room.log_room)) == LOG_FULL:
            self.room.for_log()
        return answer

    def drop(self, copy: Copying) -> None:
        """A copy is not wanted any more."""
        assert isinstance(copy, CompiledCopy)
        if self.copies.pop(copy.owner, None) is copy:
            run.drop(self.state, copy.owner)

    def events(self) -> Array:
        """The log as an array of records, of numbers: a copy."""
        return self.state.log[: self.state.at[LOGGED]].copy()

    def task_events(self) -> list[TaskEvent]:
        """The starts and ends of attempts so far; none unless they are kept."""
        return [
            TaskEvent(
                int(row["at_us"]),
                self._clusters[row["cluster"]].id,
                *self.job_names[row["job"]],
                "reduce" if row["reduce"] else "map",
                int(row["number"]),
                self.node_names[row["node"]],
                _WHAT[row["what"]],
            )
            for row in self.events()
        ]

    # --- for the MR-clusters

    def make_room(self) -> None:
        """For all that may happen until the next change from outside."""
        self.room.for_owners(self.slots + self.waits + len(self.copies) + 2)
        self.room.for_cells(self.kept_maps)
        need = 2 * self.slots + len(self.copies) + 2
        if need > self._reserved:
            self._reserved = at_least(max(self._reserved, COMMON), need)
            for pool in range(COMMON):
                self.room.for_heap(pool, self._reserved)

    def new_job(self) -> int:
        """A number for a job."""
        number = self._free_jobs.pop() if self._free_jobs else len(self.jobs)
        self.room.for_jobs(number + 1)
        return number

    def settle(self) -> None:
        """The jobs that have ended are known by how they did."""
        at = self.state.at
        for number in self.state.done[: at[DONE]].tolist():
            job = self.state.jobs[number]
            cluster, attempt, _ = self.jobs[number]
            since_us = cluster.running[attempt][1]
            cluster.ended[attempt] = End(Progress.SUCCEEDED, since_us, int(job["finished_us"]))
            self.forget(number)
        at[DONE] = 0

    def forget(self, number: int) -> None:
        """A job is under way no more."""
        cluster, attempt, _ = self.jobs.pop(number)
        del cluster.running[attempt]
        job = self.state.jobs[number]
        self.waits -= 1
        self.kept_maps -= int(job["maps"]) if job["reduces"] else 0
        cluster.waits -= 1
        self._free_jobs.append(number)

    def site(self, name: str) -> int:
        """The number of a site."""
        number = self.sites.setdefault(name, len(self.sites))
        self.room.for_sites(len(self.sites))
        return number
