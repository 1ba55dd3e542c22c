"""Fawkes's own file of a workload, ``NAME.jobs.csv``: a table with a row for each job (docs/workloads.md).

Comment lines (the first one is ``# fawkes jobs 1``, the others ``# key: value``), then CSV with a row of column names.
An empty field is unknown. Times are seconds with up to six decimals, ``after`` has ids with spaces between them.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fawkes.base.errors import ConfigError, UserError, cut
from fawkes.base.units import SECOND_US
from fawkes.config.files.loader import did_you_mean
from fawkes.workload.model import Trace, TraceJob, in_order, out_of_range
from fawkes.workload.reading.files import whole
from fawkes.workload.reading.traces import LONGEST_LINE, NoJobError, Tally, lines

NAME = "table"
VERSION = 1
FIRST_LINE = "# fawkes jobs "

_SECONDS = re.compile(r"(\d{1,18})(?:\.(\d{1,6}))?")
_WHOLE = re.compile(r"\d{1,19}")
_SPLITS_IDS = re.compile(r"[\s%]")
_HINT = "The page `workloads` describes the file; `fawkes workload convert` writes it"


@dataclass(frozen=True, slots=True)
class _Column:
    """A column: its name, the field of the job, and both ways between text and value."""

    name: str
    field: str
    read: Callable[[str], Any]
    write: Callable[[Any], str]


def _read_us(text: str) -> int:
    match = _SECONDS.fullmatch(text)
    if match is None:
        raise NoJobError(
            "is negative" if text.startswith("-") else "is not a time in seconds with at most six decimals"
        )
    return int(match[1]) * SECOND_US + int((match[2] or "").ljust(6, "0"))


def _read_deadline_us(text: str) -> int:
    deadline_us = _read_us(text)
    if not deadline_us:
        raise NoJobError("is 0: no job can end at its submission")
    return deadline_us


def seconds_text(us: int) -> str:
    """The seconds of a time, with as many decimals as it has."""
    seconds, rest = divmod(us, SECOND_US)
    return f"{seconds}.{rest:06d}".rstrip("0") if rest else str(seconds)


def _write_us(value: int | None) -> str:
    return "" if value is None else seconds_text(value)


def _read_whole(text: str) -> int:
    if _WHOLE.fullmatch(text) is None:
        raise NoJobError("is negative" if text.startswith("-") else "is not a whole number")
    return int(text)


def _read_processors(text: str) -> int:
    if not (count := _read_whole(text)):
        raise NoJobError("is 0: a rigid job needs a processor")
    return count


def _write_whole(value: int | None) -> str:
    return "" if value is None else str(value)


def _read_ids(text: str) -> tuple[str, ...]:
    return tuple(unquote(part) for part in text.split())


def _write_ids(ids: Iterable[str]) -> str:
    # An id with a space in it would be read as two.
    return " ".join(
        _SPLITS_IDS.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), name) for name in ids
    )


def _columns() -> Iterator[_Column]:
    for name in ("id", "submit_s", "application", "cluster", "user"):
        yield (
            _Column("submit_s", "submit_us", _read_us, _write_us)
            if name == "submit_s"
            else _Column(name, name, str, str)
        )
    for name in ("input_bytes", "shuffle_bytes", "output_bytes", "maps", "reduces"):
        yield _Column(name, name, _read_whole, _write_whole)
    for name in ("map", "reduce"):
        yield _Column(f"{name}_s", f"{name}_us", _read_us, _write_us)
    yield _Column("processors", "processors", _read_processors, _write_whole)
    for name in ("run", "requested"):
        yield _Column(f"{name}_s", f"{name}_us", _read_us, _write_us)
    yield _Column("after", "after", _read_ids, _write_ids)
    yield _Column("think_s", "think_us", _read_us, lambda value: _write_us(value or None))
    yield _Column("deadline_s", "deadline_us", _read_deadline_us, _write_us)


COLUMNS: Mapping[str, _Column] = {column.name: column for column in _columns()}
_REQUIRED = ("id", "submit_s")


def write(trace: Trace, path: Path) -> None:
    """The jobs in a file that ``read`` makes the same jobs of; packed when the name ends in ``.gz``.

    The same trace gives the same bytes. UserError when the file cannot be written.
    """
    used = [column for column in COLUMNS.values() if column.name in _REQUIRED or _is_known(column, trace.jobs)]
    with whole(path) as raw:
        out = io.TextIOWrapper(raw, encoding="utf-8", newline="")
        out.write(f"{FIRST_LINE}{VERSION}\n")
        for key, value in trace.header.items():
            for line in value.split("\n"):
                out.write(f"# {' '.join(key.split())}: {' '.join(line.split())}\n")
        rows = csv.writer(out, lineterminator="\n")
        # By itself it quotes no lone carriage return, and no reader takes one that is not quoted.
        quoted = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
        rows.writerow([column.name for column in used])
        for job in trace.jobs:
            cells = [column.write(getattr(job, column.field)) for column in used]
            (quoted if any("\r" in cell for cell in cells) else rows).writerow(cells)
        out.detach()


def read(path: Path) -> Trace:
    """The jobs of a table, plain or gzip, sorted by their time; rows whose time goes back are counted as mended.

    ConfigError names file, line and column of the first thing that is wrong: whoever wrote the table can mend it. So do
    two jobs of one id, a job after one that is not there, and jobs that wait for each other.
    """
    source = _Source(path)
    header = source.header()
    mended = Tally()
    jobs: list[TraceJob] = []
    places: list[int] = []
    latest_us = 0
    for line, job in source.jobs():
        if job.submit_us < latest_us:
            mended.add("whose time goes back", line)
        latest_us = max(latest_us, job.submit_us)
        jobs.append(job)
        places.append(line)
    try:
        in_order(jobs)
    except UserError as error:
        # Of two jobs with one id the second is the one too many.
        at = max(line for line, job in zip(places, jobs, strict=True) if error.where == f"job {job.id}")
        raise ConfigError(error.what, file=str(path), key=f"line {at}", hint=error.hint) from None
    jobs.sort(key=lambda job: job.submit_us)
    return Trace(source=str(path), jobs=tuple(jobs), mended=mended.dropped(), header=header)


class _Source:
    """The lines of a table, and where in it we are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = self._texts()
        self._comments = 0
        self._first: str | None = None

    def header(self) -> dict[str, str]:
        """The keys and values of the comment lines; the lines after them are left to ``jobs``."""
        said: dict[str, str] = {}
        for text in self._lines:
            if not text.startswith("#"):
                self._first = text
                break
            self._comments += 1
            if self._comments == 1:
                self._check_version(text)
                continue
            key, colon, value = text[1:].partition(":")
            if colon:
                key, value = key.strip(), value.strip()
                said[key] = f"{said[key]}\n{value}" if key in said else value
        return said

    def jobs(self) -> Iterator[tuple[int, TraceJob]]:
        """Each job with its line."""
        # A job after thousands of others has a long field. A line has a bound, so that a field needs none.
        csv.field_size_limit(LONGEST_LINE)
        rows = csv.reader(self._rest(), strict=True)
        names = self._next(rows)
        columns = self._columns(names or [])
        while (row := self._next(rows)) is not None:
            line = self._comments + rows.line_num
            if row:
                yield line, self._job(columns, row, line)

    def refuse(self, what: str, line: int, hint: str = _HINT) -> ConfigError:
        """The error for something on a line."""
        return ConfigError(what, file=str(self.path), key=f"line {line}", hint=hint)

    def _texts(self) -> Iterator[str]:
        for number, line in lines(self.path):
            try:
                text = line.decode()
            except UnicodeDecodeError:
                raise self.refuse("is not UTF-8", number) from None
            if "\0" in text:
                raise self.refuse("has a NUL character", number)
            yield text

    def _rest(self) -> Iterator[str]:
        if self._first is not None:
            yield self._first
        yield from self._lines

    def _next(self, rows: Any) -> list[str] | None:
        try:
            row: list[str] | None = next(rows, None)
        except csv.Error as error:
            raise self.refuse(f"is not CSV ({error})", self._comments + rows.line_num) from None
        return row

    def _check_version(self, text: str) -> None:
        version = text.removeprefix(FIRST_LINE).strip()
        if not text.startswith(FIRST_LINE) or version != str(VERSION):
            raise self.refuse(
                f"begins with {cut(text.strip())!r}", 1, f"This version of Fawkes reads '{FIRST_LINE}{VERSION}'"
            )

    def _columns(self, names: Sequence[str]) -> list[_Column]:
        line = self._comments + 1
        for name in names:
            if name not in COLUMNS:
                raise self.refuse(f"there is no column {cut(name)!r}", line, did_you_mean(name, COLUMNS))
            if names.count(name) > 1:
                raise self.refuse(f"the column {cut(name)!r} appears twice", line)
        for name in _REQUIRED:
            if name not in names:
                raise self.refuse(f"the column {name!r} is missing", line)
        return [COLUMNS[name] for name in names]

    def _job(self, columns: Sequence[_Column], row: Sequence[str], line: int) -> TraceJob:
        if len(row) != len(columns):
            raise self.refuse(f"has {len(row)} fields, but there are {len(columns)} columns", line)
        said: dict[str, Any] = {}
        for column, text in zip(columns, row, strict=True):
            if not text:
                if column.name in _REQUIRED:
                    raise self.refuse(f"has no {column.name}", line)
                continue
            try:
                said[column.field] = column.read(text)
            except NoJobError as error:
                raise self.refuse(f"{column.name} {cut(text)!r} {error}", line) from None
        job = TraceJob(**said)
        if reason := out_of_range(job):
            raise self.refuse(f"is a job {reason}", line)
        return job


def _is_known(column: _Column, jobs: Iterable[TraceJob]) -> bool:
    return any(column.write(getattr(job, column.field)) for job in jobs)
