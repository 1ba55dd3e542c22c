"""A node as a row and in words: what it does, how its masters see it, and what it is waited for."""

from __future__ import annotations

from typing import Any

from fawkes.base.units import counted, show_time
from fawkes.core.state import alerts
from fawkes.core.values.model import ClusterState, NodeLife, NodeState, Reason
from fawkes.core.values.sight import Blocks, Compute, Sight, Stored
from fawkes.report.words.facts import named_files
from fawkes.report.words.sentences import held_by, sentence

Row = dict[str, Any]

#: what masters say of a node that does what its life says: no news
_EXPECTED = {
    NodeLife.SERVING: (Compute.RUNNING, Stored.IN_SERVICE),
    NodeLife.DRAINING: (Compute.DRAINING, Stored.IN_SERVICE),
    NodeLife.EVACUATING: (Compute.LEFT, Stored.LEAVING),
}
_COMPUTE = {
    Compute.ABSENT: "unknown to the ResourceManager",
    Compute.RUNNING: "NodeManager is running",
    Compute.DRAINING: "NodeManager is draining",
    Compute.IDLE: "NodeManager is draining, and nothing is left on it",
    Compute.LEFT: "NodeManager has left",
    Compute.LOST: "NodeManager is lost",
    Compute.OTHER: "NodeManager is in another state",
}
_STORED = {
    Stored.ABSENT: "unknown to the NameNode",
    Stored.IN_SERVICE: "DataNode is in service",
    Stored.LEAVING: "DataNode is leaving",
    Stored.LEFT: "DataNode has left",
    Stored.DEAD: "DataNode is dead",
    Stored.OTHER: "DataNode is in another state",
}


def node_row(state: NodeState, cluster: ClusterState | None) -> Row:
    """A node: owner, role, state, since when and why, how its masters see it, and what keeps it out.

    ``cluster`` is its owner. ``master``: the masters run on it; ``standby``: the daemons of the owner's second NameNode
    that belong on it, empty without one. ``seen`` is how the masters see it where that is news, ``waited_since`` since
    when its MR-cluster waits for its data. Numbers of files are None when they are not known.
    """
    why = present(state)
    blocks = _report(state.sight)
    kind = alerts.kind_of(state)
    return {
        "node": state.node.id,
        "site": state.node.site,
        "capacity": state.node.capacity_milli / 1000,
        "state": state.life.value,
        "cluster": state.owner,
        "role": None if state.role is None else state.role.value,
        "master": cluster is not None and cluster.master == state.node.id,
        "standby": _standby(state, cluster),
        "since": show_time(state.since_us),
        "generation": state.generation,
        "tick": state.tick,
        "code": why.code,
        "why": sentence(why),
        "keep_out": state.keep_out,
        "hold": held_by(state.hold) if state.hold else "",
        "back": None if state.back_us is None else show_time(state.back_us),
        "alert": state.alert,
        "alert_kind": None if kind is None else kind.value,
        "brief": state.alert or sentence(why),
        "waited_since": show_time(state.since_us) if waited_for(state) else None,
        "seen": seen_in_words(state),
        "compute": None if state.sight is None else state.sight.compute.value,
        "stored": None if state.sight is None else state.sight.stored.value,
        "at_risk": [] if blocks is None else list(blocks.at_risk),
        "at_risk_files": None if blocks is None else blocks.at_risk_files,
        "missing": [] if blocks is None else list(blocks.missing),
        "missing_files": None if blocks is None else blocks.missing_files,
    }


def _standby(state: NodeState, cluster: ClusterState | None) -> str:
    standby = None if cluster is None else cluster.standby
    if standby is None:
        return ""
    daemons = ["journal"] if state.node.id in standby.journal else []
    return ", ".join([*daemons, "second NameNode"] if state.node.id == standby.node else daemons)


def _report(sight: Sight | None) -> Blocks | None:
    """The whole report on the blocks of a node; None when there is none."""
    return sight.blocks if sight is not None and sight.blocks is not None and sight.blocks.known else None


def waited_for(state: NodeState) -> bool:
    """True if an MR-cluster cannot let a node go, or go on without it, because of the data on it."""
    if not state.stores or state.owner is None:
        return False
    return state.life is NodeLife.LOST or (state.life is NodeLife.EVACUATING and bool(state.alert))


def present(state: NodeState) -> Reason:
    """The reason why a node stands as it does now: the reason of its last move, unless that has passed."""
    name, why = state.node.id, state.why
    facts = {"node": name, "cluster": state.owner, "role": state.role}
    match state.life:
        case NodeLife.FREE if why.code == "held-out":
            return Reason("back-in-service", {"node": name, "why": "nobody has wiped it"})
        case NodeLife.FREE if why.code != "new":
            return Reason("freed", {"node": name})
        case NodeLife.OUT:
            return Reason("out-of-service", {"node": name, "why": state.keep_out or "it is not in the inventory"})
        case NodeLife.SERVING if why.code in _PASSED:
            return Reason("serves", facts)
        case NodeLife.DRAINING | NodeLife.EVACUATING if why.code in _PASSED:
            return Reason("leaves-again", facts)
    return why


#: reasons that hold only until the node is back
_PASSED = frozenset({"node-lost", "leaves-while-lost"})


def seen_in_words(state: NodeState) -> str:
    """The view of a node by its masters, where that differs from what its life says; empty when it is no news."""
    sight = state.sight
    if sight is None:
        return ""
    compute, stored = _EXPECTED.get(state.life, (None, None))
    parts = [_COMPUTE.get(sight.compute, "")] if sight.compute is not compute else []
    parts += [_STORED.get(sight.stored, "")] if state.stores and sight.stored is not stored else []
    blocks = _report(sight)
    if blocks is not None and blocks.at_risk_files:
        parts.append(f"{counted(blocks.at_risk_files, 'file')} at risk")
    if blocks is not None and blocks.missing_files:
        parts.append(f"{counted(blocks.missing_files, 'file')} with missing blocks")
    return ", ".join(part for part in parts if part)


def held_in_words(state: NodeState) -> list[str]:
    """Lines about a node that is waited for: what its masters say, the files at stake, and what to do next."""
    if not waited_for(state):
        return []
    name, blocks = state.node.id, _report(state.sight)
    lines = [f"{state.owner} has been waiting for the data on it since {show_time(state.since_us)}"]
    seen = seen_in_words(state)
    lines += [f"Its masters report: {seen}"] if seen else []
    if blocks is None:
        lines.append("Which files are at risk is not known")
    elif blocks.at_risk_files:
        lines.append(f"Too few replicas on other nodes: {named_files(blocks.at_risk, blocks.at_risk_files)}")
    if blocks is not None and blocks.missing_files:
        lines.append(f"Files with blocks on no live node: {named_files(blocks.missing, blocks.missing_files)}")
    repair = "Repair it" if state.life is NodeLife.LOST else "Bring back or add DataNodes, or lower the replication"
    lines.append(f"{repair}, then run `fawkes retry {name}`")
    if state.life is NodeLife.LOST and not state.leaving:
        drain = f"`fawkes drain {name} --reason ...`"
        lines.append(f"If it will not come back, run {drain}: it is released once its data is proven to be elsewhere")
    lines.append(f"Only if that data may be lost, run `fawkes drain {name} --discard-data --reason ...`")
    return lines
