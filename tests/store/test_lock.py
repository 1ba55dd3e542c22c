"""The lock of a state folder says who holds it, and looking at it does not take it."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path

import pytest

from fawkes.base.errors import ElsewhereError
from fawkes.store.lock import LOCK_FILE, Holder, StateLock, _locked_by, _name_of, died, holder, is_held


def test_nobody_holds_a_folder_that_was_never_used(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    assert not (tmp_path / LOCK_FILE).exists()


def test_the_holder_is_named(tmp_path: Path) -> None:
    lock = StateLock(tmp_path)
    held_by = holder(tmp_path)
    assert held_by is not None
    assert held_by.pid == os.getpid()
    assert str(held_by).startswith(f"process {os.getpid()} on {os.uname().nodename} since 20")
    with pytest.raises(ElsewhereError) as caught:
        StateLock(tmp_path)
    assert caught.value.what == f"another controller is in charge: {held_by}"
    assert caught.value.where == str(tmp_path)
    assert died(tmp_path) is None
    lock.close()
    assert holder(tmp_path) is None
    assert died(tmp_path) is None, "it left a word of its end"


def test_what_a_dead_process_wrote_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_text('{"host": "elsewhere", "pid": 1, "since_us": 5}')
    assert holder(tmp_path) is None
    assert died(tmp_path) is None, "its lock may not be seen here"
    (tmp_path / LOCK_FILE).write_text(f'{{"host": "{os.uname().nodename}", "pid": 1, "since_us": 5}}')
    assert died(tmp_path) is None, "0.2.0 leaves that text at an orderly end as well"
    text = f'{{"host": "{os.uname().nodename}", "pid": 1, "since_us": 5, "says_end": true}}'
    (tmp_path / LOCK_FILE).write_text(text)
    last = died(tmp_path)
    assert last is not None
    assert last.pid == 1
    lock = StateLock(tmp_path)
    held_by = holder(tmp_path)
    assert held_by is not None
    assert held_by.pid == os.getpid()
    lock.close()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x", "host": "h", "since_us": 1}', "\x00"])
def test_a_lock_without_a_name_is_still_a_lock(tmp_path: Path, text: str) -> None:
    lock = StateLock(tmp_path)
    (tmp_path / LOCK_FILE).write_text(text)
    assert holder(tmp_path) == Holder("this machine", 0, 0)
    lock.close()


def test_a_controller_of_0_2_0_is_seen_while_it_runs(tmp_path: Path) -> None:
    """It takes the lock of which only /proc/locks tells."""
    text = f'{{"host": "h", "pid": {os.getpid()}, "since_us": 5}}'
    (tmp_path / LOCK_FILE).write_text(text)
    assert holder(tmp_path) is None
    with (tmp_path / LOCK_FILE).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        held_by = holder(tmp_path)
        assert held_by is not None
        assert held_by.pid == os.getpid()
    assert holder(tmp_path) is None


@pytest.mark.parametrize(("name", "pids"), [("fe:00:12", [7]), ("00:31:12", [9]), ("00:2e:12", []), ("12", [7, 9])])
def test_two_file_systems_have_files_of_the_same_number(name: str, pids: list[int]) -> None:
    locks = (
        "1: FLOCK  ADVISORY  WRITE 7 fe:00:12 0 EOF\n"
        "1: -> FLOCK  ADVISORY  WRITE 8 fe:00:12 0 EOF\n"
        "2: FLOCK  ADVISORY  WRITE 9 00:31:12 0 EOF\n"
        "3: POSIX  ADVISORY  WRITE 10 fe:00:12 0 EOF\n"
        "4: FLOCK  ADVISORY  WRITE 11 fe:00:112 0 EOF\n"
    )
    assert _locked_by(locks, name) == pids


@pytest.mark.parametrize("folder", [Path("/tmp"), Path("/dev/shm")])
def test_a_file_is_named_as_the_kernel_names_it(folder: Path) -> None:
    with tempfile.TemporaryFile(dir=folder) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert os.getpid() in _locked_by(Path("/proc/locks").read_text(), _name_of(file.fileno()))


def test_looking_at_the_lock_takes_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller that started while somebody looked would be refused, or would have to try again."""
    (tmp_path / LOCK_FILE).touch()
    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", None)
        assert holder(tmp_path) is None
    lock = StateLock(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", None)
        assert holder(tmp_path) is not None
    lock.close()


def test_a_look_sees_the_lock_of_another_process(tmp_path: Path) -> None:
    lock = StateLock(tmp_path)
    child = os.fork()
    if child == 0:
        lock.close()
        os._exit(0 if holder(tmp_path) is not None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    lock.close()


def test_a_sign_of_life_is_later_than_the_start(tmp_path: Path) -> None:
    lock = StateLock(tmp_path)
    before = holder(tmp_path)
    lock.beat()
    after = holder(tmp_path)
    lock.close()
    assert before is not None
    assert after is not None
    assert before.alive_us == before.since_us == after.since_us < after.alive_us


def test_giving_it_back_again_closes_no_other_file(tmp_path: Path) -> None:
    lock = StateLock(tmp_path)
    lock.close()
    with open(tmp_path / "later", "wb") as later:
        lock.close()
        for file in (0, later.fileno()):
            os.fstat(file)


def test_where_the_machine_does_not_show_its_locks_another_controller_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = StateLock(tmp_path)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "")
    with pytest.raises(ElsewhereError):
        StateLock(tmp_path)
    lock.close()


def test_a_lock_is_free_only_when_that_is_certain(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    lock = StateLock(tmp_path)
    assert is_held(tmp_path)
    lock.close()
    assert not is_held(tmp_path)
    # What cannot be opened may be anybody's.
    (tmp_path / LOCK_FILE).unlink()
    (tmp_path / LOCK_FILE).symlink_to(LOCK_FILE)
    with pytest.raises(OSError, match="symbolic links"):
        is_held(tmp_path)
