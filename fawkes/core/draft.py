"""A decision in the making: what was changed so far is seen by the steps that follow within the same event."""

from __future__ import annotations

from dataclasses import replace

from fawkes.core.decision import (
    AddSample,
    Change,
    Decision,
    DropPending,
    PutCluster,
    PutJob,
    PutNode,
    PutPending,
    PutRules,
    PutTick,
    PutWake,
)
from fawkes.core.effects import Effect, Goal, Host, Member, Membership, Reply, WakeAt
from fawkes.core.lifecycle import WITH_MASTERS
from fawkes.core.model import (
    ClusterId,
    ClusterLife,
    ClusterState,
    JobId,
    JobState,
    NodeId,
    NodeLife,
    NodeState,
    Reason,
    Role,
)
from fawkes.core.settings import Settings
from fawkes.core.state import View

_WATCHING = (AddSample, PutTick, PutRules, PutWake)
_GOALS = {
    NodeLife.JOINING: Goal.SERVING,
    NodeLife.SERVING: Goal.SERVING,
    NodeLife.LOST: Goal.SERVING,
    NodeLife.DRAINING: Goal.DRAINING,
    NodeLife.EVACUATING: Goal.EVACUATING,
}


class Draft:
    """Collects the changes, effects and reasons of one event; `finish` makes the Decision."""

    def __init__(self, view: View, at_us: int, rules: PutRules) -> None:
        self.view = view
        self.at_us = at_us
        self.rules = rules
        self.reasons: list[Reason] = []
        self._changes: list[Change] = []
        self._effects: list[Effect] = []
        self._nodes: dict[NodeId, NodeState] = {}
        self._clusters: dict[ClusterId, ClusterState] = {}
        self._jobs: dict[JobId, JobState] = {}
        self._pending: dict[str, PutPending | None] = {}
        self._tick: PutTick | None = None
        self._touched: dict[ClusterId, None] = {}

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.rules.settings

    @property
    def tick(self) -> PutTick:
        """What the last tick left behind."""
        return self._tick or self.view.last_tick

    def node(self, node: NodeId) -> NodeState:
        """A node as this decision has it so far."""
        return self._nodes.get(node) or self.view.nodes[node]

    def cluster(self, cluster: ClusterId) -> ClusterState | None:
        """A MR-cluster as this decision has it so far; None when it is gone or was never requested."""
        state = self._clusters.get(cluster) or self.view.clusters.get(cluster)
        return None if state is None or state.life is ClusterLife.GONE else state

    def clusters(self) -> list[ClusterState]:
        """All MR-clusters as this decision has them so far, in the order of their requests."""
        known = [*self.view.clusters, *(c for c in self._clusters if c not in self.view.clusters)]
        return [state for state in map(self.cluster, known) if state is not None]

    def nodes_of(self, cluster: ClusterId) -> list[NodeState]:
        """The nodes that a MR-cluster holds physically, by id."""
        ids = {n for n in self.view.nodes_of(cluster) if n not in self._nodes}
        ids |= {n for n, state in self._nodes.items() if state.owner == cluster}
        return [self.node(n) for n in sorted(ids)]

    def free(self) -> list[NodeState]:
        """The nodes that can be handed out, by id."""
        ids = {n for n in self.view.free if n not in self._nodes}
        ids |= {n for n, state in self._nodes.items() if state.life is NodeLife.FREE}
        return [self.node(n) for n in sorted(ids)]

    def jobs_of(self, cluster: ClusterId) -> list[JobState]:
        """The jobs of a MR-cluster that have not ended, in the order of their submission."""
        mine = {**self.view.jobs_of(cluster), **{j: s for j, s in self._jobs.items() if s.cluster == cluster}}
        return sorted((s for s in mine.values() if s.finished_us is None), key=lambda s: s.order)

    def pending(self, key: str) -> PutPending | None:
        """What is under way for this key."""
        return self._pending[key] if key in self._pending else self.view.pending.get(key)

    def say(self, code: str, **facts: object) -> Reason:
        """Give a reason."""
        reason = Reason(code, facts)
        self.reasons.append(reason)
        return reason

    def change(self, change: Change) -> None:
        """Any change that needs no overlay here."""
        if isinstance(change, PutTick):
            self._tick = change
        self._changes.append(change)

    def put_node(self, state: NodeState) -> None:
        """A node is different from now on."""
        self._nodes[state.node.id] = state
        self._changes.append(PutNode(state))

    def put_cluster(self, state: ClusterState) -> None:
        """A MR-cluster is different from now on; a new life begins at the time of the event."""
        old = self.cluster(state.id)
        if old is not None and old.life is not state.life:
            state = replace(state, since_us=self.at_us)
        self._clusters[state.id] = state
        self._changes.append(PutCluster(state))

    def put_job(self, state: JobState) -> None:
        """A job is different from now on."""
        self._jobs[state.id] = state
        self._changes.append(PutJob(state))

    def act(self, effect: Effect, *, within_us: int, version: int = 0, tries: int = 1) -> None:
        """Start an effect and expect its end within ``within_us``."""
        self._effects.append(effect)
        self.expect(effect.key, within_us, effect=effect, version=version, tries=tries)

    def expect(
        self, key: str, within_us: int, *, effect: Effect | None = None, version: int = 0, tries: int = 1
    ) -> None:
        """Note a deadline; with an effect, the effect that is started again after a restart."""
        pending = PutPending(key, version, self.at_us + within_us, effect, tries)
        self._pending[key] = pending
        self._changes.append(pending)

    def again(self, pending: PutPending) -> None:
        """Start an effect again that was stored before."""
        if pending.effect is not None:
            self._effects.append(pending.effect)

    def settle(self, key: str) -> None:
        """What was pending for this key has ended."""
        if self.pending(key) is not None:
            self._pending[key] = None
            self._changes.append(DropPending(key))

    def reply(self, ask: str, refused: Reason | None = None, **facts: object) -> None:
        """Answer whoever asked; nobody may have."""
        if refused is not None:
            self.reasons.append(refused)
        if ask:
            self._effects.append(Reply(ask, refused, facts))

    def touch(self, cluster: ClusterId) -> None:
        """The membership of this MR-cluster is to be written again."""
        self._touched[cluster] = None

    def host(self, state: NodeState, role: Role | None, cluster: ClusterId, *, within_us: int, tries: int = 1) -> None:
        """Say what should run on a node."""
        effect = Host(state.node.id, cluster, role, state.generation)
        self.act(effect, within_us=within_us, version=state.generation, tries=tries)

    def members(self, cluster: ClusterId) -> dict[NodeId, Member]:
        """The membership document of a MR-cluster as this decision has it so far."""
        found = {}
        for state in self.nodes_of(cluster):
            goal = _GOALS.get(state.life)
            if goal is not None and state.role is not None:
                found[state.node.id] = Member(goal, state.role, state.generation, self.leave_us(state))
        return found

    def leave_us(self, state: NodeState) -> int:
        """The graceful time of a node that leaves."""
        if state.life not in (NodeLife.DRAINING, NodeLife.EVACUATING):
            return 0
        if state.role is Role.TRANSIENT:
            return self.settings.transient_leave_us
        return self.settings.transient_core_leave_us

    def finish(self) -> Decision:
        """The decision: membership documents of all that was touched, and the timer, come last."""
        for cluster in self._touched:
            self._write_membership(cluster)
        self._set_timer()
        if self.rules.shadow:
            return self._only_watch()
        return Decision(tuple(self._changes), tuple(self._effects), tuple(self.reasons))

    def _only_watch(self) -> Decision:
        """What a shadow run keeps: what it saw and what it would have done, and its timer."""
        kept = tuple(c for c in self._changes if isinstance(c, _WATCHING) or getattr(c, "key", "") == "tick")
        heard = tuple(e for e in self._effects if isinstance(e, (Reply, WakeAt)))
        return Decision(kept, heard, tuple(self.reasons))

    def _write_membership(self, cluster: ClusterId) -> None:
        state = self.cluster(cluster)
        if state is None or state.life not in WITH_MASTERS or state.life is ClusterLife.DEPLOYING:
            return
        state = replace(state, version=state.version + 1)
        self.put_cluster(state)
        effect = Membership(cluster, state.version, self.members(cluster))
        self.act(effect, within_us=self.settings.membership_us, version=state.version)

    def _set_timer(self) -> None:
        set_here = [p.deadline_us for p in self._pending.values() if p is not None]
        stored = self.view.earliest_us(self._pending.keys())
        due = min([*set_here, *([] if stored is None else [stored])], default=None)
        if due is not None and due != self.view.wake_us:
            self._changes.append(PutWake(due))
            self._effects.append(WakeAt(due))
