from __future__ import annotations

import io
import os
import pwd
import shutil
import socket
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import pytest

from fawkes.playbook import Exit, Lease, read_facts
from playbooks import lease as leases
from playbooks import node
from tests.playbooks.conftest import LeaseOf, ok, sh
from tests.support.programs import program


def stray(
    lease: Lease, *, marked: bool = True, cwd: Path | None = None, ignore_term: bool = False
) -> subprocess.Popen[bytes]:
    """A process as an MR-cluster leaves it behind, in a session of its own."""
    command = "trap '' TERM; echo ready; while :; do sleep 60; done" if ignore_term else "echo ready; exec sleep 60"
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        env={**os.environ, **(lease.marks("container") if marked else {})},
        cwd=cwd,
        start_new_session=True,
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    process.stdout.close()
    return process


def test_prepare_can_be_done_again(lease: Lease) -> None:
    assert ok(node.prepare(lease))["prepared"] == "yes"
    assert all(Path(folder).is_dir() for folder in lease.folders.all())


@pytest.mark.slow
def test_wipe_ends_and_removes_everything_of_one_mr_cluster_and_nothing_else(lease: Lease, lease_of: LeaseOf) -> None:
    other = lease_of("alphabet")
    Path(other.folders.root).mkdir(parents=True)
    own_folder = Path(lease.folders.nm_local, "container_1")
    own_folder.mkdir()
    Path(lease.folders.dn, "block").write_text("data")
    mine = [stray(lease), stray(lease, marked=False, cwd=own_folder), stray(lease, ignore_term=True)]
    foreign = [stray(other), stray(lease_of("alpha", pool="another-pool"))]
    try:
        facts = ok(node.facts(lease.work_dir))
        assert facts[f"left.{mine[0].pid}"] == f"{lease.pool} alpha 1 container"
        assert set(facts.all("folder")) == {"alpha", "alphabet"}
        assert ok(node.verify(lease))["clean"] == "no"

        facts = ok(node.wipe(lease, grace_s=0.3))

        assert (facts["clean"], facts["killed"]) == ("yes", "4")  # the one that ignores TERM has a child
        assert [one.wait(timeout=10) for one in mine] == [-15, -15, -9]
        assert [one.poll() for one in foreign] == [None, None]
        assert not Path(lease.folders.root).exists()
        assert Path(other.folders.root).exists()
        assert ok(node.verify(lease))["clean"] == "yes"
    finally:
        for process in (*mine, *foreign):
            process.kill()
            process.wait()


@pytest.mark.slow
def test_wipe_of_a_clean_node_changes_nothing(taken: Lease) -> None:
    assert dict(ok(node.wipe(taken))) == {"killed": "0", "clean": "yes"}


@pytest.mark.slow
def test_wipe_leaves_no_empty_folders_and_no_files_of_jvms_that_were_killed(lease: Lease) -> None:
    me = pwd.getpwuid(os.getuid()).pw_name
    folder = Path(f"/tmp/hsperfdata_{me}")
    folder.mkdir(exist_ok=True)
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
        dead, alive = folder / str(ended.pid), folder / str(os.getpid())
        dead.touch()
        alive.touch()
    try:
        ok(node.wipe(lease))
        assert [dead.exists(), alive.exists()] == [False, True]
        ok(leases.release(lease))
        assert sorted(path.name for path in Path(lease.work_dir).iterdir()) == [".lock", "lease"]
    finally:
        alive.unlink(missing_ok=True)


@pytest.mark.slow
def test_wipe_takes_what_an_interrupted_wipe_left(lease: Lease) -> None:
    half = Path(lease.work_dir, "trash", "alpha.1.1", "dn")
    half.mkdir(parents=True)
    ok(node.wipe(lease))
    assert not half.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("job", "clean"),
    [
        ("mkdir stash; ln -s stash trash", True),
        ("ln -s /no/where trash", True),
        ("mv clusters/alpha hid; ln -s ../hid clusters/alpha", False),
        ("mv clusters/alpha hid; ln -s /no/where clusters/alpha", False),
    ],
)
def test_a_wipe_follows_no_link_of_a_job(lease: Lease, job: str, *, clean: bool) -> None:
    """A job without `run_as` can make them: blocks elsewhere are not removed, and a link may lead anywhere."""
    work = Path(lease.work_dir)
    Path(lease.folders.dn, "block").write_text("data")
    subprocess.run(job, shell=True, check=True, cwd=work)
    ran = sh(node.wipe(lease))
    assert (ran.exit, ran.facts.get("clean")) == ((0, "yes") if clean else (Exit.CLEAN_FAILED, None))
    assert clean == (not list(work.rglob("block")))
    assert ok(node.verify(lease))["clean"] == ("yes" if clean else "no")
    assert sh(leases.release(lease)).exit == (0 if clean else Exit.CLEAN_FAILED)
    assert clean or "is a link, and the files of alpha may lie elsewhere" in ran.stderr
    assert ok(node.facts(lease.work_dir)).all("folder") == (() if clean else ("alpha",))
    assert ok(leases.show(lease.work_dir)).all("folder") == (() if clean else ("alpha",))


def test_other_users_cannot_enter_the_folder_of_an_mr_cluster(lease: Lease) -> None:
    assert Path(lease.folders.root).stat().st_mode & 0o777 == 0o700


@pytest.fixture
def seen_lease(lease_of: LeaseOf) -> Iterator[Lease]:
    """The lease of a node that was taken; other users can enter its work folder."""
    with TemporaryDirectory(prefix="fawkes-") as folder:
        Path(folder).chmod(0o755)
        lease = replace(lease_of(), work_dir=PurePosixPath(folder, "work"))
        ok(leases.take(lease))
        yield lease
        if Path(lease.folders.user_file).exists():
            ok(node.wipe(lease))


OTHER = "daemon"


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run something as another user here")
def test_nobody_else_makes_a_folder_while_that_of_the_user_is_made(seen_lease: Lease, tmp_path: Path) -> None:
    """Another user of the node waits for the moment in which the MR-cluster's own user may write."""
    lease, work = seen_lease, Path(seen_lease.work_dir)
    real = shutil.which("setpriv")
    program(
        tmp_path / "setpriv",
        f"""
for last; do :; done
case "$*" in *mkdir*)
    for made in "mkdir {work}/clusters/beta" "ln -s /etc {work}/clusters/.trash-alpha.x" "mkdir ${{last%/*}}/beta"; do
        {real} --reuid {OTHER} --clear-groups -- $made 2>/dev/null
    done ;;
esac
exec {real} "$@"
""",
    )
    refused = sh(node.prepare(lease, "games", "remove"), path=f"{tmp_path}:{os.environ['PATH']}")
    assert (refused.exit, "games cannot make the folder" in refused.stderr) == (Exit.CANNOT_WRITE, True)
    assert not (work / "clusters").exists()

    ok(node.prepare(lease, "games", "remove"))

    root = Path(lease.folders.root)
    assert (root.owner(), root.stat().st_mode & 0o777) == ("games", 0o700)
    assert (root.parent.stat().st_uid, root.parent.stat().st_mode & 0o7777) == (0, 0o755)
    assert [path.name for path in root.parent.iterdir()] == ["alpha"]
    for name in ("x", "y"):
        (root.parent / f".trash-alpha.{name}").symlink_to("/no/where" if name == "x" else "/etc")
    (root.parent / ".trash-alpha.z").touch()
    assert ok(node.prepare(lease, "games", "remove"))["prepared"] == "yes"
    assert ok(node.wipe(lease))["clean"] == "yes"
    ok(leases.release(lease))
    assert sorted(path.name for path in work.iterdir()) == [".lock", "lease"]


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run something as another user here")
def test_what_only_begins_like_the_folder_of_jvms_is_left_over(seen_lease: Lease) -> None:
    ok(node.prepare(seen_lease, "games", "tell"))
    folder = Path("/tmp/hsperfdata_games")
    hidden = {folder.with_name("hsperfdata_games-2"), folder / "secret"}
    folder.mkdir()
    for path in (*hidden, folder / "999999999"):
        path.touch()
    for path in (*hidden, folder / "999999999", folder):
        shutil.chown(path, "games")
    try:
        assert set(ok(node.wipe(seen_lease)).all("leftover")) == {str(path) for path in hidden}
    finally:
        for path in hidden:
            path.unlink()
        folder.rmdir()


def test_only_the_holder_may_wipe(lease: Lease, lease_of: LeaseOf) -> None:
    assert sh(node.wipe(lease_of("beta"))).exit == Exit.HELD
    assert Path(lease.folders.root).exists()


def test_check_tells_all_about_a_node_and_leaves_nothing(lease_of: LeaseOf, tmp_path: Path) -> None:
    home = tmp_path / "jdk"
    program(home / "bin" / "java", "exit 1")
    (home / "release").write_text('IMPLEMENTOR="X"\nJAVA_VERSION="17.0.9"\n')
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        lease = lease_of()
        facts = ok(
            node.check(
                lease.work_dir,
                java_home=str(home),
                ports=[port, 1],
                names=["localhost", "no-such.invalid"],
                others=["127.0.0.1", "localhost", "255.255.255.255"],
                port=port,
            )
        )
        refused = ok(node.check(lease.work_dir, others=["127.0.0.1"], port=1))
    assert (facts.under("reach"), refused["reach.127.0.0.1"]) == (
        {"127.0.0.1": "yes", "localhost": "yes", "255.255.255.255": "Network is unreachable"},
        "yes",
    )
    assert "127.0.0.1" in facts.all("has")
    assert facts.all("listen") == (str(port),)
    assert (facts["java.home"], facts["java.version"]) == (str(home), "17.0.9")
    assert facts["name.localhost"] in ("127.0.0.1", "::1")
    assert facts["name.no-such.invalid"] == ""
    assert facts["hostname"] == socket.gethostname()
    assert facts["machine"].endswith(os.readlink("/proc/self/ns/pid"))
    assert (facts["disk.write"], facts["disk.exec"]) == ("yes", "yes")
    assert (facts.get("disk.why"), facts["disk.mount"][0]) == (None, "/")
    assert facts.all("missing") == ()
    for key in ("cores", "memory_kb", "free_memory_kb", "disk.free_kb", "disk.total_kb", "clock_ns", "took_ns"):
        assert (facts.number(key) or 0) > 0, key
    assert not Path(lease.work_dir).exists()
    assert [path.name for path in tmp_path.iterdir()] == ["jdk"]


def test_check_writes_through_no_link_of_another_user(lease_of: LeaseOf, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    mine.chmod(0o600)
    tmp_path.chmod(0o1777)
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    planted = [tmp_path / f".fawkes-check.{pid}" for pid in range(ended.pid, ended.pid + 300)]
    for path in planted:
        path.symlink_to(mine)
    facts = ok(node.check(lease_of().work_dir))
    assert (facts["disk.write"], facts["disk.exec"]) == ("yes", "yes")
    assert (mine.read_text(), mine.stat().st_mode & 0o777) == ("mine", 0o600)
    assert {path.name for path in tmp_path.iterdir()} == {"mine", *(path.name for path in planted)}


def test_check_shows_the_lease_and_leftovers_of_any_pool(taken: Lease, lease_of: LeaseOf) -> None:
    left = stray(lease_of("old", pool="gone-pool"))
    try:
        facts = ok(node.check(taken.work_dir))
        assert facts["lease.pool"] == taken.pool
        assert facts[f"left.{left.pid}"] == "gone-pool old 1 container"
    finally:
        left.kill()
        left.wait()


def test_what_lingers_is_seen_and_ended() -> None:
    facts = ok(node.linger())
    pid, since = facts.number("pid"), facts.number("since")
    assert pid
    assert since
    assert ok(node.lingers(pid, since))["lingers"] == "yes"
    assert ok(node.lingers(pid, since + 1))["lingers"] == "no"


def test_logs_come_as_a_tar_with_the_newest_first_until_the_limit(lease: Lease) -> None:
    for age, name in enumerate(("new", "old")):
        log = Path(lease.folders.logs, f"{name} log")
        log.write_bytes(b"x" * 600)
        os.utime(log, (2_000_000_000 - age, 2_000_000_000 - age))
    script = node.collect_logs(lease.folders, limit_bytes=1000)
    ran = subprocess.run(["/bin/sh", "-s"], input=script.text.encode(), capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(ran.stdout)) as tar:
        assert tar.getnames() == ["logs/new log"]
    assert read_facts(ran.stderr.decode())["omitted"] == "1"


def test_files_that_came_along_with_a_job_are_no_logs(lease: Lease) -> None:
    attempt = Path(lease.folders.jobs, "wc.1")
    (attempt / "files").mkdir(parents=True)
    for name in ("stderr", "result", "files/wc.jar", "files/result", "files/pig_1.log"):
        (attempt / name).write_text("x")
    ran = subprocess.run(
        ["/bin/sh", "-s"], input=node.collect_logs(lease.folders).text.encode(), capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(ran.stdout)) as tar:
        assert sorted(tar.getnames()) == ["jobs/wc.1/files/pig_1.log", "jobs/wc.1/result", "jobs/wc.1/stderr"]


def test_a_name_with_a_line_feed_names_no_file_elsewhere(lease: Lease, tmp_path: Path) -> None:
    """Any task of a job may make such a folder among its logs."""
    secret = tmp_path / "secret"
    trap = Path(lease.folders.logs, "a\n", str(secret).lstrip("/"))
    trap.parent.mkdir(parents=True)
    for path in (secret, trap, Path(lease.folders.logs, "log")):
        path.write_text("x")
    ran = subprocess.run(
        ["/bin/sh", "-s"], input=node.collect_logs(lease.folders).text.encode(), capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(ran.stdout)) as tar:
        assert tar.getnames() == ["logs/log"]


def test_logs_of_a_mr_cluster_that_is_not_here(lease_of: LeaseOf) -> None:
    assert sh(node.collect_logs(lease_of("nobody").folders)).exit == Exit.CANNOT_WRITE


def test_check_of_a_path_that_does_not_exist_looks_at_the_disk_above() -> None:
    assert ok(node.check(PurePosixPath("/no/such/folder")))["disk.fs"]


def test_a_user_who_does_not_exist_is_refused_before_anything_is_made(taken: Lease) -> None:
    refused = sh(node.prepare(taken, "nobody-here", "remove"))
    assert (refused.exit, refused.stderr) == (Exit.UNFIT_USER, "there is no user nobody-here\n")
    assert {path.name for path in Path(taken.work_dir).iterdir()} == {".lock", "lease"}


@pytest.mark.slow
def test_folders_of_the_user_for_ssh_are_not_given_to_another(lease: Lease) -> None:
    refused = sh(node.prepare(lease, "daemon", "remove"))
    assert refused.exit == Exit.UNFIT_USER


@pytest.mark.slow
def test_a_wipe_that_cannot_list_the_processes_of_the_user_is_not_clean(lease: Lease) -> None:
    """The user is gone from the node, so that nothing can be run as that user."""
    Path(lease.folders.user_file).parent.mkdir()
    Path(lease.folders.user_file).write_text("nobody-here 64999 remove\n")
    wiped = sh(node.wipe(lease))
    assert (wiped.exit, wiped.facts.get("clean")) == (Exit.CLEAN_FAILED, None)
    assert "it is not known whether processes of nobody-here are left" in wiped.stderr
    assert Path(lease.folders.root).is_dir()
    assert sh(leases.release(lease)).exit == Exit.CLEAN_FAILED
    assert ok(node.verify(lease))["clean"] == "no"


@pytest.mark.slow
def test_a_node_is_not_given_back_while_its_user_is_not_known_to_be_gone(lease: Lease) -> None:
    ok(node.wipe(lease))
    Path(lease.folders.user_file).parent.mkdir(exist_ok=True)
    Path(lease.folders.user_file).write_text("nobody-here 64999 remove\n")
    refused = sh(leases.release(lease))
    assert refused.exit == Exit.CLEAN_FAILED
    assert "nothing is left of the user of alpha" in refused.stderr


def test_silent_name_servers_cost_one_limit_for_all_names(tmp_path: Path) -> None:
    # As `timeout` ends when its time is over.
    (tmp_path / "timeout").write_text('#!/bin/sh\n[ "$4" = known ] && echo "10.0.0.1  STREAM known" || exit 124\n')
    (tmp_path / "timeout").chmod(0o755)
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    script = node.check(PurePosixPath(tmp_path), names=["known", "a", "b"]).text
    done = subprocess.run(["/bin/sh"], input=script, env=env, text=True, capture_output=True)
    facts = read_facts(done.stdout)
    assert (facts["name.known"], facts["name.a"], sorted(facts.all("silent"))) == ("10.0.0.1", "", ["a", "b"])


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
def test_a_warning_of_a_working_sudo_makes_no_user_unfit(tmp_path: Path) -> None:
    noisy = tmp_path / "setpriv"
    noisy.write_text(f'#!/bin/sh\necho "sudo: unable to resolve host" >&2\nexec {shutil.which("setpriv")} "$@"\n')
    noisy.chmod(0o755)
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["/bin/sh"], input=node.fit_users(["nobody"]).text, env=env, text=True, capture_output=True)
    assert "@unfit.nobody=\n" in done.stdout
    noisy.write_text('#!/bin/sh\necho "a password is required" >&2\nexit 1\n')
    done = subprocess.run(["/bin/sh"], input=node.fit_users(["nobody"]).text, env=env, text=True, capture_output=True)
    assert "cannot run programs as nobody (a password is required)" in done.stdout
