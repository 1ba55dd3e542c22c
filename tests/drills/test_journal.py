"""The journal, from which a long run goes on, and the table made from it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from drills.checks import Failure
from drills.journal import Journal
from drills.loss import CASES, loss_plan_of
from drills.plan import Fault, Kind, Spot
from drills.result import Result, Tried
from drills.table import figures, head, lines, summary

POWER = Fault(kind=Kind.POWER, spot=Spot.CORE, life="serving")
KILL = Fault(kind=Kind.KILLED, spot=Spot.CONTROLLER, step=5)


def result(seed: int, *failures: Failure, at_s: float | None = 1.0) -> Result:
    tried = (Tried(POWER, "node02", at_s), Tried(POWER, "node03", at_s), Tried(KILL, at_s=at_s))
    return Result(seed=seed, world="sim", tried=tried, failures=failures, steps=9, took_s=0.5)


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "new")
    assert journal.rows() == []
    journal.add(result(1))
    journal.add(result(2))
    assert Journal(tmp_path / "new").done("sim") == {1, 2}
    assert journal.done("real") == set()


def test_a_line_that_was_cut_off_is_played_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.add(result(1))
    journal.add(result(2))
    file = tmp_path / "drills.jsonl"
    file.write_text(file.read_text()[:-20])
    assert journal.done("sim") == {1}
    journal.add(result(2))
    assert journal.done("sim") == {1, 2}


def test_the_latest_result_of_a_seed_counts(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.add(result(1, Failure("data lost", "a: /words")))
    journal.add(result(1))
    assert [row["failures"] for row in journal.rows()] == [[]]


def test_the_table_says_what_was_tried_and_lost(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for each in (result(1), result(7, Failure("data lost", "a: /words")), result(8, at_s=None)):
        journal.add(each)
    rows = journal.rows()
    by_kind = {(line.kind, line.spot, line.life): line for line in lines(rows, "sim")}
    power = by_kind["power off", "core", "serving"]
    assert (power.runs, power.failed) == (2, ["7"])
    assert by_kind["controller killed", "controller", "before its effects"].runs == 2
    assert by_kind["paused", "core", "serving"].runs == 0
    assert summary(rows, "sim") == "sim: 3 drills, 1 failed, 2 s\n  seed 7: data lost: a: /words"


def test_losses_of_masters_have_a_line_for_each_case_and_their_figures(tmp_path: Path) -> None:
    journal, plan = Journal(tmp_path), loss_plan_of(3)
    tried = (Tried(plan.loss, "node01", 1.0),)
    journal.add(
        Result(seed=3, world="masters", tried=tried, failures=(), steps=9, took_s=1.0, figures={"HDFS": 31.25}),
    )
    rows = journal.rows()
    table = lines(rows, "masters")
    assert len(table) == len(CASES)
    assert [line.cells()[:4] for line in table if line.runs] == [("kept", "evacuation", "goes on", "1")]
    assert head("masters")[:3] == ("promise", "phase", "controller")
    names, measured = figures(rows)
    assert measured[:4] == ("3", "kept", "evacuation", "goes on")
    assert dict(zip(names, measured, strict=True))["HDFS"] == "31.2"
    assert set(measured[4:]) == {"31.2", "-"}
    assert figures([]) == []


@pytest.mark.slow
def test_the_command_plays_what_is_missing_and_shows_the_table(tmp_path: Path) -> None:
    def drills(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "drills", "--folder", str(tmp_path), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert drills("sim", "--seeds", "0-1").returncode == 0
    first = (tmp_path / "drills.jsonl").read_text()
    assert drills("sim", "--seeds", "0-1").returncode == 0
    assert (tmp_path / "drills.jsonl").read_text() == first
    assert "sim: 2 drills, 0 failed" in drills("table").stdout
    assert "nothing was lost" in drills("replay", "1").stdout
    refused = drills("sim", "--seeds", "9-1")
    assert refused.returncode == 2
    assert "'9-1' has no seeds" in refused.stderr
