"""The facts that the checks want, of a simulated drill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from drills.checks import Failure, JobFacts, OwnerFacts
from fawkes.core.state.state import State
from fawkes.core.values.decision import Decision, PutJob
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import ClusterId, JobId, JobLife, NodeId
from fawkes.sim.world import SimWorld
from fawkes.store.memory import MemoryStore


def two_owners(world: SimWorld) -> Iterator[str]:
    """The simulated nodes on which two MR-clusters compute at once."""
    seen: dict[NodeId, ClusterId] = {}
    for cluster in world.clusters.values():
        for node in cluster.nodes:
            if node in seen:
                yield f"{node} works for {seen[node]} and {cluster.id}"
            seen[node] = cluster.id


def runs_twice(world: SimWorld) -> Iterator[str]:
    """The jobs of which two attempts run at once."""
    for cluster in world.clusters.values():
        counts = Counter(job for job, _ in cluster.jobs)
        yield from (f"{job}: {count} attempts run at once" for job, count in counts.items() if count > 1)


def told_early(world: SimWorld, decision: Decision) -> Iterator[str]:
    """The jobs whose end was just decided and that run on."""
    for change in decision.changes:
        if isinstance(change, PutJob) and change.state.life in ENDED_JOBS:
            cluster = world.clusters.get(change.state.cluster)
            if cluster is not None and any(job == change.state.id for job, _ in cluster.jobs):
                yield f"{change.state.id} is {change.state.life}, and runs on"


def not_whole(world: SimWorld, state: State) -> Iterator[Failure]:
    """The second NameNodes that do not follow at rest, or stand elsewhere than the ledger says."""
    for name, cluster in state.clusters.items():
        known, pair = cluster.standby, world.masters.second.pairs.get(name)
        if known is None or not cluster.active:
            continue
        # A node that never comes back leaves its part of the journal where there is another one for it.
        follows = (
            pair is not None and (pair.standby.journal, pair.follower) == (known.journal, known.node) and pair.most
        )
        if known.node is not None and not (follows and known.ready):
            yield Failure("no second NameNode", f"{name}: the ledger has {known}, the world {pair}")


def owner_facts(world: SimWorld, state: State) -> Iterator[OwnerFacts]:
    """Whom each node belongs to. A node that lost its power answers nobody."""
    for name, node in state.nodes.items():
        if name in world.dead:
            continue
        hosted = world.hosts.get(name)
        workers = tuple(cluster.id for cluster in world.clusters.values() if name in cluster.nodes)
        lease = None if hosted is None else hosted.cluster
        yield OwnerFacts(node=name, life=node.life, ledger=node.owner, lease=lease, working_for=workers)


def job_facts(store: MemoryStore, world: SimWorld) -> Iterator[JobFacts]:
    """How each job ended, and how often each of its attempts was given to YARN."""
    lives: dict[JobId, JobLife] = {}
    for entry in store.entries():
        for change in entry.decision.changes:
            if isinstance(change, PutJob):
                lives[change.state.id] = change.state.life
    for job, life in sorted(lives.items()):
        applications = {attempt: count for (name, attempt), count in world.starts.items() if name == job}
        yield JobFacts(job=job, life=life, applications=applications)
