"""Readings of an MR-cluster, from recorded answers and from masters that fail in every way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fawkes.core.values.model import NodeId, Reading
from fawkes.core.values.sight import Work
from fawkes.live.eyes.measure import ReaderMemory, Tasks, mapreduce_tasks, slots
from fawkes.live.wire.masters import ComputeNode
from tests.live.masters_server import (
    APPS,
    HISTORY,
    JMX,
    MARK,
    NODE_LIST,
    Answer,
    Server,
    am,
    beans,
    by_states,
    drips,
    hangs,
    hangs_up,
    recorded,
    redirects,
    says,
    text,
)
from tests.live.readings import C1, NONE, ONE, app, job, live, read, said


def test_one_reading_of_a_working_cluster(server: Server) -> None:
    """One of 3 applications runs (10 maps: 6 done, 4 running; 1 reduce waits); two have no ApplicationMaster yet."""
    assert read(server) == Reading(
        cluster=C1,
        jobs_waiting=2,
        jobs_running=1,
        tasks_waiting=1 + 1 + 1,
        tasks_running=4,
        tasks_ready=2,
        waiting_tags=("fawkes-b", "fawkes-c"),
        unsplit=("fawkes-b", "fawkes-c"),
        slots_used=1,
        slots_total=8,
        master_slots=1,
        output_bytes=recorded("namenode.json")["beans"][0]["Used"] - 100_000_000,
        storage_bytes=811659522048,
        jobs_done=0,
        tasks_done=6,
        jobs_foreign=0,
        missing_blocks=0,
        hdfs_ops=2 + 2 + 9 + 7,
        node_bytes={NodeId("node01"): 76136622, NodeId("node02"): 93044813, NodeId("node03"): 16932878},
        node_masters={NodeId("node02"): 1, NodeId("node01"): 1},
        masters=1,
        work=(
            Work(tag="fawkes-a", application=ONE, master=True, waiting=1, running=4, done=6, progress=60.0),
            Work(tag="fawkes-b", application=f"{ONE[:-1]}2", master=True),
            Work(tag="fawkes-c", application=f"{ONE[:-1]}3", waiting=1, running=0, done=0, progress=0.0),
        ),
    )


@pytest.mark.parametrize("empty", [{"apps": {}}, {"apps": None}, {"apps": ""}, {"apps": {"app": []}}])
def test_an_idle_cluster_waits_for_nothing(server: Server, empty: object) -> None:
    server.answers[APPS] = says(empty)
    reading = read(server)
    assert (reading.error, reading.jobs_waiting, reading.jobs_running, reading.tasks_waiting) == ("", 0, 0, 0)
    assert (reading.tasks_running, reading.waiting_tags, reading.node_masters) == (0, (), {})


def test_applications_that_users_gave_to_yarn_themselves(server: Server) -> None:
    server.answers[APPS] = live(
        app("application_1_0001", state="ACCEPTED", applicationTags="fawkes-j1-1,mine"),
        app("application_1_0002", state="ACCEPTED", applicationTags="mine"),
        app("application_1_0003", applicationType="SPARK"),
    )
    server.answers[f"{APPS}/application_1_0003"] = says({"app": app("application_1_0003")})
    assert read(server).jobs_foreign == 2


@pytest.mark.parametrize(
    ("bean", "thin"),
    [
        ({"LowRedundancyBlocks": 3, "PendingReconstructionBlocks": 1}, 4),
        ({"LowRedundancyBlocks": 0, "PendingReconstructionBlocks": 0}, 0),
        ({"LowRedundancyBlocks": 0}, None),
    ],
)
def test_blocks_with_too_few_replicas_are_counted(server: Server, bean: dict[str, int], thin: int | None) -> None:
    others = {"NameNodeInfo": recorded("namenode.json"), "BlockStats": recorded("blockstats.json")}
    server.answers[JMX] = beans(**others, FSNamesystemState={"beans": [bean]})
    assert read(server).thin_blocks == thin


def activity(**changes: object) -> Answer:
    bean = {key: value for key, value in (ACTIVITY | changes).items() if value is not ...}
    return beans(
        NameNodeInfo=recorded("namenode.json"),
        BlockStats=recorded("blockstats.json"),
        NameNodeActivity={"beans": [bean]},
    )


ACTIVITY: dict[str, Any] = recorded("activity.json")["beans"][0]
USED = ["CreateFileOps", "FilesCreated", "FilesAppended", "FilesTruncated", "FilesRenamed", "DeleteFileOps"]
USED += ["AddBlockOps", "GetBlockLocations"]


@pytest.mark.parametrize("name", USED)
def test_each_way_of_using_hdfs_is_seen(server: Server, name: str) -> None:
    before = read(server).hdfs_ops
    server.answers[JMX] = activity(**{name: ACTIVITY[name] + 1})
    assert before is not None
    assert read(server).hdfs_ops == before + 1


@pytest.mark.parametrize("name", ["GetListingOps", "FileInfoOps", "TotalFileOps", "SyncsNumOps", "PutImageNumOps"])
def test_what_the_masters_do_by_themselves_is_no_use(server: Server, name: str) -> None:
    before = read(server).hdfs_ops
    server.answers[JMX] = activity(**{name: 10**6})
    assert read(server).hdfs_ops == before


@pytest.mark.parametrize("value", [..., None, float("nan"), -1, "x", "no counters"])
def test_an_absent_counter_of_use_is_not_known(server: Server, value: object) -> None:
    recorded_beans = {"NameNodeInfo": recorded("namenode.json"), "BlockStats": recorded("blockstats.json")}
    server.answers[JMX] = beans(**recorded_beans) if value == "no counters" else activity(AddBlockOps=value)
    reading = read(server)
    assert (reading.error, reading.hdfs_ops) == ("", None)


def test_a_history_without_its_figures_counts_no_tasks(server: Server) -> None:
    """The last answer of the ApplicationMaster counts then."""
    memory = ReaderMemory(tasks={ONE: 4})
    done = {"id": ONE, "state": "FINISHED", "finalStatus": "SUCCEEDED", "startedTime": 1, "finishedTime": 2}
    server.answers[APPS] = by_states(NONE, {"apps": {"app": [done]}})
    row = {"id": ONE.replace("application", "job"), "mapsCompleted": 9}
    server.answers[HISTORY] = says({"jobs": {"job": [row]}})
    assert read(server, memory).tasks_done == 4


@pytest.mark.slow
@pytest.mark.parametrize("path", [APPS, NODE_LIST, JMX, MARK])
@pytest.mark.parametrize(
    "answer",
    [hangs_up, text("<html>", 200), says({}), drips({}), hangs],
    ids=["hangs up", "page", "empty", "drips", "hangs"],
)
def test_without_resourcemanager_or_namenode_there_is_no_reading(server: Server, path: str, answer: Answer) -> None:
    server.answers[path] = answer
    reading = read(server, seconds=0.3)
    assert reading.error
    assert reading == Reading(cluster=C1, error=reading.error)


@pytest.mark.parametrize("path", [APPS, NODE_LIST, JMX])
@pytest.mark.parametrize("status", [404, 500])
def test_a_master_with_an_error_gives_no_reading(server: Server, path: str, status: int) -> None:
    server.answers[path] = says({}, status)
    assert f"answered {status}" in read(server).error


@pytest.mark.parametrize(
    "answer",
    [
        redirects("/cluster/app/application_1"),
        says({}, 404),
        says({}, 500),
        text("<html>the history page</html>"),
        says({"jobs": {}}),
        says({"jobs": ""}),
        says({"jobs": {"job": [{"mapsTotal": 1}]}}),
        says({"jobs": {"job": [job((2, 0, 0)) | {"mapsRunning": float("nan")}]}}),
        hangs_up,
    ],
)
def test_a_silent_applicationmaster_leaves_the_resourcemanagers_figures(server: Server, answer: Answer) -> None:
    server.answers[APPS] = live(app())
    server.answers[f"{APPS}/{ONE}"] = says(recorded("app_pending.json"))
    server.answers[am(ONE)] = answer
    reading = read(server)
    assert (reading.error, reading.jobs_running, reading.tasks_running, reading.tasks_waiting) == ("", 1, 6, 4)


@pytest.mark.slow
@pytest.mark.parametrize("answer", [hangs, drips({})])
def test_an_applicationmaster_that_hangs_does_not_cost_the_reading(server: Server, answer: Answer) -> None:
    server.answers[APPS] = live(app(), app("application_2_0002"))
    server.answers[f"{APPS}/{ONE}"] = says(recorded("app_pending.json"))
    server.answers[am(ONE)] = answer
    server.answers[am("application_2_0002")] = said((5, 1, 0))
    memory = ReaderMemory(master_s=0.1)
    reading = read(server, memory)
    assert (reading.error, reading.tasks_waiting, reading.tasks_running) == ("", 4 + 4, 6 + 1)
    assert memory.silent == {ONE}
    # Next time it is asked last: it cannot take the time of those that answer.
    server.asked.clear()
    read(server, memory)
    proxied = [path for path, _ in server.asked if path.startswith("/proxy/")]
    assert proxied == [am("application_2_0002"), am(ONE)]


@pytest.mark.slow
def test_all_hanging_applicationmasters_together_leave_time_for_the_rest(server: Server) -> None:
    names = [f"application_1_{n:04d}" for n in range(8)]
    server.answers[APPS] = live(*(app(name) for name in names))
    for name in names:
        server.answers[am(name)] = hangs
        server.answers[f"{APPS}/{name}"] = says(recorded("app_pending.json"))
    reading = read(server, ReaderMemory(master_s=0.5), seconds=3.0)
    assert (reading.error, reading.jobs_running, reading.tasks_waiting) == ("", 8, 32)


@pytest.mark.parametrize("now", [says({"app": {"id": ONE, "state": "FINISHED"}}), says({}, 404)])
def test_an_application_that_ends_in_between_waits_for_nothing(server: Server, now: Answer) -> None:
    server.answers[APPS] = live(app())
    server.answers[am(ONE)] = redirects("/cluster/app/application_1")
    server.answers[f"{APPS}/{ONE}"] = now
    reading = read(server)
    assert (reading.error, reading.jobs_waiting, reading.jobs_running, reading.tasks_waiting) == ("", 0, 0, 0)


def test_a_job_without_a_started_task_waits_though_its_applicationmaster_runs(server: Server) -> None:
    server.answers[APPS] = live(app(applicationTags="fawkes-a,other"))
    server.answers[am(ONE)] = said((10, 0, 0), (1, 0, 0))
    reading = read(server)
    assert (reading.jobs_waiting, reading.jobs_running, reading.tasks_waiting) == (1, 0, 11)
    assert (reading.waiting_tags, reading.unsplit) == (("fawkes-a",), ())


@pytest.mark.parametrize("state", ["NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED"])
def test_an_application_without_an_applicationmaster_is_one_task(server: Server, state: str) -> None:
    server.answers[APPS] = live(app(state=state, runningContainers=-1, applicationTags="fawkes-a"))
    reading = read(server)
    assert (reading.jobs_waiting, reading.tasks_waiting, reading.tasks_running) == (1, 1, 0)
    assert reading.unsplit == ("fawkes-a",)
    assert [path for path, _ in server.asked if path.startswith("/proxy/")] == []


@pytest.mark.parametrize(("host", "waits"), [("", 1), ("h4:8042", None)])
def test_an_applicationmaster_that_has_a_container_waits_for_none(server: Server, host: str, waits: int | None) -> None:
    server.answers[APPS] = live(app(state="ACCEPTED", amHostHttpAddress=host, applicationTags="fawkes-a"))
    (work,) = read(server).work or ()
    assert (work.master, work.waiting) == (bool(host), waits)


def test_other_frameworks_count_by_their_containers(server: Server) -> None:
    tez = app("application_3_0003", applicationType="TEZ", amHostHttpAddress="h4:8042")
    server.answers[APPS] = live(tez)
    server.answers[f"{APPS}/application_3_0003"] = says(recorded("app_pending.json"))
    reading = read(server)
    assert (reading.jobs_running, reading.tasks_waiting, reading.tasks_running) == (1, 4, 6)
    assert reading.node_masters == {NodeId("node04"): 1}
    assert [path for path, _ in server.asked if path.startswith("/proxy/")] == []


def test_an_application_alone_with_its_master_is_one_task_as_far_as_anybody_knows(server: Server) -> None:
    alone = {"app": app(applicationType="SPARK", runningContainers=1)}
    server.answers[APPS] = live(alone["app"])
    server.answers[f"{APPS}/{ONE}"] = says(alone)
    reading = read(server)
    assert (reading.jobs_waiting, reading.tasks_waiting) == (1, 1)


@pytest.mark.parametrize(
    ("maps", "reduces", "tasks"),
    [
        ((10, 4, 6), (1, 0, 0), Tasks(waiting=1, running=4, done=6)),
        ((10, 0, 0), (2, 0, 0), Tasks(waiting=12, ready=10)),
        ((10, 0, 10), (2, 0, 0), Tasks(waiting=2, done=10, ready=2)),
        ((0, 0, 0), (0, 0, 0), Tasks(waiting=1, ready=1, unsplit=True)),
        ((10, 0, 10), (2, 1, 1), Tasks(waiting=0, running=1, done=11)),
        # A speculative attempt must not make up for a task that waits elsewhere.
        ((10, 3, 8), (2, 0, 0), Tasks(waiting=2, running=3, done=8)),
        ((10, 3, 5), (2, 0, 0), Tasks(waiting=4, running=3, done=5, ready=2)),
    ],
)
def test_tasks_of_a_mapreduce_job(maps: Any, reduces: Any, tasks: Tasks) -> None:
    assert mapreduce_tasks(job(maps, reduces)) == replace(tasks, progress=0.0)


def test_figures_that_are_missing_are_not_taken_for_nothing() -> None:
    for name in job((1, 1, 1)):
        row = job((1, 1, 1))
        del row[name]
        assert mapreduce_tasks(row) is None


def test_slots_are_those_of_nodes_that_run() -> None:
    node = ComputeNode("h1", "RUNNING", containers=3, memory_mb=2048, vcores=4, health="")
    assert slots([node], 256, 0) == (3, 8)
    assert slots([node], 256, 1) == (3, 4)
    assert slots([node], 256, 2) == (3, 3)
    assert slots([node, replace(node, state="DECOMMISSIONING"), replace(node, state="LOST")], 256, 0) == (3, 8)
    assert slots([replace(node, containers=9)], 256, 0) == (9, 9)
    assert slots([], 256, 0) == (0, 0)


def test_output_is_what_came_after_the_mark(server: Server) -> None:
    used = recorded("namenode.json")["beans"][0]["Used"]
    assert read(server).output_bytes == used - 100_000_000
    server.answers[MARK] = says({"XAttrs": [{"name": "user.fawkes.used", "value": f'"{used + 5}"'}]})
    assert read(server).output_bytes == 0
    server.answers[MARK] = says({"RemoteException": {"exception": "XAttrNotFoundException"}}, 404)
    assert read(server).output_bytes is None
    server.answers[MARK] = says({"XAttrs": [{"value": '"many"'}]})
    assert "not a number of bytes" in read(server).error


def test_the_mark_is_asked_for_until_it_is_there_and_then_no_more(server: Server) -> None:
    memory, marked = ReaderMemory(), server.answers[MARK]
    server.answers[MARK] = says({}, 404)
    assert read(server, memory).output_bytes is None
    server.answers[MARK] = marked
    assert read(server, memory).output_bytes is not None
    read(server, memory)
    assert len(server.questions(MARK)) == 2


def test_storage_is_what_all_datanodes_can_hold_of_output(server: Server) -> None:
    blockstats: Any = {"beans": [{"StorageTypeStats": []}]}
    server.answers[JMX] = beans(NameNodeInfo=recorded("namenode.json"), BlockStats=blockstats)
    assert read(server).storage_bytes == recorded("namenode.json")["beans"][0]["Total"]
