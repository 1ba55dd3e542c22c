"""Readings of a stream, the thresholds of the congestion monitor, and its actions (Li, section 4.4.2).

Shares are parts of all that the workers have; queues are records that wait. None is a value that is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Limits of the congestion monitor.

    A resource is overloaded above its share; with None nobody judges it. It is under-used below ``idle``. A condition
    counts when it lasts for more than ``lasting_s``. No action follows another within ``monitoring_s``. Workers are
    never fewer than ``least_workers``. ValueError for limits that contradict each other; it names both.
    """

    cpu: float | None = 0.9
    memory: float | None = 0.9
    network: float | None = 0.9
    idle: float = 0.5
    lasting_s: float = 10.0
    monitoring_s: float = 30.0
    least_workers: int = 1

    def __post_init__(self) -> None:
        """Refuse limits that cannot be, or that contradict each other."""
        if not self.judged:
            raise ValueError("cpu, memory and network are all None: at least one of them must have a threshold")
        for name, share in {**self.judged, "idle": self.idle}.items():
            if not 0 < share <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, not {share}")
            if name != "idle" and self.idle >= share:
                raise ValueError(f"idle ({self.idle}) must be below {name} ({share})")
        if not 0 <= self.lasting_s <= self.monitoring_s < inf:
            raise ValueError(f"lasting_s ({self.lasting_s}) must be from 0 to monitoring_s ({self.monitoring_s})")
        if self.least_workers < 1:
            raise ValueError(f"least_workers must be at least 1, not {self.least_workers}")

    @property
    def judged(self) -> dict[str, float]:
        """The shares of the resources that are judged, by name."""
        shares = {"cpu": self.cpu, "memory": self.memory, "network": self.network}
        return {name: share for name, share in shares.items() if share is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """An operator of the topology as it was read: records that wait for it, and its tasks."""

    name: str
    queue: float | None = None
    parallelism: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReading:
    """A stream at one time: shares of resources, waiting records, mean latency, and workers.

    Queues of micro-batches must be read at the same point of each batch: between two such points they rise and fall.
    ValueError for a number that is negative or not finite, and for two operators with one name.
    """

    at_s: float
    cpu: float | None = None
    memory: float | None = None
    network: float | None = None
    queue: float | None = None
    latency_s: float | None = None
    workers: int | None = None
    operators: tuple[Operator, ...] = ()

    def __post_init__(self) -> None:
        """Refuse numbers that no stream can have."""
        names = ("at_s", "cpu", "memory", "network", "queue", "latency_s", "workers")
        numbers = [(name, getattr(self, name)) for name in names]
        for name, value in [*numbers, *((f"queue of {each.name}", each.queue) for each in self.operators)]:
            if value is not None and not 0 <= value < inf:
                raise ValueError(f"{name} must be a finite number of at least 0, not {value}")
        if len({each.name for each in self.operators}) < len(self.operators):
            raise ValueError("two operators have the same name")


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """More workers."""


@dataclass(frozen=True, slots=True)
class ScaleOut:
    """More tasks of one operator."""

    operator: str


@dataclass(frozen=True, slots=True)
class ScaleDown:
    """Fewer tasks of one operator."""

    operator: str


@dataclass(frozen=True, slots=True)
class ScaleIn:
    """Fewer workers."""


@dataclass(frozen=True, slots=True)
class Shuffle:
    """The same tasks, placed anew on the same workers."""


Action = ScaleUp | ScaleOut | ScaleDown | ScaleIn | Shuffle


@dataclass(frozen=True, slots=True)
class StreamAction:
    """An action of the monitor, with its reason as a sentence."""

    action: Action
    reason: str


@dataclass(frozen=True, slots=True)
class Lasting:
    """A condition that lasts: the time of the reading that showed it first, and the value before or at that time."""

    since_s: float
    first: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorState:
    """Memory of the monitor: conditions that last and last known values by name, and the last action.

    ``shuffled``: the congestion that lasts has had its shuffle.
    """

    at_s: float | None = None
    lasting: Mapping[str, Lasting] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    action: Action | None = None
    action_s: float | None = None
    shuffled: bool = False
