"""One simulated MR-cluster: tasks of jobs, first come first served, on the slots of the nodes that serve."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from fawkes.core.clusters import tag_of
from fawkes.core.effects import StartJob
from fawkes.core.events import Progress
from fawkes.core.model import ClusterId, JobId, NodeId, Reading, Role

#: storage of a node and output of a task, for readings alone
NODE_BYTES = 10**12
TASK_BYTES = 10**8

#: a job and its attempt
Attempt = tuple[JobId, int]


@dataclass(slots=True)
class SimJob:
    """A job under way: the durations of its tasks not yet started (microseconds), and how many run."""

    effect: StartJob
    waiting: deque[int]
    since_us: int
    running: int = 0
    started: bool = False

    @property
    def attempt(self) -> Attempt:
        """By what it is known."""
        return self.effect.job, self.effect.attempt

    @property
    def ended(self) -> bool:
        """Whether all tasks have ended."""
        return not self.waiting and not self.running


@dataclass(frozen=True, slots=True)
class End:
    """How an attempt ended, as a job history remembers it."""

    progress: Progress
    started_us: int
    finished_us: int
    error: str = ""


@dataclass(slots=True)
class Run:
    """A task that runs on a node."""

    node: NodeId
    job: SimJob
    duration_us: int


@dataclass(slots=True)
class SimCluster:
    """The state of one MR-cluster, and what its masters would answer. Each attempt of a job runs once."""

    id: ClusterId
    slots: int
    jobs: dict[Attempt, SimJob] = field(default_factory=dict)
    ended: dict[Attempt, End] = field(default_factory=dict)
    nodes: dict[NodeId, Role] = field(default_factory=dict)
    draining: set[NodeId] = field(default_factory=set)
    stored: dict[NodeId, int] = field(default_factory=dict)
    jobs_done: int = 0
    tasks_done: int = 0
    output_bytes: int = 0
    _runs: dict[int, Run] = field(default_factory=dict)
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
        for number in [n for n, run in self._runs.items() if run.node == node]:
            run = self._runs.pop(number)
            run.job.running -= 1
            run.job.waiting.appendleft(run.duration_us)

    def longest_task_us(self, node: NodeId) -> int:
        """An upper bound of how long the tasks on a node still run."""
        return max((run.duration_us for run in self._runs.values() if run.node == node), default=0)

    def submit(self, effect: StartJob, durations: deque[int], at_us: int) -> SimJob | End:
        """An attempt with the durations of its tasks; what became of it when it was submitted before."""
        attempt = (effect.job, effect.attempt)
        if attempt in self.ended:
            return self.ended[attempt]
        if attempt not in self.jobs:
            self.jobs[attempt] = SimJob(effect, durations, at_us)
        return self.jobs[attempt]

    def refuse(self, attempt: Attempt, error: str, at_us: int) -> End:
        """An attempt fails before its first task."""
        return self.ended.setdefault(attempt, End(Progress.FAILED, at_us, at_us, error))

    def cancel(self, attempt: Attempt, at_us: int) -> End:
        """Stop an attempt, or see to it that it never starts; how it ended."""
        found = self.jobs.pop(attempt, None)
        if found is not None:
            self._runs = {number: run for number, run in self._runs.items() if run.job is not found}
        since_us = found.since_us if found is not None else at_us
        return self.ended.setdefault(attempt, End(Progress.CANCELLED, since_us, at_us))

    def assign(self) -> Iterator[tuple[int, int]]:
        """Start waiting tasks on free slots: (number of the run, duration)."""
        used: dict[NodeId, int] = {}
        for run in self._runs.values():
            used[run.node] = used.get(run.node, 0) + 1
        serving = [n for n in sorted(self.nodes) if n not in self.draining]
        open_slots = deque(n for n in serving for _ in range(self.slots - used.get(n, 0)))
        for job in self.jobs.values():
            while job.waiting and open_slots:
                duration_us = job.waiting.popleft()
                job.running += 1
                job.started = True
                self._run += 1
                self._runs[self._run] = Run(open_slots.popleft(), job, duration_us)
                yield self._run, duration_us

    def finish(self, number: int, at_us: int) -> SimJob | None:
        """A run ends; its job when that ended with it. A run may have been killed before."""
        run = self._runs.pop(number, None)
        if run is None:
            return None
        run.job.running -= 1
        self.tasks_done += 1
        self.output_bytes += TASK_BYTES
        if self.nodes.get(run.node) is not Role.TRANSIENT:
            self.stored[run.node] = self.stored.get(run.node, 0) + TASK_BYTES
        if not run.job.ended:
            return None
        self.jobs.pop(run.job.attempt, None)
        self.ended[run.job.attempt] = End(Progress.SUCCEEDED, run.job.since_us, at_us)
        self.jobs_done += 1
        return run.job

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
            waiting_tags=tuple(tag_of(*job.attempt) for job in waiting),
            slots_used=len(self._runs),
            slots_total=self.slots * len(self.nodes),
            output_bytes=self.output_bytes,
            storage_bytes=storing * NODE_BYTES,
            jobs_done=self.jobs_done,
            tasks_done=self.tasks_done,
            node_bytes=dict(self.stored),
        )
