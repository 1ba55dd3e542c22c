"""Records of jobs whose tasks can be saved, and `fawkes whatif --preemption` about them."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from fawkes.base.errors import UserError
from fawkes.base.units import SECOND_US
from fawkes.config.clusters.details import JobDetails, TaskArray
from fawkes.core.values.model import JobSpec
from fawkes.offline.record.folder import Record
from fawkes.offline.record.whatif import preemption_variants
from fawkes.offline.scenarios.demands import KnownDemands, read_demands
from tests.cli.offline.test_simulate import fawkes
from tests.offline.record.support import SETTINGS, demand, recorded, run, sleep_job
from tests.offline.support import CATALOG, ROOT

POLICIES = {"ADAPTIVE", "CHECKPOINT", "KILL", "WAIT"}


def array_job(name: str, tasks: int, task_s: int | None, **more: Any) -> JobSpec:
    """A job of tasks that save themselves; without a time it is known by its run time alone."""
    array = TaskArray(memory_mb=100, checkpoint="own", task_us=(task_s or 0) * SECOND_US)
    details = JobDetails(kind="tasks", array=array).plain()
    return replace(sleep_job(name, "a", maps=tasks), details=details, saves=True, **more)


def record_of(folder: Path, task_s: int | None) -> Record:
    jobs = [array_job("long", 40, task_s), array_job("urgent", 4, task_s, priority=5)]
    settings = {**SETTINGS, "preemption": "kill", "transient_leave": "60s", "image_rate": "50MB"}
    return recorded(run([demand("a", jobs, every_s=20)], settings), folder)


def whatif(record: Record, *words: str) -> Result:
    return fawkes("whatif", record.folder, "--policies", "TD", "--replays", "6", "--jobs", "1", *words)


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    return record_of(tmp_path_factory.mktemp("known"), 60)


def test_a_record_has_how_tasks_are_saved_and_the_policy_in_force(record: Record) -> None:
    asked = read_demands(record.folder / "demands.csv")
    assert {(each.checkpoint, each.memory_mb) for each in asked.values()} == {("own", 100)}
    assert (asked["long"].priority, asked["urgent"].priority) == (0, 5)
    assert 'preemption = "policies/preemption/kill.py"' in record.scenario.read_text()


def test_each_preemption_policy_is_answered_with_response_times_and_waste(record: Record) -> None:
    said = whatif(record, "--preemption", "all", "-o", "json")
    rows = {row["preemption"]: row for row in json.loads(said.stdout)["preemption"]}
    assert set(rows) == POLICIES
    assert rows["KILL"]["verdict"] is None
    assert rows["KILL"]["killed_work_s"] > rows["CHECKPOINT"]["killed_work_s"] == 0
    assert rows["CHECKPOINT"]["tasks_saved"] > 0
    assert all(row["response_mean_s"] > 0 for row in rows.values())


def test_of_jobs_that_are_known_by_their_run_time_nobody_can_tell(tmp_path: Path) -> None:
    record = record_of(tmp_path, None)
    assert set(record.known.values()) == {KnownDemands.LEDGER}
    said = whatif(record, "--preemption", "kill,wait")
    assert said.exit_code == 4
    assert said.stdout.startswith("Whether the model reproduces this run cannot be told")
    assert "every verdict is `cannot tell`, because nothing shows" in said.stdout
    assert "worse" not in said.stdout


def test_preemption_policies_of_one_name_are_refused(tmp_path: Path) -> None:
    """One of two files would not have been run."""
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        shutil.copy(ROOT / "policies" / "preemption" / "kill.py", tmp_path / folder / "mine.py")
    for names in (f"{tmp_path}/x/mine.py,{tmp_path}/y/mine.py", "kill,KILL"):
        with pytest.raises(UserError, match=r"the policy .* is named twice"):
            preemption_variants(CATALOG, names, {"": {}})


def test_a_preemption_policy_that_is_not_there_is_refused(record: Record) -> None:
    said = whatif(record, "--preemption", "nobody")
    assert (said.exit_code, "nobody" in said.stderr) == (2, True)
