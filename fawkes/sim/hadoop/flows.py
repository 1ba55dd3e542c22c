"""Rates that are shared: pools of a resource, and the flows in them, who share it equally.

A pool has a virtual clock V in units of work for one stream: it runs at ``min(cap, capacity / streams)`` a microsecond.
A flow of work W that enters at V0 ends when V reaches V0 + W, whatever the others do meanwhile (processor sharing in
virtual time; Parekh and Gallager 1993). So a flow that begins or ends costs the logarithm of the flows, not their
number. Disks lose a part of their capacity when more streams than disks make their heads move.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Generic, TypeVar

Owner = TypeVar("Owner")

#: streams are counted in thousandths: of a file's three replicas some lie on average on disks of one role
MILLI = 1000
#: a flow that has come as near to its end as this (in units of work) has ended; sums of floats do not meet exactly
_NEAR = 1e-6


@dataclass(eq=False, slots=True)
class Flow(Generic[Owner]):
    """Work under way in a pool, for ``owner``; ``ends_at`` is the reading of the pool's virtual clock at its end.

    ``width`` is how many equal streams it is, in thousandths; they end together.
    """

    pool: Pool[Owner]
    owner: Owner
    ends_at: float
    width: int = MILLI
    live: bool = True

    def left_us(self, now_us: int) -> int:
        """The time that it still takes at the present rate, at least a microsecond."""
        pool = self.pool
        if pool.rate == inf:
            return 1
        clock = pool.clock + pool.rate * (now_us - pool.at_us)
        return max(1, ceil((self.ends_at - clock) / pool.rate)) if pool.rate else 1


@dataclass(eq=False, slots=True)
class Pool(Generic[Owner]):
    """A resource: ``capacity`` and ``cap`` (the most that one stream gets) in units of work a microsecond.

    Of ``units`` disks each serves one stream at full speed; each further one costs the part ``seek`` of a disk's time.
    ``streams`` are in thousandths.
    """

    name: str
    capacity: float
    cap: float = inf
    seek: float = 0.0
    units: int = 1
    streams: int = 0
    version: int = 0
    clock: float = 0.0
    at_us: int = 0
    _heap: list[tuple[float, int, Flow[Owner]]] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """The rate that each stream gets now, in units of work a microsecond; 0 in a pool without capacity."""
        if not self.streams or not self.capacity:
            return 0.0
        streams = self.streams / MILLI
        share = self.capacity / streams
        if self.seek and streams > self.units:
            share /= 1.0 + self.seek * (1.0 - self.units / streams)
        return min(self.cap, share)

    @property
    def alone(self) -> float:
        """The rate that a stream gets in a pool of its own."""
        return min(self.cap, self.capacity)

    def pass_until(self, now_us: int) -> None:
        """Let the virtual clock run to a time that is not before the last one.

        It stands still at a rate without limit, where all ends at once: no time of such a rate is not a number.
        """
        if self.streams and self.rate < inf:
            self.clock += self.rate * (now_us - self.at_us)
        self.at_us = now_us

    def next_us(self) -> int | None:
        """The first microsecond at which a flow has ended; None when nothing will end."""
        while self._heap and not self._heap[0][2].live:
            heapq.heappop(self._heap)
        if not self._heap or not self.rate:
            return None
        return self.at_us + max(0, ceil((self._heap[0][0] - self.clock - _NEAR) / self.rate))

    def push(self, flow: Flow[Owner], order: int) -> None:
        """A flow begins."""
        heapq.heappush(self._heap, (flow.ends_at, order, flow))
        self.streams += flow.width

    def pop_ended(self) -> Iterator[Flow[Owner]]:
        """Take out the flows that have ended, by their ends and then by their beginnings."""
        until = inf if self.rate == inf else self.clock + _NEAR
        while self._heap and (not self._heap[0][2].live or self._heap[0][0] <= until):
            _, _, flow = heapq.heappop(self._heap)
            if flow.live:
                flow.live = False
                self.streams -= flow.width
                yield flow


class Flows(Generic[Owner]):
    """All pools, and the time up to which their flows have run."""

    def __init__(self, now_us: int = 0) -> None:
        self.now_us = now_us
        self._order = 0
        self._due: list[tuple[int, int, int, Pool[Owner]]] = []

    def begin(self, pool: Pool[Owner], work: float, owner: Owner, width: int = MILLI) -> Flow[Owner]:
        """Begin so much work now, in each of ``width`` thousandths of streams."""
        pool.pass_until(self.now_us)
        flow = Flow(pool, owner, pool.clock + work, width)
        self._order += 1
        pool.push(flow, self._order)
        self._changed(pool)
        return flow

    def drop(self, flow: Flow[Owner]) -> None:
        """A flow stops before its end; the others of its pool get its share from now on."""
        if flow.live:
            flow.pool.pass_until(self.now_us)
            flow.live = False
            flow.pool.streams -= flow.width
            self._changed(flow.pool)

    def resize(self, pool: Pool[Owner], capacity: float, units: int = 1) -> None:
        """A pool has another capacity, of so many disks, from now on."""
        if (capacity, units) != (pool.capacity, pool.units):
            pool.pass_until(self.now_us)
            pool.capacity, pool.units = capacity, units
            self._changed(pool)

    def next_us(self) -> int | None:
        """The time when the next flow ends; None when none will."""
        due = self._due
        while due and due[0][2] != due[0][3].version:
            heapq.heappop(due)
        return due[0][0] if due else None

    def end(self) -> list[Flow[Owner]]:
        """Go to the next end of a flow, in one pool; all that end there at that time, in order."""
        if self.next_us() is None:
            return []
        self.now_us, _, _, pool = heapq.heappop(self._due)
        pool.pass_until(self.now_us)
        ended = list(pool.pop_ended())
        self._changed(pool)
        return ended

    def _changed(self, pool: Pool[Owner]) -> None:
        pool.version += 1
        at_us = pool.next_us()
        if at_us is not None:
            self._order += 1
            heapq.heappush(self._due, (at_us, self._order, pool.version, pool))
