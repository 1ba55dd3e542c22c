from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fawkes.live.lab.folder import LabFolder, remove_tree


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabFolder:
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path))
    return LabFolder("one")


def test_the_lock_is_held_by_one_at_a_time(folder: LabFolder) -> None:
    with folder.locked() as first:
        assert first is not None
        with folder.locked() as second:
            assert second is None
    with folder.locked() as third:
        assert third is not None


def test_whoever_inherits_the_lock_holds_it_until_the_end(folder: LabFolder) -> None:
    with folder.locked() as lock:
        assert lock is not None
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(lock,))
    with folder.locked() as again:
        assert again is None
    child.communicate()
    with folder.locked() as after:
        assert after is not None


def test_a_lock_whose_file_was_removed_is_not_taken_for_the_lock(folder: LabFolder) -> None:
    with folder.locked() as lock:
        assert lock is not None
        folder.remove()
        with folder.locked() as other:
            assert other is not None


def test_the_warden_is_known_by_process_and_start(folder: LabFolder) -> None:
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    with folder.locked():
        folder.write_state({}, child.pid)
        assert folder.warden_by_state() == child.pid
        child.communicate()
        assert folder.warden_by_state() is None


def test_another_process_with_the_id_of_the_warden_is_not_the_warden(folder: LabFolder) -> None:
    with folder.locked():
        folder.write_state({}, os.getpid())
        file = folder.path / "lab.json"
        file.write_text(file.read_text().replace('"started": ', '"started": 1'))
        assert folder.warden_by_state() is None


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"pid": 1}'])
def test_a_damaged_state_means_no_warden(folder: LabFolder, damage: str) -> None:
    with folder.locked():
        (folder.path / "lab.json").write_text(damage)
        assert folder.warden_by_state() is None


def test_clearing_keeps_the_lock_alone(folder: LabFolder) -> None:
    with folder.locked():
        (folder.path / "hosts/node01").mkdir(parents=True)
        (folder.path / "link").symlink_to(folder.path / "hosts")
        folder.clear()
        assert [entry.name for entry in folder.path.iterdir()] == ["lock"]


def test_folders_without_rights_are_removed_too(tmp_path: Path) -> None:
    deep = tmp_path / "disk/closed/deeper"
    deep.mkdir(parents=True)
    (deep / "file").touch()
    deep.chmod(0)
    deep.parent.chmod(0)
    remove_tree(tmp_path / "disk")
    assert list(tmp_path.iterdir()) == []
