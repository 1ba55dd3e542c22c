"""The event log of a Spark application in HDFS: one file, or a folder of files that follow each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fawkes.base.errors import UserError, cut
from fawkes.config.jobs import spark
from fawkes.config.jobs.events import MOST_LINE_BYTES, needed
from fawkes.live.wire.webhdfs import Hdfs, HdfsFile

_APPLICATION = re.compile(r"application_\d+_\d+")
_ROLLED = re.compile(r"events_(\d+)_.*")
_OPEN = ".inprogress"
#: what is sent at a time
_PIECE_BYTES = 1 << 18


def event_lines(hdfs: Hdfs, application: str) -> Iterator[str]:
    """The lines that a profile needs of the log of an application that has ended, several in a piece.

    Lines that are no events come along, so that a reader sees what is wrong with the log. UserError when there is no
    such log, or the application still writes it; HdfsFailedError when HDFS does not answer.
    """
    piece, size = list[bytes](), 0
    for path in _files(hdfs, application):
        for line in _lines(hdfs.read(path)):
            if needed(line):
                piece, size = [*piece, line], size + len(line)
            if size >= _PIECE_BYTES:
                yield b"".join(piece).decode(errors="replace")
                piece, size = [], 0
    if piece:
        yield b"".join(piece).decode(errors="replace")


def _files(hdfs: Hdfs, application: str) -> list[str]:
    """The files of the log of an application's last attempt, in their order."""
    if not _APPLICATION.fullmatch(application):
        hint = "`fawkes jobs -o wide` shows the applications of jobs"
        raise UserError(f"{cut(application)!r} is not an application of YARN", where="application", hint=hint)
    pattern = re.compile(rf"(?:eventlog_v2_)?{application}(?:_(\d+))?(?:{_OPEN})?")
    logs: dict[int, HdfsFile] = {}
    for entry in hdfs.children_left(spark.EVENTS):
        if match := pattern.fullmatch(_name(entry)):
            logs[int(match[1] or 0)] = entry
    if not logs:
        hint = "Spark's history server removes logs after a week: run the application again"
        raise UserError(f"there is no event log of {application}", where=spark.EVENTS, hint=hint)
    log = logs[max(logs)]
    parts = list(hdfs.children_left(log.path)) if log.folder else [log]
    if any(_name(part).endswith(_OPEN) for part in parts):
        hint = "Wait for its end: `fawkes jobs` shows it"
        raise UserError(f"{application} still writes its event log, or was killed", where=log.path, hint=hint)
    if not log.folder:
        return [log.path]
    rolled = {int(match[1]): part.path for part in parts if (match := _ROLLED.fullmatch(_name(part)))}
    return [rolled[number] for number in sorted(rolled)]


def _name(file: HdfsFile) -> str:
    return file.path.rpartition("/")[2]


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The lines of a file with their ends; one that is too long comes in pieces."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line + b"\n" for line in whole)
        if len(rest) > MOST_LINE_BYTES:
            yield rest
            rest = b""
    if rest:
        yield rest
