from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.cli.replay.stage import live_job, pool_bytes, pool_job
from fawkes.config.clusters.details import JobDetails
from fawkes.core.values.model import ClusterId, JobId, JobSpec
from fawkes.offline.scenarios.applications import job_spec_of
from fawkes.sim.hadoop.profile import profile_of
from fawkes.workload.model import TraceJob

JAR = Path("/cache/fawkes-load.jar")
MB = 1_000_000


def said(spec: JobSpec) -> dict[str, str]:
    """The demands in the command of a load job."""
    return dict(word.split("=", 1) for word in JobDetails.of(spec.details).command.split() if "=" in word)


def test_a_job_known_by_its_bytes_moves_as_many() -> None:
    job = TraceJob(
        id="a", submit_us=0, input_bytes=20 * MB, maps=4, shuffle_bytes=8 * MB, output_bytes=6 * MB, reduces=2
    )
    demands = said(live_job(job_spec_of(job, "c"), JAR, "w-data-c"))
    assert int(demands["maps"]) * int(demands["map_read_bytes"]) == 20 * MB
    assert int(demands["maps"]) * int(demands["map_output_bytes"]) == 8 * MB
    assert int(demands["reduces"]) * int(demands["output_bytes"]) == 6 * MB
    assert not {"map_ms", "reduce_ms", "map_cpu_ms", "reduce_cpu_ms"} & demands.keys()


def test_a_job_known_by_its_times_sleeps_as_long() -> None:
    job = TraceJob(id="a", submit_us=0, maps=3, map_us=2_500_000, reduces=1, reduce_us=4_000_000, input_bytes=MB)
    demands = said(live_job(job_spec_of(job, "c"), JAR, "w-data-c"))
    assert {key: demands.get(key) for key in ("maps", "map_ms", "reduces", "reduce_ms", "map_read_bytes")} == {
        "maps": "3",
        "map_ms": "2500",
        "reduces": "1",
        "reduce_ms": "4000",
        "map_read_bytes": None,
    }


def test_a_load_job_keeps_its_deadline_and_can_keep_a_grant() -> None:
    job = TraceJob(id="a", submit_us=0, maps=3, map_us=2_500_000, deadline_us=60_000_000)
    spec = live_job(job_spec_of(job, "c"), JAR, "w-data-c")
    assert (spec.deadline_us, spec.unkept, spec.tasks_estimated) == (60_000_000, "", False)


def test_a_job_that_says_what_to_run_is_run() -> None:
    details = JobDetails(kind="streaming", mapper="cat", output="/out").plain()
    spec = JobSpec(id=JobId("own"), cluster=ClusterId("c"), details=details)
    assert live_job(spec, JAR, "w-data-c") is spec
    assert pool_bytes(spec) == 0


@pytest.mark.parametrize("size", [1, 1000, 64 << 20, (64 << 20) + 1, 300 * MB])
def test_the_pool_has_at_least_what_is_wanted_and_says_how_much(size: int) -> None:
    demands = said(pool_job("c", "w-data-c", size, JAR))
    written = int(demands["maps"]) * int(demands["output_bytes"])
    assert size <= written < size + int(demands["maps"])
    assert int(demands["expect_bytes"]) == written


def test_offline_a_recorded_load_job_is_what_it_was_live() -> None:
    job = TraceJob(
        id="a", submit_us=0, input_bytes=20 * MB, maps=4, shuffle_bytes=8 * MB, output_bytes=6 * MB, reduces=2
    )
    spec = job_spec_of(job, "c")
    live = profile_of(live_job(spec, JAR, "w-data-c"))
    offline = profile_of(spec)
    assert (live.maps, live.map_read_bytes, live.reduces) == (offline.maps, offline.map_read_bytes, offline.reduces)
    assert (live.map_cpu_us, offline.map_cpu_us > 0) == (0, True)
