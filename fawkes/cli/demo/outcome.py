"""The outcome of a run: the points of its story, jobs, moves, results, and what of it is not as it should be."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fawkes.base.errors import UserError
from fawkes.base.units import SECOND_US
from fawkes.config.clusters.details import ClusterDetails, JobDetails
from fawkes.config.workloads.workloads import WorkloadFile
from fawkes.core.values.model import ClusterSpec, JobLife, JobState
from fawkes.report import history
from fawkes.report.history import Move
from fawkes.report.tables.explain import grouped
from fawkes.report.words.facts import fold
from fawkes.report.words.sentences import sentence, why_ended
from fawkes.store.base import Reader
from fawkes.workload.btworld import reference as btworld
from fawkes.workload.hibench import reference as hibench
from fawkes.workload.hibench.programs import folder as hibench_folder
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
    compared: tuple[ComparedJob, ...]
    reconfigurations: int
    problems: tuple[str, ...]
    picture: str = ""


def outcome(store: Reader, workload: WorkloadFile, trouble: str = "") -> DemoOutcome:
    """The outcome, by its store, of a workload that was played; ``trouble`` is why it was not played to its end.

    The cause is the first problem, and no other problem repeats it.
    """
    start_us = history.first_us(store)
    story = points(store.entries()) if workload.points else ()
    jobs, moves = history.jobs(store), history.moves(store)
    results = tuple(compared(workload))
    balance = history.balance(store)
    causes = {str(cluster.id): cluster.failed for cluster in history.clusters(store) if cluster.failed}
    problems = [f"{name} was given up: {why}" for name, why in causes.items()]
    if trouble and not any(why in trouble for why in causes.values()):
        problems.insert(0, trouble)
    for problem in (*_missing_points(story), *_unhappy_jobs(jobs, workload), *(_missing_moves(moves) if story else ())):
        problems.append(_without(problem, causes.values()))
    problems += [f"{result.job}, {result.what}: {result.wrong}" for result in results if result.wrong]
    return DemoOutcome(
        points=story,
        marks=tuple(((p.at_us - start_us) / SECOND_US, p.letter) for p in story if p.at_us is not None),
        point_rows=tuple(_point_row(point, start_us) for point in story),
        job_rows=tuple(_job_row(job, start_us) for job in jobs),
        move_rows=tuple(_move_rows(moves, start_us)),
        compared=results,
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


def _unhappy_jobs(jobs: Sequence[JobState], workload: WorkloadFile) -> Iterator[str]:
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


# --- Results that programs wrote and an MR-cluster saved, held against the same computation on this machine


_EXAMPLES = {"wordcount": hibench.wordcount, "sort": hibench.sort, "terasort": hibench.terasort}
_TEXT = "org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat"
_SUCCESS = "_SUCCESS"

Place = Callable[[str], Path | None]
"""From a folder in HDFS to where its files are here: saved at the end, or where they came from; None for neither."""
Checked = tuple[str, str]
"""The thing that was compared, and what is wrong with it."""


@dataclass(frozen=True)
class ComparedJob:
    """A job whose result was compared; ``wrong`` is empty when it is as it must be. ``what`` was compared, in words."""

    job: str
    what: str
    wrong: str


def compared(workload: WorkloadFile) -> Iterator[ComparedJob]:
    """Every job of a workload whose result is known how to compute and whose input and output are on this machine."""
    clusters = {cluster.spec.id: cluster.spec for cluster in workload.clusters}
    for spec in (job.spec for job in workload.jobs):
        details, place = JobDetails.of(spec.details), partial(_place, clusters[spec.cluster])
        for known in _KNOWN:
            for what, wrong in known(details, place):
                yield ComparedJob(spec.id, what, wrong)


def _place(cluster: ClusterSpec, path: str) -> Path | None:
    details = ClusterDetails.of(cluster.details)
    ways = [(row.path, row.save_to) for row in details.outputs] + [(row.to, row.source) for row in details.data]
    for inside, outside in ways:
        if f"{path}/".startswith(f"{inside}/") and outside.startswith("/"):
            return Path(outside, path.removeprefix(inside).lstrip("/"))
    return None


def _example(details: JobDetails, place: Place) -> Iterator[Checked]:
    program, text = details.args[0] if details.args else "", _TEXT in details.args
    if details.release_jar != "examples" or program not in _EXAMPLES or (program == "sort" and not text):
        return
    read, written = map(place, details.args[-2:])
    if read is not None and written is not None:
        yield f"what {program} wrote", _wrong(partial(_EXAMPLES[program], read, written), written)


def _pagerank(details: JobDetails, place: Place) -> Iterator[Checked]:
    match shlex.split(details.command):
        case ["sh", "pagerank.sh", source, target, _, iterations, *_]:
            read, written = place(source), place(target)
            if read is not None and written is not None:
                compare = partial(hibench.pagerank, read, written, int(iterations))
                yield f"ranks of {iterations} iterations", _wrong(compare)


def _kmeans(details: JobDetails, place: Place) -> Iterator[Checked]:
    match shlex.split(details.command):
        case ["sh", "kmeans.sh", source, target, iterations, "python3", "data.py", *words]:
            yield from _centres(place(source), place(target), int(iterations), words)


def _centres(read: Path | None, written: Path | None, iterations: int, words: Sequence[str]) -> Iterator[Checked]:
    if read is not None and written is not None:
        with TemporaryDirectory(prefix="fawkes-") as first:
            program = [sys.executable, str(hibench_folder() / "data.py"), *words, "--out", first]
            subprocess.run(program, check=True, stdout=subprocess.DEVNULL)
            compare = partial(hibench.kmeans, read, written, Path(first), iterations)
            yield f"centres of {iterations} iterations", _wrong(compare)


def _twin(details: JobDetails, place: Place) -> Iterator[Checked]:
    """The result of one of HiBench's programs for Spark."""
    if Path(details.python).name != "twins.py":
        return
    program, source, target, *numbers = details.args
    read, written = place(source), place(target)
    if program == "kmeans":
        iterations, count, dimensions, clusters, k, seed, _ = numbers
        shape = ["--count", count, "--dimensions", dimensions, "--clusters", clusters, "--k", k, "--seed", seed]
        yield from _centres(read, written, int(iterations), ["centres", *shape])
    elif read is not None and written is not None:
        whole, compare = written, partial(_EXAMPLES.get(program, hibench.sort), read, written)
        if program == "pagerank":
            whole = written / f"sorted-{numbers[1]}"
            compare = partial(hibench.pagerank, read, written, int(numbers[1]))
        yield f"what {program} wrote", _wrong(compare, whole)


def _btworld(details: JobDetails, place: Place) -> Iterator[Checked]:
    said = dict(word.partition("=")[::2] for word in details.args if "=" in word)
    raw, sets = place(said.get("raw", "")), place(said.get("sets", ""))
    if Path(details.pig).name != "btworld.pig" or raw is None or sets is None:
        return
    try:
        for check in btworld.compare(sets, btworld.results(btworld.scrapes(raw))):
            yield f"{check.name}, {check.rows} rows", check.wrong
    except UserError as error:
        yield "its records", str(error)


def _wrong(compare: Callable[[], str], whole: Path | None = None) -> str:
    """The fault of a result, missing files included; ``whole`` must have Hadoop's mark of a whole output."""
    if whole is not None and not (whole / _SUCCESS).exists():
        return f"there is no whole output in {whole}"
    try:
        return compare()
    except (UserError, ValueError) as error:
        return str(error)


_KNOWN = (_example, _pagerank, _kmeans, _twin, _btworld)
