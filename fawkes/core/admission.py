"""The global FIFO queue of MR-cluster requests, with shrink-to-admit (paper section 4.2.1)."""

from __future__ import annotations

from dataclasses import replace

from fawkes.core.draft import Draft
from fawkes.core.effects import Deploy
from fawkes.core.free import FreeNodes
from fawkes.core.lifecycle import PROMISED
from fawkes.core.model import ClusterId, ClusterLife, ClusterState, Role
from fawkes.core.moves import claim
from fawkes.core.plan import TO_ADMIT, give
from fawkes.core.targets import Bounds, whole_nodes


def admit(draft: Draft) -> int:
    """Deploy the MR-clusters at the head of the queue as far as their minimums are free; shrink others for the first
    that lacks nodes. How many free nodes that may be core nodes are reserved for it.
    """
    for state in draft.queue():
        if not _feasible(draft, state):
            return 0
        free = FreeNodes(draft, core=True)
        if len(free) < state.spec.min_nodes:
            _make_room(draft, state, state.spec.min_nodes - len(free))
            return state.spec.min_nodes
        _deploy(draft, state, free)
    return 0


def _feasible(draft: Draft, state: ClusterState) -> bool:
    """Whether the minimum fits beside those that are promised, all of them on nodes that may be core nodes."""
    minimum, usable = state.spec.min_nodes, draft.counts.usable_core
    promised = draft.promised - (minimum if state.life in PROMISED else 0)
    if promised + minimum <= usable:
        return True
    alert = f"needs {minimum} nodes; {promised} of {usable} are promised to others"
    if state.alert != alert or state.life is not ClusterLife.WAITING:
        draft.put_cluster(replace(state, life=ClusterLife.WAITING, alert=alert))
        draft.say("waits-infeasible", cluster=state.id, minimum=minimum, promised=promised, usable=usable)
    return False


def _deploy(draft: Draft, state: ClusterState, free: FreeNodes) -> None:
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
        state,
        life=ClusterLife.DEPLOYING,
        master=chosen[0].node.id,
        version=state.version + 1,
        wait_us=draft.at_us - state.requested_us,
        alert="",
    )
    draft.put_cluster(state)
    effect = Deploy(state.id, state.version, state.spec, draft.members(state.id), chosen[0].node.id)
    draft.act(effect, within_us=draft.settings.deploy_us, version=state.version)


def _make_room(draft: Draft, state: ClusterState, lacking: int) -> None:
    """Shrink MR-clusters above their minimums until ``lacking`` more core-capable nodes are free or on their way.

    First as far as their weights say, then down to their minimums. Those that cannot be read do not shrink.
    """
    lacking -= draft.counts.coming_core
    if lacking > 0 and not draft.paused:
        lacking -= _shrink_others(draft, state, lacking)
    alert = ""
    if lacking > 0:
        alert = f"waits for {lacking} more nodes" + (f"; no moves: {draft.paused}" if draft.paused else "")
        if state.alert != alert:
            draft.say("waits-for-nodes", cluster=state.id, lacking=lacking, paused=draft.paused)
    if state.life is not ClusterLife.ADMITTED or state.alert != alert:
        draft.put_cluster(replace(state, life=ClusterLife.ADMITTED, alert=alert))


def _shrink_others(draft: Draft, newcomer: ClusterState, lacking: int) -> int:
    """How many nodes begin to leave, at most ``lacking``."""
    donors = [c for c in draft.clusters() if c.active and c.unreadable_us is None]
    spare = {c.id: draft.held(c.id).spare_core for c in donors}
    if not any(spare.values()):
        return 0
    have = {c.id: draft.held(c.id).counted for c in donors}
    targets = _targets_without(draft, newcomer, donors, have)
    draft.change(replace(draft.tick, targets=targets, measured=False))
    left = lacking
    for limit in (targets, {c.id: c.spec.min_nodes for c in donors}):
        for donor in sorted(donors, key=lambda c: (limit[c.id] - have[c.id], c.id)):
            surplus = min(left, have[donor.id] - limit[donor.id], spare[donor.id])
            if surplus > 0:
                given = give(draft, donor, surplus, TO_ADMIT, core=True, newcomer=newcomer.id, target=limit[donor.id])
                have[donor.id] -= given
                spare[donor.id] -= given
                left -= given
    return lacking - left


def _targets_without(
    draft: Draft, newcomer: ClusterState, donors: list[ClusterState], have: dict[ClusterId, int]
) -> dict[ClusterId, int]:
    """Targets by weight over what is left beside the newcomer; by present size where weights are undefined."""
    fixed = sum(draft.held(c.id).nodes for c in draft.clusters() if c.id not in have)
    fixed += sum(draft.held(c).parting for c in have)
    total = max(0, draft.counts.usable - newcomer.spec.min_nodes - fixed)
    known = {c: draft.tick.weights.get(c, 0.0) for c in have}
    weights = known if sum(known.values()) > 0 else {c: float(nodes) for c, nodes in have.items()}
    bounds = {c.id: Bounds(c.spec.min_nodes, max(c.spec.min_nodes, have[c.id])) for c in donors}
    return whole_nodes(total, weights, bounds)
