"""The removal of what tasks have saved of themselves, and of notes for a stream, once the job needs neither."""

from __future__ import annotations

from fawkes.core.state.draft import Draft
from fawkes.core.values.decision import PutPending
from fawkes.core.values.effects import ClearSaved
from fawkes.core.values.events import Done, Failed
from fawkes.core.values.model import JobLife, JobState


def ended(draft: Draft, job: JobState) -> None:
    """A job has ended; tasks of one that succeeded have removed all of it by themselves."""
    if job.spec.stream is not None or (job.spec.saves and job.life is not JobLife.SUCCEEDED):
        _begin(draft, ClearSaved(job.id, job.cluster, job.attempt, job.spec, draft.at_us))


def _begin(draft: Draft, effect: ClearSaved, tries: int = 1) -> None:
    draft.act(effect, within_us=draft.settings.start_job_us, version=effect.attempt, tries=tries)


def answered(draft: Draft, event: Done | Failed) -> None:
    """It is gone, or is tried again after a while for as long as the MR-cluster is there.

    A container may have written until YARN had ended it, so that what was gone at once is looked at once more.
    """
    pending = draft.pending(event.effect)
    effect = None if pending is None else pending.effect
    if pending is None or pending.version != event.version or not isinstance(effect, ClearSaved):
        draft.say("late-answer", effect=event.effect, version=event.version)
    elif draft.cluster(effect.cluster) is None:
        draft.settle(event.effect)
    elif isinstance(event, Failed):
        draft.later(pending)
    elif (left_us := effect.ended_us + draft.settings.doubt_us - draft.at_us) > 0:
        draft.expect(pending.key, left_us, effect=effect, version=pending.version, tries=pending.tries)
    else:
        draft.settle(event.effect)


def late(draft: Draft, pending: PutPending) -> None:
    """No answer came in time, or it is time to try again."""
    draft.settle(pending.key)
    if isinstance(pending.effect, ClearSaved) and draft.cluster(pending.effect.cluster) is not None:
        _begin(draft, pending.effect, pending.tries + 1)
