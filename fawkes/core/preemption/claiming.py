"""An important job arrives, or a stream claims its share, where tasks hold the room: as many go as it lacks room for.

Only tasks of jobs that can be saved are asked about. YARN gives what becomes free to the job of the higher priority.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil, inf
from typing import NamedTuple

from fawkes.base.units import SECOND_US
from fawkes.core.preemption import rates
from fawkes.core.preemption.preempt import decide
from fawkes.core.preemption.tasks import GOES, TaskRow, guarded, order_of, rows_of, say, task_of
from fawkes.core.preemption.values import Answer, Cause, Choose, Device, Need, Task
from fawkes.core.state.draft import Draft
from fawkes.core.values.decision import PutPending
from fawkes.core.values.effects import ClaimTasks, PreemptTasks, TaskOrder
from fawkes.core.values.events import Done, Failed
from fawkes.core.values.keys import Key
from fawkes.core.values.model import ClusterState, JobState, NodeId, NodeLife
from fawkes.core.values.sight import Work
from fawkes.core.values.tags import tag_of

_GIVES_US = 5 * SECOND_US
"""YARN takes seconds to give a container for which there is room; 3 to 4 were seen, of ApplicationMasters."""
_DIGITS = 6
"""Sizes are quotients of megabytes: 2.0000000000000004 tasks are two."""
_HOLDS = 2
"""A new claim comes some readings after the doubt about the one before; what becomes free until then is kept, too."""


def read(draft: Draft, cluster: ClusterState, work: Iterable[Work], slots: int | None, of_master: int) -> None:
    """Ask the nodes, by a new reading, about tasks that could go for the most important job that lacks room.

    It lacks room if nothing of it has moved since the reading before: what is free, YARN gives it sooner than that. Of
    a stream the same number of containers was lacking for as long as YARN may take.
    The MR-cluster has so many ``slots``, of which ``of_master`` go to each ApplicationMaster.
    """
    if not draft.settings.preemption:
        return
    # The batches of a stream go on while it lacks executors.
    rows = {row.tag: row for row in work if row.since_us < draft.at_us or row.stream is not None}
    busy = draft.busy_of(cluster.id)
    lacking = {job.id: _lacks(job, rows, draft.at_us, slots, of_master) for job in busy}
    claimant = min((job for job in busy if lacking[job.id].containers), key=lambda job: job.place, default=None)
    giving = [job for job in busy if claimant is not None and job.spec.saves and _gives_way(job, claimant)]
    if claimant is None or not giving:
        return
    pending = draft.pending(Key.CLAIM.of(cluster.id))
    if pending is not None and not _shows(draft, pending, rows[tag_of(claimant.id, claimant.attempt)]):
        return
    sizes = {row.tag: row.size for row in work}
    tasks, each = _tasks_for(lacking[claimant.id], min(sizes.get(tag_of(j.id, j.attempt), 1.0) for j in giving))
    serving = [state for state in draft.nodes_of(cluster.id) if state.life is NodeLife.SERVING]
    orders = {state.node.id: draft.pending(Key.TASKS.of(state.node.id)) for state in serving}
    nodes = {state.node.id: state.generation for state in serving if orders[state.node.id] is None}
    tasks -= sum(map(_going, orders.values()))
    if nodes and tasks > 0:
        hold_us = _HOLDS * draft.settings.doubt_us
        effect = ClaimTasks(cluster.id, claimant.order, claimant.id, _priority(claimant), tasks, nodes, each, hold_us)
        draft.act(effect, within_us=draft.settings.membership_us, version=claimant.order)


class _Lack(NamedTuple):
    """The containers that a job waits for, and the slots that each takes."""

    containers: int
    size: float


def _tasks_for(lack: _Lack, size: float) -> tuple[int, int]:
    """The tasks of that size that make room for containers, and those of them that leave one node for each."""
    ratio = round(lack.size / size, _DIGITS)
    each = max(1, ceil(ratio))
    return (lack.containers * each if each > 1 else ceil(lack.containers * ratio)), each


def _shows(draft: Draft, pending: PutPending, row: Work) -> bool:
    """True if what the latest claim made free shows: the claimant got something since its tasks went.

    Of a stream something moves all the time.
    """
    went_us = pending.deadline_us - draft.settings.doubt_us
    return pending.effect is None and row.stream is None and row.since_us > went_us


def _going(pending: PutPending | None) -> int:
    """The tasks that were ordered to go, and of which nobody has heard yet that they have gone."""
    return len(pending.effect.orders) if pending is not None and isinstance(pending.effect, PreemptTasks) else 0


def _lacks(job: JobState, rows: Mapping[str, Work], at_us: int, slots: int | None, of_master: int) -> _Lack:
    """The containers that a job waits for, as far as that is known; first that of its ApplicationMaster.

    One that has a container asks for others only when it is up: what became free before would go to other jobs.

    A stream may claim its guaranteed share of the MR-cluster, and no more (`core.jobs.streaming`). An executor takes as
    many slots as are where there is room for it.
    """
    row = rows.get(tag_of(job.id, job.attempt))
    if row is None or not row.application:
        return _Lack(0, 1.0)
    if row.stream is not None:
        state = job.stream
        since_us = None if state is None or state.attempt != job.attempt else state.lacking_us
        if state is None or since_us is None or at_us - since_us < _GIVES_US:
            return _Lack(0, 1.0)
        room = row.stream.room
        return _Lack(state.lacking, 1.0 if slots is None or room is None else slots / (room or inf))
    if row.master:
        return _Lack(row.waiting or 0, row.size)
    return _Lack(int(at_us - row.since_us >= _GIVES_US), max(1, of_master))


def _gives_way(job: JobState, claimant: JobState) -> bool:
    return job.spec.priority < _priority(claimant)


def _priority(claimant: JobState) -> int:
    """A guaranteed share counts more than any priority."""
    return claimant.spec.priority + (claimant.spec.stream is not None)


def answered(draft: Draft, event: Done | Failed, preempt: Choose | None) -> None:
    """The nodes told of their tasks, or did not; either way the next claim comes after a while."""
    pending = draft.pending(event.effect)
    effect = None if pending is None else pending.effect
    if pending is None or pending.version != event.version or not isinstance(effect, ClaimTasks):
        draft.say("late-answer", effect=event.effect, version=event.version)
        return
    draft.expect(pending.key, draft.settings.doubt_us, version=pending.version)
    if isinstance(event, Done) and preempt is not None and draft.job(effect.job) is not None:
        _preempt(draft, effect, rows_of(event.facts), preempt)


def late(draft: Draft, pending: PutPending) -> None:
    """Nobody answered, or enough time has passed since the latest claim, or since the latest of its tasks went."""
    draft.settle(pending.key)


def _preempt(draft: Draft, effect: ClaimTasks, rows: Sequence[TaskRow], preempt: Choose) -> None:
    priorities = {row.job: job.spec.priority for row in rows if (job := draft.job(row.job)) is not None}
    here = {row.container: row for row in rows if row.job in priorities and _may_go(draft, effect, row)}
    device = rates.device(draft, effect.cluster)
    claimant = draft.job(effect.job)
    cause = Cause.SHARE if claimant is not None and claimant.spec.stream is not None else Cause.PRIORITY
    if cause is Cause.SHARE and not (claimant and claimant.stream and claimant.stream.lacking):
        # YARN gave it what it lacked while the nodes were asked.
        return
    need = Need(cause=cause, slots=effect.slots, priority=effect.priority)
    tasks = [task_of(row, priorities[row.job]) for row in here.values()]
    choose = guarded(draft, effect.cluster, preempt)
    going = _going_together(tasks, dict.fromkeys(map(str, effect.nodes), device), need, effect.each, choose)
    for node in effect.nodes:
        mine = {container: answer for container, answer in going.items() if here[container].node == node}
        if mine:
            for container, answer in mine.items():
                say(draft, here[container], answer, effect.cluster, claimant=effect.job)
            _order(draft, effect, node, [order_of(here[c], answer) for c, answer in mine.items()], mine.values())


def _going_together(
    tasks: Sequence[Task], devices: Mapping[str, Device], need: Need, each: int, preempt: Choose
) -> dict[str, Answer]:
    """The tasks that go; as many as ``each`` from one node, the one that has most of them, and soonest."""
    if each == 1:
        return _going_of(decide(tasks, devices, need, preempt))
    going: dict[str, Answer] = {}
    for _ in range(0, need.slots or 0, each):
        rest = [task for task in tasks if task.id not in going]
        parts = [[task for task in rest if task.node == node] for node in devices]
        room = [_going_of(decide(part, devices, replace(need, slots=each), preempt)) for part in parts]
        best: dict[str, Answer] = max(room, key=_helps, default={})
        if going and len(best) < each:
            # Fewer may do where some room is free, which is not known: one trial at a time.
            break
        going |= best
    return going


def _going_of(answers: Mapping[str, Answer]) -> dict[str, Answer]:
    return {container: answer for container, answer in answers.items() if answer.action in GOES}


def _helps(going: Mapping[str, Answer]) -> tuple[int, float]:
    return len(going), -max((inf if answer.ready_s is None else answer.ready_s for answer in going.values()), default=0)


def _may_go(draft: Draft, effect: ClaimTasks, row: TaskRow) -> bool:
    state = draft.known_node(row.node)
    if state is None or state.life is not NodeLife.SERVING or draft.pending(Key.TASKS.of(row.node)) is not None:
        return False
    return state.generation == effect.nodes.get(row.node) and row.container not in state.stayed


def _order(
    draft: Draft, effect: ClaimTasks, node: NodeId, orders: Sequence[TaskOrder], answers: Iterable[Answer]
) -> None:
    """Nothing was promised for a time, so that tasks get twice what they should need, and a minute at least."""
    ready_s = max((answer.ready_s or 0.0 for answer in answers), default=0.0)
    within_us = max(draft.settings.membership_us, round(2 * ready_s * SECOND_US))
    containers = tuple(order.container for order in orders)
    order = PreemptTasks(node, effect.cluster, effect.nodes[node], tuple(orders), within_us, containers)
    draft.act(order, within_us=within_us + draft.settings.membership_us, version=order.generation)
