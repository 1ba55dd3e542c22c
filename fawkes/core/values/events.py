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

    HELD: it was not wiped, because its blocks were not proven to be elsewhere right before. ANSWERS: work on it failed
    because its host did not answer, and now it does. Ledgers of earlier versions also have DRAINED, EVACUATED and LOST,
    verdicts that a world gave; facts (`NodeSeen`) have replaced them.
    """

    SERVING = "serving"
    DRAINED = "drained"
    EVACUATED = "evacuated"
    HELD = "held"
    CLEAN = "clean"
    FAILED = "failed"
    ANSWERS = "answers"
    LOST = "lost"


class Progress(StrEnum):
    """The course of a job, as it was seen."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REFUSED = "refused"
    DISPLACED = "displaced"
    """It ended for a move of its masters that did not come about, and begins again."""


@dataclass(frozen=True, slots=True)
class PolicyText:
    """A policy as it was read: where from, its text, its SHA-256."""

    name: str
    origin: str
    text: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """The time of an event, which all of them have."""

    at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request(_Event):
    """A request: ``by`` is who asks, ``ask`` is what the answer goes to."""

    by: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(_Event):
    """An engine starts, the first time or again; a later one makes the earlier controllers foreign.

    ``admission`` is the policy that lets jobs in; None: first come, first served. ``preemption`` decides about the
    tasks of a node that leaves; None: they are waited for.
    ``steady_us`` is how long ago the last event was, by a clock that nobody can set; None: not known, because the
    machine was off. ``stepped_us`` is how far the machine's clock was set meanwhile (below zero: back). ``adopted`` is
    what was found of a pool whose ledger is lost; the event is the first of its ledger then.
    ``first_generation``: hand-overs from now on have no lower number, so that no other ledger of the pool, lost or
    restored, has given it out.
    """

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
    first_generation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded(_Request):
    """The settings, policies and nodes of a running controller are others from now on.

    ``changed`` says how, in words; ``restart`` are keys that have changed and keep their old values until a restart.
    ``nodes`` are those of the inventory; None: the same as before.
    """

    settings: Settings
    policy: PolicyText
    admission: PolicyText | None = None
    preemption: PolicyText | None = None
    nodes: tuple[Node, ...] | None = None
    changed: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Woke(_Event):
    """The timer of `WakeAt`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSeen(_Event):
    """The machine's clock was set by ``by_us`` (below zero: back); the times of events follow it by ``moved_us``."""

    by_us: int
    moved_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled(_Event):
    """One round of readings over all MR-clusters that run."""

    readings: tuple[Reading, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested(_Request):
    """Somebody asks for an MR-cluster."""

    spec: ClusterSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseAsked(_Request):
    """Somebody gives an MR-cluster back; ``discard`` gives up its data, ``force`` ends what runs on it.

    ``dry_run``: the answer says whether this would be refused, and nothing is done.
    """

    cluster: ClusterId
    discard: bool = False
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DownAsked(_Request):
    """Somebody gives the whole pool back: every MR-cluster, all or none; see `ReleaseAsked` for the flags."""

    discard: bool = False
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted(_Request):
    """Somebody hands in a job."""

    spec: JobSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelAsked(_Request):
    """Somebody takes a job back."""

    job: JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseAsked(_Request):
    """An operator stops all voluntary moves."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeAsked(_Request):
    """An operator allows voluntary moves again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryAsked(_Request):
    """An operator has repaired something: what waits for the next try of this node or MR-cluster is tried now."""

    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainAsked(_Request):
    """An operator takes a node out of service; ``discard``: the data on it, which HDFS waits for, is given up."""

    node: NodeId
    reason: str
    discard: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UndrainAsked(_Request):
    """An operator puts a node back into service."""

    node: NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldAsked(_Request):
    """An operator keeps balancing away from a node or an MR-cluster, until ``until_us``; 0: until `UnholdAsked`."""

    subject: str
    reason: str
    until_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UnholdAsked(_Request):
    """An operator ends a hold."""

    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowAsked(_Request):
    """An operator gives an MR-cluster ``count`` nodes, or this ``node``.

    It is held until ``until_us``, or balancing would take them back; 0: no hold comes with it.
    """

    cluster: ClusterId
    count: int = 1
    node: NodeId | None = None
    until_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkAsked(_Request):
    """An operator takes ``count`` nodes of an MR-cluster, or this ``node``; see `GrowAsked` for the hold."""

    cluster: ClusterId
    count: int = 1
    node: NodeId | None = None
    until_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveMastersAsked(_Request):
    """An operator wants the masters of an MR-cluster on another of its core nodes.

    ``to`` None: any. ``now``: running jobs are not waited for; they are begun again.
    """

    cluster: ClusterId
    to: NodeId | None = None
    now: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreAsked(_Request):
    """An operator brings an MR-cluster back from its kept copy, on a core node of it; whatever the copy lacks is lost.

    ``dry_run``: only whether that is possible is answered.
    """

    cluster: ClusterId
    to: NodeId | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CopySeen(_Event):
    """A look at whether the masters' data of an MR-cluster is copied; ``error`` says why not, empty when it is."""

    cluster: ClusterId
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSeen(_Event):
    """The view that masters have of one of their nodes, of one generation; told when that has changed."""

    cluster: ClusterId
    node: NodeId
    generation: int
    sight: Sight


@dataclass(frozen=True, slots=True, kw_only=True)
class MastersSeen(_Event):
    """The masters of an MR-cluster answer or not; ``error`` says why nothing is known, empty when they do.

    ``silent`` is the daemon that does not answer: while that is the NameNode, nobody asks the ResourceManager. ``gone``
    are daemons that do not run, by the word of their node a moment ago; empty when all run, or the node does not say.
    ``unasked``: the question never got to them, for the reason in ``error``, so that nothing is known of them.
    """

    cluster: ClusterId
    error: str = ""
    silent: str = ""
    gone: tuple[str, ...] = ()
    unasked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSeen(_Event):
    """An MR-cluster takes writes and applications, or not; told when that has changed, at most every few seconds."""

    cluster: ClusterId
    service: Service


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitSeen(_Event):
    """The work on an effect has waited for the same thing since ``since_us``; told again after twice the time."""

    effect: str
    version: int
    waits_for: str
    since_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StandbySeen(_Event):
    """The standing of the second NameNode of an MR-cluster and its journal; told when that has changed.

    ``ready``: it says that it is a standby that follows, on ``node``, and most nodes of the journal answer. ``error``
    says what is not whole, empty when all is: one node of the journal may be away while it is ready.
    """

    cluster: ClusterId
    node: NodeId
    ready: bool
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeObserved(_Event):
    """The end of the work on a node of one generation; ``error`` says why for held and failed."""

    node: NodeId
    generation: int
    condition: Condition
    error: str = ""
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesSeen(_Event):
    """News of several nodes that came at once, in their order; one decision answers all of it.

    Their own times are those at which they came, ``at_us`` is that of the last.
    """

    seen: tuple[NodeObserved | NodeSeen, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSeen(_Event):
    """The standing of an attempt of a job; told when that has changed."""

    job: JobId
    attempt: int
    seen: Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class JobObserved(_Event):
    """The outcome of an attempt of a job, as a world judged it.

    Only ledgers of earlier versions hold it; ``finished_us`` is YARN's own time, if known.
    """

    job: JobId
    attempt: int
    progress: Progress
    application: str = ""
    started_us: int | None = None
    finished_us: int | None = None
    error: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done(_Event):
    """An effect reached its goal. ``effect`` is its key, ``version`` the version that it had."""

    effect: str
    version: int
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed(_Event):
    """An effect did not reach its goal. ``final``: trying again is useless until somebody changes something."""

    effect: str
    version: int
    error: str
    final: bool = False
    facts: Facts = field(default_factory=dict)


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
    | Seen
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
