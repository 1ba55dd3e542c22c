"""The meaning of a node's sight: is it lost, drained, safe to stop, held, back? Facts in, judgement here.

Patience is a pending deadline (`Key.DOUBT`, `Key.SILENT`) with a time from the settings, so the ledger holds it and a
restarted controller goes on waiting where the one before was. Facts that are not known begin and end nothing.
"""

from __future__ import annotations

from fawkes.base.values import replace
from fawkes.core.jobs import jobs, service
from fawkes.core.masters import masters
from fawkes.core.state import alerts
from fawkes.core.state.draft import Draft
from fawkes.core.state.moves import clean, evacuate, lost, no_alert
from fawkes.core.values.effects import Host
from fawkes.core.values.events import MastersSeen, NodeSeen
from fawkes.core.values.keys import Key
from fawkes.core.values.lifecycle import WITH_MASTERS
from fawkes.core.values.model import ClusterAlert, ClusterId, ClusterState, NodeAlert, NodeId, NodeLife, NodeState, Role
from fawkes.core.values.proof import Proof, cannot_end, missing_blocks, missing_name, not_proven
from fawkes.core.values.sight import HEARD, NAMENODE, UNHEARD, Compute, Sight, Stored, not_running

#: a NodeManager of which the ResourceManager says so does nothing for its MR-cluster any more
_GONE = frozenset({Compute.LEFT, Compute.LOST})
_DRAINS = frozenset({Compute.DRAINING, Compute.IDLE})


def masters_seen(draft: Draft, event: MastersSeen) -> None:
    """Masters that are silent for ``silent_us`` are lost with their node; meanwhile nothing is known of the others.

    A NameNode beside which a second one follows is waited for only during ``takeover_us``: the takeover asks it twice
    more, and shuts it out of the journal. Daemons that have ended, by the word of their node, are not waited for.
    Once the masters answer, what was seen last is judged anew: it is told again only if it has changed.

    Masters that the controller could not ask may work: nothing follows but that users are told.
    """
    cluster = draft.cluster(event.cluster)
    if cluster is None or cluster.life not in WITH_MASTERS or _between(cluster):
        return
    key = Key.SILENT.of(cluster.id)
    if event.unasked:
        _no_doubt(draft, cluster)
        draft.settle(key)
        cluster = alerts.raised(alerts.ended(cluster, ClusterAlert.SILENT), ClusterAlert.UNASKED, event.error)
        draft.put_cluster(replace(cluster, silent_us=None))
        return
    if alerts.about(cluster, ClusterAlert.UNASKED):
        cluster = alerts.ended(cluster, ClusterAlert.UNASKED)
        draft.put_cluster(cluster)
    if not event.error:
        _heard(draft, cluster)
        return
    if draft.pending(key) is None:
        service.doubt(draft, cluster)
        _no_doubt(draft, cluster)
    if cluster.silent_us is None:
        cluster = replace(cluster, silent_us=draft.at_us)
        draft.put_cluster(cluster)
    short = _ready(cluster) and event.silent == NAMENODE and draft.settings.takeover_us
    patience_us = min(draft.settings.takeover_us, draft.settings.silent_us) if short else draft.settings.silent_us
    draft.expect(key, max(0, _silent_since(draft, cluster) + patience_us - draft.at_us))
    if event.gone:
        _ended(draft, cluster, event.gone)


def _heard(draft: Draft, cluster: ClusterState) -> None:
    draft.settle(Key.SILENT.of(cluster.id))
    masters.answer(draft, cluster)
    cluster = draft.cluster(cluster.id) or cluster
    if cluster.silent_us is not None or alerts.about(cluster, ClusterAlert.SILENT):
        draft.put_cluster(replace(alerts.ended(cluster, ClusterAlert.SILENT), silent_us=None))
    for state in draft.nodes_of(cluster.id):
        if state.sight is not None and state.life in _JUDGES:
            _JUDGES[state.life](draft, state, state.sight)
    jobs.release(draft, cluster.id)


def _no_doubt(draft: Draft, cluster: ClusterState) -> None:
    """Nobody tells of its nodes now: patience with one begins anew."""
    for state in draft.nodes_of(cluster.id):
        draft.settle(Key.DOUBT.of(state.node.id))


def _ready(cluster: ClusterState) -> bool:
    return cluster.standby is not None and cluster.standby.ready


def _silent_since(draft: Draft, cluster: ClusterState) -> int:
    return draft.at_us - draft.settings.silent_us if cluster.silent_us is None else cluster.silent_us


def _ended(draft: Draft, cluster: ClusterState, gone: tuple[str, ...]) -> None:
    """Masters have ended on a node that answers: they are started again at once, or the second NameNode takes over."""
    if cluster.master is None:
        return
    master, why = draft.node(cluster.master), not_running(gone)
    then = "the second NameNode takes over" if NAMENODE in gone and _ready(cluster) else "Fawkes starts it again"
    draft.put_cluster(alerts.raised(cluster, ClusterAlert.SILENT, f"{master.node.id} answers, but {why}: {then}"))
    if master.life is NodeLife.SERVING:
        lost(draft, master, why)
    cluster = draft.cluster(cluster.id) or cluster
    if NAMENODE in gone and _ready(cluster):
        draft.settle(Key.SILENT.of(cluster.id))
        masters.lost(draft, cluster, since_us=_silent_since(draft, cluster))


def _between(cluster: ClusterState) -> bool:
    """True if its masters are being moved: what others say of its nodes meanwhile means nothing."""
    return cluster.moving is not None and cluster.moving.begun


def silent_for_long(draft: Draft, name: str) -> None:
    """Masters have not answered for too long: their node is lost until its daemons have been brought up again."""
    draft.settle(Key.SILENT.of(name))
    cluster = draft.cluster(ClusterId(name))
    if cluster is None or cluster.life not in WITH_MASTERS or cluster.master is None or _between(cluster):
        return
    since_us = _silent_since(draft, cluster)
    if not _ready(cluster) and (left_us := since_us + draft.settings.silent_us - draft.at_us) > 0:
        # The second NameNode, for which they had less time, follows no more.
        draft.expect(Key.SILENT.of(name), left_us)
        return
    master = draft.node(cluster.master)
    if not alerts.about(cluster, ClusterAlert.SILENT):
        why = f"those that have ended are started again as soon as {master.node.id} answers"
        cluster = alerts.raised(cluster, ClusterAlert.SILENT, why)
        draft.put_cluster(cluster)
    if master.life is NodeLife.SERVING:
        lost(draft, master, alerts.in_words(ClusterAlert.SILENT))
    masters.lost(draft, cluster, since_us=since_us)


def node_seen(draft: Draft, event: NodeSeen) -> None:
    """Note how the masters see a node now. What they were asked before the node's present life began is history."""
    state = draft.known_node(event.node)
    stale = state is not None and event.sight.asked_us < state.since_us
    if state is None or stale or (state.generation, state.owner) != (event.generation, event.cluster):
        draft.say("late-answer", node=event.node, generation=event.generation, seen=event.sight.stored)
        return
    owner = None if state.owner is None else draft.cluster(state.owner)
    if state.life not in _JUDGES or (owner is not None and _between(owner)):
        return
    state = replace(state, sight=event.sight, missing_before=_missing_before(state, event.sight))
    draft.put_node(state)
    _JUDGES[state.life](draft, state, event.sight)


def _missing_before(state: NodeState, sight: Sight) -> tuple[str, ...] | None:
    """The files that were missing in every whole report while the node left and was heard from; None: not known.

    The first one must have its own blocks: a NameNode that has just begun anew calls files missing that are on it.
    """
    known, blocks = state.missing_before, sight.blocks
    leaving = state.life in (NodeLife.DRAINING, NodeLife.EVACUATING)
    if not leaving or sight.gone or sight.stored not in HEARD or blocks is None or not blocks.known:
        return known
    if known is None:
        return blocks.missing if blocks.has_own or not blocks.missing_files else None
    now = dict(map(missing_blocks, blocks.missing))
    both = ((file, min(count, now[file])) for file, count in map(missing_blocks, known) if file in now)
    return tuple(missing_name(file, count) for file, count in both)


def forget_missing(draft: Draft) -> None:
    """Another version may have believed a report that this one does not: what was missing before is not known.

    A wipe that it began is asked to prove itself without that, too.
    """
    for state in list(draft.view.nodes.values()):
        if state.missing_before is not None:
            draft.put_node(replace(draft.node(state.node.id), missing_before=None))
        pending = draft.pending(Key.HOST.of(state.node.id))
        if pending is not None and isinstance(pending.effect, Host) and pending.effect.proof is not None:
            effect, left_us = replace(pending.effect, proof=Proof()), max(0, pending.deadline_us - draft.at_us)
            draft.expect(pending.key, left_us, effect=effect, version=pending.version, tries=pending.tries)


def _serving(draft: Draft, state: NodeState, sight: Sight) -> None:
    if sight.gone:
        lost(draft, state, not_running(sight.gone))
    elif sight.compute in _GONE:
        lost(draft, state, ", ".join([f"its NodeManager is {sight.compute}", *_trouble(state, sight)]))
    elif _trouble(state, sight):
        _doubt(draft, state, draft.settings.missing_us)
    elif _should_leave(sight):
        _doubt(draft, state, draft.settings.doubt_us)
    elif _works(state, sight):
        draft.settle(Key.DOUBT.of(state.node.id))


def _trouble(state: NodeState, sight: Sight) -> list[str]:
    """The faults of a node that should serve; a master that has begun anew does not know it for a while."""
    trouble = ["its NodeManager is unknown to the ResourceManager"] if sight.compute is Compute.ABSENT else []
    if state.stores and sight.stored in UNHEARD:
        trouble.append("its DataNode is dead")
    return trouble


def _should_leave(sight: Sight) -> bool:
    """True if a master thinks that a node leaves."""
    return sight.compute in _DRAINS or sight.stored in (Stored.LEAVING, Stored.LEFT)


def _works(state: NodeState, sight: Sight) -> bool:
    """True if the masters count on the node; not while either of them says nothing about it."""
    computes = sight.compute not in (Compute.NOT_KNOWN, Compute.ABSENT, *_GONE) and not sight.gone
    return computes and (not state.stores or sight.stored in HEARD)


def _draining(draft: Draft, state: NodeState, sight: Sight) -> None:
    if sight.compute in _GONE or sight.compute is Compute.IDLE:
        drained(draft, state)
    elif sight.compute in (Compute.RUNNING, Compute.ABSENT):
        _doubt(draft, state, draft.settings.doubt_us)
    elif sight.compute is Compute.DRAINING:
        draft.settle(Key.DOUBT.of(state.node.id))


def drained(draft: Draft, state: NodeState) -> None:
    """Nothing computes on a leaving node any more: it is wiped, or its blocks leave it next."""
    why = draft.say("drained", node=state.node.id, cluster=state.owner, role=state.role)
    if state.role is Role.TRANSIENT:
        clean(draft, state, why)
    else:
        evacuate(draft, state)


def _evacuating(draft: Draft, state: NodeState, sight: Sight) -> None:
    why = _not_safe(state, sight)
    if not why:
        _safe(draft, state, sight)
        return
    if sight.stored in UNHEARD:
        _doubt(draft, state, draft.settings.missing_us)
    elif sight.stored is Stored.IN_SERVICE:
        _doubt(draft, state, draft.settings.doubt_us)
    elif alerts.kind_of(state) is NodeAlert.HELD:
        _held(draft, state, _why_held(draft, state, sight))
    else:
        _doubt(draft, state, draft.settings.held_us)


def _not_safe(state: NodeState, sight: Sight) -> str:
    """The reason why a leaving node must keep its data; empty when it was proven to be elsewhere."""
    if sight.stored is Stored.IN_SERVICE:
        return "the NameNode does not know yet that it is leaving"
    return not_proven(sight, Proof(state.missing_before), since_us=state.since_us - 1)


def _safe(draft: Draft, state: NodeState, sight: Sight) -> None:
    facts = {"listed": sight.blocks.listed, "missing_before": len(state.missing_before or ())} if sight.blocks else {}
    clean(draft, state, draft.say("evacuated", node=state.node.id, cluster=state.owner, seen=sight.stored, **facts))


def _lost(draft: Draft, state: NodeState, sight: Sight) -> None:
    """A node with data that is waited for: it serves or goes on leaving when it is back, whoever brought it back."""
    if not state.leaving:
        if _works(state, sight) and sight.stored is not Stored.LEAVING:
            back(draft, state)
    elif sight.stored in HEARD:
        back(draft, state)
    elif sight.stored in UNHEARD:
        why = _not_safe(state, sight)
        if why:
            _held(draft, state, f"it is lost, and {why}")
        else:
            _safe(draft, state, sight)


def back(draft: Draft, state: NodeState) -> None:
    """A lost node works again: it serves, or it goes on leaving."""
    name = state.node.id
    draft.settle(Key.HOST.of(name))
    no_alert(draft, state)
    if state.leaving:
        draft.say("leaves-again", node=name, cluster=state.owner, role=state.role)
        # Until its DataNode has told of its blocks, its own files are missing, too: they were not before.
        evacuate(draft, replace(alerts.without(state), missing_before=state.missing_before or ()))
        return
    draft.say("serves", node=name, cluster=state.owner, role=state.role)
    # Data that was given up while it was lost is there again: a later loss or drain must ask anew.
    state = replace(alerts.without(state), life=NodeLife.SERVING, since_us=draft.at_us, failures=0, sight=None)
    draft.put_node(replace(state, discard=False))


_JUDGES = {
    NodeLife.SERVING: _serving,
    NodeLife.DRAINING: _draining,
    NodeLife.EVACUATING: _evacuating,
    NodeLife.LOST: _lost,
}


def _doubt(draft: Draft, state: NodeState, wait_us: int) -> None:
    """Patience with a node begins, unless it has begun already or its masters say nothing at all."""
    key = Key.DOUBT.of(state.node.id)
    silent = state.owner is not None and draft.pending(Key.SILENT.of(state.owner)) is not None
    pending = draft.pending(key)
    if not silent and pending is None:
        draft.expect(key, wait_us)
    elif pending is not None and pending.version:
        doubted_for_long(draft, state.node.id)


def doubted_for_long(draft: Draft, name: str) -> None:
    """Acts on a sight of a node that has lasted for as long as the settings allow.

    News may be late: one that may be back is missing only by a sight that was asked for when the time was over (the
    ``version`` of what is pending from then on). Masters that give none are silent.
    """
    key = Key.DOUBT.of(name)
    pending, state = draft.pending(key), draft.known_node(NodeId(name))
    draft.settle(key)
    sight = None if state is None else state.sight
    if pending is None or state is None or sight is None or state.owner is None:
        return
    over_us = pending.version or pending.deadline_us
    if sight.repeated and sight.asked_us < over_us and _may_be_back(state, sight):
        draft.expect(key, draft.settings.membership_us, version=over_us)
    elif state.life is NodeLife.SERVING and (trouble := _trouble(state, sight)):
        lost(draft, state, ", ".join(trouble))
    elif state.life is NodeLife.SERVING and _should_leave(sight):
        _order_again(draft, state, "is not serving")
    elif state.life is NodeLife.DRAINING:
        _drain_doubted(draft, state, sight)
    elif state.life is NodeLife.EVACUATING:
        _evacuation_doubted(draft, state, sight)


def _may_be_back(state: NodeState, sight: Sight) -> bool:
    """True if a node is given up because it is missing: what runs on it would be killed."""
    if state.life is NodeLife.SERVING:
        return bool(_trouble(state, sight))
    return state.life is NodeLife.DRAINING and sight.compute is Compute.ABSENT


def _drain_doubted(draft: Draft, state: NodeState, sight: Sight) -> None:
    """A ResourceManager that does not know the node has nothing running there; one that runs it is told again."""
    if sight.compute is Compute.ABSENT:
        drained(draft, state)
    elif sight.compute is Compute.RUNNING:
        _order_again(draft, state, "is not draining")


def _evacuation_doubted(draft: Draft, state: NodeState, sight: Sight) -> None:
    if sight.stored is Stored.IN_SERVICE:
        _order_again(draft, state, "is not evacuating")
    elif sight.stored in UNHEARD:
        why = _not_safe(state, sight)
        gone = lost(draft, state, f"it died while it was leaving, and {why}")
        _cluster_alert(draft, gone, gone.alert)
    else:
        _held(draft, state, _why_held(draft, state, sight))


def _why_held(draft: Draft, state: NodeState, sight: Sight) -> str:
    cluster = None if state.owner is None else draft.cluster(state.owner)
    never = cannot_end(sight.blocks, 1 if cluster is None else cluster.spec.replication)
    return never or _not_safe(state, sight)


def _order_again(draft: Draft, state: NodeState, what: str) -> None:
    draft.say("told-again", node=state.node.id, cluster=state.owner, what=what)
    if state.owner is not None:
        draft.touch(state.owner, afresh=True)
    draft.expect(Key.DOUBT.of(state.node.id), draft.settings.doubt_us)


def _held(draft: Draft, state: NodeState, why: str) -> None:
    """A node keeps its data; said again when the reason has changed."""
    if state.alert == why:
        return
    draft.put_node(alerts.put(state, NodeAlert.HELD, why))
    draft.say("held-blocks", node=state.node.id, cluster=state.owner, error=why, lost=state.life is NodeLife.LOST)
    _cluster_alert(draft, state, why)


def _cluster_alert(draft: Draft, state: NodeState, why: str) -> None:
    """An MR-cluster that waits for a lost node with data is red until that is settled."""
    cluster = None if state.owner is None else draft.cluster(state.owner)
    if cluster is not None and state.life is NodeLife.LOST:
        draft.put_cluster(alerts.about_node(cluster, state.node.id, why))
