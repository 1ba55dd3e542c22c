"""Alerts of MR-clusters and nodes, each with its kind beside its text: it ends when its reason has passed.

An MR-cluster has at most one alert of each kind. No alert takes the place of another one: the worst is shown first.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from fawkes.base.values import replace
from fawkes.core.values.model import (
    Alert,
    ClusterAlert,
    ClusterLife,
    ClusterState,
    NodeAlert,
    NodeId,
    NodeLife,
    NodeState,
)

#: how the text of an alert begins; those that are not here have their detail alone
_WORDS: Mapping[ClusterAlert, str] = {
    ClusterAlert.IDLE: "idle, but kept",
    ClusterAlert.UNREADABLE: "its masters cannot be read",
    ClusterAlert.MISSING: "blocks are missing in HDFS",
    ClusterAlert.THIN: "blocks of its input have fewer replicas than wanted",
    ClusterAlert.STUCK: "tasks wait and none runs",
    ClusterAlert.SILENT: "its masters do not answer",
    ClusterAlert.UNASKED: "the controller cannot ask its masters",
    ClusterAlert.MEMBERS: "its masters do not have its new member list",
    ClusterAlert.MASTERS: "its masters are lost",
    ClusterAlert.COPY: "its masters' data is not copied",
    ClusterAlert.WRITES: "writes of its last seconds may be lost",
    ClusterAlert.STANDBY: "its second NameNode cannot take over",
    ClusterAlert.NO_WRITES: "HDFS takes no writes",
    ClusterAlert.NO_RUNS: "YARN runs nothing",
    ClusterAlert.NO_LOGIN: "its jobs cannot begin",
    ClusterAlert.ADMISSION: "its admission policy fails",
    ClusterAlert.PREEMPTION: "its preemption policy fails",
}
#: how texts began that versions have stored which stored no kinds
_EARLIER: Mapping[str, ClusterAlert] = {
    **{words: kind for kind, words in _WORDS.items()},
    "the masters do not know their members yet": ClusterAlert.MEMBERS,
    "writes of its last seconds are lost": ClusterAlert.WRITES,
}


#: data in danger or lost first, then what keeps users from their work, then promises and moves, then what only waits
_WORST_FIRST = (
    ClusterAlert.MASTERS,
    ClusterAlert.SILENT,
    ClusterAlert.UNASKED,
    ClusterAlert.NODE,
    ClusterAlert.MISSING,
    ClusterAlert.WRITES,
    ClusterAlert.NO_WRITES,
    ClusterAlert.NO_RUNS,
    ClusterAlert.NO_LOGIN,
    ClusterAlert.UNREADABLE,
    ClusterAlert.THIN,
    ClusterAlert.STAGE,
    ClusterAlert.STUCK,
    ClusterAlert.ADMISSION,
    ClusterAlert.PREEMPTION,
    ClusterAlert.STANDBY,
    ClusterAlert.COPY,
    ClusterAlert.MEMBERS,
    ClusterAlert.WAITS,
    ClusterAlert.IDLE,
)
#: what is said of an MR-cluster in one stage of its life, by what is seen in that stage alone
_OF_A_STAGE = (
    ClusterAlert.WAITS,
    ClusterAlert.STAGE,
    ClusterAlert.IDLE,
    ClusterAlert.UNREADABLE,
    ClusterAlert.MISSING,
    ClusterAlert.STUCK,
    ClusterAlert.ADMISSION,
    ClusterAlert.PREEMPTION,
)


def in_words(kind: ClusterAlert) -> str:
    """The beginning of the text of an alert of this kind; empty for those that have their detail alone."""
    return _WORDS.get(kind, "")


def raised(cluster: ClusterState, kind: ClusterAlert, detail: str) -> ClusterState:
    """The MR-cluster with an alert of this kind, in place of an earlier one of the same kind."""
    text = ": ".join(part for part in (in_words(kind), detail) if part)
    # Without a text there would be no alert, whatever its kind.
    return _with(cluster, [*_others(cluster, kind), Alert(kind, text or "nobody said why")])


def every(cluster: ClusterState) -> tuple[Alert, ...]:
    """All alerts of an MR-cluster, the worst first."""
    kind = _first_kind(cluster)
    return () if kind is None else (Alert(kind, cluster.alert), *cluster.further)


def about(cluster: ClusterState, *kinds: ClusterAlert) -> bool:
    """True if the MR-cluster has an alert of one of these kinds; also when an earlier version stored it."""
    # Asked several times for each reading, and most MR-clusters have none.
    return bool(cluster.alert or cluster.alert_kind) and any(alert.about in kinds for alert in every(cluster))


def text(cluster: ClusterState, kind: ClusterAlert) -> str:
    """The text of the alert of this kind; empty without one."""
    return next((alert.text for alert in every(cluster) if alert.about is kind), "")


def ended(cluster: ClusterState, *kinds: ClusterAlert) -> ClusterState:
    """The MR-cluster without its alerts of these kinds."""
    return _with(cluster, _others(cluster, *kinds)) if about(cluster, *kinds) else cluster


def next_stage(cluster: ClusterState) -> ClusterState:
    """The MR-cluster without the alerts that end with a stage of its life."""
    return ended(cluster, *_OF_A_STAGE)


def retires(cluster: ClusterState) -> ClusterState:
    """The MR-cluster with its lost writes as the only alert: nothing else counts while its nodes are wiped."""
    return ended(cluster, *(kind for kind in ClusterAlert if kind is not ClusterAlert.WRITES))


def in_order(cluster: ClusterState) -> bool:
    """True if its alerts are of different kinds, the worst first."""
    places = [_WORST_FIRST.index(alert.about) for alert in every(cluster)]
    return all(before < after for before, after in pairwise(places))


def _others(cluster: ClusterState, *kinds: ClusterAlert) -> list[Alert]:
    return [alert for alert in every(cluster) if alert.about not in kinds]


def _with(cluster: ClusterState, known: list[Alert]) -> ClusterState:
    if not known:
        return replace(cluster, alert="", alert_kind=None, further=())
    first, *further = sorted(known, key=lambda alert: _WORST_FIRST.index(alert.about))
    return replace(cluster, alert=first.text, alert_kind=first.about, further=tuple(further))


def _first_kind(cluster: ClusterState) -> ClusterAlert | None:
    """The kind of the worst alert; None without one. Earlier versions stored one alert, and only its text."""
    if cluster.alert_kind is not None or not cluster.alert:
        return cluster.alert_kind
    known = next((kind for words, kind in _EARLIER.items() if cluster.alert.startswith(words)), None)
    if known is not None:
        return known
    if cluster.life in (ClusterLife.WAITING, ClusterLife.ADMITTED):
        return ClusterAlert.WAITS
    # 0.1.0 stored the bare error, which may begin with the name of any node.
    if cluster.unreadable_us is not None:
        return ClusterAlert.UNREADABLE
    if cluster.life in (ClusterLife.DEPLOYING, ClusterLife.LOADING, ClusterLife.SAVING):
        return ClusterAlert.STAGE
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
    """The subject of a node's alert; None when it has none. Earlier versions stored only its text."""
    if state.alert_kind is not None or not state.alert:
        return state.alert_kind
    if state.life is NodeLife.SERVING:
        return NodeAlert.WAITS
    if state.life is NodeLife.EVACUATING or state.why.code == "held-blocks" or (state.owner and state.leaving):
        return NodeAlert.HELD
    return NodeAlert.UNCLEAN if state.why.code == "not-clean" else NodeAlert.LOST
