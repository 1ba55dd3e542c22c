"""A state folder and all that is in it are their controller's alone, from the first moment and after an upgrade."""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from fawkes.base.errors import ElsewhereError, RefusedError
from fawkes.store.lock import LOCK_FILE, StateLock
from fawkes.store.private import make_private, private_folder
from fawkes.store.sqlite import Ledger
from fawkes.store.steps import packed, unpacked
from tests.store.examples import steps

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="another user is needed, which only root can become")


def modes(folder: Path) -> dict[str, int]:
    """The rights of a folder (as ``.``) and of all below it."""
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode)
        for path in (folder, *folder.rglob("*"))
        if not path.is_symlink()
    }


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def test_a_new_ledger_is_private_whatever_the_umask(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with umask(0), closing(Ledger(folder)) as ledger:
        for event, decision in steps():
            ledger.append(event, decision)
        assert len(modes(folder)) >= 4, "the log of SQLite and its shared memory belong to it"
        assert all(not mode & 0o077 for mode in modes(folder).values()), modes(folder)


def test_an_older_folder_is_repaired_and_counted(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    (folder / "logs" / "c-1").mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.write_text("")
    outside.chmod(0o644)
    for name, mode in (("ledger.sqlite", 0o644), ("lock", 0o600), ("logs/c-1/n.tar.gz", 0o664)):
        (folder / name).write_text("")
        (folder / name).chmod(mode)
    (folder / "link").symlink_to(outside)
    for path in (folder, folder / "logs", folder / "logs" / "c-1"):
        path.chmod(0o755)
    assert make_private(folder) == 5
    assert all(not mode & 0o077 for mode in modes(folder).values())
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644, "a link is not followed"
    assert make_private(folder) == 0


@needs_root
@pytest.mark.parametrize("name", ["", "ledger.sqlite"])
def test_what_belongs_to_somebody_else_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / "ledger.sqlite").write_text("")
    os.chown(folder / name, pwd.getpwnam("nobody").pw_uid, -1)
    with pytest.raises(RefusedError, match=r"belongs to nobody, .* Run `fawkes run` as nobody"):
        make_private(folder)


@pytest.mark.slow
@needs_root
def test_a_lock_that_another_user_took_before_is_named(tmp_path: Path) -> None:
    """Other users could open the lock of older versions; the error must not name a controller that is not one."""
    folder = tmp_path / "state"
    folder.mkdir()
    lock = folder / LOCK_FILE
    lock.touch(mode=0o644)
    code = "import fcntl, os, signal, sys; os.setuid(int(sys.argv[1])); fcntl.flock(0, fcntl.LOCK_SH); "
    with lock.open() as inherited:
        holder = subprocess.Popen(
            [sys.executable, "-c", f"{code}print(1, flush=True); signal.pause()", str(pwd.getpwnam("nobody").pw_uid)],
            stdin=inherited,
            stdout=subprocess.PIPE,
        )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"1\n"
        with pytest.raises(RefusedError, match=rf"process {holder.pid} of nobody holds the lock"):
            StateLock(folder)
    finally:
        holder.kill()
        holder.communicate()


@pytest.mark.slow
def test_the_lock_of_a_controller_is_still_that(tmp_path: Path) -> None:
    with closing(StateLock(tmp_path)), pytest.raises(ElsewhereError, match=rf"process {os.getpid()} on "):
        StateLock(tmp_path)


@pytest.mark.slow
def test_a_text_of_a_foreign_ledger_is_not_unpacked_without_a_bound() -> None:
    assert unpacked(packed("x" * 10_000)) == "x" * 10_000
    bomb = zlib.compress(b"\0" * ((1 << 28) + 1), 9)
    with pytest.raises(zlib.error, match="longer than"):
        unpacked(bomb)
    whole = packed("x" * 10_000)
    assert isinstance(whole, bytes)
    with pytest.raises(zlib.error, match="cut off"):
        unpacked(whole[:-8])


def test_all_folders_that_are_made_for_a_file_are_private(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    with umask(0o022):
        private_folder(tmp_path / "state" / "logs" / "c-1")
        private_folder(tmp_path / "state" / "logs" / "c-1")
    assert modes(tmp_path / "state") == {".": 0o700, "logs": 0o700, "logs/c-1": 0o700}
    assert make_private(tmp_path / "state") == 0
