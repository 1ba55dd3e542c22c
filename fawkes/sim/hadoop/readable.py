"""The readable model of Hadoop, by which the compiled one is measured: objects and heaps of Python."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from fawkes.base.errors import BrokenError
from fawkes.base.units import show_duration
from fawkes.core.values.model import ClusterId, Role
from fawkes.sim.hadoop.cluster import SimCluster
from fawkes.sim.hadoop.constants import Constants
from fawkes.sim.hadoop.flows import Flow, Flows
from fawkes.sim.hadoop.machine import Common, Owner
from fawkes.sim.hadoop.model import CopyDone, Copying, JobEnded, TaskEvent
from fawkes.sim.hadoop.tasks import Copy, Phase, SimJob


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
                    assert isinstance(cluster, SimCluster)
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


# --- Conservation laws of a simulated MR-cluster, whatever happens: slots, tasks and bytes are neither made nor lost


def refuse_broken(cluster: SimCluster, now_us: int) -> None:
    """BrokenError that names all laws that do not hold now. Costs as much as there are nodes, jobs and attempts."""
    wrong = broken(cluster)
    if wrong:
        raise BrokenError(f"after {show_duration(now_us)} of simulated time: {'; '.join(wrong)}", where=cluster.id)


def broken(cluster: SimCluster) -> list[str]:
    """The laws that do not hold; empty when all is well."""
    return [*_slots(cluster), *(wrong for job in cluster.jobs.values() for wrong in _tasks(job)), *_bytes(cluster)]


def _slots(cluster: SimCluster) -> Iterator[str]:
    offered = [Counter(node.name for node in slots) for slots in cluster.free_slots]
    for node in cluster.nodes.values():
        maps = sum(task.is_map for task in node.attempts)
        running = (maps, len(node.attempts) - maps) if len(offered) > 1 else (len(node.attempts), 0)
        free = (node.maps_free, node.reduces_free)
        slots = cluster.slots_of_a_node
        if (running[0] + free[0] + len(node.masters), running[1] + free[1]) != slots:
            yield f"{node.name} has {running} tasks and {free} free slots of {slots} for maps and reduces"
        there = tuple(count[node.name] for count in offered)
        wanted = (0, 0) if node.draining else free
        if there != wanted[: len(there)]:
            yield f"{node.name} offers {there} slots, not {wanted}"
    gone = {name for count in offered for name in count} - set(cluster.nodes)
    if gone:
        yield f"slots of nodes that have left: {', '.join(sorted(gone))}"


def _tasks(job: SimJob) -> Iterator[str]:
    maps = sum(task.is_map for task in job.running)
    for kind, waiting, running, done, all_ in (
        ("maps", job.maps_waiting, maps, job.maps_done, job.profile.maps),
        ("reduces", job.reduces_waiting, len(job.running) - maps, job.reduces_done, job.profile.reduces),
    ):
        if min(waiting, running, done) < 0 or waiting + running + done != all_:
            yield f"{job.attempt}: {waiting} {kind} wait, {running} run, {done} have ended, of {all_}"
    for task in job.running:
        if task.job is not job or task not in task.node.attempts:
            yield f"{job.attempt}: attempt {task.number} is not on its node {task.node.name}"
        if (task.phase is Phase.WAIT) == bool(task.flows):
            yield f"{job.attempt}: attempt {task.number} in phase {task.phase.name} has {len(task.flows)} flows"


def _bytes(cluster: SimCluster) -> Iterator[str]:
    for name, held in cluster.stored.items():
        node = cluster.nodes.get(name)
        if held < 0 or node is None or node.role is Role.TRANSIENT:
            yield f"{name} stores {held} bytes and is {'gone' if node is None else node.role}"
    # What nodes that have left stored is with others, uncounted.
    stored = sum(cluster.stored.values())
    if stored > cluster.output_bytes:
        yield f"{stored} bytes are stored, {cluster.output_bytes} were written"
    for job in cluster.jobs.values():
        kept = sum(node.kept.get(job, 0) for node in cluster.nodes.values())
        if job.needs_map_output and job.profile.reduces and kept != job.maps_done:
            yield f"{job.attempt}: {job.maps_done} maps have ended, the output of {kept} is there"
