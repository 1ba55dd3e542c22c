from __future__ import annotations

import fcntl
import grp
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.base.errors import ElsewhereError, ExitStatus, NodeRefusedError, RefusedError, UserError
from fawkes.playbook import Exit, Lease, Script, changing, failure, fenced
from playbooks import lease as leases
from playbooks import node
from tests.playbooks.conftest import LeaseOf, ok, sh
from tests.support.programs import program
from tests.support.waiting import wait_for


def probe(lease: Lease) -> int:
    """The exit code of a script that would change something."""
    return sh(changing(lease, "fact ran yes")).exit


def test_only_the_mr_cluster_that_took_a_node_may_change_it(lease_of: LeaseOf) -> None:
    alpha, beta = lease_of("alpha"), lease_of("beta")
    assert probe(alpha) == Exit.NOT_TAKEN
    assert ok(leases.take(alpha))["lease"] == "taken"
    assert ok(leases.take(alpha))["lease"] == "kept"
    assert probe(alpha) == 0
    assert probe(beta) == Exit.HELD
    assert sh(leases.take(beta)).exit == Exit.HELD
    assert probe(lease_of("alpha", generation=2)) == Exit.HELD
    assert sh(leases.release(beta)).exit == Exit.HELD


def test_a_refusal_tells_who_holds_the_node(lease_of: LeaseOf) -> None:
    ok(leases.take(lease_of("alpha", generation=7)))
    ran = sh(leases.take(lease_of("beta")))
    assert (ran.facts["lease.cluster"], ran.facts["lease.generation"]) == ("alpha", "7")
    error = failure("node01", "taking the node", ran.exit, ran.stderr)
    assert isinstance(error, RefusedError)
    assert "held by alpha" in str(error)


def test_a_foreign_pool_is_refused(lease_of: LeaseOf) -> None:
    ok(leases.take(lease_of()))
    foreign = lease_of(pool="other")
    assert [probe(foreign), sh(leases.take(foreign)).exit] == [Exit.FOREIGN, Exit.FOREIGN]
    assert refused(Exit.FOREIGN)


def refused(code: int) -> bool:
    """True if an exit code refuses one node alone: another controller in charge would stop this one."""
    error = failure("node01", "taking the node", code, "/srv/lease is the lease of pool other\n")
    assert not isinstance(error, ElsewhereError)
    assert (error.exit_status, error.where) == (ExitStatus.REFUSED, "node01")
    assert "-H node01 --search-root playbooks --collection lease show --work-dir DIR`" in error.hint
    return isinstance(error, NodeRefusedError)


def test_an_older_epoch_is_refused_as_soon_as_a_newer_one_did_anything(lease_of: LeaseOf) -> None:
    old, new = lease_of(epoch=3), lease_of(epoch=4)
    ok(leases.take(old))
    assert probe(new) == 0
    assert probe(old) == Exit.FENCED
    assert sh(leases.take(old)).exit == Exit.FENCED
    assert probe(lease_of(epoch=4, controller="restored-backup")) == Exit.FENCED


def test_a_fenced_script_does_nothing(lease_of: LeaseOf, tmp_path: Path) -> None:
    ok(leases.take(lease_of(epoch=4)))
    touched = tmp_path / "touched"
    assert sh(changing(lease_of(epoch=3), ": >{file}", file=touched)).exit == Exit.FENCED
    assert not touched.exists()


def test_a_work_folder_shared_by_two_nodes_is_refused(lease_of: LeaseOf) -> None:
    ok(leases.take(lease_of()))
    assert sh(leases.take(lease_of(node="node02"))).exit == Exit.SHARED_FOLDER


def test_the_node_itself_can_be_changed_whoever_holds_it(lease_of: LeaseOf) -> None:
    ok(leases.take(lease_of("alpha")))
    assert probe(lease_of("")) == 0
    assert ok(leases.show(lease_of().work_dir))["lease.cluster"] == "alpha"


@pytest.mark.slow
def test_release_wants_a_clean_node_and_keeps_the_epoch(lease_of: LeaseOf) -> None:
    lease = lease_of(epoch=5)
    ok(leases.take(lease))
    ok(node.prepare(lease))
    assert sh(leases.release(lease)).exit == Exit.CLEAN_FAILED
    ok(node.wipe(lease))
    assert ok(leases.release(lease))["lease"] == "free"
    assert ok(leases.release(lease))["lease"] == "free"
    assert sh(leases.take(lease_of("beta", epoch=4))).exit == Exit.FENCED
    assert ok(leases.take(lease_of("beta", epoch=5)))["lease"] == "taken"


@pytest.mark.slow
def test_nothing_is_begun_on_a_node_that_was_closed(lease_of: LeaseOf) -> None:
    """Steps of a deployment that come late, before and after the wipe."""
    lease = lease_of(generation=4)
    ok(leases.take(lease))
    ok(node.prepare(lease))
    assert ok(leases.close(lease))["lease"] == "closed"
    late = (leases.take(lease), node.prepare(lease), changing(lease, "fact ran yes"))
    assert [sh(script).exit for script in late] == [Exit.CLOSED] * 3
    assert isinstance(failure("node01", "taking the node", Exit.CLOSED, ""), RefusedError)
    for _ in range(2):
        ok(leases.close(lease))
        ok(node.wipe(lease))
        assert ok(leases.release(lease))["lease"] == "free"
        assert [sh(script).exit for script in late] == [Exit.CLOSED, Exit.NOT_TAKEN, Exit.NOT_TAKEN]
        assert not Path(lease.folders.root).exists()
    assert sh(leases.take(lease_of("beta", generation=3))).exit == Exit.CLOSED
    assert ok(leases.take(lease_of("beta", generation=5)))["lease"] == "taken"
    assert sh(leases.close(lease)).exit == Exit.HELD
    assert probe(lease_of("beta", generation=5)) == 0


@pytest.mark.slow
def test_a_node_that_was_never_taken_can_be_closed(lease_of: LeaseOf) -> None:
    lease = lease_of()
    ok(leases.close(lease))
    assert sh(leases.take(lease)).exit == Exit.CLOSED
    ok(node.wipe(lease))
    ok(leases.release(lease))
    assert ok(leases.take(lease_of("beta", generation=2)))["lease"] == "taken"


@pytest.mark.slow
def test_a_newer_controller_closes_anew(lease_of: LeaseOf) -> None:
    """The steps of the older one are refused by their epoch; a ledger that begins anew counts from one again."""
    old, new = lease_of(generation=7, epoch=3), lease_of(generation=7, epoch=4)
    ok(leases.take(old))
    ok(leases.close(old))
    ok(leases.close(new))
    assert [sh(leases.take(old)).exit, sh(leases.take(new)).exit] == [Exit.FENCED, Exit.CLOSED]
    ok(node.wipe(new))
    ok(leases.release(new))
    assert ok(leases.take(lease_of("beta", generation=1, epoch=5)))["lease"] == "taken"


def test_a_node_on_which_another_site_of_the_pool_runs_is_neither_taken_nor_wiped(taken: Lease) -> None:
    """Its work folder is another one, so that no lease is in the way: a deployment once ended all of its daemons."""
    second = replace(taken, work_dir=taken.work_dir.parent / "second", generation=2, controller="c2")
    daemon = subprocess.Popen(["sleep", "1000"], env={**os.environ, **taken.marks("namenode")})
    try:
        for script in (leases.take(second), leases.close(second)):
            ran = sh(script)
            assert ran.exit == Exit.STRANGER
            assert ran.stderr.endswith(f"the lease in {second.work_dir} does not name them: {daemon.pid}\n")
        assert sh(node.wipe(second)).exit == Exit.NOT_TAKEN
        assert daemon.poll() is None
        # Its own: whoever holds the node by its lease, and whose disk was lost under its daemons.
        for lease in (taken, replace(taken, work_dir=second.work_dir)):
            ok(leases.take(lease))
            ok(leases.close(lease))
        ok(node.wipe(taken))
        assert daemon.wait(10) != 0
    finally:
        daemon.kill()


def test_forget_only_a_free_node(taken: Lease, lease_of: LeaseOf) -> None:
    assert sh(leases.forget(lease_of(""))).exit == Exit.HELD
    ok(leases.release(taken))
    assert ok(leases.forget(lease_of("")))["lease"] == "none"
    assert not dict(ok(leases.show(taken.work_dir)))
    assert list(Path(taken.work_dir).iterdir()) == []


@pytest.mark.slow
def test_a_node_that_is_forgotten_keeps_what_is_not_ours(lease: Lease, lease_of: LeaseOf) -> None:
    ok(node.wipe(lease))
    ok(leases.release(lease))
    work = Path(lease.work_dir)
    (work / "dist").mkdir()
    (work / "clusters").mkdir()
    (work / "clusters" / "of-the-site").write_text("theirs")
    ok(leases.forget(lease_of("")))
    assert sorted(path.name for path in work.rglob("*")) == ["clusters", "dist", "of-the-site"]


def test_who_waited_for_a_lock_that_was_removed_takes_the_new_one(taken: Lease, tmp_path: Path) -> None:
    """Otherwise two scripts would change a node at the same time: one under the old file, one under the new."""
    lock, inside, go = Path(taken.work_dir, ".lock"), tmp_path / "inside", tmp_path / "go"
    script = changing(taken, "touch {inside}; until [ -e {go} ]; do sleep 0.02; done", inside=inside, go=go).text
    with lock.open("a") as old:
        fcntl.flock(old, fcntl.LOCK_EX)
        waiting = f":{os.fstat(old.fileno()).st_ino} "
        process = subprocess.Popen(["/bin/sh", "-c", script])
        wait_for(lambda: any("->" in row and waiting in row for row in Path("/proc/locks").read_text().splitlines()))
        lock.unlink()
    try:
        wait_for(inside.exists)
        with lock.open("r") as new, pytest.raises(BlockingIOError):
            fcntl.flock(new, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        go.touch()
        assert process.wait(timeout=60) == 0


@pytest.mark.slow
def test_a_node_of_a_lost_ledger_can_be_taken_over_by_hand(lease_of: LeaseOf) -> None:
    """The way of docs/operations.md: with an epoch above the one that is there."""
    old, anew = lease_of("old", generation=3, epoch=7), lease_of("new", generation=1, epoch=1)
    ok(leases.take(old))
    ok(node.prepare(old))
    assert sh(leases.take(anew)).exit == Exit.FENCED
    by_hand = lease_of("old", generation=3, epoch=8, controller="hand")
    ok(node.wipe(by_hand))
    ok(leases.release(by_hand))
    assert sh(leases.take(anew)).exit == Exit.FENCED
    ok(leases.forget(lease_of("", epoch=8, controller="hand")))
    assert ok(leases.take(anew))["lease"] == "taken"


@pytest.mark.slow
def test_scripts_of_one_node_run_one_after_another(taken: Lease, tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = changing(taken, "for i in 1 2 3 4 5; do echo $$ >>{log}; sleep 0.01; done", log=log).text
    running = [subprocess.Popen(["/bin/sh", "-c", script]) for _ in range(4)]
    assert [one.wait(timeout=60) for one in running] == [0, 0, 0, 0]
    pids = log.read_text().split()
    assert [pids[i] for i in range(0, 20, 5)] == sorted(set(pids), key=pids.index)
    assert len(set(pids)) == 4


def test_the_lock_is_not_inherited_by_what_a_script_leaves_behind(taken: Lease) -> None:
    pid = ok(changing(taken, "sleep 30 </dev/null >/dev/null 2>&1 & fact pid $!"))["pid"]
    try:
        assert probe(taken) == 0
    finally:
        subprocess.run(["kill", pid], check=True)


@pytest.mark.skipif(not shutil.which("mksh"), reason="no mksh here")
def test_a_shell_that_keeps_open_files_to_itself_holds_the_lock(taken: Lease) -> None:
    held = changing(taken, "flock -n {lock} true || fact held yes", lock=taken.work_dir / ".lock")
    assert sh(held, "mksh", "-c", "exec mksh -s").facts["held"] == "yes"


@pytest.mark.parametrize(("code", "exit_code"), [(1, Exit.BUSY), (65, Exit.CANNOT_WRITE)])
def test_a_lock_that_cannot_be_had_is_not_one_that_is_held(
    taken: Lease, code: int, exit_code: Exit, tmp_path: Path
) -> None:
    program(tmp_path / "flock", f"exit {code}")
    ran = sh(leases.claim(taken), path=f"{tmp_path}:{os.environ['PATH']}")
    assert (ran.exit, f"(exit code {code} of flock)" in ran.stderr) == (exit_code, code != 1)


def test_what_comes_after_runs_without_the_lock_and_only_after_success(taken: Lease) -> None:
    after = Script.of("flock -n {lock} true && fact free yes; exit 5", lock=taken.work_dir / ".lock")
    ran = sh(changing(taken, "fact first yes", after=after))
    assert (ran.exit, dict(ran.facts)) == (5, {"first": "yes", "free": "yes"})
    assert dict(sh(changing(taken, "fact first yes; exit 6", after=after)).facts) == {"first": "yes"}


def lease_file(lease: Lease) -> Path:
    return Path(lease.work_dir, "lease")


SOUND = "node=node01\npool=P\ncluster=alpha\ngeneration=1\nepoch=3\ncontroller=c1\nclosed=0\n"
DAMAGED = {
    "empty": "",
    "a blank line": "\n",
    "cut off in a number": SOUND.replace("closed=0\n", "closed=1")[:-1],
    "cut off at the end of a line": SOUND.replace("closed=0\n", ""),
    "cut off in the middle": SOUND[:25],
    "more behind it": SOUND + "x",
    "garbage": "\x7fELF\x01\x00\x00\n\xff",
    "an epoch that is not a number": SOUND.replace("epoch=3", "epoch=newest"),
    "an epoch that no shell can hold": SOUND.replace("epoch=3", "epoch=" + "9" * 30),
    "an epoch below zero": SOUND.replace("epoch=3", "epoch=-1"),
    "no name of a pool": SOUND.replace("pool=P", "pool="),
    "a holder without a generation": SOUND.replace("generation=1", "generation="),
    "larger than any lease": SOUND + "x=y\n" * 5000,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_lease_refuses_its_node_alone(lease_of: LeaseOf, kind: str, tmp_path: Path) -> None:
    """Any task of a job can write one: it must neither pass for a newer controller's nor be overwritten."""
    lease, touched = lease_of(), tmp_path / "touched"
    ok(leases.take(lease))
    text = DAMAGED[kind].replace("pool=P", f"pool={lease.pool}")
    lease_file(lease).write_text(text, encoding="latin-1")
    for script in (changing(lease, ": >{file}", file=touched), leases.take(lease), leases.close(lease)):
        ran = sh(script)
        assert (ran.exit, bool(ran.facts["lease.damage"])) == (Exit.DAMAGED, True)
        assert str(lease_file(lease)) in ran.stderr
    assert sh(node.wipe(lease)).exit == Exit.DAMAGED
    assert refused(Exit.DAMAGED)
    assert not touched.exists()
    assert lease_file(lease).read_text(encoding="latin-1") == text
    assert ok(leases.show(lease.work_dir))["lease.damage"]


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder of another user")


@pytest.mark.parametrize(
    ("folder", "mode", "owner"),
    [
        ("work", 0o757, 0),
        ("work", 0o1777, 0),
        ("above", 0o777, 0),
        pytest.param("work", 0o755, 1, marks=AS_ROOT),
        pytest.param("above", 0o755, 1, marks=AS_ROOT),
        pytest.param("link", 0, 1, marks=AS_ROOT),
    ],
)
def test_a_folder_that_others_can_change_has_no_lease(
    lease_of: LeaseOf, tmp_path: Path, folder: str, mode: int, owner: int
) -> None:
    """Whoever owns it, or may write there, can replace the lease: a newer epoch would end the controller."""
    lease, newer = lease_of(), lease_of(epoch=999, controller="c2")
    work = Path(lease.work_dir)
    ok(leases.take(newer))
    before = lease_file(lease).read_bytes()
    place = {"work": work, "above": tmp_path, "link": work}[folder]
    if folder == "link":
        work.rename(tmp_path / "elsewhere")
        work.symlink_to(tmp_path / "elsewhere")
    else:
        place.chmod(mode)
    if owner:
        os.chown(place, owner, -1, follow_symlinks=False)
    for script in (changing(lease, ":"), leases.take(lease), leases.forget(lease), fenced(lease, ":")):
        ran = sh(script)
        assert ran.exit == Exit.DAMAGED
        assert str(place) in ran.facts["lease.damage"]
        assert ("chown" if owner else f"chmod {'o-w' if folder == 'work' else '+t'} '{place}'") in ran.stderr
    assert sh(leases.beat(lease, 1)).exit == 0
    assert [path.name for path in work.iterdir() if path.name != ".lock"] == ["lease"]
    assert lease_file(lease).read_bytes() == before
    for look in (leases.show(lease.work_dir), node.facts(lease.work_dir), node.check(lease.work_dir)):
        assert list(ok(look).under("lease")) == ["damage"]


def test_nothing_is_made_in_a_folder_that_others_can_change(lease_of: LeaseOf, tmp_path: Path) -> None:
    work = Path(lease_of().work_dir)
    work.mkdir(mode=0o755)
    work.chmod(0o777)
    (work / ".lock").symlink_to(tmp_path / "of a user")
    assert sh(leases.take(lease_of())).exit == Exit.DAMAGED
    assert ok(node.check(lease_of().work_dir))["lease.damage"]
    assert not (tmp_path / "of a user").exists()


def test_a_folder_below_one_with_the_sticky_bit_is_good(lease_of: LeaseOf, tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    ok(leases.take(lease_of()))
    assert "disk.group" not in ok(node.check(lease_of().work_dir))
    Path(lease_of().work_dir).chmod(0o775)
    assert ok(node.check(lease_of().work_dir))["disk.group"] == grp.getgrgid(os.getgid()).gr_name
    ok(leases.take(lease_of()))


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_what_is_no_plain_file_is_no_lease_and_is_not_waited_for(taken: Lease, kind: str, tmp_path: Path) -> None:
    file = lease_file(taken)
    if kind == "link":
        file.rename(tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere")
    else:
        file.unlink()
        os.mkfifo(file) if kind == "pipe" else file.mkdir()
    assert sh(leases.take(taken)).exit == Exit.DAMAGED
    assert "not a plain file" in ok(leases.show(taken.work_dir))["lease.damage"]
    assert "not a plain file" in ok(node.facts(taken.work_dir))["lease.damage"]


def test_a_newer_epoch_of_another_pool_takes_over_nothing(lease_of: LeaseOf) -> None:
    ok(leases.take(lease_of(pool="other", epoch=99)))
    ran = sh(leases.take(lease_of(epoch=3)))
    assert (ran.exit, ran.facts["lease.pool"]) == (Exit.FOREIGN, "other")
    assert [refused(Exit.FOREIGN), refused(Exit.SHARED_FOLDER)] == [True, True]
    assert isinstance(failure("n", "x", Exit.FENCED, ""), ElsewhereError)


def test_a_lease_is_on_the_disk_before_it_counts(lease_of: LeaseOf, tmp_path: Path) -> None:
    """Content is synced before its name: after a power failure there is the old lease or the new one, no empty file."""
    lease, log, tools = lease_of(), tmp_path / "log", tmp_path / "tools"
    file = lease_file(lease)
    for tool in ("sync", "mv"):
        program(tools / tool, f'for word; do :; done; echo {tool} "$word" >>{log}\nexec /bin/{tool} "$@"')
    ok(Script(f"PATH={tools}:$PATH") + leases.take(lease))
    temporary, name, folder = log.read_text().splitlines()
    assert (name, folder) == (f"mv {file}", f"sync {lease.work_dir}")
    assert temporary == f"sync {file.with_name('.lease.new')}"
    log.unlink()
    assert ok(Script(f"PATH={tools}:$PATH") + changing(lease, "fact ran yes"))["ran"] == "yes"
    assert not log.exists(), "a script that changes no lease pays for no sync"


def test_a_disk_that_does_not_sync_is_an_error_and_the_old_lease_stays(lease_of: LeaseOf, tmp_path: Path) -> None:
    lease, tools = lease_of(), tmp_path / "tools"
    ok(leases.take(lease))
    before = lease_file(lease).read_text()
    program(tools / "sync", "exit 1")
    assert sh(Script(f"PATH={tools}:$PATH") + leases.close(lease)).exit == Exit.CANNOT_WRITE
    assert lease_file(lease).read_text() == before


def test_a_damaged_lease_of_an_empty_node_can_be_forgotten_by_hand(lease_of: LeaseOf) -> None:
    lease, by_hand = lease_of(), lease_of("", epoch=0, controller="hand")
    ok(leases.take(lease))
    lease_file(lease).write_text("")
    assert ok(leases.forget(by_hand))["lease"] == "none"
    assert ok(leases.take(lease))["lease"] == "taken"


def test_a_damaged_lease_of_a_node_with_data_is_not_forgotten_but_repaired(lease_of: LeaseOf) -> None:
    lease, by_hand = lease_of(epoch=7), lease_of(epoch=0, controller="hand")
    ok(leases.take(lease))
    ok(node.prepare(lease))
    lease_file(lease).write_text("garbage\n")
    ran = sh(leases.forget(lease_of("", epoch=0, controller="hand")))
    assert (ran.exit, lease_file(lease).read_text()) == (Exit.HELD, "garbage\n")
    assert "alpha" in ran.stderr
    assert ok(leases.repair(by_hand))["lease"] == "repaired"
    assert ok(leases.show(lease.work_dir))["lease.cluster"] == "alpha"
    # The controller that runs meanwhile is newer than the hand, and goes on.
    assert probe(lease) == 0
    assert ok(leases.show(lease.work_dir))["lease.epoch"] == "7"


def test_a_sound_lease_is_not_repaired(lease_of: LeaseOf) -> None:
    ok(leases.take(lease_of("alpha", epoch=7)))
    ran = sh(leases.repair(lease_of("beta", epoch=7)))
    assert ran.exit == Exit.HELD
    assert "is whole" in ran.stderr


def test_a_work_folder_that_cannot_be_made_is_named(lease_of: LeaseOf) -> None:
    lease = lease_of()
    Path(lease.work_dir).write_text("a file is in the way")
    ran = sh(leases.take(lease))
    assert ran.exit == Exit.CANNOT_WRITE
    assert str(lease.work_dir) in str(failure("node01", "taking", ran.exit, ran.stderr))


@pytest.mark.parametrize("name", ["../x", "a b", "a\nb", "", "-x"])
def test_names_that_are_no_names_are_refused(lease_of: LeaseOf, name: str) -> None:
    with pytest.raises(UserError):
        lease_of(pool=name)


def test_the_lease_says_whether_its_mr_cluster_has_a_control_group(lease_of: LeaseOf) -> None:
    lease = lease_of("alpha")
    assert "group" not in ok(leases.show(lease.work_dir))
    ok(leases.take(lease))
    assert ok(leases.show(lease.work_dir))["group"] == "no"
    record = Path(lease.folders.group_file)
    record.parent.mkdir()
    for text, has in (("folder /sys/fs/cgroup/x", "yes"), ("unit", "yes"), ("none", "no")):
        record.write_text(f"{text}\n")
        assert ok(leases.show(lease.work_dir))["group"] == has
    refused = sh(leases.release(lease))
    assert refused.exit == Exit.CLEAN_FAILED
    assert "it was not shown that the control group of alpha is empty" in refused.stderr
