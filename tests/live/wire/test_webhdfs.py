"""The file system of an MR-cluster over WebHDFS, against one in memory."""

from __future__ import annotations

import gzip
import socket
import threading
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from fawkes.live.wire import rest
from fawkes.live.wire.crc import ChecksumKind, HdfsDigest
from fawkes.live.wire.rest import Deadline, UnreadableError, close_session
from fawkes.live.wire.webhdfs import Block, FolderSummary, Hdfs, HdfsFailedError, HdfsFile, read_mark
from tests.live.fake_hdfs import DATANODES, FakeHdfs, running
from tests.support.web import LastingRequest, LastingServer, serving

BLOCK = 1024


@pytest.fixture
def server() -> Iterator[FakeHdfs]:
    with running() as server:
        yield server
    close_session()


@pytest.fixture
def hdfs(server: FakeHdfs) -> Hdfs:
    return Hdfs.of(server.masters())


def write(hdfs: Hdfs, path: str, *blocks: tuple[int, bytes], port: int) -> None:
    """Blocks by the number of their DataNode."""
    places = ((f"{DATANODES[n]}:{port}", iter([data])) for n, data in blocks)
    hdfs.write(path, places, block_bytes=BLOCK, replication=1)


def digest(data: bytes, kind: ChecksumKind) -> str:
    made = HdfsDigest(kind)
    made.update(data)
    return made.hexdigest()


def test_a_file_is_written_block_by_block_through_the_nodes_named(server: FakeHdfs, hdfs: Hdfs) -> None:
    write(hdfs, "/in/a", (1, b"x" * BLOCK), (0, b"y" * BLOCK), (1, b"z"), port=server.server_port)
    assert hdfs.blocks("/in/a") == [
        Block(BLOCK, (DATANODES[1],)),
        Block(BLOCK, (DATANODES[0],)),
        Block(1, (DATANODES[1],)),
    ]
    assert b"".join(hdfs.read("/in/a")) == b"x" * BLOCK + b"y" * BLOCK + b"z"
    assert server.tree["/in/a"].block_bytes == BLOCK


def test_a_file_that_is_there_is_replaced(server: FakeHdfs, hdfs: Hdfs) -> None:
    server.put("/in/a", b"old and longer")
    write(hdfs, "/in/a", (0, b"new"), port=server.server_port)
    assert b"".join(hdfs.read("/in/a")) == b"new"


def test_an_empty_file(server: FakeHdfs, hdfs: Hdfs) -> None:
    write(hdfs, "/in/a", (0, b""), port=server.server_port)
    assert hdfs.status("/in/a") == HdfsFile("/in/a", 0, server.tree["/in/a"].changed_ms, False, "hadoop")


@pytest.mark.parametrize("name", ["with space", "a%b", "ü", "plus+amp&hash#q?x", "semi;colon", "quote'\"", "#LATEST"])
def test_any_name(server: FakeHdfs, hdfs: Hdfs, name: str) -> None:
    path = f"/in/{name}/{name}"
    write(hdfs, path, (0, b"data"), port=server.server_port)
    assert server.files() == {path[1:]: b"data"}
    assert b"".join(hdfs.read(path)) == b"data"
    hdfs.set_time(path, 12345)
    hdfs.rename(path, f"{path}.2")
    assert [file.path for file in hdfs.below("/in")] == [f"/in/{name}", f"{path}.2"]
    assert hdfs.blocks(f"{path}.2") == [Block(4, (DATANODES[0],))]


def test_all_that_is_below_a_folder(server: FakeHdfs, hdfs: Hdfs) -> None:
    server.put("/in/b/c", b"12")
    server.put("/in/a", b"1")
    server.make_folder("/in/empty")
    assert [(file.path, file.size, file.folder) for file in hdfs.below("/in")] == [
        ("/in/a", 1, False),
        ("/in/b", 0, True),
        ("/in/empty", 0, True),
        ("/in/b/c", 2, False),
    ]
    assert hdfs.summary("/in") == FolderSummary(3, 2)


@pytest.mark.parametrize("old", [False, True])
def test_a_long_listing_comes_page_by_page(server: FakeHdfs, hdfs: Hdfs, old: bool) -> None:
    server.page, server.old = 3, old
    names = [f"/in/{n:02}" for n in range(10)]
    for name in names:
        server.put(name, b"x")
    assert [file.path for file in hdfs.children("/in")] == names
    listed = [op for op, _ in server.asked]
    assert listed == (["LISTSTATUS_BATCH", "LISTSTATUS"] if old else ["LISTSTATUS_BATCH"] * 4)


EVIL = ["", ".", "..", "../../x", "/etc/passwd", "a/b", "a\0b", "\ud800", 7, None]


@pytest.mark.parametrize("name", EVIL)
def test_a_name_that_is_none_is_told_and_the_rest_goes_on(server: FakeHdfs, hdfs: Hdfs, name: object) -> None:
    server.put("/in/a", b"1")
    server.put("/in/sub/b", b"1")
    server.said["/in"] = [{"pathSuffix": name, "type": "FILE", "length": 1, "modificationTime": 1}]
    with pytest.raises(HdfsFailedError, match=r"the listing has .*, which "):
        list(hdfs.below("/in"))
    reported: list[tuple[str, str]] = []
    paths = [file.path for file in hdfs.below("/in", lambda path, why: reported.append((path, why)))]
    assert paths == ["/in/a", "/in/sub", "/in/sub/b"]
    ((path, why),) = reported
    assert path == f"/in/{name!a}"
    assert why in ("is not a valid file name", "has invalid characters")


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"pathSuffix": "l", "type": "SYMLINK"}, "is neither a file nor a folder"),
        ({"pathSuffix": "l", "length": -1}, "has no size or no time"),
        ({"pathSuffix": "l", "modificationTime": None}, "has no size or no time"),
    ],
)
def test_other_entries_that_cannot_be_used(server: FakeHdfs, hdfs: Hdfs, row: dict[str, object], why: str) -> None:
    server.put("/in/a", b"1")
    server.said["/in"] = [{"type": "FILE", "length": 1, "modificationTime": 1} | row]
    reported: list[str] = []
    assert [file.path for file in hdfs.below("/in", lambda path, why: reported.append(why))] == ["/in/a"]
    assert why in reported[0]


@pytest.mark.parametrize("answer", [None, {}, [], {"FileStatuses": None}, {"FileStatuses": {"FileStatus": [1]}}])
def test_what_is_no_listing_is_an_error(server: FakeHdfs, hdfs: Hdfs, answer: Any) -> None:
    server.listing = {"DirectoryListing": {"partialListing": answer}}
    with pytest.raises(HdfsFailedError, match="the answer is not a listing"):
        list(hdfs.below("/in"))


def test_a_listing_without_an_end_is_an_error(server: FakeHdfs, hdfs: Hdfs) -> None:
    row = {"pathSuffix": "a", "type": "FILE", "length": 1, "modificationTime": 1}
    listing = {"FileStatuses": {"FileStatus": [row]}}
    server.listing = {"DirectoryListing": {"partialListing": listing, "remainingEntries": 1}}
    with pytest.raises(HdfsFailedError, match="does not end"):
        list(hdfs.below("/in", lambda path, why: None))


def test_a_file_is_no_folder(server: FakeHdfs, hdfs: Hdfs) -> None:
    """An empty listing of it would pass for "nothing to save"."""
    server.put("/out", b"data")
    with pytest.raises(HdfsFailedError, match="is a file, not a folder"):
        list(hdfs.below("/out"))


@pytest.mark.slow
def test_a_very_deep_tree(server: FakeHdfs, hdfs: Hdfs) -> None:
    server.put("/in" + "/d" * 950 + "/file", b"1")
    assert sum(1 for _ in hdfs.below("/in")) == 951


def test_what_is_not_there(hdfs: Hdfs) -> None:
    assert hdfs.status("/gone") is None
    assert hdfs.summary("/gone") is None
    hdfs.delete("/gone")
    for ask in (
        lambda: list(hdfs.below("/gone")),
        lambda: list(hdfs.read("/gone")),
        lambda: hdfs.checksum("/gone"),
        lambda: hdfs.blocks("/gone"),
        lambda: hdfs.rename("/gone", "/there"),
        lambda: hdfs.set_policy("/gone", "HOT"),
    ):
        with pytest.raises(HdfsFailedError, match=r"File does not exist: /gone$") as caught:
            ask()
        assert caught.value.missing
        assert not caught.value.unreachable


def test_renaming_replaces(server: FakeHdfs, hdfs: Hdfs) -> None:
    server.put("/in/a", b"new")
    server.put("/in/b", b"old")
    hdfs.rename("/in/a", "/in/b")
    assert server.files("/in") == {"b": b"new"}


def test_folders_and_policies(server: FakeHdfs, hdfs: Hdfs) -> None:
    hdfs.mkdir("/out/a")
    hdfs.set_policy("/out", "HOT")
    assert server.tree["/out"].policy == "HOT"
    assert server.tree["/out/a"].folder


def test_the_first_mark_stays(server: FakeHdfs, hdfs: Hdfs) -> None:
    soon = Deadline.after(20)
    assert read_mark(server.masters(), soon) is None
    hdfs.set_mark(1000)
    hdfs.set_mark(2000)
    assert read_mark(server.masters(), soon) == 1000


def test_a_mark_that_nobody_tells_is_an_error(server: FakeHdfs) -> None:
    nobody = replace(server.masters(), namenode="http://127.0.0.1:1")
    with pytest.raises(UnreadableError):
        read_mark(nobody, Deadline.after(20))


@pytest.mark.parametrize("kind", ["CRC32C", "CRC32", "COMPOSITE"])
def test_whether_hdfs_holds_some_bytes(server: FakeHdfs, hdfs: Hdfs, kind: str) -> None:
    """A checksum of the same kind tells, else the bytes are read."""
    server.checksum_kind = kind
    data = bytes(range(256)) * 10
    server.put("/a", data[:BLOCK], data[BLOCK : 2 * BLOCK], data[2 * BLOCK :], block_bytes=BLOCK)
    assert hdfs.holds("/a", digest(data, ChecksumKind(BLOCK)), ChecksumKind(BLOCK))
    assert bool(server.reads) is (kind != "CRC32C")
    assert not hdfs.holds("/a", digest(data[:-1] + b"!", ChecksumKind(BLOCK)), ChecksumKind(BLOCK))


def test_blocks_of_unequal_length_are_compared_by_reading(server: FakeHdfs, hdfs: Hdfs) -> None:
    server.put("/a", b"x" * 512, b"y" * 1024, b"z" * 512)
    data = b"x" * 512 + b"y" * 1024 + b"z" * 512
    assert hdfs.holds("/a", digest(data, ChecksumKind(512)), ChecksumKind(512))
    assert server.reads == ["/a"]


def test_a_namenode_that_is_gone() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        hdfs = Hdfs(f"http://127.0.0.1:{unused.getsockname()[1]}", "hadoop")
        asks: list[Callable[[], object]] = [
            lambda: hdfs.mkdir("/a"),
            lambda: hdfs.set_policy("/a", "HOT"),
            lambda: hdfs.status("/a"),
        ]
        for ask in asks:
            with pytest.raises(HdfsFailedError, match="connection refused") as caught:
                ask()
            assert caught.value.unreachable


def test_a_datanode_that_is_gone(server: FakeHdfs, hdfs: Hdfs) -> None:
    server.down.add(DATANODES[0])
    with pytest.raises(HdfsFailedError) as caught:
        write(hdfs, "/in/a", (0, b"data"), port=server.server_port)
    assert caught.value.unreachable


def test_proxies_of_the_environment_are_not_used(server: FakeHdfs, hdfs: Hdfs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    write(hdfs, "/in/a", (0, b"data"), port=server.server_port)
    assert b"".join(hdfs.read("/in/a")) == b"data"


class Odd(LastingRequest):
    """A NameNode that answers every question with what ``server.answer`` does."""

    def answer(self) -> None:
        self.server.answer(self)  # type: ignore[attr-defined]


@contextmanager
def odd(answer: Callable[[Odd], None], patience_s: float = 20.0) -> Iterator[Hdfs]:
    server = LastingServer(("127.0.0.1", 0), Odd)
    server.answer = answer  # type: ignore[attr-defined]
    with serving(server):
        yield Hdfs(f"http://127.0.0.1:{server.server_port}", "hadoop", patience_s=patience_s)


def body(data: bytes, code: int = 200, **headers: str) -> Callable[[Odd], None]:
    return lambda handler: handler.send(data, code, **headers)


def asks(hdfs: Hdfs) -> list[Callable[[], object]]:
    return [
        lambda: hdfs.status("/a"),
        lambda: hdfs.summary("/a"),
        lambda: list(hdfs.below("/a")),
        lambda: hdfs.checksum("/a"),
        lambda: hdfs.blocks("/a"),
    ]


def failures(asks: Iterable[Callable[[], object]]) -> list[HdfsFailedError]:
    """The error of each question: all of them must fail."""
    errors = []
    for ask in asks:
        with pytest.raises(HdfsFailedError) as caught:
            ask()
        errors.append(caught.value)
    return errors


@pytest.mark.slow
@pytest.mark.parametrize("data", [b"{}", b"[]", b"null", b"<html>", b"[" * 100_000, b'{"FileStatus": 1}', b"\xff"])
def test_garbage_is_an_error_and_never_nothing(data: bytes) -> None:
    with odd(body(data)) as hdfs:
        assert not any(error.missing for error in failures(asks(hdfs)))


@pytest.mark.parametrize("summary", ["{}", '{"length": null, "fileCount": 1}', '{"length": -1, "fileCount": 1}'])
def test_a_size_that_is_missing_is_not_nothing(summary: str) -> None:
    with odd(body(b'{"ContentSummary": %s}' % summary.encode())) as hdfs, pytest.raises(HdfsFailedError):
        hdfs.summary("/a")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["AccessControlException", "SafeModeException", "IOException"])
def test_a_refusal_does_not_mean_that_there_is_no_such_file(kind: str) -> None:
    """A save takes what is not there for saved."""
    remote = b'{"RemoteException": {"exception": "%s", "message": "no"}}' % kind.encode()
    with odd(body(remote, 403)) as hdfs:
        assert {error.kind for error in failures(asks(hdfs))} == {kind}


@pytest.mark.slow
def test_a_compressed_answer_is_refused_before_it_grows() -> None:
    bomb = gzip.compress(b" " * (64 << 20), 9)
    with odd(body(bomb, content_encoding="gzip")) as hdfs:
        tracemalloc.start()
        try:
            every: list[Callable[[], object]] = [*asks(hdfs), lambda: list(hdfs.read("/a"))]
            assert all("compressed" in str(error) for error in failures(every))
            assert tracemalloc.get_traced_memory()[1] < 16 << 20
        finally:
            tracemalloc.stop()


@pytest.mark.slow
def test_an_endless_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "MAX_BYTES", 1000)
    with odd(body(b" " * 2000 + b"{}")) as hdfs:
        assert all("larger than" in str(error) for error in failures(asks(hdfs)))


@pytest.mark.slow
def test_a_dripping_namenode_does_not_outlast_the_patience() -> None:
    """It would answer in the end: each byte comes in time."""
    over = threading.Event()

    def drip(handler: Odd) -> None:
        handler.close_connection = True
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not over.wait(0.02):
            handler.wfile.write(b" ")

    with odd(drip, patience_s=0.3) as hdfs:
        try:
            assert all(error.unreachable for error in failures(asks(hdfs)))
        finally:
            over.set()
