"""Tasks as their nodes tell of them, and the answers and orders that they get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fawkes.base.units import SECOND_US
from fawkes.core.fairness.weights import in_words
from fawkes.core.preemption.values import WAIT, Action, Answer, Choice, Choose, Task, Victim, checked
from fawkes.core.state import alerts
from fawkes.core.state.draft import Draft
from fawkes.core.values.effects import TaskOrder
from fawkes.core.values.model import ClusterAlert, ClusterId, Facts, JobId, NodeId

GOES = (Action.KILL, Action.FULL, Action.INCREMENTAL)
"""Answers with which a task leaves its container."""


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task as its node sees it; None is what the node did not say.

    ``restore_us`` is how long it took to read what an earlier start had saved; None for a task that began anew, too.
    """

    node: NodeId
    container: str
    job: JobId
    index: int
    run_us: int | None
    memory: int | None
    kills: int
    restore_us: int | None = None


def rows_of(facts: Facts) -> list[TaskRow]:
    """The tasks that nodes told of; a row without a node, a container, a job or an index is none."""
    rows = facts.get("tasks")
    names = ("node", "container", "job")
    return [
        TaskRow(
            node=NodeId(str(row["node"])),
            container=str(row["container"]),
            job=JobId(str(row["job"])),
            index=int(str(row["index"])),
            run_us=_number(row.get("run_us")),
            memory=_number(row.get("bytes")),
            kills=_number(row.get("kills")) or 0,
            restore_us=_number(row.get("restore_us")),
        )
        for row in (rows if isinstance(rows, list | tuple) else ())
        if isinstance(row, Mapping) and all(map(row.get, names)) and isinstance(row.get("index"), int)
    ]


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def task_of(row: TaskRow, priority: int = 0) -> Task:
    """The task as Algorithm 1 sees it: what an increment of it will have is not known, and is in the measured rate."""
    return Task(
        id=row.container,
        node=row.node,
        progress_s=None if row.run_us is None else row.run_us / SECOND_US,
        memory=row.memory,
        priority=priority,
        kills=row.kills,
    )


def guarded(draft: Draft, cluster: ClusterId, preempt: Choose) -> Choose:
    """The policy for one look at an MR-cluster's tasks: from its first fault on they wait.

    The fault is told once, and is an alert of the MR-cluster until the next usable answer.
    """
    failed = False

    def choose(victims: Sequence[Victim]) -> Sequence[Choice]:
        nonlocal failed
        waits, state = [Choice(WAIT)] * len(victims), draft.cluster(cluster)
        if failed:
            return waits
        try:
            choices = checked(victims, preempt(victims))
        except Exception as error:
            failed = True
            what = in_words(error)
            failing = None if state is None else alerts.raised(state, ClusterAlert.PREEMPTION, what)
            if failing is None or failing != state:
                draft.say("preemption-failed", cluster=cluster, policy=draft.settings.preemption, failed=what)
            if failing is not None:
                draft.put_cluster(failing)
            return waits
        if victims and state is not None and alerts.about(state, ClusterAlert.PREEMPTION):
            draft.put_cluster(alerts.ended(state, ClusterAlert.PREEMPTION))
        return choices

    return choose


def order_of(row: TaskRow, answer: Answer) -> TaskOrder:
    """The order that follows from an answer with which a task leaves."""
    return TaskOrder(row.container, row.job, row.index, answer.action is not Action.KILL, row.run_us, row.memory)


def say(draft: Draft, row: TaskRow, answer: Answer, cluster: ClusterId, *, claimant: JobId | None = None) -> None:
    """Give the reason of a task's answer; ``claimant`` is the job for which it goes, None: its node leaves."""
    claim = {} if claimant is None else {"claimant": claimant}
    draft.say(
        "task-must-go",
        node=row.node,
        cluster=cluster,
        job=row.job,
        index=row.index,
        action=answer.action,
        cause=answer.why,
        run_us=row.run_us,
        size_bytes=row.memory,
        ready_us=None if answer.ready_s is None else round(answer.ready_s * SECOND_US),
        **claim,
    )
