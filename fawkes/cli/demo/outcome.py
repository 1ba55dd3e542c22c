"""The outcome of a run: the points of its story, jobs, moves, results, and what of it is not as it should be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from fawkes.base.units import SECOND_US
from fawkes.cli.demo.results import Compared
from fawkes.cli.demo.results import compared as compared_of
from fawkes.config.workloads.workloads import Workload
from fawkes.core.values.model import JobLife, JobState
from fawkes.report import history
from fawkes.report.history import Move
from fawkes.report.tables.explain import grouped
from fawkes.report.words.facts import fold
from fawkes.report.words.sentences import sentence, why_ended
from fawkes.store.base import Reader
from fawkes.workload.playing.story import Point, points

Row = dict[str, Any]


@dataclass(frozen=True)
class DemoOutcome:
    """A run that has ended; ``problems`` is empty when all is as it should be. Times are seconds since its start."""

    points: tuple[Point, ...]
    marks: tuple[tuple[float, str], ...]
    point_rows: tuple[Row, ...]
    job_rows: tuple[Row, ...]
    move_rows: tuple[Row, ...]
    compared: tuple[Compared, ...]
    reconfigurations: int
    problems: tuple[str, ...]
    picture: str = ""


def outcome(store: Reader, workload: Workload, trouble: str = "") -> DemoOutcome:
    """The outcome, by its store, of a workload that was played; ``trouble`` is why it was not played to its end.

    The cause is the first problem, and no other problem repeats it.
    """
    start_us = history.first_us(store)
    story = points(store.entries()) if workload.points else ()
    jobs, moves = history.jobs(store), history.moves(store)
    compared = tuple(compared_of(workload))
    balance = history.balance(store)
    causes = {str(cluster.id): cluster.failed for cluster in history.clusters(store) if cluster.failed}
    problems = [f"{name} was given up: {why}" for name, why in causes.items()]
    if trouble and not any(why in trouble for why in causes.values()):
        problems.insert(0, trouble)
    for problem in (*_missing_points(story), *_unhappy_jobs(jobs, workload), *(_missing_moves(moves) if story else ())):
        problems.append(_without(problem, causes.values()))
    problems += [f"{result.job}, {result.what}: {result.wrong}" for result in compared if result.wrong]
    return DemoOutcome(
        points=story,
        marks=tuple(((p.at_us - start_us) / SECOND_US, p.letter) for p in story if p.at_us is not None),
        point_rows=tuple(_point_row(point, start_us) for point in story),
        job_rows=tuple(_job_row(job, start_us) for job in jobs),
        move_rows=tuple(_move_rows(moves, start_us)),
        compared=compared,
        reconfigurations=0 if balance is None else balance.reconfigurations,
        problems=tuple(problems),
    )


def _without(problem: str, causes: Iterable[str]) -> str:
    """A problem without the causes that it repeats."""
    for cause in causes:
        problem = problem.replace(f": {cause}", "")
    return problem


def _missing_points(story: Sequence[Point]) -> Iterator[str]:
    for point in story:
        if not point.happened:
            yield f"point {point.letter} is missing ({point.title}): {point.how}"


def _unhappy_jobs(jobs: Sequence[JobState], workload: Workload) -> Iterator[str]:
    """One line for each way in which jobs did not succeed."""
    ways = {str(job.id): f"{job.life}" + (f": {why}" if (why := why_ended(job)) else "") for job in jobs}
    unhappy: dict[str, list[str]] = {}
    for name in (ended_job.spec.id for ended_job in workload.jobs):
        way = ways.get(name, "missing: never submitted")
        if way != JobLife.SUCCEEDED:
            unhappy.setdefault(way, []).append(name)
    for way, names in unhappy.items():
        yield f"job {names[0]} is {way}" if len(names) == 1 else f"jobs {', '.join(names)} are {way}"


def _missing_moves(moves: Sequence[Move]) -> Iterator[str]:
    """Growing and shrinking are what the story is there to show, on nodes that really came and went."""
    codes = {reason.code for move in moves if move.ended_us is not None for reason in move.reasons}
    if "grow" not in codes:
        yield "no node joined an MR-cluster that grew"
    if not codes & {"shrink", "shrink-to-admit"}:
        yield "no node left an MR-cluster that shrank"


def _point_row(point: Point, start_us: int) -> Row:
    at_s = None if point.at_us is None else round((point.at_us - start_us) / SECOND_US, 1)
    return {"point": point.letter, "at_s": at_s, "what": point.title, "how": point.how}


def _job_row(job: JobState, start_us: int) -> Row:
    return {
        "job": job.id,
        "cluster": job.cluster,
        "state": job.life.value,
        "attempt": job.attempt,
        "submitted_s": _seconds(job.submitted_us - start_us),
        "wait_s": _seconds(job.wait_us),
        "run_s": _seconds(job.run_us),
        "slowdown": None if job.slowdown is None else round(job.slowdown, 2),
        "why": why_ended(job),
    }


def _move_rows(moves: Sequence[Move], start_us: int) -> Iterator[Row]:
    """Moves by their beginning; nodes that moved the same way at the same moment for the same reasons are one row."""

    def kind(move: Move) -> tuple[int, str, str, str, tuple[str, ...]]:
        return move.begun_us, move.source, move.target, move.role, tuple(reason.code for reason in move.reasons)

    for _, same in groupby(sorted(moves, key=lambda move: (kind(move), move.node)), key=kind):
        alike = list(same)
        first = alike[0]
        ended = [move.ended_us for move in alike if move.ended_us is not None]
        yield {
            "begun_us": first.begun_us,
            "at_s": _seconds(first.begun_us - start_us),
            "node_set": fold(sorted(move.node for move in alike)),
            "from_cluster": first.source or None,
            "to_cluster": first.target or None,
            "role": first.role,
            "took_s": _seconds(max(ended) - first.begun_us) if len(ended) == len(alike) else None,
            "why": "; then ".join(dict.fromkeys(_reasons(alike))),
        }


def _reasons(alike: Sequence[Move]) -> Iterator[str]:
    for same in zip(*(move.reasons for move in alike), strict=True):
        for reason, nodes in grouped(same):
            yield sentence(reason, nodes)


def _seconds(us: int | None) -> float | None:
    return None if us is None else round(us / SECOND_US, 1)
