"""The way from a job's demands to a real job that asks just that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fawkes.config.clusters.details import JobDetails
from fawkes.core.values.model import ClusterId, JobId, JobSpec
from fawkes.sim.hadoop.profile import Profile, profile_of

#: what a load job runs on the master
_CLIENT = Path(__file__).with_name("load.sh")
#: where all data of a replay lies in HDFS
FOLDER = "/replay"
POOL = f"{FOLDER}/pool"
OUTPUT = f"{FOLDER}/output"
#: so long a submitter stays without anything to do
IDLE_S = 600
#: files of the pool are so big at most
_FILE_BYTES = 64 << 20


def live_job(spec: JobSpec, jar: Path) -> JobSpec:
    """The job as a live MR-cluster runs it.

    One that says what to run stays as it is. One that is known by its tasks becomes a load job: what is known of it by
    bytes reads, shuffles and writes as many, what is known by times sleeps as long. Processor time that was assumed
    from bytes is not used up: handling the bytes has its own.
    """
    if "kind" in spec.details:
        return spec
    profile = profile_of(spec)
    if profile.map_read_bytes or profile.map_output_bytes or profile.output_bytes:
        profile = replace(profile, map_cpu_us=0, reduce_cpu_us=0)
    return load_job(spec, profile, f"{OUTPUT}/{spec.id}", jar)


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
    profile = Profile(maps=files, output_bytes=each)
    spec = JobSpec(id=JobId(name), cluster=ClusterId(cluster), tasks=files, tasks_estimated=False)
    return load_job(spec, profile, POOL, jar, expect=files * each)


def load_job(spec: JobSpec, profile: Profile, output: str, jar: Path, *, expect: int | None = None) -> JobSpec:
    """The job that does what a profile says, its output in a folder of HDFS.

    With ``expect`` it fails unless the folder has so many bytes in the end.
    """
    said: dict[str, int | str] = {
        "name": spec.id,
        "pool": POOL,
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
