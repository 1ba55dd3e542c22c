"""`fawkes analyse`: rows for people and programs, skipped lines, a folder, a ledger, and what it refuses."""

from __future__ import annotations

import csv
import gzip
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fawkes.cli.main import cli
from fawkes.offline.runs.folder import copied
from tests.report.played import filled, recorded

LINES = (
    "10000000,,1,0,7,1,user,2,1,0.5,0.1,0.01,0",
    "this is no event",
    "3610000000,,1,0,7,2,user,2,1,0.5,0.1,0.01,0",
    "3614000000,,2,0,7,1,user,0,9,0.5,0.1,0.01,0",
    "7214000000,,2,0,7,4,user,0,9,0.5,0.1,0.01,0",
)


def fawkes(*words: str) -> Result:
    return CliRunner().invoke(cli, ["-q", "analyse", *words])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "part-00000-of-00001.csv.gz"
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in LINES).encode()))
    return path


def test_json_has_everything(log: Path) -> None:
    ended = fawkes("trace", str(log), "-o", "json")
    assert ended.exit_code == 0
    assert f"note: {log}: skipped 1 line with 1 of 13 columns (first: line 2)" in ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    whole = found["rows"][0]
    assert (whole["evictions"], whole["preemptions"], whole["preempted_cpu_h"], whole["used_cpu_h"]) == (1, 1, 0.5, 1)
    assert found["skipped"] == {str(log): {"with 1 of 13 columns": 1}}
    assert (found["lines"], found["events"]["schedule"]) == (5, 2)
    assert [(row["hour"], row["preemptions"]) for row in found["hours"]] == [(0, 0), (1, 1), (2, 0)]
    assert found["repeats"] == [
        {"at_least": 1, "evicted_tasks": 1, "evicted_share": 1, "preempted_tasks": 1, "preempted_share": 1}
    ]


def test_a_table_and_sentences(log: Path) -> None:
    ended = fawkes("trace", str(log.parent))
    assert "free (0-1)" in ended.stdout
    assert "evictions wasted 0.5 of 1.0 CPU-hours (50.0%), preemptions 0.5" in ended.stdout
    hours = list(csv.DictReader(StringIO(fawkes("trace", str(log), "--by", "hour", "-o", "csv").stdout)))
    assert [row["evictions"] for row in hours] == ["0", "1", "0"]


def test_damaged_lines_of_machine_events_are_told(log: Path) -> None:
    machines = log.parent / "machine_events" / "part.csv"
    machines.parent.mkdir()
    machines.write_text("0,5,0,B,0.5,0.25\n0,6,0,B,abc,-3\n")
    ended = fawkes("trace", str(log.parent), "--by", "machines", "-o", "json")
    assert [row["count"] for row in json.loads(ended.stdout)["machines"]] == [1]
    assert f"note: {machines}: skipped 1 line with a wrong cpu (first: line 2)" in ended.stderr


@pytest.mark.slow
def test_a_folder_has_tables_and_a_picture(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert fawkes("trace", str(log), "--out", str(out)).exit_code == 0
    assert {"group.csv", "hour.parquet", "repeats.csv", "over-time.png"} <= {path.name for path in out.iterdir()}
    again = fawkes("trace", str(log), "--out", str(out))
    assert (again.exit_code, str(out) in again.stderr) == (6, True)
    log.write_text("\n".join((LINES[0], LINES[2])))
    assert fawkes("trace", str(log), "--out", str(tmp_path / "undecided")).exit_code == 0
    hours = list(csv.DictReader((tmp_path / "undecided" / "hour.csv").open()))
    assert [(row["evictions"], row["preemptions"]) for row in hours] == [("0", "0.0"), ("1", "")]


def test_what_make_writes_is_what_trace_finds(tmp_path: Path) -> None:
    made = json.loads(fawkes("make", str(tmp_path / "log"), "--schedules", "2000", "-o", "json").stdout)["rows"][0]
    found = json.loads(fawkes("trace", str(tmp_path / "log"), "-o", "json").stdout)["rows"][0]
    names = ("schedules", "evictions", "preemptions")
    assert [found[name] for name in names] == [made[name] for name in names]
    assert found["schedules"] == 2000
    assert fawkes("make", str(tmp_path / "log")).exit_code == 6


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (gzip.compress("\n".join(LINES).encode(), mtime=0)[:-9], "cannot be read to its end"),
        ("\n".join(line.rpartition(",")[0] for line in LINES).encode(), "4 lines with 12 of 13 columns"),
        ("\n".join(reversed(LINES)).encode(), "the time goes back from 7214000000 to 3614000000"),
        (b"\x00\xff" * 100, "has no event"),
    ],
)
def test_a_bad_log_gives_a_reason(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "bad.csv.gz"
    path.write_bytes(content)
    ended = fawkes("trace", str(path))
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert says in ended.stderr
    assert str(path) in ended.stderr


@pytest.mark.parametrize("words", [("trace",), ("trace", "nothing.csv.gz"), ("make", "x", "--schedules", "5")])
def test_what_is_not_there_or_too_small_is_refused(words: tuple[str, ...]) -> None:
    assert fawkes(*words).exit_code == 2


@pytest.mark.slow
def test_a_ledger_says_how_often_nodes_left_and_what_it_does_not_know(tmp_path: Path) -> None:
    copied(filled(recorded()), tmp_path / "state")
    ended = CliRunner().invoke(cli, ["--site", str(tmp_path), "analyse", "ledger", "-o", "json"])
    rows = json.loads(ended.stdout)["rows"]
    assert rows
    assert {row["killed_tasks"] for row in rows} == {None}
    shown = CliRunner().invoke(cli, ["--site", str(tmp_path), "analyse", "ledger"]).stdout
    assert f"{sum(row['left_nodes'] for row in rows)} nodes left MR-clusters" in shown
    assert fawkes("ledger").exit_code == 2
