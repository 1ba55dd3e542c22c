"""The slot time of tasks by the steps of a ledger: what preemption wasted of it, for each job and MR-cluster.

Live and simulated ledgers have the same facts. What they do not say is counted as not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from fawkes.base.units import SECOND_US
from fawkes.core.preemption.tasks import rows_of
from fawkes.core.preemption.waste import Waste
from fawkes.core.values.events import AttemptSeen, Done, Event, Sampled
from fawkes.core.values.model import ClusterId, Facts, Reading, Reason
from fawkes.core.values.sight import Resumes
from fawkes.core.values.tags import job_of, tag_of


class Went(NamedTuple):
    """The end of a task that had an order, by the facts of its reason, with what it lost and the time of its dump.

    ``how`` is ``saved``, ``killed``, ``ended`` (done before), ``runs`` (it goes on, for its node stays) or ``unknown``.
    ``lost_us`` is None where that is not known.
    """

    how: str
    lost_us: int | None = 0
    dumping_us: int = 0


def went_of(facts: Facts) -> Went:
    """The end of a task, the same for accounts and explanations; what nobody heard or measured is not known.

    One that runs on when its time is over is lost if its node leaves. Earlier versions did not say whether it does.
    """
    how, run_us, took_us = facts.get("how"), _whole(facts.get("run_us")), _whole(facts.get("took_us")) or 0
    if how == "saved":
        return Went("saved", dumping_us=_whole(facts.get("dump_us", took_us)) or 0)
    if how == "killed" and facts.get("ordered") == "save":
        # What it did was over when it began to save itself.
        return Went("killed", run_us, took_us)
    if how == "killed" or (how == "runs" and facts.get("leaves") is True):
        return Went("killed", None if run_us is None else run_us + took_us)
    if how == "ended" or (how == "runs" and facts.get("leaves") is False):
        return Went(how)
    return Went("unknown", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The slot time of the tasks of a job or of an MR-cluster.

    ``waste`` is what is known; its useful part is 0 where no reading says what was used (not ``measured``).
    ``waiting_s`` is the time between a save and the next start, in which a task holds no slot. ``unknown_s`` is the run
    time of tasks that had orders and of which nobody heard how they went: there are ``unknown`` of them. ``unseen``
    tasks were saved, and nobody says when they ran again.
    """

    waste: Waste = field(default_factory=Waste)
    measured: bool = False
    waiting_s: float = 0.0
    unknown_s: float = 0.0
    saved: int = 0
    killed: int = 0
    unknown: int = 0
    unseen: int = 0

    def __add__(self, other: Account) -> Account:
        """The sums of both; measured if either is."""
        sums = {each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(Account)}
        return Account(**{**sums, "measured": self.measured or other.measured})

    @property
    def used_s(self) -> float:
        """All seconds in which a slot was held: wasted, useful, or not known."""
        return self.waste.used_s + self.unknown_s

    @property
    def useful_s(self) -> float | None:
        """The useful seconds; None where no reading says what was used."""
        return self.waste.useful_s if self.measured else None

    @property
    def preempted(self) -> bool:
        """True if any task had to go or was lost."""
        return bool(self.saved or self.killed or self.unknown or self.waste.killed_s)


@dataclass(slots=True)
class _Job:
    """The sums of one job, in microseconds; ``away`` has when tasks were saved that did not run again yet."""

    cluster: ClusterId
    killed_us: int = 0
    dumping_us: int = 0
    unknown_us: int = 0
    used_us: float = 0.0
    measured: bool = False
    saved: int = 0
    killed: int = 0
    unknown: int = 0
    away: dict[int, int] = field(default_factory=dict)
    seen: Resumes = field(default_factory=Resumes)
    reported: dict[str, Resumes] = field(default_factory=dict)

    def went(self, facts: Facts, at_us: int) -> None:
        """A task that had an order is gone, was done before, or goes on."""
        went = went_of(facts)
        if went.how == "saved":
            self.saved += 1
            self.away[_whole(facts.get("index")) or 0] = at_us
        elif went.lost_us is None:
            self.unknown += 1
            self.unknown_us += _whole(facts.get("run_us")) or 0
        elif went.how == "killed":
            self.killed += 1
            self.killed_us += went.lost_us
        self.dumping_us += went.dumping_us

    def runs_again(self, index: int, began_us: int, restore_us: int | None) -> None:
        """A task runs since ``began_us``; it was saved before if it is away, and another node saw it go."""
        if restore_us is None or index not in self.away or began_us - restore_us < self.away[index]:
            return
        self.seen += Resumes(1, began_us - restore_us - self.away.pop(index), restore_us)

    def account(self) -> Account:
        """The account, in seconds."""
        resumes = sum(self.reported.values(), Resumes()) if self.reported else self.seen
        wasted_us = self.killed_us + resumes.lost_us + self.dumping_us + resumes.restored_us
        useful_us = max(0.0, self.used_us - wasted_us - self.unknown_us) if self.measured else 0.0
        return Account(
            waste=Waste(
                killed_s=(self.killed_us + resumes.lost_us) / SECOND_US,
                dumping_s=self.dumping_us / SECOND_US,
                restoring_s=resumes.restored_us / SECOND_US,
                useful_s=useful_us / SECOND_US,
            ),
            measured=self.measured,
            waiting_s=resumes.waited_us / SECOND_US,
            unknown_s=self.unknown_us / SECOND_US,
            saved=self.saved,
            killed=self.killed,
            unknown=self.unknown,
            unseen=max(0, self.saved - resumes.count),
        )


class Accounts:
    """The accounts of all jobs, folded step by step; one that is said to have ended goes into its MR-cluster's."""

    def __init__(self) -> None:
        self._jobs: dict[str, _Job] = {}
        self._running: dict[ClusterId, tuple[int, dict[str, int]]] = {}
        self._over: dict[str, None] = {}
        self._settled: dict[ClusterId, Account] = {}
        self._sums: dict[ClusterId, Account] | None = None

    def follow(self, event: Event, reasons: Iterable[Reason]) -> None:
        """One more step; each has to come once, in the order of the ledger."""
        self._sums = None
        if isinstance(event, Sampled):
            for reading in event.readings:
                if not reading.error:
                    self._read(reading, event.at_us)
            self._fold()
        elif isinstance(event, AttemptSeen):
            self._ended(event)
        elif isinstance(event, Done) and "tasks" in event.facts:
            for row in rows_of(event.facts):
                job = self._jobs.get(row.job.lower())
                if job is not None and row.run_us is not None:
                    job.runs_again(row.index, event.at_us - row.run_us, row.restore_us)
        for reason in reasons:
            if reason.code == "task-went":
                cluster = ClusterId(str(reason.facts.get("cluster", "")))
                self._job(str(reason.facts.get("job")), cluster).went(reason.facts, event.at_us)

    def _ended(self, event: AttemptSeen) -> None:
        """Believe the last words of ApplicationMasters rather than what was seen of their tasks."""
        job = self._jobs.get(event.job.lower())
        said = [app.resumes for app in event.seen.applications or () if app.resumes is not None]
        if job is not None and said:
            job.reported[tag_of(event.job, event.attempt)] = sum(said, Resumes())

    def _read(self, reading: Reading, at_us: int) -> None:
        """Read the counts: between two readings their mean of tasks ran; a job that has just come or gone had none."""
        before_us, before = self._running.get(reading.cluster, (at_us, {}))
        now: dict[str, int] = {}
        for work in reading.work or ():
            name = job_of([work.tag])
            if name and work.running is not None:
                now[name] = now.get(name, 0) + work.running
            if name and work.resumes is not None:
                self._job(name, reading.cluster).reported[work.tag] = work.resumes
        for name in now | before:
            job = self._job(name, reading.cluster)
            job.measured = True
            job.used_us += (before.get(name, 0) + now.get(name, 0)) / 2 * (at_us - before_us)
        self._running[reading.cluster] = at_us, now

    def _job(self, name: str, cluster: ClusterId) -> _Job:
        return self._jobs.setdefault(name.lower(), _Job(cluster))

    def end(self, name: str) -> None:
        """A job has ended: from the first reading on that does not count its tasks it has no account of its own."""
        self._over[name.lower()] = None
        self._fold()

    def forget(self, cluster: ClusterId) -> None:
        """Forget an MR-cluster and its jobs."""
        self._sums = None
        self._running.pop(cluster, None)
        self._settled.pop(cluster, None)
        self._jobs = {name: job for name, job in self._jobs.items() if job.cluster != cluster}

    def _fold(self) -> None:
        for name in tuple(self._over):
            job = self._jobs.get(name)
            if job is None or name not in self._running.get(job.cluster, (0, {}))[1]:
                del self._over[name]
                if job is not None:
                    before = self._settled.get(job.cluster, Account())
                    self._settled[job.cluster] = before + self._jobs.pop(name).account()

    def of_job(self, name: str) -> Account:
        """The account of a job; an empty one for a job of which nothing was said."""
        job = self._jobs.get(name.lower())
        return Account() if job is None else job.account()

    def clusters(self) -> Mapping[ClusterId, Account]:
        """The accounts of MR-clusters of whose tasks anything is known; summed once for each step."""
        if self._sums is None:
            self._sums = dict(self._settled)
            for job in self._jobs.values():
                self._sums[job.cluster] = self._sums.get(job.cluster, Account()) + job.account()
        return self._sums


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
