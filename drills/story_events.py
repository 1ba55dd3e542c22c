"""A story as the events of a simulated run."""

from __future__ import annotations

from functools import cache

from drills.plan import Story
from drills.settings import settings
from fawkes.base.units import SECOND_US
from fawkes.core.fairness.weights import Measure
from fawkes.core.values.events import (
    DrainAsked,
    Event,
    PolicyText,
    ReleaseAsked,
    Requested,
    Started,
    Submitted,
    UndrainAsked,
)
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec, Node, NodeId
from fawkes.core.values.settings import Settings
from fawkes.policy import compile_policy, policy_text

_measures: dict[str, Measure] = {}


def node_name(number: int) -> NodeId:
    """The name of a host, counted from 1: as a lab names it."""
    return NodeId(f"node{number:02d}")


def events_of(story: Story) -> list[Event]:
    """What users and operators ask for."""
    found: list[Event] = []
    for cluster in story.clusters:
        spec = ClusterSpec(
            id=ClusterId(cluster.name),
            min_nodes=cluster.min_nodes,
            growth=cluster.growth,
            replication=cluster.replication,
            max_running_jobs=2,
            masters=cluster.masters,
        )
        found.append(Requested(at_us=cluster.at_s * SECOND_US, spec=spec, ask=f"request-{cluster.name}"))
        if cluster.release_s is not None:
            found.append(release(spec.id, cluster.release_s * SECOND_US))
    for job in story.jobs:
        job_spec = JobSpec(
            id=JobId(job.name),
            cluster=ClusterId(job.cluster),
            retries=job.retries,
            tasks=job.tasks,
            details={"sleep": {"maps": max(1, job.writes), "map_us": job.run_s * SECOND_US}},
        )
        found.append(Submitted(at_us=job.at_s * SECOND_US, spec=job_spec, ask=job.name))
    for drain in story.drains:
        node = node_name(drain.node)
        found.append(DrainAsked(at_us=drain.at_s * SECOND_US, node=node, reason="drill"))
        found.append(UndrainAsked(at_us=drain.back_s * SECOND_US, node=node))
    return found


def release(cluster: ClusterId, at_us: int) -> ReleaseAsked:
    """An MR-cluster is given back, its jobs with it; its outputs are saved."""
    return ReleaseAsked(at_us=at_us, cluster=cluster, force=True)


def started(story: Story, at_us: int, epoch: int) -> Started:
    """A controller begins, the first one or a later one."""
    return Started(
        at_us=at_us,
        version="drill",
        pool="drill",
        epoch=epoch,
        controller=f"controller-{epoch}",
        settings=settings().core,
        nodes=tuple(Node(id=node_name(n + 1), site="lab") for n in range(story.hosts)),
        policy=_policy(),
    )


def load_policy(policy: PolicyText, how: Settings) -> Measure:
    """The policy of a start; compiled once for all drills of a process."""
    if policy.sha256 not in _measures:
        _measures[policy.sha256] = compile_policy(policy, how)
    return _measures[policy.sha256]


@cache
def _policy() -> PolicyText:
    found = settings().policy
    return policy_text(found.title, "td.py", found.text())
