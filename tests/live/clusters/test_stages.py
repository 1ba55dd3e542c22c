"""Saving the outputs of an MR-cluster, from the goal to its facts, against an HDFS in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import ElsewhereError, FawkesError, HostError, NodeRefusedError, RefusedError
from fawkes.config.clusters.details import KERBEROS, ClusterDetails, JobDetails, Output
from fawkes.core.jobs.copied import Compared
from fawkes.core.values.effects import Load
from fawkes.core.values.effects import Save as SaveGoal
from fawkes.core.values.events import Failed
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.core.values.settings import Settings
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Clock
from fawkes.live.base.waits import Waits
from fawkes.live.clusters.stages import Stages
from fawkes.live.data import loading
from fawkes.live.data.saved import MANIFEST, UnsavedError
from fawkes.live.hadoop.orders import AddressedOrder
from fawkes.live.jobs.copies import Copies
from fawkes.live.nodes.clusters import Clusters
from fawkes.live.nodes.playbooks import hadoop
from fawkes.live.wire.hadoop_rpc import ENTER_SAFE_MODE, LEAVE_SAFE_MODE, list_open_files, recover_lease
from fawkes.live.wire.names import NAMES
from fawkes.live.wire.rest import close_session
from fawkes.playbook import Facts, Script
from tests.live.fake_hdfs import CLIENT, FakeHdfs, rpc, running
from tests.live.played import NoUpload, PlayedGround, PlayedSetup, give_hands, live_cluster, world_of
from tests.live.wire.test_rest_tls import Ticket
from tests.support.stub import Stub, stub_master

MASTER = NodeId("node1")
C = ClusterId("c-1")
GOAL = SaveGoal(C, 1)
ORDERS = {"hdfs-freeze": ENTER_SAFE_MODE, "hdfs-thaw": LEAVE_SAFE_MODE}
FAR = "hdfs://far:8020/saved"
APPS, INFO = "/ws/v1/cluster/apps", "/ws/v1/cluster/info"
ACTIVE = {"clusterInfo": {"state": "STARTED", "haState": "ACTIVE", "startedOn": 1}}
FOR_EVER_US = 3_600_000_000
SPARK: dict[str, object] = {"id": "application_1_0001", "user": "alice", "state": "RUNNING"}


class FakeSetup(PlayedSetup):
    """Knows where the masters answer."""

    def __init__(self, server: FakeHdfs, port: int, yarn: Stub) -> None:
        self.server, self.port, self.yarn = server, port, yarn

    def masters(self, cluster: object) -> Any:
        key: Any = Ticket("") if self.server.secure else ""
        return replace(self.server.masters(), resource_manager=self.yarn.url, key=key)

    def order(self, cluster: object, which: str) -> Any:
        return AddressedOrder("127.0.0.1", self.port, ORDERS[which])

    def open_files_order(self, cluster: object, folder: str, after: int) -> Any:
        return AddressedOrder("127.0.0.1", self.port, list_open_files(folder, after))

    def close_order(self, cluster: object, path: str) -> Any:
        return AddressedOrder("127.0.0.1", self.port, recover_lease(path))

    def default_fs(self, cluster: object) -> str:
        return "hdfs://near:8020"


class FakeGround(PlayedGround):
    """Runs what the master is to be told by its own client."""

    def __init__(self, server: FakeHdfs) -> None:
        super().__init__(MASTER, user="hadoop")
        self.server = server
        self.fails = False

    def through(self, node: NodeId) -> Any:
        return NAMES.connect

    def played(self, node: NodeId, script: Script, doing: str) -> Facts:
        if self.fails:
            raise HostError("cannot be reached", host=node)
        self.server.take("freeze" if "hdfs-freeze" in script.text else "thaw")
        return Facts([])


class FakeCopies(Copies):
    """Copies to another HDFS; each by its name, once, as an attempt that ended well is found again."""

    def __init__(self, server: FakeHdfs) -> None:
        self.server = server
        self.begun: list[tuple[str, str]] = []
        self.meanwhile: Callable[[], None] = lambda: None
        self.fails = ""
        #: what the next comparisons find; after them all is equal
        self.compared: list[Compared] = []

    def hows(self) -> list[str]:
        """How each copy was made."""
        return [how for _, how in self.begun]

    def run(self, cluster: object, name: str, details: JobDetails, stop: object, *, fresh: bool = False) -> int:
        if fails := "Name node is in safe mode" if self.server.safe_mode else self.fails:
            raise HostError(fails, host=MASTER)
        if fresh or name not in [done for done, _ in self.begun]:
            self.begun.append((name, details.args[0]))
        self.meanwhile()
        return 1

    def compare(self, cluster: object, name: str, source: str, target: str, stop: object) -> Compared:
        return self.compared.pop(0) if self.compared else Compared(files=2, equal=2)


class Site:
    """An MR-cluster with outputs, and those who save them."""

    def __init__(self, server: FakeHdfs, port: int, yarn: Stub, folder: Path) -> None:
        self.server = server
        self.yarn = yarn
        self.folder = folder
        self.setup = FakeSetup(server, port, yarn)
        self.ground = FakeGround(server)
        self.copies = FakeCopies(server)
        self.stopping = threading.Event()
        self.outputs = {"/out/a": str(folder / "a"), "/out/b": str(folder / "b")}

    def stages(self) -> Stages:
        outputs = tuple(Output(path=path, save_to=to) for path, to in self.outputs.items())
        clusters = Clusters()
        clusters._put(live_cluster(C, MASTER, details=self.details(outputs)))
        stages = Stages(
            self.ground,
            clusters,
            self.setup,
            NoUpload(),
            self.stopping,
            Waits(Mailbox(Clock(0))),
            settings=Settings(),
            now_us=Clock().now_us,
        )
        stages._copies = self.copies
        return stages

    def details(self, outputs: tuple[Output, ...]) -> ClusterDetails:
        return ClusterDetails(outputs=outputs, security=KERBEROS if self.server.secure else "")

    def save(
        self,
        current: Callable[[], bool] = lambda: True,
        *,
        all_declared: bool = True,
        applications: bool = False,
        close_us: int = 0,
        stages: Stages | None = None,
    ) -> Any:
        goal = replace(GOAL, undeclared=not all_declared, applications=applications, close_us=close_us)
        return (stages or self.stages()).save(goal, current)

    def run(self, *applications: dict[str, object]) -> None:
        """Sets the applications that YARN reports as running."""
        self.yarn.answers[APPS] = {"apps": {"app": list(applications)}}

    def saved(self) -> dict[str, bytes]:
        files = (path for path in self.folder.rglob("*") if path.is_file() and path.name != MANIFEST)
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with running() as server, rpc(server) as port, stub_master() as yarn:
        server.put("/out/a/1", b"one")
        server.put("/out/a/2", b"two")
        server.put("/out/b/3", b"three")
        yarn.answers = {APPS: {"apps": {}}, INFO: ACTIVE}
        yield Site(server, port, yarn, tmp_path / "saved")
    close_session()


ALL = {"a/1": b"one", "a/2": b"two", "b/3": b"three"}


def test_spark_s_history_server_begins_with_its_folder(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    monkeypatch.setattr(loading, "lay_out", lambda masters, outputs, needed: done.append(needed))
    monkeypatch.setattr(loading, "mark_active", lambda masters: None)
    monkeypatch.setattr(site, "details", lambda outputs: ClusterDetails(software=("spark",)))
    monkeypatch.setattr(site.setup, "daemons", lambda *which: [hadoop.Daemon(name, ()) for name in hadoop.DAEMONS])
    monkeypatch.setattr(site.ground, "run", lambda node, script, doing: done.append(script.text))
    site.stages().load(Load(C, 1), lambda: True)
    assert (done[0], "sparkhistory" in done[1], "namenode" in done[1]) == (["/history/spark"], True, False)


@pytest.mark.slow
def test_outputs_are_saved_and_hdfs_takes_no_writes_any_more(site: Site) -> None:
    assert site.save() == {
        "outputs": [
            {"path": "/out/a", "files": 2, "size": 6, "already": False},
            {"path": "/out/b", "files": 1, "size": 5, "already": False},
        ]
    }
    assert site.saved() == ALL
    assert site.server.orders == ["freeze"]


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
def test_with_kerberos_its_token_is_made_while_hdfs_takes_writes(site: Site, killed: bool) -> None:
    """An earlier controller that was killed may have left HDFS without writes."""
    site.server.secure = True
    site.server.safe_mode = killed
    site.server.on_order = lambda order: site.server.put("/out/a/late", b"late") if order == "freeze" else None
    site.save()
    assert site.saved() == ALL | {"a/late": b"late"}
    assert site.server.orders == ["thaw", "freeze"]


@pytest.mark.slow
def test_what_is_written_up_to_the_last_moment_is_saved(site: Site) -> None:
    """Whoever writes between the copy and the moment from which HDFS takes no writes loses nothing."""

    def write(order: str) -> None:
        site.server.put("/out/a/late", b"late")
        site.server.put("/out/b/3", b"other")
        del site.server.tree["/out/a/1"]

    site.server.on_order = write
    site.save()
    assert site.saved() == {"a/2": b"two", "a/late": b"late", "b/3": b"other"}
    assert site.server.reads.count("/out/a/2") == 1


@pytest.mark.slow
def test_an_output_that_appears_at_the_last_moment_is_saved(site: Site) -> None:
    site.outputs["/out/new"] = str(site.folder / "new")
    site.server.on_order = lambda order: site.server.put("/out/new/x", b"x")
    assert site.save()["outputs"][2]["files"] == 1
    assert site.saved() == ALL | {"new/x": b"x"}


@pytest.mark.slow
def test_one_bad_file_keeps_no_other_output_from_being_saved(site: Site) -> None:
    site.server.unreadable.add("/out/a/1")
    with pytest.raises(UnsavedError, match="/out/a/1") as caught:
        site.save()
    facts: Any = caught.value.facts
    assert [row["path"] for row in facts["unsaved"]] == ["/out/a/1"]
    assert facts["outputs"] == [{"path": "/out/b", "files": 1, "size": 5, "already": False}]
    whole = {name: data for name, data in site.saved().items() if name != ".a.saving/1"}
    assert whole == {".a.saving/2": b"two", "b/3": b"three"}
    assert site.server.orders == ["freeze", "thaw"], "users may write again, and remove the bad file"
    site.server.unreadable.clear()
    site.server.reads.clear()
    site.save()
    assert (site.saved(), site.server.reads) == (ALL, ["/out/a/1"])


def test_a_folder_that_cannot_be_written_keeps_no_other_one_from_being_saved(site: Site) -> None:
    (site.folder / "a").mkdir(parents=True)
    (site.folder / "a" / "thesis").write_text("mine")
    with pytest.raises(UnsavedError, match=f"/out/a .*has no {MANIFEST}"):
        site.save()
    assert site.saved() == {"a/thesis": b"mine", "b/3": b"three"}


@pytest.mark.parametrize("order", ["freeze", "thaw"])
def test_a_namenode_that_takes_no_rpc_is_told_by_its_client(site: Site, order: str) -> None:
    site.server.refuses_rpc = True
    if order == "thaw":
        site.server.unreadable.add("/out/a/1")
        with pytest.raises(UnsavedError):
            site.save()
    else:
        site.save()
    assert site.server.orders == (["freeze"] if order == "freeze" else ["freeze", "thaw"])


def test_nothing_is_saved_while_writes_cannot_be_stopped(site: Site) -> None:
    site.server.refuses_rpc = site.ground.fails = True
    with pytest.raises(HostError):
        site.save()
    assert not (site.folder / "a").exists()


def test_a_save_that_is_stopped_lets_users_write_again(site: Site) -> None:
    frozen = threading.Event()
    site.server.on_order = lambda order: frozen.set()
    with pytest.raises(loading.StoppedError):
        site.save(lambda: not frozen.is_set())
    assert site.server.orders == ["freeze", "thaw"]


def test_a_newer_goal_at_the_end_lets_users_write_again(site: Site) -> None:
    site.outputs = {"/out/gone": str(site.folder / "gone")}
    frozen = threading.Event()
    site.server.on_order = lambda order: frozen.set()
    assert site.save(lambda: not frozen.is_set(), all_declared=False) is None
    assert site.server.orders == ["freeze", "thaw"]


def test_a_controller_that_was_killed_left_hdfs_without_writes(site: Site) -> None:
    """The next one goes on as if nothing had been."""
    site.server.safe_mode = True
    site.outputs["/out/far"] = FAR
    site.server.put("/out/far/x", b"x")
    site.save()
    assert site.server.orders == ["thaw", "freeze"]
    assert site.saved() == ALL


def test_a_copy_to_another_hdfs_is_compared_when_nothing_is_written_any_more(site: Site) -> None:
    site.outputs = {"/out/a": FAR}
    assert site.save(all_declared=False) == {"outputs": [{"path": "/out/a", "save_to": FAR}]}
    ((name, how),) = site.copies.begun
    assert how == "-atomic"
    assert name.startswith("save-0-")
    assert site.server.orders == ["thaw", "freeze"]


def test_only_what_is_saved_is_said_to_be_and_a_target_in_the_way_is_to_be_moved(site: Site) -> None:
    site.outputs = {"/out/a": FAR, "/out/b": str(site.folder / "b")}
    site.copies.fails = "Target path for atomic-commit already exists"
    with pytest.raises(UnsavedError, match=rf"data at {FAR} already, move it away.*Saved and verified: /out/b\."):
        site.save(all_declared=False)
    site.outputs.pop("/out/b")
    with pytest.raises(UnsavedError, match=r"^(?!.*aved and verified)"):
        site.save(all_declared=False)


@pytest.mark.slow
def test_what_changed_while_it_was_copied_is_a_failed_try_and_is_copied_by_the_next(site: Site) -> None:
    site.outputs = {"/out/a": FAR, "/out/b": str(site.folder / "b")}
    site.copies.meanwhile = lambda: site.server.put("/out/a/late", b"late")
    with pytest.raises(UnsavedError, match=r"/out/a .*changed while it was copied"):
        site.save(all_declared=False)
    assert site.server.orders == ["thaw", "freeze", "thaw"]
    assert site.saved() == {"b/3": b"three"}
    site.copies.meanwhile = lambda: None
    site.save(all_declared=False)
    # The target is a copy of ours by now: it is brought up to date.
    assert site.copies.hows() == ["-atomic", "-update"]


def test_a_file_that_is_still_being_written_is_not_copied_whole(site: Site) -> None:
    site.outputs = {"/out/a": FAR}
    site.server.tree["/out/a/1"].being_written = True
    with pytest.raises(UnsavedError, match="under construction"):
        site.save(all_declared=False)


def opened(site: Site, *paths: str) -> None:
    """Files that a client is writing."""
    for path in paths:
        site.server.put(path, b"so far")
        site.server.tree[path].being_written = True


def closed(*paths: str) -> dict[str, object]:
    """The facts about files that were closed."""
    rows = [{"path": path, "bytes": 6, "client": CLIENT, "host": "node1"} for path in paths]
    return {"closed": rows, "closed_count": len(rows)}


@pytest.mark.slow
def test_what_clients_hold_open_is_closed_and_saved_as_far_as_it_was_written(site: Site) -> None:
    """Files elsewhere are none of the save's."""
    site.server.page = 2
    opened(site, "/out/a/x", "/out/a/y", "/out/a/z", "/out/b/x", "/outer/x")
    facts = site.save(all_declared=False, close_us=FOR_EVER_US)
    files = ["/out/a/x", "/out/a/y", "/out/a/z", "/out/b/x"]
    assert {key: facts[key] for key in ("closed", "closed_count")} == closed(*files)
    assert site.saved() == ALL | {path.removeprefix("/out/"): b"so far" for path in files}
    assert site.server.recovered == files
    assert site.server.orders == ["thaw", "freeze"], "a controller that was killed may have left HDFS without writes"


@pytest.mark.slow
def test_a_file_that_a_client_opens_at_the_last_moment_is_closed_as_well(site: Site) -> None:
    """HDFS takes writes once more for that."""

    def come(order: str) -> None:
        if site.server.orders.count("freeze") == 1 and order == "freeze":
            opened(site, "/out/a/late")

    site.server.on_order = come
    facts = site.save(close_us=FOR_EVER_US)
    assert (facts["closed"], site.saved()) == (closed("/out/a/late")["closed"], ALL | {"a/late": b"so far"})
    assert site.server.orders == ["freeze", "thaw", "freeze"]


@pytest.mark.slow
def test_a_file_that_hdfs_never_closes_is_named_with_its_client_and_holds_up_no_other_one(site: Site) -> None:
    opened(site, "/out/a/never", "/out/a/x")
    site.server.never_close = {"/out/a/never"}
    stages = site.stages()
    named = f"/out/a/never .*{CLIENT} on node1, and HDFS did not close it"
    with pytest.raises(UnsavedError, match=named) as caught:
        site.save(close_us=1, stages=stages)
    facts: Any = caught.value.facts
    read = {path for op, path in site.server.asked if op in ("GETFILECHECKSUM", "OPEN")}
    assert "/out/a/never" not in read, "a DataNode that has it may not answer for a minute"
    assert [row["path"] for row in facts["unsaved"]] == ["/out/a/never"]
    assert facts["closed"] == closed("/out/a/x")["closed"]
    assert {name: data for name, data in site.saved().items() if not name.endswith("/never")} == {
        ".a.saving/1": b"one",
        ".a.saving/2": b"two",
        ".a.saving/x": b"so far",
        "b/3": b"three",
    }
    assert site.server.orders[-1] == "thaw"
    with pytest.raises(UnsavedError, match=named):
        site.save(close_us=1, stages=stages)
    site.server.never_close = set()
    facts = site.save(close_us=FOR_EVER_US, stages=stages)
    assert facts["closed"] == closed("/out/a/never")["closed"], "each is told once"
    assert site.saved() == ALL | {"a/never": b"so far", "a/x": b"so far"}


@pytest.mark.slow
def test_what_was_closed_by_a_try_that_failed_otherwise_is_told_by_the_next(site: Site) -> None:
    opened(site, "/out/a/x")
    stages = site.stages()
    site.server.on_order = lambda order: site.run(SPARK) if order == "freeze" else site.run()
    with pytest.raises(RefusedError, match="applications"):
        site.save(close_us=FOR_EVER_US, stages=stages)
    site.server.on_order = None
    assert site.save(close_us=FOR_EVER_US, stages=stages)["closed"] == closed("/out/a/x")["closed"]


def test_open_files_of_a_namenode_that_does_not_list_them_have_no_checksum(site: Site) -> None:
    opened(site, "/out/a/x")
    site.server.refuses_rpc = True
    with pytest.raises(UnsavedError, match=r"/out/a/x .*under construction"):
        site.save(close_us=1)


@pytest.mark.parametrize("at_once", [True, False])
def test_hdfs_that_is_made_to_take_writes_meanwhile_is_not_saved(site: Site, at_once: bool) -> None:
    """Whoever does it, and when: what is written after the comparison of its folder would be lost."""

    def leave(order: str) -> None:
        if at_once:
            site.server.safe_mode = False
        else:
            site.server.put("/out/b/read-last", b"x")

    def written(path: str, data: bytes) -> bytes:
        if path == "/out/b/read-last":
            site.server.put("/out/a/lost", b"x")
        return data

    site.server.on_order, site.server.on_read = leave, written
    with pytest.raises(FawkesError, match="something else than Fawkes let HDFS take writes"):
        site.save(close_us=FOR_EVER_US)


@pytest.mark.slow
@pytest.mark.parametrize("to", [FAR, ""])
def test_no_client_is_cut_while_an_application_of_users_holds_the_save(site: Site, to: str) -> None:
    site.outputs["/out/a"] = to or site.outputs["/out/a"]
    opened(site, "/out/a/x")
    site.run(SPARK)
    with pytest.raises(RefusedError, match="applications"):
        site.save(close_us=FOR_EVER_US)
    assert site.server.recovered == []
    site.save(all_declared=False, applications=True, close_us=FOR_EVER_US)
    assert site.server.recovered == ["/out/a/x"]


@pytest.mark.slow
def test_files_are_closed_before_they_are_copied_to_another_hdfs(site: Site) -> None:
    site.outputs = {"/out/a": FAR}
    opened(site, "/out/a/x")
    site.copies.meanwhile = lambda: None if site.server.recovered else pytest.fail("DistCp met an open file")
    facts = site.save(all_declared=False, close_us=FOR_EVER_US)
    assert facts == {"outputs": [{"path": "/out/a", "save_to": FAR}], **closed("/out/a/x")}


@pytest.mark.slow
def test_another_target_is_no_copy_of_ours(site: Site) -> None:
    site.outputs = {"/out/a": FAR}
    site.save(all_declared=False)
    site.server.safe_mode = False
    site.outputs = {"/out/a": f"{FAR}2"}
    site.save(all_declared=False)
    assert site.copies.hows() == ["-atomic", "-atomic"]


def test_another_controller_ends_the_save(site: Site) -> None:
    def elsewhere() -> None:
        raise ElsewhereError("another controller is in charge")

    site.outputs = {"/out/a": FAR}
    site.copies.meanwhile = elsewhere
    with pytest.raises(ElsewhereError):
        site.save(all_declared=False)


@pytest.mark.slow
def test_a_node_that_refuses_is_told_as_such_when_all_else_is_saved(site: Site) -> None:
    def refuse() -> None:
        raise NodeRefusedError("its lease is damaged", host=MASTER)

    site.outputs = {"/out/a": FAR, "/out/b": str(site.folder / "b")}
    site.copies.meanwhile = refuse
    with pytest.raises(NodeRefusedError):
        site.save(all_declared=False)
    assert site.saved() == {"b/3": b"three"}


def test_the_facts_of_a_save_that_failed_reach_the_core(site: Site) -> None:
    site.server.unreadable.add("/out/a/1")
    world = world_of()
    give_hands(world, stages=site.stages())
    try:
        world.start([GOAL])
        event = world.next_event()
    finally:
        world.close()
    assert isinstance(event, Failed)
    assert event.facts["unsaved_count"] == 1
    assert "/out/a/1" in event.error


def test_without_outputs_only_what_nobody_declared_is_looked_for(site: Site) -> None:
    site.outputs = {}
    for path in [path for path in site.server.tree if path.startswith("/out")]:
        del site.server.tree[path]
    assert site.save() == {"outputs": []}
    assert site.server.orders == ["freeze"]


def test_what_nobody_declared_and_came_after_the_survey_holds_the_save_and_hdfs_takes_writes_again(site: Site) -> None:
    site.server.on_order = lambda order: site.server.put("/user/alice/late", b"mine") if order == "freeze" else None
    with pytest.raises(RefusedError, match="/user/alice"):
        site.save()
    assert site.saved() == ALL
    assert site.server.orders == ["freeze", "thaw"]
    site.server.on_order = lambda order: None
    assert site.save(all_declared=False)["outputs"][0]["already"]


def test_what_users_started_after_the_survey_holds_the_save_before_hdfs_refuses_its_writes(site: Site) -> None:
    site.run(SPARK)
    with pytest.raises(RefusedError, match=r"application_1_0001 of alice.*fawkes release c-1 --force"):
        site.save()
    assert site.server.orders == ["thaw"]
    site.run(SPARK | {"state": "FINISHED"})
    assert site.save()["outputs"]
    assert site.saved() == ALL


def test_what_users_started_at_the_last_moment_holds_the_save_and_hdfs_takes_writes_again(site: Site) -> None:
    site.server.on_order = lambda order: site.run(SPARK)
    with pytest.raises(RefusedError, match="application_1_0001"):
        site.save()
    assert site.server.orders == ["freeze", "thaw"]


@pytest.mark.parametrize("answer", [None, {"clusterInfo": {"state": "STARTED", "haState": "STANDBY"}}])
def test_applications_that_are_not_known_hold_the_save(site: Site, answer: object) -> None:
    site.yarn.answers[INFO] = answer
    with pytest.raises(RefusedError, match=r"not known.*fawkes release c-1 --force"):
        site.save()


def test_applications_that_were_given_up_hold_no_save(site: Site) -> None:
    site.run(SPARK)
    assert site.save(applications=True)["outputs"]
    site.yarn.answers.clear()
    assert site.save(applications=True)["outputs"]


@pytest.mark.slow
def test_applications_of_fawkes_hold_no_save(site: Site) -> None:
    site.run(SPARK | {"applicationTags": "fawkes-j1-1"})
    assert site.save()["outputs"]


def test_what_is_at_stake_is_told_of_what_nobody_declared_as_well(site: Site) -> None:
    site.server.put("/user/alice/thesis", b"mine")
    site.server.tree["/user/alice"].owner = "alice"
    rows = site.stages().at_stake(site.stages()._known(C))
    common = {"cluster": C, "saved": False}
    keys = ("path", "bytes", "save_to", "owner", "files")
    assert rows == [
        common | dict(zip(keys, row, strict=True))
        for row in [
            ("/out/a", 6, str(site.folder / "a"), "hadoop", 2),
            ("/out/b", 5, str(site.folder / "b"), "hadoop", 1),
            ("/user/alice", 4, "", "alice", 1),
        ]
    ]
