"""Jobs as traces and generators give them: when each comes, what it reads and writes, and what it waits for."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fawkes.base.errors import UserError
from fawkes.base.units import MOST_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceJob:
    """One job of a trace. None is what the trace does not know; times are microseconds, sizes bytes.

    A job is submitted at ``submit_us`` (from the start of the trace). One with ``after`` is submitted ``think_us``
    after the last of the jobs with these ids has ended, but never before ``submit_us``.

    ``map_us`` and ``reduce_us`` are means of one task; where a trace has the times of single tasks, a reduce counts
    from the end of the last map, because one that waits does nothing. ``run_us`` is from launch to end. Rigid jobs
    (SWF) have ``processors``, ``run_us`` and what the user asked for, ``requested_us``, instead of tasks. ``cluster``
    is the MR-cluster that runs it; when it is empty, whoever replays the job says. ``deadline_us`` counts from the
    job's own submission. ValueError when a time is negative, or a deadline is not above 0.
    """

    id: str
    submit_us: int
    application: str = ""
    input_bytes: int | None = None
    shuffle_bytes: int | None = None
    output_bytes: int | None = None
    maps: int | None = None
    reduces: int | None = None
    map_us: int | None = None
    reduce_us: int | None = None
    processors: int | None = None
    run_us: int | None = None
    requested_us: int | None = None
    user: str = ""
    after: tuple[str, ...] = ()
    think_us: int = 0
    cluster: str = ""
    deadline_us: int | None = None

    def __post_init__(self) -> None:
        if self.submit_us < 0 or self.think_us < 0:
            raise ValueError(f"job {self.id}: a time is negative ({self.submit_us} us, {self.think_us} us)")
        if self.deadline_us is not None and self.deadline_us <= 0:
            raise ValueError(f"job {self.id}: its deadline is {self.deadline_us} us")

    @property
    def tasks(self) -> int:
        """Maps and reduces, as far as they are known."""
        return (self.maps or 0) + (self.reduces or 0)


MOST_TIME_US = 250_000_000_000_000_000
"""Almost the year 9900, counted from 1970: later times cannot be shown."""
MOST_JOBS = 10_000_000
"""In one trace: the largest that are known have a few million."""
MOST_TASKS = 10_000_000
"""Maps, reduces or processors of one job."""


def out_of_range(job: TraceJob) -> str:
    """The reason why nothing can compute with a job's numbers, as ``Tally.add`` takes it; empty when all is well."""
    times = (
        *(job.submit_us, job.think_us, job.map_us, job.reduce_us),
        *(job.run_us, job.requested_us, job.deadline_us),
    )
    if any(time is not None and time > MOST_TIME_US for time in times):
        return "with a time that is too large"
    if any(size is not None and size > MOST_BYTES for size in (job.input_bytes, job.shuffle_bytes, job.output_bytes)):
        return "with a size of more than 1000 PB"
    if any(count is not None and count > MOST_TASKS for count in (job.maps, job.reduces, job.processors)):
        return f"with more than {MOST_TASKS:,} tasks"
    return ""


@dataclass(frozen=True, slots=True)
class Dropped:
    """The number of lines that a reader met for each reason, and the number of the first one (from 1).

    Where each job has a file of its own, jobs are counted instead, and ``names`` has those of the files.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    first_lines: Mapping[str, int] = field(default_factory=dict)
    names: Sequence[str] = ()

    @property
    def total(self) -> int:
        """All lines."""
        return sum(self.counts.values())

    @property
    def unit(self) -> str:
        """The unit that is counted: ``line`` or ``job``."""
        return "job" if self.names else "line"

    def first(self, reason: str) -> str:
        """The first one: ``line 7``, or the name of a file."""
        number = self.first_lines[reason]
        return self.names[number - 1] if self.names else f"line {number}"

    def __str__(self) -> str:
        """``3 lines with a negative size (first: line 7); ...``, most frequent first; empty when there are none."""
        rows = sorted(self.counts.items(), key=lambda row: (-row[1], self.first_lines[row[0]]))
        return "; ".join(
            f"{count} {self.unit}{'' if count == 1 else 's'} {reason} (first: {self.first(reason)})"
            for reason, count in rows
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The jobs that a reader made of a file.

    ``jobs`` are sorted by ``submit_us``, equal ones in the order of the file. ``dropped`` counts the lines that became
    no job, ``mended`` those that did although something in them was not right. ``header`` is what the file says of
    itself (SWF: ``MaxProcs``, ``UnixStartTime``, ...; a key that stands several times has its values on lines),
    ``format`` how it was read (``fawkes.workload.formats.formats``).
    """

    source: str
    jobs: tuple[TraceJob, ...]
    dropped: Dropped = Dropped()
    mended: Dropped = Dropped()
    header: Mapping[str, str] = field(default_factory=dict)
    format: str = ""


def in_order(jobs: Sequence[TraceJob]) -> tuple[TraceJob, ...]:
    """The jobs with each one behind all that it is ``after``, else in the order given.

    UserError when two jobs have one id, when a job is after one that is not there, or when jobs wait for each other in
    a circle (all of it is named).
    """
    known = {job.id: job for job in jobs}
    if len(known) != len(jobs):
        _refuse_twice(jobs)
    waits = {job.id: len(set(job.after)) for job in jobs}
    followers: dict[str, list[TraceJob]] = {}
    for job in jobs:
        for other in dict.fromkeys(job.after):
            if other not in known:
                raise UserError(f"job {job.id!r} is after {other!r}, which does not exist", where=f"job {job.id}")
            followers.setdefault(other, []).append(job)
    ready = deque(job for job in jobs if not waits[job.id])
    placed: list[TraceJob] = []
    while ready:
        job = ready.popleft()
        placed.append(job)
        for follower in followers.get(job.id, ()):
            waits[follower.id] -= 1
            if not waits[follower.id]:
                ready.append(follower)
    if len(placed) < len(jobs):
        circle = _circle(known, {job_id for job_id, left in waits.items() if left})
        raise UserError(
            f"jobs wait for each other: {' after '.join(repr(job_id) for job_id in circle)}", where=f"job {circle[0]}"
        )
    return tuple(placed)


def _refuse_twice(jobs: Sequence[TraceJob]) -> None:
    seen: set[str] = set()
    for job in jobs:
        if job.id in seen:
            raise UserError(f"there are two jobs {job.id!r}", where=f"job {job.id}", hint="Each job needs its own id")
        seen.add(job.id)


def _circle(known: Mapping[str, TraceJob], stuck: set[str]) -> list[str]:
    """Ids from one job back to itself: each stuck job waits for another stuck one, so going on must come round."""
    path: dict[str, None] = {}
    at = next(job_id for job_id in known if job_id in stuck)
    while at not in path:
        path[at] = None
        at = next(other for other in known[at].after if other in stuck)
    ids = list(path)
    return [*ids[ids.index(at) :], at]
