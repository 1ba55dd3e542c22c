"""The machine below an MR-cluster: its pools, and what each phase of a task asks of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import TYPE_CHECKING

from fawkes.core.model import ClusterId, Role
from fawkes.sim.constants import Constants
from fawkes.sim.flows import Flow, Flows, Pool
from fawkes.sim.tasks import Copy, Phase, SimJob, TaskAttempt
from fawkes.units import SECOND_US

if TYPE_CHECKING:
    from fawkes.sim.cluster import SimCluster

Owner = tuple["SimCluster", SimJob | TaskAttempt | Copy]
"""Whose a flow is."""

Leg = tuple[Pool[Owner], float]
"""So much work in a pool."""


class Common:
    """What all MR-clusters share: persistent storage, the link between sites, the cores of a machine with all nodes."""

    def __init__(self, constants: Constants) -> None:
        self.storage: Pool[Owner] = Pool("storage", constants.storage_bytes_s / SECOND_US)
        self.link: Pool[Owner] = Pool("link", constants.site_bytes_s / SECOND_US)
        self.cores: Pool[Owner] | None = Pool("cores", constants.cores, cap=1.0) if constants.shared_cores else None


class Machine:
    """The pools of one MR-cluster. Disks of nodes of one role are one pool: HDFS spreads blocks over all of them."""

    def __init__(self, name: ClusterId, flows: Flows[Owner], constants: Constants, common: Common) -> None:
        self._flows = flows
        self._constants = constants
        self._common = common
        self._disks: dict[Role, Pool[Owner]] = {role: Pool(f"disk:{name}:{role}", 0.0) for role in Role}
        self._cores: Pool[Owner] = common.cores or Pool(f"cores:{name}", 0.0, cap=1.0)
        self._network: Pool[Owner] = Pool(f"network:{name}", 0.0)
        self._time: Pool[Owner] = Pool(f"time:{name}", inf, cap=1.0)
        self._copies: Pool[Owner] = Pool(f"copies:{name}", 0.0, cap=copies_of(constants))

    def disks(self, role: Role) -> Pool[Owner]:
        """The disks of all nodes of a role."""
        return self._disks[role]

    def resize(self, counts: Mapping[Role, int]) -> None:
        """The MR-cluster has so many nodes of each role from now on."""
        of, nodes = self._constants, sum(counts.values())
        for role, pool in self._disks.items():
            self._flows.resize(pool, capacity_of(counts[role], of.disk_bytes_s / SECOND_US))
        if self._common.cores is None:
            self._flows.resize(self._cores, capacity_of(nodes, of.cores))
        self._flows.resize(self._network, capacity_of(nodes, of.network_bytes_s / SECOND_US))
        self._flows.resize(self._copies, of.multiplier * nodes * of.block_bytes / of.heartbeat_us)

    def begin(self, legs: Iterable[Leg], owner: Owner) -> dict[Flow[Owner], None]:
        """Flows side by side; one of no length when there is nothing to do, or nothing that takes time."""
        real = [(pool, work) for pool, work in legs if work > 0 and min(pool.capacity, pool.cap) < inf]
        return {self._flows.begin(pool, work, owner): None for pool, work in real or [(self._time, 0.0)]}

    def start(self, time_us: int, cpu_us: int) -> list[Leg]:
        """What starts, of a job, a task or a node: it takes its time, and longer where the cores are shared by many.

        A Java process that starts is two threads at work: the program, and the compiler of the code that it runs.
        """
        return [(self._time, time_us), (self._cores, cpu_us / 2), (self._cores, cpu_us / 2)]

    def legs(self, task: TaskAttempt, fetched: float, kept: Mapping[Role, int]) -> Iterator[Leg]:
        """What the present phase of a task asks for; a reduce fetches so many bytes, from where the maps ran."""
        profile, local = task.job.profile, self._disks[task.node.role]
        match task.phase:
            case Phase.MAP:
                yield self._time, profile.map_us
                yield self._cores, profile.map_cpu_us
                yield from self._read_input(task)
                yield local, profile.map_output_bytes if profile.reduces else 0
                if not profile.reduces:
                    yield from self._write_output(task)
            case Phase.FETCH | Phase.FETCH_REST:
                yield self._network, fetched
                yield local, fetched
                for role, maps in kept.items():
                    yield self._disks[role], fetched * maps / max(1, sum(kept.values()))
            case Phase.REDUCE:
                yield self._time, profile.reduce_us
                yield self._cores, profile.reduce_cpu_us
                yield local, profile.shuffle_bytes
                yield from self._write_output(task)
            case Phase.WAIT:
                raise AssertionError("a task that waits for maps has no work")

    def between_sites(self, far_bytes: float) -> list[Leg]:
        """Bytes that come from another site."""
        return [(self._common.link, far_bytes)]

    def load(self, data_bytes: int) -> list[Leg]:
        """From persistent storage to core nodes."""
        return [
            (self._common.storage, data_bytes),
            (self._disks[Role.CORE], data_bytes * self._constants.output_passes),
        ]

    def save(self, output_bytes: int) -> list[Leg]:
        """From core nodes to persistent storage."""
        return [(self._common.storage, output_bytes), (self._disks[Role.CORE], output_bytes)]

    def evacuate(self, held_bytes: int) -> list[Leg]:
        """From a node that leaves to those that stay, no faster than HDFS hands out copies (references, 5.5)."""
        return [(self._copies, held_bytes), (self._disks[Role.CORE], held_bytes)]

    def _read_input(self, task: TaskAttempt) -> Iterator[Leg]:
        read = float(task.job.profile.map_read_bytes)
        if task.node.role is not Role.CORE:
            yield self._network, read
            read *= self._constants.remote_read
        yield self._disks[Role.CORE], read

    def _write_output(self, task: TaskAttempt) -> Iterator[Leg]:
        written = task.job.profile.output_bytes * self._constants.output_passes
        if task.node.role is Role.TRANSIENT:
            yield self._network, written
            yield self._disks[Role.CORE], written
        else:
            yield self._disks[task.node.role], written


def copies_of(constants: Constants) -> float:
    """Bytes a microsecond that leave a node which is emptied: what HDFS hands out, and no more than its network."""
    of = constants
    return min(of.streams * of.block_bytes / of.heartbeat_us, of.network_bytes_s / SECOND_US)


def input_of_a_core_node(data_bytes: int, replication: int, core: int) -> int:
    """Bytes of the input on one of ``core`` core nodes, with all its copies, when they are spread evenly."""
    return data_bytes * min(replication, core) // core


def capacity_of(count: int, amount: float) -> float:
    """No nodes have no capacity, also where a node's is without limit."""
    return count * amount if count else 0.0
