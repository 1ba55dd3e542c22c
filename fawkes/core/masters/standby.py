"""The second NameNode of an MR-cluster and its journal: where they are, and whether they can take over.

What the NameNode has acknowledged is on most nodes of the journal, and who takes over shuts the one before out of it.
So a takeover needs no proof about the old masters and no copy: only that the second NameNode follows, and that most of
the journal answers.
"""

from __future__ import annotations

from collections.abc import Sequence

from fawkes.base.values import replace
from fawkes.core.jobs.displaced import rows
from fawkes.core.state import alerts, backoff
from fawkes.core.state.draft import Draft
from fawkes.core.values.decision import PutPending
from fawkes.core.values.effects import ArmStandby
from fawkes.core.values.events import Done, Failed, StandbySeen
from fawkes.core.values.keys import Key
from fawkes.core.values.model import (
    JOURNAL_NODES,
    ClusterAlert,
    ClusterId,
    ClusterLife,
    ClusterSpec,
    ClusterState,
    Facts,
    NodeId,
    NodeLife,
    NodeState,
    Promise,
    Role,
    Standby,
)

#: nodes of a journal
JOURNAL = JOURNAL_NODES
#: lives of an MR-cluster in which its second NameNode is looked after
_KEPT_UP = frozenset({ClusterLife.LOADING, ClusterLife.RUNNING, ClusterLife.SAVING})
#: what a NameNode says that may take over; one that is active was made so by an earlier try
_FOLLOWS = frozenset({"standby", "active"})


def of_new(spec: ClusterSpec, chosen: Sequence[NodeId]) -> Standby | None:
    """The journal and the second NameNode on the core nodes of a new MR-cluster, its masters' node first."""
    if spec.masters is not Promise.STANDBY or len(chosen) < JOURNAL:
        return None
    return Standby(journal=tuple(sorted(chosen[:JOURNAL])), node=chosen[1])


def instead(standby: Standby | None, node: NodeId, other: NodeId) -> Standby | None:
    """Another node in the place of one that could not be deployed on."""
    if standby is None or node not in standby.journal:
        return standby
    journal = tuple(sorted(other if name == node else name for name in standby.journal))
    return replace(standby, journal=journal, node=other if standby.node == node else standby.node)


def holds(cluster: ClusterState, node: NodeId, under_way: PutPending | None = None) -> bool:
    """True if a node is part of the journal: it leaves the journal before it leaves the MR-cluster.

    One that is getting its part is held as well; ``under_way`` is what is pending for the masters.
    """
    effect = None if under_way is None else under_way.effect
    coming = effect.standby.journal if isinstance(effect, ArmStandby) else ()
    return node in coming or (cluster.standby is not None and node in cluster.standby.journal)


def may_take_over(cluster: ClusterState, to: NodeId, facts: Facts) -> bool:
    """True if the second NameNode on ``to`` can become active, by facts of right now."""
    standby = cluster.standby
    if standby is None or standby.node != to or facts.get("standby") not in _FOLLOWS:
        return False
    return journal_answers(cluster, facts)


def journal_answers(cluster: ClusterState, facts: Facts) -> bool:
    """True if most of the journal answers, by facts of right now: then it has all that was acknowledged."""
    journal, answering = () if cluster.standby is None else cluster.standby.journal, rows(facts, "journal")
    return 2 * sum(node in answering for node in journal) > len(journal)


def alone(cluster: ClusterState) -> ClusterState:
    """There is no second NameNode until it is armed: it has become the first one, or masters come back from a copy."""
    if cluster.standby is None:
        return cluster
    return replace(cluster, standby=replace(cluster.standby, node=None, ready=False))


def ahead(cluster: ClusterState, ahead: bool) -> ClusterState:
    """Notes if the journal may have more than the disk of the masters; once they answer they have read it."""
    if cluster.standby is None or cluster.standby.ahead == ahead:
        return cluster
    return replace(cluster, standby=replace(cluster.standby, ahead=ahead))


def is_ahead(cluster: ClusterState) -> bool:
    """True if the disk of the masters may lack what the other NameNode has written."""
    return cluster.standby is not None and cluster.standby.ahead


def given_up(draft: Draft, cluster: ClusterState) -> ClusterState:
    """Masters may have taken files after they came back from a copy: what the journal has is another history, and is
    not followed any more. Until then it is that of the old masters, which may answer after all.
    """
    if cluster.standby is None:
        return cluster
    draft.settle(Key.STANDBY.of(cluster.id))
    draft.say("standby-given-up", cluster=cluster.id, journal=cluster.standby.journal)
    return replace(alerts.ended(cluster, ClusterAlert.STANDBY), standby=None)


def seen(draft: Draft, event: StandbySeen) -> None:
    """The standing of the second NameNode and its journal has changed."""
    cluster = draft.cluster(event.cluster)
    if cluster is None or cluster.standby is None or cluster.life not in _KEPT_UP or event.node != cluster.standby.node:
        return
    if event.ready != cluster.standby.ready:
        code = "standby-ready" if event.ready else "standby-unready"
        draft.say(code, cluster=cluster.id, node=event.node, error=event.error)
        cluster = replace(cluster, standby=replace(cluster.standby, ready=event.ready))
        draft.put_cluster(cluster)
    key = Key.STANDBY.of(cluster.id)
    if not event.error:
        draft.settle(key)
        if alerts.about(cluster, ClusterAlert.STANDBY):
            draft.put_cluster(alerts.ended(cluster, ClusterAlert.STANDBY))
        return
    if alerts.about(cluster, ClusterAlert.STANDBY):
        draft.put_cluster(alerts.raised(cluster, ClusterAlert.STANDBY, event.error))
    pending = draft.pending(Key.MASTERS.of(cluster.id))
    if pending is None or not isinstance(pending.effect, ArmStandby):
        # What is being brought up is told at its end; what is seen while masters are away must not be forgotten.
        _wait(draft, cluster)


def not_whole_for_long(draft: Draft, cluster: ClusterState) -> None:
    """Something was away for too long: it is brought up again, on another node where its own is lost."""
    if cluster.standby is None or cluster.life not in _KEPT_UP:
        return
    if cluster.moving is not None and cluster.moving.begun:
        # The move itself takes it away; how it stands counts once that has ended.
        _look_again(draft, cluster)
        return
    if not alerts.about(cluster, ClusterAlert.STANDBY):
        why = f"not whole for {draft.settings.standby_us // 1_000_000} s"
        cluster = alerts.raised(cluster, ClusterAlert.STANDBY, why)
        draft.put_cluster(cluster)
    if not arm(draft, cluster, afresh=True):
        _look_again(draft, cluster)


def _look_again(draft: Draft, cluster: ClusterState) -> None:
    """Nothing can be done now; a node that comes back is not told as news of the second NameNode."""
    again_us = max(draft.settings.standby_us, draft.settings.retry_max_us)
    draft.expect(Key.STANDBY.of(cluster.id), again_us)


def advance(draft: Draft) -> None:
    """Follow what changed nodes: nodes that go out of service leave the journal; one without a second
    NameNode gets one."""
    for name in sorted(draft.changed_clusters() | owners(draft)):
        cluster = draft.cluster(name)
        if cluster is None or cluster.standby is None or cluster.life not in _KEPT_UP or arm(draft, cluster):
            continue
        if not (cluster.standby.ready or _under_way(draft, cluster)):
            _wait(draft, cluster)


def _wait(draft: Draft, cluster: ClusterState) -> None:
    """Somebody must tell that it is ready: what was told while masters were away, or of another node, is history."""
    if draft.settings.standby_us and draft.pending(Key.STANDBY.of(cluster.id)) is None:
        draft.expect(Key.STANDBY.of(cluster.id), draft.settings.standby_us)


def owners(draft: Draft) -> set[ClusterId]:
    """The MR-clusters of core nodes that have changed."""
    return {n.owner for n in draft.changed_nodes().values() if n.owner is not None and n.role is Role.CORE}


def arm(draft: Draft, cluster: ClusterState, *, node: NodeId | None = None, afresh: bool = False) -> bool:
    """Bring up what should be there, ``afresh`` what may be away: the second NameNode on ``node`` if that can be.

    False when nothing has begun: all is as it should be, something else is under way, or nothing can be done.
    """
    standby = cluster.standby
    if standby is None or cluster.master is None or _under_way(draft, cluster):
        return False
    wanted = _wanted(draft, cluster, standby, node, afresh=afresh)
    if wanted.node is None or (wanted == standby and (not afresh or _waits_for_lost(draft, standby))):
        return False
    draft.settle(Key.STANDBY.of(cluster.id))
    draft.say("standby-arm", cluster=cluster.id, node=wanted.node, journal=wanted.journal, before=standby.journal)
    if (wanted.node, wanted.journal) != (standby.node, standby.journal):
        cluster = replace(cluster, standby=_meanwhile(standby, wanted), version=cluster.version + 1)
    else:
        cluster = replace(cluster, version=cluster.version + 1)
    draft.put_cluster(cluster)
    _act(draft, cluster, wanted, tries=1)
    return True


def _meanwhile(standby: Standby, wanted: Standby) -> Standby:
    """The standby until ``wanted`` is reached: a node that is still to get its part of the journal has nothing yet."""
    return replace(standby, node=wanted.node if wanted.node in standby.journal else None, ready=False)


def _waits_for_lost(draft: Draft, standby: Standby) -> bool:
    """True if the second NameNode is ready, and what is away is on lost nodes: nothing can be brought up there."""
    return standby.ready and any(draft.node(name).life is NodeLife.LOST for name in standby.journal)


def _act(draft: Draft, cluster: ClusterState, wanted: Standby, *, tries: int) -> None:
    if cluster.master is None or cluster.standby is None:
        return
    journal, follow_us = cluster.standby.journal, draft.settings.follow_us
    effect = ArmStandby(cluster.id, cluster.version, cluster.master, wanted, journal, follow_us)
    draft.act(effect, within_us=draft.settings.deploy_us, version=cluster.version, tries=tries)


def _under_way(draft: Draft, cluster: ClusterState) -> bool:
    """True if masters are lost or being moved, or looked at, or the second NameNode is being armed."""
    moving = cluster.moving
    elsewhere = moving is not None and (moving.begun or not moving.planned)
    return elsewhere or draft.pending(Key.MASTERS.of(cluster.id)) is not None


def _wanted(draft: Draft, cluster: ClusterState, standby: Standby, node: NodeId | None, *, afresh: bool) -> Standby:
    """The place where journal and second NameNode should be, by the nodes that serve now.

    At most one node of the journal is replaced at a time, and only while most of the others serve. One that is lost is
    replaced only ``afresh``, when that has lasted.
    """
    states = {state.node.id: state for state in draft.nodes_of(cluster.id) if state.role is Role.CORE}
    journal = list(standby.journal)
    serving = [name for name in journal if _serves(states.get(name))]
    leaving = [n for n in journal if n != cluster.master and _should_go(states.get(n), afresh=afresh)]
    others = sorted(n for n, state in states.items() if n not in journal and _serves(state) and not state.kept_out)
    if leaving and others and 2 * len(set(serving) - {leaving[0]}) > len(journal):
        journal[journal.index(leaving[0])] = others[0]
    fit = [n for n in sorted(journal) if n != cluster.master and _serves(states.get(n))]
    stays = [n for n in fit if not states[n].kept_out]
    first = [n for n in (node, standby.node) if n is not None and n in stays]
    heir = next(iter([*first, *stays, *fit]), None)
    return Standby(journal=tuple(sorted(journal)), node=heir, ready=standby.ready, ahead=standby.ahead)


def _serves(state: NodeState | None) -> bool:
    return state is not None and state.life is NodeLife.SERVING


def _should_go(state: NodeState | None, *, afresh: bool) -> bool:
    """True if a node of the journal should not be in it any more."""
    if state is None or (state.kept_out and state.life is NodeLife.SERVING):
        return True
    return afresh and state.life is NodeLife.LOST


def answered(
    draft: Draft, cluster: ClusterState, pending: PutPending, effect: ArmStandby, event: Done | Failed
) -> None:
    """The second NameNode follows the journal, or could not be brought up yet."""
    standby = cluster.standby
    if standby is None:
        draft.settle(pending.key)
    elif isinstance(event, Done):
        draft.settle(pending.key)
        draft.settle(Key.STANDBY.of(cluster.id))
        draft.say("standby-armed", cluster=cluster.id, node=effect.standby.node, journal=effect.standby.journal)
        cluster = alerts.ended(
            replace(cluster, standby=replace(effect.standby, ready=True, ahead=standby.ahead)), ClusterAlert.STANDBY
        )
        draft.put_cluster(cluster)
        draft.touch(cluster.id, afresh=True)
        if not set(effect.standby.journal) <= set(map(str, rows(event.facts, "journal"))):
            _look_again(draft, cluster)
    else:
        if backoff.is_told(pending.tries) or event.error not in alerts.text(cluster, ClusterAlert.STANDBY):
            draft.say("standby-not-armed", cluster=cluster.id, error=event.error, tries=pending.tries)
        draft.put_cluster(alerts.raised(cluster, ClusterAlert.STANDBY, event.error))
        draft.later(pending)


def over_time(draft: Draft, cluster: ClusterState, pending: PutPending) -> None:
    """The next try, with the nodes that serve by now; its key is free again."""
    standby = cluster.standby
    if standby is None or cluster.life not in _KEPT_UP or cluster.master is None:
        return
    wanted = _wanted(draft, cluster, standby, None, afresh=True)
    if wanted.node is None:
        # Nobody can have it: the next node that serves begins it again.
        draft.put_cluster(replace(cluster, standby=replace(standby, node=None, ready=False)))
        return
    if wanted.node != standby.node:
        cluster = replace(cluster, standby=_meanwhile(standby, wanted))
    cluster = replace(cluster, version=cluster.version + 1)
    draft.put_cluster(cluster)
    draft.say_again(pending.key, pending.tries + 1)
    _act(draft, cluster, wanted, tries=pending.tries + 1)
