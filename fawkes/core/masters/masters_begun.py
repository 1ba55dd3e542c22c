"""A move of masters that has begun: what is done, what its end means, and what follows when it fails.

From its begin on the masters are those on the new node, for everybody who asks the ledger.
"""

from __future__ import annotations

from fawkes.base.values import replace
from fawkes.core.jobs import displaced, jobs
from fawkes.core.masters import journal, lost_writes, masters_to, standby
from fawkes.core.state import alerts, backoff
from fawkes.core.state.draft import Draft
from fawkes.core.state.moves import lost as lost_node
from fawkes.core.values.decision import PutPending
from fawkes.core.values.effects import ArmStandby, LookAtMasters, MoveMasters
from fawkes.core.values.events import Done, Failed
from fawkes.core.values.keys import Key
from fawkes.core.values.model import ClusterAlert, ClusterState, Facts, MastersMove, MoveCause, NodeId, NodeLife

#: names of files and applications in a reason
_NAMED = 5


def begin(draft: Draft, cluster: ClusterState, moving: MastersMove, effect: LookAtMasters, facts: Facts) -> None:
    """Make the masters from now on those on the new node, for everybody who asks the ledger."""
    for key in (Key.MASTERS, Key.MEMBERSHIP, Key.SILENT, Key.PATIENCE):
        draft.settle(key.of(cluster.id))
    by_standby = moving.cause is not MoveCause.RESTORE and standby.may_take_over(cluster, effect.to, facts)
    # Moves without a journal say what they said in earlier ledgers.
    follows = {} if cluster.standby is None else {"standby": facts.get("standby"), "by_standby": by_standby}
    draft.say(
        "masters-move",
        cluster=cluster.id,
        node=effect.to,
        instead_of=effect.old,
        cause=moving.cause,
        by=moving.by,
        seen=facts.get("old"),
        copied_us=facts.get("copied_us"),
        txid=facts.get("txid"),
        **follows,
    )
    if not by_standby:
        # The old masters may answer after all, and then it is still their journal.
        cluster = standby.alone(cluster)
    version = cluster.version + 1
    moving = replace(moving, old=effect.old, to=effect.to, begun=True)
    cluster = replace(cluster, master=effect.to, moving=moving, version=version, silent_us=None)
    draft.put_cluster(alerts.ended(cluster, ClusterAlert.MASTERS, ClusterAlert.SILENT))
    follow_us, rejoin_us = draft.settings.follow_us, draft.settings.rejoin_us
    from_copy = moving.unreadable or standby.is_ahead(cluster)
    deed = MoveMasters(
        cluster.id, version, effect.old, effect.to, moving.planned, by_standby, from_copy, follow_us, rejoin_us
    )
    draft.act(deed, within_us=draft.settings.deploy_us, version=version)


def again(draft: Draft, pending: PutPending) -> None:
    """The next try of a move, or of a start with a journal, that has begun."""
    if pending.effect is not None:
        tries = pending.tries + 1
        draft.say_again(pending.key, tries)
        draft.act(pending.effect, within_us=draft.settings.deploy_us, version=pending.version, tries=tries)


def moved(draft: Draft, cluster: ClusterState, moving: MastersMove, effect: MoveMasters, facts: Facts) -> None:
    """Masters serve on the new node; what that has cost is said by name."""
    draft.settle(Key.MASTERS.of(cluster.id))
    copied_us = facts.get("copied_us")
    lacks_us = max(0, moving.since_us - copied_us) if isinstance(copied_us, int) else 0
    missing, opened, ended = (displaced.rows(facts, name) for name in ("missing", "open", "ended"))
    draft.say(
        "masters-moved",
        cluster=cluster.id,
        node=effect.to,
        instead_of=effect.old,
        took_us=draft.at_us - moving.since_us,
        lacks_us=lacks_us,
        missing=missing[:_NAMED],
        missing_files=facts.get("missing_files"),
        open=opened[:_NAMED],
        ended=ended[:_NAMED],
        **({"by_standby": True} if effect.standby else {}),
    )
    cluster = replace(
        alerts.ended(cluster, ClusterAlert.MASTERS), moving=None, shut_out=_shut_out(draft, cluster, effect, facts)
    )
    cluster = standby.alone(standby.ahead(cluster, False)) if effect.standby else standby.given_up(draft, cluster)
    draft.put_cluster(cluster)
    cluster = lost_writes.tell(draft, cluster, facts)
    draft.touch(cluster.id, afresh=True)
    old = draft.view.nodes.get(effect.old)
    if old is not None and old.owner == cluster.id and old.life is NodeLife.LOST and effect.old != effect.to:
        # It comes back as one core node of many, with nothing of a master on it.
        draft.host(old, old.role, cluster.id, within_us=draft.settings.join_us)
    if effect.standby:
        if effect.planned:
            # It has all but the last moments, and needs no image.
            standby.arm(draft, cluster, node=effect.old)
        displaced.follow(draft, cluster, facts)
    else:
        displaced.displace(draft, cluster, facts)
        journal.wait(draft, cluster)
        if journal.due(draft, cluster):
            # What ran has ended with the old masters, so this is a moment without jobs.
            masters_to.go_on(draft, journal.want(draft, cluster))
    masters_to.serve(draft, cluster)


def _shut_out(draft: Draft, cluster: ClusterState, effect: MoveMasters, facts: Facts) -> tuple[NodeId, ...]:
    """The nodes on which former masters may still run: those that nobody could stop, until they are back."""
    reached = displaced.rows(facts, "reached")
    lost = {node.node.id for node in draft.nodes_of(cluster.id) if node.life is NodeLife.LOST}
    still = {node for node in cluster.shut_out if node in lost}
    return tuple(sorted(still if effect.old in reached or effect.old not in lost else {*still, effect.old}))


def not_moved(draft: Draft, cluster: ClusterState, moving: MastersMove, pending: PutPending, event: Failed) -> None:
    """The old masters answer after all, or the move is tried again; after some tries on another node.

    New masters whose data is gone from their disk are lost masters like any others.
    """
    if backoff.is_told(pending.tries) or event.facts.get("site") is not True:
        draft.say("not-reached", cluster=cluster.id, stage="masters", error=event.error, tries=pending.tries)
    if event.facts.get("alive") is True:
        _alive(draft, cluster, moving, pending, event)
        return
    unreadable = event.facts.get("unreadable") is True
    gone = event.facts.get("gone") is True
    moving = replace(
        moving,
        failed=True,
        written=moving.written or gone or event.facts.get("untouched") is not True,
        unreadable=moving.unreadable or unreadable,
    )
    moving, pending = of_site(moving, pending, event)
    often = pending.tries >= draft.settings.deploy_attempts and not moving.site
    why = event.error
    if often and moving.planned and moving.written:
        why += f". If it is gone for good: `fawkes restore {cluster.id}`"
    cluster = alerts.raised(replace(cluster, moving=moving), ClusterAlert.MASTERS, why)
    draft.put_cluster(cluster)
    if gone or (often and not moving.planned and unreadable and not moving.written):
        draft.settle(pending.key)
        cluster = given_up(draft, cluster, moving)
        draft.put_cluster(cluster)
        masters_to.go_on(draft, cluster)
    elif often and not moving.planned and masters_to.able(draft, cluster, lost=True):
        draft.settle(pending.key)
        _elsewhere(draft, cluster, moving)
    else:
        draft.later(pending)


def of_site(moving: MastersMove, pending: PutPending, event: Failed) -> tuple[MastersMove, PutPending]:
    """The move after a try that has failed, and the number of that try.

    One that failed for want of something of the site, such as its KDC, is none: the same would happen anywhere. What
    fails next for another reason is counted from the beginning.
    """
    site = event.facts.get("site") is True
    counted = replace(pending, tries=1) if moving.site and not site else pending
    return replace(moving, site=site), counted


def _alive(draft: Draft, cluster: ClusterState, moving: MastersMove, pending: PutPending, event: Failed) -> None:
    """The masters stay on their old node. Where they are silent they may have been stopped for the new ones, by a try
    of which nobody knows how far it came.
    """
    silent = event.facts.get("silent") is True
    if silent and isinstance(pending.effect, MoveMasters) and pending.effect.standby:
        cluster = standby.ahead(cluster, True)
    draft.touch(cluster.id, afresh=True)
    masters_to.stay(draft, replace(cluster, master=moving.old))
    if silent and draft.pending(Key.SILENT.of(cluster.id)) is None:
        # That they are silent was told while they moved.
        draft.expect(Key.SILENT.of(cluster.id), draft.settings.silent_us)
    for job in draft.busy_of(cluster.id):
        # What was seen of it meanwhile did not count, and is not told again by itself.
        if (begun := draft.pending(Key.JOB.of(job.id))) is not None:
            draft.again(begun)


def given_up(draft: Draft, cluster: ClusterState, moving: MastersMove) -> ClusterState:
    """End a move that was begun and failed: its masters are lost masters again.

    Where nothing was begun on the new node they are where they were, and the copy is as old as it was. Otherwise the
    new node may have taken files since the move began, so a copy from before is as old as it is by now; and if that
    was a move by a copy, they are not in the journal.
    """
    old, since_us = (master_of(cluster), draft.at_us) if moving.written else (moving.old, moving.since_us)
    by_copy = cluster.standby is not None and cluster.standby.node is None
    cluster = standby.given_up(draft, cluster) if moving.written and by_copy else standby.alone(cluster)
    again = MastersMove(cause=MoveCause.LOST, since_us=since_us, old=old, by=moving.by, unreadable=moving.unreadable)
    # A late answer of that move must not be taken for one of the look.
    return replace(cluster, master=old, moving=again, version=cluster.version + 1)


def _elsewhere(draft: Draft, cluster: ClusterState, moving: MastersMove) -> None:
    """Give up a place where masters do not come up: that node is lost, and the masters are looked at as lost ones.

    After a planned move nothing else is tried: the old disk may lack files that the new node has taken, and a third
    node would begin without them.
    """
    to = draft.node(master_of(cluster))
    cluster = given_up(draft, cluster, moving)
    draft.put_cluster(cluster)
    if to.life is NodeLife.SERVING:
        lost_node(draft, to, "the masters did not come up on it")
    masters_to.go_on(draft, cluster)


def journal_answered(
    draft: Draft, cluster: ClusterState, moving: MastersMove, pending: PutPending, event: Done | Failed
) -> None:
    """The NameNode has started again with a journal, or without one after all, or nobody knows."""
    if isinstance(event, Done):
        if isinstance(pending.effect, ArmStandby):
            cluster = journal.begun(draft, cluster, moving, pending.effect.standby)
            standby.arm(draft, cluster)
            jobs.release(draft, cluster.id)
        return
    if backoff.is_told(pending.tries) or event.error not in alerts.text(cluster, ClusterAlert.STANDBY):
        draft.say("journal-not-begun", cluster=cluster.id, error=event.error, tries=pending.tries)
    cluster = alerts.raised(cluster, ClusterAlert.STANDBY, event.error)
    if event.facts.get("alive") is True:
        draft.touch(cluster.id, afresh=True)
        journal.block(draft, cluster)
        masters_to.stay(draft, cluster)
        return
    # It may have taken files until now.
    moving, pending = of_site(replace(moving, failed=True, written=True, since_us=draft.at_us), pending, event)
    cluster = replace(cluster, moving=moving)
    draft.put_cluster(cluster)
    if pending.tries < draft.settings.deploy_attempts or moving.site:
        draft.later(pending)
    else:
        journal_given_up(draft, cluster, moving)


def journal_given_up(draft: Draft, cluster: ClusterState, moving: MastersMove) -> None:
    """Give up after some tries to start the NameNode with a journal: its masters are looked at as lost ones."""
    draft.settle(Key.MASTERS.of(cluster.id))
    journal.block(draft, cluster)
    cluster = given_up(draft, cluster, moving)
    draft.put_cluster(cluster)
    masters_to.go_on(draft, cluster)


def master_of(cluster: ClusterState) -> NodeId:
    """The node of its masters; ValueError while it has none."""
    if cluster.master is None:
        raise ValueError(f"{cluster.id} is {cluster.life} and has no masters")
    return cluster.master
