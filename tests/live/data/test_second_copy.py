"""The second copy of the masters' data, on another node: always what the controller's was, or not noted at all."""

from __future__ import annotations

import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.base.errors import RefusedError
from fawkes.live.data.second_copy import SecondCopy, Snapshot, unpack
from fawkes.live.edits.kept_copy import CopyFolder, KeepError
from tests.live.kept_site import CLUSTER, MASTER, SECOND, THIRD, KeptSite, content, state
from tests.live.namenode_files import version

pytestmark = pytest.mark.slow


def push(site: KeptSite, copy: CopyFolder, second: SecondCopy) -> None:
    snapshot = Snapshot.of(copy)
    assert snapshot is not None
    second.push(snapshot, SECOND, site.lease(SECOND))
    there = site.path(SECOND, "kept")
    assert content(there / "nn") == content(copy.path)
    assert state(there / "rm-state") == state(copy.state_path)
    assert (there / "nn/VERSION").read_text() == copy.version


def test_it_follows_the_controllers(site: KeptSite) -> None:
    copy = site.copy()
    second = site.second(copy)
    store = site.path(MASTER, "rm-state")
    (store / "Root").mkdir(parents=True)
    for number in range(4):
        site.nn.write(b"a" * 100, b"b" * 2_000_000)
        (store / f"Root/app{number}").write_bytes(b"one")
        (store / f"Root/app{number - 1}").unlink(missing_ok=True)
        site.bring(copy)
        push(site, copy, second)
        if number == 1:
            site.nn.roll()
        if number == 2:
            site.nn.checkpoint()
    assert second.copied_us(SECOND, CLUSTER) == copy.copied_us
    assert site.path(SECOND, "kept").stat().st_mode & 0o077 == 0


def test_a_controller_that_was_started_again_goes_on_where_it_was(site: KeptSite) -> None:
    copy = site.copy()
    site.nn.write(b"a", b"b")
    site.bring(copy)
    push(site, copy, site.second(copy))
    kept = site.path(SECOND, "kept/nn") / site.nn.segment.name
    before = kept.stat().st_ino
    site.nn.write(b"c")
    site.bring(copy := site.copy())
    push(site, copy, site.second(copy))
    assert kept.stat().st_ino == before


@pytest.mark.parametrize("damage", [b"", b"something else entirely"])
def test_one_that_is_not_as_it_was_sent_is_made_afresh(site: KeptSite, damage: bytes) -> None:
    copy = site.copy()
    second = site.second(copy)
    site.nn.write(b"a")
    site.bring(copy)
    push(site, copy, second)
    (site.path(SECOND, "kept/nn") / site.nn.segment.name).write_bytes(damage)
    site.nn.write(b"b")
    site.bring(copy)
    with pytest.raises(KeepError, match="the second copy has another"):
        push(site, copy, second)
    push(site, copy, second)


def test_one_of_another_namespace_is_set_aside(site: KeptSite) -> None:
    copy = site.copy()
    site.bring(copy)
    push(site, copy, site.second(copy))
    there = site.path(SECOND, "kept")
    (there / "nn/VERSION").write_text(version(namespace=7))
    push(site, copy, site.second(copy))
    assert "namespaceID=7" in (there.with_name("kept.before") / "nn/VERSION").read_text()


def test_a_node_that_is_somebody_elses_gets_nothing(site: KeptSite) -> None:
    copy = site.copy()
    site.bring(copy)
    snapshot = Snapshot.of(copy)
    assert snapshot is not None
    with pytest.raises(RefusedError):
        site.second(copy).push(snapshot, SECOND, replace(site.lease(SECOND), generation=2))
    assert not site.path(SECOND, "kept").exists()


def test_a_node_without_one_has_none(site: KeptSite) -> None:
    assert site.second(site.copy()).copied_us(THIRD, CLUSTER) is None


def tar_of(place: Path, *members: tuple[str, bytes, bytes]) -> Path:
    """A tar with members: name, kind (as in `tarfile`), content."""
    with tarfile.open(place, "w") as tar:
        for name, kind, content in members:
            member = tarfile.TarInfo(name)
            member.type, member.size, member.linkname = kind, len(content), "/etc/passwd" * (kind == tarfile.SYMTYPE)
            tar.addfile(member, io.BytesIO(content))
    return place


def test_a_tar_of_files_and_folders_is_unpacked(tmp_path: Path) -> None:
    archive = tar_of(
        tmp_path / "t", ("nn", tarfile.DIRTYPE, b""), ("nn/a", tarfile.REGTYPE, b"1"), ("rm/b/c", tarfile.REGTYPE, b"2")
    )
    unpack(archive, tmp_path / "to")
    files = {str(f.relative_to(tmp_path / "to")): f.read_bytes() for f in (tmp_path / "to").rglob("*") if f.is_file()}
    assert files == {"nn/a": b"1", "rm/b/c": b"2"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../x", tarfile.REGTYPE),
        ("nn/../../x", tarfile.REGTYPE),
        ("/x", tarfile.REGTYPE),
        ("x", tarfile.SYMTYPE),
        ("x", tarfile.LNKTYPE),
        ("x", tarfile.FIFOTYPE),
    ],
)
def test_what_no_copy_has_is_refused(tmp_path: Path, name: str, kind: bytes) -> None:
    archive = tar_of(tmp_path / "t", (name, kind, b""))
    with pytest.raises(tarfile.TarError, match="which no copy has"):
        unpack(archive, tmp_path / "to")
    assert not list(tmp_path.glob("*x*"))
