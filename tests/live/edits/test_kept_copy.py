"""The controller's copy of the masters' data: a crash at any byte leaves it usable, and loses nothing of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from fawkes.live.edits import kept_copy
from fawkes.live.edits.kept_copy import CopyFolder
from tests.live.namenode_files import version

NAME = "pool-c-1"


def opened(folder: Path) -> CopyFolder:
    return CopyFolder(folder / "c-1", NAME, lambda path: 10**12)


def add_image(copy: CopyFolder, transaction: int, data: bytes) -> None:
    def fetch(file: object) -> None:
        file.write(data)  # type: ignore[attr-defined]

    checksum = f"{hashlib.md5(data).hexdigest()} *fsimage_{transaction:019d}"
    copy.add_image(transaction, len(data), fetch, checksum)


@pytest.fixture
def copy(tmp_path: Path) -> CopyFolder:
    made = opened(tmp_path)
    made.begin(version())
    add_image(made, 0, b"i" * 400)
    made.note(1_000_000, changed=True)
    return made


@pytest.mark.parametrize("note", ["", '{"cluster": "pool-', "[]", "{}"])
def test_a_note_that_cannot_be_read_costs_the_time_and_never_the_copy(
    copy: CopyFolder, tmp_path: Path, note: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A power loss left it so in a version that did not wait for the disk."""
    (tmp_path / "c-1" / "note").write_text(note)
    again = opened(tmp_path)
    assert (again.sizes, again.version, again.copied_us) == (copy.sizes, copy.version, None)
    assert [path.name for path in tmp_path.iterdir()] == ["c-1"]
    assert "its note cannot be read" in caplog.text
    # A time that nobody knows is no time: the copy counts when it has been compared.
    assert again.copy() is None
    again.note(2_000_000, changed=False)
    assert opened(tmp_path).copy() == again.copy() is not None


@pytest.mark.parametrize("spoilt", ["note", "VERSION"])
def test_the_copy_of_another_one_is_set_aside(copy: CopyFolder, tmp_path: Path, spoilt: str) -> None:
    text = {"note": '{"cluster": "pool-c-2", "copied_us": 7}', "VERSION": "damaged"}[spoilt]
    (tmp_path / "c-1" / "note" if spoilt == "note" else copy.path / "VERSION").write_text(text)
    assert opened(tmp_path).copy() is None
    assert [path.name for path in tmp_path.iterdir()] == ["c-1.before"]


@pytest.mark.parametrize("changed", [False, True])
def test_a_note_is_on_the_disk_before_it_has_its_name(
    copy: CopyFolder, tmp_path: Path, changed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it, XFS and ext4 with noauto_da_alloc show an empty file after a power loss."""
    synced: list[str] = []

    def fsync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").resolve().name)

    monkeypatch.setattr("os.fsync", fsync)
    copy.note(2_000_000, changed=changed)
    assert synced == [".note.part", *(["c-1"] if changed else [])]


def test_an_image_comes_with_its_checksum_or_not_at_all(
    copy: CopyFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        pass

    def dies(path: Path, data: bytes) -> None:
        raise KilledError

    monkeypatch.setattr(kept_copy, "write_private", dies)
    with pytest.raises(KilledError):
        add_image(copy, 7, b"j" * 500)
    again = opened(tmp_path)
    assert again.image == 0
    kept = again.copy()
    assert kept is not None
    assert all((kept.files / f"{name}.md5").exists() for name in kept.names() if name.startswith("fsimage_"))
