"""The global FIFO queue of MR-cluster requests, with shrink-to-admit (paper section 4.2.1)."""

from __future__ import annotations

from dataclasses import replace

from fawkes.core.decision import PutTick
from fawkes.core.draft import Draft
from fawkes.core.effects import Deploy
from fawkes.core.lifecycle import PROMISED
from fawkes.core.model import ClusterId, ClusterLife, ClusterState, NodeLife, Role
from fawkes.core.moves import claim
from fawkes.core.plan import FreeNodes, counted, give
from fawkes.core.targets import Bounds, whole_nodes


def admit(draft: Draft) -> int:
    """Deploy the MR-clusters at the head of the queue as far as their minimums are free; shrink others for the first
    that lacks nodes. How many free nodes are reserved for it.
    """
    for state in draft.clusters():
        if state.life not in (ClusterLife.WAITING, ClusterLife.ADMITTED):
            continue
        if not _feasible(draft, state):
            return 0
        free = FreeNodes(draft, core=True)
        if len(free) < state.spec.min_nodes:
            if state.life is ClusterLife.WAITING:
                draft.put_cluster(replace(state, life=ClusterLife.ADMITTED, alert=""))
            _make_room(draft, state, state.spec.min_nodes - len(free))
            return state.spec.min_nodes
        _deploy(draft, state, free)
    return 0


def _feasible(draft: Draft, state: ClusterState) -> bool:
    promised = sum(c.spec.min_nodes for c in draft.clusters() if c.life in PROMISED and c.id != state.id)
    minimum, usable = state.spec.min_nodes, draft.view.usable_nodes
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
    """Shrink MR-clusters above their minimums until ``lacking`` more core-capable nodes are free or on their way."""
    coming = sum(
        1
        for donor in draft.clusters()
        for node in draft.nodes_of(donor.id)
        if node.life in (NodeLife.DRAINING, NodeLife.EVACUATING, NodeLife.CLEANING) and node.node.may_core
    )
    lacking -= coming
    if lacking <= 0:
        return
    if draft.view.paused:
        draft.say("waits-for-nodes", cluster=state.id, lacking=lacking, paused=draft.view.paused)
        return
    donors = [c for c in draft.clusters() if c.active]
    have = {c.id: counted(draft, c.id) for c in donors}
    targets = _targets_without(draft, state, donors, have)
    draft.change(_with_targets(draft, targets))
    for limit in (targets, {c.id: c.spec.min_nodes for c in donors}):
        for donor in sorted(donors, key=lambda c: (limit[c.id] - have[c.id], c.id)):
            surplus = min(lacking, have[donor.id] - limit[donor.id])
            if surplus > 0:
                left = give(draft, donor, surplus, "shrink-to-admit", newcomer=state.id, target=limit[donor.id])
                have[donor.id] -= len(left)
                lacking -= len(left)
    if lacking > 0:
        draft.say("waits-for-nodes", cluster=state.id, lacking=lacking, paused="")


def _targets_without(
    draft: Draft, newcomer: ClusterState, donors: list[ClusterState], have: dict[ClusterId, int]
) -> dict[ClusterId, int]:
    """Targets by weight over what is left beside the newcomer; by present size where weights are undefined."""
    ids = {c.id for c in donors}
    fixed = sum(len(draft.nodes_of(c.id)) for c in draft.clusters() if c.id not in ids)
    total = max(0, draft.view.usable_nodes - newcomer.spec.min_nodes - fixed)
    known = {c: draft.tick.weights.get(c, 0.0) for c in ids}
    weights = known if sum(known.values()) > 0 else {c: float(have[c]) for c in ids}
    bounds = {c.id: Bounds(c.spec.min_nodes, max(c.spec.min_nodes, have[c.id])) for c in donors}
    return whole_nodes(total, weights, bounds)


def _with_targets(draft: Draft, targets: dict[ClusterId, int]) -> PutTick:
    return replace(draft.tick, targets=targets, measured=False)
