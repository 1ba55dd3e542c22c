"""Core nodes that go out of service while their MR-cluster runs: another takes over and serves, then they leave.

So the minimum that was promised is held at every moment, and the blocks have somewhere to go. From the node of the
masters these go first (`core.masters`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fawkes.core.masters.standby import holds
from fawkes.core.state import alerts
from fawkes.core.state.counts import counted
from fawkes.core.state.draft import Draft
from fawkes.core.state.free import FreeNodes
from fawkes.core.state.moves import hand_over, leaves_while_lost, shrink
from fawkes.core.state.plan import donors, give, home
from fawkes.core.values.keys import Key
from fawkes.core.values.model import ClusterState, NodeAlert, NodeLife, NodeState, Role

#: why a node leaves so that it can take over from a core node
TO_REPLACE = "shrink-to-replace"


def replace_core(draft: Draft) -> None:
    """Serve the MR-clusters whose core nodes are kept out, or came back after others had taken over from them."""
    for cluster in _concerned(draft):
        core = [n for n in draft.nodes_of(cluster.id) if n.role is Role.CORE and counted(n)]
        going = [n for n in core if n.kept_out and n.node.id != cluster.master]
        staying = [n for n in core if n not in going]
        missing = cluster.spec.min_nodes - len(staying)
        if missing > 0:
            missing = _take_over(draft, cluster, missing, going)
        elif missing < 0:
            plain = (n for n in staying if n.node.id != cluster.master and not _in_journal(draft, cluster, n))
            going += sorted(plain, key=_latest_first)[:-missing]
        _leave(draft, cluster, core, going, missing)


def _concerned(draft: Draft) -> list[ClusterState]:
    """The running MR-clusters where something may have to be done, by id.

    Those that this decision touches, and those that wait for a core node once there is one, or somebody who gives one.
    """
    owners = {n.owner for n in draft.changed_nodes().values() if n.role is Role.CORE and n.owner is not None}
    if draft.counts.going_core:
        changed = draft.changed_clusters()
        owners.update(c for c in changed if draft.held(c).going_core)
        if draft.view.short and (draft.counts.free_core or next(donors(draft), None) is not None):
            owners.update(draft.view.short)
    clusters = (draft.cluster(owner) for owner in sorted(owners))
    return [cluster for cluster in clusters if cluster is not None and cluster.active]


def _latest_first(state: NodeState) -> tuple[bool, int, str]:
    """The order in which surplus core nodes leave: first those that do not serve yet, then those that came last."""
    return state.life is NodeLife.SERVING, -state.since_us, state.node.id


def _take_over(draft: Draft, cluster: ClusterState, missing: int, going: Sequence[NodeState]) -> int:
    """Free nodes become core nodes; where there are too few, others leave for it. How many are still missing."""
    free = FreeNodes(draft, core=True)
    names = [state.node.id for state in going]
    while missing and len(free):
        state = free.take(home(draft, cluster.id))
        why = draft.say("takes-over", node=state.node.id, cluster=cluster.id, role=Role.CORE, instead_of=names)
        hand_over(draft, state, cluster.id, Role.CORE, why)
        missing -= 1
    wanted = missing - draft.counts.coming_core
    for donor in _donors(draft, cluster):
        if wanted <= 0:
            break
        held = draft.held(donor.id)
        own = donor.id == cluster.id
        count = min(wanted, held.spare_core, held.counted - (0 if own else donor.spec.min_nodes))
        if count > 0:
            wanted -= give(draft, donor, count, TO_REPLACE, core=True, receiver=cluster.id, instead_of=names)
    return missing


def _donors(draft: Draft, cluster: ClusterState) -> Iterator[ClusterState]:
    """The givers of a node that may be a core node: the MR-cluster itself, then those with most above their minimum."""
    yield cluster
    others = (draft.cluster(c) for c in donors(draft) if c != cluster.id)
    yield from (other for other in others if other is not None)


def _leave(
    draft: Draft, cluster: ClusterState, core: Sequence[NodeState], going: Sequence[NodeState], missing: int
) -> None:
    """Core nodes begin to leave as far as a minimum of others serves; the rest waits and says for what."""
    serving = sum(1 for state in core if state.life is NodeLife.SERVING)
    for state in going:
        serves = state.life is NodeLife.SERVING
        if _in_journal(draft, cluster, state):
            _say_waits(draft, cluster, state, "leaves once another core node has its part of the journal")
        elif serving - serves >= cluster.spec.min_nodes:
            serving -= serves
            if state.life is NodeLife.LOST:
                leaves_while_lost(draft, state)
                continue
            why = draft.say("core-leaves", node=state.node.id, cluster=cluster.id, role=Role.CORE, why=_why(state))
            shrink(draft, alerts.without(state), why)
        else:
            _say_waits(draft, cluster, state, _waits(cluster, missing))


def _in_journal(draft: Draft, cluster: ClusterState, state: NodeState) -> bool:
    return holds(cluster, state.node.id, draft.pending(Key.MASTERS.of(cluster.id)))


def _say_waits(draft: Draft, cluster: ClusterState, state: NodeState, alert: str) -> None:
    if state.life is NodeLife.SERVING and state.alert != alert:
        draft.put_node(alerts.put(state, NodeAlert.WAITS, alert))
        draft.say("core-waits", node=state.node.id, cluster=cluster.id, alert=alert)


def _why(state: NodeState) -> str:
    return state.keep_out or ("no longer in the inventory" if state.unlisted else "")


def _waits(cluster: ClusterState, missing: int) -> str:
    if missing > 0:
        return f"leaves once {cluster.id} has another core node, but no node that may be a core node is free yet"
    return f"leaves once {cluster.spec.min_nodes} other core nodes of {cluster.id} are in service"
