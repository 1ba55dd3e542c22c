"""Jobs of tasks in job files: the containers of their tasks, what cannot go along, what the simulator knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import ConfigError, UserError
from fawkes.config.clusters.details import JobDetails, TaskArray
from fawkes.config.jobs.arrays import container_mb, properties
from fawkes.config.jobs.jobs import job_of
from fawkes.core.values.model import JobSpec, NodeId
from fawkes.offline.record.demand import says_times
from fawkes.sim.hadoop.profile import profile_of

GOOD = {"kind": "tasks", "command": "echo {id}", "tasks": 12, "memory": "1GiB", "output": "/out/{id}"}
POOL = {NodeId("a"): (8192, 4), NodeId("b"): (16384, 16)}


def job(folder: Path, **keys: Any) -> JobSpec:
    return job_of({**GOOD, **keys}, cluster="c", file="j.toml", folder=folder, default_id="j")


def test_a_job_of_tasks_has_the_tasks_that_its_file_says(tmp_path: Path) -> None:
    spec = job(tmp_path, memory="1000000001", cpus=2, priority=9, checkpoint="none", task_attempts=5, retries=2)
    details = JobDetails.of(spec.details)
    assert (spec.tasks, spec.tasks_estimated, spec.retries) == (12, False, 2)
    assert (details.command, details.output, details.one_application) == ("echo j", "/out/j", True)
    assert details.array == TaskArray(memory_mb=954, cpus=2, priority=9, attempts=5)
    assert (spec.priority, spec.saves) == (9, False)
    assert spec.unkept == "its tasks have 2 CPUs each (cpus)"
    assert job(tmp_path).unkept == ""


def test_its_keys_are_what_the_client_reads(tmp_path: Path) -> None:
    spec = job(tmp_path)
    details = JobDetails.of(spec.details)
    assert details.array is not None
    assert properties(spec, details.array, details.output, details.command, 1024) == {
        "fawkes.tasks.name": "j",
        "fawkes.tasks.command": "echo j",
        "fawkes.tasks.count": "12",
        "fawkes.tasks.memory.mb": "1024",
        "fawkes.tasks.vcores": "1",
        "fawkes.tasks.priority": "0",
        "fawkes.tasks.attempts": "3",
        "fawkes.tasks.output": "/out/j",
        "fawkes.tasks.checkpoint": "none",
    }


@pytest.mark.parametrize("how", ["own", "criu"])
def test_tasks_that_can_be_saved_are_known_as_such_on_both_sides(tmp_path: Path, how: str) -> None:
    spec = job(tmp_path, checkpoint=how)
    details = JobDetails.of(spec.details)
    assert details.array is not None
    assert (spec.saves, details.array.checkpoint) == (True, how)
    assert properties(spec, details.array, "/out", "", 1)["fawkes.tasks.checkpoint"] == how
    assert not job(tmp_path).saves


@pytest.mark.parametrize(
    ("memory_mb", "cpus", "container"),
    [
        (100, 0, 100),
        # Two of a's four cores are half of its memory; on b eight of them have two cores each.
        (100, 2, 4096),
        (5000, 2, 5000),
        # Only b has so many cores.
        (100, 8, 8192),
        (16384, 16, 16384),
    ],
)
def test_cpus_are_kept_by_the_memory_that_belongs_to_them(memory_mb: int, cpus: int, container: int) -> None:
    assert container_mb(TaskArray(memory_mb=memory_mb, cpus=cpus), POOL, 128) == container


def test_shares_of_memory_are_whole_steps_so_that_all_of_them_fit() -> None:
    assert container_mb(TaskArray(memory_mb=1, cpus=1), {NodeId("a"): (2500, 2)}, 128) == 9 * 128


@pytest.mark.parametrize(
    ("array", "key", "what"),
    [
        (TaskArray(memory_mb=16385), "memory", "each task asks for 16385 MiB, and the largest node has 16384 MiB"),
        (TaskArray(memory_mb=1, cpus=17), "cpus", "each task asks for 17, and the largest node has 16"),
    ],
)
def test_what_no_node_has_is_refused(array: TaskArray, key: str, what: str) -> None:
    with pytest.raises(UserError) as refused:
        container_mb(array, POOL, 128)
    assert (refused.value.where, refused.value.what) == (key, what)


@pytest.mark.parametrize("name", ["fawkes-task", "a b.txt", "$HOME", '".txt', "-x", ".hidden"])
def test_a_file_whose_name_no_container_could_have_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(ConfigError, match="cannot be the name of a file in the folder of a task"):
        job(tmp_path, files=[name])


def test_a_deadline_before_the_end_of_a_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no number of CPUs could meet 1m00s: one task takes 2m00s"):
        job(tmp_path, deadline="1m", task_time="2m")
    assert job(tmp_path, deadline="2m", task_time="2m").deadline_us == 120_000_000


def test_the_simulator_has_the_times_that_are_known(tmp_path: Path) -> None:
    timed, plain = job(tmp_path, task_time="2m"), job(tmp_path)
    assert (profile_of(timed).maps, profile_of(timed).map_us, profile_of(timed).reduces) == (12, 120_000_000, 0)
    assert (profile_of(plain).maps, profile_of(plain).map_us) == (12, 10_000_000)
    assert (says_times(timed.details), says_times(plain.details)) == (True, False)
