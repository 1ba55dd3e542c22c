"""Operators steer: holds, which keep balancing away from MR-clusters and nodes, and moves by hand.

A hold binds balancing alone: no node leaves or joins a held MR-cluster for the sake of shares or for the admission of
another one, and it is not retired; a held node stays where it is. Lost nodes, core nodes that need a successor, drains,
releases and what an operator does by hand go on.
"""

from __future__ import annotations

from collections.abc import Sequence

from fawkes.base.values import replace
from fawkes.core.deciding.tick import halted
from fawkes.core.state.counts import can_be_given
from fawkes.core.state.draft import Draft
from fawkes.core.state.free import FreeNodes
from fawkes.core.state.moves import undrain
from fawkes.core.state.plan import UNDRAIN, grow, home, leaving_order, let_go, staying_order
from fawkes.core.values.events import GrowAsked, HoldAsked, ShrinkAsked, UnholdAsked
from fawkes.core.values.keys import Key
from fawkes.core.values.model import ClusterId, ClusterLife, ClusterState, Hold, NodeId, NodeState, Reason, Role


def hold(draft: Draft, event: HoldAsked | UnholdAsked) -> None:
    """Keep balancing away from a node or an MR-cluster, or let it come back."""
    held = _held(draft, event.subject)
    if held is None:
        draft.reply(event.ask, Reason("no-such-subject", {"subject": event.subject}))
    elif isinstance(event, HoldAsked):
        if event.until_us and event.until_us <= draft.at_us:
            draft.reply(event.ask, Reason("hold-over", {"subject": event.subject, "until_us": event.until_us}))
            return
        _put(draft, event.subject, Hold(event.by, event.reason, event.until_us))
        draft.reply(event.ask, subject=event.subject, until_us=event.until_us)
    elif not any(held):
        draft.reply(event.ask, Reason("not-held", {"subject": event.subject}))
    else:
        _put(draft, event.subject, None)
        draft.say("unhold-asked", **_of(draft, event.subject), by=event.by)
        draft.reply(event.ask, subject=event.subject)


def hold_ended(draft: Draft, subject: str) -> None:
    """The time of a hold is over; its MR-cluster may be gone by then."""
    held = _held(draft, subject)
    draft.settle(Key.HOLD.of(subject))
    if held is not None and any(held):
        _put(draft, subject, None)
        draft.say("hold-ended", **_of(draft, subject))


def _held(draft: Draft, subject: str) -> list[Hold | None] | None:
    """The holds of the node and of the MR-cluster of this name; None when there is neither."""
    cluster, node = draft.cluster(ClusterId(subject)), draft.view.nodes.get(NodeId(subject))
    if cluster is None and node is None:
        return None
    return [each.hold for each in (cluster, node) if each is not None]


def _of(draft: Draft, subject: str) -> dict[str, str]:
    """The facts of a reason by which the node, or the MR-cluster, finds it."""
    return {"node" if NodeId(subject) in draft.view.nodes else "cluster": subject, "subject": subject}


def _put(draft: Draft, subject: str, hold: Hold | None) -> None:
    """A node and an MR-cluster of one name are held together, as they are tried again together."""
    cluster, node = draft.cluster(ClusterId(subject)), draft.view.nodes.get(NodeId(subject))
    if node is not None:
        draft.put_node(replace(draft.node(node.node.id), hold=hold))
    if cluster is not None:
        draft.put_cluster(replace(cluster, hold=hold))
        # Neither now nor after the hold: the next tick gives it another one.
        targets = {c: count for c, count in draft.tick.targets.items() if c != cluster.id}
        draft.change(replace(draft.tick, targets=targets, measured=False))
    key = Key.HOLD.of(subject)
    draft.settle(key)
    if hold is not None:
        if hold.until_us:
            draft.expect(key, hold.until_us - draft.at_us)
        draft.say("hold-asked", **_of(draft, subject), reason=hold.reason, until_us=hold.until_us, by=hold.by)


def by_hand(draft: Draft, event: GrowAsked | ShrinkAsked) -> None:
    """Nodes join or leave an MR-cluster because an operator wants it: all of them, or none."""
    cluster = draft.cluster(event.cluster)
    refusal = _forbidden(draft, event, cluster)
    if refusal is not None or cluster is None:
        draft.reply(event.ask, refusal)
    elif isinstance(event, GrowAsked):
        _grow(draft, event, cluster)
    else:
        _shrink(draft, event, cluster)


def _forbidden(draft: Draft, event: GrowAsked | ShrinkAsked, cluster: ClusterState | None) -> Reason | None:
    facts = {"cluster": event.cluster}
    if cluster is None:
        return Reason("no-such-cluster", facts)
    if event.node is not None and event.node not in draft.view.nodes:
        return Reason("no-such-node", {"node": event.node})
    if not cluster.active:
        return Reason("not-active", {**facts, "life": cluster.life})
    if cluster.unreadable_us is not None:
        return Reason("not-readable", facts)
    if event.until_us and event.until_us <= draft.at_us:
        return Reason("hold-over", {"subject": cluster.id, "until_us": event.until_us})
    return Reason("halted", {**facts, "lost": draft.counts.lost}) if halted(draft) else None


def _grow(draft: Draft, event: GrowAsked, cluster: ClusterState) -> None:
    count, held = _count(event), draft.held(cluster.id).counted
    most = cluster.spec.max_nodes
    reserved = sum(state.spec.min_nodes for state in draft.queue() if state.life is ClusterLife.ADMITTED)
    free = FreeNodes(draft, reserved=reserved)
    staying = [n for n in staying_order(draft, cluster) if event.node in (None, n.node.id)][:count]
    facts = {"cluster": cluster.id, "count": count, "held": held}
    refusal = None
    if most is not None and held + count > most:
        refusal = Reason("above-maximum", {**facts, "maximum": most})
    elif event.node is not None and not staying:
        refusal = _not_to_be_had(draft, draft.node(event.node), reserved)
    elif len(staying) + len(free) < count:
        refusal = Reason("too-few-free", {**facts, "free": len(staying) + len(free), "reserved": reserved})
    if refusal is not None:
        draft.reply(event.ask, refusal)
        return
    because = {"target": held + count, "by": event.by}
    for state in staying:
        why = draft.say(UNDRAIN, node=state.node.id, cluster=cluster.id, role=state.role, held=held, **because)
        undrain(draft, state, why)
    names = [state.node.id for state in staying]
    while len(names) < count:
        state = draft.node(event.node) if event.node is not None else free.take(home(draft, cluster.id))
        grow(draft, cluster.id, state, held, **because)
        names.append(state.node.id)
    _moved(draft, event, cluster, names, "grown by hand")


def _not_to_be_had(draft: Draft, state: NodeState, reserved: int) -> Reason | None:
    """The reason why a node cannot join; None when it can."""
    facts = {"node": state.node.id, "life": state.life, "owner": state.owner, "reserved": reserved}
    if state.hold is not None:
        return _kept(state)
    if not can_be_given(state) or (state.node.may_core and draft.counts.free_core <= reserved):
        return Reason("not-to-be-had", facts)
    return None


def _kept(state: NodeState) -> Reason:
    hold = state.hold or Hold("", "")
    return Reason("node-held", {"node": state.node.id, "reason": hold.reason, "until_us": hold.until_us})


def _shrink(draft: Draft, event: ShrinkAsked, cluster: ClusterState) -> None:
    count, held = _count(event), draft.held(cluster.id).counted
    able = leaving_order(draft, cluster)
    chosen = [state for state in able if event.node in (None, state.node.id)][:count]
    facts = {"cluster": cluster.id, "count": count, "held": held, "minimum": cluster.spec.min_nodes}
    refusal = None
    if event.node is not None and not chosen:
        state = draft.node(event.node)
        mine = state.owner == cluster.id
        where = {"node": state.node.id, "cluster": cluster.id, "life": state.life, "owner": state.owner}
        refusal = _kept(state) if mine and state.hold is not None else Reason("not-its-own", where)
        refusal = Reason("is-core-node", where) if mine and state.role is Role.CORE else refusal
    elif held - count < cluster.spec.min_nodes:
        refusal = Reason("below-minimum", facts)
    elif len(chosen) < count:
        refusal = Reason("too-few-to-give", {**facts, "able": len(able), "kept": draft.held(cluster.id).kept})
    if refusal is not None:
        draft.reply(event.ask, refusal)
        return
    let_go(draft, cluster, chosen, "shrink", target=held - count, held=held, by=event.by)
    moved_us = draft.tick.moved_us + (draft.at_us,) * count
    draft.change(replace(draft.tick, moved_us=moved_us, measured=False))
    _moved(draft, event, cluster, [state.node.id for state in chosen], "shrunk by hand")


def _count(event: GrowAsked | ShrinkAsked) -> int:
    return event.count if event.node is None else 1


def _moved(
    draft: Draft, event: GrowAsked | ShrinkAsked, cluster: ClusterState, nodes: Sequence[NodeId], reason: str
) -> None:
    """The hold that comes with a move, so that the next tick does not undo it; a longer one stays."""
    old = None if (state := draft.cluster(cluster.id)) is None else state.hold
    if event.until_us and (old is None or 0 < old.until_us < event.until_us):
        _put(draft, cluster.id, Hold(event.by, reason, event.until_us))
        old = Hold(event.by, reason, event.until_us)
    until_us = None if old is None else old.until_us
    draft.reply(event.ask, cluster=cluster.id, nodes=list(nodes), until_us=until_us)
