"""Faults in which a node cannot say what is left on it: looks cut short, names that hide, mounts in the way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from fawkes.playbook import Exit, Lease
from fawkes.playbook.prelude import PRELUDE
from playbooks import lease as leases
from playbooks import moving, node
from tests.playbooks.conftest import LeaseOf, ok, sh
from tests.support.programs import program

#: not one of the system, so that its processes are those of this test alone
OTHER = "61991"
AS_OTHER = ["setpriv", "--reuid", OTHER, "--regid", OTHER, "--clear-groups"]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run something as another user here")


@pytest.fixture
def open_lease(lease_of: LeaseOf) -> Iterator[Lease]:
    """A lease whose work folder is not there yet, where every user can enter."""
    with tempfile.TemporaryDirectory(prefix="fawkes-") as folder:
        Path(folder).chmod(0o755)
        yield replace(lease_of(), work_dir=PurePosixPath(folder, "work"))


@pytest.mark.slow
@needs_root
@pytest.mark.parametrize("room", [3, 4, 5, 6, 7, 8, 9, 11])
def test_where_nothing_can_be_forked_no_node_is_clean_or_free(open_lease: Lease, room: int) -> None:
    lease, work = open_lease, Path(open_lease.work_dir)
    work.mkdir()
    shutil.chown(work, int(OTHER), int(OTHER))
    for script in (leases.take(lease), node.prepare(lease)):
        assert sh(script, *AS_OTHER).exit == 0
    left = subprocess.Popen([*AS_OTHER, "sleep", "60"], env={**os.environ, **lease.marks("datanode")})
    full = (*AS_OTHER, "bash", "-c", f'ulimit -u {room}; exec "$@"', "bash")
    try:
        wiped = sh(node.wipe(lease, grace_s=0.1), *full)
        assert left.poll() is not None or (wiped.exit != 0 and Path(lease.folders.dn).exists()), wiped
        work.joinpath("clusters").rename(work / "away")
        assert left.poll() is not None or "lease" not in sh(leases.release(lease), *full).facts
        assert left.poll() is not None or sh(node.verify(lease), *full).facts.get("clean") != "yes"
        assert left.poll() is not None or sh(moving.running(lease, ["datanode"]), *full).exit != 0 or room > 8
    finally:
        left.kill()
        left.wait()


MOUNT = 'mount --make-rprivate / && mount --bind "$0" "$1" && shift && exec "$@"'
needs_mounts = pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode != 0,
    reason="no mount namespaces here",
)


@pytest.mark.slow
@needs_mounts
@pytest.mark.parametrize(
    "at",
    ["work/clusters/alpha/nm-local/a b", "work/trash/alpha.1.1/x", "linked/alpha/dn", "work/clusters/.trash-alpha.1"],
)
def test_a_wipe_empties_nothing_that_is_mounted_there(open_lease: Lease, at: str, tmp_path: Path) -> None:
    """A part of the same disk has the same device number, so that `--one-file-system` goes in."""
    lease, work = open_lease, Path(open_lease.work_dir)
    ok(leases.take(lease))
    ok(node.prepare(lease))
    if at.startswith("linked"):
        work.joinpath("clusters").rename(work.with_name("linked"))
        work.joinpath("clusters").symlink_to("../linked")
    place = work.parent / at
    place.mkdir(parents=True, exist_ok=True)
    foreign = work.with_name("foreign")
    foreign.mkdir()
    foreign.joinpath("data").touch()
    ran = sh(node.wipe(lease), "unshare", "-m", "sh", "-c", MOUNT, str(foreign), str(place))
    assert ran.exit == Exit.CLEAN_FAILED
    assert f"unmount it: {place}" in ran.stderr.replace("\\040", " ")
    assert foreign.joinpath("data").exists()
    assert Path(lease.folders.dn).is_dir()
    assert ok(node.wipe(lease))["clean"] == "yes"


@pytest.fixture
def home() -> Iterator[Path]:
    """A place for a home that is in no folder for temporary files."""
    with tempfile.TemporaryDirectory(prefix="fawkes-", dir="/srv") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder, "home")


@pytest.mark.slow
@needs_mounts
@pytest.mark.parametrize("mounted", [False, True])
def test_the_files_of_a_user_go_from_a_linked_home_but_not_from_what_is_mounted_there(
    open_lease: Lease, home: Path, *, mounted: bool, tmp_path: Path
) -> None:
    lease = open_lease
    ok(leases.take(lease))
    ok(node.prepare(lease, "games", "remove"))
    real, foreign = home.with_name("real"), home.with_name("foreign")
    home.symlink_to("real")
    for path in (real, real / "in", foreign):
        path.mkdir()
        path.joinpath("file").touch()
        for one in (path, path / "file"):
            shutil.chown(one, "games")
    program(tmp_path / "getent", f"echo games:x:5:60:games:{home}:/bin/sh")
    before = ["unshare", "-m", "sh", "-c", MOUNT, str(foreign), str(real / "in")] if mounted else []
    ran = sh(node.wipe(lease), *before, path=f"{tmp_path}:{os.environ['PATH']}")
    assert ran.exit == (Exit.CLEAN_FAILED if mounted else 0), ran
    assert ran.facts["leftovers"] == "2"
    assert (real.joinpath("file").exists(), foreign.joinpath("file").exists()) == (mounted, True)
    assert not mounted or f"unmount it: {real}/in" in ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["grep", "find", "awk"])
def test_a_program_that_does_not_run_finds_no_clean_node(lease: Lease, tool: str, tmp_path: Path) -> None:
    """So do one that is killed, and one for which there is no memory."""
    program(tmp_path / tool, "kill -KILL $$")
    path = f"{tmp_path}:{os.environ['PATH']}"
    wiped = sh(node.wipe(lease, grace_s=0.1), path=path)
    assert (wiped.exit, "clean" in wiped.facts) == (Exit.CLEAN_FAILED, False)
    assert "it is not known what is left" in wiped.stderr
    assert Path(lease.folders.dn).is_dir()
    ok(node.wipe(lease))
    released = sh(leases.release(lease), path=path)
    assert (released.exit, "it is not known which processes of alpha" in released.stderr) == (Exit.CLEAN_FAILED, True)
    assert sh(node.verify(lease), path=path).facts["clean"] == "no"
    if tool != "find":
        assert sh(moving.stop(lease, grace_s=0.1), path=path).exit != 0
    if tool == "grep":
        ok(leases.release(lease))
        assert sh(leases.take(lease), path=path).exit == Exit.CLEAN_FAILED


@needs_root
def test_a_process_with_a_line_feed_in_its_name_is_seen() -> None:
    code = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'x) S\\ny', 0, 0, 0); print(flush=True); time.sleep(60)"
    command = [*AS_OTHER, sys.executable, "-S", "-c", code]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as hidden,
        subprocess.Popen([*AS_OTHER, "sleep", "60"]) as after,
    ):
        assert hidden.stdout
        hidden.stdout.readline()
        text = f"{PRELUDE}\nof_uid {OTHER}; started {hidden.pid}; fact since $started\n"
        done = subprocess.run(["/bin/sh", "-s"], input=text, text=True, capture_output=True, check=False)
        for process in (hidden, after):
            process.kill()
    *pids, since = done.stdout.split()
    assert (set(pids), done.stderr) == ({str(hidden.pid), str(after.pid)}, "")
    assert int(since.removeprefix("@since=")) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["link", "a[1]b *"])
@pytest.mark.parametrize("trashed", [False, True])
def test_a_container_without_marks_is_found_wherever_the_work_folder_lies(
    open_lease: Lease, name: str, *, trashed: bool
) -> None:
    place = Path(open_lease.work_dir).parent / name
    if name == "link":
        place.with_name("real").mkdir()
        place.symlink_to("real")
    lease = replace(open_lease, work_dir=PurePosixPath(place))
    ok(leases.take(lease))
    ok(node.prepare(lease))
    inside = Path(lease.folders.nm_local, "usercache")
    inside.mkdir()
    left = subprocess.Popen(["sleep", "60"], cwd=inside, env={})
    if trashed:
        place.joinpath("trash").mkdir()
        Path(lease.folders.root).rename(place / "trash" / "alpha.1.1")
    try:
        assert sh(leases.release(lease)).exit == Exit.CLEAN_FAILED
        assert dict(ok(node.wipe(lease))) == {"killed": "1", "clean": "yes"}
        assert left.wait(timeout=5) == -15
    finally:
        left.kill()
        left.wait()
