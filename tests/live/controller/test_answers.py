"""Answers of a controller to the commands, from a run in the simulated world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fawkes.base.errors import UserError
from fawkes.core.state.state import State, evolve
from fawkes.core.values.decision import Decision, PutCluster, PutJob, PutNode
from fawkes.core.values.events import Woke
from fawkes.core.values.model import (
    ClusterId,
    ClusterLife,
    ClusterSpec,
    ClusterState,
    JobId,
    JobLife,
    JobSpec,
    JobState,
    Node,
    NodeId,
    NodeLife,
    NodeState,
    Role,
)
from fawkes.live.controller.answers import answers
from fawkes.report import history
from fawkes.report.tables.board import BOARDS
from fawkes.report.tables.rows import cluster_rows, gone, job_row, node_rows
from fawkes.store.memory import MemoryStore
from tests.cli import conftest as rows

C1, C2 = ClusterId("c-1"), ClusterId("c-2")


def cluster(name: ClusterId, **facts: Any) -> ClusterState:
    return ClusterState(spec=ClusterSpec(id=name, min_nodes=1), **facts)


def job(name: str, **facts: Any) -> JobState:
    return JobState(spec=JobSpec(id=JobId(name), cluster=C1), **facts)


STEPS = (
    (
        PutCluster(cluster(C1, life=ClusterLife.RUNNING, alert="disk is full", master=NodeId("node01"))),
        PutCluster(cluster(C2, life=ClusterLife.RETIRING)),
        PutNode(NodeState(node=Node(id=NodeId("node01")), life=NodeLife.SERVING, owner=C1, role=Role.CORE)),
        PutNode(NodeState(node=Node(id=NodeId("node02")), life=NodeLife.OUT, keep_out="new fans")),
        PutJob(job("j-1", life=JobLife.RUNNING, submitted_us=1, started_us=3)),
        PutJob(job("j-2")),
    ),
    (
        PutCluster(cluster(C2, life=ClusterLife.GONE, failed="node01 has no Java")),
        PutJob(job("j-1", life=JobLife.FAILED, submitted_us=1, started_us=3, finished_us=10, why="exit 3", log="/l")),
    ),
)


@pytest.fixture
def ask() -> Any:
    state, store = State(), MemoryStore()
    for number, changes in enumerate(STEPS):
        store.append(Woke(at_us=number), Decision(changes))
        evolve(state, number, changes)
    queries = answers(state, lambda: store)

    def ask_one(name: str, **query: str) -> list[Mapping[str, Any]]:
        rows: Any = queries[name](query)
        return [dict(row) for row in rows]

    return ask_one


def _in(row: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    return {key: row[key] for key in expected} == expected


def test_lists_have_what_is_there(ask: Any) -> None:
    (row,) = ask("clusters")
    assert _in(row, rows.cluster("c-1", alert="disk is full", nodes=1, jobs_started=0, jobs_queued=1))
    (waiting,) = ask("jobs")
    assert _in(waiting, rows.job("j-2"))
    assert ask("jobs", cluster="c-2") == []
    first, second = ask("nodes")
    assert _in(first, rows.node("node01", state="serving", cluster="c-1", role="core", master=True))
    assert _in(second, rows.node("node02", state="out", keep_out="new fans", master=False))


def test_by_name_also_what_has_ended(ask: Any) -> None:
    (gone,) = ask("clusters", cluster="c-2")
    assert _in(gone, rows.cluster("c-2", state="gone", failed="node01 has no Java", nodes=0))
    (failed,) = ask("jobs", job="j-1")
    assert _in(failed, rows.job("j-1", state="failed", wait_s=2e-6, run_s=7e-6, why="exit 3", log="/l"))
    assert ask("nodes", node="node02")[0]["keep_out"] == "new fans"


def test_a_controller_and_its_ledger_answer_with_the_same_rows() -> None:
    """Programs read one set of keys; the ledger alone does not count jobs by their queue."""
    state, store = State(), MemoryStore()
    for number, changes in enumerate(STEPS):
        store.append(Woke(at_us=number), Decision(changes))
        evolve(state, number, changes)
    queries: Any = answers(state, lambda: store)
    assert list(queries["nodes"]({})) == node_rows(store)
    counted = {"jobs_queued": 1, "jobs_started": 0}
    assert list(queries["clusters"]({})) == [{**row, **counted} for row in cluster_rows(store) if not gone(row)]
    ended = [job_row(state) for state in history.jobs(store) if state.id == "j-1"]
    assert list(queries["jobs"]({"job": "j-1"})) == ended


@pytest.mark.parametrize(("name", "asked"), [("clusters", "cluster"), ("jobs", "job"), ("nodes", "node")])
def test_what_never_was_gives_no_row(ask: Any, name: str, asked: str) -> None:
    assert ask(name, **{asked: "other"}) == []


def test_who_may_not_read_the_ledger_gets_the_rows_of_who_may(ask: Any) -> None:
    store = MemoryStore()
    for number, changes in enumerate(STEPS):
        store.append(Woke(at_us=number), Decision(changes))
    for of, read in BOARDS.items():
        assert ask("board", of=of) == read(store), of
    with pytest.raises(UserError, match=r"there are no rows of 'secrets'. There are: pool, clusters, nodes, jobs"):
        ask("board", of="secrets")
