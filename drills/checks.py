"""What must be true after a drill, whatever went wrong in it. Pure: both worlds bring facts, failures come out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from fawkes.core.state.state import State
from fawkes.core.values.decision import Decision, PutNode
from fawkes.core.values.effects import Host
from fawkes.core.values.keys import Key
from fawkes.core.values.lifecycle import MOVING
from fawkes.core.values.model import ClusterId, ClusterLife, JobId, JobLife, NodeId, NodeLife, NodeState

#: so many times a node may change its life between two hand-overs: in a drill no fault lasts long
MOST_LIVES = 40
#: lives of a node, an MR-cluster and a job that must not last
_PASSING_NODES = MOVING | {NodeLife.LOST}
_PASSING_CLUSTERS = frozenset({ClusterLife.DEPLOYING, ClusterLife.LOADING, ClusterLife.SAVING, ClusterLife.RETIRING})


@dataclass(frozen=True, slots=True, order=True)
class Failure:
    """A promise that was broken: which, and what was seen."""

    check: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """One file as it was written, and as it is now; None is a file that cannot be read."""

    cluster: ClusterId
    path: str
    wanted: str
    found: str | None
    excused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """One job: how it ended, how many applications each attempt has, and which attempts ended well.

    ``right`` is whether its output is what it should be: None when there is no output to look at, or nobody could.
    """

    job: JobId
    life: JobLife
    applications: Mapping[int, int] = field(default_factory=dict)
    succeeded: tuple[int, ...] = ()
    right: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerFacts:
    """A node: whom the ledger says it belongs to, whom its lease, and for whom processes run on it."""

    node: NodeId
    life: NodeLife
    ledger: ClusterId | None
    lease: ClusterId | None
    working_for: tuple[ClusterId, ...] = ()


def files_kept(files: Iterable[Copies]) -> list[Failure]:
    """Every file is there with its content, except those that a fault took before anybody could have copied them."""
    return [
        Failure("data lost", f"{file.cluster}: {file.path} {'cannot be read' if file.found is None else 'has changed'}")
        for file in files
        if file.found != file.wanted and not file.excused
    ]


def loss_told(
    acknowledged: Mapping[str, float], there: Collection[str], lacking: Iterable[tuple[float, float]], told: int
) -> list[Failure]:
    """Every file that was acknowledged is there, or a copy could not have it and its loss was told.

    ``acknowledged`` says when (s), ``lacking`` is from when to when copies lacked what was written, ``told`` how many
    files or blocks were told as lost.
    """
    spans = list(lacking)
    gone = {path: at_s for path, at_s in acknowledged.items() if path not in there}
    found = [
        Failure("data lost", f"{path} was acknowledged at {at_s:.1f} and is not there")
        for path, at_s in gone.items()
        if not any(since_s <= at_s <= until_s for since_s, until_s in spans)
    ]
    if not found and len(gone) > told:
        found.append(Failure("loss not told", f"{len(gone)} files are lost, {told} were told, such as {min(gone)}"))
    return found


def jobs_once(jobs: Iterable[JobFacts]) -> list[Failure]:
    """No attempt ran twice, no job ended well twice, and one that did has its output."""
    found = []
    for job in jobs:
        for attempt, count in sorted(job.applications.items()):
            if count > 1:
                found.append(Failure("job ran twice", f"{job.job}: attempt {attempt} has {count} applications"))
        if len(job.succeeded) > 1:
            found.append(Failure("job ran twice", f"{job.job}: attempts {job.succeeded} all ended well"))
        if job.life is JobLife.SUCCEEDED and job.right is False:
            found.append(Failure("output wrong", f"{job.job} succeeded, and its output is not what it should be"))
    return found


def one_owner(nodes: Iterable[OwnerFacts]) -> list[Failure]:
    """A node works for nobody but its owner, and its lease says the same as the ledger. Asked when all is at rest."""
    found = []
    for node in nodes:
        if set(node.working_for) - {node.ledger}:
            workers = ", ".join(sorted(node.working_for))
            found.append(Failure("two owners", f"{node.node} is {node.ledger or 'nobody'}'s and works for {workers}"))
        if node.lease is None and node.life is not NodeLife.SERVING:
            # One that was never reached has no lease yet.
            continue
        if node.lease != node.ledger and node.life is not NodeLife.LOST:
            found.append(
                Failure(
                    "two owners", f"{node.node} is {node.ledger or 'nobody'}'s, its lease says {node.lease or 'nobody'}"
                )
            )
    return found


def restless(view: State, away: Collection[NodeId] = ()) -> list[str]:
    """What is under way, each with its alerts; empty when everything is at rest.

    A lost node of ``away`` never comes back, so nobody needs to wait for it.
    """
    found = []
    for node in view.nodes.values():
        if node.life in _PASSING_NODES and not (node.life is NodeLife.LOST and node.node.id in away):
            owner = view.clusters.get(node.owner) if node.owner is not None else None
            alert = node.alert or (owner.alert if owner is not None else "")
            found.append(_row(f"{node.node.id} is {node.life}", alert))
    for cluster in view.clusters.values():
        if cluster.life in _PASSING_CLUSTERS:
            found.append(_row(f"{cluster.id} is {cluster.life}", cluster.alert or _alert_of_nodes(view, cluster.id)))
        latest = view.latest(cluster.id)
        if cluster.active and latest is not None and latest.strays:
            found.append(f"{cluster.id} waits for tasks without containers ({', '.join(sorted(latest.strays))})")
    for job in view.jobs.values():
        owner = view.clusters[job.cluster]
        if job.life is not JobLife.QUEUED or owner.active:
            found.append(_row(f"{job.id} is {job.life}", owner.alert or _alert_of_nodes(view, owner.id)))
    return found


def _row(what: str, alert: str) -> str:
    return f"{what}: {alert}" if alert else what


def _alert_of_nodes(view: State, cluster: ClusterId) -> str:
    return next((alert for node in sorted(view.nodes_of(cluster)) if (alert := view.nodes[node].alert)), "")


class Circles:
    """Counts the lives that each node goes through between two hand-overs: a node that comes and goes gets nowhere."""

    def __init__(self) -> None:
        self._lives: dict[tuple[NodeId, int], tuple[NodeLife, int]] = {}

    def saw(self, decision: Decision) -> list[Failure]:
        """After each step: the nodes that have just passed the bound."""
        found = []
        for change in decision.changes:
            if not isinstance(change, PutNode):
                continue
            node = change.state
            life, count = self._lives.get((node.node.id, node.generation), (node.life, 0))
            count += life is not node.life
            self._lives[node.node.id, node.generation] = node.life, count
            if count == MOST_LIVES and life is not node.life:
                found.append(Failure("in circles", f"{node.node.id} went through {count} lives, now {node.life}"))
        return found


def comes_to_rest(view: State) -> list[Failure]:
    """What is still under way although it had time enough is named with what it waits for. Asked at the end."""
    return [Failure("held without a word", row) for row in restless(view) if ": " not in row]


def stuck(view: State, away: Collection[NodeId], robbed: Collection[ClusterId]) -> list[Failure]:
    """What is still under way although nothing is wrong any more.

    Excused are nodes that are ``away`` for good, and MR-clusters that wait for those or were ``robbed`` of files.
    """
    poor = {*robbed, *(owner for node in away if node in view.nodes and (owner := view.nodes[node].owner) is not None)}
    nodes = [
        f"{node.node.id} is {node.life}: {node.alert}"
        for node in view.nodes.values()
        if node.life in _PASSING_NODES and node.node.id not in away and _waits_for(view, node) not in poor
    ]
    clusters = [
        f"{cluster.id} is {cluster.life}: {cluster.alert}"
        for cluster in view.clusters.values()
        if cluster.life in _PASSING_CLUSTERS and cluster.id not in poor
    ]
    return [Failure("stuck", row) for row in (*nodes, *clusters)]


def _waits_for(view: State, node: NodeState) -> ClusterId | None:
    """The MR-cluster that a node belongs to, or that has to show that the node may be wiped."""
    pending = view.pending.get(Key.HOST.of(node.node.id))
    effect = None if pending is None else pending.effect
    return node.owner if node.owner is not None or not isinstance(effect, Host) else effect.cluster


def never_green(view: State, missing: Mapping[ClusterId, Iterable[str]]) -> list[Failure]:
    """An MR-cluster of which files are missing says so: itself, or a node of it."""
    found = []
    for name, paths in sorted(missing.items()):
        cluster = view.clusters.get(name)
        gone = sorted(paths)
        if gone and cluster is not None and not cluster.alert and not _alert_of_nodes(view, name):
            found.append(Failure("green while data is missing", f"{name} misses {', '.join(gone[:3])}"))
    return found
