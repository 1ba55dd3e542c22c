"""Shared parts of the verbs of `fawkes workload`: reading a workload, and writing one with a row that describes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.units import MOST_SEED, SECOND_US, counted
from fawkes.base.writing import refuse_there
from fawkes.cli.asking.parsed import Parsed
from fawkes.cli.show.show import note, show
from fawkes.cli.show.streams import STANDARD_INPUT, STREAM, from_stdin, to_stdout
from fawkes.cli.show.tables import TABLES

if TYPE_CHECKING:
    from fawkes.workload.model import Trace

_WEB = "http://"
_ANSWER_S = 30.0
"""How long a JobHistory server may take for an answer: it reads the history of a job from HDFS first."""


def _readable(text: str) -> str:
    from fawkes.workload.formats.formats import NAMES

    return _one_of(NAMES, text)


def _writable(text: str) -> str:
    from fawkes.workload.changing.writers import NAMES

    return _one_of(NAMES, text)


def _one_of(names: tuple[str, ...], text: str) -> str:
    if text not in names:
        raise ValueError(f"{text!r} is not one of {', '.join(names)}")
    return text


FORMAT = click.option("--format", "form", type=Parsed("format", _readable), help="Input format.  [default: detected]")
TO = click.option(
    "--to",
    type=Parsed("format", _writable),
    default="table",
    show_default=True,
    help="Output format: table, swim, swf, rumen or sls.",
)
OUT = click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Output file, compressed if it ends in .gz; - for standard output.",
)
FORCE = click.option("--force", is_flag=True, help="Replace an existing file.")
SEED = click.option("--seed", type=click.IntRange(0, MOST_SEED), default=1, show_default=True, help="Random seed.")


def opened(file: str, form: str | None, *, quiet: bool = False) -> Trace:
    """A workload, ``-`` from standard input, and a line on stderr for what was skipped or mended."""
    from fawkes.workload.formats.formats import read_workload

    if file.startswith(_WEB):
        trace = _of_server(file)
    else:
        with from_stdin(file, "workload") as path:
            trace = read_workload(path, format=form)
        if file == STREAM:
            trace = replace(trace, source=STANDARD_INPUT)
    if not quiet:
        for what, lines in (("skipped", trace.dropped), ("mended", trace.mended)):
            if lines.total:
                note(f"{file}: {what} {lines}")
    return trace


def _of_server(address: str) -> Trace:
    """The jobs of a JobHistory server, asked one after another."""
    from fawkes.live.wire.rest import Deadline, close_session, get_json
    from fawkes.workload.formats.historyserver import NAME, read

    try:
        trace = read(address, lambda url: get_json(url, Deadline.after(_ANSWER_S)))
    finally:
        close_session()
    return replace(trace, source=address, format=NAME)


def write(trace: Trace, out: Path, to: str, *, force: bool) -> dict[str, Any]:
    """Writes a workload; a row that says what was written. RefusedError when something is there already."""
    from fawkes.workload.changing.writers import write as written

    if str(out) != STREAM:
        refuse_there(out, force=force)
    with to_stdout(out) as path:
        lost = written(trace, path, to)
    for what in lost:
        note(f"{to} cannot hold {what}")
    span_us = trace.jobs[-1].submit_us - trace.jobs[0].submit_us if trace.jobs else 0
    return {
        "file": str(out),
        "format": to,
        "jobs": len(trace.jobs),
        "span_s": span_us / SECOND_US,
        "skipped": trace.dropped.total,
        "not_written": list(lost),
    }


def tell(row: dict[str, Any], output: str) -> None:
    """The row of what was written, on stdout; a note on stderr when the workload itself went there."""
    if row["file"] == STREAM:
        note(f"{counted(row['jobs'], 'job')} written as {row['format']}")
        return
    show([row], TABLES["workload"], output)
