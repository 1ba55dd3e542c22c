"""Tasks of a node that leaves: they are looked at, the preemption policy judges them, and each gets one answer.

Only tasks of jobs that can be saved are asked about; all others on the node are waited for, as its leave says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fawkes.base.units import SECOND_US
from fawkes.core.preemption import rates
from fawkes.core.preemption.preempt import decide
from fawkes.core.preemption.tasks import GOES, TaskRow, guarded, order_of, rows_of, say, task_of
from fawkes.core.preemption.values import Cause, Choose, Need
from fawkes.core.state.draft import Draft
from fawkes.core.state.moves import leave_key
from fawkes.core.values.decision import PutPending
from fawkes.core.values.effects import LookAtTasks, PreemptTasks
from fawkes.core.values.events import Done, Failed
from fawkes.core.values.keys import Key
from fawkes.core.values.model import ClusterId, Facts, NodeId, NodeLife, NodeState

_KEPT = 256
"""No node has so many containers of tasks at once."""


def begin(draft: Draft) -> None:
    """Look at the tasks of each node that drains; nowhere without a policy, or where tasks get no time."""
    if not draft.settings.preemption:
        return
    for state in draft.changed_nodes().values():
        pending = draft.pending(Key.TASKS.of(state.node.id))
        if pending is None and _asks(draft, state):
            _look(draft, _first_look(state))
        elif isinstance(pending, PutPending) and not _may_know(state, pending):
            _nobody_knows(draft, pending)


def _asks(draft: Draft, state: NodeState) -> bool:
    drains = state.life is NodeLife.DRAINING and state.owner is not None and draft.leave_us(state.role) > 0
    return drains and any(job.spec.saves for job in draft.busy_of(state.owner or ClusterId("")))


def _first_look(state: NodeState) -> LookAtTasks:
    return LookAtTasks(state.node.id, state.owner or ClusterId(""), state.generation)


def _may_know(state: NodeState, pending: PutPending) -> bool:
    """True while an answer is worth waiting for: of orders, until the node is wiped, for how the tasks went counts."""
    if state.generation != pending.version or state.owner is None:
        return False
    return state.life is NodeLife.DRAINING or isinstance(pending.effect, PreemptTasks)


def late(draft: Draft, pending: PutPending) -> None:
    """It is time for another look, or nothing was heard of a look or of orders: no node follows an order twice."""
    effect = pending.effect
    if isinstance(effect, LookAtTasks | PreemptTasks) and draft.node(effect.node).life is NodeLife.DRAINING:
        draft.settle(pending.key)
        if isinstance(effect, PreemptTasks):
            _order(draft, replace(effect, within_us=max(0, _left_us(draft, effect.node))), tries=pending.tries + 1)
        else:
            _look(draft, effect, tries=pending.tries + 1)
    else:
        _nobody_knows(draft, pending)


def _nobody_knows(draft: Draft, pending: PutPending) -> None:
    """Nobody will say any more how tasks went that had orders."""
    draft.settle(pending.key)
    if isinstance(pending.effect, PreemptTasks):
        _went(draft, pending.effect, {})


def answered(draft: Draft, event: Done | Failed, preempt: Choose | None) -> None:
    """A look at the tasks of a node ended, or its tasks went; answers about an older generation are history."""
    pending = draft.pending(event.effect)
    effect = None if pending is None else pending.effect
    if pending is None or pending.version != event.version or not isinstance(effect, LookAtTasks | PreemptTasks):
        draft.say("late-answer", effect=event.effect, version=event.version)
        return
    life, decided = draft.node(effect.node).life, effect.told
    drains = life is NodeLife.DRAINING
    if isinstance(event, Failed):
        if drains:
            draft.settle(pending.key)
            draft.later(pending)
        else:
            _nobody_knows(draft, pending)
        return
    if isinstance(effect, PreemptTasks):
        _went(draft, effect, event.facts)
    elif preempt is not None:
        order, decided = _judged(draft, effect, rows_of(event.facts), preempt)
        if order is not None:
            _order(draft, order)
            return
    draft.settle(pending.key)
    if life is NodeLife.SERVING:
        # A claim that came before what became free shows in the readings would take the same room twice.
        claim = draft.pending(Key.CLAIM.of(effect.cluster))
        if claim is None or claim.effect is None:
            draft.expect(Key.CLAIM.of(effect.cluster), draft.settings.doubt_us)
    if drains:
        # A task may not have been there yet.
        look = LookAtTasks(effect.node, effect.cluster, effect.generation, decided)
        draft.later(PutPending(look.key, look.generation, draft.at_us, look, pending.tries))


def _look(draft: Draft, effect: LookAtTasks, tries: int = 1) -> None:
    draft.act(effect, within_us=draft.settings.membership_us, version=effect.generation, tries=tries)


def _order(draft: Draft, effect: PreemptTasks, tries: int = 1) -> None:
    draft.act(effect, within_us=effect.within_us + draft.settings.membership_us, version=effect.generation, tries=tries)


def _left_us(draft: Draft, node: NodeId) -> int:
    """The time that YARN still gives a node; its end is put off with all that is pending, unlike its beginning."""
    pending, state = draft.pending(leave_key(node)), draft.node(node)
    if pending is None:
        return state.since_us + draft.leave_us(state.role) - draft.at_us
    return pending.deadline_us - draft.settings.membership_us - draft.at_us


def _judged(
    draft: Draft, effect: LookAtTasks, rows: Sequence[TaskRow], preempt: Choose
) -> tuple[PreemptTasks | None, tuple[str, ...]]:
    """The orders to those tasks that had no answer yet (None: there are none), and all that have one now."""
    left_us = _left_us(draft, effect.node)
    new = {row.container: row for row in rows if row.container not in effect.told}
    if not new or left_us <= 0:
        return None, effect.told
    devices = {str(effect.node): rates.device(draft, effect.cluster)}
    need = Need(cause=Cause.LEAVES, within_s=left_us / SECOND_US)
    answers = decide([task_of(row) for row in new.values()], devices, need, guarded(draft, effect.cluster, preempt))
    orders = []
    for container, answer in answers.items():
        say(draft, new[container], answer, effect.cluster)
        if answer.action in GOES:
            orders.append(order_of(new[container], answer))
    decided = (*effect.told, *new)
    if not orders:
        return None, decided
    return PreemptTasks(effect.node, effect.cluster, effect.generation, tuple(orders), left_us, decided), decided


def _went(draft: Draft, effect: PreemptTasks, facts: Facts) -> None:
    """Say how each task went, and why one could not be saved; what nobody says is not known.

    On a node that stays nothing ends a task that has not followed its order: no claim asks it again.
    """
    state, stay = draft.node(effect.node), []
    leaves = state.life is not NodeLife.SERVING
    known, errors, dumps = (
        rows if isinstance(rows := facts.get(name), Mapping) else {} for name in ("left", "why", "dumps")
    )
    rates.learn(draft, effect, known)
    for order in effect.orders:
        row = known.get(order.container)
        how, size, took_us = row if isinstance(row, list | tuple) and len(row) == 3 else ("unknown", None, None)
        draft.say(
            "task-went",
            node=effect.node,
            cluster=effect.cluster,
            job=order.job,
            index=order.index,
            ordered="save" if order.save else "kill",
            how=how,
            run_us=order.run_us,
            size_bytes=size,
            took_us=took_us,
            error=str(errors.get(order.container, "")),
            **({"dump_us": dumps[order.container]} if order.container in dumps else {}),
            **({"leaves": leaves} if how == "runs" else {}),
        )
        stay += [order.container] if how == "runs" and not leaves else []
    if stay:
        draft.put_node(replace(state, stayed=(*state.stayed, *stay)[-_KEPT:]))
