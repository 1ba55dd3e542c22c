"""Blocks on nodes by HDFS, from reports that were recorded from Hadoop 3.5.0."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from fawkes.core.values.model import NodeId
from fawkes.core.values.proof import BlockSeen, Proof, unsafe
from fawkes.core.values.sight import Blocks
from fawkes.live.eyes import blocks
from fawkes.live.wire import masters
from fawkes.live.wire.rest import Deadline
from tests.live.masters_server import DATA, JMX, Handler, Query, Server, beans, clear, recorded, text

FSCK = "/fsck"
REPORT = (DATA / "fsck_open.txt").read_text()
MISSING = (DATA / "fsck_missing.txt").read_text()
NODE = NodeId("node03")
HEARD_US = 10_000_000
NOW_US = 7_000_000


@pytest.fixture
def server(one_server: Server) -> Iterator[Server]:
    server = one_server
    server.answers[JMX] = namenode()
    yield server
    clear(server)


def namenode(changes: dict[str, Any] | None = None, **nodes: dict[str, Any] | None) -> Any:
    """The NameNode of four nodes, where node03 is decommissioned; ``n3={...}`` changes a row, None takes it out."""
    bean = copy.deepcopy(recorded("namenode.json")["beans"][0])
    live = json.loads(bean["LiveNodes"])
    live["10.77.0.3:9866"]["adminState"] = "Decommissioned"
    live["10.77.0.4:9866"] = live["10.77.0.2:9866"] | {"xferaddr": "10.77.0.4:9866"}
    for name, row in nodes.items():
        key = f"10.77.0.{name[1:]}:9866"
        live[key] |= row or {}
        if row is None:
            del live[key]
    bean |= {"LiveNodes": json.dumps(live), "DecomNodes": "{}"} | (changes or {})
    return beans(NameNodeInfo={"beans": [bean]})


def says(server: Server, report: str) -> None:
    server.answers[FSCK] = text(report, kind="text/plain")


def report_on(server: Server, *nodes: str) -> dict[NodeId, Blocks]:
    on = [NodeId(node) for node in nodes or (NODE,)]
    hdfs = masters.storage(server.masters(), Deadline.after(20))
    sound = blocks.sound(hdfs, HEARD_US)
    return dict(blocks.report(server.masters(), hdfs, on, sound, NOW_US, Deadline.after(20)))


def why(server: Server, node: str = NODE) -> str:
    """Why a node may not be wiped by a report of now; nothing was missing before."""
    return unsafe(report_on(server, node)[NodeId(node)], Proof(()), since_us=NOW_US - 1)


def below(server: Server, path: str = "/") -> list[BlockSeen]:
    return list(blocks.blocks_below(server.masters(), path, Deadline.after(20)))


def whole(*files: str, path: str = "/", end: str = "HEALTHY") -> str:
    return "\n".join(files) + f"\n\nThe filesystem under path '{path}' is {end}"


def places(*replicas: str) -> str:
    """Replicas such as ``3 DECOMMISSIONED`` in fsck's words."""
    rows = (
        f"DatanodeInfoWithStorage[10.77.0.{n}:9866,DS-1,DISK]({word})"
        for n, word in (r.split(" ", 1) for r in replicas)
    )
    return f"[{', '.join(rows)}]"


def file_of(replication: int, *replicas: str, name: str = "/out/a file", state: str = "") -> str:
    """A file with one block."""
    return (
        f"{name} 100 bytes, replicated: replication={replication}, 1 block(s){state}:  OK\n"
        f"0. BP-1:blk_1_1 len=100 Live_repl=1  {places(*replicas)}"
    )


def coded(policy: str, length: int, *replicas: str, state: str = "") -> str:
    """An erasure-coded file with one block group."""
    return (
        f"/coded {length} bytes, erasure-coded: policy={policy}, 1 block(s){state}:  OK\n"
        f"0. BP-1:blk_-16_1 len={length} Live_repl=3  {places(*replicas)}"
    )


def written(counted: int, *last: str, state: str = ", OPENFORWRITE") -> str:
    """A file with two whole blocks and one that is being written."""
    return (
        f"/out/open 200 bytes, replicated: replication=1, {counted} block(s){state}:  OK\n"
        f"0. BP-1:blk_1_1 len=100 Live_repl=1  {places('1 LIVE')}\n"
        f"1. BP-1:blk_2_1 len=100 Live_repl=1  {places('1 LIVE')}\n\n"
        f"Under Construction Block:\n"
        f"2. BP-1:blk_3_1 len=0 Expected_repl=1  {places(*last)}\n"
    )


# --- reading a report


def test_the_report_is_asked_for_as_the_superuser_with_open_files_and_snapshots(server: Server) -> None:
    says(server, whole())
    report_on(server)
    (question,) = server.questions(FSCK)
    assert (question["path"], question["ugi"]) == ("/", "root")
    switches = ("files", "blocks", "replicadetails", "openforwrite", "includeSnapshots")
    assert all(question[key] == "1" for key in switches)


def test_a_decommissioned_node_alone_with_a_block_being_written_is_kept(server: Server) -> None:
    """The NameNode says Decommissioned, no block missing, HEALTHY; /out/open1 would be lost all the same."""
    says(server, REPORT.replace("under path '/out'", "under path '/'"))
    seen = report_on(server)[NODE]
    assert (seen.known, seen.at_risk, seen.at_risk_files, seen.missing_files) == (
        True,
        ("/out/open1 (open)",),
        1,
        0,
    )
    assert seen.asked_us == NOW_US


def test_every_block_of_a_report_is_read(server: Server) -> None:
    says(server, REPORT)
    listed = below(server, "/out")
    assert [(b.file, b.is_open, b.replication, len(b.replicas)) for b in listed] == [
        ("/out/open1", True, 1, 1),
        ("/out/open2", True, 2, 2),
        ("/out/x", False, 1, 1),
        ("/out/x", False, 1, 1),
    ]


@pytest.mark.parametrize("counted", [2, 3])
def test_a_file_of_several_blocks_that_is_being_written_is_read(server: Server, counted: int) -> None:
    """With 2 as recorded; after hsync the NameNode knows bytes of the last block and counts it (Hadoop's source)."""
    says(server, whole(written(counted, "3 DECOMMISSIONED")))
    assert [(b.file, b.is_open) for b in below(server)] == [("/out/open", True)] * 3
    assert why(server) == "too few replicas on other nodes: /out/open (open)"
    says(server, whole(written(counted, "1 LIVE"), file_of(1, "1 LIVE")))
    assert why(server) == ""


def test_what_real_hdfs_says_when_datanodes_have_died(server: Server) -> None:
    """Recorded with one of three DataNodes left; one cell is enough of a small group only."""
    says(server, MISSING)
    assert report_on(server)[NODE].missing == (
        "/data/one-node01",
        "/data/one-node02",
        "/data/spoilt",
        "/ec/large (2 blocks)",
        "/snap/.snapshot/s1/deleted",
    )
    assert "/data/one-node01, /data/one-node02, /data/spoilt and 2 more" in why(server)
    assert [len(block.replicas) for block in below(server) if block.file == "/ec/large"] == [1, 1]


def test_the_last_cells_of_a_group_that_is_missing_are_kept(server: Server) -> None:
    """It was missing before, as its other cells are on nodes that may come back: with this one it would be lost."""
    group = coded("XOR-2-1-1024k", 3 << 20, "3 DECOMMISSIONED", "1 LIVE").replace("len=3145728", "len=3145728 MISSING!")
    says(server, whole(group, end="CORRUPT"))
    seen = report_on(server)[NODE]
    assert (seen.missing, seen.at_risk) == (("/coded",), ("/coded",))
    assert unsafe(seen, Proof(("/coded",)), since_us=NOW_US - 1) == "too few replicas on other nodes: /coded"


def test_a_replica_that_is_spoilt_is_none(server: Server) -> None:
    """The report is a recorded one: the file is CORRUPT, and its only replica is still listed."""
    spoilt = (
        "/data/spoilt 3000 bytes, replicated: replication=1, 1 block(s): \n"
        "/data/spoilt: CORRUPT blockpool BP-18762939-127.0.0.1-1795348189787 block blk_1073741831\n"
        " CORRUPT 1 blocks of total size 3000 B\n"
        "0. BP-18762939-127.0.0.1-1795348189787:blk_1073741831_1007 len=3000 Live_repl=0  "
    )
    says(server, whole(spoilt + places("1 CORRUPT"), end="CORRUPT"))
    seen = report_on(server)[NODE]
    assert (seen.known, seen.missing, seen.at_risk) == (True, ("/data/spoilt",), ())
    says(server, whole(spoilt + places("3 CORRUPT"), end="CORRUPT"))
    assert why(server) == "too few replicas on other nodes: /data/spoilt"


def test_a_file_whose_name_has_line_breaks_is_read_like_any_other(server: Server) -> None:
    """The report is a recorded one; the name of the file before must not cover for its blocks."""
    says(server, whole(file_of(1, "1 LIVE"), file_of(2, "3 DECOMMISSIONED", "1 LIVE", name="/out/new\nline")))
    assert [(block.file, block.replication) for block in below(server)] == [("/out/a file", 1), ("/out/new\nline", 2)]
    assert why(server) == "too few replicas on other nodes: /out/new\nline"


@pytest.mark.parametrize(
    ("report", "words"),
    [
        ("FSCK started\n", "ends with 'FSCK started'"),
        ("", "ends with ''"),
        ("Fsck on path '/' FAILED", "FAILED"),
        ("\n\nPath '/' does not exist", "ends with"),
        ("Access denied for user mallory. Superuser privilege is required", "Access denied"),
        # Cut off within the name of a file, or the report on another folder.
        (file_of(1, "1 LIVE") + "\n/out/this is HEALTHY", "ends with '/out/this is HEALTHY'"),
        (whole(file_of(1, "1 LIVE"), path="/out"), "ends with"),
        (whole(file_of(1, "1 LIVE").replace("(LIVE)", "(?)")), "unknown form"),
        (whole(file_of(1, "1 LIVE").replace("](LIVE)", "]")), "unknown form"),
        (whole(file_of(1, "1 LIVE").replace("len=100", "length 100")), "1 blocks of /out/a file are not in it"),
        (whole(file_of(1, "1 LIVE").replace("1 block(s)", "2 block(s)")), "1 blocks of /out/a file are not in it"),
        (whole(file_of(1, "1 LIVE").replace("1 block(s)", "0 block(s)")), "unknown form"),
        (whole("0. BP-1:blk_1_1 len=1 Live_repl=1  []"), "unknown form"),
        # The block that is being written must not stand for one that was passed over.
        (whole(written(3, "1 LIVE").replace("blk_2_1 len", "blk_2_1 size")), "unknown form"),
        (whole(written(2, "1 LIVE").replace("blk_2_1 len", "blk_2_1 size")), "unknown form"),
        (whole(written(2, "1 LIVE").replace("len=0", "size 0")), "1 blocks of /out/open are not in it"),
        (whole(written(4, "1 LIVE")), "1 blocks of /out/open are not in it"),
        (whole(written(1, "1 LIVE")), "unknown form"),
        (whole(written(2, "1 LIVE").replace("Under Construction Block:", "")), "unknown form"),
        (whole(written(2, "1 LIVE", state="")), "unknown form"),
        (whole(coded("HOME-GROWN", 100, "1 LIVE")), "unknown form"),
    ],
)
def test_a_report_that_is_cut_short_or_not_understood_proves_nothing(server: Server, report: str, words: str) -> None:
    says(server, report)
    seen = report_on(server)[NODE]
    assert not seen.known
    assert words in seen.why
    assert why(server)


def test_a_connection_that_breaks_in_the_middle_of_a_report_proves_nothing(server: Server) -> None:
    def breaks(handler: Handler, query: Query) -> None:
        body = whole(file_of(1, "1 LIVE")).encode()
        handler.send_response(200)
        handler.send_header("content-length", str(len(body) + 1))
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True

    server.answers[FSCK] = breaks
    seen = report_on(server)[NODE]
    assert (seen.known, seen.why != "") == (False, True)


def test_a_report_that_is_late_proves_nothing(server: Server) -> None:
    says(server, whole())
    hdfs = masters.storage(server.masters(), Deadline.after(20))
    seen = blocks.report(server.masters(), hdfs, [NODE], frozenset(), NOW_US, Deadline.after(0))[NODE]
    assert (seen.known, "no time left" in seen.why) == (False, True)


def test_a_namenode_that_does_not_answer_proves_nothing(server: Server) -> None:
    server.answers[FSCK] = lambda handler, query: handler.send(b"", 503)
    assert "answered 503" in why(server)


def test_a_folder_that_is_not_there_has_no_blocks(server: Server) -> None:
    says(server, "\n\nPath '/out' does not exist")
    assert below(server, "/out") == []


# --- what a report shows


@pytest.mark.parametrize(
    ("report", "safe"),
    [
        (file_of(2, "3 DECOMMISSIONED", "1 LIVE", "2 LIVE"), True),
        (file_of(2, "3 DECOMMISSIONED", "1 LIVE"), False),
        (file_of(1, "3 DECOMMISSIONED", "1 LIVE"), True),
        (file_of(1, "3 DECOMMISSIONED"), False),
        (file_of(1, "3 DECOMMISSIONED", "1 STALE_NODE"), False),
        (file_of(1, "3 DECOMMISSIONED", "1 STALE_BLOCK_CONTENT"), False),
        (file_of(1, "3 DECOMMISSIONED", "1 EXCESS"), False),
        (file_of(1, "3 DECOMMISSIONED", "1 CORRUPT"), False),
        (file_of(1, "3 DECOMMISSIONED", "2 DECOMMISSIONING"), False),
        (file_of(1, "3 DECOMMISSIONED", "2 ENTERING MAINTENANCE"), False),
        # As many as there are nodes in service are all that can be had.
        (file_of(10, "3 DECOMMISSIONED", "1 LIVE", "2 LIVE", "4 LIVE"), True),
        (file_of(10, "3 DECOMMISSIONED", "1 LIVE", "2 LIVE"), False),
        # What is open gets no more replicas before it is closed.
        (file_of(2, "3 DECOMMISSIONED", "1 LIVE", state=", OPENFORWRITE"), True),
        (file_of(2, "3 DECOMMISSIONED", state=", OPENFORWRITE"), False),
        # Blocks of others, however thin, are no reason.
        (file_of(2, "1 LIVE"), True),
        # A group has three cells; one cell that holds all data and the parity is all that a small one has.
        (coded("XOR-2-1-1024k", 3 << 20, "3 DECOMMISSIONED", "1 LIVE", "2 LIVE", "4 LIVE"), True),
        (coded("XOR-2-1-1024k", 3 << 20, "3 DECOMMISSIONED", "1 LIVE", "2 LIVE"), False),
        (coded("XOR-2-1-1024k", 3000, "3 DECOMMISSIONED", "1 LIVE", "2 LIVE"), True),
        (coded("XOR-2-1-1024k", 3000, "3 DECOMMISSIONED", "1 LIVE"), False),
        (coded("XOR-2-1-1024k", 0, "3 DECOMMISSIONED", "1 LIVE", "2 LIVE", state=", OPENFORWRITE"), False),
    ],
)
def test_every_block_on_a_node_must_live_elsewhere(server: Server, report: str, safe: bool) -> None:
    says(server, whole(report))
    assert (why(server) == "") is safe


@pytest.mark.parametrize(
    "holder",
    [
        {"lastContact": 11},
        {"lastContact": None},
        {"adminState": "Decommission In Progress"},
        {"adminState": None},
        {"adminState": "Entering Maintenance"},
    ],
)
def test_a_replica_on_a_silent_or_unknown_node_does_not_count(server: Server, holder: dict[str, Any]) -> None:
    """The NameNode calls a node alive for minutes after its last word: fsck still says LIVE."""
    says(server, whole(file_of(1, "3 DECOMMISSIONED", "1 LIVE")))
    assert why(server) == ""
    server.answers[JMX] = namenode(n1={key: value for key, value in holder.items() if value is not None})
    if None in holder.values():
        server.answers[JMX] = without("10.77.0.1:9866", *holder)
    assert why(server) == "too few replicas on other nodes: /out/a file"


def without(host: str, *attributes: str) -> Any:
    bean = copy.deepcopy(recorded("namenode.json")["beans"][0])
    live = json.loads(bean["LiveNodes"])
    for attribute in attributes:
        del live[host][attribute]
    return beans(NameNodeInfo={"beans": [bean | {"LiveNodes": json.dumps(live)}]})


def test_several_nodes_share_one_report(server: Server) -> None:
    says(server, whole(file_of(1, "3 DECOMMISSIONED"), file_of(1, "4 DECOMMISSIONED", "1 LIVE", name="/b")))
    by_node = report_on(server, "node03", "node04")
    assert {node: seen.at_risk for node, seen in by_node.items()} == {"node03": ("/out/a file",), "node04": ()}
    assert len(server.questions(FSCK)) == 1


def test_a_node_that_the_namenode_does_not_list_has_no_blocks_in_a_report_but_missing_ones_show(server: Server) -> None:
    server.answers[JMX] = namenode(n4=None)
    says(server, whole(file_of(1, "1 LIVE")))
    assert why(server, "node04") == ""
    gone = "/gone 100 bytes, replicated: replication=1, 1 block(s):  MISSING 1 blocks of total size 100 B\n"
    says(server, whole(gone + "0. BP-1:blk_1_1 len=100 MISSING!", end="CORRUPT"))
    assert "/gone" in why(server, "node04")


@pytest.mark.parametrize(
    ("safe_mode", "words"),
    [
        ("Safe mode is ON. 3 blocks", "HDFS is in safe mode: Safe mode is ON"),
        (None, "is not known"),
        (0, "is not known"),
    ],
)
def test_no_report_is_asked_for_in_safe_mode(server: Server, safe_mode: object, words: str) -> None:
    """Blocks of DataNodes that have not told of theirs yet would count as missing, or as nowhere."""
    says(server, whole())
    server.answers[JMX] = namenode({"Safemode": safe_mode})
    seen = report_on(server)[NODE]
    assert (seen.known, server.questions(FSCK)) == (False, [])
    assert words in seen.why


def test_a_report_has_the_namenode_s_own_counts_too(server: Server) -> None:
    says(server, whole(file_of(1, "1 LIVE")))
    decom = {"10.77.0.3:9866": {"underReplicatedBlocks": 2, "decommissionOnlyReplicas": 1}}
    server.answers[JMX] = namenode({"DecomNodes": json.dumps(decom)})
    seen = report_on(server)[NODE]
    assert (seen.listed, seen.too_few, seen.only_here, seen.open_blocks) == (2, 2, 1, None)
    assert (seen.stored_bytes, seen.staying) == (16932878, 3)


def test_counts_that_the_namenode_does_not_give_are_not_0(server: Server) -> None:
    server.answers[JMX] = namenode(n3={"numBlocks": None}, n4=None)
    hdfs = masters.storage(server.masters(), Deadline.after(20))
    seen = blocks.counts(hdfs, NODE)
    assert (seen.known, seen.listed, seen.open_blocks) == (False, None, None)
    unlisted = blocks.counts(hdfs, NodeId("node04"))
    assert (unlisted.listed, unlisted.too_few, unlisted.only_here) == (None, None, None)


def test_counts_prove_nothing(server: Server) -> None:
    hdfs = masters.storage(server.masters(), Deadline.after(20))
    assert unsafe(blocks.counts(hdfs, NODE), Proof(()), since_us=-1)
