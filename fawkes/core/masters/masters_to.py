"""The place where the masters of an MR-cluster go next, and whether anything holds them where they are."""

from __future__ import annotations

from fawkes.base.values import replace
from fawkes.core.jobs import jobs
from fawkes.core.masters import standby
from fawkes.core.state import alerts
from fawkes.core.state.draft import Draft
from fawkes.core.values.effects import Load, LookAtMasters
from fawkes.core.values.keys import Key
from fawkes.core.values.model import (
    ClusterAlert,
    ClusterState,
    JobState,
    MastersMove,
    MoveCause,
    NodeId,
    NodeLife,
    NodeState,
    Role,
    Standby,
)


def go_on(draft: Draft, cluster: ClusterState, *, turn: int = 0) -> None:
    """Look at the masters as soon as there is a node to go to, and nothing that a planned move waits for.

    While masters are lost nobody tells which of the other nodes are: each ``turn`` another one is tried.
    """
    moving = cluster.moving
    if moving is None or moving.begun or draft.pending(Key.MASTERS.of(cluster.id)) is not None:
        return
    if moving.planned and not moving.now and any(holds(cluster, job) for job in draft.busy_of(cluster.id)):
        return
    to = _target(draft, cluster, moving, turn)
    if to is None:
        if not moving.planned:
            why = "no other core node of it is in service. "
            why += f"When {moving.old} answers: `fawkes restore {cluster.id} --to {moving.old}`"
            if not any(node.stores for node in draft.nodes_of(cluster.id) if node.node.id != moving.old):
                # Others that come back have blocks, and can take the masters from a copy.
                why += f". {if_gone(cluster, moving.old)}"
            hold(draft, cluster, why)
        elif moving.to is not None:
            # No job begins meanwhile, and nobody knows for how long.
            draft.say("masters-stay", cluster=cluster.id, node=moving.to)
            stay(draft, cluster)
        return
    if moving.planned and cluster.standby is not None and not _prepared(draft, cluster, cluster.standby, to):
        return
    effect = LookAtMasters(cluster.id, cluster.version, moving.old, to)
    draft.act(effect, within_us=draft.settings.membership_us, version=cluster.version)


def holds(cluster: ClusterState, job: JobState) -> bool:
    """True if a planned move waits for a job: where a second NameNode takes over, applications go on."""
    return cluster.standby is None or job.own or not job.application


def _prepared(draft: Draft, cluster: ClusterState, heir: Standby, to: NodeId) -> bool:
    """True if the node that the masters are to go to has the second NameNode; else that one is brought there first."""
    if heir.node == to:
        return heir.ready
    standby.arm(draft, cluster, node=to)
    return False


def _target(draft: Draft, cluster: ClusterState, moving: MastersMove, turn: int) -> NodeId | None:
    """Place where the masters go: where somebody wants them, else to the second NameNode, else to the second copy."""
    if moving.cause is MoveCause.JOURNAL:
        return cluster.master
    fit = [
        state.node.id
        for state in able(draft, cluster, lost=not moving.planned, restore=moving.cause is MoveCause.RESTORE)
    ]
    if moving.cause is not MoveCause.LOST and moving.to is not None:
        return moving.to if moving.to in fit else None
    return fit[turn % len(fit)] if fit else None


def able(draft: Draft, cluster: ClusterState, *, lost: bool = False, restore: bool = False) -> list[NodeState]:
    """The nodes that can take the masters, best first.

    Lost masters go to a node that is to leave and still serves, if there is no other. A restore may also use the node
    that lost its disk.
    """
    core = [n for n in draft.nodes_of(cluster.id) if n.role is Role.CORE and (lost or restore or not n.kept_out)]
    others = [n for n in core if n.life is NodeLife.SERVING and n.node.id != cluster.master]
    heir, journal = (None, ()) if cluster.standby is None else (cluster.standby.node, cluster.standby.journal)
    others.sort(key=lambda n: (n.node.id != heir, bool(n.kept_out), n.node.id not in journal))
    own = [n for n in core if restore and n.node.id == cluster.master and not n.kept_out]
    return others + own


def hold(draft: Draft, cluster: ClusterState, why: str) -> None:
    """The masters stay where they are until something changes; said again when the reason has."""
    held = alerts.raised(cluster, ClusterAlert.MASTERS, why)
    if held != cluster:
        draft.put_cluster(held)
        draft.say("masters-held", cluster=cluster.id, error=why)


def if_gone(cluster: ClusterState, node: NodeId) -> str:
    """The command to type when no other disk has what the masters knew, and their node never comes back."""
    return f"If {node} is gone for good, give up its data: `fawkes release {cluster.id} --discard-data --force`"


def stay(draft: Draft, cluster: ClusterState) -> None:
    """The masters stay where they are, and jobs begin again."""
    for key in (Key.MASTERS, Key.PATIENCE):
        draft.settle(key.of(cluster.id))
    draft.put_cluster(replace(alerts.ended(cluster, ClusterAlert.MASTERS), moving=None))
    serve(draft, cluster)


def serve(draft: Draft, cluster: ClusterState) -> None:
    """The masters serve again: jobs begin, and a load begins to count its tries anew."""
    jobs.release(draft, cluster.id)
    count_anew(draft, cluster)


def count_anew(draft: Draft, cluster: ClusterState) -> None:
    """Tries to load that have failed without masters do not count."""
    pending = draft.pending(Key.CLUSTER.of(cluster.id))
    if pending is not None and isinstance(pending.effect, Load) and pending.tries > 1:
        within_us = max(0, pending.deadline_us - draft.at_us)
        draft.expect(pending.key, within_us, effect=pending.effect, version=pending.version)
