"""The steps of one node: handed over, shrunk, undrained, cleaned, lost, kept out. Each writes its reason."""

from __future__ import annotations

from dataclasses import replace

from fawkes.core.draft import Draft
from fawkes.core.model import ClusterId, NodeId, NodeLife, NodeState, Reason, Role

#: how many times in a row a node may fail to join before it is quarantined
JOIN_FAILURES = 2


def leave_key(node: NodeId) -> str:
    """The key of the deadline of a leaving node."""
    return f"leave:{node}"


def hand_over(draft: Draft, state: NodeState, cluster: ClusterId, role: Role, why: Reason) -> None:
    """A free node joins a MR-cluster whose masters run."""
    state = claim(draft, state, cluster, role, why)
    draft.touch(cluster)
    draft.host(state, role, cluster, within_us=draft.settings.join_us)


def claim(draft: Draft, state: NodeState, cluster: ClusterId, role: Role, why: Reason) -> NodeState:
    """A free node belongs to a MR-cluster from now on, with a generation of its own."""
    state = replace(
        state,
        life=NodeLife.JOINING,
        owner=cluster,
        role=role,
        generation=state.generation + 1,
        since_us=draft.at_us,
        why=why,
        tick=draft.tick.tick,
        alert="",
    )
    draft.put_node(state)
    return state


def shrink(draft: Draft, state: NodeState, why: Reason) -> None:
    """A node begins to leave its MR-cluster; a core node only beside a minimum of others (`replace.py`)."""
    cluster = _owner(state)
    draft.put_node(_step(draft, state, NodeLife.DRAINING, why))
    draft.settle(f"host:{state.node.id}")
    draft.touch(cluster)
    draft.expect(leave_key(state.node.id), draft.leave_us(state.role) + draft.settings.membership_us)


def undrain(draft: Draft, state: NodeState, why: Reason) -> None:
    """A leaving node stays: its MR-cluster needs it again."""
    cluster = _owner(state)
    state = _step(draft, state, NodeLife.JOINING, why)
    draft.put_node(state)
    draft.settle(leave_key(state.node.id))
    draft.touch(cluster)
    draft.host(state, state.role, cluster, within_us=draft.settings.join_us)


def evacuate(draft: Draft, state: NodeState) -> None:
    """The NodeManager of a node that stores data is out: its blocks are next."""
    draft.put_node(_step(draft, state, NodeLife.EVACUATING, state.why))
    draft.touch(_owner(state))
    draft.expect(leave_key(state.node.id), draft.settings.evacuate_us)


def clean(draft: Draft, state: NodeState, why: Reason) -> None:
    """Stop, wipe and verify a node; it stays its MR-cluster's until that was seen."""
    cluster = _owner(state)
    state = _step(draft, state, NodeLife.CLEANING, why)
    draft.put_node(state)
    draft.settle(leave_key(state.node.id))
    draft.host(state, None, cluster, within_us=draft.settings.clean_us)


def wiped(draft: Draft, state: NodeState) -> None:
    """A node was seen clean: it is free, or goes out of service when somebody keeps it out."""
    draft.settle(f"host:{state.node.id}")
    life = NodeLife.OUT if state.kept_out else NodeLife.FREE
    state = replace(state, life=life, owner=None, role=None, since_us=draft.at_us, tick=draft.tick.tick, alert="")
    draft.put_node(state)
    draft.say("freed" if life is NodeLife.FREE else "out-of-service", node=state.node.id, why=state.keep_out)
    if state.back_us is not None and life is NodeLife.OUT:
        draft.expect(f"back:{state.node.id}", max(0, state.back_us - draft.at_us))


def lost(draft: Draft, state: NodeState, error: str) -> None:
    """A node stopped answering: without data it must be wiped before anybody gets it, with data it must come back."""
    cluster = _owner(state)
    keeps_data = state.role is not Role.TRANSIENT
    why = draft.say("node-lost", node=state.node.id, cluster=cluster, role=state.role, error=error)
    gone = replace(_step(draft, state, NodeLife.LOST, why), alert=error)
    if not keeps_data:
        gone = replace(gone, owner=None, role=None)
    draft.put_node(gone)
    draft.settle(leave_key(state.node.id))
    draft.touch(cluster)
    draft.host(gone, state.role if keeps_data else None, cluster, within_us=draft.settings.join_us)


def quarantine(draft: Draft, state: NodeState, error: str) -> None:
    """A node that did not come up is kept out for a while, twice as long each time in a row.

    One that stores data may hold blocks all the same (its NodeManager failed, or it was about to leave before): it
    leaves as any other, its blocks first.
    """
    cluster = _owner(state)
    failures = state.failures + 1
    wait_us = draft.settings.quarantine_us * 2 ** min(failures - JOIN_FAILURES, 6)
    why = draft.say("quarantine", node=state.node.id, cluster=cluster, error=error, until_us=draft.at_us + wait_us)
    state = replace(state, failures=failures, keep_out=f"quarantine: {error}", back_us=draft.at_us + wait_us)
    if state.role is Role.TRANSIENT:
        clean(draft, state, why)
        draft.touch(cluster)
    else:
        shrink(draft, state, why)


def _step(draft: Draft, state: NodeState, life: NodeLife, why: Reason) -> NodeState:
    return replace(state, life=life, since_us=draft.at_us, why=why, tick=draft.tick.tick)


def _owner(state: NodeState) -> ClusterId:
    if state.owner is None:
        raise ValueError(f"{state.node.id} is {state.life} and belongs to nobody")
    return state.owner
