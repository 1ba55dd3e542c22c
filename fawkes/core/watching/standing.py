"""Jobs of which nothing has moved for long, and what they wait for: attempts in YARN, from reading to reading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from fawkes.base.values import replace
from fawkes.core.state.draft import Draft
from fawkes.core.values.model import JobLife, JobState, Plain, Reading, Reason
from fawkes.core.values.sight import Stray, Work, application_of
from fawkes.core.values.tags import tag_of

_COUNTS = ("waiting", "running", "done", "progress")


class For(StrEnum):
    """The things that a job may wait for."""

    CLIENT = "client"
    """YARN has no application of it: its client prepares one, or its command does something else."""
    MASTER = "master"
    """Its application has no ApplicationMaster."""
    ANSWER = "answer"
    """Its ApplicationMaster does not answer."""
    STRAYS = "strays"
    """Some of its tasks have lost their containers."""
    TASKS = "tasks"
    """Its tasks run and show no progress."""
    ROOM = "room"
    """Its tasks wait, and none runs."""
    END = "end"
    """All of its tasks have ended, and it has not."""


def follow(before: Iterable[Work], seen: Iterable[Work], tags: Iterable[str], at_us: int) -> tuple[Work, ...]:
    """The progress of the attempts with these tags, each with the time since nothing of it has moved.

    One that YARN does not know has a row without an application. A count that is not known does not count as a move.
    """
    known, now = {row.tag: row for row in before}, {row.tag: row for row in seen}
    rows = []
    for tag in sorted(tags):
        old, new = known.get(tag), now.get(tag) or Work(tag=tag)
        since_us = at_us if old is None or _moved(old, new) else old.since_us
        rows.append(replace(new, since_us=since_us))
    return tuple(rows)


def _moved(old: Work, new: Work) -> bool:
    if (old.application, old.master) != (new.application, new.master):
        return True
    if old.stream is not None and new.stream is not None and old.stream.tasks != new.stream.tasks:
        return True
    pairs = ((getattr(old, name), getattr(new, name)) for name in _COUNTS)
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)


def waits_for(work: Work, reading: Reading, strays: Iterable[str]) -> tuple[For, Mapping[str, Plain]]:
    """The thing that an attempt waits for, of which nothing moves, with the numbers behind it."""
    room = {"held": reading.slots_used, "slots": reading.slots_total}
    if not work.application:
        return For.CLIENT, {}
    if not work.master:
        return For.MASTER, room
    mine = [name for name in strays if application_of(name) == work.application]
    if mine:
        return For.STRAYS, {"tasks": len(mine), "nodes": _nodes(reading.strays, mine)}
    if work.progress is None:
        return For.ANSWER, {}
    if work.running:
        return For.TASKS, {"tasks": work.running}
    return (For.ROOM, {"tasks": work.waiting, **room}) if work.waiting else (For.END, {})


def _nodes(strays: Iterable[Stray], names: Iterable[str]) -> list[Plain]:
    wanted = set(names)
    return [*sorted({stray.node for stray in strays if stray.attempt in wanted and stray.node})]


def tags(jobs: Iterable[JobState]) -> dict[str, JobState]:
    """These jobs by the tag that their applications have now."""
    return {tag_of(job.id, job.attempt): job for job in jobs}


def judge(
    draft: Draft, jobs: Mapping[str, JobState], work: Iterable[Work], reading: Reading, strays: Mapping[str, int]
) -> None:
    """Say what each job waits for of which nothing has moved for ``quiet_us``, and when it goes on."""
    for row in work:
        job = jobs[row.tag]
        if job.life is JobLife.STARTING and job.waits is not None and job.waits.code == "job-not-begun":
            continue
        if draft.at_us - row.since_us < draft.settings.quiet_us or job.life is JobLife.CANCELLING:
            if job.waits is not None:
                draft.put_job(replace(job, waits=None))
                draft.say("job-goes-on", job=job.id, cluster=job.cluster)
            continue
        what, numbers = waits_for(row, reading, strays)
        if what is For.TASKS and row.opaque:
            continue
        if job.waits is not None and job.waits.facts.get("waits_for") == what:
            continue
        facts = {"waits_for": what, "since_us": row.since_us, **{k: v for k, v in numbers.items() if v is not None}}
        reason = draft.say("job-stands", job=job.id, cluster=job.cluster, **facts)
        draft.put_job(replace(job, waits=Reason(reason.code, reason.facts)))
