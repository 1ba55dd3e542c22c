"""Jobs of one queue that are let in, and their CPUs: what an admission policy sees and answers.

The same values and rules serve a live MR-cluster, the simulator and a flat pool of CPUs. A CPU is room for one task.
Sources: Dimopoulos 2018, chapters 4 (PYTHIA) and 5 (Justice).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, isfinite
from typing import Any, Protocol

from fawkes.base.errors import cut

#: f * maxCPUs of a tight job is a hair above a whole number; rounded up, it would ask for more than there is
_TOLERANCE = 1e-9

_NUMBERS = frozenset({int, float})

Why = Mapping[str, float]
"""The numbers behind a verdict, by name."""
Memory = Any
"""What a policy remembers: None at first, then plain data (`Plain`) of a form that the policy alone knows."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as an admission policy sees it: ``granted`` is 0 while it waits, ``work_s`` is for an oracle alone.

    ``deadline_s`` and ``waited_s`` count from its submission; without a deadline it takes what the others leave.
    """

    id: str
    tasks: int
    deadline_s: float | None
    waited_s: float
    granted: int = 0
    work_s: float | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """One moment: all jobs that wait or run, by submission. ``fixed``: what a running job holds cannot be raised."""

    jobs: Sequence[Job]
    total: int
    free: int
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """A job that has ended, to learn from: it was ``granted`` CPUs of ``total``, with ``why`` it was let in.

    ``work_s`` are the CPU seconds of all its tasks; None: not known. ``killed``: it was ended after its deadline.
    """

    tasks: int
    deadline_s: float | None
    work_s: float | None
    granted: int
    total: int
    met: bool
    killed: bool = False
    why: Why = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The fate of a job: it holds so many CPUs from now on, is dropped, or (0 CPUs) waits; ``why`` in numbers.

    ``asked`` is what it needs, whatever it was given.
    """

    job: str
    cpus: int = 0
    drop: bool = False
    asked: int = 0
    why: Why = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ask:
    """The CPUs that a job asks for; ``partial``: it takes fewer when fewer are free (as long as little is known)."""

    cpus: int
    partial: bool = False
    why: Why = field(default_factory=dict)


class Admission(Protocol):
    """An admission policy, made callable. It keeps nothing between two calls but the memory that it returns."""

    @property
    def needs_work(self) -> bool:
        """True if it must know the work of a job beforehand, as only an oracle does."""

    def admit(self, queue: Queue, memory: Memory) -> Sequence[Verdict]:
        """The fate of the jobs; one without a verdict stays as it is."""

    def learn(self, done: Done, memory: Memory) -> Memory:
        """The policy's memory after a job has ended."""

    def late(self, job: Job, memory: Memory) -> bool:
        """True if a job is ended at the moment when its deadline passes."""


def max_cpus(tasks: int, total: int) -> int:
    """The most that can work for a job: min(tasks, capacity) (algorithms 1 and 2)."""
    return min(tasks, total)


def whole_cpus(amount: float) -> int:
    """The amount rounded up to whole CPUs, at least one."""
    return max(1, ceil(amount - _TOLERANCE))


def queue_factor(job: Job) -> float:
    """The factor of a job's speed because it has waited: deadline / (deadline - queue time) (algorithm 1).

    ValueError for one whose deadline has passed, or that has none.
    """
    if job.deadline_s is None or job.deadline_s <= job.waited_s:
        raise ValueError(f"{job.id} has no time left")
    return job.deadline_s / (job.deadline_s - job.waited_s)


def by_request(queue: Queue, request: Callable[[Job], Ask], priority: str = "req/ttd") -> list[Verdict]:
    """PYTHIA's admission control and offers (algorithm 1): all that a job asks for, or nothing yet.

    A waiting job whose deadline has passed, or that asks for more than could work for it, is dropped. The others are
    served by ``priority``: "req/ttd" (few CPUs and a long time left, as printed), "ttd" (the shortest time left) or
    "fifo" (who came first); who does not fit is passed over. Jobs without a deadline come last and take what is free.
    Without any capacity nothing can be said of what a job asks for, so that only late ones are dropped.
    """
    verdicts: list[Verdict] = []
    feasible: list[tuple[float, int, Job, Ask]] = []
    for place, job in enumerate(queue.jobs):
        if job.granted or job.deadline_s is None:
            continue
        left_s = job.deadline_s - job.waited_s
        if left_s <= 0:
            verdicts.append(Verdict(job.id, drop=True, why={"left_s": left_s}))
        elif queue.total >= 1:
            ask = request(job)
            if ask.cpus > max_cpus(job.tasks, queue.total):
                most = max_cpus(job.tasks, queue.total)
                verdicts.append(Verdict(job.id, drop=True, asked=ask.cpus, why={**ask.why, "most": most}))
            else:
                feasible.append((_key(priority, ask.cpus, left_s, place), place, job, ask))
    heapq.heapify(feasible)
    free = queue.free
    while feasible:
        _, _, job, ask = heapq.heappop(feasible)
        cpus = ask.cpus if ask.cpus <= free else (free if ask.partial and free >= 1 else 0)
        free -= cpus
        verdicts.append(Verdict(job.id, cpus=cpus, asked=ask.cpus, why=ask.why))
    return verdicts + _rest(queue, free)


def _key(priority: str, cpus: int, left_s: float, place: int) -> float:
    keys = {"req/ttd": cpus / left_s, "ttd": left_s, "fifo": float(place)}
    if priority not in keys:
        raise ValueError(f"priority is {priority!r}, not one of {', '.join(keys)}")
    return keys[priority]


def _rest(queue: Queue, free: int) -> list[Verdict]:
    """Waiting jobs without a deadline, first come first."""
    verdicts = []
    for job in queue.jobs:
        if job.deadline_s is None and not job.granted and queue.total >= 1:
            wanted = max_cpus(job.tasks, queue.total)
            cpus = max(0, min(wanted, free))
            free -= cpus
            verdicts.append(Verdict(job.id, cpus=cpus, asked=wanted))
    return verdicts


def fill(queue: Queue, *, top_up: bool) -> list[Verdict]:
    """Progressive filling (max-min fairness): each free CPU goes to who holds least; nothing is taken back.

    With ``top_up`` a running job may get more, where that can be (`Queue.fixed`). Of equals who came first is served.
    """
    grows = top_up and not queue.fixed
    jobs = {job.id: job for job in queue.jobs if grows or not job.granted}
    held = {job.id: job.granted for job in jobs.values()}
    heap = [(job.granted, place, job.id) for place, job in enumerate(jobs.values())]
    heap = [entry for entry in heap if entry[0] < max_cpus(jobs[entry[2]].tasks, queue.total)]
    heapq.heapify(heap)
    free = queue.free
    while free > 0 and heap:
        _, place, name = heapq.heappop(heap)
        held[name] += 1
        free -= 1
        if held[name] < max_cpus(jobs[name].tasks, queue.total):
            heapq.heappush(heap, (held[name], place, name))
    wanted = {name: max_cpus(job.tasks, queue.total) for name, job in jobs.items()}
    return [
        Verdict(name, cpus=held[name], asked=wanted[name])
        for name, job in jobs.items()
        if not job.granted or held[name] != job.granted
    ]


def checked(queue: Queue, verdicts: object) -> list[Verdict]:
    """The verdicts of a policy, in their order; ValueError says what is wrong with them.

    A grant is a whole number of CPUs, no more than could work for the job, and all of them fit into what is free. What
    is behind a verdict is finite numbers: the ledger could not hold others.
    """
    if not isinstance(verdicts, (list, tuple)):
        raise ValueError(f"{verdicts!r} is no list of verdicts")
    jobs = {job.id: job for job in queue.jobs}
    seen: set[str] = set()
    free = queue.free
    for verdict in verdicts:
        if not isinstance(verdict, Verdict):
            raise ValueError(f"{verdict!r} is no Verdict")
        job = jobs.get(verdict.job)
        if job is None or verdict.job in seen:
            raise ValueError(f"{verdict.job!r} is {'named twice' if job else 'not in the queue'}")
        seen.add(verdict.job)
        free -= _taken(queue, job, verdict)
    if free < min(0, queue.free):
        raise ValueError(f"{queue.free - free} CPUs are granted, and {queue.free} are free")
    return list(verdicts)


def is_to_end(answer: object) -> bool:
    """The answer of a policy's ``late``; ValueError unless it is True or False: NaN and "no" would end the job."""
    if isinstance(answer, bool):
        return answer
    raise ValueError(f"late answered {cut(repr(answer))}, and must answer True or False")


def _taken(queue: Queue, job: Job, verdict: Verdict) -> int:
    """The free CPUs that a verdict takes."""
    cpus, wanted = verdict.cpus, verdict.asked
    if type(cpus) is not int or cpus < 0:
        raise ValueError(f"{job.id} is granted {cpus!r}, which is no number of CPUs")
    if type(wanted) is not int or wanted < 0:
        raise ValueError(f"{job.id} asks for {wanted!r}, which is no number of CPUs")
    for name, value in verdict.why.items():
        if type(name) is not str or type(value) not in _NUMBERS or not isfinite(value):
            raise ValueError(f"the reason for {job.id} has {name} = {value!r}, which is no finite number")
    if verdict.drop:
        if job.granted or cpus:
            raise ValueError(f"{job.id} is dropped, but {'runs' if job.granted else 'is granted CPUs'}")
        return 0
    if cpus > max_cpus(job.tasks, queue.total):
        raise ValueError(f"{job.id} is granted {cpus} CPUs for {job.tasks} tasks on {queue.total} CPUs")
    if job.granted and (cpus < job.granted or (queue.fixed and cpus != job.granted)):
        raise ValueError(f"{job.id} holds {job.granted} CPUs, which a policy cannot change to {cpus}")
    return cpus - job.granted
