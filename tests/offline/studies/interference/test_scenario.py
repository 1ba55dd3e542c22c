"""Scenario files: what comes with Fawkes is sound, and what is wrong is named with file and key."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import ConfigError, FawkesError, UserError
from fawkes.base.units import SECOND_US
from fawkes.offline.record import toml
from fawkes.offline.studies.interference.scenario import bundled, load_scenario, path_of
from fawkes.offline.studies.interference.values import FrameworkStage

GOOD = """
[cloud]
slaves = 2
cpu = 2
memory_mb = 3000
[framework.hadoop]
mode = "coarse"
executor = { cpu = 0.5, memory_mb = 512 }
task = { cpu = 0.5, memory_mb = 768 }
[[job]]
framework = "hadoop"
tasks = 4
task_time = "10s"
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", bundled())
def test_a_scenario_that_comes_with_fawkes_is_sound(name: str) -> None:
    found = load_scenario(path_of(name))
    assert found.title != name
    assert found.study.cloud.slaves == 6
    assert all(job.tasks for job in found.study.jobs)


def test_the_seed_of_the_command_wins(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD.replace("slaves = 2", "slaves = 2\nseed = 3"))
    assert (load_scenario(path).study.cloud.seed, load_scenario(path, 5).study.cloud.seed) == (3, 5)


def test_stages_run_one_after_another(tmp_path: Path) -> None:
    stages = 'stages = [{ tasks = 1, task_time = "5s" }, { tasks = 3, task_time = "10s" }]'
    path = written(tmp_path, GOOD.replace('tasks = 4\ntask_time = "10s"', stages))
    (job,) = load_scenario(path).study.jobs
    assert job.stages == (FrameworkStage(1, 5 * SECOND_US), FrameworkStage(3, 10 * SECOND_US))


WRONG = [
    ("cpu = 2\n", "cpu = 0.75\n", "framework.hadoop.executor", "needs 1 CPUs and 1280 MB, and a slave has 0.75 CPUs"),
    ("memory_mb = 3000", "memory_mb = 1000", "framework.hadoop.executor", "a slave has 2 CPUs and 1000 MB"),
    (
        'mode = "coarse"',
        'mode = "coarse"\nfloor = { cpu = 9 }',
        "framework.hadoop.floor",
        "the least offer needs 9 CPUs",
    ),
    ('mode = "coarse"', 'mode = "rough"', "framework.hadoop.mode", "rough"),
    ('framework = "hadoop"', 'framework = "hadop"', "job.framework", "there is no framework 'hadop'"),
    ("tasks = 4\n", "", "job[#1].tasks", "is missing"),
    ('tasks = 4\ntask_time = "10s"', "", "job[#1]", "needs stages, or tasks and task_time"),
    ("tasks = 4\n", "tasks = 900000\n", "job", "900,000 tasks are too many"),
    ("tasks = 4\n", 'at = "48h"\ntasks = 4\n', "job[#1].at", "comes after the end of the run"),
    ("slaves = 2", "slaves = 0", "cloud.slaves", "0"),
    ("slaves = 2", "slave = 2", "cloud.slave", "unknown key 'slave'"),
    ("[cloud]", 'from = "../dev.toml"\n[cloud]', "from", "is not beside this file"),
]


@pytest.mark.parametrize(("old", "new", "key", "says"), WRONG, ids=lambda each: str(each)[:24])
def test_what_is_wrong_is_named_with_file_and_key(tmp_path: Path, old: str, new: str, key: str, says: str) -> None:
    path = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(ConfigError) as error:
        load_scenario(path)
    assert f"{path}: {key}: " in str(error.value)
    assert says in str(error.value)


def test_a_base_beside_the_file_gives_what_the_file_does_not(tmp_path: Path) -> None:
    said: dict[str, Any] = tomllib.loads(GOOD)
    (tmp_path / "base.toml").write_text("\n".join(toml.table({k: said[k] for k in ("cloud", "framework")})))
    job = '[[job]]\nframework = "hadoop"\ntasks = 4\ntask_time = "10s"\n'
    path = written(tmp_path, f'from = "base.toml"\n[cloud]\nslaves = 3\n{job}')
    found = load_scenario(path).study.cloud
    assert (found.slaves, found.slave.cpu_milli) == (3, 2000)


def test_a_base_that_refers_further_is_refused(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text('from = "dev.toml"')
    with pytest.raises(ConfigError, match="refers to another file, and is referred to"):
        load_scenario(written(tmp_path, f'from = "base.toml"\n{GOOD}'))


@pytest.mark.parametrize("name", ["deadlok", "nowhere.toml"])
def test_a_scenario_that_does_not_exist_is_an_error_of_the_user(name: str) -> None:
    with pytest.raises(FawkesError) as error:
        load_scenario(path_of(name))
    assert isinstance(error.value, UserError)
    assert "deadlock" in str(error.value)
