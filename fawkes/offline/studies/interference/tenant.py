"""A framework at work: its executors on slaves, its jobs, and what it would take of an offer."""

from __future__ import annotations

from dataclasses import dataclass, field

from fawkes.core.watching.stuck import Standing
from fawkes.offline.studies.interference.values import NOTHING, Bundle, Framework, FrameworkJob, Keeps, Mode


@dataclass(slots=True)
class Executor:
    """An executor on a slave: its slots, how many of them have a task, and when it is up."""

    slots: int = 0
    busy: int = 0
    ready_us: int = 0


@dataclass(slots=True)
class Active:
    """A job that has not ended: its stage, and the tasks of that stage. ``slots`` is what M2 granted it."""

    job: FrameworkJob
    stage: int = 0
    waiting: int = 0
    running: int = 0
    slots: int | None = None

    def __post_init__(self) -> None:
        self.waiting = self.job.stages[0].tasks

    @property
    def task_us(self) -> int:
        """The length of its present tasks."""
        return self.job.stages[self.stage].task_us

    def task_ended(self) -> bool:
        """One of its tasks has ended; whether the job has."""
        self.running -= 1
        if self.waiting or self.running:
            return False
        self.stage += 1
        if self.stage == len(self.job.stages):
            return True
        self.waiting = self.job.stages[self.stage].tasks
        return False


@dataclass(slots=True)
class Tenant:
    """A registered framework. ``order`` is that of registration, which decides between equal shares."""

    framework: Framework
    order: int
    jobs: list[Active] = field(default_factory=list)
    executors: dict[int, Executor] = field(default_factory=dict)
    done: int = 0
    lost: int = 0
    first_us: int | None = None
    ended_us: dict[str, int] = field(default_factory=dict)
    starts: list[tuple[int, int]] = field(default_factory=list)
    below_since_us: int | None = None

    @property
    def current(self) -> list[Active]:
        """The jobs whose tasks may run now."""
        return self.jobs[:1] if self.framework.keeps is Keeps.JOB else self.jobs

    @property
    def waiting(self) -> int:
        """The tasks that wait."""
        return sum(job.waiting for job in self.current)

    @property
    def running(self) -> int:
        """The tasks that run, or whose executor starts."""
        return sum(executor.busy for executor in self.executors.values())

    @property
    def held(self) -> Bundle:
        """All that it holds."""
        return self._sum(list(self.executors.values()))

    @property
    def used(self) -> Bundle:
        """The resources that it holds on slaves where a task of it runs."""
        return self._sum([executor for executor in self.executors.values() if executor.busy])

    def _sum(self, executors: list[Executor]) -> Bundle:
        total = NOTHING.plus(self.framework.executor, len(executors))
        return total.plus(self.framework.task, sum(executor.slots for executor in executors))

    @property
    def standing(self) -> Standing:
        """The standing of its work, as the detector sees it."""
        return Standing(self.waiting, self.held.cpu_milli / 1000, self.running, self.done)

    @property
    def demand(self) -> int:
        """The tasks for which it has no slot."""
        idle = sum(executor.slots - executor.busy for executor in self.executors.values())
        return self.waiting - idle

    @property
    def wants(self) -> bool:
        """True if any offer could be accepted."""
        return bool(self.jobs) and (self.framework.greedy or self.demand > 0)

    def accepts(self, slave: int, room: Bundle) -> int:
        """The number of tasks that it would place with the free resources of a slave; 0: it rejects the offer."""
        framework = self.framework
        executor = self.executors.get(slave)
        wanted = framework.most if framework.greedy and self.jobs else self.demand
        if executor is None:
            fit = framework.fits(room) if framework.floor.within(room) else 0
            return max(0, min(fit, wanted))
        count = room.most_of(framework.task)
        left = framework.most - executor.slots
        return max(0, min(left if count is None else min(count, left), wanted))

    def launch(self, slave: int, tasks: int, now_us: int) -> Bundle:
        """Take so many tasks' resources on a slave; what that takes of it."""
        framework, taken = self.framework, NOTHING.plus(self.framework.task, tasks)
        executor = self.executors.get(slave)
        if executor is None:
            job_tasks = self.jobs[0].job.tasks if self.jobs else 0
            delay_us = framework.start_us + framework.start_step_us * len(self.executors)
            delay_us += framework.start_task_us * job_tasks
            self.starts.append((len(self.executors), delay_us))
            executor = self.executors[slave] = Executor(ready_us=now_us + delay_us)
            taken = taken.plus(framework.executor)
        executor.slots += tasks
        return taken

    def task_ended(self, slave: int, *, full: bool, fixed: bool) -> Bundle:
        """A task on a slave has ended; what is free there by that.

        ``full``: a fine-grained executor goes with its last task (M3). ``fixed``: grants stay until the job ends (M2).
        """
        executor = self.executors[slave]
        executor.busy -= 1
        if self.framework.mode is Mode.COARSE or fixed:
            return NOTHING
        executor.slots -= 1
        if full and not executor.slots:
            del self.executors[slave]
            return self.framework.on_slave(1)
        return self.framework.task

    def leave(self, slave: int) -> Bundle:
        """Its executor on a slave ends; what is free there by that. Tasks that ran there must be put back before."""
        executor = self.executors.pop(slave)
        return self.framework.on_slave(executor.slots)
