"""Whether a move pays: what one more node saves the jobs of one MR-cluster, and what that costs those of another.

Gains and costs have one unit, the job-second: one job waits a second longer. A second counts more for a short job, as
in the slowdown. So a node that starts, tasks that are killed, bytes that are copied and cores that are shared can be
held against each other. Values in, values out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf

from fawkes.core.model import ClusterId

#: loads are estimates, and a node that was moved in vain has to move back: costs count so many times
RESERVE = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What the jobs of an MR-cluster still ask for, as far as its readings tell; fractions are means.

    ``jobs`` wait or run, each counted as often as it is shorter than a job of 100 seconds. ``tasks`` are theirs, of
    which ``running`` run. ``task_s`` is the mean time of a task, ``slots`` how many a node runs at once.
    """

    jobs: float
    tasks: float
    running: float
    task_s: float
    slots: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What moves cost. ``join_s`` passes until a free node serves, ``move_s`` until one of another MR-cluster does.

    ``kills``: what runs on a node that leaves runs again. ``shared_cores`` are those of one machine on which all nodes
    are (0: each node has its own), and each join takes ``join_cpu_s`` of one of them.
    """

    join_s: float
    move_s: float
    kills: bool
    shared_cores: float = 0.0
    join_cpu_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Nodes that do not move: from whom (None: free ones), to whom, and the job-seconds that they save and cost."""

    giver: ClusterId | None
    taker: ClusterId
    nodes: int
    saves_s: float
    costs_s: float


@dataclass(frozen=True, slots=True)
class Weighed:
    """Whole nodes for each MR-cluster when only those moves are made that pay, and the moves that are not."""

    targets: Mapping[ClusterId, int]
    refused: tuple[Refusal, ...] = ()


def time_s(load: Load, nodes: float, prices: Prices, more: float = 0.0, after_s: float = 0.0) -> float:
    """Seconds until all of a load is done by ``nodes``, helped by ``more`` of them ``after_s`` from now.

    No shorter than one task takes. Where cores are shared, nodes with as many slots as there are cores use them all.
    """
    work = load.tasks * load.task_s
    if not work:
        return 0.0
    useful = prices.shared_cores / load.slots if prices.shared_cores else inf
    speed, helped = min(nodes, useful) * load.slots, min(nodes + more, useful) * load.slots
    if helped <= 0:
        return inf
    left = work - after_s * speed
    if left <= 0 or helped == speed:
        return max(load.task_s, work / speed)
    return max(load.task_s, after_s + left / helped)


def gain_s(load: Load, nodes: int, more: int, after_s: float, prices: Prices) -> float:
    """Job-seconds that ``more`` nodes save: of jobs that end one after another, the mean waits half of the time."""
    if not load.jobs:
        return 0.0
    return (
        load.jobs / 2 * (time_s(load, max(0.5, nodes), prices) - time_s(load, max(0.5, nodes), prices, more, after_s))
    )


def loss_s(load: Load, nodes: int, fewer: int, prices: Prices) -> float:
    """Job-seconds that the jobs of a giver wait longer without ``fewer`` of its nodes; tasks that are killed included.

    The last node of all counts as a half that stays.
    """
    if not load.jobs:
        return 0.0
    killed = fewer * load.running / max(1, nodes) / 2 if prices.kills else 0.0
    after = replace(load, tasks=load.tasks + killed)
    return load.jobs / 2 * (time_s(after, max(0.5, nodes - fewer), prices) - time_s(load, max(0.5, nodes), prices))


def join_s(count: int, loads: Iterable[Load], prices: Prices) -> float:
    """Job-seconds that all jobs lose while so many nodes start; none where each node has its own cores."""
    if not prices.shared_cores:
        return 0.0
    return count * prices.join_cpu_s / prices.shared_cores * sum(load.jobs for load in loads)


def weigh(
    have: Mapping[ClusterId, int],
    wanted: Mapping[ClusterId, int],
    most: Mapping[ClusterId, int],
    now: Mapping[ClusterId, Load],
    expected: Mapping[ClusterId, Load],
    free: int,
    prices: Prices,
) -> Weighed:
    """The moves from ``have`` towards ``wanted`` that pay, node by node.

    Free nodes are taken from nobody: they go where the load that is ``expected`` gains most by them, also beyond
    ``wanted`` (up to ``most``). A node of an MR-cluster with more than is wanted moves if that saves the jobs of
    ``now`` of the taker more than it costs those that are expected of the giver.
    """
    targets = dict(have)
    refused: Counter[tuple[ClusterId | None, ClusterId]] = Counter()
    for _ in range(free):
        open_to = [c for c in targets if targets[c] < most[c]]
        gains = {c: gain_s(expected[c], targets[c], 1, prices.join_s, prices) for c in open_to}
        taker = min(open_to, key=lambda c: (-gains[c], targets[c], c), default=None)
        if taker is None:
            break
        if prices.shared_cores and gains[taker] <= RESERVE * join_s(1, expected.values(), prices):
            refused[None, taker] += max(0, sum(wanted.values()) - sum(targets.values()))
            break
        targets[taker] += 1
    before, shut = dict(targets), set[ClusterId]()
    while (pair := _next(targets, wanted, expected, prices, shut)) is not None:
        giver, taker = pair
        nodes = targets[taker] - before[taker]
        gain = _gained(now[taker], before[taker], nodes + 1, prices) - _gained(now[taker], before[taker], nodes, prices)
        loss = loss_s(expected[giver], targets[giver], 1, prices) + join_s(1, expected.values(), prices)
        if gain > RESERVE * loss:
            targets[giver] -= 1
            targets[taker] += 1
        else:
            shut.add(taker)
            refused[giver, taker] = min(wanted[taker] - targets[taker], targets[giver] - wanted[giver])
    return Weighed(
        targets, tuple(_refusal(*pair, n, targets, now, expected, prices) for pair, n in refused.items() if n)
    )


def _gained(load: Load, nodes: int, more: int, prices: Prices) -> float:
    return gain_s(load, nodes, more, prices.move_s, prices)


def _next(
    targets: Mapping[ClusterId, int],
    wanted: Mapping[ClusterId, int],
    expected: Mapping[ClusterId, Load],
    prices: Prices,
    shut: set[ClusterId],
) -> tuple[ClusterId, ClusterId] | None:
    """Who gives the next node, the one that loses least, and who gets it, the one that lacks most of what is wanted."""
    takers = [c for c in targets if targets[c] < wanted[c] and c not in shut]
    givers = [c for c in targets if targets[c] > wanted[c]]
    if not takers or not givers:
        return None
    taker = min(takers, key=lambda c: (-(wanted[c] - targets[c]) / wanted[c], c))
    return min(givers, key=lambda c: (loss_s(expected[c], targets[c], 1, prices), c)), taker


def _refusal(
    giver: ClusterId | None,
    taker: ClusterId,
    nodes: int,
    targets: Mapping[ClusterId, int],
    now: Mapping[ClusterId, Load],
    expected: Mapping[ClusterId, Load],
    prices: Prices,
) -> Refusal:
    loads, after_s = (expected, prices.join_s) if giver is None else (now, prices.move_s)
    costs_s = join_s(nodes, expected.values(), prices)
    if giver is not None:
        costs_s += loss_s(expected[giver], targets[giver], nodes, prices)
    return Refusal(giver, taker, nodes, gain_s(loads[taker], targets[taker], nodes, after_s, prices), RESERVE * costs_s)
