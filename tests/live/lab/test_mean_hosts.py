"""Hosts as others set them up: sshd forwards nothing, one session on a connection, noexec, another login shell.

What Fawkes needs works all the same, or `fawkes check` says that it will not.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from fawkes.live.lab import Lab, LabSpec, up
from tests.live.lab.support import output_of
from tests.live.nodes.test_ssh_lab import GOOD, OPENED, Controller
from tests.support.waiting import wait_for

pytestmark = pytest.mark.lab

SSHD = ("AllowTcpForwarding no", "MaxSessions 1")
ROOT = os.geteuid() == 0
_FEW_INODES = "mount -t tmpfs -o nr_inodes=40,size=2g tmpfs /srv; mkdir /srv/fawkes"
_COPIES = "ps -e -o args | grep -c '^cat$\\|[b]ash -c eval' || :"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    site = tmp_path_factory.mktemp("mean") / "lab"
    spec = LabSpec(hosts=2, site=site, nodemanager_memory_bytes=64_000_000, sshd=SSHD, shell="/bin/sh", noexec=True)
    with up(spec) as lab:
        yield lab


@pytest.fixture(scope="module")
def problems(lab: Lab) -> dict[str, dict[str, str]]:
    """The problems by `fawkes check`: check and sentence, for each node."""
    inventory = lab.site / "inventory.toml"
    changed = inventory.read_text().replace("core = true", 'core = true\ndata_address = "10.98.1.1,203.0.113.7"')
    inventory.write_text(changed)
    if ROOT:
        output_of(lab, "node02", _FEW_INODES)
    (lab.site / "clusters").mkdir()
    (lab.site / "clusters/alpha.toml").write_text('masters = "standby"\n')
    done = lab.exec([sys.executable, "-m", "fawkes", "check", "-o", "json"], timeout_s=120)
    rows: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return {
        row["node"]: {bad["check"]: bad["what"] for bad in row["problems"] if bad["level"] == "bad"} for row in rows
    }


def test_a_connection_that_a_host_opens_is_the_same_by_a_session_and_nothing_of_it_stays(lab: Lab) -> None:
    with Controller(lab) as controller:
        assert controller.tell(connect="node01") == {"node01": OPENED}
        wait_for(lambda: output_of(lab, "node01", _COPIES) == "0", "the end of the copies")


def test_many_scripts_at_once_have_connections_of_their_own(lab: Lab) -> None:
    with Controller(lab) as controller:
        for _ in range(3):
            # Four for each host, which all must run for one of them to end.
            script = "echo x >>/tmp/many; until [ $(wc -l </tmp/many) = 4 ]; do sleep 0.02; done; echo fine"
            answers = controller.tell(many=4, script=script, nodes=["node01", "node02"], deadline_s=20)
            assert answers == dict.fromkeys(["node01", "node02"], GOOD)
            assert controller.run("rm /tmp/many; echo fine", "node01", "node02")["node01"] == GOOD


def test_check_says_what_will_not_work_and_nothing_of_what_will(problems: dict[str, dict[str, str]]) -> None:
    noexec = "/srv/fawkes is on a file system that is mounted noexec (/srv)"
    assert set(problems["node01"]) == {"disk"}
    assert problems["node01"]["disk"].startswith(noexec)
    assert set(problems["node02"]) == {"disk", "data"}
    assert problems["node02"]["data"] == "data_address 203.0.113.7 is on no interface of it (it has 10.98.1.2)"


@pytest.mark.skipif(not ROOT, reason="only root can mount on a host")
def test_a_disk_without_inodes_is_told_as_that(problems: dict[str, dict[str, str]]) -> None:
    assert problems["node02"]["disk"].startswith("the file system of /srv/fawkes has too few inodes left: 37 of 40")
