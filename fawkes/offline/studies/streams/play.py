"""A case is played by seconds: the core's monitor resizes a stream, and batch tasks use the cores that are left."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any

from fawkes.base.catalog import Kind, bundled_dir
from fawkes.core.preemption.preempt import decide
from fawkes.core.preemption.values import Action, Cause, Choose, Device, Medium, Need, Task
from fawkes.core.streams.monitor import watch
from fawkes.core.streams.values import MonitorState, ScaleIn, ScaleUp, StreamReading, Thresholds
from fawkes.offline.studies.streams import fixed
from fawkes.offline.studies.streams.cases import LOADS, MODELS, StreamCase, StreamModel
from fawkes.offline.studies.streams.hashing import migration, ring_of
from fawkes.policy.worker.policies import load_preemption, policy_text

Row = dict[str, Any]
_LIMITS = Thresholds()


@lru_cache
def policy_of(name: str) -> Choose:
    """A bundled preemption policy."""
    path = bundled_dir(Kind.PREEMPTION) / Kind.PREEMPTION.value / f"{name}.py"
    return load_preemption(policy_text(name.upper(), path.name, path.read_text("utf-8")))


@lru_cache
def moved_share(before: int, after: int) -> float:
    """The part of all keys that moves when holders become more or fewer."""
    rings = (ring_of([str(at) for at in range(holders)]) for holders in (before, after))
    return len(migration("rules", map(str, range(fixed.KEYS)), *rings)) / fixed.KEYS


@dataclass(slots=True)
class _Batch:
    """A running task of the batch jobs, or one that was preempted: seconds done, and until its dump ends."""

    index: int
    done_s: float = 0.0
    begun_s: float = 0.0
    restore_s: float = 0.0
    leaves_s: float | None = None


@dataclass(slots=True)
class _Play:
    """The state of a run, and its sums."""

    case: StreamCase
    model: StreamModel
    most: int
    wants: int = fixed.BASE_CORES
    state: MonitorState = field(default_factory=MonitorState)
    queue: float = 0.0
    down_s: int = 0
    moving_s: float = 0.0
    moved: float = 0.0
    rescales: int = 0
    running: list[_Batch] = field(default_factory=list)
    waiting: list[_Batch] = field(default_factory=list)
    next_task: count[int] = field(default_factory=count)
    ended: dict[int, list[int]] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)
    course: list[Row] = field(default_factory=list)

    def second(self, at: int, rate: float) -> None:
        """One second of the stream, then of the batch jobs, then a reading for the monitor."""
        has = min(self.wants, fixed.CORES - len(self.running))
        capacity = 0.0 if self.down_s > 0 else has * (1 - (self.moved if self.moving_s > 0 else 0.0))
        served = min(self.queue + rate, capacity)
        left = self.queue + rate - served
        self.queue = min(left, fixed.QUEUE_MOST)
        self.course.append({
            "at_s": at, "rate": rate, "served": served, "queue": self.queue, "cores": has, "wants": self.wants,
            "batch": len(self.running), "dropped": left - self.queue,
        })  # fmt: skip
        self.down_s, self.moving_s = max(0, self.down_s - 1), max(0.0, self.moving_s - 1)
        if self.case.batch:
            self._batch(at)
        cpu = served / has if has else None
        workers = self.wants // fixed.BASE_CORES
        reading = StreamReading(at_s=at, cpu=cpu, memory=0.4, network=0.2, queue=self.queue, workers=workers)
        self.state, step = watch(self.state, reading, _LIMITS)
        if step is not None and isinstance(step.action, ScaleUp) and self.wants < self.most:
            self._resize(self.most, at)
        if step is not None and isinstance(step.action, ScaleIn) and self.case.mode == "elastic":
            self._resize(fixed.BASE_CORES, at)

    def _resize(self, cores: int, at: int) -> None:
        before, after = -(-self.wants // fixed.BASE_CORES), -(-cores // fixed.BASE_CORES)
        self.rescales += 1
        self.wants = cores
        if self.case.mode == "default" or self.model.stop:
            self.down_s = self.model.restart_s
        else:
            self.moved = moved_share(before, after)
            self.moving_s = self.moved * fixed.STATE_GB / fixed.MOVE_GB_S
        if self.case.batch and self.model.reclaim:
            self._reclaim(at)

    def _reclaim(self, at: int) -> None:
        """Batch tasks beyond the cores that the stream leaves are killed or saved, as Algorithm 1 answers."""
        slots = len(self.running) - (fixed.CORES - self.wants)
        if slots <= 0:
            return
        medium = Medium(write=1 / fixed.NVM_S_GB, read=1 / fixed.NVM_S_GB)
        tasks = [
            Task(id=str(each.index), node=str(at_ % fixed.NODES), progress_s=at - each.begun_s, memory=fixed.TASK_GB)
            for at_, each in enumerate(self.running)
        ]
        devices = {str(node): Device(medium=medium) for node in range(fixed.NODES)}
        need = Need(cause=Cause.SHARE, slots=slots)
        answers = decide(tasks, devices, need, policy_of(self.case.batch))
        for each in list(self.running):
            answer = answers[str(each.index)]
            if answer.action is Action.KILL:
                each.done_s = 0.0 if self.model.lossy else each.done_s
                self._leave(each)
            elif answer.action is not Action.WAIT:
                each.leaves_s = at + (answer.ready_s or 0.0)

    def _leave(self, task: _Batch) -> None:
        self.running.remove(task)
        task.leaves_s = None
        self.waiting.append(task)
        self.waiting.sort(key=lambda each: each.index)

    def _batch(self, at: int) -> None:
        for task in list(self.running):
            if task.leaves_s is not None and at >= task.leaves_s:
                task.restore_s = fixed.TASK_GB * fixed.NVM_S_GB
                self._leave(task)
            elif task.restore_s > 0:
                task.restore_s -= 1
            elif task.leaves_s is None or not self.model.freeze:
                task.done_s += 1
                if task.done_s >= fixed.TASK_S:
                    self.running.remove(task)
                    self.ended.setdefault(task.index // fixed.JOB_TASKS, []).append(at)
        free = fixed.CORES - self.wants if self.model.lend else fixed.BATCH_CORES
        while len(self.running) < free:
            task = self.waiting.pop(0) if self.waiting else _Batch(next(self.next_task))
            task.begun_s = at
            self.first.setdefault(task.index // fixed.JOB_TASKS, at)
            self.running.append(task)


def play(case: StreamCase) -> Row:
    """The figures of a case, with its course second by second."""
    model = MODELS[case.model]
    most = fixed.CORES - (model.promised if case.batch else 0)
    run = _Play(case, model, most)
    if case.mode == "peak":
        run.wants = most
    seconds = count()
    for length, rate in LOADS[case.load]:
        for _ in range(length):
            run.second(next(seconds), rate)
    course = run.course
    served = sum(row["served"] for row in course)
    busy = sum(row["served"] + row["batch"] for row in course) / fixed.CORES
    whole = {job: max(ends) - run.first[job] for job, ends in run.ended.items() if len(ends) == fixed.JOB_TASKS}
    return {
        "served": served,
        "high": sum(row["served"] for row in course if row["rate"] == fixed.HIGH),
        "low": sum(row["served"] for row in course[:60]),
        "latency_s": sum(row["queue"] for row in course) / served,
        "stopped_s": sum(row["served"] == 0 for row in course),
        "rescales": run.rescales,
        "dropped": sum(row["dropped"] for row in course),
        "batch_core_s": sum(row["batch"] for row in course),
        "jobs": len(whole),
        "job_s": sum(whole.values()) / len(whole) if whole else None,
        "lent_s": sum(row["batch"] > fixed.BATCH_CORES for row in course),
        "over_s": sum(row["batch"] > fixed.CORES - row["wants"] for row in course),
        "records_j": served / (fixed.IDLE * len(course) + (1 - fixed.IDLE) * busy),
        "unneeded": 100 * (1 - fixed.BASE_CORES / course[0]["cores"]),
        "course": course,
    }
