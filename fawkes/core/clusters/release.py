"""The end of an MR-cluster: given back or idle, surveyed, saved, retired.

What lies in HDFS and is declared nowhere is somebody's data all the same, and users give YARN applications of their
own. So HDFS and YARN are surveyed first, right before outputs are saved; what is not known counts against an end.
"""

from __future__ import annotations

from collections.abc import Sequence

from fawkes.base.values import replace
from fawkes.core.jobs import jobs
from fawkes.core.masters import masters
from fawkes.core.state import alerts
from fawkes.core.state.draft import Draft
from fawkes.core.state.moves import clean
from fawkes.core.values.decision import PutClosing
from fawkes.core.values.effects import Host, Retire, Save, Survey
from fawkes.core.values.events import Done, Failed, ReleaseAsked
from fawkes.core.values.keys import Key
from fawkes.core.values.model import ClusterAlert, ClusterLife, ClusterState, Facts, NodeLife, Plain, Reason
from fawkes.core.values.tags import is_copy

_RELEASE, _IDLE, _DOWN = "release", "idle", "down"
#: lives in which users may have put data into HDFS, or have given YARN applications, and no save looks for them yet
SURVEYED = frozenset({ClusterLife.LOADING, ClusterLife.RUNNING})
_WHY_KEPT = {
    "undeclared-data": "HDFS has data outside of its declared folders",
    "foreign-applications": "it runs applications that are none of its jobs",
    "masters-moving": "its masters move or start again",
    "masters-lost": "its masters are lost",
    "survey-failed": "its data and applications are not known",
}
#: folders and applications that are named in a reason
_NAMED = 5


def release_asked(draft: Draft, event: ReleaseAsked, cluster: ClusterState) -> None:
    """An MR-cluster with masters is to be given back; whoever gives up its data and its jobs waits for no answer."""
    if event.discard and event.force:
        draft.reply(event.ask, cluster=cluster.id)
        if not event.dry_run:
            give_back(draft, cluster, by=event.by, discard=True, force=True)
        return
    request = {"for": _RELEASE, "ask": event.ask, "by": event.by, "discard": event.discard, "force": event.force}
    request |= {"dry_run": True} if event.dry_run else {}
    _survey(draft, cluster, request)


def give_up_data(draft: Draft, cluster: ClusterState, *, by: str) -> None:
    """Gives up the data that hold a save: the MR-cluster is surveyed once more, for what users run on it stays."""
    if draft.pending(Key.SURVEY.of(cluster.id)) is None:
        _survey(draft, cluster, {"for": _RELEASE, "ask": "", "by": by, "discard": True, "force": False})


def survey_for_down(draft: Draft, cluster: ClusterState, *, within_us: int) -> None:
    """The whole pool is to be given back, and this MR-cluster runs: `closing` judges the answer."""
    _survey(draft, cluster, {"for": _DOWN}, within_us=within_us)


def idle_for_long(draft: Draft, cluster: ClusterState) -> None:
    """An MR-cluster did nothing for its idle time: it goes, if nothing undeclared is on it."""
    if draft.pending(Key.SURVEY.of(cluster.id)) is None:
        _survey(draft, cluster, {"for": _IDLE, "since_us": cluster.idle_us})


def _survey(draft: Draft, cluster: ClusterState, request: Facts, *, within_us: int | None = None) -> None:
    earlier = draft.pending(Key.SURVEY.of(cluster.id))
    meant = earlier is not None and isinstance(earlier.effect, Survey) and _meant(earlier.effect)
    if request.get("dry_run") and meant:
        draft.reply(str(request.get("ask", "")), Reason("overtaken", {"cluster": cluster.id}))
        return
    _overtake(draft, cluster)
    effect = Survey(cluster.id, cluster.version, request)
    draft.act(effect, within_us=within_us or draft.settings.membership_us, version=cluster.version)


def _meant(effect: Survey) -> bool:
    """True if somebody waits for a release: a question whether it may be must not stand in its way."""
    return effect.request.get("for") in (_RELEASE, _DOWN) and not effect.request.get("dry_run")


def _overtake(draft: Draft, cluster: ClusterState) -> None:
    """Whoever waits for a survey is told that its answer does not matter any more."""
    earlier = draft.pending(Key.SURVEY.of(cluster.id))
    if earlier is not None and isinstance(earlier.effect, Survey):
        draft.settle(earlier.key)
        _reply(draft, earlier.effect, Reason("overtaken", {"cluster": cluster.id}))


def surveyed(draft: Draft, cluster: ClusterState, effect: Survey, event: Done | Failed) -> None:
    """The answer of a survey is judged: the MR-cluster goes, or it stays and whoever asked is told why."""
    draft.settle(effect.key)
    gives_up = effect.request.get("for") == _DOWN or bool(effect.request.get("discard"))
    if cluster.life not in SURVEYED and not (cluster.life is ClusterLife.SAVING and gives_up):
        _reply(draft, effect, Reason("overtaken", {"cluster": cluster.id}))
    elif effect.request.get("for") == _RELEASE:
        _release(draft, cluster, effect, event)
    elif effect.request.get("for") == _DOWN:
        _down(draft, cluster, event)
    else:
        _idle(draft, cluster, effect, event)


def unanswered(draft: Draft, cluster: ClusterState, effect: Survey) -> None:
    """Nothing was heard of a survey in time."""
    error = "its masters did not report its data and applications in time"
    surveyed(draft, cluster, effect, Failed(at_us=draft.at_us, effect=effect.key, version=effect.version, error=error))


def _release(draft: Draft, cluster: ClusterState, effect: Survey, event: Done | Failed) -> None:
    discard, force = bool(effect.request.get("discard")), bool(effect.request.get("force"))
    unfinished = [job.id for job in draft.jobs_of(cluster.id)]
    refusal = _objection(cluster, event, data=not discard, applications=not force)
    if unfinished and not force:
        refusal = Reason("has-jobs", {"cluster": cluster.id, "jobs": unfinished})
    _reply(draft, effect, refusal)
    if refusal is None and not effect.request.get("dry_run"):
        give_back(draft, cluster, by=str(effect.request.get("by", "")), discard=discard, force=force)


def _down(draft: Draft, cluster: ClusterState, event: Done | Failed) -> None:
    closing = draft.closing
    if closing is None or closing.agreed:
        return
    refusal = _objection(cluster, event, data=not closing.discard, applications=not closing.force)
    refusals = closing.refusals if refusal is None else (*closing.refusals, refusal)
    surveyed, answered_us = (*closing.surveyed, cluster.id), (*closing.answered_us, draft.at_us)
    draft.change(PutClosing(replace(closing, surveyed=surveyed, answered_us=answered_us, refusals=refusals)))


def _idle(draft: Draft, cluster: ClusterState, effect: Survey, event: Done | Failed) -> None:
    used_since = cluster.idle_us is None or cluster.idle_us != effect.request.get("since_us")
    if used_since or draft.jobs_of(cluster.id):
        return
    objection = _objection(cluster, event, data=not draft.settings.retire_undeclared, applications=True)
    if objection is None:
        draft.say("idle", cluster=cluster.id, since_us=cluster.idle_us)
        save(draft, alerts.next_stage(cluster), undeclared=draft.settings.retire_undeclared)
        return
    draft.say("not-retired", **{**objection.facts, "cluster": cluster.id, "because": objection.code})
    # Asked again only after another idle time: nothing but a person changes the answer.
    why = f"{_WHY_KEPT[objection.code]}: see `fawkes explain --cluster {cluster.id}`"
    draft.put_cluster(alerts.raised(replace(cluster, idle_us=draft.at_us), ClusterAlert.IDLE, why))


def _objection(cluster: ClusterState, event: Done | Failed, *, data: bool, applications: bool) -> Reason | None:
    """The reason why the MR-cluster must stay; None when nothing speaks against it."""
    if (away := masters.why_away(cluster)) is not None:
        return away
    if isinstance(event, Failed):
        return Reason("survey-failed", {"cluster": cluster.id, "error": event.error})
    undeclared, running = event.facts.get("undeclared"), _nobodys(event.facts.get("applications"))
    checks = (
        ("undeclared", "undeclared-data", undeclared, data),
        ("applications", "foreign-applications", running, applications),
    )
    for name, code, rows, counts in checks:
        if not counts:
            continue
        if not isinstance(rows, Sequence):
            return Reason("survey-failed", {"cluster": cluster.id, "error": f"{name} are not known"})
        if rows:
            return Reason(code, {"cluster": cluster.id, "count": len(rows), name: list(rows[:_NAMED])})
    return None


def _nobodys(running: Plain) -> Plain:
    """The applications of a survey without the copies of a load or save; None: not known.

    An MR-cluster with jobs is not asked. So one with our tag may be a job of which a lost ledger knew and this one
    does not: whose it is only people know.
    """
    return running if not isinstance(running, Sequence) else [row for row in running if not is_copy(row)]


def _reply(draft: Draft, effect: Survey, refusal: Reason | None) -> None:
    draft.reply(str(effect.request.get("ask", "")), refusal, cluster=effect.cluster)


def give_back(draft: Draft, cluster: ClusterState, *, by: str, discard: bool, force: bool) -> None:
    """An MR-cluster goes, in whatever life it is: its outputs are saved, if a job can have written any.

    One that is still being deployed has nothing to save: its HDFS is not there yet. While it is being saved,
    ``discard`` and ``force`` give up what holds the save: its data, and what users run on it.
    """
    if cluster.life is ClusterLife.RETIRING:
        return
    if cluster.life is ClusterLife.SAVING and not discard and not (force and _held_by_applications(draft, cluster)):
        return
    for job in draft.jobs_of(cluster.id):
        jobs.cancel(draft, job, Reason("cluster-released"))
    draft.say("released", cluster=cluster.id, by=by, discard=discard)
    match cluster.life:
        case ClusterLife.DORMANT | ClusterLife.WAITING | ClusterLife.ADMITTED:
            draft.put_cluster(replace(cluster, life=ClusterLife.GONE))
        case ClusterLife.DEPLOYING:
            _called_off(draft, cluster)
            retire(draft, alerts.next_stage(cluster))
        case ClusterLife.LOADING:
            _called_off(draft, cluster)
            save(draft, replace(alerts.next_stage(cluster), discard=discard), applications=force)
        case ClusterLife.RUNNING:
            save(draft, replace(alerts.next_stage(cluster), discard=discard), applications=force)
        case ClusterLife.SAVING:
            effect = _saves(draft, cluster)
            undeclared = effect is not None and effect.undeclared
            save(draft, replace(alerts.next_stage(cluster), discard=discard), undeclared=undeclared, applications=force)


def _called_off(draft: Draft, cluster: ClusterState) -> None:
    draft.say("called-off", cluster=cluster.id, life=cluster.life, took_us=draft.at_us - cluster.since_us)


def _saves(draft: Draft, cluster: ClusterState) -> Save | None:
    pending = draft.pending(Key.CLUSTER.of(cluster.id))
    return pending.effect if pending is not None and isinstance(pending.effect, Save) else None


def _held_by_applications(draft: Draft, cluster: ClusterState) -> bool:
    """True if what users run on an MR-cluster can hold its save."""
    effect = _saves(draft, cluster)
    return effect is not None and not effect.applications


def save(draft: Draft, cluster: ClusterState, *, undeclared: bool = False, applications: bool = False) -> None:
    """Save the outputs of an MR-cluster; it keeps its nodes until that was verified (3.1).

    ``undeclared``: data outside of them is given up; else what is written after the survey holds the MR-cluster.
    ``applications``: the same for what users run on YARN.
    """
    cluster = replace(cluster, life=ClusterLife.SAVING, version=cluster.version + 1)
    draft.put_cluster(cluster)
    if cluster.discard:
        draft.say("discarded", cluster=cluster.id)
        retire(draft, cluster)
        return
    effect = Save(cluster.id, cluster.version, undeclared, applications, draft.settings.close_us)
    draft.act(effect, within_us=draft.settings.transfer_us, version=cluster.version)


def retire(draft: Draft, cluster: ClusterState) -> None:
    """Stop and wipe all nodes of an MR-cluster, with what still runs there; it is gone when all were seen clean.

    A stage that is under way is stopped first: it must not start anything on a node that was wiped.
    """
    for job in draft.jobs_of(cluster.id):
        jobs.end_with_cluster(draft, job)
    stage = draft.pending(Key.CLUSTER.of(cluster.id))
    cluster = masters.forget(draft, cluster)
    cluster = replace(alerts.retires(cluster), life=ClusterLife.RETIRING, version=cluster.version + (stage is not None))
    draft.put_cluster(cluster)
    if stage is not None:
        stop = Retire(cluster.id, cluster.version)
        draft.act(stop, within_us=draft.settings.membership_us, version=cluster.version)
    _overtake(draft, cluster)
    for key in (Key.MEMBERSHIP, Key.SILENT, Key.LOGIN):
        draft.settle(key.of(cluster.id))
    why = draft.say("retire", cluster=cluster.id)
    for node in draft.nodes_of(cluster.id):
        if node.life is not NodeLife.CLEANING or node.stores:
            clean(draft, node, why)
    _need_no_proof(draft, cluster)


def _need_no_proof(draft: Draft, cluster: ClusterState) -> None:
    """Nobody can say any more where the blocks of this MR-cluster are, and nobody needs to: its outputs are saved."""
    for pending in list(draft.view.pending.values()):
        effect = pending.effect
        wanted = isinstance(effect, Host) and effect.cluster == cluster.id and effect.proof is not None
        if wanted and isinstance(effect, Host) and draft.node(effect.node).owner is None:
            draft.act(replace(effect, proof=None), within_us=draft.settings.clean_us, version=pending.version)
