"""Observations of each constant in records: one figure for each time that something was done."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median, pstdev

from fawkes.base.errors import ConfigError, RefusedError
from fawkes.base.reading import MIB, read_text
from fawkes.base.units import SECOND_US
from fawkes.config.workloads.scenarios import load_scenario
from fawkes.core.values.model import JobLife, JobState
from fawkes.offline.calibrate.fit import LEAST
from fawkes.offline.record.folder import HISTORY, Record, history_file
from fawkes.offline.record.hadoop import MAP, RecordedApplication, applications_in
from fawkes.offline.record.measured import MeasuredTimes, NodeArrival, comings_in, job_starts, seen_in
from fawkes.offline.scenarios.demands import KnownDemands
from fawkes.report import history
from fawkes.sim.hadoop.constants import DAS4
from fawkes.sim.hadoop.profile import profile_of

_MOST_BYTES = 256 * MIB

#: jobs with fewer maps say little of how much tasks differ
_LEAST_MAPS = 6
#: maps that use and read less than this do little but start
_LITTLE_US = SECOND_US
_LITTLE_BYTES = 10_000_000
#: what takes longer beside other things that start or work on the same cores
_BESIDE = ("join", "job_begin")


@dataclass(slots=True)
class Observations:
    """Figures by the name of the constant in ``[model]``: microseconds, bytes a second, or a share (spread)."""

    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, figures: Iterator[float] | Sequence[float]) -> None:
        """More figures of one constant."""
        self.values.setdefault(name, []).extend(figures)


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """A job that succeeded, with what Hadoop's history has of its last attempt (nothing, where it has none)."""

    job: JobState
    known: KnownDemands
    applications: tuple[RecordedApplication, ...]


def observed(records: Sequence[Record]) -> Observations:
    """All that the records show together; RefusedError when one is not complete, or of a simulated run."""
    observations = Observations()
    shared: list[tuple[list[ObservedRun], float]] = []
    for record in records:
        with record.ledger() as ledger:
            if history.simulated(ledger) and not any((record.folder / HISTORY).glob("*")):
                what, hint = "is of a simulated run, which has no histories", "Fit to a record of a site"
                raise RefusedError(what, where=str(record.folder), hint=hint)
            _of_ledger(observations, seen_in(ledger, record.span))
            jobs = [job for job in history.jobs(ledger) if job.id in record.known]
            runs = runs_of(record, [job for job in jobs if job.life is JobLife.SUCCEEDED])
            begun = job_starts(ledger)
            comings = comings_in(ledger, record.span)
        observations.add("job_start", _job_starts(runs, begun))
        model = load_scenario(record.scenario).model
        # Nodes come on cores of their own, unless all share them.
        busy = [Start(coming.begin_us, coming.end_us) for coming in comings if model.shared_cores]
        _of_joins(observations, runs, comings, shared=bool(model.shared_cores))
        _of_runs(observations, runs, busy)
        _of_starts(observations, runs, begun, busy, model.cores or DAS4.cores, shared=bool(model.shared_cores))
        if model.shared_cores:
            shared.append((_undisturbed(runs, busy), model.cores or DAS4.cores))
    for name in _BESIDE:
        # What it takes by itself is the constant; where that was seldom seen, the quickest quarter comes closest to it.
        beside = sorted(observations.values.pop(f"{name} beside others", []))
        if len(observations.values.get(name, ())) < LEAST:
            observations.add(name, beside[: max(LEAST, len(beside) // 4)])
    # What a start costs must be known before the cores can be seen behind it, and the cores before its cost in theirs.
    crowds = observations.values.pop("crowd", [])
    if crowds:
        for runs, cores in shared:
            observations.add("cores", list(_cores(runs, cores, median(crowds))))
        seen = observations.values.get("cores", [])
        cores = median(seen if len(seen) >= LEAST else [cores for _, cores in shared] or [DAS4.cores])
        observations.add("task_start_cpu", [each_us * cores for each_us in crowds])
    return observations


def runs_of(record: Record, jobs: Sequence[JobState]) -> list[ObservedRun]:
    """The recorded jobs with their histories; RefusedError when a file of them cannot be understood."""
    return [ObservedRun(job, record.known[job.id], _applications(record, job)) for job in jobs]


def _applications(record: Record, job: JobState) -> tuple[RecordedApplication, ...]:
    file = record.folder / HISTORY / history_file(job)
    if job.id in record.missing:
        return ()
    try:
        return applications_in(json.loads(read_text(file, most=_MOST_BYTES)))
    except (ConfigError, ValueError, KeyError, TypeError, RecursionError) as error:
        hint = "Take another copy of the record, or record the span again"
        raise RefusedError(f"cannot be understood ({error!r})", where=str(file), hint=hint) from None


def _of_ledger(observations: Observations, seen: MeasuredTimes) -> None:
    for name in ("deploy", "drain", "clean"):
        observations.add(name, [float(us) for us in getattr(seen, f"{name}_us")])
    observations.add("disk", [float(rate) for rate in seen.load_bytes_s])


def _of_joins(
    observations: Observations, runs: Sequence[ObservedRun], comings: Sequence[NodeArrival], *, shared: bool
) -> None:
    spans = [(coming, Start(coming.begin_us, coming.end_us)) for coming in comings]
    others = [span for _, span in spans] if shared else []
    others += [_span(application) for run in runs for application in run.applications if shared]
    for coming, span in spans:
        if coming.joined:
            name = "join beside others" if met(span, others) else "join"
            observations.add(name, [float(coming.end_us - coming.begin_us)])


def _span(application: RecordedApplication) -> Start:
    return Start(application.began_us, application.ended_us)


def _undisturbed(runs: Sequence[ObservedRun], comings: Sequence[Start]) -> list[ObservedRun]:
    """The jobs with which no other one was under way, and while which no node came."""
    spans = [(run, _span(application)) for run in runs for application in run.applications]
    disturbed = {
        id(run)
        for run, span in spans
        if met(span, comings) or met(span, (other for of, other in spans if of is not run))
    }
    return [run for run in runs if id(run) not in disturbed]


def _job_starts(runs: Sequence[ObservedRun], begun: Mapping[tuple[str, int], int]) -> Iterator[float]:
    """Starts from Fawkes's queue to YARN: the client's JVM."""
    for run in runs:
        began_us = begun.get((run.job.id, run.job.attempt))
        if began_us is not None and run.job.started_us is not None:
            yield float(max(0, run.job.started_us - began_us))


def _of_runs(observations: Observations, runs: Sequence[ObservedRun], comings: Sequence[Start]) -> None:
    every = [application for run in runs for application in run.applications if application.tasks]
    spans = [(application, _span(application)) for application in every]
    for application in every:
        begin = Start(application.began_us, max(application.began_us, application.tasks[0].start_us))
        beside = met(begin, comings) or met(begin, (span for of, span in spans if of is not application))
        observations.add("job_begin beside others" if beside else "job_begin", [float(begin.end_us - begin.begin_us)])
    for run in runs:
        for application in run.applications:
            if application.tasks:
                last_us = max(task.finish_us for task in application.tasks)
                observations.add("job_end", [float(max(0, application.ended_us - last_us))])
            times = [task.took_us for task in application.runs(MAP)]
            if len(times) >= _LEAST_MAPS and fmean(times) > 0:
                # Tasks that sleep do so as long as they are told: their times differ by their starts.
                observations.add("spread", [0.0 if run.known is KnownDemands.SPEC else pstdev(times) / fmean(times)])


def _of_starts(
    observations: Observations,
    runs: Sequence[ObservedRun],
    begun: Mapping[tuple[str, int], int],
    comings: Sequence[Start],
    cores: float,
    *,
    shared: bool,
) -> None:
    starts: list[Start] = []
    busy = [*comings]
    for run in runs:
        # Its client and its ApplicationMaster start as well, and take as much of the cores as tasks do.
        begin_us = begun.get((run.job.id, run.job.attempt), run.job.started_us or 0)
        busy += [Start(begin_us, app.tasks[0].start_us) for app in run.applications[:1] if app.tasks]
        for application in run.applications:
            own_us = _own_us(run, application)
            if own_us is None:
                busy += [Start(task.start_us, task.finish_us, task.node) for task in application.tasks]
            else:
                starts += _starts(application, own_us)
    for group in [starts] if shared else by_node(starts):
        here = busy if shared else [start for start in busy if start.node == group[0].node]
        observations.add("task_start", [float(us) for us in alone_us(group, here)])
        observations.add("crowd", [float(us) for us in crowded_us(group, here, cores)])


def _cores(runs: Sequence[ObservedRun], cores: float, each_us: float) -> Iterator[float]:
    """The number of cores that the tasks of computing jobs had, one figure for each job with more maps than ``cores``.

    On cores that other programs use as well these are fewer than the machine has. ``each_us`` is by how much each start
    makes the maps last longer.
    """
    for run in runs:
        for application in run.applications if run.known is KnownDemands.HISTORY else ():
            maps = application.runs(MAP)
            if len(maps) > cores:
                lasted_us = max(task.finish_us for task in maps) - maps[0].start_us
                rest_us = lasted_us - len(maps) * each_us
                if rest_us > 0:
                    yield 1000 * application.counter("CPU_MILLISECONDS", of_maps=True) / rest_us


def _own_us(run: ObservedRun, application: RecordedApplication) -> int | None:
    """The time that a map takes beyond its start: its sleep, or next to nothing; None where that is not known."""
    if run.known is KnownDemands.SPEC:
        return profile_of(run.job.spec).map_us
    each_us = 1000 * application.counter("CPU_MILLISECONDS", of_maps=True) / max(1, application.maps)
    read = application.counter("HDFS_BYTES_READ", of_maps=True) / max(1, application.maps)
    little = run.known is KnownDemands.HISTORY and each_us <= _LITTLE_US and read <= _LITTLE_BYTES
    return round(each_us) if little else None


def _starts(application: RecordedApplication, own_us: int) -> Iterator[Start]:
    """The starts of the maps of a job that does ``own_us`` of work in each."""
    for task in application.runs(MAP):
        if task.took_us >= own_us:
            yield Start(task.start_us, task.finish_us - own_us, task.node)


# --- Start times of tasks, seen in tasks that only sleep: all that they take beyond their sleep is the start


@dataclass(frozen=True, slots=True)
class Start:
    """A start from one moment to another, in microseconds; ``node`` is where, empty when nobody knows."""

    begin_us: int
    end_us: int
    node: str = ""


def alone_us(starts: Sequence[Start], busy: Sequence[Start]) -> tuple[int, ...]:
    """The time that starts took that met no other one, and none of the tasks that were ``busy`` computing."""
    return tuple(
        group[0].end_us - group[0].begin_us for group in _groups(starts) if len(group) == 1 and not _meets(group, busy)
    )


def crowded_us(starts: Sequence[Start], busy: Sequence[Start], cores: float) -> tuple[int, ...]:
    """The time by which one more start prolongs a crowd, one figure for each crowd that kept all cores busy.

    A crowd is of starts that overlap, twice as many as ``cores`` and more: its time / its starts. Crowds that met
    computing tasks are left out.
    """
    return tuple(
        round((max(start.end_us for start in group) - group[0].begin_us) / len(group))
        for group in _groups(starts)
        if len(group) >= 2 * cores and not _meets(group, busy)
    )


def by_node(starts: Iterable[Start]) -> list[list[Start]]:
    """The starts of each node; those of an unknown one are left out."""
    starts_of: dict[str, list[Start]] = {}
    for start in starts:
        if start.node:
            starts_of.setdefault(start.node, []).append(start)
    return [starts_of[name] for name in sorted(starts_of)]


def _groups(starts: Sequence[Start]) -> Iterator[list[Start]]:
    """Starts that overlap one with the next, by their beginning."""
    group: list[Start] = []
    end_us = 0
    for each in sorted(starts, key=lambda start: (start.begin_us, start.end_us)):
        if group and each.begin_us >= end_us:
            yield group
            group = []
        end_us = max(end_us, each.end_us) if group else each.end_us
        group.append(each)
    if group:
        yield group


def met(start: Start, others: Iterable[Start]) -> bool:
    """True if anything else was under way in that time; the same object does not count."""
    return any(it is not start and it.begin_us < start.end_us and start.begin_us < it.end_us for it in others)


def _meets(group: Sequence[Start], busy: Sequence[Start]) -> bool:
    begin_us, end_us = group[0].begin_us, max(start.end_us for start in group)
    return met(Start(begin_us, end_us), busy)
