"""The jobs of one MR-cluster that have not ended, so that its queue is known without a walk through it."""

from __future__ import annotations

import heapq
from collections.abc import Container
from dataclasses import dataclass, field

from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import JobId, JobLife, JobState


@dataclass(slots=True)
class Waiting:
    """Sums over the jobs in a queue; ``sized`` of them say how large their input is."""

    jobs: int = 0
    tasks: int = 0
    sized: int = 0
    input_bytes: int = 0

    def copy(self) -> Waiting:
        """The same numbers, to be changed by somebody else."""
        return Waiting(self.jobs, self.tasks, self.sized, self.input_bytes)

    def count(self, job: JobState, sign: int) -> None:
        """Count a job in (+1) or out (-1), if it is in the queue."""
        if job.life is not JobLife.QUEUED:
            return
        self.jobs += sign
        self.tasks += sign * job.spec.tasks
        if job.spec.input_bytes is not None:
            self.sized += sign
            self.input_bytes += sign * job.spec.input_bytes


@dataclass(slots=True)
class Backlog:
    """``jobs`` in the order of their submission, ``busy`` those that were handed to YARN, ``waiting`` sums of the rest.

    ``referenced`` are those with a reference time.
    """

    jobs: dict[JobId, JobState] = field(default_factory=dict)
    busy: dict[JobId, JobState] = field(default_factory=dict)
    referenced: dict[JobId, JobState] = field(default_factory=dict)
    waiting: Waiting = field(default_factory=Waiting)
    _queued: list[tuple[tuple[int, int], JobId]] = field(default_factory=list)

    def put(self, new: JobState) -> None:
        """Replace a job; one that has ended leaves."""
        name = new.id
        old = self.jobs.get(name)
        if old is not None:
            self.waiting.count(old, -1)
        if new.life in ENDED_JOBS:
            for kept in (self.jobs, self.busy, self.referenced):
                kept.pop(name, None)
            return
        self.waiting.count(new, +1)
        self.jobs[name] = new
        if new.spec.reference_us:
            self.referenced[name] = new
        if new.life is not JobLife.QUEUED:
            self.busy[name] = new
        elif old is None or old.life is not JobLife.QUEUED:
            self.busy.pop(name, None)
            heapq.heappush(self._queued, (new.place, name))

    def head(self, without: Container[JobId] = ()) -> JobState | None:
        """The first job in the queue that is not in ``without``; None when there is none."""
        skipped = []
        first = None
        while self._queued:
            entry = self._queued[0]
            job = self.jobs.get(entry[1])
            if job is None or job.life is not JobLife.QUEUED or job.place != entry[0]:
                heapq.heappop(self._queued)
            elif job.id in without:
                skipped.append(heapq.heappop(self._queued))
            else:
                first = job
                break
        for entry in skipped:
            heapq.heappush(self._queued, entry)
        return first

    @property
    def last_order(self) -> int:
        """The order of the job that came last; 0 without jobs."""
        return self.jobs[next(reversed(self.jobs))].order if self.jobs else 0
