"""decide(view, event, measure): what follows from one event. Pure; the only entrance to the core."""

from __future__ import annotations

from dataclasses import replace

from fawkes.core import backoff, jobs, release, requests, watching
from fawkes.core.admission import admit
from fawkes.core.clusters import answered, cluster_over_time, nodes_changed
from fawkes.core.decision import Decision, PutPending, PutRules
from fawkes.core.draft import Draft
from fawkes.core.events import (
    AttemptSeen,
    CancelAsked,
    Condition,
    Done,
    DrainAsked,
    Event,
    Failed,
    JobObserved,
    MastersSeen,
    NodeObserved,
    NodeSeen,
    PauseAsked,
    ReleaseAsked,
    Requested,
    ResumeAsked,
    RetryAsked,
    Sampled,
    Seen,
    Started,
    Submitted,
    UndrainAsked,
    Woke,
)
from fawkes.core.keys import Key, split
from fawkes.core.lifecycle import WITH_MASTERS
from fawkes.core.model import ClusterId, ClusterLife, NodeId, NodeLife, NodeState, Reason, Role
from fawkes.core.moves import clean, evacuate, leave_key, quarantine, shrink, wiped
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
    elif isinstance(event, Seen):
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
    if split(pending.key)[0] in (Key.TICK, Key.MEMBERSHIP):
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
        _over_time(draft, pending)
    if any(pending.key == Key.TICK for pending in due):
        for cluster in retire_idle(draft):
            release.idle_for_long(draft, cluster)
        tick(draft, measure)


def _over_time(draft: Draft, pending: PutPending) -> None:
    kind, name = split(pending.key)
    match kind:
        case Key.HOST:
            _host_late(draft, draft.node(NodeId(name)))
        case Key.LEAVE:
            _leaves_late(draft, draft.node(NodeId(name)))
        case Key.BACK:
            _back(draft, draft.node(NodeId(name)))
        case Key.DOUBT:
            watching.doubted_for_long(draft, name)
        case Key.SILENT:
            watching.silent_for_long(draft, name)
        case Key.JOB | Key.LIMIT | Key.QUIET:
            jobs.over_time(draft, pending.key)
        case Key.CLUSTER | Key.MEMBERSHIP | Key.SURVEY:
            cluster_over_time(draft, pending)


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
        case RetryAsked():
            retry(draft, event)


def _seen(draft: Draft, event: Seen) -> None:
    match event:
        case NodeSeen():
            watching.node_seen(draft, event)
        case MastersSeen():
            watching.masters_seen(draft, event)
        case AttemptSeen():
            jobs.attempt_seen(draft, event)
        case JobObserved():
            jobs.observed(draft, event)
        case NodeObserved():
            _node_observed(draft, event)
        case Done() | Failed():
            answered(draft, event)


def _node_observed(draft: Draft, event: NodeObserved) -> None:
    """How the work on a node ended; answers about an older generation are history."""
    state = draft.view.nodes.get(event.node)
    if state is None or state.generation != event.generation:
        draft.say("late-answer", node=event.node, generation=event.generation, condition=event.condition)
        return
    match event.condition, state.life:
        case Condition.SERVING, NodeLife.JOINING | NodeLife.LOST if state.owner is not None:
            _serves(draft, state)
        case Condition.SERVING, NodeLife.EVACUATING:
            draft.settle(Key.HOST.of(event.node))
        case Condition.HELD, NodeLife.CLEANING | NodeLife.LOST:
            _not_proven(draft, state, event.error)
        case Condition.CLEAN, NodeLife.CLEANING | NodeLife.LOST if (
            state.role is None or state.life is not NodeLife.LOST
        ):
            wiped(draft, state)
        case Condition.FAILED, _:
            _failed(draft, state, event)


def _serves(draft: Draft, state: NodeState) -> None:
    """A node came up; one that was to leave when it was lost leaves now."""
    watching.back(draft, state)
    state = draft.node(state.node.id)
    if state.life is NodeLife.SERVING and state.kept_out:
        requests.leave_service(draft, state, state.keep_out or "no longer in the inventory")


def _not_proven(draft: Draft, state: NodeState, error: str) -> None:
    """Right before its wipe HDFS could not show that the node's blocks are elsewhere: it goes on evacuating."""
    why = draft.say("held-blocks", node=state.node.id, cluster=state.owner, error=error, before_wipe=True)
    if state.owner is None:
        draft.put_node(replace(state, alert=error))
        _try_again(draft, Key.HOST.of(state.node.id))
        return
    state = evacuate(draft, replace(state, alert=error, why=why))
    draft.host(state, state.role, state.owner or ClusterId(""), within_us=draft.settings.join_us)


def _failed(draft: Draft, state: NodeState, event: NodeObserved) -> None:
    """A goal for a node was not reached: a joining node gets a second chance, an unclean one is not trusted.

    A node that refuses us (``refused``: a damaged or foreign lease) gets none: it is out of use until it was wiped.
    """
    if _may_be_given_up(draft, state):
        if event.facts.get("refused"):
            _refused(draft, state, event.error)
        else:
            _join_failed(draft, state, event.error)
    elif state.life in (NodeLife.CLEANING, NodeLife.LOST):
        _not_reached(draft, state, event.error)
    elif state.life is NodeLife.EVACUATING:
        _try_again(draft, Key.HOST.of(state.node.id))


def _refused(draft: Draft, state: NodeState, error: str) -> None:
    """Somebody has to repair the node; as soon as that is done it can be wiped, and then it serves again."""
    why = draft.say("node-refused", node=state.node.id, cluster=state.owner, error=error)
    if state.stores and state.why.code != "grow":
        shrink(draft, state, why)
    else:
        clean(draft, state, why)
        if state.owner is not None:
            draft.touch(state.owner)


def _join_failed(draft: Draft, state: NodeState, error: str) -> None:
    cluster = state.owner
    if cluster is None or state.failures + 1 >= draft.settings.join_attempts:
        quarantine(draft, state, error)
        return
    draft.say("join-failed", node=state.node.id, cluster=cluster, error=error)
    state = replace(state, failures=state.failures + 1)
    draft.put_node(state)
    draft.host(state, state.role, cluster, within_us=draft.settings.join_us)


def _not_reached(draft: Draft, state: NodeState, error: str) -> None:
    """A node that could not be wiped, or a lost one that is not back yet: tried again, as long as it takes."""
    key = Key.HOST.of(state.node.id)
    pending = draft.pending(key)
    tries = pending.tries if pending else 1
    if state.life is NodeLife.LOST and state.stores and state.owner is not None:
        if not state.alert:
            draft.put_node(replace(state, alert=error))
        _try_again(draft, key)
        return
    why = draft.say("not-clean", node=state.node.id, cluster=state.owner, error=error, tries=tries)
    if state.life is NodeLife.CLEANING:
        draft.put_node(
            replace(state, life=NodeLife.LOST, owner=None, role=None, why=why, alert=error, since_us=draft.at_us)
        )
    elif state.alert != error:
        draft.put_node(replace(state, alert=error))
    _try_again(draft, key)


def _try_again(draft: Draft, key: str) -> None:
    """The next try of an effect, after a wait that doubles."""
    pending = draft.pending(key)
    if pending is not None:
        wait_us = backoff.wait_us(draft.settings, pending.tries)
        draft.expect(key, wait_us, effect=pending.effect, version=pending.version, tries=pending.tries)


def _may_be_given_up(draft: Draft, state: NodeState) -> bool:
    """Whether an MR-cluster can do without a node that does not come up: those that it is deployed on it needs."""
    cluster = None if state.owner is None else draft.cluster(state.owner)
    founding = state.role is Role.CORE and cluster is not None and cluster.life is ClusterLife.DEPLOYING
    return state.life is NodeLife.JOINING and not founding


def _back(draft: Draft, state: NodeState) -> None:
    """A quarantine has ended."""
    draft.settle(Key.BACK.of(state.node.id))
    if state.life is NodeLife.OUT and state.back_us is not None:
        requests.bring_back(draft, state, "its quarantine has ended")


def _leaves_late(draft: Draft, state: NodeState) -> None:
    """Tasks never hold a node for ever, blocks always do."""
    if state.life is NodeLife.DRAINING:
        draft.say("drain-overdue", node=state.node.id, cluster=state.owner, role=state.role)
        watching.drained(draft, state)
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
    pending = draft.pending(Key.HOST.of(state.node.id))
    if pending is None:
        return
    if _may_be_given_up(draft, state):
        _join_failed(draft, state, "it did not serve in time")
    elif state.life in _WORKED_ON and pending.effect is not None:
        again(draft, pending, tries=pending.tries + 1)
    else:
        draft.settle(pending.key)


#: lives of a node in which the latest goal for it is asked for again when nothing is heard
_WORKED_ON = frozenset({NodeLife.CLEANING, NodeLife.LOST, NodeLife.JOINING, NodeLife.EVACUATING})


def again(draft: Draft, pending: PutPending, *, tries: int) -> None:
    """Ask for an effect once more; a first try within reach of an earlier one gets its time again."""
    if pending.effect is None:
        return
    draft.say("asked-again", effect=pending.key, tries=tries)
    within_us = max(draft.settings.clean_us, backoff.wait_us(draft.settings, tries))
    draft.act(pending.effect, within_us=within_us, version=pending.version, tries=tries)


def retry(draft: Draft, event: RetryAsked) -> None:
    """Try at once what waits for its next try: of a node, or of an MR-cluster with its nodes."""
    view = draft.view
    names = [event.subject, *view.nodes_of(ClusterId(event.subject))]
    keys = [key.of(name) for name in sorted(names) for key in (Key.HOST, Key.CLUSTER, Key.MEMBERSHIP, Key.SURVEY)]
    waiting = [pending for key in keys if (pending := draft.pending(key)) is not None and pending.effect is not None]
    if NodeId(event.subject) not in view.nodes and draft.cluster(ClusterId(event.subject)) is None:
        draft.reply(event.ask, Reason("no-such-subject", {"subject": event.subject}))
    elif not waiting:
        draft.reply(event.ask, Reason("nothing-to-retry", {"subject": event.subject}))
    else:
        draft.say("retry-asked", subject=event.subject, by=event.by, tried=len(waiting))
        draft.reply(event.ask, subject=event.subject, tried=len(waiting))
        for pending in waiting:
            if split(pending.key)[0] is Key.MEMBERSHIP:
                draft.touch(ClusterId(split(pending.key)[1]), afresh=True)
            else:
                again(draft, pending, tries=1)
