"""Events: everything that influences a decision.

``at_us`` never runs backwards within a run. Requests carry ``by`` (who asked) and ``ask`` (where the `Reply` goes;
empty when nobody waits for it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import get_args

from fawkes.core.values.adopted import Adopted
from fawkes.core.values.model import ClusterId, ClusterSpec, Facts, JobId, JobSpec, Node, NodeId, Reading
from fawkes.core.values.settings import Settings
from fawkes.core.values.sight import Attempt, Service, Sight


class Condition(StrEnum):
    """The end of work on a node.

    HELD: it was not wiped, because its blocks were not proven to be elsewhere right before. Ledgers of earlier
    versions also have DRAINED, EVACUATED and LOST, verdicts that a world gave; facts (`NodeSeen`) have replaced them.
    """

    SERVING = "serving"
    DRAINED = "drained"
    EVACUATED = "evacuated"
    HELD = "held"
    CLEAN = "clean"
    FAILED = "failed"
    LOST = "lost"


class Progress(StrEnum):
    """The course of a job, as it was seen."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class PolicyText:
    """A policy as it was read: where from, its text, its SHA-256."""

    name: str
    origin: str
    text: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """An engine starts, the first time or again; a later one makes the earlier controllers foreign.

    ``admission`` is the policy that lets jobs in; None: first come, first served. ``preemption`` decides about the
    tasks of a node that leaves; None: they are waited for.
    ``steady_us`` is how long ago the last event was, by a clock that nobody can set; None: not known, because the
    machine was off. ``stepped_us`` is how far the machine's clock was set meanwhile (below zero: back). ``adopted`` is
    what was found of a pool whose ledger is lost; the event is the first of its ledger then.
    """

    at_us: int
    version: str
    pool: str
    epoch: int
    controller: str
    settings: Settings
    nodes: tuple[Node, ...]
    policy: PolicyText
    shadow: bool = False
    admission: PolicyText | None = None
    preemption: PolicyText | None = None
    steady_us: int | None = None
    stepped_us: int = 0
    adopted: Adopted | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded:
    """The settings, policies and nodes of a running controller are others from now on.

    ``changed`` says how, in words; ``restart`` are keys that have changed and keep their old values until a restart.
    ``nodes`` are those of the inventory; None: the same as before.
    """

    at_us: int
    settings: Settings
    policy: PolicyText
    admission: PolicyText | None = None
    preemption: PolicyText | None = None
    nodes: tuple[Node, ...] | None = None
    changed: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Woke:
    """The timer of `WakeAt`."""

    at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSeen:
    """The machine's clock was set by ``by_us`` (below zero: back); the times of events follow it by ``moved_us``."""

    at_us: int
    by_us: int
    moved_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """One round of readings over all MR-clusters that run."""

    at_us: int
    readings: tuple[Reading, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """Somebody asks for an MR-cluster."""

    at_us: int
    spec: ClusterSpec
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseAsked:
    """Somebody gives an MR-cluster back; ``discard`` gives up its data, ``force`` ends what runs on it.

    ``dry_run``: the answer says whether this would be refused, and nothing is done.
    """

    at_us: int
    cluster: ClusterId
    discard: bool = False
    force: bool = False
    dry_run: bool = False
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownAsked:
    """Somebody gives the whole pool back: every MR-cluster, all or none; see `ReleaseAsked` for the flags."""

    at_us: int
    discard: bool = False
    force: bool = False
    dry_run: bool = False
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """Somebody hands in a job."""

    at_us: int
    spec: JobSpec
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelAsked:
    """Somebody takes a job back."""

    at_us: int
    job: JobId
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseAsked:
    """An operator stops all voluntary moves."""

    at_us: int
    reason: str
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeAsked:
    """An operator allows voluntary moves again."""

    at_us: int
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryAsked:
    """An operator has repaired something: what waits for the next try of this node or MR-cluster is tried now."""

    at_us: int
    subject: str
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainAsked:
    """An operator takes a node out of service; ``discard``: the data on it, which HDFS waits for, is given up."""

    at_us: int
    node: NodeId
    reason: str
    discard: bool = False
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndrainAsked:
    """An operator puts a node back into service."""

    at_us: int
    node: NodeId
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldAsked:
    """An operator keeps balancing away from a node or an MR-cluster, until ``until_us``; 0: until `UnholdAsked`."""

    at_us: int
    subject: str
    reason: str
    until_us: int = 0
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnholdAsked:
    """An operator ends a hold."""

    at_us: int
    subject: str
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowAsked:
    """An operator gives an MR-cluster ``count`` nodes, or this ``node``.

    It is held until ``until_us``, or balancing would take them back; 0: no hold comes with it.
    """

    at_us: int
    cluster: ClusterId
    count: int = 1
    node: NodeId | None = None
    until_us: int = 0
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkAsked:
    """An operator takes ``count`` nodes of an MR-cluster, or this ``node``; see `GrowAsked` for the hold."""

    at_us: int
    cluster: ClusterId
    count: int = 1
    node: NodeId | None = None
    until_us: int = 0
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveMastersAsked:
    """An operator wants the masters of an MR-cluster on another of its core nodes.

    ``to`` None: any. ``now``: running jobs are not waited for; they are begun again.
    """

    at_us: int
    cluster: ClusterId
    to: NodeId | None = None
    now: bool = False
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreAsked:
    """An operator brings an MR-cluster back from its kept copy, on a core node of it; whatever the copy lacks is lost.

    ``dry_run``: only whether that is possible is answered.
    """

    at_us: int
    cluster: ClusterId
    to: NodeId | None = None
    dry_run: bool = False
    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopySeen:
    """A look at whether the masters' data of an MR-cluster is copied; ``error`` says why not, empty when it is."""

    at_us: int
    cluster: ClusterId
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSeen:
    """The view that masters have of one of their nodes, of one generation; told when that has changed."""

    at_us: int
    cluster: ClusterId
    node: NodeId
    generation: int
    sight: Sight


@dataclass(frozen=True, slots=True, kw_only=True)
class MastersSeen:
    """The masters of an MR-cluster answer or not; ``error`` says why nothing is known, empty when they do.

    ``silent`` is the daemon that does not answer: while that is the NameNode, nobody asks the ResourceManager. ``gone``
    are daemons that do not run, by the word of their node a moment ago; empty when all run, or the node does not say.
    """

    at_us: int
    cluster: ClusterId
    error: str = ""
    silent: str = ""
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSeen:
    """An MR-cluster takes writes and applications, or not; told when that has changed, at most every few seconds."""

    at_us: int
    cluster: ClusterId
    service: Service


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitSeen:
    """The work on an effect has waited for the same thing since ``since_us``; told again after twice the time."""

    at_us: int
    effect: str
    version: int
    waits_for: str
    since_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StandbySeen:
    """The standing of the second NameNode of an MR-cluster and its journal; told when that has changed.

    ``ready``: it says that it is a standby that follows, on ``node``, and most nodes of the journal answer. ``error``
    says what is not whole, empty when all is: one node of the journal may be away while it is ready.
    """

    at_us: int
    cluster: ClusterId
    node: NodeId
    ready: bool
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeObserved:
    """The end of the work on a node of one generation; ``error`` says why for held and failed."""

    at_us: int
    node: NodeId
    generation: int
    condition: Condition
    error: str = ""
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesSeen:
    """News of several nodes that came at once, in their order; one decision answers all of it.

    Their own times are those at which they came, ``at_us`` is that of the last.
    """

    at_us: int
    seen: tuple[NodeObserved | NodeSeen, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSeen:
    """The standing of an attempt of a job; told when that has changed."""

    at_us: int
    job: JobId
    attempt: int
    seen: Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class JobObserved:
    """The outcome of an attempt of a job, as a world judged it.

    Only ledgers of earlier versions hold it; ``finished_us`` is YARN's own time, if known.
    """

    at_us: int
    job: JobId
    attempt: int
    progress: Progress
    application: str = ""
    started_us: int | None = None
    finished_us: int | None = None
    error: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """An effect reached its goal. ``effect`` is its key, ``version`` the version that it had."""

    at_us: int
    effect: str
    version: int
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """An effect did not reach its goal. ``final``: trying again is useless until somebody changes something."""

    at_us: int
    effect: str
    version: int
    error: str
    final: bool = False
    facts: Facts = field(default_factory=dict)


Event = (
    Started
    | Reloaded
    | Woke
    | ClockSeen
    | Sampled
    | Requested
    | ReleaseAsked
    | DownAsked
    | Submitted
    | CancelAsked
    | PauseAsked
    | ResumeAsked
    | RetryAsked
    | DrainAsked
    | UndrainAsked
    | HoldAsked
    | UnholdAsked
    | GrowAsked
    | ShrinkAsked
    | MoveMastersAsked
    | RestoreAsked
    | NodeSeen
    | MastersSeen
    | CopySeen
    | ServiceSeen
    | WaitSeen
    | StandbySeen
    | NodeObserved
    | NodesSeen
    | AttemptSeen
    | JobObserved
    | Done
    | Failed
)
#: what a world tells
Seen = (
    NodeSeen
    | MastersSeen
    | CopySeen
    | ServiceSeen
    | WaitSeen
    | StandbySeen
    | NodeObserved
    | NodesSeen
    | AttemptSeen
    | JobObserved
    | Done
    | Failed
)

EVENTS: tuple[type[Event], ...] = get_args(Event)
#: what commands ask of a controller, by their verbs; the body of a request is made of the event's own fields
ASKS: Mapping[str, type[Event]] = {
    "request": Requested,
    "release": ReleaseAsked,
    "down": DownAsked,
    "submit": Submitted,
    "cancel": CancelAsked,
    "pause": PauseAsked,
    "resume": ResumeAsked,
    "retry": RetryAsked,
    "drain": DrainAsked,
    "undrain": UndrainAsked,
    "hold": HoldAsked,
    "unhold": UnholdAsked,
    "grow": GrowAsked,
    "shrink": ShrinkAsked,
    "restore": RestoreAsked,
    "move-masters": MoveMastersAsked,
}


def in_one(news: Sequence[NodeObserved | NodeSeen]) -> NodeObserved | NodeSeen | NodesSeen:
    """News of nodes as one event; that of one node stays what it is."""
    return news[0] if len(news) == 1 else NodesSeen(at_us=news[-1].at_us, seen=tuple(news))


def news_of(event: Event) -> tuple[Event, ...]:
    """The news in an event, one by one; any other event is its own."""
    return event.seen if isinstance(event, NodesSeen) else (event,)
