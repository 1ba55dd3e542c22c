"""The worth of a move: what one more node saves the jobs of one MR-cluster, and what that costs those of another.

Gains and costs have one unit, the job-second: one job waits a second longer. A second counts more for a short job, as
in the slowdown. So a node that starts, tasks that are killed, bytes that are copied and cores that are shared can be
held against each other. Values in, values out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heapreplace
from math import inf

from fawkes.base.values import replace
from fawkes.core.values.model import ClusterId

#: the part of the slots that compute at once where cores are shared: ApplicationMasters hold up to half of the slots,
#: and a task also starts, reads and waits for its heartbeat (assumed; docs/decisions/moves-that-pay.md compares)
_COMPUTING = 1 / 4
#: cores that a node takes while its daemons start: a Java process is two threads then, the program and its compiler
_STARTING = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedWork:
    """The work that the jobs of an MR-cluster still ask for, as far as its readings tell; fractions are means.

    ``jobs`` wait or run, each counted as often as it is shorter than a job of 100 seconds. ``tasks`` are theirs, of
    which ``running`` run. ``task_s`` is the mean time of a task, ``slots`` how many a node runs at once. The nodes that
    store its input can feed ``feeds`` tasks in a second (0: no limit is known), however many nodes compute. Tasks that
    waited while none ran and none ended have stood still for ``still_s``: its nodes are too few for them to begin. They
    have waited beside free slots for ``beside_s``, whether others ran or not.
    """

    jobs: float
    tasks: float
    running: float
    task_s: float
    slots: float
    feeds: float = 0.0
    still_s: float = 0.0
    beside_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The costs of moves. ``join_s`` passes until a free node serves, ``move_s`` until one of another MR-cluster does.

    ``kills``: what runs on a node that leaves runs again. ``shared_cores`` are those of one machine on which all nodes
    are (0: each node has its own), and each join takes ``join_cpu_s`` of one of them.
    """

    join_s: float
    move_s: float
    kills: bool
    shared_cores: float = 0.0
    join_cpu_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sites:
    """The place where nodes are, if the link between sites is a limit; else everything is empty and all nodes are near.

    ``home`` is the site of the masters of each MR-cluster, at which it has ``near`` nodes. ``free`` counts the free
    nodes of each site, ``fed`` how many nodes of other sites the link can feed for each MR-cluster.
    """

    home: Mapping[ClusterId, str] = field(default_factory=dict)
    near: Mapping[ClusterId, int] = field(default_factory=dict)
    free: Mapping[str, int] = field(default_factory=dict)
    fed: Mapping[ClusterId, int] = field(default_factory=dict)


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


def time_s(load: QueuedWork, nodes: float, prices: Prices, more: float = 0.0, after_s: float = 0.0) -> float:
    """Seconds until all of a load is done by ``nodes``, helped by ``more`` of them ``after_s`` from now.

    No shorter than one task takes, and no shorter with more nodes than `useful_nodes`.
    """
    work = load.tasks * load.task_s
    if not work:
        return 0.0
    useful = useful_nodes(load, prices)
    speed, helped = min(nodes, useful) * load.slots, min(nodes + more, useful) * load.slots
    if helped <= 0:
        return inf
    left = work - after_s * speed
    if left <= 0 or helped == speed:
        return max(load.task_s, work / speed)
    return max(load.task_s, after_s + left / helped)


def useful_nodes(load: QueuedWork, prices: Prices) -> float:
    """The number of nodes, a fraction, that can work for a load at once; infinity where nothing limits them.

    Where cores are shared, so many nodes use them all that as many slots compute as there are cores. Where the nodes
    that store the input cannot feed more tasks, further nodes only make all tasks slower. Neither is what work that
    stands still lacks.
    """
    if load.still_s:
        return inf
    cores = prices.shared_cores / _COMPUTING or inf
    fed = load.feeds * load.task_s or inf
    return min(cores, fed) / load.slots


def gain_s(load: QueuedWork, nodes: int, more: int, after_s: float, prices: Prices) -> float:
    """Job-seconds that ``more`` nodes save: of jobs that end one after another, the mean waits half of the time.

    Where work stands still, each further node may end that, and without any it stands for as long again.
    """
    if not load.jobs:
        return 0.0
    saved_s = time_s(load, max(0.5, nodes), prices) - time_s(load, max(0.5, nodes), prices, more, after_s)
    return load.jobs * max(load.still_s * more, saved_s / 2)


def loss_s(load: QueuedWork, nodes: int, fewer: int, prices: Prices) -> float:
    """Job-seconds that the jobs of a giver wait longer without ``fewer`` of its nodes; tasks that are killed included.

    Where work stands still, each node that goes lets it stand for as long again. The last node of all counts as a half
    that stays.
    """
    if not load.jobs:
        return 0.0
    killed = fewer * load.running / max(1, nodes) / 2 if prices.kills else 0.0
    after = replace(load, tasks=load.tasks + killed)
    lost_s = time_s(after, max(0.5, nodes - fewer), prices) - time_s(load, max(0.5, nodes), prices)
    return load.jobs * max(load.still_s * fewer, lost_s / 2)


def join_s(count: int, loads: Iterable[QueuedWork], prices: Prices, starting: int = 0) -> float:
    """Job-seconds that all jobs lose while so many nodes start, besides others that are ``starting``.

    None where each node has its own cores, or where their tasks leave cores enough.
    """
    if not prices.shared_cores:
        return 0.0
    known = list(loads)
    if (count + starting) * _STARTING + sum(load.running for load in known) <= prices.shared_cores:
        return 0.0
    return count * prices.join_cpu_s / prices.shared_cores * sum(load.jobs for load in known)


def weigh(
    have: Mapping[ClusterId, int],
    wanted: Mapping[ClusterId, int],
    most: Mapping[ClusterId, int],
    now: Mapping[ClusterId, QueuedWork],
    expected: Mapping[ClusterId, QueuedWork],
    free: int,
    prices: Prices,
    sites: Sites = Sites(),
    least: Mapping[ClusterId, int] | None = None,
) -> Weighed:
    """The moves from ``have`` towards ``wanted`` that pay, node by node.

    Free nodes are taken from nobody: they go where the load that is ``expected`` gains most by them, also beyond
    ``wanted`` (up to ``most``). A node of an MR-cluster with more than is wanted moves if that saves the jobs of
    ``now`` of the taker more than it costs those that are expected of the giver. With ``least`` nodes of each
    MR-cluster, nodes also come home, whatever is wanted: from one with more than its equal part to one with less.
    """
    targets, refusals = _hand_out(have, wanted, most, now, expected, free, prices, sites)
    before, shut = dict(targets), set[ClusterId]()
    refused: dict[tuple[ClusterId, ClusterId], int] = {}
    equal = sum(targets.values()) / max(1, len(targets))

    def gain(taker: ClusterId) -> float:
        """Job-seconds that one more node saves."""
        nodes = targets[taker] - before[taker]
        return _gained(now[taker], before[taker], nodes + 1, prices) - _gained(now[taker], before[taker], nodes, prices)

    def loss(giver: ClusterId) -> float:
        """Job-seconds that it costs."""
        return loss_s(expected[giver], targets[giver], 1, prices) + join_s(1, expected.values(), prices)

    while (pair := _next(targets, wanted, expected, prices, shut)) is not None:
        giver, taker = pair
        if gain(taker) > loss(giver):
            targets[giver] -= 1
            targets[taker] += 1
        else:
            shut.add(taker)
            refused[giver, taker] = min(wanted[taker] - targets[taker], targets[giver] - wanted[giver])
    refusals += [_refusal(*pair, n, targets, now, expected, prices) for pair, n in refused.items() if n]
    while least is not None:
        givers = [c for c in targets if targets[c] - 1 >= max(equal, least[c]) and targets[c] <= before[c]]
        takers = [c for c in targets if targets[c] + 1 <= min(equal, most[c]) and targets[c] >= before[c]]
        if not givers or not takers:
            break
        giver, taker = min(givers, key=lambda c: (loss(c), c)), max(takers, key=lambda c: (gain(c), c))
        if gain(taker) <= loss(giver):
            break
        targets[giver] -= 1
        targets[taker] += 1
    return Weighed(targets, tuple(refusals))


class _Rooms:
    """The free nodes that are near each MR-cluster, while they are handed out."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self._near, self._free = Counter(sites.near), Counter(sites.free)

    def has_near(self, cluster: ClusterId) -> bool:
        home = self._sites.home.get(cluster)
        return home is None or self._free[home] > 0

    def feeds_far(self, cluster: ClusterId, nodes: int) -> bool:
        """True if the link can feed one more node of another site, of which so many ``nodes`` are there."""
        return nodes - self._near[cluster] < self._sites.fed[cluster]

    def take(self, cluster: ClusterId) -> None:
        home = self._sites.home.get(cluster)
        if home is not None and self._free[home] > 0:
            self._free[home] -= 1
            self._near[cluster] += 1


def _hand_out(
    have: Mapping[ClusterId, int],
    wanted: Mapping[ClusterId, int],
    most: Mapping[ClusterId, int],
    now: Mapping[ClusterId, QueuedWork],
    expected: Mapping[ClusterId, QueuedWork],
    free: int,
    prices: Prices,
    sites: Sites,
) -> tuple[dict[ClusterId, int], list[Refusal]]:
    """Whole nodes for each MR-cluster with the free ones, and how many free ones nobody should get.

    A node of another site reads over the link: it goes only where tasks wait for room now, and the link can feed it.
    On shared cores a node goes only where it is of use, and where its start costs no more than it saves. Tasks that
    wait beside free slots may lack slots at once, and free nodes are tried for them: nobody else loses by that.
    """
    targets, rooms = dict(have), _Rooms(sites)
    expected = {c: replace(load, still_s=max(load.still_s, load.beside_s)) for c, load in expected.items()}
    refusals: list[Refusal] = []

    def is_open(c: ClusterId) -> bool:
        if targets[c] >= most[c]:
            return False
        if rooms.has_near(c):
            return True
        return rooms.feeds_far(c, targets[c]) and gain_s(now[c], targets[c], 1, prices.join_s, prices) > 0

    def turn(c: ClusterId) -> tuple[bool, float, int, ClusterId]:
        """Its place among the takers: where a node is of use, then by what it saves."""
        idle = bool(prices.shared_cores) and targets[c] >= useful_nodes(expected[c], prices)
        return idle, -gain_s(expected[c], targets[c], 1, prices.join_s, prices), targets[c], c

    # A node changes the place of its taker alone, and who is shut stays so.
    turns = sorted(map(turn, targets))
    for handed in range(free):
        while turns and not is_open(turns[0][-1]):
            heappop(turns)
        if not turns:
            break
        idle, saved, _, taker = turns[0]
        if idle or (prices.shared_cores and -saved < join_s(1, now.values(), prices, handed)):
            if (more := sum(wanted.values()) - sum(targets.values())) > 0:
                saves_s = gain_s(expected[taker], targets[taker], more, prices.join_s, prices)
                refusals.append(Refusal(None, taker, more, saves_s, join_s(more, now.values(), prices, handed)))
            break
        targets[taker] += 1
        rooms.take(taker)
        heapreplace(turns, turn(taker))
    return targets, refusals


def _gained(load: QueuedWork, nodes: int, more: int, prices: Prices) -> float:
    return gain_s(load, nodes, more, prices.move_s, prices)


def _next(
    targets: Mapping[ClusterId, int],
    wanted: Mapping[ClusterId, int],
    expected: Mapping[ClusterId, QueuedWork],
    prices: Prices,
    shut: set[ClusterId],
) -> tuple[ClusterId, ClusterId] | None:
    """The giver of the next node, which loses least, and its taker, which lacks most; None without either."""
    takers = [c for c in targets if targets[c] < wanted[c] and c not in shut]
    givers = [c for c in targets if targets[c] > wanted[c]]
    if not takers or not givers:
        return None
    taker = min(takers, key=lambda c: (-(wanted[c] - targets[c]) / wanted[c], c))
    return min(givers, key=lambda c: (loss_s(expected[c], targets[c], 1, prices), c)), taker


def _refusal(
    giver: ClusterId,
    taker: ClusterId,
    nodes: int,
    targets: Mapping[ClusterId, int],
    now: Mapping[ClusterId, QueuedWork],
    expected: Mapping[ClusterId, QueuedWork],
    prices: Prices,
) -> Refusal:
    costs_s = join_s(nodes, expected.values(), prices) + loss_s(expected[giver], targets[giver], nodes, prices)
    return Refusal(giver, taker, nodes, _gained(now[taker], targets[taker], nodes, prices), costs_s)
