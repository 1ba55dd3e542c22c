"""A span of time in a ledger: who asked for what, under which rules, and what was left out."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fawkes.base.errors import UserError
from fawkes.base.units import show_time
from fawkes.core.values.decision import PutCluster
from fawkes.core.values.events import ReleaseAsked, Sampled, Started
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import ClusterId, ClusterLife, ClusterState, JobLife, JobState, NodeLife
from fawkes.offline.record.demand import says_times
from fawkes.report import history
from fawkes.report.words.sentences import why_ended
from fawkes.store.base import CLUSTER, Reader

_HINT = "Give another --since or --until; `fawkes jobs` shows when there were jobs"


@dataclass(frozen=True, slots=True)
class Span:
    """A span from one time to before another, and the numbers of the first and the last step in it."""

    since_us: int
    until_us: int
    first_seq: int
    last_seq: int

    @property
    def times(self) -> tuple[int, int]:
        """The times from when to before when."""
        return self.since_us, self.until_us

    def has(self, at_us: int) -> bool:
        """True if a time is in it."""
        return self.since_us <= at_us < self.until_us


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSpan:
    """A span of a ledger.

    ``rules`` are the start of the engine that was in charge longest: pool, settings, policies. ``jobs`` were submitted
    in the span and succeeded, or were dropped or killed because of their deadline and say themselves what their tasks
    do: another admission policy may let them in. ``left_out`` says why other jobs and MR-clusters are not there,
    ``notes`` what an offline run cannot know. ``slots`` are the mean slots that each job's MR-cluster had while the job
    ran, ``node_slots`` the containers of one node; None where no reading says it (one that has ApplicationMasters).
    """

    span: Span
    rules: Started
    clusters: tuple[ClusterState, ...]
    jobs: tuple[JobState, ...]
    slots: Mapping[str, float]
    node_slots: int | None
    left_out: Mapping[str, str]
    notes: tuple[str, ...]


def span_of(store: Reader, since_us: int | None = None, until_us: int | None = None) -> Span:
    """The span between two times, by default all of the ledger; UserError when nothing is in it."""
    begin_us, end_us = history.first_us(store), history.last_us(store) + 1
    since_us = begin_us if since_us is None else max(begin_us, since_us)
    until_us = end_us if until_us is None else min(end_us, until_us)
    first, last = store.seq_at(since_us) + 1, store.seq_at(until_us)
    if since_us >= until_us or first > last:
        between = f"{show_time(begin_us)} to {show_time(end_us)}" if store.last_seq() else "nothing at all"
        raise UserError("there is no step in that span", where=f"the ledger has {between}", hint=_HINT)
    return Span(since_us, until_us, first, last)


def recorded_span(store: Reader, span: Span) -> RecordedSpan:
    """The jobs, MR-clusters and rules of a span; UserError when no job that succeeded was submitted in it."""
    rules, notes = _rules(store, span)
    submitted = [job for job in history.jobs(store) if span.has(job.submitted_us)]
    jobs = tuple(job for job in submitted if _succeeded(job) or _may_begin(job))
    kept = {job.id for job in jobs}
    left_out = {f"job {job.id}": _why(job) for job in submitted if job.id not in kept}
    if not any(map(_succeeded, jobs)):
        what = "no job was submitted" if not submitted else f"none of the {len(submitted)} jobs succeeded"
        raise UserError(
            f"{what} in that span", where=f"{show_time(span.since_us)} to {show_time(span.until_us)}", hint=_HINT
        )
    busy = {job.cluster for job in jobs}
    there = [state for state in history.clusters(store) if _there(state, span)]
    idle = {state.id: why for state in there if state.id not in busy and (why := _why_not(store, state, span))}
    clusters = tuple(state for state in there if state.id not in idle)
    left_out |= {f"MR-cluster {name}": why for name, why in idle.items()}
    notes += _carried(store, span)
    notes += [f"{job.id} was tried {job.attempt} times; its last attempt counts" for job in jobs if job.attempt > 1]
    slots, node_slots = _slots(store, span, jobs)
    return RecordedSpan(
        span=span,
        rules=rules,
        clusters=clusters,
        jobs=jobs,
        slots=slots,
        node_slots=node_slots,
        left_out=left_out,
        notes=(*notes, *_released(store, span), *_early(clusters, span)),
    )


def _succeeded(job: JobState) -> bool:
    return job.life is JobLife.SUCCEEDED and bool(job.run_us)


def _may_begin(job: JobState) -> bool:
    """True if it was ended for its deadline, and its own description says enough to simulate it."""
    return job.life in (JobLife.DROPPED, JobLife.KILLED) and says_times(job.spec.details)


def _rules(store: Reader, span: Span) -> tuple[Started, list[str]]:
    """The start that held longest in the span, and a note when another one had other rules."""
    held = [event for _, event in history.starts(store) if event.at_us < span.until_us]
    if not held:
        raise UserError("no controller had started before the end of that span", hint=_HINT)
    ends = [max(span.since_us, event.at_us) for event in held[1:]] + [span.until_us]
    lasted = [end - max(span.since_us, event.at_us) for event, end in zip(held, ends, strict=True)]
    longest = held[lasted.index(max(lasted))]
    rules = {_texts(event) for event, us in zip(held, lasted, strict=True) if us > 0}
    others = len(rules) - 1
    notes = [f"settings, policies or nodes changed during the span (other versions: {others})"] if others > 0 else []
    if longest.shadow:
        notes.append("the controller ran in shadow mode (--shadow): its decisions were not carried out")
    return longest, notes


def _texts(event: Started) -> tuple[str, ...]:
    """The rules from a start on, as texts: settings, nodes, the policies' sums."""
    policies = (event.policy, event.admission, event.preemption)
    return repr(event.settings), repr(event.nodes), *("" if each is None else each.sha256 for each in policies)


def _why(job: JobState) -> str:
    if job.life in ENDED_JOBS:
        why = f": {why}" if (why := why_ended(job)) not in ("", job.life) else ""
        return f"{job.life}{why}" if job.life is not JobLife.SUCCEEDED else "it has no times"
    return f"{job.life}: it had not ended"


def _there(state: ClusterState, span: Span) -> bool:
    gone_us = state.since_us if state.life is ClusterLife.GONE else None
    return state.requested_us < span.until_us and (gone_us is None or gone_us > span.since_us)


def _why_not(store: Reader, state: ClusterState, span: Span) -> str:
    """The reason why an MR-cluster without jobs in the span is no part of what happened in it; empty when it is."""
    if state.failed:
        return f"it failed: {state.failed}"
    before = [entry for entry in history.steps(store, store.mentions(CLUSTER, state.id)) if entry.seq < span.first_seq]
    lives = [
        change.state.life
        for entry in before
        for change in entry.decision.changes
        if isinstance(change, PutCluster) and change.state.id == state.id
    ]
    return "it was already being released when the span began" if lives[-1:] and lives[-1] in _GIVEN_BACK else ""


_GIVEN_BACK = (ClusterLife.SAVING, ClusterLife.RETIRING, ClusterLife.GONE)


def _released(store: Reader, span: Span) -> list[str]:
    events = [entry.event for entry in store.entries(kinds=(ReleaseAsked.__name__,)) if span.has(entry.event.at_us)]
    names = sorted({event.cluster for event in events if isinstance(event, ReleaseAsked)})
    return [f"{name} was released by hand; an offline run keeps it until it has been idle" for name in names]


def _carried(store: Reader, span: Span) -> list[str]:
    """Jobs of before the span that ran on in it loaded the machines; nobody asks for them again."""
    count = sum(
        job.submitted_us < span.since_us and (job.finished_us is None or job.finished_us > span.since_us)
        for job in history.jobs(store)
    )
    return [f"jobs that were submitted before the span and ran on into it are skipped ({count})"] if count else []


def _early(clusters: Sequence[ClusterState], span: Span) -> list[str]:
    names = sorted(state.id for state in clusters if state.requested_us < span.since_us)
    return [f"{name} existed before the span; an offline run requests it when the span begins" for name in names]


def _slots(store: Reader, span: Span, jobs: Sequence[JobState]) -> tuple[dict[str, float], int | None]:
    """Mean slots of a job's MR-cluster while it ran; and containers of one node, by most readings."""
    seen: dict[ClusterId, list[tuple[int, int]]] = {}
    each: Counter[int] = Counter()
    serving = _Serving(store)
    for entry in store.entries(after=span.first_seq - 1, kinds=(Sampled.__name__,)):
        if entry.seq > span.last_seq or not isinstance(entry.event, Sampled):
            break
        for reading in entry.event.readings:
            if reading.slots_total:
                seen.setdefault(reading.cluster, []).append((entry.event.at_us, reading.slots_total))
                nodes = serving.at(entry.seq, reading.cluster)
                if nodes and reading.masters is not None and reading.slots_total % nodes == 0:
                    each[reading.slots_total // nodes] += 1
    slots: dict[str, float] = {}
    for job in jobs:
        readings = seen.get(job.cluster, [])
        first = bisect_left(readings, (job.started_us or 0, 0))
        mine = readings[first : bisect_left(readings, ((job.finished_us or 0) + 1, 0))]
        if mine:
            slots[job.id] = sum(total for _, total in mine) / len(mine)
    return slots, each.most_common(1)[0][0] if each else None


class _Serving:
    """The number of nodes that serve each MR-cluster, step by step onwards."""

    def __init__(self, store: Reader) -> None:
        self._changes = list(history.node_changes(store))
        self._next = 0
        self._of: dict[str, str | None] = {}

    def at(self, seq: int, cluster: str) -> int:
        """The nodes that serve an MR-cluster after a step that is not before the last one asked for."""
        while self._next < len(self._changes) and self._changes[self._next].seq <= seq:
            new = self._changes[self._next].new
            self._of[new.node.id] = new.owner if new.life is NodeLife.SERVING else None
            self._next += 1
        return sum(owner == cluster for owner in self._of.values())
