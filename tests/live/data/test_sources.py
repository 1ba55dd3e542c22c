"""Where input sets come from."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from fawkes.base.errors import FawkesError, UserError
from fawkes.live.data.sources import LocalFolder, SourceFile, WebHdfsFolder, source_of
from fawkes.live.wire.names import NAMES
from fawkes.live.wire.webhdfs import HdfsFailedError
from tests.live.fake_hdfs import FakeHdfs, running


def test_all_files_below_a_local_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b").write_bytes(b"12")
    (tmp_path / "a").write_bytes(b"1")
    os.utime(tmp_path / "a", ns=(0, 5_000_999_999))
    source = source_of(str(tmp_path), "hadoop")
    files = source.files()
    assert [file.name for file in files] == ["a", "sub/b"]
    assert files[0] == SourceFile("a", 1, 5000)
    assert b"".join(source.read(files[1])) == b"12"


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_bytes(b"1")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "folder").symlink_to(tmp_path / "real")
    (tmp_path / "set" / "file").symlink_to(tmp_path / "real" / "a")
    assert [file.name for file in LocalFolder(tmp_path / "set").files()] == ["file", "folder/a"]


def test_links_that_lead_back_are_refused(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "up").symlink_to(tmp_path)
    with pytest.raises(UserError, match="leads back") as caught:
        LocalFolder(tmp_path).files()
    assert caught.value.where == str(tmp_path / "sub" / "up")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="neither a file nor a folder") as caught:
        LocalFolder(tmp_path).files()
    assert caught.value.where == str(tmp_path / "pipe")


def test_a_link_to_nowhere_and_a_file_that_has_gone(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FawkesError, match="No such file") as caught:
        LocalFolder(tmp_path).files()
    assert caught.value.where == str(tmp_path / "a")
    with pytest.raises(FawkesError, match="No such file"):
        next(LocalFolder(tmp_path).read(SourceFile("b", 1, 0)))


@pytest.mark.parametrize("name", ["gone", "file"])
def test_a_folder_that_is_not_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="no such folder"):
        LocalFolder(tmp_path / name).files()


def test_a_folder_of_another_hdfs(server: FakeHdfs) -> None:
    server.put("/sets/one two/b/c", b"12")
    server.put("/sets/one two/a", b"1")
    server.put("/sets/other", b"1234")
    source = source_of(f"webhdfs://127.0.0.1:{server.server_port}/sets/one%20two", "hadoop")
    files = source.files()
    assert [(file.name, file.size) for file in files] == [("a", 1), ("b/c", 2)]
    assert b"".join(source.read(files[1])) == b"12"
    assert isinstance(source, WebHdfsFolder)


def test_a_folder_that_the_other_hdfs_has_not(server: FakeHdfs) -> None:
    with pytest.raises(HdfsFailedError, match="File does not exist: /gone"):
        source_of(f"webhdfs://127.0.0.1:{server.server_port}/gone", "hadoop").files()


@pytest.fixture
def elsewhere(server: FakeHdfs) -> Iterator[str]:
    """Another machine, as far as this one knows, with the HDFS."""
    ways = {
        "elsewhere": lambda host, port, limit_s: socket.create_connection(("127.0.0.1", server.server_port), limit_s)
    }
    NAMES.lead(ways)
    yield f"webhdfs://elsewhere:{server.server_port}/sets"
    NAMES.leave(ways)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("http://127.0.0.1:{}/x", "is an address of this machine"),
        ("http://localhost:{}/x", "is an address of this machine"),
        ("http://0.0.0.0:{}/x", "is an address of this machine"),
        ("https://127.0.0.1:{}/x", "InvalidSchema"),
    ],
)
def test_a_source_sends_the_controller_to_no_service_of_its_own_machine(
    server: FakeHdfs, elsewhere: str, place: str, why: str
) -> None:
    """Such services trust whoever reaches them: the input set of a user must not have their answers."""
    server.put("/sets/a", b"1")
    source = source_of(elsewhere, "hadoop")
    (file,) = source.files()
    assert b"".join(source.read(file)) == b"1"
    with running() as own:
        server.sends_to = place.format(own.server_port)
        with pytest.raises(HdfsFailedError, match=why):
            b"".join(source.read(file))
        assert own.asked == []


@pytest.mark.parametrize("url", ["webhdfs:///sets", "webhdfs://host:9870", "webhdfs://host:9870/"])
def test_a_url_that_names_no_folder(url: str) -> None:
    with pytest.raises(UserError, match="is not a folder in HDFS"):
        source_of(url, "hadoop")
