"""Traffic over the link between two sites: blocks without a replica near, map output, replicas of what is written."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fawkes.core.values.model import Role
from fawkes.sim.hadoop.tasks import Phase, SimNode, TaskAttempt


def far_bytes(
    task: TaskAttempt,
    nodes: Collection[SimNode],
    fetched: float,
    maps: int,
    replication: int,
    output_replicas: int,
) -> float:
    """The bytes of a task's phase that cross the link, of input and of output with so many replicas.

    A map finds none of a block's replicas in its own site with the probability that all lie on other core nodes. A
    reduce fetches from where the ``maps`` ran. Of what is written, each replica but a first one on the writer's own
    node goes to any node that stores: HDFS without a rack topology.
    """
    near, profile = task.node.site, task.job.profile
    far = 0.0
    if task.is_map:
        core = [node.site for node in nodes if node.role is Role.CORE]
        far += profile.map_read_bytes * _other(core, near) ** replication
    elif fetched:
        far += fetched * sum(node.kept.get(task.job, 0) for node in nodes if node.site != near) / max(1, maps)
    if task.phase is Phase.REDUCE or (task.is_map and not profile.reduces):
        storing = [node.site for node in nodes if node.role is not Role.TRANSIENT]
        sent = min(output_replicas, len(storing)) - (task.node.role is not Role.TRANSIENT)
        far += profile.output_bytes * sent * _other(storing, near)
    return far


def _other(sites: Sequence[str], near: str) -> float:
    """The part of nodes that stand in another site."""
    return sum(site != near for site in sites) / max(1, len(sites))
