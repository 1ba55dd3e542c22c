"""decide(view, event, measure): what follows from one event. Pure; the only entrance to the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fawkes.base.values import replace
from fawkes.core.clusters import closing, release
from fawkes.core.clusters.admission import admit
from fawkes.core.clusters.clusters import answered, cluster_over_time, nodes_changed
from fawkes.core.deciding import adopting, clock, node_work, requests, steering
from fawkes.core.deciding.readings import sampled
from fawkes.core.deciding.tick import retire_idle, tick
from fawkes.core.fairness.weights import Measure
from fawkes.core.jobs import deadlines, jobs, leftovers, service, streaming
from fawkes.core.masters import copying, masters, masters_asked, standby
from fawkes.core.nodes.replace import replace_core
from fawkes.core.preemption import claiming, leaving
from fawkes.core.preemption.values import Choose
from fawkes.core.state.admitting import Admission
from fawkes.core.state.draft import Draft
from fawkes.core.state.plan import hand_out
from fawkes.core.state.state import State
from fawkes.core.values import events
from fawkes.core.values.decision import Decision, PutPending, PutRules
from fawkes.core.values.keys import Key, split
from fawkes.core.values.lifecycle import WITH_MASTERS
from fawkes.core.values.model import ClusterId, JobId, Node, NodeId, NodeState, Reason
from fawkes.core.watching import late, watching

_OF_TASKS = {Key.TASKS: leaving.answered, Key.CLAIM: claiming.answered}


def decide(
    view: State,
    event: events.Event,
    measure: Measure,
    admission: Admission | None = None,
    preempt: Choose | None = None,
) -> Decision:
    """The decision that follows from ``event``.

    ``measure`` is the weighting policy, asked on ticks alone; ``admission`` lets jobs in, None: first come, first
    served; ``preempt`` decides about the tasks of a node that leaves, None: they are waited for. ValueError when the
    first event is no `Started`.
    """
    if isinstance(event, events.Started):
        return _started(view, event, admission)
    if view.rules is None:
        raise ValueError(f"{type(event).__name__} before Started")
    if isinstance(event, events.Reloaded):
        return _reloaded(view, view.rules, event, admission)
    draft = Draft(view, event.at_us, view.rules, admission)
    if isinstance(event, events.Woke):
        _woke(draft, measure)
    elif isinstance(event, events.Sampled):
        sampled(draft, event)
    elif isinstance(event, events.ClockSeen):
        clock.clock_seen(draft, event)
    elif view.rules.shadow:
        _only_answer(draft, event)
    elif isinstance(event, events.Done | events.Failed) and (kind := split(event.effect)[0]) in _OF_TASKS:
        _OF_TASKS[kind](draft, event, preempt)
    elif isinstance(event, events.Seen):
        _seen(draft, event)
    else:
        _requested(draft, event)
    _go_on(draft)
    return draft.finish()


def _go_on(draft: Draft) -> None:
    """Decide all that follows from any change; a shadow run changes nothing."""
    if draft.rules.shadow:
        return
    closing.advance(draft)
    masters.advance(draft)
    standby.advance(draft)
    service.advance(draft)
    nodes_changed(draft)
    leaving.begin(draft)
    closing.end_when_empty(draft)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The decision of the next tick, and when it is due, if nothing happens before and readings stay as they are."""

    due_us: int
    decision: Decision


def foresee(view: State, measure: Measure, admission: Admission | None = None) -> Foreseen:
    """The next tick, by the readings of the period T until now. ValueError before the first `Started`.

    Nothing is decided by it: other deadlines until then, and what they would lead to, are not looked at.
    """
    if view.rules is None or "tick" not in view.pending:
        raise ValueError("no tick is due before Started")
    draft = Draft(view, max(view.now_us, view.pending["tick"].deadline_us), view.rules, admission)
    for cluster in retire_idle(draft):
        release.idle_for_long(draft, cluster)
    tick(draft, measure, view.now_us)
    _go_on(draft)
    return Foreseen(draft.at_us, draft.finish())


def _started(view: State, event: events.Started, admission: Admission | None) -> Decision:
    """An engine takes over: the inventory as it is now, and every effect under way once more."""
    by = "" if event.admission is None else event.admission.sha256
    start = (event.version, event.pool, event.epoch, event.controller)
    rules = PutRules(*start, event.settings, event.shadow, by, event.first_generation, _remembers(event))
    draft = Draft(view, event.at_us, rules, admission)
    draft.new_timer = True
    draft.change(rules)
    draft.say("started", version=event.version, epoch=event.epoch, policy=event.policy.name, shadow=event.shadow)
    clock.after_stop(draft, event)
    adopted = {} if event.adopted is None else adopting.states(draft, event.adopted, event.nodes)
    _read_inventory(draft, event.nodes, adopted)
    closing.forget_question(draft)
    if view.rules is not None and view.rules.version != event.version:
        watching.forget_missing(draft)
    for key in list(view.pending):
        if (pending := draft.pending(key)) is not None:
            _take_over(draft, pending)
    if event.adopted is not None:
        adopting.adopt(draft, event.adopted)
    for cluster in draft.clusters():
        if cluster.life in WITH_MASTERS:
            draft.touch(cluster.id)
    draft.expect("tick", draft.settings.period_us, version=view.last_tick.tick + 1)
    if view.rules is not None:
        _forget(draft, view.rules)
    jobs.watch_deadlines(draft)
    replace_core(draft)
    hand_out(draft, admit(draft))
    return draft.finish()


def _reloaded(view: State, old: PutRules, event: events.Reloaded, admission: Admission | None) -> Decision:
    """Settings, policies or nodes are others; the next tick is due when it would be if these had always counted."""
    by = "" if event.admission is None else event.admission.sha256
    rules = replace(old, settings=event.settings, admission=by, remembers=_remembers(event))
    draft = Draft(view, event.at_us, rules, admission)
    draft.change(draft.rules)
    draft.say("reloaded", by=event.by, changed=list(event.changed), restart=list(event.restart))
    if event.nodes is not None:
        _read_inventory(draft, event.nodes, {})
    due = draft.pending("tick")
    if due is not None and event.settings.period_us != old.settings.period_us:
        later_us = event.settings.period_us - old.settings.period_us
        draft.expect("tick", max(0, due.deadline_us + later_us - event.at_us), version=due.version)
    _forget(draft, old)
    if by != old.admission:
        jobs.watch_deadlines(draft)
    draft.reply(event.ask, changed=list(event.changed), restart=list(event.restart))
    _go_on(draft)
    return draft.finish()


def _remembers(event: events.Started | events.Reloaded) -> str:
    return event.policy.sha256 if "memory" in event.policy.text else ""


def _forget(draft: Draft, old: PutRules) -> None:
    """Drop the memory of a policy that is no longer in force: another one would not understand it."""
    if draft.rules.admission != old.admission:
        deadlines.forget(draft)
    if draft.rules.remembers != old.remembers and draft.tick.memory:
        draft.change(replace(draft.tick, memory={}))


def _take_over(draft: Draft, pending: PutPending) -> None:
    """Takes over what an earlier engine began; members are written anew, as they are by now."""
    kind, name = split(pending.key)
    if kind in (Key.TICK, Key.MEMBERSHIP):
        return
    if kind is Key.HOLD and pending.deadline_us <= draft.at_us:
        steering.hold_ended(draft, name)
        return
    job = draft.job(JobId(name)) if kind is Key.JOB else None
    if job is not None and jobs.between(draft, job):
        return
    draft.again(pending)
    if pending.deadline_us <= draft.at_us:
        wait_us = draft.settings.membership_us
        draft.expect(pending.key, wait_us, effect=pending.effect, version=pending.version, tries=pending.tries)


def _read_inventory(draft: Draft, nodes: Sequence[Node], adopted: Mapping[NodeId, NodeState]) -> None:
    view = draft.view
    listed = {node.id for node in nodes}
    for node in nodes:
        old = view.nodes.get(node.id)
        if old is None:
            draft.put_node(adopted.get(node.id) or NodeState(node=node, since_us=draft.at_us))
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


_OF_NODES = {Key.HOST: node_work.host_late, Key.LEAVE: node_work.leaves_late, Key.BACK: node_work.quarantine_ended}


_OF_NAMES = {
    Key.DOUBT: watching.doubted_for_long,
    Key.SILENT: watching.silent_for_long,
    Key.HOLD: steering.hold_ended,
    Key.SERVICE: service.lasted,
    Key.LOGIN: service.log_in_again,
}


_OVER_TIME = {
    Key.TASKS: leaving.late,
    Key.CLEAR: leftovers.late,
    Key.CLAIM: claiming.late,
    Key.STREAM: streaming.late,
}


def _over_time(draft: Draft, pending: PutPending) -> None:
    kind, name = split(pending.key)
    match kind:
        case Key.HOST | Key.LEAVE | Key.BACK:
            _OF_NODES[kind](draft, draft.node(NodeId(name)))
        case Key.DOUBT | Key.SILENT | Key.HOLD:
            _OF_NAMES[kind](draft, name)
        case Key.SERVICE | Key.LOGIN:
            _OF_NAMES[kind](draft, name)
            jobs.release(draft, ClusterId(name))
        case Key.JOB | Key.LIMIT | Key.QUIET | Key.DEADLINE:
            jobs.over_time(draft, pending.key)
        case Key.ROOM:
            jobs.no_room_yet(draft, pending.key)
        case Key.TASKS | Key.CLEAR | Key.CLAIM | Key.STREAM:
            _OVER_TIME[kind](draft, pending)
        case Key.WORK:
            deadlines.work_not_counted(draft, pending.key)
        case Key.PATIENCE | Key.COPY | Key.STANDBY | Key.MASTERS:
            masters.late(draft, pending)
        case Key.CLUSTER | Key.MEMBERSHIP | Key.SURVEY | Key.STRAYS:
            cluster_over_time(draft, pending)


def _only_answer(draft: Draft, event: events.Event) -> None:
    """A shadow run changes nothing, and says so to whoever asks for something."""
    ask = getattr(event, "ask", "")
    if ask:
        draft.reply(ask, Reason("shadow", {"asked": type(event).__name__}))


def _requested(draft: Draft, event: events.Event) -> None:
    match event:
        case events.Requested():
            requests.requested(draft, event)
        case events.ReleaseAsked():
            requests.release_asked(draft, event)
        case events.DownAsked():
            closing.down_asked(draft, event)
        case events.Submitted():
            jobs.submitted(draft, event)
        case events.CancelAsked():
            jobs.cancel_asked(draft, event)
        case events.PauseAsked() | events.ResumeAsked():
            requests.pause(draft, event)
        case events.DrainAsked() | events.UndrainAsked():
            requests.drain(draft, event)
        case events.RetryAsked():
            node_work.retry(draft, event)
        case _:
            _steered(draft, event)


def _steered(draft: Draft, event: events.Event) -> None:
    match event:
        case events.MoveMastersAsked() | events.RestoreAsked():
            masters_asked.move_or_restore(draft, event)
        case events.HoldAsked() | events.UnholdAsked():
            steering.hold(draft, event)
        case events.GrowAsked() | events.ShrinkAsked():
            steering.by_hand(draft, event)


def _seen(draft: Draft, event: events.Seen) -> None:
    match event:
        case events.NodeSeen():
            watching.node_seen(draft, event)
        case events.MastersSeen():
            watching.masters_seen(draft, event)
        case events.AttemptSeen():
            jobs.attempt_seen(draft, event)
        case events.JobObserved():
            jobs.observed(draft, event)
        case events.NodeObserved():
            node_work.ended(draft, event)
        case events.NodesSeen():
            for each in event.seen:
                draft.at_us = each.at_us
                _seen(draft, each)
                nodes_changed(draft)
        case events.Done() | events.Failed():
            answered(draft, event)
        case _:
            _seen_of_cluster(draft, event)


def _seen_of_cluster(draft: Draft, event: events.Seen) -> None:
    match event:
        case events.CopySeen():
            copying.seen(draft, event)
        case events.ServiceSeen():
            service.seen(draft, event)
            jobs.release(draft, event.cluster)
        case events.WaitSeen():
            late.seen(draft, event)
        case events.StandbySeen():
            standby.seen(draft, event)
