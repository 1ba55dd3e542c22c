"""Files that a workload is written to: whole or not at all, packed when their name ends in .gz."""

from __future__ import annotations

import contextlib
import gzip
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from fawkes.errors import RefusedError, UserError


def refuse_there(path: Path, *, force: bool) -> None:
    """RefusedError when something is at a place that is to be written, unless it may be replaced."""
    if not force and (path.exists() or path.is_symlink()):
        raise RefusedError("exists already", where=str(path), hint="Give another name, or --force to replace it")


@contextlib.contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which gets its name when all of it is on the disk; after an error nothing is left of it.

    What was there before is replaced. The same bytes written give the same file, packed or not. UserError when the
    system refuses it.
    """
    try:
        handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _refused(path, error) from None
    try:
        with os.fdopen(handle, "wb") as out:
            yield from _opened(path, out)
            out.flush()
            os.fsync(out.fileno())
        Path(draft).chmod(0o644)
        os.replace(draft, path)
    except OSError as error:
        raise _refused(path, error) from None
    finally:
        Path(draft).unlink(missing_ok=True)


def _opened(path: Path, out: BinaryIO) -> Iterator[BinaryIO]:
    if path.suffix != ".gz":
        yield out
        return
    # Name and time of the file would go into its bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0, compresslevel=6) as packed:
        yield cast(BinaryIO, packed)


def _refused(path: Path, error: OSError) -> UserError:
    return UserError(f"cannot be written ({error.strerror or error})", where=str(path))
