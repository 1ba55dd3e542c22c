"""Answers of a running controller about MR-clusters, jobs and nodes: rows for the commands (``GET /NAME``).

Read from the engine's state while the engine works: each look takes over whole values at once, and the values
themselves never change. What has left the state, because it ended, is read from the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import Protocol

from fawkes.core.state.state import State
from fawkes.core.values.decision import PutCluster, PutJob
from fawkes.core.values.model import ClusterId, ClusterState, JobId, JobState, NodeId, NodeState, Plain
from fawkes.live.controller.control import Query
from fawkes.report import history
from fawkes.report.tables.board import board
from fawkes.report.tables.node_rows import node_row
from fawkes.report.tables.rows import cluster_row, in_service, job_row
from fawkes.store.base import CLUSTER, JOB, Reader, place

Row = dict[str, Plain]


class ClosableReader(Reader, Protocol):
    """A ledger opened to be read."""

    def close(self) -> None:
        """Give it back."""


def answers(view: State, open_ledger: Callable[[], ClosableReader]) -> dict[str, Query]:
    """Queries for `ControlServer`: ``clusters[?cluster=]``, ``jobs[?job=|?cluster=]``, ``nodes[?node=]``, ``end``.

    ``board?of=`` has the rows of reading commands, for users who may not read the ledger.
    Without a parameter they list what is there; by name also an MR-cluster that is gone or a job that has ended, as
    the ledger (``open_ledger`` opens it for each such question) has it. A name that never was gives no row.
    """

    def clusters(parameters: Mapping[str, str]) -> Plain:
        usable = sum(node.node.capacity_milli for node in list(view.nodes.values()) if in_service(node))
        if "cluster" not in parameters:
            return [_cluster(state, view, usable) for state in list(view.clusters.values())]
        name = parameters["cluster"]
        state = view.clusters.get(ClusterId(name)) or _ended(open_ledger, CLUSTER, name)
        return [_cluster(state, view, usable)] if isinstance(state, ClusterState) else []

    def jobs(parameters: Mapping[str, str]) -> Plain:
        if "job" not in parameters:
            there: Iterable[JobState] = list(view.jobs.values())
            return [job_row(state) for state in there if parameters.get("cluster") in (None, state.cluster)]
        state = view.jobs.get(JobId(parameters["job"])) or _ended(open_ledger, JOB, parameters["job"])
        return [job_row(state)] if isinstance(state, JobState) else []

    def nodes(parameters: Mapping[str, str]) -> Plain:
        if "node" not in parameters:
            return [_node(state, view) for state in list(view.nodes.values())]
        state = view.nodes.get(NodeId(parameters["node"]))
        return [] if state is None else [_node(state, view)]

    def rows(parameters: Mapping[str, str]) -> Plain:
        with closing(open_ledger()) as ledger:
            board_rows: Plain = board(ledger, parameters.get("of", ""))
            return board_rows

    def end(_: Mapping[str, str]) -> Plain:
        with closing(open_ledger()) as ledger:
            return {"asked_by": history.given_back_by(ledger), "ended": history.ended(ledger)}

    return {"clusters": clusters, "jobs": jobs, "nodes": nodes, "board": rows, "end": end}


def _cluster(state: ClusterState, view: State, usable_milli: int) -> Row:
    held = [view.nodes[node] for node in list(view.nodes_of(state.id))]
    latest = view.latest(state.id)
    own = list(view.jobs_of(state.id).values())
    return cluster_row(state, held, None if latest is None else latest.sample, view.last_tick, usable_milli, own)


def _node(state: NodeState, view: State) -> Row:
    return node_row(state, None if state.owner is None else view.clusters.get(state.owner))


def _ended(open_ledger: Callable[[], ClosableReader], kind: str, name: str) -> ClusterState | JobState | None:
    """The last state of an MR-cluster or a job in the ledger; None when it never was there."""
    with closing(open_ledger()) as ledger:
        for seq in reversed(ledger.mentions(kind, name)):
            entry = ledger.entry(seq)
            for change in reversed(entry.decision.changes if entry else ()):
                if isinstance(change, PutCluster | PutJob) and place(change) == (kind, name):
                    return change.state
    return None
