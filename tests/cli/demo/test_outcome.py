"""How a run is judged, on the real core in the simulated world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.cli.demo.outcome import DemoOutcome, outcome
from fawkes.cli.demo.view import news
from fawkes.config.workloads.workloads import WorkloadFile, load_workload
from fawkes.engine.ports import Entry
from tests.config.support import pool
from tests.support.pools import Checked, run
from tests.workload.playing.test_story import LOADS_SLOWLY, Plan

pytestmark = pytest.mark.slow


@pytest.fixture
def workload(tmp_path: Path) -> WorkloadFile:
    """The jobs of the simulated run, as a workload has them."""
    clusters = "".join(f'[[cluster]]\nid = "{name}"\nmin_nodes = 1\nreplication = 1\n' for name in Plan().arrivals)
    jobs = "".join(
        f'[[job]]\nid = "{name}-{n}"\ncluster = "{name}"\nkind = "sleep"\nmaps = 8\nmap_time = "20s"\n'
        for name, count in Plan().jobs.items()
        for n in range(count)
    )
    (tmp_path / "w.toml").write_text("points = true\n" + clusters + jobs)
    return load_workload(tmp_path / "w.toml", pool(tmp_path), site=tmp_path)


def played(plan: Plan | None = None, **world: object) -> Checked:
    return run((plan or Plan()).events(), 900, delays=LOADS_SLOWLY, **world)


@pytest.fixture(scope="module")
def whole() -> Checked:
    return played()


@pytest.fixture
def ended(whole: Checked, workload: WorkloadFile) -> DemoOutcome:
    return outcome(whole.store, workload)


def test_a_run_in_which_all_happened_has_no_problem(ended: DemoOutcome) -> None:
    assert ended.problems == ()
    assert [row["point"] for row in ended.point_rows] == list("ABCDE")
    assert ended.reconfigurations >= 3


def test_every_job_has_a_row(ended: DemoOutcome, workload: WorkloadFile) -> None:
    rows = {row["job"]: row for row in ended.job_rows}
    assert rows.keys() == {job.spec.id for job in workload.jobs}
    assert {row["state"] for row in rows.values()} == {"succeeded"}
    assert rows["c-1-0"]["wait_s"] > 0


def test_moves_that_are_alike_are_one_row_with_all_their_nodes(ended: DemoOutcome) -> None:
    first = next(row for row in ended.move_rows if row["to_cluster"] == "c-1" and row["role"] == "transient")
    assert (first["node_set"], first["from_cluster"], first["at_s"]) == ("node[07-10]", None, 40.0)
    assert first["why"] == "node[07-10] join c-1 as transient: c-1 held 4 nodes and should have 8"
    times = [row["at_s"] for row in ended.move_rows]
    assert times == sorted(times)


def test_a_reason_is_told_once(ended: DemoOutcome) -> None:
    first = ended.move_rows[0]
    assert (first["to_cluster"], first["why"]) == ("c-1", "c-1 gets node[01-02] as core nodes after waiting 0s")


def test_a_node_that_goes_from_one_to_the_other_says_why_it_left_and_why_it_joined(ended: DemoOutcome) -> None:
    row = next(row for row in ended.move_rows if row["from_cluster"] == "c-1" and row["to_cluster"] == "c-2")
    left, _, joined = row["why"].partition("; then ")
    assert left == "node[07-08] (transient) leave c-1, which holds 6 nodes and should have 4"
    assert joined.startswith("node[07-08] join c-2 as transient")
    assert row["took_s"] > 0


def problems(engine: Checked, workload: WorkloadFile) -> Mapping[str, str]:
    problems_by_job = outcome(engine.store, workload).problems
    return {problem.split(" ", 2)[1]: problem for problem in problems_by_job}


def test_a_missing_point_is_a_problem(workload: WorkloadFile) -> None:
    missing = problems(played(Plan(policy="none")), workload)
    assert missing["B"].startswith("point B is missing (c-1 runs jobs while c-2 still loads")
    assert missing["node"] == "no node left an MR-cluster that shrank"


def test_a_failed_job_is_a_problem(workload: WorkloadFile) -> None:
    engine = played(faults=lambda kind, name: "exit code 1" if (kind, name) == ("job", "c-2-3") else None)
    assert problems(engine, workload)["c-2-3"] == "job c-2-3 is failed: exit code 1"


def test_jobs_that_failed_alike_are_one_problem(workload: WorkloadFile) -> None:
    engine = played(faults=lambda kind, name: "no space" if kind == "job" and name.startswith("c-2") else None)
    assert problems(engine, workload)["c-2-0,"].endswith("c-2-4, c-2-5 are failed: no space")


LONG = "Maven failed (exit 1): Could not transfer artifact x from/to central: Unknown host repo.example"


def given_up() -> Checked:
    return played(faults=lambda kind, name: LONG if (kind, name) == ("deploy", "c-1") else None)


def test_the_cause_is_the_first_problem_and_is_told_once(workload: WorkloadFile) -> None:
    trouble = f"c-1: it was gone before it ran: {LONG}. If it did not fail, give it a longer idle_time"
    problems = outcome(given_up().store, workload, trouble).problems
    assert problems[0] == f"c-1 was given up: {LONG}"
    assert any(problem.endswith("are cancelled: c-1 could not be deployed") for problem in problems)
    assert sum(LONG in problem for problem in problems) == 1


def test_what_broke_a_run_off_is_its_first_problem(whole: Checked, workload: WorkloadFile) -> None:
    assert outcome(whole.store, workload, "the lab did not go down").problems == ("the lab did not go down",)


def test_an_error_is_told_once_while_it_goes_on() -> None:
    already: set[str] = set()
    entries: list[Entry] = list(given_up().store.entries())
    lines = [text for entry in entries for text in news(entry, already)]
    assert [line for line in lines if LONG in line] == [f"c-1 failed while deploying (attempt 1): {LONG}"]
    assert "c-1 has failed for good" in lines
    assert "Job c-1-0 is cancelled: c-1 could not be deployed" in lines


def test_a_job_that_was_never_submitted_is_a_problem(workload: WorkloadFile) -> None:
    engine = played(Plan(jobs={"c-1": 6, "c-2": 6, "c-3": 23}))
    assert problems(engine, workload) == {"c-3-23": "job c-3-23 is missing: never submitted"}


def told(engine: Checked) -> list[str]:
    entries: list[Entry] = list(engine.store.entries())
    return [text for entry in entries for text in news(entry)]


def test_what_is_told_while_it_goes_on(whole: Checked) -> None:
    lines = told(whole)
    assert any(line.startswith("c-1 was requested") for line in lines)
    assert "node[05-06] (transient) leave c-1 to make room for c-3" in lines
    assert sum("succeeded" in line for line in lines) == sum(Plan().jobs.values())
    assert not any("handed to YARN" in line or "within the threshold" in line for line in lines)


def test_a_workload_that_tells_no_story_misses_nothing(workload: WorkloadFile) -> None:
    quiet = played(Plan(jobs=dict.fromkeys(Plan().jobs, 0)))
    quiet_outcome = outcome(quiet.store, replace(workload, jobs=()))
    silent = outcome(quiet.store, replace(workload, jobs=(), points=False))
    assert any("point" in line for line in quiet_outcome.problems)
    assert (silent.problems, silent.point_rows, silent.marks) == ((), (), ())
