"""The jobs of one MR-cluster that have not ended, so that the head of its queue is found without a walk through it."""

from __future__ import annotations

import heapq
from collections.abc import Container
from dataclasses import dataclass, field

from fawkes.core.lifecycle import ENDED_JOBS
from fawkes.core.model import JobId, JobLife, JobState


@dataclass(slots=True)
class Backlog:
    """``jobs`` in the order of their submission, ``busy`` those that were handed to YARN."""

    jobs: dict[JobId, JobState] = field(default_factory=dict)
    busy: dict[JobId, JobState] = field(default_factory=dict)
    _queued: list[tuple[int, JobId]] = field(default_factory=list)

    def put(self, new: JobState) -> None:
        """Replace a job; one that has ended leaves."""
        if new.life in ENDED_JOBS:
            self.jobs.pop(new.id, None)
            self.busy.pop(new.id, None)
            return
        old = self.jobs.get(new.id)
        self.jobs[new.id] = new
        if new.life is not JobLife.QUEUED:
            self.busy[new.id] = new
        elif old is None or old.life is not JobLife.QUEUED:
            self.busy.pop(new.id, None)
            heapq.heappush(self._queued, (new.order, new.id))

    def head(self, without: Container[JobId] = ()) -> JobState | None:
        """The first job in the queue that is not in ``without``; None when there is none."""
        skipped = []
        found = None
        while self._queued:
            entry = self._queued[0]
            job = self.jobs.get(entry[1])
            if job is None or job.life is not JobLife.QUEUED or job.order != entry[0]:
                heapq.heappop(self._queued)
            elif job.id in without:
                skipped.append(heapq.heappop(self._queued))
            else:
                found = job
                break
        for entry in skipped:
            heapq.heappush(self._queued, entry)
        return found

    @property
    def last_order(self) -> int:
        """The order of the job that came last; 0 without jobs."""
        return self.jobs[next(reversed(self.jobs))].order if self.jobs else 0
