"""Alerts of MR-clusters that end when their reason has passed. Each is known by how its text begins."""

from __future__ import annotations

from dataclasses import replace

from fawkes.core.model import ClusterState

#: of an MR-cluster that was idle for long and is kept all the same; it ends with the idleness
IDLE = "idle, but kept"


def ended(cluster: ClusterState, beginning: str) -> ClusterState:
    """The MR-cluster without its alert, if that begins so."""
    return replace(cluster, alert="") if cluster.alert.startswith(beginning) else cluster
