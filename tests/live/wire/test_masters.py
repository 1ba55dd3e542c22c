"""Answers of ResourceManager and NameNode that were recorded from Hadoop 3.5.0."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from fawkes.live.wire import masters
from fawkes.live.wire.masters import ComputeNode, MasterAddresses, Volumes, YarnApplication
from fawkes.live.wire.rest import Deadline, UnreadableError
from tests.live.masters_server import (
    APPS,
    INFO,
    JMX,
    NODE_LIST,
    Handler,
    Query,
    Server,
    beans,
    by_states,
    recorded,
    says,
)


def soon() -> Deadline:
    return Deadline.after(20)


def namenode(**changes: Any) -> Any:
    document = copy.deepcopy(recorded("namenode.json"))
    document["beans"][0] |= changes
    return document


@pytest.mark.parametrize(
    ("host", "node"),
    [
        ("h1", "node01"),
        ("H1:8042", "node01"),
        ("h1.cluster.example", "node01"),
        ("10.77.0.3:9866", "node03"),
        ("10.77.0.30", None),
        ("10", None),
        ("other.example:9866", None),
    ],
)
def test_a_node_is_known_by_its_names_and_addresses(server: Server, host: str, node: str | None) -> None:
    assert server.masters().node(host) == node
    assert server.masters().name(host) == (node or host.rsplit(":", 1)[0])


def test_part_of_an_address_is_no_name() -> None:
    """10.77.0.1 must not be found as "10"."""
    addresses = MasterAddresses(resource_manager="", namenode="", user="", nodes={"10": "odd"})  # type: ignore[dict-item]
    assert addresses.node("10.77.0.1") is None


def test_the_live_nodemanager_of_a_host_counts_and_not_its_former_self(server: Server) -> None:
    """h4 came back on another port and drains; in the list it appears twice, first as draining, then as gone."""
    for document in (recorded("nodes.json"), reversed_nodes()):
        server.answers[NODE_LIST] = says(document)
        nodes = masters.resource_manager_nodes(server.masters(), soon())
        assert {name: (node.state, node.containers) for name, node in nodes.items()} == {
            "node01": ("RUNNING", 0),
            "node02": ("RUNNING", 1),
            "node03": ("DECOMMISSIONED", 0),
            "node04": ("DECOMMISSIONING", 3),
        }
    assert nodes["node02"] == ComputeNode("h2", "RUNNING", 1, 1024, 4, "")


def reversed_nodes() -> Any:
    document = recorded("nodes.json")
    document["nodes"]["node"].reverse()
    return document


def test_a_stranger_keeps_its_name(server: Server) -> None:
    document = recorded("nodes.json")
    document["nodes"]["node"][0]["nodeHostName"] = "intruder.example"
    server.answers[NODE_LIST] = says(document)
    assert "intruder.example" in masters.resource_manager_nodes(server.masters(), soon())


def test_datanodes_with_their_states_and_what_still_holds_one_that_leaves(server: Server) -> None:
    hdfs = masters.storage(server.masters(), soon())
    assert {name: node.state for name, node in hdfs.nodes.items()} == {
        "node01": "In Service",
        "node02": "In Service",
        "node03": "Decommission In Progress",
    }
    leaving = hdfs.nodes["node03"]
    assert (leaving.address, leaving.web, leaving.blocks) == ("10.77.0.3:9866", "10.77.0.3:9864", 2)
    assert (leaving.too_few, leaving.only_here, leaving.in_open_files) == (2, 2, 0)
    assert leaving.used_bytes == 16932878
    assert hdfs.in_service() == ("node01", "node02")
    assert (hdfs.safe_mode, hdfs.missing_blocks) == ("", 0)


def test_a_dead_datanode_is_told_apart(server: Server) -> None:
    bean = recorded("namenode.json")["beans"][0]
    live = json.loads(bean["LiveNodes"])
    del live["10.77.0.2:9866"]
    dead = {"10.77.0.2:9866": {"lastContact": 70, "adminState": "In Service", "xferaddr": "10.77.0.2:9866"}}
    document = namenode(LiveNodes=json.dumps(live), DeadNodes=json.dumps(dead))
    server.answers[JMX] = beans(NameNodeInfo=document)
    node = masters.storage(server.masters(), soon()).nodes["node02"]
    assert (node.alive, node.state, node.address) == (False, "Dead", "10.77.0.2:9866")


def test_figures_that_are_missing_or_no_numbers(server: Server) -> None:
    live = json.dumps({"10.77.0.1:9866": {"usedSpace": float("nan"), "adminState": "In Service"}})
    bean = {"LiveNodes": live, "DeadNodes": "{}", "DecomNodes": "{}", "Used": float("nan")}
    server.answers[JMX] = beans(NameNodeInfo={"beans": [bean]})
    hdfs = masters.storage(server.masters(), soon())
    assert (hdfs.used_bytes, hdfs.total_bytes) == (None, None)
    assert (hdfs.nodes["node01"].used_bytes, hdfs.nodes["node01"].free_bytes) == (None, None)


@pytest.mark.parametrize("attribute", ["LiveNodes", "DeadNodes", "DecomNodes"])
def test_a_list_of_nodes_that_is_missing_is_no_empty_list(server: Server, attribute: str) -> None:
    document = namenode()
    del document["beans"][0][attribute]
    server.answers[JMX] = beans(NameNodeInfo=document)
    with pytest.raises(UnreadableError, match=f"{attribute} is not a list of nodes"):
        masters.storage(server.masters(), soon())


@pytest.mark.parametrize("value", [None, 0, False, float("nan"), -1, "0"])
def test_attributes_of_hdfs_that_are_missing_or_of_another_kind_are_not_known(server: Server, value: object) -> None:
    """Neither "not in safe mode" nor "no block is missing"."""
    document = namenode(Safemode=value if value != "0" else None, NumberOfMissingBlocks=value or None)
    server.answers[JMX] = beans(NameNodeInfo=document)
    hdfs = masters.storage(server.masters(), soon())
    assert (hdfs.safe_mode, hdfs.missing_blocks) == (None, None)
    for key in ("Safemode", "NumberOfMissingBlocks"):
        del document["beans"][0][key]
    hdfs = masters.storage(server.masters(), soon())
    assert (hdfs.safe_mode, hdfs.missing_blocks) == (None, None)


def test_attributes_of_a_node_that_are_missing_are_not_known(server: Server) -> None:
    document = namenode(DecomNodes="{}")
    live = json.loads(document["beans"][0]["LiveNodes"])
    for key in ("adminState", "lastContact", "numBlocks"):
        del live["10.77.0.3:9866"][key]
    document["beans"][0]["LiveNodes"] = json.dumps(live)
    server.answers[JMX] = beans(NameNodeInfo=document)
    hdfs = masters.storage(server.masters(), soon())
    node = hdfs.nodes["node03"]
    assert (node.state, node.silent_s, node.blocks) == ("", None, None)
    assert (node.too_few, node.only_here, node.in_open_files) == (None, None, None)
    assert "node03" not in hdfs.in_service()


@pytest.mark.parametrize("value", ["[1]", "no json", '{"h": 1}', 5, "[" * 200_000])
def test_node_lists_of_another_form_are_refused(server: Server, value: object) -> None:
    server.answers[JMX] = beans(NameNodeInfo=namenode(LiveNodes=value))
    with pytest.raises(UnreadableError, match="LiveNodes"):
        masters.storage(server.masters(), soon())


def test_a_namenode_that_is_still_starting_has_no_figures(server: Server) -> None:
    server.answers[JMX] = beans()
    with pytest.raises(UnreadableError, match="still starting"):
        masters.storage(server.masters(), soon())


def test_volumes_by_type(server: Server) -> None:
    assert masters.volumes(server.masters(), soon()) == {
        "DISK": Volumes(total_bytes=811659522048, free_bytes=250142093312),
        "ARCHIVE": Volumes(total_bytes=541106348032, free_bytes=166761414656),
    }


FULL = {"capacityTotal": 9, "capacityRemaining": 5}


@pytest.mark.parametrize(
    "row",
    [None, 5, {}, {"key": "DISK"}, {"key": "DISK", "value": 5}, {"key": "DISK", "value": FULL | {"capacityTotal": -1}}],
)
def test_volumes_of_another_form_or_without_a_size_are_not_known(server: Server, row: object) -> None:
    good = {"key": "ARCHIVE", "value": FULL}
    server.answers[JMX] = beans(BlockStats={"beans": [{"StorageTypeStats": [good, row]}]})
    with pytest.raises(UnreadableError, match="size of its volumes"):
        masters.volumes(server.masters(), soon())
    server.answers[JMX] = beans(BlockStats={"beans": [{"StorageTypeStats": row}]})
    assert masters.volumes(server.masters(), soon()) == {}


def test_live_applications(server: Server) -> None:
    running_one, starting, waiting = masters.applications(server.masters(), soon(), states=masters.LIVE_STATES)
    assert (running_one.id, running_one.state, running_one.kind) == (
        "application_1795220018027_0001",
        "RUNNING",
        "MAPREDUCE",
    )
    assert (running_one.master, running_one.containers, running_one.ended) == ("h2:8042", 8, False)
    assert (starting.state, starting.master, starting.containers) == ("ACCEPTED", "h1:8042", 1)
    assert (waiting.state, waiting.master, waiting.tags) == ("ACCEPTED", "", ("fawkes-c", "theirs"))
    assert waiting.finished_us is None


def test_applications_that_have_ended(server: Server) -> None:
    server.answers[APPS] = by_states({"apps": {}}, recorded("apps_ended.json"))
    ended = masters.applications(server.masters(), soon(), states=masters.ENDED_STATES, finished_since_us=5_000_000)
    assert [app.succeeded for app in ended] == [True, True, True]
    assert ended[0].finished_us == 1795220568813_000
    # YARN writes -1 for what an ended application has no longer.
    assert ended[0].containers == 0
    (question,) = server.questions(APPS)
    assert (question["finishedTimeBegin"], question["states"]) == ("5000", "FINISHED,FAILED,KILLED")


def test_a_tag_is_asked_for_as_yarn_keeps_it(server: Server) -> None:
    masters.applications(server.masters(), soon(), tag="Fawkes-Job-7")
    (question,) = server.questions(APPS)
    assert question["applicationTags"] == "fawkes-job-7"
    assert "states" not in question


def test_all_applications_come_from_a_resourcemanager_that_has_recovered_them(server: Server) -> None:
    assert len(masters.all_applications(server.masters(), soon(), tag="t")) == 3
    assert [path for path, _ in server.asked] == [INFO, APPS, INFO]
    assert server.questions(APPS)[0]["applicationTags"] == "t"


@pytest.mark.parametrize(
    "info",
    [
        {"state": "STARTED", "haState": "STANDBY", "startedOn": 1},
        {"state": "INITED", "haState": "ACTIVE", "startedOn": 1},
        {"state": "STARTED", "haState": "ACTIVE"},
        {"state": "STARTED", "haState": "ACTIVE", "startedOn": "1"},
        {},
        None,
    ],
)
def test_a_resourcemanager_in_recovery_knows_of_no_applications_yet(server: Server, info: object) -> None:
    """Its web server answers before: "no application has the tag" is what it says then."""
    server.answers[APPS] = says({"apps": {}})
    server.answers[INFO] = says({"clusterInfo": info})
    with pytest.raises(UnreadableError, match="has not finished its recovery"):
        masters.all_applications(server.masters(), soon(), tag="t")
    assert server.questions(APPS) == []


@pytest.mark.parametrize("after", [{"startedOn": 2}, {"haState": "STANDBY"}])
def test_a_list_is_not_believed_when_the_resourcemanager_began_anew_in_between(
    server: Server, after: dict[str, Any]
) -> None:
    active = recorded("info.json")["clusterInfo"]

    def restarted(handler: Handler, query: Query) -> None:
        server.answers[INFO] = says({"clusterInfo": active | after})
        says({"apps": {}})(handler, query)

    server.answers[APPS] = restarted
    with pytest.raises(UnreadableError):
        masters.all_applications(server.masters(), soon(), tag="t")


def test_a_job_that_failed_is_ended_and_did_not_succeed() -> None:
    assert not YarnApplication(id="a", state="FINISHED", final_status="FAILED").succeeded
    assert YarnApplication(id="a", state="KILLED").ended
    assert not YarnApplication(id="a", state="RUNNING", final_status="SUCCEEDED").succeeded


def test_one_application_with_its_pending_containers(server: Server) -> None:
    server.answers[f"{APPS}/a_1"] = says(recorded("app_pending.json"))
    app = masters.application(server.masters(), "a_1", soon())
    assert app is not None
    assert (app.containers, app.pending) == (7, 4)


def test_pending_containers_count_once_whatever_places_they_ask_for(server: Server) -> None:
    document = recorded("app_pending.json")
    row = document["app"]["resourceRequests"][0]
    document["app"]["resourceRequests"] += [
        row | {"resourceName": "h1", "numContainers": 3},
        row | {"resourceName": "/default-rack", "numContainers": 4},
        row | {"priority": 10, "numContainers": 1},
    ]
    server.answers[f"{APPS}/a_1"] = says(document)
    app = masters.application(server.masters(), "a_1", soon())
    assert app is not None
    assert app.pending == 5


def test_an_application_that_nobody_knows_is_none_and_a_broken_master_is_an_error(server: Server) -> None:
    assert masters.application(server.masters(), "a_1", soon()) is None
    server.answers[f"{APPS}/a_1"] = says({}, 500)
    with pytest.raises(UnreadableError):
        masters.application(server.masters(), "a_1", soon())


def why_no_jobs(server: Server, computing: tuple[str, ...], storing: tuple[str, ...]) -> str:
    return masters.why_no_jobs(server.masters(), computing, storing, soon())


@pytest.mark.parametrize(
    ("path", "answer", "why"),
    [
        (INFO, says({"clusterInfo": {"state": "STARTED", "haState": "STANDBY"}}), "the ResourceManager is STARTED"),
        (INFO, says([]), "the ResourceManager is None"),
        (INFO, says({}, 500), "answered 500"),
        (
            JMX,
            beans(NameNodeInfo=namenode(Safemode="Safe mode is ON. 3 blocks")),
            "HDFS is in safe mode: Safe mode is ON",
        ),
        (JMX, beans(NameNodeInfo=namenode(Safemode=None)), "HDFS is in safe mode: not known"),
        (JMX, beans(), "still starting"),
        (JMX, beans(NameNodeInfo=namenode(LiveNodes="{}")), "no DataNode in service on node01, node02"),
        (NODE_LIST, says({"nodes": {}}), "no NodeManager runs on node01, node02"),
    ],
)
def test_what_a_cluster_still_waits_for(server: Server, path: str, answer: Any, why: str) -> None:
    both = ("node01", "node02")
    assert why_no_jobs(server, both, both) == ""
    server.answers[path] = answer
    assert why in why_no_jobs(server, both, both)


def test_a_node_that_leaves_is_none_that_serves(server: Server) -> None:
    assert why_no_jobs(server, ("node01", "node04"), ()) == "no NodeManager runs on node04"
    assert why_no_jobs(server, (), ("node01", "node03")) == "no DataNode in service on node03"
