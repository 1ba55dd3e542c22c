"""The demands of a recorded job, by the best that is known of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.model import ClusterId, JobId, JobLife, JobSpec, JobState
from fawkes.offline.record.demand import demand_of
from fawkes.offline.record.hadoop import RecordedApplication
from fawkes.offline.scenarios.demands import KnownDemands
from fawkes.sim.hadoop.profile import Profile
from tests.offline.record.support import sleep_job

S = SECOND_US
FIELDS = tuple(Profile.__dataclass_fields__)


def job(spec: JobSpec, run_s: float) -> JobState:
    return JobState(spec=spec, life=JobLife.SUCCEEDED, started_us=0, finished_us=round(run_s * S))


def application(maps: int, reduces: int, **counters: tuple[int, int]) -> RecordedApplication:
    return RecordedApplication(
        id="application_1_1", submit_us=0, start_us=0, finish_us=9, began_us=0, ended_us=9, maps=maps, reduces=reduces,
        tasks=(), counters=counters,
    )  # fmt: skip


JAR = JobSpec(id=JobId("jar"), cluster=ClusterId("c"), tasks=10, tasks_estimated=False, details={"kind": "jar"})


def test_a_sleep_job_says_it_itself() -> None:
    spec = sleep_job("s", "c", maps=3, map_s=7, reduces=2, reduce_s=1)
    demand = demand_of(job(spec, 100), [application(9, 9)], 4.0)
    assert demand.known is KnownDemands.SPEC
    assert demand.profile == Profile(maps=3, map_us=7 * S, reduces=2, reduce_us=S)
    assert (demand.told_tasks, demand.told_bytes) == (5, 0)


def test_a_load_job_says_its_bytes_and_hadoop_its_processor_time() -> None:
    profile = Profile(maps=4, map_read_bytes=100, reduces=2, map_output_bytes=10, output_bytes=7)
    spec = replace(JAR, details={"kind": "script", "profile": {name: getattr(profile, name) for name in FIELDS}})
    said = application(4, 2, CPU_MILLISECONDS=(8000, 3000), HDFS_BYTES_READ=(999, 0))
    demand = demand_of(job(spec, 100), [said], 4.0)
    assert demand.known is KnownDemands.HISTORY
    assert demand.profile == replace(profile, map_cpu_us=2 * S, reduce_cpu_us=1_500_000)
    assert demand_of(job(spec, 100), [], 4.0).known is KnownDemands.SPEC
    asleep = replace(JAR, details={"kind": "script", "profile": {"maps": 3, "map_us": S}})
    assert demand_of(job(asleep, 100), [said], 4.0).profile == Profile(maps=3, map_us=S)


def test_counters_are_divided_by_tasks() -> None:
    said = application(
        4,
        2,
        CPU_MILLISECONDS=(8000, 3000),
        HDFS_BYTES_READ=(400, 0),
        MAP_OUTPUT_MATERIALIZED_BYTES=(80, 0),
        HDFS_BYTES_WRITTEN=(0, 60),
    )
    demand = demand_of(job(JAR, 100), [said], 4.0)
    assert demand.known is KnownDemands.HISTORY
    assert demand.profile == Profile(
        maps=4,
        reduces=2,
        map_cpu_us=2 * S,
        map_read_bytes=100,
        map_output_bytes=20,
        reduce_cpu_us=1_500_000,
        output_bytes=30,
    )


def test_what_maps_write_alone_is_their_output() -> None:
    said = application(4, 0, HDFS_BYTES_WRITTEN=(400, 0), MAP_OUTPUT_MATERIALIZED_BYTES=(80, 0))
    profile = demand_of(job(JAR, 100), [said], None).profile
    assert (profile.output_bytes, profile.map_output_bytes, profile.reduces) == (100, 0, 0)


def test_several_applications_are_taken_as_one() -> None:
    profile = demand_of(job(JAR, 100), [application(4, 1, CPU_MILLISECONDS=(4000, 0)), application(1, 0)], None).profile
    assert (profile.maps, profile.reduces, profile.map_cpu_us) == (5, 1, 800_000)


@pytest.mark.parametrize(
    ("changes", "run_s", "slots", "maps", "map_s"),
    [
        ({}, 111, 5.0, 10, 50),  # two waves in what is left after begin and end
        ({}, 111, 4.4, 10, 33.333333),
        ({}, 111, None, 10, 100),
        ({"tasks_estimated": True, "tasks": 1}, 111, 5.0, 1, 100),
        ({}, 5, 5.0, 10, 1),  # never shorter than a second
    ],
)
def test_without_a_history_tasks_fill_the_run_time(
    changes: dict[str, Any], run_s: float, slots: float | None, maps: int, map_s: float
) -> None:
    demand = demand_of(job(replace(JAR, **changes), run_s), [], slots)
    assert (demand.known, demand.profile.maps) == (KnownDemands.LEDGER, maps)
    assert demand.profile.map_us == int(map_s * S)
    assert demand.told_tasks == (None if changes.get("tasks_estimated") else 10)
