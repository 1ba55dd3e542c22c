"""Algorithm 1: each task waits, is killed or is checkpointed (Li, section 3.3.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import groupby
from math import inf
from typing import NamedTuple

from fawkes.core.preemption.values import (
    KILL,
    WAIT,
    Action,
    Answer,
    Cause,
    Choice,
    Choose,
    Device,
    Need,
    Task,
    Victim,
    Why,
    checked,
    seconds,
    total,
)

CAP = 5
"""Kills after which a task may only be checkpointed or left alone."""


def decide(
    tasks: Sequence[Task],
    devices: Mapping[str, Device],
    need: Need,
    choose: Choose,
    *,
    cap: int | None = CAP,
    room_bytes: float = inf,
) -> dict[str, Answer]:
    """The answer for each task by its id: victims go one after another until the needed slots are on their way.

    Dumps of one node queue on its device. A promised time wins over saving and over the cap: whatever could not be
    saved until then is killed, and a task that waits has its ``ready_s`` at that time. Without a promise a task that
    was killed ``cap`` times is saved whatever it costs, or left alone. Images take at most ``room_bytes`` in sum.
    ValueError when two tasks have one id, or when the policy's answer is none; KeyError for a node without a device.
    """
    answers = dict.fromkeys((task.id for task in tasks), Answer(Action.WAIT, Why.SPARED))
    if len(answers) < len(tasks):
        raise ValueError("two tasks have the same id")
    concerned = [task for task in tasks if need.concerns(task)]
    victims = [victim_of(task, devices[task.node], need.cause) for task in concerned]
    choices = checked(victims, choose(victims))
    queues = {node: device.queue_s for node, device in devices.items()}
    course = _Course(need, queues, cap, room_bytes, len(tasks) if need.slots is None else need.slots)
    pairs = enumerate(zip(concerned, victims, choices, strict=True))
    return answers | course.run([_Choice(place, *each) for place, each in pairs])


def victim_of(task: Task, device: Device, cause: Cause) -> Victim:
    """The task with the times of a dump and a restore; images of a node that leaves also go over the network."""
    medium = device.medium
    write = medium.write
    if cause is Cause.LEAVES:
        write = None if write is None or medium.network is None else min(write, medium.network)
    return Victim(
        id=task.id, node=task.node, progress_s=task.progress_s, dump_s=seconds(task.image_bytes, write),
        restore_s=seconds(task.memory, medium.read), queue_s=device.queue_s, priority=task.priority, kills=task.kills,
        incremental=task.imaged,
    )  # fmt: skip


class _Choice(NamedTuple):
    """A victim with its task, its place in the question, and the policy's choice."""

    place: int
    task: Task
    victim: Victim
    choice: Choice

    @property
    def key(self) -> tuple[float, int]:
        return (inf if self.choice.first is None else self.choice.first, self.place)


@dataclass(slots=True)
class _Course:
    """One pass through the victims: queues grow, room and needed slots shrink."""

    need: Need
    queues: dict[str, float | None]
    cap: int | None
    room: float
    left: int
    answers: dict[str, Answer] = field(default_factory=dict)

    def run(self, candidates: Sequence[_Choice]) -> dict[str, Answer]:
        capped = []
        for each in self._in_order(candidates):
            if self.left <= 0:
                break
            answer = self._answer(each)
            self.answers[each.task.id] = answer
            if answer.why is Why.CAP:
                capped.append(each)
            elif answer.action is not Action.WAIT or answer.ready_s is not None:
                self.left -= 1
        if self.need.within_s is not None:
            for each in capped[: max(0, self.left)]:
                self.answers[each.task.id] = Answer(Action.KILL, Why.CAP, 0.0)
        return self.answers

    def _in_order(self, candidates: Sequence[_Choice]) -> Iterator[_Choice]:
        """Lower priorities first, unless nodes leave; then the smallest ``first`` with the queue of its node."""
        leaves = self.need.cause is Cause.LEAVES

        def level(each: _Choice) -> int:
            return 0 if leaves else each.task.priority

        for _, group in groupby(sorted(candidates, key=level), level):
            nodes: dict[str, list[_Choice]] = {}
            for each in group:
                nodes.setdefault(each.task.node, []).append(each)
            for own in nodes.values():
                own.sort(key=lambda each: each.key, reverse=True)
            heap = [(*self._cost(own[-1]), node) for node, own in nodes.items()]
            heapify(heap)
            while heap:
                *_, node = heappop(heap)
                own = nodes[node]
                yield own.pop()
                if own:
                    heappush(heap, (*self._cost(own[-1]), node))

    def _cost(self, each: _Choice) -> tuple[float, int]:
        cost = total(each.choice.first, self.queues[each.task.node])
        return (inf if cost is None else cost, each.place)

    def _answer(self, each: _Choice) -> Answer:
        within_s = self.need.within_s
        if each.choice.action == WAIT:
            late = within_s is not None and within_s <= 0
            return Answer(Action.KILL, Why.LATE, 0.0) if late else Answer(Action.WAIT, Why.POLICY, within_s)
        capped = self.cap is not None and each.task.kills >= self.cap
        refusal = self._refusal(each, capped)
        if refusal is None:
            return self._save(each)
        return Answer(Action.WAIT, Why.CAP) if capped else Answer(Action.KILL, refusal, 0.0)

    def _refusal(self, each: _Choice, capped: bool) -> Why | None:
        """The reason why a task is not saved; None if it is."""
        end_s = total(self.queues[each.task.node], each.victim.dump_s)
        if each.choice.action == KILL and not capped:
            return Why.POLICY
        if not each.task.can_save:
            return Why.CANNOT
        if self.room < inf and not self._fits(each.task.image_bytes):
            return Why.STORE
        if self.need.within_s is not None and (end_s is None or end_s > self.need.within_s):
            return Why.UNKNOWN if end_s is None else Why.LATE
        if capped or each.choice.below_s is None:
            return None
        overhead_s = total(end_s, each.victim.restore_s)
        if overhead_s is None:
            return Why.UNKNOWN
        return Why.COSTS if overhead_s >= each.choice.below_s else None

    def _fits(self, size: float | None) -> bool:
        return size is not None and size <= self.room

    def _save(self, each: _Choice) -> Answer:
        node = each.task.node
        self.queues[node] = total(self.queues[node], each.victim.dump_s)
        if self.room < inf:
            self.room -= each.task.image_bytes or 0.0
        action = Action.INCREMENTAL if each.task.imaged else Action.FULL
        return Answer(action, Why.POLICY, self.queues[node])
