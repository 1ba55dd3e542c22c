"""Tasks, media and causes of preemption, and what a preemption policy sees and answers (Li, sections 3.2 to 3.4).

Sizes are bytes, rates bytes a second, times seconds. None is a size, a rate or a time that is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite


class Cause(StrEnum):
    """Causes of preemption: a node leaves, a job of higher priority arrives, a guaranteed share is claimed back."""

    LEAVES = "leaves"
    PRIORITY = "priority"
    SHARE = "share"


class Action(StrEnum):
    """Answers for a task; ``FULL`` saves all of its memory, ``INCREMENTAL`` what changed since its earlier image."""

    WAIT = "wait"
    KILL = "kill"
    FULL = "full"
    INCREMENTAL = "incremental"


class Why(StrEnum):
    """The reason of an answer.

    ``SPARED``: enough others go, or its priority is not lower. ``COSTS``: a checkpoint costs at least as much as the
    policy allows. ``LATE``: it would end after the promised time. ``UNKNOWN``: its end or its cost is not known.
    ``STORE``: no room for the image. ``CANNOT``: not a task that can be saved. ``CAP``: killed as often as allowed.
    """

    SPARED = "spared"
    POLICY = "policy"
    COSTS = "costs"
    LATE = "late"
    UNKNOWN = "unknown"
    STORE = "store"
    CANNOT = "cannot"
    CAP = "cap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Medium:
    """Rates at which images are written to a store, read from it, and sent to another node."""

    write: float | None
    read: float | None
    network: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A node's way to the store, with the seconds until the dumps and restores that it already has are done."""

    medium: Medium
    queue_s: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A running task.

    ``progress_s`` is what a kill loses: run time since the attempt began or was resumed. ``imaged``: it has an earlier
    image. ``dirty`` is the part of its memory that changed since then; without it, ``dirty_rate`` is that part for each
    second of progress. ``kills`` counts earlier kills by preemption.
    """

    id: str
    node: str
    progress_s: float | None
    memory: float | None
    imaged: bool = False
    dirty: float | None = None
    dirty_rate: float | None = None
    priority: int = 0
    kills: int = 0
    can_save: bool = True

    @property
    def image_bytes(self) -> float | None:
        """Bytes that a dump writes: all of the memory without an image, or when the changed part is not known."""
        if self.memory is None or not self.imaged:
            return self.memory
        part = self.dirty
        if part is None and self.dirty_rate is not None and self.progress_s is not None:
            part = self.dirty_rate * self.progress_s
        return self.memory if part is None else self.memory * min(1.0, part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """The slots that are claimed back, and why.

    ``slots``: beyond those that are free or on their way; None: those of all tasks. ``within_s`` is the time left until
    a promised release; None: nothing was promised. ``priority`` is that of the arriving job.
    """

    cause: Cause
    slots: int | None = None
    within_s: float | None = None
    priority: int | None = None

    def concerns(self, task: Task) -> bool:
        """True if a task may have to go. An arriving job without a known priority displaces nobody."""
        if self.cause is not Cause.PRIORITY:
            return True
        return self.priority is not None and task.priority < self.priority


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """A task as a preemption policy sees it: its progress, and the seconds that a dump and a restore of it take.

    ``queue_s`` is the queue of its node's device before any of these victims is dumped.
    """

    id: str
    node: str
    progress_s: float | None
    dump_s: float | None
    restore_s: float | None
    queue_s: float | None
    priority: int = 0
    kills: int = 0
    incremental: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """The answer of a preemption policy for a victim.

    ``action`` is "wait", "kill" or "save". A save that costs ``below_s`` seconds or more becomes a kill (None: save
    whatever it costs). The victim with the smallest sum of ``first`` (seconds) and its node's queue goes first. Victims
    without it come last, in the order in which they were given.
    """

    action: str
    below_s: float | None = None
    first: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer for a task. ``ready_s``: seconds until its slot is free at the latest; None: not known, or never."""

    action: Action
    why: Why
    ready_s: float | None = None


Choose = Callable[[Sequence[Victim]], Sequence[Choice]]
"""A preemption policy, made callable: a choice for each victim, in the order of the victims."""
WAIT, KILL, SAVE = "wait", "kill", "save"


def seconds(size: float | None, rate: float | None) -> float | None:
    """Seconds for a size at a rate; None when either is not known, or at a rate that is not above 0."""
    return None if size is None or rate is None or rate <= 0 else size / rate


def total(*times_s: float | None) -> float | None:
    """The sum of times; None when any of them is not known."""
    known = 0.0
    for each in times_s:
        if each is None:
            return None
        known += each
    return known


def checked(victims: Sequence[Victim], choices: Sequence[Choice]) -> Sequence[Choice]:
    """The choices of a policy; ValueError for a wrong number of them, or for values that cannot be choices."""
    if not isinstance(choices, list | tuple) or len(choices) != len(victims):
        raise ValueError(
            f"the policy answered {choices!r} for {len(victims)} victims, not a list with a choice of each"
        )
    for victim, choice in zip(victims, choices, strict=True):
        if not isinstance(choice, Choice):
            raise ValueError(f"the policy answered {choice!r} for {victim.id}, not a Choice")
        if choice.action not in (WAIT, KILL, SAVE):
            raise ValueError(f"action of the choice of {victim.id} is {choice.action!r}, not wait, kill or save")
        for name, value in (("below_s", choice.below_s), ("first", choice.first)):
            if not (value is None or _is_time(value)):
                raise ValueError(f"{name} of the choice of {victim.id} is {value!r}, not a finite number of at least 0")
    return choices


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value >= 0
