"""What all readers of traces share: lines of plain and compressed files, and counting of what was left out."""

from __future__ import annotations

import contextlib
import gc
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from fawkes.errors import ConfigError
from fawkes.workload.model import Dropped, TraceJob

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_GZIP = b"\x1f\x8b"


class UnreadableError(Exception):
    """Why a line is no job, as ``Tally.add`` takes it; readers catch it themselves."""


class Tally:
    """Counts lines by reason while a file is read."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._first_lines: dict[str, int] = {}

    def add(self, reason: str, line: int) -> None:
        """One more line, for a reason that reads after ``3 lines``: ``with a negative size``."""
        self._counts[reason] = self._counts.get(reason, 0) + 1
        self._first_lines.setdefault(reason, line)

    def dropped(self) -> Dropped:
        """What was counted so far."""
        return Dropped(dict(self._counts), dict(self._first_lines))


@contextlib.contextmanager
def many_objects() -> Iterator[None]:
    """Without garbage collection inside: looking through a million jobs again and again costs a third of reading."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers from 1, one after the other; gzip is known by its first bytes.

    ConfigError with the file, and with the line that was being read, when the file is not there, cannot be read, or is
    compressed and broken or cut off.
    """
    number = 0
    try:
        with path.open("rb") as raw:
            packed = raw.peek(len(_GZIP))[: len(_GZIP)] == _GZIP
            for number, line in enumerate(io.BufferedReader(_Unpacked(raw)) if packed else raw, start=1):
                yield number, line
    except FileNotFoundError:
        raise ConfigError("there is no such file", file=str(path), hint="Give the path of a trace") from None
    except EOFError:
        raise ConfigError(
            "the compressed file ends too early", file=str(path), key=_line(number), hint="Fetch the file again"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ConfigError(
            f"the compressed file is broken ({error})", file=str(path), key=_line(number), hint="Fetch the file again"
        ) from None
    except OSError as error:
        raise ConfigError(f"cannot be read ({error.strerror})", file=str(path), key=_line(number)) from None


def refuse_empty(path: Path, jobs: Sequence[TraceJob], tally: Tally, *, form: str) -> None:
    """ConfigError when no line of a file became a job; ``form`` is what a line should look like."""
    if jobs:
        return
    dropped = tally.dropped()
    first = min(dropped.first_lines.values(), default=0)
    what = f"holds no job that can be read: {dropped}" if dropped.total else "holds no job"
    raise ConfigError(what, file=str(path), key=_line(first - 1) if first else "", hint=form)


class _Unpacked(io.RawIOBase):
    """What a compressed file holds, piece by piece.

    A buffer around GzipFile itself would read so much at once that the lines before a cut were lost with it.
    """

    def __init__(self, raw: BinaryIO) -> None:
        self._file = gzip.GzipFile(fileobj=raw)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        into = memoryview(buffer)
        piece = self._file.read1(len(into))
        into[: len(piece)] = piece
        return len(piece)


def _line(number: int) -> str:
    """The place after ``number`` whole lines."""
    return f"line {number + 1}"
