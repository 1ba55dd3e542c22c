"""CPU quotas on two hosts: each has groups of its own, and lifts its limits itself when its cable is cut."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from fawkes.live.lab import Lab, LabSpec, up
from playbooks import lease as leases
from playbooks import node, quota
from tests.live.lab.conftest import SMALL
from tests.live.lab.support import lease, ok, output_of, traces
from tests.support.own_group import own_cpu_group
from tests.support.waiting import wait_for


def _can_limit() -> bool:
    own = own_cpu_group()
    return os.geteuid() == 0 and own is not None and os.access(own, os.W_OK)


pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(not _can_limit(), reason="only root on a machine with cgroup v1 for CPU time can give groups"),
]

CONTAINER = "container_1_0001_01_000002"
HOSTS = ("node01", "node02")
LIMITS = "for f in $(find /sys/fs/cgroup/cpu -path '*fawkes:*' -name cpu.cfs_quota_us); do cat $f; done"
GROUPS = "find /sys/fs/cgroup -name 'fawkes:*'"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab with control groups."""
    site = tmp_path_factory.mktemp("limited") / "lab"
    with up(LabSpec(hosts=2, site=site, nodemanager_memory_bytes=SMALL, control_groups=True)) as lab:
        assert [trace for trace in traces(lab.name) if trace.startswith("cgroup ")]
        yield lab
    assert traces(lab.name) == []


def test_each_host_limits_its_own_containers_and_lifts_its_limits_itself(lab: Lab) -> None:
    rights = {host: lease(host) for host in HOSTS}
    for number, (host, right) in enumerate(rights.items(), start=1):
        assert ok(lab, host, node.check(right.work_dir))["quota"] == "v1"
        ok(lab, host, leases.take(right))
        ok(lab, host, node.prepare(right))
        marks = " ".join(f"{key}={value}" for key, value in right.marks("nodemanager").items())
        output_of(lab, host, f"env {marks} CONTAINER_ID={CONTAINER} setsid sleep 4242 </dev/null >/dev/null 2>&1 &")
        wait_for(lambda host=host: bool(output_of(lab, host, "pgrep -fx 'sleep 4242' || :")), "it")  # type: ignore[misc]
        facts = ok(lab, host, quota.limit(right, {CONTAINER: 10 * number}, lifetime_s=60))
        assert facts[f"quota.{CONTAINER}"] == str(10 * number)
    for number, host in enumerate(HOSTS, start=1):
        assert set(output_of(lab, host, LIMITS).split()) == {"-1", str(2_000 * number)}, "its own groups alone"

    ok(lab, "node01", quota.limit(rights["node01"], {CONTAINER: 5}, lifetime_s=1))
    lab.cut("node01")
    lab.mend("node01")
    wait_for(lambda: "quota" not in output_of(lab, "node01", GROUPS), "the host to lift its limits")
    assert output_of(lab, "node01", "pgrep -fx 'sleep 4242'")

    for host, right in rights.items():
        ok(lab, host, leases.close(right))
        assert ok(lab, host, node.wipe(right, grace_s=0.2))["clean"] == "yes"
        assert output_of(lab, host, GROUPS) == ""
        ok(lab, host, leases.release(right))
