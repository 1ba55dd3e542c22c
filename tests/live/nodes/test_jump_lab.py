"""`fawkes check` of real hosts behind a real jump host."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import ExitStatus
from fawkes.live.lab import Lab, LabSpec, up

pytestmark = pytest.mark.lab

SMALL = 64_000_000


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    site = tmp_path_factory.mktemp("jump") / "lab"
    with up(LabSpec(hosts=2, site=site, nodemanager_memory_bytes=SMALL, disk_bytes=SMALL, jump_hosts=1)) as lab:
        (site / "fawkes.toml").write_text('[ssh]\nconnect_timeout = "5s"\n')
        yield lab


def check(lab: Lab, *words: str) -> subprocess.CompletedProcess[str]:
    return lab.exec([sys.executable, "-m", "fawkes", "check", *words], timeout_s=120)


def problems(done: subprocess.CompletedProcess[str]) -> dict[str, list[tuple[str, str]]]:
    rows: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return {
        row["node"]: [(bad["what"], bad["hint"]) for bad in row["problems"] if bad["level"] == "bad"] for row in rows
    }


def test_nodes_behind_a_jump_host_are_ready(lab: Lab) -> None:
    assert problems(check(lab, "-o", "json")) == {"node01": [], "node02": []}


def test_the_key_of_a_jump_host_is_accepted_by_its_name_and_no_other_key_with_it(lab: Lab) -> None:
    site = Path(lab.site)
    before = (site / "known_hosts").read_text()
    (site / "known_hosts").write_text("")
    try:
        done = check(lab)
        assert done.returncode == ExitStatus.FAILED
        # One line for both of them.
        (line,) = [line for line in done.stdout.splitlines() if "behind login: its host key is not known" in line]
        assert line.startswith("node[01-02]: ssh: ")
        assert "fawkes check --trust login" in done.stdout
        assert "login  login  ssh-" in check(lab, "--trust", "--yes", "login").stderr
        by_node = problems(check(lab, "-o", "json"))
        assert all("its host key is not known" in what for rows in by_node.values() for what, _ in rows)
        assert not any("behind" in what for rows in by_node.values() for what, _ in rows)
        check(lab, "--trust", "--yes", "node[01-02]")
        assert problems(check(lab, "-o", "json")) == {"node01": [], "node02": []}
        assert "the jump hosts login" in check(lab, "node09").stderr
    finally:
        (site / "known_hosts").write_text(before)


@pytest.mark.nightly
def test_a_jump_host_that_is_down_is_told_once_for_all_nodes(lab: Lab) -> None:
    lab.kill("login")
    try:
        done = check(lab)
    finally:
        lab.start("login")
    assert done.returncode == ExitStatus.FAILED
    (line,) = [line for line in done.stdout.splitlines() if "behind login: login port 22 " in line]
    assert line.startswith("node[01-02]: ssh: ")
    assert problems(check(lab, "-o", "json")) == {"node01": [], "node02": []}
