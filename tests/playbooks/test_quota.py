"""CPU quotas of containers, by the scripts that nodes get, on control groups of this machine and where there are none.

The containers sleep: what a limit does to a busy one is measured by `python -m bench quota`.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from fawkes.base.errors import UserError
from fawkes.playbook import Exit, Facts, Lease, quota_functions, reading
from playbooks import lease as leases
from playbooks import node, quota
from tests.playbooks.conftest import LeaseOf, ok, sh
from tests.support.own_group import own_cpu_group, own_group
from tests.support.waiting import wait_for

ONE, OTHER = "container_1700000000000_0001_01_000002", "container_e7_1700000000000_0002_01_000003"
#: tests on a slow machine take longer than the guard of a node waits
limit, renew = partial(quota.limit, lifetime_s=600), partial(quota.renew, lifetime_s=600)
#: a parent, a child with the marks, and one that has shed them
TREE = "sleep 1000 & env -i sh -c 'sleep 1000; :' & wait"


def _limits_below(folder: Path) -> bool:
    """True if groups of version 2 below can limit CPU time: the root's can, and those of a group without processes."""
    there = {name: folder / f"cgroup.{name}" for name in ("controllers", "subtree_control", "type")}
    has_cpu = there["subtree_control" if there["type"].exists() else "controllers"]
    return has_cpu.exists() and "cpu" in has_cpu.read_text().split() and os.access(folder, os.W_OK)


def _limiting() -> tuple[str, Path] | None:
    """The version of control groups that limits CPU time on this machine, and where groups are made; None without any.

    Systemd, where groups are units, is tested with scopes.
    """
    if Path("/run/systemd/system").is_dir():
        return None
    own = own_group() or Path("/")
    for folder in (own, *own.parents):
        if _limits_below(folder):
            return "v2", folder
    one = own_cpu_group()
    return ("v1", one) if one is not None and os.access(one, os.W_OK) else None


VERSION, OWN = _limiting() or ("", Path())
limiting = pytest.mark.skipif(not VERSION, reason="this user cannot make control groups for CPU time here")


def children(pid: int) -> set[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
    return {int(child) for child in found.split()}


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@dataclass
class Container:
    """Processes as YARN's NodeManager starts them: a tree with the marks of the MR-cluster and the container's id."""

    lease: Lease
    id: str = ONE
    program: str = TREE
    processes: int = 4

    def __post_init__(self) -> None:
        env = {**os.environ, **self.lease.marks("nodemanager"), "CONTAINER_ID": self.id}
        self.process = subprocess.Popen(["/bin/sh", "-c", self.program], env=env, start_new_session=True)
        wait_for(lambda: len(self.tree) == self.processes, "the tree of a container")

    @property
    def tree(self) -> set[int]:
        first = children(self.process.pid)
        return {self.process.pid, *first, *(below for pid in first for below in children(pid))}

    @property
    def states(self) -> set[str]:
        return {state_of(pid) for pid in self.tree}

    def end(self) -> None:
        with_all = self.tree if self.process.poll() is None else set()
        for pid in with_all:
            with suppress(ProcessLookupError):  # a shell ends with the last that it waited for
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def container(lease: Lease) -> Iterator[Container]:
    made = Container(lease)
    yield made
    sh(quota.lift(lease))
    made.end()
    assert not base(lease).exists()


@pytest.fixture
def none(tmp_path: Path) -> PurePosixPath:
    """A node that shows no control groups."""
    proc = tmp_path / "proc"
    proc.mkdir()
    for name in ("mountinfo", "cgroup"):
        (proc / name).write_text("")
    return PurePosixPath(proc)


def base(lease: Lease) -> Path:
    return OWN / f"fawkes:{lease.pool}:node01:{lease.cluster}:quota"


def home() -> Path:
    """The group that containers start in, as this process is in it."""
    found = own_group() if VERSION == "v2" else OWN
    assert found is not None
    return found


def limits(group: Path) -> tuple[int, int]:
    """The amount, -1 without a limit, and the period in the kernel's microseconds."""
    if VERSION == "v2":
        amount, period = (group / "cpu.max").read_text().split()
        return -1 if amount == "max" else int(amount), int(period)
    return int((group / "cpu.cfs_quota_us").read_text()), int((group / "cpu.cfs_period_us").read_text())


def limit_by_hand(group: Path, amount: int) -> None:
    (group / ("cpu.max" if VERSION == "v2" else "cpu.cfs_quota_us")).write_text(str(amount))


def members(group: Path) -> set[int]:
    return {int(pid) for pid in (group / "cgroup.procs").read_text().split()}


def quotas(facts: Facts) -> dict[str, str]:
    return facts.under("quota")


@limiting
def test_a_container_with_all_its_processes_gets_a_group_and_a_limit_that_is_read_back(
    container: Container, lease: Lease
) -> None:
    facts = ok(limit(lease, {ONE: 25, OTHER: 10}))
    assert (facts["quota"], quotas(facts)) == (VERSION, {ONE: "25", OTHER: "gone"})
    group = base(lease) / ONE
    assert limits(group) == (5000, 20_000)
    assert members(group) == container.tree
    # The kernel takes no amount below a millisecond.
    for wanted, told, kernel in (
        (5, "5", (1000, 20_000)),
        (0, "1", (1000, 100_000)),
        (4, "4", (4000, 100_000)),
        (250, "250", (50_000, 20_000)),
        (None, "max", (-1, 20_000)),
    ):
        assert quotas(ok(limit(lease, {ONE: wanted}))) == {ONE: told}
        assert limits(group) == kernel


@limiting
def test_a_renewal_sets_the_same_while_nothing_is_new_and_else_says_that_a_limit_is_due(
    container: Container, lease: Lease
) -> None:
    def due(right: Lease = lease, name: str = ONE, hundredths: int = 5) -> bool:
        facts = ok(renew(right, {name: hundredths}))
        return dict(facts) == {"due": "yes"}

    assert due(), "there is no guard"
    ok(limit(lease, {ONE: 25}))
    group = base(lease) / ONE
    for wanted, told, kernel in ((5, "5", 1000), (150, "150", 30_000), (None, "max", -1), (30, "30", 6000)):
        facts = ok(renew(lease, {ONE: wanted, OTHER: None}))
        assert (facts["quota"], quotas(facts)) == (VERSION, {ONE: told, OTHER: "max"})
        assert limits(group) == (kernel, 20_000)
    assert renew(lease, {ONE: 5}).brief, "it starts no process, so that a watch would cost more than it does"
    assert due(hundredths=4), "its period of the kernel is another"
    others: list[dict[str, Any]] = [{"epoch": 4}, {"controller": "c2"}, {"generation": 2}, {"pool": "x"}, {"node": "n"}]
    assert all(due(replace(lease, **other)) for other in others)
    assert due(name=OTHER)
    limit_by_hand(base(lease), 40000)
    assert due(hundredths=50)
    assert not due(hundredths=40)
    assert dict(ok(renew(lease, {ONE: 30}, lifetime_s=0))) == {"due": "yes"}, "its time had passed meanwhile"
    (Path(lease.folders.quotas) / "scanned").write_text("0\n")
    assert due(), "a look for strays"
    ok(limit(lease, {ONE: 30}))
    guard = int(Path(lease.folders.quotas, "guard").read_text().split()[0])
    os.kill(guard, signal.SIGKILL)
    wait_for(due, "the end of the guard")
    ok(leases.close(lease))
    assert due()
    ok(node.wipe(lease, grace_s=0.1))


@limiting
def test_a_stray_process_is_brought_into_the_group_and_a_dead_container_is_gone(
    container: Container, lease: Lease
) -> None:
    ok(limit(lease, {ONE: 25}))
    stray = Container(lease)
    Path(lease.folders.quotas, "scanned").unlink()  # as after some seconds
    ok(limit(lease, {ONE: 25}))
    assert members(base(lease) / ONE) == container.tree | stray.tree
    for each in (stray, container):
        each.end()
    wait_for(lambda: not members(base(lease) / ONE), "the end of the container")
    assert quotas(ok(limit(lease, {ONE: 25}))) == {ONE: "gone"}
    assert not (base(lease) / ONE).exists()


@limiting
def test_the_guard_lifts_all_limits_when_no_more_are_set(container: Container, lease: Lease) -> None:
    ok(limit(lease, {ONE: 5}))
    ok(limit(lease, {ONE: 5}, lifetime_s=0.3))
    wait_for(lambda: not base(lease).exists(), "the guard to lift the limits")
    wait_for(lambda: not Path(lease.folders.quotas).exists(), "the end of the guard")
    assert container.process.poll() is None
    assert container.tree <= members(home()), "processes go back to the group that they came from"


@limiting
def test_a_lift_takes_everything_back_also_after_the_guard_was_killed(container: Container, lease: Lease) -> None:
    for killed in (False, True):
        ok(limit(lease, {ONE: 5}))
        guard = int(Path(lease.folders.quotas, "guard").read_text().split()[0])
        if killed:
            os.kill(guard, signal.SIGKILL)
        assert ok(quota.lift(lease))["quota"] == "lifted"
        assert not base(lease).exists()
        assert not Path(lease.folders.quotas).exists()
        wait_for(lambda pid=guard: not Path(f"/proc/{pid}/cwd").exists(), "the end of the guard")  # type: ignore[misc]
    assert len(container.tree) == 4


@limiting
def test_a_limit_needs_no_lock_but_the_lease(container: Container, lease: Lease) -> None:
    with subprocess.Popen(
        ["flock", f"{lease.work_dir}/.lock", "sh", "-c", "echo held; exec cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert quotas(ok(limit(lease, {ONE: 25}))) == {ONE: "25"}
        assert holder.stdin is not None
        holder.stdin.close()
    ok(leases.close(lease))
    refused = sh(limit(lease, {ONE: 50}))
    assert refused.exit == Exit.CLOSED
    assert limits(base(lease) / ONE) == (5000, 20_000), "its guard lifts that soon"
    ok(node.wipe(lease, grace_s=0.1))


@pytest.mark.parametrize(
    ("other", "code"),
    [
        ({"epoch": 2}, Exit.FENCED),
        ({"controller": "c2"}, Exit.FENCED),
        ({"generation": 2}, Exit.HELD),
        ({"cluster": "beta"}, Exit.HELD),
        ({"pool": "another"}, Exit.FOREIGN),
        ({"node": "node02"}, Exit.SHARED_FOLDER),
    ],
    ids=str,
)
def test_whoever_does_not_hold_the_node_limits_and_lifts_nothing(
    lease: Lease, other: dict[str, Any], code: Exit
) -> None:
    for script in (limit(replace(lease, **other), {ONE: 5}), quota.lift(replace(lease, **other))):
        assert sh(script).exit == code
    assert not Path(lease.folders.quotas).exists()


def test_a_free_node_and_a_damaged_lease_are_refused(lease_of: LeaseOf) -> None:
    lease = lease_of()
    assert sh(limit(lease, {})).exit == Exit.NOT_TAKEN
    ok(leases.take(lease))
    Path(lease.work_dir, "lease").write_text("garbage\n")
    assert sh(limit(lease, {})).exit == Exit.DAMAGED


@pytest.mark.skipif(VERSION != "v1", reason="version 2 takes a limit beyond that of the group above")
def test_a_limit_that_the_kernel_refuses_is_denied_with_its_reason(container: Container, lease: Lease) -> None:
    ok(limit(lease, {ONE: 5}))
    limit_by_hand(base(lease), 10000)
    facts = ok(limit(lease, {ONE: 50, OTHER: 5}))
    assert quotas(facts) == {ONE: "denied", OTHER: "gone"}
    assert facts[f"why.{ONE}"] in ("Invalid argument", "I/O error")
    assert limits(base(lease) / ONE) == (1000, 20_000)


@limiting
def test_groups_that_vanish_are_made_again(container: Container, lease: Lease) -> None:
    group = base(lease) / ONE
    ok(limit(lease, {ONE: 5}))
    for vanished in (group, base(lease)):
        for pid in members(group):
            (home() / "cgroup.procs").write_text(str(pid))
        group.rmdir()
        if vanished == base(lease):
            vanished.rmdir()
        assert quotas(ok(limit(lease, {ONE: 20}))) == {ONE: "20"}
        assert members(group) == container.tree
        assert limits(group) == (4000, 20_000)


@pytest.fixture
def v2(none: PurePosixPath, tmp_path: Path) -> Path:
    """A folder stands for the hierarchy of version 2: its files keep what is written, and no process moves."""
    root = tmp_path / "cgroup"
    own = root / "user.slice"
    own.mkdir(parents=True)
    (root / "cgroup.controllers").write_text("cpuset cpu io\n")
    (own / "cgroup.controllers").write_text("io\n")
    for folder in (root, own):
        (folder / "cgroup.subtree_control").write_text("\n")
    Path(none, "mountinfo").write_text(f"30 24 0:26 / {root} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n")
    Path(none, "cgroup").write_text("1:name=systemd:/x\n0::/user.slice\n")
    return root


def test_groups_of_version_2_are_made_where_the_cpu_controller_is(
    container: Container, lease: Lease, none: PurePosixPath, v2: Path
) -> None:
    # The session's own group cannot limit CPU time: the next one above can.
    group = v2 / f"fawkes:{lease.pool}:node01:alpha:quota" / ONE
    for wanted, kernel in ((5, "1000 20000\n"), (150, "30000 20000\n"), (None, "max 100000\n")):
        facts = ok(limit(lease, {ONE: wanted}, proc=none))
        assert facts["quota"] == "v2"
        assert quotas(facts) == {ONE: "max" if wanted is None else str(wanted)}
        assert (group / "cpu.max").read_text() == kernel
    assert (v2 / "cgroup.subtree_control").read_text() == "+cpu\n"
    assert (group.parent / "cgroup.subtree_control").read_text() == "+cpu\n"
    assert int((group / "cgroup.procs").read_text()) in container.tree
    ok(limit(lease, {ONE: 5}, proc=none))
    ok(quota.lift(lease))
    assert (group / "cpu.max").read_text() == "max 100000\n"


@pytest.mark.parametrize("full", [False, True])
def test_a_container_that_gets_no_group_or_cannot_enter_it_is_denied_and_not_gone(
    container: Container, lease: Lease, none: PurePosixPath, v2: Path, *, full: bool
) -> None:
    ok(limit(lease, {}, proc=none))
    group = v2 / f"fawkes:{lease.pool}:node01:alpha:quota" / ONE
    if full:
        group.touch()
    else:
        (group / "cgroup.procs").mkdir(parents=True)
    facts = ok(limit(lease, {ONE: 5}, proc=none))
    assert quotas(facts) == {ONE: "denied"}
    assert facts[f"why.{ONE}"] == ("File exists" if full else "its processes cannot be moved into a group")


def test_without_control_groups_processes_are_stopped_and_go_on_and_none_stays_stopped(
    container: Container, lease: Lease, none: PurePosixPath
) -> None:
    busy = Container(lease, OTHER, "while :; do :; done", 1)
    facts = ok(limit(lease, {ONE: 1, OTHER: 1, f"{ONE}3": 50}, proc=none))
    assert (facts["quota"], quotas(facts)) == ("stop", {ONE: "1", OTHER: "1", f"{ONE}3": "gone"})
    state = Path(lease.folders.quotas, f"stop.{ONE}")
    assert {int(line.split()[0]) for line in state.read_text().splitlines()[1:]} == container.tree
    wait_for(lambda: busy.states == {"T"}, "the guard to stop a busy container")
    busy.end()
    # Sleeping processes use nothing, so that the guard stops them for a moment only: here they are stopped for it.
    for end in ("lift", "killed", "expired"):
        ok(limit(lease, {ONE: 1}, proc=none))
        guard = int(Path(lease.folders.quotas, "guard").read_text().split()[0])
        if end == "killed":
            os.kill(guard, signal.SIGKILL)
        for pid in container.tree:
            os.kill(pid, signal.SIGSTOP)
        if end == "expired":
            Path(lease.folders.quotas, "stamp").write_text("0 0\n")
        else:
            ok(quota.lift(lease))
        wait_for(lambda: container.states == {"S"}, f"a container that goes on ({end})")
        wait_for(lambda: not Path(lease.folders.quotas).exists(), f"the end of the guard ({end})")


@limiting
@pytest.mark.parametrize("stop", [False, True], ids=["groups", "stop"])
def test_a_wipe_leaves_no_group_no_guard_and_no_process(lease: Lease, none: PurePosixPath, *, stop: bool) -> None:
    container = Container(lease)
    tree = container.tree
    proc = none if stop else PurePosixPath("/proc/self")
    assert quotas(ok(limit(lease, {ONE: 1}, proc=proc))) == {ONE: "1"}
    if stop:
        for pid in tree:
            os.kill(pid, signal.SIGSTOP)
    else:
        # The child that has shed its marks is known by the group alone.
        assert len(tree) == len(ok(node.verify(lease)).all("process")) - 2
    ok(leases.close(lease))
    assert ok(node.wipe(lease, grace_s=1))["clean"] == "yes"
    assert not base(lease).exists()
    assert not Path(lease.work_dir, "quotas").exists()
    container.process.wait()
    left = {pid for pid in tree if Path(f"/proc/{pid}/cwd").exists()}
    if stop:
        assert all(state_of(pid) != "T" for pid in left)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    else:
        assert left == set()
    assert ok(leases.release(lease))["lease"] == "free"


def test_a_limit_that_meets_a_wipe_leaves_nothing(container: Container, lease: Lease) -> None:
    """It had looked at the lease before the MR-cluster was told to leave."""
    script = limit(lease, {ONE: 5})
    close = f"sed -i s/^closed=.*/closed=1/ '{lease.work_dir}/lease'\n"
    refused = sh(replace(script, text=script.text.replace('look "$@"\n', f'look "$@"\n{close}')))
    assert refused.exit == Exit.CLOSED
    assert not Path(lease.folders.quotas).exists()
    assert not base(lease).exists()


@pytest.mark.parametrize(
    ("mounted", "why"),
    [
        ("", "as root there: mount -t cgroup2 none /sys/fs/cgroup"),
        ("1 1 0:1 / /proc rw - cgroup cgroup rw,cpu,cpuacct\n", "as root there: mount -o remount,rw /proc"),
        (
            "1 1 0:1 / /proc ro - cgroup cgroup rw,memory\n1 1 0:1 /else /proc rw - cgroup2 cgroup2 rw\n",
            "as root there: mount -t cgroup2 none /sys/fs/cgroup",
        ),
    ],
    ids=["nothing", "v1 read-only", "others"],
)
@pytest.mark.skipif(os.geteuid() != 0, reason="the commands of root are others than those for a user")
def test_a_check_says_what_an_administrator_has_to_do(
    lease: Lease, none: PurePosixPath, mounted: str, why: str
) -> None:
    Path(none, "mountinfo").write_text(mounted)
    Path(none, "cgroup").write_text("4:cpuacct,cpu:/\n0::/\n")
    look = '{functions}\nproc={proc}; group=; find_quota trial; fact quota $quota; fact why "$why"'
    values = {"functions": quota_functions(), "proc": none}
    facts = ok(reading("work=; my_cluster=\n" + look, **values))  # type: ignore[arg-type]
    assert (facts["quota"], facts["why"]) == ("stop", why)


@pytest.mark.parametrize(
    ("controllers", "lingers", "grant"),
    [
        ("memory pids", False, "mkdir -p .*Delegate=cpu .* && loginctl enable-linger al && systemctl restart user@7"),
        ("memory pids", True, "mkdir -p .*Delegate=cpu .* && systemctl restart user@7"),
        ("cpu memory pids", False, "loginctl enable-linger al"),
        ("cpu memory pids", True, None),
    ],
)
def test_a_check_names_what_systemd_does_not_grant_a_user_yet(
    lease: Lease, none: PurePosixPath, tmp_path: Path, controllers: str, grant: str | None, *, lingers: bool
) -> None:
    manager = tmp_path / "user.slice/user-7.slice/user@7.service"
    manager.mkdir(parents=True)
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    (manager / "cgroup.controllers").write_text(f"{controllers}\n")
    if lingers:
        (tmp_path / "linger").mkdir()
        (tmp_path / "linger/al").touch()
    functions = quota_functions()
    text = functions.text.replace("/run/systemd/system", "/").replace("/var/lib/systemd", str(tmp_path))
    stand_ins = 'group_mounts() { echo {root}; }; id() { if [ "$1" = -u ]; then echo 7; else echo al; fi; }\n'
    look = (
        "work=; my_cluster=\n{functions}\n"
        + stand_ins
        + 'proc={proc}; group=; why=no-scope; find_quota trial; fact why "$why"'
    )
    values = {"functions": replace(functions, text=text), "proc": none, "root": tmp_path}
    facts = ok(reading(look, **values))  # type: ignore[arg-type]
    assert re.fullmatch("no-scope" if grant is None else f"as root there: {grant}", facts["why"])


@limiting
def test_a_check_says_how_a_node_limits_and_leaves_nothing(lease: Lease) -> None:
    facts = ok(node.check(lease.work_dir))
    assert (facts["quota"], facts.get("quota.why")) == (VERSION, None)
    assert list(OWN.glob("fawkes:check:*")) == []


@pytest.mark.parametrize("bad", [{"container_1; reboot": 5}, {"job_1": 5}, {ONE: -1}], ids=str)
def test_a_bad_wish_is_refused_before_anything_is_sent(lease: Lease, bad: dict[str, int]) -> None:
    with pytest.raises(UserError):
        limit(lease, bad)
