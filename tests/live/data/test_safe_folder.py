"""A folder below which no link is followed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.live.data.safe_folder import SafeFolder

Act = Callable[[SafeFolder, str], object]


def _write(folder: SafeFolder, name: str) -> None:
    with folder.create(name) as out:
        out.write(b"ours")


ACTS: dict[str, Act] = {
    "make": lambda folder, name: folder.make(name),
    "create": _write,
    "read": lambda folder, name: folder.read(name),
    "stat": lambda folder, name: folder.stat(name),
    "remove": lambda folder, name: folder.remove(name),
    "folder": lambda folder, name: folder.folder(name).close(),
}


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Somebody's data beside the folder."""
    (tmp_path / "other" / "deep").mkdir(parents=True)
    (tmp_path / "other" / "thesis").write_text("mine")
    (tmp_path / "other" / "deep" / "thesis").write_text("mine")
    return tmp_path / "other"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[SafeFolder]:
    (tmp_path / "ours").mkdir()
    with SafeFolder.at(tmp_path / "ours") as folder:
        yield folder


def untouched(other: Path) -> bool:
    there = {path.relative_to(other).as_posix() for path in other.rglob("*")}
    texts = {path.read_text() for path in other.rglob("thesis")}
    return there == {"thesis", "deep", "deep/thesis"} and texts == {"mine"}


@pytest.mark.parametrize("name", ["a/thesis", "a/b/thesis", "a/new", "a/b/new/er"])
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("level", [0, 1])
def test_a_link_on_the_way_is_not_followed(folder: SafeFolder, other: Path, level: int, act: str, name: str) -> None:
    if level:
        folder.make("a")
        (folder.path / "a" / "b").symlink_to(other / "deep")
        name = name if name.startswith("a/b/") else f"a/b/{name}"
    else:
        (folder.path / "a").symlink_to(other)
    with pytest.raises(OSError, match="Not a directory"):
        ACTS[act](folder, name)
    assert untouched(other)


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_read(folder: SafeFolder, other: Path) -> None:
    (folder.path / "a").symlink_to(other / "thesis")
    assert folder.read("a") is None
    assert folder.size("a") is None
    _write(folder, "a")
    assert (folder.path / "a").read_text() == "ours"
    assert untouched(other)


def test_a_hard_link_in_the_place_of_a_file_is_replaced(folder: SafeFolder, other: Path) -> None:
    (folder.path / "a").hardlink_to(other / "thesis")
    _write(folder, "a")
    assert (folder.path / "a").read_text() == "ours"
    assert untouched(other)


def test_a_pipe_holds_nobody(folder: SafeFolder) -> None:
    os.mkfifo(folder.path / "a")
    assert folder.read("a") is None


def test_links_are_listed_and_removed_as_themselves(folder: SafeFolder, other: Path) -> None:
    folder.make("x/y")
    for place in ("a", "x/b", "x/y/c"):
        (folder.path / place).symlink_to(other)
    names = [name for name, _ in folder.below()]
    assert set(names) == {"a", "x", "x/b", "x/y", "x/y/c"}
    for name in reversed(names):
        folder.remove(name)
    assert folder.is_empty()
    assert untouched(other)


def test_a_link_as_the_folder_itself_is_refused(tmp_path: Path, other: Path) -> None:
    (tmp_path / "link").symlink_to(other)
    with pytest.raises(OSError, match="Not a directory"):
        SafeFolder.at(tmp_path / "link")
    (tmp_path / "above").symlink_to(tmp_path / "other")
    SafeFolder.at(tmp_path / "above" / "deep").close()


@pytest.mark.slow
def test_a_very_deep_tree(folder: SafeFolder) -> None:
    """Deeper than a path may be long, and than Python may call itself."""
    deep = "/".join(["d" * 5] * 1200)
    folder.make(deep)
    _write(folder, f"{deep}/file")
    names = [name for name, _ in folder.below()]
    assert names[-1] == f"{deep}/file"
    for name in reversed(names):
        folder.remove(name)
    assert folder.is_empty()


def test_what_is_moved_in_its_place_is_not_it(folder: SafeFolder) -> None:
    folder.make("a")
    folder.make("b")
    with folder.folder("a") as a:
        assert a.same_as(folder.stat("a"))
        assert not a.same_as(folder.stat("b"))
        assert not a.same_as(folder.stat("c"))


_PART = st.text(max_size=6) | st.sampled_from(["", ".", "..", "/", "/etc", "\0", "a\0b", "ok", "//", "../.."])


@pytest.mark.slow
@given(parts=st.lists(_PART, min_size=1, max_size=4))
def test_no_name_leads_out_of_it(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    place = tmp_path_factory.mktemp("place")
    (place / "ours").mkdir()
    with SafeFolder.at(place / "ours") as folder:
        for act in ("make", "create"):
            try:
                ACTS[act](folder, "/".join(parts))
            except (OSError, ValueError):
                continue
    assert [path.name for path in place.iterdir()] == ["ours"]
