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
    """A request or a job. Its event comes at the latest of three times.

    That is ``event.at_us``, ``delay_us`` after the MR-cluster ``running`` runs (None: after the start of the run), and
    ``think_us`` after the last of ``jobs`` has ended.
    """

    event: Requested | Submitted
    delay_us: int = 0
    think_us: int = 0
    running: ClusterId | None = None
    jobs: tuple[JobId, ...] = ()


class Users:
    """Wishes that wait, and what is still expected."""

    def __init__(self, wishes: Sequence[Wish]) -> None:
        self._left = {number: len(set(wish.jobs)) + (wish.running is not None) for number, wish in enumerate(wishes)}
        self._wishes = wishes
        self._due_us = [max(wish.event.at_us, 0 if wish.running else wish.delay_us) for wish in wishes]
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
        return [self._due(number) for number, left in self._left.items() if not left]

    def cluster_runs(self, cluster: ClusterId, now_us: int) -> list[Requested | Submitted]:
        """An MR-cluster works: what waited for that."""
        if cluster in self._runs:
            return []
        self._runs.add(cluster)
        return self._released(
            (number, now_us + self._wishes[number].delay_us) for number in self._by_cluster.pop(cluster, ())
        )

    def job_ended(self, job: JobId, now_us: int) -> list[Requested | Submitted]:
        """A job has ended for good: what waited for that."""
        self._open.discard(job)
        return self._released((number, now_us + self._wishes[number].think_us) for number in self._by_job.pop(job, ()))

    def _released(self, earliest: Iterable[tuple[int, int]]) -> list[Requested | Submitted]:
        due = []
        for number, at_us in earliest:
            self._due_us[number] = max(self._due_us[number], at_us)
            self._left[number] -= 1
            if not self._left[number]:
                due.append(self._due(number))
        return due

    def _due(self, number: int) -> Requested | Submitted:
        return replace(self._wishes[number].event, at_us=self._due_us[number])


def of_stage(effect: Deploy | Load | Save | Retire | Survey, users: Users) -> Facts:
    """The facts of a stage that ended well; files that clients hold open are closed for a save."""
    if isinstance(effect, Survey):
        return {"undeclared": [], "applications": []}
    opened = users.open_files.pop(effect.cluster, {}) if isinstance(effect, Save) and effect.close_us else {}
    rows = [{"path": path, "bytes": size, "client": "", "host": ""} for path, size in sorted(opened.items())]
    return {"closed": rows[:NAMED], "closed_count": len(rows)} if rows else {}
