"""Data in HDFS that nobody declared, and running applications that are not ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.config.clusters.details import ClusterDetails, DataSet, Output
from fawkes.core.values.model import NodeId
from fawkes.live.data.loading import LOADED, LoadRun
from fawkes.live.data.sources import files_below, fingerprint
from fawkes.live.eyes import survey as surveying
from fawkes.live.eyes.survey import bookkeeping, survey
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.rest import Deadline, close_session
from fawkes.live.wire.webhdfs import Hdfs
from tests.live.fake_hdfs import FakeHdfs, running
from tests.live.played import PlayedSetup, live_cluster
from tests.support.stub import Stub, stub_master

APPS = "/ws/v1/cluster/apps"
INFO = "/ws/v1/cluster/info"
ACTIVE = {"clusterInfo": {"state": "STARTED", "haState": "ACTIVE", "startedOn": 1}}
SETTINGS = {
    "mapred-site": {
        "yarn.app.mapreduce.am.staging-dir": "/staging",
        "mapreduce.jobhistory.intermediate-done-dir": "/history/new",
        "mapreduce.jobhistory.done-dir": "/history/done",
    },
    "yarn-site": {"yarn.nodemanager.remote-app-log-dir": "/logs"},
}


class Site(PlayedSetup):
    """An MR-cluster with an output and an input, and its masters."""

    def __init__(self, server: FakeHdfs, yarn: Stub) -> None:
        self.server, self.yarn = server, yarn
        self.conf: Any = SETTINGS
        self.details = ClusterDetails(
            outputs=(Output(path="/out/a", save_to="/nowhere/a"),), data=(DataSet(source="/src", to="/in/set"),)
        )

    def masters(self, cluster: object) -> MasterAddresses:
        return replace(self.server.masters(), user="hadoop", resource_manager=self.yarn.url, key="")

    def settings(self, cluster: object) -> Any:
        return self.conf

    def load(self) -> None:
        self.server.put("/in/set/1", b"input")
        hdfs = Hdfs.of(self.server.masters())
        hdfs.set_note("/in/set", LOADED, fingerprint(files_below(hdfs, "/in/set")))

    def survey(self) -> Any:
        return survey(self.cluster(), self)

    def cluster(self) -> LiveCluster:
        return live_cluster("c", NodeId("node01"), {}, self.details)

    def undeclared(self) -> dict[str, tuple[int, int]]:
        """Bytes and files by path."""
        return {row["path"]: (row["bytes"], row["files"]) for row in self.survey()["undeclared"]}


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[FakeHdfs, Stub]]:
    with running() as server, stub_master() as yarn:
        yield server, yarn
    close_session()


@pytest.fixture
def site(both: tuple[FakeHdfs, Stub]) -> Site:
    server, yarn = both
    fresh(server)
    yarn.answers = {APPS: {"apps": {}}, INFO: ACTIVE}
    return Site(server, yarn)


def fresh(server: FakeHdfs) -> None:
    server.tree = {"/": type(server.tree["/"])(folder=True)}
    server.down.clear()
    server.asked.clear()
    server.said.clear()
    server.page = 1000


def test_nothing_is_undeclared(site: Site) -> None:
    site.load()
    site.server.put("/out/a/part", b"output")
    site.server.put("/staging/alice/.staging/job_1/job.xml", b"x")
    site.server.put("/history/new/alice/job_1.jhist", b"x")
    site.server.put("/history/done/2026/11/job_1.jhist", b"x")
    site.server.put("/logs/alice/bucket-logs-tfile/0001/application_1/n1", b"x")
    site.server.put("/logs/zaXW3nBl.permission_check", b"")
    site.server.put("/logs/alice/logs/application_1/n1", b"x")
    site.server.make_folder("/user/alice")
    assert site.survey() == {"undeclared": [], "applications": [], "unsaved_bytes": 6}


@pytest.mark.parametrize("path", ["/logs/mine.permission_check", "/logs/mine.permission_check/deep/file"])
def test_what_has_something_in_it_is_no_probe_of_a_node_manager(site: Site, path: str) -> None:
    site.server.put(path, b"somebody's")
    (row,) = site.survey()["undeclared"]
    assert (row["bytes"], row["files"]) == (10, 1)


def test_a_folder_of_a_user(site: Site) -> None:
    site.server.put("/user/alice/deep/old", b"12345")
    site.server.put("/user/alice/new", b"123")
    site.server.put("/user/bob/empty", b"")
    site.server.tree["/user/alice"].owner = "alice"
    changed = site.server.tree["/user/alice/new"].changed_ms * 1000
    alice, bob = site.survey()["undeclared"]
    assert (alice["path"], alice["bytes"], alice["files"], alice["owner"]) == ("/user/alice", 8, 2, "alice")
    assert alice["newest"][0] == {"path": "/user/alice/new", "bytes": 3, "changed_us": changed}
    assert [file["path"] for file in alice["newest"]] == ["/user/alice/new", "/user/alice/deep/old"]
    assert (bob["path"], bob["bytes"], bob["files"]) == ("/user/bob", 0, 1)


@pytest.mark.parametrize(
    ("path", "row"),
    [
        ("/data/x/y", "/data"),
        ("/file", "/"),
        ("/user/file", "/user"),
        ("/out/other/part", "/out"),
        ("/out/file", "/out"),
        ("/in/other", "/in"),
        ("/in/set2/x", "/in"),
        ("/staging/alice/mine", "/staging"),
        ("/staging/notes", "/staging"),
        ("/history/mine", "/history"),
        ("/logs/alice/mine/x", "/logs"),
        ("/tmp/hive/x", "/tmp"),
        ("/out/ab/x", "/out"),
    ],
)
def test_everything_else_is_somebodys(site: Site, path: str, row: str) -> None:
    site.load()
    site.server.put("/out/a/part", b"output")
    site.server.put("/staging/alice/.staging/job_1/job.xml", b"x")
    site.server.put(path, b"12")
    assert site.undeclared() == {row: (2, 1)}


def test_a_staging_folder_among_the_users_folders_hides_nothing(site: Site) -> None:
    mapred = SETTINGS["mapred-site"] | {"yarn.app.mapreduce.am.staging-dir": "hdfs://nn:8020/user"}
    site.conf = SETTINGS | {"mapred-site": mapred}
    site.server.put("/user/alice/.staging/job_1/job.xml", b"x")
    site.server.put("/user/alice/thesis", b"123")
    site.server.put("/user/alice/deep/er", b"4")
    assert site.undeclared() == {"/user/alice": (4, 2)}


def test_a_folder_that_only_hadoop_could_resolve_hides_nothing() -> None:
    mapred = SETTINGS["mapred-site"] | {"mapreduce.jobhistory.done-dir": "${hadoop.tmp.dir}/done"}
    places = bookkeeping({"mapred-site": mapred, "yarn-site": {}})
    assert places == [("staging", "*", ".staging"), ("history", "new")]


@pytest.mark.parametrize(
    ("uri", "hidden"),
    [("hdfs://alpha/yarn-state", [("yarn-state",)]), ("hdfs://10.0.0.1:8020/yarn-state", [("yarn-state",)])],
)
def test_what_yarn_recovers_from_is_nobodys(uri: str, hidden: list[tuple[str, ...]]) -> None:
    state = "yarn.resourcemanager.fs.state-store.uri"
    assert bookkeeping({"mapred-site": {}, "yarn-site": {state: uri}}) == hidden
    assert bookkeeping({"mapred-site": {}, "yarn-site": {state: "file:///srv/fawkes/clusters/a/rm-state"}}) == []


def test_a_declared_name_is_no_pattern(site: Site) -> None:
    site.details = ClusterDetails(outputs=(Output(path="/out/*", save_to="/nowhere"),))
    site.server.put("/out/b", b"1")
    site.server.put("/out/*/c", b"1")
    assert site.undeclared() == {"/out": (1, 1)}


def test_scratch_is_nobodys(site: Site) -> None:
    site.details = ClusterDetails(scratch=("/tmp", "/work/x"))
    for path in ("/tmp/hive/a", "/work/x/b", "/work/y", "/tmpfile/c"):
        site.server.put(path, b"12")
    assert site.undeclared() == {"/tmpfile": (2, 1), "/work": (2, 1)}


@pytest.mark.parametrize(("software", "left"), [(("spark",), {}), ((), {"/history": (2, 1), "/staging": (2, 1)})])
def test_what_spark_keeps_of_its_applications_is_nobodys(
    site: Site, software: tuple[str, ...], left: dict[str, tuple[int, int]]
) -> None:
    site.details = ClusterDetails(software=software)
    for path in ("/history/spark/eventlog_v2_application_1_1/events_1", "/staging/ann/.sparkStaging/application_1/x"):
        site.server.put(path, b"12")
    assert site.undeclared() == left


@pytest.mark.parametrize("change", ["add", "replace", "touch", "remove", "note"])
def test_an_input_that_is_not_as_it_was_loaded(site: Site, change: str) -> None:
    site.server.put("/in/set/2", b"more!")
    site.load()
    assert site.undeclared() == {}
    match change:
        case "add":
            site.server.put("/in/set/deep/3", b"mine")
        case "replace":
            site.server.put("/in/set/1", b"other")
        case "touch":
            site.server.tree["/in/set/1"].changed_ms += 1
        case "remove":
            del site.server.tree["/in/set/2"]
        case "note":
            site.server.tree["/in/set"].xattrs.clear()
    assert site.undeclared().keys() == {"/in/set"}


def test_a_copy_that_is_not_whole_yet_is_nobodys(site: Site) -> None:
    """Nobody could release an MR-cluster while it loads, if half of its input counted as somebody's data."""
    site.server.put("/in/set/half", b"in")
    site.server.put("/in/other", b"mine")
    assert site.undeclared() == {"/in": (4, 1), "/in/set": (2, 1)}
    LoadRun(masters=site.server.masters(), core=(), target="/in/set", block_bytes=1, replication=1).begin()
    assert site.undeclared() == {"/in": (4, 1)}
    site.load()
    site.server.put("/in/set/later", b"mine")
    assert site.undeclared().keys() == {"/in", "/in/set"}


def test_applications_that_are_not_ours(site: Site) -> None:
    row = {"id": "application_1_0001", "name": "word count", "user": "alice", "state": "RUNNING", "startedTime": 2}
    ours = {"id": "application_1_0002", "state": "RUNNING", "applicationTags": "mine,fawkes-j1-1"}
    waiting = {"id": "application_1_0003", "user": "bob", "state": "ACCEPTED", "startedTime": 1}
    over = {"id": "application_1_0004", "user": "bob", "state": "FINISHED", "startedTime": 1}
    site.yarn.answers[APPS] = {"apps": {"app": [row, ours, waiting, over]}}
    assert site.survey()["applications"] == [
        {"id": "application_1_0002", "name": "", "user": "", "tags": ["fawkes-j1-1", "mine"]},
        {"id": "application_1_0003", "name": "", "user": "bob"},
        {"id": "application_1_0001", "name": "word count", "user": "alice"},
    ]


def test_a_resource_manager_that_recovers_knows_nothing_yet(site: Site) -> None:
    site.yarn.answers[INFO] = {"clusterInfo": ACTIVE["clusterInfo"] | {"haState": "STANDBY"}}
    assert site.survey()["applications"] is None


def test_each_part_may_be_unknown(site: Site) -> None:
    site.server.put("/user/alice/x", b"1")
    del site.yarn.answers[APPS]
    facts = site.survey()
    assert (facts["applications"], len(facts["undeclared"]), facts["unsaved_bytes"]) == (None, 1, 0)
    site.yarn.answers[APPS] = {"apps": {}}
    site.server.down.add("127.0.0.1")
    assert site.survey() == {"undeclared": None, "applications": [], "unsaved_bytes": None}


def test_what_hdfs_has_not_answered_in_time_is_not_known(site: Site) -> None:
    """However often it answers something: the core does not wait for longer."""
    site.server.put("/user/alice/x", b"1")
    facts = survey(site.cluster(), site, deadline=Deadline.after(-1))
    assert facts == {"undeclared": None, "applications": [], "unsaved_bytes": None}
    facts = survey(site.cluster(), site, deadline=Deadline.after(60))
    assert len(facts["undeclared"]) == 1  # type: ignore[arg-type]


def test_a_listing_that_lies_is_not_known(site: Site) -> None:
    site.server.said["/"] = [{"pathSuffix": "../x", "type": "FILE", "length": 1, "modificationTime": 1}]
    assert site.survey()["undeclared"] is None


def test_very_many_names_are_not_looked_at(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes come from the NameNode's own sums, the newest files from a bounded look."""
    monkeypatch.setattr(surveying, "_NAMES", 40)
    site.server.page = 10
    for n in range(300):
        site.server.put(f"/user/alice/many/{n:03}", b"1")
    assert site.undeclared() == {"/user/alice": (300, 300)}
    listed = [path for op, path in site.server.asked if op == "LISTSTATUS_BATCH" and path == "/user/alice/many"]
    assert len(listed) == 4


def test_very_many_folders_are_added_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surveying, "_ROWS", 3)
    for n in range(5):
        site.server.put(f"/user/u{n}/x", b"1")
        site.server.put(f"/top{n}/x", b"1")
    rows = site.undeclared()
    assert sum(size for size, _ in rows.values()) == 10
    assert len(rows) <= 5


_NAMES = st.lists(
    st.sampled_from(["user", "out", "a", "in", "set", "staging", ".staging", "x", "tmp"]), min_size=1, max_size=5
)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(paths=st.sets(_NAMES.map(tuple), max_size=8))
def test_no_file_is_nobodys(both: tuple[FakeHdfs, Stub], paths: set[tuple[str, ...]]) -> None:
    """Every file is either declared, an input, bookkeeping, or in exactly one row."""
    server, yarn = both
    fresh(server)
    yarn.answers = {APPS: {"apps": {}}, INFO: ACTIVE}
    site = Site(server, yarn)
    files = {p for p in paths if not any(o != p and o[: len(p)] == p for o in paths)}
    for parts in files:
        server.put("/" + "/".join(parts), b"1")
    ours = [
        p for p in files if p[:2] in {("out", "a"), ("in", "set")} or (p[0] == "staging" and p[2:3] == (".staging",))
    ]
    rows = {path: count for path, (_, count) in site.undeclared().items() if path != "/in/set"}
    assert sum(rows.values()) == len(files) - len(ours)


def test_applications_that_begin_while_hdfs_is_listed_are_seen(site: Site) -> None:
    site.server.put("/out/a/part", b"output")

    def listed() -> object:
        # HDFS has been asked for everything by now.
        assert ("GETCONTENTSUMMARY", "/out/a") in site.server.asked
        return {"apps": {"app": [{"id": "application_1_0001", "user": "alice", "state": "RUNNING"}]}}

    site.yarn.answers[APPS] = listed
    assert [row["id"] for row in site.survey()["applications"]] == ["application_1_0001"]
