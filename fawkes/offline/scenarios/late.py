"""Jobs that come or end after the end of the run, or never start: one wrong number makes a run that cannot finish."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from fawkes.base.errors import ConfigError, FawkesError
from fawkes.base.units import SECOND_US, show_duration
from fawkes.core.values.model import JobSpec
from fawkes.offline.scenarios.applications import profile_of_job
from fawkes.sim.hadoop.constants import Constants
from fawkes.sim.hadoop.profile import Profile, profile_of
from fawkes.workload.making.classes import Stage
from fawkes.workload.model import TraceJob
from fawkes.workload.reading.traces import lines

_DAY_US = 86_400 * SECOND_US


@dataclass(frozen=True, slots=True)
class Reach:
    """The reach of a run: its limit, and the machine on which its jobs have to be done by then.

    A job is refused that takes several times the limit: chance makes single tasks shorter than their mean.
    """

    limit_us: int
    constants: Constants
    nodes: int

    def ends(self, us: float) -> bool:
        """True if something that takes so long on average may end before the limit."""
        return us <= 4 * self.limit_us

    def least_us(self, profile: Profile) -> float:
        """The least time that a job can take: a map and a reduce, with the disks of all nodes to themselves."""
        moved = profile.map_read_bytes + profile.map_output_bytes + profile.output_bytes
        moved_s = moved / (self.constants.disk_bytes_s * self.nodes)
        return profile.map_us + profile.reduce_us + moved_s * SECOND_US


def refuse_late(jobs: Sequence[TraceJob], path: Path, time_factor: float, limit_us: int, *, table: bool) -> None:
    """ConfigError when jobs of a trace are submitted after the limit of the run, which then could never finish.

    It says how many, names the first one with its line, and the largest gap between two jobs: when the time of the
    first job is the wrong one, nearly all others come late. Times of a ``table`` count from the start of the run,
    others from the first job; they are multiplied by ``time_factor``.
    """
    begin_us = 0 if table or not jobs else jobs[0].submit_us
    late = [job for job in jobs if (job.submit_us - begin_us) * time_factor > limit_us]
    if not late:
        return
    first = late[0]
    are = "is" if len(late) == 1 else "are"
    wrong = f"{len(late):,} of {len(jobs):,} jobs {are} submitted after the limit of the run, {_days(limit_us)}"
    at = f"the first is {_named(first.id, path)}, {_days((first.submit_us - begin_us) * time_factor)} after the start"
    gap = ""
    if len(jobs) > 1:
        before, after = max(pairwise(jobs), key=lambda pair: pair[1].submit_us - pair[0].submit_us)
        long = _days((after.submit_us - before.submit_us) * time_factor)
        gap = f"; the largest gap, {long}, is between {_named(before.id, path)} and {_named(after.id, path)}"
    raise ConfigError(
        f"{wrong}: {at}{gap}",
        file=str(path),
        hint="Correct or remove the job whose time is wrong. If all times are right, give the scenario a longer "
        "`limit`, or the load a smaller `time_factor` or fewer jobs (`limit`)",
    )


def refuse_beyond(kind: str, times: Sequence[tuple[str, int]], path: Path, limit_us: int) -> None:
    """ConfigError when something of a scenario comes after the limit of the run: it would silently never happen.

    ``times`` has a name and microseconds from the start of the run for each; the error counts and names the first.
    """
    late = [(name, us) for name, us in times if us > limit_us]
    if late:
        name, us = late[0]
        come = "comes" if len(late) == 1 else "come"
        raise ConfigError(
            f"{len(late):,} of {len(times):,} {kind} {come} after the limit of the run, {_days(limit_us)}: the first "
            f"is {name}, {_days(us)} after the start",
            file=str(path),
            hint="Correct the time, or give the scenario a longer `limit`",
        )


def refuse_long(
    jobs: Sequence[TraceJob], path: Path, reach: Reach, stages: Mapping[str, Stage], name: Callable[[TraceJob], str]
) -> None:
    """ConfigError when a job of a trace can never end within the limit of the run.

    It says how many jobs, names the first one with its line, and what to do; ``name`` is what the file calls a job.
    """
    long = [(job, us) for job in jobs if not reach.ends(us := reach.least_us(profile_of_job(job, stages)))]
    if not long:
        return
    job, us = long[0]
    need = "needs" if len(long) == 1 else "need"
    raise ConfigError(
        f"{len(long):,} of {len(jobs):,} jobs {need} longer than the limit of the run, {_days(reach.limit_us)}: the "
        f"first is {_named(name(job), path)}, which takes {_days(us)} or more",
        file=str(path),
        hint="Correct or remove the job whose time or size is wrong. If both are right, give a longer `limit`",
    )


def refuse_hopeless(jobs: Sequence[TraceJob], path: Path, name: Callable[[TraceJob], str]) -> None:
    """ConfigError when no number of CPUs lets a job of a trace meet its deadline: one map and one reduce take longer.

    Looked at are jobs with known times of tasks. ``name`` is what the file calls a job.
    """
    timed = [(job, job.deadline_us, _tasks_us(job)) for job in jobs if job.deadline_us is not None]
    late = [(job, deadline_us, least_us) for job, deadline_us, least_us in timed if deadline_us < least_us]
    if not late:
        return
    job, deadline_us, least_us = late[0]
    have = "has a deadline" if len(late) == 1 else "have deadlines"
    raise ConfigError(
        f"{len(late):,} of {len(timed):,} jobs with deadlines {have} that no number of CPUs could meet: the first is "
        f"{_named(name(job), path)}, with {show_duration(deadline_us)}; one map and one reduce take "
        f"{show_duration(least_us)}",
        file=str(path),
        key="deadline_s",
        hint="Give it a longer deadline, or remove the job",
    )


def _tasks_us(job: TraceJob) -> int:
    """The time of one map and one reduce, as far as it is known."""
    return (job.map_us or 0) + ((job.reduce_us or 0) if job.reduces else 0)


def refuse_endless(specs: Iterable[JobSpec], path: Path, reach: Reach) -> None:
    """The same for jobs of a scenario that no trace names."""
    for spec in specs:
        us = reach.least_us(profile_of(spec))
        if not reach.ends(us):
            raise ConfigError(
                f"the job {spec.id!r} takes {_days(us)} or more, and the limit of the run is {_days(reach.limit_us)}",
                file=str(path),
                hint="Give it less work, or give the scenario a longer `limit`",
            )


def refuse_wide(specs: Iterable[JobSpec], path: Path, reach: Reach) -> None:
    """ConfigError when rigid jobs need more slots than the pool has: they start on all of them at once or never."""
    slots = reach.nodes * (reach.constants.map_slots or reach.constants.slots)
    gangs = [(spec.id, profile.maps) for spec in specs if (profile := profile_of(spec)).gang]
    wide = [(name, count) for name, count in gangs if count > slots]
    if wide:
        name, count = wide[0]
        need = "needs" if len(wide) == 1 else "need"
        raise ConfigError(
            f"{len(wide):,} of {len(gangs):,} rigid jobs {need} more slots than the {slots:,} of the pool: the first "
            f"is {name!r}, with {count:,} processors",
            file=str(path),
            hint="Give [pool] more nodes or [model] more slots, or leave these jobs out of the trace",
        )


def _days(us: float) -> str:
    return f"{us / _DAY_US:,.0f} d" if us >= 2 * _DAY_US else show_duration(round(us))


def _named(job: str, path: Path) -> str:
    line = _line_of(job, path)
    return f"job {job!r} (line {line})" if line else f"job {job!r}"


def _line_of(job: str, path: Path) -> int | None:
    """The line of a job: the first that begins with its id, else the first with the id as a word; None without one.

    Formats do not keep the numbers of lines of the jobs that they read: only an error needs them.
    """
    name = re.escape(job.encode())
    begins, has = re.compile(rb"\s*" + name + rb"(?![\w.-])"), re.compile(rb"(?<![\w.-])" + name + rb"(?![\w.-])")
    last = None
    try:
        for number, line in lines(path):
            if begins.match(line):
                return number
            if last is None and has.search(line):
                last = number
    except FawkesError:
        return None
    return last
