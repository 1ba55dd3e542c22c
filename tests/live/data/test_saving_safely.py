"""A save is not led astray: neither by names of HDFS nor by links on the disk."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import FawkesError, RefusedError
from fawkes.live.data.saved import MANIFEST
from fawkes.live.wire.rest import close_session
from tests.live.fake_hdfs import FakeHdfs, running
from tests.live.saves import an_output, check, contents, save, stakes, unsaved, working


@pytest.fixture
def server() -> Iterator[FakeHdfs]:
    with an_output() as server:
        yield server


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", ".", "..", "../../x", "../../../x", "/abs/x", "deep/x", "a\0b", "\udc80", 5])
@pytest.mark.parametrize("kind", ["FILE", "DIRECTORY"])
def test_a_name_that_leads_away_is_reported(server: FakeHdfs, target: Path, name: object, kind: str) -> None:
    server.said["/out/wc"] = [{"pathSuffix": name, "type": kind, "length": 1, "modificationTime": 1}]
    wrong = unsaved(server, target)
    assert wrong.keys() == {f"/out/wc/{name!a}"}
    assert contents(working(target)) == server.files("/out/wc")
    assert {path.name for path in target.parent.iterdir()} == {".wc.saving"}
    assert {path.name for path in target.parent.parent.iterdir()} == {"saved"}


@pytest.mark.parametrize("kind", ["FILE", "DIRECTORY"])
def test_a_name_that_is_listed_twice_is_reported(server: FakeHdfs, target: Path, kind: str) -> None:
    server.said["/out/wc"] = [{"pathSuffix": "part-r-00001", "type": kind, "length": 1, "modificationTime": 1}]
    assert unsaved(server, target).keys() == {"/out/wc/part-r-00001"}
    assert contents(working(target)) == server.files("/out/wc")


_NAME = st.text(max_size=8) | st.sampled_from(
    ["..", ".", "../x", "/x", "a/../../x", "x\0", ".wc.saving", "wc", "\n", "\\"]
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(name=_NAME, kind=st.sampled_from(["FILE", "DIRECTORY"]), where=st.sampled_from(["/out/wc", "/out/wc/deep"]))
def test_no_name_of_a_listing_leaves_the_folder(hdfs: FakeHdfs, place: Path, name: str, kind: str, where: str) -> None:
    shutil.rmtree(place / "saved", ignore_errors=True)
    hdfs.tree = {path: entry for path, entry in hdfs.tree.items() if path in ("/", "/out", "/out/wc", "/out/wc/deep")}
    hdfs.put("/out/wc/deep/part", b"data")
    hdfs.said = {where: [{"pathSuffix": name, "type": kind, "length": 0, "modificationTime": 1}]}
    with contextlib.suppress(FawkesError):
        save(hdfs, place / "saved" / "wc")
    assert [path.name for path in place.iterdir()] == ["saved"]
    (folder,) = (place / "saved").iterdir()
    assert (folder / "deep" / "part").read_bytes() == b"data"


@pytest.fixture(scope="module")
def hdfs() -> Iterator[FakeHdfs]:
    with running() as server:
        yield server
    close_session()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("place")


@pytest.fixture
def thesis(tmp_path: Path) -> Iterator[Path]:
    """Somebody's data; nothing of it may be read, written or deleted."""
    folder = tmp_path / "somebody"
    (folder / "deep" / "er").mkdir(parents=True)
    places = [folder / name for name in ("thesis", "part-r-00001", MANIFEST, "deep/er/part")]
    for path in places:
        path.write_bytes(b"mine")
    yield folder
    assert [path.read_bytes() for path in places] == [b"mine"] * len(places)
    assert len(list(folder.rglob("*"))) == len(places) + 2


def test_a_link_in_the_place_of_the_working_folder_is_refused(server: FakeHdfs, target: Path, thesis: Path) -> None:
    target.parent.mkdir(parents=True)
    working(target).symlink_to(thesis)
    with pytest.raises(RefusedError, match="is a link") as caught:
        save(server, target)
    assert str(working(target)) in caught.value.where
    assert working(target).is_symlink()


def test_a_link_in_the_place_of_the_target_is_refused(server: FakeHdfs, target: Path, thesis: Path) -> None:
    target.parent.mkdir(parents=True)
    target.symlink_to(thesis)
    with pytest.raises(RefusedError, match="is a link"):
        save(server, target)
    with pytest.raises(RefusedError, match="is a link"):
        check(server, target)
    assert not stakes(server, ("/out/wc", target))[0].saved
    assert target.is_symlink()


@pytest.mark.parametrize("name", ["part-r-00001", "deep", "deep/er", "deep/er/part", "empty", MANIFEST, "stray"])
def test_links_in_the_working_folder_are_replaced(server: FakeHdfs, target: Path, thesis: Path, name: str) -> None:
    planted = working(target) / name
    planted.parent.mkdir(parents=True)
    planted.symlink_to(thesis / name if (thesis / name).exists() else thesis)
    save(server, target)
    assert contents(target) == server.files("/out/wc")
    assert not any(path.is_symlink() for path in target.rglob("*"))


@pytest.mark.parametrize("name", ["part-r-00001", "deep", "deep/er/part", MANIFEST, "stray"])
def test_links_in_a_saved_folder_are_not_followed(server: FakeHdfs, target: Path, thesis: Path, name: str) -> None:
    save(server, target)
    planted = target / name
    shutil.rmtree(planted) if planted.is_dir() else planted.unlink(missing_ok=True)
    planted.symlink_to(thesis / name if (thesis / name).exists() else thesis)
    if name != "stray":
        with pytest.raises(RefusedError):
            save(server, target)
        with pytest.raises(RefusedError):
            check(server, target)
    assert not stakes(server, ("/out/wc", target))[0].saved
    assert planted.is_symlink()


def test_a_link_that_appears_while_it_is_saved(server: FakeHdfs, target: Path, thesis: Path) -> None:
    """Between two files of a folder; what is behind it stays as it was."""

    def plant(path: str, data: bytes) -> bytes:
        folder = working(target) / "deep"
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
            folder.symlink_to(thesis / "deep")
        return data

    server.on_read = plant
    with pytest.raises(FawkesError):
        save(server, target, readers=1)
    assert not target.exists()
    server.on_read = None
    save(server, target)
    assert contents(target) == server.files("/out/wc")


def test_another_folder_that_is_put_in_the_place_of_the_saved_one(server: FakeHdfs, target: Path) -> None:
    """Whoever may write beside it can exchange it at the last moment: then nothing counts as saved."""

    def swap(path: str, data: bytes) -> bytes:
        if working(target).exists() and not (target.parent / "away").exists():
            working(target).rename(target.parent / "away")
            working(target).mkdir()
        return data

    server.on_read = swap
    with pytest.raises(FawkesError, match="was replaced"):
        save(server, target, readers=1)
