"""The readable pool: a flat set of CPUs that an admission policy shares, event by event.

At one instant jobs that end leave first, then late jobs are ended, then new jobs come, then a sample is taken. One
pass of admission follows. A job with ``a`` CPUs and work ``w`` runs for ``w / a``.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any

import numpy as np

from fawkes.base.errors import ConfigError, UserError
from fawkes.core.fairness.weights import in_words
from fawkes.core.state.admitting import Admission, Done, Job, Queue, Verdict, checked, is_to_end, max_cpus
from fawkes.offline.studies.flat.jobs import FlatJobs
from fawkes.offline.studies.flat.metrics import (
    BATCH_S,
    DROPPED,
    EDGES_S,
    GROUPS,
    KILLED,
    MET,
    MISSED,
    SAMPLE_S,
    TOLERANCE_S,
    FlatOutcome,
    IdleGroups,
    Mean,
    equality,
    jain,
    mean_of,
)


@dataclass(slots=True)
class _Active:
    """A job that waits or runs: the CPU seconds ``left`` at ``since_s``, and how it was let in."""

    number: int
    submit_s: float
    tasks: int
    work_s: float
    deadline_s: float
    granted: int = 0
    left_s: float = 0.0
    since_s: float = 0.0
    start_s: float = nan
    finish_s: float = inf
    why: dict[str, Any] = field(default_factory=dict)

    @property
    def due_s(self) -> float:
        return self.submit_s + self.deadline_s


class FlatPool:
    """A number of CPUs, and the jobs that share them as the policy says.

    ``knows_killed``: the policy learns the work of a killed job, which only a simulator knows. ``origin`` is the file
    of the policy, for errors. ValueError when the jobs have no deadlines set, UserError for less than one CPU.
    """

    def __init__(
        self, jobs: FlatJobs, capacity: int, policy: Admission, *, knows_killed: bool = False, origin: str = ""
    ) -> None:
        if jobs.deadline_s is None:
            raise ValueError(f"{jobs.name} has no deadlines")
        if capacity < 1:
            raise UserError(f"{capacity} CPUs cannot run a job", where="--capacity", hint="Give at least 1")
        self._jobs, self.capacity, self.free = jobs, capacity, capacity
        self._policy, self._knows_killed, self._origin = policy, knows_killed, origin
        self._deadlines = jobs.deadline_s
        self._memory: Any = None
        self._active: dict[int, _Active] = {}
        self._next = 0
        self._due = [(float(at), number) for number, at in enumerate(jobs.submit_s + jobs.deadline_s) if at < inf]
        heapq.heapify(self._due)
        count = len(jobs)
        self._ends = np.zeros(count, np.int8)
        self._finish, self._start = np.full(count, nan), np.full(count, nan)
        self._granted, self._consumed = np.zeros(count, np.int64), np.zeros(count)
        self._meter = _Meter(capacity, jobs.span_s)
        #: what became of jobs, in order: submission, grant, drop, end, with time and number
        self.story: list[tuple[float, str, int]] = []

    def run(self) -> FlatOutcome:
        """Everything, from the first submission until no job is left.

        ConfigError when the policy fails, or gives an answer that cannot be kept.
        """
        while (now := self._next_time()) < inf:
            self._meter.pass_until(now, self.free, self._active, inclusive=False)
            changed = [self._end(now), self._end_late(now), self._submit(now)]
            self._meter.pass_until(now, self.free, self._active, inclusive=True)
            if any(changed):
                self._admit(now)
            self._meter.settle(now, self.free)
        busy, fairness, equal, idle = self._meter.results()
        horizon = self._jobs.span_s * self.capacity
        return FlatOutcome(
            self._ends, self._finish, self._start, self._granted, self._consumed, self._jobs.work_s,
            self._deadlines, utilisation=busy / horizon if horizon else None,
            fairness=fairness, equality=equal, idle=idle,
        )  # fmt: skip

    def _next_time(self) -> float:
        while self._due and self._due[0][1] < self._next and self._due[0][1] not in self._active:
            heapq.heappop(self._due)
        coming = float(self._jobs.submit_s[self._next]) if self._next < len(self._jobs) else inf
        ends = min((job.finish_s for job in self._active.values()), default=inf)
        return min(coming, ends, self._due[0][0] if self._due else inf)

    # --- what happens at an instant

    def _end(self, now: float) -> bool:
        over = [job for job in self._active.values() if job.finish_s <= now]
        for job in sorted(over, key=lambda each: (each.finish_s, each.number)):
            met = job.finish_s <= job.due_s + TOLERANCE_S
            self._consumed[job.number] = job.work_s
            self._leave(job, job.finish_s, MET if met else MISSED)
            self._learn(job, met=met, killed=False)
        return bool(over)

    def _end_late(self, now: float) -> bool:
        any_ended = False
        while self._due and self._due[0][0] <= now:
            job = self._active.get(heapq.heappop(self._due)[1])
            if job is None or (job.granted and job.finish_s <= job.due_s + TOLERANCE_S):
                continue
            if not self._answer(lambda job=job: is_to_end(self._policy.late(self._seen(job, now), self._memory))):
                continue
            any_ended = True
            if job.granted:
                self._consumed[job.number] = job.work_s - (job.left_s - job.granted * (now - job.since_s))
            self._leave(job, now, KILLED if job.granted else DROPPED)
            if job.granted:
                self._learn(job, met=False, killed=True)
        return any_ended

    def _submit(self, now: float) -> bool:
        any_new = False
        while self._next < len(self._jobs) and self._jobs.submit_s[self._next] <= now:
            number, jobs = self._next, self._jobs
            work = float(jobs.work_s[number])
            self._active[number] = _Active(
                number, float(jobs.submit_s[number]), int(jobs.tasks[number]), work, float(self._deadlines[number]),
                left_s=work,
            )  # fmt: skip
            self.story.append((now, "submitted", number))
            self._next += 1
            any_new = True
        return any_new

    def _leave(self, job: _Active, at_s: float, end: int) -> None:
        self._ends[job.number], self._finish[job.number], self._start[job.number] = end, at_s, job.start_s
        self._granted[job.number] = job.granted
        self.free += job.granted
        del self._active[job.number]
        self.story.append((at_s, {MET: "met", MISSED: "missed", KILLED: "killed", DROPPED: "dropped"}[end], job.number))

    # --- the policy

    def _admit(self, now: float) -> None:
        queue = Queue([self._seen(job, now) for job in self._active.values()], self.capacity, self.free)
        for verdict in self._answer(lambda: checked(queue, self._policy.admit(queue, self._memory))):
            job = self._active[int(verdict.job)]
            if verdict.drop:
                self._leave(job, now, DROPPED)
            elif verdict.cpus > job.granted:
                self._grant(job, verdict, now)

    def _grant(self, job: _Active, verdict: Verdict, now: float) -> None:
        self.free -= verdict.cpus - job.granted
        if job.granted:
            job.left_s -= job.granted * (now - job.since_s)
        else:
            job.start_s = now
            self.story.append((now, "started", job.number))
        job.since_s, job.granted, job.why = now, verdict.cpus, dict(verdict.why)
        job.finish_s = now + max(0.0, job.left_s) / job.granted

    def _learn(self, job: _Active, *, met: bool, killed: bool) -> None:
        done = Done(
            tasks=job.tasks,
            deadline_s=job.deadline_s if job.deadline_s < inf else None,
            work_s=job.work_s if not killed or self._knows_killed else None,
            granted=job.granted,
            total=self.capacity,
            met=met,
            killed=killed,
            why=job.why,
        )
        self._memory = self._answer(lambda: self._policy.learn(done, self._memory))

    def _seen(self, job: _Active, now: float) -> Job:
        return Job(
            str(job.number),
            job.tasks,
            job.deadline_s if job.deadline_s < inf else None,
            now - job.submit_s,
            job.granted,
            job.work_s if self._policy.needs_work else None,
        )

    def _answer(self, ask: Any) -> Any:
        try:
            return ask()
        except Exception as error:
            raise ConfigError(
                f"the policy raised {in_words(error)}",
                file=self._origin,
                hint="Correct the policy and run the command again",
            ) from error


class _Meter:
    """The measurements up to the last submission, from the state itself at each sample."""

    def __init__(self, capacity: int, horizon_s: float) -> None:
        self._capacity, self._horizon_s = capacity, horizon_s
        self._now_s = self._busy_s = self._sample_s = 0.0
        self._exists_s = dict.fromkeys(GROUPS, 0.0)
        self._samples: list[tuple[float, float, float]] = []
        self._begun = {size: [0.0] * (capacity // size) for size in GROUPS}
        self._bins = {size: [0] * (len(EDGES_S) + 1) for size in GROUPS}

    def pass_until(self, now: float, free: int, active: dict[int, _Active], *, inclusive: bool) -> None:
        """Time goes on with so many free CPUs; samples before ``now``, or up to it, are taken."""
        until = min(now, self._horizon_s)
        if until > self._now_s:
            self._busy_s += (until - self._now_s) * (self._capacity - free)
            for size in GROUPS:
                if free >= size:
                    self._exists_s[size] += until - self._now_s
            self._now_s = until
        while self._sample_s < until or (inclusive and self._sample_s == now <= self._horizon_s):
            self._sample(active)
            self._sample_s += SAMPLE_S

    def _sample(self, active: dict[int, _Active]) -> None:
        if not any(job.granted for job in active.values()):
            return
        held = [job.granted for job in active.values()]
        demands = [max_cpus(job.tasks, self._capacity) for job in active.values()]
        parts = [min(1.0, cpus / demand) for cpus, demand in zip(held, demands, strict=True)]
        self._samples.append((self._sample_s, jain(parts), equality(held, demands)))

    def settle(self, now: float, free: int) -> None:
        """Settle at the end of an instant: idle groups that are gone are counted, new ones begin."""
        if now > self._horizon_s:
            return
        for size in GROUPS:
            begun, has = self._begun[size], free // size
            for since in begun[has:]:
                self._count(size, now - since)
            self._begun[size] = begun[:has] + [now] * (has - len(begun))

    def _count(self, size: int, duration_s: float) -> None:
        self._bins[size][sum(duration_s > edge for edge in EDGES_S)] += 1

    def results(self) -> tuple[float, Mean, Mean, tuple[IdleGroups, ...]]:
        """Busy CPU seconds, fairness, equality and idle groups."""
        from fawkes.offline.studies.flat.engine import idle_groups

        for size in GROUPS:
            for since in self._begun[size]:
                self._count(size, self._horizon_s - since)
        days: dict[int, list[tuple[float, float]]] = {}
        for at, fairness, equal in self._samples:
            days.setdefault(int(at // BATCH_S), []).append((fairness, equal))
        means = [
            mean_of([sample[1 + which] for sample in self._samples],
                    [sum(sample[which] for sample in day) / len(day) for day in days.values()])
            for which in (0, 1)
        ]  # fmt: skip
        idle = tuple(
            idle_groups(size, self._exists_s[size], self._horizon_s, np.array(self._bins[size])) for size in GROUPS
        )
        return self._busy_s, means[0], means[1], idle
