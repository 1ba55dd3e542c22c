"""Where the masters of an MR-cluster are: when they go to another core node, on which facts, and what that means.

Masters that are lost are waited for first. Others take over only when the old ones are shown not to serve, or when most
nodes that store data have left them; and only from data that lacks little. Anything else waits for an administrator.
Nothing in Hadoop fences a NameNode off: two of them would both take files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fawkes.core import alerts, backoff, jobs
from fawkes.core.alerts import Kind
from fawkes.core.decision import PutPending
from fawkes.core.draft import Draft
from fawkes.core.effects import LookAtMasters, MoveMasters
from fawkes.core.events import CopySeen, Done, Failed, JobObserved, MoveMastersAsked, Progress, RestoreAsked
from fawkes.core.keys import Key, split
from fawkes.core.lifecycle import WITH_MASTERS
from fawkes.core.model import (
    ClusterId,
    ClusterLife,
    ClusterState,
    Facts,
    JobLife,
    MastersMove,
    MoveCause,
    NodeId,
    NodeLife,
    NodeState,
    Plain,
    Reason,
    Role,
)
from fawkes.core.moves import lost as lost_node
from fawkes.core.tags import is_copy

#: lives of an MR-cluster in which its masters can go to another node
_MOVABLE = WITH_MASTERS - {ClusterLife.DEPLOYING}
#: how the old masters were seen when they cannot serve any more once they are stopped
_STOPPABLE = frozenset({"stopped", "runs"})
#: names of files and applications in a reason
_NAMED = 5
_OWN = "its masters were lost, and a command of its own is not begun a second time by itself"


def lost(draft: Draft, cluster: ClusterState, *, since_us: int, at_once: bool = False) -> None:
    """The masters are lost since ``since_us``: others take over after a while, ``at_once`` if their data is gone."""
    if not draft.settings.masters_lost_us or cluster.life not in _MOVABLE or cluster.master is None:
        return
    moving = cluster.moving
    if moving is not None and (moving.begun or not moving.planned):
        if at_once and not moving.begun:
            draft.settle(Key.PATIENCE.of(cluster.id))
            _go_on(draft, cluster)
        return
    draft.settle(Key.MASTERS.of(cluster.id))
    cluster = replace(cluster, moving=MastersMove(cause=MoveCause.LOST, since_us=since_us, old=cluster.master))
    draft.put_cluster(cluster)
    if at_once:
        _go_on(draft, cluster)
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
    for key in (Key.MASTERS, Key.PATIENCE, Key.COPY):
        draft.settle(key.of(cluster.id))
    return replace(cluster, moving=None)


def asked(draft: Draft, event: MoveMastersAsked | RestoreAsked) -> None:
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
        old=_master(cluster),
        to=event.to,
        by=event.by,
        now=event.now,
    )
    draft.say("move-asked", cluster=cluster.id, node=event.to, by=event.by, now=event.now)
    draft.reply(event.ask, cluster=cluster.id, jobs=[job.id for job in draft.busy_of(cluster.id)])
    cluster = replace(cluster, moving=move)
    draft.put_cluster(cluster)
    _go_on(draft, cluster)


def _refusal(draft: Draft, cluster: ClusterState, to: NodeId | None) -> Reason | None:
    """Why the masters cannot be asked to move; None when they can."""
    if cluster.life is not ClusterLife.RUNNING or cluster.master is None:
        return Reason("not-running", {"cluster": cluster.id, "life": cluster.life})
    if cluster.moving is not None:
        return Reason("masters-moving", {"cluster": cluster.id, "cause": cluster.moving.cause})
    fit = [state.node.id for state in able(draft, cluster)]
    if not fit or (to is not None and to not in fit):
        return Reason("no-such-master", {"cluster": cluster.id, "node": to, "able": fit})
    return None


def _restore_asked(draft: Draft, event: RestoreAsked) -> None:
    """An operator takes what a kept copy has, and gives up the rest."""
    cluster = draft.cluster(event.cluster)
    if cluster is None:
        draft.reply(event.ask, Reason("no-such-cluster", {"cluster": event.cluster}))
        return
    moving = cluster.moving or _waited_for(draft, cluster)
    if moving is None or moving.planned:
        draft.reply(event.ask, Reason("masters-answer", {"cluster": cluster.id}))
        return
    fit = [state.node.id for state in able(draft, cluster, restore=True)]
    if moving.begun:
        draft.reply(event.ask, Reason("masters-moving", {"cluster": cluster.id, "cause": moving.cause}))
    elif not fit or (event.to is not None and event.to not in fit):
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
        _go_on(draft, cluster)


def _waited_for(draft: Draft, cluster: ClusterState) -> MastersMove | None:
    """Lost masters that are waited for for ever, as the settings want it; None when they are not lost."""
    if cluster.master is None or cluster.life not in _MOVABLE:
        return None
    master = draft.node(cluster.master)
    if master.life is not NodeLife.LOST:
        return None
    return MastersMove(cause=MoveCause.LOST, since_us=master.since_us, old=cluster.master)


def advance(draft: Draft) -> None:
    """After anything that changed nodes or jobs: masters leave a node that is kept out, and go where they now can."""
    for name in sorted({*draft.changed_clusters(), *(job.cluster for job in draft.changed_jobs().values())}):
        cluster = draft.cluster(name)
        if cluster is None or cluster.life not in _MOVABLE or cluster.master is None:
            continue
        master, moving = draft.node(cluster.master), cluster.moving
        if moving is None:
            leaves = cluster.active and master.kept_out and master.life is NodeLife.SERVING
            if leaves and able(draft, cluster):
                move = MastersMove(cause=MoveCause.LEAVES, since_us=draft.at_us, old=cluster.master)
                cluster = replace(cluster, moving=move)
                draft.say("masters-leave", cluster=cluster.id, node=cluster.master, why=_why_out(master))
                draft.put_cluster(cluster)
                _go_on(draft, cluster)
        elif moving.cause is MoveCause.LEAVES and not moving.begun and not master.kept_out:
            _stay(draft, cluster)
        elif not moving.begun and draft.pending(Key.PATIENCE.of(name)) is None:
            _go_on(draft, cluster)


def _why_out(master: NodeState) -> str:
    return master.keep_out or "no longer in the inventory"


def _go_on(draft: Draft, cluster: ClusterState) -> None:
    """Look at the masters as soon as there is a node to go to, and nothing that a planned move waits for."""
    moving = cluster.moving
    if moving is None or moving.begun or draft.pending(Key.MASTERS.of(cluster.id)) is not None:
        return
    if moving.planned and not moving.now and draft.busy_of(cluster.id):
        return
    to = _target(draft, cluster, moving)
    if to is None:
        if not moving.planned:
            _hold(draft, cluster, "no other core node of it is in service")
        return
    effect = LookAtMasters(cluster.id, cluster.version, moving.old, to)
    draft.act(effect, within_us=draft.settings.membership_us, version=cluster.version)


def _target(draft: Draft, cluster: ClusterState, moving: MastersMove) -> NodeId | None:
    """Where the masters go: where somebody wants them, else to the node with the second copy of their data."""
    fit = [state.node.id for state in able(draft, cluster, restore=moving.cause is MoveCause.RESTORE)]
    if moving.to is not None and (moving.to in fit or moving.cause is not MoveCause.LOST):
        return moving.to if moving.to in fit else None
    return fit[0] if fit else None


def able(draft: Draft, cluster: ClusterState, *, restore: bool = False) -> list[NodeState]:
    """The nodes that can take the masters, best first; a restore may use the node that lost its disk."""
    core = [n for n in draft.nodes_of(cluster.id) if n.role is Role.CORE and not n.kept_out]
    others = [n for n in core if n.life is NodeLife.SERVING and n.node.id != cluster.master]
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
        _go_on(draft, cluster)
    else:
        _copy_late(draft, cluster)


def over_time(draft: Draft, pending: PutPending) -> None:
    """The next try: a deed that has begun goes on, a look is taken afresh."""
    draft.settle(pending.key)
    cluster = draft.cluster(ClusterId(split(pending.key)[1]))
    if cluster is None or cluster.moving is None:
        return
    if isinstance(pending.effect, MoveMasters):
        draft.say("asked-again", effect=pending.key, tries=pending.tries + 1)
        _act(draft, pending.effect, pending.tries + 1)
        return
    _go_on(draft, cluster)
    again = draft.pending(pending.key)
    if again is not None and again.effect is not None:
        within_us = max(draft.settings.membership_us, backoff.wait_us(draft.settings, pending.tries + 1))
        draft.expect(again.key, within_us, effect=again.effect, version=again.version, tries=pending.tries + 1)


def _act(draft: Draft, effect: MoveMasters, tries: int) -> None:
    draft.act(effect, within_us=draft.settings.deploy_us, version=effect.version, tries=tries)


def answered(draft: Draft, cluster: ClusterState, pending: PutPending, event: Done | Failed) -> None:
    """A look at the masters, or their move, has ended."""
    moving = cluster.moving
    if moving is None:
        draft.settle(pending.key)
    elif isinstance(pending.effect, LookAtMasters):
        _looked(draft, cluster, moving, pending, pending.effect, event)
    elif isinstance(pending.effect, MoveMasters):
        if isinstance(event, Done):
            _moved(draft, cluster, moving, pending.effect, event.facts)
        else:
            _not_moved(draft, cluster, moving, pending, event)


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
    elif moving.planned and not moving.now and (found := _at_work(event.facts)):
        why = f"waits for applications that users run: {', '.join(found)}"
    else:
        why = _objection(draft, cluster, moving, event.facts)
    if not why:
        _begin(draft, cluster, moving, effect, event.facts)
        return
    if not moving.planned:
        _hold(draft, cluster, why)
    elif not (pending.tries > 1 or moving.now):
        draft.say("masters-wait", cluster=cluster.id, error=why)
    draft.expect(
        pending.key,
        backoff.wait_us(draft.settings, pending.tries),
        effect=pending.effect,
        version=pending.version,
        tries=pending.tries,
    )


def _at_work(facts: Facts) -> list[str]:
    """The applications that hold a planned move."""
    rows = facts.get("applications")
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        return ["which ones is not known"]
    return [str(row.get("id") if isinstance(row, Mapping) else row) for row in rows if not is_copy(row)][:_NAMED]


def _objection(draft: Draft, cluster: ClusterState, moving: MastersMove, facts: Facts) -> str:
    """Why the masters must not be moved on these facts; empty when they may.

    Stopped masters whose disk is there lose nothing. A copy may lack the last moments before they were silent, and
    masters that nobody can stop have lost their MR-cluster only when most nodes that store data are reached.
    """
    old = facts.get("old")
    if moving.planned:
        return "" if old == "answers" else "its masters do not answer"
    if old not in _STOPPABLE and old != "silent":
        return "it is not known whether they still run"
    if old in _STOPPABLE and facts.get("image") is True:
        return ""
    copied_us = facts.get("copied_us")
    if not isinstance(copied_us, int):
        return "there is no copy of their data"
    if moving.cause is MoveCause.RESTORE:
        return ""
    gap_us = moving.since_us - copied_us
    if gap_us > draft.settings.copy_gap_us:
        seconds = gap_us // 1_000_000
        return f"the copy of their data is {seconds} s older than their last answer: `fawkes restore {cluster.id}`"
    if old == "silent" and not _most_reached(draft, cluster, moving, facts):
        return (
            "their node does not answer, nor do most of the others that store data: they may still serve these. "
            f"If they do not: `fawkes restore {cluster.id}`"
        )
    return ""


def _most_reached(draft: Draft, cluster: ClusterState, moving: MastersMove, facts: Facts) -> bool:
    reached = facts.get("reached")
    if not isinstance(reached, Sequence):
        return False
    others = [n.node.id for n in draft.nodes_of(cluster.id) if n.stores and n.node.id != moving.old]
    return 2 * sum(name in reached for name in others) > len(others)


def _begin(draft: Draft, cluster: ClusterState, moving: MastersMove, effect: LookAtMasters, facts: Facts) -> None:
    """From now on the masters are those on the new node, for everybody who asks the ledger."""
    for key in (Key.MASTERS, Key.MEMBERSHIP, Key.SILENT, Key.PATIENCE):
        draft.settle(key.of(cluster.id))
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
    )
    version = cluster.version + 1
    moving = replace(moving, old=effect.old, to=effect.to, begun=True)
    cluster = replace(cluster, master=effect.to, moving=moving, version=version)
    draft.put_cluster(alerts.ended(alerts.ended(cluster, Kind.MASTERS), Kind.SILENT))
    _act(draft, MoveMasters(cluster.id, version, effect.old, effect.to, moving.planned), 1)


def _not_moved(draft: Draft, cluster: ClusterState, moving: MastersMove, pending: PutPending, event: Failed) -> None:
    """The old masters answer after all, or the move is tried again; after some tries on another node."""
    draft.say("not-reached", cluster=cluster.id, stage="masters", error=event.error, tries=pending.tries)
    if event.facts.get("alive") is True:
        draft.touch(cluster.id, afresh=True)
        _stay(draft, replace(cluster, master=moving.old))
        for job in draft.busy_of(cluster.id):
            # What was seen of it meanwhile did not count, and is not told again by itself.
            if (begun := draft.pending(Key.JOB.of(job.id))) is not None:
                draft.again(begun)
        return
    cluster = replace(cluster, alert=alerts.text(Kind.MASTERS, event.error))
    draft.put_cluster(cluster)
    if pending.tries >= draft.settings.deploy_attempts and not moving.planned and able(draft, cluster):
        draft.settle(pending.key)
        _elsewhere(draft, cluster, moving)
        return
    wait_us = backoff.wait_us(draft.settings, pending.tries)
    draft.expect(pending.key, wait_us, effect=pending.effect, version=pending.version, tries=pending.tries)


def _elsewhere(draft: Draft, cluster: ClusterState, moving: MastersMove) -> None:
    """Where the masters should be they do not come up: they are lost masters now, and are looked at as such.

    They may have taken files since the move began, so a copy from before is as old as it is by now. After a planned
    move nothing else is tried: the old disk may lack these files, and a third node would begin without them.
    """
    to = draft.node(_master(cluster))
    again = replace(moving, cause=MoveCause.LOST, since_us=draft.at_us, old=to.node.id, to=None, begun=False)
    cluster = replace(cluster, moving=again)
    draft.put_cluster(cluster)
    if to.life is NodeLife.SERVING:
        lost_node(draft, to, "the masters did not come up on it")
    _go_on(draft, cluster)


def _moved(draft: Draft, cluster: ClusterState, moving: MastersMove, effect: MoveMasters, facts: Facts) -> None:
    """Masters serve on the new node; what that has cost is said by name."""
    draft.settle(Key.MASTERS.of(cluster.id))
    copied_us = facts.get("copied_us")
    lacks_us = max(0, moving.since_us - copied_us) if isinstance(copied_us, int) else 0
    missing, opened, ended = (_some(facts, name) for name in ("missing", "open", "ended"))
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
    )
    cluster = replace(alerts.ended(cluster, Kind.MASTERS), moving=None)
    draft.put_cluster(cluster)
    draft.touch(cluster.id, afresh=True)
    old = draft.view.nodes.get(effect.old)
    if old is not None and old.owner == cluster.id and old.life is NodeLife.LOST and effect.old != effect.to:
        # It comes back as one core node of many, with nothing of a master on it.
        draft.host(old, old.role, cluster.id, within_us=draft.settings.join_us)
    _displace(draft, cluster, facts)
    jobs.release(draft, cluster.id)


def _some(facts: Facts, name: str) -> list[Plain]:
    rows = facts.get(name)
    return list(rows) if isinstance(rows, Sequence) and not isinstance(rows, str) else []


def _displace(draft: Draft, cluster: ClusterState, facts: Facts) -> None:
    """What ran under the old masters has ended with them: by its history it has succeeded, else it begins again."""
    finished = set(map(str, _some(facts, "finished")))
    for job in draft.busy_of(cluster.id):
        event = JobObserved(at_us=draft.at_us, job=job.id, attempt=job.attempt, progress=Progress.SUCCEEDED)
        # The first application of a command of its own may have been one of several.
        if job.application and job.application in finished and not job.own:
            jobs.observed(draft, event)
        elif job.life is JobLife.CANCELLING:
            jobs.observed(draft, replace(event, progress=Progress.CANCELLED))
        elif job.own:
            jobs.observed(draft, replace(event, progress=Progress.FAILED, error=_OWN))
        else:
            jobs.displaced(draft, job)


def copy_seen(draft: Draft, event: CopySeen) -> None:
    """Copying the masters' data works, or not since; an alert when that lasts."""
    cluster = draft.cluster(event.cluster)
    if cluster is None or cluster.life not in WITH_MASTERS:
        return
    key = Key.COPY.of(cluster.id)
    if not event.error:
        draft.settle(key)
        if alerts.about(cluster, Kind.COPY):
            draft.put_cluster(replace(cluster, alert=""))
            draft.say("copied-again", cluster=cluster.id)
    elif alerts.about(cluster, Kind.COPY):
        draft.put_cluster(replace(cluster, alert=alerts.text(Kind.COPY, event.error)))
    elif draft.settings.copy_us and draft.pending(key) is None:
        draft.expect(key, draft.settings.copy_us)


def _copy_late(draft: Draft, cluster: ClusterState) -> None:
    """Their data has not been copied for too long."""
    draft.say("not-copied", cluster=cluster.id, within_us=draft.settings.copy_us)
    if not cluster.alert:
        why = f"since {draft.settings.copy_us // 1_000_000} s and more; the controller's log says why"
        draft.put_cluster(replace(cluster, alert=alerts.text(Kind.COPY, why)))


def _master(cluster: ClusterState) -> NodeId:
    if cluster.master is None:
        raise ValueError(f"{cluster.id} is {cluster.life} and has no masters")
    return cluster.master
