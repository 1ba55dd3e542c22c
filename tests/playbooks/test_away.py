"""A node whose disk is not mounted (yet): its bare mount point can be written, and everything is still on the disk."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.base.errors import NodeAwayError
from fawkes.playbook import Exit, Lease, Script, failure
from playbooks import lease as leases
from playbooks import moving, node
from tests.playbooks.conftest import LeaseOf, Ran, ok, sh

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode != 0,
        reason="no mounts here",
    ),
]

Node = Callable[..., Ran]


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """The disk of the node, which belongs on the folder above its work folder."""
    (tmp_path / "disk").mkdir()
    return tmp_path / "disk"


@pytest.fixture
def right(lease_of: LeaseOf, tmp_path: Path, disk: Path) -> Lease:
    """A lease whose work folder is `fawkes` on the mount point `data`."""
    (tmp_path / "data dir").mkdir()
    lease = lease_of()
    return replace(lease, work_dir=lease.work_dir.parent / "data dir" / "fawkes")


def mounted(script: Script, disk: Path, lease: Lease) -> Ran:
    """The end of a script while the disk is mounted."""
    mount = f'mount --bind "{disk}" "{lease.work_dir.parent}" && exec "$@"'
    return sh(script, "unshare", "-rm", "sh", "-c", mount, "sh")


def known(lease: Lease, disk: Path) -> Lease:
    """The lease as the controller has it once it took the node, made its folders, and formatted a NameNode."""
    place = mounted(leases.take(lease), disk, lease).facts["place"]
    assert place == f"{lease.work_dir} on {lease.work_dir.parent}"
    assert mounted(node.prepare(lease), disk, lease).exit == 0
    (disk / "fawkes/clusters/alpha/nn/current").mkdir(parents=True)
    return replace(lease, place=place)


def test_nothing_is_made_or_wiped_where_the_disk_is_away(right: Lease, disk: Path) -> None:
    lease = known(right, disk)
    for script in (leases.take(lease), leases.close(lease), node.prepare(lease), node.wipe(lease), leases.claim(lease)):
        ran = sh(script)
        assert ran.exit == Exit.AWAY
        error = failure("node01", "taking the node", ran.exit, ran.stderr)
        assert isinstance(error, NodeAwayError)
        assert f"{lease.work_dir} was on {lease.work_dir.parent}, and would be on " in str(error)
        assert f"make the file {lease.work_dir}/lies-here" in str(error)
    assert os.listdir(lease.work_dir.parent) == []
    assert "image" not in ok(moving.look(lease))
    assert mounted(leases.take(lease), disk, lease).facts["lease"] == "kept"


@pytest.mark.parametrize("stale", [False, True])
def test_a_work_folder_that_is_there_is_no_proof(right: Lease, disk: Path, stale: bool) -> None:
    """It is the mount point itself, or was used before the disk was put in."""
    lease = known(right, disk)
    os.mkdir(lease.work_dir)
    if stale:
        ok(leases.claim(replace(lease, cluster="", place="")))
    assert sh(leases.close(lease)).exit == Exit.AWAY
    assert "image" not in ok(moving.look(lease))


def test_a_disk_that_was_replaced_is_gone_as_before(right: Lease, disk: Path) -> None:
    lease = known(right, disk)
    subprocess.run(["rm", "-rf", disk / "fawkes"], check=True)
    assert mounted(leases.take(lease), disk, lease).facts["lease"] == "taken"
    assert mounted(node.prepare(lease), disk, lease).exit == 0
    assert mounted(moving.look(lease), disk, lease).facts["image"] == "no"


def test_a_folder_that_was_moved_with_its_lease_is_the_same(right: Lease, disk: Path) -> None:
    lease = known(right, disk)
    subprocess.run(["cp", "-r", disk / "fawkes", lease.work_dir], check=True)
    assert ok(leases.take(lease))["place"] != lease.place


def test_an_administrator_says_that_the_folder_lies_elsewhere_for_good(right: Lease, disk: Path) -> None:
    """Also when the answer of a wipe is lost: the file stays until the controller knows where the folder lies."""
    lease, mark = known(right, disk), Path(right.work_dir) / "lies-here"
    mark.parent.mkdir()
    mark.touch()
    for _ in range(2):
        ok(leases.close(lease))
        ok(node.wipe(lease))
        place = ok(leases.release(lease))["place"]
    ok(leases.take(replace(lease, generation=2, place=place)))
    assert not mark.exists()


def test_another_work_folder_is_compared_with_nothing(right: Lease, disk: Path) -> None:
    lease = known(right, disk)
    assert ok(leases.take(replace(lease, work_dir=lease.work_dir.parent / "other")))["lease"] == "taken"
