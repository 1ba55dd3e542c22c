"""The requests of a scenario to live MR-clusters: first the MR-clusters and the data, then the jobs at their times."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fawkes.base.errors import UserError
from fawkes.cli.replay.load import FOLDER, live_job, pool_bytes, pool_job
from fawkes.config.clusters.details import ClusterDetails
from fawkes.config.settings.settings import SiteSettings
from fawkes.config.workloads.workloads import Arrival, Generated, Submission, Workload
from fawkes.core.values.model import ClusterSpec
from fawkes.offline.scenarios.load import Coming, Demand
from fawkes.playbook.dist.pins import DEFAULT_VERSION


@dataclass(frozen=True, slots=True)
class Stages:
    """A replay in two parts, each with its own beginning of time.

    ``before`` requests the MR-clusters that are there from the start and writes the data that jobs read; when all of
    that is done, ``jobs`` begins: jobs, and later MR-clusters with data of their own. ``there`` are the MR-clusters
    that run when it does.
    """

    before: Workload
    jobs: Workload
    there: tuple[str, ...]


def stages(
    name: str,
    demands: Sequence[Demand],
    *,
    running: Collection[str],
    settings: SiteSettings,
    generate: Sequence[Generated],
    jar: Path,
    data_limit_bytes: int,
) -> Stages:
    """The two parts; MR-clusters in ``running`` are not requested.

    Of the data that jobs read at most ``data_limit_bytes`` are written for each MR-cluster; a job that reads more goes
    round. UserError when two MR-clusters or jobs would have one name.
    """
    first = [each for each in demands if each.spec.id in running or (each.behind is None and each.requested_us == 0)]
    later = [demand for demand in demands if demand not in first]
    pools = {demand.spec.id: _pool(name, demand, jar, data_limit_bytes) for demand in demands}
    before = Workload(
        name=f"{name}: before",
        title="",
        hosts=None,
        settings=settings,
        generate=tuple(generate),
        clusters=tuple(Arrival(0, _live(demand.spec)) for demand in first if demand.spec.id not in running),
        jobs=tuple(pool for demand in first for pool in pools[demand.spec.id]),
    )
    jobs = replace(
        before,
        name=name,
        clusters=tuple(Arrival(demand.requested_us, _live(demand.spec), after=demand.behind or "") for demand in later),
        jobs=(
            *(job for demand in first for job in _jobs(demand, jar, behind=())),
            *(
                job
                for demand in later
                for job in (
                    *pools[demand.spec.id],
                    *_jobs(demand, jar, behind=tuple(pool.spec.id for pool in pools[demand.spec.id])),
                )
            ),
        ),
    )
    _check_names((*before.jobs, *jobs.jobs))
    return Stages(before, jobs, tuple(demand.spec.id for demand in first))


def _live(spec: ClusterSpec) -> ClusterSpec:
    """The MR-cluster to request: what a replay writes is made up, and must not keep an MR-cluster that is to go.

    Offline an MR-cluster needs no software, and of its data the size alone may be known: such data is not loaded.
    """
    deployed = spec.details.get("hadoop_version") or spec.details.get("release_dir")
    details = ClusterDetails.of(spec.details) if deployed else ClusterDetails(hadoop_version=DEFAULT_VERSION)
    return replace(spec, details=replace(details, scratch=(*details.scratch, FOLDER)).plain())


def _pool(name: str, demand: Demand, jar: Path, limit_bytes: int) -> tuple[Submission, ...]:
    wanted = max((pool_bytes(pooled.spec) for pooled in demand.all_jobs), default=0)
    if not wanted:
        return ()
    job = pool_job(demand.spec.id, f"{name}-data-{demand.spec.id}", min(wanted, limit_bytes), jar)
    return (Submission("running", 0, job),)


def _jobs(demand: Demand, jar: Path, *, behind: tuple[str, ...]) -> Iterator[Submission]:
    """Its jobs; without data of its own to wait for, all times count from the start."""
    kinds = (("request", demand.jobs), ("running", demand.once_running), ("start", demand.from_start))
    for since, jobs in kinds:
        for job in jobs:
            yield _submission(job, since if behind or demand.behind or demand.requested_us else "start", behind, jar)


def _submission(job: Coming, since: str, behind: tuple[str, ...], jar: Path) -> Submission:
    return Submission(since, job.at_us, live_job(job.spec, jar), (*behind, *job.after), job.think_us)


def _check_names(jobs: Sequence[Submission]) -> None:
    seen: set[str] = set()
    for job in jobs:
        if job.spec.id in seen:
            raise UserError(f"two jobs have the name {job.spec.id!r}", hint="Give the workload another name")
        seen.add(job.spec.id)
