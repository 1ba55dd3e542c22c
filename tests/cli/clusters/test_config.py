"""`fawkes config` and the warning of `fawkes env`, against a controller that answers what a test puts there."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fawkes.cli.clusters.env import _shut_out
from fawkes.cli.main import cli
from fawkes.live.controller.control import ControlServer
from fawkes.live.hadoop.hadoop_conf import to_xml
from tests.cli.conftest import INVENTORY

Run = Callable[..., Result]


@pytest.fixture
def answer(tmp_path: Path) -> dict[str, Any]:
    lib = tmp_path / "release" / "lib"
    lib.mkdir(parents=True)
    with zipfile.ZipFile(lib / "hadoop-hdfs-3.5.0.jar", "w") as jar:
        jar.writestr("hdfs-default.xml", to_xml({"dfs.replication": "3", "dfs.blocksize": "128m"}))
    return {
        "node": "node01",
        "files": {
            "hdfs-site.xml": to_xml({"dfs.replication": "2", "dfs.blocksize": "128m"}),
            "hadoop-env.sh": "export A=1\n",
        },
        "release_dir": str(tmp_path / "release"),
        "running": {"namenode": {"dfs.replication": "1", "dfs.blocksize": "128m"}},
        "reads": {"namenode": ["hdfs-site.xml"], "datanode": ["hdfs-site.xml"]},
    }


@pytest.fixture
def run(tmp_path: Path, answer: dict[str, Any]) -> Iterator[Run]:
    (tmp_path / "inventory.toml").write_text(INVENTORY)
    queries: Any = {
        "clusters": lambda _: [{"cluster": "c-1", "state": "running"}],
        "config": lambda _: answer,
        "ledger": lambda _: {},
    }
    server = ControlServer(tmp_path / "state", lambda event: None, queries, lambda: 1, stop=lambda by: None)
    yield lambda *words: CliRunner().invoke(cli, ["--site", str(tmp_path), *words])
    server.close()


def test_differences_between_what_runs_and_what_is_written_are_rows(run: Run) -> None:
    done = run("config", "diff", "c-1", "-o", "json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["rows"] == [
        {
            "daemon": "namenode",
            "file": "hdfs-site.xml",
            "setting": "dfs.replication",
            "runs": "1",
            "writes": "2",
            "default": "3",
        }
    ]


def test_a_daemon_that_does_not_answer_is_no_daemon_without_differences(run: Run, answer: dict[str, Any]) -> None:
    answer["running"] = {"datanode": None, "namenode": {"dfs.replication": "2", "dfs.blocksize": "128m"}}
    done = run("config", "diff", "c-1")
    assert done.exit_code == 1
    assert "how datanode runs is not known" in done.stderr
    assert "namenode on node01: as Fawkes writes it" in done.stderr


def test_hadoops_defaults_come_from_its_jars_and_may_not_be_known(run: Run, answer: dict[str, Any]) -> None:
    rows = json.loads(run("config", "diff", "c-1", "--defaults", "-o", "json").stdout)["rows"]
    assert [(row["setting"], row["default"], row["writes"]) for row in rows] == [("dfs.replication", "3", "2")]
    answer["release_dir"] = "/nowhere"
    done = run("config", "diff", "c-1", "--defaults", "-o", "json")
    assert "defaults are not known" in done.stderr
    assert {row["default"] for row in json.loads(done.stdout)["rows"]} == {None}


def test_files_are_printed_all_or_one_as_it_is(run: Run, answer: dict[str, Any]) -> None:
    assert "==> hdfs-site.xml <==" in run("config", "render", "c-1", "node01").stdout
    assert run("config", "render", "c-1", "--file", "hadoop-env.sh").stdout == answer["files"]["hadoop-env.sh"]
    done = run("config", "render", "c-1", "--file", "x.xml")
    assert done.exit_code == 2
    assert "There are: hdfs-site.xml, hadoop-env.sh" in done.stderr


@pytest.mark.parametrize(
    ("doors", "shut"),
    [(["127.0.0.1"], ""), (["10.0.0.1", "127.0.0.0/8"], ""), (["10.0.0.1"], "127.0.0.1"), ([], "127.0.0.1")],
)
def test_env_says_when_the_masters_would_hang_up_on_this_machine(doors: list[str], shut: str) -> None:
    assert _shut_out("127.0.0.1", doors) == shut
    assert _shut_out("no.such.host.invalid", doors) == ""
