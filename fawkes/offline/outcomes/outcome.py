"""The outcome of one run: figures of each MR-cluster and of all together, from its store."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from statistics import fmean, median
from typing import Any

from fawkes.base.units import SECOND_US
from fawkes.core.preemption.account import Account
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import ClusterId, JobId, JobLife, JobState
from fawkes.offline.outcomes.failover import NO_LOSS, MastersLost, masters_lost, spans_us, total_of
from fawkes.report import history
from fawkes.report.pictures.steps import held
from fawkes.report.tables.waste_rows import accounts_of, waste_row
from fawkes.sim.hadoop.model import TaskEvent
from fawkes.store.base import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """The fate of the jobs that have a deadline; there are ``jobs_due`` of them.

    Missed ones ended late, failed, or were cancelled; an admission policy did not let dropped ones in, and ended killed
    ones. ``sdr`` is the share that met its deadline. ``wasted_s`` is the time of the tasks of all that did not, in
    task-seconds; None when nobody kept it.
    """

    jobs_due: int
    jobs_met: int
    jobs_missed: int
    jobs_dropped: int
    jobs_killed: int
    sdr: float
    wasted_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOutcome:
    """One MR-cluster. Times are seconds; None is what no job can tell.

    ``failed_jobs`` counts jobs that did not succeed. Slowdown is response / reference time, response is from submission
    to the end, both of jobs that succeeded. ``node_s`` is nodes held, times seconds; ``most_nodes`` the most at any
    time. ``finished_s`` is the end of its last job, from the start of the run.
    """

    cluster: str
    jobs: int
    failed_jobs: int
    slowdown_mean: float | None
    slowdown_median: float | None
    response_mean_s: float | None
    response_median_s: float | None
    node_s: float
    most_nodes: int
    finished_s: float | None
    due: Deadlines | None = None
    masters: MastersLost | None = None
    waste: Account | None = None

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON; those of deadlines, lost masters, and preemption only where there are any."""
        return _flat(self)


DEADLINES = tuple(each.name for each in fields(Deadlines))
"""The keys that an outcome has only where jobs have deadlines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A whole run: each MR-cluster by arrival, and all jobs together.

    ``makespan_s`` is from the start of the run to the end of the last job. ``slowdown_least`` to ``slowdown_most`` are
    of the mean slowdowns of the MR-clusters, as the paper reports them; ``slowdown_mean`` and ``slowdown_median`` are
    over all jobs that succeeded.
    """

    clusters: tuple[ClusterOutcome, ...]
    jobs: int
    failed_jobs: int
    slowdown_mean: float | None
    slowdown_median: float | None
    slowdown_least: float | None
    slowdown_middle: float | None
    slowdown_most: float | None
    response_mean_s: float | None
    makespan_s: float
    node_s: float
    reconfigurations: int
    steps: int
    due: Deadlines | None = None
    masters: MastersLost | None = None
    waste: Account | None = None

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON; those of deadlines, lost masters, and preemption only where there are any."""
        return {**_flat(self), "clusters": [row.plain() for row in self.clusters]}


def _further(outcome: ClusterOutcome | Outcome) -> dict[str, Any]:
    """The values that only some outcomes have: of deadlines, of lost masters, and of tasks that had to go."""
    parts = [asdict(part) for part in (outcome.due, outcome.masters) if part is not None]
    parts += [] if outcome.waste is None else [waste_row(outcome.waste)]
    return {key: value for part in parts for key, value in part.items()}


def _flat(outcome: ClusterOutcome | Outcome) -> dict[str, Any]:
    plain = {key: value for key, value in asdict(outcome).items() if key not in ("due", "masters", "waste")}
    return {**plain, **_further(outcome)}


def outcome_of(store: Reader, tasks: Sequence[TaskEvent] | None = None, *, with_losses: bool = False) -> Outcome:
    """The figures of a run that has ended; ``tasks`` are the starts and ends of its attempts, if they were kept.

    ``with_losses``: nodes were lost in it, so that what lost masters cost is told.
    """
    start_us = history.first_us(store)
    jobs: dict[str, list[JobState]] = {cluster.id: [] for cluster in history.clusters(store)}
    for job in history.jobs(store):
        jobs[job.cluster].append(job)
    node_s, most = _held(store)
    spent_us = None if tasks is None else _spent_us(tasks)
    lost = masters_lost(store, tasks) if with_losses else {}
    saves = any(job.spec.saves for mine in jobs.values() for job in mine)
    wasted = accounts_of(store).clusters() if saves else {}
    rows = tuple(
        replace(
            _cluster(name, mine, start_us, node_s.get(name, 0.0), most.get(name, 0)),
            due=_deadlines(mine, spent_us),
            masters=lost.get(name, NO_LOSS) if with_losses else None,
            waste=wasted.get(ClusterId(name)),
        )
        for name, mine in jobs.items()
    )
    everyone = [job for mine in jobs.values() for job in mine]
    means = [row.slowdown_mean for row in rows if row.slowdown_mean is not None]
    ends = [job.finished_us - start_us for job in everyone if job.finished_us is not None]
    return Outcome(
        clusters=rows,
        jobs=len(everyone),
        failed_jobs=_failed(everyone),
        slowdown_mean=_of(fmean, _slowdowns(everyone)),
        slowdown_median=_of(median, _slowdowns(everyone)),
        slowdown_least=_of(min, means),
        slowdown_middle=_of(median, means),
        slowdown_most=_of(max, means),
        response_mean_s=_of(fmean, _responses_s(everyone)),
        makespan_s=max(ends, default=0) / SECOND_US,
        node_s=math.fsum(row.node_s for row in rows),
        reconfigurations=sum(tick.moved for tick in history.ticks(store)),
        steps=store.last_seq(),
        due=_deadlines(everyone, spent_us),
        masters=total_of(list(lost.values())) if with_losses else None,
        waste=sum(wasted.values(), Account()) if saves else None,
    )


def _cluster(name: str, jobs: Sequence[JobState], start_us: int, node_s: float, most: int) -> ClusterOutcome:
    slowdowns, responses = _slowdowns(jobs), _responses_s(jobs)
    ends = [job.finished_us - start_us for job in jobs if job.finished_us is not None]
    return ClusterOutcome(
        cluster=name,
        jobs=len(jobs),
        failed_jobs=_failed(jobs),
        slowdown_mean=_of(fmean, slowdowns),
        slowdown_median=_of(median, slowdowns),
        response_mean_s=_of(fmean, responses),
        response_median_s=_of(median, responses),
        node_s=node_s,
        most_nodes=most,
        finished_s=max(ends) / SECOND_US if ends else None,
    )


def _deadlines(jobs: Sequence[JobState], spent_us: Mapping[JobId, int] | None) -> Deadlines | None:
    with_deadline = [job for job in jobs if job.spec.deadline_us is not None]
    if not with_deadline:
        return None
    met = sum(job.met is True for job in with_deadline)
    lives = Counter(job.life for job in with_deadline)
    dropped, killed = lives[JobLife.DROPPED], lives[JobLife.KILLED]
    wasted_us = None if spent_us is None else sum(spent_us.get(job.id, 0) for job in with_deadline if not job.met)
    return Deadlines(
        jobs_due=len(with_deadline),
        jobs_met=met,
        jobs_missed=len(with_deadline) - met - dropped - killed,
        jobs_dropped=dropped,
        jobs_killed=killed,
        sdr=met / len(with_deadline),
        wasted_s=None if wasted_us is None else wasted_us / SECOND_US,
    )


def _spent_us(tasks: Sequence[TaskEvent]) -> dict[JobId, int]:
    """The time of all attempts of the tasks of each job, those that were killed included."""
    spent: Counter[JobId] = Counter()
    for event, span_us in spans_us(tasks):
        spent[event.job] += span_us
    return spent


def _failed(jobs: Sequence[JobState]) -> int:
    return sum(job.life in ENDED_JOBS and job.life is not JobLife.SUCCEEDED for job in jobs)


def _slowdowns(jobs: Sequence[JobState]) -> list[float]:
    return [job.slowdown for job in jobs if job.slowdown is not None]


def _responses_s(jobs: Sequence[JobState]) -> list[float]:
    return [
        (job.finished_us - job.submitted_us) / SECOND_US
        for job in jobs
        if job.life is JobLife.SUCCEEDED and job.finished_us is not None
    ]


def _of(figure: Any, values: Sequence[float]) -> float | None:
    return float(figure(values)) if values else None


def _held(store: Reader) -> tuple[dict[str, float], dict[str, int]]:
    """Node-seconds and the most nodes at one time, of each MR-cluster."""
    curves = held(store)
    now: Counter[tuple[str, str]] = Counter()
    totals: Counter[str] = Counter()
    most: dict[str, int] = {}
    since: dict[str, float] = {}
    areas: dict[str, list[float]] = {}
    for step in curves.steps:
        name = step.cluster
        if not name:
            continue
        areas.setdefault(name, []).append(totals[name] * (step.at_s - since.get(name, step.at_s)))
        since[name] = step.at_s
        totals[name] += step.nodes - now[name, step.role]
        now[name, step.role] = step.nodes
        most[name] = max(most.get(name, 0), totals[name])
    node_s = {name: math.fsum([*pieces, totals[name] * (curves.end_s - since[name])]) for name, pieces in areas.items()}
    return node_s, most
