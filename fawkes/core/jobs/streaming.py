"""Streams: a congestion monitor watches the batches of each, and says how many executors it is to have.

A queue is what has arrived while a batch took longer than it should; the share of time that batches take is the load of
the executors. So a batch in time has no queue, and a stream that is late has full executors: of the monitor's actions
ScaleUp and ScaleIn are what readings of Spark can lead to.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor

from fawkes.base.units import SECOND_US
from fawkes.base.values import replace
from fawkes.core.state.draft import Draft
from fawkes.core.streams.monitor import watch
from fawkes.core.streams.values import Action, ScaleIn, ScaleUp, StreamReading
from fawkes.core.values.decision import PutPending
from fawkes.core.values.effects import SteerStream
from fawkes.core.values.events import Done, Failed
from fawkes.core.values.model import ClusterState, JobLife, JobState, StreamSpec, StreamState
from fawkes.core.values.sight import StreamSeen, Work
from fawkes.core.values.tags import tag_of


def read(draft: Draft, cluster: ClusterState, work: Iterable[Work], ready: int | None) -> None:
    """Follow the streams of an MR-cluster by a reading; ``ready`` are the tasks of others that wait for room."""
    rows = {row.tag: row for row in work}
    for job in draft.busy_of(cluster.id):
        row = rows.get(tag_of(job.id, job.attempt))
        if job.spec.stream is not None and job.life is JobLife.RUNNING and row is not None and row.stream is not None:
            _follow(draft, job, job.spec.stream, row.stream, ready)


def _follow(draft: Draft, job: JobState, spec: StreamSpec, seen: StreamSeen, ready: int | None) -> None:
    state = job.stream
    if state is None or state.attempt != job.attempt:
        state = StreamState(attempt=job.attempt, needs=spec.least, told=spec.least)
    monitor, step = watch(state.monitor, reading_of(seen, spec, draft.at_us), spec.thresholds)
    needs = state.needs if step is None else needed(step.action, state.needs, seen, spec)
    if step is not None and needs == state.needs:
        # Nothing follows from that action, so that the next one need not wait for it.
        monitor, step = replace(monitor, action=state.monitor.action, action_s=state.monitor.action_s), None
    entitled = state.entitled if seen.room is None else max(spec.least, floor(spec.guarantee * seen.room))
    allowed = _allowed(needs, state.told, entitled, ready)
    lacking = _lacking(min(allowed, entitled or 0), seen)
    since_us = (state.lacking_us if lacking == state.lacking else draft.at_us) if lacking else None
    new = replace(state, monitor=monitor, needs=needs, entitled=entitled, lacking_us=since_us, lacking=lacking)
    if allowed != state.told:
        code = "stream-gives-back" if allowed < needs else "stream-takes-back" if step is None else "stream-steered"
        numbers = {"executors": allowed, "before": state.told, "needs": needs, "waiting": ready or 0}
        known = {} if entitled is None else {"entitled": entitled}
        draft.say(code, job=job.id, cluster=job.cluster, error="" if step is None else step.reason, **numbers, **known)
        new = replace(new, told=allowed, orders=state.orders + 1)
        effect = SteerStream(job.id, job.cluster, job.attempt, allowed, new.orders)
        draft.act(effect, within_us=draft.settings.membership_us, version=new.orders)
    if new != state or job.stream is None:
        draft.put_job(replace(job, stream=new))


def _lacking(claims: int, seen: StreamSeen) -> int:
    """The containers that a stream lacks: those for which its driver asks, and that YARN has not given yet.

    No container where that is not known: an executor that only starts would cost another task its own in vain.
    """
    return 0 if seen.given is None else max(0, min(claims, seen.wanted) - max(seen.given, seen.executors))


def _allowed(needs: int, current: int, entitled: int | None, ready: int | None) -> int:
    """The executors that a stream may have: more than its guarantee only where nobody is known to wait.

    Where that is not known it keeps what it has, and gets no more than the guarantee.
    """
    if ready == 0:
        return needs
    if entitled is None:
        return min(needs, current)
    return min(needs, entitled if ready else max(entitled, current))


def reading_of(seen: StreamSeen, spec: StreamSpec, at_us: int) -> StreamReading:
    """The reading of a stream for its monitor; nothing but the time and the executors until its second batch.

    The first one is slow on any executors: these have just begun.
    """
    at_s = at_us / SECOND_US
    if seen.batch < 2:
        return StreamReading(at_s=at_s, workers=seen.executors)
    # The next batch begins when the time of the last one is over. It is late, too, once it runs for longer than it may.
    runs_us = seen.since_us - max(0, spec.batch_us - seen.took_us)
    late_s = max(0.0, (max(seen.took_us, runs_us) - spec.batch_us) / SECOND_US)
    return StreamReading(
        at_s=at_s,
        cpu=min(1.0, max(seen.took_us, spec.batch_us if late_s else 0) / spec.batch_us),
        queue=seen.arrive * late_s,
        workers=seen.executors,
    )


def needed(action: Action, now: int, seen: StreamSeen, spec: StreamSpec) -> int:
    """The executors that a stream needs after an action of its monitor.

    By the latest batch each of them handles so many records a second. They are to be busy for the middle between the
    two thresholds, so that neither holds afterwards. No step is more than twofold up. By that rate there may be enough
    of them: then it takes a batch with all of them to prove that there are not.
    """
    took_s = max(seen.took_us, 1) / SECOND_US
    present = seen.executors if seen.present is None else seen.present
    each = seen.rows / took_s / max(1, present)
    aim = ((spec.thresholds.cpu or 1.0) + spec.thresholds.idle) / 2
    wanted = ceil(seen.arrive / each / aim) if each > 0 else now
    match action:
        case ScaleUp():
            more = now + 1 if present > now - 0.5 else now
            return max(now, min(spec.most, max(more, min(wanted, 2 * now))))
        case ScaleIn():
            return min(now, max(spec.least, min(wanted, now - 1)))
        case _:
            return now


def answered(draft: Draft, event: Done | Failed) -> None:
    """It is noted, or is tried again after a while for as long as that attempt runs."""
    pending = draft.pending(event.effect)
    if pending is None or pending.version != event.version:
        draft.say("late-answer", effect=event.effect, version=event.version)
    elif isinstance(event, Failed) and _still(draft, pending):
        draft.later(pending)
    else:
        draft.settle(event.effect)


def late(draft: Draft, pending: PutPending) -> None:
    """No answer came in time, or it is time to try again."""
    draft.settle(pending.key)
    if pending.effect is not None and _still(draft, pending):
        draft.act(
            pending.effect, within_us=draft.settings.membership_us, version=pending.version, tries=pending.tries + 1
        )


def _still(draft: Draft, pending: PutPending) -> bool:
    effect = pending.effect
    job = draft.job(effect.job) if isinstance(effect, SteerStream) else None
    if job is None or not isinstance(effect, SteerStream):
        return False
    return job.life is JobLife.RUNNING and job.attempt == effect.attempt
