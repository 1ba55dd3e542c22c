"""Placement of a topology's tasks: those that send each other most share a process or a node (Li, section 4.4.3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from graphlib import CycleError, TopologicalSorter
from itertools import cycle, product

CAP = 0.9
"""The share of CPU up to which workers and nodes are filled."""


class Channel(IntEnum):
    """Ways between two tasks, the fastest first."""

    PROCESS, NODE, NETWORK = range(3)


@dataclass(frozen=True, slots=True)
class Worker:
    """A process on a node, with slots for tasks and the cores that it may use."""

    name: str
    node: str
    slots: int
    cores: float


@dataclass(frozen=True, slots=True)
class Topology:
    """Operators with their number of tasks and the cores of each task, and records a second between operators.

    ValueError for a cycle, and for traffic of an operator that there is not; it names the operators.
    """

    operators: Mapping[str, tuple[int, float]]
    traffic: Mapping[tuple[str, str], float]

    def __post_init__(self) -> None:
        """Refuse what is no topology."""
        strange = {each for pair in self.traffic for each in pair} - set(self.operators)
        if strange:
            raise ValueError(f"traffic names operators that do not exist: {', '.join(sorted(strange))}")
        graph = TopologicalSorter[str]()
        for source, sink in self.traffic:
            graph.add(sink, source)
        try:
            graph.prepare()
        except CycleError as error:
            raise ValueError(f"the topology has a cycle: {' -> '.join(error.args[1])}") from None

    @property
    def tasks(self) -> dict[str, float]:
        """The cores of each task."""
        return {task: self.operators[name][1] for name in self.operators for task in self._tasks_of(name)}

    @property
    def links(self) -> dict[tuple[str, str], float]:
        """Records a second between each two tasks: operators spread theirs evenly."""
        links = dict[tuple[str, str], float]()
        for (source, sink), rate in self.traffic.items():
            pairs = list(product(self._tasks_of(source), self._tasks_of(sink)))
            links |= {pair: rate / len(pairs) for pair in pairs}
        return links

    def _tasks_of(self, name: str) -> list[str]:
        return [f"{name}-{at}" for at in range(self.operators[name][0])]


Placement = Mapping[str, Worker]
"""The worker of each task."""


def round_robin(topology: Topology, workers: Sequence[Worker]) -> Placement:
    """Tasks over workers in turn, as long as they have slots; traffic and CPU do not count."""
    if len(topology.tasks) > sum(each.slots for each in workers):
        raise ValueError(f"{len(topology.tasks)} tasks do not fit into the slots of {len(workers)} workers")
    turns, used, placed = cycle(workers), dict.fromkeys(workers, 0), dict[str, Worker]()
    for task in topology.tasks:
        worker = next(each for each in turns if used[each] < each.slots)
        used[worker] += 1
        placed[task] = worker
    return placed


def place(topology: Topology, workers: Sequence[Worker], node_cores: Mapping[str, float]) -> Placement:
    """Tasks beside those with which they have most traffic, with no worker or node above ``CAP`` of its CPU.

    The task with the most traffic to placed ones comes next. ValueError when no worker has room for one; it is named.
    """
    tasks, links, placed = topology.tasks, topology.links, dict[str, Worker]()

    def rate(task: str, others: Collection[str]) -> float:
        return sum(rate for link, rate in links.items() if task in link and link[link[0] == task] in others)

    def at(worker: Worker) -> tuple[list[str], list[str]]:
        beside = [task for task, other in placed.items() if other.node == worker.node]
        return beside, [task for task in beside if placed[task] == worker]

    def free(task: str, worker: Worker) -> bool:
        limits = (node_cores[worker.node], worker.cores)
        used = [sum(tasks[each] for each in group) for group in at(worker)]
        fits = all(cores + tasks[task] <= CAP * limit for cores, limit in zip(used, limits, strict=True))
        return fits and len(at(worker)[1]) < worker.slots

    while len(placed) < len(tasks):
        task = max(tasks.keys() - placed.keys(), key=lambda each: (rate(each, placed), rate(each, tasks), each))
        ways = {worker: [rate(task, group) for group in at(worker)] for worker in workers if free(task, worker)}
        if not ways:
            raise ValueError(f"no worker has a slot and {tasks[task]:g} cores below {CAP:.0%} for {task}")
        placed[task] = max(ways, key=ways.__getitem__)
    return placed


def by_channel(topology: Topology, placement: Placement) -> dict[Channel, float]:
    """Records a second through each class of channels."""
    sums = dict.fromkeys(Channel, 0.0)
    for (source, sink), rate in topology.links.items():
        sender, receiver = placement[source], placement[sink]
        near = Channel.NODE if sender.node == receiver.node else Channel.NETWORK
        sums[Channel.PROCESS if sender == receiver else near] += rate
    return sums
