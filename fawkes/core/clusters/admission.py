"""The global FIFO queue of MR-cluster requests, with shrink-to-admit (paper section 4.2.1)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from fawkes.base.values import replace
from fawkes.core.fairness.targets import Bounds, whole_nodes
from fawkes.core.masters import standby
from fawkes.core.state import alerts
from fawkes.core.state.draft import Draft
from fawkes.core.state.free import FreeNodes
from fawkes.core.state.moves import claim, clean
from fawkes.core.state.plan import TO_ADMIT, donors, give, home
from fawkes.core.values.effects import Deploy
from fawkes.core.values.model import ClusterAlert, ClusterId, ClusterLife, ClusterState, NodeId, NodeLife, Role


def admit(draft: Draft) -> int:
    """Serve the head of the queue: all MR-clusters, in their order, whose minimums fit beside those that are promised.

    Those whose minimums are free are deployed. For the others together room is made. The number of free nodes that may
    be core nodes and are reserved for them.
    """
    promised = draft.promised - sum(state.spec.min_nodes for state in takewhile(_is_admitted, draft.queue()))
    reserved = 0
    waiting: list[ClusterState] = []
    queue = iter(draft.queue())
    for state in queue:
        minimum = state.spec.min_nodes
        if promised + minimum > draft.counts.usable_core:
            _too_many(draft, state, promised)
            _step_back(draft, queue)
            break
        promised += minimum
        if draft.counts.free_core - reserved >= minimum:
            _deploy(draft, state)
        else:
            waiting.append(state)
            reserved += minimum
    if waiting:
        _make_room(draft, waiting)
    return reserved


def _is_admitted(state: ClusterState) -> bool:
    return state.life is ClusterLife.ADMITTED


def _too_many(draft: Draft, state: ClusterState, promised: int) -> None:
    """A minimum does not fit beside those that are promised, all of them on nodes that may be core nodes."""
    minimum, usable = state.spec.min_nodes, draft.counts.usable_core
    why = f"needs {minimum} nodes; {promised} of {usable} nodes are promised to other MR-clusters"
    if alerts.text(state, ClusterAlert.WAITS) != why or state.life is not ClusterLife.WAITING:
        draft.put_cluster(alerts.raised(replace(state, life=ClusterLife.WAITING), ClusterAlert.WAITS, why))
        draft.say("waits-infeasible", cluster=state.id, minimum=minimum, promised=promised, usable=usable)


def _step_back(draft: Draft, behind: Iterable[ClusterState]) -> None:
    """Those that were admitted wait again once one before them does: the queue is first come, first served.

    Behind them is at most one that was told why it waits; that reason is another one now.
    """
    for state in takewhile(lambda state: _is_admitted(state) or alerts.about(state, ClusterAlert.WAITS), behind):
        draft.put_cluster(replace(alerts.ended(state, ClusterAlert.WAITS), life=ClusterLife.WAITING))


def _deploy(draft: Draft, state: ClusterState) -> None:
    free = FreeNodes(draft, core=True)
    site = free.roomiest() if draft.settings.prefer_site else ""
    chosen = [free.take(site) for _ in range(state.spec.min_nodes)]
    why = draft.say(
        "admitted",
        cluster=state.id,
        nodes=[s.node.id for s in chosen],
        wait_us=draft.at_us - state.requested_us,
        minimum=state.spec.min_nodes,
    )
    for node in chosen:
        claim(draft, node, state.id, Role.CORE, why)
    state = replace(
        alerts.next_stage(state),
        life=ClusterLife.DEPLOYING,
        master=chosen[0].node.id,
        version=state.version + 1,
        wait_us=draft.at_us - state.requested_us,
        standby=standby.of_new(state.spec, [node.node.id for node in chosen]),
    )
    draft.put_cluster(state)
    effect = Deploy(state.id, state.version, state.spec, draft.members(state.id), chosen[0].node.id, state.standby)
    draft.act(effect, within_us=draft.settings.deploy_us, version=state.version)


def deploy_without(draft: Draft, cluster: ClusterState, node: NodeId, error: str, *, away: bool) -> bool:
    """Deploy on another node instead of one that refuses to be changed, or is ``away``; False when none is free.

    What runs on the others by now began with another list of members: it begins anew.
    """
    state, free = draft.node(node), FreeNodes(draft, core=True)
    if state.owner != cluster.id or state.life is not NodeLife.JOINING or not len(free):
        return False
    facts = {"node": node, "cluster": cluster.id, "error": error}
    clean(draft, state, draft.say("node-away", **facts) if away else draft.say("node-refused", **facts))
    other = free.take(home(draft, cluster.id))
    claim(
        draft, other, cluster.id, Role.CORE, draft.say("replaces", node=other.node.id, cluster=cluster.id, other=node)
    )
    master = other.node.id if cluster.master == node else cluster.master or other.node.id
    heir = standby.instead(cluster.standby, node, other.node.id)
    cluster = replace(alerts.next_stage(cluster), master=master, version=cluster.version + 1, standby=heir)
    draft.put_cluster(cluster)
    effect = Deploy(cluster.id, cluster.version, cluster.spec, draft.members(cluster.id), master, heir, anew=True)
    draft.act(effect, within_us=draft.settings.deploy_us, version=cluster.version)
    return True


def _make_room(draft: Draft, waiting: list[ClusterState]) -> None:
    """Shrink others until as many core-capable nodes are free, or on their way, as all who wait need together.

    First as far as the weights say, then down to the minimums. MR-clusters that cannot be read do not shrink, and
    neither do those that an operator holds.
    """
    coming = draft.counts.free_core + draft.counts.coming_core
    lacking: dict[ClusterId, int] = {}
    for state in waiting:
        minimum = state.spec.min_nodes
        lacking[state.id] = max(0, minimum - coming)
        coming = max(0, coming - minimum)
    if any(lacking.values()) and not draft.paused:
        _shrink_others(draft, waiting, lacking)
    for state in waiting:
        _still_waits(draft, state, lacking[state.id])


def _still_waits(draft: Draft, state: ClusterState, lacking: int) -> None:
    """An MR-cluster is admitted and waits for its nodes; the alert says how many are not even on their way."""
    waits = alerts.ended(state, ClusterAlert.WAITS)
    if lacking > 0:
        stopped = f"; voluntary moves are stopped: {draft.paused}" if draft.paused else ""
        waits = alerts.raised(state, ClusterAlert.WAITS, f"waits for {lacking} more nodes{stopped}")
        if state != waits:
            draft.say("waits-for-nodes", cluster=state.id, lacking=lacking, paused=draft.paused)
    if not _is_admitted(state) or state != waits:
        draft.put_cluster(replace(waits, life=ClusterLife.ADMITTED))


def _shrink_others(draft: Draft, waiting: list[ClusterState], lacking: dict[ClusterId, int]) -> None:
    """Nodes of others begin to leave for those in ``lacking``, which says how many each still lacks afterwards.

    If anybody gives, all nodes are divided anew: that costs as much as a tick.
    """
    if next(donors(draft), None) is None:
        return
    givers = [c for c in draft.clusters() if c.balanced]
    spare = {c.id: draft.held(c.id).spare_core for c in givers}
    have = {c.id: draft.held(c.id).counted for c in givers}
    targets = _targets_without(draft, sum(c.spec.min_nodes for c in waiting), givers, have)
    draft.change(replace(draft.tick, targets=targets, measured=False))
    for limit in (targets, {c.id: draft.held(c.id).least(c.spec.min_nodes) for c in givers}):
        for donor in sorted(givers, key=lambda c: (limit[c.id] - have[c.id], c.id)):
            surplus = min(have[donor.id] - limit[donor.id], spare[donor.id])
            given = _give_to(draft, donor, surplus, limit[donor.id], lacking)
            have[donor.id] -= given
            spare[donor.id] -= given


def _give_to(draft: Draft, donor: ClusterState, surplus: int, target: int, lacking: dict[ClusterId, int]) -> int:
    """Up to ``surplus`` nodes of a donor begin to leave, for the first in the queue first; how many."""
    left = surplus = max(0, surplus)
    for newcomer, missing in lacking.items():
        count = min(left, missing)
        if count > 0:
            given = give(draft, donor, count, TO_ADMIT, core=True, newcomer=newcomer, target=target)
            lacking[newcomer] -= given
            left -= given
    return surplus - left


def _targets_without(
    draft: Draft, newcomers: int, givers: list[ClusterState], have: dict[ClusterId, int]
) -> dict[ClusterId, int]:
    """Targets by weight over what is left beside so many nodes of newcomers; by present size without weights."""
    fixed = draft.counts.kept_free + sum(draft.held(c.id).nodes for c in draft.clusters() if c.id not in have)
    fixed += sum(draft.held(c).parting for c in have)
    total = max(0, draft.counts.usable - newcomers - fixed)
    known = {c: draft.tick.weights.get(c, 0.0) for c in have}
    weights = known if sum(known.values()) > 0 else {c: float(nodes) for c, nodes in have.items()}
    least = {c.id: draft.held(c.id).least(c.spec.min_nodes) for c in givers}
    bounds = {c: Bounds(few, max(few, have[c])) for c, few in least.items()}
    return whole_nodes(total, weights, bounds)
