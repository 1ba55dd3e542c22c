"""Rows for tables and programs: health, and every kind of event in a few words."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.state import alerts
from fawkes.core.state.state import NO_TICK
from fawkes.core.values import events
from fawkes.core.values.decision import Decision, PutCluster
from fawkes.core.values.model import (
    ClusterAlert,
    ClusterId,
    ClusterLife,
    ClusterSpec,
    ClusterState,
    JobId,
    JobSpec,
    MastersMove,
    MoveCause,
    Node,
    NodeId,
    NodeLife,
    NodeState,
    Promise,
    Reading,
    Role,
    Sample,
    Standby,
)
from fawkes.core.values.settings import Settings
from fawkes.core.values.sight import (
    AppLife,
    AppSeen,
    Attempt,
    Blocks,
    Compute,
    Launcher,
    SafeMode,
    Service,
    Sight,
    Stored,
)
from fawkes.report.tables.headlines import headlines
from fawkes.report.tables.node_rows import node_row
from fawkes.report.tables.rows import cluster_row, cluster_rows, in_service, pool_row, standby_rows, step_row
from fawkes.report.words.event_words import event_in_words
from fawkes.report.words.promises import masters_in_words
from fawkes.store.base import Reader
from fawkes.store.memory import MemoryStore
from tests.store.examples import started
from tests.support.desk import Desk
from tests.support.pools import settings
from tests.support.pools import started as pool_started

A = ClusterId("a")
RUNNING = ClusterState(spec=ClusterSpec(id=A, min_nodes=1), life=ClusterLife.RUNNING)
CORE = NodeState(node=Node(id=NodeId("n1")), life=NodeLife.SERVING, owner=A, role=Role.CORE)
EXTRA = NodeState(node=Node(id=NodeId("n2")), life=NodeLife.SERVING, owner=A, role=Role.TRANSIENT)

MOVE = MastersMove(cause=MoveCause.ASKED, since_us=1, old=NodeId("n1"), to=NodeId("n2"), by="ann", begun=True)
GO = "The masters of a go from n1 to n2"


@pytest.mark.parametrize(
    ("cluster", "nodes", "health", "reason"),
    [
        (RUNNING, [CORE, EXTRA], "green", ""),
        (RUNNING, [], "green", ""),
        (alerts.raised(replace(RUNNING, failed="no disk"), ClusterAlert.STAGE, "x"), [CORE], "red", "no disk"),
        (RUNNING, [replace(CORE, life=NodeLife.LOST), EXTRA], "red", "waits for n1, which may hold data"),
        (
            alerts.raised(RUNNING, ClusterAlert.MASTERS, "type `fawkes restore a`"),
            [replace(CORE, life=NodeLife.LOST, alert="its masters do not answer"), EXTRA],
            "red",
            "waits for n1, which may hold data: its masters are lost: type `fawkes restore a`",
        ),
        (
            RUNNING,
            [
                replace(
                    EXTRA, life=NodeLife.LOST, role=Role.TRANSIENT_CORE, alert="/a has too few replicas on other nodes"
                )
            ],
            "red",
            "waits for n2, which may hold data: /a has too few replicas on other nodes",
        ),
        (
            RUNNING,
            [replace(CORE, sight=Sight(asked_us=1, blocks=Blocks(known=True, missing=("/a",), missing_files=1)))],
            "red",
            "HDFS misses blocks of /a",
        ),
        (RUNNING, [replace(CORE, sight=Sight(asked_us=1, blocks=Blocks(missing_files=0)))], "green", ""),
        (alerts.raised(RUNNING, ClusterAlert.STAGE, "refused"), [CORE], "yellow", "refused"),
        (alerts.raised(RUNNING, ClusterAlert.MISSING, "3"), [CORE], "red", "blocks are missing in HDFS: 3"),
        (RUNNING, [CORE, replace(EXTRA, alert="3 blocks are only here")], "yellow", "n2: 3 blocks are only here"),
        (replace(RUNNING, moving=replace(MOVE, begun=False)), [CORE], "green", ""),
        (replace(RUNNING, moving=MOVE), [CORE], "red", f"its masters are stopped by Fawkes. {GO}: as was asked (ann)"),
        (
            replace(RUNNING, moving=replace(MOVE, cause=MoveCause.LOST, by="")),
            [CORE],
            "red",
            f"its masters do not serve yet. {GO}: they are lost",
        ),
        (
            replace(RUNNING, moving=replace(MOVE, cause=MoveCause.LEAVES, by=""), standby=Standby(journal=())),
            [CORE],
            "yellow",
            f"its second NameNode takes over. {GO}: their node goes out of service",
        ),
        (
            alerts.raised(replace(RUNNING, moving=replace(MOVE, cause=MoveCause.JOURNAL)), ClusterAlert.STANDBY, "x"),
            [CORE],
            "red",
            "its masters are stopped by Fawkes, and start again with a new journal",
        ),
    ],
)
def test_health(cluster: ClusterState, nodes: list[NodeState], health: str, reason: str) -> None:
    row = cluster_row(cluster, nodes, None, None, 2000)
    assert (row["health"], row["why"]) == (health, reason)
    assert row["alert_kind"] == (str(cluster.alert_kind) if cluster.alert_kind else None)


def test_nodes_of_a_cluster_by_what_they_do() -> None:
    lives = (
        NodeLife.SERVING,
        NodeLife.JOINING,
        NodeLife.DRAINING,
        NodeLife.EVACUATING,
        NodeLife.CLEANING,
        NodeLife.LOST,
    )
    nodes = [replace(EXTRA, life=life, role=Role.TRANSIENT_CORE) for life in lives]
    row = cluster_row(RUNNING, [CORE, *nodes], None, None, 14_000)
    counts = {key: row[key] for key in ("nodes", "core", "transient_core", "transient", "joining", "leaving", "lost")}
    assert counts == {
        "nodes": 7,
        "core": 1,
        "transient_core": 1,
        "transient": 0,
        "joining": 1,
        "leaving": 3,
        "lost": 1,
    }
    assert row["share"] == 0.5


def test_figures_of_a_cluster_that_is_not_active_are_unknown() -> None:
    sample, tick = Sample(at_us=1, jobs_waiting=3), replace(NO_TICK, targets={A: 2}, weights={A: 1.0})
    active = cluster_row(RUNNING, [CORE], sample, tick, 1000)
    assert (active["weight"], active["target"], active["jobs_waiting"]) == (1.0, 2, 3)
    saving = cluster_row(replace(RUNNING, life=ClusterLife.SAVING), [CORE], sample, tick, 1000)
    assert (saving["weight"], saving["target"], saving["jobs_waiting"]) == (None, None, None)
    assert cluster_row(RUNNING, [], None, None, 0)["share"] is None


def test_capacity_in_service() -> None:
    assert in_service(CORE)
    assert in_service(replace(CORE, life=NodeLife.LOST))
    assert not in_service(replace(CORE, life=NodeLife.LOST, owner=None))
    assert not in_service(replace(CORE, life=NodeLife.OUT, owner=None))


def test_a_node_that_is_kept_out() -> None:
    out = replace(CORE, life=NodeLife.OUT, owner=None, role=None, keep_out="new disk", back_us=0)
    row = node_row(out, None)
    assert (row["cluster"], row["role"], row["keep_out"]) == (None, None, "new disk")
    assert row["back"] == "+00:00:00.000"


def _seen(sight: Sight) -> events.NodeSeen:
    return events.NodeSeen(at_us=1, cluster=A, node=NodeId("n1"), generation=1, sight=sight)


def _attempt(seen: Attempt) -> events.AttemptSeen:
    return events.AttemptSeen(at_us=1, job=JobId("j"), attempt=2, seen=seen)


WORDS: list[tuple[events.Event, str]] = [
    (started(1, 7), "controller head:1, Fawkes 0.1.0, epoch 7"),
    (events.Woke(at_us=1), "the timer"),
    (
        events.Reloaded(
            at_us=1, settings=Settings(), policy=events.PolicyText("TD", "", "", ""), changed=("tau: 1 -> 2",), by="ann"
        ),
        "settings read again: tau: 1 -> 2 (by ann)",
    ),
    (events.ClockSeen(at_us=1, by_us=36_000_000_000, moved_us=36_000_000_000), "the clock was set ahead by 10h00m"),
    (events.ClockSeen(at_us=1, by_us=-90_000_000), "the clock was set back by 1m30s"),
    (
        events.Sampled(at_us=1, readings=(Reading(cluster=A), Reading(cluster=ClusterId("b"), error="refused"))),
        "2 MR-clusters read; b: refused",
    ),
    (events.Requested(at_us=1, spec=RUNNING.spec, by="ann"), "a (by ann)"),
    (events.ReleaseAsked(at_us=1, cluster=A), "a"),
    (events.DownAsked(at_us=1, by="ann"), "the whole pool (by ann)"),
    (events.DownAsked(at_us=1, dry_run=True), "the whole pool, checked only"),
    (events.Submitted(at_us=1, spec=JobSpec(id=JobId("j"), cluster=A), by="ann"), "j (by ann)"),
    (events.CancelAsked(at_us=1, job=JobId("j"), by="ann"), "j (by ann)"),
    (events.PauseAsked(at_us=1, reason="a visit"), "a visit"),
    (events.ResumeAsked(at_us=1, by="bob"), "(by bob)"),
    (events.DrainAsked(at_us=1, node=NodeId("n1"), reason="new disk", by="bob"), "n1: new disk (by bob)"),
    (
        events.DrainAsked(at_us=1, node=NodeId("n1"), reason="dead disk", discard=True, by="bob"),
        "n1: dead disk, its data is discarded (by bob)",
    ),
    (events.UndrainAsked(at_us=1, node=NodeId("n1")), "n1"),
    (events.RetryAsked(at_us=1, subject="n1", by="bob"), "n1 (by bob)"),
    (events.HoldAsked(at_us=1, subject="n1", reason="a visit", by="bob"), "n1: a visit (by bob)"),
    (events.UnholdAsked(at_us=1, subject="a", by="bob"), "a (by bob)"),
    (events.GrowAsked(at_us=1, cluster=A, count=2, by="bob"), "a, 2 nodes (by bob)"),
    (events.ShrinkAsked(at_us=1, cluster=A, node=NodeId("n1"), by="bob"), "a, n1 (by bob)"),
    (_seen(Sight(asked_us=1)), "n1: its masters do not report it"),
    (_seen(Sight(asked_us=1, compute=Compute.LOST, stored=Stored.DEAD)), "n1: NodeManager lost, DataNode dead"),
    (
        _seen(Sight(asked_us=1, stored=Stored.LEFT, blocks=Blocks(known=True, at_risk_files=2))),
        "n1: DataNode left, 2 files at risk, 0 with missing blocks",
    ),
    (
        _seen(Sight(asked_us=1, stored=Stored.LEAVING, blocks=Blocks(why="no figures"))),
        "n1: DataNode leaving, its blocks are not known: no figures",
    ),
    (events.MastersSeen(at_us=1, cluster=A), "the masters of a answer"),
    (events.MastersSeen(at_us=1, cluster=A, error="refused"), "the masters of a do not answer: refused"),
    (
        events.MastersSeen(at_us=1, cluster=A, error="no ticket", unasked=True),
        "the masters of a could not be asked: no ticket",
    ),
    (events.CopySeen(at_us=1, cluster=A), "the data of the masters of a is copied"),
    (events.CopySeen(at_us=1, cluster=A, error="full"), "the data of the masters of a is not copied: full"),
    (
        events.WaitSeen(
            at_us=40_000_000, effect="cluster:a", version=1, waits_for="no NodeManager runs on n1", since_us=0
        ),
        "the current stage of a has waited for 40s: no NodeManager runs on n1",
    ),
    (events.ServiceSeen(at_us=1, cluster=A, service=Service()), "a: HDFS not known"),
    (
        events.ServiceSeen(at_us=1, cluster=A, service=Service(safe_mode=SafeMode.OFF, storing=2, computing=0)),
        "a: HDFS takes writes, 2 DataNodes in service, 0 NodeManagers",
    ),
    (
        events.ServiceSeen(at_us=1, cluster=A, service=Service(safe_mode=SafeMode.LOW, manager="STANDBY")),
        "a: HDFS in safe mode (low), ResourceManager STANDBY",
    ),
    (
        events.ServiceSeen(at_us=1, cluster=A, service=Service(unhealthy=("n1",), stopped=("root.default",), full=1)),
        "a: HDFS not known, 1 of them full, unhealthy: n1, stopped queues: root.default",
    ),
    (events.StandbySeen(at_us=1, cluster=A, node=NodeId("n1"), ready=True), "the second NameNode of a can take over"),
    (
        events.StandbySeen(at_us=1, cluster=A, node=NodeId("n1"), ready=False, error="silent"),
        "the second NameNode of a cannot take over: silent",
    ),
    (events.MoveMastersAsked(at_us=1, cluster=A, by="ann"), "a (by ann)"),
    (events.MoveMastersAsked(at_us=1, cluster=A, to=NodeId("n2"), by="ann"), "a to n2 (by ann)"),
    (events.RestoreAsked(at_us=1, cluster=A, by="ann"), "a (by ann)"),
    (_attempt(Attempt()), "j (attempt 2): launcher not known, applications not known"),
    (
        _attempt(
            Attempt(
                launcher=Launcher.FINISHED,
                exit=1,
                applications=(AppSeen(id="app_1", life=AppLife.FAILED),),
                words="no disk",
            )
        ),
        "j (attempt 2): launcher finished with exit code 1, app_1 failed: no disk",
    ),
    (_attempt(Attempt(launcher=Launcher.RUNNING, applications=())), "j (attempt 2): launcher running, no application"),
    (
        events.NodeObserved(
            at_us=1, node=NodeId("n1"), generation=1, condition=events.Condition.HELD, error="3 blocks"
        ),
        "n1 is held: 3 blocks",
    ),
    (
        events.JobObserved(at_us=1, job=JobId("j"), attempt=2, progress=events.Progress.SUCCEEDED),
        "j (attempt 2) succeeded",
    ),
    (
        events.NodesSeen(
            at_us=2,
            seen=tuple(
                events.NodeObserved(at_us=at, node=NodeId(f"n{at}"), generation=1, condition=events.Condition.CLEAN)
                for at in (1, 2)
            ),
        ),
        "n1 is clean; n2 is clean",
    ),
    (events.Done(at_us=1, effect="cluster:a", version=1), "the current stage of a: done"),
    (events.Failed(at_us=1, effect="cluster:a", version=1, error="no disk"), "the current stage of a: failed: no disk"),
]


@pytest.mark.parametrize(("event", "words"), WORDS, ids=lambda each: type(each).__name__)
def test_events_in_words(event: events.Event, words: str) -> None:
    assert event_in_words(event) == words


def test_every_kind_of_event_is_tried() -> None:
    assert {type(event) for event, _ in WORDS} == set(events.EVENTS)


def test_rows_are_plain_data(played: Reader) -> None:
    rows: list[object] = [pool_row(played), *cluster_rows(played)]
    rows += [step_row(entry) for entry in played.entries()]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_the_pool(played: Reader) -> None:
    row = pool_row(played)
    assert (row["pool"], row["nodes"], row["held"], row["free"]) == ("lab", 10, 8, 2)
    assert row["tick"] == 16
    nothing = pool_row(MemoryStore())
    assert (nothing["pool"], nothing["tick"], nothing["nodes"]) == (None, None, 0)


def test_a_jump_of_the_clock_is_news_for_a_day() -> None:
    store = MemoryStore()
    desk = Desk(2, how=settings(clock_jump_us=60 * SECOND_US))
    store.append(pool_started(2, how=settings(clock_jump_us=60 * SECOND_US)), desk.last)
    assert pool_row(store)["clock"] == ""
    desk.now_s = 36_000
    jump = events.ClockSeen(at_us=desk.now_us, by_us=desk.now_us, moved_us=desk.now_us)
    store.append(jump, desk.tell(jump))
    assert pool_row(store)["clock"] == "it was set ahead by 10h00m, seen at +10:00:00.000"
    assert "THE CLOCK JUMPED: it was set ahead by 10h00m" in "\n".join(headlines(pool_row(store)))
    desk.now_s += 90_000
    woke = events.Woke(at_us=desk.now_us)
    store.append(woke, desk.tell(woke))
    assert pool_row(store)["clock"] == ""


def test_a_row_has_the_address_of_a_spark_history_server_where_there_is_one() -> None:
    master = replace(CORE.node, id=NodeId("node01"), details={"data_address": "10.0.0.1"})
    spec = replace(RUNNING.spec, details={"software": ["spark"]})
    running = replace(RUNNING, master=master.id, spec=spec)

    def address(state: ClusterState, nodes: list[NodeState]) -> object:
        return cluster_row(state, nodes, None, None, 3000)["spark_history"]

    held = [replace(CORE, node=master)]
    assert address(running, held) == "http://10.0.0.1:18080"
    assert address(running, []) == "http://node01:18080"
    assert address(replace(running, spec=RUNNING.spec), held) is None
    assert address(replace(running, life=ClusterLife.GONE), held) is None


def test_a_row_says_where_the_masters_and_the_copies_of_their_data_are() -> None:
    running = replace(RUNNING, master=NodeId("node01"))
    core = [replace(CORE, node=replace(CORE.node, id=NodeId(f"node0{n}"))) for n in (1, 2, 3)]
    row = cluster_row(running, core, None, None, 3000)
    assert (row["masters_on"], row["promise"], row["second_copy"]) == ("node01", "kept", "node02")
    alone = cluster_row(running, core[:1], None, None, 3000)
    assert (alone["promise"], alone["second_copy"]) == ("kept", None)
    waiting = cluster_row(replace(RUNNING, master=None), core, None, None, 3000)
    assert (waiting["masters_on"], waiting["promise"], waiting["second_copy"]) == (None, None, None)


def test_a_row_says_what_a_second_name_node_would_save() -> None:
    journal = tuple(NodeId(f"node0{n}") for n in (1, 2, 3))
    spec = replace(RUNNING.spec, min_nodes=3, masters=Promise.STANDBY)
    state = replace(RUNNING, spec=spec, master=journal[0], standby=Standby(journal=journal, node=journal[1]))
    row = cluster_row(state, [], None, None, 3000)
    shown = (row["promise"], row["second_namenode"], row["takes_over"], row["journal"])
    assert shown == ("standby", "node02", False, ["node01", "node02", "node03"])
    ready = replace(state, standby=Standby(journal=journal, node=journal[1], ready=True))
    assert cluster_row(ready, [], None, None, 3000)["takes_over"] is True
    lost = cluster_row(replace(state, standby=Standby(journal=journal)), [], None, None, 3000)
    assert (lost["promise"], lost["second_namenode"], lost["takes_over"]) == ("standby", None, False)
    given_up = cluster_row(replace(state, standby=None), [], None, None, 3000)
    assert (given_up["promise"], given_up["takes_over"]) == ("kept (standby was given up)", None)
    assert (given_up["second_namenode"], given_up["journal"]) == (None, None)
    assert (given_up["health"], given_up["why"][:51]) == (
        "yellow",
        "it has no second NameNode until it has a new journa",
    )
    assert cluster_row(replace(state, master=None, standby=None), [], None, None, 3000)["promise"] is None


@pytest.mark.parametrize(
    ("node", "ready", "says"),
    [
        ("node02", True, "the second NameNode on node02 can take over"),
        ("node02", False, "the second NameNode on node02 cannot take over now"),
        ("node01", True, "the second NameNode on node01 is taking over"),
        (None, False, "no node has the second NameNode"),
    ],
)
def test_an_explanation_says_where_the_second_name_node_is(node: str | None, ready: bool, says: str) -> None:
    journal = tuple(NodeId(f"node0{n}") for n in (1, 2, 3))
    standby = Standby(journal=journal, node=None if node is None else NodeId(node), ready=ready)
    spec = replace(RUNNING.spec, masters=Promise.STANDBY)
    state = replace(RUNNING, spec=spec, master=journal[0], standby=standby)
    assert masters_in_words(state) == [
        "Its masters are on node01; promise: standby", f"Its journal is on node[01-03]; {says}",
    ]  # fmt: skip
    assert masters_in_words(replace(state, life=ClusterLife.GONE)) == []
    moving = MastersMove(cause=MoveCause.JOURNAL, since_us=1, old=NodeId("node01"))
    again = replace(state, standby=None, moving=moving)
    assert masters_in_words(again)[-1] == (
        "Its NameNode starts again with a new journal, when no job and no application of a user runs. "
        "No job begins before that"
    )
    started = replace(again, moving=replace(moving, begun=True))
    assert masters_in_words(started)[-1] == "Its NameNode starts again with a new journal"
    assert [
        row["masters_moving"] for row in (cluster_row(each, [], None, None, 3000) for each in (again, started))
    ] == [False] * 2


def test_a_node_shows_its_part_of_the_journal_and_the_second_name_node() -> None:
    journal = tuple(NodeId(f"node0{n}") for n in (1, 2, 3))
    state = replace(RUNNING, master=journal[0], standby=Standby(journal=journal, node=journal[1]))
    nodes = [replace(CORE, node=replace(CORE.node, id=NodeId(f"node0{n}"))) for n in (1, 2, 3, 4)]
    rows = [node_row(node, state) for node in nodes]
    assert [row["master"] for row in rows] == [True, False, False, False]
    assert [row["standby"] for row in rows] == ["journal", "journal, second NameNode", "journal", ""]
    assert [node_row(nodes[1], other)["standby"] for other in (None, RUNNING)] == ["", ""]


def test_since_when_a_second_name_node_can_take_over() -> None:
    """The error may change while it can take over; what was seen elsewhere, or before the request, does not count."""
    journal = tuple(NodeId(f"n{n}") for n in (1, 2, 3))
    store = MemoryStore()

    def put(at_us: int, *, node: int = 1, since_us: int = 0, **seen: Any) -> list[dict[str, Any]]:
        state = replace(RUNNING, requested_us=since_us, standby=Standby(journal=journal, node=journal[1]))
        event = events.StandbySeen(at_us=at_us * SECOND_US, cluster=A, node=journal[node], **seen)
        store.append(event, Decision((PutCluster(state),)))
        return standby_rows(store)

    assert standby_rows(store) == []
    away = put(10, ready=False, error="it does not answer")
    assert away == [{"cluster": A, "takes_over": False, "since": "+00:00:10.000", "error": "it does not answer"}]
    assert put(20, ready=True)[0]["since"] == "+00:00:20.000"
    (row,) = put(30, ready=True, error="n3 is away")
    assert (row["since"], row["error"]) == ("+00:00:20.000", "n3 is away")
    assert put(40, ready=False)[0]["since"] == "+00:00:40.000"
    assert put(50, node=2, ready=True) == []
    assert put(60, since_us=70 * SECOND_US, ready=True) == []


def test_queues_of_masters_that_cannot_be_read_are_not_known() -> None:
    desk = Desk(6, how=settings(stale_us=60 * SECOND_US))
    desk.up("a")
    desk.sample(a={"tasks_waiting": 7, "tasks_running": 3, "jobs_running": 1, "jobs_waiting": 2})
    keys = ("tasks_waiting", "tasks_running", "jobs_waiting", "jobs_running")
    assert [cluster_rows(desk.store)[0][key] for key in keys] == [7, 3, 2, 1]
    for _ in range(3):
        desk.wait(60)
        desk.sample(a={"error": "connection refused"})
    assert [cluster_rows(desk.store)[0][key] for key in keys] == [None] * 4


def test_masters_that_do_not_answer_tell_no_queue() -> None:
    desk = Desk.running("a", count=4)
    desk.sample(a={"tasks_waiting": 7})
    assert cluster_rows(desk.store)[0]["tasks_waiting"] == 7
    desk.masters("a", "refused")
    assert cluster_rows(desk.store)[0]["tasks_waiting"] is None


def test_what_is_gone_has_no_health_no_masters_and_no_promise() -> None:
    spec = ClusterSpec(id=ClusterId("a"), min_nodes=2)
    gone = ClusterState(spec=spec, life=ClusterLife.GONE, master=NodeId("node01"))
    row = cluster_row(gone, [], None, None, 0)
    assert (row["health"], row["masters_on"], row["promise"]) == (None, None, None)
    failed = cluster_row(replace(gone, failed="no room"), [], None, None, 0)
    assert (failed["health"], failed["why"]) == ("red", "no room")
