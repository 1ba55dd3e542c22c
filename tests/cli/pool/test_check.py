"""`fawkes check` against an SSH server in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fawkes.base.errors import ExitStatus
from fawkes.cli.main import cli
from tests.live.sshd import Sshd, write_key
from tests.support.programs import program

pytestmark = pytest.mark.slow

Check = Callable[..., Result]


@pytest.fixture
def servers() -> Iterator[list[Sshd]]:
    with Sshd() as first, Sshd() as second:
        yield [first, second]


@pytest.fixture
def site(tmp_path: Path, servers: list[Sshd]) -> Path:
    groups = []
    for number, server in enumerate(servers, 1):
        key = write_key(server.authorized, tmp_path / f"id{number}")
        (tmp_path / f"work{number}").mkdir()
        groups.append(f"""
[[group]]
name = "g{number}"
nodes = "node{number}"
address = "127.0.0.1"
data_address = "127.0.0.{number}"
port = {server.port}
key = "{key.name}"
work_dir = "{tmp_path}/work{number}"
""")
    defaults = 'user = "tester"\ncores = 1\nmemory = "1MB"\ndisk = "1MB"\n'
    (tmp_path / "inventory.toml").write_text(
        'pool = "p"\n[ssh]\nuser = "tester"\n' + "".join(group + defaults for group in groups)
    )
    (tmp_path / "known_hosts").write_text("".join(server.known_line() for server in servers))
    (tmp_path / "fawkes.toml").write_text('[ssh]\nconnect_timeout = "2s"\n')
    return tmp_path


@pytest.fixture
def check(site: Path) -> Check:
    def run_check(*words: str, answers: str | None = None) -> Result:
        return CliRunner().invoke(cli, ["--site", str(site), "check", *words], input=answers)

    return run_check


def rows(result: Result) -> dict[str, dict[str, Any]]:
    return {row["node"]: row for row in json.loads(result.stdout)["rows"]}


def problems(row: dict[str, Any], check: str) -> list[str]:
    return [problem["what"] for problem in row["problems"] if problem["check"] == check]


def test_each_host_has_a_row_and_each_problem_a_line_with_a_hint(check: Check, site: Path) -> None:
    (site / "work2").rmdir()
    (site / "work2").write_text("a file where the folder should be")
    result = check()
    head, *lines = [line.strip() for line in result.stdout.splitlines()]
    assert head.split() == ["node", "result", "Java", "clock", "disk", "what", "to", "look", "at"]
    assert [line.split()[0] for line in lines[1:3]] == ["node1", "node2"]
    assert all("names" in line for line in lines[1:3])
    assert any(line.startswith("node1: names: it is the same machine as node2") for line in lines), lines
    assert any("work2 is there, and is neither a folder nor a link" in line for line in lines), lines


def test_nothing_stays_on_the_hosts(check: Check, site: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file()}
    by_host = rows(check("-o", "json"))
    assert by_host["node1"]["ssh"] == "ok"
    assert not list((site / "work1").iterdir())
    assert {path: path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file()} == before


def test_a_controller_without_room_for_copies_of_what_masters_know(
    check: Check, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fawkes.cli.pool.check.disk_usage", lambda folder: SimpleNamespace(free=255 << 20))
    warning = f"{site}: 267.4 MB are free; below 268.4 MB nothing that masters know is copied. Free some"
    assert warning in check().stderr.splitlines()
    monkeypatch.setattr("fawkes.cli.pool.check.disk_usage", lambda folder: SimpleNamespace(free=256 << 20))
    assert "masters know" not in check().stderr


def test_what_jobs_without_a_user_of_their_own_can_do_is_said_with_the_control_groups(check: Check, site: Path) -> None:
    (site / "clusters").mkdir()
    (site / "clusters" / "alpha.toml").write_text("min_nodes = 1\n")
    result = check("-o", "json")
    assert "alpha has no `run_as`: jobs run as the user for SSH" in result.stderr
    without = {row["no_group"] for row in rows(result).values()}
    words = "node[1-2] have no control groups: " if all(without) else "node[1-2] have control groups: a wipe there ends"
    assert words in result.stderr.replace("\n", " ")


def test_two_names_for_one_machine_with_one_work_folder(check: Check, site: Path) -> None:
    text = (site / "inventory.toml").read_text()
    (site / "inventory.toml").write_text(text.replace("/work2", "/work1"))
    by_host = rows(check("-o", "json"))
    assert any("the same machine as node2" in what for what in problems(by_host["node1"], "names"))
    assert any("shares its work folder" in what and "with node1" in what for what in problems(by_host["node2"], "disk"))


def test_a_java_that_is_not_where_the_inventory_says(check: Check, site: Path) -> None:
    text = (site / "inventory.toml").read_text()
    (site / "inventory.toml").write_text(f'{text}\n[node.node1]\njava_home = "/no/java"\n')
    row = rows(check("node1", "-o", "json"))["node1"]
    assert problems(row, "java") == ["there is no Java in /no/java (no bin/java that can be run)"]
    assert "correct java_home" in next(problem["hint"] for problem in row["problems"] if problem["check"] == "java")


def test_a_release_that_needs_another_java(check: Check, site: Path, servers: list[Sshd]) -> None:
    home = site / "jdk"
    program(home / "bin" / "java", "")
    (home / "release").write_text('JAVA_VERSION="11.0.2"\n')
    (site / "clusters").mkdir()
    (site / "clusters" / "old.toml").write_text('min_nodes = 1\nhadoop_version = "3.4.2"\n')
    text = (site / "inventory.toml").read_text()
    (site / "inventory.toml").write_text(f'{text}\n[node.node1]\njava_home = "{home}"\n')
    assert rows(check("node1", "-o", "json"))["node1"]["java_version"] == 11
    (site / "clusters" / "new.toml").write_text("min_nodes = 1\n")
    assert problems(rows(check("node1", "-o", "json"))["node1"], "java") == [f"the Java in {home} is version 11"]


def test_a_host_that_does_not_answer_leaves_the_others_alone(check: Check, servers: list[Sshd]) -> None:
    servers[1].close()
    by_host = rows(check("-o", "json"))
    assert by_host["node2"]["result"] == "unreachable"
    assert "refuses connections" in problems(by_host["node2"], "ssh")[0]
    assert by_host["node1"]["ssh"] == "ok"
    assert (by_host["node2"]["key"], by_host["node2"]["java"]) == (None, None)


def test_none_fits(check: Check, servers: list[Sshd]) -> None:
    for server in servers:
        server.close()
    result = check()
    assert result.exit_code == ExitStatus.FAILED
    assert "0 of 2 hosts are ready" in result.stderr


def test_a_changed_key_is_told_and_never_trusted(check: Check, site: Path, servers: list[Sshd]) -> None:
    first, second = (server.known_line() for server in servers)
    changed = f"{first.split()[0]} {second.split(' ', 1)[1]}"
    (site / "known_hosts").write_text(changed + second)
    result = check("--trust", "--yes", "-o", "json")
    row = rows(result)["node1"]
    assert (row["result"], row["key"]) == ("unreachable", "bad")
    assert "CHANGED" in problems(row, "key")[0]
    assert (site / "known_hosts").read_text() == changed + second
    assert not servers[0].logins


class TestUnknownKeys:
    @pytest.fixture(autouse=True)
    def _forgotten(self, site: Path, servers: list[Sshd]) -> None:
        (site / "known_hosts").write_text(servers[1].known_line())

    def test_they_are_told_with_what_to_do(self, check: Check, servers: list[Sshd]) -> None:
        row = rows(check("-o", "json"))["node1"]
        assert servers[0].host_key.fingerprint in problems(row, "key")[0]
        assert "fawkes check --trust node1" in row["problems"][0]["hint"]

    def test_trust_shows_them_and_asks(self, check: Check, site: Path, servers: list[Sshd]) -> None:
        result = check("--trust", answers="yes\n")
        assert servers[0].host_key.fingerprint in result.stderr
        assert servers[0].known_line() in (site / "known_hosts").read_text()
        assert servers[0].logins

    def test_without_an_answer_nothing_is_trusted(self, check: Check, site: Path, servers: list[Sshd]) -> None:
        result = check("--trust")
        assert result.exit_code == ExitStatus.REFUSED
        assert (site / "known_hosts").read_text() == servers[1].known_line()

    def test_nothing_to_trust_is_said(self, check: Check) -> None:
        assert "no more host keys to accept" in check("node2", "--trust", "--yes").stderr


@pytest.mark.parametrize(("nodes", "what"), [("node9", "no node node9"), ("node[1-", "node[1-")])
def test_nodes_that_are_not_there(check: Check, nodes: str, what: str) -> None:
    result = check(nodes)
    assert result.exit_code == ExitStatus.USAGE
    assert what in result.stderr
