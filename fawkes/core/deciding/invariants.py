"""Invariants of every state (design section 7), and of every decision before it is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import fsum, isclose

from fawkes.core.masters.standby import JOURNAL, holds
from fawkes.core.state import alerts
from fawkes.core.state.counts import Counts, Held, can_be_given, counted, lack, short_of_core, surplus
from fawkes.core.state.state import State
from fawkes.core.values.decision import Decision, PutCluster, PutJob, PutNode, PutPending, PutTick
from fawkes.core.values.effects import Host, Membership
from fawkes.core.values.lifecycle import (
    CLUSTER_EDGES,
    HELD,
    JOB_EDGES,
    NODE_EDGES,
    PROMISED,
    QUEUED,
    WITH_MASTERS,
    allowed,
)
from fawkes.core.values.model import (
    ClusterId,
    ClusterLife,
    ClusterState,
    JobId,
    JobState,
    NodeId,
    NodeLife,
    NodeState,
    Role,
)


def broken(state: State) -> list[str]:
    """The faults of a state; empty when it is sound. Costs as much as the pool is large."""
    faults = [wrong for node in state.nodes.values() if (wrong := _node(state, node))]
    faults += _indexes(state)
    for c in state.clusters.values():
        core = _core(map(state.nodes.__getitem__, state.nodes_of(c.id)))
        if c.life in WITH_MASTERS and core < c.spec.min_nodes:
            faults.append(f"{c.id} has {core} core nodes, its minimum is {c.spec.min_nodes}")
        if c.life in WITH_MASTERS and c.master not in state.nodes_of(c.id):
            faults.append(f"{c.id}: its master {c.master} does not belong to it")
    faults += [f"{job.id} belongs to {job.cluster}, which is gone" for job in state.jobs.values() if _stray(state, job)]
    if state.closing is not None and state.closing.agreed:
        going = (ClusterLife.SAVING, ClusterLife.RETIRING)
        faults += [
            f"the pool is released, but {c.id} is {c.life}" for c in state.clusters.values() if c.life not in going
        ]
    faults += [wrong for c in state.clusters.values() if c.life in WITH_MASTERS and (wrong := _journal(state, c))]
    weights = state.last_tick.weights
    if weights and not isclose(fsum(weights.values()), 1.0):
        faults.append(f"the weights sum to {fsum(weights.values())}")
    if state.rules is None or not state.rules.shadow:
        late = (p for p in state.pending.values() if p.deadline_us < state.now_us)
        faults += [f"the deadline of {p.key} has passed" for p in late]
    return faults


def _journal(state: State, cluster: ClusterState) -> str:
    """The faults of the second NameNode of an MR-cluster and its journal; empty when nothing is."""
    standby = cluster.standby
    if standby is None:
        return ""
    mine = [n for n in standby.journal if (s := state.nodes.get(n)) and (s.owner, s.role) == (cluster.id, Role.CORE)]
    if len(set(mine)) != JOURNAL:
        return f"the journal of {cluster.id} is on {standby.journal}, of which {len(mine)} are its core nodes"
    begun = cluster.moving is not None and cluster.moving.begun
    if standby.node is not None and (standby.node not in mine or (standby.node == cluster.master and not begun)):
        return f"the second NameNode of {cluster.id} is on {standby.node}, its masters are on {cluster.master}"
    return ""


def _stray(state: State, job: JobState) -> bool:
    return job.cluster not in state.clusters


def _indexes(state: State) -> list[str]:
    """The differences between what `evolve` keeps and what counting anew gives."""
    counts, held = Counts(), {c: Held() for c in state.clusters}
    for node in state.nodes.values():
        counts.add(node, +1)
        if node.owner in held:
            held[node.owner].add(node, +1)
    lives = Counter(node.life for node in state.nodes.values())
    homeless = sum(1 for n in state.nodes.values() if n.life is NodeLife.LOST and n.owner is None)
    total = sum(each.nodes for each in held.values()) + lives[NodeLife.FREE] + lives[NodeLife.OUT] + homeless
    checks = {
        f"held + free + out of service is {total}, the pool has {len(state.nodes)}": total == len(state.nodes),
        f"the counts are {state.counts}, not {counts}": state.counts == counts,
        "the index of free nodes is wrong": sorted(n for ids in state.free_at.values() for n in ids)
        == sorted(n for n, s in state.nodes.items() if can_be_given(s)),
        "the queue is wrong": set(state.queue) == {c.id for c in state.clusters.values() if c.life in QUEUED},
        "the sum of promises is wrong": state.promised
        == sum(c.spec.min_nodes for c in state.clusters.values() if c.life in PROMISED),
    }
    checks["the order of those in need, of donors, or of those short of core nodes is wrong"] = _ranks(state)
    for c, each in held.items():
        checks[f"{c}: the index of its nodes is wrong"] = state.held(c) == each and state.nodes_of(c) == {
            n for n, s in state.nodes.items() if s.owner == c
        }
    return [wrong for wrong, holds in checks.items() if not holds]


def _ranks(state: State) -> bool:
    """True if MR-clusters are ranked as they would be now."""
    targets = state.last_tick.targets
    known = [(c, state.held(c.id)) for c in state.clusters.values()]
    needy = sorted((key, c.id) for c, held in known if (key := lack(c, held, targets.get(c.id))) is not None)
    donors = sorted((key, c.id) for c, held in known if (key := surplus(c, held)) is not None)
    master = {c.id: None if c.master is None else state.nodes.get(c.master) for c, _ in known}
    short = {c.id for c, held in known if short_of_core(c, held, master[c.id])}
    return (list(state.needy), list(state.donors), set(state.short)) == (needy, donors, short)


def _node(view: State, state: NodeState) -> str:
    name = state.node.id
    owned = state.owner is not None
    if owned and state.owner not in view.clusters:
        return f"{name} belongs to {state.owner}, which does not exist"
    if owned and (state.life not in HELD or state.role is None):
        return f"{name} is {state.life} as {state.role} and belongs to {state.owner}"
    if not owned and state.life in HELD - {NodeLife.LOST}:
        return f"{name} is {state.life} and belongs to nobody"
    if state.life is NodeLife.FREE and state.kept_out:
        return f"{name} is free although it is kept out: {state.keep_out or 'unlisted'}"
    return ""


def unsound(view: State, decision: Decision) -> list[str]:
    """The faults of a decision; empty when it is sound. Costs as much as the decision is large."""
    faults: list[str] = []
    nodes: dict[NodeId, NodeState] = {}
    clusters: dict[ClusterId, ClusterState] = {}
    jobs: dict[JobId, JobState] = {}
    for change in decision.changes:
        match change:
            case PutNode():
                new = change.state
                old = nodes.get(new.node.id) or view.nodes.get(new.node.id)
                nodes[new.node.id] = new
                if old is not None:
                    faults += _node_step(old, new)
            case PutCluster():
                known = clusters.get(change.state.id) or view.clusters.get(change.state.id)
                clusters[change.state.id] = change.state
                if known is not None:
                    faults += _cluster_step(known, change.state)
            case PutJob():
                job = jobs.get(change.state.id) or view.jobs.get(change.state.id)
                jobs[change.state.id] = change.state
                if job is not None and not allowed(JOB_EDGES, job.life, change.state.life):
                    faults.append(f"{change.state.id} cannot go from {job.life} to {change.state.life}")
            case PutTick() if change.weights and not isclose(fsum(change.weights.values()), 1.0):
                faults.append(f"the weights sum to {fsum(change.weights.values())}")
            case _:
                pass
    return faults + _minimums(view, nodes, clusters) + _goals(view, decision, nodes)


def _node_step(old: NodeState, new: NodeState) -> list[str]:
    name = old.node.id
    if not allowed(NODE_EDGES, old.life, new.life):
        return [f"{name} cannot go from {old.life} to {new.life}"]
    if old.owner is not None and new.owner not in (None, old.owner):
        return [f"{name} would go from {old.owner} to {new.owner} without being wiped"]
    if new.life is NodeLife.JOINING and old.life is NodeLife.FREE and new.generation <= old.generation:
        return [f"{name} would be handed over without a new generation"]
    return _alert_step(name, old, new)


def _cluster_step(old: ClusterState, new: ClusterState) -> list[str]:
    if not allowed(CLUSTER_EDGES, old.life, new.life):
        return [f"{new.id} cannot go from {old.life} to {new.life}"]
    if not alerts.in_order(new):
        return [f"{new.id} would have the alerts {', '.join(each.about for each in alerts.every(new))} in this order"]
    return _alert_step(new.id, old, new)


def _alert_step(name: str, old: NodeState | ClusterState, new: NodeState | ClusterState) -> list[str]:
    """An alert that is new has a kind; one that an earlier version stored may stay without."""
    if bool(new.alert) != (new.alert_kind is not None) and (new.alert, new.alert_kind) != (old.alert, old.alert_kind):
        return [f"{name} would have the alert {new.alert!r} of the kind {new.alert_kind}"]
    return []


def _core(nodes: Iterable[NodeState]) -> int:
    """The number of core nodes that stay."""
    return sum(1 for state in nodes if state.role is Role.CORE and counted(state))


def _minimums(view: State, nodes: dict[NodeId, NodeState], clusters: dict[ClusterId, ClusterState]) -> list[str]:
    """The MR-clusters that would lose their minimum or their masters with a core node that leaves."""
    faults = []
    parting = [n for n in nodes.values() if n.role is Role.CORE and n.life in (NodeLife.DRAINING, NodeLife.EVACUATING)]
    for state in parting:
        cluster = None if state.owner is None else clusters.get(state.owner) or view.clusters.get(state.owner)
        if cluster is None:
            continue
        ids = view.nodes_of(cluster.id) | {n for n, new in nodes.items() if new.owner == cluster.id}
        core = _core(new for n in ids if (new := nodes.get(n) or view.nodes[n]).owner == cluster.id)
        if core < cluster.spec.min_nodes or state.node.id == cluster.master or holds(cluster, state.node.id):
            faults.append(f"{state.node.id} is a core node of {cluster.id} and would leave it with {core}")
    return faults


def _goals(view: State, decision: Decision, nodes: dict[NodeId, NodeState]) -> list[str]:
    """The effects that say something else than the ledger."""
    faults = []
    goals = [effect for effect in decision.effects if isinstance(effect, (Host, Membership))]
    expected = {c.key for c in decision.changes if isinstance(c, PutPending)} if goals else set()
    for effect in goals:
        if isinstance(effect, Membership):
            faults += _members(view, effect, nodes)
        else:
            state = nodes.get(effect.node) or view.nodes[effect.node]
            if state.generation == effect.generation and state.owner not in (None, effect.cluster):
                faults.append(f"{effect.node} belongs to {state.owner}, {effect.cluster} wants it as {effect.role}")
        if effect.key not in expected and effect.key not in view.pending:
            faults.append(f"{effect.key} has no deadline")
    return faults


def _members(view: State, effect: Membership, nodes: dict[NodeId, NodeState]) -> list[str]:
    """The documents that would name nodes of others: by the index from which it is filled in, or in its own members."""
    stored, cluster = view.nodes, effect.cluster
    named = {n: nodes.get(n) or stored[n] for n in effect.members}
    named |= {n: stored[n] for n in view.nodes_of(cluster) if n not in nodes}
    foreign = [(n, state.owner) for n, state in sorted(named.items()) if state.owner != cluster]
    return [f"{cluster} would count {node} of {owner} as a member" for node, owner in foreign]
