"""Ids and dependencies of jobs that are copied, renamed or left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from fawkes.workload.model import TraceJob


def renamed(jobs: Iterable[TraceJob], name: Callable[[str], str]) -> tuple[TraceJob, ...]:
    """The jobs with other ids: ``name`` gives the new one of an id."""
    return tuple(replace(job, id=name(job.id), after=tuple(map(name, job.after))) for job in jobs)


def relinked(jobs: Sequence[TraceJob]) -> tuple[TraceJob, ...]:
    """Jobs of which some are copies of each other, with ids of their own: ``a``, ``a.2``, ``a.3``.

    A copy is after the copies of its own number; where there are not so many, after the last one of them.
    """
    copies = Counter(job.id for job in jobs)
    taken = set(copies)
    names: dict[str, list[str]] = {}
    for name, count in copies.items():
        mine = [name]
        number = 1
        while len(mine) < count:
            number += 1
            if f"{name}.{number}" not in taken:
                mine.append(f"{name}.{number}")
                taken.add(mine[-1])
        names[name] = mine
    seen: Counter[str] = Counter()
    made = []
    for job in jobs:
        at = seen[job.id]
        seen[job.id] += 1
        after = tuple(names[before][min(at, len(names[before]) - 1)] for before in job.after if before in names)
        made.append(replace(job, id=names[job.id][at], after=after))
    return tuple(made)


def bridged(jobs: Sequence[TraceJob], kept: Iterable[TraceJob]) -> tuple[TraceJob, ...]:
    """The jobs that are kept; one that was after a job that is not is after those that this one was after."""
    kept = list(kept)
    ids = {job.id for job in kept}
    if not any(job.after for job in kept):
        return tuple(kept)
    all_jobs = {job.id: job for job in jobs}
    return tuple(replace(job, after=_nearest(job, ids, all_jobs)) if job.after else job for job in kept)


def _nearest(job: TraceJob, ids: set[str], all_jobs: Mapping[str, TraceJob]) -> tuple[str, ...]:
    nearest: dict[str, None] = {}
    seen: set[str] = set()
    ahead = list(reversed(job.after))
    while ahead:
        name = ahead.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in ids:
            nearest[name] = None
        elif name in all_jobs:
            ahead += reversed(all_jobs[name].after)
    return tuple(nearest)
