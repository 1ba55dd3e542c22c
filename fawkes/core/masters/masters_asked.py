"""Orders of operators to the masters of an MR-cluster: that they go elsewhere, or come back from their copy."""

from __future__ import annotations

from fawkes.base.values import replace
from fawkes.core.masters import masters, masters_begun, masters_to, standby
from fawkes.core.state.draft import Draft
from fawkes.core.values.events import MoveMastersAsked, RestoreAsked
from fawkes.core.values.keys import Key
from fawkes.core.values.model import ClusterLife, ClusterState, MastersMove, MoveCause, NodeId, NodeLife, Reason


def move_or_restore(draft: Draft, event: MoveMastersAsked | RestoreAsked) -> None:
    """An operator wants the masters elsewhere, or back from their copy."""
    if isinstance(event, MoveMastersAsked):
        _move_asked(draft, event)
    else:
        _restore_asked(draft, event)


def _move_asked(draft: Draft, event: MoveMastersAsked) -> None:
    """An operator wants the masters elsewhere."""
    cluster = draft.cluster(event.cluster)
    if cluster is None or (refusal := _refusal(draft, cluster, event.to)) is not None:
        draft.reply(event.ask, Reason("no-such-cluster", {"cluster": event.cluster}) if cluster is None else refusal)
        return
    move = MastersMove(
        cause=MoveCause.ASKED,
        since_us=draft.at_us,
        old=masters_begun.master_of(cluster),
        to=event.to,
        by=event.by,
        now=event.now,
    )
    draft.say("move-asked", cluster=cluster.id, node=event.to, by=event.by, now=event.now)
    held = [job.id for job in draft.busy_of(cluster.id) if masters_to.holds(cluster, job)]
    draft.reply(event.ask, cluster=cluster.id, jobs=held)
    if cluster.moving is not None:
        # A late answer of that look must not be taken for one of the next.
        draft.settle(Key.MASTERS.of(cluster.id))
        cluster = replace(cluster, version=cluster.version + 1)
    cluster = replace(cluster, moving=move)
    draft.put_cluster(cluster)
    masters_to.go_on(draft, cluster)


def _refusal(draft: Draft, cluster: ClusterState, to: NodeId | None) -> Reason | None:
    """The reason why the masters cannot be asked to move; None when they can."""
    if cluster.life is not ClusterLife.RUNNING or cluster.master is None:
        return Reason("not-running", {"cluster": cluster.id, "life": cluster.life})
    if (away := masters.why_away(cluster)) is not None:
        return away
    fit = [state.node.id for state in masters_to.able(draft, cluster)]
    if cluster.standby is not None:
        fit = [node for node in fit if standby.holds(cluster, node)]
    if not fit or (to is not None and to not in fit):
        return Reason("no-such-master", {"cluster": cluster.id, "node": to, "able": fit})
    return None


def _restore_asked(draft: Draft, event: RestoreAsked) -> None:
    """An operator takes what a kept copy has, and gives up the rest."""
    cluster = draft.cluster(event.cluster)
    if cluster is None:
        draft.reply(event.ask, Reason("no-such-cluster", {"cluster": event.cluster}))
        return
    moving = cluster.moving
    if moving is None or (moving.planned and not moving.begun):
        # A planned move has masters that answer, or waits for them for ever where nothing else moves lost ones.
        moving = _waited_for(draft, cluster)
    if moving is None:
        draft.reply(event.ask, Reason("masters-answer", {"cluster": cluster.id}))
        return
    if moving.begun:
        if not moving.failed:
            draft.reply(event.ask, Reason("masters-moving", {"cluster": cluster.id, "cause": moving.cause}))
            return
        cluster = masters_begun.given_up(draft, cluster, moving)
        moving = cluster.moving or moving
    fit = [state.node.id for state in masters_to.able(draft, cluster, restore=True)]
    if not fit or (event.to is not None and event.to not in fit):
        draft.reply(event.ask, Reason("no-such-master", {"cluster": cluster.id, "node": event.to, "able": fit}))
    elif event.dry_run:
        draft.reply(event.ask, cluster=cluster.id, old=moving.old, to=event.to or fit[0])
    else:
        draft.say("restore-asked", cluster=cluster.id, node=event.to or fit[0], by=event.by)
        draft.reply(event.ask, cluster=cluster.id, to=event.to or fit[0])
        for key in (Key.MASTERS, Key.PATIENCE):
            draft.settle(key.of(cluster.id))
        move = replace(moving, cause=MoveCause.RESTORE, to=event.to or fit[0], by=event.by)
        cluster = replace(cluster, moving=move)
        draft.put_cluster(cluster)
        masters_to.go_on(draft, cluster)


def _waited_for(draft: Draft, cluster: ClusterState) -> MastersMove | None:
    """Lost masters that are waited for for ever, as the settings want it; None when they are not lost."""
    if cluster.master is None or cluster.life not in masters.MOVABLE:
        return None
    master = draft.node(cluster.master)
    if master.life is not NodeLife.LOST:
        return None
    return MastersMove(cause=MoveCause.LOST, since_us=master.since_us, old=cluster.master)
