"""Work that stands still: tasks wait, resources are held, and nothing runs.

One rule for two places: the frameworks of an offer-based manager (`fawkes.offline.studies.interference`) and live
MR-clusters. On YARN this is an MR-cluster whose ApplicationMasters hold all containers, so that none of their tasks
gets one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fawkes.core.values.model import Sample


@dataclass(frozen=True, slots=True)
class Standing:
    """The standing of the work of one owner at one moment; None: not known.

    ``waiting`` and ``running`` count tasks, ``held`` counts what the owner holds (slots, containers, executors).
    ``done`` counts the tasks that have ended so far.
    """

    waiting: float | None
    held: float | None
    running: float | None
    done: int | None = None


def stands_still(now: Standing, before: Standing | None = None) -> bool | None:
    """True if work waits, resources are held and nothing runs; None when a number is missing.

    A task that has ended since ``before`` ran in between, so nothing stood still.
    """
    if now.waiting is None or now.held is None or now.running is None:
        return None
    if before is not None and before.done is not None and now.done is not None and now.done > before.done:
        return False
    return now.waiting > 0 and now.held > 0 and now.running == 0


def standing_of(sample: Sample) -> Standing:
    """The work of an MR-cluster at one moment; an ApplicationMaster holds a slot and is not a task."""
    held = [count for count in (sample.slots_used, sample.masters) if count is not None]
    return Standing(sample.tasks_waiting, max(held, default=None), sample.tasks_running, sample.tasks_done)


def still_since_us(samples: Sequence[Sample]) -> int | None:
    """The time of the earliest sample since which nothing has run, up to the last of ``samples``; oldest come first.

    A sample that lacks a number counts neither way. None when the last sample with all numbers shows work that runs, or
    none waiting.
    """
    since_us, after = None, None
    for sample in reversed(samples):
        now = standing_of(sample)
        stands = stands_still(now)
        if stands is None:
            continue
        # Counters only grow: a task that ended between two samples ran in between.
        if not stands or (after is not None and stands_still(after, now) is False):
            break
        since_us, after = sample.at_us, now
    return since_us
