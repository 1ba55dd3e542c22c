"""Readings, loads, saves and the question of safety against real Hadoop."""

from __future__ import annotations

import random
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fawkes.base.units import SECOND_US
from fawkes.config.clusters.details import ClusterDetails, Output
from fawkes.core.values.effects import Goal, Member
from fawkes.core.values.events import Sampled
from fawkes.core.values.model import ClusterId, NodeId, Reading, Role
from fawkes.core.values.proof import Proof, not_proven, reports
from fawkes.core.values.sight import Sight, Stored
from fawkes.live.clusters.former import FormerNodes
from fawkes.live.data.left_open import LeftOpen
from fawkes.live.data.loading import LOADED, LoadRun, lay_out, mark_active
from fawkes.live.data.saved import MANIFEST, UnsavedError, at_stake
from fawkes.live.data.saving import SaveOrder
from fawkes.live.data.sources import LocalFolder, source_of
from fawkes.live.eyes.blocks import blocks_below, sound
from fawkes.live.eyes.measure import THIN, USE, Sampler
from fawkes.live.eyes.survey import survey
from fawkes.live.hadoop.orders import AddressedOrder
from fawkes.live.wire.crc import ChecksumKind, HdfsDigest, kind_of, md5_of
from fawkes.live.wire.hadoop_rpc import (
    ENTER_SAFE_MODE,
    LEAVE_SAFE_MODE,
    ROLL_EDITS,
    Order,
    RpcError,
    call,
    list_open_files,
    recover_lease,
)
from fawkes.live.wire.masters import (
    IN_SERVICE,
    LEFT,
    LIVE_STATES,
    MasterAddresses,
    Target,
    all_applications,
    applications,
    storage,
    summed,
)
from fawkes.live.wire.names import NAMES
from fawkes.live.wire.rest import Deadline, close_session, get_json
from fawkes.live.wire.webhdfs import Hdfs, HdfsFailedError
from tests.live.saves import contents, made_set, verify
from tests.live.tiny_hadoop import BLOCK, TinyHadoop, tiny_hadoop
from tests.support.desk import Desk
from tests.support.pools import settings
from tests.support.waiting import wait_for

pytestmark = pytest.mark.hadoop

CORE = ["node01", "node02"]
MAPS, REDUCES = 5, 1


@pytest.fixture(scope="module")
def hadoop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TinyHadoop]:
    with tiny_hadoop(tmp_path_factory.mktemp("hadoop"), "3.5.0", yarn=True) as cluster:
        yield cluster
    close_session()


@pytest.fixture(scope="module", params=["3.5.0", pytest.param("3.4.2", marks=pytest.mark.nightly)])
def storing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TinyHadoop]:
    """A cluster with HDFS, of each version."""
    if request.param == "3.5.0":
        cluster: TinyHadoop = request.getfixturevalue("hadoop")
        yield cluster
        return
    with tiny_hadoop(tmp_path_factory.mktemp("hdfs"), request.param, yarn=False) as cluster:
        yield cluster


def soon() -> Deadline:
    return Deadline.after(30)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sizes = {"a": 100, "sub/b": 3 * BLOCK, "sub/with space/ü%&+c": 2 * BLOCK + 5, "empty": 0, "sub/one": BLOCK}
    return made_set(tmp_path / "set", sizes, seed=5)


def load(cluster: TinyHadoop, target: str, *, replication: int = 1) -> LoadRun:
    return LoadRun(
        masters=cluster.masters, core=CORE, target=target, block_bytes=BLOCK, replication=replication, writers=2
    )


def test_a_load_and_a_save_are_byte_for_byte_the_same(storing: TinyHadoop, folder: Path, tmp_path: Path) -> None:
    hdfs = Hdfs.of(storing.masters)
    lay_out(storing.masters, ["/out"])
    loaded = load(storing, "/input/set", replication=2).run(LocalFolder(folder))
    assert (loaded.files, loaded.kept, loaded.thin, loaded.uneven) == (5, 0, 0, "")
    assert summed(storing.masters, "FSNamesystemState", THIN, soon()) is not None
    # COLD: on the ARCHIVE volumes that only core nodes have; two replicas on two nodes are even.
    assert (loaded.node_bytes, loaded.skew) == ({"node01": loaded.size, "node02": loaded.size}, 1.0)
    assert load(storing, "/input/set", replication=2).run(LocalFolder(folder)).kept == 5

    saved = SaveOrder(hdfs=hdfs, output="/input/set", target=tmp_path / "saved", readers=2).run()
    assert (saved.files, saved.size, saved.already) == (5, loaded.size, False)
    assert contents(tmp_path / "saved") == contents(folder)
    verify(hdfs, "/input/set", tmp_path / "saved")
    assert subprocess.run(["sha256sum", "--quiet", "-c", MANIFEST], cwd=tmp_path / "saved", check=False).returncode == 0
    assert SaveOrder(hdfs=hdfs, output="/input/set", target=tmp_path / "saved").run().already
    (stake,) = at_stake(hdfs, [Output(path="/input/set", save_to=str(tmp_path / "saved"))])
    assert (stake.size, stake.files, stake.saved) == (loaded.size, 5, True)

    source = source_of(f"webhdfs://{storing.masters.namenode.removeprefix('http://')}/input/set", "root")
    assert load(storing, "/input/again").run(source).size == loaded.size
    assert {file.path.removeprefix("/input/again/"): file.size for file in hdfs.below("/input/again")} == {
        file.path.removeprefix("/input/set/"): file.size for file in hdfs.below("/input/set")
    }


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 4 * BLOCK + 100])
def test_the_checksum_is_that_of_hdfs(storing: TinyHadoop, size: int) -> None:
    hdfs = Hdfs.of(storing.masters)
    data = random.Random(size).randbytes(size)
    web = storage(storing.masters, soon()).nodes["node01"].web
    pieces = [data[start : start + BLOCK] for start in range(0, size, BLOCK)] or [b""]
    hdfs.write("/tmp/sum", ((web, iter([piece])) for piece in pieces), block_bytes=BLOCK, replication=1)
    said = hdfs.checksum("/tmp/sum")
    for kind in (ChecksumKind(BLOCK), kind_of(said) or ChecksumKind(None)):
        digest = HdfsDigest(kind)
        digest.update(data)
        assert md5_of(said) == digest.hexdigest()


def test_refusals_of_hdfs_are_told_in_its_own_words(storing: TinyHadoop) -> None:
    hdfs = Hdfs.of(storing.masters)
    web = storage(storing.masters, soon()).nodes["node01"].web
    hdfs.write("/tmp/file", [(web, iter([bytes(BLOCK)]))], block_bytes=BLOCK, replication=1)
    with pytest.raises(HdfsFailedError, match=r"/tmp/file \(is not a directory\)") as caught:
        hdfs.write("/tmp/file/below", [(web, iter([bytes(BLOCK)]))], block_bytes=BLOCK, replication=1)
    assert caught.value.kind == "ParentNotDirectoryException"
    with pytest.raises(HdfsFailedError, match="exceeds maximum of 512"):
        hdfs.write("/tmp/many", [(web, iter([bytes(BLOCK)]))], block_bytes=BLOCK, replication=600)


@contextmanager
def open_file(hdfs: Hdfs, path: str, web: str) -> Iterator[None]:
    """A file that is being written, and has not come to the end of its first block, while this lasts."""
    end = threading.Event()

    def data() -> Iterator[bytes]:
        # More than a packet: a client asks for a block when it has one to send.
        yield b"x" * 300_000
        while not end.wait(0.2):
            yield b"y" * 10

    def write() -> None:
        try:
            hdfs.write(path, [(web, data())], block_bytes=BLOCK, replication=1)
        except HdfsFailedError:
            # Its only replica is on a node that leaves: HDFS refuses to close it.
            return

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def test_a_file_that_a_client_holds_open_is_listed_and_closed_with_what_it_has(storing: TinyHadoop) -> None:
    """Only that of the folder; what the client had written is there, and it cannot write on."""
    hdfs, path = Hdfs.of(storing.masters), "/held/open"
    ground: Any = SimpleNamespace(nodes={"node01": None}, through=lambda node: NAMES.connect)
    cluster: Any = SimpleNamespace(id="c", master="node01", user_on=lambda node: "root")

    def to(order: Order) -> AddressedOrder:
        return AddressedOrder("127.0.0.1", storing.ports[3], order)

    setup: Any = SimpleNamespace(
        open_files_order=lambda cluster, folder, after: to(list_open_files(folder, after)),
        close_order=lambda cluster, path: to(recover_lease(path)),
    )
    files = LeftOpen(ground, setup, cluster)
    web = storage(storing.masters, soon()).nodes["node01"].web
    with open_file(hdfs, path, web):
        (file,) = wait_for(lambda: files.below("/held"), "a file that is being written")
        assert (file.path, file.writer.partition("_")[0], file.host) == (path, "DFSClient", "127.0.0.1")
        assert [(row.path, files.below("/hel")) for row in files.below("/")] == [(path, [])]
        written = wait_for(lambda: b"".join(hdfs.read(path)), "bytes in it")
        assert files.close([file]) == {}
        wait_for(lambda: not files.below("/held"), "a closed file")
        assert hdfs.checksum(path)
        assert b"".join(hdfs.read(path)).startswith(written)
    hdfs.delete(path)


def held(masters: MasterAddresses, node: str, folder: str) -> str:
    """Why a node must not be wiped as far as a folder goes; empty when it may be."""
    hdfs = storage(masters, soon())
    seen = hdfs.nodes[node]
    by_address = reports(blocks_below(masters, folder, soon()), [seen.address], sound(hdfs, 10_000_000), 1)[
        seen.address
    ]
    state = {LEFT: Stored.LEFT, IN_SERVICE: Stored.IN_SERVICE}.get(seen.state, Stored.OTHER)
    return not_proven(Sight(asked_us=1, stored=state, blocks=by_address), Proof(()), since_us=0)


def test_a_decommissioned_node_with_a_block_being_written_is_not_safe(storing: TinyHadoop) -> None:
    masters, hdfs = storing.masters, Hdfs.of(storing.masters)
    hdfs.mkdir("/out")
    hdfs.set_policy("/out", "HOT")
    web = storage(masters, soon()).nodes["node03"].web
    with open_file(hdfs, "/out/open", web):
        holders = wait_for(
            lambda: [address for block in blocks_below(masters, "/out/open", soon()) for address, _ in block.replicas],
            "a block that is being written",
        )
        nodes = storage(masters, soon()).nodes
        (node,) = (name for name, seen in nodes.items() if seen.address == holders[0])
        assert held(masters, node, "/out")
        storing.exclude(holders[0])
        wait_for(lambda: storage(masters, soon()).nodes[node].state == LEFT, "a decommissioned DataNode")
        assert held(masters, node, "/out") == "too few replicas on other nodes: /out/open (open)"
    storing.exclude()
    hdfs.delete("/out/open")
    storing.exclude(holders[0])
    wait_for(lambda: not held(masters, node, "/out"), "a DataNode that may be stopped")
    storing.exclude()
    wait_for(lambda: node in storage(masters, soon()).in_service(), "a DataNode back in service")


@pytest.mark.nightly
def test_a_node_that_was_wiped_and_joins_again_at_once_costs_no_replica(storing: TinyHadoop) -> None:
    """HDFS counts the replicas of its former DataNode, and deletes real ones as soon as that is back in service."""
    masters, hdfs, cluster = storing.masters, Hdfs.of(storing.masters), ClusterId("c-1")
    hdfs.mkdir("/again")
    hdfs.set_policy("/again", "HOT")
    seen = storage(masters, soon()).nodes
    places = [node.address for node in seen.values()]
    former, web = seen["node02"].address, seen["node01"].web
    files = {f"/again/{n}": f"{n}\n".encode() * 1000 for n in range(12)}

    def write(files: Mapping[str, bytes]) -> None:
        for path, data in files.items():
            hdfs.write(path, [(web, iter([data]))], block_bytes=BLOCK, replication=1)

    def blocks() -> int:
        return sum(node.blocks or 0 for node in storage(masters, soon()).nodes.values())

    before = blocks()
    write(files)
    storing.admit(places, [former])
    wait_for(lambda: not held(masters, "node02", "/again"), "blocks that are elsewhere")
    nodes = FormerNodes()

    def tell(generation: int) -> bool:
        """Acts as `MembershipKeeper` does; True if the node may serve."""
        members = {NodeId("node02"): Member(Goal.SERVING, Role.TRANSIENT_CORE, generation)}
        asked_s = time.monotonic()
        if nodes.note(cluster, members, asked_s):
            nodes.look(cluster, members, storage(masters, soon()).nodes, asked_s)
        storing.admit(places, [former for _ in nodes.held(cluster)])
        return not nodes.held(cluster)

    storing.wipe_storage(2)
    storing.admit([place for place in places if place != former])
    assert not tell(generation=2)
    assert not tell(generation=2), "the former is as it was"
    storing.start_storage(2)
    wait_for(lambda: tell(generation=2), "its own DataNode")
    wait_for(lambda: "node02" in storage(masters, soon()).in_service(), "its DataNode in service")
    # What HDFS was to delete before is deleted as well once these are.
    write({f"/again/later-{n}": b"x" for n in range(12)})
    for n in range(12):
        hdfs.delete(f"/again/later-{n}")
    wait_for(lambda: blocks() <= before + len(files), "no replica that is to be deleted")
    assert {path: b"".join(hdfs.read(path)) for path in files} == files
    storing.admit([])
    hdfs.delete("/again")


def test_a_save_reads_hdfs_that_takes_no_writes(hadoop: TinyHadoop, tmp_path: Path) -> None:
    """In safe mode all can be listed, read and compared, and nothing written; an open file is not taken for whole."""
    masters, hdfs = hadoop.masters, Hdfs.of(hadoop.masters)

    def order(which: Order) -> None:
        call("127.0.0.1", hadoop.ports[3], which, "root", soon())

    web = storage(masters, soon()).nodes["node01"].web
    for name in ("a", "deep/b"):
        hdfs.write(f"/still/{name}", [(web, iter([name.encode()]))], block_bytes=BLOCK, replication=1)
    save = SaveOrder(hdfs=hdfs, output="/still", target=tmp_path / "still")
    with open_file(hdfs, "/still/open", web):
        wait_for(lambda: hdfs.status("/still/open"), "a file that is being written")
        save.copy()
        order(ENTER_SAFE_MODE)
        assert storage(masters, soon()).safe_mode
        for write in (hdfs.mkdir, hdfs.delete):
            with pytest.raises(HdfsFailedError, match="in safe mode"):
                write("/still/a")
        # Copies of its data and a second NameNode ask for this: its last transaction stays what it is all the same.
        with pytest.raises(RpcError, match="in safe mode"):
            order(ROLL_EDITS)
        with pytest.raises(UnsavedError, match=r"/still/open .*under construction"):
            save.run()
    order(LEAVE_SAFE_MODE)
    assert storage(masters, soon()).safe_mode == ""
    hdfs.delete("/still/open")
    order(ENTER_SAFE_MODE)
    assert save.run().files == 2
    order(LEAVE_SAFE_MODE)
    assert contents(tmp_path / "still") == {"a": b"a", "deep/b": b"deep/b"}
    with pytest.raises(HdfsFailedError, match="is a file, not a folder"):
        list(hdfs.below("/still/a"))


def test_what_nobody_declared_and_who_uses_hdfs(hadoop: TinyHadoop) -> None:
    masters, hdfs = hadoop.masters, Hdfs.of(hadoop.masters)
    web = storage(masters, soon()).nodes["node01"].web
    hdfs.write("/user/alice/x", [(web, iter([b"mine"]))], block_bytes=BLOCK, replication=1)
    hdfs.set_note("/user/alice", LOADED, "1")
    hdfs.set_note("/user/alice", LOADED, "2")
    assert hdfs.note("/user/alice", LOADED) == "2"
    assert hdfs.note("/user", LOADED) is None
    cluster: Any = SimpleNamespace(details=ClusterDetails(outputs=(Output(path="/still", save_to="/nowhere"),)))
    setup: Any = SimpleNamespace(masters=lambda _: masters, settings=lambda _: {"mapred-site": {}, "yarn-site": {}})
    before = settled_ops(masters)
    facts: Any = survey(cluster, setup)
    (row,) = [row for row in facts["undeclared"] if row["path"] == "/user/alice"]
    assert (row["bytes"], row["files"], row["owner"]) == (4, 1, "root")
    assert [file["path"] for file in row["newest"]] == ["/user/alice/x"]
    assert "/still" not in [row["path"] for row in facts["undeclared"]]
    assert facts["applications"] == []
    # Looking is no use; nor is what the ResourceManager and the JobHistory server do meanwhile.
    assert settled_ops(masters) == before
    assert b"".join(hdfs.read("/user/alice/x")) == b"mine"
    assert settled_ops(masters) > before


def settled_ops(masters: MasterAddresses) -> int:
    """The counters of use as they are now. What JMX answers is up to 10 s old: a listing of our own shows the age."""

    def listings() -> int:
        query = {"qry": "Hadoop:service=NameNode,name=NameNodeActivity"}
        return int(get_json(f"{masters.namenode}/jmx", soon(), query)["beans"][0]["GetListingOps"])

    before = listings()
    list(Hdfs.of(masters).children("/"))
    wait_for(lambda: listings() > before, "fresh counters")
    ops = summed(masters, "NameNodeActivity", USE, soon())
    assert ops is not None
    return ops


@pytest.mark.nightly
def test_readings_tell_the_story_of_a_job(hadoop: TinyHadoop) -> None:
    masters = hadoop.masters
    mark_active(masters)
    sampler = Sampler(deadline_s=20.0)
    target = Target(cluster=ClusterId("c-1"), masters=masters, task_mb=256, task_vcores=0)

    def read() -> Reading:
        (reading,) = sampler.sample([target])
        assert reading.error == ""
        return reading

    def when(text: str, **wanted: int) -> Reading:
        return wait_for(
            lambda: next((r for r in [read()] if all(getattr(r, k) == v for k, v in wanted.items())), None), text
        )

    idle = read()
    assert (idle.jobs_waiting, idle.jobs_running, idle.tasks_waiting, idle.tasks_running) == (0, 0, 0, 0)
    assert (idle.slots_used, idle.slots_total) == (0, 4)
    assert (idle.jobs_done, idle.tasks_done) == (0, 0)
    assert set(idle.node_bytes) == {"node01", "node02", "node03"}
    args = f"-Dmapreduce.job.tags=fawkes-j1-1 -m {MAPS} -r {REDUCES} -mt 12000 -rt 1000".split()
    with hadoop.job(*args) as job:
        waiting = when("a waiting job", jobs_waiting=1)
        assert waiting.waiting_tags == ("fawkes-j1-1",)
        assert waiting.tasks_waiting in (1, MAPS + REDUCES)
        # 1152 MB hold the ApplicationMaster (384) and three maps (256 each). The masters are not asked at one instant.
        working = when("three running maps", tasks_running=3, slots_used=4)
        assert (working.jobs_waiting, working.jobs_running) == (0, 1)
        assert (working.tasks_waiting or 0) + (working.tasks_done or 0) == MAPS + REDUCES - 3
        assert working.node_masters == {"node01": 1}
        done = when("the end of the job", jobs_done=1)
        assert job.wait(120) == 0
    assert done.tasks_done == MAPS + REDUCES
    assert (done.jobs_waiting, done.jobs_running, done.tasks_waiting) == (0, 0, 0)
    assert (done.output_bytes or 0) > 0
    (app,) = all_applications(masters, soon(), tag="FAWKES-J1-1")
    assert app.succeeded
    assert app.finished_us is not None
    assert app.finished_us > app.started_us
    sampler.close()
    # A new controller, whose memory is empty, comes to the same figures.
    again = Sampler(deadline_s=20.0)
    (reading,) = again.sample([target])
    assert (reading.jobs_done, reading.tasks_done) == (1, MAPS + REDUCES)
    again.close()


@pytest.mark.nightly
def test_application_masters_that_fill_the_cluster_are_an_alert_until_one_has_gone(hadoop: TinyHadoop) -> None:
    """Two ApplicationMasters hold 768 of 1152 MB; a map of 640 MB fits beside one of them, and not beside both."""
    masters = hadoop.masters
    mark_active(masters)
    sampler = Sampler(deadline_s=20.0)
    target = Target(cluster=ClusterId("c-1"), masters=masters, task_mb=640, task_vcores=0)
    desk = Desk(4, how=settings(stuck_us=60 * SECOND_US, period_us=10**12))
    desk.up("c-1")
    maps = ["-Dmapreduce.map.memory.mb=640", "-m", "2", "-r", "0", "-mt", "600000"]

    def read() -> Reading:
        (reading,) = sampler.sample([target])
        assert reading.error == ""
        return reading

    def until(text: str, **wanted: int) -> None:
        wait_for(lambda: [r for r in [read()] if all(getattr(r, k) == v for k, v in wanted.items())], text)

    def live() -> list[str]:
        return [app.id for app in applications(masters, soon(), states=LIVE_STATES)]

    def kill(name: str) -> None:
        hadoop.run("application", "-kill", name).check_returncode()

    def decide() -> str:
        desk.now_s += 10
        desk.tell(Sampled(at_us=desk.now_us, readings=(read(),)))
        return desk.state.clusters[ClusterId("c-1")].alert

    try:
        with ExitStack() as jobs:
            # One job takes the room of both ApplicationMasters that come next: these start together once it is killed.
            jobs.enter_context(hadoop.job(*maps))
            until("a job that works", tasks_running=1, slots_used=2)
            (first,) = live()
            jobs.enter_context(hadoop.job(*maps))
            jobs.enter_context(hadoop.job(*maps))
            until("two jobs that wait", jobs_waiting=2)
            kill(first)
            until("two ApplicationMasters and no task", masters=2, tasks_running=0, slots_used=2, tasks_waiting=4)
            assert [decide() != "" for _ in range(7)] == [False] * 6 + [True]
            assert desk.state.clusters[ClusterId("c-1")].alert.startswith(
                "tasks wait and none runs: 4 waiting, 2 slots"
            )
            kill(live()[0])
            until("a task", masters=1, tasks_running=1)
            assert decide() == ""
            assert desk.codes() == ["runs-again"]
    finally:
        for name in live():
            kill(name)
        sampler.close()
