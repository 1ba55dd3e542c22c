"""The way from facts about a pool to its state: MR-clusters that go on, what is held out of service, what is not known.

Nothing is free that is not known to be free, and nothing is begun, stopped or wiped because of an adoption.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fawkes.base.values import replace
from fawkes.core.state.draft import Draft
from fawkes.core.values.adopted import Adopted, FoundCluster, FoundJob, FoundNode, KeptCluster
from fawkes.core.values.effects import Goal, Member, StartJob
from fawkes.core.values.keys import Key
from fawkes.core.values.model import (
    ClusterId,
    ClusterLife,
    ClusterState,
    JobId,
    JobLife,
    JobSpec,
    JobState,
    Node,
    NodeId,
    NodeLife,
    NodeState,
    Reason,
    Role,
)
from fawkes.core.values.sight import Launcher

_LIVES = {
    Goal.SERVING: NodeLife.SERVING,
    Goal.DRAINING: NodeLife.DRAINING,
    Goal.EVACUATING: NodeLife.EVACUATING,
}
#: a running job has no deadline of its own
_FOR_EVER_US = 10 * 365 * 86_400 * 1_000_000


@dataclass(frozen=True, slots=True)
class MemberOf:
    """A node of an adopted MR-cluster."""

    cluster: KeptCluster
    member: Member


@dataclass(frozen=True, slots=True)
class AdoptedPool:
    """The fate of everything that was found.

    ``clusters`` go on; ``left`` are those that are not adopted, with the reason. ``members`` and ``out`` (with the
    reason) are nodes; all others are free. ``jobs`` go on or have ended; ``nameless`` have no declaration.
    ``strangers`` are members that the inventory does not name.
    """

    clusters: Mapping[ClusterId, KeptCluster]
    left: Mapping[str, str]
    members: Mapping[NodeId, MemberOf]
    out: Mapping[NodeId, str]
    jobs: tuple[FoundJob, ...]
    nameless: tuple[FoundJob, ...]
    strangers: tuple[NodeId, ...]


def outcome(adopted: Adopted) -> AdoptedPool:
    """The fate of everything that was found."""
    nodes = {node.node: node for node in adopted.nodes}
    clusters, left = _clusters(adopted, nodes)
    members: dict[NodeId, MemberOf] = {}
    for kept in clusters.values():
        there = {name: member for name, member in kept.members.items() if _is_member(kept, member, nodes.get(name))}
        members |= {name: MemberOf(kept, member) for name, member in _enough(kept, there).items()}
    out = {node.node: why for node in adopted.nodes if node.node not in members and (why := _why_out(node, clusters))}
    jobs = _latest(job for job in adopted.jobs if ClusterId(job.cluster) in clusters)
    return AdoptedPool(
        clusters=clusters,
        left=left,
        members=members,
        out=out,
        jobs=tuple(job for job in jobs if job.kept is not None),
        nameless=tuple(job for job in jobs if job.kept is None),
        strangers=tuple(sorted(set(members) - set(nodes))),
    )


def _clusters(pool: Adopted, nodes: Mapping[NodeId, FoundNode]) -> tuple[dict[ClusterId, KeptCluster], dict[str, str]]:
    """The MR-clusters that go on, and why others do not."""
    adopted: dict[ClusterId, KeptCluster] = {}
    left: dict[str, str] = {}
    for copy in pool.clusters:
        held = nodes[copy.node]
        if held.cluster != copy.cluster:
            continue
        if copy.kept is None:
            left[copy.cluster] = f"its kept copy on {copy.node} cannot be read: {copy.error}"
        elif why := _why_not(copy, copy.kept, held):
            left[copy.cluster] = why
        elif (other := adopted.get(copy.kept.spec.id)) is None or other.version < copy.kept.version:
            # Masters that moved leave a copy where they were.
            adopted[copy.kept.spec.id] = copy.kept
    for node in pool.nodes:
        if node.cluster and ClusterId(node.cluster) not in adopted:
            left.setdefault(node.cluster, "no node that answers has its kept copy: the node of its masters is missing")
    return adopted, {name: why for name, why in left.items() if ClusterId(name) not in adopted}


def _why_not(copy: FoundCluster, kept: KeptCluster, held: FoundNode) -> str:
    """The reason why an MR-cluster cannot go on from a kept copy; empty when it can."""
    if kept.master not in kept.members or kept.master != copy.node or kept.spec.id != copy.cluster:
        return f"its kept copy on {copy.node} belongs to another MR-cluster or node"
    if kept.members[kept.master].role is not Role.CORE:
        return f"its kept copy on {copy.node} has the masters on a node that is no core node"
    if kept.members[kept.master].generation != held.generation:
        return f"its kept copy on {copy.node} is that of an earlier MR-cluster of this name"
    return "" if kept.loaded else "it was still being deployed or loaded"


def _is_member(kept: KeptCluster, member: Member, node: FoundNode | None) -> bool:
    """A node that answers knows best whose it is; of one that does not, the kept copy does."""
    if node is None or node.unknown:
        return True
    return (node.cluster, node.generation) == (kept.spec.id, member.generation)


def _enough(kept: KeptCluster, members: Mapping[NodeId, Member]) -> Mapping[NodeId, Member]:
    """The members, of which core nodes that were leaving serve again as far as the minimum needs them.

    Those that took over from them may be no members any more. The node of the masters always serves.
    """
    core = {name: member for name, member in members.items() if member.role is Role.CORE}
    leaving = [name for name, member in core.items() if member.goal is not Goal.SERVING]
    missing = kept.spec.min_nodes - (len(core) - len(leaving))
    stay = {*sorted(leaving, key=lambda name: (name != kept.master, name))[: max(missing, 0)], kept.master}
    return {name: replace(member, goal=Goal.SERVING) if name in stay else member for name, member in members.items()}


def _why_out(node: FoundNode, clusters: Mapping[ClusterId, KeptCluster]) -> str:
    if node.unknown:
        return f"not known when the pool was adopted: {node.unknown}"
    if node.cluster:
        known = "whose members do not name it" if ClusterId(node.cluster) in clusters else "which was not adopted"
        return f"it is held by {node.cluster}, {known}"
    if node.folders:
        return f"nobody holds it, but it has the folder of {', '.join(node.folders)}"
    return ""


def _latest(jobs: Iterable[FoundJob]) -> list[FoundJob]:
    """The latest attempt of each job."""
    latest: dict[tuple[str, str], FoundJob] = {}
    for job in jobs:
        key = (job.cluster, job.job)
        if key not in latest or latest[key].attempt < job.attempt:
            latest[key] = job
    return [latest[key] for key in sorted(latest)]


def states(draft: Draft, adopted: Adopted, inventory: tuple[Node, ...]) -> dict[NodeId, NodeState]:
    """The standing of each node of the inventory after an adoption."""
    result = outcome(adopted)
    generations = {row.node: row.generation for row in adopted.nodes}
    return {node.id: _state(draft, node, result, generations.get(node.id, 0)) for node in inventory}


def _state(draft: Draft, node: Node, result: AdoptedPool, generation: int) -> NodeState:
    known = NodeState(node=node, since_us=draft.at_us, generation=generation)
    membership = result.members.get(node.id)
    if membership is not None:
        member, cluster = membership.member, membership.cluster.spec.id
        why = Reason("node-adopted", {"node": node.id, "cluster": cluster, "role": member.role})
        life = _LIVES[member.goal]
        return replace(known, life=life, owner=cluster, role=member.role, generation=member.generation, why=why)
    if node.id in result.out:
        why = Reason("held-out", {"node": node.id, "error": result.out[node.id]})
        return replace(known, life=NodeLife.OUT, keep_out=result.out[node.id], why=why)
    return known


def adopt(draft: Draft, adopted: Adopted) -> None:
    """The MR-clusters and their jobs go on, and it is said what was found and what is not known.

    The nodes are those of `states` already.
    """
    result = outcome(adopted)
    draft.say(
        "adopted",
        by=adopted.by,
        clusters=sorted(result.clusters),
        nodes=sorted(result.members),
        jobs=[job.job for job in result.jobs],
    )
    for name, why in sorted(result.left.items()):
        draft.say("not-adopted", cluster=name, error=why)
    for node in sorted(result.out):
        draft.say("held-out", node=node, error=result.out[node])
    for kept in result.clusters.values():
        draft.put_cluster(
            ClusterState(
                spec=kept.spec,
                life=ClusterLife.RUNNING,
                since_us=draft.at_us,
                requested_us=draft.at_us,
                version=kept.version,
                master=kept.master,
                standby=None if kept.standby is None else replace(kept.standby, ready=False),
                active_us=draft.at_us,
            )
        )
    for name, membership in result.members.items():
        _leaves(draft, name, membership.member)
    orders: dict[str, int] = {}
    for job in (*result.jobs, *result.nameless):
        orders[job.cluster] = orders.get(job.cluster, 0) + 1
        _job(draft, job, orders[job.cluster])


def _leaves(draft: Draft, node: NodeId, member: Member) -> None:
    """A node that was leaving goes on leaving, with the time of one that begins to."""
    if member.goal is Goal.DRAINING:
        draft.expect(Key.LEAVE.of(node), draft.leave_us(member.role) + draft.settings.membership_us)
    elif member.goal is Goal.EVACUATING and member.role is not Role.TRANSIENT:
        draft.expect(Key.LEAVE.of(node), draft.settings.evacuate_us)


def _job(draft: Draft, job: FoundJob, order: int) -> None:
    """One that has succeeded is history, but its id stays taken. All others are watched as after a restart: a client
    that ended badly may have lost sight of an application that runs. When any of them began or ended is not known.
    Without its declaration a client that may run is watched, and never begun again; one that ended badly has failed.
    """
    unknown = JobSpec(id=JobId(job.job), cluster=ClusterId(job.cluster))
    spec = unknown if job.kept is None else job.kept.spec
    state = JobState(spec=spec, submitted_us=draft.at_us, order=order, attempt=job.attempt)
    if job.launcher is Launcher.FINISHED and job.exit == 0:
        draft.put_job(replace(state, life=JobLife.SUCCEEDED))
    elif job.kept is None and job.launcher not in (Launcher.RUNNING, Launcher.NOT_KNOWN):
        draft.put_job(replace(state, life=JobLife.FAILED, stop=Reason("job-not-declared")))
    else:
        draft.put_job(replace(state, life=JobLife.RUNNING))
        effect = StartJob(spec.id, spec.cluster, job.attempt, spec)
        draft.act(effect, within_us=_FOR_EVER_US, version=job.attempt)
        if spec.time_limit_us is not None:
            draft.expect(Key.LIMIT.of(spec.id), spec.time_limit_us)
