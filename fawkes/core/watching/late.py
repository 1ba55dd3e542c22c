"""Work that takes longer than usual says what it waits for: a stage of an MR-cluster, a node that joins or is wiped."""

from __future__ import annotations

from fawkes.core.state import alerts
from fawkes.core.state.draft import Draft
from fawkes.core.values.events import WaitSeen
from fawkes.core.values.keys import Key, split
from fawkes.core.values.model import ClusterAlert, ClusterId, ClusterState, NodeAlert, NodeId, NodeLife, NodeState

#: lives of a node in which it is worked on, with what is said of it
_OF_NODES = {NodeLife.JOINING: "it does not come up", NodeLife.CLEANING: "it is not wiped"}


def seen(draft: Draft, event: WaitSeen) -> None:
    """Something has been waited for since a while; a wait for what nobody wants any more is history."""
    pending, lasting_us = draft.pending(event.effect), draft.settings.late_us
    if pending is None or pending.version != event.version:
        return
    if not lasting_us or draft.at_us - event.since_us < lasting_us:
        return
    kind, name = split(event.effect)
    cluster = draft.cluster(ClusterId(name)) if kind is Key.CLUSTER else None
    node = draft.view.nodes.get(NodeId(name)) if kind is Key.HOST else None
    if cluster is not None:
        _put_cluster(draft, cluster, f"{cluster.life} takes longer than usual: {event.waits_for}")
    elif node is not None and node.life in _OF_NODES:
        _put_node(draft, node, f"{_OF_NODES[node.life]} yet: {event.waits_for}")


def _put_cluster(draft: Draft, cluster: ClusterState, why: str) -> None:
    if alerts.text(cluster, ClusterAlert.STAGE) != why:
        draft.say("late", cluster=cluster.id, error=why)
        draft.put_cluster(alerts.raised(cluster, ClusterAlert.STAGE, why))


def _put_node(draft: Draft, node: NodeState, why: str) -> None:
    if node.alert != why:
        draft.say("late", node=node.node.id, cluster=node.owner, error=why)
        draft.put_node(alerts.put(node, NodeAlert.LATE, why))
