"""A picture of the whole state as a value, from which it is made again: it bounds the replay of a ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fawkes.base.values import replace
from fawkes.core.state.state import State, evolve
from fawkes.core.values.decision import Change, PutClosing, PutCluster, PutJob, PutLearned, PutNode, PutPause, PutWake
from fawkes.core.values.model import ClusterId, JobId, NodeLife


@dataclass(frozen=True, slots=True)
class Interval:
    """The capacity that an MR-cluster has held since the last tick: the integral of eq. 2 so far."""

    since_us: int
    at_us: int
    area: int


@dataclass(frozen=True, slots=True)
class Picture:
    """The changes that lead to a state from nothing, and what no change says.

    ``versions`` are the last versions of MR-clusters that are gone, ``stages`` how long the stages of a move take,
    ``handed_us`` is when jobs were handed to YARN; pictures of earlier versions of Fawkes lack them.
    """

    at_us: int
    changes: tuple[Change, ...]
    queue: tuple[ClusterId, ...]
    intervals: Mapping[ClusterId, Interval]
    job_ids: Mapping[ClusterId, tuple[str, ...]]
    grown_us: int
    shrunk_us: int
    versions: Mapping[ClusterId, int] = field(default_factory=dict)
    stages: Mapping[NodeLife, int] = field(default_factory=dict)
    handed_us: Mapping[JobId, int] = field(default_factory=dict)


def picture(state: State) -> Picture:
    """The state as a value."""
    changes: list[Change] = []
    if state.rules is not None:
        changes.append(state.rules)
    changes += [PutNode(node) for node in state.nodes.values()]
    changes += [PutCluster(cluster) for cluster in state.clusters.values()]
    changes += [PutJob(job) for cluster in state.clusters for job in state.jobs_of(cluster).values()]
    changes += state.pending.values()
    changes += state.samples()
    changes += [state.last_tick, PutPause(state.paused)]
    changes += [PutLearned(name, memory) for name, memory in state.learned.items()]
    if state.closing is not None:
        changes.append(PutClosing(state.closing))
    if state.wake_us is not None:
        changes.append(PutWake(state.wake_us))
    if state.clock is not None:
        # What it moved has been moved already.
        changes.append(replace(state.clock, uncounted_us=0))
    return Picture(
        at_us=state.now_us,
        changes=tuple(changes),
        queue=tuple(state.queue),
        intervals={c: Interval(*held) for c, held in state.intervals().items()},
        job_ids={c: tuple(sorted(ids)) for c, ids in state.job_ids().items()},
        grown_us=state.grown_us,
        shrunk_us=state.shrunk_us,
        versions=dict(state.versions()),
        stages=dict(state.stages()),
        handed_us=dict(state.handed_us),
    )


def restored(seen: Picture) -> State:
    """The state of a picture."""
    state = State()
    evolve(state, seen.at_us, seen.changes)
    state.restore(
        queue=seen.queue,
        intervals={c: (interval.since_us, interval.at_us, interval.area) for c, interval in seen.intervals.items()},
        job_ids=seen.job_ids,
        versions=seen.versions,
        moved_us=(seen.grown_us, seen.shrunk_us),
        stages=seen.stages,
        handed_us=seen.handed_us,
    )
    return state
