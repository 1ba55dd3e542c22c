"""The model of Hadoop as the simulated world above it needs it; there are a readable one and a compiled one.

Both come to the same results: times, ties and counters are equal, not near.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from fawkes.core.values.effects import StartJob
from fawkes.core.values.model import ClusterId, JobId, NodeId, Reading, Role
from fawkes.sim.hadoop.tasks import End, JobAttempt, Running


class TaskEvent(NamedTuple):
    """The start or the end of one attempt of a task; ``number`` counts the attempts of a job, maps and reduces."""

    at_us: int
    cluster: ClusterId
    job: JobId
    attempt: int
    kind: Literal["map", "reduce"]
    number: int
    node: NodeId
    what: Literal["start", "done", "killed"]


@dataclass(frozen=True, slots=True)
class JobEnded:
    """All of a job is over."""

    attempt: JobAttempt
    end: End


@dataclass(frozen=True, slots=True)
class CopyDone:
    """All bytes have arrived, or all daemons run, that ``of`` waits for."""

    of: object


class Copying(Protocol):
    """A copy under way, or daemons that start."""

    @property
    def of(self) -> object:
        """The object that waits for it."""


class Cluster(Protocol):
    """One MR-cluster of a model: its nodes, its jobs, its bytes; ``ended`` says how attempts of jobs have ended."""

    id: ClusterId
    loaded: bool
    ended: dict[JobAttempt, End]

    @property
    def nodes(self) -> Collection[NodeId]:
        """The nodes that work for it, those that drain included."""

    @property
    def jobs(self) -> Collection[JobAttempt]:
        """The attempts of jobs that have not ended."""

    @property
    def tasks_done(self) -> int:
        """Tasks that have ended, without those whose output was lost."""

    @property
    def tasks_ready(self) -> int:
        """The tasks that wait for nothing but room."""

    def join(self, name: NodeId, role: Role, site: str = "") -> None:
        """A node of a site offers its slots (again)."""

    def drain(self, name: NodeId) -> None:
        """A node gets no more tasks."""

    def leave(self, name: NodeId) -> None:
        """A node is gone: its tasks wait again, and so do finished maps whose output is still needed."""

    def stop_tasks(self, name: NodeId) -> None:
        """Nothing computes on a node any more, as when it leaves; what it stores stays until it does."""

    def busy_us(self, name: NodeId) -> int:
        """The time for which the tasks on a node still run, as things are; 0 when there are none."""

    def savable(self, name: NodeId) -> list[Running]:
        """The tasks on a node that can be saved; none in a model that saves none."""

    def preempt(self, name: NodeId, task: Running, kept: float | None, restore_us: int) -> bool:
        """A task leaves its node and waits again; False if it is not there.

        ``kept`` is the part of its work that is still to be done, None: all of it; it takes ``restore_us`` to go on.
        """

    def knows(self, attempt: JobAttempt) -> bool:
        """True if an attempt was submitted, refused or cancelled before."""

    def submit(self, effect: StartJob) -> End | int:
        """An attempt of a job begins; when it was submitted (us), or what became of it."""

    def refuse(self, attempt: JobAttempt, error: str) -> End:
        """An attempt fails before its first task."""

    def cancel(self, attempt: JobAttempt) -> End:
        """Stop an attempt, or see to it that it never starts; how it ended."""

    def load(self, of: object) -> Copying:
        """The input comes from persistent storage, once."""

    def save(self, of: object) -> Copying:
        """All output goes to persistent storage."""

    def hold(self, name: NodeId, held_bytes: int) -> None:
        """Let a node store so many bytes of earlier outputs."""

    def evacuate(self, name: NodeId, of: object) -> Copying:
        """Begin the copy of what a node stores to the nodes that stay, and return it."""

    def start_daemons(self, time_us: int, of: object, *, deploys: int = 0) -> Copying:
        """The daemons of a node that comes: so long when they start alone, longer beside what computes.

        A deployment starts those of so many nodes, and the masters.
        """

    def read(self) -> Reading:
        """The reading that the masters give: jobs, tasks, slots and bytes."""


class Model(Protocol):
    """All MR-clusters on one pool of nodes, and the time up to which they have run."""

    now_us: int

    def cluster(self, name: ClusterId, *, replication: int = 3, data_bytes: int = 0, standby: bool = False) -> Cluster:
        """A new MR-cluster without nodes, whose input has so many bytes and blocks so many replicas.

        With ``standby`` the daemons of a second NameNode and its journal take their part of the cores until it ends.
        """

    def advance(self, until_us: int) -> JobEnded | CopyDone | None:
        """Let tasks run until something is to be told, at ``now_us``; None when nothing is until that time.

        What happens at one moment in one resource is finished before time goes on: call it with a time that has
        passed for the rest of it.
        """

    def drop(self, copy: Copying) -> None:
        """A copy is not wanted any more."""

    def task_events(self) -> list[TaskEvent]:
        """The starts and ends of attempts so far, in order; none unless the model was made to keep them."""
