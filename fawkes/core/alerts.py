"""Alerts of MR-clusters that end when their reason has passed. Each kind is known by how its text begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from fawkes.core.model import ClusterState, NodeId


class Kind(StrEnum):
    """What an alert is about; the value is the beginning of its text."""

    IDLE = "idle, but kept"
    """The MR-cluster has been idle for long and is kept all the same; the alert ends with the idleness."""
    UNREADABLE = "its masters cannot be read"
    """Its masters do not report what it does; the alert ends with the next reading."""
    MISSING = "blocks are missing in HDFS"
    """Its NameNode counts missing blocks; the alert ends when it counts none."""
    SILENT = "its masters do not answer"
    """Nothing was heard of its masters for too long; the alert ends when they answer."""
    MEMBERS = "its masters do not have its new member list"
    """A member list did not get to its masters; the alert ends with the next list that does."""


#: how texts began that earlier versions have stored in a ledger
_EARLIER: Mapping[Kind, str] = {Kind.MEMBERS: "the masters do not know their members yet"}


def text(kind: Kind, detail: str) -> str:
    """The alert of this kind, with ``detail`` after a colon."""
    return f"{kind}: {detail}"


def about(cluster: ClusterState, kind: Kind) -> bool:
    """Whether the alert of an MR-cluster is of this kind; also when an earlier version stored it."""
    return cluster.alert.startswith((kind.value, _EARLIER.get(kind, kind.value)))


def of_node(node: NodeId) -> str:
    """How an alert begins that is about a lost node with data; it ends when the node is back or leaves."""
    return f"{node}: "


def ended(cluster: ClusterState, kind: Kind) -> ClusterState:
    """The MR-cluster without its alert, if that is of this kind."""
    return replace(cluster, alert="") if about(cluster, kind) else cluster
