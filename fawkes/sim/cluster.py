"""One simulated MR-cluster: tasks of jobs, first come first served, on the slots of the nodes that serve."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from fawkes.core.effects import StartJob
from fawkes.core.model import ClusterId, JobId, NodeId, Reading, Role

#: storage of a node and output of a task, for readings alone
NODE_BYTES = 10**12
TASK_BYTES = 10**8


@dataclass(slots=True)
class SimJob:
    """A job under way: the durations of its tasks not yet started (microseconds), and how many run."""

    effect: StartJob
    waiting: deque[int]
    running: int = 0
    started: bool = False

    @property
    def ended(self) -> bool:
        """Whether all tasks have ended."""
        return not self.waiting and not self.running


@dataclass(slots=True)
class SimCluster:
    """The state of one MR-cluster, and what its masters would answer."""

    id: ClusterId
    slots: int
    jobs: dict[JobId, SimJob] = field(default_factory=dict)
    nodes: dict[NodeId, Role] = field(default_factory=dict)
    draining: set[NodeId] = field(default_factory=set)
    stored: dict[NodeId, int] = field(default_factory=dict)
    jobs_done: int = 0
    tasks_done: int = 0
    output_bytes: int = 0
    _runs: dict[int, tuple[NodeId, SimJob, int]] = field(default_factory=dict)
    _run: int = 0

    def join(self, node: NodeId, role: Role) -> None:
        """A node offers its slots (again)."""
        self.nodes[node] = role
        self.draining.discard(node)

    def drain(self, node: NodeId) -> None:
        """A node gets no more tasks."""
        if node in self.nodes:
            self.draining.add(node)

    def leave(self, node: NodeId) -> None:
        """A node is gone; its running tasks wait again."""
        self.nodes.pop(node, None)
        self.draining.discard(node)
        self.stored.pop(node, None)
        for run in [r for r, (where, _, _) in self._runs.items() if where == node]:
            _, job, duration_us = self._runs.pop(run)
            job.running -= 1
            job.waiting.appendleft(duration_us)

    def longest_task_us(self, node: NodeId) -> int:
        """An upper bound of how long the tasks on a node still run."""
        return max((duration for where, _, duration in self._runs.values() if where == node), default=0)

    def submit(self, effect: StartJob, durations: deque[int]) -> None:
        """A job with the durations of its tasks; the same attempt again changes nothing."""
        if effect.job not in self.jobs:
            self.jobs[effect.job] = SimJob(effect, durations)

    def cancel(self, job: JobId, attempt: int) -> bool:
        """Forget a job and its tasks; whether it was there."""
        found = self.jobs.get(job)
        if found is None or found.effect.attempt != attempt:
            return False
        self.jobs.pop(job)
        self._runs = {r: entry for r, entry in self._runs.items() if entry[1] is not found}
        return True

    def assign(self) -> Iterator[tuple[NodeId, SimJob, int, int]]:
        """Start waiting tasks on free slots: (node, job, duration, number of the run)."""
        used: dict[NodeId, int] = {}
        for node, _, _ in self._runs.values():
            used[node] = used.get(node, 0) + 1
        open_slots = [
            n for n in sorted(self.nodes) if n not in self.draining for _ in range(self.slots - used.get(n, 0))
        ]
        for job in self.jobs.values():
            while job.waiting and open_slots:
                node = open_slots.pop(0)
                duration_us = job.waiting.popleft()
                job.running += 1
                job.started = True
                self._run += 1
                self._runs[self._run] = (node, job, duration_us)
                yield node, job, duration_us, self._run

    def finish(self, node: NodeId, run: int) -> bool:
        """A run ends; whether it was still a run (it may have been killed)."""
        entry = self._runs.pop(run, None)
        if entry is None:
            return False
        entry[1].running -= 1
        self.tasks_done += 1
        self.output_bytes += TASK_BYTES
        if self.nodes.get(node) is not Role.TRANSIENT:
            self.stored[node] = self.stored.get(node, 0) + TASK_BYTES
        return True

    def end(self, job: SimJob) -> None:
        """A job has ended."""
        self.jobs.pop(job.effect.job, None)
        self.jobs_done += 1

    def read(self) -> Reading:
        """What the masters say."""
        waiting = [job for job in self.jobs.values() if not job.started]
        storing = sum(1 for role in self.nodes.values() if role is not Role.TRANSIENT)
        return Reading(
            cluster=self.id,
            jobs_waiting=len(waiting),
            jobs_running=len(self.jobs) - len(waiting),
            tasks_waiting=sum(len(job.waiting) for job in self.jobs.values()),
            tasks_running=len(self._runs),
            slots_used=len(self._runs),
            slots_total=self.slots * len(self.nodes),
            output_bytes=self.output_bytes,
            storage_bytes=storing * NODE_BYTES,
            jobs_done=self.jobs_done,
            tasks_done=self.tasks_done,
            node_bytes=dict(self.stored),
        )
