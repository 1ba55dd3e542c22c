from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from uuid import uuid4

import pytest

from fawkes.playbook import Facts, Lease, Script, read_facts
from playbooks import lease as leases
from playbooks import node


@dataclass(frozen=True)
class Ran:
    exit: int
    stdout: str
    stderr: str

    @property
    def facts(self) -> Facts:
        return read_facts(self.stdout)


def sh(script: Script) -> Ran:
    """Run a script as the nodes do, on this machine."""
    done = subprocess.run(
        ["/bin/sh", "-s"],
        input="{\n" + script.text + "\n} </dev/null\n",
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
def lease(lease_of: LeaseOf) -> Lease:
    """The lease of a node that was taken and has its folders."""
    lease = lease_of()
    ok(leases.take(lease))
    ok(node.prepare(lease))
    return lease
