"""Values of the study: bundles of resources, frameworks, their jobs, the cloud and the remedies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Bundle(NamedTuple):
    """Resources: CPUs in thousandths, memory in megabytes."""

    cpu_milli: int = 0
    memory_mb: int = 0

    def plus(self, other: Bundle, times: int = 1) -> Bundle:
        """This and ``times`` the other."""
        return Bundle(self.cpu_milli + times * other.cpu_milli, self.memory_mb + times * other.memory_mb)

    def within(self, room: Bundle) -> bool:
        """True if this fits into ``room``."""
        return self.cpu_milli <= room.cpu_milli and self.memory_mb <= room.memory_mb

    def most_of(self, each: Bundle) -> int | None:
        """The number of ``each`` that fit into this; None: without a bound, because ``each`` is empty."""
        pairs = ((self.cpu_milli, each.cpu_milli), (self.memory_mb, each.memory_mb))
        counts = [room // size for room, size in pairs if size > 0]
        return min(counts) if counts else None


NOTHING = Bundle()


def dominant_share(held: Bundle, total: Bundle) -> float:
    """The largest part that ``held`` has of any resource of ``total``: what DRF compares."""
    pairs = ((held.cpu_milli, total.cpu_milli), (held.memory_mb, total.memory_mb))
    return max((part / whole for part, whole in pairs if whole), default=0.0)


class Mode(StrEnum):
    """The time for which a framework keeps what it was offered."""

    COARSE = "coarse"
    """Slots stay with the executor until its job, or its queue of jobs, has ended."""
    FINE = "fine"
    """A task returns its part at its end; the executor's part stays until the job has ended."""


class Keeps(StrEnum):
    """The time until which a framework keeps its executors."""

    JOB = "job"
    """Until its job has ended; the next job begins anew (Spark)."""
    QUEUE = "queue"
    """Until none of its jobs is left (Hadoop's JobTracker)."""


class Offers(StrEnum):
    """The time when the manager compares the shares of frameworks again."""

    SLAVE = "slave"
    """Before each offer of one slave's free resources."""
    BATCH = "batch"
    """Once for all resources that are free at one moment."""


class Remedy(StrEnum):
    """A remedy against interference (section 3.5.2 of the dissertation)."""

    NONE = "none"
    REVOKE = "revoke"
    """M1: what exceeds a fair share is taken back from its framework."""
    ADMIT = "admit"
    """M2: a job gets what it needs to meet its deadline, once that is free, and nothing else."""
    RELEASE = "release"
    """M3: a fine-grained framework returns its executor with its tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A framework's demands (Table 3.1). ``most`` bounds its tasks on one slave.

    ``floor`` is the least offer that it looks at; it needs room for its executor and one task all the same. A
    ``greedy`` one takes all of an offer while it has a job, others no more than their waiting tasks. An executor starts
    within ``start_us``, with ``start_step_us`` more for each executor that the framework has already, and
    ``start_task_us`` more for each task of the job.
    """

    name: str
    mode: Mode
    executor: Bundle
    task: Bundle
    most: int
    keeps: Keeps = Keeps.JOB
    greedy: bool = False
    floor: Bundle = NOTHING
    start_us: int = 0
    start_step_us: int = 0
    start_task_us: int = 0

    def on_slave(self, tasks: int) -> Bundle:
        """The part of a slave that its executor takes with so many tasks."""
        return self.executor.plus(self.task, tasks)

    def fits(self, room: Bundle) -> int:
        """The number of tasks that fit into ``room`` with an executor of their own; 0 when not even one does."""
        left = room.plus(self.executor, -1)
        if min(left) < 0:
            return 0
        count = left.most_of(self.task)
        return self.most if count is None else min(count, self.most)


class FrameworkStage(NamedTuple):
    """Tasks of one length that may run side by side."""

    tasks: int
    task_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkJob:
    """A job of a framework: its stages run one after another. ``deadline_us`` counts from ``at_us``."""

    name: str
    framework: str
    at_us: int
    stages: tuple[FrameworkStage, ...]
    deadline_us: int | None = None

    @property
    def tasks(self) -> int:
        """The most tasks that one of its stages has."""
        return max(stage.tasks for stage in self.stages)

    @property
    def work_us(self) -> int:
        """The time of all its tasks together."""
        return sum(stage.tasks * stage.task_us for stage in self.stages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """Equal slaves under one manager. ``seed`` draws the order of slaves in each round of offers; None: their order."""

    slaves: int
    slave: Bundle
    offers: Offers = Offers.SLAVE
    seed: int | None = None

    @property
    def total(self) -> Bundle:
        """The resources of all slaves."""
        return NOTHING.plus(self.slave, self.slaves)


@dataclass(frozen=True, slots=True, kw_only=True)
class InterferenceStudy:
    """All that a run depends on. ``patience_us``: so long a share may be violated before M1 takes resources back."""

    name: str
    cloud: Cloud
    frameworks: tuple[Framework, ...]
    jobs: tuple[FrameworkJob, ...]
    remedy: Remedy = Remedy.NONE
    patience_us: int = 0
    limit_us: int = 24 * 3600 * 1_000_000

    def framework(self, name: str) -> Framework:
        """The framework of that name."""
        return next(framework for framework in self.frameworks if framework.name == name)


def most_used(framework: Framework, cloud: Cloud, workers: int | None = None) -> tuple[Bundle, Bundle, Bundle]:
    """Three rows of Table 3.1: the least for one task, the most on one slave, and the most on the cloud.

    With ``workers`` the framework never has more tasks; each is then taken to lie on a slave of its own.
    """
    count = framework.fits(cloud.slave)
    least = framework.floor if framework.floor != NOTHING else framework.on_slave(1)
    if workers is not None:
        return least, framework.on_slave(min(count, workers)), NOTHING.plus(framework.on_slave(1), workers)
    on_slave = framework.on_slave(count)
    return least, on_slave, NOTHING.plus(on_slave, cloud.slaves)
