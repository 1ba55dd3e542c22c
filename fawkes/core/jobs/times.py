"""The times of an attempt in the ledger's time. YARN has a clock of its own, and either clock may be set meanwhile.

A duration is taken from one clock alone. What neither clock can say is not known (None).
"""

from __future__ import annotations

from fawkes.base.values import replace
from fawkes.core.jobs.attempts import AttemptVerdict
from fawkes.core.state.draft import Draft
from fawkes.core.values.model import JobState


def began_us(draft: Draft, job: JobState, said_us: int | None) -> int:
    """The start of an attempt that is seen to run: as YARN says where it can be so, else now."""
    placed_us = _placed(draft, _least(draft, job), said_us)
    return draft.at_us if placed_us is None else placed_us


def ended(draft: Draft, job: JobState, verdict: AttemptVerdict) -> JobState:
    """The job with the times of its end; where our time has skipped some, all of it moves as far as YARN saw it run."""
    if job.started_us is None and job.id not in draft.view.handed_us:
        # Found running when its pool was adopted: nobody knows since when.
        return job
    at_us, least_us = draft.at_us, _least(draft, job)
    jumped = _jumped_since(draft, least_us)
    said_us = job.started_us if verdict.started_us is None and not jumped else verdict.started_us
    ran_us = None if said_us is None or verdict.finished_us is None else verdict.finished_us - said_us
    started_us = _placed(draft, least_us, said_us)
    if started_us is None:
        started_us = at_us if job.started_us is None else job.started_us
    if ran_us is not None and ran_us >= 0 and jumped:
        started_us = min(started_us, at_us - ran_us)
        skipped_us = max(0, least_us - started_us)
        job = replace(job, submitted_us=job.submitted_us - skipped_us)
    elif ran_us is not None and 0 <= ran_us <= at_us - least_us + draft.settings.clock_jump_us:
        started_us = max(least_us, min(started_us, at_us - ran_us))
    elif jumped:
        return job
    else:
        # YARN's clock was set meanwhile, or it says no end: by ours it ended now.
        ran_us = at_us - started_us
    return replace(job, started_us=started_us, finished_us=min(at_us, started_us + ran_us))


def _least(draft: Draft, job: JobState) -> int:
    """The time at which the attempt was handed over: it began later."""
    return draft.view.handed_us.get(job.id, job.submitted_us)


def _jumped_since(draft: Draft, since_us: int) -> bool:
    clock = draft.view.clock
    return clock is not None and clock.at_us >= since_us


def _placed(draft: Draft, least_us: int, said_us: int | None) -> int | None:
    """YARN's time as one of ours; None where our clock was set meanwhile, or the two differ by more than we bear."""
    if said_us is None or _jumped_since(draft, least_us) or said_us < least_us - draft.settings.clock_jump_us:
        return None
    return max(least_us, min(said_us, draft.at_us))
