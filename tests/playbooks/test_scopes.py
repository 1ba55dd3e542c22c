"""Scopes of systemd for leases: on a machine that runs systemd by systemd itself, and on others by what stands for it.

The stub on PATH takes the arguments that systemd-run takes, refuses all others, and starts what it is told in a control
group of that name. It is seen in a mount namespace of its own, in which the machine looks like one with systemd.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import pytest

from fawkes.playbook import Exit, Facts, Lease, Script
from playbooks import hadoop, job, node, quota
from playbooks import lease as leases
from tests.playbooks.conftest import HIDES, LeaseOf, Ran, runs, sh
from tests.support.own_group import own_group
from tests.support.programs import program

pytestmark = pytest.mark.slow

STUB = r"""
# systemd-run as Fawkes uses it. What is not among these arguments ends it, as a typing error ends the real one.
echo "XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-} $*" >>CALLS
[ ! -e BROKEN ] || { echo "Failed to start transient scope unit: Access denied" >&2; exit 1; }
mode=system
while [ "$1" != -- ]; do
    case $1 in
        --scope | --quiet | --collect) ;;
        --user) mode=user ;;
        --unit=*.scope) unit=${1#--unit=} ;;
        -p)
            case $2 in Delegate=yes | TasksMax=infinity) ;; *) echo "Unknown assignment: $2" >&2; exit 1 ;; esac
            shift
            ;;
        *) echo "systemd-run: unrecognized option '$1'" >&2; exit 1 ;;
    esac
    shift
done
shift
[ -n "$unit" ] || exit 1
if [ "$mode" = user ]; then printf '0::/user.slice/app.slice/%s\n' "$unit"; exit; fi
# A scope that is there cannot be entered by a second systemd-run.
mkdir "SLICE/$unit" || { echo "Failed to start transient scope unit: Unit $unit already exists." >&2; exit 1; }
echo 0 >"SLICE/$unit/cgroup.procs"
exec "$@"
"""
#: a mount namespace in which systemd seems to run: nothing of it is seen outside, and it ends with its last process
NAMESPACE = """
mount -t tmpfs none /run && mkdir -p /run/systemd/system && mount -t tmpfs none /var/lib/systemd &&
mkdir -p /var/lib/systemd/linger && echo ready && exec cat
"""
UNIT = r"fawkes:{pool}:node01:alpha:[0-9]+\.scope"


def systemd_runs() -> bool:
    tried = ["systemd-run", "--scope", "--quiet", "--collect", "true"]
    return (
        Path("/run/systemd/system").is_dir() and subprocess.run(tried, capture_output=True, check=False).returncode == 0
    )


def can_stand_in() -> bool:
    own = own_group()
    tools = shutil.which("unshare") and shutil.which("nsenter") and Path("/var/lib/systemd").is_dir()
    return bool(tools) and os.geteuid() == 0 and own is not None and os.access(own, os.W_OK)


@dataclass
class Machine:
    """Where scripts run; ``before`` are the words before their shell."""

    folder: Path
    before: list[str] = field(default_factory=list)

    def run(self, script: Script, *before: str) -> Ran:
        """Run a script as nodes do, ``before`` in the words of another user."""
        return sh(script, *self.before, *before, path=f"{self.folder}:{os.environ['PATH']}")

    def ok(self, script: Script) -> Facts:
        ran = self.run(script)
        assert ran.exit == 0, ran
        return ran.facts

    def calls(self) -> list[str]:
        """How the stub was called, and forget it."""
        calls = self.folder / "calls"
        lines = calls.read_text().splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return lines


@pytest.fixture
def stub(tmp_path: Path) -> Iterator[Machine]:
    if not can_stand_in():
        pytest.skip("only root on a machine with cgroup v2 can stand in for systemd")
    own = own_group()
    assert own is not None
    folder, slice_ = tmp_path / "bin", own / "system.slice"
    slice_.mkdir()
    text = STUB
    for name, path in {"CALLS": folder / "calls", "BROKEN": folder / "broken", "SLICE": slice_}.items():
        text = text.replace(name, str(path))
    program(folder / "systemd-run", text)
    holder = subprocess.Popen(
        ["unshare", "--mount", "/bin/sh", "-c", NAMESPACE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        try:
            assert holder.stdout.readline() == "ready\n"
            yield Machine(folder, ["nsenter", f"--target={holder.pid}", "--mount"])
        finally:
            holder.stdin.close()
    for group, _, _ in os.walk(slice_, topdown=False):
        os.rmdir(group)


@pytest.fixture(params=["stub", "systemd"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    if request.param == "stub":
        made: Machine = request.getfixturevalue("stub")
        return made
    if not systemd_runs():
        pytest.skip("systemd does not run here, or gives this user no scopes")
    return Machine(tmp_path)


def groups_of(process: int) -> str:
    return Path(f"/proc/{process}/cgroup").read_text()


def prepared(machine: Machine, lease: Lease) -> Lease:
    machine.ok(leases.take(lease))
    assert machine.ok(node.prepare(lease))["group"] == "yes"
    assert Path(lease.folders.group_file).read_text() == "unit\n"
    return lease


def hidden(machine: Machine, lease: Lease, name: str) -> int:
    """A process of a job that has ended, by which nothing but its control group can be found."""
    machine.ok(job.start(lease, name, 1, ["/bin/sh", "-c", HIDES]))
    while machine.ok(job.look(lease.folders, name, 1))["state"] == "running":
        pass
    return int(Path(lease.folders.jobs, f"{name}.1", "stdout").read_text())


def test_what_hides_from_the_marks_is_in_a_scope_and_does_not_outlive_a_wipe(
    machine: Machine, lease_of: LeaseOf
) -> None:
    lease = prepared(machine, lease_of())
    mine = [hidden(machine, lease, name) for name in ("one", "two")]
    units = [re.findall(UNIT.format(pool=lease.pool), groups_of(pid)) for pid in mine]
    # Each step has a scope of its own.
    assert [len(found) for found in units] == [1, 1]
    assert units[0] != units[1]
    assert sorted(machine.ok(node.verify(lease)).all("process")) == sorted(map(str, mine))
    machine.ok(leases.close(lease))
    refused = machine.run(leases.release(lease))
    assert refused.exit == Exit.CLEAN_FAILED

    facts = machine.ok(node.wipe(lease, grace_s=0.1))

    assert (facts["killed"], facts["clean"]) == ("2", "yes")
    assert not any(map(runs, mine))
    assert not Path(lease.folders.group_file).exists()
    assert machine.ok(leases.release(lease))["lease"] == "free"


def test_daemons_are_in_a_scope_and_those_of_others_are_left_alone(
    machine: Machine, lease_of: LeaseOf, tmp_path: Path
) -> None:
    started = {}
    # Of another pool: a second site of the same one gets no node on which the first has processes.
    for name in ("alpha", "alphabet"):
        right = replace(lease_of(name), work_dir=PurePosixPath(tmp_path / name))
        lease = prepared(machine, replace(right, pool=f"{right.pool}-{name}"))
        facts = machine.ok(hadoop.start(lease, [hadoop.Daemon("datanode", ["/bin/sleep", "4242"])]))
        assert facts["daemon.datanode"] == "started"
        (pid,) = machine.ok(node.verify(lease)).all("process")
        assert f"fawkes:{lease.pool}:node01:{name}:" in groups_of(int(pid))
        started[int(pid)] = lease
    (first, lease), (second, other) = started.items()
    assert machine.ok(node.wipe(lease, grace_s=0.1))["killed"] == "1"
    assert (runs(first), runs(second)) == (False, True)
    assert machine.ok(node.wipe(other, grace_s=0.1))["killed"] == "1"


@pytest.mark.skipif(not systemd_runs(), reason="systemd does not run here, or gives this user no scopes")
def test_cpu_time_is_limited_in_a_scope_of_its_own(lease_of: LeaseOf, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    lease = prepared(machine, lease_of())
    machine.ok(job.start(lease, "j", 1, ["/usr/bin/env", "CONTAINER_ID=container_1", "/bin/sleep", "4242"]))
    asked = {"container_1": 25}
    facts = machine.ok(quota.limit(lease, asked))
    assert (facts["quota"], facts["quota.container_1"]) == ("v2", "25")
    assert machine.ok(quota.renew(lease, asked))["quota.container_1"] == "25"
    (limited,) = [pid for pid in machine.ok(node.verify(lease)).all("process") if "container_1" in groups_of(int(pid))]
    group = Path(f"/sys/fs/cgroup{groups_of(int(limited)).strip().removeprefix('0::')}")
    assert (group / "cpu.max").read_text() == "5000 20000\n"
    machine.ok(quota.lift(lease))
    assert ":quota" not in groups_of(int(limited))
    machine.ok(node.wipe(lease, grace_s=0.1))
    assert not group.parent.exists()


def test_a_check_says_that_leases_get_scopes(machine: Machine, lease_of: LeaseOf) -> None:
    assert machine.ok(node.check(lease_of().work_dir))["group"] == "yes"


def test_systemd_is_asked_for_a_scope_of_the_lease(stub: Machine, lease_of: LeaseOf) -> None:
    """The contract: no service and no timer, the slice that scopes have by themselves, limits that suit daemons."""
    lease = prepared(stub, lease_of())
    (tried,) = stub.calls()
    stub.ok(job.start(lease, "j", 1, ["/bin/true"]))
    unit = UNIT.format(pool=lease.pool)
    words = rf"XDG_RUNTIME_DIR=\S* --scope --quiet --collect --unit={unit} -p Delegate=yes -p TasksMax=infinity -- "
    assert re.fullmatch(rf"{words}cat /proc/self/cgroup", tried)
    assert [bool(re.fullmatch(rf"{words}/bin/sh -s", call)) for call in stub.calls()] == [True]
    stub.ok(job.look(lease.folders, "j", 1))
    assert stub.calls() == [], "whoever only looks needs no scope"


def test_a_user_who_lingers_asks_a_systemd_of_its_own(stub: Machine) -> None:
    # The folders of tests are root's alone.
    copy = f"sed s,{stub.folder}/calls,/run/stub/calls, {stub.folder}/systemd-run >/run/stub/systemd-run"
    lend = f"mkdir -m 777 /run/stub; {copy}; chmod 755 /run /run/stub/systemd-run"
    assert stub.run(Script(lend)).exit == 0
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "PATH=/run/stub:/usr/bin:/bin"]
    check = node.check(PurePosixPath("/run/stub/work"))

    facts = stub.run(check, *nobody).facts
    assert facts["group"] == "no"
    assert facts["group.why"].endswith("as root there: loginctl enable-linger nobody")

    assert stub.run(Script("touch /var/lib/systemd/linger/nobody")).exit == 0
    assert stub.run(check, *nobody).facts["group"] == "yes"
    (call,) = stub.run(Script("cat /run/stub/calls")).stdout.splitlines()
    assert call.startswith("XDG_RUNTIME_DIR=/run/user/65534 --scope ")
    assert call.endswith(" --user -- cat /proc/self/cgroup")


def test_a_systemd_that_gives_no_scope_is_quoted(stub: Machine, lease_of: LeaseOf) -> None:
    (stub.folder / "broken").touch()
    lease = lease_of()
    stub.ok(leases.take(lease))
    facts = stub.ok(node.prepare(lease))
    assert facts["group"] == "no"
    assert facts["group.why"] == (
        "systemd-run does not start a scope there: Failed to start transient scope unit: Access denied"
    )
    assert not Path(lease.folders.group_file).exists()
    # It serves as it would without control groups.
    stub.ok(job.start(lease, "j", 1, ["/bin/true"]))
    stub.ok(node.wipe(lease, grace_s=0.1))
