"""Where the masters of an MR-cluster are: when they go to another core node, on which facts, and what that means.

Masters that are lost are waited for first. Others take over only when the old ones are shown not to serve, or when most
nodes that store data have left them; and only from data that lacks little. Anything else waits for an administrator.
Nothing in Hadoop fences a NameNode off: two of them would both take files.
"""

from __future__ import annotations

from dataclasses import replace

from fawkes.core import alerts, backoff, copying, displaced, jobs, journal, lost_writes, masters_look, standby
from fawkes.core.alerts import Kind
from fawkes.core.decision import PutPending
from fawkes.core.draft import Draft
from fawkes.core.effects import ArmStandby, LookAtMasters, MoveMasters
from fawkes.core.events import Done, Failed
from fawkes.core.keys import Key, split
from fawkes.core.lifecycle import WITH_MASTERS
from fawkes.core.model import (
    ClusterId,
    ClusterLife,
    ClusterState,
    Facts,
    JobState,
    MastersMove,
    MoveCause,
    NodeId,
    NodeLife,
    NodeState,
    Role,
    Standby,
)
from fawkes.core.moves import lost as lost_node

#: lives of an MR-cluster in which its masters can go to another node
MOVABLE = WITH_MASTERS - {ClusterLife.DEPLOYING}
#: names of files and applications in a reason
_NAMED = 5
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
            go_on(draft, cluster)
        return
    draft.settle(Key.MASTERS.of(cluster.id))
    cluster = replace(cluster, moving=MastersMove(cause=MoveCause.LOST, since_us=since_us, old=cluster.master))
    draft.put_cluster(cluster)
    if at_once:
        go_on(draft, cluster)
    else:
        draft.expect(Key.PATIENCE.of(cluster.id), draft.settings.masters_lost_us)


def answer(draft: Draft, cluster: ClusterState) -> None:
    """The masters answer: lost ones are found again, unless others are already taking over."""
    if cluster.moving is not None and not cluster.moving.planned and not cluster.moving.begun:
        _stay(draft, cluster)


def _stay(draft: Draft, cluster: ClusterState) -> None:
    for key in (Key.MASTERS, Key.PATIENCE):
        draft.settle(key.of(cluster.id))
    draft.put_cluster(replace(alerts.ended(cluster, Kind.MASTERS), moving=None))
    jobs.release(draft, cluster.id)


def forget(draft: Draft, cluster: ClusterState) -> ClusterState:
    """The MR-cluster ends: its masters go nowhere any more."""
    for key in (Key.MASTERS, Key.PATIENCE, Key.COPY, Key.STANDBY):
        draft.settle(key.of(cluster.id))
    return replace(cluster, moving=None)


def advance(draft: Draft) -> None:
    """After anything that changed nodes or jobs: masters leave a node that is kept out, and go where they now can."""
    of_jobs = {job.cluster for job in draft.changed_jobs().values()}
    for name in sorted(draft.changed_clusters() | standby.owners(draft) | of_jobs):
        cluster = draft.cluster(name)
        if cluster is None or cluster.life not in MOVABLE or cluster.master is None:
            continue
        master, moving = draft.node(cluster.master), cluster.moving
        if moving is not None and moving.gives_way and not journal.possible(draft, cluster):
            _stay(draft, cluster)
            cluster, moving = draft.cluster(name) or cluster, None
        if moving is None:
            leaves = cluster.active and master.kept_out and master.life is NodeLife.SERVING
            if leaves and able(draft, cluster):
                move = MastersMove(cause=MoveCause.LEAVES, since_us=draft.at_us, old=master.node.id)
                cluster = replace(cluster, moving=move)
                draft.say("masters-leave", cluster=cluster.id, node=master.node.id, why=_why_out(master))
                draft.put_cluster(cluster)
                go_on(draft, cluster)
            elif journal.due(draft, cluster):
                go_on(draft, journal.want(draft, cluster))
        elif moving.cause is MoveCause.LEAVES and not moving.begun and not master.kept_out:
            _stay(draft, cluster)
        elif not moving.begun and draft.pending(Key.PATIENCE.of(name)) is None:
            go_on(draft, cluster)


def _why_out(master: NodeState) -> str:
    return master.keep_out or "no longer in the inventory"


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
            _hold(draft, cluster, "no other core node of it is in service")
        elif moving.to is not None:
            # No job begins meanwhile, and nobody knows for how long.
            draft.say("masters-stay", cluster=cluster.id, node=moving.to)
            _stay(draft, cluster)
        return
    if moving.planned and cluster.standby is not None and not _prepared(draft, cluster, cluster.standby, to):
        return
    effect = LookAtMasters(cluster.id, cluster.version, moving.old, to)
    draft.act(effect, within_us=draft.settings.membership_us, version=cluster.version)


def holds(cluster: ClusterState, job: JobState) -> bool:
    """Whether a planned move waits for a job: where a second NameNode takes over, applications go on."""
    return cluster.standby is None or job.own or not job.application


def _prepared(draft: Draft, cluster: ClusterState, heir: Standby, to: NodeId) -> bool:
    """Whether the node that the masters are to go to has the second NameNode; else that one is brought there first."""
    if heir.node == to:
        return heir.ready
    standby.arm(draft, cluster, node=to)
    return False


def _target(draft: Draft, cluster: ClusterState, moving: MastersMove, turn: int) -> NodeId | None:
    """Where the masters go: where somebody wants them, else to the second NameNode, else to the second copy."""
    if moving.cause is MoveCause.JOURNAL:
        return cluster.master
    fit = [state.node.id for state in able(draft, cluster, restore=moving.cause is MoveCause.RESTORE)]
    if moving.cause is not MoveCause.LOST and moving.to is not None:
        return moving.to if moving.to in fit else None
    second = None if cluster.standby is None else cluster.standby.node
    fit.sort(key=lambda node: (node != second, node != moving.to))
    return fit[turn % len(fit)] if fit else None


def able(draft: Draft, cluster: ClusterState, *, restore: bool = False) -> list[NodeState]:
    """The nodes that can take the masters, best first; a restore may use the node that lost its disk."""
    core = [n for n in draft.nodes_of(cluster.id) if n.role is Role.CORE and not n.kept_out]
    others = [n for n in core if n.life is NodeLife.SERVING and n.node.id != cluster.master]
    if cluster.standby is not None:
        heir, journal = cluster.standby.node, cluster.standby.journal
        others = sorted(others, key=lambda n: (n.node.id != heir, n.node.id not in journal))
    own = [n for n in core if restore and n.node.id == cluster.master]
    return others + own


def _hold(draft: Draft, cluster: ClusterState, why: str) -> None:
    """The masters stay where they are until something changes; said again when the reason has."""
    alert = alerts.text(Kind.MASTERS, why)
    if cluster.alert != alert:
        draft.put_cluster(replace(cluster, alert=alert))
        draft.say("masters-held", cluster=cluster.id, error=why)


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
        go_on(draft, cluster)
    elif kind is Key.STANDBY:
        standby.not_whole_for_long(draft, cluster)
        if journal.due(draft, cluster):
            go_on(draft, journal.want(draft, cluster))
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
    if cluster is not None and journal.is_under_way(cluster, pending):
        _journal_again(draft, cluster, _moving(cluster), pending, wait_us=0)
        return
    if cluster is not None and isinstance(pending.effect, ArmStandby):
        standby.over_time(draft, cluster, pending)
        return
    if cluster is None or cluster.moving is None:
        return
    if isinstance(pending.effect, MoveMasters):
        draft.say("asked-again", effect=pending.key, tries=pending.tries + 1)
        _act(draft, pending.effect, pending.tries + 1)
        return
    go_on(draft, cluster, turn=pending.tries)
    again = draft.pending(pending.key)
    if again is not None and again.effect is not None:
        # A node without power holds each look for a while: with the same time again none might ever end.
        longer_us = draft.settings.membership_us * min(2**pending.tries, _LONGEST_LOOK)
        within_us = max(longer_us, backoff.wait_us(draft.settings, pending.tries + 1))
        draft.expect(again.key, within_us, effect=again.effect, version=again.version, tries=pending.tries + 1)


def _act(draft: Draft, effect: MoveMasters, tries: int) -> None:
    draft.act(effect, within_us=draft.settings.deploy_us, version=effect.version, tries=tries)


def answered(draft: Draft, cluster: ClusterState, pending: PutPending, event: Done | Failed) -> None:
    """A look at the masters, or their move, has ended."""
    moving = cluster.moving
    if moving is not None and journal.is_under_way(cluster, pending):
        _journal_answered(draft, cluster, moving, pending, event)
    elif isinstance(pending.effect, ArmStandby):
        standby.answered(draft, cluster, pending, pending.effect, event)
        if (found := draft.cluster(cluster.id)) is not None and isinstance(event, Done):
            go_on(draft, found)
    elif moving is None:
        draft.settle(pending.key)
    elif isinstance(pending.effect, LookAtMasters):
        _looked(draft, cluster, moving, pending, pending.effect, event)
    elif isinstance(pending.effect, MoveMasters):
        if isinstance(event, Done):
            _moved(draft, cluster, moving, pending.effect, event.facts)
        else:
            _not_moved(draft, cluster, moving, pending, event)


def hopeless(draft: Draft, cluster: ClusterState, pending: PutPending, event: Done | Failed) -> str:
    """Why an MR-cluster that is loading has no masters to wait for, by the look that has just ended; else empty."""
    moving, effect = cluster.moving, pending.effect
    if moving is None or not isinstance(effect, LookAtMasters) or not isinstance(event, Done):
        return ""
    if not masters_look.never_copied(draft, cluster, moving, effect, event.facts):
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
        _stay(draft, cluster)
        return
    elif moving.planned and not moving.now and cluster.standby is None and (found := masters_look.at_work(event.facts)):
        why = f"waits for applications that users run: {', '.join(found)}"
    else:
        why = masters_look.objection(draft, cluster, moving, effect, event.facts)
    if not why and moving.cause is MoveCause.JOURNAL:
        journal.begin(draft, cluster, moving)
        return
    if not why:
        _begin(draft, cluster, moving, effect, event.facts)
        return
    # Applications that ended with former masters are listed for some seconds more.
    tried = pending.tries >= draft.settings.deploy_attempts
    if moving.gives_way and tried and journal.give_way(draft, cluster):
        _stay(draft, cluster)
        return
    if not moving.planned:
        _hold(draft, cluster, why)
    elif not (pending.tries > 1 or moving.now):
        code = "journal-waits" if moving.cause is MoveCause.JOURNAL else "masters-wait"
        draft.say(code, cluster=cluster.id, error=why)
    draft.expect(
        pending.key,
        backoff.wait_us(draft.settings, pending.tries),
        effect=pending.effect,
        version=pending.version,
        tries=pending.tries,
    )


def _begin(draft: Draft, cluster: ClusterState, moving: MastersMove, effect: LookAtMasters, facts: Facts) -> None:
    """From now on the masters are those on the new node, for everybody who asks the ledger."""
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
    cluster = replace(cluster, master=effect.to, moving=moving, version=version)
    draft.put_cluster(alerts.ended(alerts.ended(cluster, Kind.MASTERS), Kind.SILENT))
    follow_us, rejoin_us = draft.settings.follow_us, draft.settings.rejoin_us
    unreadable, planned = moving.unreadable, moving.planned
    deed = MoveMasters(
        cluster.id, version, effect.old, effect.to, planned, by_standby, unreadable, follow_us, rejoin_us
    )
    _act(draft, deed, 1)


def _not_moved(draft: Draft, cluster: ClusterState, moving: MastersMove, pending: PutPending, event: Failed) -> None:
    """The old masters answer after all, or the move is tried again; after some tries on another node."""
    draft.say("not-reached", cluster=cluster.id, stage="masters", error=event.error, tries=pending.tries)
    if event.facts.get("alive") is True:
        draft.touch(cluster.id, afresh=True)
        _stay(draft, replace(cluster, master=moving.old))
        if event.facts.get("silent") is True and draft.pending(Key.SILENT.of(cluster.id)) is None:
            # They may have been stopped for the new ones. That they are silent was told while they moved.
            draft.expect(Key.SILENT.of(cluster.id), draft.settings.silent_us)
        for job in draft.busy_of(cluster.id):
            # What was seen of it meanwhile did not count, and is not told again by itself.
            if (begun := draft.pending(Key.JOB.of(job.id))) is not None:
                draft.again(begun)
        return
    unreadable = event.facts.get("unreadable") is True
    moving = replace(
        moving,
        failed=True,
        written=moving.written or event.facts.get("untouched") is not True,
        unreadable=moving.unreadable or unreadable,
    )
    cluster = replace(cluster, moving=moving, alert=alerts.text(Kind.MASTERS, event.error))
    draft.put_cluster(cluster)
    if pending.tries >= draft.settings.deploy_attempts and not moving.planned:
        if unreadable and not moving.written:
            draft.settle(pending.key)
            cluster = given_up(draft, cluster, moving)
            draft.put_cluster(cluster)
            go_on(draft, cluster)
            return
        if able(draft, cluster):
            draft.settle(pending.key)
            _elsewhere(draft, cluster, moving)
            return
    wait_us = backoff.wait_us(draft.settings, pending.tries)
    draft.expect(pending.key, wait_us, effect=pending.effect, version=pending.version, tries=pending.tries)


def _journal_answered(
    draft: Draft, cluster: ClusterState, moving: MastersMove, pending: PutPending, event: Done | Failed
) -> None:
    """The NameNode has started again with a journal, or without one after all, or nobody knows."""
    if isinstance(event, Done) and isinstance(pending.effect, ArmStandby):
        cluster = journal.begun(draft, cluster, moving, pending.effect.standby)
        standby.arm(draft, cluster)
        jobs.release(draft, cluster.id)
    elif isinstance(event, Failed):
        draft.say("journal-not-begun", cluster=cluster.id, error=event.error, tries=pending.tries)
        if not cluster.alert:
            cluster = replace(cluster, alert=alerts.text(Kind.STANDBY, event.error))
        if event.facts.get("alive") is True:
            draft.touch(cluster.id, afresh=True)
            journal.block(draft, cluster)
            _stay(draft, cluster)
        else:
            # It may have taken files until now.
            moving = replace(moving, failed=True, written=True, since_us=draft.at_us)
            cluster = replace(cluster, moving=moving)
            draft.put_cluster(cluster)
            wait_us = backoff.wait_us(draft.settings, pending.tries)
            _journal_again(draft, cluster, moving, pending, wait_us=wait_us)


def _journal_again(
    draft: Draft, cluster: ClusterState, moving: MastersMove, pending: PutPending, *, wait_us: int
) -> None:
    """The next try to start the NameNode with a journal; after some tries its masters are looked at as lost ones."""
    if pending.tries < draft.settings.deploy_attempts and wait_us:
        draft.expect(pending.key, wait_us, effect=pending.effect, version=pending.version, tries=pending.tries)
    elif pending.tries < draft.settings.deploy_attempts and pending.effect is not None:
        draft.say("asked-again", effect=pending.key, tries=pending.tries + 1)
        tries = pending.tries + 1
        draft.act(pending.effect, within_us=draft.settings.deploy_us, version=pending.version, tries=tries)
    else:
        draft.settle(pending.key)
        journal.block(draft, cluster)
        cluster = given_up(draft, cluster, moving)
        draft.put_cluster(cluster)
        go_on(draft, cluster)


def given_up(draft: Draft, cluster: ClusterState, moving: MastersMove) -> ClusterState:
    """After a move that was begun and failed: its masters are lost masters again.

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
    """Where the masters should be they do not come up: that node is lost, and the masters are looked at as lost ones.

    After a planned move nothing else is tried: the old disk may lack files that the new node has taken, and a third
    node would begin without them.
    """
    to = draft.node(master_of(cluster))
    cluster = given_up(draft, cluster, moving)
    draft.put_cluster(cluster)
    if to.life is NodeLife.SERVING:
        lost_node(draft, to, "the masters did not come up on it")
    go_on(draft, cluster)


def _moved(draft: Draft, cluster: ClusterState, moving: MastersMove, effect: MoveMasters, facts: Facts) -> None:
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
        alerts.ended(cluster, Kind.MASTERS), moving=None, shut_out=_shut_out(draft, cluster, effect, facts)
    )
    cluster = standby.alone(cluster) if effect.standby else standby.given_up(draft, cluster)
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
            go_on(draft, journal.want(draft, cluster))
    jobs.release(draft, cluster.id)


def _shut_out(draft: Draft, cluster: ClusterState, effect: MoveMasters, facts: Facts) -> tuple[NodeId, ...]:
    """The nodes on which former masters may still run: those that nobody could stop, until they are back."""
    reached = displaced.rows(facts, "reached")
    lost = {node.node.id for node in draft.nodes_of(cluster.id) if node.life is NodeLife.LOST}
    still = {node for node in cluster.shut_out if node in lost}
    return tuple(sorted(still if effect.old in reached or effect.old not in lost else {*still, effect.old}))


def _moving(cluster: ClusterState) -> MastersMove:
    if cluster.moving is None:
        raise ValueError(f"the masters of {cluster.id} stay where they are")
    return cluster.moving


def master_of(cluster: ClusterState) -> NodeId:
    """The node of its masters; ValueError while it has none."""
    if cluster.master is None:
        raise ValueError(f"{cluster.id} is {cluster.life} and has no masters")
    return cluster.master
