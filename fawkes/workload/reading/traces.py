"""Shared parts of all readers of traces: lines of plain and compressed files, and counting of what was left out."""

from __future__ import annotations

import codecs
import contextlib
import gc
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from fawkes.base.errors import ConfigError
from fawkes.base.reading import MIB, opened
from fawkes.workload.model import MOST_JOBS, Dropped, Trace, TraceJob, out_of_range
from fawkes.workload.reading.containers import HEAD_BYTES, Packed, named, packing

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LONGEST_LINE = 64 * MIB
"""The bound of a line of a trace, in bytes."""
_BOMB_BYTES, _BOMB_FACTOR = 256 * MIB, 200
"""A file that unpacks to more than so many bytes and is so many times as large then holds one thing over and over."""


class NoJobError(Exception):
    """The reason why a line is no job, as ``Tally.add`` takes it; readers catch it themselves."""


class Tally:
    """Counts lines by reason while a file is read; with ``names`` jobs, which have these names."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._names = names
        self._counts: dict[str, int] = {}
        self._first_lines: dict[str, int] = {}

    def add(self, reason: str, line: int) -> None:
        """One more line, for a reason that reads after ``3 lines``: ``with a negative size``."""
        self._counts[reason] = self._counts.get(reason, 0) + 1
        self._first_lines.setdefault(reason, line)

    def dropped(self) -> Dropped:
        """The lines or jobs counted so far."""
        return Dropped(dict(self._counts), dict(self._first_lines), self._names)


#: controls and halves of characters, which no table could hold
_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class Collected:
    """The jobs that a reader finds, in the order of the file, and what it drops and mends on the way.

    ``names`` are given when jobs are no lines of a file: numbers of lines are then places in them.
    """

    def __init__(self, path: Path, names: Sequence[str] = ()) -> None:
        self.path = path
        self.jobs: list[TraceJob] = []
        self._dropped, self._mended = Tally(names), Tally(names)
        self._copies: dict[str, int] = {}
        self._latest_us = 0

    def drop(self, reason: str, line: int) -> None:
        """Something that is no job."""
        self._dropped.add(reason, line)

    def mend(self, reason: str, line: int) -> None:
        """A job in which something is not right."""
        self._mended.add(reason, line)

    def add(self, job: TraceJob, line: int) -> None:
        """A job. One of an id that was there already gets the first number behind it that makes another id.

        One with a number that nothing can compute with is dropped. ConfigError when there are too many jobs.
        """
        if reason := out_of_range(job):
            self.drop(reason, line)
            return
        if len(self.jobs) >= MOST_JOBS:
            raise ConfigError(
                f"holds more than {MOST_JOBS:,} jobs", file=str(self.path), key=f"line {line}", hint="Give a part of it"
            )
        names = (job.id, job.user, job.application, *job.after)
        if any(map(_UNWRITABLE.search, names)):
            self.mend("with signs in names that cannot be written", line)
            name, user, application, *after = (_UNWRITABLE.sub("\ufffd", text) for text in names)
            job = replace(job, id=name, user=user, application=application, after=tuple(after))
        if job.submit_us < self._latest_us:
            self.mend("whose time goes back", line)
        self._latest_us = max(self._latest_us, job.submit_us)
        name = job.id
        while name in self._copies:
            self._copies[job.id] += 1
            name = f"{job.id}.{self._copies[job.id]}"
        self._copies[name] = 1
        if name != job.id:
            self.mend("with the id of an earlier job", line)
            job = replace(job, id=name)
        self.jobs.append(job)

    def from_first(self) -> int:
        """Makes all times count from the earliest job, and gives the time that this one had."""
        start_us = min((job.submit_us for job in self.jobs), default=0)
        self.jobs = [replace(job, submit_us=job.submit_us - start_us) for job in self.jobs]
        return start_us

    def trace(self, *, form: str, header: Mapping[str, str]) -> Trace:
        """All of it, sorted; ConfigError when there is no job, with ``form``, what one should look like."""
        refuse_empty(self.path, self.jobs, self._dropped, form=form)
        return Trace(
            source=str(self.path),
            jobs=tuple(sorted(self.jobs, key=lambda job: job.submit_us)),
            dropped=self._dropped.dropped(),
            mended=self._mended.dropped(),
            header=header,
        )


@contextlib.contextmanager
def many_objects() -> Iterator[None]:
    """Stop garbage collection inside: looking through a million jobs again and again costs a third of reading."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers from 1; gzip, bzip2 and xz are known by their first bytes,
    and a byte order mark is skipped.

    ConfigError with the file, and with the line that was being read, when the file is not there, cannot be read, is
    compressed and broken or cut off, or holds other files.
    """
    number = 0
    with _reading(path, lambda: number) as source:
        for number, line in enumerate(iter(lambda: source.readline(LONGEST_LINE + 1), b""), start=1):
            if len(line) > LONGEST_LINE:
                what = f"is longer than {LONGEST_LINE // MIB} MiB"
                raise ConfigError(what, file=str(path), key=f"line {number}", hint="Is it the right file?")
            yield number, line


def pieces(path: Path, size: int = 1 << 20) -> Iterator[bytes]:
    """A file in pieces of at most ``size`` bytes, none of them empty; packed files and errors as in ``lines``."""
    before = 0
    with _reading(path, lambda: before) as source:
        while piece := source.read(size):
            yield piece
            before += piece.count(b"\n")


@contextlib.contextmanager
def _reading(path: Path, whole_lines: Callable[[], int]) -> Iterator[BinaryIO]:
    try:
        with opened(path, hint="Give the path of a trace") as raw:
            head = raw.read(HEAD_BYTES)
            raw.seek(0)
            _refuse_container(path, head)
            packed = packing(head)
            if packed is None:
                raw.seek(_mark(head))
                yield raw
                return
            name, stream = packed
            source = io.BufferedReader(_Unpacked(raw, path, stream(raw)))
            head = source.peek(HEAD_BYTES)[:HEAD_BYTES]
            _refuse_container(path, head, inside=name)
            source.read(_mark(head))
            yield source
    except EOFError:
        raise ConfigError(
            "the compressed file ends too early", file=str(path), key=_line(whole_lines()), hint="Fetch the file again"
        ) from None
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise ConfigError(
            f"the compressed file is broken ({error})",
            file=str(path),
            key=_line(whole_lines()),
            hint="Fetch the file again",
        ) from None
    except OSError as error:
        # bzip2 says that its bytes are wrong by an error without a number.
        raise ConfigError(
            f"cannot be read ({error.strerror or error})", file=str(path), key=_line(whole_lines())
        ) from None


def _mark(head: bytes) -> int:
    """The length of the byte order mark of UTF-8 at the beginning of a file; no part of its first line."""
    return len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0


def _refuse_container(path: Path, head: bytes, *, inside: str = "") -> None:
    """ConfigError for a file that holds other files or tables of bytes: half of it could look like lines."""
    packed = packing(head) if inside else None
    what, hint = (f"compressed by {packed[0]}", "Unpack it once") if packed else named(head) or ("", "")
    if what:
        raise ConfigError(f"is {what}{f' inside of {inside}' if inside else ''}", file=str(path), hint=hint)


def refuse_empty(path: Path, jobs: Sequence[TraceJob], tally: Tally, *, form: str) -> None:
    """ConfigError when no line of a file became a job; ``form`` is what a line should look like."""
    if jobs:
        return
    dropped = tally.dropped()
    first = min(dropped.first_lines, key=lambda reason: dropped.first_lines[reason], default=None)
    what = f"has no readable job: {dropped}" if dropped.total else "has no job"
    raise ConfigError(what, file=str(path), key="" if first is None else dropped.first(first), hint=form)


class _Unpacked(io.RawIOBase):
    """The content of a compressed file, piece by piece.

    A buffer around GzipFile itself would read so much at once that the lines before a cut were lost with it.
    """

    def __init__(self, raw: BinaryIO, path: Path, file: Packed) -> None:
        self._raw, self._path, self._file = raw, path, file
        self._bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        into = memoryview(buffer)
        piece = self._file.read1(len(into))
        into[: len(piece)] = piece
        self._bytes += len(piece)
        if self._bytes > _BOMB_BYTES and self._bytes > _BOMB_FACTOR * self._raw.tell():
            what = f"the compressed file becomes more than {_BOMB_FACTOR} times as large"
            raise ConfigError(what, file=str(self._path), hint="Unpack it by hand if this is meant to be so")
        return len(piece)


def _line(number: int) -> str:
    """The place after ``number`` whole lines."""
    return f"line {number + 1}"
