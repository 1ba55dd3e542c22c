"""The state of the ledger and `evolve`, the one place that changes it.

The engine owns the one State. Deciding, worlds and reports read it and never change it; `tests/arch` holds that. The
indexes are kept here, so that a step costs what it touches: no function below walks the whole pool.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from fawkes.base.units import SECOND_US
from fawkes.base.values import replace
from fawkes.core.state.counts import (
    Counts,
    FreeIds,
    Held,
    Place,
    Ranked,
    can_be_given,
    lack,
    place,
    short_of_core,
    surplus,
)
from fawkes.core.values import decision
from fawkes.core.values.backlog import Backlog
from fawkes.core.values.lifecycle import ENDED_JOBS, PROMISED, QUEUED
from fawkes.core.values.model import (
    ClusterId,
    ClusterLife,
    ClusterState,
    JobId,
    JobLife,
    JobState,
    NodeId,
    NodeLife,
    NodeState,
    Plain,
    Role,
)
from fawkes.core.values.window import Window

NO_TICK = decision.PutTick(
    tick=0,
    at_us=0,
    targets={},
    weights={},
    over=0,
    reconfigurations=0,
    moved_us=(),
    memory={},
    measured=False,
)

_NOTHING_HELD = Held()
_NO_JOBS = Backlog()
#: when something happened that never did: a simulated run begins at 0, and nothing has to settle then
_LONG_AGO_US = -(10**18)
#: the stages of a move that are timed, each by how it ends when all goes well
_STAGES = frozenset(
    {
        (NodeLife.JOINING, NodeLife.SERVING),
        (NodeLife.DRAINING, NodeLife.EVACUATING),
        (NodeLife.DRAINING, NodeLife.CLEANING),
        (NodeLife.EVACUATING, NodeLife.CLEANING),
        (NodeLife.CLEANING, NodeLife.FREE),
    }
)
#: the latest of so many counts as much as all before
_RECENT = 8


@dataclass(slots=True)
class Holding:
    """The nodes of one MR-cluster, their capacity, and the integral of it since ``since_us`` (eq. 2)."""

    since_us: int
    at_us: int
    nodes: set[NodeId] = field(default_factory=set)
    held: Held = field(default_factory=Held)
    capacity_milli: int = 0
    area: int = 0

    def advance(self, at_us: int) -> None:
        """Integrate the capacity held up to ``at_us`` (thousandths times microseconds, exact)."""
        if at_us > self.at_us:
            self.area += self.capacity_milli * (at_us - self.at_us)
            self.at_us = at_us

    def restart(self, at_us: int) -> None:
        """Begin a new interval."""
        self.area, self.since_us, self.at_us = 0, at_us, at_us


class State:
    """The state of one pool. Only `evolve` changes it."""

    def __init__(self) -> None:
        self.now_us = 0
        #: None before the first `Started`
        self.rules: decision.PutRules | None = None
        self.nodes: dict[NodeId, NodeState] = {}
        #: those that are not gone, in the order of their requests
        self.clusters: dict[ClusterId, ClusterState] = {}
        #: those that have not ended
        self.jobs: dict[JobId, JobState] = {}
        #: when the latest attempt of each was handed to YARN, for those of which it was
        self.handed_us: dict[JobId, int] = {}
        self.pending: dict[str, decision.PutPending] = {}
        self.counts = Counts()
        #: the nodes that can be handed out
        self.free_at: dict[Place, FreeIds] = {}
        self.queue: dict[ClusterId, None] = {}
        #: the sum of the minimums that are promised
        self.promised = 0
        #: when a transient or transient-core node last began to serve, and when a node was last seen clean
        self.grown_us = _LONG_AGO_US
        self.shrunk_us = _LONG_AGO_US
        self.last_tick = NO_TICK
        #: by `counts.lack`: who lacks most comes first
        self.needy = Ranked()
        #: by `counts.surplus`: who could give most nodes that may be core nodes comes first
        self.donors = Ranked()
        #: running MR-clusters of which fewer core nodes stay than their minimum
        self.short: dict[ClusterId, None] = {}
        #: why voluntary moves are stopped
        self.paused = ""
        self.closing: decision.Closing | None = None
        self.clock: decision.PutClock | None = None
        self.wake_us: int | None = None
        #: the admission policy's memory of each MR-cluster's jobs; that of all together has an empty name
        self.learned: dict[str, Plain] = {}
        self._holdings: dict[ClusterId, Holding] = {}
        self._backlogs: dict[ClusterId, Backlog] = {}
        self._job_ids: dict[ClusterId, set[str]] = {}
        self._versions: dict[ClusterId, int] = {}
        self._windows: dict[ClusterId, deque[decision.AddSample]] = {}
        self._latest: dict[ClusterId, decision.AddSample] = {}
        self._deadlines: list[tuple[int, str]] = []
        self._unranked: dict[ClusterId, None] = {}
        self._took_us: dict[NodeLife, int] = {}

    def nodes_of(self, cluster: ClusterId) -> Set[NodeId]:
        """The nodes that an MR-cluster holds physically."""
        holding = self._holdings.get(cluster)
        return holding.nodes if holding else frozenset()

    def held(self, cluster: ClusterId) -> Held:
        """The numbers of nodes of an MR-cluster by what they are."""
        holding = self._holdings.get(cluster)
        return holding.held if holding else _NOTHING_HELD

    def mean_held_milli(self, cluster: ClusterId, at_us: int) -> float:
        """The mean capacity held since the last tick, in thousandths."""
        holding = self._holdings.get(cluster)
        if holding is None:
            return 0.0
        span = at_us - holding.since_us
        if span <= 0:
            return float(holding.capacity_milli)
        return (holding.area + holding.capacity_milli * (at_us - holding.at_us)) / span

    def jobs_of(self, cluster: ClusterId) -> Mapping[JobId, JobState]:
        """The jobs of an MR-cluster that have not ended, in the order of their submission."""
        return self.backlog(cluster).jobs

    def backlog(self, cluster: ClusterId) -> Backlog:
        """The same jobs, with the head of their queue."""
        return self._backlogs.get(cluster, _NO_JOBS)

    def had_job(self, cluster: ClusterId, job: JobId) -> bool:
        """True if an MR-cluster was ever given a job of this id; large and small letters are one, as in YARN's tags."""
        return job.lower() in self._job_ids.get(cluster, ())

    def first_version(self, cluster: ClusterId) -> int:
        """The version with which a new MR-cluster of this name begins.

        It is above every version of its predecessors, so that no late answer about them is taken for one about it; 0
        for a name that was never used.
        """
        return self._versions[cluster] + 1 if cluster in self._versions else 0

    def window(self, cluster: ClusterId, since_us: int, base_us: int | None = None) -> Window:
        """The samples after ``since_us``, and the last one before them that is after ``base_us`` (None: any)."""
        kept = [entry.sample for entry in self._windows.get(cluster, ())]
        within = tuple(sample for sample in kept if sample.at_us > since_us)
        older = kept[: len(kept) - len(within)]
        recent = [sample for sample in older[-1:] if base_us is None or sample.at_us > base_us]
        return Window(cluster, within, recent[0] if recent else None)

    def latest(self, cluster: ClusterId) -> decision.AddSample | None:
        """The latest reading; None before the first."""
        return self._latest.get(cluster)

    def took_s(self, life: NodeLife) -> float | None:
        """The time in a stage of a move, a mean in which late nodes count more; None before the first."""
        took_us = self._took_us.get(life)
        return None if took_us is None else took_us / SECOND_US

    def due(self, at_us: int) -> list[decision.PutPending]:
        """Everything pending with a deadline not after ``at_us``, earliest first."""
        soonest: dict[str, decision.PutPending] = {}
        while self._deadlines and self._deadlines[0][0] <= at_us:
            deadline, key = heapq.heappop(self._deadlines)
            pending = self.pending.get(key)
            if pending is not None and pending.deadline_us == deadline:
                soonest[key] = pending
        for key, pending in soonest.items():
            heapq.heappush(self._deadlines, (pending.deadline_us, key))
        return list(soonest.values())

    def earliest_us(self, without: Set[str]) -> int | None:
        """The earliest deadline of what is pending, less the keys in ``without``."""
        skipped = []
        earliest = None
        while self._deadlines:
            deadline, key = self._deadlines[0]
            pending = self.pending.get(key)
            if pending is None or pending.deadline_us != deadline:
                heapq.heappop(self._deadlines)
            elif key in without:
                skipped.append(heapq.heappop(self._deadlines))
            else:
                earliest = deadline
                break
        for entry in skipped:
            heapq.heappush(self._deadlines, entry)
        return earliest

    def _holding(self, cluster: ClusterId) -> Holding:
        holding = self._holdings.get(cluster)
        if holding is None:
            holding = self._holdings[cluster] = Holding(self.now_us, self.now_us)
        return holding

    def put_node(self, new: NodeState) -> None:
        """Replace a node and move it between the indexes."""
        old = self.nodes.get(new.node.id)
        if old is not None:
            self._count(old, -1)
            if old.life is NodeLife.JOINING and new.life is NodeLife.SERVING and new.role is not Role.CORE:
                self.grown_us = self.now_us
            if old.life is NodeLife.CLEANING and new.life is NodeLife.FREE:
                self.shrunk_us = self.now_us
            self._time(old, new)
        self.nodes[new.node.id] = new
        self._count(new, +1)

    def _time(self, old: NodeState, new: NodeState) -> None:
        """Note how long a stage of a move took, when moves must pay."""
        if (old.life, new.life) not in _STAGES or self.rules is None or not self.rules.settings.moves_must_pay:
            return
        if self.clock is not None and old.since_us < self.clock.at_us:
            # Time that does not count has passed meanwhile.
            return
        took_us = self.now_us - old.since_us
        known_us = self._took_us.get(old.life)
        self._took_us[old.life] = took_us if known_us is None else known_us + (took_us - known_us) // _RECENT

    def stages(self) -> Mapping[NodeLife, int]:
        """The time that the stages of a move take, in microseconds."""
        return self._took_us

    def _count(self, state: NodeState, sign: int) -> None:
        self.counts.add(state, sign)
        if can_be_given(state):
            free = self.free_at.setdefault(place(state.node), FreeIds())
            (free.add if sign > 0 else free.discard)(state.node.id)
        if state.owner is not None:
            holding = self._holding(state.owner)
            holding.advance(self.now_us)
            holding.capacity_milli += sign * state.node.capacity_milli
            holding.held.add(state, sign)
            (holding.nodes.add if sign > 0 else holding.nodes.discard)(state.node.id)
            self._unranked[state.owner] = None

    def put_cluster(self, new: ClusterState) -> None:
        """Replace an MR-cluster; one that is gone leaves with all that was kept for it."""
        old = self.clusters.get(new.id)
        self._unranked[new.id] = None
        self.promised += _promise(new) - (0 if old is None else _promise(old))
        if new.life not in QUEUED:
            self.queue.pop(new.id, None)
        elif new.id not in self.queue:
            self.queue[new.id] = None
        if new.life is ClusterLife.GONE:
            self._versions[new.id] = new.version
            self._forget(new.id)
            return
        self.clusters[new.id] = new
        if new.active and not (old and old.active):
            self._holding(new.id).restart(self.now_us)

    def _forget(self, cluster: ClusterId) -> None:
        """A later MR-cluster of the same name must not find targets or a memory of this one."""
        self.clusters.pop(cluster, None)
        self.learned.pop(cluster, None)
        for kept in (self._holdings, self._backlogs, self._job_ids, self._windows, self._latest):
            kept.pop(cluster, None)
        last = self.last_tick
        if cluster in last.targets or cluster in last.memory:
            self.last_tick = replace(
                last,
                targets={c: n for c, n in last.targets.items() if c != cluster},
                memory={c: kept for c, kept in last.memory.items() if c != cluster},
            )

    def put_job(self, new: JobState) -> None:
        """Replace a job; one that has ended leaves, but its id stays taken while its MR-cluster lives."""
        self._backlogs.setdefault(new.cluster, Backlog()).put(new)
        self._job_ids.setdefault(new.cluster, set()).add(new.id.lower())
        if new.life in ENDED_JOBS:
            self.jobs.pop(new.id, None)
            self.handed_us.pop(new.id, None)
            return
        old = self.jobs.get(new.id)
        self.jobs[new.id] = new
        begins = old is None or (old.life, old.attempt) != (new.life, new.attempt)
        if new.life is JobLife.STARTING and begins:
            self.handed_us[new.id] = self.now_us
        elif old is not None and new.id in self.handed_us:
            # The times of a job move together (`core.deciding.clock`).
            self.handed_us[new.id] += new.submitted_us - old.submitted_us

    def put_pending(self, new: decision.PutPending) -> None:
        """Note a deadline; the heap forgets older ones of the key when they come up, or when they are too many."""
        self.pending[new.key] = new
        heapq.heappush(self._deadlines, (new.deadline_us, new.key))
        if len(self._deadlines) > 2 * len(self.pending) + 64:
            self._deadlines = [(pending.deadline_us, key) for key, pending in self.pending.items()]
            heapq.heapify(self._deadlines)

    def drop_pending(self, change: decision.DropPending) -> None:
        """Forget what was pending under this key."""
        self.pending.pop(change.key, None)

    def add_sample(self, change: decision.AddSample) -> None:
        """Add a sample and drop those that are too old: of these the last is kept, the windows to come grow from it."""
        kept = self._windows.setdefault(change.cluster, deque())
        kept.append(change)
        while len(kept) > 1 and kept[1].sample.at_us <= change.keep_from_us:
            kept.popleft()
        self._latest[change.cluster] = change

    def put_tick(self, change: decision.PutTick) -> None:
        """Remember a tick; a measured one begins a new interval of eq. 2."""
        self._unranked.update(dict.fromkeys([*self.last_tick.targets, *change.targets]))
        self.last_tick = change
        if change.measured:
            for holding in self._holdings.values():
                holding.restart(self.now_us)

    def put_clock(self, change: decision.PutClock) -> None:
        """Move along what durations are measured from and no other change says: samples, rests, intervals of eq. 2."""
        self.clock = change
        by_us = change.uncounted_us
        if not by_us:
            return
        self._latest = {c: _later(sample, by_us) for c, sample in self._latest.items()}
        self._windows = {c: deque(_later(row, by_us) for row in kept) for c, kept in self._windows.items()}
        self.grown_us += by_us
        self.shrunk_us += by_us
        for holding in self._holdings.values():
            holding.since_us += by_us
            holding.at_us += by_us

    def rank(self) -> None:
        """Put the MR-clusters that were touched at their places among the others."""
        for name in self._unranked:
            cluster, held = self.clusters.get(name), self.held(name)
            self.needy.put(name, lack(cluster, held, self.last_tick.targets.get(name)))
            self.donors.put(name, surplus(cluster, held))
            master = self.nodes.get(cluster.master) if cluster is not None and cluster.master is not None else None
            if short_of_core(cluster, held, master):
                self.short[name] = None
            else:
                self.short.pop(name, None)
        self._unranked.clear()

    def samples(self) -> list[decision.AddSample]:
        """Every sample that a window still has."""
        return [sample for kept in self._windows.values() for sample in kept]

    def intervals(self) -> dict[ClusterId, tuple[int, int, int]]:
        """The interval of eq. 2 so far of each MR-cluster: since when, until when, integral."""
        return {c: (held.since_us, held.at_us, held.area) for c, held in self._holdings.items()}

    def job_ids(self) -> Mapping[ClusterId, Set[str]]:
        """The ids of all jobs that each MR-cluster was ever given."""
        return self._job_ids

    def versions(self) -> Mapping[ClusterId, int]:
        """The last version of each MR-cluster that is gone, by name: one number for each name, kept for ever."""
        return self._versions

    def restore(
        self,
        *,
        queue: Iterable[ClusterId],
        intervals: Mapping[ClusterId, tuple[int, int, int]],
        job_ids: Mapping[ClusterId, Iterable[str]],
        versions: Mapping[ClusterId, int],
        moved_us: tuple[int, int],
        stages: Mapping[NodeLife, int],
        handed_us: Mapping[JobId, int],
    ) -> None:
        """Put back what no change says (`core.picture`)."""
        self.queue = dict.fromkeys(queue)
        self._job_ids = {cluster: set(ids) for cluster, ids in job_ids.items()}
        self._versions = dict(versions)
        self.grown_us, self.shrunk_us = moved_us
        self._took_us = dict(stages)
        self.handed_us = dict(handed_us)
        for cluster, (since_us, at_us, area) in intervals.items():
            holding = self._holding(cluster)
            holding.since_us, holding.at_us, holding.area = since_us, at_us, area

    def apply(self, change: decision.Change) -> None:
        """Apply one change."""
        match change:
            case decision.PutNode():
                self.put_node(change.state)
            case decision.PutCluster():
                self.put_cluster(change.state)
            case decision.PutJob():
                self.put_job(change.state)
            case decision.PutPending():
                self.put_pending(change)
            case decision.DropPending():
                self.drop_pending(change)
            case decision.AddSample():
                self.add_sample(change)
            case _:
                self.apply_rest(change)

    def apply_rest(
        self,
        change: decision.PutTick
        | decision.PutLearned
        | decision.PutPause
        | decision.PutClosing
        | decision.PutRules
        | decision.PutWake
        | decision.PutClock,
    ) -> None:
        """Apply a change of which there is one in the whole state."""
        match change:
            case decision.PutTick():
                self.put_tick(change)
            case decision.PutLearned():
                self.learned[change.cluster] = change.memory
            case decision.PutPause():
                self.paused = change.reason
            case decision.PutClosing():
                self.closing = change.closing
            case decision.PutRules():
                self.rules = change
            case decision.PutWake():
                self.wake_us = change.at_us
            case decision.PutClock():
                self.put_clock(change)


def _later(sample: decision.AddSample, by_us: int) -> decision.AddSample:
    """The same sample, by so much later."""
    moved = replace(sample.sample, at_us=sample.sample.at_us + by_us)
    work = tuple(replace(row, since_us=row.since_us + by_us) for row in sample.work)
    strays = {name: since_us + by_us for name, since_us in sample.strays.items()}
    return replace(sample, sample=moved, keep_from_us=sample.keep_from_us + by_us, work=work, strays=strays)


def _promise(cluster: ClusterState) -> int:
    return cluster.spec.min_nodes if cluster.life in PROMISED else 0


def evolve(state: State, at_us: int, changes: Iterable[decision.Change]) -> None:
    """Apply the changes of one decision, in order; ``at_us`` is the time of its event."""
    state.now_us = max(state.now_us, at_us)
    for change in changes:
        state.apply(change)
    state.rank()
