"""The load on a pool offline: MR-clusters with their jobs, perturbed for replays, and as wishes of the simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from fawkes.core.values.events import Requested, Submitted
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec
from fawkes.offline.scenarios.applications import job_spec_of
from fawkes.sim.users import Wish
from fawkes.workload.making.arrivals import perturbed
from fawkes.workload.making.classes import STAGES, ClassLoad, Stage, workload
from fawkes.workload.model import TraceJob
from fawkes.workload.seeds import rng

#: core nodes of each MR-cluster of the paper's workloads (facts, section 7)
PAPER_CORE_NODES = 10


@dataclass(frozen=True, slots=True)
class Coming:
    """A job of a load: ``at_us`` after the load begins or later, ``think_us`` after the last of ``after``."""

    at_us: int
    spec: JobSpec
    after: tuple[str, ...] = ()
    think_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """An MR-cluster and its jobs.

    It is requested ``requested_us`` after the start of the run, or after the MR-cluster ``behind`` runs. Its jobs count
    from the request, those of ``once_running`` from the moment at which it runs, those of ``from_start`` from the start
    of the run: they wait for the request.
    """

    spec: ClusterSpec
    requested_us: int = 0
    behind: ClusterId | None = None
    jobs: tuple[Coming, ...] = ()
    once_running: tuple[Coming, ...] = ()
    from_start: tuple[Coming, ...] = ()

    @property
    def all_jobs(self) -> tuple[Coming, ...]:
        """Every job, whatever its time counts from."""
        return (*self.jobs, *self.once_running, *self.from_start)

    def mapped(self, change: Callable[[Sequence[Coming]], Iterable[Coming]]) -> Demand:
        """The same with other jobs: ``change`` gets the jobs of each kind of beginning."""
        return replace(
            self,
            jobs=tuple(change(self.jobs)),
            once_running=tuple(change(self.once_running)),
            from_start=tuple(change(self.from_start)),
        )


def coming(
    jobs: Iterable[TraceJob], cluster: str, *, begin_us: int = 0, stages: Mapping[str, Stage] = STAGES
) -> tuple[Coming, ...]:
    """The jobs of a trace for an MR-cluster; their times count from ``begin_us``. ``stages``: see `profile_of_job`."""
    return tuple(
        Coming(max(0, job.submit_us - begin_us), job_spec_of(job, cluster, stages=stages), job.after, job.think_us)
        for job in jobs
    )


def paper(name: str, seed: int) -> tuple[Demand, ...]:
    """The MR-clusters of the paper's ``WKLD-A`` to ``WKLD-E``; UserError when there is no such workload."""
    return tuple(_of_paper(load) for load in workload(name, seed))


def _of_paper(load: ClassLoad) -> Demand:
    return Demand(
        spec=ClusterSpec(
            id=ClusterId(load.cluster),
            min_nodes=PAPER_CORE_NODES,
            details={"data": [{"size_bytes": load.data_bytes}]},
        ),
        requested_us=load.requested_us,
        # The paper's jobs come to an MR-cluster that has its data: `fawkes paper` means the same.
        once_running=coming(load.jobs, load.cluster, begin_us=load.requested_us),
    )


def shaken(demands: Sequence[Demand], seed: int, replay: int, spread_us: int) -> tuple[Demand, ...]:
    """The demands of one replay: jobs come up to ``spread_us`` earlier or later, the same whatever policy meets them.

    Numbers are drawn for each replay and MR-cluster by itself. No job comes before its MR-cluster is requested.
    """

    def moved(demand: Demand, part: str, least_us: int = 0) -> Callable[[Sequence[Coming]], Iterable[Coming]]:
        def change(jobs: Sequence[Coming]) -> Iterable[Coming]:
            by_id = {job.spec.id: job for job in jobs}
            # Jobs of other parts are waited for in the run, whatever their times are.
            shells = [
                TraceJob(
                    id=job.spec.id,
                    submit_us=max(0, job.at_us - least_us),
                    after=tuple(name for name in job.after if name in by_id),
                )
                for job in jobs
            ]
            chance = rng(seed, "replay", str(replay), demand.spec.id, part)
            return [
                replace(by_id[JobId(shell.id)], at_us=least_us + shell.submit_us)
                for shell in perturbed(shells, chance, spread_us)
            ]

        return change

    return tuple(
        replace(
            demand,
            jobs=tuple(moved(demand, "request")(demand.jobs)),
            once_running=tuple(moved(demand, "running")(demand.once_running)),
            from_start=tuple(moved(demand, "start", 0 if demand.behind else demand.requested_us)(demand.from_start)),
        )
        for demand in demands
    )


def referenced(demands: Sequence[Demand], reference_us: Mapping[JobId, int]) -> tuple[Demand, ...]:
    """The same jobs with their reference times; a time that a job has already is kept."""

    def change(jobs: Sequence[Coming]) -> Iterable[Coming]:
        for job in jobs:
            known = job.spec.reference_us
            yield replace(
                job,
                spec=replace(job.spec, reference_us=reference_us.get(job.spec.id) if known is None else known),
            )

    return tuple(demand.mapped(change) for demand in demands)


def wishes(demands: Sequence[Demand], idle_us: int | None) -> tuple[Wish, ...]:
    """The wishes for the simulator: every MR-cluster, then every job.

    ``idle_us`` is the site's idle time. An MR-cluster without its own is kept through the longest gap between two of
    its jobs: its users know that more will come (RECONSTRUCTION: in the paper an MR-cluster stays until its workload is
    done, and T is shorter than the gaps of WKLD-D and E).
    """
    requests = [
        Wish(
            event=Requested(
                at_us=0 if demand.behind else demand.requested_us, spec=_patient(demand, idle_us), ask=demand.spec.id
            ),
            delay_us=demand.requested_us if demand.behind else 0,
            running=demand.behind,
        )
        for demand in demands
    ]
    return (*requests, *(wish for demand in demands for wish in _submissions(demand)))


def _submissions(demand: Demand) -> Iterable[Wish]:
    for job in demand.from_start:
        yield _wish(job, at_us=job.at_us, delay_us=demand.requested_us, running=demand.behind)
    for job in demand.jobs:
        if demand.behind:
            yield _wish(job, delay_us=demand.requested_us + job.at_us, running=demand.behind)
        else:
            yield _wish(job, at_us=demand.requested_us + job.at_us)
    for job in demand.once_running:
        yield _wish(job, delay_us=job.at_us, running=demand.spec.id)


def _wish(job: Coming, *, at_us: int = 0, delay_us: int = 0, running: ClusterId | None = None) -> Wish:
    event = Submitted(at_us=at_us, spec=job.spec, ask=job.spec.id)
    after = tuple(JobId(name) for name in job.after)
    return Wish(event=event, delay_us=delay_us, think_us=job.think_us, running=running, jobs=after)


def _patient(demand: Demand, idle_us: int | None) -> ClusterSpec:
    spec = demand.spec
    if spec.idle_us is not None or idle_us is None:
        return spec
    gap_us = max((job.think_us for job in demand.all_jobs), default=0)
    for jobs in (demand.jobs, demand.once_running, demand.from_start):
        times = [0, *sorted(job.at_us for job in jobs)]
        gap_us = max(gap_us, *(later - sooner for sooner, later in pairwise(times)), 0)
    return replace(spec, idle_us=idle_us + gap_us) if gap_us else spec
