"""`fawkes interference`: rows for people and programs, a folder whole or not at all, and what it refuses."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fawkes.cli.main import cli

OFFERS = ("--manager", "offers")


def fawkes(*words: str) -> Result:
    return CliRunner().invoke(cli, ["-q", "interference", *words])


def rows(*words: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(fawkes(*words, "-o", "json").stdout)["rows"]
    return listed


def test_every_manager_gets_the_same_load() -> None:
    by_framework = {(row["manager"], row["framework"]): row for row in rows("deadlock")}
    managers = ("offers", "revocation", "admission", "full release", "Fawkes")
    assert set(by_framework) == {(manager, name) for manager in managers for name in ("spark-fine", "hadoop")}
    assert by_framework["offers", "spark-fine"]["stuck_s"] == 142
    assert max(row["stuck_s"] for (manager, _), row in by_framework.items() if manager != "offers") == 20
    assert by_framework["revocation", "hadoop"]["lost_tasks"] == 3
    assert by_framework["Fawkes", "hadoop"]["lost_tasks"] is None


def test_a_row_for_csv_and_for_people() -> None:
    table = list(csv.DictReader(StringIO(fawkes("storm", *OFFERS, "-o", "csv").stdout)))
    assert [(row["framework"], row["at_s"]) for row in table] == [("storm", "0.0"), ("hadoop", "5.0")]
    assert "manager  framework  first task  finished  stuck  lost" in fawkes("storm", *OFFERS).stdout


@pytest.mark.slow
def test_a_folder_has_rows_and_a_picture(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert fawkes("deadlock", *OFFERS, "--out", str(out)).exit_code == 0
    assert {"rows.csv", "shares.png"} <= {path.name for path in out.iterdir()}
    again = fawkes("deadlock", *OFFERS, "--out", str(out))
    assert again.exit_code == 6
    assert str(out) in again.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nothing",), "there is no scenario 'nothing'"),
        (("nothing.toml",), "nothing.toml"),
        (("deadlock", "--manager", "nobody"), "nobody"),
        (("deadlock", "--seed", "-1"), "-1"),
    ],
)
def test_what_it_refuses(words: tuple[str, ...], says: str) -> None:
    ended = fawkes(*words)
    assert ended.exit_code == 2
    assert says in ended.stderr
    assert ended.stdout == ""


def test_mr_clusters_that_need_more_nodes_than_there_are_slaves_are_refused(tmp_path: Path) -> None:
    source = Path(__file__).parents[3] / "workloads" / "interference"
    (tmp_path / "dev.toml").write_text((source / "dev.toml").read_text())
    (tmp_path / "mine.toml").write_text((source / "deadlock.toml").read_text() + "\n[isolated]\nmin_nodes = 4\n")
    ended = fawkes(str(tmp_path / "mine.toml"))
    assert ended.exit_code == 2
    assert "isolated.min_nodes: 2 MR-clusters with 4 nodes each need more than 6 nodes" in ended.stderr


def test_an_admission_policy_without_a_usable_answer_is_named(tmp_path: Path) -> None:
    source = Path(__file__).parents[3] / "workloads" / "interference"
    (tmp_path / "dev.toml").write_text((source / "dev.toml").read_text())
    text = (Path(__file__).parents[3] / "policies" / "admission" / "oracle.py").read_text()
    (tmp_path / "mine.py").write_text(text.replace("return by_request(", "return [Verdict('x', 1)] or by_request("))
    scenario = (source / "deadlock.toml").read_text().replace("patience", 'admission = "mine.py"\npatience')
    (tmp_path / "mine.toml").write_text(scenario)
    ended = fawkes(str(tmp_path / "mine.toml"), "--manager", "admission")
    assert ended.exit_code == 2
    assert "mine.py: " in ended.stderr
    assert "Traceback" not in ended.stderr
