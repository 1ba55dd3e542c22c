"""decide(view, event, measure): what follows from one event. Pure; the only entrance to the core."""

from __future__ import annotations

from dataclasses import replace

from fawkes.core import jobs, requests
from fawkes.core.admission import admit
from fawkes.core.clusters import answered, cluster_over_time, nodes_changed, save
from fawkes.core.decision import Decision, PutPending, PutRules
from fawkes.core.draft import Draft
from fawkes.core.events import (
    CancelAsked,
    Condition,
    Done,
    DrainAsked,
    Event,
    Failed,
    JobObserved,
    NodeObserved,
    PauseAsked,
    ReleaseAsked,
    Requested,
    ResumeAsked,
    Sampled,
    Started,
    Submitted,
    UndrainAsked,
    Woke,
)
from fawkes.core.lifecycle import WITH_MASTERS
from fawkes.core.model import ClusterLife, NodeId, NodeLife, NodeState, Reason, Role
from fawkes.core.moves import JOIN_FAILURES, clean, evacuate, leave_key, lost, quarantine, wiped
from fawkes.core.plan import hand_out
from fawkes.core.readings import sampled
from fawkes.core.replace import replace_core
from fawkes.core.tick import retire_idle, tick
from fawkes.core.view import View
from fawkes.core.weights import Measure


def decide(view: View, event: Event, measure: Measure) -> Decision:
    """The decision that follows from ``event``; ``measure`` is the weighting policy, asked on ticks alone.

    ValueError when the first event is no `Started`.
    """
    if isinstance(event, Started):
        return _started(view, event)
    if view.rules is None:
        raise ValueError(f"{type(event).__name__} before Started")
    draft = Draft(view, event.at_us, view.rules)
    if isinstance(event, Woke):
        _woke(draft, measure)
    elif isinstance(event, Sampled):
        sampled(draft, event)
    elif view.rules.shadow:
        _only_answer(draft, event)
    elif isinstance(event, (NodeObserved, Done, Failed, JobObserved)):
        _seen(draft, event)
    else:
        _asked(draft, event)
    if not view.rules.shadow:
        nodes_changed(draft)
    return draft.finish()


def _started(view: View, event: Started) -> Decision:
    """An engine takes over: the inventory as it is now, and every effect under way once more."""
    rules = PutRules(event.version, event.pool, event.epoch, event.controller, event.settings, event.shadow)
    draft = Draft(view, event.at_us, rules)
    draft.new_timer = True
    draft.change(rules)
    draft.say("started", version=event.version, epoch=event.epoch, policy=event.policy.name, shadow=event.shadow)
    _read_inventory(draft, event)
    for pending in list(view.pending.values()):
        _take_over(draft, pending)
    for cluster in view.clusters.values():
        if cluster.life in WITH_MASTERS:
            draft.touch(cluster.id)
    draft.expect("tick", draft.settings.period_us, version=view.last_tick.tick + 1)
    replace_core(draft)
    hand_out(draft, admit(draft))
    return draft.finish()


def _take_over(draft: Draft, pending: PutPending) -> None:
    """What an earlier engine began; members are written anew, as they are by now."""
    if pending.key == "tick" or pending.key.startswith("membership:"):
        return
    draft.again(pending)
    if pending.deadline_us <= draft.at_us:
        wait_us = draft.settings.membership_us
        draft.expect(pending.key, wait_us, effect=pending.effect, version=pending.version, tries=pending.tries)


def _read_inventory(draft: Draft, event: Started) -> None:
    view = draft.view
    listed = {node.id for node in event.nodes}
    for node in event.nodes:
        old = view.nodes.get(node.id)
        if old is None:
            draft.put_node(NodeState(node=node, since_us=event.at_us))
        elif old.unlisted:
            requests.listed(draft, replace(old, node=node))
        elif old.node != node:
            draft.put_node(replace(old, node=node))
    for state in list(view.nodes.values()):
        if state.node.id not in listed and not state.unlisted:
            requests.unlisted(draft, state)


def _woke(draft: Draft, measure: Measure) -> None:
    """Deadlines first, the tick last: it should see what they led to. A shadow run has no deadlines of its own."""
    draft.new_timer = True
    due = draft.view.due(draft.at_us)
    for pending in due:
        if draft.rules.shadow or draft.pending(pending.key) is not pending:
            continue
        kind, _, name = pending.key.partition(":")
        if kind in ("host", "leave", "back"):
            _node_over_time(draft, kind, NodeId(name))
        elif kind in ("job", "limit"):
            jobs.over_time(draft, pending.key)
        elif kind in ("cluster", "membership"):
            cluster_over_time(draft, pending)
    if any(pending.key == "tick" for pending in due):
        for cluster in retire_idle(draft):
            draft.say("idle", cluster=cluster.id, since_us=cluster.idle_us)
            save(draft, cluster)
        tick(draft, measure)


def _only_answer(draft: Draft, event: Event) -> None:
    """A shadow run changes nothing, and says so to whoever asks for something."""
    ask = getattr(event, "ask", "")
    if ask:
        draft.reply(ask, Reason("shadow", {"asked": type(event).__name__}))


def _asked(draft: Draft, event: Event) -> None:
    match event:
        case Requested():
            requests.requested(draft, event)
        case ReleaseAsked():
            requests.release_asked(draft, event)
        case Submitted():
            jobs.submitted(draft, event)
        case CancelAsked():
            jobs.cancel_asked(draft, event)
        case PauseAsked() | ResumeAsked():
            requests.pause(draft, event)
        case DrainAsked() | UndrainAsked():
            requests.drain(draft, event)


def _seen(draft: Draft, event: NodeObserved | Done | Failed | JobObserved) -> None:
    match event:
        case JobObserved():
            jobs.observed(draft, event)
        case NodeObserved():
            _node_observed(draft, event)
        case Done() | Failed():
            answered(draft, event)


def _node_observed(draft: Draft, event: NodeObserved) -> None:
    """What was seen of a node; answers about an older generation are history."""
    state = draft.view.nodes.get(event.node)
    if state is None or state.generation != event.generation:
        draft.say("late-answer", node=event.node, generation=event.generation, condition=event.condition)
        return
    match event.condition, state.life:
        case Condition.SERVING, NodeLife.JOINING | NodeLife.LOST if state.owner is not None:
            _serves(draft, state)
        case Condition.DRAINED, NodeLife.DRAINING:
            _drained(draft, state)
        case Condition.EVACUATED, NodeLife.EVACUATING:
            clean(draft, state, draft.say("evacuated", node=event.node, cluster=state.owner, **event.facts))
        case Condition.HELD, NodeLife.EVACUATING if state.alert != event.error:
            draft.put_node(replace(state, alert=event.error))
            draft.say("held-blocks", node=event.node, cluster=state.owner, error=event.error, **event.facts)
        case Condition.CLEAN, NodeLife.CLEANING | NodeLife.LOST if (
            state.role is None or state.life is not NodeLife.LOST
        ):
            wiped(draft, state)
        case Condition.FAILED, _:
            _failed(draft, state, event.error)
        case Condition.LOST, NodeLife.JOINING | NodeLife.SERVING | NodeLife.DRAINING | NodeLife.EVACUATING:
            lost(draft, state, event.error)


def _serves(draft: Draft, state: NodeState) -> None:
    """A node came up; one that was to leave when it was lost leaves now."""
    draft.settle(f"host:{state.node.id}")
    draft.say("serves", node=state.node.id, cluster=state.owner, role=state.role)
    state = replace(state, life=NodeLife.SERVING, since_us=draft.at_us, failures=0, alert="")
    draft.put_node(state)
    if state.kept_out:
        requests.leave_service(draft, state, state.keep_out or "no longer in the inventory")


def _drained(draft: Draft, state: NodeState) -> None:
    why = draft.say("drained", node=state.node.id, cluster=state.owner, role=state.role)
    if state.role is Role.TRANSIENT:
        clean(draft, state, why)
    else:
        evacuate(draft, state)


def _failed(draft: Draft, state: NodeState, error: str) -> None:
    """A goal for a node was not reached: a joining node gets a second chance, an unclean one is not trusted."""
    cluster = state.owner
    if cluster is not None and _may_be_given_up(draft, state):
        if state.failures + 1 >= JOIN_FAILURES:
            quarantine(draft, state, error)
            return
        draft.say("join-failed", node=state.node.id, cluster=state.owner, error=error)
        state = replace(state, failures=state.failures + 1)
        draft.put_node(state)
        draft.host(state, state.role, cluster, within_us=draft.settings.join_us)
    elif state.life in (NodeLife.CLEANING, NodeLife.LOST):
        pending = draft.pending(f"host:{state.node.id}")
        tries = pending.tries if pending else 1
        why = draft.say("not-clean", node=state.node.id, cluster=state.owner, error=error, tries=tries)
        if state.life is NodeLife.CLEANING:
            draft.put_node(
                replace(state, life=NodeLife.LOST, owner=None, role=None, why=why, alert=error, since_us=draft.at_us)
            )
        elif state.alert != error:
            draft.put_node(replace(state, alert=error))
        if pending is not None:
            wait_us = draft.settings.membership_us * 2 ** min(tries, 6)
            draft.expect(pending.key, wait_us, effect=pending.effect, version=pending.version, tries=tries)


def _may_be_given_up(draft: Draft, state: NodeState) -> bool:
    """Whether a MR-cluster can do without a node that does not come up: those that it is deployed on it needs."""
    cluster = None if state.owner is None else draft.cluster(state.owner)
    founding = state.role is Role.CORE and cluster is not None and cluster.life is ClusterLife.DEPLOYING
    return state.life is NodeLife.JOINING and not founding


def _node_over_time(draft: Draft, kind: str, node: NodeId) -> None:
    """A deadline of a node has passed."""
    state = draft.node(node)
    if kind == "back":
        draft.settle(f"back:{node}")
        if state.life is NodeLife.OUT and state.back_us is not None:
            requests.bring_back(draft, state, "its quarantine has ended")
    elif kind == "leave":
        _leaves_late(draft, state)
    else:
        _host_late(draft, state)


def _leaves_late(draft: Draft, state: NodeState) -> None:
    """Tasks never hold a node for ever, blocks always do."""
    if state.life is NodeLife.DRAINING:
        draft.say("drain-overdue", node=state.node.id, cluster=state.owner, role=state.role)
        _drained(draft, state)
    elif state.life is NodeLife.EVACUATING:
        alert = state.alert or "its blocks are not safe elsewhere yet"
        draft.put_node(replace(state, alert=alert))
        draft.say("held-blocks", node=state.node.id, cluster=state.owner, error=alert)
        draft.expect(leave_key(state.node.id), draft.settings.evacuate_us)
        if state.owner is not None:
            draft.touch(state.owner)
    else:
        draft.settle(leave_key(state.node.id))


def _host_late(draft: Draft, state: NodeState) -> None:
    pending = draft.pending(f"host:{state.node.id}")
    if pending is None:
        return
    if _may_be_given_up(draft, state):
        _failed(draft, state, "it did not serve in time")
    elif state.life in (NodeLife.CLEANING, NodeLife.LOST, NodeLife.JOINING) and pending.effect is not None:
        draft.say("asked-again", effect=pending.key, tries=pending.tries + 1)
        wait_us = draft.settings.clean_us * 2 ** min(pending.tries, 5)
        draft.act(pending.effect, within_us=wait_us, version=pending.version, tries=pending.tries + 1)
    else:
        draft.settle(pending.key)
