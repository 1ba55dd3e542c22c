"""A recorded run beside a simulated one of the same scenario: the decisions in their order, and the times of jobs."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from itertools import groupby
from math import inf
from statistics import median
from typing import Any

import numpy as np

from fawkes.base.units import SECOND_US
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import JobLife, JobState
from fawkes.report import history
from fawkes.report.history import Move
from fawkes.store.base import Reader

NOBODY = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Nodes that went one way, one after another, before any went another way; ``at_s`` is when the first began."""

    source: str
    target: str
    role: str
    nodes: int
    at_s: float

    @property
    def way(self) -> tuple[str, str, str]:
        """The way of a node: from whom, to whom, as what."""
        return self.source, self.target, self.role


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """One decision in both runs; None in the one that did not take it there."""

    from_cluster: str
    to_cluster: str
    role: str
    recorded_at_s: float | None
    recorded_nodes: int | None
    simulated_at_s: float | None
    simulated_nodes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job that succeeded in both: seconds from its start to its end, and how far off the simulated ones are."""

    cluster: str
    job: str
    recorded_s: float
    simulated_s: float

    @property
    def error(self) -> float:
        """Simulated / recorded - 1."""
        return self.simulated_s / self.recorded_s - 1 if self.recorded_s else 0.0


@dataclass(frozen=True, slots=True)
class JobEnds:
    """The ends of a job that did not succeed in both runs."""

    cluster: str
    job: str
    recorded: JobLife
    simulated: JobLife


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Both runs. ``likeness`` is the share of decisions that stand in the same order in both (Ratcliff and Obershelp).

    ``job_error`` is the median of the absolute errors of the times of ``jobs``, None without any; ``fates`` are the
    other jobs that ended in the recorded run. Makespans are from the start of the run to the end of the last job.
    """

    turns: tuple[TurnRow, ...]
    jobs: tuple[JobRow, ...]
    fates: tuple[JobEnds, ...] = ()
    likeness: float
    job_error: float | None
    recorded_makespan_s: float
    simulated_makespan_s: float

    def otherwise(self, jobs: Iterable[str]) -> list[str]:
        """Those of some recorded jobs that did not end in the simulated run as they did in the recorded one."""
        alike = {row.job for row in self.jobs} | {each.job for each in self.fates if each.recorded is each.simulated}
        return [job for job in jobs if job not in alike]

    @property
    def ended_otherwise(self) -> list[str]:
        """The jobs of both runs that ended in different ways."""
        return self.otherwise(each.job for each in self.fates)

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "jobs": [{**asdict(row), "error": row.error} for row in self.jobs]}


def beside(recorded: Reader, simulated: Reader, span: tuple[int, int] | None = None) -> Beside:
    """Put a recorded run beside a simulated one.

    Of the recorded run only what began within ``span`` counts, from one time to before another, and of its jobs those
    that were simulated; times are from the start of the span.
    """
    ours, theirs = turns(recorded, span), turns(simulated)
    matcher = SequenceMatcher(None, [turn.way for turn in ours], [turn.way for turn in theirs], autojunk=False)
    known = {job.id for job in history.jobs(simulated)} if span else None
    pairs = list(_pairs(_within(recorded, span), history.jobs(simulated)))
    jobs = tuple(each for each in pairs if isinstance(each, JobRow))
    return Beside(
        turns=tuple(_rows(matcher, ours, theirs)),
        jobs=jobs,
        fates=tuple(each for each in pairs if isinstance(each, JobEnds)),
        likeness=matcher.ratio(),
        job_error=median(abs(row.error) for row in jobs) if jobs else None,
        recorded_makespan_s=_makespan_s(recorded, span, known),
        simulated_makespan_s=_makespan_s(simulated),
    )


def quantile_90(errors: Sequence[float]) -> float:
    """The 90 % quantile of errors, some of which may be infinite."""
    return float(np.quantile(errors, 0.9, method="higher" if inf in errors else "linear"))


def finite(error: float | None) -> float | None:
    """The error, and None for an infinite one, which JSON does not know."""
    return None if error == inf else error


def turns(store: Reader, span: tuple[int, int] | None = None) -> tuple[Turn, ...]:
    """The decisions of a run in their order; nodes that go the same way one after another are one."""
    start_us, end_us = span or (history.first_us(store), history.last_us(store) + 1)
    moves = [move for move in history.moves(store) if start_us <= move.begun_us < end_us]
    turns = []
    for way, same in groupby(moves, key=_way):
        alike: list[Move] = list(same)
        source, target, role = way
        at_s = (alike[0].begun_us - start_us) / SECOND_US
        turns.append(Turn(source=source, target=target, role=role, nodes=len(alike), at_s=at_s))
    return tuple(turns)


def _way(move: Move) -> tuple[str, str, str]:
    return move.source or NOBODY, move.target or NOBODY, move.role


def _rows(matcher: SequenceMatcher[Any], ours: Sequence[Turn], theirs: Sequence[Turn]) -> Iterator[TurnRow]:
    for kind, first, last, other_first, other_last in matcher.get_opcodes():
        left, right = ours[first:last], theirs[other_first:other_last]
        if kind == "equal":
            yield from (_row(row, other) for row, other in zip(left, right, strict=True))
        else:
            yield from (_row(row, None) for row in left)
            yield from (_row(None, row) for row in right)


def _row(recorded: Turn | None, simulated: Turn | None) -> TurnRow:
    known = recorded or simulated
    assert known is not None
    return TurnRow(
        from_cluster=known.source,
        to_cluster=known.target,
        role=known.role,
        recorded_at_s=recorded.at_s if recorded else None,
        recorded_nodes=recorded.nodes if recorded else None,
        simulated_at_s=simulated.at_s if simulated else None,
        simulated_nodes=simulated.nodes if simulated else None,
    )


def _pairs(recorded: Sequence[JobState], simulated: Sequence[JobState]) -> Iterator[JobRow | JobEnds]:
    other = {job.id: job for job in simulated}
    for job in recorded:
        same = other.get(job.id)
        if same is None or job.life not in ENDED_JOBS:
            continue
        if {job.life, same.life} != {JobLife.SUCCEEDED} or not job.run_us or same.run_us is None:
            yield JobEnds(job.cluster, job.id, job.life, same.life)
            continue
        yield JobRow(
            cluster=job.cluster,
            job=job.id,
            recorded_s=job.run_us / SECOND_US,
            simulated_s=same.run_us / SECOND_US,
        )


def _within(store: Reader, span: tuple[int, int] | None) -> list[JobState]:
    jobs = history.jobs(store)
    return jobs if span is None else [job for job in jobs if span[0] <= job.submitted_us < span[1]]


def _makespan_s(store: Reader, span: tuple[int, int] | None = None, only: Container[str] | None = None) -> float:
    start_us = span[0] if span else history.first_us(store)
    jobs = (job for job in _within(store, span) if only is None or job.id in only)
    return max((job.finished_us - start_us for job in jobs if job.finished_us), default=0) / SECOND_US
