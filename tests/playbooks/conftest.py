from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from uuid import uuid4

import pytest

from fawkes.playbook import Facts, Lease, Script, read_facts
from playbooks import lease as leases
from playbooks import node

#: sheds environment, session and working folder, and says who it is
HIDES = "env -i setsid sh -c 'cd /; trap \"\" TERM; echo $$; exec sleep 1000' 2>/dev/null </dev/null & sleep 0.3"


@dataclass(frozen=True)
class Ran:
    exit: int
    stdout: str
    stderr: str

    @property
    def facts(self) -> Facts:
        return read_facts(self.stdout)


def sh(script: Script, *before: str, path: str = os.environ["PATH"]) -> Ran:
    """Run a script as the nodes do, on this machine; ``before`` are the words before their shell."""
    done = subprocess.run(
        [*before, "/bin/sh", "-s"],
        input="{\n" + script.text + "\n} </dev/null\n",
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def ok(script: Script) -> Facts:
    ran = sh(script)
    assert ran.exit == 0, ran
    return ran.facts


def runs(pid: int) -> bool:
    """True if a process runs; one that has ended and was not waited for has no command line."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False


LeaseOf = Callable[..., Lease]


@pytest.fixture
def lease_of(tmp_path: Path) -> Iterator[LeaseOf]:
    """Leases on a "node" in a folder of this machine; whatever runs under them is ended afterwards."""
    pool = f"pool-{uuid4().hex[:8]}"
    made: list[Lease] = []

    def make(
        cluster: str = "alpha",
        *,
        generation: int = 1,
        epoch: int = 3,
        controller: str = "c1",
        pool: str = pool,
        node: str = "node01",
    ) -> Lease:
        lease = Lease(
            node=node,
            work_dir=PurePosixPath(tmp_path / "wörk dir"),
            pool=pool,
            cluster=cluster,
            generation=generation,
            epoch=epoch,
            controller=controller,
        )
        made.append(lease)
        return lease

    yield make
    for lease in {right.cluster: right for right in made if right.cluster}.values():
        left = sh(node.verify(lease)).facts.all("process")
        for pid in left:
            subprocess.run(["kill", "-KILL", pid], check=False)


@pytest.fixture
def taken(lease_of: LeaseOf) -> Lease:
    """The lease of a node that was taken."""
    lease = lease_of()
    ok(leases.take(lease))
    return lease


@pytest.fixture
def lease(taken: Lease) -> Lease:
    """The lease of a node that was taken and has its folders."""
    ok(node.prepare(taken))
    return taken
