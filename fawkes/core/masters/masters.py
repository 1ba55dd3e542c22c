"""Place where the masters of an MR-cluster are: when they go to another core node, on which facts, and what that means.

Masters that are lost are waited for first. Others take over only when the old ones are shown not to serve, or when most
nodes that store data have left them; and only from data that lacks little. Anything else waits for an administrator.
Nothing in Hadoop fences a NameNode off: two of them would both take files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fawkes.base.values import replace
from fawkes.core.jobs.displaced import rows
from fawkes.core.masters import copying, journal, masters_begun, masters_to, standby
from fawkes.core.state import backoff
from fawkes.core.state.draft import Draft
from fawkes.core.values.decision import PutPending
from fawkes.core.values.effects import ArmStandby, LookAtMasters, MoveMasters
from fawkes.core.values.events import Done, Failed
from fawkes.core.values.keys import Key, split
from fawkes.core.values.lifecycle import WITH_MASTERS
from fawkes.core.values.model import (
    ClusterId,
    ClusterLife,
    ClusterState,
    Facts,
    MastersMove,
    MoveCause,
    NodeId,
    NodeLife,
    NodeState,
    Reason,
)
from fawkes.core.values.tags import is_copy

#: lives of an MR-cluster in which its masters can go to another node
MOVABLE = WITH_MASTERS - {ClusterLife.DEPLOYING}
#: so many times its first time a look gets at most
_LONGEST_LOOK = 4


def lost(draft: Draft, cluster: ClusterState, *, since_us: int, at_once: bool = False) -> None:
    """The masters are lost since ``since_us``: others take over after a while, ``at_once`` if their data is gone."""
    ready = cluster.standby is not None and cluster.standby.ready
    waits = draft.settings.masters_lost_us
    if not (waits or ready) or cluster.life not in MOVABLE or cluster.master is None:
        return
    # A second NameNode that follows loses nothing by taking over, so that nobody has to wait.
    at_once = at_once or ready
    moving = cluster.moving
    if moving is not None and (moving.begun or not moving.planned):
        if at_once and not moving.begun:
            draft.settle(Key.PATIENCE.of(cluster.id))
            masters_to.go_on(draft, cluster)
        return
    draft.settle(Key.MASTERS.of(cluster.id))
    cluster = replace(cluster, moving=MastersMove(cause=MoveCause.LOST, since_us=since_us, old=cluster.master))
    draft.put_cluster(cluster)
    if at_once:
        masters_to.go_on(draft, cluster)
    else:
        draft.expect(Key.PATIENCE.of(cluster.id), draft.settings.masters_lost_us)


def answer(draft: Draft, cluster: ClusterState) -> None:
    """The masters answer: lost ones are found again, unless others are already taking over."""
    if cluster.standby is not None and cluster.standby.ahead:
        cluster = standby.ahead(cluster, False)
        draft.put_cluster(cluster)
    if cluster.moving is not None and not cluster.moving.planned and not cluster.moving.begun:
        masters_to.stay(draft, cluster)
    elif cluster.moving is None:
        masters_to.count_anew(draft, cluster)


def why_away(cluster: ClusterState) -> Reason | None:
    """The reason why nothing can be asked of the masters, or done with them; None when they are in place."""
    moving = cluster.moving
    if moving is None or moving.gives_way:
        return None
    code = "masters-lost" if moving.cause is MoveCause.LOST and not moving.begun else "masters-moving"
    return Reason(code, {"cluster": cluster.id, "cause": moving.cause})


def forget(draft: Draft, cluster: ClusterState) -> ClusterState:
    """The MR-cluster ends: its masters go nowhere any more."""
    for key in (Key.MASTERS, Key.PATIENCE, Key.COPY, Key.STANDBY):
        draft.settle(key.of(cluster.id))
    return replace(cluster, moving=None)


def advance(draft: Draft) -> None:
    """Follow what changed nodes or jobs: masters leave a node that is kept out, and go where they now can."""
    of_jobs = {job.cluster for job in draft.changed_jobs().values()}
    for name in sorted(draft.changed_clusters() | standby.owners(draft) | of_jobs):
        cluster = draft.cluster(name)
        if cluster is None or cluster.life not in MOVABLE or cluster.master is None:
            continue
        master, moving = draft.node(cluster.master), cluster.moving
        if moving is not None and moving.gives_way and not journal.possible(draft, cluster):
            masters_to.stay(draft, cluster)
            cluster, moving = draft.cluster(name) or cluster, None
        if moving is None:
            leaves = cluster.active and master.kept_out and master.life is NodeLife.SERVING
            if leaves and masters_to.able(draft, cluster):
                move = MastersMove(cause=MoveCause.LEAVES, since_us=draft.at_us, old=master.node.id)
                cluster = replace(cluster, moving=move)
                draft.say("masters-leave", cluster=cluster.id, node=master.node.id, why=_why_out(master))
                draft.put_cluster(cluster)
                masters_to.go_on(draft, cluster)
            elif journal.due(draft, cluster):
                masters_to.go_on(draft, journal.want(draft, cluster))
        elif moving.cause is MoveCause.LEAVES and not moving.begun and not master.kept_out:
            masters_to.stay(draft, cluster)
        elif not moving.begun and draft.pending(Key.PATIENCE.of(name)) is None:
            masters_to.go_on(draft, cluster)


def _why_out(master: NodeState) -> str:
    return master.keep_out or "no longer in the inventory"


def late(draft: Draft, pending: PutPending) -> None:
    """A deadline that has to do with masters has passed: lost ones have been waited for, for one."""
    kind, name = split(pending.key)
    cluster = draft.cluster(ClusterId(name))
    if kind is Key.MASTERS:
        over_time(draft, pending)
        return
    draft.settle(pending.key)
    if cluster is None or cluster.life not in WITH_MASTERS:
        return
    if kind is Key.PATIENCE:
        masters_to.go_on(draft, cluster)
    elif kind is Key.STANDBY:
        standby.not_whole_for_long(draft, cluster)
        if journal.due(draft, cluster):
            masters_to.go_on(draft, journal.want(draft, cluster))
    else:
        copying.late(draft, cluster)


def retried(draft: Draft, pending: PutPending) -> None:
    """An operator asks for the next try at once, perhaps after a repair of the old masters' disk."""
    cluster = draft.cluster(ClusterId(split(pending.key)[1]))
    if cluster is not None and cluster.moving is not None and not cluster.moving.begun:
        draft.put_cluster(replace(cluster, moving=replace(cluster.moving, unreadable=False)))
    over_time(draft, pending)


def over_time(draft: Draft, pending: PutPending) -> None:
    """The next try: a deed that has begun goes on, a look is taken afresh."""
    draft.settle(pending.key)
    cluster = draft.cluster(ClusterId(split(pending.key)[1]))
    if cluster is None:
        return
    begins = journal.is_under_way(cluster, pending)
    if isinstance(pending.effect, ArmStandby) and not begins:
        standby.over_time(draft, cluster, pending)
    elif cluster.moving is None:
        return
    elif begins and pending.tries >= draft.settings.deploy_attempts and not cluster.moving.site:
        masters_begun.journal_given_up(draft, cluster, cluster.moving)
    elif begins or isinstance(pending.effect, MoveMasters):
        masters_begun.again(draft, pending)
    else:
        _look_again(draft, cluster, pending)


def _look_again(draft: Draft, cluster: ClusterState, pending: PutPending) -> None:
    """The next look, perhaps for another node, with more time."""
    masters_to.go_on(draft, cluster, turn=pending.tries)
    again = draft.pending(pending.key)
    if again is not None and again.effect is not None:
        # A node without power holds each look for a while: with the same time again none might ever end.
        longer_us = draft.settings.membership_us * min(2**pending.tries, _LONGEST_LOOK)
        within_us = max(longer_us, backoff.wait_us(draft.settings, pending.tries + 1))
        draft.expect(again.key, within_us, effect=again.effect, version=again.version, tries=pending.tries + 1)


def answered(draft: Draft, cluster: ClusterState, pending: PutPending, event: Done | Failed) -> None:
    """A look at the masters, or their move, has ended."""
    moving = cluster.moving
    if moving is not None and journal.is_under_way(cluster, pending):
        masters_begun.journal_answered(draft, cluster, moving, pending, event)
    elif isinstance(pending.effect, ArmStandby):
        standby.answered(draft, cluster, pending, pending.effect, event)
        if (current := draft.cluster(cluster.id)) is not None and isinstance(event, Done):
            masters_to.go_on(draft, current)
    elif moving is None:
        draft.settle(pending.key)
    elif isinstance(pending.effect, LookAtMasters):
        _looked(draft, cluster, moving, pending, pending.effect, event)
    elif isinstance(pending.effect, MoveMasters):
        if isinstance(event, Done):
            masters_begun.moved(draft, cluster, moving, pending.effect, event.facts)
        else:
            masters_begun.not_moved(draft, cluster, moving, pending, event)


def hopeless(draft: Draft, cluster: ClusterState, pending: PutPending, event: Done | Failed) -> str:
    """The reason why a loading MR-cluster has no masters to wait for, by the look that has just ended; else empty."""
    moving, effect = cluster.moving, pending.effect
    if moving is None or not isinstance(effect, LookAtMasters) or not isinstance(event, Done):
        return ""
    if not never_copied(draft, cluster, moving, effect, event.facts):
        return ""
    return "its masters lost their disk before anything was copied, so its HDFS is gone. Request it again"


def _looked(
    draft: Draft,
    cluster: ClusterState,
    moving: MastersMove,
    pending: PutPending,
    effect: LookAtMasters,
    event: Done | Failed,
) -> None:
    if isinstance(event, Failed):
        why = event.error
    elif event.facts.get("old") == "answers" and not moving.planned:
        draft.say("masters-answer", cluster=cluster.id)
        masters_to.stay(draft, cluster)
        return
    elif moving.planned and not moving.now and cluster.standby is None and (applications := at_work(event.facts)):
        why = f"waits for applications that users run: {', '.join(applications)}"
    else:
        why = objection(draft, cluster, moving, effect, event.facts)
    if not why and moving.cause is MoveCause.JOURNAL:
        journal.begin(draft, cluster, moving)
        return
    if not why:
        masters_begun.begin(draft, cluster, moving, effect, event.facts)
        return
    # Applications that ended with former masters are listed for some seconds more.
    tried = pending.tries >= draft.settings.deploy_attempts
    if moving.gives_way and tried and journal.give_way(draft, cluster):
        masters_to.stay(draft, cluster)
        return
    if not moving.planned:
        masters_to.hold(draft, cluster, why)
    elif pending.tries <= 1 and (not moving.now or "no_login" in event.facts):
        code = "journal-waits" if moving.cause is MoveCause.JOURNAL else "masters-wait"
        draft.say(code, cluster=cluster.id, error=why)
    draft.later(pending)


# --- The judgement if masters may go to another node, on the facts of a look at them (`effects.LookAtMasters`)


#: how the old masters were seen when they cannot serve any more once they are stopped
_STOPPABLE = frozenset({"stopped", "runs"})
_NOT_KNOWN = "it is not known whether they still run"
_NAMED = 5


def at_work(facts: Facts) -> list[str]:
    """The applications that hold a planned move, by id; those that copy data for Fawkes do not."""
    rows = facts.get("applications")
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        return ["which ones is not known"]
    return [str(row.get("id") if isinstance(row, Mapping) else row) for row in rows if not is_copy(row)][:_NAMED]


def objection(draft: Draft, cluster: ClusterState, moving: MastersMove, effect: LookAtMasters, facts: Facts) -> str:
    """The reason why the masters must not be moved on these facts; empty when they may.

    A second NameNode that follows has everything, and shuts the old one out of the journal, stopped or not. It is
    waited for before anything else is tried.

    Stopped masters whose disk is there lose nothing. A copy may lack the last moments before they were silent, and
    masters that nobody can stop have lost their MR-cluster only when most nodes that store data are reached.
    """
    old = facts.get("old")
    if old == "unknown":
        return _NOT_KNOWN
    follows = standby.may_take_over(cluster, effect.to, facts)
    if moving.planned:
        if old != "answers" or "no_login" in facts:
            return str(facts.get("no_login", "its masters do not answer"))
        if moving.cause is MoveCause.JOURNAL:
            return journal.objection(draft, cluster, facts)
        return "" if follows or cluster.standby is None else "its second NameNode cannot take over"
    if follows and moving.cause is not MoveCause.RESTORE:
        return ""
    if cluster.standby is not None and moving.cause is not MoveCause.RESTORE and not _waited(draft, moving):
        return "its second NameNode cannot take over yet"
    if moving.cause is not MoveCause.RESTORE and (heir := _heir(draft, cluster, effect)):
        return f"its second NameNode on {heir} follows, and is waited for"
    if old not in _STOPPABLE and old != "silent":
        return _NOT_KNOWN
    if old in _STOPPABLE and facts.get("image") is True and not moving.unreadable:
        return _why_not_of_disk(draft, cluster, moving, facts)
    return _why_no_copy(draft, cluster, moving, facts)


def _why_not_of_disk(draft: Draft, cluster: ClusterState, moving: MastersMove, facts: Facts) -> str:
    """The reason why stopped masters must not be moved with what is on their disk; empty when they may."""
    if not standby.is_ahead(cluster):
        return ""
    if moving.cause is not MoveCause.RESTORE and standby.journal_answers(cluster, facts):
        return f"they can read the journal, and are waited for. Without them: `fawkes restore {cluster.id}`"
    return _why_no_copy(draft, cluster, moving, facts)


def _heir(draft: Draft, cluster: ClusterState, effect: LookAtMasters) -> NodeId | None:
    """The node of a second NameNode that follows, as far as is known, and that this was no look at; else None.

    It has everything. A look at it that did not end says nothing of it.
    """
    second = cluster.standby
    if second is None or not second.ready or second.node in (None, effect.to):
        return None
    fit = [n.node.id for n in draft.nodes_of(cluster.id) if n.life is NodeLife.SERVING and not n.kept_out]
    return second.node if second.node in fit else None


def never_copied(draft: Draft, cluster: ClusterState, moving: MastersMove, effect: LookAtMasters, facts: Facts) -> bool:
    """True if what lost masters knew is nowhere: their disk is seen to be empty, nothing was copied, and it is loading.

    What users wrote meanwhile cannot come back by waiting. A disk that may come back is waited for.
    """
    empty = facts.get("old") in _STOPPABLE and facts.get("image") is False
    loads = cluster.life is ClusterLife.LOADING and moving.cause is MoveCause.LOST
    return empty and loads and objection(draft, cluster, moving, effect, facts) == _no_copy(cluster, moving)


def _no_copy(cluster: ClusterState, moving: MastersMove) -> str:
    return f"there is no copy of their data. {masters_to.if_gone(cluster, moving.old)}"


def _why_no_copy(draft: Draft, cluster: ClusterState, moving: MastersMove, facts: Facts) -> str:
    """The reason why a copy of what they knew must not be taken; empty when it may."""
    copied_us = facts.get("copied_us")
    if not isinstance(copied_us, int):
        return _no_copy(cluster, moving)
    if moving.cause is MoveCause.RESTORE:
        return ""
    gap_us = moving.since_us - copied_us
    if gap_us > draft.settings.copy_gap_us:
        seconds = gap_us // 1_000_000
        return f"the copy of their data is {seconds} s older than their last answer: `fawkes restore {cluster.id}`"
    if facts.get("old") == "silent" and not _most_reached(draft, cluster, moving, facts):
        return (
            "their node does not answer, nor do most of the others that store data: they may still serve these. "
            f"If they do not: `fawkes restore {cluster.id}`"
        )
    return ""


def _waited(draft: Draft, moving: MastersMove) -> bool:
    """True if masters were lost for as long as they are waited for: a second NameNode may be about to follow.

    What it has is more than a copy has, and the copy ends the journal.
    """
    patience_us = draft.settings.masters_lost_us
    return bool(patience_us) and draft.at_us - moving.since_us - moving.uncounted_us >= patience_us


def _most_reached(draft: Draft, cluster: ClusterState, moving: MastersMove, facts: Facts) -> bool:
    reached = rows(facts, "reached")
    others = [n.node.id for n in draft.nodes_of(cluster.id) if n.stores and n.node.id != moving.old]
    return 2 * sum(name in reached for name in others) > len(others)
