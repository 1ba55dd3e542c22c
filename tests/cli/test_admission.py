"""`--admission` of simulate and compare: a row for each admission policy, and what became of deadlines."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path

import pytest

from fawkes.offline.outcomes.outcome import DEADLINES
from tests.cli.offline.test_simulate import SCENARIO, fawkes

DUE = (
    SCENARIO
    + """
[model]
map_slots = 0
slots = 4
[[job]]
cluster = "c-1"
id = "due"
kind = "sleep"
maps = 6
map_time = "5s"
deadline = "60s"
after = "running"
count = 4
every = "20s"
"""
)


@pytest.fixture
def due(tmp_path: Path) -> Path:
    path = tmp_path / "due.toml"
    path.write_text(DUE)
    return path


def test_simulate_shows_deadlines_below_its_table(due: Path) -> None:
    said = fawkes("simulate", due, "--admission", "reactive")
    assert said.exit_code == 0, said.stderr
    _, _, below = said.stdout.partition("Jobs that have a deadline:\n")
    rows = [line.split() for line in below.splitlines()]
    assert rows[0][:3] == ["MR-cluster", "jobs", "due"]
    assert [row[:2] for row in rows if row and row[0] in ("c-1", "c-2", "all")] == [["c-1", "4"], ["all", "4"]]


def test_json_and_csv_have_the_keys_of_deadlines(due: Path) -> None:
    printed = json.loads(fawkes("simulate", due, "-o", "json").stdout)
    assert set(DEADLINES) <= printed["total"].keys()
    assert [set(DEADLINES) <= row.keys() for row in printed["rows"]] == [True, False]
    rows = list(csv.DictReader(StringIO(fawkes("simulate", due, "-o", "csv").stdout)))
    assert [row["jobs_due"] for row in rows] == ["4", "", "4"]


@pytest.mark.slow
def test_without_deadlines_nothing_of_them_is_shown(tmp_path: Path) -> None:
    plain = tmp_path / "plain.toml"
    plain.write_text(SCENARIO)
    for form in ("table", "json", "csv"):
        said = fawkes("simulate", plain, "-o", form)
        assert said.exit_code == 0, said.stderr
        assert "deadline" not in said.stdout


@pytest.mark.slow
def test_compare_has_a_row_for_each_pair_of_policies(due: Path, tmp_path: Path) -> None:
    out = ("--replays", "1", "--jobs", "1", "--out", tmp_path / "out")
    words = ("compare", due, "--policies", "TD,None", "--admission", "fifo,justice", *out)
    said = fawkes(*words, "-o", "json")
    assert said.exit_code == 0, said.stderr
    rows = json.loads(said.stdout)["rows"]
    assert [(row["policy"], row["settings"]) for row in rows] == [
        ("TD", "admission=fifo"),
        ("None", "admission=fifo"),
        ("TD", "admission=justice"),
        ("None", "admission=justice"),
    ]
    assert {row["jobs_due"] for row in rows} == {4}
    again = fawkes(*words)
    assert "4 of 4 runs are finished already" in again.stderr
    assert "jobs that have a deadline" in again.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("simulate", "--admission", "justise"), "Did you mean 'justice'"),
        (("simulate", "--admission", "nowhere.py"), "'nowhere.py' is not a file"),
        (("compare", "--admission", "fifo,,justice"), "there is no admission policy ''"),
        (("compare", "--admission", "fifo,fifo"), "named twice"),
        (("compare", "--admission", "fifo", "--set", "admission=justice"), "set twice"),
        (("simulate", "--admission", "fifo", "--set", "learn_from_pool=true"), 'no effect with admission = "fifo"'),
        (("simulate", "--admission", "justice", "--set", "admission_parameters.spare=2"), "no parameter 'spare'"),
    ],
)
def test_a_wrong_admission_policy_is_refused_at_once(due: Path, words: tuple[str, ...], says: str) -> None:
    verb, *rest = words
    said = fawkes(verb, due, *rest)
    assert said.exit_code == 2, said.stderr
    assert says in said.stderr
    assert "Traceback" not in said.stderr
