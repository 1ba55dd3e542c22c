"""Accounts of slot time: useful work, and what preemption wastes (Li, sections 2.2 and 3.4.3)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Waste:
    """Seconds of slots: killed progress, dumps, restores, slots held in a queue, and work that counted."""

    killed_s: float = 0.0
    dumping_s: float = 0.0
    restoring_s: float = 0.0
    waiting_s: float = 0.0
    useful_s: float = 0.0

    def __add__(self, other: Waste) -> Waste:
        """The sums of both."""
        return Waste(
            killed_s=self.killed_s + other.killed_s,
            dumping_s=self.dumping_s + other.dumping_s,
            restoring_s=self.restoring_s + other.restoring_s,
            waiting_s=self.waiting_s + other.waiting_s,
            useful_s=self.useful_s + other.useful_s,
        )

    @property
    def overhead_s(self) -> float:
        """Seconds that checkpoints cost, with the time in their queues."""
        return self.dumping_s + self.restoring_s + self.waiting_s

    @property
    def wasted_s(self) -> float:
        """All seconds that were not useful."""
        return self.killed_s + self.overhead_s

    @property
    def used_s(self) -> float:
        """All seconds in which a slot was held."""
        return self.wasted_s + self.useful_s

    def of_used(self) -> float | None:
        """The wasted part of the used time; None when nothing was used."""
        return self.wasted_s / self.used_s if self.used_s > 0 else None

    def of_capacity(self, slots: int, makespan_s: float) -> float | None:
        """The wasted part of all slots over the whole time; None when there was none."""
        capacity_s = slots * makespan_s
        return self.wasted_s / capacity_s if capacity_s > 0 else None
