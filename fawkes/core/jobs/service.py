"""The service of an MR-cluster to its users: does its HDFS take writes, does its YARN take and run applications?

What lasts for ``unusable_us`` becomes an alert, which ends when the opposite has lasted three times as long: a NameNode
that goes in and out of safe mode each second is one alert. Jobs wait meanwhile, because their attempts would fail at
once. While Fawkes itself keeps writes away (masters that move, a save) nothing of this is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fawkes.base.values import replace
from fawkes.core.state import alerts
from fawkes.core.state.draft import Draft
from fawkes.core.values.events import ServiceSeen
from fawkes.core.values.keys import Key
from fawkes.core.values.lifecycle import WITH_MASTERS
from fawkes.core.values.model import ClusterAlert, ClusterId, ClusterLife, ClusterState, JobLife
from fawkes.core.values.sight import SafeMode, Service

#: lives of an MR-cluster in which users could work, or soon can
_JUDGED = frozenset({ClusterLife.DEPLOYING, ClusterLife.LOADING, ClusterLife.RUNNING})
#: how many times as long as for its beginning the end of an alert must last
_CALM = 3
#: the queue of jobs that name none
_DEFAULT = "root.default"
#: queued jobs in a reason
_NAMED = 20


def _no_writes(cluster: ClusterState, seen: Service) -> str | None:
    """The reason why HDFS takes no writes and what ends that; empty when it takes them, None when that is not known.

    A NameNode that has just come up has no DataNodes yet: a deployment waits for these.
    """
    comes_up, host = cluster.life is ClusterLife.DEPLOYING, cluster.master
    by_hand = f"`hdfs dfsadmin -safemode leave` on {host}"
    if seen.safe_mode is SafeMode.NOT_KNOWN:
        return None
    if seen.safe_mode is SafeMode.LOW:
        then = f"then type {by_hand}" if "manually" in seen.said else "then HDFS takes writes by itself"
        return f"the disk of its NameNode is nearly full. Free space on {host} for {seen.folder or 'it'}; {then}"
    if seen.safe_mode is SafeMode.ASKED:
        return f"somebody has put it into safe mode; {by_hand} ends that"
    if seen.safe_mode is not SafeMode.OFF and not comes_up:
        return f"its NameNode is in safe mode ({seen.said or 'it does not say why'})"
    if seen.storing and seen.full == seen.storing:
        return (
            "no DataNode has room for another block, beyond which each keeps 1 GB free by default. Delete files, free "
            "space on the disks, or add core nodes"
        )
    if seen.storing == 0 and not comes_up:
        return "no DataNode is in service; `fawkes nodes` shows what became of them"
    return ""


def _no_runs(cluster: ClusterState, seen: Service) -> str | None:
    """The reason why YARN runs no applications and what ends that; empty when it does, None when that is not known."""
    if cluster.life is ClusterLife.DEPLOYING:
        return ""
    if seen.manager not in ("", "ACTIVE"):
        return f"its ResourceManager is {seen.manager}, not ACTIVE"
    if seen.queues == 0 or _DEFAULT in seen.stopped:
        stopped = ", ".join(seen.stopped) or "all of them"
        return (
            f"queues are stopped ({stopped}). Set their state to RUNNING and type `yarn rmadmin -refreshQueues` on "
            f"{cluster.master}"
        )
    if seen.computing is None:
        return None
    if seen.computing == 0 and seen.unhealthy:
        return f"all its NodeManagers are unhealthy ({', '.join(seen.unhealthy)}): {seen.health or 'nobody says why'}"
    if seen.computing == 0:
        return "no NodeManager runs; `fawkes nodes` shows what became of them"
    return ""


_REASONS: Mapping[ClusterAlert, Callable[[ClusterState, Service], str | None]] = {
    ClusterAlert.NO_WRITES: _no_writes,
    ClusterAlert.NO_RUNS: _no_runs,
}
#: alerts of an MR-cluster that does not do its work
UNUSABLE = tuple(_REASONS)


def reason(cluster: ClusterState, kind: ClusterAlert) -> str | None:
    """The reason why users cannot work in this way, by the last facts; empty when they can, None when not known."""
    return None if cluster.service is None else _REASONS[kind](cluster, cluster.service)


def holds(cluster: ClusterState) -> str:
    """The reason why no job begins on an MR-cluster now; empty when jobs may, or nothing is known against it."""
    if cluster.silent_us is not None:
        return alerts.in_words(ClusterAlert.SILENT)
    if alerts.about(cluster, ClusterAlert.UNASKED):
        # Without the KDC its client could not log in either.
        return alerts.text(cluster, ClusterAlert.UNASKED)
    for kind in UNUSABLE:
        if why := reason(cluster, kind):
            return f"{alerts.in_words(kind)}: {why}"
        if alerts.about(cluster, kind):
            over = "" if why is None else ". This is over, and jobs begin in a moment"
            return alerts.text(cluster, kind) + over
    return ""


def held(draft: Draft, cluster: ClusterState) -> str:
    """The same, and also for a while after a client could not log in."""
    waits = draft.pending(Key.LOGIN.of(cluster.id)) is not None
    return alerts.text(cluster, ClusterAlert.NO_LOGIN) if waits else holds(cluster)


def seen(draft: Draft, event: ServiceSeen) -> None:
    """Note a change of what users can do; `advance` sees to what follows."""
    cluster = draft.cluster(event.cluster)
    if cluster is not None and cluster.life in WITH_MASTERS:
        draft.put_cluster(replace(cluster, service=event.service))


def _is_judged(cluster: ClusterState) -> bool:
    return cluster.life in _JUDGED and not _is_moving(cluster)


def _is_moving(cluster: ClusterState) -> bool:
    return cluster.moving is not None and cluster.moving.begun


def advance(draft: Draft) -> None:
    """Follow what changed MR-clusters: patience begins or ends, and the words of an alert are those of now."""
    for name in sorted(draft.changed_clusters()):
        key, cluster = Key.SERVICE.of(name), draft.cluster(name)
        silent = draft.pending(Key.SILENT.of(name)) is not None
        if cluster is None or not _is_judged(cluster):
            if not silent:
                draft.settle(key)
            if cluster is not None and alerts.about(cluster, *UNUSABLE):
                draft.put_cluster(alerts.ended(cluster, *UNUSABLE))
            continue
        if now := _in_other_words(cluster):
            draft.put_cluster(now)
        wait_us = _patience_us(draft, cluster)
        if wait_us is not None:
            _wait(draft, key, wait_us)
        elif not silent:
            draft.settle(key)


def _in_other_words(cluster: ClusterState) -> ClusterState | None:
    """The MR-cluster with the reasons of now in its alerts; None when they are the same."""
    now = cluster
    for kind in UNUSABLE:
        if alerts.about(cluster, kind) and (why := reason(cluster, kind)):
            now = alerts.raised(now, kind, why)
    return None if now == cluster else now


def _patience_us(draft: Draft, cluster: ClusterState) -> int | None:
    """The time for which what was seen must last to become an alert, or to end one; None when nothing would change."""
    waits_us = []
    for kind in UNUSABLE:
        why, there = reason(cluster, kind), alerts.about(cluster, kind)
        if why is not None and bool(why) != there:
            waits_us.append(draft.settings.unusable_us * (_CALM if there else 1))
    return min(waits_us, default=None)


def _wait(draft: Draft, key: str, wait_us: int) -> None:
    pending = draft.pending(key)
    if wait_us and (pending is None or pending.deadline_us > draft.at_us + wait_us):
        draft.expect(key, wait_us)


def doubt(draft: Draft, cluster: ClusterState) -> None:
    """Masters have begun not to answer: users are told before that means anything for their node."""
    if draft.settings.unusable_us < draft.settings.silent_us:
        _wait(draft, Key.SERVICE.of(cluster.id), draft.settings.unusable_us)


def no_login(draft: Draft, name: ClusterId, error: str) -> None:
    """A client could not log in: no other one begins for a while, for it would fail as well."""
    cluster = draft.cluster(name)
    if cluster is not None:
        draft.put_cluster(alerts.raised(cluster, ClusterAlert.NO_LOGIN, error))
        draft.expect(Key.LOGIN.of(name), draft.settings.retry_max_us)


def logs_in(draft: Draft, name: ClusterId, application: str = "") -> None:
    """Clients can log in again, as far as is known: one has an ``application``, or nobody waits to try."""
    cluster = draft.cluster(name)
    queued = any(job.life is JobLife.QUEUED for job in draft.jobs_of(name))
    if cluster is not None and alerts.about(cluster, ClusterAlert.NO_LOGIN) and (application or not queued):
        draft.settle(Key.LOGIN.of(name))
        draft.put_cluster(alerts.ended(cluster, ClusterAlert.NO_LOGIN))


def log_in_again(draft: Draft, name: str) -> None:
    """Let the next client try it; nobody knows more until then."""
    draft.settle(Key.LOGIN.of(name))
    logs_in(draft, ClusterId(name))


def lasted(draft: Draft, name: str) -> None:
    """Raise or end alerts: the last fact has lasted for as long as the settings allow."""
    draft.settle(Key.SERVICE.of(name))
    cluster = draft.cluster(ClusterId(name))
    if cluster is None or _is_moving(cluster):
        return
    if draft.pending(Key.SILENT.of(name)) is not None:
        # Whether users can work is not known now, which neither begins nor ends anything but this.
        if not alerts.about(cluster, ClusterAlert.SILENT):
            seconds = draft.settings.silent_us // 1_000_000
            detail = f"after {seconds} s of silence their daemons count as lost"
            draft.put_cluster(alerts.raised(cluster, ClusterAlert.SILENT, detail))
        return
    if not _is_judged(cluster) or alerts.about(cluster, ClusterAlert.UNASKED):
        return
    for kind in UNUSABLE:
        why, there = reason(cluster, kind), alerts.about(cluster, kind)
        if why and not there:
            waiting = [job.id for job in draft.jobs_of(cluster.id) if job.life is JobLife.QUEUED][:_NAMED]
            draft.say("unusable", cluster=cluster.id, what=alerts.in_words(kind), error=why, jobs=waiting)
            cluster = alerts.raised(cluster, kind, why)
        elif why == "" and there:
            draft.say("usable", cluster=cluster.id, what=alerts.in_words(kind))
            cluster = alerts.ended(cluster, kind)
    if cluster != draft.cluster(cluster.id):
        draft.put_cluster(cluster)
