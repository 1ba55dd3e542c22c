"""The life of an MR-cluster after its admission, from deploying to gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from fawkes.base.values import replace
from fawkes.core.clusters import release, strays
from fawkes.core.clusters.admission import admit, deploy_without
from fawkes.core.jobs import deadlines, jobs, leftovers, streaming
from fawkes.core.jobs.displaced import rows
from fawkes.core.masters import masters
from fawkes.core.nodes.replace import replace_core
from fawkes.core.state import alerts, backoff
from fawkes.core.state.draft import Draft
from fawkes.core.state.plan import hand_out
from fawkes.core.values.decision import PutPending
from fawkes.core.values.effects import Load, Membership, Retire, Survey
from fawkes.core.values.events import Done, Failed
from fawkes.core.values.keys import Key, split
from fawkes.core.values.lifecycle import WITH_MASTERS
from fawkes.core.values.model import (
    ClusterAlert,
    ClusterId,
    ClusterLife,
    ClusterState,
    Facts,
    NodeId,
    NodeLife,
    Plain,
    Reason,
)

#: what a deployment waits for that lacks a node
_GOES_ON = "Its deployment goes on when {node} answers and can be used, or when another node is free"


def nodes_changed(draft: Draft) -> None:
    """Follow what may have freed nodes: empty MR-clusters are gone; core nodes that go out of
    service, the queue and the needy are served, in this order.

    Nothing here depends on time alone: an event that changed no node, MR-cluster or target leaves nothing to do.
    """
    for cluster in draft.emptied():
        if cluster.life is ClusterLife.RETIRING:
            draft.settle(f"cluster:{cluster.id}")
            draft.put_cluster(replace(cluster, life=ClusterLife.GONE))
            draft.say("gone", cluster=cluster.id, failed=cluster.failed)
    if draft.moves_nodes:
        replace_core(draft)
        hand_out(draft, admit(draft))


_ANSWERED = {Key.STRAYS: strays.answered, Key.ROOM: jobs.room_seen}


_OF_JOBS = {Key.WORK: deadlines.work_counted, Key.CLEAR: leftovers.answered, Key.STREAM: streaming.answered}


def answered(draft: Draft, event: Done | Failed) -> None:
    """An effect of an MR-cluster ended; answers about older versions are history."""
    pending = draft.pending(event.effect)
    kind, name = split(event.effect)
    if kind in _OF_JOBS:
        _OF_JOBS[kind](draft, event)
        return
    cluster = draft.cluster(ClusterId(name))
    if pending is None or pending.version != event.version or cluster is None:
        draft.say("late-answer", effect=event.effect, version=event.version)
    elif kind is Key.MASTERS:
        if why := masters.hopeless(draft, cluster, pending, event):
            draft.settle(event.effect)
            _give_up(draft, cluster, why, lost=True)
        else:
            masters.answered(draft, cluster, pending, event)
    elif kind in _ANSWERED:
        _ANSWERED[kind](draft, cluster, event)
    elif isinstance(pending.effect, Survey):
        release.surveyed(draft, cluster, pending.effect, event)
    elif isinstance(event, Failed):
        _not_reached(draft, cluster, pending, event)
    elif kind is Key.MEMBERSHIP:
        draft.settle(event.effect)
        if alerts.about(cluster, ClusterAlert.MEMBERS):
            draft.put_cluster(alerts.ended(cluster, ClusterAlert.MEMBERS))
    else:
        draft.settle(event.effect)
        _stage_done(draft, cluster, event)


def _repaired(draft: Draft, cluster: ClusterState, event: Done) -> None:
    """Software that was changed is copied again before anything starts from it: the node serves, and that is told."""
    for node, names in sorted(cast(Mapping[str, Plain], event.facts.get("repaired", {})).items()):
        draft.say("software-repaired", node=node, cluster=cluster.id, files=names)


def _thin(cluster: ClusterState, facts: Facts) -> ClusterState:
    """The MR-cluster with an alert if blocks of its input have fewer replicas than wanted."""
    sets = [row for row in rows(facts, "sets") if isinstance(row, Mapping)]
    thin = ", ".join(f"{row['thin']} in {row['to']}" for row in sets if row.get("thin"))
    detail = f"{thin}. Each replica needs another node: look for full disks among its core nodes"
    return alerts.raised(cluster, ClusterAlert.THIN, detail) if thin else cluster


def _stage_done(draft: Draft, cluster: ClusterState, event: Done) -> None:
    """The next stage begins. Each has a version of its own: a second answer about the one before is history."""
    took_us = draft.at_us - cluster.since_us
    match cluster.life:
        case ClusterLife.DEPLOYING:
            _repaired(draft, cluster, event)
            facts = {key: value for key, value in event.facts.items() if key not in ("repaired", "places")}
            places = cast(Mapping[str, str], event.facts.get("places", {}))
            draft.say("deployed", cluster=cluster.id, took_us=took_us, **facts)
            for node in draft.nodes_of(cluster.id):
                if node.life is NodeLife.JOINING:
                    serves = replace(node, life=NodeLife.SERVING, since_us=draft.at_us, failures=0)
                    draft.put_node(replace(serves, place=places.get(node.node.id, node.place)))
            version = cluster.version + 1
            # What daemons said that were just coming up is no fact about those that work.
            cluster = replace(alerts.next_stage(cluster), service=None)
            cluster = replace(cluster, life=ClusterLife.LOADING, deploy_us=took_us, version=version)
            draft.put_cluster(cluster)
            draft.touch(cluster.id)
            draft.act(Load(cluster.id, version), within_us=draft.settings.transfer_us, version=version)
        case ClusterLife.LOADING:
            draft.say("loaded", cluster=cluster.id, took_us=took_us, **event.facts)
            cluster = replace(
                alerts.next_stage(cluster),
                life=ClusterLife.RUNNING,
                load_us=took_us,
                active_us=draft.at_us,
                idle_us=None if draft.jobs_of(cluster.id) else draft.at_us,
            )
            draft.put_cluster(_thin(cluster, event.facts))
            jobs.release(draft, cluster.id)
        case ClusterLife.SAVING:
            draft.say("saved", cluster=cluster.id, took_us=took_us, **_closed(draft, cluster, event.facts))
            release.retire(draft, replace(alerts.next_stage(cluster), save_us=took_us))


def _closed(draft: Draft, cluster: ClusterState, facts: Facts) -> Facts:
    """The facts of a save without those about files that were closed for it: these are told by themselves."""
    if facts.get("closed"):
        draft.say("files-closed", cluster=cluster.id, files=facts["closed"], count=facts.get("closed_count"))
    return {name: value for name, value in facts.items() if name not in ("closed", "closed_count")}


def _not_reached(draft: Draft, cluster: ClusterState, pending: PutPending, event: Failed) -> None:
    """Try again while that may help; without its data an MR-cluster is of no use, without its save it stays.

    What failed for want of something of the site, such as its KDC, does not count.
    """
    members = split(pending.key)[0] is Key.MEMBERSHIP
    stage = "membership" if members else cluster.life
    facts = _closed(draft, cluster, event.facts)
    kind = ClusterAlert.MEMBERS if members else ClusterAlert.STAGE
    if backoff.is_told(pending.tries) or event.error not in alerts.text(cluster, kind):
        draft.say("not-reached", cluster=cluster.id, stage=stage, error=event.error, tries=pending.tries, **facts)
    lost = cluster.moving is not None or draft.pending(Key.SILENT.of(cluster.id)) is not None
    if not lost:
        # What is wrong with lost masters is said already.
        draft.put_cluster(alerts.raised(cluster, kind, event.error))
    tries = pending.tries
    refused, away = event.facts.get("refused"), event.facts.get("away")
    if stage is ClusterLife.DEPLOYING and isinstance(lacks := refused or away, str):
        if deploy_without(draft, cluster, NodeId(lacks), event.error, away=not refused):
            return
        # Somebody repairs the node, or another one becomes free: it would serve as well as one of a new request.
        waits = alerts.raised(cluster, ClusterAlert.STAGE, f"{event.error}. {_GOES_ON.format(node=lacks)}")
        draft.put_cluster(waits)
        # More tries than a deployment has: what fails next for another reason is counted from the beginning.
        tries = max(tries, draft.settings.deploy_attempts + 1)
    elif stage is ClusterLife.DEPLOYING and event.facts.get("site"):
        tries = max(tries, draft.settings.deploy_attempts + 1)
    elif stage is ClusterLife.LOADING and event.facts.get("site"):
        tries = min(tries, max(1, draft.settings.deploy_attempts - 1))
    elif stage in (ClusterLife.DEPLOYING, ClusterLife.LOADING) and _hopeless(draft, cluster, pending, event, lost=lost):
        _give_up(draft, cluster, event.error)
        return
    elif stage is ClusterLife.DEPLOYING and tries > draft.settings.deploy_attempts:
        tries = 1
    wait_us = backoff.wait_us(draft.settings, tries)
    draft.expect(pending.key, wait_us, effect=pending.effect, version=pending.version, tries=tries)


def _hopeless(draft: Draft, cluster: ClusterState, pending: PutPending, event: Failed, *, lost: bool) -> bool:
    """True if another try would be in vain.

    What the controller's cache lacks and cannot fetch (``no_release``) will be lacking a moment later as well, and
    others can use the nodes. Nothing can be loaded while masters are away, however often it is tried; and that they are
    is told after some tries.
    """
    if cluster.life is ClusterLife.DEPLOYING and event.facts.get("no_release"):
        return True
    if event.final or pending.tries < draft.settings.deploy_attempts:
        return event.final
    if cluster.life is ClusterLife.DEPLOYING:
        # More tries than that have waited for a node.
        return pending.tries == draft.settings.deploy_attempts
    silent_long = backoff.waited_us(draft.settings, pending.tries) >= draft.settings.silent_us
    return silent_long and not lost


def _give_up(draft: Draft, cluster: ClusterState, error: str, *, lost: bool = False) -> None:
    """It cannot come up; ``lost``: its HDFS is known to be gone for good, so there is nothing to save."""
    for job in draft.jobs_of(cluster.id):
        jobs.cancel(draft, job, Reason("not-deployed", {"cluster": cluster.id, "error": error}))
    draft.say("gave-up", cluster=cluster.id, error=error)
    cluster = replace(cluster, failed=error)
    if cluster.life is ClusterLife.LOADING and not lost:
        # Its HDFS took writes all the time: users may have put data there.
        release.save(draft, cluster)
        return
    release.retire(draft, cluster)


def cluster_over_time(draft: Draft, pending: PutPending) -> None:
    """A deadline of an MR-cluster has passed: what should be is said again; its members as they are by now."""
    kind, name = split(pending.key)
    cluster = draft.cluster(ClusterId(name))
    # Of stray tasks the next reading decides: those that were told of may have ended.
    if kind is Key.STRAYS or cluster is None or pending.effect is None or not _has_goal(cluster, pending):
        draft.settle(pending.key)
        return
    if isinstance(pending.effect, Survey):
        release.unanswered(draft, cluster, pending.effect)
        return
    draft.say_again(pending.key, pending.tries + 1)
    if isinstance(pending.effect, Membership):
        draft.touch(cluster.id)
        return
    within_us = {
        ClusterLife.DEPLOYING: draft.settings.deploy_us,
        ClusterLife.RETIRING: draft.settings.membership_us,
    }.get(cluster.life, draft.settings.transfer_us)
    tries, most = pending.tries + 1, draft.settings.deploy_attempts
    if cluster.life is ClusterLife.DEPLOYING and pending.tries <= most:
        # Only a deployment that has waited for a node has more tries than that.
        tries = min(tries, most)
    draft.act(pending.effect, within_us=within_us, version=pending.version, tries=tries)


def _has_goal(cluster: ClusterState, pending: PutPending) -> bool:
    """True if what is pending is still wanted of an MR-cluster: one that retires has masters no more."""
    retires = cluster.life is ClusterLife.RETIRING and isinstance(pending.effect, Retire)
    return retires or cluster.life in WITH_MASTERS
