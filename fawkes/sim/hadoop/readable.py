"""The readable model of Hadoop, by which the compiled one is measured: objects and heaps of Python."""

from __future__ import annotations

from collections import deque

from fawkes.core.values.model import ClusterId
from fawkes.sim.hadoop.cluster import SimCluster
from fawkes.sim.hadoop.conservation import refuse_broken
from fawkes.sim.hadoop.constants import Constants
from fawkes.sim.hadoop.flows import Flow, Flows
from fawkes.sim.hadoop.machine import Common, Owner
from fawkes.sim.hadoop.model import CopyDone, Copying, JobEnded, TaskEvent
from fawkes.sim.hadoop.tasks import Copy


class ReadableModel:
    """`Model` of `SimCluster`, `Flows` and `Common`."""

    def __init__(
        self, constants: Constants, *, seed: int = 0, now_us: int = 0, keep_events: bool = False, check: bool = False
    ) -> None:
        self._constants = constants
        self._seed = seed
        self._flows: Flows[Owner] = Flows(now_us)
        self._common = Common(constants)
        self._ended: deque[Flow[Owner]] = deque()
        self._events: list[TaskEvent] | None = [] if keep_events else None
        self._check = check

    @property
    def now_us(self) -> int:
        """The time up to which all has run."""
        return self._flows.now_us

    @now_us.setter
    def now_us(self, now_us: int) -> None:
        self._flows.now_us = now_us

    def cluster(
        self, name: ClusterId, *, replication: int = 3, data_bytes: int = 0, standby: bool = False
    ) -> SimCluster:
        """A new MR-cluster without nodes."""
        made = SimCluster(name, self._flows, self._constants, self._common, self._seed)
        made.machine.standby = standby
        made.replication, made.data_bytes, made.events = replication, data_bytes, self._events
        return made

    def advance(self, until_us: int) -> JobEnded | CopyDone | None:
        """Let tasks run until something is to be told; None when nothing is until that time."""
        while True:
            while self._ended:
                flow = self._ended.popleft()
                cluster, owner = flow.owner
                over = cluster.flow_ended(owner, flow)
                if self._check:
                    refuse_broken(cluster, self.now_us)
                if isinstance(over, Copy):
                    return CopyDone(over.of)
                if over is not None:
                    return JobEnded(over.attempt, cluster.ended[over.attempt])
            at_us = self._flows.next_us()
            if at_us is None or at_us > until_us:
                return None
            self._ended.extend(self._flows.end())

    def drop(self, copy: Copying) -> None:
        """A copy is not wanted any more."""
        assert isinstance(copy, Copy)
        for flow in copy.flows:
            self._flows.drop(flow)
        copy.flows.clear()

    def task_events(self) -> list[TaskEvent]:
        """The starts and ends of attempts so far; none unless they are kept."""
        return list(self._events or ())
