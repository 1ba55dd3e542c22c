"""Alerts of MR-clusters and nodes, each with its kind beside its text: it ends when its reason has passed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fawkes.core.model import ClusterAlert, ClusterLife, ClusterState, NodeAlert, NodeId, NodeLife, NodeState

#: how the text of an alert begins; those that are not here have their detail alone
_WORDS: Mapping[ClusterAlert, str] = {
    ClusterAlert.IDLE: "idle, but kept",
    ClusterAlert.UNREADABLE: "its masters cannot be read",
    ClusterAlert.MISSING: "blocks are missing in HDFS",
    ClusterAlert.STUCK: "tasks wait and none runs",
    ClusterAlert.SILENT: "its masters do not answer",
    ClusterAlert.MEMBERS: "its masters do not have its new member list",
    ClusterAlert.MASTERS: "its masters are lost",
    ClusterAlert.COPY: "its masters' data is not copied",
    ClusterAlert.WRITES: "writes of its last seconds are lost",
    ClusterAlert.STANDBY: "its second NameNode cannot take over",
    ClusterAlert.ADMISSION: "its admission policy fails",
}
#: how texts began that versions have stored which stored no kinds
_EARLIER: Mapping[str, ClusterAlert] = {
    **{words: kind for kind, words in _WORDS.items()},
    "the masters do not know their members yet": ClusterAlert.MEMBERS,
}


def in_words(kind: ClusterAlert) -> str:
    """How the text of an alert of this kind begins; empty for those that have their detail alone."""
    return _WORDS.get(kind, "")


def raised(cluster: ClusterState, kind: ClusterAlert, detail: str) -> ClusterState:
    """The MR-cluster with an alert of this kind, in place of an earlier one."""
    text = ": ".join(part for part in (in_words(kind), detail) if part)
    # Without a text there would be no alert, whatever its kind.
    return replace(cluster, alert=text or "nobody said why", alert_kind=kind)


def about(cluster: ClusterState, *kinds: ClusterAlert) -> bool:
    """Whether the alert of an MR-cluster is of one of these kinds; also when an earlier version stored it."""
    return kind_of_cluster(cluster) in kinds


def ended(cluster: ClusterState, *kinds: ClusterAlert) -> ClusterState:
    """The MR-cluster without its alert, if that is of one of these kinds."""
    return cleared(cluster) if about(cluster, *kinds) else cluster


def cleared(cluster: ClusterState) -> ClusterState:
    """The MR-cluster without an alert."""
    return replace(cluster, alert="", alert_kind=None)


def kind_of_cluster(cluster: ClusterState) -> ClusterAlert | None:
    """What the alert of an MR-cluster is about; None when it has none. Earlier versions stored only its text."""
    if cluster.alert_kind is not None or not cluster.alert:
        return cluster.alert_kind
    known = next((kind for words, kind in _EARLIER.items() if cluster.alert.startswith(words)), None)
    if known is not None:
        return known
    if cluster.life in (ClusterLife.WAITING, ClusterLife.ADMITTED):
        return ClusterAlert.WAITS
    # Only an alert about a node began with a name.
    return ClusterAlert.STAGE if " " in cluster.alert.partition(": ")[0] else ClusterAlert.NODE


def about_node(cluster: ClusterState, node: NodeId, why: str) -> ClusterState:
    """The MR-cluster with an alert about a lost node with data, which ends when the node is back or leaves."""
    return raised(cluster, ClusterAlert.NODE, f"{node}: {why}")


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
