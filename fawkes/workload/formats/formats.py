"""The format of a workload, by its content, and reading it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fawkes.base.errors import ConfigError, UserError
from fawkes.base.reading import opened
from fawkes.config.files.loader import did_you_mean
from fawkes.workload.formats import gwf, history, rumen, sls, swf, swim, synth, table, wta
from fawkes.workload.model import Trace
from fawkes.workload.reading.containers import PARQUET
from fawkes.workload.reading.traces import pieces

HISTORY = "history"
SWIM = "swim"
WTA = "wta"
_HEAD_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a file, unpacked: what a format is recognised by."""

    text: bytes

    @property
    def lines(self) -> Sequence[bytes]:
        """Its lines; not the last one, when that was cut off."""
        there = self.text.splitlines()
        return there[:-1] if len(self.text) >= _HEAD_BYTES else there

    def has_keys(self, *keys: str) -> bool:
        """True if it is JSON and has one of these keys."""
        names = "|".join(re.escape(key) for key in keys).encode()
        return self.text.lstrip()[:1] == b"{" and re.search(rb'"(?:' + names + rb')"\s*:', self.text) is not None


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its name for `--format`, what it is, by what it is recognised, and its reader."""

    name: str
    title: str
    sign: str
    fits: Callable[[Head], bool]
    read: Callable[[Path], Trace]


FORMATS: tuple[Format, ...] = (
    Format(
        table.NAME,
        "Fawkes's table of jobs",
        f"a first line {table.FIRST_LINE}{table.VERSION}",
        lambda head: head.text.startswith(table.FIRST_LINE.encode()),
        table.read,
    ),
    Format(
        HISTORY,
        "Hadoop's own history",
        "a first line Avro-Json or Avro-Binary, or a folder of .jhist files",
        lambda head: head.text.startswith((history.JSON, history.BINARY)),
        history.read,
    ),
    Format(
        "sls", "SLS", "JSON with job.start.ms or job.tasks",
        lambda head: head.has_keys("job.start.ms", "job.tasks", "num.nodes"), sls.read,
    ),
    Format(
        "synth", "SYNTH of SLS", "JSON with num_jobs and workloads",
        lambda head: head.has_keys("num_jobs", "job_classes"), synth.read,
    ),
    Format(
        "rumen", "Rumen", "JSON with jobID and mapTasks",
        lambda head: head.has_keys("jobID", "mapTasks"), rumen.read,
    ),
    Format(
        "gwf", "Grid Workload Format", f"a first line {', '.join(gwf.COLUMNS)}",
        lambda head: gwf.fits(head.lines), gwf.read,
    ),
    Format(
        WTA, "Workload Trace Archive", "a folder of Parquet files with tasks, or one of them",
        lambda head: False, wta.read,
    ),
    Format(
        "swf", "Standard Workload Format", "lines of 18 numbers",
        lambda head: any(swf.is_job(line) for line in head.lines), swf.read,
    ),
    Format(
        SWIM, "SWIM", "lines of 6 to 9 or 12 to 14 columns with tabs",
        lambda head: any(swim.is_job(line) for line in head.lines), swim.read,
    ),
)  # fmt: skip
NAMES = tuple(form.name for form in FORMATS)


def read_workload(path: Path, *, format: str | None = None) -> Trace:  # noqa: A002 - as users know it
    """The jobs of a file in any format that is known, plain or packed; ``format`` of the trace says in which.

    A folder is one of histories, or of Parquet files.

    ConfigError when the file cannot be read, or no format fits: what was looked for is in it. With ``format`` nothing
    is guessed; UserError when there is none of that name.
    """
    form = recognised(path) if format is None else _named(format)
    return replace(form.read(path), format=form.name)


def recognised(path: Path) -> Format:
    """The format of a file, by its content; ConfigError as ``read_workload``."""
    if os.path.isdir(path):
        return _named(WTA if not history.files(path) and wta.files(path) else HISTORY)
    with opened(path, hint="Give the path of a trace") as source:
        if source.read(len(PARQUET)) == PARQUET:
            return _named(WTA)
    head = Head(_beginning(path))
    if not head.text.strip():
        raise ConfigError("is empty", file=str(path), hint="Give a file with jobs")
    for form in FORMATS:
        if form.fits(head):
            return form
    looked = "; ".join(f"{form.name} ({form.sign})" for form in FORMATS)
    raise ConfigError(
        "is not in a known workload format",
        file=str(path),
        hint=f"Looked for: {looked}. --format reads the file as one of them and counts the lines that do not fit",
    )


def _beginning(path: Path) -> bytes:
    text = b""
    for piece in pieces(path, _HEAD_BYTES):
        text += piece
        if len(text) >= _HEAD_BYTES:
            break
    return text[:_HEAD_BYTES]


def _named(name: str) -> Format:
    for form in FORMATS:
        if form.name == name:
            return form
    raise UserError(f"there is no format {name!r}", where="format", hint=did_you_mean(name, NAMES))
