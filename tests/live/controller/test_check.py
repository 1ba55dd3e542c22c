"""`fawkes check` on hosts of a lab that have one fault each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import ExitStatus
from fawkes.live.lab import Lab, LabSpec, up
from tests.live.lab.support import output_of

pytestmark = pytest.mark.lab

DISK = 64_000_000
FAWKES = [sys.executable, "-m", "fawkes"]
Row = dict[str, Any]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    site = tmp_path_factory.mktemp("check") / "lab"
    spec = LabSpec(hosts=6, site=site, nodemanager_memory_bytes=DISK, disk_bytes=DISK)
    with up(spec) as lab:
        (site / "fawkes.toml").write_text('[ssh]\nconnect_timeout = "3s"\n')
        _exchange_key(site / "known_hosts", "node02")
        output_of(lab, "node03", _HIDE_JAVA)
        output_of(lab, "node04", "mkdir -p /srv/fawkes; dd if=/dev/zero of=/srv/fill bs=64k 2>/dev/null; df /srv")
        output_of(lab, "node05", _LISTEN)
        output_of(lab, "node05", "echo 'sleep 1.1' >~/.bashrc")
        lab.kill("node06")
        yield lab


_HIDE_JAVA = (
    'mount -t tmpfs tmpfs /usr/lib/jvm; [ -z "$(command -v java)" ] || mount --bind /bin/false $(command -v java)'
)
_LISTEN = r"""
setsid perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(LocalPort => 9870, Listen => 1) or die; sleep 600' \
    </dev/null >/dev/null 2>&1 &
until grep -q ':268E 00000000:0000 0A' /proc/net/tcp; do kill -0 $! || exit 1; sleep 0.05; done
"""


def _exchange_key(known_hosts: Path, name: str) -> None:
    """Gives a host another key, as a new installation does."""
    key = subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(known_hosts.parent / "other")], check=True
    )
    assert key.returncode == 0
    other = " ".join((known_hosts.parent / "other.pub").read_text().split()[:2])
    lines = known_hosts.read_text().splitlines()
    changed = [f"{line.split()[0]} {other}" if line.startswith(f"{name},") else line for line in lines]
    assert changed != lines
    known_hosts.write_text("\n".join(changed) + "\n")


def fawkes_check(lab: Lab, *words: str) -> subprocess.CompletedProcess[str]:
    return lab.exec([*FAWKES, "check", *words], timeout_s=120)


@pytest.fixture(scope="module")
def rows(lab: Lab) -> dict[str, Row]:
    done = fawkes_check(lab, "-o", "json")
    assert done.returncode == ExitStatus.PARTIAL, done.stderr
    return {row["node"]: row for row in json.loads(done.stdout)["rows"]}


def bad(row: Row) -> dict[str, tuple[str, str]]:
    bad = (problem for problem in row["problems"] if problem["level"] == "bad")
    return {problem["check"]: (problem["what"], problem["hint"]) for problem in bad}


def test_a_host_without_a_fault_has_a_warning_about_its_small_disk(rows: dict[str, Row]) -> None:
    (problem,) = rows["node01"]["problems"]
    assert (problem["check"], problem["level"], rows["node01"]["result"]) == ("disk", "warning", "warnings")
    assert abs(rows["node01"]["clock_us"]) < 1_000_000


def test_a_wrong_host_key(rows: dict[str, Row]) -> None:
    what, hint = bad(rows["node02"])["key"]
    assert "CHANGED" in what
    assert "nothing was sent to it" in what
    assert "ssh-keygen -R" in hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide the machine's Java from a host")
def test_no_java(rows: dict[str, Row]) -> None:
    what, hint = bad(rows["node03"])["java"]
    assert what.startswith(("no Java was found", "the Java in"))
    assert "Hadoop 3.5.0 needs Java 17" in hint


def test_a_full_disk(rows: dict[str, Row]) -> None:
    what, hint = bad(rows["node04"])["disk"]
    assert what.startswith("the disk of /srv/fawkes is full")
    assert hint == "Make room, or move work_dir"


def test_a_port_in_use(rows: dict[str, Row]) -> None:
    what, hint = bad(rows["node05"])["ports"]
    assert what.endswith("9870 (namenode web)")
    assert "ss -ltnp" in hint


def test_a_slow_login_shell(rows: dict[str, Row]) -> None:
    assert [rows[name]["shell"] for name in ("node01", "node05")] == ["ok", "warning"]
    assert rows["node05"]["shell_us"] > 1_100_000


def test_a_host_that_does_not_answer(rows: dict[str, Row]) -> None:
    assert rows["node06"]["result"] == "unreachable"
    assert "does not answer" in bad(rows["node06"])["ssh"][0]


def test_the_names_of_all_hosts_are_known_to_all(rows: dict[str, Row]) -> None:
    assert {rows[name]["names"] for name in ("node01", "node03", "node04", "node05")} == {"ok"}


def test_some_hosts_alone(lab: Lab) -> None:
    assert fawkes_check(lab, "node01").returncode == ExitStatus.DONE
    assert fawkes_check(lab, "node06").returncode == ExitStatus.FAILED


def test_nothing_stays(lab: Lab, rows: dict[str, Row]) -> None:
    assert rows["node01"]["ssh"] == "ok"
    assert "fawkes" not in output_of(lab, "node01", "ls -A /srv /srv/*")
    assert output_of(lab, "node01", "pgrep -x sleep || :") == ""
