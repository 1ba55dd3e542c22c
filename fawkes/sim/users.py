"""Those who ask: MR-clusters and jobs of a workload, each at its time or when what it waits for has happened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fawkes.base.values import replace
from fawkes.core.values.effects import Deploy, Load, Retire, Save, Survey
from fawkes.core.values.events import Requested, Submitted
from fawkes.core.values.model import ClusterId, Facts, JobId
from fawkes.core.values.proof import NAMED


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A request or a job. Its event comes ``delay_us`` after the start of the run, or after what it waits for.

    ``running`` is the MR-cluster that must run, ``jobs`` are the jobs that must have ended. ``event.at_us`` is the
    earliest time of all.
    """

    event: Requested | Submitted
    delay_us: int = 0
    running: ClusterId | None = None
    jobs: tuple[JobId, ...] = ()


class Users:
    """Wishes that wait, and what is still expected."""

    def __init__(self, wishes: Sequence[Wish]) -> None:
        self._left = {number: len(set(wish.jobs)) + (wish.running is not None) for number, wish in enumerate(wishes)}
        self._wishes = wishes
        self._by_cluster: dict[ClusterId, list[int]] = {}
        self._by_job: dict[JobId, list[int]] = {}
        for number, wish in enumerate(wishes):
            if wish.running is not None:
                self._by_cluster.setdefault(wish.running, []).append(number)
            for job in dict.fromkeys(wish.jobs):
                self._by_job.setdefault(job, []).append(number)
        self._open = {wish.event.spec.id for wish in wishes if isinstance(wish.event, Submitted)}
        self._runs: set[ClusterId] = set()
        #: files below the outputs of MR-clusters that clients are writing, and how many bytes they have
        self.open_files: dict[ClusterId, dict[str, int]] = {}

    @property
    def waiting(self) -> list[str]:
        """The jobs that have not ended, by name."""
        return sorted(self._open)

    @property
    def waits(self) -> bool:
        """True if a job has not ended; asked after every event, unlike their names."""
        return bool(self._open)

    def begin(self) -> list[Requested | Submitted]:
        """The requests and submissions that wait for nothing."""
        return [self._due(number, 0) for number, left in self._left.items() if not left]

    def cluster_runs(self, cluster: ClusterId, now_us: int) -> list[Requested | Submitted]:
        """An MR-cluster works: what waited for that."""
        if cluster in self._runs:
            return []
        self._runs.add(cluster)
        return self._released(self._by_cluster.pop(cluster, ()), now_us)

    def job_ended(self, job: JobId, now_us: int) -> list[Requested | Submitted]:
        """A job has ended for good: what waited for that."""
        self._open.discard(job)
        return self._released(self._by_job.pop(job, ()), now_us)

    def _released(self, numbers: Iterable[int], now_us: int) -> list[Requested | Submitted]:
        due = []
        for number in numbers:
            self._left[number] -= 1
            if not self._left[number]:
                due.append(self._due(number, now_us))
        return due

    def _due(self, number: int, now_us: int) -> Requested | Submitted:
        wish = self._wishes[number]
        return replace(wish.event, at_us=max(wish.event.at_us, now_us + wish.delay_us))


def of_stage(effect: Deploy | Load | Save | Retire | Survey, users: Users) -> Facts:
    """The facts of a stage that ended well; files that clients hold open are closed for a save."""
    if isinstance(effect, Survey):
        return {"undeclared": [], "applications": []}
    opened = users.open_files.pop(effect.cluster, {}) if isinstance(effect, Save) and effect.close_us else {}
    rows = [{"path": path, "bytes": size, "client": "", "host": ""} for path, size in sorted(opened.items())]
    return {"closed": rows[:NAMED], "closed_count": len(rows)} if rows else {}
