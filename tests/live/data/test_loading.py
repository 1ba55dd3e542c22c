"""Input sets into HDFS: whole, even, verified, and begun again wherever it was cut short."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import FawkesError, UserError
from fawkes.live.data.loading import LoadedSet, LoadRun, StoppedError, lay_out, let_in, mark_active
from fawkes.live.data.sources import LocalFolder, SourceFile, source_of
from fawkes.live.wire.rest import Deadline
from fawkes.live.wire.webhdfs import HdfsFailedError, read_mark
from tests.live.fake_hdfs import CORE, DATANODES, FakeHdfs, running
from tests.live.saves import StopAfter, contents, made_set

BLOCK = 1024


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of less than a block, of some blocks, of whole blocks, and of nothing, at several depths."""
    sizes = {"a": 100, "sub/b": 3 * BLOCK, "sub/deep/c": 7 * BLOCK + 5, "empty": 0, "sub/one block": BLOCK}
    return made_set(tmp_path / "set", sizes, seed=3)


def load(server: FakeHdfs, **changes: Any) -> LoadRun:
    return LoadRun(
        **{
            "masters": server.masters(),
            "core": CORE,
            "target": "/input/set",
            "block_bytes": BLOCK,
            "replication": 1,
            "writers": 2,
            **changes,
        }
    )


def run(server: FakeHdfs, folder: Path, **changes: Any) -> LoadedSet:
    return load(server, **changes).run(LocalFolder(folder))


def test_a_set_is_loaded_whole(server: FakeHdfs, folder: Path) -> None:
    loaded = run(server, folder)
    assert server.files("/input/set") == contents(folder)
    assert (loaded.files, loaded.kept, loaded.extra, loaded.size) == (5, 0, 0, 11 * BLOCK + 105)
    assert loaded.thin == 0
    assert not any("_fawkes_loading" in path for path in server.tree)


def test_blocks_lie_evenly_on_all_core_nodes(server: FakeHdfs, tmp_path: Path) -> None:
    """A single file, too: written in one go it would lie on the DataNode that took it."""
    (tmp_path / "one").write_bytes(bytes(9 * BLOCK))
    loaded = run(server, tmp_path)
    assert loaded.node_bytes == {"node1": 3 * BLOCK, "node2": 3 * BLOCK, "node3": 3 * BLOCK}
    assert (loaded.skew, loaded.uneven) == (1.0, "")
    assert sorted(server.writes) == sorted(3 * list(DATANODES))


def test_nothing_goes_to_datanodes_that_are_no_core_nodes(server: FakeHdfs, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(bytes(4 * BLOCK))
    loaded = run(server, tmp_path, core=["node1", "node2"])
    assert loaded.node_bytes == {"node1": 2 * BLOCK, "node2": 2 * BLOCK}
    assert set(server.writes) == set(DATANODES[:2])


def test_input_on_other_nodes_is_told(server: FakeHdfs, tmp_path: Path) -> None:
    """Replicas are HDFS's to place: the storage policy failed if they lie elsewhere."""
    (tmp_path / "one").write_bytes(bytes(4 * BLOCK))
    loaded = run(server, tmp_path, core=["node1", "node2"], replication=3)
    assert loaded.uneven == "input lies on node3, which are not core nodes"


def test_a_second_run_leaves_what_is_there(server: FakeHdfs, folder: Path) -> None:
    run(server, folder)
    server.writes.clear()
    loaded = run(server, folder)
    assert (loaded.files, loaded.kept) == (5, 5)
    assert server.writes == []


def test_what_a_broken_off_load_left_is_made_good(server: FakeHdfs, folder: Path) -> None:
    """A half file under a temporary name, a file of another size, one of another time, and one that is right."""
    run(server, folder)
    server.put("/input/set/_fawkes_loading/sub/b", b"half")
    server.tree["/input/set/a"].blocks = [(b"short", DATANODES[0])]
    server.tree["/input/set/sub/deep/c"].changed_ms += 1
    del server.tree["/input/set/empty"]
    loaded = run(server, folder)
    assert loaded.kept == 2
    assert server.files("/input/set") == contents(folder)


def test_a_load_that_is_called_off_asks_for_nothing_more(server: FakeHdfs, folder: Path) -> None:
    """Another MR-cluster's NameNode may answer where its own did."""
    before = dict(server.tree)
    with pytest.raises(StoppedError):
        run(server, folder, stop=lambda: True)
    assert server.tree == before


@pytest.mark.slow
@pytest.mark.parametrize("stop_after", [1, 2 * BLOCK, 5 * BLOCK, 9 * BLOCK])
def test_a_load_that_is_stopped_anywhere_goes_on(server: FakeHdfs, folder: Path, stop_after: int) -> None:
    halt = StopAfter(stop_after)
    with pytest.raises(StoppedError):
        run(server, folder, progress=halt.progress, stop=halt.stop, writers=1)
    whole = contents(folder)
    for name, stored in server.files("/input/set").items():
        assert name.startswith("_fawkes_loading/") or stored == whole[name]
    run(server, folder)
    assert server.files("/input/set") == whole


def test_bytes_that_are_damaged_on_the_way_get_no_name(server: FakeHdfs, folder: Path) -> None:
    server.corrupt.add("/input/set/_fawkes_loading/sub/b")
    with pytest.raises(FawkesError, match="HDFS does not hold what was written"):
        run(server, folder)
    assert "/input/set/sub/b" not in server.tree


@pytest.mark.parametrize("kind", ["CRC32", "COMPOSITE"])
def test_checksums_of_another_kind_are_replaced_by_reading(server: FakeHdfs, folder: Path, kind: str) -> None:
    server.checksum_kind = kind
    run(server, folder)
    assert len(server.reads) >= 4
    server.corrupt.add("/input/set/_fawkes_loading/a")
    (folder / "a").write_bytes(b"other")
    with pytest.raises(FawkesError, match="HDFS does not hold what was written"):
        run(server, folder)


def test_a_datanode_that_does_not_answer_is_avoided(server: FakeHdfs, folder: Path) -> None:
    server.down.add(DATANODES[1])
    loaded = run(server, folder)
    assert server.files("/input/set") == contents(folder)
    assert loaded.node_bytes["node2"] == 0


def test_without_any_datanode_that_answers_it_fails(server: FakeHdfs, folder: Path) -> None:
    server.down |= set(DATANODES)
    with pytest.raises(HdfsFailedError) as caught:
        run(server, folder)
    assert caught.value.unreachable
    assert server.files("/input/set") == {}


class Changing(LocalFolder):
    """Files that have other bytes when they are read than when they were listed."""

    def __init__(self, folder: Path, change: int) -> None:
        super().__init__(folder)
        self._change = change

    def read(self, file: SourceFile) -> Iterator[bytes]:
        yield b"x" * (file.size + self._change)


@pytest.mark.parametrize("change", [-1, 1, BLOCK])
@pytest.mark.parametrize("size", [100, BLOCK, 2 * BLOCK])
def test_a_file_that_changes_meanwhile_is_refused(server: FakeHdfs, tmp_path: Path, size: int, change: int) -> None:
    (tmp_path / "a").write_bytes(bytes(size))
    with pytest.raises(FawkesError, match="changed while it was loaded"):
        load(server).run(Changing(tmp_path, change))
    assert "/input/set/a" not in server.tree


def test_one_failure_ends_the_rest(server: FakeHdfs, tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"f{number:02d}").write_bytes(bytes(BLOCK))
    server.corrupt.add("/input/set/_fawkes_loading/f00")
    with pytest.raises(FawkesError, match="HDFS does not hold"):
        run(server, tmp_path, writers=1)
    assert len(server.files("/input/set")) < 20


@pytest.mark.parametrize(
    ("free", "what"),
    [
        ({"ARCHIVE": 11 * BLOCK, "DISK": 10**12}, r"needs 11\.6 KB \(1 replicas\), but only 11\.3 KB on ARCHIVE"),
        ({"DISK": 10**12}, "no DataNode has a volume of type ARCHIVE"),
    ],
)
def test_room_is_looked_for_before_anything_is_written(
    server: FakeHdfs, folder: Path, free: dict[str, int], what: str
) -> None:
    server.free = free
    with pytest.raises(FawkesError, match=what):
        run(server, folder)
    assert server.writes == []


def test_replicas_need_room_too_and_what_is_there_needs_none(server: FakeHdfs, folder: Path) -> None:
    server.free["ARCHIVE"] = 20 * BLOCK
    run(server, folder)
    with pytest.raises(FawkesError, match="2 replicas"):
        run(server, folder, replication=2, target="/input/other")
    server.free["ARCHIVE"] = 0
    assert run(server, folder).kept == 5


@pytest.mark.parametrize(("replication", "full", "fits"), [(2, 2, False), (3, 1, False), (2, 1, True), (1, 2, True)])
def test_a_replica_needs_room_on_a_node_of_its_own(
    server: FakeHdfs, folder: Path, replication: int, full: int, fits: bool
) -> None:
    server.node_free = dict.fromkeys(DATANODES[:full], 4 * BLOCK)
    if fits:
        assert run(server, folder, replication=replication).files == 5
        return
    what = r"each of \d replicas needs another node with 11\.6 KB free, but there is node1 with 4\.1 KB"
    with pytest.raises(FawkesError, match=what) as refused:
        run(server, folder, replication=replication)
    assert "Free disk space there" in str(refused.value.hint)
    assert server.writes == []


def test_a_set_without_a_file(server: FakeHdfs, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no file"):
        run(server, tmp_path)


def test_files_that_the_source_has_not_are_told(server: FakeHdfs, folder: Path) -> None:
    server.put("/input/set/sub/stray", b"?")
    assert run(server, folder).extra == 1


@pytest.mark.slow
def test_replicas_that_are_still_on_their_way_are_waited_for(server: FakeHdfs, folder: Path) -> None:
    server.thin = 7
    loaded = run(server, folder, replication=2)
    assert loaded.thin == 0
    assert sum(loaded.node_bytes.values()) == 2 * loaded.size


def test_blocks_that_stay_thin_are_counted(server: FakeHdfs, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(3 * BLOCK))
    server.thin = 10**9
    assert run(server, tmp_path, replication=2, replicas_us=0).thin == 3


def test_from_another_hdfs(server: FakeHdfs) -> None:
    with running() as other:
        other.put("/sets/one/sub/a", b"x" * BLOCK, b"y" * 10, block_bytes=BLOCK)
        other.put("/sets/one/b", b"")
        loaded = load(server).run(source_of(f"webhdfs://127.0.0.1:{other.server_port}/sets/one", "hadoop"))
        assert server.files("/input/set") == other.files("/sets/one")
        assert loaded.files == 2


def test_an_uneven_spread_is_told_and_a_block_more_or_less_is_none(server: FakeHdfs, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(10 * BLOCK))
    assert run(server, tmp_path).uneven == ""
    for path, entry in server.tree.items():
        if path == "/input/set/a":
            entry.blocks = [(block, DATANODES[0]) for block, _ in entry.blocks]
    loaded = run(server, tmp_path)
    assert loaded.skew == 3.0
    assert loaded.uneven == "the fullest core node has 10.2 KB of the input, the emptiest 0 B"


def test_everything_stays_on_core_nodes_but_the_outputs(server: FakeHdfs) -> None:
    lay_out(server.masters(), ["/out/a", "/out/b"])
    assert {path: entry.policy for path, entry in server.tree.items() if entry.policy} == {
        "/": "COLD",
        "/out/a": "HOT",
        "/out/b": "HOT",
    }


def test_users_have_homes_and_can_write_where_jobs_and_outputs_go(server: FakeHdfs) -> None:
    let_in(server.masters(), ["alice", "bob"], ["/out"])
    shared = {path for path, entry in server.tree.items() if entry.permission == "1777"}
    assert shared == {"/staging", "/tmp", "/out"}
    assert server.tree["/history"].permission == "755"
    assert {path: entry.owner for path, entry in server.tree.items() if entry.owner != "hadoop"} == {
        "/user/alice": "alice",
        "/user/bob": "bob",
    }


def test_without_archive_volumes_nothing_is_made_cold(server: FakeHdfs) -> None:
    del server.free["ARCHIVE"]
    with pytest.raises(FawkesError, match="no DataNode has a volume of type ARCHIVE"):
        lay_out(server.masters(), ["/out"])
    assert list(server.tree) == ["/"]


def test_the_end_of_loading_is_marked_once(server: FakeHdfs, folder: Path) -> None:
    size = run(server, folder).size
    assert mark_active(server.masters()) == size
    server.put("/out/a", b"123")
    mark_active(server.masters())
    assert read_mark(server.masters(), Deadline.after(20)) == size
