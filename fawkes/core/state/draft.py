"""A decision in the making: what was changed so far is seen by the steps that follow within the same event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from fawkes.base.values import replace
from fawkes.core.state import backoff
from fawkes.core.state.admitting import Admission
from fawkes.core.state.counts import Held
from fawkes.core.state.members import leave_us, members
from fawkes.core.state.state import State
from fawkes.core.values import decision
from fawkes.core.values.backlog import Waiting
from fawkes.core.values.effects import Effect, Host, Member, Membership, Reply, WakeAt
from fawkes.core.values.lifecycle import ENDED_JOBS, PROMISED, QUEUED, WITH_MASTERS
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
    Reason,
    Role,
)
from fawkes.core.values.proof import Proof
from fawkes.core.values.settings import Settings

_WATCHING = (decision.AddSample, decision.PutTick, decision.PutRules, decision.PutWake, decision.PutClock)


class Draft:
    """Collects the changes, effects and reasons of one event; `finish` makes the Decision."""

    def __init__(self, view: State, at_us: int, rules: decision.PutRules, admission: Admission | None = None) -> None:
        self.view = view
        self.admission = admission
        self.at_us = at_us
        self.rules = rules
        self.reasons: list[Reason] = []
        self.counts = view.counts.copy()
        self.promised = view.promised
        self.paused = view.paused
        self.closing = view.closing
        self.new_timer = False
        self._changes: list[decision.Change] = []
        self._effects: list[Effect] = []
        self._nodes: dict[NodeId, NodeState] = {}
        self._held: dict[ClusterId, Held] = {}
        self._nodes_of: dict[ClusterId, dict[NodeId, None]] = {}
        self._clusters: dict[ClusterId, ClusterState] = {}
        self._jobs: dict[JobId, JobState] = {}
        self._pending: dict[str, decision.PutPending | None] = {}
        self._tick: decision.PutTick | None = None
        self._touched: dict[ClusterId, bool] = {}
        self._put_off: set[str] = set()
        self._smaller: dict[ClusterId, None] = {}
        self._learned: dict[str, Plain] = {}

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.rules.settings

    @property
    def tick(self) -> decision.PutTick:
        """The memory of the last tick."""
        return self._tick or self.view.last_tick

    @property
    def moves_nodes(self) -> bool:
        """True if anything changed on which nodes can be handed out or MR-clusters admitted."""
        return bool(self._nodes or self._clusters or self._tick) or self.paused != self.view.paused

    def node(self, node: NodeId) -> NodeState:
        """A node as this decision has it so far."""
        return self._nodes.get(node) or self.view.nodes[node]

    def known_node(self, node: NodeId) -> NodeState | None:
        """A node as this decision has it so far; None when the pool has none of this name."""
        return self._nodes.get(node) or self.view.nodes.get(node)

    def changed_nodes(self) -> Mapping[NodeId, NodeState]:
        """The nodes that this decision has changed so far."""
        return self._nodes

    def changed_clusters(self) -> Set[ClusterId]:
        """The MR-clusters that this decision has changed so far, themselves or by their nodes."""
        return self._held.keys() | self._clusters.keys()

    def cluster(self, cluster: ClusterId) -> ClusterState | None:
        """An MR-cluster as this decision has it so far; None when it is gone or was never requested."""
        state = self._clusters.get(cluster) or self.view.clusters.get(cluster)
        return None if state is None or state.life is ClusterLife.GONE else state

    def clusters(self) -> Iterator[ClusterState]:
        """All MR-clusters as this decision has them so far, in the order of their requests: for ticks and starts."""
        known = [*self.view.clusters, *(c for c in self._clusters if c not in self.view.clusters)]
        return (state for state in map(self.cluster, known) if state is not None)

    def changed_jobs(self) -> Mapping[JobId, JobState]:
        """The jobs that this decision has changed so far."""
        return self._jobs

    def queue(self) -> Iterator[ClusterState]:
        """The MR-clusters that wait for nodes, first come first. Whoever reads the head alone pays for that alone."""
        stored = self.view.queue
        for known in (stored, [c for c in self._clusters if c not in stored]):
            states = map(self.cluster, known)
            yield from (state for state in states if state is not None and state.life in QUEUED)

    def emptied(self) -> list[ClusterState]:
        """The MR-clusters that lost their last node by this decision."""
        empty = [c for c in self._smaller if self.held(c).nodes == 0]
        return [state for state in map(self.cluster, empty) if state is not None]

    def held(self, cluster: ClusterId) -> Held:
        """The numbers of nodes of an MR-cluster by what they are."""
        return self._held.get(cluster) or self.view.held(cluster)

    def nodes_of(self, cluster: ClusterId) -> list[NodeState]:
        """The nodes that an MR-cluster holds physically, by id."""
        stored, changed = self.view.nodes, self._nodes
        mine = self._nodes_of.get(cluster)
        if mine is None:
            return [stored[n] for n in sorted(self.view.nodes_of(cluster))]
        ids = [n for n in self.view.nodes_of(cluster) if n not in changed]
        ids += mine
        return [changed.get(n) or stored[n] for n in sorted(ids)]

    def job(self, job: JobId) -> JobState | None:
        """A job as this decision has it so far; None when it has ended or there never was one."""
        state = self._jobs.get(job) or self.view.jobs.get(job)
        return None if state is None or state.life in ENDED_JOBS else state

    def jobs_of(self, cluster: ClusterId) -> list[JobState]:
        """The jobs of an MR-cluster that have not ended, in the order of their submission."""
        stored = self.view.jobs_of(cluster)
        if not self._jobs:
            return list(stored.values())
        mine = dict(stored)
        mine.update((j, state) for j, state in self._jobs.items() if state.cluster == cluster)
        return [state for state in mine.values() if state.life not in ENDED_JOBS]

    def busy_of(self, cluster: ClusterId) -> list[JobState]:
        """Those of the jobs that were handed to YARN, in any order."""
        changed = [job for job in self._changed_jobs(cluster) if job.life is not JobLife.QUEUED]
        return self._unchanged(self.view.backlog(cluster).busy) + changed

    def referenced_of(self, cluster: ClusterId) -> list[JobState]:
        """Those of the jobs that have a reference time, in any order."""
        changed = [job for job in self._changed_jobs(cluster) if job.spec.reference_us]
        return self._unchanged(self.view.backlog(cluster).referenced) + changed

    def waiting_of(self, cluster: ClusterId) -> Waiting:
        """Sums over those of the jobs that are in the queue; to be read, never changed."""
        stored = self.view.backlog(cluster)
        if not self._jobs:
            return stored.waiting
        sums = stored.waiting.copy()
        for job in self._jobs.values():
            if job.cluster == cluster:
                old = stored.jobs.get(job.id)
                if old is not None:
                    sums.count(old, -1)
                sums.count(job, +1)
        return sums

    def head_of(self, cluster: ClusterId) -> JobState | None:
        """The first job in the queue of an MR-cluster; None when no job waits."""
        stored = self.view.backlog(cluster).head(self._jobs)
        if not self._jobs:
            return stored
        queued = [job for job in self._changed_jobs(cluster) if job.life is JobLife.QUEUED]
        return min(queued if stored is None else [stored, *queued], key=lambda job: job.place, default=None)

    def _unchanged(self, stored: Mapping[JobId, JobState]) -> list[JobState]:
        return [job for job in stored.values() if job.id not in self._jobs] if self._jobs else list(stored.values())

    def _changed_jobs(self, cluster: ClusterId) -> list[JobState]:
        return [job for job in self._jobs.values() if job.cluster == cluster and job.life not in ENDED_JOBS]

    def learned(self, cluster: str) -> Plain:
        """The admission policy's memory; None before it has learned anything."""
        return self._learned[cluster] if cluster in self._learned else self.view.learned.get(cluster)

    def pending(self, key: str) -> decision.PutPending | None:
        """Everything under way for this key."""
        return self._pending[key] if key in self._pending else self.view.pending.get(key)

    def say(self, code: str, /, **facts: object) -> Reason:
        """Give a reason."""
        reason = Reason(code, facts)
        self.reasons.append(reason)
        return reason

    def say_again(self, effect: str, tries: int) -> None:
        """Tell that an effect is asked for once more, if that is news."""
        if backoff.is_told(tries):
            self.say("asked-again", effect=effect, tries=tries)

    def change(self, change: decision.Change) -> None:
        """Any change that needs no overlay here."""
        if isinstance(change, decision.PutTick):
            self._tick = change
        elif isinstance(change, decision.PutPause):
            self.paused = change.reason
        elif isinstance(change, decision.PutClosing):
            self.closing = change.closing
        elif isinstance(change, decision.PutLearned):
            self._learned[change.cluster] = change.memory
        self._changes.append(change)

    def put_node(self, state: NodeState) -> None:
        """A node is different from now on."""
        name = state.node.id
        old = self._nodes.get(name) or self.view.nodes.get(name)
        if old is not None:
            self._count(old, -1)
        self._count(state, +1)
        self._nodes[name] = state
        self._changes.append(decision.PutNode(state))

    def _count(self, state: NodeState, sign: int) -> None:
        self.counts.add(state, sign)
        if state.owner is None:
            return
        held = self._held.get(state.owner)
        if held is None:
            held = self._held[state.owner] = self.view.held(state.owner).copy()
        held.add(state, sign)
        mine = self._nodes_of.setdefault(state.owner, {})
        if sign > 0:
            mine[state.node.id] = None
        else:
            mine.pop(state.node.id, None)
            self._smaller[state.owner] = None

    def put_cluster(self, state: ClusterState) -> None:
        """An MR-cluster is different from now on; a new life begins at the time of the event."""
        old = self.cluster(state.id)
        if old is not None and old.life is not state.life:
            state = replace(state, since_us=self.at_us)
        for known, sign in ((old, -1), (state, +1)):
            if known is not None and known.life in PROMISED:
                self.promised += sign * known.spec.min_nodes
        self._clusters[state.id] = state
        self._changes.append(decision.PutCluster(state))

    def put_job(self, state: JobState) -> None:
        """A job is different from now on."""
        self._jobs[state.id] = state
        self._changes.append(decision.PutJob(state))

    def act(self, effect: Effect, *, within_us: int, version: int = 0, tries: int = 1) -> None:
        """Start an effect and expect its end within ``within_us``."""
        self._effects.append(effect)
        self.expect(effect.key, within_us, effect=effect, version=version, tries=tries)

    def expect(
        self, key: str, within_us: int, *, effect: Effect | None = None, version: int = 0, tries: int = 1
    ) -> None:
        """Note a deadline; with an effect, the effect that is started again after a restart."""
        pending = decision.PutPending(key, version, self.at_us + within_us, effect, tries)
        self._pending[key] = pending
        self._changes.append(pending)

    def try_again(self, key: str) -> None:
        """The next try of an effect comes after a wait that doubles, not only at its deadline."""
        pending = self.pending(key)
        if pending is not None:
            wait_us = backoff.wait_us(self.settings, pending.tries)
            self.expect(key, wait_us, effect=pending.effect, version=pending.version, tries=pending.tries)

    def later(self, pending: decision.PutPending) -> None:
        """Try something that has failed again, after a wait that doubles with each try."""
        wait_us = backoff.wait_us(self.settings, pending.tries)
        self.expect(pending.key, wait_us, effect=pending.effect, version=pending.version, tries=pending.tries)

    def put_off(self, pending: decision.PutPending, by_us: int) -> None:
        """Move a deadline away: time has passed that does not count."""
        self._pending[pending.key] = later = replace(pending, deadline_us=pending.deadline_us + by_us)
        self._put_off.add(pending.key)
        self._changes.append(later)

    def effect(self, effect: Effect) -> None:
        """An effect that nothing is expected of."""
        self._effects.append(effect)

    def again(self, pending: decision.PutPending) -> None:
        """Start an effect again that was stored before."""
        if pending.effect is not None:
            self._effects.append(pending.effect)

    def settle(self, key: str) -> None:
        """Ends what was pending for this key."""
        if self.pending(key) is not None:
            self._pending[key] = None
            self._changes.append(decision.DropPending(key))

    def reply(self, ask: str, refused: Reason | None = None, **facts: object) -> None:
        """Answer whoever asked; nobody may have."""
        if refused is not None:
            self.reasons.append(refused)
        if ask:
            self._effects.append(Reply(ask, refused, facts))

    def touch(self, cluster: ClusterId, *, afresh: bool = False) -> None:
        """The membership of this MR-cluster is to be written again; ``afresh``: the masters forgot what they knew."""
        self._touched[cluster] = self._touched.get(cluster, False) or afresh

    def host(self, state: NodeState, role: Role | None, cluster: ClusterId, *, within_us: int) -> None:
        """Say what should run on a node, as it is by now: one that stored data is wiped only with a proof."""
        effect = Host(
            state.node.id,
            cluster,
            role,
            state.generation,
            leaving=role is not None and (state.leaving or state.life is NodeLife.EVACUATING),
            proof=self._proof(state, cluster) if role is None else None,
        )
        self.act(effect, within_us=within_us, version=state.generation)

    def _proof(self, state: NodeState, cluster: ClusterId) -> Proof | None:
        owner = self.cluster(cluster)
        serves = owner is not None and owner.life in WITH_MASTERS
        return Proof(state.missing_before) if serves and state.stores and not state.discard else None

    def members(self, cluster: ClusterId) -> dict[NodeId, Member]:
        """The membership document of an MR-cluster as this decision has it so far."""
        return members(self.nodes_of(cluster), self.settings)

    def leave_us(self, role: Role | None) -> int:
        """The graceful time of a node that leaves."""
        return leave_us(role, self.settings)

    def finish(self) -> decision.Decision:
        """The decision: membership documents of all that was touched, and the timer, come last."""
        for cluster, afresh in self._touched.items():
            self._write_membership(cluster, afresh)
        if self.rules.shadow:
            self._only_watch()
        self._set_timer()
        return decision.Decision(tuple(self._changes), tuple(self._effects), tuple(self.reasons))

    def _only_watch(self) -> None:
        """Keeps what a shadow run may: what it saw and what it would have done, new free nodes, answers, its tick."""
        self._changes = [change for change in self._changes if self._is_watching(change)]
        self._effects = [effect for effect in self._effects if isinstance(effect, Reply)]
        self._pending = {key: pending for key, pending in self._pending.items() if key == "tick"}

    def _is_watching(self, change: decision.Change) -> bool:
        if isinstance(change, decision.PutNode):
            return change.state.node.id not in self.view.nodes and change.state.life is NodeLife.FREE
        return isinstance(change, _WATCHING) or (
            isinstance(change, decision.PutPending) and change.key in {"tick", *self._put_off}
        )

    def _write_membership(self, cluster: ClusterId, afresh: bool) -> None:
        state = self.cluster(cluster)
        if state is None or state.life not in WITH_MASTERS or state.life is ClusterLife.DEPLOYING:
            return
        if state.moving is not None and state.moving.begun:
            # There are no masters to be told: those to come are told all when they serve.
            return
        state = replace(state, version=state.version + 1)
        self.put_cluster(state)
        effect = Membership(cluster, state.version, afresh=afresh)
        late = self.pending(effect.key)
        tries = late.tries + 1 if late is not None and late.deadline_us <= self.at_us else 1
        within_us = self.settings.membership_us * 2 ** min(tries - 1, 5)
        self.act(effect, within_us=within_us, version=state.version, tries=tries)

    def _set_timer(self) -> None:
        """The earliest deadline; said again when the timer went off or may have been lost with its engine."""
        due = min(self._deadlines(), default=None)
        if due is not None and (self.new_timer or due != self.view.wake_us):
            self._changes.append(decision.PutWake(due))
            self._effects.append(WakeAt(due))

    def _deadlines(self) -> list[int]:
        deadlines = [pending.deadline_us for pending in self._pending.values() if pending is not None]
        if not self.rules.shadow:
            stored_us = self.view.earliest_us(self._pending.keys())
            return deadlines if stored_us is None else [*deadlines, stored_us]
        stored = self.view.pending.get("tick") if "tick" not in self._pending else None
        return deadlines if stored is None else [*deadlines, stored.deadline_us]
