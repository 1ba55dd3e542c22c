"""How the whole pool is given back: every MR-cluster or none, each surveyed before, then the end of control.

What was agreed goes on without whoever asked for it, and through restarts of the controller.
"""

from __future__ import annotations

from dataclasses import replace

from fawkes.core import release
from fawkes.core.decision import PutClosing
from fawkes.core.draft import Draft
from fawkes.core.effects import EndControl
from fawkes.core.events import DownAsked
from fawkes.core.keys import Key
from fawkes.core.model import Closing, ClusterId, ClusterLife, NodeLife, Reason

#: lives of a node that is not clean yet
_UNCLEAN = frozenset({NodeLife.CLEANING, NodeLife.LOST})


def down_asked(draft: Draft, event: DownAsked) -> None:
    """The whole pool is to be given back; `advance` goes on from here.

    Asked again after it was agreed, it may give up more: data (``discard``) or what runs (``force``).
    """
    earlier = draft.closing
    if earlier is not None and earlier.agreed:
        draft.reply(event.ask)
        if not event.dry_run:
            draft.change(
                PutClosing(
                    replace(earlier, discard=earlier.discard or event.discard, force=earlier.force or event.force)
                )
            )
        return
    if earlier is not None:
        draft.reply(earlier.ask, Reason("down-overtaken", {"by": event.by}))
    asked = Closing(event.by, event.ask, discard=event.discard, force=event.force, dry_run=event.dry_run)
    draft.change(PutClosing(asked))


def advance(draft: Draft) -> None:
    """What follows for the end of the pool from what this decision has changed so far."""
    closing = draft.closing
    if closing is None:
        return
    if not closing.agreed:
        if _asks_on(draft, closing):
            return
        closing = _concluded(draft, closing)
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


def _asks_on(draft: Draft, closing: Closing) -> bool:
    """Survey MR-clusters that run and were not surveyed yet; whether an answer is still to come."""
    if closing.discard and closing.force:
        return False
    waits = False
    for cluster in list(draft.clusters()):
        if cluster.life is not ClusterLife.RUNNING or cluster.id in closing.surveyed:
            continue
        waits = True
        if draft.pending(Key.SURVEY.of(cluster.id)) is None:
            release.survey_for_down(draft, cluster)
    return waits


def _concluded(draft: Draft, closing: Closing) -> Closing | None:
    """All answers are there: the pool is given back as a whole, or nothing happens; None then."""
    refusals = [] if closing.force else _with_jobs(draft)
    refused = {ClusterId(str(one.facts.get("cluster"))) for one in refusals}
    refusals += [one for one in closing.refusals if one.facts.get("cluster") not in refused]
    if refusals:
        plain = [{"code": one.code, "facts": one.facts} for one in refusals]
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
    found = []
    for cluster in draft.clusters():
        unfinished = [job.id for job in draft.jobs_of(cluster.id)]
        if unfinished and cluster.life not in (ClusterLife.SAVING, ClusterLife.RETIRING):
            found.append(Reason("has-jobs", {"cluster": cluster.id, "jobs": unfinished}))
    return found


def _give_back(draft: Draft, closing: Closing) -> None:
    for cluster in list(draft.clusters()):
        release.give_back(draft, cluster, by=closing.by, discard=closing.discard)


def _unclean(draft: Draft) -> bool:
    """Whether a node still has something of ours on it, or may have."""
    return any(draft.node(name).life in _UNCLEAN for name in draft.view.nodes)
