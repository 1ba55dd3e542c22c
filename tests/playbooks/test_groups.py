"""Control groups of leases, by the scripts that nodes get, on a control group of this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fawkes.playbook import Exit, Lease
from playbooks import job, node
from playbooks import lease as leases
from tests.playbooks.conftest import HIDES, LeaseOf, ok, runs, sh
from tests.support.own_group import own_group


def _can_make_groups() -> bool:
    own = own_group()
    return own is not None and os.access(own, os.W_OK)


pytestmark = pytest.mark.skipif(not _can_make_groups(), reason="this user cannot make control groups (cgroup v2) here")


def hidden(lease: Lease) -> int:
    """A process of a job that has ended, by which nothing but its control group can be found."""
    ok(leases.take(lease))
    assert ok(node.prepare(lease))["group"] == "yes"
    ok(job.start(lease, "j", 1, ["/bin/sh", "-c", HIDES]))
    while ok(job.look(lease.folders, "j", 1))["state"] == "running":
        pass
    return int(Path(lease.folders.jobs, "j.1", "stdout").read_text())


def groups(lease: Lease) -> list[Path]:
    own = own_group()
    assert own is not None
    return list(own.glob(f"fawkes:{lease.pool}:*"))


@pytest.mark.slow
def test_what_hides_from_the_marks_does_not_outlive_a_wipe(lease_of: LeaseOf) -> None:
    lease, other = lease_of("alpha"), lease_of("alphabet", node="node02")
    mine = hidden(lease)
    assert ok(node.verify(lease)).all("process") == (str(mine),)
    assert runs(mine)
    assert [group.name for group in groups(lease)] == [f"fawkes:{lease.pool}:node01:alpha"]
    assert ok(node.verify(other))["clean"] == "yes"

    facts = ok(node.wipe(lease, grace_s=0.1))

    assert (facts["killed"], facts["clean"]) == ("1", "yes")
    assert not runs(mine)
    assert groups(lease) == []
    assert not Path(lease.folders.group_file).exists()


@pytest.mark.slow
def test_a_node_is_not_given_back_while_something_is_in_its_group(lease_of: LeaseOf) -> None:
    lease = lease_of()
    mine = hidden(lease)
    refused = sh(leases.release(lease))
    assert refused.exit == Exit.CLEAN_FAILED
    assert f"processes of alpha are left: {mine}" in refused.stderr
    ok(node.wipe(lease, grace_s=0.1))
    assert ok(leases.release(lease))["lease"] == "free"


@pytest.mark.slow
def test_a_lost_record_hides_no_group(lease_of: LeaseOf) -> None:
    """A job of the user for SSH can remove every file of that user."""
    lease = lease_of()
    mine = hidden(lease)
    Path(lease.folders.group_file).unlink()
    assert ok(node.wipe(lease, grace_s=0.1))["killed"] == "1"
    assert not runs(mine)
    assert groups(lease) == []


def test_a_check_leaves_no_group(lease_of: LeaseOf) -> None:
    lease = lease_of()
    assert ok(node.check(lease.work_dir))["group"] == "yes"
    assert groups(lease) == []
