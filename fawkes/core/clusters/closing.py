"""The return of the whole pool: every MR-cluster or none, each surveyed before, then the end of control.

Users go on while masters answer slowly. So the verdict needs answers that are young, all at the same moment: older ones
are asked for again. What was agreed goes on without whoever asked for it, and through restarts of the controller.
"""

from __future__ import annotations

from fawkes.base.values import replace
from fawkes.core.clusters import release
from fawkes.core.state.draft import Draft
from fawkes.core.values.decision import Closing, PutClosing
from fawkes.core.values.effects import EndControl
from fawkes.core.values.events import DownAsked
from fawkes.core.values.keys import Key
from fawkes.core.values.model import ClusterId, ClusterLife, ClusterState, NodeLife, Reason
from fawkes.core.values.settings import Settings

#: lives of a node that is not clean yet
_UNCLEAN = frozenset({NodeLife.CLEANING, NodeLife.LOST})


def longest_us(settings: Settings) -> int:
    """The longest time without an answer: one survey of each MR-cluster, and time to repeat some."""
    return settings.membership_us + settings.stale_us


def down_asked(draft: Draft, event: DownAsked) -> None:
    """The whole pool is to be given back; `advance` goes on from here.

    Asked again after it was agreed, it may give up more: data (``discard``) or what runs (``force``).
    """
    earlier = draft.closing
    if earlier is not None and earlier.agreed:
        draft.reply(event.ask)
        if not event.dry_run:
            _give_up_more(draft, earlier, event)
        return
    if earlier is not None:
        draft.reply(earlier.ask, Reason("down-overtaken", {"by": event.by}))
    closing = Closing(event.by, event.ask, discard=event.discard, force=event.force, dry_run=event.dry_run)
    draft.change(PutClosing(replace(closing, asked_us=draft.at_us)))


def _give_up_more(draft: Draft, closing: Closing, event: DownAsked) -> None:
    """Extends an agreed end of the pool: it gives up the data (``discard``) or the jobs (``force``) that held it."""
    force = closing.force or event.force
    draft.change(PutClosing(replace(closing, discard=closing.discard or (event.discard and force), force=force)))
    if event.discard and not force:
        for cluster in list(draft.clusters()):
            if cluster.life is ClusterLife.SAVING:
                release.give_up_data(draft, cluster, by=event.by)


def advance(draft: Draft) -> None:
    """The next steps for the end of the pool from what this decision has changed so far."""
    closing = draft.closing
    if closing is None:
        return
    if not closing.agreed:
        closing = _without_old(draft, closing)
        if _asks_on(draft, closing):
            return
        closing = _concluded(draft, _given_up(draft, closing))
    if closing is not None:
        _give_back(draft, closing)


def end_when_empty(draft: Draft) -> None:
    """Control ends when the pool was given back, no MR-cluster is left and every node is clean."""
    closing = draft.closing
    if closing is None or not closing.agreed or next(draft.clusters(), None) is not None or _unclean(draft):
        return
    draft.say("pool-empty", by=closing.by)
    draft.change(PutClosing(None))
    draft.effect(EndControl(closing.by))


def forget_question(draft: Draft) -> None:
    """A controller starts anew: whoever asked for the end is not there any more, and nothing was agreed."""
    if draft.closing is not None and not draft.closing.agreed:
        draft.change(PutClosing(None))


def _unsurveyed(draft: Draft, closing: Closing) -> list[ClusterState]:
    """The MR-clusters that have not answered, of those that must: they load or run, or their save would be given up."""
    if closing.discard and closing.force:
        return []
    lives = release.SURVEYED | {ClusterLife.SAVING} if closing.discard else release.SURVEYED
    return [cluster for cluster in draft.clusters() if cluster.life in lives and cluster.id not in closing.surveyed]


def _without_old(draft: Draft, closing: Closing) -> Closing:
    """The question without the answers that have grown old while others were awaited.

    A refusal stands: the pool stays, whatever a second survey would find.
    """
    if closing.refusals or _unsurveyed(draft, closing):
        return closing
    # Ledgers of earlier versions do not say when; no answer of theirs is young.
    answers = zip(closing.surveyed, closing.answered_us, strict=False)
    young = [(cluster, at_us) for cluster, at_us in answers if draft.at_us - at_us <= draft.settings.stale_us]
    if len(young) == len(closing.surveyed):
        return closing
    closing = replace(closing, surveyed=tuple(c for c, _ in young), answered_us=tuple(at_us for _, at_us in young))
    draft.change(PutClosing(closing))
    return closing


def _asks_on(draft: Draft, closing: Closing) -> bool:
    """Survey the MR-clusters that have not answered, while there is time; whether an answer is still to come."""
    unsurveyed = _unsurveyed(draft, closing)
    left_us = closing.asked_us + longest_us(draft.settings) - draft.at_us
    if not unsurveyed or left_us <= 0:
        return False
    for cluster in unsurveyed:
        if draft.pending(Key.SURVEY.of(cluster.id)) is None:
            release.survey_for_down(draft, cluster, within_us=min(left_us, draft.settings.membership_us))
    return True


def _given_up(draft: Draft, closing: Closing) -> Closing:
    """The question, in which each MR-cluster without an answer is a refusal: no time is left."""
    error = "its masters did not report its data and applications in time"
    late = [Reason("survey-failed", {"cluster": cluster.id, "error": error}) for cluster in _unsurveyed(draft, closing)]
    return replace(closing, refusals=(*closing.refusals, *late))


def _concluded(draft: Draft, closing: Closing) -> Closing | None:
    """All answers are there: the pool is given back as a whole, or nothing happens; None then."""
    refusals = [] if closing.force else _with_jobs(draft)
    refused = {ClusterId(str(refusal.facts.get("cluster"))) for refusal in refusals}
    refusals += [refusal for refusal in closing.refusals if refusal.facts.get("cluster") not in refused]
    if refusals:
        plain = [{"code": refusal.code, "facts": refusal.facts} for refusal in refusals]
        draft.reply(closing.ask, Reason("pool-kept", {"refusals": plain}))
    else:
        draft.reply(closing.ask)
    if refusals or closing.dry_run:
        draft.change(PutClosing(None))
        return None
    agreed = replace(closing, agreed=True)
    draft.say("pool-given-back", by=closing.by, discard=closing.discard, force=closing.force)
    draft.change(PutClosing(agreed))
    return agreed


def _with_jobs(draft: Draft) -> list[Reason]:
    refusals = []
    for cluster in draft.clusters():
        unfinished = [job.id for job in draft.jobs_of(cluster.id)]
        if unfinished and cluster.life not in (ClusterLife.SAVING, ClusterLife.RETIRING):
            refusals.append(Reason("has-jobs", {"cluster": cluster.id, "jobs": unfinished}))
    return refusals


def _give_back(draft: Draft, closing: Closing) -> None:
    for cluster in list(draft.clusters()):
        release.give_back(draft, cluster, by=closing.by, discard=closing.discard, force=closing.force)


def _unclean(draft: Draft) -> bool:
    """True if a node still has something of ours on it, or may have."""
    return any(draft.node(name).life in _UNCLEAN for name in draft.view.nodes)
