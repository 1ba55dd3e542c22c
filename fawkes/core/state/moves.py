"""The steps of one node: handed over, shrunk, undrained, cleaned, lost, kept out. Each writes its reason."""

from __future__ import annotations

from fawkes.base.values import replace
from fawkes.core.state import alerts
from fawkes.core.state.draft import Draft
from fawkes.core.values.effects import Host
from fawkes.core.values.keys import Key
from fawkes.core.values.model import ClusterAlert, ClusterId, NodeAlert, NodeId, NodeLife, NodeState, Reason, Role


def awaits_proof(draft: Draft, node: NodeId) -> bool:
    """True if a node is to be wiped only if its blocks are shown to be elsewhere right before."""
    pending = draft.pending(Key.HOST.of(node))
    return pending is not None and isinstance(pending.effect, Host) and pending.effect.proof is not None


def leave_key(node: NodeId) -> str:
    """The key of the deadline of a leaving node."""
    return Key.LEAVE.of(node)


def hand_over(draft: Draft, state: NodeState, cluster: ClusterId, role: Role, why: Reason) -> None:
    """A free node joins an MR-cluster whose masters run."""
    state = claim(draft, state, cluster, role, why)
    draft.touch(cluster)
    draft.host(state, role, cluster, within_us=draft.settings.join_us)


def claim(draft: Draft, state: NodeState, cluster: ClusterId, role: Role, why: Reason) -> NodeState:
    """A free node belongs to an MR-cluster from now on, with a generation of its own and nothing of an earlier one."""
    state = replace(
        state,
        life=NodeLife.JOINING,
        owner=cluster,
        role=role,
        generation=max(state.generation + 1, draft.rules.first_generation),
        since_us=draft.at_us,
        why=why,
        tick=draft.tick.tick,
        alert="",
        alert_kind=None,
        sight=None,
        leaving=False,
        missing_before=None,
        discard=False,
        stayed=(),
    )
    draft.put_node(state)
    return state


def shrink(draft: Draft, state: NodeState, why: Reason) -> None:
    """A node begins to leave its MR-cluster; a core node only beside a minimum of others (`replace.py`)."""
    cluster = _owner(state)
    state = replace(_step(draft, state, NodeLife.DRAINING, why), missing_before=None)
    draft.put_node(state)
    draft.settle(Key.HOST.of(state.node.id))
    draft.touch(cluster)
    draft.expect(leave_key(state.node.id), draft.leave_us(state.role) + draft.settings.membership_us)


def undrain(draft: Draft, state: NodeState, why: Reason) -> None:
    """A leaving node stays: its MR-cluster needs it again."""
    cluster = _owner(state)
    state = alerts.without(_step(draft, state, NodeLife.JOINING, why))
    draft.put_node(state)
    draft.settle(leave_key(state.node.id))
    draft.touch(cluster)
    draft.host(state, state.role, cluster, within_us=draft.settings.join_us)


def evacuate(draft: Draft, state: NodeState) -> NodeState:
    """The NodeManager of a node that stores data is out: its blocks are next."""
    state = replace(_step(draft, state, NodeLife.EVACUATING, state.why), leaving=False)
    draft.put_node(state)
    draft.touch(_owner(state))
    draft.expect(leave_key(state.node.id), draft.settings.evacuate_us)
    return state


def clean(draft: Draft, state: NodeState, why: Reason) -> None:
    """Stop, wipe and verify a node; it stays its MR-cluster's until that was seen.

    One that stored data of a running MR-cluster is wiped only after its proof was asked for once more (`Host.proof`).
    """
    cluster = _owner(state)
    state = replace(alerts.without(_step(draft, state, NodeLife.CLEANING, why)), leaving=False)
    draft.put_node(state)
    no_alert(draft, state)
    draft.settle(leave_key(state.node.id))
    draft.host(state, None, cluster, within_us=draft.settings.clean_us)


def no_alert(draft: Draft, state: NodeState) -> None:
    """An MR-cluster is not red for this node any more; another one that is held may still be a reason."""
    cluster = None if state.owner is None else draft.cluster(state.owner)
    if cluster is None or not alerts.about(cluster, ClusterAlert.NODE):
        return
    nodes = draft.nodes_of(cluster.id)
    held = [n for n in nodes if n.life is NodeLife.LOST and n.leaving and n.node.id != state.node.id]
    cluster = alerts.ended(cluster, ClusterAlert.NODE)
    draft.put_cluster(alerts.about_node(cluster, held[0].node.id, held[0].alert) if held else cluster)


def wiped(draft: Draft, state: NodeState) -> None:
    """A node was seen clean: it is free, or goes out of service when somebody keeps it out."""
    draft.settle(Key.HOST.of(state.node.id))
    if state.owner is not None:
        # Its masters go on listing it as one that leaves otherwise, until the next move.
        draft.touch(state.owner)
    life = NodeLife.OUT if state.kept_out else NodeLife.FREE
    state = replace(
        state,
        life=life,
        owner=None,
        role=None,
        since_us=draft.at_us,
        tick=draft.tick.tick,
        alert="",
        alert_kind=None,
        sight=None,
        missing_before=None,
        discard=False,
    )
    draft.put_node(state)
    draft.say("freed" if life is NodeLife.FREE else "out-of-service", node=state.node.id, why=state.keep_out)
    if state.back_us is not None and life is NodeLife.OUT:
        draft.expect(Key.BACK.of(state.node.id), max(0, state.back_us - draft.at_us))


def lost(draft: Draft, state: NodeState, error: str) -> NodeState:
    """A node stopped answering: without data it must be wiped before anybody gets it, with data it is waited for.

    One that was leaving with data is held with it, and goes on leaving when it is back.
    """
    cluster = _owner(state)
    leaving = state.stores and (state.life in (NodeLife.DRAINING, NodeLife.EVACUATING))
    why = draft.say("node-lost", node=state.node.id, cluster=cluster, role=state.role, error=error, leaving=leaving)
    gone = replace(alerts.put(_step(draft, state, NodeLife.LOST, why), NodeAlert.LOST, error), leaving=leaving)
    if not state.stores:
        gone = replace(gone, owner=None, role=None)
    draft.put_node(gone)
    draft.settle(leave_key(state.node.id))
    draft.touch(cluster)
    draft.host(gone, gone.role, cluster, within_us=draft.settings.join_us)
    return gone


def leaves_while_lost(draft: Draft, state: NodeState) -> None:
    """A lost node with data leaves: at once when its data is given up, else when it is proven elsewhere or back."""
    cluster = _owner(state)
    why = draft.say("leaves-while-lost", node=state.node.id, cluster=cluster, role=state.role)
    if state.discard:
        draft.say("data-given-up", node=state.node.id, cluster=cluster)
        draft.touch(cluster)
        clean(draft, state, why)
    elif not state.leaving:
        state = replace(state, leaving=True, why=why)
        draft.put_node(state)
        draft.touch(cluster)
        draft.host(state, state.role, cluster, within_us=draft.settings.join_us)


def quarantine(draft: Draft, state: NodeState, error: str) -> None:
    """A node that did not come up is kept out for a while, twice as long each time in a row.

    What an operator said about it stays in force, without an end. One that stores data may hold blocks all the same
    (its NodeManager failed, or it was about to leave before): it leaves as any other, its blocks first.
    """
    cluster = _owner(state)
    failures = state.failures + 1
    wait_us = draft.settings.quarantine_us * 2 ** min(max(0, failures - draft.settings.join_attempts), 6)
    back_us = draft.at_us + wait_us
    why = draft.say("quarantine", node=state.node.id, cluster=cluster, error=error, until_us=back_us)
    state = replace(state, failures=failures)
    if not state.keep_out or state.back_us is not None:
        state = replace(state, keep_out=f"quarantine: {error}", back_us=back_us)
    if state.role is Role.TRANSIENT:
        clean(draft, state, why)
        draft.touch(cluster)
    else:
        shrink(draft, state, why)


def _step(draft: Draft, state: NodeState, life: NodeLife, why: Reason) -> NodeState:
    """The node in its next life; what was doubted in the one before is history, as is what was seen."""
    draft.settle(Key.DOUBT.of(state.node.id))
    return replace(state, life=life, since_us=draft.at_us, why=why, tick=draft.tick.tick, sight=None)


def _owner(state: NodeState) -> ClusterId:
    if state.owner is None:
        raise ValueError(f"{state.node.id} is {state.life} and belongs to nobody")
    return state.owner
