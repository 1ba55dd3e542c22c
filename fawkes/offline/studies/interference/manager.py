"""The manager: it offers free resources by DRF and takes none back, unless a remedy says so.

A discrete-event simulation without a clock: the same study gives the same course.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass
from itertools import count

from fawkes.base.units import SECOND_US
from fawkes.core.fairness.weights import in_words
from fawkes.core.state import admitting
from fawkes.core.state.admitting import Admission, Done, Memory, Queue, checked
from fawkes.core.watching.stuck import Standing
from fawkes.offline.studies.interference.course import Ended, FrameworkShare, RunCourse, RunMoment
from fawkes.offline.studies.interference.tenant import Active, Tenant
from fawkes.offline.studies.interference.values import (
    FrameworkJob,
    InterferenceStudy,
    Keeps,
    Offers,
    Remedy,
    dominant_share,
)


class AdmissionFailedError(ValueError):
    """An admission policy gave no usable answer about a job."""

    def __init__(self, job: str, error: Exception) -> None:
        super().__init__(f"no usable answer about {job}: {in_words(error)}")


@dataclass(slots=True)
class _Task:
    tenant: Tenant
    active: Active
    slave: int
    live: bool = True


class _Run:
    """One run: the free resources of each slave, the tenants, and the events to come."""

    def __init__(self, study: InterferenceStudy, admission: Admission | None) -> None:
        self.study = study
        self.admission = admission
        self.memory: Memory = None
        self.now_us = 0
        self.total = study.cloud.total
        self.free = [study.cloud.slave] * study.cloud.slaves
        self.chance = None if study.cloud.seed is None else random.Random(study.cloud.seed)  # noqa: S311 - a seed
        self.tenants: dict[str, Tenant] = {}
        self.queue: list[Active] = []
        self.dropped: dict[str, list[str]] = {}
        self.registered_us: dict[str, int] = {}
        self.moments: list[RunMoment] = []
        self.tasks: dict[int, list[_Task]] = {}
        self.events: list[tuple[int, int, int, _Task | FrameworkJob | None]] = []
        self.serial = count()
        for job in study.jobs:
            self.push(job.at_us, 1, job)

    def push(self, at_us: int, kind: int, what: _Task | FrameworkJob | None) -> None:
        heapq.heappush(self.events, (at_us, kind, next(self.serial), what))

    # --- the loop

    def run(self) -> RunCourse:
        while self.events and self.events[0][0] <= self.study.limit_us:
            self.now_us = self.events[0][0]
            arrivals = self._completions()
            self._offer()
            for job in arrivals:
                self._arrive(job)
                self._offer()
            if self.study.remedy is Remedy.REVOKE:
                self._watch_shares()
            self._note()
        return RunCourse(
            self.study, tuple(self.moments), {name: self._ended(each) for name, each in self.tenants.items()}
        )

    def _completions(self) -> list[FrameworkJob]:
        arrivals: list[FrameworkJob] = []
        while self.events and self.events[0][0] == self.now_us:
            what = heapq.heappop(self.events)[3]
            if isinstance(what, FrameworkJob):
                arrivals.append(what)
            elif what is not None and what.live:
                self._task_ended(what)
        return arrivals

    def _arrive(self, job: FrameworkJob) -> None:
        tenant = self.tenants.get(job.framework)
        if tenant is None:
            tenant = self.tenants[job.framework] = Tenant(self.study.framework(job.framework), len(self.tenants))
            self.registered_us[job.framework] = self.now_us
        if self.study.remedy is Remedy.ADMIT:
            self.queue.append(Active(job))
        else:
            tenant.jobs.append(Active(job))

    def _task_ended(self, task: _Task) -> None:
        task.live = False
        tenant, remedy = task.tenant, self.study.remedy
        tenant.done += 1
        freed = tenant.task_ended(task.slave, full=remedy is Remedy.RELEASE, fixed=remedy is Remedy.ADMIT)
        self.free[task.slave] = self.free[task.slave].plus(freed)
        if task.active.task_ended():
            tenant.jobs.remove(task.active)
            tenant.ended_us[task.active.job.name] = self.now_us
            self._learn(task.active, tenant)
            if tenant.framework.keeps is Keeps.JOB or not tenant.jobs:
                for slave in list(tenant.executors):
                    self._give_back(tenant, slave)
        self._fill(tenant)

    def _give_back(self, tenant: Tenant, slave: int) -> None:
        self.free[slave] = self.free[slave].plus(tenant.leave(slave))

    # --- offers

    def _offer(self) -> None:
        if self.study.remedy is Remedy.ADMIT:
            self._admit()
            return
        order = [slave for slave, room in enumerate(self.free) if room.cpu_milli or room.memory_mb]
        if not any(tenant.wants for tenant in self.tenants.values()):
            return
        if self.chance is not None:
            self.chance.shuffle(order)
        if self.study.cloud.offers is Offers.BATCH:
            self._offer_to_each(order)
        else:
            for slave in order:
                self._offer_to_each([slave])

    def _offer_to_each(self, slaves: list[int]) -> None:
        """Offer the free resources of these slaves to the framework with the least share, the rest to the next."""
        left = [tenant for tenant in self.tenants.values() if tenant.wants]
        while left:
            tenant = min(left, key=lambda each: (dominant_share(each.held, self.total), each.order))
            taken = [self._take(tenant, slave, tenant.accepts(slave, self.free[slave])) for slave in slaves]
            if not any(taken):
                left.remove(tenant)

    def _take(self, tenant: Tenant, slave: int, tasks: int) -> int:
        if tasks:
            self.free[slave] = self.free[slave].plus(tenant.launch(slave, tasks, self.now_us), -1)
            self._fill(tenant)
        return tasks

    def _fill(self, tenant: Tenant) -> None:
        """Waiting tasks take the free slots that their framework holds."""
        for slave, executor in tenant.executors.items():
            while executor.busy < executor.slots:
                active = next((stage for stage in tenant.current if stage.waiting), None)
                if active is None:
                    return
                active.waiting -= 1
                active.running += 1
                executor.busy += 1
                begins_us = max(self.now_us, executor.ready_us)
                tenant.first_us = begins_us if tenant.first_us is None else min(tenant.first_us, begins_us)
                task = _Task(tenant, active, slave)
                self.tasks.setdefault(slave, []).append(task)
                self.push(begins_us + active.task_us, 0, task)

    # --- M2: admission

    def _admit(self) -> None:
        """Jobs in the order of their submission; one that does not fit yet holds up none behind it.

        A CPU of the admission policy is room for a task of the job's own framework.
        """
        for active in list(self.queue):
            tenant = self.tenants[active.job.framework]
            verdict = self._verdict(active, tenant)
            if verdict is None or not (verdict.cpus or verdict.drop):
                continue
            self.queue.remove(active)
            if verdict.drop:
                self.dropped.setdefault(tenant.framework.name, []).append(active.job.name)
                continue
            active.slots = left = verdict.cpus
            tenant.jobs.append(active)
            for slave, room in enumerate(self.free):
                left -= self._take(tenant, slave, min(left, tenant.framework.fits(room)))

    def _verdict(self, active: Active, tenant: Tenant) -> admitting.Verdict | None:
        if self.admission is None:
            raise ValueError("M2 needs an admission policy")
        # One executor for each framework on a slave: the next job begins once they have gone.
        free = 0 if tenant.jobs else sum(tenant.framework.fits(room) for room in self.free)
        queue = Queue((self._as_seen(active.job),), self._most(tenant), free, fixed=True)
        try:
            verdicts = checked(queue, self.admission.admit(queue, self.memory))
        except Exception as error:
            raise AdmissionFailedError(active.job.name, error) from error
        return verdicts[0] if verdicts else None

    def _most(self, tenant: Tenant) -> int:
        """The number of tasks of a framework that run at once on the empty cloud."""
        return tenant.framework.fits(self.study.cloud.slave) * self.study.cloud.slaves

    def _as_seen(self, job: FrameworkJob) -> admitting.Job:
        """A job as the policy sees it: the start of an executor comes off its deadline."""
        start_us = self.study.framework(job.framework).start_us
        return admitting.Job(
            id=job.name,
            tasks=job.tasks,
            deadline_s=None if job.deadline_us is None else (job.deadline_us - start_us) / SECOND_US,
            waited_s=(self.now_us - job.at_us) / SECOND_US,
            work_s=job.work_us / SECOND_US if self.admission is not None and self.admission.needs_work else None,
        )

    def _learn(self, active: Active, tenant: Tenant) -> None:
        """The admission policy hears of each job that has ended, once."""
        if self.admission is None or active.slots is None:
            return
        seen, work_s = self._as_seen(active.job), active.job.work_us / SECOND_US
        met = active.job.deadline_us is None or self.now_us - active.job.at_us <= active.job.deadline_us
        done = Done(seen.tasks, seen.deadline_s, work_s, active.slots, self._most(tenant), met)
        try:
            self.memory = self.admission.learn(done, self.memory)
        except Exception as error:
            raise AdmissionFailedError(active.job.name, error) from error

    # --- M1: revocation

    def _watch_shares(self) -> None:
        """A framework below its fair share for too long gets it back, from those above and from idle executors."""
        for tenant in self.tenants.values():
            if not self._below(tenant):
                tenant.below_since_us = None
            elif tenant.below_since_us is None:
                tenant.below_since_us = self.now_us
                self.push(self.now_us + self.study.patience_us, 2, None)
            if tenant.below_since_us is not None and self.now_us - tenant.below_since_us >= self.study.patience_us:
                self._restore(tenant)
                tenant.below_since_us = None
                self._offer()

    @property
    def _fair(self) -> float:
        return 1 / max(1, sum(bool(tenant.jobs) for tenant in self.tenants.values()))

    def _below(self, tenant: Tenant) -> bool:
        return tenant.waiting > 0 and self._grown(tenant, 1) <= self._fair

    def _share(self, tenant: Tenant) -> float:
        return dominant_share(tenant.used, self.total)

    def _restore(self, tenant: Tenant) -> None:
        """Bring a framework to its fair share.

        Those above theirs lose executors. A framework that runs nothing also gets from those that are just at theirs.
        """
        fair = self._fair
        at_fair = [other for other in self.tenants.values() if not tenant.running and self._share(other) >= fair]
        for slave in [slave for slave, executor in tenant.executors.items() if not executor.busy]:
            self._give_back(tenant, slave)
        while self._below(tenant):
            givers = [other for other in self.tenants.values() if other in at_fair or self._share(other) > fair]
            options = [option for slave in range(len(self.free)) if (option := self._option(tenant, slave, givers))]
            if not options:
                return
            _, slave, victims = min(options, key=lambda option: option[:2])
            for victim in victims:
                self._revoke(victim, slave)
            tasks = tenant.accepts(slave, self.free[slave])
            while tasks > 1 and self._grown(tenant, tasks) > fair:
                tasks -= 1
            if not self._take(tenant, slave, tasks):
                return

    def _grown(self, tenant: Tenant, tasks: int) -> float:
        """Its share with so many tasks more, on a slave where it has none."""
        return dominant_share(tenant.used.plus(tenant.framework.on_slave(tasks)), self.total)

    def _option(self, tenant: Tenant, slave: int, givers: list[Tenant]) -> tuple[int, int, list[Tenant]] | None:
        """A slave that would have room: how many tasks that ends, the slave, and whose they are."""
        if slave in tenant.executors:
            return None
        victims = [giver for giver in givers if giver is not tenant and slave in giver.executors]
        room = self.free[slave]
        for giver in victims:
            room = room.plus(giver.framework.on_slave(giver.executors[slave].slots))
        if not tenant.accepts(slave, room):
            return None
        return sum(giver.executors[slave].busy for giver in victims), slave, victims

    def _revoke(self, tenant: Tenant, slave: int) -> None:
        for task in self.tasks.get(slave, []):
            if task.live and task.tenant is tenant:
                task.live = False
                task.active.running -= 1
                task.active.waiting += 1
                tenant.lost += 1
        self._give_back(tenant, slave)

    # --- the record

    def _note(self) -> None:
        for slave, tasks in self.tasks.items():
            self.tasks[slave] = [task for task in tasks if task.live]
        queued = dict.fromkeys(self.tenants, 0)
        for active in self.queue:
            queued[active.job.framework] += active.waiting
        shares = {
            name: FrameworkShare(
                each.held, each.used, each.standing if not queued[name] else _with(each.standing, queued[name])
            )
            for name, each in self.tenants.items()
        }
        self.moments.append(RunMoment(self.now_us, shares))

    def _ended(self, tenant: Tenant) -> Ended:
        name = tenant.framework.name
        expected = sum(job.framework == name for job in self.study.jobs) - len(self.dropped.get(name, []))
        whole = len(tenant.ended_us) == expected and expected > 0
        course = RunCourse(self.study, tuple(self.moments), {})
        return Ended(
            framework=name,
            registered_us=self.registered_us[name],
            first_us=tenant.first_us,
            finished_us=max(tenant.ended_us.values()) if whole else None,
            stuck_us=sum(until - since for since, until in course.stuck_spans(name)),
            lost_tasks=tenant.lost,
            dropped=tuple(self.dropped.get(name, [])),
            starts=tuple(tenant.starts),
        )


def _with(standing: Standing, queued: int) -> Standing:
    return Standing((standing.waiting or 0) + queued, standing.held, standing.running, standing.done)


def run(study: InterferenceStudy, admission: Admission | None = None) -> RunCourse:
    """The course of a study; only M2 (`Remedy.ADMIT`) asks ``admission``.

    ValueError when M2 has no admission policy; AdmissionFailedError when that gives no usable answer.
    """
    return _Run(study, admission).run()
