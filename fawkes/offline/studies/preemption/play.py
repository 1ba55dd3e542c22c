"""A case is played: tasks on slots, dumps and restores in the queue of each node's device, and the core's answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count
from math import inf
from random import Random
from statistics import fmean
from typing import Any

from fawkes.base.catalog import Kind, bundled_dir
from fawkes.core.preemption.preempt import decide
from fawkes.core.preemption.resume import Image, resume
from fawkes.core.preemption.values import Action, Cause, Choose, Device, Medium, Need, Task
from fawkes.core.preemption.waste import Waste
from fawkes.offline.studies.preemption import fixed
from fawkes.offline.studies.preemption.cases import MODELS, PreemptionCase
from fawkes.offline.studies.preemption.fixed import Levels
from fawkes.offline.studies.preemption.workloads import workload_of
from fawkes.policy.worker.policies import load_preemption, policy_text

Row = dict[str, Any]
_LEVELS = {"low": Levels.LOW, "medium": Levels.MEDIUM, "high": Levels.HIGH}


@lru_cache
def policy_of(name: str) -> Choose:
    """A bundled preemption policy."""
    path = bundled_dir(Kind.PREEMPTION) / Kind.PREEMPTION.value / f"{name}.py"
    return load_preemption(policy_text(name.upper(), path.name, path.read_text("utf-8")))


class _State(Enum):
    """States of a task. ``HELD``: it has a slot and waits for its image. ``QUEUED``: it runs until its dump begins."""

    PENDING = auto()
    HELD = auto()
    RUNNING = auto()
    QUEUED = auto()
    FROZEN = auto()
    DUMPING = auto()
    DONE = auto()


@dataclass(slots=True, eq=False)
class _Task:
    """A task under way. ``since_s``: since when it runs or waits; ``saved_s``: the work that its image holds."""

    at: int
    job: int
    level: int
    work_s: float
    gigabytes: float
    state: _State = _State.PENDING
    node: int = -1
    since_s: float = 0.0
    slot_s: float = 0.0
    executed_s: float = 0.0
    saved_s: float = 0.0
    holder: int | None = None
    kills: int = 0
    epoch: int = 0
    operation: _Operation | None = None


@dataclass(slots=True, eq=False)
class _Operation:
    """A dump or a restore on a device."""

    task: _Task
    dump: bool
    seconds: float
    incremental: bool = False
    began_s: float | None = None
    valid: bool = True


@dataclass(slots=True)
class _Node:
    """A node: its free slots, the operation on its device, and those that wait for it."""

    free: int
    current: _Operation | None = None
    queue: deque[_Operation] = field(default_factory=deque)
    busy_s: float = 0.0

    def queue_s(self, now_s: float) -> float:
        """Seconds until the device is free."""
        waiting_s = sum(each.seconds for each in self.queue if each.valid)
        if self.current is None or self.current.began_s is None:
            return waiting_s
        return waiting_s + self.current.began_s + self.current.seconds - now_s


def play(case: PreemptionCase) -> Row:
    """The row of a case."""
    return PreemptionPlay(case.plain()).run()


class PreemptionPlay:
    """One run: events in the order of time."""

    def __init__(self, case: PreemptionCase) -> None:
        self.case, self.model = case, MODELS[case.model]
        self.choose, self.adaptive = policy_of(case.policy), case.policy == "adaptive"
        self.workload = workload_of(case)
        self.random = Random(f"victims {case.seed}")  # noqa: S311 - a seed
        self.nodes = [_Node(self.workload.slots) for _ in range(self.workload.nodes)]
        self.free = self.workload.nodes * self.workload.slots
        self.dump_slope = case.slope * fixed.REPLICATION[case.copies]
        read = inf if self.model.blind else fixed.GB / case.slope
        self.medium = Medium(write=fixed.GB / self.dump_slope, read=read, network=fixed.NETWORK_GB_S * fixed.GB)
        self.now_s, self.in_flight, self.waste, self.slot_s = 0.0, 0, Waste(), 0.0
        self.events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self.pending: list[tuple[int, int, int, _Task]] = []
        self.waiting = dict.fromkeys(_LEVELS.values(), 0)
        self.active: dict[int, _Task] = {}
        self.undone = [len(job.tasks) for job in self.workload.jobs]
        self.responses: dict[int, list[float]] = {level: [] for level in _LEVELS.values()}
        self.kills, self.dumps, self.most_kills = 0, {Action.FULL: 0, Action.INCREMENTAL: 0}, 0
        self._numbers, self._order = count(), count()

    def run(self) -> Row:
        """Play until all tasks are done; the row."""
        for place, job in enumerate(self.workload.jobs):
            self._at(job.at_s, self._arrive, place)
        while self.events:
            self.now_s, _, act, what = heappop(self.events)
            act(*what)
        return self._row()

    def _at(self, at_s: float, act: Callable[..., None], *what: Any) -> None:
        heappush(self.events, (at_s, next(self._order), act, what))

    # --- slots

    def _arrive(self, place: int) -> None:
        job = self.workload.jobs[place]
        for work_s, gigabytes in job.tasks:
            self._wait(_Task(next(self._numbers), place, job.level, work_s, gigabytes))
        self._place()
        self._claim()

    def _wait(self, task: _Task) -> None:
        task.state = _State.PENDING
        self.waiting[task.level] += 1
        place = next(self._order) if self.model.tail else task.job
        heappush(self.pending, (-task.level, place, task.at, task))

    def _place(self) -> None:
        """Give free slots to waiting tasks: by priority, then by job."""
        while self.pending and self.free:
            task = heappop(self.pending)[-1]
            self.waiting[task.level] -= 1
            self._hold(task, self._node_for(task))

    def _node_for(self, task: _Task) -> int:
        if self.adaptive and task.holder is not None:
            devices = {
                f"{at:03}": Device(medium=self.medium, queue_s=node.queue_s(self.now_s) if node.free else inf)
                for at, node in enumerate(self.nodes)
            }
            chosen = resume(Image(task.gigabytes * fixed.GB, f"{task.holder:03}"), devices).node
            if chosen is not None:
                return int(chosen)
        free = [node.free for node in self.nodes]
        return free.index(max(free))

    def _hold(self, task: _Task, at: int) -> None:
        self.nodes[at].free -= 1
        self.free -= 1
        self.active[task.at] = task
        task.node, task.slot_s, task.since_s = at, self.now_s, self.now_s
        if task.holder is None:
            self._start(task)
            return
        network_s = 0.0 if task.holder == at else task.gigabytes / fixed.NETWORK_GB_S
        task.state = _State.HELD
        self._enqueue(_Operation(task, False, task.gigabytes * self.case.slope + network_s))

    def _start(self, task: _Task) -> None:
        task.state, task.since_s = _State.RUNNING, self.now_s
        task.epoch += 1
        self._at(self.now_s + task.work_s - task.saved_s, self._end, task, task.epoch)

    def _end(self, task: _Task, epoch: int) -> None:
        if task.epoch != epoch:
            return
        if task.state is _State.QUEUED:
            self.in_flight -= 1
        task.state = _State.DONE
        self.waste += Waste(useful_s=self.now_s - task.since_s)
        self._leave(task)
        self.undone[task.job] -= 1
        if not self.undone[task.job]:
            self.responses[task.level].append(self.now_s - self.workload.jobs[task.job].at_s)
        self._place()

    def _leave(self, task: _Task) -> None:
        del self.active[task.at]
        self.nodes[task.node].free += 1
        self.free += 1
        self.slot_s += self.now_s - task.slot_s

    # --- preemption

    def _claim(self) -> None:
        """Victims for the tasks that wait, beyond the slots that are on their way."""
        for level in (Levels.HIGH, Levels.MEDIUM):
            needed = sum(number for each, number in self.waiting.items() if each >= level) - self.in_flight
            if needed > 0:
                self._preempt(level, needed)

    def _preempt(self, level: int, needed: int) -> None:
        lower = [task for task in self.active.values() if task.level < level]
        held = sorted((task for task in lower if task.state is _State.HELD), key=lambda task: task.level)[:needed]
        for task in held:
            self._give_back(task)
        victims = [task for task in lower if task.state is _State.RUNNING]
        if not self.adaptive:
            self.random.shuffle(victims)
        devices = {
            str(at): Device(medium=self.medium, queue_s=node.queue_s(self.now_s)) for at, node in enumerate(self.nodes)
        }
        answers = decide(
            [self._seen(task) for task in victims],
            devices,
            Need(cause=Cause.PRIORITY, slots=needed - len(held), priority=level),
            self.choose,
            cap=self.case.cap,
        )
        # Dumps queue in the order of the answers' ends: that is the order in which the core added up the queues.
        acts = sorted(
            ((answers[str(task.at)], task) for task in victims), key=lambda pair: (pair[0].ready_s or 0.0, pair[1].at)
        )
        for answer, task in acts:
            if answer.action is Action.KILL:
                self._kill(task)
            elif answer.action is not Action.WAIT:
                self._save(task, answer.action)
        self._place()

    def _seen(self, task: _Task) -> Task:
        """The task as the core sees it; only adaptive has increments."""
        return Task(
            id=str(task.at), node=str(task.node), progress_s=self.now_s - task.since_s,
            memory=task.gigabytes * fixed.GB, imaged=self._increments(task), dirty_rate=fixed.DIRTY_RATE,
            priority=task.level, kills=task.kills,
        )  # fmt: skip

    def _increments(self, task: _Task) -> bool:
        return self.adaptive and task.holder is not None and not self.model.full

    def _kill(self, task: _Task) -> None:
        task.epoch += 1
        task.kills += 1
        self.kills += 1
        self.most_kills = max(self.most_kills, task.kills)
        self.waste += Waste(killed_s=self.now_s - task.since_s)
        self._leave(task)
        self._wait(task)

    def _give_back(self, task: _Task) -> None:
        """Take the slot of a task that does not run yet: its image stays."""
        operation, node = task.operation, self.nodes[task.node]
        if operation is not None:
            operation.valid = False
        if operation is not None and operation is node.current:
            spent_s = self.now_s - task.since_s
            self.waste += Waste(restoring_s=spent_s)
            node.busy_s += spent_s
            self._next(node)
        else:
            self.waste += Waste(waiting_s=self.now_s - task.since_s)
        self._leave(task)
        self._wait(task)

    def _save(self, task: _Task, action: Action) -> None:
        self.in_flight += 1
        task.state = _State.QUEUED
        if self.model.freeze:
            self._stop(task, _State.FROZEN)
        seconds = self._dump_s(task, action is Action.INCREMENTAL, self.now_s - task.since_s)
        self._enqueue(_Operation(task, True, seconds, action is Action.INCREMENTAL))

    def _stop(self, task: _Task, state: _State) -> None:
        task.epoch += 1
        task.executed_s = self.now_s - task.since_s
        task.state, task.since_s = state, self.now_s

    def _dump_s(self, task: _Task, incremental: bool, progress_s: float) -> float:
        part = min(1.0, fixed.DIRTY_RATE * progress_s) if incremental else 1.0
        return task.gigabytes * part * self.dump_slope

    # --- devices

    def _enqueue(self, operation: _Operation) -> None:
        node = self.nodes[operation.task.node]
        operation.task.operation = operation
        node.queue.append(operation)
        if node.current is None:
            self._next(node)

    def _next(self, node: _Node) -> None:
        """Begin the next operation; a dump whose task has ended is dropped."""
        node.current = None
        while node.queue:
            operation = node.queue.popleft()
            if operation.valid and operation.task.state is not _State.DONE:
                self._begin(node, operation)
                return

    def _begin(self, node: _Node, operation: _Operation) -> None:
        task = operation.task
        if task.state is _State.QUEUED:
            self._stop(task, _State.DUMPING)
            operation.seconds = self._dump_s(task, operation.incremental, task.executed_s)
        else:
            self.waste += Waste(waiting_s=self.now_s - task.since_s)
        if operation.dump:
            task.state = _State.DUMPING
        task.since_s = operation.began_s = self.now_s
        node.current = operation
        self._at(self.now_s + operation.seconds, self._finish, node, operation)

    def _finish(self, node: _Node, operation: _Operation) -> None:
        if not operation.valid:
            return
        node.busy_s += operation.seconds
        task = operation.task
        if operation.dump:
            self._dumped(task, operation)
        else:
            self.waste += Waste(restoring_s=operation.seconds)
            self._start(task)
        self._next(node)
        if operation.dump:
            self._place()
            if task.level > Levels.LOW:
                self._claim()

    def _dumped(self, task: _Task, operation: _Operation) -> None:
        self.waste += Waste(dumping_s=operation.seconds)
        if self.model.lossy:
            self.waste += Waste(killed_s=task.executed_s)
        else:
            self.waste += Waste(useful_s=task.executed_s)
            task.saved_s += task.executed_s
        self.dumps[Action.INCREMENTAL if operation.incremental else Action.FULL] += 1
        task.holder = task.node
        self.in_flight -= 1
        self._leave(task)
        self._wait(task)

    # --- results

    def _row(self) -> Row:
        slots = self.workload.nodes * self.workload.slots
        waste, makespan_s = self.waste, self.now_s
        return {
            "waste": _percent(waste.of_capacity(slots, makespan_s)),
            "waste_used": _percent(waste.of_used()),
            "killed": _percent(waste.killed_s / (slots * makespan_s)),
            "cpu": _percent(waste.overhead_s / waste.used_s),
            "io": _percent(sum(node.busy_s for node in self.nodes) / (len(self.nodes) * makespan_s)),
            "energy": fixed.IDLE * slots * makespan_s + (1 - fixed.IDLE) * waste.used_s,
            "makespan": makespan_s,
            "kills": self.kills,
            "most_kills": self.most_kills,
            "full": self.dumps[Action.FULL],
            "incremental": self.dumps[Action.INCREMENTAL],
            "used_s": waste.used_s,
            "useful_s": waste.useful_s,
            "slot_s": self.slot_s,
            **{name: _mean(self.responses[level]) for name, level in _LEVELS.items()},
        }


def _percent(part: float | None) -> float | None:
    return None if part is None else 100 * part


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
