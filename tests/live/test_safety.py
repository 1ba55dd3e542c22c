"""May a DataNode be stopped? From reports that were recorded from Hadoop 3.5.0."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from fawkes.live.safety import Safety, room_to_leave

from fawkes.live import safety
from fawkes.live.masters import Storage, StorageNode
from fawkes.live.rest import Deadline, close_session
from tests.live.masters_server import DATA, JMX, Handler, Query, Server, beans, clear, recorded, running, text

FSCK = "/fsck"
REPORT = (DATA / "fsck_open.txt").read_text()
HEALTHY = "\n\nThe filesystem under path '/out' is HEALTHY"


@pytest.fixture(scope="module")
def one_server() -> Iterator[Server]:
    with running() as server:
        yield server
    close_session()


@pytest.fixture
def server(one_server: Server) -> Iterator[Server]:
    server = one_server
    server.answers[JMX] = namenode("Decommissioned")
    server.answers[FSCK] = text(REPORT, kind="text/plain")
    yield server
    clear(server)


def namenode(state: str, **changes: Any) -> Any:
    """node03 in some state, with nothing that holds it."""
    bean = copy.deepcopy(recorded("namenode.json")["beans"][0])
    live = json.loads(bean["LiveNodes"])
    live["10.77.0.3:9866"]["adminState"] = state
    bean |= {"LiveNodes": json.dumps(live), "DecomNodes": "{}"} | changes
    return beans(NameNodeInfo={"beans": [bean]})


def may_stop(server: Server, node: str = "node03", **changes: Any) -> Safety:
    return safety.safe_to_stop(server.masters(), node, Deadline.after(20), **{"paths": ["/out"], **changes})


def file_of(replication: int, *replicas: str, state: str = "") -> str:
    """A file with one block in fsck's words; replicas such as ``3 DECOMMISSIONED``."""
    places = ", ".join(
        f"DatanodeInfoWithStorage[10.77.0.{n}:9866,DS-1,DISK]({word})"
        for n, word in (r.split(" ", 1) for r in replicas)
    )
    return (
        f"/out/a file 100 bytes, replicated: replication={replication}, 1 block(s){state}:  OK\n"
        f"0. BP-1:blk_1_1 len=100 Live_repl=1  [{places}]{HEALTHY}"
    )


def test_a_decommissioned_node_alone_with_a_block_being_written_is_kept(server: Server) -> None:
    """The NameNode says Decommissioned, no block missing, HEALTHY; /out/open1 would be lost all the same."""
    found = may_stop(server)
    assert not found.safe
    assert found.why == "blocks of /out/open1 (open) have too few replicas elsewhere"
    assert (found.facts["state"], found.facts["files"], found.facts["missing_blocks"]) == ("Decommissioned", 1, 0)


def test_it_may_go_when_the_file_is_closed_and_copied(server: Server) -> None:
    closed = REPORT.replace("(DECOMMISSIONED)]\n/out/open2", "(LIVE)]\n/out/open2").replace(
        "[10.77.0.3:9866,DS-59dbaa0b-d866-469b-a86c-654dd17ddad3,DISK](LIVE)", "[10.77.0.1:9866,DS-2,DISK](LIVE)"
    )
    server.answers[FSCK] = text(closed, kind="text/plain")
    assert may_stop(server) == Safety(True, "", may_stop(server).facts)


def test_the_report_is_asked_for_as_the_superuser_and_for_the_folders_given(server: Server) -> None:
    may_stop(server, paths=["/out", "/more"])
    assert [query["path"] for query in server.questions(FSCK)] == ["/out", "/more"]
    assert {query["ugi"] for query in server.questions(FSCK)} == {"root"}


@pytest.mark.parametrize(
    ("report", "safe"),
    [
        (file_of(2, "3 DECOMMISSIONED", "1 LIVE", "2 LIVE"), True),
        (file_of(2, "3 DECOMMISSIONED", "1 LIVE"), False),
        (file_of(1, "3 DECOMMISSIONED", "1 LIVE"), True),
        (file_of(1, "3 DECOMMISSIONED"), False),
        (file_of(1, "3 DECOMMISSIONED", "1 STALE_NODE"), False),
        (file_of(1, "3 DECOMMISSIONED", "1 CORRUPT"), False),
        (file_of(1, "3 DECOMMISSIONED", "2 DECOMMISSIONING"), False),
        (file_of(1, "3 DECOMMISSIONED", "2 ENTERING MAINTENANCE"), False),
        # As many as there are nodes in service are all that can be had.
        (file_of(10, "3 DECOMMISSIONED", "1 LIVE", "2 LIVE"), True),
        # What is open gets no more replicas before it is closed.
        (file_of(2, "3 DECOMMISSIONED", "1 LIVE", state=", OPENFORWRITE"), True),
        (file_of(2, "3 DECOMMISSIONED", state=", OPENFORWRITE"), False),
        # Blocks of others, however thin, are no reason.
        (file_of(2, "1 LIVE"), True),
    ],
)
def test_every_block_on_it_must_live_elsewhere(server: Server, report: str, safe: bool) -> None:
    server.answers[FSCK] = text(report, kind="text/plain")
    found = may_stop(server)
    assert found.safe is safe
    assert ("/out/a file" in found.why) is not safe


@pytest.mark.parametrize(
    ("report", "why"),
    [
        ("FSCK started\n", "ends with 'FSCK started'"),
        ("", "ends with ''"),
        ("/out <dir>\nThe filesystem under path '/out' is CORRUPT", "is CORRUPT"),
        ("Fsck on path '/out' FAILED", "FAILED"),
        (file_of(1, "1 LIVE").replace("(LIVE)", "(?)"), "unknown form"),
        (file_of(1, "1 LIVE").replace("](LIVE)", "]"), "unknown form"),
    ],
)
def test_a_report_that_is_cut_short_or_not_understood_is_a_no(server: Server, report: str, why: str) -> None:
    server.answers[FSCK] = text(report, kind="text/plain")
    found = may_stop(server)
    assert not found.safe
    assert why in found.why


def test_a_folder_that_is_not_there_holds_nothing(server: Server) -> None:
    server.answers[FSCK] = text("\n\nPath '/out' does not exist", kind="text/plain")
    assert may_stop(server).safe


def test_only_some_files_are_named(server: Server) -> None:
    one = file_of(1, "3 DECOMMISSIONED")
    many = "\n".join(one.removesuffix(HEALTHY).replace("a file", f"f{n}") for n in range(5)) + HEALTHY
    server.answers[FSCK] = text(many, kind="text/plain")
    assert may_stop(server).why == "blocks of /out/f0, /out/f1, /out/f2 and 2 more have too few replicas elsewhere"


@pytest.mark.parametrize(
    ("state", "changes", "why"),
    [
        ("In Service", {}, "was not told to leave"),
        ("Decommission In Progress", {}, "HDFS has not looked through its 2 blocks yet"),
        (
            "Decommission In Progress",
            {"DecomNodes": '{"10.77.0.3:9866": {"underReplicatedBlocks": 2, "decommissionOnlyReplicas": 1}}'},
            "of its 2 blocks 2 have too few replicas elsewhere, 1 have none in service",
        ),
        (
            "Decommission In Progress",
            {"DecomNodes": '{"10.77.0.3:9866": {"underReplicateInOpenFiles": 4}}'},
            "4 blocks of open files",
        ),
        ("Decommissioned", {"Safemode": "Safe mode is ON."}, "safe mode"),
        ("Decommissioned", {"NumberOfMissingBlocks": 2}, "2 blocks are missing"),
    ],
)
def test_what_the_namenode_itself_says_against_it(server: Server, state: str, changes: Any, why: str) -> None:
    server.answers[JMX] = namenode(state, **changes)
    found = may_stop(server)
    assert not found.safe
    assert why in found.why
    assert server.questions(FSCK) == []


def test_blocks_that_were_missing_before_do_not_hold_it(server: Server) -> None:
    server.answers[JMX] = namenode("Decommissioned", NumberOfMissingBlocks=2)
    server.answers[FSCK] = text(file_of(1, "1 LIVE"), kind="text/plain")
    assert may_stop(server, missing_before=2).safe


def test_a_node_that_the_namenode_does_not_hear_holds_nothing_that_it_counts_on(server: Server) -> None:
    assert may_stop(server, "node04").safe
    server.answers[JMX] = namenode("Decommissioned", NumberOfMissingBlocks=1)
    assert not may_stop(server, "node04").safe


def test_a_namenode_that_does_not_answer_is_a_no(server: Server) -> None:
    def gone(handler: Handler, query: Query) -> None:
        handler.send(b"", 503)

    server.answers[FSCK] = gone
    assert "answered 503" in may_stop(server).why
    server.answers[JMX] = gone
    assert "answered 503" in may_stop(server).why


def hdfs(**nodes: tuple[str, int, int]) -> Storage:
    known = {name: StorageNode(name, state, used, free) for name, (state, used, free) in nodes.items()}
    return Storage(known, None, None, 0, "")


def test_room_for_what_leaves() -> None:
    three = hdfs(a=("In Service", 10, 20), b=("In Service", 10, 40), c=("Decommission In Progress", 60, 40))
    assert room_to_leave(three, 2).safe
    assert room_to_leave(three, 3).why == "2 DataNodes stay for 3 replicas of each block"
    full = hdfs(a=("In Service", 10, 19), b=("In Service", 10, 40), c=("Decommission In Progress", 60, 40))
    assert room_to_leave(full, 2).why == ("60 B lie on the DataNodes that leave, and 59 B are free on those that stay")
    dead = hdfs(a=("In Service", 0, 100), b=("Dead", 0, 100), c=("Decommissioned", 0, 100))
    assert room_to_leave(dead, 2).why == "1 DataNodes stay for 2 replicas of each block"


def test_a_drain_that_cannot_end_is_told_from_one_that_takes_its_time(server: Server) -> None:
    server.answers[JMX] = namenode("Decommission In Progress")
    assert may_stop(server, replication=2).why.startswith("HDFS has not looked through")
    assert may_stop(server, replication=3).why == (
        "this drain cannot end: 2 DataNodes stay for 3 replicas of each block"
    )
