"""Alerts of MR-clusters that end when their reason has passed. Each is known by how its text begins."""

from __future__ import annotations

from dataclasses import replace

from fawkes.core.model import ClusterState, NodeId

#: of an MR-cluster that was idle for long and is kept all the same; it ends with the idleness
IDLE = "idle, but kept"
#: of an MR-cluster whose masters do not say what it does; it ends with the next reading
UNREADABLE = "its masters cannot be read"
#: of an MR-cluster whose NameNode counts missing blocks; it ends when it counts none
MISSING = "blocks are missing in HDFS"


def of_node(node: NodeId) -> str:
    """How an alert begins that is about a lost node with data; it ends when the node is back or leaves."""
    return f"{node}: "


def ended(cluster: ClusterState, beginning: str) -> ClusterState:
    """The MR-cluster without its alert, if that begins so."""
    return replace(cluster, alert="") if cluster.alert.startswith(beginning) else cluster
