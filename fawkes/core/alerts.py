"""Alerts of MR-clusters and nodes, by kind: each ends when its reason has passed.

The kind of an MR-cluster's alert is known by how its text begins; a node's alert has its kind beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from fawkes.core.model import ClusterState, NodeAlert, NodeId, NodeLife, NodeState


class Kind(StrEnum):
    """What an alert is about; the value is the beginning of its text."""

    IDLE = "idle, but kept"
    """The MR-cluster has been idle for long and is kept all the same; the alert ends with the idleness."""
    UNREADABLE = "its masters cannot be read"
    """Its masters do not report what it does; the alert ends with the next reading."""
    MISSING = "blocks are missing in HDFS"
    """Its NameNode counts missing blocks; the alert ends when it counts none."""
    STUCK = "tasks wait and none runs"
    """Its jobs hold slots, but none of their tasks has run for long; the alert ends when one runs or none waits."""
    SILENT = "its masters do not answer"
    """Nothing was heard of its masters for too long; the alert ends when they answer."""
    MEMBERS = "its masters do not have its new member list"
    """A member list did not get to its masters; the alert ends with the next list that does."""
    MASTERS = "its masters are lost"
    """They cannot go to another node yet; the alert ends when they answer, or have moved."""
    COPY = "its masters' data is not copied"
    """What the NameNode knows is on one disk alone; the alert ends with the next copy."""
    WRITES = "writes of its last seconds are lost"
    """Masters came back from a copy that lacked them; the alert ends with `fawkes retry`, or with the next alert."""
    STANDBY = "its second NameNode cannot take over"
    """It does not follow the journal, or the journal is not whole; the alert ends when all is."""
    ADMISSION = "its admission policy fails"
    """The policy that lets its jobs in raised, or gave a verdict that cannot be; it ends with the next usable one."""


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


def put(state: NodeState, kind: NodeAlert, why: str) -> NodeState:
    """The node with an alert of this kind, in place of an earlier one."""
    return replace(state, alert=why, alert_kind=kind)


def without(state: NodeState) -> NodeState:
    """The node without an alert."""
    return replace(state, alert="", alert_kind=None)


def kind_of(state: NodeState) -> NodeAlert | None:
    """What the alert of a node is about; None when it has none. Earlier versions stored only its text."""
    if state.alert_kind is not None or not state.alert:
        return state.alert_kind
    if state.life is NodeLife.SERVING:
        return NodeAlert.WAITS
    if state.life is NodeLife.EVACUATING or state.why.code == "held-blocks" or (state.owner and state.leaving):
        return NodeAlert.HELD
    return NodeAlert.UNCLEAN if state.why.code == "not-clean" else NodeAlert.LOST
