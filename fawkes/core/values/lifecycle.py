"""Lives as tables: which step may follow which, and when it is taken. Anything else is a defect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from fawkes.core.values.model import ClusterLife, JobLife, NodeLife

NODE_EDGES: Mapping[NodeLife, frozenset[NodeLife]] = {
    NodeLife.FREE: frozenset(
        {
            NodeLife.JOINING,  # handed to an MR-cluster
            NodeLife.OUT,  # drained by an operator, or no longer in the inventory
        }
    ),
    NodeLife.JOINING: frozenset(
        {
            NodeLife.SERVING,  # the masters know it and it runs
            NodeLife.DRAINING,  # a later tick wants it elsewhere
            NodeLife.CLEANING,  # it did not come up, or its MR-cluster retires
            NodeLife.LOST,  # it stopped answering
        }
    ),
    NodeLife.SERVING: frozenset(
        {
            NodeLife.DRAINING,  # shrink
            NodeLife.CLEANING,  # its MR-cluster retires: outputs are saved
            NodeLife.LOST,
        }
    ),
    NodeLife.DRAINING: frozenset(
        {
            NodeLife.EVACUATING,  # transient-core: its NodeManager is out, its blocks are next
            NodeLife.CLEANING,  # transient: its NodeManager is out
            NodeLife.JOINING,  # undrain: the same MR-cluster needs it again
            NodeLife.LOST,
        }
    ),
    NodeLife.EVACUATING: frozenset(
        {
            NodeLife.CLEANING,  # its blocks are safe
            NodeLife.JOINING,  # undrain
            NodeLife.LOST,
        }
    ),
    NodeLife.CLEANING: frozenset(
        {
            NodeLife.FREE,  # wiped and verified
            NodeLife.OUT,  # wiped and verified, and an operator or a quarantine keeps it
            NodeLife.LOST,  # could not be wiped: not trusted until it was
            NodeLife.EVACUATING,  # right before the wipe its blocks were not proven to be elsewhere
        }
    ),
    NodeLife.LOST: frozenset(
        {
            NodeLife.SERVING,  # it came back with its data
            NodeLife.EVACUATING,  # it came back with its data, and was leaving
            NodeLife.CLEANING,  # its MR-cluster retires, or its blocks are proven elsewhere or given up
            NodeLife.FREE,  # it was reached again, wiped and verified
            NodeLife.OUT,  # the same, and somebody keeps it out
        }
    ),
    NodeLife.OUT: frozenset(
        {
            NodeLife.FREE,  # undrained, or its quarantine ended
        }
    ),
}

CLUSTER_EDGES: Mapping[ClusterLife, frozenset[ClusterLife]] = {
    ClusterLife.DORMANT: frozenset({ClusterLife.WAITING, ClusterLife.GONE}),  # first job; given back unused
    ClusterLife.WAITING: frozenset(
        {
            ClusterLife.DEPLOYING,  # its minimum is free
            ClusterLife.ADMITTED,  # its minimum fits, and others shrink for it
            ClusterLife.GONE,  # given back
        }
    ),
    ClusterLife.ADMITTED: frozenset(
        {
            ClusterLife.DEPLOYING,  # its minimum is free
            ClusterLife.WAITING,  # nodes were lost meanwhile and its minimum no longer fits
            ClusterLife.GONE,
        }
    ),
    ClusterLife.DEPLOYING: frozenset({ClusterLife.LOADING, ClusterLife.RETIRING}),
    ClusterLife.LOADING: frozenset({ClusterLife.RUNNING, ClusterLife.SAVING, ClusterLife.RETIRING}),
    ClusterLife.RUNNING: frozenset({ClusterLife.SAVING}),
    ClusterLife.SAVING: frozenset({ClusterLife.RETIRING}),
    ClusterLife.RETIRING: frozenset({ClusterLife.GONE}),
    ClusterLife.GONE: frozenset(),
}

JOB_EDGES: Mapping[JobLife, frozenset[JobLife]] = {
    JobLife.QUEUED: frozenset({JobLife.STARTING, JobLife.CANCELLED, JobLife.DROPPED}),
    JobLife.STARTING: frozenset(
        {
            JobLife.RUNNING,
            JobLife.SUCCEEDED,  # so short that its start was not seen
            JobLife.FAILED,
            JobLife.QUEUED,  # it failed and has retries left
            JobLife.CANCELLING,
            JobLife.CANCELLED,
        }
    ),
    JobLife.RUNNING: frozenset(
        {JobLife.SUCCEEDED, JobLife.FAILED, JobLife.QUEUED, JobLife.CANCELLING, JobLife.CANCELLED}
    ),
    JobLife.CANCELLING: frozenset(
        {
            JobLife.CANCELLED,
            JobLife.SUCCEEDED,  # it ended by itself before the cancel arrived
            JobLife.FAILED,  # its time limit was passed
            JobLife.KILLED,  # its deadline was passed
        }
    ),
    JobLife.SUCCEEDED: frozenset(),
    JobLife.FAILED: frozenset(),
    JobLife.CANCELLED: frozenset(),
    JobLife.DROPPED: frozenset(),
    JobLife.KILLED: frozenset(),
}

ENDED_JOBS = frozenset(life for life, after in JOB_EDGES.items() if not after)
#: lives in which a node is physically held by its MR-cluster
HELD = frozenset(
    {
        NodeLife.JOINING,
        NodeLife.SERVING,
        NodeLife.DRAINING,
        NodeLife.EVACUATING,
        NodeLife.CLEANING,
        NodeLife.LOST,
    }
)
#: lives in which a node counts for its MR-cluster when moves are planned: moves in flight count as done
COUNTED = frozenset({NodeLife.JOINING, NodeLife.SERVING, NodeLife.LOST})
#: lives in which a node is on its way out of its MR-cluster
LEAVING = frozenset({NodeLife.DRAINING, NodeLife.EVACUATING, NodeLife.CLEANING})
#: lives that end by themselves
MOVING = LEAVING | {NodeLife.JOINING}
#: lives of an MR-cluster in which it waits in the global queue
QUEUED = frozenset({ClusterLife.WAITING, ClusterLife.ADMITTED})
#: lives of an MR-cluster in which its masters run
WITH_MASTERS = frozenset({ClusterLife.DEPLOYING, ClusterLife.LOADING, ClusterLife.RUNNING, ClusterLife.SAVING})
#: lives of an MR-cluster in which its minimum is promised
PROMISED = WITH_MASTERS | {ClusterLife.ADMITTED}


Life = TypeVar("Life", NodeLife, ClusterLife, JobLife)


def allowed(edges: Mapping[Life, frozenset[Life]], old: Life, new: Life) -> bool:
    """True if ``new`` may follow ``old``; staying where one is is always allowed."""
    return old == new or new in edges[old]
