"""Interfaces of all stores, in files or in memory; reports and commands know nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from fawkes.core.values.decision import (
    AddSample,
    Change,
    Decision,
    DropPending,
    PutCluster,
    PutJob,
    PutNode,
    PutPending,
    PutTick,
)
from fawkes.core.values.events import Event
from fawkes.core.values.model import Plain, Reason
from fawkes.engine.ports import Entry

NODE, CLUSTER, JOB, TICK, PENDING, SAMPLE = "node", "cluster", "job", "tick", "pending", "sample"


class Identity(NamedTuple):
    """The identity of a ledger: an id, made when it was created, and the highest epoch of a `Started` in it."""

    pool_id: str
    last_epoch: int


@dataclass(frozen=True, slots=True)
class Latest:
    """The latest change of one subject, and the number of the step that made it."""

    subject: str
    seq: int
    change: Change


Telling = Callable[[str, Any], bool]
"""A question about a subject and its latest change, as plain data."""


class Reader(Protocol):
    """Reading access to a store while another process may write to it."""

    def entries(self, after: int = 0, *, kinds: Sequence[str] = ()) -> Iterator[Entry]:
        """The steps after number ``after``, oldest first; ``kinds`` are names of classes of events, all when empty."""

    def entry(self, seq: int) -> Entry | None:
        """The step of that number; None when there is none."""

    def last_seq(self) -> int:
        """The number of the last step; 0 when there is none."""

    def seq_at(self, at_us: int) -> int:
        """The number of the last step before that time; 0 when there is none."""

    def latest(self, kind: str, telling: Telling | None = None) -> list[Latest]:
        """The latest change of each subject of a kind (see `place`), by subject.

        With ``telling`` of those only of which that is true: others are not decoded.
        """

    def mentions(self, kind: str, subject: str | None = None) -> list[int]:
        """The numbers of the steps that changed or gave a reason for a subject (None: any of the kind), ascending."""

    def identity(self) -> Identity:
        """The id of the ledger and the highest epoch in it."""

    def latest_snapshot(self) -> tuple[int, Plain] | None:
        """The latest snapshot: the number of the step after which it was taken, and the state as plain data."""


class Writer(Reader, Protocol):
    """A store that the engine writes to."""

    def append(self, event: Event, decision: Decision) -> int:
        """Store one step durably; its number."""

    def snapshot(self, seq: int, state: Plain) -> None:
        """Store the state after step ``seq``; the older snapshots but one are dropped."""

    def close(self) -> None:
        """Give the store back."""


def place(change: Change) -> tuple[str, str]:
    """The kind and subject that a change supersedes; for a value that exists only once, its class name and its kind."""
    match change:
        case PutNode():
            return NODE, change.state.node.id
        case PutCluster():
            return CLUSTER, change.state.spec.id
        case PutJob():
            return JOB, change.state.spec.id
        case PutPending() | DropPending():
            return PENDING, change.key
        case AddSample():
            return SAMPLE, change.cluster
        case PutTick():
            return TICK, ""
    return type(change).__name__, ""


def mentioned(decision: Decision) -> set[tuple[str, str]]:
    """The nodes, MR-clusters, jobs and ticks that a decision changes or gives a reason for."""
    subjects: set[tuple[str, str]] = set()
    for change in decision.changes:
        if isinstance(change, PutTick):
            subjects.add((TICK, str(change.tick)))
        elif isinstance(change, (PutNode, PutCluster, PutJob)):
            subjects.add(place(change))
    for reason in decision.reasons:
        subjects.update(_named(reason))
    return subjects


def _named(reason: Reason) -> Iterator[tuple[str, str]]:
    for kind in (NODE, CLUSTER, JOB):
        single, many = reason.facts.get(kind), reason.facts.get(f"{kind}s")
        if isinstance(single, str):
            yield kind, str(single)
        if isinstance(many, (list, tuple)):
            yield from ((kind, str(each)) for each in many if isinstance(each, str))
