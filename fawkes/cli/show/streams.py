"""``-`` in the place of a file: standard input and standard output."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fawkes.base.errors import FawkesError, UserError

STREAM = "-"
STANDARD_INPUT = "standard input"


@contextmanager
def from_stdin(name: str, file: str) -> Iterator[Path]:
    """The path ``name``, or for ``-`` a file with all of standard input; ``file`` is the name of that file.

    UserError when standard input is a terminal: nothing would come until somebody types it. An error about the file,
    raised within, names standard input.
    """
    if name != STREAM:
        yield Path(name)
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise UserError("is a terminal", where=STANDARD_INPUT, hint="Pipe a file into the command, or name one")
    with tempfile.TemporaryDirectory(prefix="fawkes-") as folder:
        path = Path(folder) / file
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        try:
            yield path
        except FawkesError as error:
            error.where = error.where.replace(str(path), STANDARD_INPUT)
            raise


@contextmanager
def to_stdout(out: Path) -> Iterator[Path]:
    """The path to write to, or for ``-`` a file that goes to standard output once it is whole."""
    if str(out) != STREAM:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="fawkes-") as folder:
        path = Path(folder) / "out"
        yield path
        with path.open("rb") as whole:
            shutil.copyfileobj(whole, sys.stdout.buffer)
