"""``workloads/NAME.toml``: MR-clusters and jobs that arrive over time, for a live run and for the simulator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from fawkes.base.catalog import Catalog
from fawkes.config.clusters.clusters import ClusterTable, cluster_spec
from fawkes.config.clusters.details import KERBEROS
from fawkes.config.files.fields import DurationUs, JobCount, Name, NodeCount, Seed, SizeBytes, between
from fawkes.config.files.include import load_including
from fawkes.config.files.loader import Faults, Strict, did_you_mean
from fawkes.config.jobs import arrays
from fawkes.config.jobs.jobs import JobTable, job_spec
from fawkes.config.jobs.spark import KIND as SPARK
from fawkes.config.nodes.inventory import Inventory
from fawkes.config.settings.settings import SiteSettings, settings_of
from fawkes.config.workloads.model import ModelTable
from fawkes.core.values.model import ClusterSpec, JobSpec

MOST_ARRIVALS = 200_000
"""Jobs that the tables of one file may ask for."""

Files = Annotated[int, between(1, 10_000, "HDFS keeps each file's name in memory")]


class GenerateTable(Strict):
    """``[[generate]]``: data that is made before the run, the same for the same seed."""

    name: Name = Field(description='its name, for from = "generated:NAME"')
    kind: Literal["words", "records"] = Field(description="lines of words, or of 100 random letters and digits")
    size: SizeBytes = Field(description="how much")
    files: Files = Field(default=1, description="spread over so many files")
    seed: Seed = Field(default=1, description="another seed gives other data")


class ClusterArrival(ClusterTable):
    """``[[cluster]]``: the keys of an MR-cluster file, and when it is requested."""

    after: Name | None = Field(
        default=None, description="the MR-cluster from whose running at counts, instead of the start of the run"
    )
    at_us: DurationUs = Field(default=0, alias="at", description="when it is requested, from the start of the run")


class JobArrival(JobTable):
    """``[[job]]``: the keys of a job file, and when it is submitted."""

    cluster: Name = Field(description="the MR-cluster that runs it")
    after: Literal["start", "request", "running"] = Field(
        default="request",
        description="what delay counts from: the run's start, or its MR-cluster's request or running",
    )
    delay_us: DurationUs = Field(default=0, alias="delay", description="from then until it is submitted")
    count: JobCount = Field(default=1, description="so many alike, numbered from 1")
    every_us: DurationUs = Field(default=0, alias="every", description="between two of these")


class WorkloadTable(Strict):
    """All keys of a workload."""

    title: str = Field(default="", description="a line for people")
    hosts: NodeCount | None = Field(default=None, description="the number of hosts that it is made for")
    network: SizeBytes | None = Field(default=None, description="the limit of each lab host's network, for each second")
    settings: dict[str, Any] = Field(default={}, description="the keys of fawkes.toml")
    generate: list[GenerateTable] = Field(default=[], description="data to make before the run")
    points: bool = Field(default=False, description="whether points A to E of the paper's section 7.1 are to happen")
    include: list[str] = Field(default=[], description="workloads beside this file whose MR-clusters and jobs come too")
    cluster: list[ClusterArrival] = Field(min_length=1, max_length=1_000, description="the MR-clusters, at least one")
    job: list[JobArrival] = Field(default=[], description="the jobs")
    model: ModelTable = Field(default=ModelTable(), description="for `fawkes simulate`: constants that differ")


@dataclass(frozen=True)
class Generated:
    """Data to make: ``kind`` is ``words`` or ``records``."""

    name: str
    kind: str
    size_bytes: int
    files: int
    seed: int


@dataclass(frozen=True)
class Arrival:
    """An MR-cluster that is requested ``at_us`` after the start of the run, or after the MR-cluster ``after`` runs."""

    at_us: int
    spec: ClusterSpec
    after: str = ""


@dataclass(frozen=True)
class Submission:
    """A job that is submitted ``delay_us`` after ``after``: ``start``, or its cluster's ``request`` or ``running``.

    One with ``behind`` is submitted ``think_us`` after the last of the jobs with these ids has ended, but not before.
    """

    after: str
    delay_us: int
    spec: JobSpec
    behind: tuple[str, ...] = ()
    think_us: int = 0


@dataclass(frozen=True)
class WorkloadFile:
    """A workload: what to make, what arrives. ``hosts`` is None when it fits any pool.

    ``network_bytes`` limits the network of each host of a lab, in bytes a second; None is no limit. Points A to E of
    the paper's section 7.1 are to happen where ``points`` says so.
    """

    name: str
    title: str
    hosts: int | None
    settings: SiteSettings
    generate: tuple[Generated, ...]
    clusters: tuple[Arrival, ...]
    jobs: tuple[Submission, ...]
    network_bytes: int | None = None
    points: bool = False


def load_workload(path: Path, inventory: Inventory, *, site: Path, catalog: Catalog | None = None) -> WorkloadFile:
    """The workload in a file, checked against a pool; ConfigError names file, key and value of what is wrong.

    Inputs and jars are relative to the file, saved outputs to the ``site`` folder, which the policy is looked for
    in as well (or ``catalog`` finds it).
    """
    return workload_of(load_including(WorkloadTable, path), path, inventory, site=site, catalog=catalog)


def generated(table: WorkloadTable) -> tuple[Generated, ...]:
    """The data that is to be made before a workload runs."""
    return tuple(Generated(row.name, row.kind, row.size, row.files, row.seed) for row in table.generate)


def workload_of(
    table: WorkloadTable, path: Path, inventory: Inventory, *, site: Path, catalog: Catalog | None = None
) -> WorkloadFile:
    """The workload that the table of a file says; as ``load_workload``."""
    file, folder = str(path), path.parent
    catalog = catalog or Catalog(site=site)
    settings = settings_of(table.settings, file=file, base=folder, catalog=catalog, key="settings")
    faults = Faults(path)
    _check_hosts(table, inventory, faults)
    _check_names(table, faults)
    faults.refuse()
    sizes = {row.name: row.size for row in table.generate}
    clusters = [
        cluster_spec(
            row,
            file=file,
            folder=folder,
            inventory=inventory,
            key=_place("cluster", number, row.id),
            generated=sizes,
            save_folder=site,
        )
        for number, row in enumerate(table.cluster, 1)
    ]
    jobs = [
        submission
        for number, arrival in enumerate(table.job, 1)
        for submission in _submissions(arrival, file, folder, _place("job", number, arrival.id))
    ]
    _check_jobs(jobs, faults)
    faults.refuse()
    return WorkloadFile(
        name=path.stem,
        title=table.title,
        hosts=table.hosts,
        settings=settings,
        generate=generated(table),
        clusters=tuple(
            Arrival(row.at_us, spec, row.after or "") for row, spec in zip(table.cluster, clusters, strict=True)
        ),
        jobs=tuple(jobs),
        network_bytes=table.network,
        points=table.points,
    )


def _check_hosts(table: WorkloadTable, inventory: Inventory, faults: Faults) -> None:
    if table.hosts is not None and table.hosts > len(inventory.nodes):
        faults.add(
            f"{table.hosts} hosts are more than the {len(inventory.nodes)} of the pool {inventory.pool!r}",
            "hosts",
            f"`fawkes lab up --hosts {table.hosts}` gives as many",
        )


def _check_names(table: WorkloadTable, faults: Faults) -> None:
    for kind, names in (
        ("generate", [row.name for row in table.generate]),
        ("cluster", [row.id for row in table.cluster]),
    ):
        for name in sorted(name for name, count in Counter(names).items() if name and count > 1):
            faults.add(f"two [[{kind}]] are named {name!r}", f"{kind}[{name}]", "Give each its own name")
    clusters = [row.id or "" for row in table.cluster]
    before: set[str] = set()
    for number, row in enumerate(table.cluster, 1):
        # Only of earlier ones, so that none waits for one that waits for it.
        if row.after is not None and row.after not in before:
            hint = did_you_mean(row.after, before, kind="before it there are")
            key = f"{_place('cluster', number, row.id)}.after"
            faults.add(f"before it there is no MR-cluster {row.after!r}", key, hint)
        before.add(row.id or "")
    total = sum(job.count for job in table.job)
    if total > MOST_ARRIVALS:
        faults.add(f"{total:,} jobs are too many", "job", f"Give at most {MOST_ARRIVALS:,}, or a trace by [[load]]")
    without_spark = {row.id for row in table.cluster if SPARK not in row.software}
    with_kerberos = {row.id for row in table.cluster if row.security == KERBEROS}
    for number, job in enumerate(table.job, 1):
        if job.kind == arrays.KIND and job.cluster in with_kerberos:
            hint = f"Leave security out of [[cluster]] {job.cluster}"
            what = f"tasks do not run with the Kerberos of {job.cluster}"
            faults.add(what, f"{_place('job', number, job.id)}.kind", hint)
        if job.kind == SPARK and job.cluster in without_spark:
            hint = f'Write software = ["spark"] into [[cluster]] {job.cluster}'
            faults.add(f"the nodes of {job.cluster} have no Spark", f"{_place('job', number, job.id)}.kind", hint)
        if job.cluster not in clusters:
            hint = did_you_mean(job.cluster, clusters, kind="there are")
            key = f"{_place('job', number, job.id)}.cluster"
            faults.add(f"there is no MR-cluster {job.cluster!r}", key, hint)


def _place(kind: str, number: int, name: str | None) -> str:
    return f"{kind}[{name or f'#{number}'}]"


def _submissions(table: JobArrival, file: str, folder: Path, key: str) -> list[Submission]:
    width = len(str(table.count))
    numbers = [""] if table.count == 1 else [f"-{number + 1:0{width}d}" for number in range(table.count)]
    return [
        Submission(
            table.after,
            table.delay_us + index * table.every_us,
            job_spec(table, cluster=table.cluster, file=file, folder=folder, key=key, suffix=number),
        )
        for index, number in enumerate(numbers)
    ]


def _check_jobs(jobs: Sequence[Submission], faults: Faults) -> None:
    seen: set[str] = set()
    for job in jobs:
        if job.spec.id in seen:
            faults.add(f"two jobs have the id {job.spec.id!r}", f"job[{job.spec.id}].id", "Give each its own")
        seen.add(job.spec.id)
