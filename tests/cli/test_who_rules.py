"""The commands themselves, over SSH to a node of this machine: who may start, who is refused, and adopting."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.nodes.playbooks import lease
from fawkes.store.sqlite import LedgerReader
from tests.live.sshd import Sshd, write_key
from tests.support.local_nodes import LocalFleet, node_of

pytestmark = pytest.mark.slow

FAWKES = (sys.executable, "-m", "fawkes")
#: generous: the machine may be busy
LIMIT_S = 120
INVENTORY = """
pool = "pool"
[ssh]
user = "tester"
key = "{key}"
port = {port}
known_hosts = "known_hosts"
[[group]]
name = "all"
nodes = "node01"
address = "127.0.0.1"
cores = 2
memory = "4GB"
disk = "10GB"
work_dir = "{work}"
"""


@dataclass
class Head:
    """A machine with one node, and site folders on it."""

    base: Path
    server: Sshd

    def site(self, name: str) -> Path:
        folder = self.base / name
        folder.mkdir()
        key = write_key(self.server.authorized, folder / "id")
        (folder / "known_hosts").write_text(self.server.known_line())
        work = self.base / "node01"
        (folder / "inventory.toml").write_text(INVENTORY.format(key=key, port=self.server.port, work=work))
        return folder

    def fawkes(self, site: Path, *words: str, code: int, stdin: str = "") -> str:
        """The standard error of a command that must end with ``code``."""
        done = subprocess.run(
            [*FAWKES, "--site", str(site), *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stderr

    @contextmanager
    def running(self, site: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
        """A controller, from when it is in charge; it is asked to stop at the end."""
        process = subprocess.Popen(
            [*FAWKES, "--site", str(site), "run", *words],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        late = threading.Timer(LIMIT_S, process.kill)
        late.start()
        try:
            assert process.stderr is not None
            said = ""
            for line in process.stderr:
                said += line
                if " controls pool " in line:
                    break
            else:
                raise AssertionError(said)
            yield process
            process.send_signal(signal.SIGTERM)
            assert process.wait(LIMIT_S) == 0
        finally:
            late.cancel()
            process.kill()
            process.communicate()

    def lease(self) -> str:
        return (self.base / "node01" / "lease").read_text()

    def steps(self, site: Path) -> tuple[int, int]:
        with closing(LedgerReader(site / "state")) as ledger:
            return ledger.last_seq(), ledger.identity().last_epoch


@pytest.fixture
def head(tmp_path: Path) -> Iterator[Head]:
    with Sshd() as server:
        yield Head(tmp_path, server)


def test_one_pool_from_its_first_start_to_a_copy_that_takes_over(head: Head) -> None:
    site = head.site("site")
    with head.running(site):
        pass
    # The node was handed over and is free again: it knows the controller of that start.
    with closing(LedgerReader(site / "state")) as ledger:
        rules = next(iter(ledger.entries())).event
    ground = LocalFleet([node_of("node01", head.base)]).ground(1, rules.controller, "pool")  # type: ignore[union-attr]
    right = ground.lease(NodeId("node01"), ClusterId("a"), 1)
    ground.run(NodeId("node01"), lease.take(right), "taking")
    ground.run(NodeId("node01"), lease.release(right), "releasing")

    copy = head.base / "copy"
    shutil.copytree(site, copy)
    before = (head.lease(), head.steps(copy))
    # As a copy is made by most tools: what other users could reach is taken from them all the same.
    (copy / "state").chmod(0o755)
    for taken in (True, False):
        refused = head.fawkes(copy, "run", code=7)
        assert "is a copy of a state folder, or was moved" in refused
        assert ("other users could reach 1 files" in refused) is taken
        assert "No node was changed" in refused
    assert "that was not 'pool'" in head.fawkes(copy, "run", "--take-over", code=6, stdin="no\n")
    assert (head.lease(), head.steps(copy)) == before

    with head.running(copy, "--take-over", "--yes"):
        pass
    assert "the nodes know more than this ledger" in head.fawkes(site, "run", "--take-over", "--yes", code=7)

    empty = head.site("empty")
    assert "there is no ledger here, but pool pool has a controller" in head.fawkes(empty, "run", code=7)
    assert not (empty / "state").exists()
    assert "the state folder is not empty" in head.fawkes(copy, "adopt", "--yes", code=6)
    assert "that was not 'pool'" in head.fawkes(empty, "adopt", code=6, stdin="no\n")
    assert not (empty / "state").exists()
    assert "free nodes: node01" in head.fawkes(empty, "adopt", "--yes", code=0)
    with head.running(empty):
        pass
    assert "the nodes know more than this ledger" in head.fawkes(copy, "run", code=7)
