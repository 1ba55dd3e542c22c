"""The requests of a scenario to live MR-clusters: first the MR-clusters and the data, then the jobs at their times."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fawkes.base.errors import UserError
from fawkes.base.paths import is_name
from fawkes.config.clusters.details import ClusterDetails, JobDetails
from fawkes.config.settings.settings import SiteSettings
from fawkes.config.workloads.workloads import Arrival, Generated, Submission, WorkloadFile
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec
from fawkes.offline.scenarios.load import Coming, Demand
from fawkes.playbook.dist.pins import DEFAULT_VERSION
from fawkes.sim.hadoop.profile import Profile, profile_of


@dataclass(frozen=True, slots=True)
class ReplayStages:
    """A replay in two parts, each with its own beginning of time.

    ``before`` requests the MR-clusters that are there from the start and writes the data that jobs read; when all of
    that is done, ``jobs`` begins: jobs, and later MR-clusters with data of their own. ``there`` are the MR-clusters
    that run when it does, ``data`` the jobs of the second part that write such data.
    """

    before: WorkloadFile
    jobs: WorkloadFile
    there: tuple[str, ...]
    data: tuple[str, ...]


def stages(
    name: str,
    demands: Sequence[Demand],
    *,
    running: Collection[str],
    settings: SiteSettings,
    generate: Sequence[Generated],
    jar: Path,
    data_limit_bytes: int,
    prefix: str = "",
) -> ReplayStages:
    """The two parts; MR-clusters in ``running`` are not requested.

    Of the data that jobs read at most ``data_limit_bytes`` are written for each MR-cluster; a job that reads more goes
    round. ``prefix`` comes before the names of jobs. UserError when two MR-clusters or jobs would have one name.
    """
    demands = [_renamed(demand, prefix) for demand in demands] if prefix else demands
    name = prefix or name
    first = [each for each in demands if each.spec.id in running or (each.behind is None and each.requested_us == 0)]
    later = [demand for demand in demands if demand not in first]
    pools = {demand.spec.id: _pool(_data_of(name, demand), demand, jar, data_limit_bytes) for demand in demands}
    before = WorkloadFile(
        name=name,
        title="",
        hosts=None,
        settings=settings,
        generate=tuple(generate),
        clusters=tuple(Arrival(0, _live(demand.spec)) for demand in first if demand.spec.id not in running),
        jobs=tuple(pool for demand in first for pool in pools[demand.spec.id]),
    )
    jobs = replace(
        before,
        clusters=tuple(Arrival(demand.requested_us, _live(demand.spec), after=demand.behind or "") for demand in later),
        jobs=(
            *(job for demand in first for job in _jobs(name, demand, jar, behind=None)),
            *(
                job
                for demand in later
                for job in (
                    *pools[demand.spec.id],
                    *_jobs(name, demand, jar, behind=tuple(pool.spec.id for pool in pools[demand.spec.id])),
                )
            ),
        ),
    )
    _check_names((*before.jobs, *jobs.jobs))
    data = tuple(pool.spec.id for demand in later for pool in pools[demand.spec.id])
    return ReplayStages(before, jobs, tuple(demand.spec.id for demand in first), data)


def _renamed(demand: Demand, prefix: str) -> Demand:
    def name(job: str) -> JobId:
        if is_name(f"{prefix}-{job}"):
            return JobId(f"{prefix}-{job}")
        hint = "Use small letters, digits and '-'; a name has at most 63 of them"
        raise UserError(f"{prefix}-{job} cannot be the name of a job", where="--as", hint=hint)

    def renamed(job: Coming) -> Coming:
        return replace(job, spec=replace(job.spec, id=name(job.spec.id)), after=tuple(map(name, job.after)))

    return demand.mapped(lambda jobs: map(renamed, jobs))


def _data_of(name: str, demand: Demand) -> str:
    return f"{name}-data-{demand.spec.id}"


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
    job = pool_job(demand.spec.id, name, min(wanted, limit_bytes), jar)
    return (Submission("running", 0, job),)


def _jobs(name: str, demand: Demand, jar: Path, *, behind: tuple[str, ...] | None) -> Iterator[Submission]:
    """Its jobs, ``behind`` its data; None: it is there from the start, and so their times count from that."""
    kinds = (("request", demand.jobs), ("running", demand.once_running), ("start", demand.from_start))
    for since, jobs in kinds:
        for job in jobs:
            after = "start" if behind is None else since
            at_us = job.at_us + (0 if after == since else demand.requested_us)
            spec = live_job(job.spec, jar, _data_of(name, demand))
            yield Submission(after, at_us, spec, (*(behind or ()), *job.after), job.think_us)


def _check_names(jobs: Sequence[Submission]) -> None:
    seen: set[str] = set()
    for job in jobs:
        if job.spec.id in seen:
            raise UserError(f"two jobs have the name {job.spec.id!r}", hint="Give the workload another name")
        seen.add(job.spec.id)


# --- The way from a job's demands to a real job that asks just that


#: what a load job runs on the master
_CLIENT = Path(__file__).with_name("load.sh")
#: where all data of replays lies in HDFS; what jobs read is in a folder of POOL for each replay
FOLDER = "/replay"
POOL = f"{FOLDER}/pool"
OUTPUT = f"{FOLDER}/output"
#: so long a submitter stays without anything to do
IDLE_S = 600
#: files of the pool are so big at most
_FILE_BYTES = 64 << 20


def live_job(spec: JobSpec, jar: Path, data: str) -> JobSpec:
    """The job as a live MR-cluster runs it; ``data`` is the name of the job that wrote what it reads.

    One that says what to run stays as it is. One that is known by its tasks becomes a load job: what is known of it by
    bytes reads, shuffles and writes as many, what is known by times sleeps as long. Processor time that was assumed
    from bytes is not used up: handling the bytes has its own.
    """
    if "kind" in spec.details:
        return spec
    profile = profile_of(spec)
    if profile.map_read_bytes or profile.map_output_bytes or profile.output_bytes:
        profile = replace(profile, map_cpu_us=0, reduce_cpu_us=0)
    return load_job(spec, profile, f"{OUTPUT}/{spec.id}", jar, pool=f"{POOL}/{data}")


def pool_bytes(spec: JobSpec) -> int:
    """Bytes that a load job reads of the pool in all; 0 for other jobs."""
    if "kind" in spec.details:
        return 0
    profile = profile_of(spec)
    return profile.maps * profile.map_read_bytes


def pool_job(cluster: str, name: str, size_bytes: int, jar: Path) -> JobSpec:
    """The job that writes the data which load jobs read; it fails unless all of it is there in the end."""
    files = -(-size_bytes // _FILE_BYTES)
    each = -(-size_bytes // files)
    profile, pool = Profile(maps=files, output_bytes=each), f"{POOL}/{name}"
    spec = JobSpec(id=JobId(name), cluster=ClusterId(cluster), tasks=files, tasks_estimated=False)
    return load_job(spec, profile, pool, jar, pool=pool, expect=files * each)


def load_job(
    spec: JobSpec, profile: Profile, output: str, jar: Path, *, pool: str = POOL, expect: int | None = None
) -> JobSpec:
    """The job that does what a profile says, its output in a folder of HDFS, what it reads from the folder ``pool``.

    With ``expect`` it fails unless the folder has so many bytes in the end.
    """
    said: dict[str, int | str] = {
        "name": spec.id,
        "pool": pool,
        "output": output,
        "maps": profile.maps,
        "reduces": profile.reduces,
        "map_ms": profile.map_us // 1000,
        "map_cpu_ms": profile.map_cpu_us // 1000,
        "map_read_bytes": profile.map_read_bytes,
        "map_output_bytes": profile.map_output_bytes,
        "reduce_ms": profile.reduce_us // 1000,
        "reduce_cpu_ms": profile.reduce_cpu_us // 1000,
        "output_bytes": profile.output_bytes,
    }
    if expect is not None:
        said["expect_bytes"] = expect
    words = " ".join(f"{key}={value}" for key, value in said.items() if value != 0)
    details = JobDetails(
        kind="script",
        title=f"load: {profile.maps} maps, {profile.reduces} reduces",
        command=f"exec sh {_CLIENT.name} {jar.name} {IDLE_S} {words}",
        files=(str(_CLIENT), str(jar)),
        profile={name: getattr(profile, name) for name in Profile.__dataclass_fields__},
    )
    return replace(spec, tasks=profile.maps + profile.reduces, tasks_estimated=False, details=details.plain())
