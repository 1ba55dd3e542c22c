"""The demands of one task of each job on the machine, as a table beside a trace.

A trace says how long tasks take, or how many bytes they move; of processor time it knows nothing. The table has it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path

from fawkes.base.errors import ConfigError, cut
from fawkes.base.reading import MIB, read_text
from fawkes.base.units import MOST_BYTES
from fawkes.core.values.model import JobSpec
from fawkes.offline.scenarios.load import Coming
from fawkes.sim.hadoop.profile import Profile


class KnownDemands(StrEnum):
    """The source of a demand: the job's own description, Hadoop's history, or its run time alone."""

    SPEC = "spec"
    HISTORY = "history"
    LEDGER = "ledger"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDemand:
    """The demand of a job's tasks, without their starts.

    ``told_tasks`` and ``told_bytes`` are its demand as it was submitted, which is all that a controller knows while it
    waits: None where nobody said. ``reference_us`` is its reference time, when it was given one. ``checkpoint`` is how
    its tasks are saved (empty: they are not), ``memory_mb`` the memory of each; None: not known.
    """

    profile: Profile
    known: KnownDemands
    told_tasks: int | None = None
    told_bytes: int | None = None
    reference_us: int | None = None
    checkpoint: str = ""
    memory_mb: int | None = None
    priority: int = 0


#: jobs of Hadoop are no gangs; records of earlier versions have these columns, too
_FIGURES = tuple(figure.name for figure in fields(Profile) if figure.name != "gang")
_TOLD = ("told_tasks", "told_bytes", "reference_us")
_MOST_BYTES = 256 * MIB
COLUMNS = ("job", "known", *_TOLD, *_FIGURES)
#: only where tasks of a job can be saved, or a job has a priority
_SAVING = ("memory_mb", "priority", "checkpoint")
_CHECKPOINTS = ("", "own", "criu")


def write_demands(path: Path, demands: Mapping[str, JobDemand]) -> None:
    """The table as CSV, by job; the same values give the same bytes."""
    with path.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        saving = _SAVING if any(demand.checkpoint or demand.priority for demand in demands.values()) else ()
        rows.writerow((*COLUMNS, *saving))
        for job, demand in sorted(demands.items()):
            given, more = (
                ["" if (value := getattr(demand, name)) is None else value for name in names]
                for names in (_TOLD, saving)
            )
            rows.writerow([job, demand.known, *given, *(getattr(demand.profile, name) for name in _FIGURES), *more])


def read_demands(path: Path) -> dict[str, JobDemand]:
    """The demand of each job; ConfigError names file and line of what is wrong."""
    text = read_text(path, most=_MOST_BYTES, hint="`fawkes record` writes it")
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise ConfigError(f"is no CSV ({error})", file=str(path)) from None
    if not rows or tuple(rows[0]) not in (COLUMNS, (*COLUMNS, *_SAVING)):
        raise ConfigError(
            "does not have the expected columns", file=str(path), key="line 1", hint=f"They are {','.join(COLUMNS)}"
        )
    demands: dict[str, JobDemand] = {}
    for line, row in enumerate(rows[1:], 2):
        if row and row[0] in demands:
            raise ConfigError(f"the job {row[0]!r} appears twice", file=str(path), key=f"line {line}")
        demands[row[0] if row else ""] = _read(row, tuple(rows[0]), path, line)
    return demands


def _read(row: Sequence[str], columns: Sequence[str], path: Path, line: int) -> JobDemand:
    try:
        if len(row) != len(columns):
            raise ValueError(f"has {len(row)} fields, but there are {len(columns)} columns")
        texts = dict(zip(columns[2:], row[2:], strict=True))
        checkpoint = texts.pop("checkpoint", "")
        if checkpoint not in _CHECKPOINTS:
            raise ValueError(f"checkpoint is {cut(checkpoint)!r}, not own or criu")
        values = {name: _whole(text) if text else None for name, text in texts.items()}
        figures = {name: values[name] or 0 for name in _FIGURES}
        negative = next((name for name, value in values.items() if (value or 0) < 0), None)
        if negative:
            raise ValueError(f"{negative} is negative")
        large = next((name for name, value in values.items() if (value or 0) > MOST_BYTES), None)
        if large:
            raise ValueError(f"{large} is more than {MOST_BYTES:,}")
        if figures["maps"] + figures["reduces"] < 1:
            raise ValueError("has no task")
        known = {name: values[name] for name in _TOLD}
        return JobDemand(
            profile=Profile(**figures),
            known=KnownDemands(row[1]),
            **known,
            checkpoint=checkpoint,
            memory_mb=values.get("memory_mb"),
            priority=values.get("priority") or 0,
        )
    except ValueError as error:
        raise ConfigError(str(error), file=str(path), key=f"line {line}", hint="Whole numbers of at least 0") from None


def _whole(text: str) -> int:
    if not text.removeprefix("-").isdecimal() or len(text) > 20:
        raise ValueError(f"{cut(text)!r} is no whole number")
    return int(text)


def with_demands(jobs: Iterable[Coming], known: Mapping[str, JobDemand]) -> tuple[Coming, ...]:
    """The jobs with what the table says of them; one that it does not have stays as it is."""
    return tuple(
        job if job.spec.id not in known else replace(job, spec=_asking(job.spec, known[job.spec.id])) for job in jobs
    )


def _asking(spec: JobSpec, demand: JobDemand) -> JobSpec:
    spec = _with_profile(spec, demand.profile)
    if demand.known is KnownDemands.SPEC and not demand.checkpoint and _sleeps(demand.profile):
        # The times of a job that sleeps are known: its tasks do not differ by chance, as they did not live.
        spec = replace(spec, details={**spec.details, "sleep": {}})
    if demand.checkpoint:
        array = {"checkpoint": demand.checkpoint, "memory_mb": demand.memory_mb}
        spec = replace(spec, saves=True, details={**spec.details, "array": array})
    return replace(
        spec,
        priority=demand.priority,
        tasks=demand.told_tasks or 1,
        tasks_estimated=demand.told_tasks is None,
        input_bytes=demand.told_bytes,
        reference_us=demand.reference_us,
    )


def _sleeps(profile: Profile) -> bool:
    return not any(getattr(profile, name) for name in _FIGURES if name.endswith(("_cpu_us", "_bytes")))


def _with_profile(spec: JobSpec, profile: Profile) -> JobSpec:
    plain = {name: getattr(profile, name) for name in _FIGURES}
    return replace(spec, details={**spec.details, "profile": plain})
