"""A recorded run beside a simulated one of the same scenario: the decisions in their order, and the times of jobs."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from itertools import groupby
from statistics import median
from typing import Any

from fawkes.base.units import SECOND_US
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Both runs. ``likeness`` is the share of decisions that stand in the same order in both (Ratcliff and Obershelp).

    ``job_error`` is the median of the absolute errors of the jobs' times, None without jobs; makespans are from the
    start of the run to the end of the last job.
    """

    turns: tuple[TurnRow, ...]
    jobs: tuple[JobRow, ...]
    likeness: float
    job_error: float | None
    recorded_makespan_s: float
    simulated_makespan_s: float

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
    jobs = tuple(_jobs(_within(recorded, span), history.jobs(simulated)))
    return Beside(
        turns=tuple(_rows(matcher, ours, theirs)),
        jobs=jobs,
        likeness=matcher.ratio(),
        job_error=median(abs(row.error) for row in jobs) if jobs else None,
        recorded_makespan_s=_makespan_s(recorded, span, known),
        simulated_makespan_s=_makespan_s(simulated),
    )


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


def _jobs(recorded: Sequence[JobState], simulated: Sequence[JobState]) -> Iterator[JobRow]:
    other = {job.id: job for job in simulated}
    for job in recorded:
        same = other.get(job.id)
        if same is None or {job.life, same.life} != {JobLife.SUCCEEDED} or not job.run_us or same.run_us is None:
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
