"""Deadlines as the reading commands show them, from the ledger of a run under an admission policy."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fawkes.cli.main import cli
from fawkes.core.values.events import Started
from fawkes.offline.runs.folder import copied
from fawkes.store.sqlite import Ledger
from tests.core.jobs.test_deadlines import read, runs, submit, succeeds, taught
from tests.support.desk import Desk

Run = Callable[..., Result]


def story() -> Desk:
    """Three jobs met their deadlines, two run and the others wait."""
    desk = taught()
    submit(desk, 0)
    runs(desk, "a-0")
    desk.now_s += 30
    succeeds(desk, "a-0", 40)
    submit(desk, 1, deadline_s=40)
    runs(desk, "a-1")
    for number in range(2, 6):
        submit(desk, number, deadline_s=5000)
    runs(desk, "a-2")
    desk.now_s += 4
    read(desk)
    return desk


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with the ledger of the story."""
    folder = tmp_path_factory.mktemp("site")
    copied(story().store, folder / "state")
    return folder


@pytest.fixture
def run(site: Path) -> Run:
    def run_fawkes(*words: str) -> Result:
        return CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["--site", str(site), *words])

    return run_fawkes


def test_jobs_have_columns_of_deadlines(run: Run) -> None:
    head, *lines = run("jobs").stdout.splitlines()
    assert head.split() == ["job", "MR-cluster", "state", "deadline", "left", "outcome", "why"]
    rows = {line.split()[0]: line.split() for line in lines}
    assert rows["a-0"] == ["a-0", "a", "succeeded", "1m40s", "-", "met", "-"]
    assert rows["a-2"][2:4] + rows["a-2"][5:] == ["running", "1h23m", "-", "-"]


def test_the_other_columns_are_back_when_no_job_that_is_shown_has_a_deadline(tmp_path: Path) -> None:
    desk = story()
    submit(desk, 6, deadline_s=None)
    copied(desk.store, tmp_path / "state")
    words = ["--site", str(tmp_path), "jobs", "--limit", "1"]
    head, *_ = CliRunner(env={"COLUMNS": "200"}).invoke(cli, words).stdout.splitlines()
    assert head.split() == ["job", "MR-cluster", "state", "wait", "run", "slowdown", "why"]


def test_programs_get_the_same_keys(run: Run) -> None:
    rows = {row["job"]: row for row in json.loads(run("jobs", "-o", "json").stdout)["rows"]}
    assert {key: rows["a-0"][key] for key in ("deadline_s", "cpus", "outcome", "left_s")} == {
        "deadline_s": 100.0, "cpus": 5, "outcome": "met", "left_s": None,
    }  # fmt: skip
    assert rows["a-2"]["left_s"] < 5000
    head = run("jobs", "-o", "csv").stdout.splitlines()[0].split(",")
    assert {"deadline_s", "left_s", "cpus", "outcome"} <= set(head)


def test_explain_shows_the_numbers_of_a_job(run: Run) -> None:
    result = run("explain", "--job", "a-0")
    assert result.exit_code == 0
    assert "Job a-0 is let in with 5 CPUs: it asks for 5 of 20 (fraction 0.5, queue factor 1)" in result.stdout
    assert "the job met it" in result.stdout
    lines = json.loads(run("explain", "--job", "a-0", "-o", "json").stdout)["lines"]
    (admitted,) = [line for line in lines if line["code"] == "job-admitted"]
    assert {key: admitted["facts"][key] for key in ("asked", "free", "total", "fraction", "queue_factor")} == {
        "asked": 5, "free": 20, "total": 20, "fraction": 0.5, "queue_factor": 1.0,
    }  # fmt: skip


def test_explain_of_a_job_that_waits_says_how_many_cpus_are_free(run: Run) -> None:
    text = run("explain", "--job", "a-5").stdout
    assert "Job a-5 waits: it asks for 5 CPUs of 20 (fraction 0.5, queue factor 1), and 0 are free" in text
    assert "Job a-5 waits: it asks for 6 CPUs of 20 (fraction 0.5, queue factor 1), and 0 are free" in text


@pytest.mark.slow
def test_explain_shows_what_is_stored_where_the_policy_cannot_be_loaded(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "state")
    for entry in story().store.entries():
        event = entry.event
        if isinstance(event, Started) and event.admission is not None:
            event = replace(event, admission=replace(event.admission, text="def admit("))
        ledger.append(event, entry.decision)
    ledger.close()
    result = CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["--site", str(tmp_path), "explain", "--job", "a-5"])
    assert result.exit_code == 0
    assert "Job a-5 waits: it asks for 5 CPUs of 20 (fraction 0.5, queue factor 1), and 0 are free" in result.stdout
    assert "the newest numbers of a-5 are not known: " in result.stderr
    assert "Traceback" not in result.stderr


def test_explain_of_no_job_and_of_two_things(run: Run) -> None:
    unknown = run("explain", "--job", "nope")
    assert (unknown.exit_code, "there is no job 'nope'" in unknown.stderr) == (2, True)
    assert run("explain", "--job", "a-0", "--last").exit_code == 2


def test_status_counts_deadlines(run: Run) -> None:
    text = " ".join(run("status").stdout.split())
    assert "admission policy pythia, deadlines: 3 met, 0 missed, 0 dropped, 0 killed" in text


def test_verify_decides_all_of_it_again(run: Run) -> None:
    result = run("verify", "-o", "json")
    assert (result.exit_code, json.loads(result.stdout)["rows"]) == (0, [])


def test_policies_of_both_kinds(run: Run) -> None:
    rows = json.loads(run("policies", "-o", "json").stdout)["rows"]
    kinds = {(row["policy"], row["kind"]) for row in rows}
    assert {("td", "weighting"), ("justice", "admission"), ("fifo", "admission")} <= kinds
    assert next(row["summary"] for row in rows if row["policy"] == "justice").startswith("JUSTICE: ")
