"""A decision: what changes in the ledger, what should be in the world, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from fawkes.core.values.effects import Effect
from fawkes.core.values.model import (
    ClusterId,
    ClusterState,
    JobState,
    NodeId,
    NodeState,
    Plain,
    Reason,
    Sample,
)
from fawkes.core.values.settings import Settings
from fawkes.core.values.sight import Work


@dataclass(frozen=True, slots=True)
class Closing:
    """The whole pool is to be given back: who asked, and how far that is.

    ``surveyed`` are the MR-clusters whose survey was answered, ``answered_us`` when each of these was, ``refusals``
    what the answers say against it. ``asked_us`` is when somebody asked. Once it is ``agreed``, every MR-cluster goes.
    """

    by: str
    ask: str
    discard: bool = False
    force: bool = False
    dry_run: bool = False
    surveyed: tuple[ClusterId, ...] = ()
    refusals: tuple[Reason, ...] = ()
    agreed: bool = False
    asked_us: int = 0
    answered_us: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PutNode:
    """This is what is known of the node from now on."""

    state: NodeState


@dataclass(frozen=True, slots=True)
class PutCluster:
    """This is what is known of the MR-cluster from now on; one that is gone leaves the state."""

    state: ClusterState


@dataclass(frozen=True, slots=True)
class PutJob:
    """This is what is known of the job from now on; one that has ended leaves the state."""

    state: JobState


@dataclass(frozen=True, slots=True)
class PutPending:
    """An effect is under way; its answer is expected before the deadline."""

    key: str
    version: int
    deadline_us: int
    effect: Effect | None = None
    tries: int = 1


@dataclass(frozen=True, slots=True)
class DropPending:
    """An effect is no longer under way."""

    key: str


@dataclass(frozen=True, slots=True)
class AddSample:
    """One more sample of an MR-cluster; samples older than ``keep_from_us`` are dropped, but for the last of them.

    ``work`` has since when each attempt of a job is as it is, ``strays`` since when each stray task was seen.
    """

    cluster: ClusterId
    sample: Sample
    keep_from_us: int
    waiting_in_yarn: int
    node_bytes: Mapping[NodeId, int]
    node_masters: Mapping[NodeId, int]
    work: tuple[Work, ...] = ()
    strays: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PutTick:
    """The result of a tick, or of an admission, for the following events.

    ``targets`` are whole nodes, ``weights`` sum to 1 or are empty (undefined), ``over`` counts the ticks in a row
    above the threshold, ``moved_us`` are the times at which voluntary moves began within the budget's window. ``loads``
    are what `core.weighing` keeps of each MR-cluster; none unless moves must pay.
    """

    tick: int
    at_us: int
    targets: Mapping[ClusterId, int]
    weights: Mapping[ClusterId, float]
    over: int
    reconfigurations: int
    moved_us: tuple[int, ...]
    memory: Mapping[ClusterId, Plain]
    measured: bool
    loads: Mapping[ClusterId, Plain] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PutLearned:
    """The admission policy's memory from now on of the jobs of an MR-cluster; of those of all: an empty name."""

    cluster: str
    memory: Plain


@dataclass(frozen=True, slots=True)
class PutPause:
    """Voluntary moves are stopped (a reason) or allowed (empty)."""

    reason: str


@dataclass(frozen=True, slots=True)
class PutClosing:
    """The whole pool is to be given back, or (None) is not."""

    closing: Closing | None


@dataclass(frozen=True, slots=True)
class PutRules:
    """The engine that is in charge, and its settings; from the last `Started`.

    ``admission`` is the SHA-256 of the policy that lets jobs in, ``remembers`` that of the one that weighs if it has a
    memory; empty without one. ``first_generation``: see `events.Started`.
    """

    version: str
    pool: str
    epoch: int
    controller: str
    settings: Settings
    shadow: bool
    admission: str = ""
    first_generation: int = 0
    remembers: str = ""


@dataclass(frozen=True, slots=True)
class PutWake:
    """The time at which the timer goes off."""

    at_us: int


@dataclass(frozen=True, slots=True)
class PutClock:
    """The machine's clock was set by ``by_us``, or nobody looked; ``uncounted_us`` have passed that do not count."""

    at_us: int
    by_us: int
    uncounted_us: int


Change = (
    PutNode
    | PutCluster
    | PutJob
    | PutPending
    | DropPending
    | AddSample
    | PutTick
    | PutLearned
    | PutPause
    | PutClosing
    | PutRules
    | PutWake
    | PutClock
)
CHANGES: tuple[type[Change], ...] = get_args(Change)


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of one event: changes, effects and reasons. ``reasons`` cover every move and every refusal."""

    changes: tuple[Change, ...] = ()
    effects: tuple[Effect, ...] = ()
    reasons: tuple[Reason, ...] = ()
