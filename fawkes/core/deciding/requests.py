"""Requests of users and operators: MR-clusters, their release, pauses, nodes out of and back into service."""

from __future__ import annotations

from fawkes.base.values import replace
from fawkes.core.clusters import release
from fawkes.core.masters import masters_to
from fawkes.core.state import alerts
from fawkes.core.state.draft import Draft
from fawkes.core.state.moves import awaits_proof, clean, leaves_while_lost, shrink
from fawkes.core.values.decision import PutPause
from fawkes.core.values.effects import Host
from fawkes.core.values.events import DrainAsked, PauseAsked, ReleaseAsked, Requested, ResumeAsked, UndrainAsked
from fawkes.core.values.keys import Key
from fawkes.core.values.lifecycle import LEAVING
from fawkes.core.values.model import ClusterLife, ClusterState, NodeAlert, NodeLife, NodeState, Reason, Role

#: lives of an MR-cluster that was given back and has nodes
_GOING = frozenset({ClusterLife.SAVING, ClusterLife.RETIRING})


def requested(draft: Draft, event: Requested) -> None:
    """An MR-cluster joins the global FIFO queue, unless it can never be served."""
    spec = event.spec
    refusal = _never(draft, event)
    if refusal is not None:
        draft.reply(event.ask, refusal)
        return
    life = ClusterLife.DORMANT if spec.deploy_on_first_job else ClusterLife.WAITING
    version = draft.view.first_version(spec.id)
    draft.put_cluster(
        ClusterState(spec=spec, life=life, since_us=event.at_us, requested_us=event.at_us, version=version)
    )
    draft.say("requested", cluster=spec.id, minimum=spec.min_nodes, by=event.by)
    draft.reply(event.ask, cluster=spec.id)


def _never(draft: Draft, event: Requested) -> Reason | None:
    spec = event.spec
    able = draft.counts.usable_core
    facts = {"cluster": spec.id, "minimum": spec.min_nodes, "able": able}
    if draft.cluster(spec.id) is not None:
        return Reason("cluster-exists", facts)
    if draft.closing is not None and draft.closing.agreed:
        return Reason("pool-closing", {**facts, "by": draft.closing.by})
    if spec.min_nodes < 1:
        return Reason("no-minimum", facts)
    if spec.min_nodes > able:
        return Reason("minimum-above-pool", facts)
    if spec.max_nodes is not None and spec.max_nodes < spec.min_nodes:
        return Reason("maximum-below-minimum", {**facts, "maximum": spec.max_nodes})
    return None


def release_asked(draft: Draft, event: ReleaseAsked) -> None:
    """An MR-cluster is given back: outputs are saved first; jobs that have not ended forbid it unless forced.

    One that loads or runs is surveyed before (`release.py`), and so is one whose save is given up.
    """
    cluster = draft.cluster(event.cluster)
    if cluster is None:
        draft.reply(event.ask, Reason("no-such-cluster", {"cluster": event.cluster}))
        return
    unfinished = draft.jobs_of(cluster.id)
    if unfinished and not event.force:
        draft.reply(event.ask, Reason("has-jobs", {"cluster": cluster.id, "jobs": [j.id for j in unfinished]}))
        return
    if cluster.life in release.SURVEYED or (cluster.life is ClusterLife.SAVING and event.discard):
        release.release_asked(draft, event, cluster)
        return
    if event.dry_run:
        draft.reply(event.ask, cluster=cluster.id)
        return
    draft.reply(event.ask, cluster=cluster.id)
    release.give_back(draft, cluster, by=event.by, discard=event.discard, force=event.force)


def pause(draft: Draft, event: PauseAsked | ResumeAsked) -> None:
    """Stop or allow all voluntary moves."""
    reason = (event.reason or "by an operator") if isinstance(event, PauseAsked) else ""
    draft.change(PutPause(reason))
    draft.say("paused" if reason else "resumed", reason=reason, by=event.by)
    draft.reply(event.ask, paused=reason)


def drain(draft: Draft, event: DrainAsked | UndrainAsked) -> None:
    """Take a node out of service, or put it back."""
    state = draft.view.nodes.get(event.node)
    if state is None:
        draft.reply(event.ask, Reason("no-such-node", {"node": event.node}))
    elif isinstance(event, UndrainAsked):
        _undrain_asked(draft, event, state)
    elif (stays := _stays(draft, state)) is not None:
        draft.reply(event.ask, stays)
    elif event.discard:
        _discard_asked(draft, event, state)
    else:
        draft.say("drain-asked", node=event.node, reason=event.reason, by=event.by)
        draft.reply(event.ask, node=event.node)
        keep_out(draft, replace(state, back_us=None), event.reason or "by an operator")


def _stays(draft: Draft, state: NodeState) -> Reason | None:
    """The reason why a node cannot leave, and what would have to end first; None when it can.

    The node of the masters leaves with its MR-cluster: one that is being given back already takes it along.
    """
    cluster = None if state.owner is None else draft.cluster(state.owner)
    if cluster is None or cluster.master != state.node.id or cluster.life in _GOING:
        return None
    if cluster.active and state.life is NodeLife.SERVING and masters_to.able(draft, cluster):
        # The masters go to another core node first.
        return None
    unfinished = [job.id for job in draft.jobs_of(cluster.id)]
    facts = {"node": state.node.id, "cluster": cluster.id, "life": cluster.life, "jobs": unfinished}
    return Reason("master-node", facts)


def _discard_asked(draft: Draft, event: DrainAsked, state: NodeState) -> None:
    """An administrator gives up the data that a node is held for: it need not be proven elsewhere any more."""
    if state.life is not NodeLife.EVACUATING and not (state.life is NodeLife.LOST and _held(draft, state)):
        draft.reply(event.ask, Reason("nothing-held", {"node": event.node, "life": state.life}))
        return
    draft.say("discard-asked", node=event.node, cluster=state.owner, reason=event.reason, by=event.by)
    draft.reply(event.ask, node=event.node)
    keep = event.reason or "by an operator"
    state = replace(state, discard=True, keep_out=keep, back_us=None)
    if state.owner is None:
        pending = draft.pending(Key.HOST.of(event.node))
        draft.put_node(state)
        if pending is not None and isinstance(pending.effect, Host):
            effect = replace(pending.effect, proof=None)
            draft.act(effect, within_us=draft.settings.clean_us, version=pending.version)
    elif state.life is NodeLife.EVACUATING:
        clean(draft, state, draft.say("data-given-up", node=event.node, cluster=state.owner))
    elif state.role is Role.CORE and not state.leaving:
        # Another core node takes over first (`replace.py`): the promised minimum is held.
        draft.put_node(state)
    else:
        leaves_while_lost(draft, state)


def _held(draft: Draft, state: NodeState) -> bool:
    """True if a lost node is waited for because of its data."""
    return state.stores if state.owner is not None else awaits_proof(draft, state.node.id)


def _undrain_asked(draft: Draft, event: UndrainAsked, state: NodeState) -> None:
    if state.unlisted:
        draft.reply(event.ask, Reason("not-in-inventory", {"node": event.node}))
        return
    if not state.keep_out:
        draft.reply(event.ask, Reason("not-drained", {"node": event.node}))
        return
    leaves = state.life in LEAVING or state.leaving
    draft.reply(event.ask, node=event.node, leaves=leaves, life=state.life)
    bring_back(draft, replace(state, failures=0), f"undrained by {event.by or 'an operator'}")


def listed(draft: Draft, state: NodeState) -> None:
    """The inventory names a node again that it did not."""
    state = replace(state, unlisted=False)
    if state.keep_out:
        draft.put_node(state)
    else:
        bring_back(draft, state, "in the inventory again")


def unlisted(draft: Draft, state: NodeState) -> None:
    """The inventory does not name a node any more; whatever else keeps it out stays in force."""
    _leave(draft, replace(state, unlisted=True), "no longer in the inventory")


def keep_out(draft: Draft, state: NodeState, reason: str) -> None:
    """A node goes out of service as soon as it is clean; a core node once another has taken over."""
    _leave(draft, replace(state, keep_out=reason), reason)


def _leave(draft: Draft, state: NodeState, reason: str) -> None:
    if state.life is NodeLife.FREE:
        draft.put_node(replace(alerts.without(state), life=NodeLife.OUT, since_us=draft.at_us))
        draft.say("out-of-service", node=state.node.id, why=reason)
        return
    draft.put_node(state)
    if state.life in (NodeLife.JOINING, NodeLife.SERVING):
        leave_service(draft, state, reason)
    elif state.life is NodeLife.LOST and state.owner is not None and state.role is Role.TRANSIENT_CORE:
        leaves_while_lost(draft, state)


def leave_service(draft: Draft, state: NodeState, reason: str) -> None:
    """A node that somebody keeps out leaves its MR-cluster; of a core node `replace.py` takes care."""
    if state.role is not Role.CORE:
        why = draft.say("leaves-for-operator", node=state.node.id, cluster=state.owner, reason=reason)
        shrink(draft, state, why)


def bring_back(draft: Draft, state: NodeState, why: str) -> None:
    """A node is in service again, unless the inventory does not name it."""
    draft.settle(f"back:{state.node.id}")
    if alerts.kind_of(state) is NodeAlert.WAITS:
        # What a core node that serves was waiting for does not matter any more.
        state = alerts.without(state)
    # A wipe that has begun cannot be taken back.
    discard = state.discard and (state.life is NodeLife.CLEANING or state.owner is None)
    state = replace(state, keep_out="", back_us=None, discard=discard)
    if state.life is NodeLife.OUT and not state.unlisted:
        state = replace(state, life=NodeLife.FREE, since_us=draft.at_us)
    draft.put_node(state)
    if not state.unlisted:
        draft.say("back-in-service", node=state.node.id, why=why)
