"""The end of the work on a node, or none in time; and trying again at once."""

from __future__ import annotations

from fawkes.base.values import replace
from fawkes.core.deciding import requests
from fawkes.core.masters import masters
from fawkes.core.state import alerts, backoff
from fawkes.core.state.draft import Draft
from fawkes.core.state.moves import awaits_proof, clean, evacuate, leave_key, quarantine, shrink, wiped
from fawkes.core.values.decision import PutPending
from fawkes.core.values.events import Condition, NodeObserved, RetryAsked
from fawkes.core.values.keys import Key, split
from fawkes.core.values.model import (
    ClusterAlert,
    ClusterId,
    ClusterLife,
    NodeAlert,
    NodeId,
    NodeLife,
    NodeState,
    Reason,
    Role,
)
from fawkes.core.watching import watching


def ended(draft: Draft, event: NodeObserved) -> None:
    """The end of the work on a node, or of a look at a free one; answers about an older generation are history."""
    state = draft.known_node(event.node)
    if state is None or state.generation != event.generation:
        draft.say("late-answer", node=event.node, generation=event.generation, condition=event.condition)
        return
    state = _placed(draft, state, event)
    match event.condition, state.life:
        case Condition.SERVING, NodeLife.JOINING | NodeLife.LOST if state.owner is not None:
            _serves(draft, state, event)
        case Condition.SERVING, NodeLife.EVACUATING:
            draft.settle(Key.HOST.of(event.node))
        case Condition.HELD, _:
            _not_proven(draft, state, event)
        case Condition.CLEAN, NodeLife.CLEANING | NodeLife.LOST if (
            state.role is None or state.life is not NodeLife.LOST
        ):
            if event.facts.get("leftovers"):
                draft.say("left-behind", node=event.node, cluster=state.owner, **event.facts)
            wiped(draft, state)
        case Condition.ANSWERS, _:
            _answers(draft, state)
        case _, NodeLife.FREE:
            _looked_at(draft, state, event)
        case Condition.FAILED, _:
            _failed(draft, state, event)


def _placed(draft: Draft, state: NodeState, event: NodeObserved) -> NodeState:
    """The node with the place where its work folder was found: its disk is away when that would lie elsewhere."""
    if (place := event.facts.get("place", state.place)) != state.place:
        state = replace(state, place=str(place))
        draft.put_node(state)
    return state


def _looked_at(draft: Draft, state: NodeState, event: NodeObserved) -> None:
    """A free node does not answer, or answers again; nobody gets one that does not, or that somebody seems to hold."""
    if event.condition is Condition.FAILED and event.facts.get("held"):
        draft.say("free-held", node=state.node.id, error=event.error)
        draft.put_node(alerts.put(state, NodeAlert.SILENT, event.error))
    elif event.condition is Condition.FAILED:
        draft.say("free-silent", node=state.node.id, error=event.error)
        draft.put_node(alerts.put(state, NodeAlert.SILENT, f"cannot be reached: {event.error}"))
    elif event.condition is Condition.CLEAN and state.alert:
        draft.say("free-answers", node=state.node.id)
        draft.put_node(alerts.without(state))


def _answers(draft: Draft, state: NodeState) -> None:
    """A host answers again: what waits for its next try is tried at once."""
    if alerts.kind_of(state) is not NodeAlert.SILENT:
        return
    draft.say("node-answers", node=state.node.id, cluster=state.owner)
    draft.put_node(alerts.without(state))
    pending = draft.pending(Key.HOST.of(state.node.id))
    if state.life is NodeLife.LOST and pending is not None:
        _again(draft, pending, tries=1)


def _serves(draft: Draft, state: NodeState, event: NodeObserved) -> None:
    """A node came up; one that was to leave when it was lost leaves now."""
    if names := event.facts.get("repaired"):
        draft.say("software-repaired", node=event.node, cluster=state.owner, files=names)
    watching.back(draft, state)
    state = draft.node(state.node.id)
    if state.life is NodeLife.SERVING and state.kept_out:
        requests.leave_service(draft, state, state.keep_out or "no longer in the inventory")


def _not_proven(draft: Draft, state: NodeState, event: NodeObserved) -> None:
    """Right before its wipe HDFS could not show that the node's blocks are elsewhere: it goes on evacuating."""
    error = event.error
    if not awaits_proof(draft, event.node):
        draft.say("late-answer", node=event.node, generation=event.generation, condition=event.condition)
        return
    why = draft.say("held-blocks", node=state.node.id, cluster=state.owner, error=error, before_wipe=True)
    if state.owner is None:
        draft.put_node(alerts.put(state, NodeAlert.HELD, error))
        draft.try_again(Key.HOST.of(state.node.id))
        return
    state = evacuate(draft, replace(alerts.put(state, NodeAlert.HELD, error), why=why))
    draft.host(state, state.role, state.owner or ClusterId(""), within_us=draft.settings.join_us)


def _failed(draft: Draft, state: NodeState, event: NodeObserved) -> None:
    """A goal for a node was not reached: a joining node gets a second chance, an unclean one is not trusted.

    A node that refuses us (``refused``: a damaged or foreign lease) gets none: it is out of use until it was wiped. One
    that lacks a release of Hadoop that the controller has not either (``no_release``), or the site's KDC or keytab
    (``site``), goes on joining: any other node would lack it, too. The alert of a ``silent`` host ends once it answers.
    """
    silent = NodeAlert.SILENT if event.facts.get("silent") else None
    if state.life is NodeLife.JOINING and (event.facts.get("no_release") or event.facts.get("site")):
        draft.put_node(alerts.put(state, NodeAlert.NO_RELEASE, event.error))
        draft.say("no-release", node=state.node.id, cluster=state.owner, error=event.error)
        draft.try_again(Key.HOST.of(state.node.id))
    elif _may_be_given_up(draft, state):
        if event.facts.get("refused"):
            _refused(draft, state, event.error)
        else:
            _join_failed(draft, state, event.error, silent or NodeAlert.LATE)
    elif state.life in (NodeLife.CLEANING, NodeLife.LOST):
        _not_reached(draft, state, event.error, silent or NodeAlert.UNCLEAN, away=bool(event.facts.get("away")))
        cluster = None if state.owner is None else draft.cluster(state.owner)
        if event.facts.get("no_image") and cluster is not None and cluster.master == state.node.id:
            masters.lost(draft, cluster, since_us=draft.at_us, at_once=True)
    elif state.life is NodeLife.EVACUATING:
        draft.try_again(Key.HOST.of(state.node.id))


def _refused(draft: Draft, state: NodeState, error: str) -> None:
    """Somebody has to repair the node; as soon as that is done it can be wiped, and then it serves again."""
    why = draft.say("node-refused", node=state.node.id, cluster=state.owner, error=error)
    if state.stores and state.why.code != "grow":
        shrink(draft, state, why)
    else:
        clean(draft, state, why)
        if state.owner is not None:
            draft.touch(state.owner)


def _join_failed(draft: Draft, state: NodeState, error: str, kind: NodeAlert = NodeAlert.LATE) -> None:
    state = alerts.without(state)
    cluster = state.owner
    if cluster is None or state.failures + 1 >= draft.settings.join_attempts:
        quarantine(draft, state, error)
        return
    draft.say("join-failed", node=state.node.id, cluster=cluster, error=error)
    state = replace(state, failures=state.failures + 1)
    draft.put_node(alerts.put(state, kind, f"it did not come up, and is tried again: {error}"))
    draft.host(state, state.role, cluster, within_us=draft.settings.join_us)


def _not_reached(draft: Draft, state: NodeState, error: str, kind: NodeAlert, *, away: bool) -> None:
    """A node that could not be wiped, or a lost one that is not back yet: tried again, as long as it takes.

    One whose disk is ``away`` is told as that: somebody has to mount it.
    """
    key = Key.HOST.of(state.node.id)
    pending = draft.pending(key)
    tries = pending.tries if pending else 1
    if state.life is NodeLife.LOST and state.stores and state.owner is not None:
        if not state.alert or (away and state.alert != error):
            draft.put_node(alerts.put(state, NodeAlert.LOST, error))
        draft.try_again(key)
        return
    if state.life is NodeLife.CLEANING or state.alert != error or backoff.is_told(tries):
        why = draft.say("not-clean", node=state.node.id, cluster=state.owner, error=error, tries=tries)
        if state.life is NodeLife.CLEANING:
            state = replace(state, life=NodeLife.LOST, owner=None, role=None, why=why, since_us=draft.at_us)
        if (state := alerts.put(state, kind, error)) != draft.node(state.node.id):
            draft.put_node(state)
    draft.try_again(key)


def _may_be_given_up(draft: Draft, state: NodeState) -> bool:
    """True if an MR-cluster can do without a node that does not come up: those that it is deployed on it needs."""
    cluster = None if state.owner is None else draft.cluster(state.owner)
    founding = state.role is Role.CORE and cluster is not None and cluster.life is ClusterLife.DEPLOYING
    return state.life is NodeLife.JOINING and not founding


def quarantine_ended(draft: Draft, state: NodeState) -> None:
    """A quarantine has ended."""
    draft.settle(Key.BACK.of(state.node.id))
    if state.life is NodeLife.OUT and state.back_us is not None:
        requests.bring_back(draft, state, "its quarantine has ended")


def leaves_late(draft: Draft, state: NodeState) -> None:
    """Tasks never hold a node for ever, blocks always do."""
    if state.life is NodeLife.DRAINING:
        draft.say("drain-overdue", node=state.node.id, cluster=state.owner, role=state.role)
        watching.drained(draft, state)
    elif state.life is NodeLife.EVACUATING:
        alert = state.alert or "its blocks are not safe elsewhere yet"
        draft.put_node(alerts.put(state, NodeAlert.HELD, alert))
        draft.say("held-blocks", node=state.node.id, cluster=state.owner, error=alert)
        draft.expect(leave_key(state.node.id), draft.settings.evacuate_us)
        if state.owner is not None:
            draft.touch(state.owner)
    else:
        draft.settle(leave_key(state.node.id))


def host_late(draft: Draft, state: NodeState) -> None:
    """Nothing was heard of the work on a node in time: a joining one is given up, all else is asked for again."""
    pending = draft.pending(Key.HOST.of(state.node.id))
    if pending is None:
        return
    lacks = alerts.kind_of(state) is NodeAlert.NO_RELEASE or _is_unasked(draft, state)
    if state.life is NodeLife.JOINING and lacks and pending.effect is not None:
        # The next try, which has the time of a first one.
        draft.put_node(alerts.without(state))
        tries = pending.tries + 1
        draft.act(pending.effect, within_us=draft.settings.join_us, version=pending.version, tries=tries)
    elif _may_be_given_up(draft, state):
        _join_failed(draft, state, "it did not come into service in time")
    elif state.life in _WORKED_ON and pending.effect is not None:
        _again(draft, pending, tries=pending.tries + 1)
    else:
        draft.settle(pending.key)


def _is_unasked(draft: Draft, state: NodeState) -> bool:
    """True if nobody can ask the masters how they see a node, for want of a ticket."""
    cluster = None if state.owner is None else draft.cluster(state.owner)
    return cluster is not None and alerts.about(cluster, ClusterAlert.UNASKED)


#: lives of a node in which the latest goal for it is asked for again when nothing is heard
_WORKED_ON = frozenset({NodeLife.CLEANING, NodeLife.LOST, NodeLife.JOINING, NodeLife.EVACUATING})


def _again(draft: Draft, pending: PutPending, *, tries: int) -> None:
    """Ask for an effect once more; a first try within reach of an earlier one gets its time again."""
    if pending.effect is None:
        return
    draft.say_again(pending.key, tries)
    within_us = max(draft.settings.clean_us, backoff.wait_us(draft.settings, tries))
    draft.act(pending.effect, within_us=within_us, version=pending.version, tries=tries)


_RETRIED = (Key.HOST, Key.CLUSTER, Key.MEMBERSHIP, Key.SURVEY, Key.MASTERS)


def retry(draft: Draft, event: RetryAsked) -> None:
    """Try at once what waits for its next try: of a node, or of an MR-cluster with its nodes."""
    view = draft.view
    names = [event.subject, *view.nodes_of(ClusterId(event.subject))]
    keys = [key.of(name) for name in sorted(names) for key in _RETRIED]
    waiting = [pending for key in keys if (pending := draft.pending(key)) is not None and pending.effect is not None]
    cluster = draft.cluster(ClusterId(event.subject))
    has_read = cluster is not None and alerts.about(cluster, ClusterAlert.WRITES)
    if cluster is not None and has_read:
        draft.put_cluster(alerts.ended(cluster, ClusterAlert.WRITES))
    if NodeId(event.subject) not in view.nodes and cluster is None:
        draft.reply(event.ask, Reason("no-such-subject", {"subject": event.subject}))
    elif not waiting and not has_read:
        draft.reply(event.ask, Reason("nothing-to-retry", {"subject": event.subject}))
    else:
        draft.say("retry-asked", subject=event.subject, by=event.by, tried=len(waiting))
        draft.reply(event.ask, subject=event.subject, tried=len(waiting))
        for pending in waiting:
            if split(pending.key)[0] is Key.MEMBERSHIP:
                draft.touch(ClusterId(split(pending.key)[1]), afresh=True)
            elif split(pending.key)[0] is Key.MASTERS:
                masters.retried(draft, pending)
            else:
                _again(draft, pending, tries=1)
