"""Control groups of leases, on hosts that have some: what hides from the marks does not outlive a wipe."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from fawkes.live.lab import Lab, LabSpec, up
from fawkes.playbook import Exit, Facts, Lease
from playbooks import hadoop, job, node
from playbooks import lease as leases
from tests.live.lab.conftest import SMALL
from tests.live.lab.support import lease, ok, on_host, output_of, traces, tried
from tests.support.own_group import mount_point, own_group


def _can_make_groups() -> bool:
    own = own_group()
    return os.geteuid() == 0 and own is not None and os.access(own, os.W_OK)


pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(not _can_make_groups(), reason="only root on a machine with cgroup v2 can give hosts groups"),
]

HOST = "node01"
GROUPS = "find /sys/fs/cgroup -name 'fawkes:*'"

#: sheds environment, session, working folder and its parent, and goes into a group below
HIDES = r"""
env -i setsid /bin/sh -c 'cd /; trap "" TERM HUP
    below=$(find /sys/fs/cgroup -name "fawkes:*")/below; mkdir "$below"; echo 0 >"$below/cgroup.procs"
    exec sleep 4242' </dev/null >/dev/null 2>&1 &
sleep 0.5
"""


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab whose hosts have control groups."""
    site = tmp_path_factory.mktemp("grouped") / "lab"
    spec = LabSpec(hosts=2, site=site, nodemanager_memory_bytes=SMALL, users=("alpha",), control_groups=True)
    with up(spec) as lab:
        yield lab
    assert traces(lab.name) == []


def ran(lab: Lab, right: Lease, script: str) -> None:
    """Run a script as a job of the MR-cluster, to its end."""
    ok(lab, HOST, job.start(right, "j", 1, ["/bin/sh", "-c", script]))
    while (seen := ok(lab, HOST, job.look(right.folders, "j", 1)))["state"] == "running":
        pass
    assert (seen["state"], seen["exit"]) == ("finished", "0"), output_of(
        lab, HOST, f"cat {right.folders.jobs}/j.1/std*"
    )


def sleepers(lab: Lab) -> str:
    return output_of(lab, HOST, "pgrep -fx 'sleep 4242' || :")


def taken(lab: Lab, right: Lease, user: str = "") -> Facts:
    ok(lab, HOST, leases.take(right))
    return ok(lab, HOST, node.prepare(right, user, "remove"))


@pytest.mark.parametrize("user", ["", pytest.param("alpha", marks=pytest.mark.nightly)])
def test_what_hides_from_the_marks_does_not_outlive_a_wipe(grouped: Lab, user: str) -> None:
    right = lease(HOST)
    assert taken(grouped, right, user)["group"] == "yes"
    ran(grouped, right, HIDES.replace("mkdir", ":").replace("echo 0 >", ": ") if user else HIDES)
    hidden = sleepers(grouped)
    assert hidden
    assert f"fawkes:p:{HOST}:first" in output_of(grouped, HOST, f"cat /proc/{hidden}/cgroup")
    assert "FAWKES" not in output_of(grouped, HOST, f"tr '\\0' '\\n' </proc/{hidden}/environ")
    assert ok(grouped, HOST, node.verify(right)).all("process") == (hidden,)

    ok(grouped, HOST, leases.close(right))
    refused = tried(grouped, HOST, leases.release(right))
    assert refused.returncode == Exit.CLEAN_FAILED
    facts = ok(grouped, HOST, node.wipe(right, grace_s=0.2))
    ok(grouped, HOST, leases.release(right))

    assert (facts["killed"], facts["clean"]) == ("1", "yes")
    assert sleepers(grouped) == ""
    assert output_of(grouped, HOST, GROUPS) == ""
    assert output_of(grouped, HOST, f"[ ! -e {right.work_dir}/groups ] || echo there") == ""


def test_daemons_are_in_the_group_and_those_of_others_are_left_alone(grouped: Lab) -> None:
    # Of another pool: a second site of the same one gets no node on which the first has processes.
    right, other = lease(HOST), replace(lease(HOST, "other"), pool="q")
    for each in (right, other):
        taken(grouped, each)
        daemon = hadoop.Daemon("datanode", ["/bin/sleep", "4242"])
        assert ok(grouped, HOST, hadoop.start(each, [daemon]))["daemon.datanode"] == "started"
    groups = output_of(
        grouped, HOST, "for p in $(pgrep -fx '/bin/sleep 4242'); do sed -n s/^0:://p /proc/$p/cgroup; done"
    )
    names = sorted(group.rpartition("/")[2] for group in groups.split())
    assert names == [f"fawkes:{each.pool}:{HOST}:{each.cluster}" for each in (right, other)]
    for each, left in ((right, 1), (other, 0)):
        ok(grouped, HOST, leases.close(each))
        assert ok(grouped, HOST, node.wipe(each, grace_s=0.2))["killed"] == "1"
        assert len(output_of(grouped, HOST, "pgrep -fx '/bin/sleep 4242' || :").split()) == left


def test_a_group_that_nobody_can_see_any_more_is_not_empty(grouped: Lab) -> None:
    right = lease(HOST)
    taken(grouped, right)
    ok(grouped, HOST, leases.close(right))
    hidden = f"unshare --mount /bin/sh -c 'mount -t tmpfs none {mount_point()}; exec /bin/sh -s' <<'WIPE'\n"
    done = on_host(grouped, HOST, hidden + "{\n" + node.wipe(right).text + "\n} </dev/null\nWIPE\n")
    assert done.returncode == Exit.CLEAN_FAILED, done
    assert "it is not known what is left in the control group of first" in done.stderr
    ok(grouped, HOST, node.wipe(right))


@pytest.mark.nightly
def test_a_host_that_lost_its_groups_goes_on_and_says_so(grouped: Lab) -> None:
    """After a power failure another group may be the one of the SSH session: the next deployment chooses anew."""
    right = lease(HOST)
    taken(grouped, right)
    record = f"{right.work_dir}/groups/first"
    output_of(grouped, HOST, f"{GROUPS} -delete; echo folder /sys/fs/cgroup/no/such >{record}")
    facts = ok(grouped, HOST, hadoop.start(right, [hadoop.Daemon("datanode", ["/bin/sleep", "4242"])]))
    assert (facts["daemon.datanode"], facts["group"]) == ("started", "no")
    assert "cannot be entered" in facts["group.why"]
    assert taken(grouped, right)["group"] == "yes"
    ok(grouped, HOST, leases.close(right))
    ok(grouped, HOST, node.wipe(right, grace_s=0.2))


def test_check_says_whether_a_lease_gets_a_group(grouped: Lab, lab: Lab) -> None:
    facts = ok(grouped, HOST, node.check(PurePosixPath("/srv/fawkes")))
    assert facts["group"] == "yes"
    assert output_of(grouped, HOST, GROUPS) == ""
    without = ok(lab, HOST, node.check(PurePosixPath("/srv/fawkes")))
    assert without["group"] == "no"
    assert without["group.why"].startswith("root cannot make and enter a control group below /sys/fs/cgroup")


def test_a_host_that_is_powered_on_again_begins_without_groups(grouped: Lab) -> None:
    taken(grouped, lease(HOST))
    assert output_of(grouped, HOST, GROUPS)
    grouped.kill(HOST)
    grouped.start(HOST)
    assert output_of(grouped, HOST, GROUPS) == ""


def test_a_killed_lab_leaves_groups_that_down_removes(tmp_path: Path) -> None:
    spec = LabSpec(hosts=1, site=tmp_path / "lab", nodemanager_memory_bytes=SMALL, control_groups=True)
    with up(spec) as lab:
        left = [trace for trace in traces(lab.name) if trace.startswith("cgroup ")]
        assert left
    assert traces(lab.name) == []
