"""The machine below an MR-cluster: its pools, and what each phase of a task asks of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import NamedTuple, Protocol

from fawkes.base.units import SECOND_US
from fawkes.core.values.model import ClusterId, Role
from fawkes.sim.hadoop.constants import Constants
from fawkes.sim.hadoop.flows import MILLI, Flow, Flows, Pool
from fawkes.sim.hadoop.tasks import Copy, End, JobAttempt, Phase, SimJob, TaskAttempt


class FlowEnds(Protocol):
    """An MR-cluster, which waits for its flows to end."""

    ended: dict[JobAttempt, End]

    def flow_ended(self, owner: SimJob | TaskAttempt | Copy, flow: Flow[Owner]) -> SimJob | Copy | None:
        """The job or the copy that ended with a flow; None if none did."""


Owner = tuple[FlowEnds, SimJob | TaskAttempt | Copy]
"""Whose a flow is."""

Leg = tuple[Pool[Owner], float, int]
"""So much work in a pool, in each of so many thousandths of streams."""

#: masters of an MR-cluster that start with it: NameNode, ResourceManager, history server
MASTERS = 3


class Common:
    """Pools of all MR-clusters: persistent storage, the link between sites, the cores of a machine with all nodes."""

    def __init__(self, constants: Constants) -> None:
        card = constants.network_bytes_s / SECOND_US
        self.storage: Pool[Owner] = Pool("storage", constants.storage_bytes_s / SECOND_US, cap=card)
        stream = constants.site_stream_bytes_s / SECOND_US
        self.link: Pool[Owner] = Pool("link", constants.site_bytes_s / SECOND_US, cap=stream)
        self.cores: Pool[Owner] | None = Pool("cores", constants.cores, cap=1.0) if constants.shared_cores else None
        self.nodes = self.clusters = self.standbys = 0


class Machine:
    """The pools of one MR-cluster. Disks of nodes of one role are one pool: HDFS spreads blocks over all of them.

    ``standby``: it has a second NameNode with a journal.
    """

    standby = False

    def __init__(self, name: ClusterId, flows: Flows[Owner], constants: Constants, common: Common) -> None:
        self._flows = flows
        self._constants = constants
        self._common = common
        disk, card = constants.disk_bytes_s / SECOND_US, constants.network_bytes_s / SECOND_US
        self._disks: dict[Role, Pool[Owner]] = {
            role: Pool(f"disk:{name}:{role}", 0.0, cap=disk, seek=constants.disk_seek) for role in Role
        }
        self._cores: Pool[Owner] = common.cores or Pool(f"cores:{name}", 0.0, cap=1.0)
        self._network: Pool[Owner] = Pool(f"network:{name}", 0.0, cap=card)
        self._counts: Mapping[Role, int] = dict.fromkeys(Role, 0)
        self._time: Pool[Owner] = Pool(f"time:{name}", inf, cap=1.0)
        self._copies: Pool[Owner] = Pool(f"copies:{name}", 0.0, cap=copies_of(constants))

    def disks(self, role: Role) -> Pool[Owner]:
        """The disks of all nodes of a role."""
        return self._disks[role]

    def resize(self, counts: Mapping[Role, int]) -> None:
        """The MR-cluster has so many nodes of each role from now on."""
        of, nodes = self._constants, sum(counts.values())
        before = sum(self._counts.values())
        self._common.nodes += nodes - before
        self._common.clusters += bool(nodes) - bool(before)
        self._common.standbys += self.standby * (bool(nodes) - bool(before))
        self._counts = counts
        for role, pool in self._disks.items():
            self._flows.resize(pool, capacity_of(counts[role], of.disk_bytes_s / SECOND_US), max(1, counts[role]))
        if self._common.cores is None:
            self._flows.resize(self._cores, own_cores_of(of, nodes, standby=self.standby))
        else:
            common = self._common
            free = cores_of(of, common.nodes, common.clusters, common.standbys)
            self._flows.resize(self._common.cores, free)
        self._flows.resize(self._network, capacity_of(nodes, network_of(of, nodes)))
        self._flows.resize(self._copies, of.multiplier * nodes * of.block_bytes / of.heartbeat_us)

    def begin(self, legs: Iterable[Leg], owner: Owner) -> dict[Flow[Owner], None]:
        """Flows side by side; one of no length when there is nothing to do, or nothing that takes time."""
        real = [leg for leg in legs if takes_time(leg)]
        return {self._flows.begin(pool, work, owner, width): None for pool, work, width in real or [self.pause(0.0)]}

    def pause(self, time_us: float) -> Leg:
        """Time that passes whatever the machine does."""
        return self._time, time_us, MILLI

    def start(self, time_us: int, cpu_us: float, count: int = 1) -> list[Leg]:
        """The legs of a start, of a job, a task or ``count`` nodes: its time, and longer where many share the cores.

        A Java process that starts is two threads at work: the program, and the compiler of the code that it runs.
        """
        width = count * MILLI
        return [self.pause(time_us), (self._cores, cpu_us / 2, width), (self._cores, cpu_us / 2, width)]

    def legs(self, task: TaskAttempt, fetched: float, kept: Mapping[Role, int], replication: int) -> Iterator[Leg]:
        """The legs of the present phase of a task; a reduce fetches so many bytes, from where the maps ran."""
        profile, own = task.job.profile, self._disks[task.node.role]
        writes = task.phase is Phase.REDUCE or not profile.reduces
        copies = replicas_by_role(self._counts, task.node.role, replication)
        stored = profile.output_bytes * self._constants.output_passes if writes and copies.own else 0.0
        match task.phase:
            case Phase.MAP:
                yield self.pause(profile.map_us)
                yield self._cores, profile.map_cpu_us, MILLI
                read = float(profile.map_read_bytes)
                if task.node.role is not Role.CORE:
                    yield self._network, read, MILLI
                    yield self._disks[Role.CORE], read * self._constants.remote_read, MILLI
                    read = 0.0
                yield own, read + (profile.map_output_bytes if profile.reduces else stored), MILLI
            case Phase.FETCH | Phase.FETCH_REST:
                yield self._network, fetched, MILLI
                yield own, fetched, MILLI
                for role, maps in kept.items():
                    yield self._disks[role], fetched * maps / max(1, sum(kept.values())), MILLI
            case Phase.REDUCE:
                yield self.pause(profile.reduce_us)
                yield self._cores, profile.reduce_cpu_us, MILLI
                yield own, profile.shuffle_bytes + stored, MILLI
            case Phase.WAIT:
                raise AssertionError("a task that waits for maps has no work")
        if writes:
            yield from self._send(profile.output_bytes, copies)

    def tail_us(self, legs: Iterable[Leg], *, ends: bool) -> float:
        """The time of a phase beyond its longest stream: a part of the others, and the way of the news of its end."""
        together = longest = 0.0
        for leg in legs:
            pool, work, _ = leg
            if takes_time(leg) and pool.alone > 0:
                alone_us = work / pool.alone
                together += alone_us
                longest = max(longest, alone_us)
        return self._constants.serial * (together - longest) + (self._constants.task_end_us if ends else 0)

    def between_sites(self, far_bytes: float) -> list[Leg]:
        """Bytes that come from another site."""
        return [(self._common.link, far_bytes, MILLI)]

    def load(self, data_bytes: int, replication: int) -> list[Leg]:
        """Load from persistent storage to core nodes, by as many streams as there are."""
        nodes = max(1, self._counts[Role.CORE])
        each = data_bytes / nodes
        copies = max(1, min(replication, nodes))
        return [
            (self._common.storage, each, nodes * MILLI),
            (self._network, each, nodes * copies * MILLI),
            (self._disks[Role.CORE], each * self._constants.output_passes, nodes * copies * MILLI),
        ]

    def save(self, output_bytes: int) -> list[Leg]:
        """Save from core nodes to persistent storage, by as many streams as there are."""
        nodes = max(1, self._counts[Role.CORE])
        each = output_bytes / nodes
        width = nodes * MILLI
        return [
            (self._common.storage, each, width),
            (self._network, each, width),
            (self._disks[Role.CORE], each, width),
        ]

    def evacuate(self, held_bytes: int) -> list[Leg]:
        """Copy from a node that leaves to those that stay, no faster than HDFS hands out copies (references, 5.5)."""
        return [(self._copies, held_bytes, MILLI), (self._disks[Role.CORE], held_bytes, MILLI)]

    def _send(self, written: int, copies: WrittenReplicas) -> Iterator[Leg]:
        """The replicas on other nodes than the writer's, each a stream."""
        passed = written * self._constants.output_passes
        sent = copies.on_core + copies.on_transient_core
        if sent:
            yield self._network, written, sent
        if copies.on_core:
            yield self._disks[Role.CORE], passed, copies.on_core
        if copies.on_transient_core:
            yield self._disks[Role.TRANSIENT_CORE], passed, copies.on_transient_core


def copies_of(constants: Constants) -> float:
    """Bytes a microsecond that leave a node which is emptied: what HDFS hands out, and no more than its network."""
    of = constants
    return min(of.streams * of.block_bytes / of.heartbeat_us, of.network_bytes_s / SECOND_US)


def input_of_a_core_node(data_bytes: int, replication: int, core: int) -> int:
    """Bytes of the input on one of ``core`` core nodes, with all its copies, when they are spread evenly."""
    return data_bytes * min(replication, core) // core


def takes_time(leg: Leg) -> bool:
    """True if there is work, in a pool that has a limit."""
    pool, work, _ = leg
    return work > 0 and pool.alone < inf


class WrittenReplicas(NamedTuple):
    """Replicas of what a task writes: on its own node or not, and on others by their role, in thousandths."""

    own: bool
    on_core: int
    on_transient_core: int


def replicas_by_role(counts: Mapping[Role, int], writer: Role, replication: int) -> WrittenReplicas:
    """The disks of the replicas that a node writes: the first its own if it stores, the others of any that do.

    No node stores two of them, so that there are at most as many as nodes that store.
    """
    core, other = counts[Role.CORE], counts[Role.TRANSIENT_CORE]
    own = writer is not Role.TRANSIENT
    sent = (max(1, min(replication, core + other)) - own) * MILLI
    on_core = sent * core // max(1, core + other)
    return WrittenReplicas(own, on_core, sent - on_core)


def cores_of(constants: Constants, nodes: int, clusters: int = 0, standbys: int = 0) -> float:
    """The cores that are left; at least a twentieth.

    The daemons of so many nodes take their part, and so do the copies of MR-clusters and second NameNodes.
    """
    of = constants
    free = of.cores - of.idle_cores * nodes - of.keep_cores * clusters - of.standby_cores * standbys
    return max(of.cores / 20, free)


def own_cores_of(constants: Constants, nodes: int, *, standby: bool = False) -> float:
    """The cores that are left of an MR-cluster's nodes where each node has its own."""
    free = capacity_of(nodes, cores_of(constants, 1))
    return max(free / 20, free - constants.keep_cores - constants.standby_cores * standby)


def network_of(constants: Constants, nodes: int) -> float:
    """Bytes a microsecond that each of an MR-cluster's nodes can send when all do.

    What goes to another rack, (racks - 1) / racks of all, shares the racks' ways out.
    """
    of = constants
    racks = -(-nodes // of.rack_nodes) if of.rack_nodes else 1
    return of.network_bytes_s / SECOND_US / max(1.0, of.oversubscription * (racks - 1) / max(1, racks))


def daemons_of(constants: Constants, time_us: int, deploys: int) -> tuple[int, float]:
    """The number of daemons that start on nodes, and the time on one core that each takes.

    A deployment of so many nodes starts its masters as well. All together never take more than the cores can do in the
    time that they need when they start alone: that was measured.
    """
    count = deploys + MASTERS if deploys else 1
    return count, min(constants.join_cpu_us, constants.cores * time_us / count)


def capacity_of(count: int, amount: float) -> float:
    """No nodes have no capacity, also where a node's is without limit."""
    return count * amount if count else 0.0
