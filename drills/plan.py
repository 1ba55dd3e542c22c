"""What happens in a drill: a story and the faults in it, both from one seed and the same for both worlds.

Times are seconds from the start of the drill. A fault says where it strikes (the first node of a kind in a life, from
a time on), because nobody knows beforehand which node will be there: both worlds look for it in the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random

from fawkes.core.values.model import ClusterLife, NodeLife, Promise, Role

#: a seed gives another plan when this changes: the journal keeps results of each version apart
PLAN_VERSION = 3
#: the actions of a story are over by then
STORY_S = 110
#: what stands for a life where the controller is struck at a step of the ledger
BEFORE, AFTER = "before its effects", "after its effects"


class Spot(StrEnum):
    """What kind of node a fault strikes."""

    MASTER = "master"
    CORE = "core"
    TRANSIENT = "transient"
    TRANSIENT_CORE = "transient-core"
    NOBODY = "nobody's"
    USER = "user"
    CONTROLLER = "controller"


class Kind(StrEnum):
    """What goes wrong."""

    POWER = "power off"
    PAUSE = "paused"
    CUT = "cut off"
    EMPTIED = "disk emptied"
    NAMENODE = "NameNode killed"
    RESOURCE_MANAGER = "ResourceManager killed"
    DATANODE = "DataNode killed"
    NODE_MANAGER = "NodeManager killed"
    DELAYED = "answers delayed"
    STALE = "answers stale"
    MISSING = "attributes missing"
    GARBAGE = "answers garbage"
    LEASE = "lease damaged"
    LOW = "NameNode low on disk"
    WRITER = "client dies in a write"
    KILLED = "controller killed"
    STATE_DISK = "state disk full"
    STOPPED = "controller stopped"
    REBOOTS = "reboots again and again"


#: what befalls one node as a whole
OF_NODES = (Kind.POWER, Kind.PAUSE, Kind.CUT, Kind.EMPTIED, Kind.REBOOTS)
#: what befalls the masters of the MR-cluster of a node
OF_MASTERS = (
    Kind.NAMENODE,
    Kind.RESOURCE_MANAGER,
    Kind.DELAYED,
    Kind.STALE,
    Kind.MISSING,
    Kind.GARBAGE,
)
OF_CONTROLLER = (Kind.KILLED, Kind.STATE_DISK, Kind.STOPPED)
#: a node that reboots again and again is off for so long, and on for as long
REBOOT_S = 5

#: the lives in which each kind of node is struck
LIVES: dict[Spot, tuple[str, ...]] = {
    Spot.MASTER: (
        ClusterLife.DEPLOYING,
        ClusterLife.LOADING,
        ClusterLife.RUNNING,
        ClusterLife.SAVING,
        ClusterLife.RETIRING,
    ),
    Spot.CORE: (NodeLife.JOINING, NodeLife.SERVING, NodeLife.DRAINING, NodeLife.EVACUATING, NodeLife.CLEANING),
    Spot.TRANSIENT: (NodeLife.JOINING, NodeLife.SERVING, NodeLife.DRAINING, NodeLife.CLEANING),
    Spot.TRANSIENT_CORE: (
        NodeLife.JOINING,
        NodeLife.SERVING,
        NodeLife.DRAINING,
        NodeLife.EVACUATING,
        NodeLife.CLEANING,
    ),
    Spot.NOBODY: (NodeLife.FREE,),
    Spot.USER: (ClusterLife.LOADING, ClusterLife.RUNNING, ClusterLife.SAVING),
}
#: the kinds of nodes that each fault strikes; masters are struck as themselves or while a node of theirs moves
SPOTS: dict[Kind, tuple[Spot, ...]] = {
    **dict.fromkeys((*OF_NODES, Kind.LEASE), tuple(spot for spot in LIVES if spot is not Spot.USER)),
    **dict.fromkeys(OF_MASTERS, (Spot.MASTER, Spot.CORE, Spot.TRANSIENT, Spot.TRANSIENT_CORE)),
    Kind.LOW: (Spot.MASTER,),
    Kind.WRITER: (Spot.USER,),
    Kind.DATANODE: (Spot.CORE, Spot.TRANSIENT_CORE),
    Kind.NODE_MANAGER: (Spot.CORE, Spot.TRANSIENT, Spot.TRANSIENT_CORE),
    **dict.fromkeys(OF_CONTROLLER, (Spot.CONTROLLER,)),
}
_WEIGHTS = {
    Kind.POWER: 6,
    Kind.PAUSE: 3,
    Kind.CUT: 3,
    Kind.EMPTIED: 3,
    Kind.NAMENODE: 2,
    Kind.RESOURCE_MANAGER: 2,
    Kind.DATANODE: 2,
    Kind.NODE_MANAGER: 2,
    Kind.DELAYED: 1,
    Kind.STALE: 1,
    Kind.MISSING: 1,
    Kind.GARBAGE: 1,
    Kind.LEASE: 2,
    Kind.LOW: 3,
    Kind.WRITER: 3,
    Kind.KILLED: 4,
    Kind.STATE_DISK: 1,
    Kind.STOPPED: 2,
    Kind.REBOOTS: 2,
}
#: lives that last: a fault may strike long after they have begun
_LASTING = (NodeLife.SERVING, NodeLife.FREE, ClusterLife.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """An MR-cluster of the story; ``release_s`` is None for one that is given back when everything is at rest."""

    name: str
    at_s: int
    min_nodes: int
    replication: int
    growth: Role
    release_s: int | None
    masters: Promise = Promise.KEPT


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """A job: ``writes`` files of output, or none and it only waits ``run_s``; ``tasks`` is the demand while queued."""

    name: str
    cluster: str
    at_s: int
    run_s: int
    tasks: int
    writes: int = 0
    retries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainPlan:
    """An operator takes a node out of service, and puts it back."""

    node: int
    at_s: int
    back_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What users and operators do."""

    hosts: int
    clusters: tuple[ClusterPlan, ...]
    jobs: tuple[JobPlan, ...]
    drains: tuple[DrainPlan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that goes wrong.

    It strikes ``after_s`` seconds after the first moment from ``from_s`` on at which a node is ``spot`` in ``life``
    (a controller: after the ledger's step ``step``; ``told``: its effects have begun), and is over ``back_s`` seconds
    later, or never (None). ``pick`` chooses among several such nodes.
    """

    kind: Kind
    spot: Spot
    life: str = ""
    from_s: int = 0
    after_s: float = 0.0
    back_s: int | None = None
    pick: int = 0
    step: int = 0
    told: bool = False

    @property
    def reboots_s(self) -> tuple[int, ...]:
        """When a node that reboots again and again loses its power, in seconds after the strike."""
        return tuple(range(0, self.back_s or 0, 2 * REBOOT_S)) if self.kind is Kind.REBOOTS else ()

    @property
    def row(self) -> tuple[str, str, str]:
        """Where it stands in the table: what, which kind of node, in which life."""
        return str(self.kind), str(self.spot), str(self.life) or (AFTER if self.told else BEFORE)

    def __str__(self) -> str:
        back = "for good" if self.back_s is None else f"for {self.back_s} s"
        if self.spot is Spot.CONTROLLER:
            effects = "after" if self.told else "before"
            return f"{self.kind} at step {self.step}, {effects} its effects, {back}"
        return f"{self.kind}: a node that is {self.spot} and {self.life}, {self.after_s:g} s later, {back}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A whole drill."""

    seed: int
    story: Story
    faults: tuple[Fault, ...]


def chance_of(seed: int, purpose: str) -> Random:
    """The chances of a seed for one purpose: more of one purpose leave those of the others alone."""
    return Random(f"drill 1 {seed} {purpose}")


def plan_of(seed: int) -> Plan:
    """The drill of a seed."""
    return Plan(seed=seed, story=story_of(seed), faults=_faults(seed))


def standby_plan_of(seed: int) -> Plan:
    """The drill of a seed where each MR-cluster has a second NameNode, and one more fault of masters or core nodes."""
    plan, chance = plan_of(seed), chance_of(seed, "standby")
    clusters = tuple(replace(cluster, min_nodes=3, masters=Promise.STANDBY) for cluster in plan.story.clusters)
    story = replace(plan.story, clusters=clusters, hosts=3 * len(clusters) + chance.randint(2, 4))
    spot = chance.choice((Spot.MASTER, Spot.MASTER, Spot.CORE))
    further = Fault(
        kind=chance.choice((Kind.POWER, Kind.EMPTIED, Kind.EMPTIED, Kind.CUT)),
        spot=spot,
        life=chance.choice(LIVES[Spot.MASTER][1:4]) if spot is Spot.MASTER else NodeLife.SERVING,
        from_s=chance.randint(20, 80),
        after_s=chance.choice((0.0, 1.0, 5.0)),
        back_s=chance.choice((2, 20, 40, 90)),
        pick=chance.randint(0, 6),
    )
    return Plan(seed=seed, story=story, faults=(*plan.faults, further))


def late_plan_of(seed: int) -> Plan:
    """The drill of a seed where news are old when they come; with second NameNodes if the seed is odd."""
    return standby_plan_of(seed) if seed % 2 else plan_of(seed)


def story_of(seed: int) -> Story:
    """What users and operators do in the drill of a seed."""
    chance = chance_of(seed, "story")
    hosts = chance.choice((5, 6, 6, 7))
    names = ("a", "b") if chance.random() < 0.85 else ("a", "b", "c")
    # One node at least is left over: without it nothing would move.
    most = 2 if len(names) == 2 else 1
    growths = _growths(chance, len(names))
    clusters = tuple(_cluster(chance, name, number, most, growths[number]) for number, name in enumerate(names))
    jobs = [job for cluster in clusters for job in _writers(chance, cluster)]
    jobs += _waves(chance, clusters)
    return Story(hosts=hosts, clusters=clusters, jobs=tuple(jobs), drains=_drains(chance, hosts))


def _cluster(chance: Random, name: str, number: int, most: int, growth: Role) -> ClusterPlan:
    minimum = chance.randint(1, most)
    return ClusterPlan(
        name=name,
        at_s=1 + 10 * number * chance.randint(0, 1),
        min_nodes=minimum,
        # With more replicas than core nodes nothing could ever leave.
        replication=min(minimum, chance.choice((1, 1, 2))),
        growth=growth,
        release_s=chance.choice((None, chance.randint(60, STORY_S))),
    )


def _growths(chance: Random, count: int) -> list[Role]:
    """Roles to grow by: transient-core nodes in every story, for only they carry data away."""
    found = [Role.TRANSIENT_CORE, *(chance.choice((Role.TRANSIENT, Role.TRANSIENT_CORE)) for _ in range(count - 1))]
    chance.shuffle(found)
    return found


def _writers(chance: Random, cluster: ClusterPlan) -> list[JobPlan]:
    """Jobs with output."""
    return [
        JobPlan(
            name=f"{cluster.name}-write-{number}",
            cluster=cluster.name,
            at_s=chance.randint(cluster.at_s, 60),
            run_s=chance.randint(1, 4),
            tasks=chance.randint(1, 6),
            writes=chance.randint(1, 3),
            retries=chance.randint(0, 2),
        )
        for number in range(chance.randint(1, 2))
    ]


def _waves(chance: Random, clusters: Sequence[ClusterPlan]) -> list[JobPlan]:
    """Long queues, now of one MR-cluster and now of another, so that nodes move."""
    found = []
    order = list(clusters)
    chance.shuffle(order)
    for number, cluster in enumerate(order):
        at_s = 25 + 35 * number + chance.randint(0, 8)
        for row in range(4):
            found.append(
                JobPlan(
                    name=f"{cluster.name}-wait-{row}",
                    cluster=cluster.name,
                    at_s=at_s,
                    run_s=chance.randint(8, 16),
                    tasks=1 if row < 2 else 100,
                )
            )
    return found


def _drains(chance: Random, hosts: int) -> tuple[DrainPlan, ...]:
    if chance.random() < 0.4:
        return ()
    at_s = chance.randint(30, 80)
    # The first nodes are core nodes: those move in no other way.
    return (DrainPlan(node=chance.randint(1, min(hosts, 5)), at_s=at_s, back_s=at_s + chance.randint(5, 40)),)


def _faults(seed: int) -> tuple[Fault, ...]:
    chance = chance_of(seed, "faults")
    found: list[Fault] = []
    for _ in range(chance.choice((1, 2, 2, 3, 3, 4))):
        fault = _fault(chance)
        # Two nodes that never come back leave too few for any story to end.
        if fault.back_s is None and any(other.back_s is None for other in found):
            continue
        if fault in found:
            continue
        found.append(fault)
    return tuple(found)


def _fault(chance: Random) -> Fault:
    kind = chance.choices(tuple(_WEIGHTS), list(_WEIGHTS.values()))[0]
    if kind in OF_CONTROLLER:
        return Fault(
            kind=kind,
            spot=Spot.CONTROLLER,
            step=chance.randint(2, 140),
            told=kind is Kind.KILLED and chance.random() < 0.5,
            back_s=chance.choice((1, 8, 25)),
        )
    # Twice as often as others: only these carry data away.
    weights = [2 if spot is Spot.TRANSIENT_CORE else 1 for spot in SPOTS[kind]]
    spot = chance.choices(SPOTS[kind], weights)[0]
    life = chance.choice(LIVES[spot])
    never = kind in (Kind.POWER, Kind.CUT, Kind.EMPTIED) and chance.random() < 0.1
    return Fault(
        kind=kind,
        spot=spot,
        life=life,
        from_s=chance.randint(0, 80) if life in _LASTING else chance.choice((0, 0, 0, 40)),
        after_s=chance.choice((0.0, 0.2, 1.0, 3.0)),
        back_s=None if never else chance.choice((2, 8, 20, 40)),
        pick=chance.randint(0, 6),
    )
