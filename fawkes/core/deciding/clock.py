"""Time that must not count: jumps of the machine's clock, and time in which no controller looked.

The ledger's time never runs backwards, and follows the machine's clock when that is ahead. Durations must not follow
it: what waits for a deadline, is idle or rests is put off by as much time as nobody has seen pass.
"""

from __future__ import annotations

from typing import Any

from fawkes.base.values import replace
from fawkes.core.state.draft import Draft
from fawkes.core.values.decision import PutClock, PutPending
from fawkes.core.values.events import ClockSeen, Started
from fawkes.core.values.keys import Key, split
from fawkes.core.values.model import ClusterState
from fawkes.core.values.settings import Settings


def clock_seen(draft: Draft, event: ClockSeen) -> None:
    """The machine's clock was set while the controller worked. Less than the setting is time like any other."""
    # The world's timer waits for a time of that clock.
    draft.new_timer = True
    if _jumped(draft.settings, event.by_us):
        moved_us = event.moved_us if _jumped(draft.settings, event.moved_us) else 0
        draft.say("clock-jumped", by_us=abs(event.by_us), ahead=event.by_us > 0, uncounted_us=moved_us)
        _put_off(draft, event.by_us, moved_us)
        _jobs_later(draft, moved_us)
        _holds_later(draft, moved_us)


def after_stop(draft: Draft, event: Started) -> None:
    """A controller starts again: time between two runs counts up to a bound, and not where only the clock moved."""
    settings, passed_us = draft.settings, event.at_us - draft.view.now_us
    if draft.view.rules is None:
        return
    uncounted_us = uncounted(settings, passed_us, event.steady_us)
    if _jumped(settings, event.stepped_us):
        by_us = event.stepped_us
        draft.say("clock-jumped", by_us=abs(by_us), ahead=by_us > 0, uncounted_us=uncounted_us)
        _put_off(draft, by_us, uncounted_us)
        _holds_later(draft, min(uncounted_us, max(0, by_us)))
    elif uncounted_us:
        draft.say("away", away_us=passed_us, counted_us=passed_us - uncounted_us)
        _put_off(draft, 0, uncounted_us)
    # Jobs have run on while no controller did: of their own times only what nobody can call time is taken away.
    _jobs_later(draft, uncounted_us if event.steady_us is None else min(uncounted_us, max(0, event.stepped_us)))


def uncounted(settings: Settings, passed_us: int, steady_us: int | None) -> int:
    """The part of the time between two runs that does not count; 0 where the settings have no bound.

    ``passed_us`` is by the machine's clock, ``steady_us`` by one that nobody can set (None: the machine was off).
    """
    if not settings.away_us or passed_us <= 0:
        return 0
    seen_us = passed_us if steady_us is None else max(0, steady_us)
    return passed_us - min(passed_us, seen_us, settings.away_us)


def _jumped(settings: Settings, by_us: int) -> bool:
    return bool(settings.clock_jump_us) and abs(by_us) > settings.clock_jump_us


def _put_off(draft: Draft, by_us: int, uncounted_us: int) -> None:
    """Everything that patience is measured from moves along with the time."""
    draft.change(PutClock(draft.at_us, by_us, uncounted_us))
    if not uncounted_us:
        return
    for pending in _durations(draft):
        draft.put_off(pending, uncounted_us)
    for cluster in draft.clusters():
        if (later := _later(cluster, uncounted_us)) != cluster:
            draft.put_cluster(later)
    for node in draft.view.nodes.values():
        if node.back_us is not None:
            draft.put_node(replace(node, back_us=node.back_us + uncounted_us))
    moved_us = tuple(at_us + uncounted_us for at_us in draft.tick.moved_us)
    if moved_us:
        draft.change(replace(draft.tick, moved_us=moved_us, measured=False))


def _later(cluster: ClusterState, by_us: int) -> ClusterState:
    since = {name: getattr(cluster, name) for name in ("idle_us", "silent_us", "still_us")}
    moved: dict[str, Any] = {name: at_us + by_us for name, at_us in since.items() if at_us is not None}
    if cluster.moving is not None:
        # Not since when: how old a copy is, counts from there.
        moved["moving"] = replace(cluster.moving, uncounted_us=cluster.moving.uncounted_us + by_us)
    return replace(cluster, **moved)


def _durations(draft: Draft) -> list[PutPending]:
    """Everything that is pending for a while."""
    return [pending for pending in draft.view.pending.values() if split(pending.key)[0] is not Key.HOLD]


def _holds_later(draft: Draft, by_us: int) -> None:
    """Holds end at a time that somebody named, also while no controller runs: only a jump of the clock moves them."""
    if not by_us:
        return
    for pending in draft.view.pending.values():
        if split(pending.key)[0] is Key.HOLD:
            draft.put_off(pending, by_us)
    for cluster in draft.clusters():
        if cluster.hold is not None and cluster.hold.until_us:
            draft.put_cluster(replace(cluster, hold=replace(cluster.hold, until_us=cluster.hold.until_us + by_us)))
    for node in map(draft.node, draft.view.nodes):
        if node.hold is not None and node.hold.until_us:
            draft.put_node(replace(node, hold=replace(node.hold, until_us=node.hold.until_us + by_us)))


def _jobs_later(draft: Draft, by_us: int) -> None:
    """Jobs have waited and run for as long as before: by their deadlines, and by what policies measure."""
    for job in draft.view.jobs.values() if by_us else ():
        started_us = None if job.started_us is None else job.started_us + by_us
        draft.put_job(replace(job, submitted_us=job.submitted_us + by_us, started_us=started_us))
