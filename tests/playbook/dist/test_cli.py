from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fawkes.cli.main import cli
from fawkes.playbook.dist import cache
from fawkes.playbook.dist.pins import PINS
from tests.playbook.dist.test_release import unpack_tarball
from tests.support.programs import program


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["dist", *arguments])


@pytest.fixture
def failing_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    program(programs / "mvn", "echo '[ERROR] repo.example: Name or service not known'\nexit 1")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")


def test_an_unknown_version_is_a_mistake_of_the_command(cache_dir: Path) -> None:
    for verb in ("get", "check"):
        ended = run(verb, "2.7.7")
        assert ended.exit_code == 2
        assert "Known are 3.5.0, 3.4.2" in ended.stderr


def test_a_failing_maven_ends_1_and_leaves_nothing(cache_dir: Path, failing_maven: None) -> None:
    ended = run("get")

    assert ended.exit_code == 1
    assert "repo.example: Name or service not known" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""
    assert [path.name for path in cache_dir.iterdir()] == [".hadoop-3.5.0.lock"]


def test_a_dry_run_fetches_nothing(cache_dir: Path, failing_maven: None) -> None:
    ended = run("get", "3.4.2", "--dry-run")

    assert ended.exit_code == 0
    hadoop, doors, kerberos, load, tasks, copies = ended.stdout.splitlines()
    assert hadoop == f"would resolve the 182 jars of Hadoop 3.4.2 by Maven into {cache_dir}/hadoop-3.4.2"
    assert doors.startswith(f"would compile the door keepers of the daemons into {cache_dir.parent}/doors/")
    assert kerberos.startswith("would compile the additions for MR-clusters with Kerberos into ")
    assert load.startswith("would compile the load jobs into ")
    assert tasks.startswith("would compile the ApplicationMaster for jobs of tasks into ")
    assert copies.startswith("would compile the comparison of copies in another HDFS into ")
    assert not cache_dir.exists()


@pytest.mark.parametrize(
    ("name", "jar"),
    [
        ("doors", "fawkes-doors.jar"),
        ("kerberos", "fawkes-secure-io.jar"),
        ("load", "fawkes-load.jar"),
        ("tasks", "fawkes-tasks.jar"),
        ("copies", "fawkes-copies.jar"),
    ],
)
def test_a_dry_run_of_what_is_compiled_says_where_it_would_be(cache_dir: Path, name: str, jar: str) -> None:
    ended = run("get", name, "--dry-run")
    assert ended.stdout.startswith("would compile ")
    assert ended.stdout.endswith(f"/{jar}\n")
    assert not cache_dir.exists()


def test_an_empty_cache(cache_dir: Path) -> None:
    assert run("list").exit_code == 0
    assert json.loads(run("list", "-o", "json").stdout)["rows"] == []
    ended = run("check")
    assert ended.exit_code == 2
    assert "`fawkes dist get` fetches one" in ended.stderr
    assert run("check", "3.5.0").exit_code == 2


def test_damaged_files_are_named(cache_dir: Path) -> None:
    jar = cache_dir / "hadoop-3.5.0/lib/hadoop-common-3.5.0.jar"
    jar.parent.mkdir(parents=True)
    jar.write_text("rot")

    ended = run("check", "3.5.0", "-o", "json")

    rows = json.loads(ended.stdout)["rows"]
    assert {"version": "3.5.0", "file": "lib/hadoop-common-3.5.0.jar", "fault": "damaged"} in rows
    assert len(rows) == cache.wanted_manifest(PINS["3.5.0"]).count("\n") + 1
    assert ended.exit_code == 1
    assert "`fawkes dist get 3.5.0 --again`" in ended.stderr
    listed = json.loads(run("list", "-o", "json").stdout)["rows"]
    assert [(row["version"], row["jars"], row["wrong_files"]) for row in listed] == [("3.5.0", 1, len(rows))]


def test_a_folder_of_the_site_is_checked(tmp_path: Path) -> None:
    folder = unpack_tarball(tmp_path / "hadoop", "3.4.1")

    ended = run("check", str(folder))
    assert ended.exit_code == 1
    assert "jars cannot be opened: share/hadoop/common/hadoop-common-3.4.1-tests.jar" in ended.stderr

    ended = run("check", str(tmp_path))
    assert ended.exit_code == 2
    assert "this is not a Hadoop release" in ended.stderr
