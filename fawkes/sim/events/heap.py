"""The heap of a simulated world: events and steps by their time.

Ties at one time: completions first, then requests and readings, then the timer; then the order of their making.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from fawkes.base.values import replace
from fawkes.core.values.effects import Deploy, Host, Load, Save
from fawkes.core.values.events import Event
from fawkes.core.values.model import ClusterId
from fawkes.sim.events.steps import Leaves, Noticed, PowerFails, PowerReturns, Reads, Step

COMPLETION, REQUEST, TIMER = 0, 1, 2


@dataclass(slots=True)
class Heap:
    """Plain values, so that a world can be copied in the middle of a run."""

    entries: list[tuple[int, int, int, Event | Step]] = field(default_factory=list)
    count: int = 0

    def push(self, at_us: int, priority: int, what: Event | Step) -> None:
        """Something is to happen at a time."""
        self.count += 1
        heapq.heappush(self.entries, (at_us, priority, self.count, what))

    def pop(self) -> tuple[int, Event | Step]:
        """The next that happens, and when."""
        at_us, _, _, what = heapq.heappop(self.entries)
        return at_us, what

    def next_us(self, otherwise_us: int) -> int:
        """The time when that is."""
        return self.entries[0][0] if self.entries else otherwise_us

    @property
    def goes_on_with_a_node(self) -> bool:
        """True if the next that happens is about one node."""
        return bool(self.entries) and isinstance(self.entries[0][3], Host | Leaves)

    def stop_stage(self, cluster: ClusterId) -> None:
        """Nothing that brings an MR-cluster up, loads or saves it happens any more."""
        kept = [e for e in self.entries if not (isinstance(e[3], Deploy | Load | Save) and e[3].cluster == cluster)]
        heapq.heapify(kept)
        self.entries = kept

    def left(self, now_us: int, reads_us: int) -> Heap:
        """The heap after the death of a controller: power that fails and returns, and what users ask.

        The next one reads all MR-clusters at ``reads_us``.
        """
        heap = Heap([(reads_us, REQUEST, 0, Reads())], self.count)
        for at_us, order, count, what in sorted(self.entries, key=lambda entry: entry[:3]):
            request = order == REQUEST and not isinstance(what, Reads)
            if request or isinstance(what, PowerFails | PowerReturns | Noticed):
                late_us = max(at_us, now_us)
                later = replace(what, at_us=late_us) if isinstance(what, Event) else what
                heapq.heappush(heap.entries, (late_us, order, count, later))
        return heap
