"""Time that things took, as the steps of a ledger tell it: observations, one for each time that something was done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fawkes.base.units import SECOND_US
from fawkes.core.values.decision import PutJob
from fawkes.core.values.events import Done
from fawkes.core.values.model import ClusterState, Facts, JobLife, NodeLife
from fawkes.offline.record.span import Span
from fawkes.report import history
from fawkes.report.history import NodeChange
from fawkes.store.base import JOB, Reader

#: loads of fewer bytes are begun and ended longer than they copy
LOAD_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class MeasuredTimes:
    """Observations in microseconds (``load_bytes_s``: bytes a second over the disks of one core node)."""

    deploy_us: tuple[int, ...] = ()
    join_us: tuple[int, ...] = ()
    drain_us: tuple[int, ...] = ()
    clean_us: tuple[int, ...] = ()
    load_bytes_s: tuple[int, ...] = ()


def seen_in(store: Reader, span: Span) -> MeasuredTimes:
    """The times and rates that the steps of a span show.

    ``join`` is of nodes that come to a running MR-cluster, ``drain`` of nodes that had no time to leave in, ``clean``
    until a node is free.
    """
    times: dict[str, list[int]] = {"join": [], "drain": [], "clean": []}
    deployed = _deployed(store, span)
    for change, stayed_us in _stays(store):
        if not span.has(change.at_us) or change.old is None:
            continue
        match change.old.life, change.new.life:
            case NodeLife.JOINING, NodeLife.SERVING if change.at_us not in deployed:
                times["join"].append(stayed_us)
            case NodeLife.DRAINING, NodeLife.CLEANING:
                times["drain"].append(stayed_us)
            case NodeLife.CLEANING, NodeLife.FREE | NodeLife.JOINING | NodeLife.OUT:
                times["clean"].append(stayed_us)
    clusters = [state for state in history.clusters(store) if span.has(state.requested_us)]
    return MeasuredTimes(
        deploy_us=tuple(state.deploy_us for state in clusters if state.deploy_us is not None and not state.failed),
        join_us=tuple(times["join"]),
        drain_us=tuple(times["drain"]),
        clean_us=tuple(times["clean"]),
        load_bytes_s=tuple(_loads(clusters)),
    )


@dataclass(frozen=True, slots=True)
class NodeArrival:
    """The time in which a node came to an MR-cluster, in microseconds; ``joined`` when it then served one that ran."""

    begin_us: int
    end_us: int
    joined: bool


def comings_in(store: Reader, span: Span) -> tuple[NodeArrival, ...]:
    """All nodes whose coming ended in a span, those of new MR-clusters and those that were called off as well."""
    deployed = _deployed(store, span)
    return tuple(
        NodeArrival(
            change.at_us - stayed_us,
            change.at_us,
            change.new.life is NodeLife.SERVING and change.at_us not in deployed,
        )
        for change, stayed_us in _stays(store)
        if span.has(change.at_us) and change.old is not None and change.old.life is NodeLife.JOINING
    )


def job_starts(store: Reader) -> dict[tuple[str, int], int]:
    """The time when each attempt of a job was handed to its MR-cluster, by job and attempt."""
    starts: dict[tuple[str, int], int] = {}
    for entry in history.steps(store, store.mentions(JOB)):
        for change in entry.decision.changes:
            if isinstance(change, PutJob) and change.state.life is JobLife.STARTING:
                starts.setdefault((change.state.id, change.state.attempt), entry.event.at_us)
    return starts


def _stays(store: Reader) -> Iterator[tuple[NodeChange, int]]:
    """Each change of a node's life, and how long it was in the life before."""
    since: dict[str, int] = {}
    for change in history.node_changes(store):
        name = change.new.node.id
        if change.old is None or change.old.life is not change.new.life:
            yield change, change.at_us - since.get(name, change.at_us)
            since[name] = change.at_us


def _deployed(store: Reader, span: Span) -> frozenset[int]:
    """The moments at which MR-clusters were deployed: their first nodes serve by that, not by having joined."""
    events = (entry.event for entry in store.entries(after=span.first_seq - 1, kinds=(Done.__name__,)))
    return frozenset(event.at_us for event in events if isinstance(event, Done) and event.effect.startswith("cluster:"))


def _loads(clusters: list[ClusterState]) -> Iterator[int]:
    for state in clusters:
        count = sum(held or 0 for _, held in data_of(state.spec.details))
        if state.load_us and count >= LOAD_BYTES:
            passed = count * min(state.spec.replication, state.spec.min_nodes)
            yield round(passed / (state.load_us / SECOND_US) / state.spec.min_nodes)


def data_of(details: Facts) -> list[tuple[str, int | None]]:
    """The input sets of an MR-cluster: the folder in HDFS and the bytes, None where nobody knows."""
    data = details.get("data")
    sets = [row for row in data if isinstance(row, Mapping)] if isinstance(data, list | tuple) else []
    return [(str(row.get("to")), held if isinstance(held := row.get("size_bytes"), int) else None) for row in sets]
