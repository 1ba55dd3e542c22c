"""Files are written whole or not at all, and nothing but a regular file is ever replaced."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from fawkes.base.errors import RefusedError, UserError
from fawkes.base.writing import place_of, refuse_there, whole


def device(path: Path) -> None:
    """A device of the kind of /dev/null; only root may make one."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root may make a device")


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(path))


def write(path: Path, then: Callable[[], object]) -> None:
    """Half of a file, and then something happens."""
    with whole(path) as out:
        out.write(b"half")
        then()


SPECIAL: dict[str, Callable[[Path], object]] = {
    "a device": device,
    "a named pipe": os.mkfifo,
    "a socket": listening,
    "a folder": Path.mkdir,
}


@pytest.mark.parametrize("linked", [False, True], ids=["itself", "through a link"])
@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path, kind: str, linked: bool) -> None:
    special = tmp_path / "special"
    SPECIAL[kind](special)
    before = special.lstat()
    path = tmp_path / "link" if linked else special
    if linked:
        path.symlink_to(special)
    with pytest.raises(RefusedError, match=f"is {kind} and is not replaced"):
        refuse_there(path, force=True)
    with pytest.raises(RefusedError), whole(path):
        pytest.fail("it was opened")
    after = special.lstat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert path.is_symlink() == linked
    assert {each.name for each in tmp_path.iterdir()} == {"special", path.name}


def test_a_special_file_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(RefusedError, match="named pipe"):
        write(path, then=lambda: os.mkfifo(path))
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_a_link_to_a_file_stays_and_the_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    refuse_there(tmp_path / "link", force=True)
    with whole(tmp_path / "link") as out:
        out.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


@pytest.mark.parametrize("target", ["nothing", "link"])
def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(RefusedError, match="is a link that leads to no file"):
        place_of(tmp_path / "link")


def test_without_force_anything_that_is_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nothing")
    for name in ("file", "link"):
        with pytest.raises(RefusedError, match="exists already"):
            refuse_there(tmp_path / name, force=False)
    refuse_there(tmp_path / "new", force=False)


def test_after_an_error_nothing_is_left_and_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError):
        write(path, then=lambda: 1 / 0)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be written"), whole(tmp_path / "no" / "out"):
        pass
